import type { Queryable, Tx } from '../db/db.ts'

/** What refunds and settlements ask of the payouts that may already be on their way. */
export type PayoutPorts = {
  /**
   * Keeps it from being sent by any node. `hasLeftOtherwise`: as said below. @returns false when its transfer is in
   * progress
   */
  withdrawPayout(
    tx: Tx,
    request: { id: string; network: number; to: string | null; units: bigint; hasLeftOtherwise?: boolean },
    providerStatus: string,
  ): Promise<boolean>
  /** Whether it is never sent, because it was withdrawn or given up. */
  isPayoutOver(q: Queryable, id: string): Promise<boolean>
  /** Whether a transaction was signed that can pay it, or it was paid. Until then all checks are repeated. */
  mayPayoutHaveLeft(q: Queryable, id: string): Promise<boolean>
  /** Whether something was announced or signed that can pay it, or did, also if it ran out and is not forgotten yet. */
  isPayoutSigned(q: Queryable, id: string): Promise<boolean>
  /** Whether something was signed for it here, or it left before a restore exactly as asked. */
  isPayoutStarted(q: Queryable, id: string): Promise<boolean>
  /**
   * Whether it left before a restore with another amount or to another address, or was cancelled on its chain, which is
   * final. It is never sent then. @throws CHANNEL_UNAVAILABLE
   */
  hasLeftOtherwise(payout: { network: number; id: string }): Promise<boolean>
  /**
   * After a restore: whether another refund of the order, or another settlement of the company, had left that nothing
   * here accounts for, on any chain, and this one had not.
   * @param listOthers ids of those that are known, and of the next numbers, and when the order or company was made;
   * asked only after a restore
   * @returns why it waits
   */
  findOtherPayout(
    payout: { network: number; id: string },
    listOthers: () => Promise<{ since: Date; known: readonly string[]; next: readonly string[] }>,
  ): Promise<string | null>
}

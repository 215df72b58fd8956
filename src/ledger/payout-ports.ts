import type { Queryable, Tx } from '../db/db.ts'

type Withdrawn = { id: string; network: number }

/** What refunds and settlements ask of the payouts that may already be on their way. */
export type PayoutPorts = {
  /**
   * Keeps it from being sent by any node. `isRejected`: a refund that nothing pays, also where its authorization has
   * moved something else, which the next refund asks for. `hold`: the answer of `findWithdrawalHold`.
   * @returns false when its transfer is in progress
   * @throws OBJECT_CONFLICT with the hold
   */
  withdrawPayout(
    tx: Tx,
    request: Withdrawn & { to: string | null; units: bigint; hold: string | null; isRejected: boolean },
    providerStatus: string,
  ): Promise<boolean>
  /**
   * Why it cannot be taken back yet although nothing is signed for it here: after a restore, something may have been.
   * Asks the chain, so no transaction is open. `since`: when its order or company was made.
   * @returns null: nothing speaks against it @throws CHANNEL_UNAVAILABLE
   */
  findWithdrawalHold(payout: Withdrawn & { to: string | null; units: bigint; since: Date }): Promise<string | null>
  /**
   * After a restore: stores what its own authorization has paid before, so that it is followed whatever holds what is
   * not sent yet. Signs nothing. @param since when its order or company was made; asked only after a restore
   */
  recognisePayout(payout: Withdrawn & { to: string; units: bigint }, since: () => Promise<Date>): Promise<void>
  /** Whether it is never sent, because it was withdrawn or given up. */
  isPayoutOver(q: Queryable, id: string): Promise<boolean>
  /** Whether a transaction was signed that can pay it, or it was paid. Until then all checks are repeated. */
  mayPayoutHaveLeft(q: Queryable, id: string): Promise<boolean>
  /** Whether something was announced or signed that can pay it, or did, also if it ran out and is not forgotten yet. */
  isPayoutSigned(q: Queryable, id: string): Promise<boolean>
  /** Whether something was signed for it here, or it left before a restore exactly as asked. */
  isPayoutStarted(q: Queryable, id: string): Promise<boolean>
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

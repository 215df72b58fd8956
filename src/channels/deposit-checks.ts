/** The result for a transaction that a person entered. */
export type NamedTransaction = {
  /** Whether a chain knows it. */
  found: boolean
  /** Whether it is recorded as money for these addresses. */
  counted: boolean
  /** It is not final yet: it may count later. */
  waiting: boolean
  /** A sentence: why it does not count, or what it still waits for. */
  reason: string
  /** The deposit addresses that it pays. */
  addresses: readonly string[]
}

/** Why a chain's payments would not be seen soon; null: no reason. */
export type NetworkFault = { network: number; reason: string }

/** What payers sent to deposit addresses by mistake. */
export type NoticedMistakes = {
  /** Addresses that received more than was recorded. */
  gained: readonly string[]
  /** Networks without an answer, or without one about every block: what arrived there is unknown. */
  silent: readonly number[]
}

/** Queries to the chains beyond the scanners' records; used by payments, implemented by the wallet's channel. */
export interface DepositChecks {
  /**
   * Looks a transaction up and records what it pays to these addresses, exactly as the scanner would.
   * @param network null: on every configured chain
   * @throws CHANNEL_UNAVAILABLE when no endpoint of a chain answers
   */
  recordTransaction(named: {
    addresses: readonly string[]
    txHash: string
    network: number | null
  }): Promise<NamedTransaction>
  /**
   * Compares balances on one chain with the records, and reads missed transfers again.
   * @returns the addresses of which a node that did not answer may know more
   * @throws an error of the chain's client; then nothing is known
   */
  auditDeposits(network: number, addresses: readonly string[]): Promise<readonly string[]>
  /**
   * Looks for native coin at these addresses, and for tokens that only call themselves USDC, on every configured chain.
   */
  noticeMistakes(addresses: readonly string[]): Promise<NoticedMistakes>
}

/** The answer about a transaction that a person entered. */
export type NamedTransaction = {
  /** Whether a chain knows it. */
  found: boolean
  /** Whether it is recorded as money for these addresses. */
  counted: boolean
  /** It is on its way: asked again later, it may count. */
  waiting: boolean
  /** A sentence: why it does not count, or what it still waits for. */
  reason: string
  /** The deposit addresses that it pays. */
  addresses: readonly string[]
}

/** Whether a chain's payments are seen soon; null where nothing stands against it. */
export type NetworkFault = { network: number; reason: string }

/** What payers sent to deposit addresses by mistake. */
export type NoticedMistakes = {
  /** Addresses that received more than was recorded. */
  gained: readonly string[]
  /** Networks that gave no answer, or not yet about every block: what came there is not known. */
  silent: readonly number[]
}

/** Queries to the chains beyond the scanners' records; called by payments, answered by the wallet's channel. */
export interface DepositChecks {
  /**
   * Looks a transaction up and records what it pays to these addresses, exactly as the scanner would.
   * @param network null: on every chain that is set up
   * @throws CHANNEL_UNAVAILABLE when no endpoint of a chain answers
   */
  recordTransaction(named: {
    addresses: readonly string[]
    txHash: string
    network: number | null
  }): Promise<NamedTransaction>
  /**
   * Compares balances on one chain with what was recorded, and reads again what was missed.
   * @throws an error of the chain's client; then nothing is known
   */
  auditDeposits(network: number, addresses: readonly string[]): Promise<void>
  /**
   * Looks for native coin at these addresses, and for tokens that only call themselves USDC, on every chain that is set
   * up.
   */
  noticeMistakes(addresses: readonly string[]): Promise<NoticedMistakes>
}

/** One Transfer log to an address that we watch. Addresses and hashes are lower-case hex. */
export type Transfer = {
  id: string
  chainId: number
  txHash: string
  /**
   * Distinguishes the transfers of this token to this address within the transaction, from 0. What was found later may
   * have a higher number than a later log: a number that was given never passes to another log of its block.
   */
  nth: number
  logIndex: number
  blockNumber: bigint
  blockHash: string
  /** Timestamp of the block. */
  blockAt: Date
  /** The token's contract: compare this, never the symbol. */
  token: string
  /** Of what is found now, `USDC` names the network's USDC alone; earlier versions recorded other tokens by it. */
  symbol: string
  fromAddress: string
  toAddress: string
  /** In the token's smallest units. */
  units: bigint
  /** `orphaned`: its block left the chain; it may come back, in another block. */
  status: 'seen' | 'orphaned'
  firstSeenAt: Date
  /** From when nothing about it is expected to change; null while its confirmations still count. */
  finalAt: Date | null
  /** Grows with every change; the cursor of `listChangedTransfers`. */
  change: bigint
}

/** The chain's facts about a transfer; the rest of the row is ours. */
export type FoundTransfer = Omit<Transfer, 'id' | 'nth' | 'status' | 'firstSeenAt' | 'finalAt' | 'change'>

/** How far the scanner has read a chain. */
export type Head = {
  chainId: number
  number: bigint
  hash: string
  /** The blocks that the node reports as safe and finalized; null if the network's rule does not use them. */
  safeNumber: bigint | null
  finalizedNumber: bigint | null
  scannedAt: Date
}

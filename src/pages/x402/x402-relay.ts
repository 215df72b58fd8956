export type Hex = `0x${string}`

/** What submits a payer's authorization on one chain. */
export type X402Relay = {
  readonly chainId: number
  readonly token: string
  /** The account key that the deposit addresses of its chain come from. */
  readonly xpub: string
  domain(): Promise<{ name: string; version: string }>
  submit(request: {
    from: Hex
    to: Hex
    units: bigint
    validAfter: bigint
    validBefore: bigint
    nonce: Hex
    signature: Hex
  }): Promise<
    | { outcome: 'refused'; reason: string }
    | { outcome: 'pending' | 'done'; txHash: string | null; providerStatus: string }
  >
}

export type Hex = `0x${string}`

/** What submits a payer's authorization on one chain. */
export type X402Relay = {
  readonly chainId: number
  readonly token: string
  /** The least that it submits. */
  readonly minUnits: bigint
  /** The account key that the deposit addresses of its chain come from. */
  readonly xpub: string
  domain(): Promise<{ name: string; version: string }>
  /** @param beforeNew may refuse, by throwing, a good payment that was not submitted yet */
  submit(
    request: {
      from: Hex
      to: Hex
      units: bigint
      validAfter: bigint
      validBefore: bigint
      nonce: Hex
      signature: Hex
    },
    beforeNew: () => Promise<void>,
  ): Promise<
    | { outcome: 'refused'; reason: string }
    | { outcome: 'pending' | 'done'; txHash: string | null; providerStatus: string }
  >
}

export type Hex = `0x${string}`

/** Submits payers' authorizations on one chain. */
export type X402Relay = {
  readonly chainId: number
  readonly token: string
  /** The smallest amount that it submits. */
  readonly minUnits: bigint
  /** The account key of the deposit addresses on its chain. */
  readonly xpub: string
  domain(): Promise<{ name: string; version: string }>
  /** @param beforeNew may refuse, by throwing, a valid payment that was not submitted yet */
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

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
  /** @throws ORDER_STATE_CONFLICT while an earlier authorization for the same can still be used */
  checkNoneUnderWay(asked: { reference: string; to: Hex; units: bigint }): Promise<void>
  /**
   * @param beforeNew may refuse, by throwing, a valid payment that was not submitted yet
   * @throws ORDER_STATE_CONFLICT as above
   */
  submit(
    request: {
      /** The order. */
      reference: string
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

/**
 * What a wallet reads from a QR code to prefill a token transfer: ethereum:<token>@<chain>/transfer?address=…&uint256=…
 * (ERC-681). The amount is in the token's smallest units.
 */
export function paymentUri({
  token,
  chainId,
  to,
  units,
}: {
  token: string
  chainId: number
  to: string
  units: bigint
}): string {
  return `ethereum:${token}@${chainId}/transfer?address=${to}&uint256=${units}`
}

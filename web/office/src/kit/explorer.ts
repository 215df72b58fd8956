/** Public explorers by chain id; other chains have no link. */
const EXPLORERS: Record<number, string> = {
  1: 'https://etherscan.io',
  10: 'https://optimistic.etherscan.io',
  137: 'https://polygonscan.com',
  8453: 'https://basescan.org',
  42161: 'https://arbiscan.io',
}
export const transactionUrl = (network: number, hash: string): string | null =>
  EXPLORERS[network] === undefined ? null : `${EXPLORERS[network]}/tx/${hash}`

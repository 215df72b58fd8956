import { getAddress } from 'viem/utils'
import { parseAddress } from '../kernel/addresses.ts'

/** When a transfer is final: a number of confirmations, or a block tag and a number of blocks after it. */
export type FinalityRule =
  | { kind: 'confirmations'; confirmations: number }
  | { kind: 'tag'; tag: 'safe' | 'finalized'; extraBlocks: number }

export type Network = {
  chainId: number
  name: string
  testnet: boolean
  /** With EIP-55 checksum. */
  usdcAddress: string
  /** In USDC units, 6 decimals on every chain. From this amount on, `large` decides. */
  largeFromUnits: bigint
  small: FinalityRule
  large: FinalityRule
  /** Tokens that payers confuse with USDC: recorded, never counted as payment. */
  otherTokens: readonly { symbol: string; address: string }[]
  /** Block explorer URL of transactions, everything before `/tx/`; null: none is known. */
  explorerUrl: string | null
  /** The native coin, which pays for gas; 18 decimals. */
  coin: string
  /** Below this amount payers pay for gas themselves, unless the operator configures otherwise. */
  relayMinUnits: bigint
  /** The relayer pays no more for one gas, in wei: base fee and tip together. */
  maxFeeWei: bigint
  /** Each transaction also pays for its data on another chain, which its gas does not say (OP Stack). */
  hasDataFee: boolean
  /** A public node for wallets of payers that do not know the chain; null: none is known. */
  publicRpcUrl: string | null
}

const after = (confirmations: number): FinalityRule => ({ kind: 'confirmations', confirmations })
const tagged = (tag: 'safe' | 'finalized', extraBlocks = 0): FinalityRule => ({ kind: 'tag', tag, extraBlocks })

/**
 * Small and large amounts per chain. On Ethereum a block count or `finalized` only: what `safe` means there depends on
 * the provider since October 2026 (ankr.com/docs/changelog, docs.chainstack.com/docs/ethereum-fast-confirmation).
 */
const RULES = {
  ethereum: { small: after(6), large: tagged('finalized') },
  polygon: { small: tagged('finalized'), large: tagged('finalized', 10) },
  base: { small: after(5), large: tagged('safe') },
  optimism: { small: after(10), large: tagged('safe') },
  arbitrum: { small: after(40), large: tagged('safe') },
  avalanche: { small: after(1), large: after(1) },
  sandbox: { small: after(3), large: after(3) },
  unknown: { small: after(20), large: after(20) },
}

const gwei = (number: bigint): bigint => number * 1_000_000_000n

/**
 * What one gas may cost where the operator sets nothing: far above what it costs on almost every day, and so little
 * that a refund costs a few dollars at most (30 on Ethereum).
 */
const MAX_FEES: Record<keyof typeof RULES, bigint> = {
  ethereum: gwei(100n),
  // no tip below 25 is taken, and base fees of several hundred occur
  polygon: gwei(3000n),
  base: gwei(10n),
  optimism: gwei(10n),
  arbitrum: gwei(10n),
  avalanche: gwei(500n),
  sandbox: gwei(500n),
  unknown: gwei(500n),
}

type Known = { chainId: number; name: string; usdc: string; rules: keyof typeof RULES; others?: Record<string, string> }

/** USDC addresses as Circle publishes them (npm @circle-fin/bridge-kit 1.15.1). */
const MAIN: Known[] = [
  {
    chainId: 1,
    name: 'Ethereum',
    usdc: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
    rules: 'ethereum',
    others: {
      USDT: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
      DAI: '0x6B175474E89094C44Da98b954EedeAC495271d0F',
    },
  },
  {
    chainId: 10,
    name: 'OP Mainnet',
    usdc: '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
    rules: 'optimism',
    others: {
      'USDC.e': '0x7F5c764cBc14f9669B88837ca1490cCa17c31607',
      USDT: '0x94b008aA00579c1307B0EF2c499aD98a8ce58e58',
    },
  },
  {
    chainId: 137,
    name: 'Polygon',
    usdc: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
    rules: 'polygon',
    others: {
      'USDC.e': '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174',
      USDT: '0xc2132D05D31c914a87C6611C10748AEb04B58e8F',
    },
  },
  {
    chainId: 8453,
    name: 'Base',
    usdc: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    rules: 'base',
    others: {
      USDbC: '0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA',
      USDT: '0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2',
    },
  },
  {
    chainId: 42161,
    name: 'Arbitrum One',
    usdc: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
    rules: 'arbitrum',
    others: {
      'USDC.e': '0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8',
      USDT: '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9',
    },
  },
  {
    chainId: 43114,
    name: 'Avalanche',
    usdc: '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E',
    rules: 'avalanche',
    others: {
      'USDC.e': '0xA7D7079b0FEaD91F3e65f86E8915Cb59c1a4C664',
      USDt: '0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7',
    },
  },
]

/**
 * Aave's test reserves (aave-address-book, AaveV3Sepolia and AaveV3BaseSepolia) call themselves USDC and USDT too, and
 * faucets hand them out; EURC is Circle's (developers.circle.com, "EURC Contract Addresses"). On Arbitrum and OP
 * Sepolia Aave lends Circle's own USDC, and no other is known on Amoy: there we rely on the contract's own name
 * (deposits/look-alikes.ts).
 */
const TEST: Known[] = [
  {
    chainId: 11155111,
    name: 'Sepolia',
    usdc: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238',
    rules: 'ethereum',
    others: {
      'USDC (Aave)': '0x94a9D9AC8a22534E3FaCa9F4e7F2E2cf85d5E4C8',
      'USDT (Aave)': '0xaA8E23Fb1079EA71e0a56F48a2aA51851D8433D0',
      EURC: '0x08210F9170F89Ab7658F0B5E3fF39b0E03C594D4',
    },
  },
  {
    chainId: 84532,
    name: 'Base Sepolia',
    usdc: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    rules: 'base',
    others: {
      'USDC (Aave)': '0xba50Cd2A20f6DA35D788639E581bca8d0B5d4D5f',
      'USDT (Aave)': '0x0a215D8ba66387DCA84B284D18c3B4ec3de6E54a',
      EURC: '0x808456652fdb597867f38412077A9182bf77359F',
    },
  },
  { chainId: 80002, name: 'Polygon Amoy', usdc: '0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582', rules: 'polygon' },
  { chainId: 421614, name: 'Arbitrum Sepolia', usdc: '0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d', rules: 'arbitrum' },
  { chainId: 11155420, name: 'OP Sepolia', usdc: '0x5fd84259d66Cd46123540766Be93DFE6D43130D7', rules: 'optimism' },
  {
    chainId: 43113,
    name: 'Avalanche Fuji',
    usdc: '0x5425890298aed601595a70AB815c96711a31Bc65',
    rules: 'avalanche',
    others: { EURC: '0x5E44db7996c682E92a960b65AC713a54AD815c6B' },
  },
]

/** Block explorer URLs, everything before `/tx/`. */
const EXPLORERS: Readonly<Record<number, string>> = {
  1: 'https://etherscan.io',
  10: 'https://optimistic.etherscan.io',
  137: 'https://polygonscan.com',
  8453: 'https://basescan.org',
  42161: 'https://arbiscan.io',
  43113: 'https://testnet.snowtrace.io',
  43114: 'https://snowtrace.io',
  80002: 'https://amoy.polygonscan.com',
  84532: 'https://sepolia.basescan.org',
  421614: 'https://sepolia.arbiscan.io',
  11155111: 'https://sepolia.etherscan.io',
  11155420: 'https://sepolia-optimism.etherscan.io',
}

/** Public nodes of the chains, as viem 2.57.1 lists them. We never use them ourselves. */
const PUBLIC_NODES: Readonly<Record<number, string>> = {
  10: 'https://mainnet.optimism.io',
  137: 'https://polygon.drpc.org',
  8453: 'https://mainnet.base.org',
  42161: 'https://arb1.arbitrum.io/rpc',
  43113: 'https://api.avax-test.network/ext/bc/C/rpc',
  43114: 'https://api.avax.network/ext/bc/C/rpc',
  80002: 'https://polygon-amoy.drpc.org',
  84532: 'https://sepolia.base.org',
  421614: 'https://sepolia-rollup.arbitrum.io/rpc',
  11155420: 'https://sepolia.optimism.io',
}

/** Native coins other than ether. */
const COINS: Readonly<Record<number, string>> = { 137: 'POL', 43113: 'AVAX', 43114: 'AVAX', 80002: 'POL' }

const toNetwork = ({ chainId, name, usdc, rules, others = {} }: Known, testnet: boolean): Network => ({
  chainId,
  name,
  testnet,
  usdcAddress: usdc,
  largeFromUnits: 1_000_000_000n,
  ...RULES[rules],
  otherTokens: Object.entries(others).map(([symbol, address]) => ({ symbol, address })),
  explorerUrl: EXPLORERS[chainId] ?? null,
  coin: COINS[chainId] ?? 'ETH',
  // 100 000 gas cost a few euros on Ethereum, and cents elsewhere
  relayMinUnits: chainId === 1 ? 10_000_000n : 100_000n,
  maxFeeWei: MAX_FEES[rules],
  hasDataFee: rules === 'base' || rules === 'optimism',
  publicRpcUrl: PUBLIC_NODES[chainId] ?? null,
})

/** The chains that need no settings besides a node's URL. */
export const KNOWN_NETWORKS: ReadonlyMap<number, Network> = new Map(
  [...MAIN.map((known) => toNetwork(known, false)), ...TEST.map((known) => toNetwork(known, true))].map((network) => [
    network.chainId,
    network,
  ]),
)

/** The local chain of the sandbox; its token's address is given. */
export const SANDBOX_CHAIN_ID = 31337

/** A network's name, also where it is not set up here. */
export const networkName = (chainId: number): string =>
  KNOWN_NETWORKS.get(chainId)?.name ?? (chainId === SANDBOX_CHAIN_ID ? 'Sandbox chain' : `Chain ${chainId}`)

/**
 * A network's properties, with the operator's overrides.
 * @param confirmations overrides the rule for all amounts, even where it uses a block tag
 * @throws Error if the chain is unknown and no token address is given, or the address is invalid
 */
export function networkFor(options: {
  chainId: number
  usdcAddress?: string | null
  confirmations?: number | null
  otherTokens?: readonly { symbol: string; address: string }[]
  explorerUrl?: string | null
  maxFeeGwei?: number | null
}): Network {
  const { chainId, usdcAddress, confirmations, otherTokens = [], explorerUrl, maxFeeGwei } = options
  const known = KNOWN_NETWORKS.get(chainId)
  if (!known && !usdcAddress) {
    throw new Error(`Chain ${chainId} is not known here: set CHAIN_${chainId}_USDC to the address of USDC on it.`)
  }
  const sandbox = chainId === SANDBOX_CHAIN_ID
  const rulesName = sandbox ? 'sandbox' : 'unknown'
  const base = known ?? toNetwork({ chainId, name: networkName(chainId), usdc: '', rules: rulesName }, true)
  const rules = confirmations ? { small: after(confirmations), large: after(confirmations) } : {}
  return {
    ...base,
    ...rules,
    otherTokens: [...base.otherTokens, ...otherTokens],
    maxFeeWei: maxFeeGwei ? gwei(BigInt(maxFeeGwei)) : base.maxFeeWei,
    explorerUrl: explorerUrl?.replace(/\/+$/, '') ?? base.explorerUrl,
    usdcAddress: usdcAddress ? toChecksum(usdcAddress, chainId) : base.usdcAddress,
  }
}

/** USDC's contract, in lower case. */
export const tokenOf = ({ usdcAddress }: Pick<Network, 'usdcAddress'>): `0x${string}` =>
  usdcAddress.toLowerCase() as `0x${string}`

/** The same chain, where USDC was another contract before the settings named this one. */
export const inToken = (network: Network, usdcAddress: string): Network => ({ ...network, usdcAddress })

/** USDC's contract on each chain, in lower case. */
export const usdcOf = (networks: readonly Pick<Network, 'chainId' | 'usdcAddress'>[]): Record<number, string> =>
  Object.fromEntries(networks.map(({ chainId, usdcAddress }) => [chainId, usdcAddress.toLowerCase()]))

function toChecksum(text: string, chainId: number): string {
  const address = parseAddress(text)
  if (address !== undefined) return getAddress(address)
  throw new Error(`CHAIN_${chainId}_USDC: "${text}" is not an address, or its checksum (EIP-55) is wrong.`)
}

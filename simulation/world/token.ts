import {
  decodeFunctionData,
  encodeAbiParameters,
  keccak256,
  parseAbi,
  parseAbiParameters,
  stringToHex,
  toHex,
} from 'viem'

export type Hex = `0x${string}`

export const TOPICS = {
  transfer: keccak256(stringToHex('Transfer(address,address,uint256)')),
  authorizationUsed: keccak256(stringToHex('AuthorizationUsed(address,bytes32)')),
} as const

const ABI = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function balanceOf(address) view returns (uint256)',
  'function isBlacklisted(address) view returns (bool)',
  'function paused() view returns (bool)',
  'function authorizationState(address, bytes32) view returns (bool)',
  'function transfer(address, uint256) returns (bool)',
  'function transferWithAuthorization(address, address, uint256, uint256, uint256, bytes32, uint8, bytes32, bytes32)',
])

/** An address as a 32-byte word. */
export const wordOf = (address: string): Hex => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`

const word = (value: bigint): Hex => toHex(value, { size: 32 })
const text = (value: string): Hex => encodeAbiParameters([{ type: 'string' }], [value])

const NAME = 'USD Coin'
const VERSION = '2'

/** The token's EIP-712 domain separator. */
function domainSeparator(chainId: number, token: Hex): Hex {
  const type = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'
  const [typeHash, name, version] = [type, NAME, VERSION].map((one) => keccak256(stringToHex(one))) as [Hex, Hex, Hex]
  const types = parseAbiParameters('bytes32, bytes32, bytes32, uint256, address')
  return keccak256(encodeAbiParameters(types, [typeHash, name, version, BigInt(chainId), token]))
}

/** The content of a signed transfer (EIP-3009). @throws Error for other call data */
export function decodeAuthorized(data: Hex): { from: Hex; to: Hex; units: bigint; nonce: Hex } {
  const { functionName, args } = decodeFunctionData({ abi: ABI, data })
  if (functionName !== 'transferWithAuthorization') throw new Error('the simulated token knows no such transaction')
  const [from, to, units, , , nonce] = args
  return { from: from.toLowerCase() as Hex, to: to.toLowerCase() as Hex, units, nonce }
}

type Ledger = {
  chainId: number
  token: Hex
  balanceAt(address: string, block: number): bigint
  isUsed(from: string, nonce: string): boolean
}

/** @throws Error as a revert */
export function answerCall(ledger: Ledger, { data, from = '' }: { data: Hex; from?: string }, block: number): Hex {
  const { functionName, args } = decodeFunctionData({ abi: ABI, data })
  switch (functionName) {
    case 'name':
      return text(NAME)
    case 'version':
      return text(VERSION)
    case 'decimals':
      return word(6n)
    case 'DOMAIN_SEPARATOR':
      return domainSeparator(ledger.chainId, ledger.token)
    case 'balanceOf':
      return word(ledger.balanceAt(args[0], block))
    case 'isBlacklisted':
    case 'paused':
      return word(0n)
    case 'authorizationState':
      return word(ledger.isUsed(args[0], args[1]) ? 1n : 0n)
    case 'transfer':
      if (ledger.balanceAt(from, block) < args[1]) throw new Error('execution reverted: transfer exceeds balance')
      return word(1n)
    default:
      return '0x'
  }
}

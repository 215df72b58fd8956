import { decodeFunctionData, encodeFunctionData, parseAbi } from 'viem/utils'
import { readDomain } from '../endpoints/network-check.ts'
import { askFirst, type Hex, type Rpc, RpcError, toWord } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { type RpcLog, TRANSFER_TOPIC, toTopic } from '../transfer-logs.ts'

/** keccak256("AuthorizationUsed(address,bytes32)"), EIP-3009 */
const AUTHORIZATION_USED_TOPIC = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
/** keccak256("AuthorizationCanceled(address,bytes32)"), EIP-3009 */
const AUTHORIZATION_CANCELED_TOPIC = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81'
const END_TOPICS = [AUTHORIZATION_USED_TOPIC, AUTHORIZATION_CANCELED_TOPIC]

/**
 * The functions of USDC that we call (github.com/circlefin/stablecoin-evm, FiatTokenV2_2), including EIP-3009's signed
 * transfer.
 */
const ABI = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function isBlacklisted(address) view returns (bool)',
  'function paused() view returns (bool)',
  'function authorizationState(address, bytes32) view returns (bool)',
  'function transfer(address, uint256) returns (bool)',
  'function transferWithAuthorization(address, address, uint256, uint256, uint256, bytes32, uint8, bytes32, bytes32)',
])

const AUTHORIZATION_FIELDS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
]

/**
 * EIP-3009: anyone with the signature may submit it, before `validBefore` (the chain's seconds), once per nonce.
 */
export type Authorization = {
  from: Hex
  to: Hex
  units: bigint
  /** Default 0: valid immediately. */
  validAfter?: bigint
  validBefore: bigint
  nonce: Hex
}

type SigningDomain = { name: string; version: string; chainId: number; token: Hex }

/** EIP-712 data of an authorization. @param domain the token's EIP-712 domain */
export function authorizationTypedData({ token, ...domain }: SigningDomain, authorization: Authorization) {
  const { from, to, units, validAfter = 0n, validBefore, nonce } = authorization
  return {
    domain: { ...domain, verifyingContract: token },
    types: { TransferWithAuthorization: AUTHORIZATION_FIELDS },
    primaryType: 'TransferWithAuthorization' as const,
    message: { from, to, value: units, validAfter, validBefore, nonce },
  }
}

/** What the signer of an authorization signs. @throws RpcError, NetworkMismatch */
export async function authorizationData(rpc: Rpc, network: Network, authorization: Authorization) {
  const { name, version } = await readDomain(rpc, network)
  const { chainId, usdcAddress } = network
  return authorizationTypedData({ name, version, chainId, token: usdcAddress as Hex }, authorization)
}

type Message = { from: Hex; to: Hex; value: bigint; validAfter: bigint; validBefore: bigint; nonce: Hex }

/** Arguments of transferWithAuthorization in the form with v, r and s, which every version of USDC supports. */
export function authorizationArguments(message: Message, signature: Hex) {
  const { from, to, value, validAfter, validBefore, nonce } = message
  const r: Hex = `0x${signature.slice(2, 66)}`
  const s: Hex = `0x${signature.slice(66, 130)}`
  // some wallets write 0 and 1, which the token does not accept
  const parity = Number.parseInt(signature.slice(130, 132), 16)
  const v = parity < 27 ? parity + 27 : parity
  return [from, to, value, validAfter, validBefore, nonce, v, r, s] as const
}

/** Call data of the transfer that an authorization allows. */
export function authorizedTransferData({ units: value, validAfter = 0n, ...rest }: Authorization, signature: Hex): Hex {
  const args = authorizationArguments({ ...rest, value, validAfter }, signature)
  return encodeFunctionData({ abi: ABI, functionName: 'transferWithAuthorization', args })
}

/** When the authorization in such a call runs out; undefined: it is another call. */
export function expiryOfCall(data: Hex): bigint | undefined {
  try {
    const { functionName, args } = decodeFunctionData({ abi: ABI, data })
    return functionName === 'transferWithAuthorization' ? args[4] : undefined
  } catch {
    return undefined
  }
}

type Question = { to: string; data: Hex; from?: string }

const ask = (rpc: Rpc, question: Question): Promise<Hex> => rpc.call<Hex>('eth_call', question, 'latest')

/** What a function of the token returns. @throws RpcError */
const askWord = (rpc: Rpc, question: Question): Promise<bigint> =>
  askFirst(rpc, async (node) => toWord(await ask(node, question)))

/** Also false if the token refuses the call, because it has no such function. */
async function askFlag(rpc: Rpc, question: Question): Promise<boolean> {
  try {
    return (await askWord(rpc, question)) !== 0n
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'definite') return false
    throw error
  }
}

export const balanceCall = ({ usdcAddress: to }: Network, account: string) => ({
  to,
  data: encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args: [account as Hex] }),
})

export const readBalance = (rpc: Rpc, network: Network, account: string): Promise<bigint> =>
  askWord(rpc, balanceCall(network, account))

export const isBlacklisted = (rpc: Rpc, { usdcAddress: to }: Network, account: string): Promise<boolean> =>
  askFlag(rpc, { to, data: encodeFunctionData({ abi: ABI, functionName: 'isBlacklisted', args: [account as Hex] }) })

export const isPaused = (rpc: Rpc, { usdcAddress: to }: Network): Promise<boolean> =>
  askFlag(rpc, { to, data: encodeFunctionData({ abi: ABI, functionName: 'paused' }) })

export type AuthorizationKey = Pick<Authorization, 'from' | 'nonce'>

export const authorizationStateCall = ({ usdcAddress: to }: Network, { from, nonce }: AuthorizationKey) => ({
  to,
  data: encodeFunctionData({ abi: ABI, functionName: 'authorizationState', args: [from, nonce] }),
})

/**
 * What a node answers to that call: whether the authorization was paid or cancelled, and can never be used again. Null:
 * it finds no contract there.
 */
export const toAuthorizationState = (answer: Hex | undefined): boolean | null =>
  answer === undefined || answer === '0x' ? null : toWord(answer) !== 0n

/** Whether the token knows this authorization. @throws RpcError */
export const isAuthorizationUsed = async (rpc: Rpc, network: Network, key: AuthorizationKey): Promise<boolean> =>
  (await askWord(rpc, authorizationStateCall(network, key))) !== 0n

/**
 * Simulates the transfer, without a signature. @throws RpcError `definite` if the token would refuse
 */
export async function tryTransfer(
  rpc: Rpc,
  { usdcAddress: to }: Network,
  transfer: { from: string; to: string; units: bigint },
): Promise<void> {
  const data = encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [transfer.to as Hex, transfer.units] })
  await askWord(rpc, { from: transfer.from, to, data })
}

/** Simulates the submission of an authorization. @throws RpcError `definite` if the token would refuse */
export async function tryAuthorization(
  rpc: Rpc,
  { usdcAddress: to }: Network,
  { request, sender }: { request: Authorization & { signature: Hex }; sender: string },
): Promise<void> {
  await ask(rpc, { from: sender, to, data: authorizedTransferData(request, request.signature) })
}

/** The transaction in these blocks that used or cancelled an authorization. */
export async function findAuthorizationUse(
  rpc: Rpc,
  { usdcAddress: address }: Network,
  { from, nonce }: AuthorizationKey,
  range: { fromBlock: Hex; toBlock: Hex | 'latest' },
): Promise<string | undefined> {
  const topics = [END_TOPICS, toTopic(from), nonce]
  const [log] = await rpc.call<RpcLog[]>('eth_getLogs', { address, topics, ...range })
  return log?.transactionHash
}

/** What a transaction that calls the token's `transfer` moves; undefined for any other call. */
export function readTransferCall(
  { usdcAddress }: Network,
  { to, input = '0x' }: { to?: string | null; input?: Hex },
): { to: string; units: bigint } | undefined {
  if (to?.toLowerCase() !== usdcAddress.toLowerCase()) return undefined
  try {
    const { functionName, args } = decodeFunctionData({ abi: ABI, data: input })
    return functionName === 'transfer' ? { to: args[0].toLowerCase(), units: args[1] } : undefined
  } catch {
    return undefined // a function that we do not call
  }
}

/** What an authorization moved, the address in lower case; null: it was cancelled, and nothing moved. */
export type AuthorizedTransfer = { to: string | null; units: bigint }

/** Authorizations that one transaction used or cancelled, whoever gave them; in lower case. */
export const listAuthorizations = (logs: readonly RpcLog[], { usdcAddress }: Network): AuthorizationKey[] =>
  logs.flatMap(({ address, topics: [event = '', from, nonce] }) =>
    address.toLowerCase() === usdcAddress.toLowerCase() && END_TOPICS.includes(event) && from && nonce
      ? [{ from: `0x${from.slice(26).toLowerCase()}`, nonce: nonce.toLowerCase() as Hex }]
      : [],
  )

/**
 * What one transaction did with an authorization: the token logs first its use, then its transfer. Undefined if the
 * transaction did not use it.
 */
export function transferOfAuthorization(
  logs: readonly RpcLog[],
  { usdcAddress }: Network,
  { from, nonce }: AuthorizationKey,
): AuthorizedTransfer | undefined {
  const own = logs.filter(
    ({ address, topics }) =>
      address.toLowerCase() === usdcAddress.toLowerCase() && topics[1]?.toLowerCase() === toTopic(from),
  )
  const end = own.find(
    ({ topics: [event = '', , used] }) => END_TOPICS.includes(event) && used?.toLowerCase() === nonce.toLowerCase(),
  )
  if (!end) return undefined
  if (end.topics[0] === AUTHORIZATION_CANCELED_TOPIC) return { to: null, units: 0n }
  const transfer = own.find(
    ({ topics, logIndex }) => topics[0] === TRANSFER_TOPIC && BigInt(logIndex) > BigInt(end.logIndex),
  )
  return transfer && { to: `0x${transfer.topics[2]?.slice(26)}`.toLowerCase(), units: toWord(transfer.data) }
}

/** USDC units that the logs of one transaction transfer to an address. */
export const unitsTo = (logs: readonly RpcLog[], { usdcAddress }: Network, to: string): bigint =>
  logs
    .filter(
      ({ address, topics }) =>
        address.toLowerCase() === usdcAddress.toLowerCase() &&
        topics[0] === TRANSFER_TOPIC &&
        topics[2]?.toLowerCase() === toTopic(to),
    )
    .reduce((sum, { data }) => sum + toWord(data), 0n)

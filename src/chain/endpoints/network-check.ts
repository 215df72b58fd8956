import { decodeAbiParameters, encodeAbiParameters, keccak256, parseAbiParameters, stringToHex } from 'viem/utils'
import { HOUR } from '../../kernel/clock.ts'
import type { Network } from '../networks.ts'
import type { Endpoint } from './endpoint.ts'
import { askFirst, type Hex, isReverted, type Rpc, RpcError } from './rpc.ts'

const SELECTOR = {
  name: '0x06fdde03',
  version: '0x54fd4d50',
  decimals: '0x313ce567',
  DOMAIN_SEPARATOR: '0x3644e515',
} as const

/** The node's chain or its token is proven to be another than the configured one. */
export class NetworkMismatch extends Error {
  override readonly name = 'NetworkMismatch'
}

/**
 * Proves that a node serves this network and that the token there is USDC as we know it: chain id, 6 decimals, the
 * EIP-712 domain recomputed from its own name and version, and the block tags that the finality rule needs.
 * @throws NetworkMismatch saying what differs; RpcError if the node cannot tell: no answer, or it is synchronising
 */
export async function checkNetwork(
  { rpc, number = 1 }: { rpc: Rpc; number?: number },
  network: Network,
): Promise<void> {
  const { chainId } = network
  const answered = Number(BigInt(await rpc.call<Hex>('eth_chainId')))
  if (answered !== chainId) {
    throw new NetworkMismatch(`CHAIN_${chainId}_RPC_URL: endpoint ${number} serves chain ${answered}, not ${chainId}.`)
  }
  const decimals = BigInt(await readToken(rpc, network, 'decimals'))
  if (decimals !== 6n) {
    const { usdcAddress } = network
    throw new NetworkMismatch(`Chain ${chainId}: the token at ${usdcAddress} has ${decimals} decimals, USDC has 6.`)
  }
  await readDomain(rpc, network)
  await checkTags(rpc, network)
}

/**
 * Checks an endpoint that is still unproven.
 * @throws ForeignChain when it serves another chain, NetworkMismatch when its token is another one; RpcError if it
 *   cannot tell
 */
export async function prove(endpoint: Endpoint, network: Network): Promise<void> {
  if (!endpoint.unproven) return
  await endpoint.verify(network)
  await checkNetwork(endpoint, network)
  endpoint.unproven = false
}

/** A node whose newest block is older is being synchronised, and may not have the token yet. */
const STALE_MS = HOUR

/** Only what a contract at this address said, or its absence in a recent block, is about the token. */
async function readToken(rpc: Rpc, { chainId, usdcAddress }: Network, what: keyof typeof SELECTOR): Promise<Hex> {
  const refusal = new NetworkMismatch(`Chain ${chainId}: the contract at ${usdcAddress} has no ${what}().`)
  const call = rpc.call<Hex>('eth_call', { to: usdcAddress, data: SELECTOR[what] }, 'latest')
  const answer = await call.catch((error: unknown) => {
    if (!(error instanceof RpcError) || error.kind === 'unknown') throw error
    throw isReverted(error) ? refusal : new RpcError('unknown', error.message, error.code, error)
  })
  if (answer !== '0x') return answer
  const head = await rpc.call<{ timestamp: Hex } | null>('eth_getBlockByNumber', 'latest', false)
  if (head && Number(BigInt(head.timestamp)) * 1000 > Date.now() - STALE_MS) throw refusal
  throw new RpcError('unknown', `${refusal.message} The node is still being synchronised.`)
}

/**
 * The EIP-712 domain names of the token (they differ between main and test nets), proven by the token's own hash of
 * them.
 * @throws NetworkMismatch, RpcError
 */
export const readDomain = (rpc: Rpc, network: Network): Promise<{ name: string; version: string }> =>
  askFirst(rpc, (node) => readDomainOf(node, network))

async function readDomainOf(rpc: Rpc, network: Network): Promise<{ name: string; version: string }> {
  const { chainId, usdcAddress } = network
  const name = await readText(rpc, network, 'name')
  const version = await readText(rpc, network, 'version')
  const separator = domainSeparator({ name, version, chainId, token: usdcAddress as Hex })
  if (separator !== (await readToken(rpc, network, 'DOMAIN_SEPARATOR'))) {
    throw new NetworkMismatch(
      `Chain ${chainId}: the signing domain of ${usdcAddress} does not fit its name "${name}" and version "${version}".`,
    )
  }
  return { name, version }
}

async function readText(rpc: Rpc, network: Network, what: 'name' | 'version'): Promise<string> {
  const answer = await readToken(rpc, network, what)
  try {
    const [text] = decodeAbiParameters([{ type: 'string' }], answer)
    return text
  } catch (error) {
    const words = `Chain ${network.chainId}: ${what}() of ${network.usdcAddress} returns no text.`
    throw new NetworkMismatch(words, { cause: error })
  }
}

/** EIP-712's hash of the domain that the token's holders sign in. */
function domainSeparator(domain: { name: string; version: string; chainId: number; token: Hex }): Hex {
  const type = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'
  const [typeHash, nameHash, versionHash] = [type, domain.name, domain.version].map((text) =>
    keccak256(stringToHex(text)),
  )
  const parameters = parseAbiParameters('bytes32, bytes32, bytes32, uint256, address')
  const values = [typeHash as Hex, nameHash as Hex, versionHash as Hex, BigInt(domain.chainId), domain.token] as const
  return keccak256(encodeAbiParameters(parameters, values))
}

/** Block tags that a network's finality rules ask the node for. */
export function tagsOf({ small, large }: Network): ('safe' | 'finalized')[] {
  return [...new Set([small, large].flatMap((rule) => (rule.kind === 'tag' ? [rule.tag] : [])))]
}

/** A node that is being synchronised knows no such block yet; about the token that says nothing. */
async function checkTags(rpc: Rpc, network: Network): Promise<void> {
  for (const tag of tagsOf(network)) {
    const block = await rpc.call('eth_getBlockByNumber', tag, false).catch((error: unknown) => {
      if (error instanceof RpcError && error.kind === 'definite') return null
      throw error
    })
    if (block === null) {
      const remedy = `Use another node, or set CHAIN_${network.chainId}_CONFIRMATIONS.`
      throw new RpcError('unknown', `Chain ${network.chainId}: this node does not know the "${tag}" block. ${remedy}`)
    }
  }
}

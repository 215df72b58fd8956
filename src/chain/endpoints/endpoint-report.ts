import { type Clock, SECOND } from '../../kernel/clock.ts'
import type { Network } from '../networks.ts'
import { type Endpoint, type EndpointFault, ForeignChain } from './endpoint.ts'
import type { Hex } from './rpc.ts'

/** How one endpoint responds now. Leaves out its URL, which may hold a secret. */
export type EndpointReport = {
  number: number
  state: EndpointFault | 'ok'
  /** Its newest block; null: it did not answer. */
  head: bigint | null
  answerMs: number | null
}

const TIMEOUT_MS = 3 * SECOND

const within = <Answer>(asked: Promise<Answer>): Promise<Answer | null> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), TIMEOUT_MS)
  })
  return Promise.race([asked, late]).finally(() => clearTimeout(timer))
}

/** Asks an endpoint for its chain and its newest block. */
export async function askEndpoint(
  endpoint: Endpoint,
  network: Pick<Network, 'chainId'>,
  clock: Clock,
): Promise<EndpointReport> {
  const startedAt = clock()
  const ask = async (): Promise<bigint> => {
    await endpoint.verify(network)
    return BigInt(await endpoint.rpc.call<Hex>('eth_blockNumber'))
  }
  try {
    const head = await within(ask())
    if (head === null) return { number: endpoint.number, state: 'down', head: null, answerMs: null }
    return { number: endpoint.number, state: endpoint.fault() ?? 'ok', head, answerMs: clock() - startedAt }
  } catch (error) {
    const state = error instanceof ForeignChain ? 'foreign' : (endpoint.fault() ?? 'down')
    return { number: endpoint.number, state, head: null, answerMs: null }
  }
}

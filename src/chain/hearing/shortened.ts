import { MINUTE } from '../../kernel/clock.ts'
import type { BlockId } from '../chain-queries.ts'
import { type Endpoint, ForeignChain } from '../endpoints/endpoint.ts'
import type { Endpoints } from '../endpoints/endpoints.ts'
import { RpcError } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { blockCall, type RpcBlock, toBlock } from '../transfer-logs.ts'
import { STALE_MS } from './compare-heads.ts'
import { standingOf } from './standing.ts'

/** An endpoint with an older newest block may be catching up: what it lacks may still come. */
const CURRENT_MS = MINUTE

/** What was read. */
type Ours = {
  top: BlockId
  /** When the top was mined; null if it was read before this was stored. */
  topAt: Date | null
  /** The blocks that are remembered, newest first. */
  stored: readonly BlockId[]
}

type Question = {
  endpoints: Pick<Endpoints, 'all'>
  /** The endpoint in use. */
  endpoint: Endpoint
  network: Network
  ours: Ours
  nowMs: number
}

type Word = 'gone' | 'there' | 'unknown'

/**
 * Whether our top is part of an endpoint's chain. That its chain is shorter says nothing: it may be catching up. Our
 * top is gone where it has another block in the place of one of ours, or a block below our top that was mined later.
 */
async function askOne(endpoint: Endpoint, { network, ours, nowMs }: Question): Promise<Word | 'silent'> {
  const { top, topAt, stored } = ours
  try {
    await endpoint.verify(network)
    const [latest, there] = await endpoint.rpc.batch<RpcBlock | null>([blockCall('latest'), blockCall(top.number)])
    if (there) return there.hash === top.hash ? 'there' : 'gone'
    if (!latest) return 'silent'
    const newest = toBlock(latest)
    if (newest.number >= top.number) return 'unknown'
    if (topAt && newest.at > topAt) return 'gone'
    const ageMs = nowMs - newest.at.getTime()
    if (ageMs > STALE_MS) return 'silent'
    const below = stored.find(({ number }) => number <= newest.number)
    if (ageMs > CURRENT_MS || !below) return 'unknown'
    const { method, params } = blockCall(below.number)
    const its = await endpoint.rpc.call<RpcBlock | null>(method, ...params)
    return its && its.hash !== below.hash ? 'gone' : 'unknown'
  } catch (error) {
    if (error instanceof RpcError || error instanceof ForeignChain) return 'silent'
    throw error
  }
}

/**
 * Whether our top was never part of the chain, as the endpoint in use and at least one more show: all that answer, or
 * more than half of all.
 * @returns the endpoints that still show our top against that; undefined if it is not proven
 */
export async function findHoldersOfGone(question: Question): Promise<Endpoint[] | undefined> {
  const { endpoints, endpoint } = question
  const asked = endpoints.all.filter((one) => ['current', 'paused'].includes(standingOf(one)))
  const words = await Promise.all(asked.map(async (one) => ({ one, word: await askOne(one, question) })))
  const said = words.filter(({ word }) => word !== 'silent')
  const gone = said.filter(({ word }) => word === 'gone')
  const isAgreed = gone.length === said.length || 2 * gone.length > endpoints.all.length
  if (!isAgreed || gone.length < 2 || !gone.some(({ one }) => one === endpoint)) return undefined
  return said.flatMap(({ one, word }) => (word === 'there' ? [one] : []))
}

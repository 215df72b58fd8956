import {
  blockCall,
  type LogFilter,
  type LogRange,
  logsCalls,
  type RpcBlock,
  type RpcLog,
  toHex,
} from '../transfer-logs.ts'
import type { Endpoint } from './endpoint.ts'
import { type Hex, type RpcCall, RpcError } from './rpc.ts'

/** No node refuses a filter with this few receivers. */
const MIN_TOPICS = 20

type LogsParams = { topics: (string | null | readonly string[])[] }

/** The receivers that an eth_getLogs call filters by; null: all. */
function receiversIn(call: RpcCall): readonly string[] | null {
  const receivers = (call.params[0] as LogsParams).topics[2]
  return Array.isArray(receivers) ? receivers : null
}

const countOf = (call: RpcCall): number => receiversIn(call)?.length ?? 0

/** The most receivers of any of these calls. */
const mostIn = (calls: readonly RpcCall[]): number => calls.reduce((most, call) => Math.max(most, countOf(call)), 0)

/** Splits a query into calls with at most this many receivers. */
function split(call: RpcCall, topicCount: number): RpcCall[] {
  const receivers = receiversIn(call)
  if (!receivers || receivers.length <= topicCount) return [call]
  const [filter, ...more] = call.params as [LogsParams, ...unknown[]]
  const [topic = null, sender = null] = filter.topics
  return Array.from({ length: Math.ceil(receivers.length / topicCount) }, (_, index) => {
    const part = receivers.slice(index * topicCount, (index + 1) * topicCount)
    return { ...call, params: [{ ...filter, topics: [topic, sender, part] }, ...more] }
  })
}

/**
 * Answers to eth_getLogs calls, in order; if the node refuses the number of receivers, it is asked for fewer.
 * @param most receivers of a call; fewer than its limit where it refused more just now
 * @throws RpcError; if it refused so many blocks, its `blockSpan` is smaller then
 */
export async function askCalls(
  endpoint: Endpoint,
  calls: readonly RpcCall[],
  most = endpoint.limits.topicCount,
): Promise<RpcLog[][]> {
  const parts = calls.map((call) => split(call, most))
  const sent = parts.flat()
  const grow = (): void => {
    if (sent.length > calls.length && most === endpoint.limits.topicCount) endpoint.growReceivers()
  }
  try {
    const answers = (await endpoint.rpc.batch<RpcLog[]>(sent)).values()
    endpoint.noteTaken(mostIn(sent))
    grow()
    return parts.map((part) => part.flatMap(() => answers.next().value ?? []))
  } catch (error) {
    if (!(error instanceof RpcError) || !error.refused) throw error
    grow()
    const learned = await learnFromRefusal(endpoint, sent, error)
    if (learned?.receivers === undefined) throw error
    return askCalls(endpoint, calls, learned.receivers)
  }
}

/** Logs of several blocks or ranges, in order. */
export async function askLogs(endpoint: Endpoint, filter: LogFilter, places: readonly LogRange[]): Promise<RpcLog[][]> {
  const { length } = filter.addresses
  if (length === 0) return places.map(() => [])
  return askCalls(
    endpoint,
    places.flatMap((place) => logsCalls(filter, place, length)),
  )
}

/** A node that takes fewer blocks in a range is asked about each block by its hash instead. */
export const MIN_SPAN = 8n

/**
 * `isAgain`: it has just refused more. `receivers`: no more in a call. `cuts`: how often it was found to be longer than
 * the node's chain.
 */
type Range = { filter: LogFilter; from: bigint; to: bigint; isAgain?: boolean; receivers?: number; cuts?: number }

/** A chain grows while it is asked about: its end is not the same in two requests. */
const MOST_CUTS = 2

/**
 * Logs of consecutive blocks, as far as the node has them, and in this order: its newest block and the last of them,
 * before it was asked for logs, and that one after. Only a block that it shows both times was there all the time.
 */
export type RangeAnswer = {
  logs: readonly RpcLog[]
  to: bigint
  newest: RpcBlock | null
  before: RpcBlock | null
  after: RpcBlock | null
}

/** All in one request where the node's limits allow it. @throws RpcError */
export async function askRange(endpoint: Endpoint, range: Range): Promise<RangeAnswer> {
  const { filter, from, to } = range
  const { blockSpan, topicCount } = endpoint.limits
  const most = range.receivers ?? topicCount
  const parts: LogRange[] = []
  for (let start = from; start <= to; start += blockSpan) {
    const end = start + blockSpan - 1n < to ? start + blockSpan - 1n : to
    parts.push({ fromBlock: toHex(start), toBlock: toHex(end) })
  }
  const asked = filter.addresses.length === 0 ? [] : parts.flatMap((part) => logsCalls(filter, part, most))
  const last = blockCall(to)
  const grow = (): void => {
    if (asked.length > parts.length && most === endpoint.limits.topicCount) endpoint.growReceivers()
  }
  try {
    const answers = await endpoint.rpc.batch<unknown>([blockCall('latest'), last, ...asked, last])
    if (asked.length > 0) endpoint.noteWord(true)
    if (parts.length > 1 && !range.isAgain) endpoint.growSpan()
    endpoint.noteTaken(mostIn(asked))
    grow()
    const logs = (answers.slice(2, -1) as RpcLog[][]).flat()
    const [newest, before, after] = [answers[0], answers[1], answers.at(-1)] as (RpcBlock | null)[]
    return { logs, to, newest: newest ?? null, before: before ?? null, after: after ?? null }
  } catch (error) {
    if (!(error instanceof RpcError) || !error.refused || asked.length === 0) throw error
    grow()
    // many refuse a range beyond their chain
    const [newest, there] = await endpoint.rpc.batch<RpcBlock | null>([blockCall('latest'), last])
    if (newest && !there) {
      const end = BigInt(newest.number)
      if (end >= to) return { logs: [], to, newest, before: null, after: null }
      const { cuts = 0 } = range
      if (cuts < MOST_CUTS) return askRange(endpoint, { ...range, to: end, isAgain: true, cuts: cuts + 1 })
    }
    const learned = there ? await learnFromRefusal(endpoint, asked, error) : null
    if (learned === null) throw error
    return askRange(endpoint, { ...range, ...learned, isAgain: true })
  }
}

type Place = { fromBlock?: Hex | undefined; toBlock?: Hex | undefined; blockHash?: string }

const placeIn = (call: RpcCall): Place => call.params[0] as Place

/** How many blocks a call asks for. */
function spanOf(call: RpcCall): bigint {
  const { fromBlock, toBlock } = placeIn(call)
  return fromBlock === undefined || toBlock === undefined ? 1n : BigInt(toBlock) - BigInt(fromBlock) + 1n
}

/** The first and the last block of each call, each alone: a node may lack one of them. */
function endsOf(calls: readonly RpcCall[]): Place[] {
  const ends = calls.map(placeIn).flatMap(({ fromBlock, toBlock, blockHash }): Place[] => {
    if (blockHash !== undefined) return [{ blockHash }]
    return [fromBlock, toBlock].map((end) => ({ fromBlock: end, toBlock: end }))
  })
  return [...new Map(ends.map((end) => [JSON.stringify(end), end])).values()]
}

/** How the same is asked after a refusal: within smaller limits, and now with no more receivers in a call. */
type Learned = { receivers?: number }

/**
 * Which of its limits a refusal of eth_getLogs calls shows. So many blocks: it takes the same receivers in the ends of
 * each call. So many receivers: it refuses them there too, takes a few, and refuses them again. Each time in so many
 * words, that is its limit. If it calls any of them a failure, which may pass, it is asked for fewer now, and it is its
 * limit only if it lasts. Otherwise it is neither, as where it refuses everything for a moment, or keeps no old logs,
 * and nothing is learned.
 * @throws RpcError
 */
async function learnFromRefusal(
  endpoint: Endpoint,
  calls: readonly RpcCall[],
  { kind }: RpcError,
): Promise<Learned | null> {
  const widest = calls.reduce((most, call) => (countOf(call) > countOf(most) ? call : most))
  const receivers = countOf(widest)
  const span = calls.map(spanOf).reduce((most, one) => (one > most ? one : most))
  const atEnd = (end: Place, count: number): RpcCall => {
    const [call = widest] = split(widest, Math.max(1, count))
    const [{ fromBlock: _from, toBlock: _to, blockHash: _hash, ...filter }, ...more] = call.params as [Place]
    return { ...call, params: [{ ...filter, ...end }, ...more] }
  }
  let isCertain = kind === 'definite'
  const takes = async (count: number): Promise<boolean> => {
    const ends = endsOf(calls).map((end) => atEnd(end, count))
    const refusal = await findRefusal(endpoint, ends)
    if (refusal === null) endpoint.noteTaken(count)
    else isCertain &&= refusal.kind === 'definite'
    return refusal === null
  }
  if (span === 1n && receivers <= MIN_TOPICS) return null
  if (await takes(receivers)) {
    if (span <= MIN_SPAN) return null
    endpoint.learn({ blockSpan: span / 2n > MIN_SPAN ? span / 2n : MIN_SPAN })
    return {}
  }
  if (receivers <= MIN_TOPICS || !(await takes(MIN_TOPICS)) || (await takes(receivers))) return null
  const fewer = Math.max(MIN_TOPICS, Math.ceil(receivers / 2))
  const isLasting = endpoint.noteRefused(receivers)
  if (isCertain || isLasting) endpoint.learn({ topicCount: fewer })
  return { receivers: fewer }
}

/** @throws RpcError which is no refusal */
async function findRefusal({ rpc }: Endpoint, calls: readonly RpcCall[]): Promise<RpcError | null> {
  try {
    await rpc.batch(calls)
    return null
  } catch (error) {
    if (!(error instanceof RpcError) || !error.refused) throw error
    return error
  }
}

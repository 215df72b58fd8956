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
import { type RpcCall, RpcError } from './rpc.ts'

/** No node refuses a filter with this few receivers. */
const MIN_TOPICS = 20

type LogsParams = { topics: (string | null | readonly string[])[] }

/** The receivers that an eth_getLogs call filters by; null: all. */
function receiversIn(call: RpcCall): readonly string[] | null {
  const receivers = (call.params[0] as LogsParams).topics[2]
  return Array.isArray(receivers) ? receivers : null
}

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

/** Answers to eth_getLogs calls, in order; if the node refuses the number of receivers, it is asked for fewer. */
export async function askCalls(endpoint: Endpoint, calls: readonly RpcCall[]): Promise<RpcLog[][]> {
  const { topicCount } = endpoint.limits
  const parts = calls.map((call) => split(call, topicCount))
  try {
    const answers = (await endpoint.rpc.batch<RpcLog[]>(parts.flat())).values()
    return parts.map((part) => part.flatMap(() => answers.next().value ?? []))
  } catch (error) {
    const tooMany = error instanceof RpcError && error.kind === 'definite' && !isOfRange(calls)
    const asked = parts.flat().reduce((most, call) => Math.max(most, receiversIn(call)?.length ?? 0), 0)
    if (!tooMany || asked <= MIN_TOPICS) throw error
    endpoint.learn({ topicCount: Math.ceil(asked / 2) })
    return askCalls(endpoint, calls)
  }
}

/** A range may have been refused for its length rather than its receivers. */
const isOfRange = ([call]: readonly RpcCall[]): boolean => 'fromBlock' in ((call?.params[0] as object) ?? {})

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
const MIN_SPAN = 8n

/** `isAgain`: it has just refused more. `cuts`: how often it was found to be longer than the node's chain. */
type Range = { filter: LogFilter; from: bigint; to: bigint; isAgain?: boolean; cuts?: number }

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
  const parts: LogRange[] = []
  for (let start = from; start <= to; start += blockSpan) {
    const end = start + blockSpan - 1n < to ? start + blockSpan - 1n : to
    parts.push({ fromBlock: toHex(start), toBlock: toHex(end) })
  }
  const asked = filter.addresses.length === 0 ? [] : parts.flatMap((part) => logsCalls(filter, part, topicCount))
  const last = blockCall(to)
  try {
    const answers = await endpoint.rpc.batch<unknown>([blockCall('latest'), last, ...asked, last])
    if (parts.length > 1 && !range.isAgain) endpoint.growSpan()
    const logs = (answers.slice(2, -1) as RpcLog[][]).flat()
    const [newest, before, after] = [answers[0], answers[1], answers.at(-1)] as (RpcBlock | null)[]
    return { logs, to, newest: newest ?? null, before: before ?? null, after: after ?? null }
  } catch (error) {
    if (!(error instanceof RpcError) || !isRefusal(error) || asked.length === 0) throw error
    // many refuse a range beyond their chain
    const [newest, there] = await endpoint.rpc.batch<RpcBlock | null>([blockCall('latest'), last])
    if (newest && !there) {
      const end = BigInt(newest.number)
      if (end >= to) return { logs: [], to, newest, before: null, after: null }
      const { cuts = 0 } = range
      if (cuts < MOST_CUTS) return askRange(endpoint, { ...range, to: end, isAgain: true, cuts: cuts + 1 })
    }
    if (!there || !(await learnFromRefusal(endpoint, range))) throw error
    return askRange(endpoint, { ...range, isAgain: true })
  }
}

/** It answered, and will not answer this: "query returned more than 10000 results" has a code of its own. */
const isRefusal = ({ kind, inBatch, tooOften }: RpcError): boolean => kind === 'definite' || (inBatch && !tooOften)

/**
 * Whether the node refuses so many receivers, also in a single block, or so many blocks.
 * @returns false if it may be asked for no less @throws RpcError
 */
async function learnFromRefusal(endpoint: Endpoint, { filter, from, to }: Range): Promise<boolean> {
  const { blockSpan, topicCount } = endpoint.limits
  const span = to - from + 1n < blockSpan ? to - from + 1n : blockSpan
  const here = { fromBlock: toHex(to), toBlock: toHex(to) }
  const [call] = logsCalls(filter, here, topicCount)
  const receivers = call ? (receiversIn(call)?.length ?? 0) : 0
  if (call && receivers > MIN_TOPICS && (span === 1n || (await isRefused(endpoint, call)))) {
    endpoint.learn({ topicCount: Math.ceil(receivers / 2) })
    return true
  }
  if (span <= MIN_SPAN) return false
  endpoint.learn({ blockSpan: span / 2n })
  return true
}

async function isRefused({ rpc }: Endpoint, { method, params }: RpcCall): Promise<boolean> {
  try {
    await rpc.call(method, ...params)
    return false
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'definite') return true
    throw error
  }
}

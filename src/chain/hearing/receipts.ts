import { bloomOf, isWithin, mayHold, readBloom, type Suspicion, suspect } from '../bloom.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { SLOW_MS } from '../endpoints/receipts-given.ts'
import { type Rpc, RpcError } from '../endpoints/rpc.ts'
import { type Block, type LogFilter, logKey, type RpcLog, TRANSFER_TOPIC, toHex, toTopic } from '../transfer-logs.ts'
import type { RpcReceipt } from './receipts-root.ts'

type Header = Pick<Block, 'hash' | 'logsBloom'>
type Asked = Pick<Endpoint, 'optional' | 'receipts'>

/** A hash alone does not tell the number and the time of its block; a node says these. */
export const placeOf = ({ number, at }: Pick<Block, 'number' | 'at'>): string =>
  `block ${number} of ${at.toISOString()}`

/** Concurrent questions about single blocks. One at a time, a chain with full blooms grows faster than it is read. */
const AT_ONCE = 8

/** Not every node supports block receipts; all know those of its transactions. */
async function askReceipts(rpc: Rpc, hash: string): Promise<readonly (RpcReceipt | null)[]> {
  try {
    const told = await rpc.call<RpcReceipt[] | null>('eth_getBlockReceipts', hash)
    return Array.isArray(told) ? told : [null]
  } catch (error) {
    if (!(error instanceof RpcError && error.kind === 'definite')) throw error
  }
  const block = await rpc.call<{ transactions?: string[] } | null>('eth_getBlockByHash', hash, false)
  if (!block?.transactions) return [null]
  return rpc.batch(block.transactions.map((one) => ({ method: 'eth_getTransactionReceipt', params: [one] })))
}

/** The logs in a node's receipts of a block; `all` of these receipts, or null if one is missing. */
type Receipts = { logs: readonly RpcLog[]; all: readonly RpcReceipt[] | null }

/** JSON-RPC 2.0: the method does not exist. */
const NO_METHOD = -32601

/**
 * `receipts`: it has none, because it does not know the question or has not answered it for long. `answer`: it gives
 * none now. However it says so: a refusal may pass too, as of a block that one of several nodes behind an address does
 * not have yet, and a timeout may last, as where blocks are too large for it.
 */
type Ungiven = 'receipts' | 'answer'

/** Not every node gives receipts: one that does not is no worse for anything else. */
export async function readReceipts(endpoint: Asked, hash: string): Promise<Receipts | Ungiven> {
  const note = endpoint.receipts.begin()
  if (!note) return 'receipts'
  try {
    const answers = await askReceipts(endpoint.optional, hash)
    // a block without transactions shows nothing, and null is none
    if (answers.some((one) => one !== null)) note(true)
    const all = answers.filter((one) => one !== null && isOf(one, hash)) as RpcReceipt[]
    const logs = all.flatMap((one) => one.logs)
    if (all.length < answers.length) return { logs, all: null }
    return { logs: placeEach(logs), all }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const isLasting = note(false)
    return error.code === NO_METHOD || isLasting ? 'receipts' : 'answer'
  }
}

/** A receipt of another block says nothing about this one, nor does one that names no block. */
const isOf = ({ blockHash, logs }: RpcReceipt, hash: string): boolean =>
  Array.isArray(logs) &&
  [blockHash, ...logs.map((log) => log?.blockHash)].every((one) => String(one).toLowerCase() === hash.toLowerCase())

/** Whether no two logs of a block are said to be in one place. */
const arePlaced = (logs: readonly RpcLog[]): boolean =>
  new Set(logs.map(({ logIndex }) => BigInt(logIndex))).size === new Set(logs.map(logKey)).size

/** Where a node counts from 0 in each transaction, the order of all logs in the block says their places. */
function placeEach(all: readonly RpcLog[]): readonly RpcLog[] {
  if (arePlaced(all)) return all
  const once = new Map(all.map((log) => [logKey(log), log])).values()
  return [...once].map((log, index) => ({ ...log, logIndex: toHex(BigInt(index)) }))
}

/** The same for the same event, wherever in its block a node places it. */
export const eventOf = ({ transactionHash, address, topics, data }: RpcLog): string =>
  [transactionHash, address, topics.join(), data].join().toLowerCase()

/**
 * A node's logs, and those that another answer shows beyond them. A log that is only in another place there is no
 * further one: counted twice, half of an amount would pay.
 */
export function withMore(logs: readonly RpcLog[], others: readonly RpcLog[]): readonly RpcLog[] {
  const shown = new Map(logs.map((log) => [logKey(log), log]))
  const counts = Map.groupBy(shown.values(), eventOf)
  const theirs = new Map(others.map((log) => [logKey(log), log]))
  const more = [...Map.groupBy(theirs.values(), eventOf)].flatMap(([event, same]) => {
    const missing = Math.max(0, same.length - (counts.get(event)?.length ?? 0))
    return same.filter((log) => !shown.has(logKey(log))).slice(0, missing)
  })
  return [...logs, ...more]
}

const receiversOf = ({ addresses }: LogFilter): readonly string[] => (addresses === 'all' ? [] : addresses.map(toTopic))

/** Whether a log is among those that a node is asked for. */
export function matches(filter: LogFilter): (log: RpcLog) => boolean {
  const receivers = filter.addresses === 'all' ? null : new Set(receiversOf(filter))
  return ({ address, topics }) =>
    (filter.tokens.size === 0 || filter.tokens.has(address.toLowerCase())) &&
    topics[0]?.toLowerCase() === TRANSFER_TOPIC &&
    (receivers === null || receivers.has(topics[2]?.toLowerCase() ?? ''))
}

/** Whether the headers of blocks indicate transfers that a node does not show in them. */
export function suspicionOf(filter: LogFilter): (header: Header, logs: readonly RpcLog[]) => Suspicion {
  if (filter.addresses.length === 0) return () => 'none'
  const asked = { tokens: [...filter.tokens.keys()], topic: TRANSFER_TOPIC, receivers: receiversOf(filter) }
  return ({ logsBloom }, logs) => suspect(logsBloom, asked, logs)
}

/** What a node lacks of a block: its receipts, or more that its header indicates. */
export type Lack = 'nothing' | 'more' | Ungiven

/** What a node says is in a block. */
export type Word = { logs: readonly RpcLog[]; lacks: Lack }

/** Whether a node gave no receipts. */
export const isUngiven = (lacks: Lack): lacks is Ungiven => lacks === 'receipts' || lacks === 'answer'

/** What a node's logs show in a block, of those that it is asked for. */
type Shown = { block: Header; logs: readonly RpcLog[]; filter: LogFilter }

/**
 * A node's word about a block, of the one in use and of those that confirm it: all that its logs show and, where its
 * own header is strong evidence of more, or another node shows more, what its receipts show beyond them. Behind one
 * address, the index of logs may lag behind the headers. The two must hold all that the header indicates. Receipts take
 * nothing back: logs may have been confirmed by others, and a log of another contract covers the bits of any. Nor do
 * they add what neither the header indicates nor another node shows, as the logs of Polygon's state syncs.
 * @param logs what the node's logs show
 * @param others what another node shows, which this one is about to deny
 * @param isStrong its header is strong evidence of more
 */
export async function readWord(
  endpoint: Asked,
  { block, logs, filter }: Shown,
  { others = [], isStrong = false }: { others?: readonly RpcLog[]; isStrong?: boolean },
): Promise<Word> {
  const isAsked = matches(filter)
  const denied = new Set(withMore(logs, others).slice(logs.length).filter(isAsked).map(eventOf))
  if (denied.size === 0 && !isStrong) return { logs, lacks: 'nothing' }
  const receipts = await readReceipts(endpoint, block.hash)
  if (typeof receipts === 'string') return { logs, lacks: receipts }
  const header = readBloom(block.logsBloom)
  const isWhole = !isStrong || !header || isWithin(bloomOf([...receipts.logs, ...logs]), header)
  const isIndicated = (log: RpcLog): boolean => isWhole && header !== null && mayHold(header, log)
  const more = receipts.logs.filter((log) => isAsked(log) && (denied.has(eventOf(log)) || isIndicated(log)))
  const whole = withMore(logs, more)
  // in a place that another log has, none could be recorded
  if (whole.length > logs.length && !arePlaced(whole)) return { logs, lacks: 'more' }
  return { logs: whole, lacks: isWhole ? 'nothing' : 'more' }
}

/**
 * A node's words about blocks, in their order. Where it gives none of several receipts at once, and takes long for
 * that, it is not asked for the rest now.
 */
export async function readWords<One extends Shown>(endpoint: Asked, shown: readonly One[]): Promise<[One, Word][]> {
  const strong = shown.filter(({ block, logs, filter }) => suspicionOf(filter)(block, logs) === 'strong')
  const words = new Map<One, Word>()
  let mute: Ungiven | null = null
  for (let start = 0; start < strong.length; start += AT_ONCE) {
    const askedMs = performance.now()
    const ask = async (one: One): Promise<[One, Word]> => {
      return [one, mute ? { logs: one.logs, lacks: mute } : await readWord(endpoint, one, { isStrong: true })]
    }
    const said = await Promise.all(strong.slice(start, start + AT_ONCE).map(ask))
    for (const [one, word] of said) words.set(one, word)
    const ungiven = said.flatMap(([, { lacks }]) => (isUngiven(lacks) ? [lacks] : []))
    const isSlow = performance.now() - askedMs >= SLOW_MS
    if (isSlow && ungiven.length === AT_ONCE) mute = ungiven.at(-1) ?? null
  }
  return shown.map((one) => [one, words.get(one) ?? { logs: one.logs, lacks: 'nothing' }])
}

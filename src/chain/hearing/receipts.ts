import { bloomOf, isWithin, mayHold, readBloom, type Suspicion, suspect } from '../bloom.ts'
import { type Rpc, RpcError } from '../endpoints/rpc.ts'
import { type Block, type LogFilter, logKey, type RpcLog, TRANSFER_TOPIC, toHex, toTopic } from '../transfer-logs.ts'

type Header = Pick<Block, 'hash' | 'logsBloom'>

type Receipt = { logs: RpcLog[] }

/** Concurrent questions about single blocks. One at a time, a chain with full blooms grows faster than it is read. */
const AT_ONCE = 8

export async function someAtOnce<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let start = 0; start < items.length; start += AT_ONCE)
    results.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(work))))
  return results
}

/** Not every node supports block receipts; all know those of its transactions. */
async function askReceipts(rpc: Rpc, hash: string): Promise<readonly (Receipt | null)[]> {
  try {
    return (await rpc.call<Receipt[] | null>('eth_getBlockReceipts', hash)) ?? [null]
  } catch (error) {
    if (!(error instanceof RpcError && error.kind === 'definite')) throw error
  }
  const block = await rpc.call<{ transactions?: string[] } | null>('eth_getBlockByHash', hash, false)
  if (!block?.transactions) return [null]
  return rpc.batch(block.transactions.map((one) => ({ method: 'eth_getTransactionReceipt', params: [one] })))
}

/** The logs in a node's receipts of a block; `isComplete` if it has all of these. */
type Receipts = { logs: readonly RpcLog[]; isComplete: boolean }

/** @returns null if the node supports no receipts @throws RpcError */
export async function readReceipts(rpc: Rpc, hash: string): Promise<Receipts | null> {
  const receipts = await askReceipts(rpc, hash).catch((error: unknown) => {
    if (error instanceof RpcError && error.kind === 'definite') return null
    throw error
  })
  if (receipts === null) return null
  const isComplete = receipts.length > 0 && !receipts.includes(null)
  const logs = receipts.flatMap((one) => one?.logs ?? [])
  return { logs: isComplete ? placeEach(logs) : logs, isComplete }
}

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

function matches(filter: LogFilter): (log: RpcLog) => boolean {
  const receivers = filter.addresses === 'all' ? null : new Set(receiversOf(filter))
  return ({ address, topics }) =>
    filter.tokens.has(address.toLowerCase()) &&
    topics[0] === TRANSFER_TOPIC &&
    (receivers === null || receivers.has(topics[2]?.toLowerCase() ?? ''))
}

/** Whether the headers of blocks indicate transfers that a node does not show in them. */
export function suspicionOf(filter: LogFilter): (header: Header, logs: readonly RpcLog[]) => Suspicion {
  if (filter.addresses.length === 0) return () => 'none'
  const asked = { tokens: [...filter.tokens.keys()], topic: TRANSFER_TOPIC, receivers: receiversOf(filter) }
  return ({ logsBloom }, logs) => suspect(logsBloom, asked, logs)
}

/** What a node says is in a block, and what it lacks of that: its receipts, or more that its header indicates. */
export type Word = { logs: readonly RpcLog[]; lacks: 'nothing' | 'receipts' | 'more' }

/**
 * A node's word about a block, of the one in use and of those that confirm it: all that its logs show and, where its
 * own header is strong evidence of more, what its receipts show beyond them. Behind one address, the index of logs may
 * lag behind the headers. The two must hold all that the header indicates. Receipts take nothing back: logs may have
 * been confirmed by others, and a log of another contract covers the bits of any. Nor do they add what the header does
 * not indicate, as the logs of Polygon's state syncs.
 * @param logs what the node's logs show
 * @throws RpcError
 */
export async function readWord(
  rpc: Rpc,
  filter: LogFilter,
  { block, logs }: { block: Header; logs: readonly RpcLog[] },
): Promise<Word> {
  const header = readBloom(block.logsBloom)
  if (!header || suspicionOf(filter)(block, logs) !== 'strong') return { logs, lacks: 'nothing' }
  const receipts = await readReceipts(rpc, block.hash)
  if (!receipts) return { logs, lacks: 'receipts' }
  if (!isWithin(bloomOf([...receipts.logs, ...logs]), header)) return { logs, lacks: 'more' }
  const isAsked = matches(filter)
  const whole = withMore(
    logs,
    receipts.logs.filter((log) => isAsked(log) && mayHold(header, log)),
  )
  // in a place that another log has, none could be recorded
  if (whole.length > logs.length && !arePlaced(whole)) return { logs, lacks: 'more' }
  return { logs: whole, lacks: 'nothing' }
}

import { bloomOf, isWithin, mayHold, readBloom, type Suspicion, suspect } from '../bloom.ts'
import { type Rpc, RpcError } from '../endpoints/rpc.ts'
import { type Block, type LogFilter, logKey, type RpcLog, TRANSFER_TOPIC, toTopic } from '../transfer-logs.ts'

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
async function readReceipts(rpc: Rpc, hash: string): Promise<readonly (Receipt | null)[]> {
  try {
    return (await rpc.call<Receipt[] | null>('eth_getBlockReceipts', hash)) ?? [null]
  } catch (error) {
    if (!(error instanceof RpcError && error.kind === 'definite')) throw error
  }
  const block = await rpc.call<{ transactions?: string[] } | null>('eth_getBlockByHash', hash, false)
  if (!block?.transactions) return [null]
  return rpc.batch(block.transactions.map((one) => ({ method: 'eth_getTransactionReceipt', params: [one] })))
}

/**
 * The requested logs of a block, proven by its receipts: these hold all that the header indicates. They may hold more,
 * as the logs of Polygon's state syncs; of such, only what the node's logs show too counts as before.
 * @param logs what the node's logs show
 * @returns undefined if the receipts lack something that the header indicates, `unsupported` if it has no receipts
 * @throws RpcError
 */
export async function readProven(
  rpc: Rpc,
  filter: LogFilter,
  { block, logs }: { block: Header; logs: readonly RpcLog[] },
): Promise<readonly RpcLog[] | 'unsupported' | undefined> {
  const header = readBloom(block.logsBloom)
  if (!header) return undefined
  const receipts = await readReceipts(rpc, block.hash).catch((error: unknown) => {
    if (error instanceof RpcError && error.kind === 'definite') return 'unsupported' as const
    throw error
  })
  if (receipts === 'unsupported') return receipts
  const all = receipts.flatMap((receipt) => receipt?.logs ?? [])
  if (!isWithin(bloomOf(all), header)) return undefined
  const shown = new Set(logs.map(logKey))
  return all.filter(matches(filter)).filter((log) => mayHold(header, log) || shown.has(logKey(log)))
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

/**
 * What an endpoint's logs say about a block, by its own header. Where that is strong evidence of more, its receipts
 * say it: behind one address, the index of logs may lag behind the headers.
 * @returns undefined if the receipts lack something that the header indicates, too
 */
export async function readWhole(
  rpc: Rpc,
  filter: LogFilter,
  { block, logs }: { block: Header; logs: readonly RpcLog[] },
): Promise<readonly RpcLog[] | undefined> {
  if (suspicionOf(filter)(block, logs) !== 'strong') return logs
  const proven = await readProven(rpc, filter, { block, logs }).catch((error: unknown) => {
    if (error instanceof RpcError) return 'unsupported' as const
    throw error
  })
  return proven === 'unsupported' ? logs : proven
}

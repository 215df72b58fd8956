import { bloomOf, readBloom, type Suspicion, suspect } from '../bloom.ts'
import { type Rpc, RpcError } from '../endpoints/rpc.ts'
import { type Block, type LogFilter, type RpcLog, TRANSFER_TOPIC, toTopic } from '../transfer-logs.ts'

type Header = Pick<Block, 'hash' | 'logsBloom'>

type Receipt = { logs: RpcLog[] }

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
 * All logs of a block, from its receipts; undefined if the node does not return them all, `unsupported` if it never
 * does.
 * @throws RpcError
 */
export async function readAllLogs(rpc: Rpc, block: Header): Promise<RpcLog[] | 'unsupported' | undefined> {
  const header = readBloom(block.logsBloom)
  if (!header) return undefined
  const receipts = await readReceipts(rpc, block.hash).catch((error: unknown) => {
    if (error instanceof RpcError && error.kind === 'definite') return 'unsupported' as const
    throw error
  })
  if (receipts === 'unsupported') return receipts
  const logs = receipts.flatMap((receipt) => receipt?.logs ?? [])
  return bloomOf(logs).equals(header) ? logs : undefined
}

const receiversOf = ({ addresses }: LogFilter): readonly string[] => (addresses === 'all' ? [] : addresses.map(toTopic))

export function matches(filter: LogFilter): (log: RpcLog) => boolean {
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
 * @returns undefined if the receipts do not fit the header either
 */
export async function readWhole(
  rpc: Rpc,
  filter: LogFilter,
  { block, logs }: { block: Header; logs: readonly RpcLog[] },
): Promise<readonly RpcLog[] | undefined> {
  if (suspicionOf(filter)(block, logs) !== 'strong') return logs
  const all = await readAllLogs(rpc, block).catch((error: unknown) => {
    if (error instanceof RpcError) return 'unsupported' as const
    throw error
  })
  if (all === 'unsupported') return logs
  return all?.filter(matches(filter))
}

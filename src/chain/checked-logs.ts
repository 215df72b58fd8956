import { suspect } from './bloom.ts'
import { askLogs, receiversIn } from './endpoints/ask-logs.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import type { RpcCall } from './endpoints/rpc.ts'
import { confirmLogs, type Halt, type Panel, readAllLogs, toDoubt } from './opinions.ts'
import {
  type Block,
  ChainDoubt,
  type LogFilter,
  logsCalls,
  ReaderDoubt,
  type RpcLog,
  TRANSFER_TOPIC,
  toHex,
  toTopic,
} from './transfer-logs.ts'

/** Concurrent block queries. One at a time, a chain with full blooms grows faster than it is read. */
const AT_ONCE = 8

async function someAtOnce<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let start = 0; start < items.length; start += AT_ONCE)
    results.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(work))))
  return results
}

const receiversOf = ({ addresses }: LogFilter): readonly string[] => (addresses === 'all' ? [] : addresses.map(toTopic))

function matches(filter: LogFilter): (log: RpcLog) => boolean {
  const receivers = filter.addresses === 'all' ? null : new Set(receiversOf(filter))
  return ({ address, topics }) =>
    filter.tokens.has(address.toLowerCase()) &&
    topics[0] === TRANSFER_TOPIC &&
    (receivers === null || receivers.has(topics[2]?.toLowerCase() ?? ''))
}

export type Found = { block: Block; logs: readonly RpcLog[] }

type Doubted = Found & { strong: boolean }
/** Blocks before the halt, with logs that fit their headers. */
type Checked = { found: readonly Found[]; halt: Halt | undefined }

/**
 * For blocks whose headers indicate transfers that the answers lack: asks another endpoint, or this one with a
 * different query. Where the header is strong evidence, the block's receipts decide. Endpoints that agree do not
 * outvote such a header: behind one provider's name, all may read the same lagging index of logs. At the first block
 * for which no answer matches the header it halts: that one is read again later.
 */
async function readAgain(panel: Panel, filter: LogFilter, doubted: readonly Doubted[]): Promise<Checked> {
  const { endpoints, endpoint } = panel
  const others = endpoints.usable().filter((other) => other !== endpoint)
  if (others.length > 0) {
    const questions = doubted.flatMap(({ block, logs }) =>
      logsCalls(filter, { blockHash: block.hash }, filter.addresses.length).map((call) => {
        return { block, logs: logs.filter(isAnswerOf(call)), call }
      }),
    )
    const halt = await confirmLogs(panel, questions)
    const agreed = doubted.filter(({ block }) => !halt || block.number < halt.at)
    const checked = await readEach(agreed, ({ block, logs, strong }) =>
      strong ? fromReceipts(endpoint, filter, block, logs) : logs,
    )
    return { found: checked.found, halt: checked.halt ?? halt }
  }
  const ranges = doubted.map(({ block }) => ({ fromBlock: toHex(block.number), toBlock: toHex(block.number) }))
  const answers = await askLogs(endpoint, filter, ranges)
  const second = new Map(doubted.map(({ block }, index) => [block, answers[index] ?? []]))
  return readEach(doubted, ({ block, logs, strong }) => {
    const inBlock = (second.get(block) ?? []).filter((log) => log.blockHash === block.hash)
    if (inBlock.length > logs.length) return inBlock
    return strong ? fromReceipts(endpoint, filter, block, null) : logs
  })
}

/** Reads the logs of blocks in their order, and halts at the first one in doubt. */
async function readEach(
  doubted: readonly Doubted[],
  read: (one: Doubted) => Promise<readonly RpcLog[]> | readonly RpcLog[],
): Promise<Checked> {
  const answers = await someAtOnce(doubted, async (one): Promise<Found | Halt> => {
    try {
      return { block: one.block, logs: await read(one) }
    } catch (error) {
      return { at: one.block.number, doubt: toDoubt(error) }
    }
  })
  const halt = answers.find((answer) => 'doubt' in answer)
  return { found: answers.filter((answer) => 'block' in answer), halt }
}

/**
 * The block's requested logs, proven by its receipts.
 * @param agreed what several endpoints agree on, used if the node has no block receipts. Null: no agreement
 * @throws ChainDoubt
 */
async function fromReceipts(
  { rpc }: Endpoint,
  filter: LogFilter,
  block: Block,
  agreed: readonly RpcLog[] | null,
): Promise<readonly RpcLog[]> {
  const all = await readAllLogs(rpc, block)
  if (all === 'unsupported' && agreed) return agreed
  if (!all || all === 'unsupported')
    throw new ChainDoubt(`the header of block ${block.number} indicates transfers that no answer contains`)
  return all.filter(matches(filter))
}

/** Whether the call's receiver filter includes a log. */
function isAnswerOf(call: RpcCall): (log: RpcLog) => boolean {
  const receivers = receiversIn(call)
  if (!receivers) return () => true
  const wanted = new Set(receivers)
  return (log) => wanted.has(log.topics[2]?.toLowerCase() ?? '')
}

/**
 * Checks the logs of consecutive blocks against the headers.
 * @returns the blocks before the halt, each with all its requested logs
 * @throws Outvoted, RpcError; ReaderDoubt if a log is in another block than the one it was asked about
 */
export async function checkAgainstHeaders(panel: Panel, filter: LogFilter, found: readonly Found[]): Promise<Checked> {
  if (filter.addresses.length === 0) return { found, halt: undefined }
  const receivers = receiversOf(filter)
  const judged = found.map(({ block, logs }) => {
    const asked = { tokens: filter.tokens.keys(), topic: TRANSFER_TOPIC, receivers }
    return { block, logs, suspicion: suspect(block.logsBloom, asked, logs) }
  })
  const trusted = judged.filter(({ suspicion }) => suspicion === 'none')
  const doubted = judged.filter(({ suspicion }) => suspicion !== 'none')
  const again = doubted.map(({ block, logs, suspicion }) => ({ block, logs, strong: suspicion === 'strong' }))
  const { found: read, halt } = await readAgain(panel, filter, again)
  const checked = [...trusted, ...read].filter(({ block }) => !halt || block.number < halt.at)
  for (const { block, logs } of checked)
    for (const log of logs)
      if (log.blockHash !== block.hash)
        throw new ReaderDoubt(`a log of ${log.transactionHash} is in an unexpected block`)
  return { found: checked, halt }
}

/** Confirms every transfer with another endpoint before it is recorded. @returns where it halts @throws Outvoted */
export async function confirmTransfers(
  panel: Panel,
  filter: LogFilter,
  { logs, blocks, receivers }: { logs: readonly RpcLog[]; blocks: readonly Block[]; receivers: ReadonlySet<string> },
): Promise<Halt | undefined> {
  const topics = new Set([...receivers].map(toTopic))
  const mine = logs.filter((log) => topics.has(log.topics[2]?.toLowerCase() ?? ''))
  const byBlock = Map.groupBy(mine, ({ blockHash }) => blockHash)
  const questions = blocks.flatMap((block) => {
    const own = byBlock.get(block.hash) ?? []
    if (own.length === 0) return []
    const asked = [...new Set(own.map((log) => `0x${log.topics[2]?.slice(26)}`))]
    const calls = logsCalls({ ...filter, addresses: asked }, { blockHash: block.hash }, asked.length)
    return calls.map((call) => ({ block, logs: own, call }))
  })
  return confirmLogs(panel, questions)
}

/** The blocks before a halt. @throws the doubt if there are none */
export function before(blocks: readonly Block[], halt: Halt | undefined): readonly Block[] {
  const sure = blocks.filter(({ number }) => !halt || number < halt.at)
  if (halt && sure.length === 0) throw halt.doubt
  return sure
}

import type { FastifyBaseLogger } from 'fastify'
import { MINUTE, SECOND } from '../../kernel/clock.ts'
import { askLogs } from '../endpoints/ask-logs.ts'
import { RpcError } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { type Block, ChainDoubt, type LogFilter, ReaderDoubt, type RpcLog, toHex, toTopic } from '../transfer-logs.ts'
import { confirmLogs, type Halt, keyOfLogs, toDoubt } from './logs-vote.ts'
import { readProven, someAtOnce, suspicionOf, withMore } from './receipts.ts'
import { confirmStep, type Found, listOthers, type Step } from './second-word.ts'
import type { Panel } from './vote.ts'

/** Checks steps, and says where it gave way. */
type Reading = Panel & { network: Pick<Network, 'chainId'>; log: Pick<FastifyBaseLogger, 'warn'> }

/**
 * How long nothing is read past a block whose logs and receipts lack what its header indicates. Several endpoints may
 * read the same index, which lags for seconds. One that is alone is trouble of the chain before.
 */
const AGREED_MS = 20 * SECOND
const ALONE_MS = MINUTE

type Doubted = Found & { strong: boolean }
/** Blocks before the halt, with logs that fit their headers. */
type Checked = { found: readonly Found[]; halt: Halt | undefined }

/**
 * For blocks whose headers indicate transfers that the answers lack. Where the header is strong evidence, the block's
 * receipts are read, also where several endpoints agree: behind one provider's name, all may read the same lagging
 * index of logs. What they add is confirmed like all else, and they take nothing back. An endpoint that is alone is
 * asked in another way before. At the first block for which no answer matches the header it halts: that one is read
 * again later, but not for ever.
 */
async function readAgain(reading: Reading, filter: LogFilter, doubted: readonly Doubted[]): Promise<Checked> {
  const { endpoint } = reading
  if (listOthers(reading).length > 0)
    return readEach(doubted, (one) => (one.strong ? fromReceipts(reading, filter, one, AGREED_MS) : one.logs))
  const ranges = doubted.map(({ block }) => ({ fromBlock: toHex(block.number), toBlock: toHex(block.number) }))
  const answers = await askLogs(endpoint, filter, ranges)
  const second = new Map(doubted.map(({ block }, index) => [block, answers[index] ?? []]))
  return readEach(doubted, (one) => {
    const inBlock = (second.get(one.block) ?? []).filter((log) => log.blockHash === one.block.hash)
    const both = withMore(one.logs, inBlock)
    if (both.length > one.logs.length) return both
    return one.strong ? fromReceipts(reading, filter, one, ALONE_MS) : one.logs
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
 * The block's requested logs, completed by its receipts. Those of a node may never fit its headers: after a while, what
 * its logs show stands, so that no chain stands still for ever.
 * @param patienceMs longer where no other endpoint may have said the same
 * @throws ChainDoubt, RpcError
 */
async function fromReceipts(
  { endpoint, network: { chainId }, log }: Reading,
  filter: LogFilter,
  { block, logs }: Found,
  patienceMs: number,
): Promise<readonly RpcLog[]> {
  const key = `receipts of ${block.hash}`
  const isOver = (): boolean => endpoint.noteLacking(key, patienceMs)
  const proven = await readProven(endpoint.rpc, filter, { block, logs }).catch((error: unknown) => {
    if (error instanceof RpcError && isOver()) return undefined
    throw error
  })
  if (proven === 'unsupported' && patienceMs !== ALONE_MS) return logs
  if (proven && proven !== 'unsupported') {
    endpoint.noteHaving(key)
    return proven
  }
  const words = `the header of block ${block.number} indicates transfers that no answer contains`
  if (!isOver()) throw new ChainDoubt(words)
  log.warn({ chainId, endpoint: endpoint.number }, `${words}; the chain is read on without them`)
  return logs
}

/** @throws ReaderDoubt if a log is in another block than the one it was asked about */
function checkPlaces(found: readonly Found[]): void {
  for (const { block, logs } of found)
    for (const log of logs)
      if (log.blockHash !== block.hash)
        throw new ReaderDoubt(`a log of ${log.transactionHash} is in an unexpected block`)
}

/** Where no other one says what is in the blocks, the one in use is believed alone. */
function warnOfMute({ endpoints, network: { chainId }, log }: Reading): void {
  const words = 'the endpoint refuses to say what is in the blocks: it confirms nothing'
  for (const one of endpoints.all) if (one.tellMute()) log.warn({ chainId, endpoint: one.number }, words)
}

/** The first of two halts. */
const firstOf = (one: Halt | undefined, other: Halt | undefined): Halt | undefined =>
  one && other ? (one.at <= other.at ? one : other) : (one ?? other)

const upTo = (found: readonly Found[], halt: Halt | undefined): readonly Found[] =>
  found.filter(({ block }) => !halt || block.number < halt.at)

/**
 * Checks consecutive blocks and their logs with the other endpoints, and against the headers.
 * @returns the blocks before the halt, each with all its requested logs
 * @throws Outvoted, RpcError, ReaderDoubt
 */
export async function checkStep(panel: Reading, step: Step): Promise<Checked> {
  const { filter, found } = step
  checkPlaces(found)
  const unconfirmed = await confirmStep(panel, step)
  warnOfMute(panel)
  const confirmed = upTo(found, unconfirmed)
  if (filter.addresses.length === 0) return { found: confirmed, halt: unconfirmed }
  const suspect = suspicionOf(filter)
  const judged = confirmed.map(({ block, logs }) => ({ block, logs, suspicion: suspect(block, logs) }))
  const trusted = judged.filter(({ suspicion }) => suspicion === 'none')
  const doubted = judged
    .filter(({ suspicion }) => suspicion !== 'none')
    .map(({ block, logs, suspicion }) => ({ block, logs, strong: suspicion === 'strong' }))
  const again = await readAgain(panel, filter, doubted)
  checkPlaces(again.found)
  // what only the receipts of one endpoint show, the others have not confirmed
  const agreed = new Map(doubted.map(({ block, logs }) => [block, keyOfLogs(logs)]))
  const more = again.found.filter(({ block, logs }) => keyOfLogs(logs) !== agreed.get(block))
  const denied = await confirmTransfers(panel, filter, {
    logs: more.flatMap(({ logs }) => logs),
    blocks: more.map(({ block }) => block),
  })
  const halt = firstOf(unconfirmed, firstOf(again.halt, denied))
  return { found: upTo([...trusted, ...again.found], halt), halt }
}

/**
 * Confirms every transfer with the other endpoints before it is recorded.
 * @param receivers only transfers to these addresses; absent: all
 * @returns where it halts
 * @throws Outvoted
 */
export async function confirmTransfers(
  panel: Panel,
  filter: LogFilter,
  { logs, blocks, receivers }: { logs: readonly RpcLog[]; blocks: readonly Block[]; receivers?: ReadonlySet<string> },
): Promise<Halt | undefined> {
  const topics = receivers && new Set([...receivers].map(toTopic))
  const mine = logs.filter((log) => !topics || topics.has(log.topics[2]?.toLowerCase() ?? ''))
  const byBlock = Map.groupBy(mine, ({ blockHash }) => blockHash)
  const questions = blocks.flatMap((block) => {
    const own = byBlock.get(block.hash) ?? []
    if (own.length === 0) return []
    const asked = [...new Set(own.map((log) => `0x${log.topics[2]?.slice(26)}`))]
    return [{ block, logs: own, filter: { ...filter, addresses: asked } }]
  })
  return confirmLogs(panel, questions)
}

/** The blocks before a halt. @throws the doubt if there are none */
export function before(blocks: readonly Block[], halt: Halt | undefined): readonly Block[] {
  const sure = blocks.filter(({ number }) => !halt || number < halt.at)
  if (halt && sure.length === 0) throw halt.doubt
  return sure
}

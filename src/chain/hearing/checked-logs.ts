import type { FastifyBaseLogger } from 'fastify'
import { MINUTE, SECOND } from '../../kernel/clock.ts'
import { askLogs } from '../endpoints/ask-logs.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import type { Network } from '../networks.ts'
import {
  type Block,
  ChainDoubt,
  LaggingLogs,
  type LogFilter,
  ReaderDoubt,
  type RpcLog,
  toHex,
  toTopic,
} from '../transfer-logs.ts'
import { type Confirmed, confirmLogs, type Halt } from './logs-vote.ts'
import { readWords, suspicionOf, type Word, withMore } from './receipts.ts'
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

/** What the one in use says is in a block. */
type Said = Found & Word
/** Blocks before the halt, with logs that fit their headers. */
type Checked = { found: readonly Found[]; halt: Halt | undefined }

const isAlone = (reading: Reading): boolean => listOthers(reading).length === 0
const patienceOf = (reading: Reading): number => (isAlone(reading) ? ALONE_MS : AGREED_MS)
const receiptsKey = ({ hash }: Block): string => `receipts of ${hash}`

/**
 * The whole word of the one in use, before another one is asked for its own: where a header indicates transfers that
 * the logs lack, the receipts add them. Behind one provider's name, several endpoints may read the same lagging index.
 * One that is alone is asked for logs in another way before. Since when it lacks something is remembered of all blocks
 * at once: those after a halt have waited with it.
 */
async function completeStep(reading: Reading, { filter, found }: Step): Promise<Said[]> {
  const { endpoint } = reading
  const suspect = suspicionOf(filter)
  const doubted = found.filter(({ block, logs }) => suspect(block, logs) !== 'none')
  const shown = isAlone(reading) ? await askAgain(endpoint, filter, doubted) : doubted
  const asked = shown.map((one) => ({ ...one, filter }))
  const words = new Map((await readWords(endpoint, asked)).map(([{ block }, word]) => [block, word]))
  const said = found.map((one): Said => ({ lacks: 'nothing', ...one, ...words.get(one.block) }))
  for (const { block, lacks } of said) {
    if (lacks === 'nothing') endpoint.noteHaving(receiptsKey(block))
    else endpoint.noteLacking(receiptsKey(block))
  }
  return said
}

/** The logs of blocks that the headers speak against, and those that a query by number shows beyond them. */
async function askAgain(endpoint: Endpoint, filter: LogFilter, doubted: readonly Found[]): Promise<readonly Found[]> {
  const ranges = doubted.map(({ block }) => ({ fromBlock: toHex(block.number), toBlock: toHex(block.number) }))
  const answers = await askLogs(endpoint, filter, ranges)
  return doubted.map(({ block, logs }, index) => {
    const inBlock = (answers[index] ?? []).filter((log) => log.blockHash === block.hash)
    return { block, logs: withMore(logs, inBlock) }
  })
}

/**
 * Where the reading halts because logs and receipts lack what a header indicates, also where others agree: that block
 * is read again later. Those of a node may never fit its headers: after a while, what its logs show stands, so that no
 * chain stands still for ever. Where others agree, one that has no receipts is not waited for. Each such block is told.
 */
function findLacking(reading: Reading, said: readonly Said[]): Halt | undefined {
  const { endpoint, network, log } = reading
  const patienceMs = patienceOf(reading)
  for (const { block, lacks } of said) {
    if (lacks === 'nothing') continue
    const words = `the header of block ${block.number} indicates transfers that no answer contains`
    const isOver = endpoint.noteLacking(receiptsKey(block), patienceMs)
    const isWaitedFor = lacks !== 'receipts' || isAlone(reading)
    if (isWaitedFor && !isOver) return { at: block.number, doubt: new ChainDoubt(words) }
    log.warn({ chainId: network.chainId, endpoint: endpoint.number }, `${words}; the chain is read on without them`)
  }
  return undefined
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

const upTo = <One extends Found>(found: readonly One[], halt: Halt | undefined): readonly One[] =>
  found.filter(({ block }) => !halt || block.number < halt.at)

/**
 * Each payment that another one had to prove may have cost the whole timeout of a question about receipts. Where that
 * goes on for longer than an index lags, another one that is up to date is read first, until this one shows all again.
 */
function compareToProofs(reading: Reading, said: readonly Said[], { halt, completed }: Confirmed): void {
  const { endpoint, endpoints, network, log } = reading
  const isProven = [...completed.values()].some((one) => one.isProven)
  const isWhole = upTo(said, halt).some(({ block, logs }) => logs.length > 0 && !completed.has(block.hash))
  if (!isProven && isWhole) endpoint.noteWhole()
  if (!isProven || !endpoint.noteProven() || endpoint.lacking) return
  if (!endpoints.usable().some((one) => one !== endpoint && !one.lacking)) return
  endpoint.lacking = true
  const words = 'the endpoint lacks payments that blocks prove, in its receipts too: another one is read first'
  log.warn({ chainId: network.chainId, endpoint: endpoint.number }, words)
}

/**
 * Checks consecutive blocks and their logs with the other endpoints, and against the headers.
 * @returns the blocks before the halt, each with all its requested logs
 * @throws Outvoted, RpcError, ReaderDoubt
 */
export async function checkStep(panel: Reading, step: Step): Promise<Checked> {
  checkPlaces(step.found)
  const said = await completeStep(panel, step)
  checkPlaces(said)
  const answer = await confirmStep(panel, { ...step, found: said })
  warnOfMute(panel)
  compareToProofs(panel, said, answer)
  const confirmed = upTo(said, answer.halt).map((one): Said => {
    const { logs, isProven } = answer.completed.get(one.block.hash) ?? { logs: one.logs, isProven: false }
    return { ...one, logs, lacks: isProven ? 'nothing' : one.lacks }
  })
  const halt = findLacking(panel, confirmed) ?? answer.halt
  return { found: upTo(confirmed, halt), halt }
}

/**
 * Confirms every transfer with the other endpoints before it is recorded. What the logs lack is not added here: blocks
 * are asked about only because of what they show.
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
  const { halt, completed } = await confirmLogs(panel, questions)
  const lacking = questions.find(({ block }) => completed.has(block.hash))?.block
  if (!lacking) return halt
  const words = `endpoint ${panel.endpoint.number} lacks some of the transfers in block ${lacking.number}`
  return { at: lacking.number, doubt: new LaggingLogs(words) }
}

/** The blocks before a halt. @throws the doubt if there are none */
export function before(blocks: readonly Block[], halt: Halt | undefined): readonly Block[] {
  const sure = blocks.filter(({ number }) => !halt || number < halt.at)
  if (halt && sure.length === 0) throw halt.doubt
  return sure
}

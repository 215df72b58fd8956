import { bloomOf, falsePositiveRate, MAX_FALSE_POSITIVE, mayHold, readBloom } from '../bloom.ts'
import { askCalls } from '../endpoints/ask-logs.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { type RpcCall, RpcError } from '../endpoints/rpc.ts'
import {
  type Block,
  ChainDoubt,
  type LogFilter,
  logKey,
  logsCalls,
  type RpcBlock,
  type RpcLog,
  toBlock,
} from '../transfer-logs.ts'
import { isProven } from './header-proof.ts'
import { eventOf, readReceipts, readWord, someAtOnce, type Word, withMore } from './receipts.ts'
import { type Ask, disagree, headerCall, type Opinion, Outvoted, type Panel, vote } from './vote.ts'

type Testimony = { logs: readonly RpcLog[]; header: RpcBlock | null; place: string }
type Witness = { endpoint: Endpoint; answer: Testimony }

/** The same for the same logs; a node may say one twice. */
export const keyOfLogs = (logs: readonly RpcLog[]): string => [...new Set(logs.map(logKey))].sort().join(';')

/** A hash alone does not tell the number and the time of its block; a node says these. */
export const placeOf = ({ number, at }: Pick<Block, 'number' | 'at'>): string =>
  `block ${number} of ${at.toISOString()}`

const lacking = (left: readonly RpcLog[], right: readonly RpcLog[]): RpcLog[] => {
  const keys = new Set(right.map(logKey))
  return left.filter((log) => !keys.has(logKey(log)))
}

/**
 * The bloom of a block that two endpoints dispute. A header is its node's word like any other: it is evidence if the
 * block's hash is its hash, or if both show the same bloom.
 */
function bloomBetween(mine: Testimony, other: Testimony, proven: RpcBlock | undefined): string | undefined {
  if (proven) return proven.logsBloom
  return mine.header?.logsBloom === other.header?.logsBloom ? mine.header?.logsBloom : undefined
}

/**
 * Whether an endpoint hides any of these logs, which the block's header indicates. Set bits alone do not say that: they
 * hold neither amount nor direction, and a liar finds a log whose bits the block's other logs have set. So all that the
 * endpoint shows, receipts too, must leave one of the log's bits unexplained, or its receipts must show the log that
 * its word lacks. One whose receipts are not all there may lag: that proves nothing.
 */
async function hidesAny({ endpoint, answer }: Witness, hash: string, indicated: readonly RpcLog[]): Promise<boolean> {
  if (indicated.length === 0) return false
  const receipts = await readReceipts(endpoint.rpc, hash).catch((error: unknown) => {
    if (error instanceof RpcError) return null
    throw error
  })
  if (!receipts?.isComplete) return false
  const explained = bloomOf([...receipts.logs, ...answer.logs])
  return indicated.some((log) => {
    const same = receipts.logs.filter((one) => eventOf(one) === eventOf(log))
    return !mayHold(explained, log) || withMore(answer.logs, same).length > answer.logs.length
  })
}

/** Which endpoint invents or hides logs, or moves the block to another time, judged by the header of the block. */
async function findLiar(hash: string, mine: Witness, other: Witness): Promise<Endpoint | undefined> {
  const headers = [mine, other].flatMap(({ answer }) => answer.header ?? [])
  const proven = headers.find(isProven)
  const bloom = readBloom(bloomBetween(mine.answer, other.answer, proven))
  const liars = new Set<Endpoint>()
  for (const { endpoint, answer } of [mine, other])
    if (proven && answer.place !== placeOf(toBlock(proven))) liars.add(endpoint)
  const judge = async (shows: Witness, denies: Witness): Promise<void> => {
    if (!bloom) return
    const denied = lacking(shows.answer.logs, denies.answer.logs)
    const indicated = denied.filter((log) => mayHold(bloom, log))
    if (indicated.length < denied.length) liars.add(shows.endpoint)
    const isEvidence = falsePositiveRate(bloom) <= MAX_FALSE_POSITIVE
    if (isEvidence && (await hidesAny(denies, hash, indicated))) liars.add(denies.endpoint)
  }
  await judge(mine, other)
  await judge(other, mine)
  const [liar, ...more] = liars
  return more.length === 0 ? liar : undefined
}

/** Logs of one block, and the filter that they pass. Without an address, it only asks whether the block is there. */
export type LogQuestion = {
  block: Pick<Block, 'number' | 'hash' | 'at'>
  logs: readonly RpcLog[]
  filter: LogFilter
}

const callsOf = ({ block, filter }: LogQuestion): RpcCall[] =>
  logsCalls(filter, { blockHash: block.hash }, Math.max(1, filter.addresses.length))

/** An endpoint that does not know the block is not asked for its logs. Nothing is said while its logs lag behind it. */
async function testify(endpoint: Endpoint, questions: readonly LogQuestion[]): Promise<Map<LogQuestion, Testimony>> {
  const headers = await endpoint.rpc.batch<RpcBlock | null>(questions.map(({ block }) => headerCall(block.hash)))
  const known = questions.flatMap((question, index) => {
    const header = headers[index]
    return header ? [{ question, header }] : []
  })
  const asked = known.flatMap(({ question }) => callsOf(question))
  const answers = (asked.length > 0 ? await askCalls(endpoint, asked) : []).values()
  if (asked.length > 0) endpoint.noteWord(true)
  const shown = known.map(({ question, header }) => {
    const logs = callsOf(question).flatMap(() => answers.next().value ?? [])
    return { question, header, block: toBlock(header), logs }
  })
  const words = await someAtOnce(shown, async ({ question, header, block, logs }) => {
    const word = await readWord(endpoint.rpc, question.filter, { block, logs }).catch((error: unknown): Word => {
      if (error instanceof RpcError) return { logs, lacks: 'receipts' }
      throw error
    })
    if (word.lacks === 'more' && isLag(endpoint, question, logs)) return null
    return [question, { logs: word.logs, header, place: placeOf(block) }] as const
  })
  return new Map(words.filter((word) => word !== null))
}

/**
 * Logs that lack what their own node's header indicates bear nobody out for the moment that an index may lag. Where
 * they contradict, that header is evidence against them.
 */
const isLag = (endpoint: Endpoint, { block, logs }: LogQuestion, theirs: readonly RpcLog[]): boolean =>
  keyOfLogs(theirs) === keyOfLogs(logs) && !endpoint.noteLacking(`logs of ${block.hash}`)

/** So many questions in a row that it refuses are enough. */
const MOST_REFUSED = 2

/** It responds, but not to this query, or not this often. */
const isAnswered = (error: RpcError): boolean => error.inBatch || error.tooOften

/**
 * Asks an endpoint about all blocks in two requests: block by block, a slow node is read more slowly than its chain
 * grows. If that fails, asks about each block alone, so that it can still answer: the more logs another endpoint
 * invents, the larger and slower the combined request. If even a single question goes unanswered, it is not asked about
 * the rest, nor if it refuses several in a row and the last one too: it keeps no old logs, and what it has begins
 * above.
 */
function askTogether(questions: readonly LogQuestion[]): (question: LogQuestion) => Ask<Testimony> {
  const asked = new Map<Endpoint, Promise<Map<LogQuestion, Testimony> | 'alone'>>()
  const silent = new Map<Endpoint, RpcError>()
  const askAll = (endpoint: Endpoint): Promise<Map<LogQuestion, Testimony> | 'alone'> => {
    const answer = testify(endpoint, questions).catch((error: unknown) => {
      if (error instanceof RpcError && questions.length > 1) return 'alone' as const
      throw error
    })
    asked.set(endpoint, answer)
    return answer
  }
  const refused = new Map<Endpoint, number>()
  /** Whether it will not answer the rest, as this error shows. */
  const isSilent = async (endpoint: Endpoint, error: RpcError): Promise<boolean> => {
    if (!isAnswered(error)) return true
    const inRow = error.kind === 'definite' ? (refused.get(endpoint) ?? 0) + 1 : 0
    refused.set(endpoint, inRow)
    const last = questions.at(-1)
    if (inRow !== MOST_REFUSED || !last) return false
    return testify(endpoint, [last]).then(
      () => false,
      (cause: unknown) => cause instanceof RpcError && cause.kind === 'definite',
    )
  }
  const askAlone = async (endpoint: Endpoint, question: LogQuestion): Promise<Testimony | undefined> => {
    const error = silent.get(endpoint)
    if (error) throw error
    try {
      const answer = (await testify(endpoint, [question])).get(question)
      refused.delete(endpoint)
      return answer
    } catch (error) {
      if (error instanceof RpcError && (await isSilent(endpoint, error))) silent.set(endpoint, error)
      throw error
    }
  }
  return (question) => async (_rpc, endpoint) => {
    const all = await (asked.get(endpoint) ?? askAll(endpoint))
    return all === 'alone' ? askAlone(endpoint, question) : all.get(question)
  }
}

/** The first block that cannot be confirmed yet, and why; those before it are. */
export type Halt = { at: bigint; doubt: ChainDoubt }

/**
 * Confirms the logs of blocks, in their order, with the other endpoints before they count.
 * @returns where it halts; undefined if all are confirmed
 * @throws Outvoted
 */
export async function confirmLogs(panel: Panel, questions: readonly LogQuestion[]): Promise<Halt | undefined> {
  const askAbout = askTogether(questions)
  for (const question of questions) {
    const doubt = await confirmBlock(panel, question, askAbout(question)).catch(toDoubt)
    if (doubt) return { at: question.block.number, doubt }
  }
  return undefined
}

/** A doubt that holds up one block, and none before it. @throws any other error */
function toDoubt(error: unknown): ChainDoubt {
  if (error instanceof ChainDoubt && !(error instanceof Outvoted)) return error
  throw error
}

async function confirmBlock(panel: Panel, { block, logs }: LogQuestion, ask: Ask<Testimony>): Promise<void> {
  const subject = `the transfers in block ${block.number}`
  const own: Testimony = { logs, header: null, place: placeOf(block) }
  const keyOf = (one: Testimony): string => `${one.place}: ${keyOfLogs(one.logs)}`
  const against = await vote(panel, { own, ask, keyOf, subject, isMoney: logs.length > 0, block })
  if (against.length === 0) return
  const isMoved = against.some(({ answer }) => answer && answer.place !== own.place)
  const words = [{ endpoint: panel.endpoint, answer: own }, ...against].map((one) => inWords(one, isMoved))
  const shown = `${subject}: ${words.join(', ')}`
  const header = await findHeader(panel.endpoint, block.hash)
  let open: Opinion<Testimony> | undefined
  for (const other of against) {
    const liar = await findLiarOf(panel.endpoint, { hash: block.hash, own: { ...own, header } }, other)
    if (liar) panel.onOutvoted(liar, shown)
    if (liar === panel.endpoint)
      throw new Outvoted(`endpoint ${liar.number} contradicts block headers about ${subject}`)
    if (!liar) open ??= other
  }
  if (open) throw disagree(panel, open.endpoint, { subject: shown, block })
}

const inWords = ({ endpoint, answer }: Pick<Opinion<Testimony>, 'endpoint' | 'answer'>, isMoved: boolean): string => {
  const its = answer ? `shows ${answer.logs.length}${isMoved ? ` in ${answer.place}` : ''}` : 'does not have the block'
  return `endpoint ${endpoint.number} ${its}`
}

/** One that does not have the block contradicts whatever another one's header shows. */
const findLiarOf = async (
  endpoint: Endpoint,
  { hash, own }: { hash: string; own: Testimony },
  { endpoint: other, answer }: Opinion<Testimony>,
): Promise<Endpoint | undefined> => answer && findLiar(hash, { endpoint, answer: own }, { endpoint: other, answer })

async function findHeader({ rpc }: Endpoint, hash: string): Promise<RpcBlock | null> {
  const { method, params } = headerCall(hash)
  return rpc.call<RpcBlock | null>(method, ...params).catch((error: unknown) => {
    if (error instanceof RpcError) return null
    throw error
  })
}

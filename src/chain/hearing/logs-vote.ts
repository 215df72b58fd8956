import { askCalls } from '../endpoints/ask-logs.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { type RpcCall, RpcError } from '../endpoints/rpc.ts'
import {
  type Block,
  ChainDoubt,
  LaggingLogs,
  type LogFilter,
  logKey,
  logsCalls,
  type RpcBlock,
  type RpcLog,
  toBlock,
} from '../transfer-logs.ts'
import { judge, type Testimony } from './judge.ts'
import { isUngiven, type Lack, placeOf, readWord, readWords } from './receipts.ts'
import { type Ask, disagree, headerCall, type Opinion, Outvoted, type Panel, vote } from './vote.ts'

/** The same for the same logs; a node may say one twice. */
export const keyOfLogs = (logs: readonly RpcLog[]): string => [...new Set(logs.map(logKey))].sort().join(';')

/**
 * Logs of one block, and the filter that they pass. Without an address, it only asks whether the block is there.
 * `lacks`: what the one in use was found to lack of it before.
 */
export type LogQuestion = {
  block: Pick<Block, 'number' | 'hash' | 'at'>
  logs: readonly RpcLog[]
  filter: LogFilter
  lacks?: Lack
}

/** Those that gave no receipts of a block, by its hash: each may take its whole timeout, and is not asked twice. */
class Silence {
  readonly #byHash = new Map<string, Set<Endpoint>>()

  about({ hash }: Pick<Block, 'hash'>): Set<Endpoint> {
    const known = this.#byHash.get(hash) ?? new Set()
    this.#byHash.set(hash, known)
    return known
  }

  note(endpoint: Endpoint, block: Pick<Block, 'hash'>, lacks: Lack = 'nothing'): void {
    if (isUngiven(lacks)) this.about(block).add(endpoint)
  }
}

const callsOf = ({ block, filter }: LogQuestion): RpcCall[] =>
  logsCalls(filter, { blockHash: block.hash }, Math.max(1, filter.addresses.length))

/** An endpoint that does not know the block is not asked for its logs. Nothing is said while its logs lag behind it. */
async function testify(
  endpoint: Endpoint,
  questions: readonly LogQuestion[],
  silence: Silence,
): Promise<Map<LogQuestion, Testimony>> {
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
    return { question, header, block: toBlock(header), logs, filter: question.filter }
  })
  const words = await readWords(endpoint, shown)
  for (const [{ block }, { lacks }] of words) silence.note(endpoint, block, lacks)
  const heard = words.filter(([{ question, logs }, { lacks }]) => {
    const isWhole = lacks === 'nothing' || lacks === 'receipts'
    return isWhole || !isLag(endpoint, question, logs)
  })
  return new Map(
    heard.map(([{ question, header, block }, { logs }]) => [question, { logs, header, place: placeOf(block) }]),
  )
}

/** Logs that lack what their own node's header indicates bear nobody out for the moment that an index may lag. */
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
function askTogether(questions: readonly LogQuestion[], silence: Silence): (question: LogQuestion) => Ask<Testimony> {
  const asked = new Map<Endpoint, Promise<Map<LogQuestion, Testimony> | 'alone'>>()
  const silent = new Map<Endpoint, RpcError>()
  const askAll = (endpoint: Endpoint): Promise<Map<LogQuestion, Testimony> | 'alone'> => {
    const answer = testify(endpoint, questions, silence).catch((error: unknown) => {
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
    return testify(endpoint, [last], silence).then(
      () => false,
      (cause: unknown) => cause instanceof RpcError && cause.kind === 'definite',
    )
  }
  const askAlone = async (endpoint: Endpoint, question: LogQuestion): Promise<Testimony | undefined> => {
    const error = silent.get(endpoint)
    if (error) throw error
    try {
      const answer = (await testify(endpoint, [question], silence)).get(question)
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

/** All logs of a block, where those that the one in use showed lack some. `isProven`: by the block itself. */
type Completed = { logs: readonly RpcLog[]; isProven: boolean }

/** `halt`: where it halts; undefined if all are confirmed. `completed`: by the hash of the block. */
export type Confirmed = { halt: Halt | undefined; completed: ReadonlyMap<string, Completed> }

/**
 * Confirms the logs of blocks, in their order, with the other endpoints before they count.
 * @throws Outvoted
 */
export async function confirmLogs(panel: Panel, questions: readonly LogQuestion[]): Promise<Confirmed> {
  const silence = new Silence()
  for (const { block, lacks } of questions) silence.note(panel.endpoint, block, lacks)
  const askAbout = askTogether(questions, silence)
  const completed = new Map<string, Completed>()
  for (const question of questions) {
    const { block } = question
    const inquiry = { ask: askAbout(question), silent: silence.about(block) }
    const answer = await confirmBlock(panel, question, inquiry).catch(toDoubt)
    if (answer instanceof ChainDoubt) return { halt: { at: block.number, doubt: answer }, completed }
    if (answer) completed.set(block.hash, answer)
  }
  return { halt: undefined, completed }
}

/** How others are asked about a block, and who gave no receipts of it. */
type Inquiry = { ask: Ask<Testimony>; silent: Set<Endpoint> }

/**
 * What the one in use lacks, and its own receipts or the block itself prove, is its word too, as for any other: an
 * index of logs may lag, or have a hole for ever, and another one may not be fit to read from.
 * @returns undefined if its logs are all
 */
async function confirmBlock(panel: Panel, question: LogQuestion, inquiry: Inquiry): Promise<Completed | undefined> {
  let completed: Completed | undefined
  // once for each other one, which may show something else, once for the block itself, and once to confirm them all
  for (let round = 0; round <= panel.endpoints.all.length; round += 1) {
    const more = await voteOnBlock(panel, { ...question, ...completed }, inquiry)
    if (!more) return completed
    completed = more
  }
  throw new LaggingLogs(`endpoint ${panel.endpoint.number} lacks ever more of block ${question.block.number}`)
}

/** A doubt that holds up one block, and none before it. @throws any other error */
function toDoubt(error: unknown): ChainDoubt {
  if (error instanceof ChainDoubt && !(error instanceof Outvoted)) return error
  throw error
}

/** @returns undefined if its logs are confirmed; more of them, to vote again on */
async function voteOnBlock(panel: Panel, question: LogQuestion, inquiry: Inquiry): Promise<Completed | undefined> {
  const { ask, silent } = inquiry
  const { block, logs, filter } = question
  const reader = `endpoint ${panel.endpoint.number}`
  const subject = `the transfers in block ${block.number}`
  const own: Testimony = { logs, header: null, place: placeOf(block) }
  const keyOf = (one: Testimony): string => `${one.place}: ${keyOfLogs(one.logs)}`
  let more: Completed | undefined
  const askWhole: Ask<Testimony> = async (rpc, endpoint) => {
    const answer = await ask(rpc, endpoint)
    if (!answer) return undefined
    const mine = await withReceipts(panel.endpoint, question, { logs, others: answer.logs, silent })
    if (mine.length > logs.length) {
      more = { logs: mine, isProven: false }
      throw new LaggingLogs(`${subject} are in receipts of ${reader}, and not in its logs`)
    }
    return { ...answer, logs: await withReceipts(endpoint, question, { logs: answer.logs, others: logs, silent }) }
  }
  const asked = { own, ask: askWhole, keyOf, subject, isMoney: logs.length > 0, block }
  const against = await vote(panel, asked).catch((error: unknown) => {
    if (error instanceof LaggingLogs) return []
    throw error
  })
  if (against.length === 0) return more
  const isMoved = against.some(({ answer }) => answer && answer.place !== own.place)
  const words = [{ endpoint: panel.endpoint, answer: own }, ...against].map((one) => inWords(one, isMoved))
  const shown = `${subject}: ${words.join(', ')}`
  const header = await findHeader(panel.endpoint, block.hash)
  const mine = { endpoint: panel.endpoint, answer: { ...own, header } }
  let open: Opinion<Testimony> | undefined
  for (const other of against) {
    const { endpoint, answer } = other
    // one that does not have the block contradicts whatever another one's header shows
    const verdict = answer && (await judge({ hash: block.hash, filter, mine, other: { endpoint, answer }, silent }))
    for (const one of verdict?.wrong ?? []) panel.onOutvoted(one, shown)
    if (verdict?.wrong.has(panel.endpoint)) throw new Outvoted(`${reader} contradicts block headers about ${subject}`)
    if (verdict?.late.has(panel.endpoint)) {
      if (answer && verdict.isOtherExact) return { logs: answer.logs, isProven: true }
      throw new LaggingLogs(`${reader} lacks some of ${subject}`)
    }
    if (!verdict?.isSettled) open ??= other
  }
  if (open) throw disagree(panel, open.endpoint, { subject: shown, block })
  return undefined
}

/**
 * What an endpoint says where another one shows more: if its receipts show that too, its logs lag, and it contradicts
 * nobody. Not asked together with the logs: whoever invents something in each block would have all receipts read.
 */
async function withReceipts(
  endpoint: Endpoint,
  { block, filter }: LogQuestion,
  { silent, ...said }: { logs: readonly RpcLog[]; others: readonly RpcLog[]; silent: Set<Endpoint> },
): Promise<readonly RpcLog[]> {
  if (silent.has(endpoint)) return said.logs
  // what its header indicates was asked before
  const shown = { block: { hash: block.hash, logsBloom: undefined }, logs: said.logs, filter }
  const { logs, lacks } = await readWord(endpoint, shown, { others: said.others })
  if (isUngiven(lacks)) silent.add(endpoint)
  return logs
}

const inWords = ({ endpoint, answer }: Pick<Opinion<Testimony>, 'endpoint' | 'answer'>, isMoved: boolean): string => {
  const its = answer ? `shows ${answer.logs.length}${isMoved ? ` in ${answer.place}` : ''}` : 'does not have the block'
  return `endpoint ${endpoint.number} ${its}`
}

async function findHeader({ rpc }: Endpoint, hash: string): Promise<RpcBlock | null> {
  const { method, params } = headerCall(hash)
  return rpc.call<RpcBlock | null>(method, ...params).catch((error: unknown) => {
    if (error instanceof RpcError) return null
    throw error
  })
}

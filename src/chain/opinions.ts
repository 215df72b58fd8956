import { SECOND } from '../kernel/clock.ts'
import { bloomOf, falsePositiveRate, MAX_FALSE_POSITIVE, mayContain, readBloom } from './bloom.ts'
import { askCalls } from './endpoints/ask-logs.ts'
import type { Endpoint, EndpointFault } from './endpoints/endpoint.ts'
import type { Endpoints } from './endpoints/endpoints.ts'
import { type Rpc, type RpcCall, RpcError } from './endpoints/rpc.ts'
import { blockCall, ChainDoubt, type RpcBlock, type RpcLog } from './transfer-logs.ts'

/** Endpoints contradict each other with no majority; recorded transfers are kept. */
export class Disagreement extends ChainDoubt {
  override readonly name = 'Disagreement'
}

/** The endpoint in use was proven wrong; another one takes over. */
export class Outvoted extends ChainDoubt {
  override readonly name = 'Outvoted'
}

/**
 * No other endpoint that is up to date answers, and this does not do alone: one that is behind, or failed a moment ago,
 * answers and does not confirm it yet. The scanner raises an alarm if it lasts.
 */
export class LoneVoice extends ChainDoubt {
  override readonly name = 'LoneVoice'
}

/** Once a majority agrees, others are waited for this long; where they took longer the last time, not at all. */
const PATIENCE_MS = SECOND

export type Panel = { endpoints: Endpoints; endpoint: Endpoint; onOutvoted(endpoint: Endpoint, subject: string): void }

/** What an endpoint says; no answer: it does not have the block that it is asked about, and should. */
type Opinion<Answer> = { endpoint: Endpoint; answer: Answer | undefined; key: string }

/**
 * It cannot know yet. `isLate`: it has had its moment, so that it is waited for only where no other one agrees.
 * `isShort`: its chain has not come so far; it is not waited for where more than half of all endpoints agree.
 * `fault`: why it is not trusted; that it is behind does not mean that it has nothing to say.
 */
type Waiting = { endpoint: Endpoint; isLate: boolean; isShort: boolean; fault: EndpointFault | null }

type Heard<Answer> = { opinions: Opinion<Answer>[]; waiting: Waiting[] }

/** Undefined: this endpoint cannot know yet. */
type Ask<Answer> = (rpc: Rpc, endpoint: Endpoint) => Promise<Answer | undefined>

/** The block that a question is about; without a hash, the height at which any block will do. */
type AskedBlock = { number: bigint; hash?: string }

/**
 * What an endpoint has instead of a block that it lacked until now: the hash of another one; `later` if it is not there
 * yet, or has just come; `none` if it should be there, because its own chain has it or is longer.
 */
async function findInstead({ rpc }: Endpoint, { number, hash }: AskedBlock): Promise<string> {
  // in this order: what comes between two answers must not look like a gap
  const calls = [blockCall('latest'), blockCall(number), ...(hash === undefined ? [] : [headerCall(hash)])]
  const [newest, there, known] = await rpc.batch<RpcBlock | null>(calls)
  if (known) return 'later'
  if (!there) return newest && BigInt(newest.number) >= number ? 'none' : 'later'
  if (hash === undefined) return 'later'
  return there.hash === hash ? 'none' : there.hash
}

/**
 * How to take an endpoint that does not know the answer. For a moment, it may only be behind. After that, what it has
 * instead of the block is its opinion. One that has not proved its token is heard only if it has another block.
 */
async function judgeSilence<Answer>(endpoint: Endpoint, block: AskedBlock | undefined): Promise<Heard<Answer>> {
  const fault = endpoint.fault()
  const waitFor = (how: Pick<Waiting, 'isLate' | 'isShort'>) => ({
    opinions: [],
    waiting: [{ endpoint, fault, ...how }],
  })
  if (!block) return waitFor({ isLate: false, isShort: false })
  const isLate = endpoint.noteLacking(blockKey(block))
  const failed = (error: unknown) => (isLate ? Promise.reject(error) : 'none')
  const instead = await findInstead(endpoint, block).catch(failed)
  if (instead === 'later') return waitFor({ isLate, isShort: true })
  if (!isLate) return waitFor({ isLate: false, isShort: false })
  if (instead === 'none' && fault === 'unproven') return NOTHING
  // two that have the same other block agree; two that merely lack it do not
  const key = instead === 'none' ? `none at ${endpoint.number}` : `another: ${instead}`
  return { opinions: [{ endpoint, answer: undefined, key }], waiting: [] }
}

const blockKey = ({ number, hash }: AskedBlock): string => hash ?? String(number)

const NOTHING = { opinions: [], waiting: [] }

/** A failed endpoint does not count. One that cannot know yet either makes us wait or does not count. */
async function askOne<Answer>(
  one: Endpoint,
  { ask, keyOf, block }: Pick<Question<Answer>, 'ask' | 'keyOf' | 'block'>,
  waits: boolean,
): Promise<Heard<Answer>> {
  try {
    const answer = await ask(one.rpc, one)
    if (answer === undefined) return waits ? await judgeSilence(one, block) : NOTHING
    if (block) one.noteHaving(blockKey(block))
    return { opinions: [{ endpoint: one, answer, key: keyOf(answer) }], waiting: [] }
  } catch (error) {
    if (error instanceof RpcError) return NOTHING
    throw error
  }
}

/** More than half of all voices: the one in use, and those that agree with it. */
const isMajority = <Answer>(heard: readonly Heard<Answer>[], ownKey: string, others: number): boolean =>
  2 * (1 + heard.flatMap(({ opinions }) => opinions).filter(({ key }) => key === ownKey).length) > others + 1

/** All are heard before any is judged, except for slow ones that can no longer change what a majority says. */
async function askEach<Answer>(
  endpoints: readonly Endpoint[],
  question: Question<Answer>,
  waits: (one: Endpoint) => boolean,
): Promise<Heard<Answer>> {
  const ownKey = question.keyOf(question.own)
  const heard = new Map<Endpoint, Heard<Answer>>()
  const { promise: decided, resolve } = Promise.withResolvers<void>()
  const judge = (): void => {
    const missing = endpoints.filter((one) => !heard.has(one))
    if (missing.every(({ slow }) => slow) && isMajority([...heard.values()], ownKey, endpoints.length)) resolve()
  }
  const askTimed = async (one: Endpoint): Promise<void> => {
    const askedMs = performance.now()
    const answer = await askOne(one, question, waits(one))
    heard.set(one, answer)
    one.slow = performance.now() - askedMs >= PATIENCE_MS
    judge()
  }
  const all = Promise.all(endpoints.map(askTimed))
  const timer = setTimeout(() => {
    for (const one of endpoints) if (!heard.has(one)) one.slow = true
    judge()
  }, PATIENCE_MS)
  await Promise.race([all, decided]).finally(() => clearTimeout(timer))
  all.catch(() => {}) // of who came too late
  const inOrder = endpoints.flatMap((one) => heard.get(one) ?? [])
  return { opinions: inOrder.flatMap((one) => one.opinions), waiting: inOrder.flatMap((one) => one.waiting) }
}

/**
 * Untrusted endpoints that are still asked. Questions that are not about money skip those that are down, because each
 * may take its whole timeout, and those that served another chain, because they know nothing about our heights.
 */
const ASKED_THOUGH_OUT: Record<'money' | 'other', readonly EndpointFault[]> = {
  money: ['outvoted', 'behind', 'down', 'foreign', 'unproven'],
  other: ['outvoted', 'behind'],
}

/**
 * Whether an untrusted endpoint that answers, and does not know yet, makes us wait. One that is behind, or failed a
 * moment ago, is slow and not absent: a liar with newer blocks would otherwise be believed alone. One that has not
 * proved its token is not believed, but makes us wait if it is up to date. One that is being synchronised does not.
 */
const makesWait = (one: Endpoint): boolean => {
  const fault = one.fault()
  return ((fault === 'behind' || fault === 'down') && !one.stale) || (fault === 'unproven' && !one.behind)
}

/**
 * Answers of the other endpoints. If no trusted one answers, the excluded ones may still contradict, or make us wait:
 * no endpoint is trusted alone because the others lied, lag or failed a moment ago. Who cannot be asked has no opinion.
 * Questions about money name a block by its hash, which an endpoint of another chain does not know; it has none either.
 */
async function askOthers<Answer>({ endpoints, endpoint }: Panel, question: Question<Answer>): Promise<Heard<Answer>> {
  const others = endpoints.usable().filter((other) => other !== endpoint)
  const trusted = await askEach(others, question, () => true)
  if (trusted.opinions.length + trusted.waiting.length > 0) return trusted
  const asked = ASKED_THOUGH_OUT[question.isMoney ? 'money' : 'other']
  const out = endpoints.all.filter((other) => other !== endpoint && asked.some((fault) => fault === other.fault()))
  return askEach(out, question, makesWait)
}

/**
 * Whether the other endpoints agree with the one in use. Without others that can be asked, its answer stands, unless it
 * is about money and the endpoint's newest block is far ahead of our clock.
 * @returns those that contradict it, if there is no majority; empty if it is right
 * @throws Outvoted if two others agree against it; ChainDoubt while one that may still decide it cannot know yet
 * (LoneVoice, if that one is behind or was down: a payout waits for it as for any other doubt)
 */
async function vote<Answer>(panel: Panel, question: Question<Answer>): Promise<readonly Opinion<Answer>[]> {
  const { opinions, waiting } = await askOthers(panel, question)
  const ownKey = question.keyOf(question.own)
  const against = opinions.filter(({ key }) => key !== ownKey)
  const isAgreed = opinions.length > against.length
  const agreeing = opinions.filter(({ endpoint, key }) => key === ownKey && endpoint.fault() === null)
  const isDecided = 2 * (1 + agreeing.length) > panel.endpoints.all.length
  const awaited = waiting.find(({ isLate, isShort }) => !(isAgreed && isLate) && !(isDecided && isShort))
  if (awaited) throw doubtOf(awaited)
  if (question.isMoney && panel.endpoint.aheadAlone && opinions.length === 0)
    throw new LoneVoice(
      `endpoint ${panel.endpoint.number} shows a block far ahead of our clock, and no other one answers`,
    )
  if (against.length === 0) return []
  if (isAgreed) {
    for (const { endpoint } of against) panel.onOutvoted(endpoint, question.subject)
    return []
  }
  const same = against.find((one) => against.some((other) => other !== one && other.key === one.key))
  if (!same) return against
  panel.onOutvoted(panel.endpoint, question.subject)
  throw new Outvoted(`endpoint ${panel.endpoint.number} was outvoted about ${question.subject}`)
}

function doubtOf({ endpoint, fault }: Waiting): ChainDoubt {
  if (fault === null || fault === 'unproven')
    return new ChainDoubt(`endpoint ${endpoint.number} does not have the block yet`)
  return new LoneVoice(`endpoint ${endpoint.number} does not have the block yet, and no other one confirms it`)
}

type Question<Answer> = {
  own: Answer
  ask: Ask<Answer>
  keyOf(answer: Answer): string
  subject: string
  /** The answer would count money. */
  isMoney?: boolean
  /** Absent: an endpoint that cannot know yet is waited for however long it takes. */
  block?: AskedBlock
}

/** @throws Disagreement, Outvoted; ChainDoubt while another endpoint is a moment behind */
export async function confirm<Answer>(panel: Panel, question: Question<Answer>): Promise<void> {
  const [against] = await vote(panel, question)
  if (against) throw disagree(panel, against, question.subject)
}

const disagree = ({ endpoint }: Panel, against: { endpoint: Endpoint }, subject: string): Disagreement =>
  new Disagreement(`endpoints ${endpoint.number} and ${against.endpoint.number} disagree about ${subject}`)

type Testimony = { logs: readonly RpcLog[]; bloom: string | undefined }
type Witness = { endpoint: Endpoint; answer: Testimony }

const logKey = (log: RpcLog): string =>
  [log.transactionHash, log.logIndex, log.address, log.topics.join(), log.data].join().toLowerCase()
const logsKey = ({ logs }: Testimony): string => logs.map(logKey).sort().join(';')

const lacking = (left: readonly RpcLog[], right: readonly RpcLog[]): RpcLog[] => {
  const keys = new Set(right.map(logKey))
  return left.filter((log) => !keys.has(logKey(log)))
}

/** Whether a header indicates a log that its endpoint denies; null if the header proves nothing. */
function speaksFor(text: string | undefined, log: RpcLog): boolean | null {
  const bloom = readBloom(text)
  if (!bloom) return null
  if (![log.address, ...log.topics].every((item) => mayContain(bloom, item))) return false
  return falsePositiveRate(bloom) <= MAX_FALSE_POSITIVE ? true : null
}

/** Which endpoint invents or hides logs, judged by the header from the endpoint that denies them. */
function findLiar(mine: Witness, other: Witness): Endpoint | undefined {
  const liars = new Set<Endpoint>()
  const judge = (shows: Witness, denies: Witness): void => {
    for (const log of lacking(shows.answer.logs, denies.answer.logs)) {
      const exists = speaksFor(denies.answer.bloom, log)
      if (exists !== null) liars.add(exists ? denies.endpoint : shows.endpoint)
    }
  }
  judge(mine, other)
  judge(other, mine)
  const [liar, ...more] = liars
  return more.length === 0 ? liar : undefined
}

/** Logs of one block, and the call that returned them. */
export type LogQuestion = {
  block: { number: bigint; hash: string; logsBloom: string | undefined }
  logs: readonly RpcLog[]
  call: RpcCall
}

const headerCall = (hash: string): RpcCall => ({ method: 'eth_getBlockByHash', params: [hash, false] })

/** An endpoint that does not know the block is not asked for its logs. */
async function testify(endpoint: Endpoint, questions: readonly LogQuestion[]): Promise<Map<LogQuestion, Testimony>> {
  const headers = await endpoint.rpc.batch<RpcBlock | null>(questions.map(({ block }) => headerCall(block.hash)))
  const known = questions.flatMap((question, index) => {
    const header = headers[index]
    return header ? [{ question, bloom: header.logsBloom }] : []
  })
  const answers = await askCalls(
    endpoint,
    known.map(({ question }) => question.call),
  )
  return new Map(known.map(({ question, bloom }, index) => [question, { logs: answers[index] ?? [], bloom }]))
}

/** It responds, but not to this query, or not this often. */
const isAnswered = (error: RpcError): boolean => error.inBatch || error.tooOften

/**
 * Asks an endpoint about all blocks in two requests: block by block, a slow node is read more slowly than its chain
 * grows. If that fails, asks about each block alone, so that it can still answer: the more logs another endpoint
 * invents, the larger and slower the combined request. If even a single question goes unanswered, it is not asked about
 * the rest.
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
  const askAlone = async (endpoint: Endpoint, question: LogQuestion): Promise<Testimony | undefined> => {
    const error = silent.get(endpoint)
    if (error) throw error
    try {
      return (await testify(endpoint, [question])).get(question)
    } catch (error) {
      if (error instanceof RpcError && !isAnswered(error)) silent.set(endpoint, error)
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
export function toDoubt(error: unknown): ChainDoubt {
  if (error instanceof ChainDoubt && !(error instanceof Outvoted)) return error
  throw error
}

async function confirmBlock(panel: Panel, { block, logs }: LogQuestion, ask: Ask<Testimony>): Promise<void> {
  const subject = `the transfers in block ${block.number}`
  const own: Testimony = { logs, bloom: block.logsBloom }
  const against = await vote(panel, { own, ask, keyOf: logsKey, subject, isMoney: logs.length > 0, block })
  const liar = findLiarAmong(panel, own, against)
  if (liar) panel.onOutvoted(liar, subject)
  if (liar === panel.endpoint) throw new Outvoted(`endpoint ${liar.number} contradicts block headers about ${subject}`)
  // one that does not have the block contradicts whatever another one's header shows
  const open = against.find(({ answer }) => !liar || answer === undefined)
  if (open) throw disagree(panel, open, subject)
}

function findLiarAmong(panel: Panel, own: Testimony, against: readonly Opinion<Testimony>[]): Endpoint | undefined {
  for (const { endpoint, answer } of against)
    if (answer) return findLiar({ endpoint: panel.endpoint, answer: own }, { endpoint, answer })
  return undefined
}

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
export async function readAllLogs(
  rpc: Rpc,
  block: { hash: string; logsBloom: string | undefined },
): Promise<RpcLog[] | 'unsupported' | undefined> {
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

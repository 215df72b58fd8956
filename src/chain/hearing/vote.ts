import { SECOND } from '../../kernel/clock.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import type { Endpoints } from '../endpoints/endpoints.ts'
import { type Rpc, type RpcCall, RpcError } from '../endpoints/rpc.ts'
import { blockCall, ChainDoubt, type RpcBlock } from '../transfer-logs.ts'
import { isWaitedFor, standingOf } from './standing.ts'

/** Endpoints contradict each other with no majority; recorded transfers are kept. */
export class Disagreement extends ChainDoubt {
  override readonly name = 'Disagreement'
  /** Once a higher block is read, it is over. */
  readonly at: bigint | null
  constructor(message: string, at: bigint | null) {
    super(message)
    this.at = at
  }
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
export const PATIENCE_MS = SECOND

export type Panel = { endpoints: Endpoints; endpoint: Endpoint; onOutvoted(endpoint: Endpoint, subject: string): void }

/** What an endpoint says; no answer: it does not have the block that it is asked about, and should. */
export type Opinion<Answer> = { endpoint: Endpoint; answer: Answer | undefined; key: string }

/**
 * It cannot know yet. `isLate`: it has had its moment, so that it is waited for only where no other one agrees.
 * `isShort`: its chain has not come so far; it is not waited for where more than half of all endpoints agree.
 */
export type Waiting = { endpoint: Endpoint; isLate: boolean; isShort: boolean }

type Heard<Answer> = { opinions: Opinion<Answer>[]; waiting: Waiting[] }

/** Undefined: this endpoint cannot know yet. */
export type Ask<Answer> = (rpc: Rpc, endpoint: Endpoint) => Promise<Answer | undefined>

/** The block that a question is about; without a hash, the height at which any block will do. */
export type AskedBlock = { number: bigint; hash?: string }

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
  const waitFor = (how: Pick<Waiting, 'isLate' | 'isShort'>) => ({ opinions: [], waiting: [{ endpoint, ...how }] })
  if (!block) return waitFor({ isLate: false, isShort: true })
  const isLate = endpoint.noteLacking(blockKey(block))
  const failed = (error: unknown) => (isLate ? Promise.reject(error) : 'none')
  const instead = await findInstead(endpoint, block).catch(failed)
  if (instead === 'later') return waitFor({ isLate, isShort: true })
  if (!isLate) return waitFor({ isLate: false, isShort: false })
  if (instead === 'none' && endpoint.unproven) return NOTHING
  // two that have the same other block agree; two that merely lack it do not
  const key = instead === 'none' ? `none at ${endpoint.number}` : `another: ${instead}`
  return { opinions: [{ endpoint, answer: undefined, key }], waiting: [] }
}

const blockKey = ({ number, hash }: AskedBlock): string => hash ?? String(number)

export const headerCall = (hash: string): RpcCall => ({ method: 'eth_getBlockByHash', params: [hash, false] })

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
 * Answers of the other endpoints, whatever they were found to do before. Where none of those that are up says anything,
 * the others are asked too: one that failed a moment ago is slow and not absent. Only for money, because each may take
 * its whole timeout. Questions about money name a block by its hash, which an endpoint of another chain does not know.
 */
async function askOthers<Answer>({ endpoints, endpoint }: Panel, question: Question<Answer>): Promise<Heard<Answer>> {
  const others = endpoints.all.filter((other) => other !== endpoint)
  const isUp = (other: Endpoint): boolean => standingOf(other) === 'current'
  const heard = await askEach(others.filter(isUp), question, isWaitedFor)
  if (heard.opinions.length + heard.waiting.length > 0) return heard
  const rest = others.filter((other) => !isUp(other) && (question.isMoney || standingOf(other) === 'syncing'))
  return askEach(rest, question, isWaitedFor)
}

/** Whether more than half of all endpoints say the same. */
const isMost = ({ endpoints }: Panel, agreeing: number): boolean => 2 * agreeing > endpoints.all.length

/** The one to wait for, if any may still decide it. @param agreeing how many others say the same as the one in use */
export function findAwaited(panel: Panel, waiting: readonly Waiting[], agreeing: number): Waiting | undefined {
  const isDecided = isMost(panel, 1 + agreeing)
  return waiting.find(({ isLate, isShort }) => !(agreeing > 0 && isLate) && !(isDecided && isShort))
}

/**
 * Whether the other endpoints agree with the one in use. Without others that can be asked, its answer stands, unless
 * the endpoint's newest block is far ahead of our clock.
 * @returns those that contradict it, if there is no majority; empty if it is right
 * @throws Outvoted if two others agree against it; ChainDoubt while one that may still decide it cannot know yet
 * (LoneVoice, if that one is behind or was down: a payout waits for it as for any other doubt)
 */
export async function vote<Answer>(panel: Panel, question: Question<Answer>): Promise<readonly Opinion<Answer>[]> {
  const { opinions, waiting } = await askOthers(panel, question)
  const ownKey = question.keyOf(question.own)
  const against = opinions.filter(({ key }) => key !== ownKey)
  const agreeing = opinions.length - against.length
  const awaited = findAwaited(panel, waiting, agreeing)
  if (awaited) throw doubtOf(awaited)
  if (opinions.length === 0) checkAlone(panel)
  if (1 + agreeing > against.length && agreeing > 0) {
    const voters = opinions.filter(({ key }) => key === ownKey)
    const words = `${question.subject} by endpoints ${numbersOf([panel, ...voters])}`
    for (const { endpoint } of against) panel.onOutvoted(endpoint, words)
    return []
  }
  const groups = Map.groupBy(against, ({ key }) => key).values()
  const most = [...groups].find((group) => group.length > 1 + agreeing)
  if (!most) return against
  panel.onOutvoted(panel.endpoint, `${question.subject} by endpoints ${numbersOf(most)}`)
  throw new Outvoted(`endpoint ${panel.endpoint.number} was outvoted about ${question.subject}`)
}

const numbersOf = (some: readonly { endpoint: Endpoint }[]): string =>
  some.map(({ endpoint }) => endpoint.number).join(' and ')

/** @throws LoneVoice where one endpoint alone cannot be right, or our clock is not */
function checkAlone({ endpoint }: Panel): void {
  if (!endpoint.aheadAlone) return
  throw new LoneVoice(`endpoint ${endpoint.number} shows a block far ahead of our clock, and no other one answers`)
}

export function doubtOf({ endpoint }: Pick<Waiting, 'endpoint'>): ChainDoubt {
  const fault = endpoint.fault()
  if (fault === null || fault === 'unproven')
    return new ChainDoubt(`endpoint ${endpoint.number} does not have the block yet`)
  return new LoneVoice(`endpoint ${endpoint.number} does not have the block yet, and no other one confirms it`)
}

export type Question<Answer> = {
  own: Answer
  ask: Ask<Answer>
  keyOf(answer: Answer): string
  subject: string
  /** The answer would count money, so that those that failed a moment ago are asked as well. */
  isMoney?: boolean
  /** Absent: an endpoint that cannot know yet is waited for however long it takes. */
  block?: AskedBlock
}

/** @throws Disagreement, Outvoted; ChainDoubt while another endpoint is a moment behind */
export async function confirm<Answer>(panel: Panel, question: Question<Answer>): Promise<void> {
  const [against] = await vote(panel, question)
  if (against) throw disagree(panel, against.endpoint, question)
}

export const disagree = (
  { endpoint }: Panel,
  other: Endpoint,
  { subject, block }: { subject: string; block?: AskedBlock },
): Disagreement =>
  new Disagreement(`endpoints ${endpoint.number} and ${other.number} disagree about ${subject}`, block?.number ?? null)

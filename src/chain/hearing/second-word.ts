import { areAtOdds } from '../bloom.ts'
import { askRange, type RangeAnswer } from '../endpoints/ask-logs.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { RpcError } from '../endpoints/rpc.ts'
import { type Block, ChainDoubt, type LogFilter, type RpcBlock, type RpcLog, toBlock } from '../transfer-logs.ts'
import { type Confirmed, confirmLogs, keyOfLogs, type LogQuestion } from './logs-vote.ts'
import { type Lack, placeOf, suspicionOf } from './receipts.ts'
import { standingOf } from './standing.ts'
import { doubtOf, findAwaited, headerCall, PATIENCE_MS, type Panel, type Waiting } from './vote.ts'

/** `lacks`: what the one in use was found to lack of the block. */
export type Found = { block: Block; logs: readonly RpcLog[]; lacks?: Lack }

/** Consecutive blocks, each following the one before, and what the one in use shows in them. */
export type Step = {
  filter: LogFilter
  found: readonly Found[]
  /** They are so many, and so old, that not each is asked about alone. */
  isRange: boolean
  /** The first is older than the block before it is said to be. */
  isOlder: boolean
}

/**
 * What another endpoint says about a step: it has the same blocks with the same logs up to one of them, and its chain
 * ends there if that is not the last; or it has others; or the same, but its header of one of them indicates something
 * else, which contradicts nobody: a vote may find who is wrong; or it lacks the last one, though its chain is as long,
 * as where several nodes stand behind one address. Null: it says nothing.
 */
type Word = { endpoint: Endpoint } & (
  | { same: bigint }
  | { others: readonly Found[] }
  | { unlike: Found }
  | { lacks: Block }
)

/** Of no more blocks, each can be put to the vote. */
const FEW = 32

/** The others answer, but not about so long a range: it is no more confirmed than by one alone. */
export class RangeUnheard extends ChainDoubt {
  override readonly name = 'RangeUnheard'
  /** How many blocks to read instead: fewer, or so few, where one lacks them, that each can be put to the vote. */
  readonly most: number
  constructor(blocks: number, isLacked: boolean) {
    super(`no other endpoint says what is in a range of ${blocks} blocks`)
    this.most = isLacked ? FEW : Math.floor(blocks / 2)
  }
}

/** Under which an endpoint remembers since when it contradicts. */
const STEPS = 'steps'

/**
 * The block that its logs reach: the last one, if it shows that before and after them, or the newest one before them;
 * undefined if they reach none for certain. What comes in between is no gap.
 */
function endOf({ to, newest, before, after }: RangeAnswer): RpcBlock | undefined {
  if (before) return after && after.hash === before.hash ? after : undefined
  return newest && BigInt(newest.number) < to ? newest : undefined
}

/**
 * One request: the parents of the last block that both have bind those before it. Of that block the header must be the
 * same too, if its bloom is not empty, and its logs be all that its header indicates, or it is put to the vote, where
 * receipts are read.
 */
async function askOne(endpoint: Endpoint, { filter, found }: Step): Promise<Word | null> {
  const blocks = found.map(({ block }) => block)
  const [first, last] = [blocks[0], blocks.at(-1)]
  if (!first || !last) return null
  try {
    const range = { filter, from: first.number, to: last.number }
    const early = await askRange(endpoint, range)
    const answer = !early.before && early.after ? await askRange(endpoint, range) : early // it has just come
    if (!answer.newest && !answer.before) return null
    const end = endOf(answer)
    if (!end) return { endpoint, lacks: last }
    if (BigInt(end.number) < first.number) return { endpoint, same: first.number - 1n }
    const shared = found.find(({ block }) => block.hash === end.hash)
    const ours = blocks.find(({ number }) => number === answer.to)
    if (!shared || (answer.after && answer.after.hash !== ours?.hash)) return { endpoint, others: [] }
    const byHash = Map.groupBy(answer.logs, ({ blockHash }) => blockHash)
    const theirs = toBlock(end)
    const { block: top } = shared
    const others = found.filter(
      ({ block, logs: own }) =>
        (block === top && placeOf(theirs) !== placeOf(top)) ||
        (block.number <= top.number && keyOfLogs(byHash.get(block.hash) ?? []) !== keyOfLogs(own)),
    )
    if (others.length > 0) return { endpoint, others }
    const isUnlike =
      areAtOdds(theirs.logsBloom, top.logsBloom) || suspicionOf(filter)(theirs, byHash.get(top.hash) ?? []) === 'strong'
    return isUnlike ? { endpoint, unlike: shared } : { endpoint, same: top.number }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    // without receivers it is asked for no logs: then no answer would end what a rush began
    if (error.refused || (error.tooOften && filter.addresses.length > 0)) endpoint.noteWord(false)
    return null
  }
}

/** Whether it shows the same payments as the one in use, in any block. */
const isWhole = (word: Word, { found }: Step): boolean =>
  'same' in word && found.some(({ block, logs }) => logs.length > 0 && block.number <= word.same)

/** @param hasNext another one can be asked instead: then a slow one is waited for a moment, or not at all */
async function askSome(endpoints: readonly Endpoint[], step: Step, hasNext: boolean): Promise<Word[]> {
  const words: Word[] = []
  const askTimed = async (one: Endpoint): Promise<void> => {
    const askedMs = performance.now()
    const word = await askOne(one, step)
    one.slow = performance.now() - askedMs >= PATIENCE_MS
    one.short = word !== null && ('lacks' in word || ('same' in word && word.same !== step.found.at(-1)?.block.number))
    if (word && isWhole(word, step)) one.noteWhole()
    if (word) words.push(word)
  }
  const all = Promise.all(endpoints.map(askTimed))
  if (!hasNext) await all
  else {
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      for (const one of endpoints) if (!words.some(({ endpoint }) => endpoint === one)) one.slow = true
      resolve()
    }, PATIENCE_MS)
    await Promise.race([all, late]).finally(() => clearTimeout(timer))
    all.catch(() => {}) // of who came too late
  }
  return [...words]
}

/** The others that are up: quick and complete ones first, and last those that were wrong a moment ago. */
export function listOthers({ endpoints, endpoint }: Panel): Endpoint[] {
  const rank = (one: Endpoint): number => (one.fault() === null ? 0 : 2) + (one.slow || one.short ? 1 : 0)
  const others = endpoints.all.filter((one) => one !== endpoint && standingOf(one) === 'current')
  return others.toSorted((left, right) => rank(left) - rank(right))
}

/**
 * Confirms the blocks that one endpoint showed, empty ones too, before any is stored: so many others as make more than
 * half of all with it must have the same blocks and the same logs. These are asked with one request for all the blocks.
 * Only where they do not say the same is each block put to the vote. A long range that none of them answers, though
 * they answer other questions, is read again in shorter ones.
 * @throws Outvoted, RangeUnheard
 */
export async function confirmStep(panel: Panel, step: Step): Promise<Confirmed> {
  const confirmed = await confirmWords(panel, step)
  const [first] = step.found
  if (confirmed.halt || !first || !step.isOlder) return confirmed
  const { halt, completed } = await confirmLogs(panel, questionsOf(step, [first]))
  return { halt, completed: new Map([...confirmed.completed, ...completed]) }
}

const haltAt = (halt: Confirmed['halt']): Confirmed => ({ halt, completed: new Map() })
const SURE = haltAt(undefined)

async function confirmWords(panel: Panel, step: Step): Promise<Confirmed> {
  const { all } = panel.endpoints
  const last = step.found.at(-1)
  if (all.length < 2 || !last) return SURE
  const needed = Math.floor(all.length / 2)
  const others = listOthers(panel)
  const isComplete = (word: Word): boolean => 'same' in word && word.same === last.block.number
  const words = await askSome(others.slice(0, needed), step, others.length > needed)
  if (words.length === needed && words.every(isComplete)) {
    for (const one of all) one.noteHaving(STEPS)
    return SURE
  }
  words.push(...(await askSome(others.slice(needed), step, false)))
  if (words.filter(isComplete).length >= needed) {
    noteOdd(panel, words, last.block)
    return SURE
  }
  const other = words.flatMap((word) => ('others' in word ? word.others : 'unlike' in word ? [word.unlike] : []))
  if (words.length > 0 && words.every((word) => 'same' in word)) return judge(panel, step, words)
  const isLong = step.isRange && step.found.length > FEW
  if (isLong && other.length === 0 && (words.length > 0 || (await doesAnyAnswer(panel, last.block))))
    throw new RangeUnheard(step.found.length, words.length > 0)
  return voteOn(panel, { ...step, isRange: isLong }, other)
}

/** Whether another one is there at all. Also one whose last call failed: that may have been the one about the range. */
async function doesAnyAnswer({ endpoints, endpoint }: Panel, { hash }: Block): Promise<boolean> {
  const others = endpoints.all.filter((one) => one !== endpoint && ['current', 'paused'].includes(standingOf(one)))
  const { method, params } = headerCall(hash)
  const answers = await Promise.allSettled(others.map(({ rpc }) => rpc.call(method, ...params)))
  return answers.some(({ status }) => status === 'fulfilled')
}

/** One that contradicts more than half of all each time it is asked, for longer than blocks take to come, is wrong. */
function noteOdd(panel: Panel, words: readonly Word[], { number }: Block): void {
  const agreeing = words.filter((word) => 'same' in word).map(({ endpoint }) => endpoint.number)
  const subject = `the blocks up to ${number} by endpoints ${[panel.endpoint.number, ...agreeing].join(' and ')}`
  for (const word of words) {
    if (!('others' in word)) word.endpoint.noteHaving(STEPS)
    else if (word.endpoint.noteLacking(STEPS)) panel.onOutvoted(word.endpoint, subject)
  }
}

/** All have the same blocks, and some not yet all of them. */
function judge(panel: Panel, { found }: Step, words: readonly Word[]): Confirmed {
  for (const { block } of found) {
    const has = (word: Word): boolean => 'same' in word && word.same >= block.number
    const lacking = words.filter((word) => !has(word))
    const waiting = lacking.map(({ endpoint }): Waiting => {
      return { endpoint, isLate: endpoint.noteLacking(block.hash), isShort: true }
    })
    const awaited = findAwaited(panel, waiting, words.length - lacking.length)
    if (awaited) return haltAt({ at: block.number, doubt: doubtOf(awaited) })
  }
  return SURE
}

/**
 * They contradict each other, or none of them answers. Of a range only the blocks are asked about in which there is
 * something to dispute, and the last one.
 */
async function voteOn(panel: Panel, step: Step, other: readonly Found[]): Promise<Confirmed> {
  const { found, isRange } = step
  const disputed = new Set(other)
  const last = found.at(-1)
  const asked = isRange ? found.filter((one) => one.logs.length > 0 || disputed.has(one) || one === last) : found
  const confirmed = await confirmLogs(panel, questionsOf(step, asked))
  const { halt } = confirmed
  if (!halt || !isRange) return confirmed
  // no word was heard about the blocks between those that were asked about
  return haltAt({ at: found[0]?.block.number ?? halt.at, doubt: halt.doubt })
}

const questionsOf = ({ filter }: Step, asked: readonly Found[]): LogQuestion[] =>
  asked.map((one) => ({ ...one, filter }))

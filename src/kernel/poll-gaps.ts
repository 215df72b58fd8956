import { DAY, HOUR, MINUTE, SECOND } from './clock.ts'

/** Things that are polled until they have a final answer. */
export type PollKind =
  | 'payment'
  | 'ended'
  | 'unanswered'
  | 'deposit'
  | 'refund'
  | 'settlement'
  | 'sweep'
  | 'identity'
  | 'screening'

/** Money on its way: at once, then every half minute while a chain becomes final, then as a stuck one. */
const SENT_MS = [1, 1, 2, 3, 5, 10, ...Array<number>(20).fill(30), 60, 300].map((seconds) => seconds * SECOND)

const OPEN_MS = [2, 3, 5, 10, 20, 30, 60, 120, 300].map((seconds) => seconds * SECOND)
const ENDED_MS = [...[5, 15].map((minutes) => minutes * MINUTE), HOUR, 6 * HOUR, DAY]

/** The gaps after the first, second, third … poll; the last one repeats. */
const GAPS_MS: Readonly<Record<PollKind, readonly number[]>> = {
  payment: OPEN_MS,
  // money of an ended attempt waits for a person; callbacks or the chain reader report anything new
  ended: ENDED_MS,
  // the poll of an ended attempt failed: its provider may have told of money, which nobody sees before it is answered
  unanswered: [...OPEN_MS, ...ENDED_MS.slice(1)],
  // nothing has arrived at the address: the chain reader reports arrivals, and this is the safety net
  deposit: [5, 10, 15].map((minutes) => minutes * MINUTE),
  refund: SENT_MS,
  settlement: SENT_MS,
  // something that waits for a source is polled at least every 30 s
  screening: [1, 2, 3, 5, 5, 10, 15, 20, 25].map((seconds) => seconds * SECOND),
  sweep: SENT_MS,
  // a person photographs a passport in minutes; callbacks wake it earlier
  identity: [...[1, 2, 5, 10, 20, 30].map((minutes) => minutes * MINUTE), HOUR],
}

/** @param checks how often it was polled before, from 0 */
export function pollGapMs(kind: PollKind, checks: number): number {
  const gaps = GAPS_MS[kind]
  return gaps[Math.min(Math.max(checks, 0), gaps.length - 1)] ?? HOUR
}

/** The longest gap that a row of this kind is given. */
export const longestGapMs = (kind: PollKind): number => Math.max(...GAPS_MS[kind])

/** The gaps after the first, second, third … poll of this kind; the last one repeats. */
export const gapsOf = (kind: PollKind): readonly number[] => GAPS_MS[kind]

/** Whether the gaps still grow. */
export const hasGapsLeft = (kind: PollKind, checks: number): boolean => checks < GAPS_MS[kind].length

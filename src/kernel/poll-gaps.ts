import { DAY, HOUR, MINUTE, SECOND } from './clock.ts'

/** What is asked again as long as it has no final answer. */
export type PollKind = 'payment' | 'ended' | 'deposit' | 'refund' | 'settlement' | 'sweep' | 'identity' | 'screening'

/** Money on its way: at once, then every half minute while a chain becomes final, then as what is stuck. */
const SENT_MS = [1, 1, 2, 3, 5, 10, ...Array<number>(20).fill(30), 60, 300].map((seconds) => seconds * SECOND)

/** The gaps after the first, second, third … look; the last one repeats. */
const GAPS_MS: Readonly<Record<PollKind, readonly number[]>> = {
  payment: [2, 3, 5, 10, 20, 30, 60, 120, 300].map((seconds) => seconds * SECOND),
  // money of an attempt that is over waits for a person; whoever holds it tells of more
  ended: [...[5, 15].map((minutes) => minutes * MINUTE), HOUR, 6 * HOUR, DAY],
  // nothing has come to the address: the chain's reader brings what comes, and this is the net under it
  deposit: [5, 10, 15].map((minutes) => minutes * MINUTE),
  refund: SENT_MS,
  settlement: SENT_MS,
  // what waits for a source is asked again at least every 30 s
  screening: [1, 2, 3, 5, 5, 10, 15, 20, 25].map((seconds) => seconds * SECOND),
  sweep: SENT_MS,
  // a person photographs a passport in minutes; callbacks wake it earlier
  identity: [...[1, 2, 5, 10, 20, 30].map((minutes) => minutes * MINUTE), HOUR],
}

/** @param checks how often it was asked before, from 0 */
export function pollGapMs(kind: PollKind, checks: number): number {
  const gaps = GAPS_MS[kind]
  return gaps[Math.min(Math.max(checks, 0), gaps.length - 1)] ?? HOUR
}

import { isDeepStrictEqual } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'
import type { Db, Tx } from '../db/db.ts'
import type { PollSpec } from '../db/polling.ts'
import { toStorable, toStorableText } from '../db/storable.ts'
import { type Clock, HOUR, MINUTE } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import { pollGapMs } from '../kernel/poll-gaps.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import { isAccepted, isSameDoubt, withoutEnded } from './doubts.ts'
import { type Answer, type ScreeningStatus, type SourceId, type Verdict, worstOf } from './screening.ts'
import { tellBlocked, tellHeld } from './screening-mails.ts'
import {
  closeScreenings,
  findScreening,
  insertAnswer,
  isDropped,
  type KeptAnswer,
  type LastAsked,
  listLatestAnswers,
  listStandingListings,
  lockScreening,
  lockToldSince,
  PERSON_GAP_MS,
  SCREENING_POLLS,
  type Screening,
  updateScreening,
  wasToldOfHold,
} from './screening-queries.ts'
import type { SafeSource } from './sources/supervised.ts'

/** Resumes a held payment, refund or settlement. Runs in the transaction of the decision, so it may only write. */
export type WakeSubject = (tx: Tx, subject: Screening, now: Date) => Promise<void>

export type ScreeningDeps = {
  db: Db
  clock: Clock
  log: FastifyBaseLogger
  sources: readonly SafeSource[]
  wakeSubject: WakeSubject
  alarm: RaiseAlarm
  /** Counts answers by source and verdict. */
  count(source: SourceId, verdict: Verdict): void
}

/** Waiting time after which a person is notified. */
const TELL_AFTER_MS = 15 * MINUTE
/**
 * While another source is down, one that answered is not asked again for this long; one that wants a person only until
 * the gap ends, by the clock of any node.
 */
const FRESH_MS: Partial<Record<Verdict, number>> = { clean: HOUR, hold: PERSON_GAP_MS - MINUTE }
/** Longer evidence is truncated: some answers list thousands of counterparties. */
const MAX_EVIDENCE = 64_000

/**
 * `at`: when it was asked; `isNew`: goes into the record; `isNews`: it differs from what the source said last.
 * `counts`: the answer, or the listing that a source stands by that gives none now.
 */
type Asked = { source: SourceId; answer: Answer; counts: Answer; at: Date; isNew: boolean; isNews: boolean }

/** What was said before it was opened again answers nothing now. */
function freshSince({ source, verdict }: KeptAnswer, { openedAt, lastAsked }: Screening, now: Date): Date | null {
  const asked = lastAsked?.[source]
  if (asked === undefined) return null
  const at = new Date(asked)
  return at >= openedAt && now.getTime() - at.getTime() < (FRESH_MS[verdict] ?? 0) ? at : null
}

/** A source that says the same again adds nothing to the record; an outage is the same whatever its error says. */
const isSame = (kept: KeptAnswer | undefined, { openedAt }: Screening, { verdict, level, reasons }: Answer): boolean =>
  kept?.verdict === verdict &&
  kept.at >= openedAt &&
  (verdict === 'unavailable' || (kept.level === level && isDeepStrictEqual(kept.reasons, reasons)))

const cut = (given: Answer): Answer => {
  const answer = toStorable(given)
  const text = JSON.stringify(answer.evidence ?? null)
  return text.length <= MAX_EVIDENCE ? answer : { ...answer, evidence: { cut: toStorableText(text, MAX_EVIDENCE) } }
}

/** Asks every source without a fresh answer. The deny list costs nothing and is always checked. */
async function askSources(deps: ScreeningDeps, screening: Screening, now: Date): Promise<Asked[]> {
  const { network, address } = screening
  if (address === null) return []
  const kept = await listLatestAnswers(deps.db, screening)
  const listings = await listStandingListings(deps.db, screening)
  return Promise.all(
    deps.sources.map(async (source): Promise<Asked> => {
      const before = kept.find((one) => one.source === source.id)
      const since = before && source.id !== 'deny_list' ? freshSince(before, screening, now) : null
      if (before && since) {
        const answer = { ...before, evidence: null }
        return { source: source.id, answer, counts: answer, at: since, isNew: false, isNews: false }
      }
      const answer = cut(await source.screen({ network, address }))
      deps.count(source.id, answer.verdict)
      const isNews = answer.verdict !== 'clean' && !(before && isSameDoubt(before, { ...answer, source: source.id }))
      const listing = listings.find((one) => one.source === source.id)
      // an outage takes nothing back: nobody may release what its source has listed
      const counts = answer.verdict === 'unavailable' && listing ? { ...listing, evidence: null } : answer
      return { source: source.id, answer, counts, at: now, isNew: !isSame(before, screening, answer), isNews }
    }),
  )
}

const lastAskedOf = (asked: readonly Asked[]): LastAsked =>
  Object.fromEntries(asked.map(({ source, at }) => [source, at.toISOString()]))

const STATUS_OF = { clean: 'clean', blocked: 'blocked', hold: 'held', unavailable: 'held' } as const

type Outcome = { status: ScreeningStatus; verdict: Verdict }

/** The decisive verdict, without the doubts that a person accepted. */
function outcomeOf({ accepted }: Screening, asked: readonly Asked[]): Outcome {
  if (asked.length === 0) return { status: 'held', verdict: 'unavailable' }
  const open = asked.filter(({ source, counts }) => !isAccepted(accepted ?? [], { ...counts, source }))
  const verdict = worstOf(['clean', ...open.map(({ counts }) => counts.verdict)])
  return { verdict, status: verdict === 'clean' && open.length < asked.length ? 'released' : STATUS_OF[verdict] }
}

/** When one that is held is polled again. */
function nextCheckOf(verdict: Verdict, asked: readonly Asked[], { checks }: Screening, now: Date): Date {
  if (verdict !== 'hold') return new Date(now.getTime() + pollGapMs('screening', checks - 1))
  const since = asked.filter(({ answer }) => answer.verdict === 'hold').map(({ at }) => at.getTime())
  return new Date(Math.min(...since) + PERSON_GAP_MS)
}

const OPEN = ['checking', 'held']

/** One mail for everything that waits; what arrives within a quarter of an hour afterwards goes into the next mail. */
async function isToTell(tx: Tx, screening: Screening, verdict: Verdict, now: Date): Promise<boolean> {
  const { toldAt, openedAt } = screening
  const since = new Date(now.getTime() - TELL_AFTER_MS)
  if (verdict === 'hold') {
    // an outage ends by itself; that a person has to decide is other news
    if (toldAt !== null && (await wasToldOfHold(tx, screening))) return false
  } else if (toldAt !== null || openedAt > since) return false
  return !(await lockToldSince(tx, since))
}

/** Screens one address and stores the answers. Everything else waits for the row to be decided. */
async function pollScreening(deps: ScreeningDeps, screening: Screening): Promise<void> {
  const now = new Date(deps.clock())
  const asked = await askSources(deps, screening, now)
  await deps.db.tx(async (tx) => {
    const at = new Date(deps.clock())
    // a payment is always locked before its screenings
    if (outcomeOf(screening, asked).status !== 'held') await deps.wakeSubject(tx, screening, at)
    const current = await lockScreening(tx, screening)
    if (!current) return
    for (const { source, answer, isNew } of asked)
      if (isNew) await insertAnswer(tx, current, { id: newId(at.getTime()), source, answer, at })
    if (!OPEN.includes(current.status)) return
    const { status, verdict } = outcomeOf(current, asked)
    const told = status === 'held' && (await isToTell(tx, current, verdict, at))
    const nextCheckAt = status === 'held' ? nextCheckOf(verdict, asked, current, at) : null
    const said = asked.map(({ source, answer }) => ({ ...answer, source }))
    const accepted = current.accepted === null ? {} : { accepted: withoutEnded(current.accepted, said) }
    const isNews = asked.some((one) => one.isNews)
    const lastAsked = lastAskedOf(asked)
    const change = { status, nextCheckAt, toldAt: told ? at : null, isNews, lastAsked, ...accepted }
    await updateScreening(tx, current, change, at)
    if (told) await tellHeld(deps.alarm, tx, current, asked)
    if (status === 'blocked') {
      const listed = asked.map(({ source, counts }) => ({ source, answer: counts }))
      await tellBlocked(deps.alarm, tx, current, listed)
      const { companyId, purpose, subjectId } = current
      tx.afterCommit(() => deps.log.warn({ companyId, purpose, subjectId }, 'an address did not pass the screening'))
    }
  })
}

/** Addresses without a final answer, for the polling engine. */
export const screeningPolls = (deps: ScreeningDeps): PollSpec => ({
  ...SCREENING_POLLS,
  async work(db, { id }) {
    const screening = await findScreening(db, id)
    if (!screening || !OPEN.includes(screening.status)) return
    if (await isDropped(db, screening)) await closeScreenings(db, screening)
    else await pollScreening({ ...deps, db }, screening)
  },
})

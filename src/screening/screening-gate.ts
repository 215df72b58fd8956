import type { Tx } from '../db/db.ts'
import { type Clock, DAY, HOUR, MINUTE } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import { claimNotice } from '../mail/daily-mail-queries.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import { withoutOutages } from './doubts.ts'
import { type Answer, type Place, type ScreeningStatus, type Verdict, worstOf } from './screening.ts'
import { type FrozenNews, type ReceivedNews, tellBlocked, tellFrozen, tellReceived } from './screening-mails.ts'
import {
  blockScreening,
  growScreening,
  insertAnswer,
  insertScreening,
  listLatestAnswers,
  listScreeningsOf,
  lockBlock,
  type Release,
  reopenScreening,
  type Screening,
  type SubjectKey,
  updateBlock,
} from './screening-queries.ts'

/** Whether money may move. `waiting` never permits it. */
export type Standing = 'clear' | 'waiting' | 'blocked'

export type Subject = SubjectKey & {
  orderId: string | null
  /** It is decided: clean answers are not renewed. */
  isOver?: boolean
  /** A person let the same money pass before. It outweighs the same doubts again. */
  release?: Release | null
}

/** `units`: how much of a sender's money is known; a release holds for no more. */
export type SeenPlace = Place & { units?: bigint }

type ProviderBlock = FrozenNews & {
  /** It blocks all of the payment, not only amounts that it names. */
  isWhole: boolean
  /** How much is on its way that is neither frozen nor returned; null: nothing. */
  onItsWay: string | null
  /**
   * How much was on its way since a person decided, and may still be, that was neither received nor recorded; null:
   * nothing.
   */
  other: string | null
}

/** @see ProviderBlock; `isMore`: a decision that was read before this report is about too little */
type Rise = Omit<ProviderBlock, 'isWhole' | 'news' | 'other'> & { isMore: boolean }

/** The gate that all money passes. It calls no source, so it may be used inside a transaction. */
export type ScreeningGate = {
  /**
   * What is known about these addresses, and what a provider said. Unknown addresses are screened, starting with the
   * commit.
   */
  look(tx: Tx, subject: Subject, places: readonly SeenPlace[]): Promise<Standing>
  /**
   * A payment provider's own screening holds the money. Only a person ends that.
   * @returns whether a person is told what it blocks, and how much is on its way
   */
  noteProvider(tx: Tx, subject: Subject, report: ProviderBlock): Promise<boolean>
  /**
   * More is on its way. A person who has to decide about a block of all decides about that, too, and one mail in a
   * quarter of an hour says so.
   * @returns whether a person is told
   */
  noteRise(tx: Tx, subject: Subject, report: Rise): Promise<boolean>
  /** Money was received. Where a person returned what was blocked, it pays no order, and somebody must hear of it. */
  noteReceived(tx: Tx, subject: Subject, news: ReceivedNews): Promise<void>
  /** Screens again what was cleared too long ago, or is listed since. @returns whether there was any */
  renew(tx: Tx, key: SubjectKey): Promise<boolean>
  /** Whether a person has to decide first, or has decided to return the money of this subject. */
  findDecision(tx: Tx, key: SubjectKey): Promise<'open' | 'returned' | null>
}

type GateDeps = {
  clock: Clock
  /** Whether any source is configured. */
  screens: boolean
  /** New addresses were stored. */
  wake(): void
  alarm: RaiseAlarm
  /** What the operator's own list says of an address (lower case) now; null: nothing. */
  findListing(address: string): Answer | null
}

/**
 * Validity of a clean answer, a release, or a listing that only a sweep has met; a payment that is completed later is
 * screened again.
 */
export const CLEAN_MS = DAY

/** A payout cannot be taken back: one that a person released is asked about again shortly before it is signed. */
const PAYOUT_RELEASE_MS = HOUR

/** How often a mail says that more is on its way to one blocked payment. */
const RISES_MS = 15 * MINUTE

const STANDING_OF: Readonly<Record<ScreeningStatus, Standing>> = {
  checking: 'waiting',
  held: 'waiting',
  clean: 'clear',
  released: 'clear',
  blocked: 'blocked',
  returned: 'blocked',
}
const VERDICT_OF: Readonly<Record<Standing, Verdict>> = { blocked: 'blocked', waiting: 'unavailable', clear: 'clean' }

const isCleared = ({ status }: Screening): boolean => status === 'clean' || status === 'released'

const isPayout = ({ purpose }: Screening): boolean => purpose === 'refund' || purpose === 'settlement'

const validMs = (row: Screening): number => (row.status === 'released' && isPayout(row) ? PAYOUT_RELEASE_MS : CLEAN_MS)

/** Nobody can decide about a listed sender of a sweep, so a listing that was corrected ends with the next question. */
const isAskedAgain = (row: Screening): boolean =>
  isCleared(row) || (row.status === 'blocked' && row.purpose === 'sweep')

const isOld = (row: Screening, now: Date): boolean =>
  isAskedAgain(row) && now.getTime() - row.updatedAt.getTime() > validMs(row)

/** More of the sender's money than was shown; of a release before that was kept it is not known. */
const hasGrown = ({ shownUnits }: Screening, units: bigint | undefined): units is bigint =>
  units !== undefined && (shownUnits === null || units > shownUnits)

/** What a word of a provider does: nothing, it tells a person what waits beside the payment, or it blocks all of it. */
type Step = 'none' | 'tells' | 'blocksAll'
/** It names amounts, or blocks all of the payment, in which there is other money since a person decided, or not. */
type Word = 'amounts' | 'all' | 'other'

/**
 * What the next word makes of a block, by what it is about and whether a person returned that: the table of
 * docs/screening.md. Until a person decides, a block of all stays one: an amount that is named after it is a record of
 * its own, and nothing else would hold the rest.
 */
const STEPS: Readonly<Record<'undecided' | 'returned', Record<'amounts' | 'all', Record<Word, Step>>>> = {
  undecided: {
    amounts: { amounts: 'none', all: 'blocksAll', other: 'blocksAll' },
    all: { amounts: 'none', all: 'none', other: 'none' },
  },
  returned: {
    amounts: { amounts: 'tells', all: 'blocksAll', other: 'blocksAll' },
    all: { amounts: 'tells', all: 'none', other: 'blocksAll' },
  },
}

function stepOf(
  { status, isWhole: was }: Pick<Screening, 'status' | 'isWhole'>,
  { isWhole, other, news }: ProviderBlock,
): Step {
  const of = STEPS[status === 'returned' ? 'returned' : 'undecided']
  // what an older node noted counts as all
  const step = of[was === false ? 'amounts' : 'all'][!isWhole ? 'amounts' : other !== null ? 'other' : 'all']
  return step === 'tells' && news.length === 0 ? 'none' : step
}

/**
 * What the block says, and how much a person who returns all of the payment returns.
 * @param other came on its way since a person returned the block before, and may be gone from what is told
 */
function answerOf(
  { channel, providerStatus, isWhole, onItsWay }: Omit<ProviderBlock, 'news' | 'other' | 'orderName'>,
  other: string | null,
): Answer {
  const reasons = [
    providerStatus,
    ...(isWhole && onItsWay !== null ? [`${onItsWay} on its way`] : []),
    ...(other === null ? [] : [`${other} came after this payment was returned`]),
  ]
  const evidence = { channel, providerStatus, isWhole, onItsWay, ...(other === null ? {} : { other }) }
  return { verdict: 'blocked', level: null, reasons, evidence }
}

export function openScreeningGate({ clock, screens, wake, alarm, findListing }: GateDeps): ScreeningGate {
  const open = (tx: Tx, subject: Subject, place: SeenPlace, now: Date): Promise<boolean> =>
    insertScreening(tx, {
      ...subject,
      ...place,
      ...{ id: newId(now.getTime()), status: 'checking', nextCheckAt: now, at: now },
    })
  /** Its list is at hand, so what it says counts at once. */
  const blockListed = async (tx: Tx, row: Screening, answer: Answer, now: Date): Promise<void> => {
    if ((await blockScreening(tx, row, now)) === 0) return
    await insertAnswer(tx, row, { id: newId(now.getTime()), source: 'deny_list', answer, at: now })
    await tellBlocked(alarm, tx, row, [{ source: 'deny_list', answer }])
  }
  const listingOf = (row: Screening): Answer | null =>
    isCleared(row) && row.address !== null ? findListing(row.address) : null

  /** How an address stands that was asked about before. */
  const stand = async (tx: Tx, row: Screening, units: bigint | undefined, now: Date): Promise<Standing> => {
    const listing = listingOf(row)
    if (listing) {
      await blockListed(tx, row, listing, now)
      return 'blocked'
    }
    const grown = hasGrown(row, units)
    const news = grown
      ? { shownUnits: units, accepted: row.accepted && withoutOutages(row.accepted) }
      : { shownUnits: row.shownUnits, accepted: row.accepted }
    if (isOld(row, now) || (grown && row.status === 'released')) {
      await reopenScreening(tx, row, news, now)
      tx.afterCommit(wake)
      return 'waiting'
    }
    if (grown && STANDING_OF[row.status] === 'waiting') await growScreening(tx, row, news, now)
    return STANDING_OF[row.status]
  }
  return {
    async look(tx, subject, places) {
      const known = await listScreeningsOf(tx, subject)
      const now = new Date(clock())
      const standings = known.filter(({ address }) => address === null).map(({ status }) => STANDING_OF[status])
      for (const place of places) {
        const address = place.address.toLowerCase()
        const row = known.find((one) => one.address === address)
        // what was held stays held, even after the last source was removed from the settings
        if (!screens) standings.push(row ? STANDING_OF[row.status] : 'clear')
        else if (row)
          standings.push(subject.isOver === true ? STANDING_OF[row.status] : await stand(tx, row, place.units, now))
        else {
          await open(tx, subject, { ...place, address }, now)
          tx.afterCommit(wake)
          standings.push('waiting')
        }
      }
      const worst = worstOf(['clean', ...standings.map((standing) => VERDICT_OF[standing])])
      return worst === 'blocked' ? 'blocked' : worst === 'clean' ? 'clear' : 'waiting'
    },
    async noteProvider(tx, subject, block) {
      const { channel, isWhole } = block
      const now = new Date(clock())
      const fresh = {
        ...subject,
        id: newId(now.getTime()),
        network: null,
        address: null,
        status: 'blocked',
        isWhole,
        nextCheckAt: null,
        at: now,
      } as const
      const isFirst = await insertScreening(tx, fresh)
      const known = isFirst ? undefined : await lockBlock(tx, subject)
      if (!isFirst && !known) return false
      const step = known && stepOf(known, block)
      if (step === 'none') return false
      if (known && step === 'blocksAll') await updateBlock(tx, known, true, now)
      const row = { ...fresh, id: known?.id ?? fresh.id }
      const wasReturned = known?.status === 'returned' && step === 'blocksAll'
      const answer = answerOf(block, wasReturned ? block.other : null)
      await insertAnswer(tx, row, { id: newId(now.getTime()), source: 'provider', answer, at: now })
      // a further record of what was returned is decided about by itself
      if (step === 'tells') await tellFrozen(alarm, tx, row, block)
      else await tellBlocked(alarm, tx, row, [{ source: channel, answer }], { wasReturned })
      return step !== 'tells'
    },
    async noteRise(tx, subject, { channel, providerStatus, onItsWay, isMore }) {
      const known = await lockBlock(tx, subject)
      // what an older node noted counts as all
      if (known?.status !== 'blocked' || known.isWhole === false) return false
      const now = new Date(clock())
      const told = answerOf({ channel, providerStatus, onItsWay, isWhole: true }, null)
      const noted = (await listLatestAnswers(tx, known)).find(({ source }) => source === 'provider')?.reasons ?? []
      // the word that blocks comes first, also after several rises
      const answer = { ...told, reasons: isMore ? [...noted.slice(0, 1), ...told.reasons] : noted }
      if (isMore) {
        await updateBlock(tx, known, true, now)
        await insertAnswer(tx, known, { id: newId(now.getTime()), source: 'provider', answer, at: now })
      }
      // the mail that is left out comes with a later report
      if (!(await claimNotice(tx, `screening.rise:${known.id}`, now.getTime(), RISES_MS))) return false
      await tellBlocked(alarm, tx, { ...known, isWhole: true }, [{ source: channel, answer }])
      return true
    },
    async noteReceived(tx, subject, news) {
      const known = await lockBlock(tx, subject)
      if (known?.status === 'returned') await tellReceived(alarm, tx, known, news)
    },
    async renew(tx, key) {
      if (!screens) return false
      const now = new Date(clock())
      const old = (await listScreeningsOf(tx, key)).filter((row) => isOld(row, now) || listingOf(row) !== null)
      for (const row of old) await reopenScreening(tx, row, row, now)
      if (old.length > 0) tx.afterCommit(wake)
      return old.length > 0
    },
    async findDecision(tx, key) {
      const rows = await listScreeningsOf(tx, key)
      if (rows.some(({ status }) => ['checking', 'held', 'blocked'].includes(status))) return 'open'
      return rows.some(({ status }) => status === 'returned') ? 'returned' : null
    },
  }
}

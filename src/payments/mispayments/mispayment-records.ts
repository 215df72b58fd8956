import type { UnmatchedMoney } from '../../channels/channel.ts'
import { inDollarCoin } from '../../channels/usdc-text.ts'
import type { Tx } from '../../db/db.ts'
import { newId } from '../../kernel/ids.ts'
import {
  bookAccepted,
  bookLoss,
  bookLossBorne,
  bookPayment,
  bookSuspense,
  holderOf,
} from '../../ledger/ledger-service.ts'
import type { Order } from '../../orders/order.ts'
import { isOpen } from '../../orders/order-states.ts'
import { type Payment, updatePaymentBooked, updatePaymentReceived } from '../payment-queries.ts'
import {
  deleteMispayment,
  insertMispayment,
  type LossBearer,
  lockMispayments,
  type Mispayment,
  type MispaymentKind,
  updateMispayment,
} from './mispayment-queries.ts'
import {
  bookedUnits,
  HELD,
  isDecided,
  isUndecided,
  isUnder,
  lossAfter,
  readStanding,
  type Standing,
  sumUnits,
  undecidedUnits,
} from './standing.ts'

/** The transaction, order and payment of one report. */
export type MispaymentContext = { tx: Tx; order: Order; payment: Payment; now: Date }

/** Kinds of money that arrived but does not pay its order. */
export type Surplus = Extract<MispaymentKind, 'under' | 'late' | 'duplicate' | 'held' | 'over'>

const bookingOf = ({ order, now }: Pick<MispaymentContext, 'order' | 'now'>, causeId: string) => ({
  companyId: order.companyId,
  causeId,
  orderId: order.id,
  at: now,
})

/** Each correction of a record is a separate booking. */
const freshCause = (id: string): string => `${id}:${newId()}`

/**
 * Sets the open record of one kind to `units`; zero closes it. Decided records do not change.
 * @returns the change
 */
async function bringTo(
  context: MispaymentContext,
  kind: MispaymentKind,
  units: bigint,
  records: readonly Mispayment[],
): Promise<bigint> {
  const { tx, order, payment, now } = context
  const open = records.find((record) => record.kind === kind && record.status === 'open')
  if (open) {
    if (open.units !== units)
      await updateMispayment(tx, open, units > 0n ? { units } : { units: 0n, status: 'resolved' }, now)
    return units - open.units
  }
  if (units === 0n) return 0n
  const earlier = records.filter((record) => record.kind === kind).length
  await insertMispayment(tx, {
    companyId: order.companyId,
    id: newId(now.getTime()),
    orderId: order.id,
    paymentId: payment.id,
    kind,
    asset: 'USDC',
    units,
    sourceReference: earlier === 0 ? payment.merchantReference : `${payment.merchantReference}.${earlier}`,
    createdAt: now,
  })
  return units
}

/** A person’s decision to accept waiting money as payment. */
export type Acceptance = { decidedBy: string; reason: string | null }

/**
 * Part payments that arrived while the order was open and were completed later are not mispayments. Neither is money
 * that waited for its screening.
 */
const isFirstPart = ({ order }: MispaymentContext, { kind }: Mispayment): boolean =>
  (kind === 'under' || kind === 'held') && isOpen(order.status)

/** Closes a record whose money turned out to be something else, and reverses its booking. */
async function release(
  context: MispaymentContext,
  records: readonly Mispayment[],
  acceptance?: Acceptance,
): Promise<void> {
  for (const record of records) {
    if (acceptance) await updateMispayment(context.tx, record, { status: 'accepted', ...acceptance }, context.now)
    else if (isFirstPart(context, record)) await deleteMispayment(context.tx, record)
    else await updateMispayment(context.tx, record, { status: 'resolved' }, context.now)
    await bookAccepted(context.tx, bookingOf(context, freshCause(record.id)), record.units, holderOf(context.payment))
  }
}

/** One payment's money, as last reported. */
export type Arrived = {
  final: bigint
  /** Including units that are not final. */
  seen: bigint
  /** The kind of any money that does not pay the order. */
  kind: Surplus
  /** Units above the price that the payment's booking already includes. */
  alreadyBooked?: bigint
}

/**
 * Brings records and books in line with what has arrived. Missing committed money (the price, decided records) is a
 * loss; the rest waits in one open record.
 * @returns the change of the loss; negative when money came back
 */
export async function bookMoney(context: MispaymentContext, arrived: Arrived): Promise<bigint> {
  const { tx, payment } = context
  const { final, kind, alreadyBooked = 0n } = arrived
  const standing = await readStanding(tx, payment)
  const { records, committed, spoken } = standing
  const others = records.filter((one) => HELD.includes(one.kind) && one.kind !== kind && one.status === 'open')
  await release(context, others)
  const free = final > committed ? final - committed : 0n
  const delta = await bringTo(context, kind, kind === 'over' ? spoken + free : free, records)
  const booking = bookingOf(context, freshCause(payment.id))
  await bookSuspense(tx, booking, delta - alreadyBooked, holderOf(payment))
  const change = lossAfter(standing, arrived) - standing.lost
  if (change > 0n) await addLoss(context, standing, change)
  if (change < 0n) await takeLossBack(context, standing, -change)
  return change
}

async function addLoss(context: MispaymentContext, { records }: Standing, units: bigint): Promise<void> {
  const open = records.find(({ kind, status }) => kind === 'orphaned' && status === 'open')
  await bringTo(context, 'orphaned', (open?.units ?? 0n) + units, records)
  await bookLoss(context.tx, bookingOf(context, freshCause(context.payment.id)), units, holderOf(context.payment))
}

/** The money came back: undoes the loss, even one that has a bearer. */
async function takeLossBack(context: MispaymentContext, { records }: Standing, units: bigint): Promise<void> {
  const { tx, payment, now } = context
  const losses = records.filter(({ kind }) => kind === 'orphaned')
  const open = losses.filter(({ status }) => status === 'open')
  let left = units
  for (const record of [...open, ...losses.filter(({ status }) => status === 'borne').toReversed()]) {
    const part = record.units < left ? record.units : left
    if (part === 0n) continue
    left -= part
    const rest = record.units - part
    await updateMispayment(tx, record, rest > 0n ? { units: rest } : { status: 'resolved' }, now)
    if (record.status === 'borne' && record.borneBy !== null)
      await bookLossBorne(tx, bookingOf(context, freshCause(record.id)), -part, record.borneBy)
    await bookLoss(tx, bookingOf(context, freshCause(payment.id)), -part, holderOf(payment))
  }
}

/**
 * Anyone can create such a token and send it as often as they like at almost no cost, so only this many are recorded
 * per payment.
 */
const MOST_LOOK_ALIKES = 100
/** Maximum of the column. A larger amount is no real money; `chain_transfers` has the exact value. */
const MOST_UNITS = 10n ** 38n - 1n
/** A token on no list is shown with its contract: `USDC (0x1234…abcd)`. */
const isLookAlike = ({ asset }: { asset: string }): boolean => asset.includes('…')

/** After its provider named another coin for it, a person decided about the sum in that coin. */
const isDecidedElsewhere = ({ asset, updatedAt }: Mispayment, records: readonly Mispayment[]): boolean =>
  records.some((one) => one.asset !== asset && isDecided(one) && one.updatedAt >= updatedAt)

/** The records of a sum that stand for all of it in this coin. */
const countedIn = (coin: string, records: readonly Mispayment[]): Mispayment[] =>
  records.filter((one) => one.asset === coin && (!one.isRenamed || isDecidedElsewhere(one, records)))

/** The decision about all of a sum, in a coin that its provider does not name any more. */
function findDecision(records: readonly Mispayment[], coins: readonly string[]): Mispayment | undefined {
  const last = records.findLast(({ isRenamed }) => !isRenamed)
  return last && isDecided(last) && !isUndecided(records) && !coins.includes(last.asset) ? last : undefined
}

/**
 * What of a sum was decided about in another coin, as units of this one, and when: what waits there is no part of it.
 * Nothing if the value of either coin is unknown, so that a person sees the whole sum, or if its provider names both.
 */
function decidedIn(
  asset: string,
  { records, coins }: { records: readonly Mispayment[]; coins: readonly string[] },
): { units: bigint; at: Date } | undefined {
  for (const coin of new Set(records.map((one) => one.asset))) {
    if (coin === asset || coins.includes(coin)) continue
    const over = countedIn(coin, records).filter(({ status }) => status !== 'open')
    const at = over.findLast(isDecided)?.updatedAt
    const value = inDollarCoin(asset, { asset: coin, units: sumUnits(over) })
    // only two coins have a value
    if (at && value !== undefined) return { units: value < MOST_UNITS ? value : MOST_UNITS, at }
  }
  return undefined
}

/** A provider named this sum. What stands for the value of a decision was made after that, with its time. */
const isTold = ({ createdAt, updatedAt }: Mispayment): boolean => createdAt <= updatedAt

/**
 * The part of `units`, which stand for a sum up to the decision about it, that is undecided: the share that waits in
 * each coin. What came to that coin after the last decision, in whichever coin, is no part of it.
 */
function undecidedOf(units: bigint, open: readonly Mispayment[], records: readonly Mispayment[]): bigint {
  const until = Math.max(...records.filter(isDecided).map(({ updatedAt }) => updatedAt.getTime()))
  let undecided = 0n
  for (const coin of new Set(open.map(({ asset }) => asset))) {
    const known = countedIn(coin, records).filter(({ createdAt }) => createdAt.getTime() <= until)
    const all = sumUnits(known)
    if (all > 0n) undecided += (units * sumUnits(known.filter(({ status }) => status === 'open'))) / all
  }
  return undecided < units ? undecided : units
}

/**
 * Takes what is undecided out of the records that stand for a sum up to the decision: it waits beside them from now on.
 * Their time stays, which tells that they are older than the decision. @returns how much
 */
async function takeUndecided(
  tx: Tx,
  { bases, open, records }: Record<'bases' | 'open' | 'records', readonly Mispayment[]>,
): Promise<bigint> {
  const undecided = undecidedOf(sumUnits(bases), open, records)
  let left = undecided
  for (const base of bases) {
    const part = left < base.units ? left : base.units
    if (part > 0n) await updateMispayment(tx, base, { units: base.units - part }, base.updatedAt)
    left -= part
  }
  return undecided
}

/**
 * Money that does not count, such as other tokens at the address: recorded but not booked. A record never changes: more
 * money under its reference becomes a record of its own, whatever a person decided about the first one. So does another
 * token of the same transaction. If a provider names another coin for one sum, the open records are resolved; the first
 * one takes in all that is undecided when its coin comes back, so that no name that alternates makes further records. A
 * decision about the sum in one coin counts in every other coin: in an earlier one as much as was told in that, in a
 * dollar coin at least the value of what was decided. If it was about a part, the rest waits in its own coin until more
 * comes in another one. That takes in the rest too, in proportion where it has no value there.
 * @returns what is new, in no other coin before
 */
export async function recordUnmatchedTransfers(
  { tx, order: { companyId, id: orderId }, payment: { id: paymentId }, now: createdAt }: MispaymentContext,
  transfers: readonly UnmatchedMoney[],
): Promise<UnmatchedMoney[]> {
  const news: UnmatchedMoney[] = []
  if (transfers.length === 0) return news
  const records = await lockMispayments(tx, companyId, paymentId)
  const wrong = records.filter(({ kind }) => kind === 'wrong_token')
  let room = MOST_LOOK_ALIKES - wrong.filter(isLookAlike).length
  for (const transfer of transfers) {
    const { asset, reference, isOneSum = false } = transfer
    const earlier = wrong.filter((record) => isUnder(record, reference))
    const total = transfer.units < MOST_UNITS ? transfer.units : MOST_UNITS
    const coins = transfers.filter((one) => one.reference === reference).map((one) => one.asset)
    const insert = async (units: bigint): Promise<Mispayment> => {
      const number = wrong.filter((one) => isUnder(one, reference)).length
      const sourceReference = number === 0 ? reference : `${reference}.${number}`
      const record = { companyId, orderId, paymentId, kind: 'wrong_token', asset, createdAt } as const
      const made = await insertMispayment(tx, { ...record, id: newId(createdAt.getTime()), units, sourceReference })
      wrong.push(made)
      return made
    }
    const counted = countedIn(asset, earlier)
    const decision = isOneSum && counted.length === 0 ? findDecision(earlier, coins) : undefined
    const decided = isOneSum && total > sumUnits(counted) ? decidedIn(asset, { records: earlier, coins }) : undefined
    const missing = decided ? decided.units - sumUnits(counted) : 0n
    if (decided && missing > 0n) {
      // as if it had had all of this coin before
      const made = await insert(missing)
      await updateMispayment(tx, made, { status: 'resolved', isRenamed: true }, decided.at)
      counted.push({ ...made, isRenamed: true, updatedAt: decided.at })
    }
    const bases = counted.filter(({ isRenamed }) => isRenamed)
    const grown = total - sumUnits(counted)
    const isKnown = counted.length > 0 && grown <= 0n
    if (isKnown && bases.length > 0) continue
    const others = earlier.filter((record) => isOneSum && record.status === 'open' && !coins.includes(record.asset))
    for (const record of others) await updateMispayment(tx, record, { status: 'resolved', isRenamed: true }, createdAt)
    if (isKnown) continue
    const back = earlier.find((record) => record.asset === asset && !counted.includes(record))
    if (back) {
      // it had taken in what was undecided before
      await updateMispayment(tx, back, { status: 'open', units: grown, isRenamed: false }, createdAt)
      continue
    }
    if (isLookAlike(transfer) && room-- <= 0) continue
    const told = missing > 0n ? [] : bases.filter(isTold)
    const units = grown + (await takeUndecided(tx, { bases: told, open: others, records: earlier }))
    await insert(units)
    const isNew = others.length === 0 && (decision === undefined || missing > 0n)
    if (isNew) news.push({ asset, units, reference })
  }
  return news
}

/** Whether any money of the payment waits for a person. */
export const hasUndecided = async (tx: Tx, { companyId, id }: Payment): Promise<boolean> =>
  isUndecided(await lockMispayments(tx, companyId, id))

/** Closes open records of money that its payment counts now. It was never booked. */
export async function resolveUnmatched(
  { tx, payment, now }: MispaymentContext,
  references: readonly string[],
): Promise<void> {
  if (references.length === 0) return
  const records = await lockMispayments(tx, payment.companyId, payment.id)
  for (const record of records.filter(({ kind, status }) => kind === 'wrong_token' && status === 'open'))
    if (references.some((reference) => isUnder(record, reference)))
      await updateMispayment(tx, record, { status: 'resolved' }, now)
}

/**
 * Books the payment once and takes its money out of suspense. Money above the price waits in its own record.
 * @param received units that still count towards the order
 */
export async function bookOrderPaid(
  context: MispaymentContext,
  money: { received: bigint; due: bigint; feeBps: number },
  acceptance?: Acceptance,
): Promise<void> {
  const { tx, payment } = context
  const standing = await readStanding(tx, payment)
  const waiting = standing.records.filter(({ kind, status }) => HELD.includes(kind) && status === 'open')
  await release(context, waiting, acceptance)
  const { received, due, feeBps } = money
  const priceUnits = received < due ? received : due
  await updatePaymentBooked(tx, payment, { priceUnits, feeBps })
  await bookPayment(tx, bookingOf(context, payment.id), { ...money, holder: holderOf(payment) })
  const final = received + standing.decided
  const alreadyBooked = received - priceUnits
  await bookMoney(
    { ...context, payment: { ...payment, priceUnits } },
    { final, seen: final, kind: 'over', alreadyBooked },
  )
}

/** Books the decision who bears a loss. */
export const bookLossDecision = (context: MispaymentContext, record: Mispayment, by: LossBearer): Promise<boolean> =>
  bookLossBorne(context.tx, bookingOf(context, freshCause(record.id)), record.units, by)

/** Reverses a decision: money of the payment that paid the order exceeds the price again. */
export async function bookReopened(context: MispaymentContext): Promise<bigint | undefined> {
  const { tx, payment } = context
  if (payment.priceUnits === null) return undefined
  const standing = await readStanding(tx, payment)
  const present = payment.receivedUnits - standing.lost
  await bookMoney(context, { final: present, seen: present, kind: 'over' })
  // a loss that is no longer committed counts as never received
  const receivedUnits = bookedUnits(present, standing)
  await updatePaymentReceived(tx, payment, receivedUnits)
  return undecidedUnits(receivedUnits, standing)
}

import type { UnmatchedMoney } from '../../channels/channel.ts'
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
  updateNewName,
} from './mispayment-queries.ts'
import { bringSumTo, findNewName } from './one-sum.ts'
import type { Lowered } from './one-total.ts'
import {
  bookedUnits,
  HELD,
  isUndecided,
  isUnder,
  lossAfter,
  presentUnits,
  readStanding,
  type Standing,
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

/** The records of the same money. What the same report names in another coin is other money. */
function partsOf(
  transfer: UnmatchedMoney,
  { transfers, records }: { transfers: readonly UnmatchedMoney[]; records: readonly Mispayment[] },
): Mispayment[] {
  const { asset, reference, isOneSum = false } = transfer
  const isBeside = (coin: string): boolean =>
    !isOneSum || transfers.some((one) => one.reference === reference && one.asset === coin)
  return records.filter((one) => isUnder(one, reference) && (one.asset === asset || !isBeside(one.asset)))
}

/** The records of a payment's money beside it, also of what an older node renamed. */
async function lockBeside(
  tx: Tx,
  { companyId, id }: Payment,
  transfers: readonly UnmatchedMoney[],
): Promise<Mispayment[]> {
  const records = (await lockMispayments(tx, companyId, id)).filter(({ kind }) => kind === 'wrong_token')
  const nameless = records.filter(({ isRenamed, renamedTo }) => isRenamed && renamedTo === null)
  const found = nameless.flatMap((record) => {
    const sum = transfers.find(({ reference }) => isUnder(record, reference))
    const parts = sum ? records.filter((one) => isUnder(one, sum.reference)) : []
    return sum ? [{ record, renamedTo: findNewName(record, parts) }] : []
  })
  for (const { record, renamedTo } of found) await updateNewName(tx, record, renamedTo)
  for (const { record, renamedTo } of found) record.renamedTo = renamedTo
  return records
}

/** After all that was changed before, whichever node's clock is behind: what was decided about had come by then. */
const after = (records: readonly Mispayment[], now: Date): Date =>
  new Date(Math.max(now.getTime(), ...records.map(({ updatedAt }) => updatedAt.getTime() + 1)))

/**
 * Money that does not count, such as other tokens at the address: recorded but not booked. What a person decided about
 * never changes: more money under its reference becomes a record of its own. So does another token of the same
 * transaction. If a provider names another coin for one sum, it waits in that one (`one-sum.ts`).
 * @returns what waits now and did not wait before
 */
export async function recordUnmatchedTransfers(
  { tx, order: { companyId, id: orderId }, payment, now }: MispaymentContext,
  transfers: readonly UnmatchedMoney[],
): Promise<UnmatchedMoney[]> {
  const news: UnmatchedMoney[] = []
  if (transfers.length === 0) return news
  const { id: paymentId } = payment
  const load = () => lockBeside(tx, payment, transfers)
  let records = await load()
  const createdAt = after(records, now)
  let room = MOST_LOOK_ALIKES - records.filter(isLookAlike).length
  for (const transfer of transfers) {
    const { asset, reference } = transfer
    const total = transfer.units < MOST_UNITS ? transfer.units : MOST_UNITS
    const { close, reopen, insert, isNew } = bringSumTo(partsOf(transfer, { transfers, records }), {
      asset,
      units: total,
    })
    if (insert !== null && isLookAlike(transfer) && room-- <= 0) continue
    for (const record of close) await updateMispayment(tx, record, { status: 'resolved', renamedTo: asset }, createdAt)
    if (reopen)
      await updateMispayment(tx, reopen.record, { status: 'open', units: reopen.units, renamedTo: null }, createdAt)
    if (insert !== null) {
      const number = records.filter((one) => isUnder(one, reference)).length
      const sourceReference = number === 0 ? reference : `${reference}.${number}`
      const record = { companyId, orderId, paymentId, kind: 'wrong_token', asset, sourceReference, createdAt } as const
      const made = await insertMispayment(tx, { ...record, id: newId(createdAt.getTime()), units: insert })
      records.push(made)
    }
    if (close.length > 0 || reopen) records = await load()
    if (isNew) news.push({ asset, reference, units: reopen?.units ?? insert ?? 0n })
  }
  return news
}

/** Booked money that was ignored, and went back to the payer after that: it is in suspense no more. */
export async function releaseIgnored(context: MispaymentContext, records: readonly Mispayment[], units: bigint) {
  const { tx, payment, now } = context
  let left = units
  for (const record of records) {
    const part = record.units < left ? record.units : left
    if (part === 0n) continue
    left -= part
    const rest = record.units - part
    await updateMispayment(tx, record, rest > 0n ? { units: rest } : { units: 0n, status: 'resolved' }, now)
    await bookSuspense(tx, bookingOf(context, freshCause(record.id)), -part, holderOf(payment))
  }
}

/** Whether any money of the payment waits for a person. */
export const hasUndecided = async (tx: Tx, { companyId, id }: Payment): Promise<boolean> =>
  isUndecided(await lockMispayments(tx, companyId, id))

/** Lowers open records to what still waits of them: the rest is the payment's now. It was never booked. */
export async function lowerUnmatched({ tx, now }: MispaymentContext, lowered: readonly Lowered[]): Promise<void> {
  for (const { record, units } of lowered)
    await updateMispayment(tx, record, units > 0n ? { units } : { status: 'resolved' }, now)
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
  const present = presentUnits(payment, standing)
  await bookMoney(context, { final: present, seen: present, kind: 'over' })
  // a loss that is no longer committed counts as never received
  const receivedUnits = bookedUnits(present, standing)
  await updatePaymentReceived(tx, payment, receivedUnits)
  return undecidedUnits(receivedUnits, standing)
}

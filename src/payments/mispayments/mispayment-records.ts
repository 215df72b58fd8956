import type { Tx } from '../../db/db.ts'
import { newId } from '../../kernel/ids.ts'
import { bookAccepted, bookPayment, bookSuspense, holderOf } from '../../ledger/ledger-service.ts'
import type { Order } from '../../orders/order.ts'
import { isOpen } from '../../orders/order-states.ts'
import { type Payment, updatePaymentBooked } from '../payment-queries.ts'
import {
  deleteMispayment,
  insertMispayment,
  lockMispayments,
  type Mispayment,
  type MispaymentKind,
  updateMispayment,
} from './mispayment-queries.ts'

/** Where money is noticed: inside the transaction that looks at one payment of one order. */
export type MispaymentContext = { tx: Tx; order: Order; payment: Payment; now: Date }

type Held = Extract<MispaymentKind, 'under' | 'late' | 'duplicate'>

const HELD: readonly MispaymentKind[] = ['under', 'late', 'duplicate']

const bookingOf = ({ order, now }: MispaymentContext, causeId: string) => ({
  companyId: order.companyId,
  causeId,
  orderId: order.id,
  at: now,
})

/** Each correction of a record is a booking of its own. */
const freshCause = (id: string): string => `${id}:${newId()}`

const sum = (records: readonly Mispayment[]): bigint => records.reduce((total, { units }) => total + units, 0n)

/**
 * Brings the open record of one kind to `units` (none: it is closed); what a person decided earlier stays as it is.
 * @returns the change
 */
async function bringTo(
  place: MispaymentContext,
  kind: MispaymentKind,
  units: bigint,
  records: readonly Mispayment[],
): Promise<bigint> {
  const { tx, order, payment, now } = place
  const open = records.find((record) => record.kind === kind && record.status === 'open')
  if (open) {
    if (open.units !== units)
      await updateMispayment(tx, open, units > 0n ? { units } : { units: 0n, status: 'resolved' }, now)
    if (units < 0n) return -open.units
    return units - open.units
  }
  if (units <= 0n) return 0n
  const decided = records.filter((record) => record.kind === kind).length
  await insertMispayment(tx, {
    companyId: order.companyId,
    id: newId(now.getTime()),
    orderId: order.id,
    paymentId: payment.id,
    kind,
    asset: 'USDC',
    units,
    sourceReference: decided === 0 ? payment.merchantReference : `${payment.merchantReference}.${decided}`,
    createdAt: now,
  })
  return units
}

/** A person's decision that money which waited pays its order. */
export type Acceptance = { decidedBy: string; reason: string | null }

/** A part of an order's money that came while the order was open, and was completed, was never out of order. */
const isFirstPart = ({ order }: MispaymentContext, { kind }: Mispayment): boolean =>
  kind === 'under' && isOpen(order.status)

/** What waited turned out to be something else: its record is closed and its booking taken back. */
async function release(
  place: MispaymentContext,
  records: readonly Mispayment[],
  acceptance?: Acceptance,
): Promise<void> {
  for (const record of records) {
    if (acceptance) await updateMispayment(place.tx, record, { status: 'accepted', ...acceptance }, place.now)
    else if (isFirstPart(place, record)) await deleteMispayment(place.tx, record)
    else await updateMispayment(place.tx, record, { status: 'resolved' }, place.now)
    await bookAccepted(place.tx, bookingOf(place, freshCause(record.id)), record.units, holderOf(place.payment))
  }
}

/** Money that pays nothing yet: too little so far, too late, or a second time. */
export async function holdMoney(place: MispaymentContext, kind: Held, total: bigint): Promise<void> {
  const records = await lockMispayments(place.tx, place.order.companyId, place.payment.id)
  const held = records.filter((record) => HELD.includes(record.kind))
  await release(
    place,
    held.filter((record) => record.kind !== kind && record.status === 'open'),
  )
  const decided = sum(held.filter((record) => record.status !== 'open' && record.status !== 'resolved'))
  const delta = await bringTo(place, kind, total - decided, records)
  await bookSuspense(place.tx, bookingOf(place, freshCause(place.payment.id)), delta, holderOf(place.payment))
}

/** Money above the price. What came with the payment itself is booked by it already (`later` false). */
export async function holdExcess(place: MispaymentContext, total: bigint, later: boolean): Promise<void> {
  const records = await lockMispayments(place.tx, place.order.companyId, place.payment.id)
  const decided = records.filter(
    (record) => record.kind === 'over' && record.status !== 'open' && record.status !== 'resolved',
  )
  const delta = await bringTo(place, 'over', total - sum(decided), records)
  if (later)
    await bookSuspense(place.tx, bookingOf(place, freshCause(place.payment.id)), delta, holderOf(place.payment))
}

/** Another token came to the same address. It is no USDC, so it is noticed and not booked. */
export async function recordUnmatchedTransfer(
  place: MispaymentContext,
  transfer: { asset: string; units: bigint; reference: string },
): Promise<void> {
  const { tx, order, payment, now } = place
  const records = await lockMispayments(tx, order.companyId, payment.id)
  if (records.some((record) => record.kind === 'wrong_token' && record.sourceReference === transfer.reference)) return
  await insertMispayment(tx, {
    companyId: order.companyId,
    id: newId(now.getTime()),
    orderId: order.id,
    paymentId: payment.id,
    kind: 'wrong_token',
    asset: transfer.asset,
    units: transfer.units,
    sourceReference: transfer.reference,
    createdAt: now,
  })
}

/** A payment that was final left the chain after all: the order stays PAID, a person must know. */
export async function recordLoss(place: MispaymentContext, units: bigint): Promise<void> {
  const records = await lockMispayments(place.tx, place.order.companyId, place.payment.id)
  await bringTo(place, 'orphaned', units, records)
}

/** The payment paid its order: booked once, and whatever of it waited is taken out of suspense. */
export async function bookOrderPaid(
  place: MispaymentContext,
  money: { received: bigint; due: bigint; feeBps: number },
  acceptance?: Acceptance,
): Promise<void> {
  const records = await lockMispayments(place.tx, place.order.companyId, place.payment.id)
  await release(
    place,
    records.filter((record) => HELD.includes(record.kind) && record.status === 'open'),
    acceptance,
  )
  const { received, due, feeBps } = money
  await updatePaymentBooked(place.tx, place.payment, { priceUnits: received < due ? received : due, feeBps })
  await bookPayment(place.tx, bookingOf(place, place.payment.id), { ...money, holder: holderOf(place.payment) })
}

/** Money that had left the chain is there again. */
export async function endLoss(place: MispaymentContext): Promise<void> {
  const records = await lockMispayments(place.tx, place.order.companyId, place.payment.id)
  for (const record of records) {
    if (record.kind === 'orphaned' && record.status === 'open')
      await updateMispayment(place.tx, record, { status: 'resolved' }, place.now)
  }
}

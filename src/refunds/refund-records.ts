import type { Queryable, Tx } from '../db/db.ts'
import { newId } from '../kernel/ids.ts'
import type { Order } from '../orders/order.ts'
import { updateOrderPaidUnits } from '../orders/order-queries.ts'
import {
  insertMispayment,
  listMispaymentsOfOrder,
  lockMispayment,
  type Mispayment,
  updateMispayment,
} from '../payments/mispayments/mispayment-queries.ts'
import { bookReopened } from '../payments/mispayments/mispayment-records.ts'
import { openLossUnits, spokenUnits } from '../payments/mispayments/standing.ts'
import { lockPayment, reconsiderPayment } from '../payments/payment-queries.ts'
import { listRefundsOfOrder, type Refund } from './refund-queries.ts'

/** What an order has refunded or is refunding, and the related decisions. */
export type Returned = {
  /** The order’s own refunds, without dropped ones. */
  refunds: Refund[]
  /** Units above the price that were refunded separately or ignored. */
  besideUnits: bigint
  /** The ignored part of them, which was never sent. */
  ignoredUnits: bigint
  /** Units above the price that are already used by a refund or a decision. */
  usedExcess: bigint
  /** The undecided record of money above the price, and its units that are still free. */
  open: Mispayment | undefined
  openFree: bigint
  /** Undecided loss. */
  openLoss: bigint
}

export const isLive = ({ status }: Pick<Refund, 'status'>): boolean => status !== 'rejected' && status !== 'refused'

const sum = (items: readonly { units: bigint }[]): bigint => items.reduce((total, { units }) => total + units, 0n)

/** Before anything is changed because of it, the order must be locked. */
export async function readReturned(
  tx: Queryable,
  { companyId, id, paymentId }: Pick<Order, 'companyId' | 'id' | 'paymentId'>,
): Promise<Returned> {
  const records = await listMispaymentsOfOrder(tx, companyId, id)
  const mine = records.filter((record) => record.paymentId === paymentId)
  const over = mine.filter(({ kind, status }) => kind === 'over' && status !== 'resolved')
  const ids = new Set(over.map((record) => record.id))
  const live = (await listRefundsOfOrder(tx, companyId, id)).filter(isLive)
  const beside = live.filter(({ mispaymentId }) => mispaymentId !== null && ids.has(mispaymentId))
  const refunds = live.filter(({ mispaymentId }) => mispaymentId === null)
  const ignoredUnits = sum(over.filter(({ status }) => status === 'ignored'))
  const besideUnits = sum(beside) + ignoredUnits
  const excess = refunds.reduce((total, { excessUnits }) => total + excessUnits, 0n)
  const open = over.find(({ status }) => status === 'open')
  const openFree = (open?.units ?? 0n) - spokenUnits(mine, excess)
  const openLoss = openLossUnits(records)
  return { refunds, besideUnits, ignoredUnits, usedExcess: excess + besideUnits, open, openFree, openLoss }
}

const decisionOf = (refundId: string): string => `refund:${refundId}`

/**
 * An order's refund used money above the price. That part needs no other decision and becomes a separate record; the
 * rest stays open.
 */
export async function closeUsedRecord(
  tx: Tx,
  refund: { id: string; number: number; excessUnits: bigint },
  { open }: Returned,
  now: Date,
): Promise<void> {
  const { excessUnits: units } = refund
  if (!open || units === 0n) return
  const decision = { status: 'refunded', decidedBy: decisionOf(refund.id) } as const
  if (units >= open.units) return updateMispayment(tx, open, decision, now)
  await updateMispayment(tx, open, { units: open.units - units }, now)
  const id = newId(now.getTime())
  const sourceReference = `${open.sourceReference}-refund-${refund.number}`
  await insertMispayment(tx, { ...open, id, units, sourceReference, createdAt: now })
  await updateMispayment(tx, { ...open, id }, decision, now)
}

/** Reopens a record, or adds it to the record opened since for the same money. */
async function reopen(tx: Tx, record: Mispayment, records: readonly Mispayment[], now: Date): Promise<void> {
  const { kind, paymentId, units } = record
  const twin = records.find((other) => other.status === 'open' && other.kind === kind && other.paymentId === paymentId)
  if (!twin) return updateMispayment(tx, record, { status: 'open' }, now)
  await updateMispayment(tx, twin, { units: twin.units + units }, now)
  await updateMispayment(tx, record, { status: 'resolved' }, now)
}

/**
 * A dropped refund returns its money to an open record. If the same payment has paid the order since, that money is now
 * above the price.
 */
export async function reopenRecords(tx: Tx, order: Order, refund: Refund, now: Date): Promise<void> {
  const { companyId, orderId, mispaymentId } = refund
  const mine = (await listMispaymentsOfOrder(tx, companyId, orderId)).filter(
    ({ id, status, decidedBy }) =>
      status === 'refunded' && (id === mispaymentId || decidedBy === decisionOf(refund.id)),
  )
  for (const { id } of mine) {
    const record = await lockMispayment(tx, companyId, id)
    if (record) await reopen(tx, record, await listMispaymentsOfOrder(tx, companyId, orderId), now)
  }
  if (mine.length === 0) return
  const payment = await lockPayment(tx, companyId, refund.paymentId)
  if (!payment) throw new Error(`refund ${refund.id} without its payment`)
  const paidUnits = await bookReopened({ tx, order, payment, now })
  if (paidUnits !== undefined && paidUnits !== order.paidUnits) await updateOrderPaidUnits(tx, order, paidUnits)
  await reconsiderPayment(tx, payment, now)
}

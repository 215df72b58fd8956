import type { Tx } from '../db/db.ts'
import type { Order } from '../orders/order.ts'
import {
  listMispaymentsOfOrder,
  lockMispayment,
  type Mispayment,
  updateMispayment,
} from '../payments/mispayments/mispayment-queries.ts'
import { listRefundsOfOrder, type Refund } from './refund-queries.ts'

/** What went back of an order already, or is on its way. */
export type Returned = {
  /** Of the order itself, dropped ones left out. */
  refunds: Refund[]
  /** Units above the price that went back by a decision about them, beside the order's own refunds. */
  besideUnits: bigint
  /** Units above the price that are spoken for, either way. */
  usedExcess: bigint
  /** Records of money above the price. */
  over: Mispayment[]
}

const isLive = ({ status }: Pick<Refund, 'status'>): boolean => status !== 'rejected' && status !== 'refused'

/** The order must be locked. */
export async function readReturned(tx: Tx, { companyId, id }: Pick<Order, 'companyId' | 'id'>): Promise<Returned> {
  const records = await listMispaymentsOfOrder(tx, companyId, id)
  const over = records.filter(({ kind, status }) => kind === 'over' && status !== 'resolved')
  const overIds = new Set(over.map((record) => record.id))
  const live = (await listRefundsOfOrder(tx, companyId, id)).filter(isLive)
  const beside = live.filter(({ mispaymentId }) => mispaymentId !== null && overIds.has(mispaymentId))
  const refunds = live.filter(({ mispaymentId }) => mispaymentId === null)
  const besideUnits = beside.reduce((sum, { units }) => sum + units, 0n)
  const usedExcess = refunds.reduce((sum, { excessUnits }) => sum + excessUnits, besideUnits)
  return { refunds, besideUnits, usedExcess, over }
}

const decisionOf = (refundId: string): string => `refund:${refundId}`

/** An order's refund took money above the price: the records that it uses up need no other decision. */
export async function closeUsedRecords(tx: Tx, refundId: string, usedExcess: bigint, over: Mispayment[], now: Date) {
  let sum = 0n
  for (const record of over) {
    sum += record.units
    if (sum <= usedExcess && record.status === 'open')
      await updateMispayment(tx, record, { status: 'refunded', decidedBy: decisionOf(refundId) }, now)
  }
}

/** Open again, or added to the record that was opened for more of the same money meanwhile. */
async function reopen(tx: Tx, record: Mispayment, records: readonly Mispayment[], now: Date): Promise<void> {
  const { kind, paymentId, units } = record
  const twin = records.find((other) => other.status === 'open' && other.kind === kind && other.paymentId === paymentId)
  if (!twin) return updateMispayment(tx, record, { status: 'open' }, now)
  await updateMispayment(tx, twin, { units: twin.units + units }, now)
  await updateMispayment(tx, record, { status: 'resolved' }, now)
}

/** The refund will not happen: what it was made for waits for a decision again. */
export async function reopenRecords(tx: Tx, refund: Refund, now: Date): Promise<void> {
  const { companyId, orderId, mispaymentId } = refund
  const mine = (await listMispaymentsOfOrder(tx, companyId, orderId)).filter(
    ({ id, status, decidedBy }) =>
      status === 'refunded' && (id === mispaymentId || decidedBy === decisionOf(refund.id)),
  )
  for (const { id } of mine) {
    const record = await lockMispayment(tx, companyId, id)
    if (record) await reopen(tx, record, await listMispaymentsOfOrder(tx, companyId, orderId), now)
  }
}

import type { PaymentReport, SeenReport } from '../channels/channel.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Order } from '../orders/order.ts'
import { lockOrderById, updateOrderPaidUnits } from '../orders/order-queries.ts'
import { allows, type Trigger } from '../orders/order-states.ts'
import type { TransitionOrder } from '../orders/order-transition.ts'
import {
  bookOrderPaid,
  endLoss,
  holdExcess,
  holdMoney,
  recordLoss,
  recordUnmatchedTransfer,
} from './mispayments/mispayment-records.ts'
import {
  findPayment,
  findPaymentPolicy,
  lockPayment,
  type Payment,
  type PaymentPolicy,
  type PaymentStatus,
  updatePayment,
} from './payment-queries.ts'
import { acceptsLate, minAcceptedUnits, nextCheckDelayMs } from './payment-rules.ts'

export type ReportDeps = { db: Db; clock: Clock; transition: TransitionOrder }

/** An attempt that was given up or has failed is not opened again by a part of the money. */
const ENDED: readonly PaymentStatus[] = ['closing', 'closed', 'failed']

type ReportCase = {
  tx: Tx
  order: Order
  payment: Payment
  policy: PaymentPolicy
  now: Date
  requestId: string | null
  deps: ReportDeps
}

/**
 * Applies what a provider or the chain says about one payment: the only way such news changes an order. Repeated and
 * late news is harmless: a paid order never moves back, an old attempt never touches an order that another attempt
 * paid.
 */
export async function applyReport(
  deps: ReportDeps,
  key: { companyId: string; id: string },
  report: PaymentReport,
  requestId: string | null = null,
): Promise<Order | undefined> {
  return deps.db.tx(async (tx) => {
    // orders are locked before their payments everywhere, so that two transactions never wait for each other
    const found = await findPayment(tx, key.companyId, key.id)
    if (!found) return undefined
    const order = await lockOrderById(tx, key.companyId, found.orderId)
    const payment = await lockPayment(tx, key.companyId, key.id)
    if (!order || !payment) return undefined
    const policy = await findPaymentPolicy(tx, key.companyId)
    return applyTo({ tx, order, payment, policy, now: new Date(deps.clock()), requestId, deps }, report)
  })
}

/** What becomes of the attempt, and of the order that waits for it. `expired` leaves the order open to choose again. */
const ENDINGS = {
  expired: { status: 'closed', trigger: null },
  cancelled: { status: 'closed', trigger: 'cancel' },
  failed: { status: 'failed', trigger: 'fail' },
  blocked: { status: 'failed', trigger: 'failScreening' },
} as const satisfies Record<string, { status: PaymentStatus; trigger: Trigger | null }>
type Ending = (typeof ENDINGS)[keyof typeof ENDINGS]

async function applyTo(scene: ReportCase, report: PaymentReport): Promise<Order> {
  const { tx, order, payment, now } = scene
  if (report.outcome === 'seen') return applyMoney(scene, report)
  const { outcome, words } = report
  const asked = outcome === 'waiting' || outcome === 'unknown'
  const over = payment.status === 'paid' || payment.status === 'closed' || (asked && payment.status === 'failed')
  if (outcome !== 'waiting' && outcome !== 'unknown' && !over) return applyEnding(scene, ENDINGS[outcome], words)
  const nextCheckAt = over ? null : new Date(now.getTime() + nextCheckDelayMs(payment.checks))
  await updatePayment(tx, payment, { status: payment.status, words, nextCheckAt }, now)
  return order
}

/** The attempt is over, also one whose money was seen and did not come: the order waits no longer for it. */
async function applyEnding(scene: ReportCase, ending: Ending, words: string): Promise<Order> {
  const { tx, order, payment, now, deps, requestId } = scene
  const status = payment.status === 'failed' ? 'failed' : ending.status
  await updatePayment(tx, payment, { status, words, nextCheckAt: null }, now)
  if (payment.status === 'closing' || order.paymentId !== payment.id) return order
  const actor = `channel:${payment.channel}`
  const move = (from: Order, trigger: Trigger): Promise<Order> | Order =>
    allows(from.status, trigger) ? deps.transition(tx, from, { trigger, actor, requestId }) : from
  const { trigger } = ending
  if (trigger === 'failScreening') return move(order, trigger)
  const waiting = await move(order, 'losePayment')
  return trigger === null ? waiting : move(waiting, trigger)
}

async function applyMoney(scene: ReportCase, report: SeenReport): Promise<Order> {
  const { tx, order, payment, policy, now } = scene
  const least = payment.priceUnits ?? minAcceptedUnits(payment.dueUnits, policy)
  const complete = report.final >= least && report.isPart !== true
  if (payment.status === 'paid' && !complete) {
    // more money may ask for more confirmations than the payment had when it counted; that is no loss
    if (report.final + report.pending < least)
      await recordLoss({ tx, order, payment, now }, payment.receivedUnits - report.final)
    await updatePayment(tx, payment, { status: 'paid', words: report.words, nextCheckAt: null }, now)
    return order
  }
  const status = report.final + report.pending > 0n ? 'confirming' : 'awaiting'
  const stays = ENDED.includes(payment.status) ? payment.status : status
  await updatePayment(
    tx,
    payment,
    {
      status: complete ? 'paid' : stays,
      receivedUnits: report.final,
      words: report.words,
      nextCheckAt: complete ? null : new Date(now.getTime() + nextCheckDelayMs(payment.checks)),
    },
    now,
  )
  const moved = complete ? await settle(scene, report) : await follow(scene, report, least)
  await recordMisfit(scene, report, moved, complete)
  return moved
}

/** The full payment is final. */
async function settle(scene: ReportCase, report: SeenReport): Promise<Order> {
  const { tx, order, payment, policy, now, requestId, deps } = scene
  const change = { paidAt: now, paidUnits: report.final, paymentChannel: payment.channel, paymentId: payment.id }
  const actor = `channel:${payment.channel}`
  if (allows(order.status, 'pay')) return deps.transition(tx, order, { trigger: 'pay', actor, requestId, change })
  const late = allows(order.status, 'payLate') && acceptsLate(order.status, order.updatedAt, now.getTime(), policy)
  if (late) return deps.transition(tx, order, { trigger: 'payLate', actor, requestId, change })
  return order
}

/** Not complete, or not final: the order shows what was seen, and goes back when it left the chain. */
async function follow(scene: ReportCase, report: SeenReport, least: bigint): Promise<Order> {
  const { tx, order, payment, requestId, deps } = scene
  if (order.paymentId !== payment.id) return order
  const enough = report.final + report.pending >= least
  const actor = `channel:${payment.channel}`
  if (enough && allows(order.status, 'seePayment'))
    return deps.transition(tx, order, { trigger: 'seePayment', actor, requestId })
  if (!enough && allows(order.status, 'losePayment'))
    return deps.transition(tx, order, { trigger: 'losePayment', actor, requestId })
  return order
}

/** Money that does not fit is written down and booked beside the order, for a person to decide. */
async function recordMisfit(scene: ReportCase, report: SeenReport, moved: Order, complete: boolean): Promise<void> {
  const { tx, order, payment, policy, now } = scene
  const place = { tx, order, payment, now }
  for (const transfer of report.unmatched) await recordUnmatchedTransfer(place, transfer)
  const paidByThis = moved.paymentId === payment.id && moved.paidAt !== null
  if (complete && paidByThis) {
    const { feeBps } = policy
    if (order.paidAt === null) await bookOrderPaid(place, { received: report.final, due: payment.dueUnits, feeBps })
    else await endLoss(place)
    if (order.paidAt !== null && report.final > order.paidUnits) await updateOrderPaidUnits(tx, moved, report.final)
    const price = payment.priceUnits ?? payment.dueUnits
    if (report.final > price) await holdExcess(place, report.final - price, order.paidAt !== null)
    return
  }
  if (report.final === 0n && payment.receivedUnits === 0n) return
  if (moved.paidAt !== null) await holdMoney(place, 'duplicate', report.final)
  else if (complete) await holdMoney(place, 'late', report.final)
  else await holdMoney(place, 'under', report.final)
}

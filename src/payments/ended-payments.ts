import type { PaymentReport, UnmatchedMoney } from '../channels/channel.ts'
import { DAY, MINUTE } from '../kernel/clock.ts'
import type { Order } from '../orders/order.ts'
import { allows, isOpen, type Trigger } from '../orders/order-states.ts'
import { updatePaymentAbandoned } from './abandoned-queries.ts'
import { hasUndecided } from './mispayments/mispayment-records.ts'
import { findOther, noteOtherTold } from './mispayments/way-queries.ts'
import {
  existsMoneyOfOthers,
  type Payment,
  type PaymentStatus,
  updatePayment,
  updatePaymentNextCheck,
} from './payment-queries.ts'
import { isOld, isOver, nextCheckDelayMs, nextClosingCheck, nextEndedCheck, nextFailedCheck } from './payment-rules.ts'
import {
  type LockedCase,
  lockCase,
  type PaymentPlace,
  type ReportCase,
  type ReportDeps,
  subjectOf,
  type Waiting,
} from './report-case.ts'

/* Payments that are over: how long they are asked about, and how long their orders wait for them. */

/**
 * The end status of the attempt, and what happens to its waiting order. `expired` leaves the order open for another
 * choice.
 */
export const ENDINGS = {
  expired: { status: 'closed', trigger: null },
  cancelled: { status: 'closed', trigger: 'cancel' },
  failed: { status: 'failed', trigger: 'fail' },
  blocked: { status: 'failed', trigger: 'failScreening' },
} as const satisfies Record<string, { status: PaymentStatus; trigger: Trigger | null }>

export const isAwaitedBy = ({ paymentId, status }: Order, { id }: Payment): boolean =>
  paymentId === id && allows(status, 'losePayment')

/** Money that is frozen at an attempt that is over must not end an order that another attempt may be paying. */
export async function isPaidOtherwise(
  { tx, order, payment, deps }: ReportCase,
  frozen: readonly UnmatchedMoney[] = [],
): Promise<boolean> {
  if (frozen.length === 0 || isAwaitedBy(order, payment) || payment.receivedUnits > 0n) return false
  return existsMoneyOfOthers(tx, payment, deps.dustUnits)
}

/** How long an order waits for money on its way that stays the same. */
const PATIENCE_MS = 30 * DAY
export const isPastWaiting = (since: Date, now: Date): boolean => now.getTime() - since.getTime() > PATIENCE_MS

/**
 * Next poll of a payment whose money its order waits for, as often as before it was over. Null: the order does not wait
 * for it, or has waited long enough.
 */
export function nextAwaited(
  { order, payment, now }: Pick<ReportCase, 'order' | 'payment' | 'now'>,
  checks: number,
): Date | null {
  if (!isAwaitedBy(order, payment) || isPastWaiting(payment.pendingAt ?? order.updatedAt, now)) return null
  return new Date(now.getTime() + nextCheckDelayMs({ ...payment, checks }, payment.status))
}

/** The order waits for this payment's money, which ended unpaid. */
export async function stopWaiting({ tx, order, payment, deps, requestId }: Waiting): Promise<Order> {
  if (!isAwaitedBy(order, payment)) return order
  return deps.transition(tx, order, { trigger: 'losePayment', actor: `channel:${payment.channel}`, requestId })
}

/** Between two mails about other money of one payment. */
export const OTHERS_MS = 15 * MINUTE

/** It is not polled any more, at this time. */
type Ending = Waiting & Pick<ReportCase, 'now'>

/**
 * It is not polled any more, and other money came after a person returned it. Nobody decides about that unless its
 * provider blocks it, too, or credits it.
 */
async function tellOther({ tx, order, payment, now, deps }: Ending): Promise<unknown> {
  if ((await deps.screening.findDecision(tx, subjectOf({ order, payment }))) !== 'returned') return
  const otherUnits = await findOther(tx, payment, deps.dustUnits)
  if (otherUnits === 0n) return
  if (await deps.onGivenUp(tx, { order, payment, otherUnits })) return noteOtherTold(tx, payment, otherUnits)
  // no report has to come after that: its provider is asked once more when the next mail may tell of it
  return updatePaymentNextCheck(tx, payment, new Date(now.getTime() + OTHERS_MS))
}

/** The same where its provider ended it. After an early end, a callback may still say that it is blocked. */
export async function tellOtherAtEnd(scene: ReportCase, nextCheckAt: Date | null): Promise<void> {
  if (nextCheckAt === null && isOld(scene.payment, scene.now.getTime())) await tellOther(scene)
}

/** No answer will end the wait for this payment's money. It may be polled on. */
export async function giveUpWait(scene: Waiting): Promise<Order> {
  const { tx, order, payment, deps } = scene
  if (isAwaitedBy(order, payment)) await deps.onGivenUp(tx, { order, payment })
  return stopWaiting(scene)
}

/** The same where it is not polled any more. */
export async function giveUp(scene: Ending): Promise<Order> {
  if (!isAwaitedBy(scene.order, scene.payment)) await tellOther(scene)
  return giveUpWait(scene)
}

/** The payment is polled on until its order ends, but nothing new comes: the order does not wait for ever. */
export const limitWait = async (scene: Ending): Promise<Order> =>
  nextAwaited(scene, scene.payment.checks) === null ? giveUpWait(scene) : scene.order

/** An answer that says nothing ends no polling, least of all while the order waits for this payment's money. */
export async function nextPollOfEnded(
  scene: ReportCase,
  { outcome, checks }: { outcome: PaymentReport['outcome']; checks: number },
): Promise<Date | null> {
  const { tx, order, payment, now } = scene
  if (payment.status === 'paid') return null
  const isAwaited = payment.nextCheckAt !== null || isAwaitedBy(order, payment)
  const isTold = outcome === 'blocked' && payment.toldUnits > 0n
  const waits = (outcome === 'unknown' && isAwaited) || isTold || (await hasUndecided(tx, payment))
  const endedAt = waits ? nextEndedCheck({ ...payment, checks }, now.getTime()) : null
  return endedAt ?? (outcome === 'unknown' ? nextAwaited(scene, checks) : null)
}

/** Counts an abandoned attempt as closed, although its provider never said so. */
export async function giveUpClosing(
  { tx, order, payment, now, deps }: LockedCase,
  providerStatus: string,
): Promise<void> {
  await updatePayment(tx, payment, { status: 'closed', providerStatus, nextCheckAt: null }, now)
  await deps.onGivenUp(tx, { order, payment })
}

async function postponeClosing(locked: LockedCase, checks: number): Promise<void> {
  const { tx, payment, now } = locked
  const abandonedAt = payment.abandonedAt ?? now
  const nextCheckAt = nextClosingCheck({ ...payment, checks, abandonedAt }, now.getTime())
  if (nextCheckAt === null) return giveUpClosing(locked, 'not closed')
  await updatePaymentAbandoned(tx, payment, { abandonedAt, nextCheckAt })
}

/**
 * The poll of a payment that is over or abandoned failed: the next one comes as after any other answer, and not for
 * ever.
 */
export const postponeEnded = (deps: ReportDeps, key: PaymentPlace): Promise<void> =>
  deps.db.tx(async (tx) => {
    const locked = await lockCase(deps, tx, key)
    if (!locked) return
    const { order, payment, now } = locked
    const failed = { ...payment, checks: payment.checks - 1 }
    if (!isOver(payment)) {
      const isAbandoned = payment.status === 'closing' || !isOpen(order.status)
      await (isAbandoned ? postponeClosing(locked, failed.checks) : limitWait({ ...locked, requestId: null }))
      return
    }
    const nextCheckAt = nextAwaited(locked, failed.checks) ?? nextFailedCheck(failed, now.getTime())
    await updatePaymentNextCheck(tx, payment, nextCheckAt)
    if (nextCheckAt === null) await giveUp({ ...locked, requestId: null })
  })

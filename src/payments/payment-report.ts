import { isFrozen, type PaymentReport, paidReport, type SeenReport, type UnmatchedMoney } from '../channels/channel.ts'
import { isDust } from '../channels/usdc-text.ts'
import { findPaidInstead, isTakenBack, lockPurchase } from '../companies/button-landing.ts'
import type { Tx } from '../db/db.ts'
import type { Order } from '../orders/order.ts'
import { updateOrderPaidUnits } from '../orders/order-queries.ts'
import { allows, type Trigger } from '../orders/order-states.ts'
import type { Standing as Clearance } from '../screening/screening-gate.ts'
import {
  ENDINGS,
  giveUp,
  giveUpWait,
  isAwaitedBy,
  isPaidOtherwise,
  isPastWaiting,
  limitWait,
  nextAwaited,
  nextPollOfEnded,
  stopWaiting,
  tellOtherAtEnd,
} from './ended-payments.ts'
import {
  bookMoney,
  bookOrderPaid,
  hasUndecided,
  lowerUnmatched,
  recordUnmatchedTransfers,
  type Surplus,
} from './mispayments/mispayment-records.ts'
import { cameByEstimate, toldByEstimate } from './mispayments/on-its-way.ts'
import { noteBlock, noteReceived, noteWay } from './mispayments/provider-block.ts'
import { withReturns } from './mispayments/returned-money.ts'
import { bookedUnits, presentUnits, readStanding, type Standing, undecidedUnits } from './mispayments/standing.ts'
import { noteAnswer } from './mispayments/told-event.ts'
import { type RestReport, withoutAbsurd, withoutCounted, withoutRecorded } from './mispayments/told-report.ts'
import { findOnItsWay, findWayMoney, updateTold } from './mispayments/way-queries.ts'
import {
  findPaymentPolicy,
  type Payment,
  type PaymentStatus,
  pendingSince,
  updatePayment,
  updatePaymentNextCheck,
} from './payment-queries.ts'
import {
  acceptsLate,
  checksAfter,
  completedAt,
  ENDED,
  isOver,
  minAcceptedUnits,
  nextCheckDelayMs,
  nextEndedCheck,
  nextMoneyCheck,
  priceUnitsOf,
} from './payment-rules.ts'
import {
  lockCase,
  movesOrder,
  type PaymentPlace,
  type ReportCase,
  type ReportDeps,
  sendersOf,
  subjectOf,
} from './report-case.ts'

/** @param report as it was read: what of its returns is a refund */
type Also = (tx: Tx, order: Order, report: PaymentReport) => Promise<void>

/**
 * The only way that a provider's or a chain's report changes an order. Repeated and late reports are harmless: a paid
 * order never moves back, and an old payment never touches an order that another one paid.
 * @param also further writes that follow from the report, in the same transaction, because a paid payment is not polled
 * again
 */
export const applyReport = (
  deps: ReportDeps,
  key: PaymentPlace,
  said: PaymentReport,
  { asked, ...how }: { requestId?: string | null; also?: Also; asked?: Payment } = {},
): Promise<Order | undefined> =>
  deps.db.tx(async (tx) => {
    const after = await applyReportIn(deps, tx, { key, said, ...how })
    if (after) await noteAnswer(tx, key, said, asked)
    return after
  })

type Told = { key: PaymentPlace; said: PaymentReport; requestId?: string | null; also?: Also }

/** `applyReport` in a transaction that goes on. */
export async function applyReportIn(
  deps: ReportDeps,
  tx: Tx,
  { key, said, requestId = null, also }: Told,
): Promise<Order | undefined> {
  const locked = await lockCase(deps, tx, key)
  if (!locked) return undefined
  const report = await withReturns(locked, said)
  const policy = await findPaymentPolicy(tx, key.companyId)
  const before = await findWayMoney(tx, locked.payment, report.alreadyRecorded ?? [])
  const scene = { ...locked, policy, requestId, before }
  const after = await applyTo(scene, withoutAbsurd(report))
  // a block changes nothing of that after it was recorded
  if (report.outcome !== 'blocked') await noteWay(scene, report)
  await also?.(tx, after, report)
  return after
}

/**
 * Its money was on the way but never final. If the provider waits for money again, it returned that money or never had
 * it. After a decision about money beside it, only its order says that it was on the way.
 */
const isGone = ({ order, payment }: ReportCase): boolean =>
  payment.receivedUnits === 0n && (payment.status === 'confirming' || isAwaitedBy(order, payment))
const nothingOf = ({ providerReference, providerStatus }: PaymentReport): SeenReport =>
  paidReport(providerReference, { final: 0n, providerStatus })

/**
 * Frozen dust must not end another payer's order, nor anything frozen one that is paid. What is frozen while money is
 * on its way may be that money. A block without an amount concerns the whole payment.
 */
function isFrozenBeside({ payment: { status }, deps }: ReportCase, frozen: readonly UnmatchedMoney[]): boolean {
  return frozen.length > 0 && (status === 'paid' || frozen.every((money) => isDust(money, deps.dustUnits)))
}

/** Money beside the payment. What of it is frozen is not on its way any more. */
async function recordBeside(scene: ReportCase, report: PaymentReport): Promise<[ReportCase, UnmatchedMoney[]]> {
  const { tx, payment, deps } = scene
  if (report.unmatched === undefined || report.unmatched.length === 0) return [scene, []]
  const standing = await readStanding(tx, payment)
  const counted = { ...standing, present: presentUnits(payment, standing), dustUnits: deps.dustUnits }
  const unmatched = withoutCounted(report, counted)
  if (!unmatched.some(({ reference }) => isFrozen(reference)))
    return [scene, await recordUnmatchedTransfers(scene, unmatched)]
  await updateTold(tx, payment, payment.toldUnits)
  const news = await recordUnmatchedTransfers(scene, unmatched)
  const pendingUnits = await findOnItsWay(tx, payment, payment.toldUnits)
  return [{ ...scene, payment: { ...payment, pendingUnits } }, news]
}

/** What is on its way stays so while its provider blocks it or does not answer. */
const toldBy = ({ outcome }: Pick<PaymentReport, 'outcome'>): { toldUnits?: bigint } =>
  outcome === 'blocked' || outcome === 'unknown' ? {} : { toldUnits: 0n }

/** Nothing changes, but a payment that is over is polled less and less, and not for ever. */
async function passBy(scene: ReportCase): Promise<Order> {
  const { tx, order, payment } = scene
  if (!isOver(payment)) return order
  const { checks } = payment
  const nextCheckAt = nextAwaited(scene, checks) ?? (await nextPollOfEnded(scene, { outcome: 'blocked', checks }))
  await updatePaymentNextCheck(tx, payment, nextCheckAt)
  return nextCheckAt === null ? giveUp(scene) : order
}

type Ending = (typeof ENDINGS)[keyof typeof ENDINGS]

async function applyTo(given: ReportCase, report: PaymentReport): Promise<Order> {
  const { tx, order, now } = given
  if (report.outcome === 'seen') return endAfter(given, report, await applyMoney(given, report))
  const [scene, news] = await recordBeside(given, report)
  const { payment } = scene
  const otherUnits = report.outcome === 'blocked' ? await noteWay(scene, report) : 0n
  if (report.outcome === 'blocked' && isFrozenBeside(scene, report.unmatched ?? [])) return passBy(scene)
  if (report.outcome === 'waiting' && isGone(scene)) return applyMoney(scene, nothingOf(report))
  const { outcome, providerStatus } = report
  const asked = outcome === 'waiting' || outcome === 'unknown'
  const over = payment.status === 'paid' || payment.status === 'closed' || (asked && payment.status === 'failed')
  // also when the attempt is over: its money may still come, and must pay no order
  if (outcome === 'blocked' && payment.status !== 'paid') await noteBlock(scene, report, { news, otherUnits })
  // the rest of an abandoned payment can still be paid: it is closed at its provider first
  if (outcome === 'blocked' && payment.status === 'closing' && report.unmatched !== undefined) return order
  if (outcome !== 'waiting' && outcome !== 'unknown' && !over) return applyEnding(scene, { outcome, providerStatus })
  const nextCheckAt = over
    ? await nextPollOfEnded(scene, { outcome, checks: payment.checks })
    : new Date(now.getTime() + nextCheckDelayMs(payment, payment.status))
  await updatePayment(tx, payment, { status: payment.status, ...toldBy(report), providerStatus, nextCheckAt }, now)
  if (!over) return limitWait(scene)
  if (outcome === 'unknown' && nextCheckAt !== null) return order
  if (outcome === 'unknown') return giveUp(scene)
  await tellOtherAtEnd(scene, nextCheckAt)
  if (outcome !== 'blocked') return stopWaiting(scene)
  return (await isPaidOtherwise(scene, report.unmatched)) ? order : holdBack(scene)
}

/** What is told of money is recorded first: an attempt that has ended with it is not over twice. */
async function endAfter(given: ReportCase, { ends, providerStatus }: SeenReport, after: Order): Promise<Order> {
  const now = ends && (await lockCase(given.deps, given.tx, given.payment))
  return now && !isOver(now.payment) ? applyEnding({ ...given, ...now }, { outcome: ends, providerStatus }) : after
}

/** The attempt is over, even if its money was seen but never arrived: the order stops waiting for it. */
async function applyEnding(
  scene: ReportCase,
  report: { outcome: keyof typeof ENDINGS; providerStatus: string },
): Promise<Order> {
  const { tx, order, payment, now, deps, requestId } = scene
  const { outcome, providerStatus } = report
  const ending: Ending = ENDINGS[outcome]
  const status = payment.status === 'failed' ? 'failed' : ending.status
  const checks = checksAfter(payment, { status })
  const nextCheckAt = await nextPollOfEnded(scene, { outcome, checks })
  await updatePayment(tx, payment, { status, ...toldBy(report), providerStatus, nextCheckAt, checks }, now)
  await tellOtherAtEnd(scene, nextCheckAt)
  if (payment.status === 'closing' || order.paymentId !== payment.id) return order
  const actor = `channel:${payment.channel}`
  const move = (from: Order, trigger: Trigger): Promise<Order> | Order =>
    allows(from.status, trigger) ? deps.transition(tx, from, { trigger, actor, requestId }) : from
  const { trigger } = ending
  if (trigger === 'failScreening') return move(order, trigger)
  const waiting = await stopWaiting(scene)
  return trigger === null ? waiting : move(waiting, trigger)
}

/** Consequence of the report for the order, without money that a person decided about. */
type Verdict = {
  counted: bigint
  /** With what is on its way. */
  seen: bigint
  /** On its way according to the report, also what is frozen of it. */
  told: bigint
  /** All that came according to the report, also what waits for a person, or a price that stands in for the amount. */
  came: bigint
  min: bigint
  complete: boolean
  /** The provider names no amount. */
  isEstimate: boolean
  moves: boolean
  /** A provider has said for too long that it is on its way; what a chain shows is there. */
  isStale: boolean
  clearance: Clearance
  /** By block time; null for money that a provider received. */
  completedAt: Date | null
}

async function judge(
  scene: ReportCase,
  report: RestReport,
  standing: Standing,
  clearance: Clearance,
): Promise<Verdict> {
  const { tx, order, payment, policy } = scene
  const counted = undecidedUnits(report.final, standing)
  const left = undecidedUnits(report.cameUnits, standing)
  const rest = undecidedUnits(report.final + report.pending, standing) - counted
  const price = priceUnitsOf(order, payment)
  const least = minAcceptedUnits(price, policy)
  const tolerance = price - least
  const told = report.isEstimate ? toldByEstimate(payment.toldUnits, { price: rest, tolerance }) : rest
  const came = report.isEstimate ? cameByEstimate(left, { price: report.wholeUnits, tolerance }) : left
  const pending = await findOnItsWay(tx, payment, told)
  const seen = counted + pending
  const min = payment.priceUnits ?? least
  const moves = movesOrder(scene, report)
  const decided = report.cameUnits - left
  const at = completedAt(report.transfers, min + decided)
  const isCleared = moves && report.isPart !== true && clearance === 'clear'
  // without an amount, only what was complete before is
  const complete = isCleared && counted >= min && (report.isEstimate !== true || payment.status === 'paid')
  const since = pendingSince(payment, told, scene.now)
  const isStale = report.transfers.length === 0 && pending > 0n && since !== null && isPastWaiting(since, scene.now)
  const isEstimate = report.isEstimate === true
  return { counted, seen, told, came, min, complete, isEstimate, moves, isStale, clearance, completedAt: at }
}

function statusAfter({ payment }: ReportCase, { complete, seen, moves }: Verdict): PaymentStatus {
  if (complete || payment.priceUnits !== null) return 'paid'
  if (payment.status === 'paid') return 'closed'
  if (ENDED.includes(payment.status)) return payment.status
  return moves && seen > 0n ? 'confirming' : 'awaiting'
}

async function applyMoney(scene: ReportCase, said: SeenReport): Promise<Order> {
  const { tx, payment, now } = scene
  const standing = await readStanding(tx, payment)
  const report = withoutRecorded(said, standing, presentUnits(payment, standing))
  const clearance = await scene.deps.screening.look(tx, subjectOf(scene), sendersOf(scene, report))
  const verdict = await judge(scene, report, standing, clearance)
  const status = statusAfter(scene, verdict)
  const receivedUnits = bookedUnits(report.final, standing)
  const { counted: final, seen, told } = verdict
  const checks = checksAfter(payment, { status, receivedUnits })
  const nextCheckAt = nextMoneyCheck({ ...payment, checks }, { status, final, seen, told }, now.getTime())
  const { providerStatus } = report
  const change = { status, receivedUnits, toldUnits: told, providerStatus, nextCheckAt, checks }
  await updatePayment(tx, payment, change, now)
  const moved = await moveOrder(scene, verdict)
  await recordMoney({ ...scene, standing, payment: { ...payment, receivedUnits } }, report, moved, verdict)
  const newUnits = receivedUnits - payment.receivedUnits
  if (clearance === 'blocked' && newUnits > 0n) await noteReceived(scene, providerStatus, newUnits)
  const after = { ...scene, order: moved, payment: { ...payment, pendingAt: pendingSince(payment, told, now) } }
  if (nextCheckAt !== null) return verdict.isStale ? giveUpWait(after) : moved
  if (!ENDED.includes(status)) return moved
  // what the report has just recorded waits for a person too
  const endedAt = (await hasUndecided(tx, payment)) ? nextEndedCheck({ ...payment, checks }, now.getTime()) : null
  const laterAt = nextAwaited(after, checks) ?? endedAt
  if (laterAt === null) return giveUp(after)
  await updatePaymentNextCheck(tx, payment, laterAt)
  return moved
}

/** Moves the order according to the money. A paid order never moves back. */
async function moveOrder(scene: ReportCase, verdict: Verdict): Promise<Order> {
  const { order, payment } = scene
  if (payment.priceUnits !== null) return order
  if (verdict.clearance === 'blocked') return holdBack(scene)
  return verdict.complete && !verdict.isEstimate ? settle(scene, verdict) : follow(scene, verdict)
}

/** The sender failed the screening, ours or the provider's. No money moves. */
async function holdBack({ tx, order, payment, requestId, deps }: ReportCase): Promise<Order> {
  if (order.paymentId !== payment.id || !allows(order.status, 'failScreening')) return order
  return deps.transition(tx, order, { trigger: 'failScreening', actor: `channel:${payment.channel}`, requestId })
}

/** The full payment is final. */
async function settle(scene: ReportCase, { counted, completedAt: at }: Verdict): Promise<Order> {
  const { tx, order, payment, policy, now, requestId, deps } = scene
  const change = { paidAt: now, paidUnits: counted, paymentChannel: payment.channel, paymentId: payment.id }
  const actor = `channel:${payment.channel}`
  const over = await expireWhenLate(scene, at)
  if (allows(over.status, 'pay')) {
    const other = await findPaidInstead(tx, over, deps.dustUnits)
    if (other !== undefined) await deps.onSoldTwice(tx, { order: over, other })
    return deps.transition(tx, over, { trigger: 'pay', actor, requestId, change })
  }
  if (!allows(over.status, 'payLate')) return over
  const endedAt = over === order ? over.updatedAt : over.expiresAt
  const inTime = wasInTime(over, at)
  if (!inTime && !acceptsLate(over.status, endedAt, (at ?? now).getTime(), policy)) return over
  // what a person could not accept waits for one as late
  if ((await findPaidInstead(tx, over, deps.dustUnits)) !== undefined) return over
  // the shop sells the purchase by another order by now, perhaps at another price, or not at all
  if (!inTime && (await isTakenBack(tx, over))) return over
  // what was paid in time was admitted with the accept
  if (!inTime && !(await deps.gate.admitLate(tx, over))) return over
  return deps.transition(tx, over, { trigger: 'payLate', actor, requestId, change })
}

/** Expires an order that was paid in a block after its expiry, even if no job has ended it yet. */
async function expireWhenLate({ tx, order, deps, requestId }: ReportCase, at: Date | null): Promise<Order> {
  const late = at !== null && at > order.expiresAt && allows(order.status, 'expire')
  if (!late) return order
  await lockPurchase(tx, order)
  return deps.transition(tx, order, { trigger: 'expire', actor: 'time', requestId })
}

/**
 * Seen only after the order expired, but paid in an earlier block. An order that a person ended early is not our
 * outage.
 */
const wasInTime = (order: Order, at: Date | null): boolean =>
  order.status === 'EXPIRED' && order.updatedAt >= order.expiresAt && at !== null && at <= order.expiresAt

/**
 * Not complete or not final: the order shows what was seen, and moves back if that leaves the chain. It waits once for
 * the same money.
 */
async function follow(scene: ReportCase, { came, min, moves, isStale, completedAt: at }: Verdict): Promise<Order> {
  const { tx, order, payment, requestId, deps } = scene
  if (order.paymentId !== payment.id) return order
  const late = at !== null && at > order.expiresAt
  // without a block nothing but dust is frozen, and that stops nobody's order
  const enough = moves && came >= min
  const actor = `channel:${payment.channel}`
  if (enough && !late && !isStale && allows(order.status, 'seePayment'))
    return deps.transition(tx, order, { trigger: 'seePayment', actor, requestId })
  if (!enough && allows(order.status, 'losePayment'))
    return deps.transition(tx, order, { trigger: 'losePayment', actor, requestId })
  return order
}

/** Brings books and records in line with what has arrived: the price, what waits for a person, what is lost. */
async function recordMoney(
  scene: ReportCase & { standing: Standing },
  report: RestReport,
  moved: Order,
  verdict: Verdict,
): Promise<void> {
  const { tx, order, payment, policy, now, standing } = scene
  const context = { tx, order, payment, now }
  await lowerUnmatched(context, report.lowered)
  await recordUnmatchedTransfers(context, report.unmatched)
  const { counted } = verdict
  if (order.paidAt === null && moved.paidAt !== null)
    return bookOrderPaid(context, { received: counted, due: priceUnitsOf(order, payment), feeBps: policy.feeBps })
  const kind = surplusOf(payment, moved, verdict)
  const lost = await bookMoney(context, { final: report.final, seen: report.thereUnits, kind })
  if (payment.priceUnits !== null)
    await updateOrderPaidUnits(tx, moved, undecidedUnits(payment.receivedUnits, standing))
  if (lost > 0n) await scene.deps.onLoss(tx, { order: moved, payment, units: lost })
}

function surplusOf(payment: Payment, order: Order, { complete, clearance }: Verdict): Surplus {
  if (payment.priceUnits !== null) return 'over'
  if (clearance !== 'clear') return 'held'
  if (order.paidAt !== null) return 'duplicate'
  return complete ? 'late' : 'under'
}

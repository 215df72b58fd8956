import type { AttemptRow, DeliveryRow, MispaymentRow, OrderFacts } from '../world/oracle.ts'
import type { Received, Shop } from '../world/shops.ts'
import type { World } from '../world/world.ts'
import { LEGAL } from './legal.ts'
import { arrivedFor, heldInBooks, sentBack, sum } from './truth.ts'

/** What must never be, and what must happen in time. */
export type Verdict = { broken: string[]; missing: string[] }

export type Expected = 'paid' | 'unpaid' | 'either'

const OVER: readonly string[] = ['PAID', 'REFUNDED', 'FULL_REFUNDED', 'EXPIRED', 'CANCELLED', 'ERROR', 'KYT_FAILED']
const PAID: readonly string[] = ['PAID', 'REFUNDING', 'REFUNDED', 'FULL_REFUNDED']

/** Seconds before the second, third … attempt, after the end of the previous one (docs/webhooks.md). */
const DELAYS_S = [2, 4, 8, 16]
/** Tolerance: rounding of the stored times, plus one tick of the sender. */
const EARLY_MS = 3

function judgeStates({ order, events }: OrderFacts, { broken }: Verdict): void {
  for (const [index, event] of events.entries()) {
    const before = events[index - 1]
    if (event.seq !== index + 1) broken.push(`event ${event.seq} follows ${before?.seq ?? 'nothing'}`)
    if (before && event.from !== before.to) broken.push(`${event.trigger} starts from ${event.from}, not ${before.to}`)
    const rule = LEGAL[event.trigger]
    if (index > 0 && (!rule?.from.includes(event.from ?? '') || rule.to !== event.to))
      broken.push(`${event.from} ${event.trigger} ${event.to} is no legal step`)
    if (before && Date.parse(event.at) <= Date.parse(before.at))
      broken.push(`${event.trigger} is not later than before`)
  }
  if (events.at(-1)?.to !== order.status) broken.push(`the order is ${order.status}, its history ${events.at(-1)?.to}`)
  if (BigInt(order.refunded) > BigInt(order.paid)) broken.push(`${order.refunded} of ${order.paid} were refunded`)
}

/** Money that arrived, left the chain, and is not back. */
const isLoss = ({ kind, status }: MispaymentRow): boolean =>
  kind === 'orphaned' && (status === 'open' || status === 'borne')

function judgeMoney(world: World, facts: OrderFacts, { broken, missing }: Verdict): void {
  const lostOf = (id: string): bigint =>
    sum(facts.mispayments.filter((one) => one.payment_id === id && isLoss(one)).map(({ units }) => BigInt(units)))
  const { payments, refunds, accounts, order } = facts
  const zero = sum(Object.values(accounts).map(BigInt))
  if (zero !== 0n) broken.push(`the books of the order sum to ${zero}`)
  for (const payment of payments) {
    const arrived = arrivedFor(world, payment)
    if (arrived !== BigInt(payment.received) - lostOf(payment.id))
      missing.push(`${payment.channel} got ${arrived}, the payment says ${payment.received}`)
    const sent = sentBack(world, payment, refunds)
    const known = refunds.filter(({ payment_id: id, status }) => id === payment.id && status === 'settled')
    const settled = sum(known.map(({ units }) => BigInt(units)))
    if (sent > arrived) broken.push(`${sent} were sent back of ${arrived} that arrived`)
    const words = `${sent} were sent back, the refunds say ${settled}`
    if (settled > sent && payment.deposit_address === null) broken.push(words)
    else if (sent !== settled) missing.push(words)
  }
  const held = heldInBooks(facts)
  const right = sum(payments.map((one) => arrivedFor(world, one) - sentBack(world, one, refunds)))
  if (held !== right) missing.push(`the books hold ${held}, chain and providers ${right}`)
  const payable = -BigInt(accounts.company_payable ?? 0)
  if (payable > BigInt(order.due)) broken.push(`${payable} are payable for an order of ${order.due}`)
  const suspended = -BigInt(accounts.suspense ?? 0)
  const open = facts.mispayments.filter(
    ({ status, kind }) => ['open', 'ignored'].includes(status) && kind !== 'wrong_token',
  )
  const recorded = sum(open.map(({ kind, units }) => (kind === 'orphaned' ? -BigInt(units) : BigInt(units))))
  if (suspended !== recorded) missing.push(`suspense is ${suspended}, the records say ${recorded}`)
}

function judgeSchedule(delivery: DeliveryRow, attempts: readonly AttemptRow[], { broken }: Verdict): void {
  const own = attempts.filter(({ id, series }) => id === delivery.id && series === 1)
  for (const attempt of own) {
    const before = own.find(({ number, error }) => number === attempt.number - 1 && error !== 'unknown_outcome')
    if (!before || before.ms === null) continue
    const pauseMs = Date.parse(attempt.started) - Date.parse(before.started) - before.ms
    const dueMs = (DELAYS_S[before.number - 1] ?? 0) * 1000
    if (pauseMs < dueMs - EARLY_MS) broken.push(`${delivery.event}: attempt ${attempt.number} after ${pauseMs} ms`)
  }
}

function judgeDeliveries(facts: OrderFacts, received: readonly Received[], verdict: Verdict): void {
  const { broken, missing } = verdict
  for (const { event, seq } of facts.events) {
    // every shop subscribes to every event
    if (event === null) continue
    if (!facts.deliveries.some((one) => one.event === event)) broken.push(`event ${seq}, ${event}, has no delivery`)
  }
  const byId = Map.groupBy(received, ({ id }) => id)
  for (const delivery of facts.deliveries) {
    const got = byId.get(delivery.id) ?? []
    if (!got.some(({ status }) => status === 200)) missing.push(`${delivery.event} did not arrive`)
    else if (delivery.status !== 'delivered') missing.push(`${delivery.event} arrived, and is ${delivery.status}`)
    if (new Set(got.map(({ body }) => body)).size > 1) broken.push(`${delivery.event} has several bodies`)
    judgeSchedule(delivery, facts.attempts, verdict)
  }
  for (const { id, event, isSigned } of received) {
    if (!facts.deliveries.some((one) => one.id === id)) broken.push(`${event} came as ${id}, which is unknown`)
    if (!isSigned) broken.push(`${event} is not signed`)
  }
}

/** Compares the tables' view of an order with the truth outside. */
export function judge(
  world: World,
  shop: Shop,
  {
    facts,
    orderId,
    expected,
    isConverted,
  }: { facts: OrderFacts; orderId: string; expected: Expected; isConverted: boolean },
): Verdict {
  const verdict: Verdict = { broken: [], missing: [] }
  const { status } = facts.order
  judgeStates(facts, verdict)
  if (!isConverted) judgeMoney(world, facts, verdict)
  judgeDeliveries(facts, shop.received.get(orderId) ?? [], verdict)
  if (!OVER.includes(status)) verdict.missing.push(`it is ${status}`)
  const isPaid = PAID.includes(status)
  const isAbandoned = facts.payments.some(({ deposit_address: to }) => to !== null && world.chain.abandoned.has(to))
  if (expected === 'paid' && !isPaid && !isAbandoned)
    verdict.missing.push(`it is ${status}, and was paid in full and in time`)
  if (expected === 'unpaid' && isPaid) verdict.broken.push(`it is ${status}, and was never paid in full`)
  return verdict
}

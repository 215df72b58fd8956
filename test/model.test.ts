import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { PaymentReport } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import type { Actor } from '../src/http/actor.ts'
import type { RequestContext } from '../src/http/request-context.ts'
import { AppError } from '../src/kernel/errors.ts'
import { newId } from '../src/kernel/ids.ts'
import type { Order } from '../src/orders/order.ts'
import { expireOrders } from '../src/orders/order-jobs.ts'
import { findOrderByCode, lockOrderById } from '../src/orders/order-queries.ts'
import { endOrder } from '../src/orders/order-service.ts'
import { ORDER_STATUSES, type OrderStatus, TRANSITIONS, type Trigger } from '../src/orders/order-states.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { confirmOrder } from '../src/payments/payment-service.ts'
import { applyRefundReport } from '../src/refunds/refund-jobs.ts'
import { listRefundsOfOrder } from '../src/refunds/refund-queries.ts'
import { revertOrder } from '../src/refunds/refund-service.ts'
import { FOUND, type MoneyStep, moneySteps, walk } from './harness/model-money.ts'
import {
  contextFor,
  DUE,
  type ModelWorld,
  personFor,
  actorOf as serverOf,
  startModelWorld,
} from './harness/model-world.ts'
import { scaled } from './harness/scale.ts'
import type { Merchant } from './harness/service.ts'

/*
 * Random sequences of everything that can happen to orders and their money, against a small model of what comes out.
 * MODEL_SEQUENCES=10000 npm test -- test/model.test.ts     the long run; MODEL_SEED=… repeats one
 */
const SEQUENCES = Number(process.env.MODEL_SEQUENCES ?? scaled(120))
const SEED = Number(process.env.MODEL_SEED ?? randomInt(1_000_000_000))

let world: ModelWorld
let merchant: Merchant
let payments: ModelWorld['payments']
let refunds: ModelWorld['refunds']
let host: ModelWorld['host']

before(async () => {
  assert.ok(SEQUENCES > 0, 'MODEL_SEQUENCES must be a number above 0')
  console.log(`MODEL_SEED=${SEED}`)
  world = await startModelWorld()
  ;({ payments, refunds, host } = world)
  merchant = await host.createMerchant()
})
after(() => world?.stop())

const actorOf = (): Actor => serverOf(merchant)
const contextOf = (actor: Partial<Actor> = {}): RequestContext => contextFor({ ...actorOf(), ...actor })
const makeOrder = (): Promise<Order> => world.makeOrder(merchant)

/** What the model knows of one order. */
type Model = {
  status: OrderStatus
  accepted: boolean
  paid: bigint
  refunded: bigint
  pendingRefund: bigint
  /** What came by each attempt; a failed one keeps what it got, beside the one that pays. */
  seen: Map<string, bigint>
  endedAtMs: number
}

type Word = 'accept' | 'confirm' | 'cancel' | 'expire' | 'wait' | 'fail' | 'unknown' | 'settleRefund' | 'refuseRefund'
type Step = { kind: Word } | { kind: 'report'; final: bigint; pending: bigint } | { kind: 'revert'; part: boolean }

const word = (...kinds: Word[]) => kinds.map((kind) => fc.constant<Step>({ kind }))
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Step>({ kind: 'accept' }) },
    ...word('confirm', 'cancel', 'expire', 'wait', 'fail', 'unknown', 'settleRefund', 'refuseRefund'),
    {
      weight: 4,
      arbitrary: fc.constantFrom<Step>(
        { kind: 'report', final: 0n, pending: 0n },
        { kind: 'report', final: 0n, pending: DUE },
        { kind: 'report', final: DUE / 2n, pending: 0n },
        { kind: 'report', final: DUE, pending: 0n },
        { kind: 'report', final: DUE + 5_000_000n, pending: 0n },
      ),
    },
    { weight: 2, arbitrary: fc.boolean().map((part): Step => ({ kind: 'revert', part })) },
  ),
  { minLength: 3, maxLength: 14 },
)

const allowed = (status: OrderStatus, trigger: Trigger): boolean =>
  (TRANSITIONS[trigger].from as readonly string[]).includes(status)

/** Runs a command; true when it was done, false when it was refused as a conflict; everything else is a failure. */
async function attempt(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (error instanceof AppError && error.status === 409) return false
    throw error
  }
}

const report = (order: Order, final: bigint, pending: bigint): PaymentReport => ({
  outcome: 'seen',
  providerReference: order.paymentId ?? '',
  final,
  pending,
  payerAddresses: [],
  transfers: [],
  unmatched: [],
  providerStatus: 'model',
})

async function currentOrder(order: Order): Promise<Order> {
  const found = await findOrderByCode(host.db, order.code)
  assert.ok(found)
  return found
}

/** One step for real and in the model; the model decides what must come out. */
async function takeStep(order: Order, model: Model, step: Step): Promise<void> {
  const { companyId } = order
  const context = contextOf()
  const now = await currentOrder(order)
  const paymentKey = now.paymentId === null ? null : { companyId, id: now.paymentId }
  switch (step.kind) {
    case 'accept': {
      const repeated = model.accepted && model.status === 'AWAITING'
      const can = repeated || (allowed(model.status, 'accept') && now.expiresAt.getTime() > world.clock.nowMs)
      const done = await attempt(() =>
        acceptOrder(payments, { context, code: order.code, body: { paymentChannel: 'binance' } }),
      )
      assert.equal(done, can, `accept while ${model.status}`)
      if (done) Object.assign(model, { status: 'AWAITING', accepted: true })
      return
    }
    case 'confirm': {
      const done = await attempt(() => confirmOrder(payments, context, order.code))
      assert.equal(done, model.paid > 0n)
      // the provider is asked, and waits: what was on its way and never final is gone
      const gone = paymentKey !== null && (model.seen.get(paymentKey.id) ?? 0n) === 0n
      if (gone && allowed(model.status, 'losePayment')) model.status = 'AWAITING'
      return
    }
    case 'cancel':
    case 'expire': {
      const trigger = step.kind as 'cancel' | 'expire'
      const reached = trigger === 'cancel' ? 'CANCELLED' : 'EXPIRED'
      const done = await attempt(() =>
        endOrder({ db: host.db, config: host.config, transition: payments.transition }, context, order.code, trigger),
      )
      assert.equal(done, model.status === reached || allowed(model.status, trigger))
      if (done && model.status !== reached) Object.assign(model, { status: reached, endedAtMs: world.clock.nowMs })
      return
    }
    case 'wait': {
      world.clock.nowMs += 400_000
      await expireOrders(host.db, payments.transition, world.clock.nowMs)
      if (allowed(model.status, 'expire')) Object.assign(model, { status: 'EXPIRED', endedAtMs: world.clock.nowMs })
      return
    }
    case 'fail':
    case 'unknown':
      return takeWord(model, step.kind, paymentKey)
    case 'report':
      return takeReport(order, model, step, paymentKey)
    case 'revert': {
      const left = model.paid - model.refunded
      const units = step.part ? left / 2n : left
      const body = step.part ? { amount: `${units / 1_000_000n}.${String(units % 1_000_000n).padStart(6, '0')}` } : {}
      const done = await attempt(() => revertOrder(refunds, context, order.code, body))
      assert.equal(done, allowed(model.status, 'revert'))
      if (done) Object.assign(model, { status: 'REFUNDING', pendingRefund: units })
      return
    }
    case 'settleRefund':
    case 'refuseRefund':
      return takeRefundNews(order, model, step.kind === 'settleRefund')
  }
}

async function takeWord(
  model: Model,
  kind: 'fail' | 'unknown',
  key: { companyId: string; id: string } | null,
): Promise<void> {
  if (!key) return
  const outcome = kind === 'fail' ? 'failed' : 'unknown'
  await applyReport(payments, key, { outcome, providerReference: key.id, providerStatus: 'model' })
  // money that was on its way and failed is waited for no longer
  const waits = allowed(model.status, 'fail') || model.status === 'WAITING_CHAIN_CONFIRMATION'
  if (kind === 'fail' && model.paid === 0n && waits)
    Object.assign(model, { status: 'ERROR', endedAtMs: world.clock.nowMs })
}

async function takeRefundNews({ companyId, id }: Order, model: Model, settled: boolean): Promise<void> {
  const refundsOfOrder = await listRefundsOfOrder(host.db, companyId, id)
  const open = refundsOfOrder.find(({ status }) => status === 'ready' || status === 'submitted')
  assert.equal(open !== undefined, model.status === 'REFUNDING')
  if (!open) return
  const outcome = settled ? ('settled' as const) : ('refused' as const)
  for (let turn = 0; turn < 2; turn += 1) {
    await attempt(() =>
      applyRefundReport(refunds, open, { outcome, reference: null, txHash: null, providerStatus: 'model' }),
    )
  }
  const refunded = settled ? model.refunded + model.pendingRefund : model.refunded
  const status = settled && refunded >= model.paid ? 'FULL_REFUNDED' : refunded > 0n ? 'REFUNDED' : 'PAID'
  Object.assign(model, { status, refunded, pendingRefund: 0n })
}

async function takeReport(
  order: Order,
  model: Model,
  step: Extract<Step, { kind: 'report' }>,
  key: { companyId: string; id: string } | null,
): Promise<void> {
  if (!key) return
  const before = model.seen.get(key.id) ?? 0n
  const final = step.final > before ? step.final : before
  model.seen.set(key.id, final)
  for (let turn = 0; turn < 2; turn += 1) await applyReport(payments, key, report(order, final, step.pending))
  if (model.paid > 0n) {
    if (final > model.paid) model.paid = final
    return
  }
  const late = model.status === 'EXPIRED' && world.clock.nowMs - model.endedAtMs <= 24 * 3_600_000
  if (final >= DUE && (allowed(model.status, 'pay') || late)) Object.assign(model, { status: 'PAID', paid: final })
  else if (final + step.pending >= DUE && allowed(model.status, 'seePayment'))
    model.status = 'WAITING_CHAIN_CONFIRMATION'
  else if (final + step.pending < DUE && allowed(model.status, 'losePayment')) model.status = 'AWAITING'
}

type EventRow = { seq: number; trigger: string; fromStatus: string | null; toStatus: string; at: Date }

/** What must hold after every step, whatever happened. */
async function checkInvariants(order: Order, model: Model): Promise<void> {
  const now = await currentOrder(order)
  assert.equal(now.status, model.status)
  assert.equal(now.paidUnits, model.paid)
  assert.equal(now.refundedUnits, model.refunded)
  const events = await host.db.many<EventRow>(sql`
    select seq, trigger, from_status, to_status, at from order_events where company_id = ${order.companyId} and order_id = ${order.id} order by seq`)
  for (const [index, event] of events.entries()) {
    if (index === 0) continue
    const earlier = events[index - 1]
    assert.equal(event.fromStatus, earlier?.toStatus)
    assert.ok(
      allowed(event.fromStatus as OrderStatus, event.trigger as Trigger),
      `${event.fromStatus} ${event.trigger}`,
    )
    assert.equal(TRANSITIONS[event.trigger as Trigger].to, event.toStatus)
    assert.ok(event.at > (earlier?.at ?? 0), 'updatedAt grows')
  }
  assert.equal(events.at(-1)?.toStatus, now.status)
  const { clearing, refunded, payable, suspense } = await host.db.one<
    Record<'clearing' | 'refunded' | 'payable' | 'suspense', string>
  >(sql`
    select coalesce(sum(e.units) filter (where e.account in ('payer_clearing', 'wallet')), 0) as clearing,
      coalesce(-sum(e.units) filter (where e.account = 'refunds'), 0) as refunded,
      coalesce(-sum(e.units) filter (where e.account = 'company_payable'), 0) as payable,
      coalesce(-sum(e.units) filter (where e.account = 'suspense'), 0) as suspense
    from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
    where j.company_id = ${order.companyId} and j.order_id = ${order.id}`)
  if (model.paid > 0n) {
    const beside = [...model.seen].reduce((sum, [id, units]) => (id === now.paymentId ? sum : sum + units), 0n)
    assert.equal(BigInt(clearing), model.paid - model.refunded + beside, 'what is held')
    assert.equal(BigInt(refunded), model.pendingRefund, 'what is reserved')
    const left = model.paid - model.refunded - model.pendingRefund + beside
    assert.equal(BigInt(payable) + BigInt(suspense), left, 'whose it is')
    assert.ok(BigInt(payable) >= 0n && BigInt(payable) <= DUE)
  }
}

test('whatever happens to an order, in any sequence, the model and the books agree', async () => {
  let walked = 0
  const property = fc.asyncProperty(steps, async (sequence) => {
    // a company's books are verified at each refund
    if (walked % 20 === 19) merchant = await host.createMerchant()
    walked += 1
    const order = await makeOrder()
    const model: Model = {
      status: 'INITIAL',
      accepted: false,
      paid: 0n,
      refunded: 0n,
      pendingRefund: 0n,
      seen: new Map(),
      endedAtMs: 0,
    }
    for (const step of sequence) {
      await takeStep(order, model, step)
      await checkInvariants(order, model)
    }
    await host.db.run(
      sql`update orders set expires_at = now() + interval '100 years' where id = ${order.id} and status in ('INITIAL', 'PENDING', 'AWAITING')`,
    )
  })
  await fc.assert(property, { numRuns: SEQUENCES, seed: SEED, endOnFailure: SEQUENCES > 1000 })
})

test('whatever is paid, decided, lost, refunded and settled, books and chain agree to the last unit', async () => {
  const property = fc.asyncProperty(moneySteps, (sequence) => walk(world, sequence))
  const examples = FOUND.map((sequence): [MoneyStep[]] => [sequence])
  await fc.assert(property, { numRuns: SEQUENCES, seed: SEED, examples, endOnFailure: SEQUENCES > 1000 })
})

test('money that was on its way, and that its provider waits for again, gives the order back to its payer', async () => {
  const order = await makeOrder()
  const accept = () =>
    acceptOrder(payments, { context: contextOf(), code: order.code, body: { paymentChannel: 'binance' } })
  await accept()
  const { paymentId } = await currentOrder(order)
  const key = { companyId: order.companyId, id: paymentId ?? '' }
  await applyReport(payments, key, report(order, 0n, DUE))
  assert.equal((await currentOrder(order)).status, 'WAITING_CHAIN_CONFIRMATION')
  assert.equal(await attempt(accept), false, 'while it is on its way no other channel is chosen')
  const waiting = { outcome: 'waiting', providerReference: key.id, providerStatus: 'PENDING' } as const
  for (let turn = 0; turn < 2; turn += 1) await applyReport(payments, key, waiting)
  assert.equal((await currentOrder(order)).status, 'AWAITING')
  assert.equal(await attempt(accept), true)
  await applyReport(payments, key, report(order, DUE, 0n))
  assert.equal((await currentOrder(order)).status, 'PAID')
})

test('each of the twelve states allows exactly the triggers of the table, and a refused one changes nothing', async () => {
  const triggers = Object.keys(TRANSITIONS) as Trigger[]
  for (const status of ORDER_STATUSES) {
    const order = await makeOrder()
    for (const trigger of triggers) {
      await host.db.run(sql`update orders set status = ${status} where id = ${order.id}`)
      const before = await currentOrder(order)
      const done = await attempt(() =>
        host.db.tx(async (tx) => {
          const locked = await lockOrderById(tx, order.companyId, order.id)
          assert.ok(locked)
          return payments.transition(tx, locked, { trigger, actor: 'matrix', requestId: null, refundId: newId() })
        }),
      )
      const after = await currentOrder(order)
      assert.equal(done, allowed(status, trigger), `${status} ${trigger}`)
      if (done) assert.equal(after.status, TRANSITIONS[trigger].to)
      else assert.deepEqual(after, before)
    }
  }
})

test('a refund above the company’s limit needs a person with a fresh second factor', async () => {
  const order = await makeOrder()
  const pay = { paymentChannel: 'binance' } as const
  await acceptOrder(payments, { context: contextOf(), code: order.code, body: pay })
  const { paymentId } = await currentOrder(order)
  await applyReport(payments, { companyId: order.companyId, id: paymentId ?? '' }, report(order, DUE, 0n))
  await host.db.run(sql`update companies set refund_limit_units = ${DUE - 1n} where id = ${order.companyId}`)
  const revert = (actor: Partial<Actor>) => revertOrder(refunds, contextOf(actor), order.code, {})
  await assert.rejects(revert({}), { code: 'FORBIDDEN' })
  const person = await personFor(host.db, { role: 'Manager', companyId: order.companyId })
  const confirmedAgo = (ms: number) =>
    host.db.run(sql`
      update sessions set second_factor_at = ${new Date(world.clock.nowMs - ms)} where id = ${person.sessionId}`)
  await assert.rejects(revert(person), { code: 'STEP_UP_REQUIRED' })
  await confirmedAgo(301_000)
  await assert.rejects(revert(person), { code: 'STEP_UP_REQUIRED' })
  await confirmedAgo(10_000)
  await revert(person)
  assert.equal((await currentOrder(order)).status, 'REFUNDING')
})

test('each (order, event) is announced once', async () => {
  const twice = await host.db.many(sql`
    select order_id, event from deliveries group by order_id, event, refund_id having count(*) > 1`)
  assert.deepEqual(twice, [])
})

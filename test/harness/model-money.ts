import assert from 'node:assert/strict'
import fc from 'fast-check'
import { sql } from '../../src/db/db.ts'
import { AppError } from '../../src/kernel/errors.ts'
import { describeDifference } from '../../src/ledger/ledger-verify.ts'
import { listDifferences } from '../../src/ledger/ledger-verify-queries.ts'
import { cancelSettlement, settlePaid } from '../../src/ledger/settlements/settlement-end.ts'
import { findSettlement, listSettlements } from '../../src/ledger/settlements/settlement-queries.ts'
import { approveSettlement, createSettlement } from '../../src/ledger/settlements/settlement-service.ts'
import { readSettlementStatement } from '../../src/ledger/settlements/settlement-statement.ts'
import type { Order } from '../../src/orders/order.ts'
import { expireOrders } from '../../src/orders/order-jobs.ts'
import { findOrderByCode } from '../../src/orders/order-queries.ts'
import { endOrder } from '../../src/orders/order-service.ts'
import { type OrderStatus, TRANSITIONS, type Trigger } from '../../src/orders/order-states.ts'
import { acceptOrder } from '../../src/payments/accept/accept-order.ts'
import { listMispaymentsOfOrder, type Mispayment } from '../../src/payments/mispayments/mispayment-queries.ts'
import { acceptMispayment, bearLoss, ignoreMispayment } from '../../src/payments/mispayments/mispayment-service.ts'
import { applyReport } from '../../src/payments/payment-report.ts'
import { refundMispayment } from '../../src/refunds/mispayment-refund.ts'
import { applyRefundReport } from '../../src/refunds/refund-jobs.ts'
import { listRefundsOfOrder } from '../../src/refunds/refund-queries.ts'
import { revertOrder } from '../../src/refunds/refund-service.ts'
import { actorOf, contextFor, DUE, type ModelWorld } from './model-world.ts'
import type { Merchant } from './service.ts'

/** What counts as paid: the price less the tolerance of half a percent. */
const LEAST = DUE - (DUE * 50n) / 10_000n

type Plain =
  | 'accept'
  | 'cancel'
  | 'wait'
  | 'confirmBlocks'
  | 'loseAll'
  | 'loseHalf'
  | 'comeBack'
  | 'acceptRecord'
  | 'ignoreRecord'
  | 'refundRecord'
  | 'bearOperator'
  | 'bearCompany'
  | 'revertAll'
  | 'revertPart'
  | 'settleRefund'
  | 'refuseRefund'
  | 'settlement'
  | 'settlementCancelled'

/** `who`: which of the two orders of the company. */
export type MoneyStep = { who: 0 | 1 } & ({ kind: Plain } | { kind: 'send'; units: bigint; final: boolean })

const PLAIN: readonly [Plain, number][] = [
  ['accept', 4],
  ['cancel', 1],
  ['wait', 1],
  ['confirmBlocks', 2],
  ['loseAll', 2],
  ['loseHalf', 1],
  ['comeBack', 2],
  ['acceptRecord', 1],
  ['ignoreRecord', 2],
  ['refundRecord', 3],
  ['bearOperator', 1],
  ['bearCompany', 1],
  ['revertAll', 2],
  ['revertPart', 2],
  ['settleRefund', 4],
  ['refuseRefund', 1],
  ['settlement', 2],
  ['settlementCancelled', 1],
]

const who = fc.constantFrom(0 as const, 1 as const)
const plain = PLAIN.map(([kind, weight]) => ({ weight, arbitrary: fc.record({ who, kind: fc.constant(kind) }) }))
const send = fc.record({
  who,
  kind: fc.constant('send' as const),
  units: fc.constantFrom(DUE, DUE, 30_000_000n, 24_000_000n, 6_000_000n, 1n),
  final: fc.boolean(),
})

export const moneySteps = fc
  .array(fc.oneof({ weight: 9, arbitrary: send }, ...plain), { minLength: 4, maxLength: 22 })
  .map((steps): MoneyStep[] => [{ who: 0, kind: 'accept' }, { who: 1, kind: 'accept' }, ...steps])

/** Found by long runs, and tried in every run since. */
export const FOUND: MoneyStep[][] = [
  // a refund of money above the price is refused after all of it has left the chain
  [
    { who: 1, kind: 'accept' },
    { who: 1, kind: 'send', units: DUE, final: true },
    { who: 1, kind: 'send', units: DUE, final: true },
    { who: 1, kind: 'revertAll' },
    { who: 1, kind: 'loseAll' },
    { who: 1, kind: 'refuseRefund' },
    { who: 1, kind: 'comeBack' },
  ],
]

/** What the chain holds for one payment. */
type Deposit = { final: bigint; pending: bigint; gone: bigint; decided: bigint }
type Walk = {
  world: ModelWorld
  merchant: Merchant
  orders: Order[]
  /** By payment. */
  deposits: Map<string, Deposit>
  /** Units that were sent to payers and to the company. */
  sent: bigint
}

const allowed = (status: OrderStatus, trigger: Trigger): boolean =>
  (TRANSITIONS[trigger].from as readonly string[]).includes(status)

/** Runs a command; the error's code when it was refused, null when it was done; a fault of ours is a failure. */
async function attempt(work: () => Promise<unknown>): Promise<string | null> {
  try {
    await work()
    return null
  } catch (error) {
    if (error instanceof AppError && error.status < 500) return error.code
    throw error
  }
}

const depositOf = ({ deposits }: Walk, paymentId: string): Deposit => {
  const known = deposits.get(paymentId) ?? { final: 0n, pending: 0n, gone: 0n, decided: 0n }
  deposits.set(paymentId, known)
  return known
}

async function read({ world, orders }: Walk, who: 0 | 1): Promise<Order> {
  const found = await findOrderByCode(world.host.db, orders[who]?.code ?? '')
  assert.ok(found)
  return found
}

const isThere = (units: bigint, { decided }: Deposit): bigint => (units > decided ? units - decided : 0n)

/** The status that news of a payment must lead to: the table of the decisions, with what still speaks for the order. */
function expected(order: Order, paymentId: string, deposit: Deposit, nowMs: number): OrderStatus {
  if (order.paidAt !== null) return order.status
  const late = order.status === 'EXPIRED' && nowMs - order.updatedAt.getTime() <= 24 * 3_600_000
  const complete = isThere(deposit.final, deposit) >= LEAST
  if (complete && (allowed(order.status, 'pay') || late)) return 'PAID'
  if (complete || order.paymentId !== paymentId) return order.status
  const enough = isThere(deposit.final + deposit.pending, deposit) >= LEAST
  if (enough && allowed(order.status, 'seePayment')) return 'WAITING_CHAIN_CONFIRMATION'
  return !enough && allowed(order.status, 'losePayment') ? 'AWAITING' : order.status
}

/** The payment hears of what the chain holds, twice. */
async function tell(walk: Walk, who: 0 | 1, paymentId: string): Promise<void> {
  const { payments, clock } = walk.world
  const order = await read(walk, who)
  const deposit = depositOf(walk, paymentId)
  const status = expected(order, paymentId, deposit, clock.nowMs)
  const { final, pending } = deposit
  const key = { companyId: order.companyId, id: paymentId }
  for (let turn = 0; turn < 2; turn += 1)
    await applyReport(payments, key, {
      outcome: 'seen',
      providerReference: paymentId,
      ...{ final, pending, payerAddresses: [], transfers: [], unmatched: [], providerStatus: 'model' },
    })
  assert.equal((await read(walk, who)).status, status, `after ${final} final, ${pending} pending`)
}

async function moveMoney(walk: Walk, step: MoneyStep): Promise<void> {
  const { paymentId } = await read(walk, step.who)
  if (paymentId === null) return
  const deposit = depositOf(walk, paymentId)
  const { kind } = step
  if (kind === 'send' && step.final) deposit.final += step.units
  else if (kind === 'send') deposit.pending += step.units
  else if (kind === 'confirmBlocks') Object.assign(deposit, { final: deposit.final + deposit.pending, pending: 0n })
  else if (kind === 'comeBack') Object.assign(deposit, { final: deposit.final + deposit.gone, gone: 0n })
  else {
    const lost = kind === 'loseAll' ? deposit.final : deposit.final / 2n
    Object.assign(deposit, { final: deposit.final - lost, pending: 0n, gone: deposit.gone + lost })
  }
  await tell(walk, step.who, paymentId)
}

const HELD: readonly string[] = ['under', 'late', 'duplicate']

async function decide(walk: Walk, step: MoneyStep): Promise<void> {
  const { host, mispayments, refunds } = walk.world
  const order = await read(walk, step.who)
  const open = (await listMispaymentsOfOrder(host.db, order.companyId, order.id)).filter(
    ({ status }) => status === 'open',
  )
  const isBear = step.kind === 'bearOperator' || step.kind === 'bearCompany'
  const record = open.find(({ kind }) => (kind === 'orphaned') === isBear)
  if (!record) return
  const admin = contextFor(walk.world.operator)
  const { id } = record
  const reason = 'the model says so'
  if (isBear) {
    const by = step.kind === 'bearOperator' ? 'operator' : 'company'
    return assert.equal(await attempt(() => bearLoss(mispayments, admin, id, { by })), null)
  }
  if (step.kind === 'acceptRecord') {
    const code = await attempt(() => acceptMispayment(mispayments, admin, id, {}))
    const payable = ['under', 'late'].includes(record.kind) && order.paidAt === null
    // the whole price is on its way: accepting a part of it would make the rest too much
    const isComing = order.status === 'WAITING_CHAIN_CONFIRMATION'
    const can = payable && !isComing && (allowed(order.status, 'pay') || allowed(order.status, 'payLate'))
    assert.equal(code === null, can, `accept ${record.kind} while ${order.status}: ${code}`)
    return
  }
  const work =
    step.kind === 'ignoreRecord'
      ? () => ignoreMispayment(mispayments, admin, id, { reason })
      : () => refundMispayment(refunds, admin, id, { reason })
  if ((await attempt(work)) === null) await noteDecision(walk, step.who, record, record.units)
}

async function noteDecision(walk: Walk, who: 0 | 1, record: Mispayment, units: bigint): Promise<void> {
  if (!HELD.includes(record.kind)) return
  depositOf(walk, record.paymentId).decided += units
  await tell(walk, who, record.paymentId)
}

async function revert(walk: Walk, step: MoneyStep): Promise<void> {
  const { host, refunds } = walk.world
  const order = await read(walk, step.who)
  const left = order.paidUnits - order.refundedUnits
  const part = left / 3n
  const body =
    step.kind === 'revertAll' ? {} : { amount: `${part / 1_000_000n}.${String(part % 1_000_000n).padStart(6, '0')}` }
  const code = await attempt(() => revertOrder(refunds, contextFor(actorOf(walk.merchant)), order.code, body))
  const records = await listMispaymentsOfOrder(host.db, order.companyId, order.id)
  if (records.some(({ kind, status }) => kind === 'orphaned' && status === 'open')) assert.notEqual(code, null)
  const { status } = await read(walk, step.who)
  assert.equal(status, code === null ? 'REFUNDING' : order.status)
  if (!allowed(order.status, 'revert')) assert.equal(code, 'ORDER_STATE_CONFLICT')
}

async function finishRefund(walk: Walk, { who, kind }: MoneyStep): Promise<void> {
  const { host, refunds } = walk.world
  const order = await read(walk, who)
  const all = await listRefundsOfOrder(host.db, order.companyId, order.id)
  const refund = all.find(({ status }) => status === 'ready' || status === 'submitted')
  if (!refund) return
  const settled = kind === 'settleRefund'
  const outcome = settled ? ('settled' as const) : ('refused' as const)
  for (let turn = 0; turn < 2; turn += 1)
    await attempt(() =>
      applyRefundReport(refunds, refund, { outcome, reference: null, txHash: null, providerStatus: 'model' }),
    )
  if (settled) walk.sent += refund.units
  if (settled || refund.mispaymentId === null) return
  const records = await listMispaymentsOfOrder(host.db, order.companyId, order.id)
  const record = records.find(({ id }) => id === refund.mispaymentId)
  if (record) await noteDecision(walk, who, record, -refund.units)
}

const unitsOf = (text: string): bigint => BigInt(text.replace('.', ''))
const sumOf = (texts: readonly (string | null)[]): bigint =>
  texts.reduce((total, text) => total + unitsOf(text ?? ''), 0n)

/** A new settlement's statement adds up, and with those before it names each booking of the balance exactly once. */
async function checkStatements({ world, merchant: { companyId } }: Walk, made: string): Promise<void> {
  const { db } = world.host
  const live = await listSettlements(db, { companyIds: [companyId], status: null, limit: 100, offset: 0 })
  const named: string[] = []
  for (const settlement of live.filter(({ status }) => status !== 'cancelled')) {
    const { summary, lines } = await readSettlementStatement(db, settlement, { after: null, limit: 500 })
    const {
      carriedOver,
      payments,
      refunds,
      takenBack,
      losses,
      owed,
      ownAccounts,
      undecided,
      reserve,
      heldBack,
      amount,
    } = summary
    assert.equal(sumOf([carriedOver, ...lines.map((line) => line.amount)]), unitsOf(owed), 'its lines')
    assert.equal(
      sumOf([carriedOver, payments.net, refunds.amount, takenBack.amount, losses]),
      unitsOf(owed),
      'its parts',
    )
    assert.equal(sumOf([owed, ownAccounts, undecided, reserve, heldBack]), unitsOf(amount), 'what leaves')
    named.push(...lines.map(({ journalId }) => journalId))
  }
  const booked = await db.many<{ id: string }>(sql`
    select distinct journal_id as id from ledger_entries e join ledger_journals j
      on j.company_id = e.company_id and j.id = e.journal_id
    where e.company_id = ${companyId} and e.account = 'company_payable' and j.kind not like 'settlement%'`)
  assert.deepEqual(named.toSorted(), booked.map(({ id }) => id).toSorted(), `bookings named until ${made}`)
}

async function settle(walk: Walk, { kind }: MoneyStep): Promise<void> {
  const { settlements, host, clock } = walk.world
  // two settlements are never of one millisecond
  clock.nowMs += 1
  const context = contextFor({ ...actorOf(walk.merchant), role: 'SuperAdmin' })
  const { companyId } = walk.merchant
  let made = ''
  const refused = await attempt(async () => {
    made = (await createSettlement(settlements, context, { companyId }))._id
  })
  if (refused !== null) return assert.equal(refused, 'OBJECT_CONFLICT')
  await checkStatements(walk, made)
  if (kind === 'settlementCancelled') return void (await cancelSettlement(settlements, context, made))
  await approveSettlement(settlements, context, made)
  const settlement = await findSettlement(host.db, made)
  assert.ok(settlement)
  await settlePaid(settlements, settlement, { txHash: null, providerStatus: 'model' })
  walk.sent += settlement.units
}

async function take(walk: Walk, step: MoneyStep): Promise<void> {
  const { payments, host, clock } = walk.world
  const context = contextFor(actorOf(walk.merchant))
  const code = walk.orders[step.who]?.code ?? ''
  switch (step.kind) {
    case 'accept': {
      const body = { paymentChannel: 'binance' }
      return void (await attempt(() => acceptOrder(payments, { context, code, body })))
    }
    case 'cancel':
      return void (await attempt(() => endOrder({ ...payments, config: host.config }, context, code, 'cancel')))
    case 'wait':
      clock.nowMs += 1_000_000
      return void (await expireOrders(host.db, payments.transition, clock.nowMs))
    case 'send':
    case 'confirmBlocks':
    case 'loseAll':
    case 'loseHalf':
    case 'comeBack':
      return moveMoney(walk, step)
    case 'revertAll':
    case 'revertPart':
      return revert(walk, step)
    case 'settleRefund':
    case 'refuseRefund':
      return finishRefund(walk, step)
    case 'settlement':
    case 'settlementCancelled':
      return settle(walk, step)
    default:
      return decide(walk, step)
  }
}

/** The books are right, and what they say we hold is what the chain holds. */
async function checkMoney({ world, merchant, deposits, sent }: Walk): Promise<void> {
  const { db } = world.host
  const found = await db.tx((tx) => listDifferences(tx, merchant.companyId, 3))
  assert.deepEqual(
    found.map((one) => describeDifference(one)),
    [],
  )
  const { units } = await db.one<{ units: string }>(sql`
    select coalesce(sum(units), 0) as units from ledger_entries
    where company_id = ${merchant.companyId} and account in ('payer_clearing', 'wallet')`)
  const held = [...deposits.values()].reduce((total, { final }) => total + final, 0n)
  assert.equal(BigInt(units), held - sent, 'what the books hold and what the chain holds')
  const ever = [...deposits.values()].reduce((total, { final, gone }) => total + final + gone, 0n)
  assert.ok(sent <= ever, `${sent} were sent, although only ${ever} ever came`)
}

/** Two orders of one company live through a sequence. */
export async function walk(world: ModelWorld, sequence: readonly MoneyStep[]): Promise<void> {
  const { db } = world.host
  const merchant = await world.host.createMerchant()
  await db.run(sql`
    update companies set settlement_address = ${`0x${'1'.repeat(40)}`}, settlement_network = 31337, fee_bps = 75
    where id = ${merchant.companyId}`)
  const orders = [await world.makeOrder(merchant), await world.makeOrder(merchant)]
  const state: Walk = { world, merchant, orders, deposits: new Map(), sent: 0n }
  for (const step of sequence) {
    await take(state, step)
    await checkMoney(state)
  }
  // once more, so that a statement tells of each booking
  await settle(state, { who: 0, kind: 'settlement' })
  await checkMoney(state)
  await db.run(sql`
    update orders set expires_at = now() + interval '100 years'
    where company_id = ${merchant.companyId} and status in ('INITIAL', 'PENDING', 'AWAITING')`)
}

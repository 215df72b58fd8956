import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paidReport, type RefundReport } from '../src/channels/channel.ts'
import { ProviderTrouble } from '../src/channels/provider-errors.ts'
import { sql } from '../src/db/db.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { findPayment, type Payment } from '../src/payments/payment-queries.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { noticeForeignRefund } from '../src/refunds/foreign/foreign-refund.ts'
import { refundMispayment } from '../src/refunds/mispayment-refund.ts'
import { approveRefund, dropRefund } from '../src/refunds/refund-decisions.ts'
import { refundPolls } from '../src/refunds/refund-jobs.ts'
import { takeRefundNews } from '../src/refunds/refund-news.ts'
import { findRefund, type Refund } from '../src/refunds/refund-queries.ts'
import { revertOrder } from '../src/refunds/refund-service.ts'
import { actorOf, contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* A refund in the provider's console while one of ours has not left yet: ours does not go out on top of it. */

let world: ModelWorld
let asked = 0
const SENT: RefundReport = { outcome: 'settled', reference: null, txHash: null, providerStatus: 'done' }
let answer = async (): Promise<RefundReport> => SENT

before(async () => {
  world = await startModelWorld({
    refundPayment() {
      asked += 1
      return answer()
    },
    refundsByCallback: true,
  })
})
after(async () => {
  try {
    if (world) assert.equal((await verifyLedger(world.host.db)).difference, null)
  } finally {
    await world?.stop()
  }
})

type Sale = { companyId: string; orderId: string; code: string; payment: Payment; refundId: string }

/** An order of 54 USDC of which so much came, and a refund of 20 that has not left. */
async function begin({ isApproved = true, final = DUE } = {}): Promise<Sale> {
  const { db } = world.host
  const merchant = await world.host.createMerchant()
  const { companyId } = merchant
  if (!isApproved) await db.run(sql`update companies set refund_approval = true where id = ${companyId}`)
  const { id: orderId, code } = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  await acceptOrder(world.payments, { context, code, body: { paymentChannel: 'binance' } })
  const { id, reference } = await db.one<{ id: string; reference: string }>(
    sql`select id, provider_reference as reference from payments where order_id = ${orderId}`,
  )
  await applyReport(world.payments, { companyId, id }, paidReport(reference, { final, providerStatus: 'PAID' }))
  const payment = await findPayment(db, companyId, id)
  assert.ok(payment)
  const record = await db.maybe<{ id: string }>(sql`select id from mispayments where order_id = ${orderId}`)
  const refundId = record
    ? await refundMispayment(world.refunds, context, record.id, {})
    : (await revertOrder(world.refunds, context, code, { amount: '20' })).refundId
  asked = 0
  return { companyId, orderId, code, payment, refundId }
}

const read = async ({ refundId }: Sale): Promise<Refund> => {
  const refund = await findRefund(world.host.db, refundId)
  assert.ok(refund)
  return refund
}
const poll = ({ companyId, refundId }: Sale) =>
  refundPolls(world.refunds).work(world.host.db, { companyId, id: refundId })
const tell = ({ payment }: Sale, units = 5000n) =>
  takeRefundNews(world.refunds, payment, {
    ...{ reference: `console-${payment.id}`, refundId: null, outcome: 'settled', providerStatus: 'transferred' },
    fiat: { asset: 'EUR', units },
  })
const notice = ({ payment }: Sale, told: { refunded?: bigint; refundedPart?: true }) =>
  world.host.db.tx((tx) => noticeForeignRefund(world.refunds, tx, payment, told))
const openOf = ({ companyId }: Sale) =>
  world.host.db.many<{ subject: string; booked: string; expected: string }>(sql`
    select subject, booked, expected from ledger_differences where company_id = ${companyId} and status = 'open'`)
const explain = ({ companyId }: Sale) =>
  world.host.db.run(sql`
    update ledger_differences set status = 'explained', reason = 'both are right', explained_by = 'user:a'
    where company_id = ${companyId}`)
const unitsOf = async ({ orderId }: Sale): Promise<string[]> =>
  (
    await world.host.db.many<{ units: string }>(sql`
      select units::text from refunds where order_id = ${orderId} and status = 'settled' order by number`)
  ).map(({ units }) => units)

async function assertHeld(sale: Sale): Promise<void> {
  await poll(sale)
  const { status, providerStatus } = await read(sale)
  assert.deepEqual([asked, status], [0, 'ready'])
  assert.match(providerStatus ?? '', /^waits: the books differ/)
}

test('a refund from the console that a callback names while ours waits: ours is held, and the callback repeated books it', async () => {
  const sale = await begin({ isApproved: false })
  // however often the provider repeats it
  for (let turn = 0; turn < 2; turn += 1) await assert.rejects(tell(sale), { code: 'CHANNEL_UNAVAILABLE' })
  const [difference, ...more] = await openOf(sale)
  assert.deepEqual(more, [])
  assert.equal(difference?.subject, `order ${sale.code}, refund console-${sale.payment.id}`)
  assert.match(difference?.expected ?? '', /^transferred: 50\.00 EUR/)
  await approveRefund(world.refunds, await read(sale), contextFor(world.operator))
  await assertHeld(sale)
  const by = contextFor(world.operator)
  const news = { status: 'rejected', by, vanished: [], hold: null, providerStatus: 'sent in the console' } as const
  await dropRefund(world.refunds, await read(sale), news)
  await tell(sale)
  assert.deepEqual(await unitsOf(sale), [String(DUE)])
  assert.deepEqual(await openOf(sale), [])
})

test('a refund from the console that a callback names while ours waits: once a person has looked, ours goes on', async () => {
  const sale = await begin()
  await assert.rejects(tell(sale, 1000n), { code: 'CHANNEL_UNAVAILABLE' })
  await assertHeld(sale)
  await explain(sale)
  await assert.rejects(tell(sale, 1000n), { code: 'CHANNEL_UNAVAILABLE' })
  await poll(sale)
  assert.deepEqual([asked, (await read(sale)).status], [1, 'settled'])
  await tell(sale, 1000n)
  assert.deepEqual(await unitsOf(sale), ['20000000', '10800000'])
})

test('a total that a refund which never left cannot be in holds it at once; a part of unknown size does too', async () => {
  const [total, part] = [await begin(), await begin()]
  await notice(total, { refunded: 20_000_000n })
  await notice(part, { refundedPart: true })
  const [told] = await openOf(total)
  assert.deepEqual([told?.booked, told?.expected], ['0.000000 USDC refunded', '20.000000 USDC'])
  assert.match((await openOf(part))[0]?.expected ?? '', /partly refunded/)
  await assertHeld(total)
  await assertHeld(part)
  await explain(total)
  await poll(total)
  assert.deepEqual([asked, (await read(total)).status], [1, 'settled'])
})

test('a total that was told while a larger refund of ours waited is booked once that one is rejected, and ends the difference', async () => {
  const sale = await begin()
  await notice(sale, { refunded: 5_000_000n })
  assert.equal((await openOf(sale)).length, 1)
  const by = contextFor(world.operator)
  const news = { status: 'rejected', by, vanished: [], hold: null, providerStatus: 'a smaller one was sent' } as const
  await dropRefund(world.refunds, await read(sale), news)
  await notice(sale, { refunded: 5_000_000n })
  assert.deepEqual([await unitsOf(sale), await openOf(sale)], [['5000000'], []])
})

test('a total holds a refund of money that never paid its order, too', async () => {
  const sale = await begin({ final: 20_000_000n })
  await notice(sale, { refunded: 20_000_000n })
  assert.deepEqual(
    (await openOf(sale)).map(({ booked, expected }) => [booked, expected]),
    [['0.000000 USDC refunded', '20.000000 USDC']],
  )
  await assertHeld(sale)
})

test('a callback about the console holds a refund of money above the price that waits, too', async () => {
  const sale = await begin({ final: DUE + 6_000_000n })
  await assert.rejects(tell(sale, 500n), { code: 'CHANNEL_UNAVAILABLE' })
  assert.equal((await openOf(sale)).length, 1)
  await assertHeld(sale)
})

test('a total that was told while the provider was asked, and did not take it, holds the next try', async () => {
  const sale = await begin()
  const before = answer
  answer = async () => {
    await notice(sale, { refunded: 20_000_000n })
    throw new ProviderTrouble('no connection', { notSent: true })
  }
  try {
    await assert.rejects(poll(sale), ProviderTrouble)
  } finally {
    answer = before
  }
  assert.deepEqual([(await read(sale)).status, await openOf(sale)], ['ready', []], 'ours might have been in it')
  asked = 0
  await poll(sale)
  assert.deepEqual([asked, (await read(sale)).status], [0, 'ready'])
  assert.equal((await openOf(sale))[0]?.expected, '20.000000 USDC')
})

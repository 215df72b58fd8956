import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PATHS } from '../src/channels/binance/client.ts'
import { refundPayment as refundAtBinance } from '../src/channels/binance/refunds.ts'
import type { Channel } from '../src/channels/channel.ts'
import { paidReport } from '../src/channels/channel.ts'
import { refundPayment as refundAtCryptopay } from '../src/channels/cryptopay/refunds.ts'
import { reportOf } from '../src/channels/cryptopay/status-map.ts'
import { openRefunds } from '../src/channels/gatepay/refunds.ts'
import { ProviderRefusal } from '../src/channels/provider-errors.ts'
import { sql } from '../src/db/db.ts'
import type { Actor } from '../src/http/actor.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { findPayment, type Payment } from '../src/payments/payment-queries.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { noticeForeignRefund } from '../src/refunds/foreign/foreign-refund.ts'
import { recordRefund } from '../src/refunds/foreign/recorded-refund.ts'
import { settleByHand } from '../src/refunds/manual-refund.ts'
import type { MispaymentRefundDeps } from '../src/refunds/mispayment-refund.ts'
import { refundIdOf } from '../src/refunds/new-refund.ts'
import { dropRefund } from '../src/refunds/refund-decisions.ts'
import { refundPolls } from '../src/refunds/refund-jobs.ts'
import { takeRefundNews } from '../src/refunds/refund-news.ts'
import { findRefund, type Refund } from '../src/refunds/refund-queries.ts'
import { revertOrder } from '../src/refunds/refund-service.ts'
import {
  actorOf,
  contextFor,
  DUE,
  MODEL_PROVIDER,
  type ModelWorld,
  personFor,
  startModelWorld,
} from './harness/model-world.ts'
import { openChannels } from './harness/one-channel-set.ts'
import { restore } from './harness/restored.ts'

/* Refunds that their providers may have had before the database was restored, which knows nothing of it. */

let world: ModelWorld
let operator: Actor
let refunds: MispaymentRefundDeps
/** What Crypto.com was asked for. */
const posted: string[] = []

/** Crypto.com: it takes every request, and nothing can be looked up. */
const CRYPTOPAY: Partial<Channel> = {
  refundsByCallback: true,
  refundPayment: (refund) => refundAtCryptopay(CRYPTOPAY_API, refund),
}
const CRYPTOPAY_API = {
  async post(_path: string, { description }: { description: string }) {
    posted.push(description)
    return { id: `re_${posted.length}`, status: 'pending' }
  },
} as never

/** From now on refunds go to this provider. */
function use(provider: Partial<Channel>): void {
  refunds = { ...world.refunds, channels: openChannels([{ ...MODEL_PROVIDER, ...provider }]) }
}

before(async () => {
  world = await startModelWorld({
    fetchPayment: async ({ providerReference, due, fiat }) => {
      const told = { status: 'succeeded', captured: true, amount: '5000', currency: 'EUR' }
      const payment = { ...told, id: providerReference }
      return reportOf(payment, { due, fiat }, { clock: Date.now, weCancel: false })
    },
  })
  await restore(world.host.db)
  // of after the restore, which logs everybody out
  operator = await personFor(world.host.db, { role: 'SuperAdmin', companyId: null })
})
after(async () => {
  try {
    if (world) assert.equal((await verifyLedger(world.host.db)).difference, null)
  } finally {
    await world?.stop()
  }
})

type Sale = {
  companyId: string
  orderId: string
  code: string
  payment: Payment
  revert(amount: string): Promise<Refund>
}

/** An order of 54 USDC of before the restore, and paid before it. */
async function sell(): Promise<Sale> {
  posted.length = 0
  const { db } = world.host
  const merchant = await world.host.createMerchant()
  const { companyId } = merchant
  const { id: orderId, code } = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  await acceptOrder(world.payments, { context, code, body: { paymentChannel: 'binance' } })
  const { id, reference } = await db.one<{ id: string; reference: string }>(
    sql`select id, provider_reference as reference from payments where order_id = ${orderId}`,
  )
  await applyReport(world.payments, { companyId, id }, paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
  const payment = await findPayment(db, companyId, id)
  assert.ok(payment)
  const revert = async (amount: string) => read((await revertOrder(refunds, context, code, { amount })).refundId)
  return { companyId, orderId, code, payment, revert }
}

async function read(id: string): Promise<Refund> {
  const refund = await findRefund(world.host.db, id)
  assert.ok(refund)
  return refund
}
async function poll({ companyId, id }: Refund): Promise<Refund> {
  await refundPolls(refunds).work(world.host.db, { companyId, id })
  return read(id)
}
async function reject(refund: Refund): Promise<void> {
  const by = contextFor(operator)
  await dropRefund(refunds, refund, {
    ...{ status: 'rejected', by, vanished: [], hold: null, providerStatus: 'there is none' },
  })
}
test('Crypto.com: a refund that may have left before is sent only after a person has looked', async () => {
  use(CRYPTOPAY)
  const sale = await sell()
  const held = await poll(await sale.revert('20'))
  assert.deepEqual([posted, held.status, held.providerReference], [[], 'submitted', null])
  assert.match(held.providerStatus ?? '', /^the database was restored, .* look for “refund [0-9a-f]{24}”/)
  assert.deepEqual([(await poll(held)).status, posted], ['submitted', []], 'however often it is polled')
  await reject(await read(held.id))
  const next = await poll(await sale.revert('20'))
  assert.deepEqual([posted, next.providerReference], [[`refund ${next.id}`], 're_1'])
})

test('Crypto.com: a refund that was rejected before it was held tells nothing of the next', async () => {
  use(CRYPTOPAY)
  const sale = await sell()
  await reject(await sale.revert('20'))
  await poll(await sale.revert('20'))
  assert.deepEqual(posted, [])
})

test('Crypto.com: an order of after the restore is refunded at once', async () => {
  use(CRYPTOPAY)
  const sale = await sell()
  const later = new Date(Date.now() + 3_600_000)
  await world.host.db.run(sql`update orders set created_at = ${later} where id = ${sale.orderId}`)
  await poll(await sale.revert('20'))
  assert.equal(posted.length, 1)
})

/** Gate, which has these refunds, each with its amount. @param asked what it was asked */
function useGate(has: Map<string, string>, asked: string[]): void {
  const api = {
    async get(path: string, { refundRequestId = '' }: Record<string, string>) {
      asked.push(path)
      if (path === '/v2/pay/order/query') return { transactTime: '1' }
      const requestAmount = has.get(refundRequestId)
      return requestAmount === undefined
        ? {}
        : { status: 'SUCCESS', refundRequestId, requestAmount, requestCurrency: 'USDC', gateRefundId: 'g1' }
    },
    async post(path: string) {
      asked.push(path)
      return { refundGateId: 'g2' }
    },
  } as never
  use({ refundPayment: openRefunds(api, Date.now, { waitMs: 0, unknownCodes: [] }) })
}

/** Binance, which has these refunds of one order, all done. It says as much as is refunded in all. */
function useBinance(has: Map<string, number>): void {
  const client = {
    async ask(
      path: string,
      { refundRequestId, refundAmount }: { refundRequestId: string; refundAmount: { rawJSON: string } },
    ) {
      if (path === PATHS.refund) has.set(refundRequestId, Number(refundAmount.rawJSON))
      const amount = has.get(refundRequestId)
      if (amount === undefined)
        return { outcome: 'refused', code: '400202', refusal: new ProviderRefusal('request', 'not found') }
      const refundedAmount = String([...has.values()].reduce((sum, one) => sum + one, 0))
      const data = { refundRequestId, refundAmount: String(amount), refundedAmount, refundStatus: 'REFUND_SUCCESS' }
      return { outcome: 'done', data: { ...data, remainingAttempts: 5 } }
    },
  } as never
  use({ refundPayment: (refund) => refundAtBinance(client, refund) })
}

test('Gate: a refund that was paid before is recognised, though its row says that it never left', async () => {
  const has = new Map<string, string>()
  const asked: string[] = []
  useGate(has, asked)
  const sale = await sell()
  const refund = await sale.revert('20')
  has.set(refund.id, '20')
  const found = await poll(refund)
  assert.deepEqual([found.status, found.providerReference, asked], ['settled', 'g1', ['/v2/pay/refund/details']])
  const fresh = await poll(await sale.revert('10'))
  assert.deepEqual([fresh.status, fresh.providerReference], ['submitted', 'g2'], 'one that it does not have is sent')
})

/** A person records this as what was refunded in the console. */
async function record(sale: Sale, amount: string): Promise<void> {
  const { db } = world.host
  await db.tx((tx) => noticeForeignRefund(refunds, tx, sale.payment, { refundedPart: true }))
  const { id } = await db.one<{ id: string }>(
    sql`select id from ledger_differences where company_id = ${sale.companyId} and status = 'open'`,
  )
  await recordRefund(refunds, contextFor(operator), id, { amount, reason: 'seen in the console' })
}
const refundedOf = async ({ orderId }: Sale): Promise<string> =>
  (
    await world.host.db.one<{ units: string }>(
      sql`select refunded_units::text as units from orders where id = ${orderId}`,
    )
  ).units

test('Binance: a number under which a refund had left that was recorded since settles nothing; the next one is sent', async () => {
  const has = new Map<string, number>()
  useBinance(has)
  const sale = await sell()
  // both left before the restore, and one line of the order stands for them now
  for (const number of [1, 2]) has.set(refundIdOf(sale.companyId, sale.orderId, number), 10)
  await record(sale, '20')
  const held = await poll(await sale.revert('10'))
  assert.deepEqual([held.number, held.status, held.providerReference, has.size], [2, 'ready', null, 2])
  assert.match(held.providerStatus ?? '', /reject this refund and ask again: the next takes another number/)
  await reject(held)
  const sent = await poll(await poll(await sale.revert('10')))
  assert.deepEqual([sent.number, sent.status, has.size, has.get(sent.id)], [3, 'settled', 3, 10])
  assert.equal(await refundedOf(sale), '30000000')
})

test('Binance: what left before is recognised where its total shows that it is beside what was recorded', async () => {
  const has = new Map<string, number>([['console', 20]])
  useBinance(has)
  const sale = await sell()
  has.set(refundIdOf(sale.companyId, sale.orderId, 2), 10)
  await record(sale, '20')
  assert.equal((await poll(await sale.revert('10'))).status, 'settled')
  assert.deepEqual([has.size, await refundedOf(sale)], [2, '30000000'])
})

test('Binance: what this database sent is its own, whatever a person recorded besides', async () => {
  const has = new Map<string, number>()
  useBinance(has)
  const sale = await sell()
  const sent = await poll(await sale.revert('10'))
  const settled = await poll(sent)
  assert.deepEqual([sent.status, settled.status, has.size], ['submitted', 'settled', 1])
})

test('what waits for a person’s look is no refund to be sent by hand, and can be settled as what left before', async () => {
  const has = new Map<string, number>()
  useBinance(has)
  const sale = await sell()
  for (const number of [1, 2]) has.set(refundIdOf(sale.companyId, sale.orderId, number), 10)
  await record(sale, '20')
  const fresh = await sale.revert('10')
  const settle = () =>
    settleByHand(refunds, contextFor(operator), fresh, { reference: fresh.id, statement: 'in the console', file: null })
  await assert.rejects(settle(), { code: 'OBJECT_CONFLICT' }, 'its provider was not asked yet')
  const held = await poll(fresh)
  const { status, toSendByHand, handedOverAt, nextCheckAt } = held
  assert.deepEqual([status, toSendByHand, handedOverAt, nextCheckAt !== null], ['ready', false, null, true])
  await settle()
  assert.deepEqual([(await findRefund(world.host.db, held.id))?.status, has.size], ['settled', 2])
})

test('Gate: a number under which a refund had left that was booked since is left to a person', async () => {
  const sale = await sell()
  const has = new Map([1, 2].map((number) => [refundIdOf(sale.companyId, sale.orderId, number), '10']))
  const asked: string[] = []
  useGate(has, asked)
  await world.host.db.tx((tx) => noticeForeignRefund(refunds, tx, sale.payment, { refunded: 20_000_000n }))
  const held = await poll(await sale.revert('10'))
  assert.deepEqual([held.status, asked], ['ready', ['/v2/pay/refund/details']])
  await reject(held)
  assert.equal((await poll(await sale.revert('10'))).providerReference, 'g2')
})

/** The database loses what was told of the order's refunds. @returns puts it back into that state */
async function remember({ orderId }: Sale): Promise<() => Promise<void>> {
  const { db } = world.host
  const { status, version } = await db.one<{ status: string; version: number }>(
    sql`select status, version from orders where id = ${orderId}`,
  )
  return async () => {
    const lost = sql`select id from deliveries where order_id = ${orderId} and event in ('order.refunding', 'order.refunded')`
    await db.run(sql`delete from delivery_due where order_id = ${orderId} and delivery_id in (${lost})`)
    await db.run(sql`delete from deliveries where id in (${lost})`)
    await db.run(sql`delete from refunds where order_id = ${orderId}`)
    await db.run(sql`delete from order_events where order_id = ${orderId} and seq > ${version}`)
    await db.run(sql`
      update orders set status = ${status}, refunded_units = 0, version = ${version} where id = ${orderId}`)
    world.clock.nowMs += 60_000
  }
}
const webhooksOf = ({ orderId }: Sale) =>
  world.host.db.many<{ id: string; event: string }>(sql`
    select event, id from deliveries
    where order_id = ${orderId} and event in ('order.refunding', 'order.refunded') order by event`)
const tell = ({ payment }: Sale, reference: string, refundId: string | null) =>
  takeRefundNews(refunds, payment, {
    ...{ refundId, reference, outcome: 'settled', providerStatus: 'transferred' },
    fiat: { asset: 'EUR', units: 1000n },
  })

test('a refund from the console has the same id after a restore, and so have its webhooks', async () => {
  use(CRYPTOPAY)
  const told: ((sale: Sale) => Promise<void>)[] = [
    (sale) => tell(sale, 're_console', null),
    ({ payment }) =>
      world.host.db.tx((tx) =>
        noticeForeignRefund(refunds, tx, payment, { refunded: 10_000_000n, askedAt: new Date() }),
      ),
  ]
  for (const again of told) {
    const sale = await sell()
    const lose = await remember(sale)
    await again(sale)
    const first = await webhooksOf(sale)
    assert.equal(first.length, 2)
    await lose()
    await again(sale)
    assert.deepEqual(await webhooksOf(sale), first)
  }
})

test('a refund of ours that the restore lost has its own id and number again, and leaves the next one its own', async () => {
  use(CRYPTOPAY)
  const sale = await sell()
  const [first, second] = [1, 2].map((number) => refundIdOf(sale.companyId, sale.orderId, number))
  await tell(sale, 're_2', second ?? '')
  const third = await sale.revert('10')
  assert.deepEqual([(await read(second ?? '')).number, third.number], [2, 3])
  await reject(third)
  await tell(sale, 're_1', first ?? '')
  assert.equal((await read(first ?? '')).number, 1)
  // no id of this order: anything may stand in a description
  await tell(sale, 're_3', 'f'.repeat(24))
  assert.equal(await findRefund(world.host.db, 'f'.repeat(24)), undefined)
  assert.equal(await refundedOf(sale), String(3n * 10_800_000n))
})

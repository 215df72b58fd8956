import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logInSuperAdmin } from './harness/accounts.ts'
import { type Market, openMarket } from './harness/market.ts'
import { loseKey, openOwnGate } from './harness/own-gate.ts'
import { listRefundsOf, type RefundData } from './harness/refunds.ts'
import { eventually, startTestService } from './harness/service.ts'
import { chainEnv, type OrderData } from './harness/shop.ts'

// Crypto.com Pay: callbacks alone tell of refunds. A person who settles one by hand must not pay what it pays, too

let market: Market
let admin: Client

before(async () => {
  market = await openMarket({ env: { CHANNEL_GATEPAY_REFUND_WAIT_SECONDS: '0' } })
  admin = await logInSuperAdmin(market.host)
})
after(async () => {
  try {
    if (market) assert.equal((await verifyLedger(market.host.db)).difference, null)
  } finally {
    await market?.stop()
  }
})

async function createPaid() {
  const made = await market.createAwaiting('cryptopay')
  await market.act(made.reference, 'pay')
  await market.reaches(made.order.code, 'PAID')
  return made
}
const revert = (code: string) => market.host.call('POST', `revert/${code}`, { as: market.merchant })
const newest = async (orderId: string): Promise<RefundData | undefined> => (await listRefundsOf(market, orderId)).at(-1)

async function startTaken() {
  await market.tell('refund-pending', { provider: 'cryptopay' })
  const made = await createPaid()
  assert.equal((await revert(made.order.code)).status, 200)
  const refund = await eventually(
    () => newest(made.order._id),
    (one) => one?.status === 'submitted' && /told by a callback/.test(one.message ?? ''),
  )
  assert.ok(refund)
  const { reference } = await market.host.db.one<{ reference: string }>(
    sql`select provider_reference as reference from refunds where id = ${refund._id}`,
  )
  return { ...made, refund, taken: reference }
}

/** As if the provider’s answer and its first callback had been lost. */
const loseTrace = (ids: string[]) =>
  eventually(
    () =>
      market.host.db.run(sql`
        update refunds set provider_reference = null, next_check_at = now() + interval '1 hour'
        where id = any(${ids}) and lease_until is null`),
    (changed) => changed === ids.length,
  )

const settle = ({ _id }: RefundData, reference: string) =>
  admin.post<RefundData>(`refunds/${_id}/settle`, { reference, statement: 'paid back by bank' })

test('a payment of an earlier version is that of an account that cannot be read, not of the one saved over it', async () => {
  const shop = await openOwnGate(market)
  const order = await shop.order()
  assert.equal((await shop.accept(order.code)).status, 200)
  const [payment] = await market.paymentsOf(order._id)
  await market.host.db.run(sql`update payments set account_mark = null where order_id = ${order._id}`)
  await loseKey(market, order._id)
  const refused = await shop.save({ CLIENT_ID: 'another-account' }, false)
  assert.deepEqual([refused.status, refused.error.code], [409, 'ACCOUNT_IN_USE'])
  assert.equal((await shop.save({ CLIENT_ID: 'another-account' })).status, 200)
  await market.act(payment?.reference ?? '', 'pay')
  assert.equal((await shop.save()).status, 200)
  await market.reaches(order.code, 'PAID')
})

test('a refund that the provider has taken is settled by hand only as the one that it sent', async () => {
  const { order, reference, refund, taken } = await startTaken()
  const refused = await settle(refund, 'bank-2')
  assert.deepEqual([refused.status, refused.error.code], [409, 'OBJECT_CONFLICT'])
  assert.ok(refused.error.message.includes(`with ${taken} as the reference`), refused.error.message)
  assert.equal((await settle(refund, taken)).data.status, 'settled')
  await market.act(reference, 'refund-settle')
  await market.reaches(order.code, 'FULL_REFUNDED')
  assert.deepEqual(await differencesOf(refund), [])
})

test('a refund that the provider is just being asked for is not settled by hand', async () => {
  const { refund } = await startTaken()
  const { db } = market.host
  await loseTrace([refund._id])
  await db.run(sql`update refunds set lease_until = now() + interval '1 minute' where id = ${refund._id}`)
  const early = await settle(refund, 'bank-3')
  assert.equal(early.status, 409)
  assert.match(early.error.message, /asked for this refund right now/)
  await db.run(sql`update refunds set lease_until = null where id = ${refund._id}`)
  assert.equal((await settle(refund, 'bank-3')).status, 200)
})

const differencesOf = ({ _id }: RefundData) =>
  market.host.db.many<{ id: string; booked: string; expected: string; status: string }>(
    sql`select id, booked, expected, status from ledger_differences where subject = ${`refund ${_id}`}`,
  )

test('a transfer that the provider reports of a refund settled by hand stops the money until a person has looked', async () => {
  const { reference, refund, taken } = await startTaken()
  await loseTrace([refund._id])
  assert.equal((await settle(refund, 'bank-4')).status, 200)
  await market.act(reference, 'refund-settle')
  const [difference] = await eventually(
    () => differencesOf(refund),
    (found) => found.length > 0,
  )
  assert.deepEqual([difference?.booked, difference?.status], ['settled as bank-4', 'open'])
  assert.match(difference?.expected ?? '', new RegExp(`^${taken}, .*: 50.00 EUR$`))
  const { order } = await createPaid()
  const held = await revert(order.code)
  assert.deepEqual([held.status, held.error.code], [409, 'BOOKS_DIFFER'])
  const explained = await admin.post(`ledger/differences/${difference?.id}/explain`, {
    reason: 'the payer returned it',
  })
  assert.equal(explained.status, 200, explained.text)
})

test('one proof settles one refund, also when two people enter it at once', async () => {
  for (let round = 0; round < 4; round += 1) {
    const pair = [await startTaken(), await startTaken()]
    const ids = pair.map(({ refund }) => refund._id)
    await loseTrace(ids)
    const answers = await Promise.all(pair.map(({ refund }) => settle(refund, `bank-both-${round}`)))
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409], `round ${round}`)
  }
})

/** A shop's own account at Gate received a payment. */
async function payOwnGate() {
  const shop = await openOwnGate(market)
  const order = await shop.order()
  const { data } = await shop.accept(order.code)
  await market.act(data.providerReference, 'pay')
  await market.reaches(order.code, 'PAID')
  return { shop, order, reference: data.providerReference }
}

/** Of any company. */
const refundOf = async ({ code }: OrderData): Promise<RefundData | undefined> =>
  (await admin.get<{ refunds: RefundData[] }>(`refunds?code=${code}`)).data.refunds[0]

const wake = ({ _id }: RefundData) =>
  market.host.db.run(sql`update refunds set next_check_at = now() where id = ${_id} and next_check_at is not null`)

test('a refund that the provider has waits for its account: it is not handed over, rejected or paid otherwise', async () => {
  const { shop, order, reference } = await payOwnGate()
  await market.tell('refund-pending', { provider: 'gatepay' })
  assert.equal((await shop.revert(order.code, '10')).status, 200)
  const facts = async () =>
    market.host.db.one<{ taken: string | null }>(
      sql`select provider_reference as taken from refunds where order_id = ${order._id}`,
    )
  const { taken } = await eventually(facts, (one) => one.taken !== null)
  assert.equal((await shop.accept((await shop.order()).code)).status, 200)
  for (const _ of ['readable', 'unreadable']) {
    for (const refused of [await shop.remove(false), await shop.save({ CLIENT_ID: 'another-account' }, false)]) {
      assert.deepEqual([refused.status, refused.error.code], [409, 'ACCOUNT_IN_USE'], refused.text)
      assert.match(refused.error.message, /\(open payments: 1, unfinished refunds: 1\)/)
    }
    await loseKey(market, order._id)
  }
  await loseKey(market, order._id)
  assert.equal((await shop.save({}, false)).status, 200, 'the same account, entered again')
  assert.equal((await shop.save({ CLIENT_ID: 'another-account' })).status, 200)
  const refund = await refundOf(order)
  assert.ok(refund)
  await wake(refund)
  const waiting = await eventually(
    () => refundOf(order),
    (one) => /removed or replaced\. Save that account again/.test(one?.message ?? ''),
  )
  assert.equal(waiting?.status, 'submitted')
  assert.match((await settle(refund, 'bank-gate')).error.message, new RegExp(`settle it with ${taken}`))
  // as an older node hands it over
  const handedOver = sql`update refunds set status = 'ready', next_check_at = null where id = ${refund._id}`
  await market.host.db.run(handedOver)
  const rejected = await admin.post(`refunds/${refund._id}/reject`, { reason: 'it was never sent' })
  assert.deepEqual([rejected.status, rejected.error.code], [409, 'OBJECT_CONFLICT'], rejected.text)
  assert.equal((await settle(refund, 'bank-gate')).status, 409)
  assert.equal((await shop.save()).status, 200)
  await market.act(reference, 'refund-settle')
  await market.reaches(order.code, 'REFUNDED')
  assert.equal((await market.paymentsOf(order._id))[0]?.refunds.length, 1)
})

test('a refund that was never sent, and whose account is gone, is sent by a person', async () => {
  const { shop, order } = await payOwnGate()
  assert.equal((await shop.remove()).status, 200)
  assert.equal((await shop.revert(order.code, '10')).status, 200)
  const refund = await eventually(
    () => refundOf(order),
    (one) => one?.message === 'to be sent by hand',
  )
  assert.ok(refund)
  assert.equal((await settle(refund, 'bank-gone')).data.status, 'settled')
})

test('a node without the channel leaves its refunds to the others, and says what is missing', async () => {
  const made = await market.createAwaiting('kucoinpay')
  await market.act(made.reference, 'pay')
  await market.reaches(made.order.code, 'PAID')
  const settings = Object.entries(market.providers.credentials).filter(([name]) => !name.includes('KUCOINPAY'))
  const env = { ...chainEnv(market.chain), ...Object.fromEntries(settings) }
  await market.host.service.stopWorkers()
  const { connectionString } = market.host
  const other = await startTestService({ connectionString, env, workers: true })
  try {
    assert.equal((await revert(made.order.code)).status, 200)
    const refund = await eventually(
      () => newest(made.order._id),
      (one) => /its channel is not set up/.test(one?.message ?? ''),
    )
    assert.equal(refund?.status, 'ready')
  } finally {
    await other.stop()
  }
  await market.host.db.run(sql`
    update refunds set next_check_at = now() + interval '1 hour' where order_id = ${made.order._id}`)
  const whole = { ...env, ...market.providers.credentials }
  const next = await startTestService({ connectionString, env: whole, workers: true })
  await market.reaches(made.order.code, 'FULL_REFUNDED').finally(() => next.stop())
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { getAddress } from 'viem/utils'
import { sql } from '../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { logIn, logInSuperAdmin, registerManager } from './harness/accounts.ts'
import { newTestXpub } from './harness/chain.ts'
import { type Market, openMarket } from './harness/market.ts'
import { eventually } from './harness/service.ts'
import { FINAL_AFTER, type OrderData, type OrderStory } from './harness/shop.ts'

/* A payer who leaves the own wallet for an exchange and comes back finds the same address: one payment, one sum. */

let market: Market
before(async () => {
  market = await openMarket()
})
after(() => market?.stop())

type Started = { order: OrderData; address: string }

async function start(): Promise<Started> {
  const order = await market.create()
  const { data, text } = await market.accept(order.code, 'crypto')
  assert.equal(data?.status, 'AWAITING', text)
  return { order, address: String(data.toAddress) }
}

const leave = async ({ order }: Started): Promise<void> => {
  const { data, text } = await market.accept(order.code, 'binance')
  assert.equal(data?.status, 'AWAITING', text)
}

/** @returns the address that the payer is shown now */
async function comeBack({ order }: Started): Promise<string> {
  const { data, text } = await market.accept(order.code, 'crypto')
  assert.equal(data?.status, 'AWAITING', text)
  return String(data.toAddress)
}

async function pay({ address }: Started, units: bigint): Promise<void> {
  await market.chain.pay({ to: address, units })
  await market.chain.mine(FINAL_AFTER - 1)
}

const until = ({ order }: Started, isRight: (story: OrderStory) => boolean): Promise<OrderStory> =>
  eventually(() => market.story(order._id), isRight)
const received = (started: Started, units: string): Promise<OrderStory> =>
  until(started, ({ payments }) => payments[0]?.receivedUnits === units)

async function readPage({ order }: Started): Promise<string> {
  const page = await (await fetch(`${market.host.baseUrl}/pay?code=${order.code}&lang=en`)).text()
  return page.replaceAll(/<style>.*?<\/style>|<svg.*?<\/svg>/gs, '').replaceAll(/<[^>]+>|\s+/g, ' ')
}

/** Paid with exactly the price, in one attempt, and nothing waits for a person. */
async function isPaidOnce(started: Started): Promise<void> {
  const units = '54000000'
  await market.reaches(started.order.code, 'PAID')
  const { paidUnits, payments, mispayments } = await market.story(started.order._id)
  assert.equal(paidUnits, units)
  assert.deepEqual([payments[0]?.status, payments[0]?.receivedUnits], ['paid', units])
  assert.deepEqual(
    mispayments.filter(({ status }) => status === 'open'),
    [],
  )
  const verdict = await verifyLedger(market.host.db)
  assert.equal(verdict.difference, null, describeVerdict(verdict))
}

test('a part that came before the payer left counts: the page asks for the rest at the same address', async () => {
  const started = await start()
  await leave(started)
  await pay(started, 20_000_000n)
  await received(started, '20000000')
  assert.equal(await comeBack(started), started.address)
  await until(started, ({ payments }) => payments[0]?.status === 'confirming')
  assert.match(await readPage(started), /34\.00/)
  const left = await market.accept(started.order.code, 'binance')
  assert.deepEqual([left.status, left.error?.code], [409, 'ORDER_STATE_CONFLICT'], 'as for any payer who paid a part')
  await pay(started, 34_000_000n)
  await isPaidOnce(started)
  const { history, payments } = await market.story(started.order._id)
  assert.deepEqual(
    history.map(({ trigger }) => trigger).filter((trigger) => trigger !== 'seePayment'),
    ['create', ...['accept', 'forward', 'accept', 'forward', 'accept', 'forward'], 'pay'],
  )
  assert.equal(payments.length, 2)
})

test('what comes after the return, while nothing came before, pays the order; so does what is on its way meanwhile', async () => {
  const started = await start()
  await leave(started)
  await until(started, ({ payments }) => payments[0]?.status === 'closed')
  await market.chain.pay({ to: started.address, units: 30_000_000n })
  assert.equal(await comeBack(started), started.address)
  await market.chain.pay({ to: started.address, units: 24_000_000n })
  await market.reaches(started.order.code, 'WAITING_CHAIN_CONFIRMATION')
  await market.chain.mine(FINAL_AFTER)
  await isPaidOnce(started)
})

test('a part that a reorganisation took away while the payer was elsewhere is asked for again', async () => {
  const started = await start()
  await market.chain.pay({ to: started.address, units: 20_000_000n })
  await until(started, ({ payments }) => payments[0]?.status === 'confirming')
  await market.chain.rollback(1)
  await market.chain.mine(2)
  await until(started, ({ payments }) => payments[0]?.status === 'awaiting')
  await leave(started)
  assert.equal(await comeBack(started), started.address)
  await pay(started, 54_000_000n)
  await isPaidOnce(started)
})

test('twenty returns at once are one: each is shown the same address, and the order moves once', async () => {
  const started = await start()
  await leave(started)
  const answers = await Promise.all(Array.from({ length: 20 }, () => market.accept(started.order.code, 'crypto')))
  assert.deepEqual([...new Set(answers.map(({ data, text }) => data?.toAddress ?? text))], [started.address])
  const { history, payments } = await market.story(started.order._id)
  assert.equal(payments.length, 2)
  assert.equal(history.filter(({ trigger }) => trigger === 'accept').length, 3)
  assert.equal(history.filter(({ trigger }) => trigger === 'forward').length, 3)
})

test('a fresh price of an ended order has an address of its own: what comes to the first one is told apart', async () => {
  const started = await start()
  const { db } = market.host
  await db.run(sql`update orders set rate = 1, to_units = 50000000 where id = ${started.order._id}`)
  await db.run(sql`update payments set due_units = 50000000 where order_id = ${started.order._id}`)
  await leave(started)
  await market.host.call('POST', `expire/${started.order.code}`, { as: market.merchant })
  const body = { paymentChannel: 'crypto', requote: true }
  const { data, text } = await market.host.call<Record<string, string>>('POST', `accept/${started.order.code}`, {
    ...{ as: market.merchant, body },
  })
  assert.equal(data?.status, 'AWAITING', text)
  assert.equal(data.tokenAmount, '54.000000')
  assert.notEqual(data.toAddress, started.address)
  await leave(started)
  assert.equal(await comeBack(started), data.toAddress, 'that of the present price')
})

test('a place that is shown again is audited again after its end, and keeps what the till said', async () => {
  const started = await start()
  const { db } = market.host
  await leave(started)
  await until(started, ({ payments }) => payments[0]?.status === 'closed')
  await db.run(sql`
    update payments set audited_at = now(), pos = 'T7' where order_id = ${started.order._id} and channel = 'crypto'`)
  assert.equal(await comeBack(started), started.address)
  const stored = await db.one(sql`
    select audited_at, pos from payments where order_id = ${started.order._id} and channel = 'crypto'`)
  assert.deepEqual(stored, { auditedAt: null, pos: 'T7' })
})

test('what a person has decided about does not count again when the payer comes back', async () => {
  const started = await start()
  await leave(started)
  await pay(started, 20_000_000n)
  await until(started, ({ mispayments }) => mispayments[0]?.kind === 'under')
  const admin = await logInSuperAdmin(market.host)
  const { data } = await admin.get<{ mispayments: { _id: string }[] }>(`mispayments?code=${started.order.code}`)
  const ignored = await admin.post(`mispayments/${data.mispayments[0]?._id}/ignore`, { reason: 'another debt' })
  assert.equal(ignored.status, 200, ignored.text)
  assert.equal(await comeBack(started), started.address)
  await pay(started, 34_000_000n)
  await received(started, '54000000')
  assert.equal((await market.order(started.order.code)).status, 'AWAITING')
  await pay(started, 20_000_000n)
  const { paidUnits } = await until(started, ({ status }) => status === 'PAID')
  assert.equal(paidUnits, '54000000')
})

test('an address whose money a screening has blocked, or sent back, is not shown again', async () => {
  for (const status of ['blocked', 'returned']) {
    const started = await start()
    await leave(started)
    await market.host.db.run(sql`
      insert into screenings (company_id, id, purpose, subject_id, order_id, status, opened_at, updated_at)
      select company_id, id, 'payment', id, order_id, ${status}, now(), now() from payments
      where order_id = ${started.order._id} and channel = 'crypto'`)
    assert.notEqual(await comeBack(started), started.address, status)
  }
})

test('an address whose watch is over is not shown again: nothing tells what came to it since', async () => {
  const started = await start()
  await leave(started)
  await market.host.db.run(sql`
    update deposit_addresses set watched_until = now() - interval '1 second'
    where address = ${started.address.toLowerCase()}`)
  assert.notEqual(await comeBack(started), started.address)
})

/** A company that is paid to its own wallet, and the orders of its payers. */
async function openOwn() {
  const person = await registerManager(market.host.baseUrl)
  const manager = await logIn(market.host.baseUrl, person.email)
  const { data } = await manager.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const accept = (code: string, paymentChannel: string) =>
    manager.post<Record<string, string>>(`confirm_conversion/accept/${code}`, { paymentChannel })
  return {
    accept,
    async save(settings: Record<string, string>): Promise<void> {
      const saved = await manager.call('PUT', 'channel-accounts/crypto', { settings })
      assert.equal(saved.status, 200, saved.text)
    },
    async start() {
      const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: data.collectors[0]?.identifier }
      const { order } = (await manager.post<{ order: OrderData }>('confirm_conversion/request', body)).data
      const first = await accept(order.code, 'crypto')
      assert.equal(first.data?.status, 'AWAITING', first.text)
      return { order, first: first.data }
    },
  }
}

const newAddress = (): string => getAddress(`0x${randomBytes(20).toString('hex')}`)
const hourLater = (orderId: string) =>
  market.host.db.run(sql`
    update payments set closed_at = closed_at - interval '61 minutes'
    where order_id = ${orderId} and channel = 'crypto' and closed_at is not null`)

for (const [mode, settings] of [
  ['xpub', { XPUB: newTestXpub() }],
  ['pool', { ADDRESSES: newAddress() }],
  ['static', { ADDRESSES: newAddress() }],
] as const)
  test(`the wallet of a company, ${mode}: the same address and amount again, also an hour later`, async () => {
    const own = await openOwn()
    await own.save({ MODE: mode, ...settings })
    const { order, first } = await own.start()
    assert.equal((await own.accept(order.code, 'binance')).status, 200)
    await eventually(
      () => market.story(order._id),
      ({ payments }) => payments[0]?.status === 'closed',
    )
    await hourLater(order._id)
    const again = await own.accept(order.code, 'crypto')
    assert.deepEqual([again.data?.toAddress, again.data?.tokenAmount], [first.toAddress, first.tokenAmount], again.text)
    await market.chain.pay({ to: first.toAddress ?? '', units: BigInt(first.tokenAmount?.replace('.', '') ?? 0) })
    await market.chain.mine(FINAL_AFTER - 1)
    await market.reaches(order.code, 'PAID')
    assert.deepEqual((await market.story(order._id)).mispayments, [])
  })

test('an address of a pool that serves another order since is not shown to the payer who comes back', async () => {
  const own = await openOwn()
  const [one, two] = [newAddress(), newAddress()]
  await own.save({ MODE: 'pool', ADDRESSES: one })
  const { order, first } = await own.start()
  assert.equal(first.toAddress, one)
  assert.equal((await own.accept(order.code, 'binance')).status, 200)
  await eventually(
    () => market.story(order._id),
    ({ payments }) => payments[0]?.status === 'closed',
  )
  await hourLater(order._id)
  assert.equal((await own.start()).first.toAddress, one)
  const none = await own.accept(order.code, 'crypto')
  assert.equal(none.error?.code, 'CHANNEL_NOT_AVAILABLE', none.text)
  await own.save({ MODE: 'pool', ADDRESSES: `${one},${two}` })
  assert.equal((await own.accept(order.code, 'crypto')).data?.toAddress, two)
  // nor one that receives settlements, as an earlier version allowed
  const three = newAddress()
  await own.save({ MODE: 'pool', ADDRESSES: `${one},${two},${three}` })
  assert.equal((await own.accept(order.code, 'binance')).status, 200)
  await market.host.db.run(sql`
    update companies set settlement_address = ${two}
    where id = (select company_id from orders where id = ${order._id})`)
  assert.equal((await own.accept(order.code, 'crypto')).data?.toAddress, three)
})

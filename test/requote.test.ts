import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { sql } from '../src/db/db.ts'
import { quotedAgo } from './harness/earlier-orders.ts'
import { type MoneyDesk, openMoneyDesk } from './harness/money.ts'
import { eventually } from './harness/service.ts'
import { type OrderData, openShop, type Payable, type Shop } from './harness/shop.ts'

/* An ended order that nobody has paid is accepted again at a fresh rate; a link may take one each few minutes
   (through other channels: `link-rate.test.ts`). */

let shop: Shop
let desk: MoneyDesk

before(async () => {
  shop = await openShop({ allEvents: true })
  desk = await openMoneyDesk(shop)
})
after(() => shop?.stop())

const FRESH = '54.000000'
const { stringify } = JSON
const statusOf = async (code: string): Promise<OrderData> =>
  (await shop.host.call<OrderData>('GET', `status/${code}`, { as: shop.merchant })).data
const end = (code: string, how = 'expire') => shop.host.call('POST', `${how}/${code}`, { as: shop.merchant })
const accept = (code: string, more: Record<string, unknown> = {}) =>
  shop.accept(code, { network: shop.chain.chainId, ...more })
const requote = (code: string) => accept(code, { requote: true })
const setting = (fields: ReturnType<typeof sql>) =>
  shop.host.db.run(sql`update companies set ${fields} where id = ${shop.merchant.companyId}`)
/** As if the rate had been 1.00 when the order was made. */
const makeDear = (orderId: string) =>
  shop.host.db.run(sql`update orders set rate = 1, to_units = 50000000 where id = ${orderId}`)
const endedAgo = (orderId: string, seconds: number) =>
  shop.host.db.run(sql`
    update order_events set at = now() - make_interval(secs => ${seconds})
    where order_id = ${orderId} and to_status in ('EXPIRED', 'ERROR')`)

test('an expired order is payable again at a fresh rate, with the same code, and announces nothing twice', async () => {
  const order = await shop.createAwaiting()
  await makeDear(order.orderId)
  await end(order.code)
  const plain = await accept(order.code)
  assert.deepEqual([plain.status, plain.error.code], [409, 'ORDER_STATE_CONFLICT'])
  const before = await statusOf(order.code)
  assert.deepEqual([before.status, before.toAmount], ['EXPIRED', '50.000000'])
  const again = await requote(order.code)
  assert.equal(again.status, 200, again.text)
  assert.deepEqual([again.data.status, again.data.tokenAmount], ['AWAITING', FRESH])
  assert.notEqual(again.data.toAddress, order.toAddress)
  const now = await statusOf(order.code)
  assert.deepEqual([now.status, now.toAmount, now.rate], ['AWAITING', FRESH, '1.08'])
  assert.ok(new Date(String(now.expiresAt)) > new Date())
  await shop.chain.pay({ to: again.data.toAddress, units: 54_000_000n })
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  const story = await shop.story(order.orderId)
  assert.deepEqual(
    story.history.map(({ trigger }) => trigger).filter((trigger) => trigger !== 'seePayment'),
    ['create', 'accept', 'forward', 'expire', 'requote', 'forward', 'pay'],
  )
  const events = story.deliveries.map(({ event }) => event)
  assert.deepEqual(events.length, new Set(events).size, stringify(events))
})

test('an order whose chain is not read up to its end gets no fresh rate: the payment may be in the next block', async () => {
  const order = await shop.createAwaiting()
  const readPage = async () => {
    const text = await (await fetch(`${shop.host.baseUrl}/pay?code=${order.code}`)).text()
    return text.replace(/<style>.*?<\/style>/s, '')
  }
  await shop.host.db.run(sql`
    update orders set expires_at = (select block_at from chain_heads) + interval '1 millisecond'
    where id = ${order.orderId}`)
  const waiting = await eventually(readPage, (page) => page.includes('The time to pay has run out'))
  assert.match(waiting, /We are still looking for a payment that was sent in time/)
  assert.doesNotMatch(waiting, /name="requote"/)
  const refused = await requote(order.code)
  assert.deepEqual([refused.status, refused.error.code], [409, 'ORDER_STATE_CONFLICT'])
  assert.match(refused.error.message, /Do not pay again/)
  assert.equal((await statusOf(order.code)).status, 'AWAITING')
  const minePage = async () => {
    // a block may have the second of the one before
    await shop.chain.mine()
    return readPage()
  }
  await eventually(minePage, (page) => page.includes('name="requote"'))
  assert.equal((await requote(order.code)).status, 200)
})

test('what is sent to the old address counts only at the price that the order has now', async () => {
  const order = await shop.createAwaiting()
  await shop.host.db.run(sql`update payments set due_units = 50000000 where order_id = ${order.orderId}`)
  await makeDear(order.orderId)
  await end(order.code)
  assert.equal((await requote(order.code)).status, 200)
  await shop.chain.pay({ to: order.toAddress, units: 50_000_000n })
  await shop.makeFinal()
  const held = await eventually(
    () => shop.story(order.orderId),
    ({ mispayments }) => mispayments.length > 0,
  )
  assert.deepEqual([held.status, held.mispayments[0]?.kind, held.mispayments[0]?.status], ['AWAITING', 'under', 'open'])
  await shop.chain.pay({ to: order.toAddress, units: 4_000_000n })
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
})

/** An order whose first address was shown with this price; the fresh one is 54 USDC. */
async function createRequoted(units: bigint): Promise<Payable> {
  const order = await shop.createAwaiting()
  await shop.host.db.run(sql`update payments set due_units = ${units} where order_id = ${order.orderId}`)
  await shop.host.db.run(sql`
    update orders set rate = ${units}::numeric / 50000000, to_units = ${units} where id = ${order.orderId}`)
  await end(order.code)
  const again = await requote(order.code)
  assert.deepEqual([again.status, again.data?.tokenAmount], [200, FRESH], again.text)
  return order
}

for (const [what, old] of [
  ['higher', 50_000_000n],
  ['lower', 60_000_000n],
] as const)
  test(`the old address takes the fresh price, a ${what} one: the merchant gets that, and the rest is too much`, async () => {
    const order = await createRequoted(old)
    const before = await desk.payable()
    await desk.payFinally(order, 54_000_000n)
    await shop.reaches(order.code, 'PAID')
    assert.equal((await desk.payable()) - before, 54_000_000n)
    assert.deepEqual((await shop.story(order.orderId)).mispayments, [])
    const tipped = await createRequoted(old)
    await desk.payFinally(tipped, 60_000_000n)
    await desk.openRecord(tipped, 'over', 6_000_000n)
    assert.equal((await desk.payable()) - before, 108_000_000n)
    await desk.checkBooks()
  })

test('less than the fresh price at the old address, accepted by a person, is the price', async () => {
  const order = await createRequoted(50_000_000n)
  const before = await desk.payable()
  await desk.payFinally(order, 52_000_000n)
  const record = await desk.openRecord(order, 'under', 52_000_000n)
  assert.equal((await desk.admin.post(`mispayments/${record._id}/accept`, {})).status, 200)
  assert.equal((await desk.payable()) - before, 52_000_000n)
  await desk.checkBooks()
})

/** The address that is shown after a requote. */
async function requoted(): Promise<{ old: Payable; shown: Payable }> {
  const old = await shop.createAwaiting()
  await end(old.code)
  const { data, text } = await requote(old.code)
  assert.equal(data?.status, 'AWAITING', text)
  return { old, shown: { ...old, toAddress: data.toAddress } }
}

const PART = 20_000_000n

test('the price at the old address is seen on the page before it is final, and its payer cannot cancel', async () => {
  const { old } = await requoted()
  const url = `${shop.host.baseUrl}/pay`
  const before = await (await fetch(`${url}?code=${old.code}`)).text()
  assert.match(before, /\/pay\/cancel/)
  const [, token = ''] = /name="token" value="([^"]+)"/.exec(before) ?? []
  await shop.chain.pay({ to: old.toAddress, units: old.units })
  const seen = await eventually(
    () => desk.pageOf(old),
    (page) => !page.includes('Waiting for your payment'),
  )
  assert.match(seen, /Payment received, confirming .*Received 54\.00 USDC/)
  const body = new URLSearchParams({ code: old.code, token })
  const cancelled = await fetch(`${url}/cancel`, { method: 'POST', redirect: 'manual', body })
  assert.equal(cancelled.headers.get('location'), `/pay?code=${old.code}&problem=ORDER_STATE_CONFLICT`)
  assert.equal((await statusOf(old.code)).status, 'AWAITING')
  await shop.makeFinal()
  await shop.reaches(old.code, 'PAID')
})

test('a part at the old address is named beside the fresh price, and is too much once that is paid', async () => {
  const { old, shown } = await requoted()
  await desk.payFinally(old, PART)
  await desk.openRecord(old, 'under', PART)
  const waiting = await desk.pageOf(old)
  assert.match(waiting, /20\.00 USDC came through an earlier attempt .*Waiting for your payment .*Amount 54\.00 USDC/)
  assert.doesNotMatch(waiting, /Cancel this order/)
  await desk.payFinally(shown, shown.units)
  await shop.reaches(old.code, 'PAID')
  const paid = await desk.pageOf(old)
  assert.match(paid, /Paid, and more than needed .*You sent 20\.00 USDC too much.*Received 54\.00 USDC/)
})

for (const how of ['cancel', 'expire'])
  test(`a part at the old address is named on the page after ${how} too`, async () => {
    const { old } = await requoted()
    await desk.payFinally(old, PART)
    await desk.openRecord(old, 'under', PART)
    await end(old.code, how)
    const page = await desk.pageOf(old)
    assert.match(page, /Money has arrived, but the order is not paid .*We received 20\.00 USDC/)
    assert.doesNotMatch(page, /not been charged|Get a new price/)
  })

test('the time for it is the company’s, counted from the first end: both sides of the limit, and never with 0', async () => {
  const order = await shop.createAwaiting()
  await end(order.code)
  await endedAgo(order.orderId, 24 * 3600 + 1)
  const late = await requote(order.code)
  assert.deepEqual([late.status, late.error.code], [409, 'ORDER_STATE_CONFLICT'])
  assert.equal((await statusOf(order.code)).status, 'EXPIRED')
  await endedAgo(order.orderId, 24 * 3600 - 30)
  assert.equal((await requote(order.code)).status, 200)
  await end(order.code)
  await shop.host.db.run(sql`update order_events set at = at - interval '1 minute'
    where order_id = ${order.orderId} and seq = 4`)
  assert.equal((await requote(order.code)).error.code, 'ORDER_STATE_CONFLICT')
  const other = await shop.createAwaiting()
  await end(other.code)
  await setting(sql`requote_hours = 0`)
  await endedAgo(other.orderId, 1)
  assert.equal((await requote(other.code)).error.code, 'ORDER_STATE_CONFLICT')
  await setting(sql`requote_hours = 24`)
})

test('a failed order may, a cancelled one may not', async () => {
  const failed = await shop.createAwaiting()
  await end(failed.code)
  await shop.host.db.run(sql`update orders set status = 'ERROR' where id = ${failed.orderId}`)
  assert.equal((await requote(failed.code)).data.status, 'AWAITING')
  const cancelled = await shop.createAwaiting()
  await end(cancelled.code, 'cancel')
  assert.equal((await requote(cancelled.code)).error.code, 'ORDER_STATE_CONFLICT')
  assert.equal((await statusOf(cancelled.code)).status, 'CANCELLED')
})

test('money that came, or is on its way, keeps its rate, also once it is ignored; dust does not count', async () => {
  const part = await shop.createAwaiting()
  await shop.chain.pay({ to: part.toAddress, units: 20_000_000n })
  await eventually(
    () => shop.story(part.orderId),
    ({ payments }) => payments[0]?.status === 'confirming',
  )
  await end(part.code)
  assert.equal((await requote(part.code)).error.code, 'ORDER_STATE_CONFLICT')
  await shop.makeFinal()
  await eventually(
    () => shop.story(part.orderId),
    ({ payments }) => payments[0]?.receivedUnits === '20000000',
  )
  assert.equal((await requote(part.code)).error.code, 'ORDER_STATE_CONFLICT')
  assert.equal((await desk.ignore(await desk.openRecord(part, 'under', 20_000_000n))).status, 200)
  assert.match((await requote(part.code)).text, /has arrived or is on its way/)
  assert.equal((await statusOf(part.code)).status, 'EXPIRED')
  const dusty = await shop.createAwaiting()
  await shop.chain.pay({ to: dusty.toAddress, units: 9_999n })
  await shop.makeFinal()
  await eventually(
    () => shop.story(dusty.orderId),
    ({ payments }) => payments[0]?.receivedUnits === '9999',
  )
  await end(dusty.code)
  assert.equal((await requote(dusty.code)).status, 200)
})

test('a newer order with the same reference, open or paid, is the one to pay', async () => {
  const alias = `INV-${crypto.randomUUID()}`
  const old = await shop.createAwaiting({ alias })
  await end(old.code)
  const newer = await shop.createAwaiting({ alias })
  assert.equal((await requote(old.code)).error.code, 'ORDER_STATE_CONFLICT')
  await shop.chain.pay({ to: newer.toAddress, units: newer.units })
  await shop.makeFinal()
  await shop.reaches(newer.code, 'PAID')
  assert.equal((await requote(old.code)).error.code, 'ORDER_STATE_CONFLICT')
  assert.equal((await statusOf(old.code)).status, 'EXPIRED')
})

test('a cart that was ordered again at a higher price is not paid by late money at the address of its old order', async () => {
  const alias = `CART-${crypto.randomUUID()}`
  const old = await shop.createAwaiting({ alias, amount: '29.90' })
  await end(old.code)
  const dearer = await shop.createAwaiting({ alias, amount: '299.00' })
  await desk.payFinally(old, old.units)
  await desk.openRecord(old, 'late', old.units)
  assert.equal((await statusOf(old.code)).status, 'EXPIRED')
  const found = await shop.host.call<OrderData>('GET', `status/order/${alias}`, { as: shop.merchant })
  assert.deepEqual([found.data.code, found.data.status], [dearer.code, 'AWAITING'])
})

const SITE = 'https://shop.example'

/** A session of a shop's server, and what a buyer does with it. */
async function openSession(orderRef = `BASKET-${crypto.randomUUID()}`) {
  const { host, merchant } = shop
  const button = crypto.randomUUID().replaceAll('-', '').slice(0, 24)
  await host.db.run(sql`
    insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency, created_at, updated_at)
    values (${button}, ${merchant.companyId}, 'B', ${SITE}, ${SITE}, '50.00', 'EUR', now(), now())`)
  const make = () =>
    host.call<{ _id: string; code: string }>('POST', '/api/next/buy-button/sessions', {
      ...{ as: merchant, body: { button, orderRef } },
    })
  const { data, text } = await make()
  assert.ok(data, text)
  const land = async (query: Record<string, string>) => {
    const url = `${host.baseUrl}/buy-button/landing?${new URLSearchParams(query)}`
    const answer = await fetch(url, { method: 'POST', headers: { origin: host.baseUrl } })
    return { status: answer.status, code: /code=(\w{24,})/.exec(await answer.text())?.[1] }
  }
  return {
    ...{ button, orderRef, make },
    order: () => {
      const body = { amount: '50.00', fromAsset: 'EUR', websiteUrl: SITE, sessionId: data._id }
      return host.call<{ code: string; order: OrderData }>('POST', 'request', { as: merchant, body })
    },
    land: () => land({ session: data.code }),
    landAtButton: () => land({ id: button, orderRef }),
  }
}

/** An ended order, and the instructions that its payer has kept. */
async function makeEnded(order: () => Promise<{ code: string }>) {
  const { code } = await order()
  const { data, text } = await accept(code)
  assert.ok(data, text)
  await end(code)
  return { code, ...data }
}

async function payLate({ code, toAddress }: { code: string; toAddress: string }): Promise<void> {
  await shop.chain.pay({ to: toAddress, units: 54_000_000n })
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
}

test('a reference with several ended orders is sold once: one is reopened, and none after an earlier one was paid', async () => {
  const alias = `INV-${crypto.randomUUID()}`
  const make = () => makeEnded(() => shop.create({ alias }))
  const [old, newer] = [await make(), await make()]
  assert.equal((await requote(old.code)).status, 200)
  assert.equal((await requote(newer.code)).error.code, 'ORDER_STATE_CONFLICT')
  await end(old.code)
  await payLate(old)
  assert.equal((await requote(newer.code)).error.code, 'ORDER_STATE_CONFLICT')
  const next = await make()
  assert.equal((await requote(next.code)).status, 200, 'a reference that was paid before may be used again')
})

test('a session with several ended orders sells once: an earlier one that is open again, or paid, is the one', async () => {
  const session = await openSession()
  const make = () => makeEnded(async () => (await session.order()).data)
  const [old, newer] = [await make(), await make()]
  assert.equal((await requote(old.code)).status, 200)
  assert.equal((await requote(newer.code)).error.code, 'ORDER_STATE_CONFLICT')
  assert.equal((await session.order()).error.code, 'UNKNOWN_SESSION')
  assert.equal((await session.land()).code, old.code)
  await end(old.code)
  await payLate(old)
  assert.equal((await requote(newer.code)).error.code, 'ORDER_STATE_CONFLICT')
  assert.equal((await session.order()).error.code, 'UNKNOWN_SESSION')
  assert.equal((await session.land()).code, old.code)
  assert.equal((await session.landAtButton()).status, 409)
  assert.equal((await session.make()).status, 200, 'the reference of what was paid is free again')
})

/** Reopens the second order while another connection reopens the first one and has not committed yet. */
async function requoteBoth(first: string, second: string) {
  const client = new pg.Client({ connectionString: shop.host.connectionString })
  await client.connect()
  try {
    await client.query('begin')
    await client.query(
      `select pg_advisory_xact_lock(hashtextextended('reference ' || s.company_id || ' ' || s.order_ref, 0))
       from button_sessions s join orders o on o.button_session_id = s.id where o.code = $1`,
      [first],
    )
    await client.query(`update orders set status = 'AWAITING' where code = $1`, [first])
    const answer = requote(second)
    // workers may wait too, but for the order itself
    const waits = () =>
      shop.host.db.one<{ count: number }>(sql`select count(*)::int as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
          and (query like '%update orders set%' or query like '%hashtextextended%')`)
    await Promise.race([answer, eventually(waits, ({ count }) => count > 0)])
    await client.query('commit')
    return await answer
  } finally {
    await client.end()
  }
}

test('of two orders that are reopened at the same moment one stays ended: of a reference, and of a session', async () => {
  const alias = `INV-${crypto.randomUUID()}`
  const session = await openSession()
  const ways = [() => shop.create({ alias }), async () => (await session.order()).data]
  for (const make of ways) {
    const [first, second] = [await makeEnded(make), await makeEnded(make)]
    const lost = await requoteBoth(first.code, second.code)
    assert.deepEqual([lost.status, lost.error?.code], [409, 'ORDER_STATE_CONFLICT'], lost.text)
    assert.equal((await statusOf(second.code)).status, 'EXPIRED')
  }
})

/** As if the present attempt had been chosen so long ago. */
const chosenAgo = (orderId: string, seconds: number) =>
  shop.host.db.run(sql`
    update payments set opened_at = now() - make_interval(secs => ${seconds}) where order_id = ${orderId}`)

test('a link of a company that wants it takes a fresh rate when its own and that of the attempt are old, not before', async () => {
  await setting(sql`link_quote_minutes = 10`)
  const alias = `INV-${crypto.randomUUID()}`
  const link = await shop.createAwaiting({ alias })
  const { expiresAt } = await statusOf(link.code)
  await makeDear(link.orderId)
  const isSame = async () => {
    assert.equal((await accept(link.code)).data.toAddress, link.toAddress)
    assert.equal((await statusOf(link.code)).toAmount, '50.000000')
  }
  await quotedAgo(shop.host.db, link.orderId, 10 * 60 - 20)
  await isSame()
  // the attempt that the payer was shown keeps its price for ten minutes of its own
  await quotedAgo(shop.host.db, link.orderId, 19 * 60)
  await isSame()
  await chosenAgo(link.orderId, 10 * 60 - 20)
  await isSame()
  await chosenAgo(link.orderId, 10 * 60 + 1)
  const fresh = await accept(link.code)
  assert.equal(fresh.data.tokenAmount, FRESH)
  const now = await statusOf(link.code)
  assert.deepEqual([now.toAmount, now.expiresAt], [FRESH, expiresAt])
  await setting(sql`link_quote_minutes = null`)
})

test('the page of such a link promises its rate as long as it holds, and for what it holds', async () => {
  await setting(sql`link_quote_minutes = 10`)
  const { code, _id: orderId } = await shop.create({ alias: `INV-${crypto.randomUUID()}`, expiryMinutes: 60 })
  const read = (lang = 'en') => desk.pageOf({ code, orderId, toAddress: '', units: 0n }, lang)
  const chosen = /valid until [^·]* · the rate is fixed when you choose how to pay/
  assert.match(await read(), chosen)
  await accept(code)
  const page = await read()
  const held = /valid until [^·]* · the amount shown holds for this way to pay until (\d+ \w+ \d+, [\d:]+ UTC)/
  const [, until = ''] = held.exec(page) ?? []
  const leftMs = new Date(until).getTime() - Date.now()
  assert.ok(leftMs > 8 * 60_000 && leftMs <= 10 * 60_000, page)
  const words = [/pour ce moyen de paiement/, /für diese Zahlungsart/, /questo modo di pagare/, /esta forma de pago/]
  for (const [index, lang] of ['fr', 'de', 'it', 'es'].entries()) assert.match(await read(lang), words[index] ?? /^$/)
  assert.doesNotMatch(page, /guaranteed/)
  await quotedAgo(shop.host.db, orderId, 11 * 60)
  await chosenAgo(orderId, 11 * 60)
  assert.match(await read(), chosen)
  await setting(sql`link_quote_minutes = 90`)
  assert.match(await read(), /This rate is guaranteed until the time runs out\./, 'it ends before its rate is old')
  await setting(sql`link_quote_minutes = null`)
  assert.match(await read(), /This rate is guaranteed until the time runs out\./)
})

test('a link keeps its old rate while it has money, and takes a fresh one when that was ignored', async () => {
  await setting(sql`link_quote_minutes = 10`)
  const link = await shop.createAwaiting({ alias: `INV-${crypto.randomUUID()}` })
  await makeDear(link.orderId)
  await quotedAgo(shop.host.db, link.orderId, 24 * 3600)
  await chosenAgo(link.orderId, 24 * 3600)
  await desk.payFinally(link, 10_000n)
  const record = await desk.openRecord(link, 'under', 10_000n)
  assert.equal((await accept(link.code)).data.toAddress, link.toAddress)
  assert.equal((await statusOf(link.code)).toAmount, '50.000000')
  assert.equal((await desk.ignore(record)).status, 200)
  assert.equal((await accept(link.code)).status, 200)
  assert.equal((await statusOf(link.code)).toAmount, FRESH)
  await setting(sql`link_quote_minutes = null`)
})

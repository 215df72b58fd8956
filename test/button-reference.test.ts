import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { decideClick, decideSession, type ReferenceFacts } from '../src/companies/button-reference.ts'
import { sql, type Tx } from '../src/db/db.ts'
import { addButton, putOrder, readFrame, SITE } from './harness/button-pages.ts'
import { type MoneyDesk, openMoneyDesk } from './harness/money.ts'
import { eventually } from './harness/service.ts'
import { type Instructions, openShop, type Shop } from './harness/shop.ts'

/* A reference is sold once: the table of the rule, and what pages and the shop's server do by it. */

let shop: Shop
let desk: MoneyDesk
before(async () => {
  shop = await openShop()
  desk = await openMoneyDesk(shop)
})
after(() => shop?.stop())

const makeButton = (fields?: Record<string, unknown>) => addButton(shop.host, fields)
const openFrame = (path: string, headers?: Record<string, string>) => readFrame(shop.host, path, headers)
const put = (code: string | undefined, status: string) => putOrder(shop.host, code, status)

const MADE = new Date('2026-03-02T10:00:00Z')
const none: ReferenceFacts = { paidAt: null, busySession: null, stoppingSession: null }
const paidBefore = { ...none, paidAt: new Date('2026-03-02T09:00:00Z') }
const paidSince = { ...none, paidAt: new Date('2026-03-02T11:00:00Z') }
const busy = { ...none, busySession: 'another', stoppingSession: 'another' }
/** A part came to a page's order. */
const partly = { ...none, busySession: 'another' }
const FACTS = [none, paidBefore, paidSince, busy, partly]

const own = (status: string, hasMoney = false) => ({ status, isPaid: false, isHeld: false, hasMoney })
const SELLING = [
  { ...own('REFUNDED'), isPaid: true },
  ...['WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED'].map((status) => ({ ...own(status), isHeld: true })),
  ...['AWAITING', 'EXPIRED', 'CANCELLED'].map((status) => own(status, true)),
]
const ENDED = [own('EXPIRED'), own('CANCELLED'), own('ERROR'), own('KYT_FAILED')]

test('a click leads to an own order that may have money, and to a payable one only while the reference is not sold', () => {
  const click = (order: ReturnType<typeof own> | null, isTaken: boolean) =>
    FACTS.map((facts) => decideClick(facts, order, isTaken)).join(' ')
  for (const isTaken of [false, true]) {
    for (const order of [...SELLING, own('PENDING'), own('AWAITING')])
      assert.equal(click(order, isTaken), 'own own own own own', order.status)
    const unsold = (word: string) => `${isTaken ? 'taken' : word} sold sold sold sold`
    assert.equal(click(own('INITIAL'), isTaken), unsold('own'))
    for (const order of [null, ...ENDED]) assert.equal(click(order, isTaken), unsold('new'), order?.status)
  }
})

test('a session of the shop’s server sells what was paid before it was made, and nothing that was sold since', () => {
  const open = (order: ReturnType<typeof own> | null, endedAt: Date | null) =>
    FACTS.map((facts) => decideSession(facts, order, { createdAt: MADE, endedAt })).join(' ')
  for (const order of SELLING) {
    assert.equal(open(order, null), 'own own own own own', order.status)
    assert.equal(open(order, MADE), 'own own own own own', order.status)
  }
  for (const order of [own('INITIAL'), own('PENDING'), own('AWAITING')]) {
    assert.equal(
      open(order, null),
      order.status === 'INITIAL' ? 'own own sold sold own' : 'own own own own own',
      order.status,
    )
    assert.equal(open(order, MADE), 'ended ended ended ended ended', order.status)
  }
  for (const order of [null, ...ENDED]) {
    assert.equal(open(order, null), 'new new sold sold new', order?.status)
    assert.equal(open(order, MADE), 'ended ended ended ended ended', order?.status)
  }
})

test('a click and the shop’s server that take one reference at once wait in one order, and so never for each other', async () => {
  const { id, client } = await makeButton()
  const click = () => openFrame(`/buy-button/landing?id=${id}&orderRef=ORDERED-1`)
  await click()
  const waits = (tx: Tx, words: RegExp) =>
    eventually(
      async () => {
        // within a transaction the list stands still
        await tx.run(sql`select pg_stat_clear_snapshot()`)
        return tx.many<{ query: string }>(sql`
          select query from pg_stat_activity a where datname = current_database()
            and exists (select 1 from pg_locks l where l.pid = a.pid and not granted)`)
      },
      (waiting) => waiting.some(({ query }) => words.test(query)),
    )
  const { taken, clicked } = await shop.host.db.tx(async (tx) => {
    await tx.run(sql`select 1 from button_sessions where order_ref = 'ORDERED-1' for update`)
    const taken = client.post('buy-button/sessions', { button: id, orderRef: 'ORDERED-1', price: '80' })
    await waits(tx, /button_sessions/)
    const clicked = click()
    // it holds nothing yet
    await waits(tx, /from buy_buttons .* for update/s)
    return { taken, clicked }
  })
  assert.deepEqual([(await taken).status, (await clicked).answer.status], [200, 409])
})

test('a reference that is being paid, or is paid, is sold to nobody again, and each buyer is led to his own order', async () => {
  const { id } = await makeButton({ pagePrice: true })
  const land = (code = '', price = '5') =>
    openFrame(`/buy-button/landing?id=${id}&orderRef=SOLD-0001&code=${code}&price=${price}`)
  const first = (await land()).said.conversionCode ?? ''
  const second = (await land()).said.conversionCode ?? ''
  assert.notEqual(second, first)
  const alone = (code: string) => openFrame(`/buy-button/landing?id=${id}&code=${code}`)
  for (const status of ['INITIAL', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION', 'PAID', 'KYT_FAILED']) {
    await put(first, status)
    assert.equal((await land(first)).said.conversionCode, first, status)
    if (['INITIAL', 'AWAITING'].includes(status)) {
      assert.equal((await land(second)).said.conversionCode, second, status)
      continue
    }
    for (const refused of await Promise.all([land(), land(second), alone(second)])) {
      assert.deepEqual([refused.answer.status, refused.said], [409, {}], status)
      assert.match(refused.text, /arrived, is being confirmed or is under review/)
    }
  }
  // its address was shown, so that money may be on its way
  await put(second, 'AWAITING')
  assert.equal((await land(second)).said.conversionCode, second)
  await put(second, 'EXPIRED')
  for (const refused of await Promise.all([land(second), alone(second)])) assert.equal(refused.answer.status, 409)
  await put(first, 'CANCELLED')
  assert.equal((await land(first)).answer.status, 200)
})

test('a script that sends another code behind that of its order, or a blank, is led to its order', async () => {
  const { id } = await makeButton()
  const land = async (code: string) =>
    (await openFrame(`/buy-button/landing?id=${id}&orderRef=BLANK-001&code=${code}`)).said.conversionCode
  const code = await land('')
  for (const blank of ['%20', `%20${code}`, '+earlier']) assert.equal(await land(`${code}${blank}`), code, blank)
})

test('a part of a page’s order stops no sale of the shop’s server, its whole price does; its buyer keeps it', async () => {
  const { id, client } = await makeButton()
  const land = (code = '') => openFrame(`/buy-button/landing?id=${id}&orderRef=PARTLY-001&code=${code}`)
  const { conversionCode: code, sessionId } = (await land()).said
  const { data } = await client.post<Instructions>(`confirm_conversion/accept/${code}`, { paymentChannel: 'crypto' })
  const due = Number(data.tokenAmount.replace('.', ''))
  const take = () => client.post<{ code: string }>('buy-button/sessions', { button: id, orderRef: 'PARTLY-001' })
  const receive = (units: number) =>
    shop.host.db.run(sql`
      update payments set received_units = ${units} where order_id = (select id from orders where code = ${code})`)
  await receive(due)
  const refused = await take()
  assert.deepEqual([refused.status, refused.text.includes(sessionId)], [409, true], refused.text)
  await receive(due - 1)
  assert.equal((await land()).answer.status, 409, 'another page has no word against it')
  const taken = await take()
  assert.equal(taken.status, 200, taken.text)
  const session = await openFrame(`/buy-button/landing?session=${taken.data.code}`)
  assert.equal(session.answer.status, 200)
  assert.equal((await land(code)).said.conversionCode, code)
  await receive(due)
  await put(session.said.conversionCode, 'EXPIRED')
  assert.equal((await openFrame(`/buy-button/landing?session=${taken.data.code}`)).answer.status, 409)
})

test('a reference that the shop’s server has is answered with its own order, or one that sold it since at its price', async () => {
  const { id, client } = await makeButton({ price: '1' })
  const take = async (orderRef: string, price: string) => {
    const taken = await client.post<{ _id: string; code: string }>('buy-button/sessions', {
      button: id,
      orderRef,
      price,
    })
    assert.equal(taken.status, 200, taken.text)
    return taken.data
  }
  const pay = (code: string | undefined, when: string) =>
    shop.host.db.run(sql`
      update orders set status = 'PAID', paid_at = now() + ${when}::interval where code = ${code}`)
  const land = async (orderRef: string) =>
    (await openFrame(`/buy-button/landing?id=${id}&orderRef=${orderRef}`)).said.conversionCode
  const answers = async (orderRef: string) => {
    const said = []
    for (const { data } of [
      await client.get<{ fromAmount: string } | null>(`confirm_conversion/status/order/${orderRef}`),
      await shop.host.call<{ fromAmount: string } | null>('GET', `status/order/${orderRef}`),
    ])
      said.push(data?.fromAmount ?? null)
    return said
  }
  const before = await land('CHEAP-0001')
  await pay(before, '-1 second')
  assert.deepEqual(await answers('CHEAP-0001'), ['1.00', '1.00'])
  const session = await take('CHEAP-0001', '999')
  assert.deepEqual(await answers('CHEAP-0001'), [null, null])
  await pay(before, '1 second')
  assert.deepEqual(await answers('CHEAP-0001'), [null, null], 'nor where its buyer waited for the server')
  await pay(before, '-1 second')
  await openFrame(`/buy-button/landing?session=${session.code}`)
  assert.deepEqual(await answers('CHEAP-0001'), ['999.00', '999.00'])
  const other = await land('CHEAP-0002')
  await take('CHEAP-0002', '1')
  assert.deepEqual(await answers('CHEAP-0002'), [null, null])
  await pay(other, '1 second')
  assert.deepEqual(await answers('CHEAP-0002'), ['1.00', '1.00'], 'an honest buyer paid the page’s order')
  await land('CHEAP-0003')
  const given = await take('CHEAP-0003', '999')
  assert.deepEqual(await answers('CHEAP-0003'), [null, null])
  assert.equal((await client.call('DELETE', `/api/next/buy-button/sessions/${given._id}`)).status, 200)
  assert.deepEqual(await answers('CHEAP-0003'), ['1.00', '1.00'], 'the server sells it no more')
})

test('what a session of the shop’s server sold, no page sells once it has ended; its buyer is led to his order', async () => {
  const { id, client } = await makeButton()
  for (const status of ['PAID', 'WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED']) {
    const fields = { button: id, orderRef: `ENDED-${status}`, price: '80' }
    const { data } = await client.post<{ _id: string; code: string }>('buy-button/sessions', fields)
    const { said } = await openFrame(`/buy-button/landing?session=${data.code}`)
    await put(said.conversionCode, status)
    const end = () => client.call('DELETE', `/api/next/buy-button/sessions/${data._id}`)
    assert.equal((await end()).status, status === 'PAID' ? 200 : 409, status)
    const page = await openFrame(`/buy-button/landing?id=${id}&orderRef=ENDED-${status}`)
    assert.deepEqual([page.answer.status, page.said], [409, {}], status)
    assert.deepEqual((await openFrame(`/buy-button/landing?session=${data.code}`)).said, said, status)
    await put(said.conversionCode, 'EXPIRED')
    assert.equal((await end()).status, 200)
    assert.equal((await openFrame(`/buy-button/landing?session=${data.code}`)).answer.status, 400)
  }
})

test('a session of the shop’s server makes no order once the page’s order that it replaced has a payment', async () => {
  const { id, client } = await makeButton()
  const page = (await openFrame(`/buy-button/landing?id=${id}&orderRef=LATER-0001`)).said
  const fields = { button: id, orderRef: 'LATER-0001' }
  const { data } = await client.post<{ _id: string; code: string }>('buy-button/sessions', fields)
  const open = () => openFrame(`/buy-button/landing?session=${data.code}`)
  const { websiteUrl } = SITE
  const request = () =>
    client.post('confirm_conversion/request', { amount: '5', fromAsset: 'EUR', websiteUrl, sessionId: data._id })
  for (const status of ['WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED', 'PAID']) {
    await put(page.conversionCode, status)
    const { answer, said, text } = await open()
    assert.deepEqual([answer.status, said], [409, {}], status)
    assert.match(text, /already has a payment/)
    assert.match(answer.headers.get('content-security-policy') ?? '', /frame-ancestors https:\/\/tea\.example$/)
    const made = await request()
    assert.deepEqual([made.status, made.error.code], [409, 'ORDER_STATE_CONFLICT'], made.text)
  }
  await put(page.conversionCode, 'EXPIRED')
  const { answer, said } = await open()
  assert.equal(answer.status, 200)
  await put(said.conversionCode, 'KYT_FAILED')
  assert.equal((await request()).status, 409, 'its own order is under review')
  await put(said.conversionCode, 'EXPIRED')
  assert.equal((await request()).status, 200)
})

test('the shop’s server takes a reference over from a page, unless that is being paid, and reads which session has it', async () => {
  const { id, client } = await makeButton()
  const take = async (orderRef: string) =>
    client.post<{ _id: string; code: string }>('buy-button/sessions', { button: id, orderRef })
  const open = (orderRef: string) => openFrame(`/buy-button/landing?id=${id}&orderRef=${orderRef}`)
  const page = (await open('TAKEN-001')).said
  const taken = await take('TAKEN-001')
  assert.equal(taken.status, 200, taken.text)
  const known = await openFrame(`/buy-button/landing?id=${id}&orderRef=TAKEN-001&code=${page.conversionCode}`)
  assert.equal(known.answer.status, 409, 'an open order of the page does not undercut the server')
  const again = await take('TAKEN-001')
  assert.deepEqual([again.status, again.text.includes(taken.data._id)], [409, true], again.text)
  for (const status of ['WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED']) {
    const { said } = await open(`TAKEN-${status}`)
    // a second tab, or a stranger, ends the session of the first
    for (const other of [undefined, await open(`TAKEN-${status}`)]) {
      await put(said.conversionCode, status)
      const refused = await take(`TAKEN-${status}`)
      assert.deepEqual([refused.status, refused.text.includes(said.sessionId)], [409, true], refused.text)
      assert.doesNotMatch(refused.text, /DELETE/, other ? 'ended' : 'live')
      await put(said.conversionCode, 'INITIAL')
    }
  }
})

test('an order of a sold reference is accepted at its own URL only if a way to pay was chosen for it before', async () => {
  const { id, client } = await makeButton()
  const land = async (orderRef: string) =>
    (await openFrame(`/buy-button/landing?id=${id}&orderRef=${orderRef}`)).said.conversionCode ?? ''
  const [first, second] = [await land('ACCEPTED-1'), await land('ACCEPTED-1')]
  const accept = (code: string, more = {}) =>
    client.post(`confirm_conversion/accept/${code}`, { paymentChannel: 'crypto', ...more })
  for (const status of ['PAID', 'WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED']) {
    await put(first, status)
    const refused = await accept(second)
    assert.deepEqual([refused.status, refused.error.code], [409, 'ORDER_STATE_CONFLICT'], refused.text)
    assert.match(refused.text, /already has a payment/)
  }
  const page = `${shop.host.baseUrl}/pay`
  const [, token = ''] = /name="token" value="([^"]+)"/.exec(await (await fetch(`${page}?code=${second}`)).text()) ?? []
  const body = new URLSearchParams({ code: second, token, paymentChannel: 'crypto' })
  const told = await (await fetch(`${page}/accept`, { method: 'POST', body })).text()
  assert.match(told, /role="alert">This purchase already has a payment. It has arrived, is being confirmed/)
  await put(first, 'CANCELLED')
  assert.equal((await accept(second)).status, 200)
  await put(first, 'PAID')
  assert.equal((await accept(second)).status, 200, 'its address was shown')
  await put(second, 'EXPIRED')
  assert.match((await accept(second, { requote: true })).text, /Another order for the same purchase/)
})

type Facts = { status: string; payment: string; received: string; seen: boolean; records: number }

/** Clicks for a reference of its own button, and chooses the wallet for its first order. */
async function sellOn(orderRef: string) {
  const { id, client } = await makeButton()
  const land = async (code = '') => {
    const { answer, said } = await openFrame(`/buy-button/landing?id=${id}&orderRef=${orderRef}&code=${code}`)
    return { status: answer.status, code: said.conversionCode, said }
  }
  const { code = '', said } = await land()
  const accept = () =>
    client.post<Instructions>(`confirm_conversion/accept/${code}`, {
      paymentChannel: 'crypto',
      network: shop.chain.chainId,
    })
  const { data } = await accept()
  const pay = (units: bigint) => shop.chain.pay({ to: data.toAddress, units })
  const reaches = (isThere: (facts: Facts) => boolean) =>
    eventually(
      () =>
        shop.host.db.one<Facts>(sql`
          select o.status, p.status as payment, p.received_units as received,
            exists (select 1 from chain_transfers t where t.to_address = p.deposit_address) as seen,
            (select count(*)::int from mispayments m where m.order_id = o.id) as records
          from orders o join payments p on p.id = o.payment_id where o.code = ${code}`),
      isThere,
    )
  const take = () => client.post('buy-button/sessions', { button: id, orderRef })
  return { id, client, code, said, land, pay, reaches, take, units: BigInt(data.tokenAmount.replace('.', '')) }
}

test('money on its way sells a reference before it is final, once its order is cancelled, and until it is sent back', async () => {
  const { client, code, land, pay, reaches, take, units } = await sellOn('MONEY-001')
  await pay(units / 2n)
  await reaches(({ payment }) => payment === 'confirming')
  const isSold = async () => {
    assert.equal((await land()).status, 409)
    assert.equal((await land(code)).code, code, 'its buyer is led to it')
  }
  await isSold()
  await shop.makeFinal()
  await reaches(({ received }) => received !== '0')
  assert.equal((await client.call('POST', `confirm_conversion/cancel/${code}`)).status, 200)
  await isSold()
  const [record] = await desk.recordsOf({ code })
  const refund = await desk.admin.post<{ refundId: string }>(`mispayments/${record?._id}/refund`, { reason: 'back' })
  assert.equal(refund.status, 200, refund.text)
  await isSold()
  await shop.host.db.run(sql`
    update refunds set status = 'settled', settled_at = now() where id = ${refund.data.refundId}`)
  assert.notEqual((await land(code)).code, code)
  assert.equal((await take()).status, 200)
})

test('the price of an expired order, seen but not final, leads its buyer to that order and makes no second one', async () => {
  const { code, land, pay, reaches, take, units } = await sellOn('MONEY-002')
  await shop.host.db.run(sql`update orders set status = 'EXPIRED' where code = ${code}`)
  await shop.host.db.run(
    sql`update payments set status = 'closed' where order_id = (select id from orders where code = ${code})`,
  )
  await pay(9_999n)
  await reaches(({ seen }) => seen)
  assert.equal((await land()).status, 200, 'dust is no money')
  await pay(units)
  await eventually(
    async () => (await land()).status,
    (status) => status === 409,
  )
  const { received } = await reaches(() => true)
  assert.equal(received, '0')
  assert.deepEqual([(await land(code)).code, (await take()).status], [code, 409])
})

test('an order under review holds its reference until all of its money was sent back', async () => {
  const { code, land, pay, reaches, take, units } = await sellOn('REVIEW-001')
  await pay(units)
  await reaches(({ payment }) => payment === 'confirming')
  await put(code, 'KYT_FAILED')
  await shop.makeFinal()
  await reaches(({ records }) => records === 1)
  const [record] = await desk.recordsOf({ code })
  const refund = await desk.admin.post<{ refundId: string }>(`mispayments/${record?._id}/refund`, { reason: 'back' })
  assert.equal(refund.status, 200, refund.text)
  assert.deepEqual([(await land()).status, (await land(code)).code, (await take()).status], [409, code, 409])
  await shop.host.db.run(sql`
    update refunds set status = 'settled', settled_at = now() where id = ${refund.data.refundId}`)
  const next = await land(code)
  assert.equal(next.status, 200)
  assert.notEqual(next.code, code)
  assert.equal((await take()).status, 200)
})

test('money is not accepted as the payment of an order once another order of its reference is paid', async () => {
  const { code, land, pay, reaches, units } = await sellOn('MONEY-004')
  const other = (await land()).code
  await pay(units / 2n)
  await shop.makeFinal()
  await reaches(({ records }) => records === 1)
  const [record] = await desk.recordsOf({ code })
  const accept = () => desk.admin.post(`mispayments/${record?._id}/accept`, { reason: 'enough' })
  for (const status of ['PAID', 'WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED']) {
    await put(other, status)
    const refused = await accept()
    assert.deepEqual([refused.status, refused.error.code], [409, 'ORDER_STATE_CONFLICT'], refused.text)
    assert.match(refused.error.message, new RegExp(`^Order ${other} .* Refund or ignore this money`))
  }
  await put(other, 'CANCELLED')
  assert.equal((await accept()).status, 200)
  await reaches(({ status }) => status === 'PAID')
})

test('money is accepted although another order of the reference has unpaid money, or was refunded in full', async () => {
  for (const way of ['unpaid', 'refunded']) {
    const { code, client, land, pay, reaches, units } = await sellOn(`MONEY-${way}`)
    const other = (await land()).code
    if (way === 'refunded') await put(other, 'PAID')
    else await client.post(`confirm_conversion/accept/${other}`, { paymentChannel: 'crypto' })
    await shop.host.db.run(
      way === 'refunded'
        ? sql`update orders set status = 'FULL_REFUNDED' where code = ${other}`
        : sql`update payments set received_units = 20000 where order_id = (select id from orders where code = ${other})`,
    )
    await pay(units / 2n)
    await shop.makeFinal()
    await reaches(({ records }) => records === 1)
    const [record] = await desk.recordsOf({ code })
    const accepted = await desk.admin.post(`mispayments/${record?._id}/accept`, { reason: 'enough' })
    assert.equal(accepted.status, 200, accepted.text)
  }
})

test('a coin that pays no order sells a reference while it waits for a person; dust, and one that anybody can make, does not', async () => {
  const { code, land } = await sellOn('MONEY-003')
  await put(code, 'EXPIRED')
  const record = async (asset: string, units: bigint, reference = asset) => {
    await shop.host.db.run(sql`
      insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, created_at, updated_at)
      select company_id, ${asset + units}, id, payment_id, 'wrong_token', ${asset}, ${String(units)}, ${reference}, now(), now()
      from orders where code = ${code}`)
    return (await land()).status
  }
  assert.equal(await record('USDC (0x1234…abcd)', 5_000_000n), 200)
  const least = [
    ['USDT', 10_000n],
    ['USDC.e', 10_000n],
    ['DAI', 10n ** 16n],
    ['ETH', 10n ** 13n, 'native:1:1'],
    ['PYUSD', 1n],
  ] as const
  for (const [asset, units, reference] of least) {
    if (units > 1n) assert.equal(await record(asset, units - 1n, reference), 200, asset)
    assert.equal(await record(asset, units, `${reference ?? asset}.1`), 409, asset)
    assert.equal((await land(code)).code, code)
    await shop.host.db.run(sql`update mispayments set status = 'ignored' where asset = ${asset}`)
  }
})

test('an alias of another company hides no session’s reference from who names its company', async () => {
  const { id } = await makeButton()
  await openFrame(`/buy-button/landing?id=${id}&orderRef=NAMED-001`)
  const { companyId } = await shop.host.db.one<{ companyId: string }>(
    sql`select company_id from button_sessions where order_ref = 'NAMED-001'`,
  )
  const other = await shop.host.createMerchant()
  const order = { amount: 5, fromAsset: 'EUR', merchantIdentifier: other.merchantIdentifier, alias: 'NAMED-001' }
  assert.equal((await shop.host.call('POST', 'request', { as: other, body: order })).status, 200)
  for (const named of [companyId, other.companyId])
    assert.equal((await shop.host.call('GET', `status/order/NAMED-001?companyId=${named}`)).status, 200)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { ORDER_STATUSES } from '../src/orders/order-states.ts'
import { registerManager } from './harness/accounts.ts'
import { addButton, type ButtonMade, putOrder, readFrame, SITE } from './harness/button-pages.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* Conversations of clients that were written against the older service, as they were recorded. */

const OLD = '/api/confirm_conversion'
let shop: Shop
before(async () => {
  shop = await openShop()
})
after(() => shop?.stop())

const EXPECTED: Record<string, string> = {
  ...{ INITIAL: 'state:created', PENDING: 'state:pending', AWAITING: 'state:pending', PAID: 'state:executed' },
  ...{ WAITING_CHAIN_CONFIRMATION: 'state:pending', REFUNDING: 'state:executed', REFUNDED: 'state:executed' },
  ...{ FULL_REFUNDED: 'state:executed', EXPIRED: 'state:expired', CANCELLED: 'state:cancelled' },
  ...{ ERROR: 'state:error', KYT_FAILED: 'state:error' },
}

test('status reads under /api carry data.state beside status for all twelve states, under /api/next they do not', async () => {
  const { code, _id } = await shop.create({ alias: 'CURRENTORDER-LZ-17' })
  for (const status of ORDER_STATUSES) {
    await shop.host.db.run(sql`update orders set status = ${status} where id = ${_id}`)
    for (const path of [`${OLD}/status/${code}`, `${OLD}/status/order/CURRENTORDER-LZ-17`]) {
      const { data } = await shop.host.call<{ status: string; state: string }>('GET', path, { as: shop.merchant })
      assert.deepEqual([data.status, data.state], [status, EXPECTED[status]], path)
    }
  }
  const now = await shop.host.call('GET', `status/${code}`)
  assert.ok(!('state' in now.data))
  const unknown = await shop.host.call('GET', `${OLD}/status/nope`)
  assert.deepEqual([unknown.status, unknown.error.code], [404, 'ORDER_NOT_FOUND'])
})

test('an order with a float as PHP prints it and a numeric quantity is made, and a numeric refund is taken', async () => {
  const { merchantIdentifier } = shop.merchant
  const raw = `{"amount":30.299999999999997,"fromAsset":"EUR","merchantIdentifier":"${merchantIdentifier}",
    "goods":{"goodsName":"products","goodsType":"01","goodsCategory":"Z000","goodsQuantity":2}}`
  const made = await shop.host.call<{ code: string; order: { fromAmount: string; goods: { goodsQuantity: string } } }>(
    'POST',
    `${OLD}/request`,
    { as: shop.merchant, raw },
  )
  assert.equal(made.status, 200, made.text)
  assert.deepEqual([made.data.order.fromAmount, made.data.order.goods.goodsQuantity], ['30.30', '2'])
  const { code, toAddress, units } = await shop.createAwaiting()
  await shop.chain.pay({ to: toAddress, units })
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
  const refused = await shop.host.call('POST', `${OLD}/revert/${code}`, { as: shop.merchant, raw: '{"amount":1e21}' })
  assert.equal(refused.status, 422)
  const done = await shop.host.call('POST', `${OLD}/revert/${code}`, { as: shop.merchant, raw: '{"amount":4.5}' })
  assert.equal(done.status, 200, done.text)
  const row = await shop.host.db.one<{ units: bigint }>(sql`
    select r.units from refunds r join orders o on o.id = r.order_id where o.code = ${code}`)
  assert.equal(Number(row.units), 4_500_000)
})

test('a date without a time is that whole day, UTC, on both sides', async () => {
  const { _id, code } = await shop.create()
  const at = (time: string) => shop.host.db.run(sql`update orders set created_at = ${new Date(time)} where id = ${_id}`)
  const lists = async (query: string): Promise<boolean> => {
    const { status, data, text } = await shop.host.call<{ orders: { code: string }[] }>('GET', `${OLD}?${query}`, {
      as: shop.merchant,
    })
    assert.equal(status, 200, text)
    return data.orders.some((order) => order.code === code)
  }
  for (const [time, isIn] of [
    ['2026-07-02T23:59:59.999Z', false],
    ['2026-07-03T00:00:00.000Z', true],
    ['2026-07-03T23:59:59.999Z', true],
    ['2026-07-04T00:00:00.000Z', false],
  ] as const) {
    await at(time)
    assert.equal(await lists('from=2026-07-03&to=2026-07-03&limit=100'), isIn, time)
  }
  const wrong = await shop.host.call('GET', `${OLD}?from=2026-7-3`, { as: shop.merchant })
  assert.equal(wrong.status, 422)
})

test('closing the modal deletes the session without /next, and repeating it or a stranger does no harm', async () => {
  const { client } = await registerManager(shop.host.baseUrl)
  const button = await client.post<{ _id: string }>('buy-buttons', {
    name: 'Tea',
    websiteUrl: 'https://tea.example',
    price: '5',
    currency: 'EUR',
  })
  const session = await client.post<{ _id: string }>('buy-button/sessions', {
    button: button.data._id,
    orderRef: 'CURRENTORDER-LZ-18',
  })
  const path = `/api/buy-button/sessions/${session.data._id}`
  const stranger = await shop.host.call('DELETE', path, { as: shop.merchant })
  assert.deepEqual([stranger.status, stranger.error.code], [404, 'OBJECT_NOT_FOUND'])
  const read = async () => (await client.get<{ ended: boolean }>(`buy-button/sessions/${session.data._id}`)).data
  assert.equal((await read()).ended, false)
  assert.equal((await client.call('DELETE', path)).status, 200)
  assert.equal((await read()).ended, true)
})

/* The buy button: a page of the shop, our landing page in a frame, and what passes between them. */

const makeButton = (fields?: Record<string, unknown>) => addButton(shop.host, fields)
const openFrame = (path: string, headers?: Record<string, string>) => readFrame(shop.host, path, headers)
const put = (code: string | undefined, status: string) => putOrder(shop.host, code, status)

/** As the older browser SDK writes it: brackets literal, absent values empty, a price as PHP prints it. */
const recorded = (id: string, price = '30.299999999999997', orderRef = 'CURRENTORDER-LZ-1701'): string =>
  `/buy-button/landing?id=${id}&orderRef=${orderRef}&price=${price}&currency=EUR` +
  `&callbackUrl=${encodeURIComponent('https://tea.example/module/callback')}` +
  '&goods[goodsName]=products&goods[goodsType]=01&goods[goodsCategory]=Z000&buttonName='

test('the recorded address opens a frame for the shop’s website only, and posts sessionId and conversionCode to it', async () => {
  const { id } = await makeButton({ pagePrice: true })
  const page = await fetch(shop.host.baseUrl + recorded(id))
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-security-policy') ?? '', /frame-ancestors https:\/\/tea\.example$/)
  assert.equal(page.headers.get('x-frame-options'), null)
  const before = await shop.host.db.one<{ count: string }>(sql`select count(*) from orders`)
  await fetch(shop.host.baseUrl + recorded(id))
  const unchanged = await shop.host.db.one<{ count: string }>(sql`select count(*) from orders`)
  assert.deepEqual(unchanged, before, 'following a link makes no order')

  const { origin, said, framed } = await openFrame(recorded(id))
  assert.equal(origin, 'https://tea.example')
  assert.match(said.sessionId, /^[0-9a-f]{24}$/)
  const order = await shop.host.call<Record<string, unknown>>('GET', `${OLD}/status/${said.conversionCode}`, {
    headers: { authorization: 'Bearer undefined', origin: 'https://tea.example' },
  })
  assert.deepEqual([order.data.fromAmount, order.data.state], ['30.30', 'state:created'])
  assert.equal(order.headers.get('access-control-allow-origin'), 'https://tea.example')
  assert.equal(order.headers.get('access-control-allow-credentials'), null)
  assert.equal((order.data.goods as { goodsCategory: string }).goodsCategory, 'Z000')
  const webhook = await shop.host.db.one<{ url: string }>(
    sql`select webhook_url as url from orders where code = ${said.conversionCode}`,
  )
  assert.equal(webhook.url, 'https://tea.example/module/callback')

  const pay = async (path: string) => (await fetch(shop.host.baseUrl + path)).headers
  const inFrame = await pay(framed)
  assert.match(inFrame.get('content-security-policy') ?? '', /frame-ancestors https:\/\/tea\.example$/)
  const alone = await pay(framed.replace('&embed=1', ''))
  assert.match(alone.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
  assert.equal(alone.get('x-frame-options'), 'DENY')
  // an order that came through no button
  const till = await shop.create()
  const noShop = await pay(`/pay?code=${till.code}&embed=1`)
  assert.match(noShop.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
})

test('status is polled across origins, with a preflight, by code and by orderRef; another website may not', async () => {
  const { id } = await makeButton({ websiteUrl: 'https://poll.example' })
  const { said } = await openFrame(`/buy-button/landing?id=${id}&orderRef=POLL-0001`)
  const preflight = (path: string, origin: string, method = 'GET') =>
    fetch(shop.host.baseUrl + path, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': 'authorization' },
    })
  for (const path of [`${OLD}/status/${said.conversionCode}`, `${OLD}/status/order/POLL-0001`]) {
    const allowed = await preflight(path, 'https://poll.example')
    assert.equal(allowed.status, 204)
    assert.equal(allowed.headers.get('access-control-allow-origin'), 'https://poll.example')
    assert.equal(allowed.headers.get('access-control-allow-headers'), 'authorization')
    const foreign = await preflight(path, 'https://evil.example')
    assert.equal(foreign.headers.get('access-control-allow-origin'), null)
    const { data, status } = await shop.host.call<{ state: string }>('GET', path, {
      headers: { authorization: `Bearer ${shop.host.vault.derive('stale').toString('hex')}` },
    })
    assert.deepEqual([status, data.state], [200, 'state:created'])
  }
  const other = await preflight('/api/next/confirm_conversion/request', 'https://poll.example', 'POST')
  assert.equal(other.headers.get('access-control-allow-origin'), null, 'no other path is open to the website')
  const former = await makeButton({ websiteUrl: 'https://former.example' })
  assert.equal((await former.client.call('DELETE', `/api/next/buy-buttons/${former.id}`)).status, 200)
  const gone = await preflight(`${OLD}/status/${said.conversionCode}`, 'https://former.example')
  assert.equal(gone.headers.get('access-control-allow-origin'), null, 'its button was deleted')
})

test('closing the modal ends the session with the token that the frame posted, and with no other', async () => {
  const { id, client } = await makeButton({ websiteUrl: 'https://close.example' })
  const { said } = await openFrame(`/buy-button/landing/vendorToken?id=${id}&orderRef=CLOSE-001`)
  assert.ok(said.vendorToken, 'the key has the name that the address gives')
  const path = `/api/buy-button/sessions/${said.sessionId}`
  const end = (token: string) =>
    shop.host.call('DELETE', path, {
      headers: { authorization: `Bearer ${token}`, origin: 'https://close.example' },
    })
  const ended = async () => (await client.get<{ ended: boolean }>(`buy-button/sessions/${said.sessionId}`)).data.ended
  for (const token of ['undefined', `${said.vendorToken.slice(0, -2)}xx`, 'bst_']) {
    assert.equal((await end(token)).status, 401, token)
    assert.equal(await ended(), false)
  }
  const done = await end(said.vendorToken)
  assert.equal(done.status, 200, done.text)
  assert.equal(done.headers.get('access-control-allow-origin'), 'https://close.example')
  assert.equal(await ended(), true)
  assert.equal((await end(said.vendorToken)).status, 200, 'once more does no harm')
})

test('closing the modal ends no session whose order is being paid, so that the next click leads to that order', async () => {
  const { id, client } = await makeButton()
  const land = (code = '') => openFrame(`/buy-button/landing?id=${id}&orderRef=CLOSE-002&code=${code}`)
  const { said } = await land()
  const ended = async () => (await client.get<{ ended: boolean }>(`buy-button/sessions/${said.sessionId}`)).data.ended
  for (const status of ['PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED', 'PAID', 'INITIAL']) {
    await put(said.conversionCode, status)
    const headers = { authorization: `Bearer ${said.comptoirToken}` }
    const done = await shop.host.call('DELETE', `/api/buy-button/sessions/${said.sessionId}`, { headers })
    assert.deepEqual([done.status, await ended()], [200, status === 'INITIAL'], status)
    assert.deepEqual((await land(said.conversionCode)).said, said, status)
  }
})

test('a page without a reference is led back by the code to the order of its button, until that order ends', async () => {
  const { id, client } = await makeButton()
  const others = [(await makeButton()).id, (await client.post<ButtonMade>('buy-buttons', SITE)).data._id]
  const land = async (code?: string, button = id): Promise<Record<string, string>> =>
    (await openFrame(`/buy-button/landing?id=${button}${code === undefined ? '' : `&code=${code}`}`)).said
  const first = await land()
  const code = first.conversionCode ?? ''
  assert.deepEqual(await land(code), first)
  assert.notEqual((await land()).conversionCode, code, 'another browser')
  for (const other of others) assert.notEqual((await land(code, other)).conversionCode, code, 'another button')
  for (const status of ['AWAITING', 'WAITING_CHAIN_CONFIRMATION', 'PAID']) {
    await put(code, status)
    assert.equal((await land(code)).conversionCode, code, status)
  }
  await put(code, 'EXPIRED')
  const next = (await land(code)).conversionCode
  assert.notEqual(next, code)
  assert.equal((await land(next)).conversionCode, next)
})

test('a cart that changed is paid at its new price: the order of the old one is cancelled, unless money has come', async () => {
  const { id, client } = await makeButton({ pagePrice: true })
  const land = async (query: Record<string, string>): Promise<string> => {
    const named = new URLSearchParams({ id, orderRef: 'CART-0042', currency: 'EUR', ...query })
    return (await openFrame(`/buy-button/landing?${named}`)).said.conversionCode ?? ''
  }
  const read = async (code: string): Promise<unknown[]> => {
    const { data } = await shop.host.call<Record<string, string>>('GET', `status/${code}`)
    return [data.status, data.fromAmount, data.fromAsset]
  }
  const ten = await land({ price: '10.00' })
  assert.equal(await land({ price: '10', code: ten }), ten)
  const fifty = await land({ price: '50.00', code: ten })
  assert.deepEqual(
    [await read(ten), await read(fifty)],
    [
      ['CANCELLED', '10.00', 'EUR'],
      ['INITIAL', '50.00', 'EUR'],
    ],
  )
  const francs = await land({ price: '50.00', currency: 'CHF', code: fifty })
  assert.deepEqual(await read(francs), ['INITIAL', '50.00', 'CHF'])
  const { data } = await client.post<{ toAddress: string }>(`confirm_conversion/accept/${francs}`, {
    paymentChannel: 'crypto',
  })
  await shop.chain.pay({ to: data.toAddress, units: 1_000_000n })
  await shop.makeFinal()
  await eventually(
    async () => (await fetch(`${shop.host.baseUrl}/pay?code=${francs}`)).text(),
    (text) => text.includes('data-state="partly"'),
  )
  assert.equal(await land({ price: '60.00', currency: 'CHF', code: francs }), francs)
  assert.deepEqual(await read(francs), ['AWAITING', '50.00', 'CHF'])
})

test('two clicks at once make one order of a changed cart, and an order each for buyers without its code', async () => {
  const { id } = await makeButton({ pagePrice: true })
  const land = async (price: string, code = ''): Promise<string> => {
    const named = new URLSearchParams({ id, orderRef: 'TWICE-0001', price, currency: 'EUR', code })
    const { answer, said, text } = await openFrame(`/buy-button/landing?${named}`)
    assert.equal(answer.status, 200, text)
    return said.conversionCode ?? ''
  }
  const fresh = await Promise.all([land('10.00'), land('10.00')])
  assert.notEqual(fresh[0], fresh[1])
  const ten = await land('10.00')
  const [fifty, again] = await Promise.all([land('50.00', ten), land('50.00', ten)])
  assert.equal(again, fifty)
  assert.equal(await land('50.00', ten), fifty, 'a tab that knows only the earlier order')
  assert.notEqual(await land('50.00'), fifty, 'another browser')
})

/** Clicks with one reference, and the orders that they lead to. */
const openClicks = (id: string, orderRef: string) => {
  const read = async (code: string): Promise<string[]> => {
    const { data } = await shop.host.call<Record<string, string>>('GET', `status/${code}`)
    return [data.status ?? '', data.fromAmount ?? '']
  }
  const click = async (query: Record<string, string>): Promise<string> => {
    const named = new URLSearchParams({ id, orderRef, currency: 'EUR', ...query })
    const { answer, said, text } = await openFrame(`/buy-button/landing?${named}`)
    assert.equal(answer.status, 200, text)
    return said.conversionCode ?? ''
  }
  return { click, read }
}

test('two tabs with two prices at once: one order is open, and each tab has the price that it showed', async () => {
  const { id } = await makeButton({ pagePrice: true })
  const tryOnce = async (round: number): Promise<void> => {
    const { click, read } = openClicks(id, `TABS-${round}00`)
    const ten = await click({ price: '10.00' })
    // the second names its order by the code alone
    const prices = ['50.00', '60.00', '70.00']
    const codes = await Promise.all(
      prices.map((price, tab) => click({ price, code: ten, ...(tab === 1 ? { orderRef: '' } : {}) })),
    )
    const orders = await Promise.all(codes.map(read))
    assert.deepEqual(
      orders.map(([, price]) => price),
      prices,
    )
    assert.deepEqual(orders.map(([status]) => status).sort(), ['CANCELLED', 'CANCELLED', 'INITIAL'])
  }
  await Promise.all([1, 2, 3, 4, 5, 6].map(tryOnce))
})

test('twenty buyers without a code who click at once, at two buttons and two prices, get an order each', async () => {
  const { id, client } = await makeButton({ pagePrice: true })
  const { data } = await client.post<ButtonMade>('buy-buttons', { ...SITE, pagePrice: true })
  const [one, other] = [openClicks(id, 'CROWD-001'), openClicks(data._id, 'CROWD-001')]
  const clicks = Array.from({ length: 20 }, (_, at) => {
    const price = at % 4 < 2 ? '5.00' : '6.00'
    return (at % 2 === 0 ? one : other).click({ price })
  })
  assert.equal(new Set(await Promise.all(clicks)).size, 20)
})

test('a click that takes a reference at the same moment as one at another button lands again', async () => {
  const { id, client } = await makeButton()
  const { data } = await client.post<ButtonMade>('buy-buttons', { ...SITE, websiteUrl: 'https://tea.example/de' })
  const { clicked } = await shop.host.db.tx(async (tx) => {
    await tx.run(sql`
      insert into button_sessions (id, company_id, button_id, code, order_ref, price, currency)
      select ${newId()}, company_id, id, 'taken', 'MOMENT-01', price, currency from buy_buttons where id = ${data._id}`)
    const clicked = openFrame(`/buy-button/landing?id=${id}&orderRef=MOMENT-01`)
    await eventually(
      () => tx.maybe(sql`select 1 from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`),
      (waiting) => waiting !== undefined,
    )
    return { clicked }
  })
  const { answer, text } = await clicked
  assert.equal(answer.status, 200, text)
})

test('an order that another tab replaced is paid at the cart’s present price, too', async () => {
  const { id } = await makeButton({ pagePrice: true })
  const { click, read } = openClicks(id, 'SOLD-0002')
  const ten = await click({ price: '10.00' })
  await click({ price: '10.00' })
  const fifty = await click({ price: '50.00', code: ten })
  assert.deepEqual(
    [await read(ten), await read(fifty)],
    [
      ['CANCELLED', '10.00'],
      ['INITIAL', '50.00'],
    ],
  )
})

test('an order is outdated by its own price, not by that of a later click whose order could not be made', async () => {
  const { id } = await makeButton({ pagePrice: true })
  const { click } = openClicks(id, 'FAILED-001')
  const ten = await click({ price: '10.00' })
  await put(ten, 'EXPIRED')
  const query = `id=${id}&orderRef=FAILED-001&code=${ten}&price=100000000000&currency=EUR`
  assert.equal((await openFrame(`/buy-button/landing?${query}`)).answer.status, 400)
  // reopened at a fresh rate
  await put(ten, 'INITIAL')
  assert.equal(await click({ price: '10.00', code: ten }), ten)
})

test('a page ends no session of the shop’s server, so that its reference does not get the page’s price', async () => {
  const { id, client } = await makeButton({ pagePrice: true })
  const fields = { button: id, orderRef: 'SERVER-002', price: '80' }
  const session = await client.post<{ _id: string; code: string }>('buy-button/sessions', fields)
  const { said } = await openFrame(`/buy-button/landing?session=${session.data.code}`)
  const authorization = `Bearer ${said.comptoirToken}`
  const path = `/api/buy-button/sessions/${said.sessionId}`
  assert.equal((await shop.host.call('DELETE', path, { headers: { authorization } })).status, 200)
  const cheap = await openFrame(`/buy-button/landing?id=${id}&orderRef=SERVER-002&price=0.10`)
  assert.deepEqual([cheap.answer.status, cheap.said], [409, {}])
  assert.deepEqual((await openFrame(`/buy-button/landing?session=${session.data.code}`)).said, said)
})

test('a session of the shop’s server keeps its price and its reference, whatever a page says', async () => {
  const { id, client } = await makeButton({ pagePrice: true })
  const fields = { button: id, orderRef: 'SERVER-001', price: '80' }
  const session = await client.post<{ _id: string; code: string }>('buy-button/sessions', fields)
  const named = (code: string) => `/buy-button/landing?id=${id}&orderRef=SERVER-001&price=0.10&currency=EUR${code}`
  const { said } = await openFrame(`/buy-button/landing?session=${session.data.code}`)
  const known = `&code=${said.conversionCode}`
  assert.deepEqual((await openFrame(named(known))).said, said)
  const stranger = await openFrame(named(''))
  assert.deepEqual([stranger.answer.status, stranger.said], [409, {}])
  assert.match(stranger.text, /Open it with data-comptoir-session/)
  const read = async (code: string | undefined): Promise<unknown[]> => {
    const { data } = await shop.host.call<Record<string, string>>('GET', `status/${code}`)
    return [data.status, data.fromAmount]
  }
  assert.deepEqual(await read(said.conversionCode), ['INITIAL', '80.00'])
  await client.post(`confirm_conversion/cancel/${said.conversionCode}`, {})
  const next = (await openFrame(named(known))).said
  assert.equal(next.sessionId, session.data._id)
  assert.deepEqual(await read(next.conversionCode), ['INITIAL', '80.00'])
})

test('a currency without a price changes no price: a script that sends EUR opens a button in francs', async () => {
  for (const pagePrice of [false, true]) {
    const { id } = await makeButton({ currency: 'CHF', pagePrice })
    const { answer, said, text } = await openFrame(`/buy-button/landing?id=${id}&price=&currency=EUR`)
    assert.equal(answer.status, 200, text)
    const { data } = await shop.host.call<Record<string, string>>('GET', `status/${said.conversionCode}`)
    assert.deepEqual([data.fromAmount, data.fromAsset], ['5.00', 'CHF'])
  }
})

test('a page cannot name its own price, its own receiver or a stranger’s order', async () => {
  const { id } = await makeButton()
  const cheap = await openFrame(recorded(id, '0.10', 'CHEAP-0001'))
  assert.equal(cheap.answer.status, 400)
  assert.match(cheap.text, /ILLEGAL_AMOUNT: This button costs 5\.00 EUR/)
  assert.doesNotMatch(cheap.text, /charged/, 'an order of this purchase may have money')
  assert.deepEqual(cheap.said, {})
  const same = await openFrame(recorded(id, '5', 'CHEAP-0002'))
  assert.equal(same.answer.status, 200)
  const thief = await openFrame(
    `/buy-button/landing?id=${id}&orderRef=THIEF-001&callbackUrl=${encodeURIComponent('https://thief.example/x')}`,
  )
  assert.deepEqual([thief.answer.status, thief.said], [422, {}])
  const receiving = await makeButton({ callbackUrl: 'https://hooks.tea.example/a' })
  const named = `/buy-button/landing?id=${receiving.id}&callbackUrl=${encodeURIComponent('https://hooks.tea.example/b')}`
  assert.equal((await openFrame(named)).answer.status, 200, 'where its events go anyway')
  // the same reference: who knows its code goes on with the order, who guesses it gets another
  const first = same.said.conversionCode
  const known = await openFrame(`${recorded(id, '5', 'CHEAP-0002')}&code=${first}`)
  assert.equal(known.said.conversionCode, first)
  const guessed = await openFrame(recorded(id, '5', 'CHEAP-0002'))
  assert.notEqual(guessed.said.conversionCode, first)
  await shop.host.db.run(sql`
    update orders set status = 'PAID', paid_at = now() where code = ${guessed.said.conversionCode}`)
  const twice = await openFrame(recorded(id, '5', 'CHEAP-0002'))
  assert.equal(twice.answer.status, 409)
  assert.ok(!twice.text.includes(guessed.said.conversionCode) && /already has a payment/.test(twice.text))
  const unknown = await openFrame('/buy-button/landing?id=000000000000000000000000')
  assert.equal(unknown.answer.status, 404)
  assert.match(unknown.answer.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
  const foreign = await openFrame(recorded(id, '5', 'CHEAP-0003'), { origin: 'https://evil.example' })
  assert.equal(foreign.answer.status, 403, 'no other website sends the form')
})

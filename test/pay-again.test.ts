import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { type Market, openMarket } from './harness/market.ts'
import { eventually } from './harness/service.ts'

/* The page of an order whose payer comes back or chooses again. Coinbase's links open once, and for five minutes. */

let market: Market
before(async () => {
  market = await openMarket()
})
after(() => market?.stop())

const read = async (code: string, more = ''): Promise<string> => {
  const answer = await fetch(`${market.host.baseUrl}/pay?code=${code}${more}`)
  return (await answer.text()).replace(/\s+/g, ' ')
}

/** The fields of the form that leads to the provider. */
function openForm(page: string): URLSearchParams {
  const [, form = ''] = /<form method="post" action="[^"]*\/pay\/accept" data-leaves="1">(.*?)<\/form>/.exec(page) ?? []
  assert.match(form, /<button class="main">Continue at Coinbase<\/button>/)
  const fields = [...form.matchAll(/name="([^"]+)" value="([^"]*)"/g)]
  return new URLSearchParams(fields.map(([, name = '', value = '']): [string, string] => [name, value]))
}

const submit = (body: URLSearchParams) =>
  fetch(`${market.host.baseUrl}/pay/accept`, { method: 'POST', body, redirect: 'manual' })

/** Presses the button, as a browser without a script does. @returns where it leads */
async function press(code: string): Promise<string> {
  const answer = await submit(openForm(await read(code)))
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  const [, url = ''] = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(text) ?? []
  assert.ok(text.includes(`<a class="button main" href="${url}"`), text)
  return url.replaceAll('&amp;', '&')
}

const open = async (url: string): Promise<number> => (await fetch(url, { redirect: 'manual' })).status

const askedOf = async (reference: string): Promise<unknown> => {
  const answer = await fetch(`${market.providers.url}/payments/${reference}`)
  return ((await answer.json()) as { facts: { purchaseAmount: string } }).facts.purchaseAmount
}

test('each press of the button leads to a link that opens, also after coming back, and also twice at once', async () => {
  const { order } = await market.createAwaiting('coinbase')
  const page = await read(order.code)
  assert.doesNotMatch(page, /sessionToken/, 'no link waits on the page')
  assert.doesNotMatch(page, /Pay another way.*Coinbase/, 'the button is the way to it')
  const first = await press(order.code)
  assert.equal(await open(first), 302)
  assert.equal(await open(first), 410)
  const { db } = market.host
  await db.run(
    sql`update payments set checks = 9, next_check_at = now() + interval '1 hour' where order_id = ${order._id}`,
  )
  const [second, third] = await Promise.all([press(order.code), press(order.code)])
  assert.deepEqual([await open(second), await open(third)], [302, 302])
  assert.equal((await market.paymentsOf(order._id)).length, 1)
  const { soon } = await db.one<{ soon: boolean }>(
    sql`select next_check_at < now() + interval '1 minute' as soon from payments where order_id = ${order._id}`,
  )
  assert.ok(soon, 'whoever left to pay is looked for at once, so that the page offers no second purchase')
})

test('a provider that does not answer the press loses nothing: the page says so, and the next press opens', async () => {
  const { order } = await market.createAwaiting('coinbase')
  const form = openForm(await read(order.code))
  await market.tell('timeout-after-acceptance', { provider: 'coinbase' })
  const answer = await submit(form)
  assert.equal(answer.status, 303)
  const to = answer.headers.get('location') ?? ''
  assert.match(to, /problem=LINK_UNAVAILABLE/)
  assert.match(
    await read(order.code, '&problem=LINK_UNAVAILABLE'),
    /role="alert">The provider’s page could not be opened/,
  )
  assert.equal(await open(await press(order.code)), 302)
})

test('who paid a part is shown the address and the rest, and can buy exactly the rest at the provider', async () => {
  const { order, reference } = await market.createAwaiting('coinbase')
  assert.doesNotMatch(await read(order.code), /id="address"/)
  await market.act(reference, 'pay', { amount: '20' })
  const page = await eventually(
    () => read(order.code),
    (text) => text.includes('Part of your payment has arrived'),
  )
  assert.equal(/<span id="amount">(.*?)<\/span>/.exec(page)?.[1], '34.00')
  assert.equal(/id="address">(.*?)<\/span>/.exec(page)?.[1]?.replace('<wbr>', ''), reference)
  await eventually(
    () => market.story(order._id),
    ({ payments }) => payments[0]?.status === 'confirming',
  )
  const accepted = await market.accept(order.code, 'coinbase')
  assert.equal(accepted.status, 200, accepted.text)
  assert.equal(await open(await press(order.code)), 302)
  assert.equal(await askedOf(reference), '34.000000')
  await market.act(reference, 'pay', { amount: '34' })
  assert.equal((await market.reaches(order.code, 'PAID')).status, 'PAID')
})

type Story = { entries: { kind: string; facts: Record<string, string | null> }[] }

const tokenIn = (page: string): string => /name="token" value="([^"]+)"/.exec(page)?.[1] ?? ''

/** The payer chooses a channel on the page. @returns what the page says about it */
async function choose(code: string, paymentChannel: string, more: { requote?: '1' } = {}): Promise<string | null> {
  const answer = await submit(new URLSearchParams({ code, token: tokenIn(await read(code)), paymentChannel, ...more }))
  return new URL(answer.headers.get('location') ?? '', market.host.baseUrl).searchParams.get('problem')
}

test('what the shop says at accept holds for the way that its payer chooses instead', async () => {
  const { code, _id } = await market.create({ amount: 1500 })
  const said = {
    anonymous: true,
    returnUrl: 'https://shop.example/paid',
    cancelUrl: 'https://shop.example/cart',
    userAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  }
  const told = { pos: 'POS-7', pastOrders: ['AbC', 'DeF'] }
  const body = { paymentChannel: 'gatepay', ...said, ...told }
  const accepted = await market.host.call('POST', `accept/${code}`, { as: market.merchant, body })
  assert.equal(accepted.status, 200, accepted.text)
  assert.equal(await choose(code, 'binance'), null)
  const attempts = await market.host.db.many(sql`
    select channel, return_url, cancel_url, lower(user_address) as user_address, left(user_address_by, 7) as said_by from payments
    where order_id = ${_id} order by number`)
  const { returnUrl, cancelUrl, userAddress } = said
  const kept = { returnUrl, cancelUrl, userAddress: userAddress.toLowerCase() }
  assert.deepEqual(
    attempts,
    ['gatepay', 'binance'].map((channel) => ({ channel, ...kept, saidBy: 'apiKey:' })),
  )
  const { entries } = (await market.host.call<Story>('GET', `story/${code}`, { as: market.merchant })).data
  const stories = entries.filter(({ kind }) => kind === 'payment').map(({ facts }) => [facts.pos, facts.pastOrders])
  assert.deepEqual(stories, [
    ['POS-7', 'AbC, DeF'],
    [null, null],
  ])
  const { data } = await market.host.call<{ events: { event: string; order: { code: string; anonymous: boolean } }[] }>(
    'GET',
    '/api/next/events?limit=1000',
    { as: market.merchant },
  )
  const waived = data.events.filter(({ order }) => order.code === code).map((one) => [one.event, one.order.anonymous])
  assert.deepEqual(waived.slice(0, 2), [
    ['order.initial', false],
    ['order.pending', true],
  ])
})

test('whoever wants another way to pay is asked there for the name that is missing, and then may choose', async () => {
  const { code, _id } = await market.create({ amount: 1500 })
  const names = { firstName: 'Ada', lastName: 'Lovelace', email: 'ada@example.org' }
  const body = { code, payerInformation: names }
  assert.equal((await market.host.call('POST', 'payer-information', { as: market.merchant, body })).status, 200)
  assert.equal((await market.accept(code, 'gatepay')).status, 200)
  assert.doesNotMatch(await read(code), /name="firstName"/)
  await market.host.db.run(sql`delete from payer_information where order_id = ${_id}`)
  const another = async (more?: string): Promise<string> =>
    /<details id="another".*/.exec(await read(code, more))?.[0] ?? ''
  assert.match(await another(), /^<details id="another"><summary>.*name="firstName"/)
  const answer = async (fields: Record<string, string>): Promise<string> => {
    const form = new URLSearchParams({ code, token: tokenIn(await read(code)), ...fields })
    const { headers } = await fetch(`${market.host.baseUrl}/pay`, { method: 'POST', body: form, redirect: 'manual' })
    const { typed } = Object.fromEntries(new URL(headers.get('location') ?? '', market.host.baseUrl).searchParams)
    return typed === undefined ? '' : `&typed=${encodeURIComponent(typed)}`
  }
  assert.match(await another(await answer({ firstName: 'Ada' })), /^<details id="another" open>.*aria-invalid/)
  assert.equal(await answer(names), '')
  assert.match(await another(), /^<details id="another"><summary>.*value="binance"/)
  assert.equal(await choose(code, 'binance'), null)
})

const NAMES = { firstName: 'Ada', lastName: 'Lovelace', email: 'ada@example.org' }

/** An order that ended before anyone said who pays it. */
async function endUnnamed(): Promise<string> {
  const { code } = await market.create({ amount: 1500 })
  const ended = await market.host.call('POST', `expire/${code}`, { as: market.merchant })
  assert.equal(ended.status, 200, ended.text)
  return code
}

test('an order that ended before its payer said who pays takes that, and a fresh price, from payer and server', async () => {
  const code = await endUnnamed()
  const asked = await read(code)
  assert.match(asked, /name="firstName"/)
  const form = new URLSearchParams({ code, token: tokenIn(asked), ...NAMES })
  const saved = await fetch(`${market.host.baseUrl}/pay`, { method: 'POST', body: form, redirect: 'manual' })
  assert.equal(saved.headers.get('location'), `/pay?code=${code}`)
  const page = await read(code)
  assert.doesNotMatch(page, /name="firstName"/)
  assert.match(page, /name="requote" value="1"/)
  assert.equal(await choose(code, 'binance', { requote: '1' }), null)
  assert.equal((await market.order(code)).status, 'AWAITING')
  const served = await endUnnamed()
  const { email: payerEmail, ...payerInformation } = NAMES
  const body = { code: served, payerInformation }
  assert.equal((await market.host.call('POST', 'payer-information', { as: market.merchant, body })).status, 200)
  const accepted = await market.accept(served, 'gatepay', { requote: true, payerEmail })
  assert.equal(accepted.status, 200, accepted.text)
})

test('what a payer typed is still in the form when it cannot be saved now', async () => {
  const code = await endUnnamed()
  const form = new URLSearchParams({ code, token: tokenIn(await read(code)), ...NAMES })
  const answer = await market.host.db.tx(async (tx) => {
    await tx.run(sql`select 1 from orders where code = ${code} for no key update`)
    return fetch(`${market.host.baseUrl}/pay`, { method: 'POST', body: form, redirect: 'manual' })
  })
  const query = new URL(answer.headers.get('location') ?? '', market.host.baseUrl).searchParams
  assert.equal(query.get('problem'), 'BUSY')
  assert.equal(query.toString().includes('Lovelace'), false, 'what is typed stands in no URL')
  const page = await read(code, `&problem=BUSY&typed=${encodeURIComponent(query.get('typed') ?? '')}`)
  for (const text of Object.values(NAMES)) assert.ok(page.includes(`value="${text}"`), text)
  const forged = new URLSearchParams({ code, token: 'forged', ...NAMES })
  const refused = await fetch(`${market.host.baseUrl}/pay`, { method: 'POST', body: forged, redirect: 'manual' })
  assert.equal(refused.headers.get('location'), `/pay?code=${code}&problem=CROSS_SITE_REQUEST`)
})

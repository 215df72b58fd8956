import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Market, openMarket } from './harness/market.ts'
import { eventually } from './harness/service.ts'

/* The page of an order that is paid at Coinbase, whose links open once and for five minutes. */

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
  return new URLSearchParams(fields.map(([, name = '', value = '']) => [name, value]))
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
  const [second, third] = await Promise.all([press(order.code), press(order.code)])
  assert.deepEqual([await open(second), await open(third)], [302, 302])
  assert.equal((await market.paymentsOf(order._id)).length, 1)
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

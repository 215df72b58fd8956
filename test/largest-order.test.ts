import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { FastifyBaseLogger } from 'fastify'
import { sql } from '../src/db/db.ts'
import { HOUR, SECOND } from '../src/kernel/clock.ts'
import { openRates } from '../src/rates/rate-service.ts'
import { eventually, type Merchant, startTestService, type TestService } from './harness/service.ts'

/* The largest order is one of EUR: what holds in other currencies while the source of prices fails. */

let offsetMs = 0
/** What the source does with questions about EUR, and about the others. */
type State = 'answers' | 'hangs' | 'fails'
let euro: State = 'answers'
let others: State = 'answers'
const source = createServer(({ url = '' }, response) => {
  const state = url.includes('EUR') ? euro : others
  if (state === 'hangs') return
  if (state === 'fails') return void response.writeHead(500).end()
  // USDC in EUR, or in CHF
  const ask = url.includes('EUR') ? '0.92' : '0.90'
  const date = new Date(clock()).toUTCString()
  response.writeHead(200, { 'content-type': 'application/json', date })
  response.end(JSON.stringify({ error: [], result: { X: { a: [ask, '1', '1'] } } }))
})
const clock = (): number => Date.now() + offsetMs
const prices = () => ({
  RATE_SOURCES: 'kraken',
  RATE_KRAKEN_BASE_URL: `http://127.0.0.1:${(source.address() as AddressInfo).port}`,
})
let host: TestService
let shop: Merchant

before(async () => {
  source.listen(0, '127.0.0.1')
  await once(source, 'listening')
  host = await startTestService({ clock, env: prices() })
  shop = await host.createMerchant()
})
after(async () => {
  source.closeAllConnections()
  source.close()
  await host?.stop()
})

type Link = { _id: string; url: string }

const create = (amount: string, fromAsset: string, as = shop) =>
  host.call('POST', 'request', { as, body: { amount, fromAsset, merchantIdentifier: as.merchantIdentifier } })
/** What becomes of an order, and how long that took. */
async function ordered(amount: string, fromAsset: string) {
  const from = performance.now()
  const { status, error } = await create(amount, fromAsset)
  return { result: error?.code ?? status, ms: performance.now() - from }
}
async function makeLink(fields: Record<string, unknown>): Promise<Link> {
  const body = { name: 'Table 4', merchantIdentifier: shop.merchantIdentifier, ...fields }
  const { data, text } = await host.call<Link | null>('POST', '/api/next/static-links', { as: shop, body })
  if (!data) throw new Error(text)
  return data
}
const plain = (html: string): string => html.replace(/<style[\s\S]*?<\/style>|<[^>]+>/g, ' ').replace(/\s+/g, ' ')

/** All prices become too old, and then the source does this. */
function laterThat(states: { euro?: State; others?: State } = {}): void {
  offsetMs += HOUR
  euro = states.euro ?? 'answers'
  others = states.others ?? 'answers'
}

test('before any rate of EUR is known, orders within the maximum are made, larger ones are asked to come later', async () => {
  laterThat({ euro: 'fails' })
  // 95000 CHF are 105555 USDC, and 90000 CHF exactly 100000
  assert.equal((await ordered('89999.99', 'CHF')).result, 200)
  assert.equal((await ordered('95000.00', 'CHF')).result, 'INVALID_EXCHANGE_RATE')
  laterThat()
  assert.equal((await ordered('95000.00', 'CHF')).result, 200)
  assert.equal((await ordered('97826.09', 'CHF')).result, 'ILLEGAL_AMOUNT')
})

test('while the source hangs for EUR, no order in francs waits for it, and the last rate decides about large ones', async () => {
  laterThat()
  assert.equal((await ordered('5.00', 'CHF')).result, 200)
  laterThat({ euro: 'hangs' })
  for (let count = 0; count < 3; count += 1) {
    const { result, ms } = await ordered('95000.00', 'CHF')
    assert.equal(result, 200)
    assert.ok(ms < SECOND, `an order in CHF took ${ms} ms`)
  }
  const { result, ms } = await ordered('98000.00', 'CHF')
  assert.equal(result, 'ILLEGAL_AMOUNT')
  assert.ok(ms < 3 * SECOND, `the refusal took ${ms} ms`)
})

test('pages of a link wait for no source; they are open, and show the last limit that was known', async () => {
  laterThat()
  const fixed = await makeLink({ currency: 'CHF', amount: '95000.00' })
  const typed = await makeLink({ currency: 'XPF', minAmount: '200000' })
  for (const states of [{ euro: 'fails' }, { euro: 'hangs', others: 'hangs' }] as const) {
    laterThat(states)
    for (const url of [fixed.url, `${fixed.url}/poster`, typed.url]) {
      const from = performance.now()
      const answer = await fetch(url)
      const text = plain(await answer.text())
      assert.equal(answer.status, 200, text)
      assert.ok(performance.now() - from < SECOND, url)
      // 100000 EUR at 838 EUR for 100000 XPF
      if (url === typed.url) assert.match(text, /From CFPF 200,000 to CFPF 11,933,174/)
    }
    const from = performance.now()
    const off = await host.call('PUT', `/api/next/static-links/${fixed._id}`, { as: shop, body: { name: 'Table 5' } })
    assert.equal(off.status, 200)
    assert.ok(performance.now() - from < SECOND)
  }
})

test('without a rate a page names no limit but its own, and its order is asked to come later', async () => {
  laterThat()
  const link = await makeLink({ currency: 'XPF', minAmount: '200000' })
  // another process, which knows no rate yet
  laterThat({ euro: 'fails', others: 'fails' })
  const { connectionString } = host.db.pool.options as { connectionString: string }
  const other = await startTestService({ clock, connectionString, env: { ...prices(), BASE_URL: host.baseUrl } })
  try {
    const address = link.url.replace(host.baseUrl, `http://127.0.0.1:${other.config.port}`)
    const page = await (await fetch(address)).text()
    assert.match(plain(page), /The smallest amount here is/)
    assert.doesNotMatch(plain(page), /From 200/)
    const nonce = /name="nonce" value="([^"]+)"/.exec(page)?.[1] ?? ''
    const answer = await fetch(address, {
      ...{ method: 'POST', redirect: 'manual', headers: { origin: host.baseUrl } },
      body: new URLSearchParams({ nonce, amount: '300000' }),
    })
    const said = plain(await answer.text())
    assert.equal(answer.status, 400)
    assert.doesNotMatch(said, /100.000/)
    assert.match(said, /no current exchange rate. Please try again in a minute/)
  } finally {
    await other.stop()
  }
})

test('a process that reads the currencies of its shops again reads EUR too, although no shop sells in it', async () => {
  laterThat()
  assert.equal((await create('5.00', 'CHF')).status, 200)
  const log = { warn() {} } as unknown as FastifyBaseLogger
  const rates = openRates({ config: host.config.rates, fiatAssets: ['CHF'], db: host.db, clock, log })
  assert.equal(rates.peek('EUR'), null)
  await rates.readAgain()
  assert.ok(rates.peek('EUR'))
})

test('a price above the largest order leaves the buyer the order that was open at another price', async () => {
  laterThat()
  // a question that hung in an earlier test is given up after five seconds
  await eventually(
    () => create('5.00', 'EUR'),
    ({ status }) => status === 200,
  )
  const [id, website] = ['c'.repeat(24), 'https://page.example']
  await host.db.run(sql`
    insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency, page_price, created_at,
      updated_at)
    values (${id}, ${shop.companyId}, 'C', ${website}, ${website}, '10.00', 'EUR', true, now(), now())`)
  const click = async (price: string, more: Record<string, string> = {}) => {
    const query = new URLSearchParams({ id, orderRef: 'replaced', price, currency: 'EUR', ...more })
    const init = { method: 'POST', headers: { origin: host.baseUrl }, body: new URLSearchParams() }
    await fetch(`${host.baseUrl}/buy-button/landing?${query}`, init)
    return host.db.many<{ code: string; status: string; units: string }>(sql`
      select o.code, o.status, o.from_units as units from orders o join button_sessions s on s.id = o.button_session_id
      where s.button_id = ${id} order by o.id`)
  }
  const [first] = await click('20.00')
  assert.equal(first?.status, 'INITIAL')
  assert.deepEqual(await click('100000.01', { code: first.code }), [first], 'refused, so nothing else changes')
  const [old, renewed] = await click('30.00', { code: first.code })
  assert.deepEqual([old?.status, renewed?.status], ['CANCELLED', 'INITIAL'])
})

test('neither a session of a shop’s server nor a click at its button costs more than the largest order', async () => {
  laterThat()
  const [button, website] = ['b'.repeat(24), 'https://shop.example']
  await host.db.run(sql`
    insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency, page_price, created_at,
      updated_at)
    values (${button}, ${shop.companyId}, 'B', ${website}, ${website}, '10.00', 'EUR', true, now(), now())`)
  const make = async (price: string, currency: string) => {
    const body = { button, orderRef: `REF-${price}`, price, currency }
    const { status, error } = await host.call('POST', '/api/next/buy-button/sessions', { as: shop, body })
    return error?.details?.[0]?.message ?? status
  }
  const above = (most: string) => `must not be above ${most}, the largest order of this account`
  assert.equal(await make('100000.01', 'EUR'), above('100000.00 EUR'))
  assert.equal(await make('98000.00', 'CHF'), above('97826.08 CHF'))
  assert.equal(await make('95000.00', 'CHF'), 200)
  const click = async (price: string) => {
    const query = new URLSearchParams({ id: button, orderRef: `click-${price}`, price, currency: 'EUR' })
    const answer = await fetch(`${host.baseUrl}/buy-button/landing?${query}`, {
      ...{ method: 'POST', headers: { origin: host.baseUrl }, body: new URLSearchParams() },
    })
    return answer.status
  }
  assert.equal(await click('100000.01'), 422)
  assert.equal(await click('100000.00'), 200)
  const rows = await host.db.many<{ price: string }>(
    sql`select price from button_sessions where button_id = ${button} order by price`,
  )
  assert.deepEqual(
    rows.map(({ price }) => price),
    ['100000.00', '95000.00'],
  )
})

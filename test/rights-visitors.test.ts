import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '../src/db/db.ts'
import { type Client, logIn, register, registerManager } from './harness/accounts.ts'
import { type Market, openMarket } from './harness/market.ts'
import { newAddress } from './harness/refunds.ts'
import { startTestService, type TestService } from './harness/service.ts'

/* What an account that anyone can open uses up of a shop, by one session of a button: as much as a visitor of it. */

const SHOP = 'https://shop.example'
let market: Market
let manager: Client
let companyId: string
let till: string
before(async () => {
  const limits = { LIMIT_LINK_PER_MINUTE: '30', LIMIT_COMPANY_PER_MINUTE: '6000' }
  market = await openMarket({ env: { ...limits, TRUST_PROXY: '127.0.0.1' } })
  const person = await registerManager(market.host.baseUrl)
  manager = await logIn(market.host.baseUrl, person.email)
  companyId = person.companyId ?? ''
  const { data } = await manager.get<{ collectors: { identifier: string }[] }>('collectors/list')
  till = data.collectors[0]?.identifier ?? ''
})
after(() => market?.stop())

async function makeButton({ db }: TestService, companyId: string | null): Promise<string> {
  const button = crypto.randomUUID().replaceAll('-', '').slice(0, 24)
  await db.run(sql`
    insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency, created_at, updated_at)
    values (${button}, ${companyId}, 'B', ${SHOP}, ${SHOP}, '12.00', 'EUR', now(), now())`)
  return button
}

async function openSession(more: Record<string, unknown> = {}): Promise<string> {
  const button = await makeButton(market.host, companyId)
  const orderRef = `ref-${crypto.randomUUID()}`
  const { data, text } = await manager.post<{ _id: string }>('buy-button/sessions', { button, orderRef, ...more })
  assert.ok(data, text)
  return data._id
}

/** A stranger who orders by that session, from one address. */
async function openStranger(address: string, session: Record<string, unknown> = {}) {
  const sessionId = await openSession(session)
  const { client } = await register(market.host.baseUrl, { role: 'SimpleUser' })
  const post = <Data = unknown>(path: string, body?: unknown, headers?: Record<string, string>) =>
    client.post<Data>(`confirm_conversion/${path}`, body, { 'x-forwarded-for': address, ...headers })
  const order = (headers?: Record<string, string>, more: Record<string, unknown> = {}) =>
    post<{ code: string; order: { anonymous: boolean } }>('request', { websiteUrl: SHOP, sessionId, ...more }, headers)
  return { post, order }
}

const countOf = (seen: readonly unknown[], value: unknown): number => seen.filter((one) => one === value).length

test('orders through a button: 30 a minute for an address, however many are cancelled', async () => {
  const { post, order } = await openStranger('203.0.113.11')
  const seen: number[] = []
  for (let count = 0; count < 40; count += 1) {
    const made = await order()
    seen.push(made.status)
    if (made.status === 200) await post(`cancel/${made.data.code}`)
  }
  assert.deepEqual([countOf(seen, 200), countOf(seen, 429)], [30, 10])
})

test('a repetition under its Idempotency-Key gets its order, although its address has used up its orders', async () => {
  const address = '203.0.113.17'
  const { post, order } = await openStranger(address)
  const key = { 'idempotency-key': crypto.randomUUID() }
  const first = await order(key)
  assert.equal(first.status, 200, first.text)
  for (let count = 0; count < 29; count += 1) await order()
  assert.deepEqual((await order()).status, 429)
  const again = await order(key)
  assert.deepEqual([again.status, again.text], [200, first.text])
  const other = await post('request', { websiteUrl: SHOP, sessionId: 'another' }, key)
  assert.equal(other.error.code, 'IDEMPOTENCY_KEY_REUSED')
  assert.equal((await order({ 'idempotency-key': 'new' })).status, 429)
})

test('orders and steps of a shop’s own people and servers count for the shop alone', async () => {
  const body = { amount: '5.00', fromAsset: 'EUR', merchantIdentifier: till }
  const headers = { 'x-forwarded-for': '203.0.113.11' }
  for (let count = 0; count < 31; count += 1) {
    const made = await manager.post('confirm_conversion/request', body, headers)
    assert.equal(made.status, 200, made.text)
    assert.match(made.headers.get('ratelimit-policy') ?? '', /^"company";q=6000;w=60$/)
  }
})

test('where payers go, and whether their names are needed, says the shop alone, also when an order is accepted', async () => {
  const pages = { returnUrl: `${SHOP}/paid`, cancelUrl: `${SHOP}/cart` }
  const mine = { returnUrl: 'https://evil.example/r', cancelUrl: 'https://evil.example/c', anonymous: true, pos: 'P' }
  const { post, order } = await openStranger('203.0.113.31', pages)
  const { code } = (await order(undefined, mine)).data
  const accepted = await post<{ providerReference: string }>(`accept/${code}`, { paymentChannel: 'gatepay', ...mine })
  assert.equal(accepted.status, 200, accepted.text)
  const kept = await fetch(`${market.providers.url}/payments/${accepted.data.providerReference}`)
  assert.equal(((await kept.json()) as { returnUrl: string }).returnUrl, pages.returnUrl)
  const { pos } = await market.host.db.one<{ pos: string | null }>(sql`
    select pos from payments where provider_reference = ${accepted.data.providerReference}`)
  assert.equal(pos, null)
  const page = await fetch(`${market.host.config.payUrl}/pay?code=${code}`)
  assert.doesNotMatch(await page.text(), /evil\.example/)
  const dear = await openStranger('203.0.113.32', { price: '1500.00' })
  const made = await dear.order(undefined, mine)
  assert.equal(made.data.order.anonymous, false)
  const refused = await dear.post(`accept/${made.data.code}`, { paymentChannel: 'gatepay', ...mine })
  assert.equal(refused.error?.code, 'PAYER_IDENTITY_REQUIRED', refused.text)
})

test('the addresses of a shop’s pool: a quarter while they are scarce, the rest is for those who pay', async () => {
  const addresses = Array.from({ length: 12 }, newAddress)
  const settings = { MODE: 'pool', ADDRESSES: addresses.join(', ') }
  assert.equal((await manager.call('PUT', 'channel-accounts/crypto', { settings })).status, 200)
  const { post, order } = await openStranger('192.0.2.66')
  const seen: number[] = []
  for (let count = 0; count < 14; count += 1) {
    const { code } = (await order()).data
    seen.push((await post(`accept/${code}`, { paymentChannel: 'crypto', network: market.chain.chainId })).status)
    await post(`cancel/${code}`)
  }
  assert.equal(countOf(seen, 200), 6, seen.join())
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: till }
  const sale = await manager.post<{ code: string }>('confirm_conversion/request', body)
  const accepted = await manager.post(`confirm_conversion/accept/${sale.data.code}`, { paymentChannel: 'crypto' })
  assert.equal(accepted.status, 200, accepted.text)
})

test('steps that ask the provider: 12 a minute for an order, as on its payer’s page', async () => {
  const countCalls = async (): Promise<number> =>
    (await market.host.db.one<{ count: number }>(sql`select count(*)::int as count from channel_exchanges`)).count
  const { post, order } = await openStranger('192.0.2.67')
  const { code } = (await order()).data
  const chosen = await post(`accept/${code}`, { paymentChannel: 'gatepay' })
  assert.equal(chosen.status, 200, chosen.text)
  const before = await countCalls()
  const seen: number[] = []
  for (let count = 0; count < 40; count += 1)
    seen.push((await post(count % 4 ? `confirm/${code}` : `accept/${code}`, { paymentChannel: 'gatepay' })).status)
  assert.equal(countOf(seen, 429), 29)
  const named = await post(`transaction/${code}`, { txHash: `0x${'ab'.repeat(32)}` })
  assert.equal(named.status, 429, 'so does a transaction that it names')
  await sleep(1500)
  const calls = (await countCalls()) - before
  assert.ok(calls <= 20, `${calls} calls to the provider`)
})

test('sessions that the shop’s server made: all are ordered, on the page and in an app; a page’s own are limited', async (t) => {
  // 1 a minute for an address, 10 for a button
  const host = await startTestService({ env: { LIMIT_LINK_PER_MINUTE: '1', TRUST_PROXY: '127.0.0.1' }, workers: true })
  t.after(() => host.stop())
  const boss = await registerManager(host.baseUrl)
  const shop = await logIn(host.baseUrl, boss.email)
  const button = await makeButton(host, boss.companyId)
  const { client } = await register(host.baseUrl, { role: 'SimpleUser' })
  const open = async (): Promise<{ id: string; code: string }> => {
    const made = await shop.post<{ _id: string }>('buy-button/sessions', {
      button,
      orderRef: `ref-${crypto.randomUUID()}`,
    })
    return host.db.one(sql`select id, code from button_sessions where id = ${made.data._id}`)
  }
  const onPage = async (address: string): Promise<number> => {
    const [headers, body] = [{ origin: host.baseUrl, 'x-forwarded-for': address }, new URLSearchParams()]
    const url = `${host.baseUrl}/buy-button/landing?session=${(await open()).code}`
    return (await fetch(url, { method: 'POST', headers, body })).status
  }
  const inApp = async (address: string, sessionId: string): Promise<number> => {
    const body = { websiteUrl: SHOP, sessionId }
    return (await client.post('confirm_conversion/request', body, { 'x-forwarded-for': address })).status
  }
  const seen: number[] = []
  for (let count = 0; count < 11; count += 1)
    seen.push(await onPage(`192.0.2.${count}`), await inApp(`198.51.100.${count}`, (await open()).id))
  assert.equal(countOf(seen, 200), 22, seen.join())
  const again = [await onPage('192.0.2.1'), await inApp('198.51.100.1', (await open()).id)]
  assert.deepEqual(again, [429, 429], 'the second of an address')
  const fromPages: number[] = []
  for (let count = 0; count < 11; count += 1) {
    const { id } = await open()
    await host.db.run(sql`update button_sessions set code = ${`page${count}`} where id = ${id}`)
    fromPages.push(await inApp(`203.0.113.${count}`, id))
  }
  assert.deepEqual([countOf(fromPages, 200), fromPages.at(-1)], [10, 429], fromPages.join())
})

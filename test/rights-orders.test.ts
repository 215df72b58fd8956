import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { type Client, logInSuperAdmin, type Person, register, registerManager } from './harness/accounts.ts'
import { type Merchant, startTestService, type TestService } from './harness/service.ts'

type Order = Record<string, string | null> & { code: string; _id: string }
type Created = { code: string; order: Order }

let service: TestService
let merchant: Merchant

before(async () => {
  service = await startTestService({ workers: true })
  merchant = await service.createMerchant()
})
after(() => service.stop())

const SHOP = 'https://shop.example'
const CALLBACK = 'http://127.0.0.1:8099/merchant'

async function createSession(price: string, more: Record<string, unknown> = {}, as = merchant): Promise<string> {
  const post = async (path: string, body: unknown) => {
    const answer = await service.call<{ _id: string }>('POST', `/api/next/${path}`, { as, body })
    assert.equal(answer.status, 200, answer.text)
    return answer.data._id
  }
  const { _id: button } = await buttonOf(as)
  const pages = { callbackUrl: CALLBACK, cancelUrl: `${SHOP}/cancelled`, returnUrl: `${SHOP}/paid` }
  return post('buy-button/sessions', { button, orderRef: `ref-${crypto.randomUUID()}`, price, ...pages, ...more })
}

async function buttonOf({ companyId }: Merchant): Promise<{ _id: string }> {
  const _id = crypto.randomUUID().replaceAll('-', '').slice(0, 24)
  await service.db.run(sql`
    insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency, created_at, updated_at)
    values (${_id}, ${companyId}, 'B', ${SHOP}, ${SHOP}, '12.00', 'EUR', now(), now())`)
  return { _id }
}

const order = (client: Client, body: Record<string, unknown>, query = '') =>
  client.post<Created>(`confirm_conversion/request${query}`, { amount: '12.00', fromAsset: 'EUR', ...body })

const countOrders = async (): Promise<number> =>
  (
    await service.db.one<{ count: number }>(
      sql`select count(*)::int as count from orders where company_id = ${merchant.companyId}`,
    )
  ).count

test('a SimpleUser orders only through a session and at its price; pages and webhook are the merchant’s', async () => {
  const { client } = await register(service.baseUrl, { role: 'SimpleUser' })
  const before = await countOrders()
  const sessionId = await createSession('12.00')
  const sale = { websiteUrl: SHOP, sessionId }
  for (const [body, status, code] of [
    [{ merchantIdentifier: merchant.collectorId }, 403, 'FORBIDDEN'],
    [{ merchantIdentifier: merchant.collectorId, alias: 'INV-1' }, 403, 'FORBIDDEN'],
    [{ ...sale, alias: 'INV-1' }, 403, 'FORBIDDEN'],
    [{ ...sale, webhookUrl: 'http://127.0.0.1:8099/mine' }, 403, 'FORBIDDEN'],
    [{ ...sale, merchantIdentifier: merchant.collectorId }, 403, 'FORBIDDEN'],
    [{ ...sale, metadata: { paid: 'yes' } }, 403, 'FORBIDDEN'],
    [{ websiteUrl: SHOP }, 403, 'FORBIDDEN'],
    [{ ...sale, amount: '0.10' }, 400, 'ILLEGAL_AMOUNT'],
    [{ ...sale, amount: '12.01' }, 400, 'ILLEGAL_AMOUNT'],
    [{ ...sale, fromAsset: 'CHF' }, 400, 'ILLEGAL_AMOUNT'],
  ] as [Record<string, unknown>, number, string][]) {
    const refused = await order(client, body)
    assert.deepEqual([refused.status, refused.error?.code], [status, code], JSON.stringify(body))
  }
  assert.equal(await countOrders(), before, 'nothing was sold')
  const mine = { cancelUrl: 'https://evil.example/c', returnUrl: 'https://evil.example/r' }
  const sold = await order(client, { ...sale, ...mine })
  assert.equal(sold.status, 200, sold.text)
  const { fromAmount, cancelUrl, returnUrl } = sold.data.order
  assert.deepEqual(
    { fromAmount, cancelUrl, returnUrl },
    { fromAmount: '12.00', cancelUrl: `${SHOP}/cancelled`, returnUrl: `${SHOP}/paid` },
  )
  const seen = await service.call<Created['order']>('GET', `status/${sold.data.code}`, { as: merchant })
  assert.equal(seen.data.webhookUrl, CALLBACK)
})

test('a SimpleUser never reads the merchant’s webhook address, not even of the orders it made', async () => {
  const { client } = await register(service.baseUrl, { role: 'SimpleUser' })
  const orderRef = `ref-${crypto.randomUUID()}`
  const sale = { websiteUrl: SHOP, sessionId: await createSession('12.00', { orderRef }) }
  const at = 'confirm_conversion'
  const key = { 'idempotency-key': 'hidden' }
  const send = () => client.post<Created>(`${at}/request`, { amount: '12.00', fromAsset: 'EUR', ...sale }, key)
  const made = await send()
  const answers = [made, await send()]
  for (const path of [`status/${made.data.code}`, `status/order/${orderRef}`, '', 'links'])
    answers.push(await client.get(`${at}/${path}`))
  for (const { status, text } of answers) {
    assert.equal(status, 200, text)
    assert.doesNotMatch(text, /webhookUrl|8099/)
  }
  assert.equal((await client.get<{ total: number }>(at)).data.total, 1, 'it does read the order itself')
})

test('a SimpleUser may leave amount and currency out, which the session gives; nobody else may', async () => {
  const { client } = await register(service.baseUrl, { role: 'SimpleUser' })
  const path = 'confirm_conversion/request'
  const sale = { websiteUrl: SHOP, sessionId: await createSession('7.50') }
  assert.equal((await service.call('POST', 'request', { as: merchant, body: sale })).status, 422)
  const sold = await client.post<Created>(path, sale)
  assert.deepEqual([sold.data?.order.fromAmount, sold.data?.order.fromAsset], ['7.50', 'EUR'], sold.text)
  const other = { websiteUrl: SHOP, sessionId: await createSession('7.50') }
  assert.equal((await client.post(path, { ...other, amount: '1.00' })).error.code, 'ILLEGAL_AMOUNT')
  assert.equal((await client.post(path, { websiteUrl: SHOP, sessionId: 'nope' })).error.code, 'UNKNOWN_SESSION')
})

test('a SimpleUser who repeats an order gets it again, although its session has another price by now', async () => {
  const { client } = await register(service.baseUrl, { role: 'SimpleUser' })
  const sale = { websiteUrl: SHOP, sessionId: await createSession('7.50') }
  const send = () => client.post<Created>('confirm_conversion/request', sale, { 'idempotency-key': 'again' })
  const first = await send()
  await service.db.run(sql`update button_sessions set price = '8.50' where id = ${sale.sessionId}`)
  const second = await send()
  assert.deepEqual([first.status, second.status], [200, 200], second.text)
  assert.equal(second.data.code, first.data.code)
})

test('an operator who names a till by its identifier alone hears of companyId', async () => {
  const admin = await logInSuperAdmin(service)
  const { merchantIdentifier } = merchant
  const refused = await order(admin, { merchantIdentifier })
  assert.deepEqual([refused.status, refused.error?.code], [400, 'UNKNOWN_MERCHANT_IDENTIFIER'])
  assert.match(refused.error?.message ?? '', /companyId/)
  const query = `?companyId=${merchant.companyId}`
  assert.equal((await order(admin, { merchantIdentifier }, query)).status, 200)
})

test('the merchant’s own key cannot undersell a session either; numbers and texts of its price are good', async () => {
  for (const amount of ['11.99', 11.99, '0.10', '12.000001']) {
    const body = { amount, fromAsset: 'EUR', websiteUrl: SHOP, sessionId: await createSession('12.00') }
    const refused = await service.call('POST', 'request', { as: merchant, body })
    assert.deepEqual([refused.status, refused.error?.code], [400, 'ILLEGAL_AMOUNT'], String(amount))
  }
  for (const amount of ['12.00', '12', 12]) {
    const body = { amount, fromAsset: 'eur', websiteUrl: SHOP, sessionId: await createSession('12.00') }
    const sold = await service.call<Created>('POST', 'request', { as: merchant, body })
    assert.deepEqual([sold.status, sold.data?.order.fromAmount], [200, '12.00'], sold.text)
  }
})

test('a session binds the sale at a till too: an unknown one is refused, its price is due, and it sells once', async () => {
  const sessionId = await createSession('12.00')
  const sell = (more: Record<string, unknown>) => {
    const till = { fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
    return service.call<Created>('POST', 'request', { as: merchant, body: { amount: '12.00', ...till, ...more } })
  }
  for (const [more, code] of [
    [{ sessionId: 'nope' }, 'UNKNOWN_SESSION'],
    [{ sessionId, amount: '1.00' }, 'ILLEGAL_AMOUNT'],
    [{ sessionId, websiteUrl: 'https://other.example' }, 'WEBSITE_MISMATCH'],
  ] as [Record<string, unknown>, string][]) {
    const refused = await sell(more)
    assert.deepEqual([refused.status, refused.error?.code], [400, code], JSON.stringify(more))
  }
  const sold = await sell({ sessionId })
  assert.equal(sold.status, 200, sold.text)
  const { websiteUrl, webhookUrl, merchantIdentifier } = sold.data.order
  assert.deepEqual([websiteUrl, webhookUrl, merchantIdentifier], [SHOP, CALLBACK, merchant.merchantIdentifier])
  assert.equal((await sell({ sessionId })).error?.code, 'UNKNOWN_SESSION', 'it has an order by now')
})

test('a JSON number means the amount within 0.000001 of it; a text is exact', async () => {
  const create = async (amount: unknown, fromAsset = 'EUR') => {
    const body = { amount, fromAsset, merchantIdentifier: merchant.merchantIdentifier }
    const answer = await service.call<Created>('POST', 'request', { as: merchant, body })
    return answer.data?.order.fromAmount ?? answer.error.code
  }
  for (const [amount, expected] of [
    [30.299999999999997, '30.30'],
    [0.1 + 0.2, '0.30'],
    [10.000001, '10.00'],
    [10.0000011, 'ILLEGAL_AMOUNT'],
    [10.005, 'ILLEGAL_AMOUNT'],
    ['30.299999999999997', 'ILLEGAL_AMOUNT'],
    ['10.000001', 'ILLEGAL_AMOUNT'],
    [0.0999999999, '0.10'],
    [0.09, 'ILLEGAL_AMOUNT'],
    [1e21, 'ILLEGAL_AMOUNT'],
    [-5, 'ILLEGAL_AMOUNT'],
  ] as [unknown, string][])
    assert.equal(await create(amount), expected, String(amount))
  assert.equal(await create(6000.0000004, 'XPF'), '6000')
  assert.equal(await create(6000.5, 'XPF'), 'ILLEGAL_AMOUNT')
})

test('SuperAdmin and SuperManager sell at a till: by its id, or by its identifier with the company named', async () => {
  const admin = await logInSuperAdmin(service)
  const manager = await register(service.baseUrl, { role: 'SuperManager' }, admin)
  const path = `users/${manager.userId}/companies`
  assert.equal((await admin.call('PUT', path, { companies: [merchant.companyId] })).status, 200)
  const foreign = await registerManager(service.baseUrl)
  const theirs = await service.db.one<{ id: string; identifier: string }>(
    sql`select id, identifier from collectors where company_id = ${foreign.companyId}`,
  )
  for (const client of [admin, manager.client]) {
    const named = `?companyId=${merchant.companyId}`
    for (const [merchantIdentifier, query] of [
      [merchant.collectorId, ''],
      [merchant.collectorId, named],
      [merchant.merchantIdentifier, named],
    ] as const) {
      const sold = await order(client, { merchantIdentifier }, query)
      assert.equal(sold.status, 200, sold.text)
      assert.equal(sold.data.order.merchantIdentifier, merchant.merchantIdentifier)
      const { companyId } = await service.db.one<{ companyId: string }>(
        sql`select company_id from orders where code = ${sold.data.code}`,
      )
      assert.equal(companyId, merchant.companyId)
    }
    const ambiguous = await order(client, { merchantIdentifier: merchant.merchantIdentifier })
    assert.equal(ambiguous.error?.code, 'UNKNOWN_MERCHANT_IDENTIFIER', 'an identifier needs its company')
    const sale = { websiteUrl: SHOP, sessionId: await createSession('12.00') }
    assert.equal((await order(client, sale)).status, 200)
  }
  const refused = await order(manager.client, { merchantIdentifier: theirs.id })
  assert.equal(refused.error?.code, 'UNKNOWN_MERCHANT_IDENTIFIER', 'a company that is not attached')
  const elsewhere = await order(manager.client, { merchantIdentifier: 'X' }, `?companyId=${foreign.companyId}`)
  assert.deepEqual([elsewhere.status, elsewhere.error.code], [404, 'OBJECT_NOT_FOUND'])
  const crossed = await order(manager.client, { merchantIdentifier: theirs.id }, `?companyId=${merchant.companyId}`)
  assert.equal(crossed.error?.code, 'UNKNOWN_MERCHANT_IDENTIFIER')
})

test('a session is sold by its own company alone, at its own tills, and not once it has ended', async () => {
  const admin = await logInSuperAdmin(service)
  const stranger = await registerManager(service.baseUrl)
  const theirs = await service.db.one<{ id: string }>(
    sql`select id from collectors where company_id = ${stranger.companyId}`,
  )
  const sessionId = await createSession('12.00')
  const codeOf = async (client: Client, place: Record<string, string>) =>
    (await order(client, { sessionId, ...place })).error?.code
  assert.equal(await codeOf(stranger.client, { websiteUrl: SHOP }), 'UNKNOWN_SESSION')
  assert.equal(await codeOf(stranger.client, { merchantIdentifier: theirs.id }), 'UNKNOWN_SESSION')
  assert.equal(await codeOf(admin, { merchantIdentifier: theirs.id }), 'UNKNOWN_MERCHANT_IDENTIFIER')
  const ended = await service.call('DELETE', `/api/next/buy-button/sessions/${sessionId}`, { as: merchant })
  assert.equal(ended.status, 200, ended.text)
  assert.equal(await codeOf(admin, { merchantIdentifier: merchant.collectorId }), 'UNKNOWN_SESSION')
})

test('whoever guesses a reference gets the state, and nothing that leads to the payer’s or the shop’s page', async () => {
  const alias = `INV-${crypto.randomUUID()}`
  // many shops put the key of the order into these
  const pages = { returnUrl: 'https://shop.example/a?key=wc_1', cancelUrl: 'https://shop.example/b?key=wc_1' }
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier, alias, ...pages }
  const { data } = await service.call<Created>('POST', 'request', { as: merchant, body })
  const [code, id] = [data.code, data.order._id]
  const path = `status/order/${alias}`
  const stranger = await registerManager(service.baseUrl)
  const readers: [string, Record<string, string>][] = [
    ['nobody', {}],
    ['an expired token', { authorization: `Bearer ${'x'.repeat(40)}.y.z` }],
    ['a malformed header', { authorization: 'Token 1' }],
    ['half a key', { 'x-api-key': 'pk_nothing' }],
    ['a revoked key', { 'x-api-key': 'pk_nothing', 'x-api-secret': 'sk_nothing' }],
  ]
  for (const [who, headers] of readers) {
    const read = await service.call<Order>('GET', path, { headers })
    assert.equal(read.status, 200, `${who}: ${read.text}`)
    const { _id, code: shown, shortCode, paymentUrl, status, fromAmount } = read.data
    assert.deepEqual([_id, shown, shortCode, paymentUrl], [null, null, null, null], who)
    assert.deepEqual([status, fromAmount], ['INITIAL', '50.00'], who)
    for (const secret of [code, id, data.order.shortCode ?? '-', 'wc_1'])
      assert.equal(read.text.includes(secret), false, `${who} sees ${secret}`)
    const byCode = await service.call<Order>('GET', `status/${code}`, { headers })
    assert.deepEqual([byCode.status, byCode.data.code, 'webhookUrl' in byCode.data], [200, code, false], who)
    assert.deepEqual([byCode.data.returnUrl, byCode.data.cancelUrl], Object.values(pages), who)
  }
  assert.equal(
    (await stranger.client.get(`confirm_conversion/${path}`)).status,
    404,
    'another company finds its own only',
  )
  const own = await service.call<Order>('GET', path, { as: merchant })
  assert.deepEqual([own.data._id, own.data.code, 'webhookUrl' in own.data], [id, code, true])
  assert.deepEqual([own.data.returnUrl, own.data.cancelUrl], Object.values(pages))
})

test('where no alias matches, the newest order of a session with that reference is meant', async () => {
  const orderRef = `cart/${crypto.randomUUID()}`
  const body = { amount: 12, fromAsset: 'EUR', websiteUrl: SHOP }
  const sessionId = await createSession('12.00', { orderRef })
  const first = await service.call<Created>('POST', 'request', { as: merchant, body: { ...body, sessionId } })
  assert.equal(first.status, 200, first.text)
  assert.equal((await service.call('POST', `cancel/${first.data.code}`, { as: merchant })).status, 200)
  const second = await service.call<Created>('POST', 'request', { as: merchant, body: { ...body, sessionId } })
  for (const spelling of [orderRef, encodeURIComponent(orderRef)]) {
    const mine = await service.call<Order>('GET', `status/order/${spelling}`, { as: merchant })
    assert.deepEqual([mine.status, mine.data.code], [200, second.data.code], mine.text)
    const anyone = await service.call<Order>('GET', `status/order/${spelling}`)
    assert.deepEqual([anyone.status, anyone.data.code, anyone.data.status], [200, null, 'INITIAL'])
  }
})

test('by reference a SimpleUser reads the own order, however many others use the same words', async () => {
  const { client } = await register(service.baseUrl, { role: 'SimpleUser' })
  const orderRef = `ORDER-${crypto.randomUUID()}`
  const others = [await service.createMerchant(), await service.createMerchant()]
  const sessionAt = async (shop: Merchant) => ({
    websiteUrl: SHOP,
    sessionId: await createSession('12.00', { orderRef }, shop),
  })
  const read = async (when: string): Promise<string> => {
    const { data, text } = await client.get<Order | null>(`confirm_conversion/status/order/${orderRef}`)
    assert.ok(data, `${when}: ${text}`)
    return data.code
  }
  const mine = await order(client, await sessionAt(await service.createMerchant()))
  for (const shop of others) {
    const body = { amount: '12.00', fromAsset: 'EUR', ...(await sessionAt(shop)) }
    assert.equal((await service.call('POST', 'request', { as: shop, body })).status, 200)
  }
  assert.equal(await read('carts of two other shops'), mine.data.code)
  const body = { fromAsset: 'EUR', amount: 5, merchantIdentifier: 'TILL-1', alias: orderRef }
  for (const shop of others) assert.equal((await service.call('POST', 'request', { as: shop, body })).status, 200)
  assert.equal(await read('payment links of two other shops'), mine.data.code)
})

test('a return address with a user name or password is refused, in orders and sessions', async () => {
  for (const url of ['https://bank.example@evil.example/', 'https://user:pass@shop.example/']) {
    for (const field of ['returnUrl', 'cancelUrl']) {
      const body = { amount: 5, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier, [field]: url }
      const refused = await service.call('POST', 'request', { as: merchant, body })
      assert.deepEqual([refused.status, refused.error?.details?.[0]?.path], [422, field], url)
    }
  }
})

test('an idempotency key of one company answers nothing about another that is named with it', async () => {
  const admin = await logInSuperAdmin(service)
  const [left, right]: [Person, Person] = [
    await registerManager(service.baseUrl),
    await registerManager(service.baseUrl),
  ]
  const key = { 'idempotency-key': crypto.randomUUID() }
  const make = (companyId: string | null, headers = key) =>
    admin.post<{ _id: string; company: string }>(`sales-points?companyId=${companyId}`, { name: 'Shop' }, headers)
  const [mine, theirs] = [await make(left.companyId), await make(right.companyId)]
  assert.deepEqual([mine.data.company, theirs.data.company], [left.companyId, right.companyId])
  assert.equal(theirs.headers.get('idempotency-replayed'), null)
  const again = await make(right.companyId)
  assert.deepEqual([again.data._id, again.headers.get('idempotency-replayed')], [theirs.data._id, 'true'])
  // a manager who names a foreign company with its key and body learns nothing of its answer
  const spy = await left.client.post(`sales-points?companyId=${right.companyId}`, { name: 'Shop' }, key)
  assert.deepEqual(
    [spy.status, spy.error?.code, spy.headers.get('idempotency-replayed')],
    [404, 'OBJECT_NOT_FOUND', null],
  )
})

test('a repeated website order gets its first answer, also of two at the same moment; another body is refused', async () => {
  const sale = { amount: '12.00', fromAsset: 'EUR', websiteUrl: SHOP, sessionId: await createSession('12.00') }
  const headers = { 'idempotency-key': crypto.randomUUID() }
  const ask = (body: Record<string, unknown> = sale) =>
    service.call<Created>('POST', 'request', { as: merchant, body, headers })
  const [one, two] = await Promise.all([ask(), ask()])
  assert.deepEqual([one.status, two.status], [200, 200], two.text)
  assert.equal(one.text, two.text)
  const replayed = [one, two].map((answer) => answer.headers.get('idempotency-replayed'))
  assert.equal(replayed.filter((value) => value === 'true').length, 1)
  const again = await ask()
  assert.deepEqual([again.text, again.headers.get('idempotency-replayed')], [one.text, 'true'])
  for (const other of [
    { ...sale, amount: '11.00' },
    { ...sale, sessionId: await createSession('12.00') },
  ])
    assert.deepEqual((await ask(other)).error?.code, 'IDEMPOTENCY_KEY_REUSED')
})

test('a SimpleUser’s idempotency key is its own, not the merchant’s', async () => {
  const { client } = await register(service.baseUrl, { role: 'SimpleUser' })
  const key = { 'idempotency-key': crypto.randomUUID() }
  const sale = { amount: '12.00', fromAsset: 'EUR', websiteUrl: SHOP, sessionId: await createSession('12.00') }
  const sold = await service.call<Created>('POST', 'request', { as: merchant, body: sale, headers: key })
  assert.equal(sold.status, 200, sold.text)
  const spy = await client.post<Created>('confirm_conversion/request', sale, key)
  assert.deepEqual([spy.status, spy.error?.code], [400, 'UNKNOWN_SESSION'], 'the session is used; nothing is replayed')
})

test('what is kept of a body under a key is keyed: nobody can guess a password from it', async () => {
  const key = crypto.randomUUID()
  const body = { name: 'Guess me' }
  await service.call('POST', '/api/next/sales-points', { as: merchant, body, headers: { 'idempotency-key': key } })
  const boss = await registerManager(service.baseUrl)
  await boss.client.post('sales-points', body, { 'idempotency-key': key })
  const { fingerprint } = await service.db.one<{ fingerprint: string }>(
    sql`select fingerprint from idempotency_keys where key = ${key}`,
  )
  assert.notEqual(fingerprint, createHash('sha256').update(JSON.stringify(body)).digest('hex'))
})

test('an Observer reads the books and the payouts, and takes no file of them', async () => {
  const boss = await registerManager(service.baseUrl)
  const observer = await register(service.baseUrl, { role: 'Observer' }, boss.client)
  const statusOf = async (path: string, { client }: Pick<Person, 'client'>) => (await client.get(path)).status
  const statement = `settlements/${'0'.repeat(24)}/statement`
  for (const [path, status] of [
    ['ledger', 200],
    ['ledger?format=csv', 403],
    [statement, 404],
    [`${statement}?format=csv`, 403],
  ] as const)
    assert.equal(await statusOf(path, observer), status, path)
  assert.equal(await statusOf('ledger?format=csv', boss), 200)
})

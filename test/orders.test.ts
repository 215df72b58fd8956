import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { expireOrders } from '../src/orders/order-jobs.ts'
import { EuroWanted, readAmount } from '../src/orders/order-rules.ts'
import { largestOrderAt } from '../src/rates/euro.ts'
import { ALL_CONNECTIONS, type Merchant, startTestService, type TestService } from './harness/service.ts'
import { openTransitionsOf } from './harness/transitions.ts'

let host: TestService
let merchant: Merchant
let other: Merchant

before(async () => {
  host = await startTestService({ connections: ALL_CONNECTIONS })
  merchant = await host.createMerchant()
  other = await host.createMerchant()
})
after(() => host.stop())

type OrderData = Record<string, string | null> & { code: string; status: string }
type Created = { code: string; order: OrderData; paymentUrl: string }

const create = (body: Record<string, unknown> = {}, as = merchant, headers: Record<string, string> = {}) =>
  host.call<Created>('POST', 'request', {
    as,
    headers,
    body: { amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1', ...body },
  })

test('an order carries every field of the interface, with exact amounts', async () => {
  const { status, data } = await create({
    amount: 12.34,
    goods: { goodsName: 'Tea', goodsType: '01', goodsCategory: 'A000' },
  })
  assert.equal(status, 200)
  const { order } = data
  assert.match(order.code, /^[0-9A-Za-z]{24}$/)
  assert.match(order.shortCode ?? '', /^[0-9A-HJKMNP-TV-Z]{8}$/)
  assert.match(order._id ?? '', /^[0-9a-f]{24}$/)
  assert.equal(order.fromAmount, '12.34')
  assert.equal(order.toAmount, '13.327200')
  assert.equal(order.status, 'INITIAL')
  assert.equal(order.refundedAmount, '0.000000')
  assert.equal(order.rate, '1.08')
  assert.equal(data.paymentUrl, `${host.config.payUrl}/pay?code=${order.code}`)
  assert.deepEqual(order.goods, { goodsName: 'Tea', goodsType: '01', goodsCategory: 'A000' })
  for (const field of ['paidAt', 'cancelUrl', 'returnUrl', 'websiteUrl', 'paymentChannel', 'alias'])
    assert.equal(order[field], null)
  assert.equal(Date.parse(order.expiresAt ?? '') - Date.parse(order.createdAt ?? ''), 5 * 60_000)
})

test('the francs of the Pacific have no digits after the point, and the rate is stored with its proof', async () => {
  const { data } = await create({ amount: 6000, fromAsset: 'xpf' })
  assert.equal(data.order.fromAmount, '6000')
  assert.equal(data.order.toAmount, '54.300000')
  const proof = await host.db.one<{ rate: string; evidence: { source: string; taken: boolean }[] }>(sql`
    select q.rate, q.evidence from orders o join rate_quotes q on q.id = o.quote_id where o.code = ${data.code}`)
  assert.equal(proof.rate, '0.009050000000')
  assert.deepEqual(
    proof.evidence.map(({ source, taken }) => [source, taken]),
    [['fixed', true]],
  )
  assert.equal((await create({ amount: 10.5, fromAsset: 'XPF' })).error.code, 'ILLEGAL_AMOUNT')
})

test('the largest order is one of EUR: in another currency it is compared and printed at the rate', async () => {
  const shop = await host.createMerchant()
  const most = async (amount: string, fromAsset: string) => {
    const { status, error } = await create({ amount, fromAsset }, shop)
    return error === undefined ? status : [error.code, error.message.split('. ')[0]]
  }
  assert.equal(await most('100000', 'EUR'), 200)
  assert.deepEqual(await most('100000.01', 'EUR'), [
    'ILLEGAL_AMOUNT',
    'The largest amount of this account is 100000.00 EUR',
  ])
  // 100000 EUR x 1.08 / 0.00905
  assert.equal(await most('11933701', 'XPF'), 200)
  for (const amount of ['11933702', '9'.repeat(30)]) {
    const said = 'The largest amount of this account is 11933701 XPF'
    assert.deepEqual(await most(amount, 'XPF'), ['ILLEGAL_AMOUNT', said])
  }
})

test('without a rate for EUR an order is within the maximum, or cannot be compared; an order in EUR needs none', () => {
  const francs = { from: 'XPF', rate: 9_050_000_000n } as const
  const [known, unknown] = [
    { rate: 1_080_000_000_000n, isFinal: true },
    { rate: null, isFinal: true },
  ]
  const largest = largestOrderAt('100.00', francs, known)
  assert.deepEqual(largest, { asset: 'XPF', units: 11_933n, isKnown: true, isFinal: true })
  assert.throws(() => readAmount('11934', 'XPF', largest), { code: 'ILLEGAL_AMOUNT' })
  // one USDC counts as one EUR
  const guessed = largestOrderAt('100.00', francs, unknown)
  assert.equal(readAmount('11049', 'XPF', guessed).units, 11_049n)
  assert.throws(() => readAmount('11050', 'XPF', guessed), { code: 'INVALID_EXCHANGE_RATE' })
  assert.throws(() => readAmount('9'.repeat(30), 'XPF', guessed), { code: 'INVALID_EXCHANGE_RATE' })
  assert.throws(() => readAmount('11050', 'XPF', { ...guessed, isFinal: false }), EuroWanted)
  const euro = { from: 'EUR', rate: 1_080_000_000_000n } as const
  assert.deepEqual(largestOrderAt('100.00', euro, unknown), {
    ...{ asset: 'EUR', units: 10_000n, isKnown: true, isFinal: true },
  })
})

test('bad input is refused with the field that is wrong, and nothing is created', async () => {
  const before = await host.call<{ total: number }>('GET', '', { as: merchant })
  const cases: [Record<string, unknown>, number, string, string?][] = [
    [{ amount: true }, 422, 'VALIDATION_FAILED', 'amount'],
    [{ amount: null }, 422, 'VALIDATION_FAILED', 'amount'],
    [{ amount: '1e3' }, 400, 'ILLEGAL_AMOUNT'],
    [{ amount: 0.09 }, 400, 'ILLEGAL_AMOUNT'],
    [{ amount: 0.101 }, 400, 'ILLEGAL_AMOUNT'],
    [{ amount: -5 }, 400, 'ILLEGAL_AMOUNT'],
    [{ amount: 100_000.01 }, 400, 'ILLEGAL_AMOUNT'],
    [{ fromAsset: 'JPY' }, 422, 'VALIDATION_FAILED', 'fromAsset'],
    [{ toAsset: 'BTC' }, 422, 'VALIDATION_FAILED', 'toAsset'],
    [{ merchantIdentifier: '' }, 422, 'VALIDATION_FAILED', 'merchantIdentifier'],
    [{ merchantIdentifier: 'NOPE' }, 400, 'UNKNOWN_MERCHANT_IDENTIFIER'],
    [{ webhookUrl: 'http://10.0.0.1/x' }, 422, 'VALIDATION_FAILED', 'webhookUrl'],
    [{ returnUrl: 'javascript:alert(1)' }, 422, 'VALIDATION_FAILED', 'returnUrl'],
    [{ expiryMinutes: 20 }, 422, 'VALIDATION_FAILED', 'expiryMinutes'],
    [{ alias: 'x', expiryMinutes: 9 }, 422, 'VALIDATION_FAILED', 'expiryMinutes'],
    [{ goods: { goodsType: '03' } }, 422, 'VALIDATION_FAILED', 'goods.goodsType'],
    [{ alias: 'x'.repeat(101) }, 422, 'VALIDATION_FAILED', 'alias'],
    ...['.', '..', ' ', '\u3000', '\u200b', '\n', '\u2800\u200d'].map(
      (alias): [Record<string, unknown>, number, string, string] => [{ alias }, 422, 'VALIDATION_FAILED', 'alias'],
    ),
    [{ websiteUrl: 'https://shop.example' }, 422, 'VALIDATION_FAILED', 'sessionId'],
    [{ websiteUrl: 'https://shop.example', sessionId: 'nope' }, 400, 'UNKNOWN_SESSION'],
  ]
  for (const [body, status, code, path] of cases) {
    const answer = await create(body)
    assert.deepEqual([answer.status, answer.error?.code], [status, code], JSON.stringify(body))
    if (path) assert.equal(answer.error.details?.[0]?.path, path, JSON.stringify(body))
  }
  const after = await host.call<{ total: number }>('GET', '', { as: merchant })
  assert.equal(after.data.total, before.data.total)
})

test('each transport mistake has its own clear answer, never a 500', async () => {
  const path = '/api/next/confirm_conversion/request'
  const cases: [string, string, Parameters<TestService['call']>[2], number, string][] = [
    ['POST', path, { as: merchant, raw: '{bad' }, 400, 'MALFORMED_JSON'],
    ['POST', path, { as: merchant, raw: '{"__proto__":1}' }, 400, 'MALFORMED_JSON'],
    ['POST', path, { as: merchant, raw: `{"a":"${'x'.repeat(70_000)}"}` }, 413, 'BODY_TOO_LARGE'],
    [
      'POST',
      path,
      { as: merchant, raw: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    [
      'POST',
      path,
      { as: merchant, raw: '{"amount":5,"fromAsset":"EUR","alias":"a\\u0000b"}' },
      422,
      'VALIDATION_FAILED',
    ],
    ['POST', path, { as: merchant, raw: '{"amount":5,"fromAsset":"EUR","alias":"\\ud800"}' }, 422, 'VALIDATION_FAILED'],
    ['POST', path, { as: merchant, raw: '[]' }, 422, 'VALIDATION_FAILED'],
    ['POST', path, { body: {} }, 401, 'UNAUTHORIZED'],
    ['POST', path, { body: {}, headers: { authorization: 'Bearer nonsense' } }, 401, 'UNAUTHORIZED'],
    ['DELETE', path, { as: merchant }, 405, 'METHOD_NOT_ALLOWED'],
    ['GET', '/api/next/nowhere', {}, 404, 'NOT_FOUND'],
    ['GET', '/api/next/confirm_conversion/status/%00', {}, 422, 'VALIDATION_FAILED'],
    ['GET', '/api/next/confirm_conversion?limit=101', { as: merchant }, 422, 'VALIDATION_FAILED'],
    ['GET', '/api/next/confirm_conversion?page=0', { as: merchant }, 422, 'VALIDATION_FAILED'],
    ['GET', '/api/next/confirm_conversion?status=NEW', { as: merchant }, 422, 'VALIDATION_FAILED'],
    ['GET', '/api/next/confirm_conversion?managerEmail=a@b.c', { as: merchant }, 403, 'FORBIDDEN'],
  ]
  for (const [method, url, options, status, code] of cases) {
    const answer = await host.call(method, url, options)
    assert.deepEqual([answer.status, answer.error?.code], [status, code], `${method} ${url}`)
    assert.equal(answer.error.requestId, answer.headers.get('x-request-id'))
  }
  const wrongMethod = await host.call('DELETE', path, { as: merchant })
  assert.equal(wrongMethod.headers.get('allow'), 'POST')
})

test('strangers see an order without webhookUrl, other companies cannot touch it', async () => {
  const { data } = await create({ webhookUrl: 'http://127.0.0.1:8099/hook' })
  const mine = await host.call<OrderData>('GET', `status/${data.code}`, { as: merchant })
  assert.equal(mine.data.webhookUrl, 'http://127.0.0.1:8099/hook')
  for (const as of [undefined, other]) {
    const seen = await host.call<OrderData>('GET', `status/${data.code}`, as ? { as } : {})
    assert.equal(seen.status, 200)
    assert.equal('webhookUrl' in seen.data, false)
  }
  for (const action of ['cancel', 'expire', 'accept', 'confirm']) {
    const body = action === 'accept' ? { body: { paymentChannel: 'crypto' } } : {}
    const answer = await host.call('POST', `${action}/${data.code}`, { as: other, ...body })
    assert.ok([404, 400].includes(answer.status) && answer.status !== 200, `${action}: ${answer.status}`)
  }
  assert.equal(
    (await host.call<{ orders: OrderData[] }>('GET', `?search=${data.code}`, { as: other })).data.orders.length,
    0,
  )
})

test('texts are stored as they came, whatever separates them on their way, also when many come at once', async () => {
  const controls = String.fromCodePoint(...Array.from({ length: 31 }, (_, index) => index + 1))
  const texts = Array.from({ length: 40 }, (_, index) => `${controls}{"a":[1,'x',\\,"${index}"]}\u2028 é 😀\t`)
  const made = await Promise.all(texts.map((text) => create({ alias: text, goods: { goodsName: text } })))
  for (const [index, { status, data }] of made.entries()) {
    const stored = (await host.call<OrderData>('GET', `status/${data.code}`, { as: merchant })).data
    assert.equal(status, 200)
    assert.deepEqual([stored.alias, stored.goods], [texts[index], { goodsName: texts[index] }])
    assert.deepEqual(stored, data.order)
  }
})

test('by reference: any characters, the newest order, and never a guess between merchants', async () => {
  const alias = 'année/2026 №7?#%'
  const first = await create({ alias })
  assert.equal(first.status, 200)
  assert.equal((await create({ alias })).error.code, 'ALIAS_IN_USE')
  await host.call('POST', `cancel/${first.data.code}`, { as: merchant })
  const second = await create({ alias })
  const encoded = encodeURIComponent(alias)
  for (const path of [`status/order/${encoded}`, `status/order/${encoded.replace('%2F', '/')}`]) {
    assert.equal((await host.call<OrderData>('GET', path, { as: merchant })).data.code, second.data.code)
    const stranger = (await host.call<OrderData>('GET', path)).data
    assert.deepEqual([stranger.alias, stranger.status, stranger.code], [alias, 'INITIAL', null])
  }
  const foreign = await create({ alias }, other)
  assert.equal((await host.call('GET', `status/order/${encoded}`)).error.code, 'AMBIGUOUS_REFERENCE')
  assert.equal(
    (await host.call<OrderData>('GET', `status/order/${encoded}`, { as: other })).data.code,
    foreign.data.code,
  )
  assert.equal(
    (await host.call<OrderData>('GET', `status/order/${encoded}`, { as: merchant })).data.code,
    second.data.code,
  )
  assert.equal((await host.call('GET', 'status/order/none')).status, 404)
})

test('by reference and company: its order, whoever else used the text', async () => {
  const sellers = await Promise.all([1, 2, 3].map(() => host.createMerchant()))
  for (const seller of sellers) assert.equal((await create({ alias: 'SHARED-1' }, seller)).status, 200)
  for (const { companyId } of [...sellers, { companyId: merchant.companyId }]) {
    const { status } = await host.call('GET', `status/order/SHARED-1?companyId=${companyId}`)
    assert.equal(status, companyId === merchant.companyId ? 404 : 200)
  }
})

test('cancel and expire can be repeated, exclude each other, and say the current status', async () => {
  const { data } = await create()
  for (let turn = 0; turn < 2; turn += 1)
    assert.equal((await host.call('POST', `cancel/${data.code}`, { as: merchant })).status, 200)
  const refused = await host.call('POST', `expire/${data.code}`, { as: merchant })
  assert.deepEqual([refused.status, refused.error.code], [409, 'ORDER_STATE_CONFLICT'])
  assert.match(refused.error.message, /CANCELLED/)
  assert.equal((await host.call('POST', `confirm/${data.code}`, { as: merchant })).error.code, 'ORDER_STATE_CONFLICT')
})

test('a payment link lives one calendar month, or as asked', async () => {
  const month = (await create({ alias: 'month' })).data.order
  const asked = (await create({ alias: 'asked', expiryMinutes: 10 })).data.order
  const end = new Date(month.createdAt ?? '')
  end.setUTCMonth(end.getUTCMonth() + 1)
  assert.equal(month.expiresAt, end.toISOString())
  assert.equal(Date.parse(asked.expiresAt ?? '') - Date.parse(asked.createdAt ?? ''), 600_000)
  const links = await host.call<OrderData[]>('GET', 'links', { as: merchant })
  assert.deepEqual(
    links.data.slice(0, 2).map((order) => order.alias),
    ['asked', 'month'],
  )
})

test('an order expires when its time is over, once, and not before', async () => {
  const { data } = await create()
  assert.equal(await expireOrders(host.db, openTransitionsOf(host), Date.now() + 4 * 60_000), 0)
  await Promise.all([1, 2, 3].map(() => expireOrders(host.db, openTransitionsOf(host), Date.now() + 6 * 60_000)))
  assert.equal((await host.call<OrderData>('GET', `status/${data.code}`)).data.status, 'EXPIRED')
  const events = await host.db.many<{ trigger: string }>(sql`
    select trigger from order_events e join orders o on o.id = e.order_id where o.code = ${data.code} order by seq`)
  assert.deepEqual(
    events.map(({ trigger }) => trigger),
    ['create', 'expire'],
  )
})

test('orders that may not end yet, however many, do not keep later ones from expiring', async () => {
  const { companyId } = await host.createMerchant()
  const rows = await host.db.many<{ id: string }>(sql`
    insert into orders (company_id, id, code, short_code, status, from_asset, from_units, to_asset, to_units, rate, quote_id,
      created_at, updated_at, expires_at)
    select ${companyId}, ${companyId} || n, ${companyId} || n, 'S' || n, 'INITIAL', 'EUR', 100, 'USDC', 1, 1.08, 'q', now(), now(),
      now() + interval '2 minutes' from generate_series(1, 2001) n returning id`)
  const held = new Set(rows.map(({ id }) => id))
  const { data } = await create()
  await expireOrders(host.db, openTransitionsOf(host), Date.now() + 6 * 60_000, {
    chains: [],
    beforeEnd: async (orders) => orders.filter(({ id }) => !held.has(id)),
  })
  assert.equal((await host.call<OrderData>('GET', `status/${data.code}`)).data.status, 'EXPIRED')
})

test('one Idempotency-Key makes one order: replayed, refused for another body, also under concurrency', async () => {
  const key = { 'idempotency-key': 'order-1' }
  const answers = await Promise.all(Array.from({ length: 20 }, () => create({ amount: 7 }, merchant, key)))
  const done = answers.filter(({ status }) => status === 200)
  assert.ok(done.length >= 1)
  assert.deepEqual(new Set(answers.map(({ status }) => status === 200 || status === 409)), new Set([true]))
  assert.equal(new Set(done.map(({ text }) => text)).size, 1)
  const again = await create({ amount: 7 }, merchant, key)
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  assert.equal(again.text, done[0]?.text)
  assert.equal((await create({ amount: 8 }, merchant, key)).error.code, 'IDEMPOTENCY_KEY_REUSED')
  assert.equal((await create({ amount: 8 }, other, key)).status, 200)
  const { n } = await host.db.one<{ n: bigint }>(sql`
    select count(*) as n from orders where from_units = 700 and company_id = ${merchant.companyId}`)
  assert.equal(n, 1n)
})

test('confirm says why it is too late, also for an order that was never accepted', async () => {
  const { data } = await create()
  const confirm = async () => (await host.call('POST', `confirm/${data.code}`, { as: merchant })).error.message
  assert.match(await confirm(), /Accept the order first/)
  await host.call('POST', `expire/${data.code}`, { as: merchant })
  assert.match(await confirm(), /The order is EXPIRED; it cannot be paid any more/)
})

test('an Idempotency-Key on cancel repeats the answer, and a refusal is not remembered', async () => {
  const { data } = await create()
  const key = { 'idempotency-key': 'cancel-1' }
  assert.equal(
    (await host.call('POST', `confirm/${data.code}`, { as: merchant, headers: { 'idempotency-key': 'c' } })).status,
    409,
  )
  assert.equal(
    (await host.call('POST', `confirm/${data.code}`, { as: merchant, headers: { 'idempotency-key': 'c' } })).status,
    409,
  )
  assert.equal((await host.call('POST', `cancel/${data.code}`, { as: merchant, headers: key })).status, 200)
  // a slash behind it is the same path to the router, so it is the same call
  for (const path of [`cancel/${data.code}`, `cancel/${data.code}/`]) {
    const again = await host.call('POST', path, { as: merchant, headers: key })
    assert.equal(again.headers.get('idempotency-replayed'), 'true', path)
  }
})

test('a repeated order gets its first answer, also when it could not be made again: the till closed, the limit fell', async () => {
  const shop = await host.createMerchant()
  const key = { 'idempotency-key': 'again-1' }
  const made = await create({ alias: 'INV-again' }, shop, key)
  assert.equal(made.status, 200, made.text)
  const changes = [
    sql`update companies set max_order_amount = 10, version = version + 1 where id = ${shop.companyId}`,
    sql`update companies set max_order_amount = 100, version = version + 1 where id = ${shop.companyId}`,
    sql`update collectors set active = false where id = ${shop.collectorId}`,
  ]
  for (const change of changes) {
    await host.db.run(change)
    // after this the service knows of the change
    await create({ amount: 5 }, shop)
    const again = await create({ alias: 'INV-again' }, shop, key)
    assert.deepEqual([again.text, again.headers.get('idempotency-replayed')], [made.text, 'true'])
    assert.equal((await create({}, shop, key)).error.code, 'IDEMPOTENCY_KEY_REUSED')
  }
  assert.equal((await create({ amount: 5 }, shop)).error.code, 'UNKNOWN_MERCHANT_IDENTIFIER')
})

test('an order of a deactivated till or a changed company is never made from an old copy', async () => {
  const shop = await host.createMerchant()
  assert.equal((await create({}, shop)).status, 200)
  await host.db.run(sql`update companies set max_order_amount = 10, version = version + 1 where id = ${shop.companyId}`)
  assert.equal((await create({}, shop)).error.code, 'ILLEGAL_AMOUNT')
  await host.db.run(sql`update collectors set active = false where id = ${shop.collectorId}`)
  assert.equal((await create({ amount: 5 }, shop)).error.code, 'UNKNOWN_MERCHANT_IDENTIFIER')
})

test('sorted by toAmount, amounts of several currencies stand in the order of their worth', async () => {
  const shop = await host.createMerchant()
  for (const [amount, fromAsset] of [
    [50, 'EUR'],
    [5000, 'XPF'],
    [45, 'GBP'],
  ] as const)
    await create({ amount, fromAsset }, shop)
  const read = async (sort: string): Promise<number[]> => {
    const amounts: number[] = []
    let cursor = ''
    do {
      const path = `?limit=1&sort=${sort}${cursor}`
      type Page = { orders: OrderData[]; nextCursor: string | null }
      const { data } = await host.call<Page>('GET', path, { as: shop })
      amounts.push(...data.orders.map(({ toAmount }) => Number(toAmount)))
      cursor = data.nextCursor === null ? '' : `&cursor=${data.nextCursor}`
    } while (cursor !== '')
    return amounts
  }
  const up = await read('toAmount')
  assert.deepEqual([up.length, up], [3, up.toSorted((one, other) => one - other)])
  assert.deepEqual(await read('-toAmount'), up.toReversed())
})

test('a reference that ends in a slash finds its own order first, percent-encoded or not', async () => {
  const shop = await host.createMerchant()
  const amountAt = async (path: string) => {
    const { data } = await host.call<OrderData | null>('GET', `status/order/${path}`, { as: shop })
    return data && [data.alias, data.fromAmount]
  }
  await create({ alias: 'INV/7', amount: '1.00' }, shop)
  assert.deepEqual(await amountAt('INV/7/'), ['INV/7', '1.00'], 'a slash too many')
  await create({ alias: 'INV/7/', amount: '2.00' }, shop)
  await create({ alias: 'é ?//', amount: '3.00' }, shop)
  for (const path of ['INV/7/', 'INV%2F7%2F', 'INV/7%2F', 'INV/7/?x=1'])
    assert.deepEqual(await amountAt(path), ['INV/7/', '2.00'], path)
  for (const path of ['INV/7', 'INV%2F7', 'INV/7?x=/']) assert.deepEqual(await amountAt(path), ['INV/7', '1.00'], path)
  assert.deepEqual(await amountAt('%C3%A9%20%3F//'), ['é ?//', '3.00'])
  assert.equal(await amountAt('/'), null)
})

test('pages and cursors show every order exactly once while others arrive', async () => {
  const shop = await host.createMerchant()
  await Promise.all(Array.from({ length: 45 }, (_, index) => create({ amount: index + 1 }, shop)))
  const to = new Date().toISOString()
  const writer = Promise.all(Array.from({ length: 30 }, () => create({}, shop)))
  const collect = async (sort: string): Promise<string[]> => {
    const codes: string[] = []
    let cursor: string | null = null
    do {
      const path: string = `?limit=10&sort=${sort}&to=${to}${cursor === null ? '' : `&cursor=${cursor}`}`
      const page = await host.call<{ orders: OrderData[]; nextCursor: string | null; total: number }>('GET', path, {
        as: shop,
      })
      assert.equal(page.data.total, 45)
      codes.push(...page.data.orders.map((order) => order.code))
      cursor = page.data.nextCursor
    } while (cursor !== null)
    return codes
  }
  for (const sort of ['-createdAt', 'createdAt', 'fromAmount', '-fromAmount', 'toAmount', '-toAmount']) {
    const codes = await collect(sort)
    assert.equal(codes.length, 45)
    assert.equal(new Set(codes).size, 45)
  }
  const third = await host.call<{ orders: OrderData[]; page: number }>('GET', `?limit=10&page=5&to=${to}`, { as: shop })
  assert.deepEqual([third.data.orders.length, third.data.page], [5, 5])
  await writer
})

test('updatedAt grows with every change, and the log never shows a credential', async () => {
  const { data } = await create()
  const order = await host.db.one<{ updatedAt: Date; createdAt: Date }>(
    sql`select updated_at, created_at from orders where code = ${data.code}`,
  )
  await host.call('POST', `cancel/${data.code}`, { as: merchant })
  const after = await host.db.one<{ updatedAt: Date }>(sql`select updated_at from orders where code = ${data.code}`)
  assert.ok(after.updatedAt > order.updatedAt)
  const log = host.logLines.join('')
  assert.equal(log.includes(merchant.headers['x-api-secret'] ?? '-'), false)
})

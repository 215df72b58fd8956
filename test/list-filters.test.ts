import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { logInSuperAdmin } from './harness/accounts.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* What lists take as dates and channels and orders as amounts, with one meaning of each, and why they refuse. */

const DAY_MS = 86_400_000
let shop: Shop

/** The paid one. */
let paid: { code: string; toAddress: string; txHash: string }

before(async () => {
  shop = await openShop()
  const { code, toAddress, units } = await shop.createAwaiting()
  paid = { code, toAddress, txHash: await shop.chain.pay({ to: toAddress, units }) }
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
})
after(() => shop?.stop())

const get = (path: string) => shop.host.call('GET', `/api/next/${path}`, { headers: shop.merchant.headers })

test('a date alone is the beginning of that day as from and its end as to, in every list', async () => {
  const day = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)
  const counts: Record<string, (data: Record<string, unknown>) => unknown> = {
    confirm_conversion: ({ total }) => total,
    'webhook-deliveries': ({ total }) => total,
    ledger: ({ entries }) => (entries as unknown[]).length,
  }
  for (const [path, count] of Object.entries(counts)) {
    const found = async (query: string): Promise<number> => {
      const { status, data, text } = await get(`${path}?${query}`)
      assert.equal(status, 200, `${path}?${query}: ${text}`)
      return Number(count(data))
    }
    assert.ok((await found(`from=${day(0)}&to=${day(0)}`)) > 0, path)
    assert.equal(await found(`to=${day(-1)}`), 0, path)
    assert.equal(await found(`from=${day(1)}`), 0, path)
    assert.equal((await get(`${path}?from=2026-13-45`)).status, 422, path)
    assert.equal((await get(`${path}?to=2026-13-45`)).status, 422, path)
  }
  const body = { from: day(1) }
  const again = await shop.host.call('POST', '/api/next/webhook-deliveries/redeliver', {
    headers: shop.merchant.headers,
    body,
  })
  assert.deepEqual([again.status, again.data.redelivered], [200, 0], again.text)
})

test('bulk redelivery takes the filters of the list, in the body or in the address, and refuses what it does not know', async () => {
  await shop.host.db.run(sql`update deliveries set status = 'failed'`)
  const redeliver = (query: string, body?: Record<string, unknown>) =>
    shop.host.call<{ redelivered: number }>('POST', `/api/next/webhook-deliveries/redeliver${query}`, {
      headers: shop.merchant.headers,
      ...(body && { body }),
    })
  const code = 'nope'
  for (const [query, body] of [
    ['?status=failed&code=nope', {}],
    ['?status=failed,parked&code=nope', undefined],
    ['?code=nope', { status: ['failed'] }],
    ['?code=nope', { code, status: 'failed,parked' }],
    ['', { code, status: 'failed' }],
    ['', { code, status: ['failed', 'parked'] }],
    ['?status=failed&status=parked', { code, status: ['failed', 'parked'] }],
    [`?from=${new Date().toISOString().slice(0, 10)}&event=order.pending`, {}],
    // a program that lost the code does not send everything
    ['?code=', {}],
    ['', { code: '' }],
    ['?status=', {}],
    ['?status=,', {}],
    ['', { status: '' }],
    ['', { status: [] }],
    ['', { status: [''] }],
  ] as [string, Record<string, unknown> | undefined][]) {
    const { status, data, text } = await redeliver(query, body)
    assert.deepEqual([status, data?.redelivered], [200, 0], `${query} ${JSON.stringify(body)} ${text}`)
  }
  for (const [query, body, path] of [
    ['?code=nope', { code: paid.code }, 'code'],
    ['?status=failed', { status: 'parked' }, 'status'],
    ['?code=nope', { code: 'nope', limit: 0 }, 'limit'],
    ['?limit=2', { code: 'nope', limit: 3 }, 'limit'],
    ['?orderCode=nope', {}, 'orderCode'],
    ['?status=lost', {}, 'status'],
    ['', { orderCode: 'nope' }, 'orderCode'],
    ['?status=', { status: 'failed' }, 'status'],
    ['', { code: null }, 'code'],
    ['?code=nope', { status: null }, 'status'],
    ['', { code: 'nope', limit: null }, 'limit'],
  ] as const) {
    const { status, error, text } = await redeliver(query, body)
    assert.deepEqual([status, error?.details?.[0]?.path], [422, path], `${query} ${JSON.stringify(body)} ${text}`)
  }
  // the list's paging: `limit` bounds, `page` is ignored by name
  const bounded = await redeliver('?page=1&limit=100', { status: 'failed', code: paid.code, limit: 100 })
  assert.deepEqual([bounded.status, bounded.data], [200, { redelivered: 1, limit: 100 }])
  assert.equal(bounded.headers.get('comptoir-ignored'), 'page')
})

test('a channel that does not exist is refused as a state is', async () => {
  for (const path of ['confirm_conversion', 'confirm_conversion/links', 'confirm_conversion/download']) {
    const { status, text } = await get(`${path}?paymentChannel=foo`)
    assert.equal(status, 422, `${path}: ${text}`)
    assert.match(text, /"path":"paymentChannel","message":"foo is no channel\. Choose from: binance, /)
  }
  const { status, data } = await get('confirm_conversion?paymentChannel=crypto')
  assert.deepEqual([status, data.total], [200, 1])
})

test('a filter that was left empty, or holds only spaces, hides nothing', async () => {
  const admin = await logInSuperAdmin(shop.host)
  const rowsOf = async (path: string): Promise<number> => (await admin.get(path)).text.trim().split('\r\n').length - 1
  for (const empty of ['', '%20', '%20%09']) {
    for (const name of ['search', 'merchantIdentifier', 'managerEmail']) {
      const filter = `${name}=${empty}`
      assert.equal((await admin.get<{ total: number }>(`confirm_conversion?${filter}`)).data.total, 1, filter)
      assert.equal(await rowsOf(`confirm_conversion/download?${filter}`), 1, filter)
    }
    for (const path of ['users', 'companies']) {
      const { data } = await admin.get<{ total: number }>(`${path}?search=${empty}`)
      assert.ok(data.total > 0, `${path}?search=${empty}`)
    }
    assert.equal((await get(`confirm_conversion?managerEmail=${empty}`)).status, 200, 'it asks for nothing forbidden')
  }
})

test('every filter that was left empty counts as absent, in each list', async () => {
  const names = ['page', 'limit', 'from', 'to', 'sort', 'cursor', 'status', 'paymentChannel', 'event', 'code', 'url']
  const all = names.map((name) => `${name}=`).join('&')
  for (const path of ['confirm_conversion', 'webhook-deliveries', 'refunds', 'mispayments', 'events', 'ledger']) {
    const { status, text } = await get(`${path}?${all}`)
    assert.equal(status, 200, `${path}: ${text}`)
  }
  const lost = await get('events?after=')
  assert.equal(lost.status, 422, 'without its cursor a program would read everything again')
  assert.equal((await get(`confirm_conversion?${all}`)).data.total, 1)
  assert.ok(Number((await get(`webhook-deliveries?${all}`)).data.total) > 0)
})

test('an amount of a refund that is empty, misspelt or misplaced is refused, and does not mean all that is left', async () => {
  const { headers } = shop.merchant
  for (const [query, body, path] of [
    ['', { amount: '' }, 'amount'],
    ['', { amount: null }, 'amount'],
    ['', { Amount: '1.00' }, 'Amount'],
    ['?amount=1.00', {}, 'amount'],
    ['?amount=', { reason: 'cold' }, 'amount'],
  ] as const) {
    const url = `/api/next/confirm_conversion/revert/${paid.code}${query}`
    const { status, error, text } = await shop.host.call('POST', url, { headers, body })
    assert.deepEqual([status, error?.details?.[0]?.path], [422, path], text)
  }
  const { data } = await get('refunds')
  assert.equal(data.total, 0)
})

test('everywhere else an empty amount counts as absent', async () => {
  const { headers, merchantIdentifier } = shop.merchant
  const body = { name: 'T', merchantIdentifier, currency: 'EUR', amount: '' }
  const { status, text } = await shop.host.call('POST', '/api/next/static-links', { headers, body })
  assert.equal(status, 200, text)
})

test('managerEmail finds a manager by the address as it is written, in the list and in the download', async () => {
  const admin = await logInSuperAdmin(shop.host)
  const [written, key] = ['Eva@Bücher.example', 'eva@xn--bcher-kva.example']
  await shop.host.db.run(sql`
    insert into users (id, email, email_key, password_hash, first_name, last_name, role, company_id)
    values (${newId()}, ${written}, ${key}, '-', 'Eva', 'Buch', 'Manager', ${shop.merchant.companyId})`)
  for (const email of [written, written.toUpperCase(), key, 'other@bücher.example']) {
    const filter = `managerEmail=${encodeURIComponent(email)}`
    const expected = email.startsWith('other') ? 0 : 1
    assert.equal((await admin.get<{ total: number }>(`confirm_conversion?${filter}`)).data.total, expected, email)
    const { text } = await admin.get(`confirm_conversion/download?${filter}`)
    assert.equal(text.trim().split('\r\n').length - 1, expected, email)
  }
})

test('an amount that is too small, too large or no number is refused for its own reason', async () => {
  const { headers, merchantIdentifier } = shop.merchant
  const plain = 'The amount must be a plain decimal with at most 2 digits after the point for EUR.'
  const most = 'The largest amount of this account is 100000.00 EUR. Ask the operator to raise it.'
  for (const [amount, message] of [
    ['-5', 'The amount must be more than 0.'],
    [-5, 'The amount must be more than 0.'],
    [1e30, most],
    ['9'.repeat(30), most],
    ['100000.01', most],
    ['many', plain],
  ] as const) {
    const body = { amount, fromAsset: 'EUR', merchantIdentifier }
    const answer = await shop.host.call('POST', '/api/next/confirm_conversion/request', { headers, body })
    assert.deepEqual([answer.status, JSON.parse(answer.text).error.message], [400, message], String(amount))
  }
})

test('a time that cannot be read is refused with one that can, also where a + was sent as it is', async () => {
  for (const path of ['confirm_conversion', 'ledger'])
    for (const day of ['2026-11-31', '2026-02-30', '2026-13-01'])
      assert.equal((await get(`${path}?to=${day}`)).status, 422, `${path} ${day}`)
  for (const from of ['yesterday', '1763600000', '2026-11-20T00:00:00', '2026-11-20T00:00:00+01:00']) {
    const { status, text } = await get(`confirm_conversion?from=${from}`)
    assert.equal(status, 422, `${from}: ${text}`)
    assert.match(text, /"path":"from","message":"must be a time with its zone, such as 2026-07-03T10:00:00Z;/)
  }
  assert.equal((await get('confirm_conversion?from=2026-11-20T00:00:00%2B01:00')).status, 200)
})

test('a cursor that was written by hand is refused, and reaches no statement', async () => {
  const forge = (cursor: object): string => Buffer.from(JSON.stringify(cursor)).toString('base64url')
  const id = 'a'.repeat(24)
  for (const [sort, cursor] of [
    ['-fromAmount', { sort: '-fromAmount', id }],
    ['-fromAmount', { sort: '-fromAmount', id, amount: [['5']] }],
    ['-createdAt', { sort: '-createdAt', id: [id], amount: '5' }],
    ['createdAt', { sort: '-createdAt', id, amount: '5' }],
  ] as const) {
    const { status, text } = await get(`confirm_conversion?sort=${sort}&cursor=${forge(cursor)}`)
    assert.equal(status, 422, `${JSON.stringify(cursor)}: ${text}`)
    assert.match(text, /"path":"cursor"/)
  }
})

test('an order is found by what a customer says on the phone or sends: a spoken code, an amount, a transaction', async () => {
  const { code } = await shop.createAwaiting({ amount: '1709.70', anonymous: true })
  const { shortCode } = (await shop.host.call<{ shortCode: string }>('GET', `status/${code}`)).data
  const spoken = `${shortCode.slice(0, 4).toLowerCase()} ${shortCode.slice(4)}`
    .replaceAll('0', 'O')
    .replaceAll('1', 'l')
  const find = async (search: string): Promise<string[]> => {
    const { data } = await get(`confirm_conversion?search=${encodeURIComponent(search)}`)
    return (data as { orders: { code: string }[] }).orders.map((order) => order.code)
  }
  for (const search of [
    shortCode,
    spoken,
    `#${shortCode} `,
    '1709,70',
    '1.709,70',
    '1709.70 EUR',
    '1\u202f709,70\u00a0€',
  ])
    assert.deepEqual(await find(search), [code], search)
  for (const search of [paid.txHash, paid.toAddress, paid.txHash.toUpperCase().replace('0X', '0x')])
    assert.deepEqual(await find(search), [paid.code], search)
  assert.deepEqual(await find(`0x${'ab'.repeat(32)}`), [])
  // a provider's own id is asked of its support, and ours stands in its console
  const { reference } = await shop.host.db.one<{ reference: string }>(sql`
    update payments set channel = 'gatepay', provider_reference = '293154891235934334'
    where order_id = (select id from orders where code = ${code}) returning merchant_reference as reference`)
  for (const search of ['293154891235934334', ` ${reference} `]) assert.deepEqual(await find(search), [code], search)
  assert.deepEqual(await find('293154891235934335'), [])
  const other = await shop.host.createMerchant()
  const foreign = await shop.host.call<{ total: number }>('GET', `?search=${reference}`, { as: other })
  assert.equal(foreign.data.total, 0)
})

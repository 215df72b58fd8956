import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import type { UserRole } from '../src/http/actor.ts'
import { newId } from '../src/kernel/ids.ts'
import { SEARCHES } from '../web/office/src/screens/home/targets.ts'
import { type Client, logIn, logInSuperAdmin, passwordHash } from './harness/accounts.ts'
import { insertPerson } from './harness/office-world.ts'
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

/** Some that wait, and after them a page of newer ones that are done, in every list that Home links to. */
async function fillLists(companyId: string, otherId: string): Promise<void> {
  const { db } = shop.host
  const id = sql`lpad(to_hex(n), 24, '0')`
  const at = sql`now() + n * interval '1 second'`
  const rows = sql`generate_series(1, 24) n`
  await db.run(sql`
    insert into refunds (company_id, id, order_id, number, mispayment_id, payment_id, channel, status, units, excess_units,
      fiat_units, without_cover, asked_by_mail, network, requested_by, handed_over_at, created_at, updated_at, settled_at)
    select company_id, ${id}, id, n + 9, ${id}, payment_id, 'crypto',
      coalesce((array['needs_approval', 'needs_address', 'ready'])[n], 'settled'), 1, 0, 0, false, false, 31337, 'user:a',
      case n when 3 then now() end, ${at}, now(), case when n > 3 then now() end
    from orders, ${rows} where code = ${paid.code}`)
  await db.run(sql`
    insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, status, created_at,
      updated_at)
    select company_id, ${id}, id, payment_id, 'late', 'USDC', 1, ${id}, case n when 1 then 'open' else 'ignored' end, ${at},
      now() from orders, ${rows} where code = ${paid.code}`)
  await db.run(sql`
    insert into kyc_records (company_id, id, payer_key, provider, status, edd_status, created_at, updated_at)
    select ${companyId}, ${id}, ${id}, 'manual', case n when 1 then 'pending' else 'approved' end,
      case n when 2 then 'pending' else 'none' end, ${at}, now() from ${rows}`)
  await db.run(sql`
    insert into settlements (company_id, id, status, units, address, network, created_by, created_at, updated_at)
    select case n when 1 then ${otherId} else ${companyId} end, ${id},
      coalesce((array['open', 'approved'])[n], 'cancelled'), 1, '0x01', 31337, 'user:a', ${at}, now() from ${rows}`)
  await db.run(sql`
    insert into screenings (company_id, id, purpose, subject_id, network, address, status, next_check_at, opened_at,
      updated_at)
    select ${companyId}, ${id}, case n when 2 then 'payment' else 'refund' end, ${id}, 31337, ${id},
      case n when 1 then 'held' else 'blocked' end, case n when 1 then now() + interval '1 day' end, ${at}, now()
    from ${rows}`)
  await db.run(sql`
    update deliveries set status = case when id = (select min(id) from deliveries) then 'parked' else 'delivered' end`)
}

test('what Home counts is what each list shows of its link, on its first page, for one company and for all', async () => {
  const { companyId } = shop.merchant
  const other = await shop.host.createMerchant()
  await fillLists(companyId, other.companyId)
  const links = {
    refunds: `refunds?status=${SEARCHES.refunds.status}`,
    mispayments: `mispayments?status=${SEARCHES.mispayments.status}`,
    identity: `kyc?status=${SEARCHES.identity.status}`,
    settlements: 'settlements?status=waiting',
    screenings: `screenings?status=${SEARCHES.screenings.status}`,
    deliveries: `webhook-deliveries?status=${SEARCHES.deliveries.status}`,
  }
  const ask = async (by: Client): Promise<Record<string, unknown>> => {
    const counted = (await by.get<{ needs: Record<string, number> }>('summary?days=1')).data.needs
    const found = Object.entries(links).map(async ([name, path]) => {
      const answer = await by.get<Record<string, unknown>>(path)
      const rows = Array.isArray(answer.data) ? answer.data : Object.values(answer.data).find(Array.isArray)
      assert.ok(Array.isArray(rows), `${path}: ${answer.text}`)
      return [name, [counted[name], rows.length]]
    })
    return Object.fromEntries(await Promise.all(found))
  }
  const both = { mispayments: [1, 1], identity: [2, 2], screenings: [2, 2], deliveries: [1, 1] }
  assert.deepEqual(await ask(await logInSuperAdmin(shop.host)), { refunds: [3, 3], settlements: [2, 2], ...both })
  // the operator approves, and sends what it holds
  const logInAs = async (role: UserRole): Promise<[Client, string]> => {
    const { email, id } = await insertPerson(shop.host.db, role, companyId, await passwordHash())
    return [await logIn(shop.host.baseUrl, email), id]
  }
  const [manager] = await logInAs('Manager')
  assert.deepEqual(await ask(manager), { refunds: [1, 1], settlements: [1, 1], ...both })
  const [boss, bossId] = await logInAs('SuperManager')
  for (const id of [companyId, other.companyId])
    await shop.host.db.run(sql`insert into super_manager_companies (user_id, company_id) values (${bossId}, ${id})`)
  assert.deepEqual(await ask(boss), { refunds: [1, 1], settlements: [2, 2], ...both })
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

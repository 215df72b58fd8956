import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { readSheet } from 'read-excel-file/node'
import { sql } from '../src/db/db.ts'
import { collectStartGarbage } from '../src/kernel/process/garbage.ts'
import { exportFile } from '../src/orders/export/export-file.ts'
import { listChosen } from '../src/orders/export/export-queries.ts'
import { register, registerManager } from './harness/accounts.ts'
import { createPaid } from './harness/refunds.ts'
import { eventually, type Merchant } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

let shop: Shop

before(async () => {
  shop = await openShop({ allEvents: true })
})
after(() => shop?.stop())

type Metadata = Record<string, string> | null
type Order = { code: string; metadata?: Metadata; status: string }

const create = (body: Record<string, unknown>, as: Merchant = shop.merchant, headers: Record<string, string> = {}) =>
  shop.host.call<{ code: string; order: Order }>('POST', 'request', {
    ...{ as, headers },
    body: { amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1', ...body },
  })

/** As many names as there may be, one text as long as it may be, and all of it too; an emoji is one character. */
const LARGEST: Record<string, string> = Object.fromEntries(
  Array.from({ length: 50 }, (_, index) => [
    `${index}`.padEnd(40, 'k'),
    '🍵'.repeat(4).padEnd(index === 0 ? 504 : 100, 'v'),
  ]),
)
const LAST = Object.keys(LARGEST).at(-1) ?? ''
LARGEST[LAST] = `${LARGEST[LAST]}${'v'.repeat(8000 - JSON.stringify(LARGEST).length)}`

test('metadata is returned as it was sent: created, read, listed, in the feed, and null without any', async () => {
  const { host, merchant } = shop
  const metadata = { zebra: 'é 😀 "q"\n', a: '1', 'order/~id': '{"x":1}', constructor: 'c', toString: 't' }
  const [made, without, empty] = await Promise.all(
    [{ metadata }, {}, { metadata: { a: '', b: null } }].map((body) => create({ alias: crypto.randomUUID(), ...body })),
  )
  assert.deepEqual(
    [made?.data.order.metadata, without?.data.order.metadata, empty?.data.order.metadata],
    [metadata, null, null],
  )
  const { code } = made?.data ?? {}
  const list = await host.call<{ orders: Order[] }>('GET', '?limit=3', { as: merchant })
  const links = await host.call<Order[]>('GET', 'links', { as: merchant })
  const feed = await host.call<{ events: { order: Order }[] }>('GET', '/api/next/events', { as: merchant })
  const read = (await host.call<Order>('GET', `status/${code}`, { as: merchant })).data
  const all = [list.data.orders, links.data, feed.data.events.map(({ order }) => order), [read]]
  for (const orders of all) {
    const found = orders.find((order) => order.code === code)
    // in the order of the shop, too
    assert.equal(JSON.stringify(found?.metadata), JSON.stringify(metadata))
    assert.ok(orders.every((order) => 'metadata' in order))
  }
})

test('each limit is refused with the path of what is over it, and the largest passes', async () => {
  const largest = await create({ metadata: LARGEST })
  assert.deepEqual([largest.status, largest.data?.order.metadata], [200, LARGEST], largest.text.slice(0, 300))
  const cases: [unknown, string, RegExp][] = [
    [{ ...LARGEST, more: 'x' }, 'metadata', /50 properties/],
    [{ ...LARGEST, [LAST]: `${LARGEST[LAST]}v` }, 'metadata', /8,000 characters in all/],
    [{ ['k'.repeat(41)]: 'x' }, `metadata.${'k'.repeat(41)}`, /name .*40 characters/],
    [{ '': 'x' }, 'metadata.', /name .*1 character/],
    [{ order: 'v'.repeat(501) }, 'metadata.order', /500 characters/],
    [{ order: 4711 }, 'metadata.order', /string/],
    [{ order: true }, 'metadata.order', /string/],
    [{ order: { id: '4711' } }, 'metadata.order', /string/],
    [{ 'a/b~c': ['4711'] }, 'metadata.a/b~c', /string/],
    [['4711'], 'metadata', /object/],
    ['4711', 'metadata', /object/],
  ]
  for (const [metadata, path, words] of cases) {
    const { status, error, text } = await create({ metadata })
    assert.deepEqual([status, error?.code, error?.details?.length], [422, 'VALIDATION_FAILED', 1], text)
    assert.equal(error.details?.[0]?.path, path)
    assert.match(error.details?.[0]?.message ?? '', words)
  }
})

test('orders that are inserted together keep each its own metadata', async () => {
  const controls = String.fromCodePoint(...Array.from({ length: 31 }, (_, index) => index + 1))
  const texts = Array.from({ length: 40 }, (_, index) => `${controls}{"a":[1,'x',\\,"${index}"]}\u2028`)
  const made = await Promise.all(texts.map((text, index) => create(index % 2 === 0 ? { metadata: { text } } : {})))
  for (const [index, { data }] of made.entries()) {
    const { metadata } = (await shop.host.call<Order>('GET', `status/${data.code}`, { as: shop.merchant })).data
    assert.deepEqual(metadata, index % 2 === 0 ? { text: texts[index] } : null)
  }
})

test('an Idempotency-Key covers the metadata, in whatever order its names come', async () => {
  const key = { 'idempotency-key': 'metadata-1' }
  const first = await create({ metadata: { cart: '1', shelf: '2' } }, shop.merchant, key)
  const again = await create({ metadata: { shelf: '2', cart: '1' } }, shop.merchant, key)
  assert.deepEqual([again.text, again.headers.get('idempotency-replayed')], [first.text, 'true'])
  for (const metadata of [{ cart: '1', shelf: '3' }, { cart: '1' }, undefined])
    assert.equal((await create({ metadata }, shop.merchant, key)).error.code, 'IDEMPOTENCY_KEY_REUSED')
})

const SECRET = 'for-the-shop-alone'

/** Everything that a payer, a stranger or another shop can read of an order, as text. */
async function readAsPayer(code: string, alias: string): Promise<Record<string, string>> {
  const { host } = shop
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${host.baseUrl}${path}`, { headers, signal: AbortSignal.timeout(10_000) })
    const text = await answer.text()
    assert.ok(answer.status < 400, `${path}: ${answer.status} ${text.slice(0, 300)}`)
    return text
  }
  const page = await get(`/pay?code=${code}`)
  const [, receipt = ''] = /href="[^"]*(\/receipt\/[\w-]+)"/.exec(page) ?? []
  const other = await host.createMerchant()
  const { client } = await register(host.baseUrl, { role: 'SimpleUser' })
  const status = `confirm_conversion/status/${code}`
  return {
    page,
    poster: await get(`/pay/poster?code=${code}`),
    x402: await get(`/pay/x402/${code}`),
    receipt: await get(receipt),
    signed: await get(`${receipt}.json`),
    byCode: await get(`/api/next/${status}`),
    byOldCode: await get(`/api/${status}`),
    byReference: await get(`/api/next/confirm_conversion/status/order/${alias}`),
    byOtherShop: await get(`/api/next/${status}`, other.headers),
    byCustomer: (await client.get(status)).text,
  }
}

test('payers, strangers, customers and other shops never see it; webhooks, the shop and its people do', async () => {
  const { host, merchant, receiver } = shop
  const alias = 'metadata-paid'
  const metadata = { [`name-${SECRET}`]: SECRET }
  const { code } = await createPaid(shop, { alias, metadata })
  const seen = await readAsPayer(code, alias)
  for (const [place, text] of Object.entries(seen)) {
    assert.ok(text.length > 100, `${place}: ${text}`)
    assert.doesNotMatch(text, new RegExp(`${SECRET}|"metadata"`), place)
  }
  const events = ['order.initial', 'order.paid']
  for (const event of events) {
    const sent = await eventually(
      async () => receiver.received.find((one) => one.headers['service-event'] === event && one.body.includes(code)),
      (found) => found !== undefined,
    )
    assert.deepEqual((JSON.parse(sent?.body ?? '{}') as Order).metadata, metadata, event)
  }
  const manager = await registerManager(host.baseUrl)
  assert.equal('metadata' in (await manager.client.get<Order>(`confirm_conversion/status/${code}`)).data, false)
  const own = await host.call<Order>('GET', `status/order/${alias}`, { as: merchant })
  assert.deepEqual(own.data.metadata, metadata)
})

test('a file has it in one column, exact in CSV and in a sheet', async () => {
  const own = await shop.host.createMerchant()
  const metadata = { note: '=1+1;=2+2', text: 'a "quoted"\n東京' }
  await create({ metadata }, own)
  await create({ metadata: LARGEST }, own)
  await create({}, own)
  const path = `${shop.host.baseUrl}/api/next/confirm_conversion/download?sort=createdAt`
  const { headers } = own
  const csv = parse(await (await fetch(path, { headers })).text(), { columns: true }) as { metadata: string }[]
  // the apostrophe stands where a spreadsheet that splits at semicolons would calculate
  const guarded = JSON.stringify(metadata).replace(';=', ";'=")
  assert.deepEqual(
    csv.map((row) => row.metadata),
    [guarded, JSON.stringify(LARGEST), ''],
  )
  const sheet = await readSheet(Buffer.from(await (await fetch(`${path}&format=xlsx`, { headers })).arrayBuffer()))
  const column = sheet.slice(1).map((row) => row[sheet[0]?.indexOf('metadata') ?? -1])
  assert.deepEqual(column, [JSON.stringify(metadata), JSON.stringify(LARGEST), null])
})

/** Bytes of all buffers that are in use. */
function bytesInUse(): number {
  collectStartGarbage()
  return process.memoryUsage().arrayBuffers
}

test('a file of orders with as much metadata as there may be takes little memory, and has each order once', async () => {
  const { db } = shop.host
  const [{ companyId }, count] = [await shop.host.createMerchant(), 2500]
  await db.run(sql`
    insert into orders (company_id, id, code, short_code, status, from_asset, from_units, to_asset, to_units, rate, quote_id,
      created_at, updated_at, expires_at, metadata)
    select ${companyId}, lpad(to_hex(1735689600000 + n), 12, '0') || lpad(to_hex(n), 12, '0'), ${companyId} || n,
      'S' || n, 'EXPIRED', 'EUR', 100 + n, 'USDC', 1, 1.08, 'q', now(), now(), now(), ${JSON.stringify(LARGEST)}::json
    from generate_series(1, ${count}::integer) n`)
  const filter = {
    ...{ statuses: [], search: null, managerEmail: null, companyId, from: null, to: null },
    ...{ paymentChannel: null, till: null, payer: null, linksOnly: false },
  }
  const query = { scope: { companyIds: [companyId], collectorIds: null, createdBy: null }, filter }
  const page = { newestFirst: true, limit: 2500, lastId: 'f'.repeat(24), after: null }
  for (const chosen of [null, await db.tx((tx) => listChosen(tx, query, page))]) {
    const file = {
      ...query,
      ...page,
      chosen,
      format: 'csv',
      headers: null,
      bom: false,
      payUrl: '',
      at: new Date(),
    } as const
    const seen: string[] = []
    let [most, pieces] = [0, 0]
    const before = bytesInUse()
    for await (const piece of exportFile(db, file)) {
      for (const [, id = ''] of piece.toString().matchAll(/^([0-9a-f]{24}),/gm)) seen.push(id)
      if (pieces % 50 === 0) most = Math.max(most, bytesInUse() - before)
      pieces += 1
    }
    assert.deepEqual([seen.length, new Set(seen).size], [count, count])
    assert.deepEqual(seen, seen.toSorted().reverse())
    assert.ok(most < 30e6, `${Math.round(most / 1e6)} MB`)
  }
})

import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { after, before, test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { readSheet as readXlsx } from 'read-excel-file/node'
import { type Sql, sql } from '../src/db/db.ts'
import { checkPermission } from '../src/http/permissions.ts'
import { newId } from '../src/kernel/ids.ts'
import { countChosen, eachExportedOrder, listChosen } from '../src/orders/export/export-queries.ts'
import { eventually, type Merchant, startTestService, type TestService } from './harness/service.ts'

let host: TestService
let merchant: Merchant

before(async () => {
  host = await startTestService()
  merchant = await host.createMerchant()
})
after(() => host.stop())

type Cell = string | number | boolean | Date | null

const download = (query = '', as = merchant, prefix = '/api/next') =>
  fetch(`${host.baseUrl}${prefix}/confirm_conversion/download${query}`, { headers: as.headers })

const readCsv = (text: string): Record<string, string>[] => parse(text, { columns: true, bom: true })

async function csvOf(query: string, as = merchant): Promise<Record<string, string>[]> {
  const answer = await download(query, as)
  assert.equal(answer.status, 200, await answer.clone().text())
  return readCsv(await answer.text())
}

async function xlsxOf(query: string, as = merchant): Promise<Record<string, Cell>[]> {
  const answer = await download(`?format=xlsx${query}`, as)
  assert.equal(answer.status, 200)
  const [names = [], ...rows] = (await readXlsx(Buffer.from(await answer.arrayBuffer()), { trim: false })) as Cell[][]
  return rows.map((row) => Object.fromEntries(names.map((name, index) => [String(name), row[index] ?? null])))
}

const create = async (body: Record<string, unknown>, as = merchant): Promise<Record<string, string>> => {
  const answer = await host.call<{ order: Record<string, string> }>('POST', 'request', {
    as,
    body: { amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1', ...body },
  })
  assert.equal(answer.status, 200, answer.text)
  return answer.data.order
}

/** Orders by SQL, where only their number matters. */
const insertOrders = (companyId: string, count: number) =>
  host.db.run(sql`
    insert into orders (company_id, id, code, short_code, status, from_asset, from_units, to_asset, to_units, rate, quote_id,
      created_at, updated_at, expires_at)
    select ${companyId}, lpad(to_hex(1735689600000 + n), 12, '0') || lpad(to_hex(n), 12, '0'), ${companyId} || n,
      'S' || n, 'EXPIRED', 'EUR', 100 + n, 'USDC', 1, 1.08, 'q', now(), now(), now() from generate_series(1, ${count}::integer) n`)

/** What the ledger, the chain and a refund would have written about a paid order. */
async function payByHand(order: Record<string, string>): Promise<string> {
  const [paymentId, journalId, address] = [newId(), newId(), `0x${newId()}${newId()}`.slice(0, 42)]
  const { companyId } = merchant
  const id = order._id
  await host.db.tx(async (tx) => {
    await tx.run(sql`
      insert into payments (company_id, id, order_id, number, channel, status, merchant_reference, network, token_address,
        deposit_address, due_asset, due_units, received_units, price_units, opened_at, updated_at)
      values (${companyId}, ${paymentId}, ${id}, 1, 'crypto', 'paid', ${paymentId}, 31337, '0xusdc', ${address}, 'USDC',
        54000000, 54000000, 54000000, now(), now())`)
    for (const [hash, symbol, finalAt, block] of [
      ['0xearlier', 'USDC', null, 1],
      ['0xfinal', 'USDC', new Date(), 2],
      ['0xother-token', 'JUNK', new Date(), 1],
    ] as const) {
      await tx.run(sql`
        insert into chain_transfers (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token, symbol,
          from_address, to_address, units, status, final_at, change)
        values (${newId()}, 31337, ${hash}, 0, 0, ${block}, 'b', now(), ${symbol === 'USDC' ? '0xusdc' : '0xjunk'}, ${symbol},
          '0xpayer', ${address}, 54000000, 'seen', ${finalAt}, 1)`)
    }
    await tx.run(sql`
      insert into ledger_journals (company_id, id, kind, cause_id, order_id, at)
      values (${companyId}, ${journalId}, 'payment', ${paymentId}, ${id}, now())`)
    await tx.run(sql`
      insert into ledger_entries (company_id, journal_id, account, asset, units)
      values (${companyId}, ${journalId}, 'payer_clearing', 'USDC', 54000000), (${companyId}, ${journalId}, 'fees', 'USDC', -540001),
        (${companyId}, ${journalId}, 'company_payable', 'USDC', -53459999)`)
    await tx.run(sql`
      update orders set status = 'REFUNDED', payment_id = ${paymentId}, payment_channel = 'crypto', paid_units = 54000000,
        refunded_units = 4000000, paid_at = '2026-01-02T03:04:05.678Z' where id = ${id}`)
  })
  return address
}

const AWKWARD = '=HYPERLINK("http://evil.example";"Zoë, 東京 🍵")\r\n2nd line'

test('CSV holds every field of an order, exactly, for an unrelated reader', async () => {
  const order = await create({
    alias: AWKWARD,
    webhookUrl: 'http://127.0.0.1:8099/hook',
    goods: { goodsName: '-2+3', goodsDetail: '@SUM(A1)', goodsQuantity: '\t1', goodsType: '01' },
  })
  await payByHand(order)
  const answer = await download()
  assert.match(answer.headers.get('content-type') ?? '', /^text\/csv; charset=utf-8/)
  assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="orders-\d{4}-\d\d-\d\d\.csv"$/)
  assert.equal(answer.headers.get('x-total-count'), '1')
  const text = await answer.text()
  assert.ok(text.endsWith('\r\n') && text.startsWith('_id,'))
  const [row] = readCsv(text)
  const { goods: _goods, ...shown } = (
    await host.call<Record<string, string>>('GET', `status/${order.code}`, { as: merchant })
  ).data
  for (const [name, value] of Object.entries(shown)) {
    if (name !== 'alias') assert.equal(row?.[name], value === null ? '' : String(value), name)
  }
  const more = {
    companyId: merchant.companyId,
    transactionHash: '0xfinal',
    feeAmount: '0.540001',
    goodsType: '01',
    paidAmount: '54.000000',
  }
  const guarded = { alias: `'${AWKWARD}`, goodsName: "'-2+3", goodsDetail: "'@SUM(A1)", goodsQuantity: "'\t1" }
  for (const [name, value] of Object.entries({ ...more, ...guarded })) assert.equal(row?.[name], value, name)
  assert.equal(row?.refundedAmount, '4.000000')
  assert.equal(row?.paidAt, '2026-01-02T03:04:05.678Z')
})

test('XLSX holds the same: texts that are never formulas, exact numbers, real dates', async () => {
  const [row] = await xlsxOf('')
  const [plain] = await csvOf('')
  assert.equal(row?.alias, AWKWARD)
  assert.deepEqual([row?.goodsName, row?.goodsDetail, row?.goodsQuantity], ['-2+3', '@SUM(A1)', '\t1'])
  assert.deepEqual(
    [row?.fromAmount, row?.toAmount, row?.refundedAmount, row?.feeAmount, row?.rate, row?.anonymous],
    [50, 54, 4, 0.540001, 1.08, false],
  )
  const paidAtMs = row?.paidAt instanceof Date ? row.paidAt.getTime() : 0
  assert.ok(Math.abs(paidAtMs - Date.parse('2026-01-02T03:04:05.678Z')) <= 1, 'a sheet keeps days, in binary fractions')
  for (const name of ['_id', 'code', 'shortCode', 'status', 'transactionHash', 'paymentUrl', 'webhookUrl']) {
    assert.equal(row?.[name], plain?.[name], name)
  }
})

test('a company’s amounts beyond 15 digits stay text in a spreadsheet, so that no digit is lost', async () => {
  const shop = await host.createMerchant()
  await insertOrders(shop.companyId, 1)
  await host.db.run(sql`update orders set to_units = 12345678901234567 where company_id = ${shop.companyId}`)
  assert.equal((await xlsxOf('', shop))[0]?.toAmount, '12345678901.234567')
})

test('titles come in five languages, and a byte order mark on request', async () => {
  const titles = new Set<string>()
  for (const language of ['en', 'fr', 'de', 'es', 'it']) {
    const answer = await download(`?headers=${language}&bom=true`)
    const bytes = Buffer.from(await answer.arrayBuffer())
    assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf])
    titles.add(String(Object.keys(readCsv(bytes.toString('utf8'))[0] ?? {})[6]))
  }
  assert.deepEqual([...titles], ['Amount', 'Montant', 'Betrag', 'Importe', 'Importo'])
  assert.equal((await download('?headers=xx')).status, 422)
  assert.equal((await download('?format=pdf')).status, 422)
})

test('the filters of the list select, both paths answer, and another company sees nothing', async () => {
  const shop = await host.createMerchant()
  const first = await create({ amount: 7, alias: 'A-1' }, shop)
  const second = await create({ amount: 8 }, shop)
  await host.call('POST', `cancel/${second.code}`, { as: shop })
  const codes = async (query: string) => (await csvOf(query, shop)).map((row) => row.code)
  assert.deepEqual(await codes(''), [second.code, first.code])
  assert.deepEqual(await codes('?sort=createdAt'), [first.code, second.code])
  assert.deepEqual(await codes('?status=CANCELLED,PAID'), [second.code])
  assert.deepEqual(await codes('?search=A-1'), [first.code])
  assert.deepEqual(await codes(`?from=${second.createdAt}`), [second.code])
  assert.deepEqual(await codes(`?to=2020-01-01T00:00:00Z`), [])
  await host.db.run(sql`
    insert into collectors (id, company_id, sales_point_id, identifier)
    select ${newId()}, company_id, sales_point_id, 'TILL-2' from collectors where id = ${shop.collectorId}`)
  const third = await create({ merchantIdentifier: 'TILL-2' }, shop)
  await host.db.run(sql`update collectors set identifier = 'BAR' where id = ${shop.collectorId}`)
  const fourth = await create({ merchantIdentifier: 'BAR' }, shop)
  const listed = async (query: string) =>
    (await host.call<{ orders: { code: string }[]; total: number }>('GET', query, { as: shop })).data
  for (const [till, expected] of [
    ['TILL-2', [third.code]],
    // as the orders have it; the id finds what the till sold under both names
    ['TILL-1', [second.code, first.code]],
    [shop.collectorId, [fourth.code, second.code, first.code]],
    ['TILL-9', []],
  ] as const) {
    assert.deepEqual(await codes(`?merchantIdentifier=${till}`), expected)
    const { orders, total } = await listed(`?merchantIdentifier=${till}`)
    assert.deepEqual([orders.map(({ code }) => code), total], [expected, expected.length])
  }
  assert.deepEqual(await csvOf(`?merchantIdentifier=${shop.collectorId}`, await host.createMerchant()), [])
  assert.equal((await download('?status=NEW', shop)).status, 422)
  // a leap second is well written, but no moment of any order
  for (const path of ['from', 'to'])
    assert.equal((await download(`?${path}=2016-12-31T23:59:60Z`, shop)).status, 422, path)
  assert.equal((await download('?managerEmail=a@b.c', shop)).status, 403)
  assert.equal((await download('', shop, '/api')).status, 200)
  assert.deepEqual(await csvOf('', await host.createMerchant()), [])
  const empty = await xlsxOf('', await host.createMerchant())
  assert.deepEqual(empty, [])
})

test('a search for an amount that arrived has in the file what it has in the list, also where the file is resumed', async () => {
  const shop = await host.createMerchant()
  await insertOrders(shop.companyId, 3)
  await host.db.run(sql`
    update orders set status = 'PAID', paid_units = 61234567 where company_id = ${shop.companyId} and from_units < 103`)
  const listed = await host.call<{ total: number }>('GET', '?search=61.234567', { as: shop })
  const answer = await download('?search=61.234567', shop)
  const found = readCsv(await answer.text()).map(({ _id }) => _id)
  assert.deepEqual([listed.data.total, answer.headers.get('x-total-count'), found.length], [2, '2', 2])
  assert.equal((await (await download(`?search=61.234567&after=${found[0]}`, shop)).text()).slice(0, 24), found[1])
})

test('without a credential, or with a key that may not read orders, there is no download', async () => {
  assert.equal((await fetch(`${host.baseUrl}/api/next/confirm_conversion/download`)).status, 401)
  const blind = await host.createMerchant()
  await host.db.run(sql`update api_keys set scopes = '{webhooks:read}' where company_id = ${blind.companyId}`)
  assert.equal((await download('', blind)).status, 403)
})

test('roles that may not export are refused', () => {
  const actor = { kind: 'user', id: 'u', companyId: 'c', companyIds: [], collectorIds: [], scopes: null } as const
  const rest = { valid: true, sessionId: null, secondFactorAt: null }
  for (const role of ['Observer', 'Cashier', 'SimpleUser'] as const) {
    assert.throws(() => checkPermission('orders.download', { ...actor, ...rest, role }, 0), { code: 'FORBIDDEN' })
  }
  for (const role of ['Manager', 'Association', 'SuperManager', 'SuperAdmin'] as const) {
    checkPermission('orders.download', { ...actor, ...rest, role }, 0)
  }
})

/** One column of rows that were written without a quote: a parser for all that CSV may be takes ten times as long. */
function columnOf(text: string, name: string): string[] {
  const [header = '', ...lines] = text.trimEnd().split('\r\n')
  const place = header.split(',').indexOf(name)
  return lines.map((line) => line.split(',', place + 1)[place] ?? '')
}

test('every order that was there is in the file exactly once while 16 writers insert', async () => {
  const shop = await host.createMerchant()
  // three pages of CSV, and five of a spreadsheet
  await insertOrders(shop.companyId, 6000)
  let writing = true
  const writers = Array.from({ length: 16 }, async () => {
    let made = 0
    while (writing) {
      await create({}, shop)
      made += 1
    }
    return made
  })
  const known = await host.db.many<{ code: string }>(sql`select code from orders where company_id = ${shop.companyId}`)
  for (const sort of ['createdAt', '-createdAt']) {
    const codes = columnOf(await (await download(`?sort=${sort}`, shop)).text(), 'code')
    const seen = new Set(codes)
    assert.equal(seen.size, codes.length)
    assert.equal(known.filter(({ code }) => !seen.has(code)).length, 0)
  }
  const rows = await xlsxOf('', shop)
  assert.equal(new Set(rows.map((row) => row.code)).size, rows.length)
  assert.ok(rows.length >= known.length)
  writing = false
  assert.ok((await Promise.all(writers)).every((made) => made > 0))
})

/** Exports whose session was at work in the last half second; the pool closes one that rests for ten. */
const busyExporters = () =>
  host.db.many<{ pid: number }>(sql`
    select pid from pg_stat_activity where application_name = 'comptoir-export'
      and (state <> 'idle' or state_change > now() - interval '500 ms')`)

const open = (as: Merchant, query = ''): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const url = `${host.baseUrl}/api/next/confirm_conversion/download${query}`
    get(url, { headers: as.headers }, resolve).on('error', reject)
  })

/** Companies whose files are longer than what lies between the service and a reader that takes nothing. */
const large: Merchant[] = []
async function openLarge(number: number): Promise<Merchant> {
  while (large.length <= number) {
    const shop = await host.createMerchant()
    await insertOrders(shop.companyId, 60_000)
    large.push(shop)
  }
  return large[number] as Merchant
}

test('a reader that goes away ends the work, one that stands still holds no statement, two at once are enough', async () => {
  const shop = await openLarge(0)
  const first = await open(shop)
  const second = await open(shop)
  assert.deepEqual([first.statusCode, second.statusCode], [200, 200])
  assert.equal((await download('', shop)).status, 503)
  await eventually(busyExporters, (rows) => rows.length === 0)
  const neighbour = await openLarge(1)
  const theirs = await open(neighbour)
  assert.deepEqual([theirs.statusCode, (await download('', neighbour)).status], [200, 503], 'one place stays free')
  assert.equal((await download('')).status, 200, 'for a company that has no file')
  for (const answer of [first, second, theirs]) answer.destroy()
  await eventually(
    () => download('', shop).then((answer) => answer.arrayBuffer().then(() => answer.status)),
    (status) => status === 200,
  )
})

test('an order that changes while the file is read stays in it: it fitted when the download began', async () => {
  const shop = await openLarge(1)
  const answer = await open(shop, '?status=EXPIRED&sort=createdAt')
  await host.db.run(sql`
    update orders set status = 'PAID' where company_id = ${shop.companyId} and (from_units > 59100 or from_units = 101)`)
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk
  const ids = columnOf(text, '_id')
  assert.deepEqual([answer.headers['x-total-count'], ids.length, new Set(ids).size], ['60000', 60_000, 60_000])
  assert.deepEqual(ids, ids.toSorted(), 'in the order that was asked for')
  assert.equal((await csvOf('?status=PAID', shop)).length, 1001)
})

test('a CSV that broke off goes on behind its last whole row, with every order once', async () => {
  const shop = await host.createMerchant()
  await insertOrders(shop.companyId, 1300)
  const whole = await (await download('', shop)).text()
  const lines = whole.split('\r\n')
  const lastId = lines[700]?.split(',')[0]
  const rest = await (await download(`?after=${lastId}`, shop)).text()
  assert.equal(`${lines.slice(0, 701).join('\r\n')}\r\n${rest}`, whole)
  const refused = await download(`?after=${lastId}&format=xlsx`, shop)
  assert.equal(refused.status, 422)
  const other = await host.createMerchant()
  assert.equal((await download(`?after=${lastId}`, other)).status, 422, 'an order of another company is no place')
})

const ALL = {
  ...{ statuses: [], search: null, managerEmail: null, companyId: null, from: null, to: null },
  ...{ paymentChannel: null, till: null, payer: null, linksOnly: false },
}
const LAST_ID = 'f'.repeat(24)

test('pages of several companies hold every order once and in order, both ways', async () => {
  const shops = await Promise.all([1, 2, 3].map(() => host.createMerchant()))
  for (const { companyId } of shops) await insertOrders(companyId, 5)
  const companyIds = shops.map(({ companyId }) => companyId)
  const query = { scope: { companyIds, collectorIds: null, createdBy: null }, filter: ALL }
  const keys = await host.db.many<{ companyId: string; id: string }>(
    sql`select company_id, id from orders where company_id = any(${companyIds}) order by company_id, id`,
  )
  for (const newestFirst of [false, true]) {
    const seen: { companyId: string; id: string }[] = []
    for (let isEnd = false; !isEnd; ) {
      const page = { newestFirst, limit: 4, lastId: LAST_ID, after: seen.at(-1) ?? null }
      const before = seen.length
      await host.db.tx((tx) =>
        eachExportedOrder(
          tx,
          query,
          page,
          ([id, companyId]) => void seen.push({ companyId: `${companyId}`, id: `${id}` }),
        ),
      )
      isEnd = seen.length === before
    }
    assert.deepEqual(seen, newestFirst ? keys.toReversed() : keys)
    const chosenSeen: typeof seen = []
    const whole = { newestFirst, limit: 4, lastId: LAST_ID, after: null }
    const pages = await host.db.tx((tx) => listChosen(tx, query, whole))
    assert.deepEqual([pages.length, countChosen(pages)], [4, 15], 'no page ends with a company')
    for (const chosen of pages)
      await host.db.tx((tx) =>
        eachExportedOrder(
          tx,
          query,
          { ...whole, chosen },
          ([id, companyId]) => void chosenSeen.push({ companyId: `${companyId}`, id: `${id}` }),
        ),
      )
    assert.deepEqual(chosenSeen, newestFirst ? keys.toReversed() : keys)
  }
})

test('a page deep in a file reads no more of the database than the first one', async () => {
  const { companyId } = await host.createMerchant()
  await insertOrders(companyId, 12_000)
  await host.db.run(sql`analyze orders`)
  const query = { scope: { companyIds: [companyId], collectorIds: null, createdBy: null }, filter: ALL }
  const middle = await host.db.one<{ id: string }>(
    sql`select id from orders where company_id = ${companyId} order by id offset 6000 limit 1`,
  )
  const blocksOf = async (newestFirst: boolean, after: { companyId: string; id: string } | null): Promise<number> => {
    let blocks = 0
    await host.db.tx(async (tx) => {
      const explain = async (statement: Sql): Promise<void> => {
        const row = await tx.one<Record<string, [{ Plan: Record<string, number> }]>>(
          sql`explain (analyze, buffers, format json) ${statement}`,
        )
        const plan = Object.values(row)[0]?.[0].Plan ?? {}
        blocks = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
      }
      await eachExportedOrder(
        { ...tx, each: explain },
        query,
        { newestFirst, limit: 100, lastId: LAST_ID, after },
        () => {},
      )
    })
    return blocks
  }
  for (const newestFirst of [false, true]) {
    await blocksOf(newestFirst, null)
    const [first, deep] = [await blocksOf(newestFirst, null), await blocksOf(newestFirst, { companyId, ...middle })]
    assert.ok(first > 0 && deep <= first + 10, `the first page reads ${first} blocks, one in the middle ${deep}`)
  }
})

test('a file that breaks off does not look like a whole one', async () => {
  const shop = await openLarge(0)
  const answer = await open(shop)
  // if a response breaks off before it is read, Node drops the error unless something listens for it
  answer.on('error', () => {})
  await eventually(busyExporters, (rows) => rows.length === 0)
  // the next page cannot be read: the reader has taken nothing yet, so that pages are left
  await host.db.run(sql`alter table orders rename to orders_away`)
  const read = async (): Promise<void> => {
    for await (const _chunk of answer);
  }
  try {
    await assert.rejects(read(), { code: 'ECONNRESET' })
  } finally {
    await host.db.run(sql`alter table orders_away rename to orders`)
  }
  assert.equal(answer.complete, false)
})

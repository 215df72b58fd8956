import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Db, json, openDb, sql, type Tx } from '../src/db/db.ts'
import type { Fiat } from '../src/kernel/money.ts'
import type { Order } from '../src/orders/order.ts'
import {
  countOrders,
  type ListPage,
  listOrders,
  type OrderFilter,
  type OrderPosition,
  type OrderScope,
  type OrderSort,
  positionOf,
  withLookUp,
} from '../src/orders/order-list-queries.ts'
import { openSearch } from '../src/orders/order-search-queries.ts'
import type { OrderStatus } from '../src/orders/order-states.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { find, NO_FILTER, PAGE, scopeOf } from './harness/order-lists.ts'

/*
 * An amount finds the orders with this price or USDC amount, by an index that holds the newest of them together. A list
 * reads neither the company's other orders nor all of the same amount.
 */

let database: TestDatabase
let db: Db
before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 2 })
})
after(async () => {
  await db?.close()
  await database?.drop()
})

type Priced = { alias: string; asset: Fiat; units: number; usdc?: number; status?: OrderStatus }

/** So many orders of each, made in turns. References of open ones get a number, since they must differ. */
const insertPriced = (companyId: string, orders: readonly Priced[], copies = 1): Promise<number> =>
  db.run(sql`
    insert into orders (company_id, id, code, short_code, status, alias, from_asset, from_units, to_asset, to_units, rate,
      quote_id, created_at, updated_at, expires_at)
    select ${companyId}, id, id, '~' || id, o.status, o.alias || coalesce('-' || open, ''), o.asset, o.units, 'USDC', coalesce(o.usdc, n + 7), 1, 'q', now(),
      now(), now()
    from generate_series(1, ${copies}::integer) n,
      jsonb_to_recordset(${json(orders.map((order) => ({ status: 'PAID', ...order })))})
        as o (alias text, asset text, units numeric, usdc numeric, status text),
      lateral (select lpad(to_hex(n), 12, '0') || left(md5(${companyId} || o.alias), 12) as id,
        case when o.status in ('INITIAL', 'AWAITING') then n end as open) as each`)

/** Orders that a connection has read in its transaction. */
const countReads = (tx: Tx): Promise<{ orders: number }> =>
  tx.one(sql`
    select (pg_stat_get_xact_tuples_fetched(oid) + pg_stat_get_xact_tuples_returned(oid))::integer as orders
    from pg_class where oid = 'orders'::regclass`)

/** Orders that a search reads for its look-up, its newest page and its total. */
async function readsOf(scope: OrderScope, text: string, page: Partial<ListPage> = {}): Promise<number> {
  return db.tx(async (tx) => {
    // the tests' server plans without values, so that it plans less
    await tx.run(sql`set local plan_cache_mode = auto`)
    const before = await countReads(tx)
    const filter = await withLookUp(tx, scope, { ...NO_FILTER, search: openSearch(text) })
    await listOrders(tx, scope, filter, { ...PAGE, limit: 21, ...page })
    await countOrders(tx, scope, filter)
    return (await countReads(tx)).orders - before.orders
  })
}

test('a search for an amount, or for digits that may be one, reads few orders of very many, and so does a frequent amount', async () => {
  // one price for very long, then another; the neighbour sells at the first one only
  await insertPriced('shop', [{ alias: 'old', asset: 'EUR', units: 4990 }], 8000)
  await db.run(sql`update orders set from_units = 5990 where company_id = 'shop' and id > '000000001000'`)
  await insertPriced('neighbour', [{ alias: 'all', asset: 'EUR', units: 4990 }], 8000)
  await insertPriced('small', [{ alias: 'one', asset: 'EUR', units: 4990 }], 30)
  await db.run(sql`vacuum analyze orders`)
  for (const companyId of ['shop', 'neighbour']) {
    const scope = scopeOf(companyId)
    for (const text of ['12.34', '4990', '5991', '000054321', '77777777'])
      assert.equal(await readsOf(scope, text), 0, `${companyId} ${text}`)
  }
  // the look-up stops at 201
  for (const [companyIds, text] of [
    [['shop'], '49.90'],
    [['shop'], '59.90'],
    [['neighbour'], '49.90'],
    [['shop', 'small', 'neighbour'], '49.90'],
    [null, '49.90'],
  ] as const) {
    const scope = { ...scopeOf(''), companyIds }
    const reads = [await readsOf(scope, text), await readsOf(scope, text, { sort: 'createdAt' })]
    assert.ok(Math.max(...reads) < 500, `${companyIds} ${text}: ${reads}`)
  }
  // looked up, listed and counted
  const few = [
    await readsOf(scopeOf('small'), '49.90'),
    await readsOf(scopeOf('small'), '49.90', { sort: '-toAmount' }),
  ]
  assert.ok(Math.max(...few) <= 90, `${few}`)
})

const PRICED: Priced[] = [
  { alias: 'euro', asset: 'EUR', units: 170_970 },
  { alias: 'open euro', asset: 'EUR', units: 170_970, status: 'AWAITING' },
  { alias: 'usdc', asset: 'EUR', units: 999, usdc: 1_709_700_000, status: 'EXPIRED' },
  { alias: 'francs', asset: 'XPF', units: 1709 },
  { alias: 'open francs', asset: 'XPF', units: 1709, status: 'INITIAL' },
  { alias: 'whole', asset: 'CHF', units: 170_900 },
  { alias: 'cents', asset: 'EUR', units: 1709 },
  { alias: 'number 1709', asset: 'EUR', units: 5000 },
  { alias: 'thousand', asset: 'USD', units: 125_000 },
  { alias: 'one', asset: 'GBP', units: 125 },
  { alias: 'equal', asset: 'USD', units: 4990, usdc: 49_900_000 },
  { alias: 'fraction', asset: 'EUR', units: 100, usdc: 1_079_137 },
]

const WANTED: [texts: string[], aliases: string[]][] = [
  [
    ['1709.70', '1709,7', '1.709,70', '1,709.70', '1’709.70 CHF', '1709.70 EUR', '1\u202f709,70\u00a0€'],
    ['euro', 'open euro', 'usdc'],
  ],
  [['1709'], ['francs', 'number 1709', 'open francs', 'whole']],
  [['17.09', '17,09 €'], ['cents']],
  [['1.250'], ['one', 'thousand']],
  [['49.90'], ['equal']],
  [['1.079137', '1,079137 USDC'], ['fraction']],
  [['1709.71', '4990', '1709.700001'], []],
]

test('an amount is the price or the USDC amount, in each spelling, whether few or very many orders have it', async () => {
  await insertPriced('elsewhere', PRICED, 3)
  for (const [companyId, copies] of [
    ['few', 1],
    ['very many', 230],
  ] as const) {
    await insertPriced(companyId, PRICED, copies)
    for (const [texts, aliases] of WANTED) {
      for (const text of texts) {
        const found = await find(db, companyId, text)
        const what = `${companyId}: ${text}`
        assert.deepEqual(
          { ...found, aliases: [...new Set(found.aliases.map((alias) => alias.replace(/-\d+$/, '')))] },
          { aliases, total: aliases.length * copies },
          what,
        )
      }
    }
  }
})

/** Ids of the orders at 49.90, and of those with it in their reference, in some companies. */
const listReal = async (companyIds: readonly string[], statuses: readonly string[]): Promise<string[]> => {
  const rows = await db.many<{ id: string }>(sql`
    select id from orders where company_id = any(${companyIds}) and status = any(${statuses})
      and (from_units = 4990 or to_units = 49900000 or alias like '%49.90%') order by id desc, company_id desc`)
  return rows.map(({ id }) => id)
}

async function listPages(scope: OrderScope, given: OrderFilter, sort: OrderSort): Promise<string[]> {
  const filter = await withLookUp(db, scope, given)
  const ids: string[] = []
  for (let after: OrderPosition | null = null; ; ) {
    const orders: Order[] = await listOrders(db, scope, filter, { sort, limit: 97, offset: 0, after })
    const skipped = await listOrders(db, scope, filter, { sort, limit: 97, offset: ids.length, after: null })
    assert.deepEqual(
      skipped.map(({ id }) => id),
      orders.map(({ id }) => id),
    )
    ids.push(...orders.map(({ id }) => id))
    const last = orders.at(-1)
    if (last === undefined) return ids
    after = positionOf(last, sort)
  }
}

test('pages of a frequent amount show each order once and in order, in every sort, with filters, in some companies and all', async () => {
  const companyIds = ['a', 'b', 'c'].map((letter) => letter.repeat(24))
  for (const id of companyIds)
    await db.run(sql`insert into companies (id, name, webhook_secret_sealed) values (${id}, 'Shop', 'sealed')`)
  const orders: Priced[] = [
    { alias: 'euro', asset: 'EUR', units: 4990 },
    { alias: 'open', asset: 'USD', units: 4990, usdc: 49_900_000, status: 'AWAITING' },
    { alias: 'equal', asset: 'USD', units: 4990, usdc: 49_900_000, status: 'EXPIRED' },
    { alias: 'for 49.90', asset: 'EUR', units: 5990 },
    { alias: 'not', asset: 'EUR', units: 499 },
  ]
  for (const [n, id] of companyIds.entries()) await insertPriced(id, orders, [150, 40, 1][n])
  await insertPriced('of no company', orders, 10)
  const search = openSearch('49.90')
  const everyone: OrderScope = { companyIds: null, collectorIds: null, createdBy: null }
  const [first = '', second = '', third = ''] = companyIds
  const lists: [OrderScope, string | null, string[]][] = [
    [scopeOf(first), null, [first]],
    [{ ...everyone, companyIds: [first, third] }, null, [first, third]],
    [{ ...everyone, companyIds }, second, [second]],
    [{ ...everyone, companyIds: [first] }, second, []],
  ]
  for (const [scope, companyId, real] of lists) {
    for (const statuses of [[], ['EXPIRED', 'AWAITING']]) {
      const filter = { ...NO_FILTER, search, companyId, statuses }
      const ids = await listReal(real, statuses.length > 0 ? statuses : ['PAID', 'EXPIRED', 'AWAITING'])
      const what = `${scope.companyIds} ${companyId} ${statuses}`
      assert.deepEqual(await listPages(scope, filter, '-createdAt'), ids, what)
      assert.deepEqual(await listPages(scope, filter, 'createdAt'), ids.toReversed(), what)
      for (const sort of ['fromAmount', '-toAmount'] as const)
        assert.deepEqual((await listPages(scope, filter, sort)).sort().reverse(), ids, `${what} ${sort}`)
      assert.equal(await countOrders(db, scope, await withLookUp(db, scope, filter)), ids.length, what)
    }
  }
  // an operator sees all of them
  const newest = await listOrders(db, everyone, await withLookUp(db, everyone, { ...NO_FILTER, search }), PAGE)
  assert.deepEqual(
    newest.map(({ id }) => id),
    await listReal(companyIds, ['PAID', 'EXPIRED', 'AWAITING']).then((ids) => ids.slice(0, 500)),
  )
})

test('the amount that arrived finds its order, too, as well as the money that waits for a decision', async () => {
  const prices: Priced[] = ['tip', 'exact', 'part', 'decided'].map((alias) => ({
    ...{ alias, asset: 'EUR', units: 3100, usdc: 33_480_000 },
  }))
  await insertPriced('arrived', prices)
  await insertPriced('neighbour of it', prices)
  const pay = (alias: string, units: number) =>
    db.run(sql`
      update orders set paid_units = ${units} where company_id in ('arrived', 'neighbour of it') and alias = ${alias}`)
  await pay('tip', 36_810_000)
  await pay('exact', 33_480_000)
  const record = (alias: string, status: string, asset = 'USDC') =>
    db.run(sql`
      insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, status,
        created_at, updated_at)
      select company_id, md5(${alias} || ${asset}), id, 'p', 'late', ${asset}, 12340000, ${alias}, ${status}, now(), now()
      from orders where company_id = 'arrived' and alias = ${alias}`)
  await record('part', 'open')
  await record('exact', 'open', 'EURC')
  await record('decided', 'refunded')
  assert.deepEqual(await find(db, 'arrived', '36,81'), { aliases: ['tip'], total: 1 })
  assert.deepEqual(await find(db, 'arrived', '12.34 USDC'), { aliases: ['part'], total: 1 })
  assert.deepEqual((await find(db, 'arrived', '33.48')).aliases, ['decided', 'exact', 'part', 'tip'])
  assert.deepEqual((await find(db, 'neighbour of it', '12.34')).aliases, [])
  const many: Priced[] = [{ alias: 'round', asset: 'EUR', units: 4998, usdc: 49_980_000 }]
  await insertPriced('rounding', many, 8000)
  await db.run(sql`update orders set paid_units = 50000000 where company_id = 'rounding'`)
  await db.run(sql`vacuum analyze orders`)
  assert.equal((await find(db, 'rounding', '50.00')).total, 200, 'the newest')
  const reads = await readsOf(scopeOf('rounding'), '50.00')
  assert.ok(reads < 1000, String(reads))
  assert.equal(await readsOf(scopeOf('arrived'), '77.77'), 0)
})

test('an open order has no entry in the indices of amounts, so creating one writes none', async () => {
  await insertPriced('creating', [{ alias: 'new', asset: 'EUR', units: 4990, status: 'INITIAL' }], 100)
  await db.run(sql`analyze orders`)
  const entries = await db.many<{ entries: number }>(sql`
    select reltuples::integer as entries from pg_class where relname in ('orders__to_amount', 'orders__from_amount')`)
  const { closed } = await db.one<{ closed: number }>(sql`
    select count(*)::integer as closed from orders where status not in ('INITIAL', 'PENDING', 'AWAITING')`)
  assert.deepEqual(entries, [{ entries: closed }, { entries: closed }])
})

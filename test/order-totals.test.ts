import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Db, openDb, type Queryable, sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { keepTotals } from '../src/orders/order-jobs.ts'
import { countOrders, type LookedUpFilter, type OrderScope } from '../src/orders/order-list-queries.ts'
import { lookUp, openSearch } from '../src/orders/order-search-queries.ts'
import { ORDER_STATUSES } from '../src/orders/order-states.ts'
import { findTotal, foldOrderCounts } from '../src/orders/totals/total-queries.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'

let database: TestDatabase
let db: Db
before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 12 })
})
after(async () => {
  await db?.close()
  await database?.drop()
})

const COMPANIES = ['company-a', 'company-b']
const ALL: OrderScope = { companyIds: null, collectorIds: null, createdBy: null }
const NO_FILTER: LookedUpFilter = {
  ...{ statuses: [], search: null, managerEmail: null, companyId: null, from: null, to: null },
  ...{ paymentChannel: null, till: null, payer: null, linksOnly: false },
}

const insert = (q: Queryable, companyId: string, count: number) =>
  q.many<{ id: string }>(sql`
    insert into orders (company_id, id, code, short_code, status, from_asset, from_units, to_asset, to_units, rate, quote_id,
      created_at, updated_at, expires_at)
    select ${companyId}, key || n, key || n, key || n, 'INITIAL', 'EUR', 100, 'USDC', 1, 1, 'q', now(), now(), now()
    from (select ${newId()}::text as key) as keys, generate_series(1, ${count}::integer) n returning id`)

/** What a list would show and what there is, in one snapshot. */
const compare = (scope: OrderScope, filter: LookedUpFilter) =>
  db.tx(async (tx) => {
    await tx.run(sql`set transaction isolation level repeatable read`)
    return { shown: await findTotal(tx, scope, filter), real: await countOrders(tx, scope, filter) }
  })

async function assertExact(): Promise<void> {
  for (const companyIds of [null, ['company-a'], COMPANIES]) {
    for (const statuses of [[], ['INITIAL'], ['PAID', 'EXPIRED']]) {
      const { shown, real } = await compare({ ...ALL, companyIds }, { ...NO_FILTER, statuses })
      assert.equal(shown, real, `${companyIds} ${statuses}`)
    }
  }
}

/** Makes orders, changes their state, breaks off, deletes. */
async function write(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    const companyId = COMPANIES[turn % 2] ?? ''
    const made = await insert(db, companyId, 1 + (turn % 5))
    const ids = made.map(({ id }) => id)
    const status = ORDER_STATUSES[turn % ORDER_STATUSES.length] ?? 'PAID'
    await db.run(
      sql`update orders set status = ${status}, version = 2 where company_id = ${companyId} and id = any(${ids})`,
    )
    const broken = db.tx(async (tx) => {
      await insert(tx, companyId, 3)
      throw new Error('broken off')
    })
    await assert.rejects(broken, /broken off/)
    if (turn % 7 === 0) await db.run(sql`delete from orders where company_id = ${companyId} and id = ${ids[0] ?? ''}`)
  }
}

test('a total is exact in every snapshot while orders are made, change, vanish, and two nodes fold their counts', async () => {
  let writing = true
  const folding = [1, 2].map(async () => {
    while (writing) await foldOrderCounts(db)
  })
  const checking = (async () => {
    while (writing) await assertExact()
  })()
  await Promise.all([write(40), write(40), write(40)])
  writing = false
  await Promise.all([...folding, checking])
  await assertExact()
  while ((await foldOrderCounts(db)) > 0);
  const left = await db.one<{ changes: number; rows: number }>(sql`
    select (select count(*)::integer from order_count_changes) as changes, (select count(*)::integer from order_counts) as rows`)
  assert.equal(left.changes, 0, 'all changes are folded')
  assert.ok(left.rows <= COMPANIES.length * ORDER_STATUSES.length)
  await assertExact()
})

test('orders that are older than the counters are counted once, by several nodes at the same time, while others come', async () => {
  await db.run(sql`truncate order_count_state, order_counts, order_count_changes`)
  await insert(db, 'company-a', 5)
  await assertExact() // until then, lists count
  await Promise.all([write(10), keepTotals(db), keepTotals(db), keepTotals(db), write(10)])
  const { counted } = await db.one<{ counted: boolean }>(sql`select exists (select from order_count_state) as counted`)
  assert.equal(counted, true)
  await assertExact()
})

test('a filter that the counters do not know is counted', async () => {
  await db.run(sql`update orders set alias = 'A', payment_channel = 'crypto', created_by = 'me' where id =
    (select min(id) from orders where company_id = 'company-b')`)
  const old = new Date('2020-01-01')
  const filters: Partial<LookedUpFilter>[] = [
    ...[{ from: new Date(Date.now() + 60_000) }, { to: old }, { paymentChannel: 'crypto' }],
    ...[
      { search: await lookUp(db, null, openSearch('A')) },
      { linksOnly: true },
      { companyId: 'company-b' },
      { managerEmail: 'no@one.example' },
      { payer: { keys: ['none'], codes: null } },
    ],
  ]
  for (const filter of filters) {
    const { shown, real } = await compare(ALL, { ...NO_FILTER, ...filter })
    assert.equal(shown, real, Object.keys(filter)[0])
  }
  for (const scope of [{ createdBy: 'me' }, { collectorIds: ['till'] }]) {
    const { shown, real } = await compare({ ...ALL, ...scope }, NO_FILTER)
    assert.equal(shown, real, Object.keys(scope)[0])
  }
})

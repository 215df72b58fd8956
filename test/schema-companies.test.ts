import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { listFeedEvents } from '../src/orders/feed/event-feed-queries.ts'
import { lockOrderByCode } from '../src/orders/order-queries.ts'
import { claimDeliveries } from '../src/webhooks/sender/claim-queries.ts'
import { startTestChain } from './harness/chain.ts'
import { type Citus, findCitus, startCitus } from './harness/citus.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { insertMerchantIn, newFolder, runOperator } from './harness/installation.ts'
import { startServed } from './harness/served.ts'
import { callService, TEST_MASTER_KEY } from './harness/service.ts'
import { chainEnv } from './harness/shop.ts'

const guide = readFileSync(join(import.meta.dirname, '../docs/scaling.md'), 'utf8')

/** The tables that a section of docs/scaling.md lists. */
function tablesUnder(heading: string): string[] {
  const section = guide.split(/^### /m).find((part) => part.startsWith(heading)) ?? ''
  const lines = section.split('\n').filter((line) => line.startsWith('`'))
  return lines.flatMap((line) => [...line.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
}

const distributed = tablesUnder('Distributed by company')
const reference = tablesUnder('Reference')
const everywhere = tablesUnder('Global')

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

test('every table is distributed by company, a reference, or global with a reason, and stands in one list', async () => {
  const rows = await db.many<{ name: string }>(sql`
    select c.relname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition`)
  const tables = rows.map(({ name }) => name).sort()
  const listed = [...distributed, ...reference, ...everywhere].sort()
  assert.deepEqual(listed, tables, 'docs/scaling.md lists each table once')
})

test('a distributed table has company_id in every row and in each of its unique keys', async () => {
  const rows = await db.many<{ relation: string; index: string; keys: string[] }>(sql`
    select c.relname::text as relation, i.relname::text as index,
      array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum = any(x.indkey)) as keys
    from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
    where x.indisunique and c.relname = any(${distributed}::text[])`)
  assert.ok(rows.length >= distributed.length, 'each has a key')
  assert.deepEqual(
    rows.filter(({ keys }) => !keys.includes('company_id')),
    [],
  )
  const nullable = await db.many<{ name: string }>(sql`
    select table_name::text as name from information_schema.columns
    where column_name = 'company_id' and is_nullable = 'YES' and table_name = any(${distributed}::text[])`)
  assert.deepEqual(nullable, [])
})

test('a distributed row refers to rows of its own company, or to a reference', async () => {
  const rows = await db.many<{ child: string; parent: string; keys: string[] }>(sql`
    select c.relname::text as child, p.relname::text as parent,
      array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum = any(k.conkey)) as keys
    from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class p on p.oid = k.confrelid
    where k.contype = 'f' and c.relname = any(${distributed}::text[])`)
  const wrong = rows.filter(
    ({ parent, keys }) => !(distributed.includes(parent) && keys.includes('company_id')) && !reference.includes(parent),
  )
  assert.deepEqual(wrong, [])
})

/** Tables in an order in which those that a table refers to come before it, else by name. */
async function inOrder(tables: readonly string[]): Promise<string[]> {
  const rows = await db.many<{ child: string; parent: string }>(sql`
    select conrelid::regclass::text as child, confrelid::regclass::text as parent from pg_constraint
    where contype = 'f' and conrelid <> confrelid`)
  const left = [...tables].sort()
  const ordered: string[] = []
  while (left.length > 0) {
    const index = left.findIndex((table) =>
      rows.every(({ child, parent }) => child !== table || !left.includes(parent) || parent === table),
    )
    assert.notEqual(index, -1, `a circle of references: ${left}`)
    ordered.push(...left.splice(index, 1))
  }
  return ordered
}

test('the guide holds the Citus statement of each table, in an order that its references allow', async () => {
  const others = await inOrder(distributed.filter((table) => table !== 'orders'))
  const expected = [
    ...(await inOrder(reference)).map((table) => `select create_reference_table('${table}');`),
    `select create_distributed_table('orders', 'company_id');`,
    ...others.map((table) => `select create_distributed_table('${table}', 'company_id', colocate_with => 'orders');`),
  ]
  const written = [...guide.matchAll(/^ {4}(select create_\w+_table\(.*\);)$/gm)].map(([, statement]) => statement)
  assert.deepEqual(written, expected)
})

test('the guide names every trigger that Citus must be told to accept', async () => {
  const rows = await db.many<{ name: string }>(sql`
    select t.tgname::text as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where not t.tgisinternal and not c.relispartition and c.relname = any(${distributed}::text[]) order by 1`)
  const [, line = ''] = /Triggers on distributed tables: (.*)$/m.exec(guide) ?? []
  assert.deepEqual(
    [...line.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    rows.map(({ name }) => name),
  )
})

/*
 * A real coordinator with two workers, where Citus is installed. What docs/scaling.md says of Citus is tried here: when
 * one of these fails with a newer Citus, the guide is out of date.
 */
const programs = findCitus()
let place: ReturnType<typeof newFolder>
let citus: Citus
let alone: string
let divided: string
let spread: Db

const section = guide.split(/^### /m).find((part) => part.startsWith('The statements')) ?? ''
const statements = [...section.matchAll(/^ {4}(\S.*;)$/gm)].map(([, statement = '']) => statement)

const envOf = (connectionString: string): Record<string, string> => ({
  ...{ DATABASE_URL: connectionString, DATA_DIR: place.path, MASTER_KEY: TEST_MASTER_KEY.toString('base64') },
})

async function divide(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

if (!programs) console.log('left out, not installed: Citus, so what docs/scaling.md says of it was not tried')
else {
  before(async () => {
    place = newFolder()
    citus = await startCitus(programs)
    ;[alone, divided] = [await citus.createDatabase('alone'), await citus.createDatabase('divided')]
    const migrated = await runOperator(['migrate'], envOf(divided))
    assert.equal(migrated.code, 0, migrated.err)
    await divide(divided)
    spread = openDb({ connectionString: divided, max: 2 })
  })
  after(async () => {
    await spread?.close()
    await citus?.stop()
    place?.remove()
  })
}

/** Only where there is a Citus. */
const withCitus = (title: string, body: () => Promise<void>): void => {
  if (programs) test(title, body)
}

withCitus(
  'where Citus spreads the tables, neither the start nor doctor accepts the database, and nothing is written',
  async () => {
    const count = sql`select count(*) as rows from server_keys`
    const refused = await runOperator(['serve'], { ...envOf(divided), PORT: '0' })
    assert.equal(refused.code, 1)
    assert.match(refused.out + refused.err, /database: Citus [\d.-]+ spreads tables of this database over machines/)
    const examined = await runOperator(['doctor'], envOf(divided))
    assert.equal(examined.code, 1)
    assert.match(examined.out, /FAIL {2}database +Citus .* and \d+ others\)/)
    assert.deepEqual(await spread.one(count), { rows: 0n })
  },
)

withCitus('a database that only has the extension is served', async () => {
  const [chain, port] = [await startTestChain(), await freePort()]
  const baseUrl = `http://127.0.0.1:${port}`
  const served = startServed({ ...envOf(alone), ...chainEnv(chain), PORT: String(port), BASE_URL: baseUrl })
  try {
    await served.ready()
    const merchant = await insertMerchantIn(alone)
    const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
    assert.equal((await callService(baseUrl, 'POST', 'request', { as: merchant, body })).status, 200)
  } finally {
    await served.end()
    await chain.stop()
  }
})

withCitus(
  'Citus does not run the statements that lock an order by its code, claim deliveries and list events',
  async () => {
    const after = { position: 0n, orderId: '', seq: 0 }
    const refused = { code: '0A000' }
    await assert.rejects(
      spread.tx((tx) => lockOrderByCode(tx, 'code')),
      refused,
    )
    await assert.rejects(claimDeliveries(spread, 'node', ['(0,1)']), refused)
    await assert.rejects(listFeedEvents(spread, { companyId: newId(), collectorIds: null, after, limit: 10 }), refused)
  },
)

const insertEvent = (client: pg.Client, companyId: string, orderId: string) =>
  client.query(
    `insert into order_events (company_id, order_id, seq, trigger, to_status, event, actor, facts, at)
     values ($1, $2, 1, 'create', 'INITIAL', 'order.initial', 'test', '{}', now())`,
    [companyId, orderId],
  )

withCitus(
  'a transaction that ends on the coordinator without its commit leaves what it wrote on a worker',
  async () => {
    const clients = [1, 2].map(() => new pg.Client({ connectionString: divided }))
    const companyId = newId()
    try {
      for (const client of clients) {
        await client.connect()
        // read and written by both: of the two only one can commit
        await client.query('begin isolation level serializable')
        await client.query('select count(*) from jobs')
      }
      for (const client of clients) {
        const id = newId()
        await client.query(
          `insert into jobs (id, kind, payload, run_at, created_at) values ($1, 'x', '{}', now(), now())`,
          [id],
        )
        await insertEvent(client, companyId, id)
      }
      const [first, second] = clients as [pg.Client, pg.Client]
      await first.query('commit')
      await assert.rejects(second.query('commit'), { code: '40001' })
    } finally {
      for (const client of clients) await client.end()
    }
    const jobs = await spread.one(sql`select count(*) as rows from jobs where kind = 'x'`)
    const events = await spread.one(sql`select count(*) as rows from order_events where company_id = ${companyId}`)
    assert.deepEqual({ jobs, events }, { jobs: { rows: 1n }, events: { rows: 2n } })
  },
)

withCitus('the horizon of the feed is another machine’s than the position of an event', async () => {
  const client = new pg.Client({ connectionString: divided })
  const companyId = newId()
  await client.connect()
  try {
    // ahead of what the workers have counted
    for (let count = 0; count < 2000; count += 1) await client.query('select pg_current_xact_id()')
    await insertEvent(client, companyId, newId())
    const { rows } = await client.query<{ seen: boolean }>(
      'select position < event_horizon() as seen from order_events where company_id = $1',
      [companyId],
    )
    assert.deepEqual(rows, [{ seen: false }])
  } finally {
    await client.end()
  }
})

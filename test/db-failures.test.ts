import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { waitFor } from './harness/receiver.ts'

/* What the database refuses for a reason that is not the statement's. */

let database: TestDatabase
let db: Db

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 2 })
  await db.run(sql`create table seats (id integer primary key, taken integer not null default 0)`)
  await db.run(sql`insert into seats (id) values (1), (2)`)
})
after(async () => {
  await db?.close()
  await database?.drop()
})

test('a statement that a deadlock undid is made once more, as a transaction is', async () => {
  const other = new pg.Client({ connectionString: database.connectionString })
  await other.connect()
  try {
    // who has waited for so long looks for a circle, and is undone: this one never does
    await other.query("set deadlock_timeout = '1min'")
    await other.query('begin')
    await other.query('select 1 from seats where id = 1 for update')
    const both = db.run(sql`
      with second as materialized (select id from seats where id = 2 for update),
        first as materialized (select s.id from seats s, second where s.id = 1 for update of s)
      update seats set taken = taken + 1 where id in (select id from first union all select id from second)`)
    const isWaiting = async (): Promise<boolean> =>
      (await other.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%seats%'`))
        .rowCount !== 0
    await waitFor('the statement that waits for the first seat', isWaiting)
    await other.query('select 1 from seats where id = 2 for update')
    await other.query('commit')
    assert.equal(await both, 2)
  } finally {
    await other.end()
  }
  assert.deepEqual(await db.many(sql`select id, taken from seats order by id`), [
    { id: 1, taken: 1 },
    { id: 2, taken: 1 },
  ])
})

const raise = (code: string): Promise<number> =>
  db.run({ text: `do $$ begin raise sqlstate '${code}'; end $$`, values: [], name: '' })

test('a server that is full, ends or lost its files is 503 with Retry-After, and no bug of ours', async () => {
  for (const code of ['53100', '53200', '57P04', '58030', '08P01']) {
    await assert.rejects(raise(code), { code: 'DATABASE_UNAVAILABLE', retryAfter: 2 }, code)
  }
  await assert.rejects(raise('23514'), { code: '23514' })
})

test('a transaction that the server ended because it stood still is 503', async () => {
  const slow = db.tx(async (tx) => {
    await tx.run(sql`set local idle_in_transaction_session_timeout = '50ms'`)
    await sleep(400)
    await tx.run(sql`select 1`)
  })
  await assert.rejects(slow, { code: 'DATABASE_UNAVAILABLE' })
  assert.deepEqual(await db.one(sql`select 1 as n`), { n: 1 })
})

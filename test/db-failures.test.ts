import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Db, openDb, type Queryable, sql, type Tx } from '../src/db/db.ts'
import { makeCertificate } from './harness/certificates.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { waitFor } from './harness/receiver.ts'
import { startTestService } from './harness/service.ts'
import { startSilentWire } from './harness/silent-database.ts'
import { startTlsDatabase } from './harness/tls-database.ts'

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
  for (const code of ['53200', '57P04', '58030', '08P01']) {
    await assert.rejects(raise(code), { code: 'DATABASE_UNAVAILABLE', retryAfter: 2 }, code)
  }
  const full = { code: 'DATABASE_UNAVAILABLE', retryAfter: 10, message: /disk of the service’s database is full/ }
  await assert.rejects(raise('53100'), full)
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

const SILENCE_MS = 400

async function openOverWire(t: TestContext, max: number) {
  const wire = await startSilentWire(database.connectionString)
  const far = openDb({ connectionString: wire.connectionString, max, silenceMs: SILENCE_MS })
  t.after(async () => {
    await far.close()
    wire.stop()
  })
  return { wire, far }
}

const sleepThere = (q: Queryable, ms: number) => q.one(sql`select pg_sleep(${ms / 1000}) is null as done`)

test('a server that vanishes without a word fails what waits for it, 503, and keeps no connection', async (t) => {
  const { wire, far } = await openOverWire(t, 6)
  await Promise.all(Array.from({ length: 6 }, () => sleepThere(far, 50)))
  let [inside, asked] = [() => {}, () => {}]
  const isInside = new Promise<void>((resolve) => (inside = resolve))
  const vanished = new Promise<void>((resolve) => (asked = resolve))
  const within = (end: (tx: Tx) => Promise<unknown>) =>
    far.tx(async (tx) => {
      await tx.run(sql`select 1`)
      inside()
      await vanished
      return end(tx)
    })
  const lost = [
    sleepThere(far, 200), // asked before
    within((tx) => tx.run(sql`select 1`)),
    within(async () => {}), // the commit
    within(() => Promise.reject(new Error('roll it back'))),
  ]
  await isInside
  await sleep(50)
  assert.equal(wire.vanish(), 6)
  asked()
  lost.push(far.one(sql`select 1 as n`)) // on an idle connection that is gone
  lost.push(far.tx((tx) => tx.run(sql`select 1`)))
  const outcomes = await Promise.allSettled(lost)
  assert.deepEqual(
    outcomes.map((one) => (one.status === 'rejected' ? (one.reason.code ?? one.reason.message) : one.value)),
    [...Array(3).fill('DATABASE_UNAVAILABLE'), 'roll it back', ...Array(2).fill('DATABASE_UNAVAILABLE')],
  )
  assert.deepEqual(await far.one(sql`select 1 as n`), { n: 1 })
  const { totalCount, idleCount } = far.pool
  assert.deepEqual([totalCount, idleCount], [1, 1])
})

test('a server that answers late, but within its own limits, is no silent one', async (t) => {
  const { far } = await openOverWire(t, 1)
  assert.deepEqual(await sleepThere(far, SILENCE_MS / 2), { done: false })
})

test('a server that still works is waited for, on the connections that it has: none is opened beside them', async (t) => {
  // a commit that waits for a synchronous replica looks so: active, and beyond every limit of the server
  const { wire, far } = await openOverWire(t, 3)
  const name = 'comptoir'
  const others = () =>
    db.one<{ count: number }>(sql`
      select count(*)::int as count from pg_stat_activity
      where application_name = ${name} and datname = current_database() and query like '%pg_sleep%' and pid <> pg_backend_pid()`)
  const waiting = Array.from({ length: 3 }, () => sleepThere(far, 5 * SILENCE_MS))
  await sleep(4 * SILENCE_MS)
  assert.deepEqual([(await others()).count, far.pool.totalCount], [3, 3])
  assert.deepEqual(await Promise.all(waiting), Array(3).fill({ done: false }))
  const lost = sleepThere(far, 3 * SILENCE_MS)
  await sleep(SILENCE_MS / 2)
  wire.vanish()
  await assert.rejects(lost, { code: 'DATABASE_UNAVAILABLE' }, 'what it answered then was lost')
})

test('a server whose answer waits for a busy process is no silent one', async (t) => {
  const near = openDb({ connectionString: database.connectionString, max: 1, silenceMs: SILENCE_MS })
  t.after(() => near.close())
  await near.one(sql`select 1 as n`)
  const answered = near.one(sql`select 1 as n`)
  await new Promise((resolve) => process.nextTick(resolve))
  for (const until = Date.now() + 2 * SILENCE_MS; Date.now() < until; );
  assert.deepEqual(await answered, { n: 1 })
})

test('a statement that may take long is waited for; its commit, and what follows on the connection, is not', async (t) => {
  const { wire, far } = await openOverWire(t, 1)
  const long = far.tx(async (tx) => {
    await tx.liftTimeLimit()
    const { value } = await tx.one<{ value: string }>(sql`select current_setting('statement_timeout') as value`)
    await sleepThere(tx, 2 * SILENCE_MS)
    return value
  })
  assert.equal(await long, '0')
  const lost = far.tx(async (tx) => {
    await tx.liftTimeLimit()
    wire.vanish()
  })
  await assert.rejects(lost, { code: 'DATABASE_UNAVAILABLE' })
  const next = far.one(sql`select 1 as n`)
  assert.deepEqual(await next, { n: 1 })
})

test('over TLS a silent server is found as well, and a long statement is waited for', async (t) => {
  const server = await startTlsDatabase(database.connectionString, makeCertificate({ name: 'db' }))
  const far = openDb({ connectionString: server.url('sslmode=no-verify'), max: 1, silenceMs: SILENCE_MS })
  t.after(async () => {
    await far.close()
    await server.stop()
  })
  await far.one(sql`select 1 as n`)
  server.vanish()
  await assert.rejects(far.one(sql`select 1 as n`), { code: 'DATABASE_UNAVAILABLE' })
  const long = await far.tx(async (tx) => {
    await tx.liftTimeLimit()
    return sleepThere(tx, 2 * SILENCE_MS)
  })
  assert.deepEqual(long, { done: false })
})

test('an order whose commit got no answer is found by its Idempotency-Key; without one the answer is 503', async (t) => {
  const wire = await startSilentWire(database.connectionString)
  const service = await startTestService({ connectionString: wire.connectionString, silenceMs: SILENCE_MS })
  t.after(async () => {
    await service.stop()
    wire.stop()
  })
  const as = await service.createMerchant()
  const sell = (alias: string, headers: Record<string, string> = {}) => {
    const body = { amount: '5', fromAsset: 'EUR', merchantIdentifier: as.merchantIdentifier, alias }
    return service.call<{ code: string }>('POST', 'request', { as, body, headers })
  }
  assert.equal((await sell('first')).status, 200)
  wire.vanishAfter('by-its-key')
  const found = await sell('by-its-key', { 'idempotency-key': 'kept' })
  assert.deepEqual([found.status, found.headers.get('idempotency-replayed')], [200, 'true'])
  wire.vanishAfter('without-key')
  const unknown = await sell('without-key')
  assert.deepEqual([unknown.status, unknown.error.code], [503, 'DATABASE_UNAVAILABLE'])
  const { made } = await service.db.one<{ made: number }>(sql`
    select count(*)::integer as made from orders where company_id = ${as.companyId}`)
  assert.equal(made, 3)
})

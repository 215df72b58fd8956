import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { schemaCheck } from '../src/checks/installation-checks.ts'
import { migrate } from '../src/db/migrate.ts'
import { createTestDatabase } from './harness/database.ts'
import { runOperator } from './harness/installation.ts'
import { TEST_MASTER_KEY } from './harness/service.ts'

/* A load of a dump that ended early: all tables and data, and not all that keeps the data right. */

let database: Awaited<ReturnType<typeof createTestDatabase>>
let client: pg.Client
before(async () => {
  database = await createTestDatabase()
  client = new pg.Client({ connectionString: database.connectionString })
  await client.connect()
})
after(async () => {
  await client.end()
  await database.drop()
})

const check = () => schemaCheck(database.connectionString, { mode: 'sandbox', databaseUrl: null }).run()

test('what a load that ended early lacks is named by doctor, and keeps a restore from being marked', async () => {
  const { connectionString } = database
  await migrate(connectionString)
  assert.equal((await check()).ok, true, (await check()).message)
  const { rows } = await client.query<{ table: string; name: string }>(`
    select tgrelid::regclass::text as "table", tgname as name from pg_trigger
    where not tgisinternal and tgparentid = 0 limit 1`)
  const [trigger] = rows
  assert.ok(trigger)
  await client.query(`drop trigger ${trigger.name} on ${trigger.table}`)
  await client.query('drop index sweeps__one_first')
  assert.deepEqual(await migrate(connectionString), [])
  const { ok, message } = await check()
  assert.deepEqual([ok, /lacks 2 of its unique indices/.test(message)], [false, true], message)
  assert.match(message, /sweeps: unique index sweeps__one_first/)
  const env = { DATABASE_URL: connectionString, MASTER_KEY: TEST_MASTER_KEY.toString('base64') }
  const marked = await runOperator(['restore', '--already-done', new Date().toISOString(), '--yes'], env)
  assert.deepEqual([marked.code, /lacks 2 of .* Nothing was marked/s.test(marked.err)], [1, true], marked.err)
})

test('a table that is no longer there is not missed', async () => {
  await client.query(`update migrations set parts = parts || '["no_such_table: trigger gone"]' where parts is not null`)
  const { message } = await check()
  assert.doesNotMatch(message, /no_such_table/)
})

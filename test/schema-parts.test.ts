import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { schemaCheck } from '../src/checks/installation-checks.ts'
import { migrate } from '../src/db/migrate.ts'
import { readMissingParts } from '../src/db/wire/schema-parts.ts'
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

test('a run of migrations that was interrupted is whole after the next one, whatever its first part dropped', async () => {
  const { connectionString, drop } = await createTestDatabase()
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-migrations-'))
  const put = (name: string, text: string) => writeFileSync(join(folder, name), text)
  const run = () => migrate(connectionString, { folder })
  const readMissing = () => readMissingParts(connectionString)
  try {
    cpSync(join(import.meta.dirname, '../migrations'), folder, { recursive: true })
    await run()
    put('9001_first.sql', 'alter table sweeps drop constraint if exists none; drop index sweeps__one_first;')
    put('9002_second.sql', 'select 1 / 0;')
    await assert.rejects(run, /9002_second failed/)
    assert.deepEqual(await readMissing(), [])
    put('9002_second.sql', 'create unique index migrations__one_hash on migrations (hash);')
    await run()
    // outside a transaction, and cut off between its two statements
    const third = (column: string) =>
      `drop index migrations__one_hash; create unique index migrations__other on migrations (${column});`
    put('9003_third.sql', third('expands'))
    await assert.rejects(run, /9003_third failed/)
    put('9003_third.sql', third('hash'))
    await run()
    assert.deepEqual(await readMissing(), [])
    const direct = new pg.Client({ connectionString })
    await direct.connect()
    await direct.query('drop index migrations__other')
    await direct.end()
    assert.deepEqual(await readMissing(), ['migrations: unique index migrations__other'])
  } finally {
    rmSync(folder, { recursive: true })
    await drop()
  }
})

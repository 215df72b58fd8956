import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startRoomWatch } from '../src/assembly/upkeep/room-watch.ts'
import { sql } from '../src/db/db.ts'
import { systemClock } from '../src/kernel/clock.ts'
import type { Alarm } from '../src/mail/operator-alarm.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { eventually, type Merchant, startTestService, type TestService } from './harness/service.ts'
import { startSilentWire } from './harness/silent-database.ts'

/* What an operator sees while the database is away, or its disk is full. */

let database: TestDatabase
let wire: Awaited<ReturnType<typeof startSilentWire>>
let host: TestService
let as: Merchant

before(async () => {
  database = await createTestDatabase()
  wire = await startSilentWire(database.connectionString)
  host = await startTestService({ connectionString: wire.connectionString, workers: true, guardsClock: true })
  as = await host.createMerchant()
})
after(async () => {
  await host?.stop()
  wire?.stop()
  await database?.drop()
})

const scrape = (): Promise<string> => host.service.metrics.metrics()

/** The metrics that have a value, without those of Node. */
const namesIn = (text: string): Set<string> =>
  new Set([...text.matchAll(/^(comptoir_\w+)(?:\{[^}]*\})? /gm)].map(([, name = '']) => name))

const READ_THERE = [
  ...['ledger_differences', 'orphaned_units', 'mispayments_open', 'refunds_waiting', 'orders', 'orders_oldest_seconds'],
  ...['jobs_parked', 'mail_waiting', 'mail_oldest_seconds', 'webhook_due', 'webhook_oldest_seconds', 'audit_entries'],
  ...['webhook_clock_skew_seconds', 'screenings_held'],
].map((name) => `comptoir_${name}`)

type Line = { level: number; msg: string; unsaid?: number }
const linesSince = (index: number): Line[] => host.logLines.slice(index).map((line) => JSON.parse(line))

test('while the database is away the metrics say so, and show none that was read from it; the log has one line', async () => {
  const before_ = namesIn(await eventually(scrape, (text) => READ_THERE.every((name) => namesIn(text).has(name))))
  assert.match(await scrape(), /^comptoir_database_up 1$/m)
  const index = host.logLines.length
  wire.cut()
  try {
    const text = await eventually(scrape, (found) => !READ_THERE.some((name) => namesIn(found).has(name)))
    assert.match(text, /^comptoir_database_up 0$/m)
    for (const name of ['webhook_in_flight', 'db_pool_waiting', 'clock_unsure_seconds', 'database_full'])
      assert.ok(namesIn(text).has(`comptoir_${name}`), name)
    // each job of a second is tried several times
    await sleep(8000)
    assert.deepEqual(
      linesSince(index).map(({ level, msg }) => [level, msg]),
      [[40, 'the database does not answer; what needs it is tried again until it does']],
    )
  } finally {
    wire.mend()
  }
  const back = await eventually(scrape, (text) => [...before_].every((name) => namesIn(text).has(name)))
  assert.match(back, /^comptoir_database_up 1$/m)
  const said = await eventually(
    async () => linesSince(index),
    (lines) => lines.length > 1,
  )
  assert.deepEqual([said[1]?.level, said[1]?.msg], [30, 'the database answers again'])
  assert.ok((said[1]?.unsaid ?? 0) > 20, JSON.stringify(said[1]))
})

const sell = () =>
  host.call('POST', 'request', {
    as,
    body: { amount: '5', fromAsset: 'EUR', merchantIdentifier: as.merchantIdentifier },
  })

test('a full disk is an ALARM at once, this node is not ready, and it goes on by itself once there is room', async () => {
  const { data: first } = await host.call<{ checks: { name: string; ok: boolean }[] }>('GET', '/readyz')
  assert.ok(first.checks.every(({ ok }) => ok))
  await host.db.tx(async (tx) => {
    await tx.run(sql`create function refuse_write() returns trigger language plpgsql
      as 'begin raise sqlstate ''53100'' using message = ''could not extend file: No space left on device''; end'`)
    await tx.run(sql`create function refuse_table() returns event_trigger language plpgsql
      as 'begin raise sqlstate ''53100'' using message = ''could not extend file: No space left on device''; end'`)
    await tx.run(sql`create trigger full_disk before insert on orders for each row execute function refuse_write()`)
    await tx.run(sql`create event trigger full_disk on ddl_command_start execute function refuse_table()`)
  })
  const mails: Alarm[] = []
  const alarm = async (_: unknown, mail: Alarm): Promise<void> => void mails.push(mail)
  const index = host.logLines.length
  const watch = startRoomWatch({ db: host.db, clock: systemClock, log: host.service.app.log, alarm }, 500)
  const refused = await sell()
  assert.deepEqual([refused.status, refused.error.code], [503, 'DATABASE_UNAVAILABLE'])
  assert.match(refused.error.message, /disk of the service’s database is full/)
  assert.match(
    linesSince(index)
      .map(({ level, msg }) => `${level} ${msg}`)
      .join('\n'),
    /^50 ALARM: the disk of the d/m,
  )
  const unready = await host.call<{ checks: { name: string; ok: boolean }[] }>('GET', '/readyz')
  assert.deepEqual([unready.status, unready.data.checks[0]], [503, { name: 'database', ok: false }])
  assert.match(await scrape(), /^comptoir_database_full 1$/m)
  await host.db.run(sql`drop event trigger full_disk`)
  await host.db.run(sql`drop trigger full_disk on orders`)
  await eventually(
    () => host.call('GET', '/readyz'),
    ({ status }) => status === 200,
  )
  assert.match(await scrape(), /^comptoir_database_full 0$/m)
  assert.equal((await sell()).status, 200)
  await eventually(
    async () => mails,
    ({ length }) => length > 0,
  )
  await watch.stop()
  assert.match(mails.map(({ subject }) => subject).join(), /^The disk of the database was full$/)
})

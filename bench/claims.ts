import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { partitionedTables } from '../src/db/partitioned-tables.ts'
import { keepPartitions } from '../src/db/partitions.ts'
import { DAY } from '../src/kernel/clock.ts'
import { claimDeliveries, findDueSuspect, listDue, listTurns } from '../src/webhooks/sender/claim-queries.ts'
import { type OutcomeRow, settleAttempts } from '../src/webhooks/sender/sender-queries.ts'

const MONTHS = Number(process.env.BENCH_MONTHS ?? 3)
const WARM_UP = 10
const ROUNDS = 60
/** Maximum rows that one claim reads and takes (`claim-loop.ts`). */
const [WINDOW, LIMIT] = [500, 200]
const COMPANY = 'c'.repeat(24)
const NONE = { lanes: [], companies: [] }

/** Nanoseconds of CPU time; exact while the process sleeps (proc_pid_schedstat). */
const cpuNs = (pid: number): number => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0])

/** @param due when, relative to now */
async function fill(db: Db, total: number, due: string): Promise<void> {
  await db.pool.query('truncate delivery_due; truncate deliveries')
  await db.pool.query(
    `with added as (
      insert into deliveries (company_id, id, order_id, event, url, body, created_at, updated_at)
      select $1, md5(n::text), lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || lpad(to_hex(n), 12, '0'),
        'order.paid', 'https://shop.example/hooks', repeat('x', 900), now(), now()
      from generate_series(1, $2::integer) n returning company_id, id, order_id)
    insert into delivery_due (company_id, delivery_id, order_id, bucket, lane, next_at)
    select company_id, id, order_id, 1, 'https://' || left(id, 2), now() + $3::interval from added`,
    [COMPANY, total, due],
  )
  await db.pool.query('vacuum analyze delivery_due')
}

/** One claim, as in the sender's loop. @returns how many it took */
async function claim(db: Db, inTurns: boolean): Promise<number> {
  const common = { lowerMs: 0, window: WINDOW, excluded: NONE, buckets: null }
  const lanes = Array.from({ length: 16 }, (_, lane) => `https://${lane.toString(16).padStart(2, '0')}`)
  const turns = lanes.map((lane) => ({ companyId: COMPANY, lane, free: 8, lowerMs: 0 }))
  const due = inTurns ? await listTurns(db, turns, null) : (await listDue(db, common)).due
  const places = due.slice(0, LIMIT).map(({ place }) => place)
  return places.length === 0 ? 0 : (await claimDeliveries(db, 'bench#1', places)).length
}

async function measure(db: Db, work: () => Promise<number>, after: () => Promise<unknown>): Promise<string[]> {
  const { pid } = await db.one<{ pid: number }>(sql`select pg_backend_pid() as pid`)
  const costs: number[] = []
  let count = 0
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const before = cpuNs(pid)
    count = await work()
    if (round >= 0) costs.push((cpuNs(pid) - before) / 1000)
    await after()
  }
  costs.sort((left, right) => left - right)
  return [String(count), (costs[ROUNDS >> 1] ?? Number.NaN).toFixed(0)]
}

const giveBack = (db: Db): Promise<unknown> =>
  db.pool.query(`update delivery_due set owner = null, next_at = now() - interval '1 second' where owner is not null`)

const outcomeOf = (deliveryId: string, epoch: bigint): OutcomeRow => ({
  ...{ companyId: COMPANY, deliveryId, series: 1, epoch, outcome: 'delivered', number: 1, startedAt: new Date() },
  ...{ durationMs: 1, statusCode: 200, errorCode: null, responseBody: null, delayMs: 0 },
})

/** What a claim costs PostgreSQL, on one connection, with tables covering `BENCH_MONTHS` months. */
export async function run(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'comptoir-bench-'))
  const server = await startEmbeddedPostgres({ dataDir, log: () => {} })
  await migrate(server.connectionString)
  const db = openDb({ connectionString: server.connectionString, max: 1 })
  const keep = { exchangeRetentionDays: 0, requestLogDays: 0, orderEventRetentionDays: 0, webhookRetentionDays: 0 }
  for (const spec of partitionedTables(keep).filter(({ unit }) => unit === 'month'))
    for (let month = 0; month < MONTHS - 2; month += 1) await keepPartitions(db, spec, Date.now() + month * 31 * DAY)
  await db.run(sql`insert into companies (id, name, webhook_secret_sealed) values (${COMPANY}, 'Shop', 'sealed')`)
  const row = (...cells: (string | number)[]): void => console.log(`| ${cells.join(' | ')} |`)
  console.log(`\nWhat a claim costs PostgreSQL, µs of processor time, median of ${ROUNDS}\n`)
  row('in the queue', 'taken', 'µs')
  row('---', '---:', '---:')
  for (const total of [0, 1000, 100_000]) {
    await fill(db, total, '1 hour')
    row(
      `${total}, none due`,
      ...(await measure(
        db,
        () => claim(db, false),
        () => giveBack(db),
      )),
    )
  }
  for (const total of [1, 8, 200, 100_000]) {
    await fill(db, total, '-1 second')
    row(
      `${total} due`,
      ...(await measure(
        db,
        () => claim(db, false),
        () => giveBack(db),
      )),
    )
  }
  row(
    '100000 due, 16 lanes in turn',
    ...(await measure(
      db,
      () => claim(db, true),
      () => giveBack(db),
    )),
  )
  row(
    '100000 due, those that crashed, once a second',
    ...(await measure(
      db,
      async () =>
        (await findDueSuspect(db, { full: [], fullCompanies: [], served: [], beside: false, buckets: null })) ? 1 : 0,
      async () => {},
    )),
  )
  await giveBack(db)
  for (const size of [1, 200]) {
    let rows: OutcomeRow[] = []
    const take = async (): Promise<void> => {
      await giveBack(db)
      const { due } = await listDue(db, { lowerMs: 0, window: size, excluded: NONE, buckets: null })
      const claimed = await claimDeliveries(
        db,
        'bench#1',
        due.map(({ place }) => place),
      )
      rows = claimed.map(({ deliveryId, epoch }) => outcomeOf(deliveryId, epoch))
    }
    await take()
    row('outcomes written', ...(await measure(db, async () => (await settleAttempts(db, rows)).length, take)))
  }
  await db.close()
  await server.stop()
  rmSync(dataDir, { recursive: true, force: true })
}

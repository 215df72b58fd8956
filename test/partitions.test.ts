import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { openDb, sql } from '../src/db/db.ts'
import { listMigrations } from '../src/db/migrate.ts'
import { partitionedTables } from '../src/db/partitioned-tables.ts'
import { keepPartitions, type Partitioned } from '../src/db/partitions.ts'
import { DAY } from '../src/kernel/clock.ts'
import { claimDeliveries, listDue } from '../src/webhooks/sender/claim-queries.ts'
import { createEmptyDatabase } from './harness/database.ts'
import { waitFor } from './harness/receiver.ts'
import { openWebhookWorld, type WebhookWorld } from './harness/webhook-world.ts'

const NOON = Date.UTC(2030, 4, 20, 12)
const KEPT = {
  ...{ exchangeRetentionDays: 30, requestLogDays: 7 },
  ...{ orderEventRetentionDays: 120, webhookRetentionDays: 120 },
}
const specOf = (table: string): Partitioned => {
  const spec = partitionedTables(KEPT).find((one) => one.table === table)
  assert.ok(spec, table)
  return spec
}

let world: WebhookWorld
before(async () => {
  world = await openWebhookWorld()
})
after(() => world.close())

const orderIdAt = (ms: number): string => ms.toString(16).padStart(12, '0') + randomBytes(6).toString('hex')

async function insertEvent(companyId: string, orderId: string, at: number, seq = 1): Promise<void> {
  await world.db.run(sql`
    insert into order_events (company_id, order_id, seq, trigger, to_status, event, actor, at)
    values (${companyId}, ${orderId}, ${seq}, 'create', 'INITIAL', 'order.initial', 'system', ${new Date(at)})`)
}

const placeOf = async (table: 'order_events' | 'deliveries', orderId: string): Promise<string | undefined> => {
  const from = table === 'deliveries' ? sql`deliveries` : sql`order_events`
  const row = await world.db.maybe<{ place: string }>(
    sql`select tableoid::regclass::text as place from ${from} where order_id = ${orderId} limit 1`,
  )
  return row?.place
}

test('attempts live in monthly partitions: made ahead, filled from the default one, dropped when they are old', async () => {
  const spec = specOf('delivery_attempts')
  const attempt = async (startedAt: string): Promise<void> => {
    await world.db.run(sql`
      insert into delivery_attempts (company_id, delivery_id, series, number, epoch, started_at)
      values ('c', ${startedAt}, 1, 1, 1, ${startedAt})`)
  }
  const places = async () =>
    Object.fromEntries(
      (
        await world.db.many<{ id: string; place: string }>(sql`
        select delivery_id as id, tableoid::regclass::text as place from delivery_attempts where company_id = 'c'`)
      ).map((row) => [row.id, row.place]),
    )
  await attempt('2030-05-02T00:00:00Z')
  const first = await keepPartitions(world.db, spec, NOON)
  assert.deepEqual(first.made, ['delivery_attempts_2030_05', 'delivery_attempts_2030_06', 'delivery_attempts_2030_07'])
  await attempt('2030-06-30T23:59:59.999Z')
  await attempt('2031-01-01T00:00:00Z')
  assert.deepEqual(await places(), {
    '2030-05-02T00:00:00Z': 'delivery_attempts_2030_05',
    '2030-06-30T23:59:59.999Z': 'delivery_attempts_2030_06',
    '2031-01-01T00:00:00Z': 'delivery_attempts_default',
  })
  const none = { made: [], dropped: [] }
  assert.deepEqual(await Promise.all([1, 2].map(() => keepPartitions(world.db, spec, NOON))), [none, none])
  const later = await keepPartitions(world.db, spec, Date.UTC(2030, 8, 15))
  assert.deepEqual(later.dropped, ['delivery_attempts_2030_05'])
  assert.equal(Object.keys(await places()).length, 2)
})

test('events and deliveries go by the month of their order, and stay unique over all months', async () => {
  const { id: company } = await world.newCompany()
  const may = orderIdAt(NOON)
  const today = orderIdAt(Date.now())
  await insertEvent(company, may, NOON)
  await insertEvent(company, today, NOON)
  const early = world.newDelivery(company, 'https://shop.example/', { orderId: may })
  await world.insert([early])
  assert.deepEqual(
    [await placeOf('order_events', may), await placeOf('deliveries', may)],
    ['order_events_default', 'deliveries_default'],
  )
  for (const table of ['order_events', 'deliveries']) {
    const { made } = await keepPartitions(world.db, specOf(table), NOON)
    assert.deepEqual(
      made,
      [5, 6, 7].map((month) => `${table}_2030_0${month}`),
    )
  }
  assert.deepEqual(
    [await placeOf('order_events', may), await placeOf('deliveries', may)],
    ['order_events_2030_05', 'deliveries_2030_05'],
  )
  assert.equal(await placeOf('order_events', today), 'order_events_before')
  await assert.rejects(insertEvent(company, may, NOON + 60 * DAY), { code: '23505' })
  const count = async () =>
    (await world.db.one<{ count: number }>(sql`select count(*)::int from deliveries where order_id = ${may}`)).count
  await world.insert([{ ...early, id: randomBytes(16).toString('hex') }])
  assert.equal(await count(), 1, 'one (order, event, refund) is one delivery')
})

test('a partition is dropped when all in it is old; what is due, or had an event since, stays', async () => {
  const { id: company } = await world.newCompany()
  const [done, due, changed] = [0, 1, 2].map((day) => orderIdAt(NOON - day * DAY)) as [string, string, string]
  const drop = async (table: string, days: number) =>
    (await keepPartitions(world.db, specOf(table), Date.UTC(2030, 5, 1) + days * DAY)).dropped.filter(
      (name) => !name.endsWith('_before'),
    )
  for (const orderId of [done, changed]) await insertEvent(company, orderId, NOON)
  await insertEvent(company, changed, NOON + 100 * DAY, 2)
  assert.deepEqual(await drop('order_events', 119), [], 'before its time')
  assert.deepEqual(await drop('order_events', 121), [], 'an order was refunded since')
  assert.deepEqual(
    await drop('order_events', 240),
    ['2030_05', '2030_06', '2030_07'].map((month) => `order_events_${month}`),
  )
  const rows = [done, due].map((orderId) => world.newDelivery(company, 'https://shop.example/', { orderId }))
  await world.insert(rows)
  await world.db.run(
    sql`update deliveries set updated_at = ${new Date(NOON)} where order_id >= ${orderIdAt(NOON - 9 * DAY)}`,
  )
  assert.deepEqual(await drop('deliveries', 121), [], 'one is due')
  await world.db.run(sql`delete from delivery_due where company_id = ${company}`)
  await world.db.run(sql`delete from delivery_due where order_id >= ${orderIdAt(NOON - 9 * DAY)}`)
  assert.deepEqual(await drop('deliveries', 121), ['deliveries_2030_05'])
  assert.equal(await placeOf('deliveries', done), undefined)
})

test('however long it takes to find what is old, new partitions are there, no statement waits, and it is read once', async (t) => {
  const { id: company } = await world.newCompany()
  const [start, changed, later] = [Date.UTC(2040, 0, 20), Date.UTC(2040, 5, 20), Date.UTC(2040, 11, 20)]
  const old = 'deliveries_2040_01'
  // waits for a lock that this test holds, and finds something if its time is limited
  const slowLook = `select from pg_advisory_xact_lock_shared(2040) w (x)
    where case when x is not null then current_setting('statement_timeout') <> '0' end`
  const due = specOf('deliveries').neededBy ?? (() => '')
  let looks = 0
  const spec: Partitioned = {
    ...specOf('deliveries'),
    neededBy: (name, before) => (name === old && ++looks === 2 ? slowLook : due(name, before)),
  }
  await keepPartitions(world.db, spec, start)
  await world.insert([world.newDelivery(company, 'https://shop.example/', { orderId: orderIdAt(start) })])
  await world.db.run(sql`update deliveries set updated_at = ${new Date(changed)} where company_id = ${company}`)
  await world.db.run(sql`delete from delivery_due where company_id = ${company}`)
  for (const day of [0, 1]) {
    assert.deepEqual((await keepPartitions(world.db, spec, changed + day * DAY)).dropped, [])
    assert.equal(looks, 1, 'kept for its newest row, and not read again before that is old')
  }
  const holder = new pg.Client({ connectionString: world.database.connectionString })
  await holder.connect()
  t.after(() => holder.end())
  await holder.query('select pg_advisory_lock(2040)')
  const upkeep = keepPartitions(world.db, spec, later)
  const waiting = `select from pg_locks where locktype = 'advisory' and objid = 2040 and not granted`
  await waitFor('the look at the old partition', async () => (await holder.query(waiting)).rowCount === 1)
  const { rowCount } = await holder.query(`select from pg_class where relname ~ '^deliveries_20(40_12|41_0[12])$'`)
  await world.insert([world.newDelivery(company, 'https://shop.example/', { orderId: orderIdAt(later) })])
  await holder.query('select pg_advisory_unlock(2040)')
  assert.equal(rowCount, 3)
  assert.ok((await upkeep).dropped.includes(old), 'by a look without a time limit')
})

test('what names an order reads one partition, by an index', async () => {
  const { id: company } = await world.newCompany()
  const order = orderIdAt(Date.UTC(2031, 1, 9))
  for (const table of ['order_events', 'deliveries'])
    await keepPartitions(world.db, specOf(table), Date.UTC(2031, 0, 27))
  const plans = [
    `select position from order_events where company_id = '${company}' and order_id = '${order}' order by seq desc limit 1`,
    `select d.body from delivery_due due join deliveries d on d.company_id = due.company_id and d.order_id = due.order_id
       and d.id = due.delivery_id where due.company_id = '${company}' and due.order_id = '${order}'`,
  ]
  for (const text of plans) {
    const rows = await world.db.many<{ 'QUERY PLAN': string }>({ text: `explain ${text}`, values: [], name: '' })
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    const scanned = new Set([...plan.matchAll(/ on ((?:order_events|deliveries)\w*)/g)].map(([, name]) => name))
    assert.equal(scanned.size, 1, plan)
    assert.match([...scanned].join(), /_2031_02$/)
    assert.doesNotMatch(plan, /Seq Scan on (order_events|deliveries)/)
  }
})

test('a claim finds what is due in any month, by a plan that was made once, from an empty queue, and reads no whole table', async () => {
  const { id: company } = await world.newCompany()
  const db = openDb({ connectionString: world.database.connectionString, max: 1 })
  try {
    for (const text of ['delete from delivery_due', 'vacuum analyze delivery_due', 'analyze companies'])
      await db.pool.query(text)
    assert.deepEqual(await claimDeliveries(db, 'node#1', ['(0,1)']), [])
    const months = [Date.now(), NOON, Date.UTC(2031, 1, 9), Date.UTC(2090, 1, 1)]
    const rows = months.map((ms) => world.newDelivery(company, 'https://shop.example/', { orderId: orderIdAt(ms) }))
    await world.insert(rows)
    const places = new Set(await Promise.all(rows.map(({ orderId }) => placeOf('deliveries', orderId))))
    assert.ok(places.size > 1, [...places].join())
    const { due } = await listDue(db, {
      lowerMs: 0,
      window: 500,
      excluded: { lanes: [], companies: [] },
      buckets: null,
    })
    const found = due.map(({ place }) => place)
    const claimed = await claimDeliveries(db, 'node#1', found)
    const bodies = (list: { orderId: string; body: string }[]) => new Map(list.map((one) => [one.orderId, one.body]))
    assert.deepEqual(bodies(claimed), bodies(rows))
    assert.deepEqual(await claimDeliveries(db, 'node#2', found), [], 'taken already')
    const kept = await db.one<{ name: string; generic: bigint; custom: bigint }>(sql`
      select name, generic_plans as generic, custom_plans as custom from pg_prepared_statements
      where statement like '%skip ' || 'locked%'`) // not this one
    assert.deepEqual([kept.generic, kept.custom], [3n, 0n])
    await db.pool.query('set plan_cache_mode = force_generic_plan')
    const { rows: lines } = await db.pool.query<{ 'QUERY PLAN': string }>({
      text: `explain execute ${kept.name}('{"(0,1)"}', 'node', 1)`,
    })
    const plan = lines.map((line) => line['QUERY PLAN']).join('\n')
    assert.doesNotMatch(plan, /(Seq|Bitmap Heap) Scan on/)
    assert.match(plan, /Tid Scan on delivery_due/)
  } finally {
    await db.close()
  }
})

/** Migrations up to the one before the partitions, some rows, then the rest. */
async function migrateWith(orderIds: readonly string[]): Promise<Record<string, string>> {
  const database = await createEmptyDatabase()
  const client = new pg.Client({ connectionString: database.connectionString })
  await client.connect()
  try {
    const all = listMigrations()
    await client.query('create table migrations (id text primary key)')
    for (const { text } of all.filter(({ id }) => id < '0270')) await client.query(text)
    for (const id of orderIds) {
      await client.query(
        `insert into order_events (company_id, order_id, seq, trigger, to_status, actor, at)
         values ('c', $1, 1, 'create', 'INITIAL', 'system', now())`,
        [id],
      )
      await client.query(
        `insert into deliveries (company_id, id, order_id, event, url, body, created_at, updated_at)
         values ('c', md5($1), $1, 'order.paid', 'https://shop.example', '{}', now(), now())`,
        [id],
      )
      await client.query(
        `insert into delivery_due (company_id, delivery_id, bucket, lane, next_at) values ('c', md5($1), 1, 'l', now())`,
        [id],
      )
    }
    for (const { text } of all.filter(({ id }) => id >= '0270')) await client.query(text)
    // as a node of the version before does it
    await client.query(
      `with added as (insert into deliveries (company_id, id, order_id, event, url, body, created_at, updated_at)
         values ('c', md5('late'), $1, 'order.late', 'https://shop.example', '{}', now(), now()) returning id)
       insert into delivery_due (company_id, delivery_id, bucket, lane, next_at) select 'c', id, 1, 'l', now() from added`,
      [orderIds[0]],
    )
    const { rows } = await client.query<{ id: string; place: string }>(
      `select d.order_id as id, d.tableoid::regclass::text || ' ' || count(due.order_id) as place from deliveries d
       join order_events e on e.order_id = d.order_id
       join delivery_due due on due.delivery_id = d.id and due.order_id = d.order_id group by 1, d.tableoid`,
    )
    return Object.fromEntries(rows.map(({ id, place }) => [id, place]))
  } finally {
    await client.end()
    await database.drop()
  }
}

test('the migration keeps every row where it is, and what an old node writes meanwhile is found', async () => {
  const [first, second] = [orderIdAt(Date.now()), orderIdAt(Date.now() - 400 * DAY)]
  assert.deepEqual(await migrateWith([first, second]), {
    [first]: 'deliveries_before 2',
    [second]: 'deliveries_before 1',
  })
})

test('ids that are no times stop no migration: then all rows so far stay together', async () => {
  const strange = 'zz-from-elsewhere'
  assert.deepEqual(await migrateWith([strange]), { [strange]: 'deliveries_before 2' })
})

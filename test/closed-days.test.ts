import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import pg from 'pg'
import { pino } from 'pino'
import { type Db, openDb, raw, sql } from '../src/db/db.ts'
import { monthsBefore } from '../src/http/calendar.ts'
import { HOUR } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import { openBooks } from '../src/ledger/books.ts'
import { closeDays } from '../src/ledger/days/close-days.ts'
import { insertJournal, listBalancesBetween } from '../src/ledger/ledger-queries.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { setLongSnapshot } from '../src/ledger/ledger-verify-queries.ts'
import { listMonths } from '../src/ledger/overview/fee-queries.ts'
import type { Alarm } from '../src/mail/operator-alarm.ts'
import { allowHistoryChanges, updateOrderAge } from '../src/operator/order-age-queries.ts'
import { bookAt, compareSums, DAY_MS, instantOf, leg, OLD_NODE } from './harness/booked-days.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { randomBelow } from './harness/random.ts'
import { scaled } from './harness/scale.ts'

/*
 * Sums of a period are read from closed days and the bookings of the edges. They are exact at every moment: while
 * others book into closed days, and while days are closed. The same again: SEED=<number>
 */

const SEED = Number(process.env.SEED ?? randomInt(1_000_000_000))
/** Days around the turn of a month, which is another instant in each time zone. */
const FIRST_MS = Date.parse('2026-02-20T00:00:00Z')
const DAYS = 16
const SPAN = { firstMs: FIRST_MS, days: DAYS }
const AFTER_MS = FIRST_MS + (DAYS + 3) * DAY_MS

const log = pino({ level: 'silent' })
let database: TestDatabase
let db: Db
let companyId: string
/** A session of its own, as another node has it. */
let other: pg.Client

before(async () => {
  console.log(`SEED=${SEED}`)
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 12 })
  other = new pg.Client({ connectionString: database.connectionString })
  await other.connect()
})
after(async () => {
  await other?.end()
  await db?.close()
  await database?.drop()
})
beforeEach(async () => {
  companyId = newId()
  await db.run(sql`insert into companies (id, name, webhook_secret_sealed) values (${companyId}, 'Shop', 'sealed')`)
})

const closeUntil = async (nowMs: number): Promise<void> => {
  while (await closeDays({ db, clock: () => nowMs, log })) {}
}
const findClosed = () =>
  db.maybe<{ since: string; before: string }>(
    sql`select since::text, before::text from ledger_closed where company_id = ${companyId}`,
  )
const closedBefore = async (): Promise<string | undefined> => (await findClosed())?.before

async function bookSome(count: number, random = randomBelow(SEED)): Promise<void> {
  for (let booked = 0; booked < count; booked += 1)
    await db.tx((tx) => bookAt(tx, companyId, instantOf(random, SPAN), random))
}
async function compareOften(count: number): Promise<void> {
  const random = randomBelow(SEED + 1)
  for (let compared = 0; compared < count; compared += 1) await compareSums(db, companyId, random, SPAN)
}

const bookOld = (at: string) => other.query(OLD_NODE, [companyId, newId(), at])

const owedUntil = async (to: string): Promise<bigint | undefined> =>
  (await listBalancesBetween(db, companyId, { from: null, to: new Date(to) })).find(
    ({ account }) => account === 'company_payable',
  )?.creditUnits

test('sums equal the plain ones, whatever is booked and closed meanwhile', { timeout: 120_000 }, async () => {
  await bookSome(40)
  const isOver = AbortSignal.timeout(scaled(4000))
  const own = companyId
  const writer = async (number: number): Promise<void> => {
    const random = randomBelow(SEED + 10 + number)
    while (!isOver.aborted) {
      const isUndone = random(8) === 0
      await db
        .tx(async (tx) => {
          await bookAt(tx, own, instantOf(random, SPAN), random)
          // others commit first
          await tx.run(sql`select pg_sleep(${random(20) / 1000})`)
          if (isUndone) throw new Error('undone')
        })
        .catch((error: Error) => assert.ok(isUndone || /changes the same object/.test(error.message), error))
    }
  }
  const closer = async (number: number): Promise<void> => {
    const random = randomBelow(SEED + 20 + number)
    while (!isOver.aborted) await closeDays({ db, clock: () => FIRST_MS + random(DAYS + 3) * DAY_MS, log })
  }
  let compared = 0
  let closed = 0
  const reader = async (number: number): Promise<void> => {
    const random = randomBelow(SEED + 30 + number)
    for (; !isOver.aborted; compared += 1) {
      await compareSums(db, own, random, SPAN)
      const state = await findClosed()
      if (state && state.since < state.before) closed += 1
    }
  }
  await Promise.all([writer(1), writer(2), writer(3), closer(1), closer(2), reader(1), reader(2)])
  assert.ok(compared > 20 && closed > 5, `compared ${compared}, of these ${closed} with closed days`)
  await closeUntil(AFTER_MS)
  await compareOften(20)
  const { open } = await db.one<{ open: bigint }>(sql`
    select count(*) as open from ledger_journals j join ledger_closed c using (company_id)
    where company_id = ${companyId} and (j.at at time zone 'UTC')::date not between c.since and c.before - 1`)
  assert.ok(open < 40n, `${open} bookings are in no closed day`)
})

test('a booking into a closed day opens it again, also of a node that knows nothing of closed days', async () => {
  for (const day of ['21', '23', '25']) await bookOld(`2026-02-${day}T12:00:00Z`)
  await closeUntil(AFTER_MS)
  assert.deepEqual(await findClosed(), { since: '2026-02-21', before: '2026-02-26' })
  await bookOld('2026-02-23T23:59:59.999Z')
  assert.equal(await closedBefore(), '2026-02-23')
  assert.equal(await owedUntil('2026-02-24'), 2970n)
  await bookOld('2026-02-20T00:00:00Z')
  assert.equal(await owedUntil('2026-02-21'), 990n)
  await closeUntil(AFTER_MS)
  assert.equal(await closedBefore(), '2026-02-26')
  assert.deepEqual([await owedUntil('2026-02-24'), await owedUntil('2026-03-01')], [3960n, 4950n])
  await compareOften(10)
})

test('the months of a zone are whole in a session of that zone, as PgBouncer’s are', async () => {
  const { connectionString, drop } = await createTestDatabase()
  const direct = openDb({ connectionString, max: 1 })
  try {
    // each month begins within a day of UTC on which the clocks of its zone change
    for (const [zone, day] of [
      ['America/New_York', '2026-11-01'],
      ['Europe/Paris', '2024-03-31'],
    ] as const) {
      await direct.run(raw(`alter database ${new URL(connectionString).pathname.slice(1)} set timezone = '${zone}'`))
      const bouncing = openDb({ connectionString, max: 2, prepared: false })
      try {
        const hours = [-1, 1, 12, 22.5, 23.5, 24.5, 30]
        const shop = newId()
        await bouncing.run(
          sql`insert into companies (id, name, webhook_secret_sealed) values (${shop}, 'Shop', 'sealed')`,
        )
        for (const hour of hours) {
          const at = new Date(Date.parse(day) + hour * HOUR)
          const legs = [leg('payer_clearing', 1000), leg('company_payable', -990), leg('fees', -10)]
          const booking = { companyId: shop, id: newId(), kind: 'payment', causeId: newId(), orderId: null } as const
          await bouncing.tx((tx) => insertJournal(tx, { ...booking, at, legs }))
        }
        const nowMs = Date.parse(day) + 4 * DAY_MS
        const read = () => listMonths(bouncing, shop, monthsBefore(nowMs, 2, zone))
        const open = await read()
        assert.equal(
          open.reduce((sum, { payments }) => sum + payments, 0),
          hours.length,
        )
        while (await closeDays({ db: bouncing, clock: () => nowMs, log })) {}
        const closed = await bouncing.one(
          sql`select 1 from ledger_closed where company_id = ${shop} and since < before`,
        )
        assert.ok(closed)
        assert.deepEqual(await read(), open, zone)
      } finally {
        await bouncing.close()
      }
    }
  } finally {
    await direct.close()
    await drop()
  }
})

test('a day waits for a booking that is not committed', async () => {
  await bookOld('2026-02-21T12:00:00Z')
  await bookOld('2026-02-25T12:00:00Z')
  // of a day without any other booking, whose end is passed over
  for (const [at, before] of [
    ['2026-02-23T12:00:00Z', '2026-02-22'],
    ['2026-02-25T13:00:00Z', '2026-02-24'],
  ] as const) {
    await other.query('begin')
    await bookOld(at)
    await closeUntil(AFTER_MS)
    assert.equal(await closedBefore(), before)
    await other.query('commit')
    await compareOften(5)
  }
  await closeUntil(AFTER_MS)
  assert.equal(await closedBefore(), '2026-02-26')
  assert.equal(await owedUntil('2026-03-01'), 3960n)
})

test('a day is closed an hour after its end, and never before the database’s own clock says so', async () => {
  await bookOld('2026-02-21T12:00:00Z')
  const now = new Date()
  await bookOld(now.toISOString())
  await closeUntil(Date.parse('2026-02-22T00:59:59Z'))
  assert.equal(await closedBefore(), undefined)
  await closeUntil(Date.parse('2026-02-22T01:00:00Z'))
  assert.equal(await closedBefore(), '2026-02-22')
  await closeUntil(now.getTime() + 60 * DAY_MS)
  const last = (await closedBefore()) ?? ''
  assert.ok(last <= now.toISOString().slice(0, 10), last)
  await compareOften(5)
})

test('an order of a sandbox that is moved back in time opens its day and the new one', async () => {
  for (const day of ['21', '23', '25']) await bookOld(`2026-02-${day}T12:00:00Z`)
  const code = await db.tx(async (tx) => {
    const order = await tx.one<{ id: string; code: string }>(sql`
      insert into orders (company_id, id, code, short_code, status, from_asset, from_units, to_asset, to_units, rate,
        quote_id, created_at, updated_at, expires_at)
      values (${companyId}, ${newId()}, ${newId()}, ${newId()}, 'PAID', 'EUR', 100, 'USDC', 1, 1, 'q', now(), now(), now())
      returning id, code`)
    await tx.run(sql`set local session_replication_role = replica`)
    await tx.run(
      sql`update ledger_journals set order_id = ${order.id} where company_id = ${companyId} and at > '2026-02-25'`,
    )
    return order.code
  })
  await closeUntil(AFTER_MS)
  assert.equal(await closedBefore(), '2026-02-26')
  await db.tx(async (tx) => {
    await allowHistoryChanges(tx)
    assert.ok(await updateOrderAge(tx, code, 2 * 86_400))
  })
  assert.equal(await closedBefore(), '2026-02-23')
  assert.deepEqual([await owedUntil('2026-02-24'), await owedUntil('2026-03-01')], [2970n, 2970n])
  await closeUntil(AFTER_MS)
  await compareOften(10)
})

test('bookings are loaded without a search path, and as a replica whose sums come from elsewhere', async () => {
  await bookOld('2026-02-21T12:00:00Z')
  await bookOld('2026-02-25T12:00:00Z')
  await closeUntil(AFTER_MS)
  const load = async (role: 'origin' | 'replica', at: string) => {
    await other.query(`begin; set local search_path = ''; set local session_replication_role = ${role}`)
    try {
      await other.query(
        `insert into public.ledger_journals (company_id, id, kind, cause_id, at) values ($1, $2, 'payment', $2, $3)`,
        [companyId, newId(), at],
      )
    } finally {
      await other.query('commit')
    }
    return closedBefore()
  }
  assert.equal(await load('replica', '2026-02-21T13:00:00Z'), '2026-02-26')
  assert.equal(await load('origin', '2026-02-23T12:00:00Z'), '2026-02-23')
})

/** Bookings of these companies on 20 days from 21 February on, in one statement, as a load of data brings them. */
const load = (companies: string[]) =>
  other.query(
    `insert into ledger_journals (company_id, id, kind, cause_id, at)
      select c, c || n, 'payment', c || n, timestamptz '2026-02-21T12:00:00Z' + n * interval '1 day'
      from unnest($1::text[]) as c, generate_series(19, 0, -1) as n`,
    [companies],
  )
const countLocks = async (): Promise<number> => {
  const { rows } = await other.query(`
    select count(*)::integer as count from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`)
  return rows[0].count
}

test('a load of many companies’ bookings takes few locks, and none of these companies is closed meanwhile', async () => {
  await bookOld('2026-02-23T12:00:00Z')
  await bookOld('2026-02-25T12:00:00Z')
  await closeUntil(AFTER_MS)
  const others = Array.from({ length: 40 }, () => newId())
  await other.query('begin')
  for (const companies of [others.slice(0, 30), [...others.slice(30), companyId]]) await load(companies)
  const locks = await countLocks()
  assert.ok(locks > 0 && locks <= 100, `${locks} locks`)
  await db.tx((tx) => bookAt(tx, companyId, new Date('2026-03-14T12:00:00Z'), randomBelow(SEED)))
  await closeUntil(AFTER_MS)
  assert.equal(await closedBefore(), '2026-02-26', 'a closer passes over what is being loaded')
  await other.query('commit')
  assert.deepEqual(await findClosed(), { since: '2026-02-21', before: '2026-02-21' })
  await compareOften(5)
  await closeUntil(AFTER_MS)
  assert.deepEqual(await findClosed(), { since: '2026-02-21', before: '2026-03-10' })
  await other.query('begin')
  await load([newId()])
  assert.equal(await countLocks(), 20, 'the next transaction locks days again')
  await other.query('rollback')
  await compareOften(5)
})

test('a company that is new to a load is closed from its first booking on', async () => {
  const last = newId()
  await other.query('begin')
  await load(Array.from({ length: 5 }, () => newId()))
  for (const at of ['2026-02-24T12:00:00Z', '2026-02-22T12:00:00Z', '2026-02-26T12:00:00Z'])
    await other.query(
      `insert into ledger_journals (company_id, id, kind, cause_id, at) values ($1, $2, 'payment', $2, $3)`,
      [last, newId(), at],
    )
  const find = () => db.maybe(sql`select since::text, before::text from ledger_closed where company_id = ${last}`)
  assert.equal(await find(), undefined)
  await other.query('commit')
  assert.deepEqual(await find(), { since: '2026-02-22', before: '2026-02-22' })
})

test('a booking in an older snapshot, which could not see what is closed, is refused', async () => {
  await other.query('begin isolation level repeatable read')
  await assert.rejects(bookOld('2026-02-21T12:00:00Z'), /read committed/)
  await other.query('rollback')
})

test('bookings have their isolation level, whatever the default of the database', async () => {
  const { connectionString, drop } = await createTestDatabase()
  const direct = openDb({ connectionString, max: 1 })
  const name = new URL(connectionString).pathname.slice(1)
  await direct.run(raw(`alter database ${name} set default_transaction_isolation = 'serializable'`))
  await direct.close()
  try {
    for (const prepared of [true, false]) {
      const strict = openDb({ connectionString, max: 2, prepared })
      const isolation = sql`select current_setting('transaction_isolation') as level`
      try {
        await strict.tx((tx) => bookAt(tx, newId(), new Date(FIRST_MS), randomBelow(SEED)))
        if (prepared) assert.deepEqual(await strict.planned(isolation), [{ level: 'read committed' }])
        const snapshot = await strict.tx(async (tx) => {
          await setLongSnapshot(tx)
          return tx.one(isolation)
        })
        assert.deepEqual(snapshot, { level: 'repeatable read' })
      } finally {
        await strict.close()
      }
    }
  } finally {
    await drop()
  }
})

test('a wrong sum is thrown away and told once, and no money waits', async () => {
  for (const day of ['21', '21', '23', '25']) await bookOld(`2026-02-${day}T12:00:00Z`)
  await closeUntil(AFTER_MS)
  const mails: Alarm[] = []
  const logged: unknown[] = []
  const noting = pino({ level: 'error' }, { write: (line) => void logged.push(JSON.parse(line)) })
  const alarm = async (_: unknown, mail: Alarm) => void mails.push(mail)
  const nodes = [1, 2].map(() => openBooks({ db, clock: Date.now, log: noting, alarm, usdc: {} }))
  const compare = async () => {
    const holds = await Promise.all(nodes.map((books) => books.findHold(companyId)))
    const stored = await db.many<{ subject: string; status: string }>(sql`
      select subject, status from ledger_differences where company_id = ${companyId}`)
    assert.ok(!stored.some(({ subject }) => subject.startsWith('day ')), 'a stored difference holds money')
    return holds
  }
  // bookings without causes, which are differences of their own
  const holds = await compare()
  await db.run(
    sql`update ledger_differences set status = 'explained', explained_by = 'us', reason = 'a test' where company_id = ${companyId}`,
  )
  assert.deepEqual([holds.every((hold) => hold !== null), await compare()], [true, [null, null]])
  mails.length = logged.length = 0
  await db.run(sql`update ledger_days set debit_units = debit_units + 1
    where company_id = ${companyId} and day = '2026-02-21' and kind = 'payment' and account = 'payer_clearing'`)
  await db.run(sql`delete from ledger_days
    where company_id = ${companyId} and day = '2026-02-21' and kind = 'payment' and account = 'fees'`)

  assert.deepEqual(await compare(), [null, null])
  assert.deepEqual(
    mails.map(({ subject }) => subject),
    ['Sums of closed days were wrong'],
  )
  const words = mails[0]?.paragraphs.join(' ') ?? ''
  assert.match(words, /payment in fees, USDC is no sum.*payment in payer_clearing, USDC/)
  assert.match(words, /No money waits/)
  assert.equal(logged.length, 2)
  // from now on they are no longer read
  await compareOften(5)
  await closeUntil(AFTER_MS)
  await compareOften(5)
  assert.deepEqual(await compare(), [null, null])
  assert.equal(mails.length, 1)
})

test('the command that verifies the books names a wrong sum where all else is right', async () => {
  const { connectionString, drop } = await createTestDatabase()
  const fresh = openDb({ connectionString, max: 2 })
  try {
    await fresh.run(sql`insert into ledger_closed values ('shop', '2026-02-20', '2026-02-22')`)
    await fresh.run(sql`insert into ledger_days values ('shop', '2026-02-21', 'payment', 'fees', 'USDC', 1, 0, 10, 0)`)
    const { difference } = await verifyLedger(fresh)
    assert.deepEqual(difference, {
      ...{ companyId: 'shop', subject: 'day 2026-02-21', what: 'the sum of payment in fees, USDC' },
      ...{ booked: '1 bookings, debit 0, credit 10', expected: 'no sum' },
    })
  } finally {
    await fresh.close()
    await drop()
  }
})

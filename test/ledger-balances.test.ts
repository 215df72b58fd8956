import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { type Db, openDb, type Queryable, type Sql, sql } from '../src/db/db.ts'
import { AppError } from '../src/kernel/errors.ts'
import { closeDays } from '../src/ledger/days/close-days.ts'
import { listBalancesBetween, listEntries } from '../src/ledger/ledger-queries.ts'
import { findPayable } from '../src/ledger/payable-queries.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'

/* What a shop with many bookings is owed is asked for all day long. */

const JOURNALS = 24_000
const companyId = 'a'.repeat(24)
let database: TestDatabase
let db: Db

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 2 })
  await db.tx(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`)
    await tx.run(sql`
      insert into ledger_journals (company_id, id, kind, cause_id, at)
      select case when n % 10 = 0 then 'another' else ${companyId} end, lpad(n::text, 24, '0'), 'payment', n::text,
        timestamptz '2025-01-01' + n * interval '1 minute'
      from generate_series(1, ${JOURNALS}) as n`)
    await tx.run(sql`
      insert into ledger_entries (company_id, journal_id, account, asset, units)
      select j.company_id, j.id, l.account, 'USDC', l.units
      from ledger_journals j cross join (values ('payer_clearing', 1000), ('company_payable', -990), ('fees', -10))
        as l (account, units)`)
  })
  await db.pool.query('vacuum (analyze) ledger_entries, ledger_journals')
})
after(async () => {
  await db?.close()
  await database?.drop()
})

/** What PostgreSQL does for each statement that is sent meanwhile. */
async function plansOf(work: (q: Queryable) => Promise<unknown>): Promise<string[]> {
  const sent: Sql[] = []
  const noting = <Name extends 'one' | 'many'>(name: Name) =>
    ((statement: Sql) => {
      sent.push(statement)
      return db[name](statement)
    }) as Queryable[Name]
  await work({ ...db, one: noting('one'), many: noting('many') })
  const plans: string[] = []
  for (const { text, values } of sent) {
    const { rows } = await db.pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, [...values])
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
  }
  return plans
}

test('balances of all time are those of a period that contains all bookings', async () => {
  const whole = await listBalancesBetween(db, companyId, { from: null, to: null })
  assert.deepEqual(
    whole.map(({ account, openingUnits, debitUnits, creditUnits }) => [account, openingUnits, debitUnits, creditUnits]),
    [
      ['company_payable', 0n, 0n, 21_384_000n],
      ['fees', 0n, 0n, 216_000n],
      ['payer_clearing', 0n, 21_600_000n, 0n],
    ],
  )
  assert.deepEqual(whole, await listBalancesBetween(db, companyId, { from: new Date(0), to: null }))
  assert.deepEqual(whole, await listBalancesBetween(db, companyId, { from: null, to: new Date('2040-01-01') }))
  assert.equal((await findPayable(db, companyId)).owed, 21_384_000n)
})

test('while many days are not closed, those of all time read no journal', async () => {
  const all = (await plansOf((q) => listBalancesBetween(q, companyId, { from: null, to: null }))).at(-1) ?? ''
  assert.match(all, /on ledger_entries/)
  assert.doesNotMatch(all, /ledger_journals/)
})

test('once the days are closed, no balances read all bookings', async () => {
  const periods = [null, new Date('2025-01-04T12:00:00Z')].map((from) => ({ from, to: null }))
  const read = () => Promise.all(periods.map((period) => listBalancesBetween(db, companyId, period)))
  const known = await read()
  await db.run(sql`insert into companies (id, name, webhook_secret_sealed) values (${companyId}, 'Shop', 'sealed')`)
  await closeDays({ db, clock: Date.now, log: pino({ level: 'silent' }) })
  assert.deepEqual(await read(), known)
  for (const period of periods) {
    const plan = (await plansOf((q) => listBalancesBetween(q, companyId, period))).at(-1) ?? ''
    assert.match(plan, /ledger_days_pkey/)
    assert.doesNotMatch(plan, /Seq Scan on ledger_|Scan using ledger_entries__account/)
  }
})

test('a late, narrow period reads few of the bookings before it', async () => {
  const [count, firstMs] = [3000, Date.parse('2026-01-01')]
  await db.tx(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`)
    await tx.run(sql`
      insert into ledger_journals (company_id, id, kind, cause_id, at)
      select 'late', lpad(to_hex(${firstMs} + n * 60000::bigint), 12, '0') || lpad(n::text, 12, '0'), 'payment', n::text,
        timestamptz '2026-01-01' + n * interval '1 minute'
      from generate_series(1, ${count}::integer) as n`)
    await tx.run(sql`
      insert into ledger_entries (company_id, journal_id, account, asset, units)
      select company_id, id, 'fees', 'USDC', 1 from ledger_journals where company_id = 'late'`)
  })
  const { found, plan } = await db.tx(async (tx) => {
    // in the order of the ids, as PostgreSQL reads the bookings of a large company
    await tx.run(sql`drop index ledger_journals__time`)
    await tx.run(sql`analyze ledger_journals`)
    await tx.run(sql`set local enable_seqscan = off`)
    let sent = sql``
    const many = <Row>(statement: Sql): Promise<Row[]> => {
      sent = statement
      return tx.many<Row>(statement)
    }
    const from = new Date(firstMs + (count - 9) * 60_000)
    const rows = await listEntries({ ...tx, many }, 'late', { from, to: null, after: null, limit: 100 })
    const lines = await tx.many<{ 'QUERY PLAN': string }>(sql`explain (analyze) ${sent}`)
    await tx.run(sql`create index ledger_journals__time on ledger_journals (company_id, at)`)
    return { found: rows.length, plan: lines.map((line) => line['QUERY PLAN']).join('\n') }
  })
  assert.equal(found, 10)
  const dropped = [...plan.matchAll(/Rows Removed by Filter: (\d+)/g)].map(([, rows]) => Number(rows))
  assert.ok(
    dropped.every((rows) => rows < 200),
    plan,
  )
})

test('who reads for too long is not said to wait for another request that changes something', async () => {
  const slow = db.tx(async (tx) => {
    await tx.run(sql`set local statement_timeout = '50ms'`)
    await tx.run(sql`select pg_sleep(5)`)
  })
  await assert.rejects(slow, (error: unknown) => {
    assert.ok(error instanceof AppError)
    assert.equal(error.code, 'BUSY')
    assert.match(error.message, /took too long/)
    return true
  })
})

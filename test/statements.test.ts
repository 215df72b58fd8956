import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Db, openDb, raw, sql } from '../src/db/db.ts'
import { HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import { openStatement, readLedger } from '../src/ledger/statement.ts'
import { OLD_NODE } from './harness/booked-days.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'

/* What a statement holds while others book, and while several nodes answer. */

let database: TestDatabase
let db: Db
let companyId: string
/** A session of its own, as another node has it. */
let other: pg.Client

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 6 })
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

const bookOld = (at: string) => other.query(OLD_NODE, [companyId, newId(), at])

const isoOf = (ms: number): string => new Date(ms).toISOString()
const OPEN_END = { from: null, to: null, isFinal: false }

test('a statement waits for a booking that is being committed, and says until when it is final', async () => {
  const nowMs = Date.now()
  await other.query('begin')
  await bookOld(isoOf(nowMs))
  const read = async () => {
    const period = { ...OPEN_END, to: new Date(nowMs + 1) }
    const { finalUntil, lines } = await openStatement({ db, clock: Date.now }, companyId, period)
    let text = ''
    for await (const line of lines) text += line
    return { finalUntil, text }
  }
  const reading = read()
  await sleep(300)
  await other.query('commit')
  const { finalUntil, text } = await reading
  assert.equal(text.match(/,payment,/g)?.length, 3)
  assert.ok(finalUntil.getTime() < nowMs - 10 * MINUTE)
})

test('all pages end when the first was read, and final periods that follow each other hold each booking once', async () => {
  const nowMs = Date.now() - 30 * MINUTE
  for (const minutes of [20, 18, 5]) await bookOld(isoOf(nowMs - minutes * MINUTE))
  const read = async (clockMs: number, period: object, cursor: string | null, limit: number) => {
    const deps = { db, clock: () => clockMs }
    const answer = await readLedger(deps, companyId, { ...OPEN_END, ...period }, { cursor, limit })
    const times = answer.entries.filter(({ account }) => account === 'fees').map(({ at }) => Date.parse(at) - nowMs)
    const closing = answer.balances.find(({ account }) => account === 'fees')?.closing
    return { ...answer, minutes: times.map((ms) => ms / MINUTE), closing }
  }
  const first = await read(nowMs, {}, null, 2)
  await bookOld(isoOf(nowMs + MINUTE))
  const second = await read(nowMs + 20 * MINUTE, {}, first.nextCursor, 2)
  assert.deepEqual([first.minutes, second.minutes, second.nextCursor], [[-20, -18], [-5], null])
  assert.deepEqual([first.finalUntil, second.finalUntil], [isoOf(nowMs - 15 * MINUTE), isoOf(nowMs - 15 * MINUTE)])
  assert.equal(second.closing, first.closing)
  const [early, late] = [await read(nowMs, { isFinal: true }, null, 9), nowMs + 20 * MINUTE]
  const next = await read(late, { from: new Date(early.finalUntil), isFinal: true }, null, 9)
  assert.deepEqual(
    [early.minutes, next.minutes],
    [
      [-20, -18],
      [-5, 1],
    ],
  )
  const ended = await read(late, { to: new Date(nowMs - 19 * MINUTE) }, null, 9)
  assert.equal(ended.finalUntil, isoOf(nowMs - 19 * MINUTE), 'a period that ended long ago is final to its end')
})

test('nodes whose clocks differ read the pages of one reading to one end, and leave nothing out', async () => {
  const nowMs = Date.now()
  const times = [20 * MINUTE, 15 * MINUTE + 10 * SECOND, MINUTE, 15 * SECOND].map((ms) => nowMs - ms)
  for (const at of times) await bookOld(isoOf(at))
  const behind = { db, clock: () => nowMs - 25 * SECOND }
  const final = { ...OPEN_END, isFinal: true }
  const first = await readLedger({ db, clock: () => nowMs }, companyId, final, { cursor: null, limit: 1 })
  const second = await readLedger(behind, companyId, final, { cursor: first.nextCursor, limit: 9 })
  const seen = [first, second].flatMap(({ entries }) => entries.filter(({ account }) => account === 'fees'))
  assert.deepEqual(
    seen.map(({ at }) => Date.parse(at)),
    times.slice(0, 2),
  )
  assert.equal(second.finalUntil, first.finalUntil)
  const file = async (clock: () => number, period: object) => {
    let text = ''
    for await (const line of (await openStatement({ db, clock }, companyId, { ...OPEN_END, ...period })).lines)
      text += line
    return text.match(/,fees,/g)?.length ?? 0
  }
  // also what it has no time for yet, in a list
  const open = { ...OPEN_END, to: new Date(nowMs - SECOND) }
  const [one] = [await readLedger(behind, companyId, open, { cursor: null, limit: 2 })]
  const rest = await readLedger(behind, companyId, open, { cursor: one.nextCursor, limit: 9 })
  assert.deepEqual([one.entries.length, rest.entries.length], [6, 6])
  assert.deepEqual(rest.balances, one.balances)
  const end = new Date(nowMs - 5 * SECOND)
  const ended = await file(behind.clock, { to: end })
  assert.deepEqual([ended, await file(() => nowMs + HOUR, { from: end })], [4, 0])
})

test('nothing is final by a clock that is ahead, nor what a commit that waits for a standby may still bring', async () => {
  const nowMs = Date.now()
  const period = { ...OPEN_END, isFinal: true }
  const read = (at: { db: Db; clock: () => number }, from: Date | null = null) =>
    readLedger(at, companyId, { ...period, from }, { cursor: null, limit: 9 })
  assert.ok(Date.parse((await read({ db, clock: () => nowMs + HOUR })).finalUntil) < Date.now() - 14 * MINUTE)
  // sixteen minutes later by both clocks, and the commit still waits
  await db.run(raw('create schema later'))
  await db.run(
    raw(`create function later.now() returns timestamptz stable language sql
    as $$ select pg_catalog.now() + interval '16 minutes' $$`),
  )
  const options = encodeURIComponent('-c search_path=later,pg_catalog,public')
  const later = openDb({ connectionString: `${database.connectionString}&options=${options}`, max: 2 })
  const reader = { db: later, clock: () => nowMs + 16 * MINUTE }
  try {
    await other.query('begin')
    await bookOld(isoOf(Date.now()))
    const hidden = await read(reader)
    assert.ok(Date.parse(hidden.finalUntil) < nowMs)
    await other.query('commit')
    const next = await read(reader, new Date(hidden.finalUntil))
    assert.deepEqual([hidden.entries.length, next.entries.length], [0, 3])
  } finally {
    await later.close()
  }
})

test('balances, bookings and what would be paid out are of one moment', async () => {
  await bookOld(isoOf(Date.now() - SECOND))
  await other.query('begin')
  await other.query('lock table orders in access exclusive mode')
  const reading = readLedger({ db, clock: Date.now }, companyId, OPEN_END, { cursor: null, limit: 9 })
  const waiting = () =>
    db.maybe(sql`select 1 from pg_locks where relation = 'orders'::regclass and not granted
      and database = (select oid from pg_database where datname = current_database())`)
  while (!(await waiting())) await sleep(5)
  await bookOld(isoOf(Date.now() - SECOND))
  await other.query('commit')
  const { balances, entries, payout } = await reading
  assert.equal(balances.find(({ account }) => account === 'company_payable')?.closing, '-0.000990')
  assert.equal(entries.filter(({ account }) => account === 'company_payable').length, 1)
  assert.equal(payout.owed, '0.000990')
})

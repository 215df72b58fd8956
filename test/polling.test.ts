import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import pino from 'pino'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { wakeItem } from '../src/db/poll-queries.ts'
import { bringBackPolls, LEASE_MS, LeaseLost, pollNow, pollSource } from '../src/db/polling.ts'
import { HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import { createRound } from '../src/kernel/polling.ts'
import { SETTLEMENT_POLLS } from '../src/ledger/settlements/settlement-queries.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'

let database: TestDatabase
/** Two nodes on one database. */
let one: Db
let two: Db
let nowMs = Date.UTC(2026, 0, 1)
const clock = () => nowMs
const log = pino({ level: 'silent' })

before(async () => {
  database = await createTestDatabase()
  one = openDb({ connectionString: database.connectionString, max: 4 })
  two = openDb({ connectionString: database.connectionString, max: 4 })
})
after(async () => {
  await one?.close()
  await two?.close()
  await database?.drop()
})
beforeEach(() => one.run(sql`delete from settlements`))

type Row = { nextCheckAt: Date | null; leaseUntil: Date | null; lastWords: string | null; checks: number }

async function insertDue(network = 1): Promise<{ companyId: string; id: string }> {
  const [companyId, id] = [newId(), newId()]
  const at = new Date(nowMs)
  await one.run(sql`
    insert into settlements (company_id, id, status, units, address, network, created_by, created_at, updated_at, next_check_at)
    values (${companyId}, ${id}, 'approved', 5, '0x01', ${network}, 'user:1', ${at}, ${at}, ${at})`)
  return { companyId, id }
}
const read = ({ id }: { id: string }): Promise<Row> =>
  one.one<Row>(sql`select next_check_at, lease_until, last_words, checks from settlements where id = ${id}`)
const say = (db: Db, { id }: { id: string }, words: string, nextCheckAt: Date) =>
  db.run(sql`update settlements set last_words = ${words}, next_check_at = ${nextCheckAt} where id = ${id}`)
const later = (ms: number): Date => new Date(nowMs + ms)
const nodeOf = (db: Db) => ({ db, clock })

/** Work that a test lets go on. */
function gate() {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

test('of two nodes that ask for one row at once, one gets it', async () => {
  for (let round = 0; round < 20; round += 1) {
    const row = await insertDue()
    let worked = 0
    const work = async (): Promise<void> => {
      worked += 1
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const poll = (db: Db) => pollNow(nodeOf(db), SETTLEMENT_POLLS, row, work)
    const answers = await Promise.all([poll(one), poll(two), poll(one), poll(two)])
    assert.deepEqual([worked, answers.filter((answer) => answer !== undefined).length], [1, 1])
  }
})

test('a node whose lease ended does not write its outcome, and does not end the lease of the other', async () => {
  const row = await insertDue()
  const slow = gate()
  const fast = gate()
  const late = pollNow(nodeOf(one), SETTLEMENT_POLLS, row, async (db) => {
    await slow.opened
    await say(db, row, 'the late node', later(1000))
  })
  while ((await read(row)).leaseUntil === null) await new Promise((resolve) => setTimeout(resolve, 5))
  nowMs += LEASE_MS - 1
  assert.equal(await pollNow(nodeOf(two), SETTLEMENT_POLLS, row, async () => {}), undefined, 'a lease is a lease')
  nowMs += 1
  const taker = pollNow(nodeOf(two), SETTLEMENT_POLLS, row, async (db) => {
    await say(db, row, 'the second node', later(5000))
    await fast.opened
  })
  while ((await read(row)).lastWords === null) await new Promise((resolve) => setTimeout(resolve, 5))
  slow.open()
  await assert.rejects(late, LeaseLost)
  const between = await read(row)
  assert.equal(between.lastWords, 'the second node')
  assert.ok(between.leaseUntil !== null, 'the second node still holds it')
  fast.open()
  await taker
  const end = await read(row)
  assert.deepEqual([end.lastWords, end.leaseUntil, end.nextCheckAt], ['the second node', null, later(5000)])
})

test('every write prolongs the lease, so that a long poll is not overtaken while it goes on', async () => {
  const row = await insertDue()
  await pollNow(nodeOf(one), SETTLEMENT_POLLS, row, async (db) => {
    nowMs += LEASE_MS - 1
    await say(db, row, 'first', later(0))
    nowMs += LEASE_MS - 1
    assert.equal(await pollNow(nodeOf(two), SETTLEMENT_POLLS, row, async () => {}), undefined)
    await say(db, row, 'second', later(9000))
  })
  assert.equal((await read(row)).lastWords, 'second')
})

test('a poll that fails, or learns nothing, is repeated after the gap of its kind and not before', async () => {
  const row = await insertDue()
  const source = pollSource(
    { db: one, clock, log },
    {
      ...SETTLEMENT_POLLS,
      work: async () => {
        throw new Error('no answer')
      },
    },
  )
  // the table of gaps: 1, 1, 2, 3 s
  for (const gapMs of [1000, 1000, 2000, 3000]) {
    const [item] = await source.listDue([], 10)
    assert.equal(item?.id, row.id)
    await (await source.claim(item))?.()
    assert.deepEqual((await read(row)).nextCheckAt, later(gapMs))
    nowMs += gapMs - 1
    assert.deepEqual(await source.listDue([], 10), [])
    nowMs += 1
  }
})

test('what is woken while it is polled is polled again at once', async () => {
  const row = await insertDue()
  await pollNow(nodeOf(one), SETTLEMENT_POLLS, row, async (db) => {
    await wakeItem(two, SETTLEMENT_POLLS.table, row, new Date(nowMs))
    await say(db, row, 'nothing yet', later(300_000))
  })
  assert.deepEqual((await read(row)).nextCheckAt, later(0))
  await pollNow(nodeOf(one), SETTLEMENT_POLLS, row, (db) => say(db, row, 'nothing yet', later(300_000)))
  assert.deepEqual((await read(row)).nextCheckAt, later(300_000), 'once')
})

test('a lane that hangs is full after its limit; the other lanes go on, and a free place is taken at once', async () => {
  for (let index = 0; index < 12; index += 1) await insertDue(1)
  const hanging = gate()
  const seen: string[] = []
  const source = pollSource(
    { db: one, clock, log },
    {
      ...SETTLEMENT_POLLS,
      async work(db, { id }) {
        const { network } = await db.one<{ network: number }>(sql`select network from settlements where id = ${id}`)
        seen.push(String(network))
        if (network === 1) await hanging.opened
        await say(db, { id }, 'done', later(60_000))
      },
    },
  )
  let wakes = 0
  const round = createRound(source, { perLane: 5, perNode: 100 }, () => {
    wakes += 1
  })
  assert.equal(await round.run(), 5)
  nowMs += 1
  const other = await insertDue(2)
  assert.equal(await round.run(), 1)
  // the place is free a moment after the work's last words are there to read
  while ((await read(other)).lastWords === null || seen.length < 6 || wakes === 0)
    await new Promise((resolve) => setTimeout(resolve, 5))
  assert.deepEqual(seen.toSorted(), ['1', '1', '1', '1', '1', '2'])
  assert.equal(wakes, 1)
  hanging.open()
  await round.idle()
  let rest = 0
  for (let started = await round.run(); started > 0; started = await round.run()) {
    rest += started
    await round.idle()
  }
  assert.equal(rest, 7)
})

test('what a node polled while its clock was two hours ahead is polled again within minutes', async () => {
  const row = await insertDue()
  nowMs += 2 * HOUR
  await pollNow(nodeOf(one), SETTLEMENT_POLLS, row, async () => {
    throw new Error('no answer')
  }).catch(() => {})
  nowMs -= 2 * HOUR
  assert.deepEqual((await read(row)).nextCheckAt, later(2 * HOUR + SECOND))
  assert.equal(await bringBackPolls(nodeOf(two), SETTLEMENT_POLLS, 10), 1)
  assert.deepEqual((await read(row)).nextCheckAt, later(MINUTE))
  assert.equal(await bringBackPolls(nodeOf(two), SETTLEMENT_POLLS, 10), 0)
  nowMs += MINUTE
  assert.ok(await pollNow(nodeOf(two), SETTLEMENT_POLLS, row, async () => {}))
})

test('the longest gap stays as it is, also where the node that wrote it is a minute ahead of ours', async () => {
  const row = await insertDue()
  await say(one, row, 'waits', later(6 * MINUTE))
  assert.equal(await bringBackPolls(nodeOf(two), SETTLEMENT_POLLS, 10), 0)
  assert.deepEqual((await read(row)).nextCheckAt, later(6 * MINUTE))
})

test('the lease of a node that died while its clock was two hours ahead ends in a minute; one that works goes on', async () => {
  const row = await insertDue()
  const working = gate()
  nowMs += 2 * HOUR
  const ahead = pollNow({ db: one, clock: () => nowMs }, SETTLEMENT_POLLS, row, async (db) => {
    await working.opened
    await say(db, row, 'done all the same', later(SECOND))
  })
  while ((await read(row)).leaseUntil === null) await new Promise((resolve) => setTimeout(resolve, 5))
  nowMs -= 2 * HOUR
  assert.equal(await bringBackPolls(nodeOf(two), SETTLEMENT_POLLS, 10), 1)
  assert.deepEqual((await read(row)).leaseUntil, later(LEASE_MS))
  working.open()
  await ahead
  assert.equal((await read(row)).lastWords, 'done all the same')
  const dead = await insertDue()
  await one.run(sql`update settlements set lease_until = ${later(2 * HOUR)} where id = ${dead.id}`)
  await bringBackPolls(nodeOf(two), SETTLEMENT_POLLS, 10)
  nowMs += LEASE_MS
  assert.ok(await pollNow(nodeOf(two), SETTLEMENT_POLLS, dead, async () => {}))
})

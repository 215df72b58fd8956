import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import Fastify from 'fastify'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { countParkedJobs } from '../src/db/job-queries.ts'
import { bringBackJobs, type JobHandler, openJobQueue, openJobRunner } from '../src/db/job-runner.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { eventually } from './harness/service.ts'

let database: TestDatabase
let db: Db
let now = Date.parse('2026-01-01T00:00:00Z')
const clock = (): number => now
const { log } = Fastify({ logger: false })

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString })
})
after(async () => {
  await db.close()
  await database.drop()
})
beforeEach(() => db.run(sql`delete from jobs`))

const queue = openJobQueue({ clock })
const enqueue = (payload: unknown, more: { dedupeKey?: string; runAt?: Date } = {}) =>
  db.tx((tx) => queue.enqueue(tx, { kind: 'work', payload, ...more }))
const runnerOf = (handler: JobHandler) => openJobRunner({ db, clock, log, handlers: { work: handler } })
const left = async (): Promise<number> =>
  (await db.one<{ count: number }>(sql`select count(*)::int as count from jobs`)).count

test('a job is done once by ten runners at once, and not before its time', async () => {
  const done: unknown[] = []
  for (let index = 0; index < 50; index += 1) await enqueue(index)
  await enqueue('later', { runAt: new Date(now + HOUR) })
  const handler = { run: async (payload: unknown) => void done.push(payload) }
  const runners = Array.from({ length: 10 }, () => runnerOf(handler))
  for (let round = 0; round < 5; round += 1) await Promise.all(runners.map((runner) => runner.runDue()))
  assert.deepEqual(
    [...done].sort((one, two) => Number(one) - Number(two)),
    Array.from({ length: 50 }, (_, index) => index),
  )
  assert.equal(await left(), 1)
})

test('a job of a transaction that rolls back never was', async () => {
  const attempt = db.tx(async (tx) => {
    await queue.enqueue(tx, { kind: 'work', payload: 1 })
    throw new Error('no')
  })
  await assert.rejects(attempt)
  assert.equal(await left(), 0)
})

test('a second job with the same key is left out while the first waits', async () => {
  await enqueue(1, { dedupeKey: 'a' })
  await enqueue(2, { dedupeKey: 'a' })
  assert.equal(await left(), 1)
})

test('a failure is tried again later and later, and given up at last, for a person to see', async () => {
  let tries = 0
  const runner = runnerOf({
    maxAttempts: 3,
    async run() {
      tries += 1
      throw new Error('not today')
    },
  })
  await enqueue(1)
  await runner.runDue()
  await runner.runDue()
  assert.equal(tries, 1, 'not at once again')
  now += 5 * SECOND
  await runner.runDue()
  now += 9 * SECOND
  await runner.runDue()
  assert.equal(tries, 2)
  now += SECOND
  await runner.runDue()
  now += 1000 * HOUR
  await runner.runDue()
  assert.equal(tries, 3)
  assert.equal(await countParkedJobs(db), 1)
})

test('a job with an end of its own is retried every hour until then, and for a day to say so; it leaves nothing behind', async () => {
  let tries = 0
  const seen: number[] = []
  const until = new Date(now + 3 * DAY)
  const runner = runnerOf({
    until: () => until,
    async run() {
      tries += 1
      seen.push(now)
      throw new Error('not today')
    },
  })
  await enqueue(1)
  let lastMs = now
  while ((await left()) > 0) {
    const { runAt } = await db.one<{ runAt: Date }>(sql`select run_at from jobs`)
    assert.ok(runAt.getTime() - lastMs <= HOUR)
    now = lastMs = runAt.getTime()
    await runner.runDue()
  }
  assert.ok(seen.includes(until.getTime()), 'once at its end')
  assert.ok(lastMs >= until.getTime() + DAY && lastMs < until.getTime() + DAY + HOUR)
  assert.ok(tries > 96)
})

test('the job of a node that died is done by another after a minute; the dead one, come back, destroys nothing', async () => {
  let release = (): void => {}
  const stuck = runnerOf({ run: () => new Promise<void>((resolve) => (release = resolve)) })
  await enqueue(1)
  const first = stuck.runDue()
  while ((await db.one<{ attempts: number }>(sql`select attempts from jobs`)).attempts === 0);
  const done: unknown[] = []
  const other = runnerOf({ run: async (payload) => void done.push(payload) })
  await other.runDue()
  assert.deepEqual(done, [])
  now += MINUTE
  await enqueue(2)
  await other.runDue()
  assert.deepEqual([...done].sort(), [1, 2])
  await enqueue(3, { runAt: new Date(now + HOUR) })
  release()
  await first
  assert.equal(await left(), 1, 'the third still waits')
})

test('a job that takes longer than its lease is done once, and its node keeps it from the others', async () => {
  let done = 0
  let release = (): void => {}
  const slow = runnerOf({
    run() {
      done += 1
      return new Promise<void>((resolve) => (release = resolve))
    },
  })
  const other = runnerOf({
    async run() {
      done += 1
    },
  })
  await enqueue(1)
  await slow.runDue()
  for (let minute = 0; minute < 3; minute += 1) {
    now += MINUTE - SECOND
    await slow.runDue()
    now += SECOND
    await slow.runDue()
    await other.runDue()
  }
  const { attempts } = await db.one<{ attempts: number }>(sql`select attempts from jobs`)
  assert.deepEqual([done, attempts], [1, 1])
  release()
  await eventually(left, (count) => count === 0)
})

test('a job that ends after another node has taken it over is not done by that node again', async () => {
  let release = (): void => {}
  const late = runnerOf({ run: () => new Promise<void>((resolve) => (release = resolve)) })
  const failing = runnerOf({
    async run() {
      throw new Error('not today')
    },
  })
  await enqueue(1)
  await late.runDue()
  now += MINUTE
  await failing.runDue()
  assert.equal(await left(), 1)
  release()
  await eventually(left, (count) => count === 0)
})

test('while a node runs as many jobs as it may, their leases are kept', async () => {
  const releases: (() => void)[] = []
  const started: unknown[] = []
  const slow = runnerOf({
    run(payload) {
      started.push(payload)
      return new Promise<void>((resolve) => releases.push(resolve))
    },
  })
  const taken: unknown[] = []
  for (let index = 0; index < 10; index += 1) await enqueue(index)
  await slow.runDue()
  now += 40 * SECOND
  await slow.runDue()
  now += 40 * SECOND
  await runnerOf({ run: async (payload) => void taken.push(payload) }).runDue()
  assert.deepEqual([started.length, taken], [10, []])
  for (const release of releases) release()
  await eventually(left, (count) => count === 0)
})

test('a job that failed while the clock was two hours ahead is tried again within minutes; one put off on purpose waits', async () => {
  let tries = 0
  const runner = runnerOf({
    async run() {
      tries += 1
      throw new Error('not today')
    },
  })
  const start = now
  await enqueue('put off', { runAt: new Date(start + 5 * HOUR) })
  await enqueue('failed')
  now = start + 2 * HOUR
  await runner.runDue()
  await enqueue('new')
  now = start
  await runner.runDue()
  assert.equal(tries, 1, 'to ours, none is due')
  assert.equal(await bringBackJobs({ db, clock }, 10), 2)
  now = start + MINUTE
  await runner.runDue()
  assert.equal(tries, 3)
  assert.equal(await bringBackJobs({ db, clock }, 10), 0, 'their gaps are those of our clock')
  await db.run(sql`update jobs set run_at = 'infinity'`)
  assert.equal(await bringBackJobs({ db, clock }, 10), 0, 'what waits for a person goes on waiting')
})

test('the longest gap of a job is not cut short', async () => {
  await enqueue(1)
  await db.run(sql`update jobs set attempts = 20, run_at = ${new Date(now + HOUR + MINUTE)}`)
  assert.equal(await bringBackJobs({ db, clock }, 10), 0)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { askFor } from '../src/db/shares.ts'
import { openOrderFeed, POLL_MS } from '../src/pages/pay/live-updates.ts'
import type { PayView } from '../src/pages/pay/pay-service.ts'
import { openPayStreams } from '../src/pages/pay/pay-stream.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { eventually } from './harness/service.ts'

let database: TestDatabase
let db: Db

before(async () => {
  database = await createTestDatabase()
  // one address may hold one of them
  db = openDb({ connectionString: database.connectionString, max: 3 })
})
after(async () => {
  await db?.close()
  await database?.drop()
})

const FIRST = 'address:192.0.2.1'
const SECOND_ONE = 'address:198.51.100.9'

test('the pages of all addresses are kept up to date though the first one’s share is used up', async () => {
  const feed = openOrderFeed({ db, log: pino({ level: 'silent' }) })
  const told: number[] = []
  let ended = false
  const busy: Promise<unknown>[] = []
  try {
    askFor(FIRST, () => void feed.subscribe('A'.repeat(24), () => {}))
    askFor(SECOND_ONE, () => void feed.subscribe('B'.repeat(24), () => void told.push(1)))
    await eventually(
      async () => told.length,
      (count) => count > 0,
    )
    const before = told.length
    askFor(FIRST, () => {
      for (let one = 0; one < 2; one += 1)
        busy.push(
          db.run(sql`select pg_sleep(${(2 * POLL_MS) / 1000}::float8)`).finally(() => {
            ended = true
          }),
        )
    })
    await eventually(
      async () => told.length,
      (count) => count > before,
    )
    assert.equal(ended, false, 'told while the first address waits')
  } finally {
    await Promise.all(busy)
    await feed.stop()
  }
})

test('what a page reads when its order changes counts for its viewer, not for whoever changed the order', async () => {
  const feed = openOrderFeed({ db, log: pino({ level: 'silent' }) })
  const reads: Promise<unknown>[] = []
  let ended = false
  let busy: Promise<unknown> = Promise.resolve()
  try {
    const read = () => void reads.push(db.one(sql`select 1 as n`))
    askFor(SECOND_ONE, () => void feed.subscribe('B'.repeat(24), read))
    askFor('company:one', () => {
      busy = db.run(sql`select pg_sleep(2)`).finally(() => {
        ended = true
      })
      feed.changed('B'.repeat(24))
    })
    await Promise.all(reads)
    assert.deepEqual([reads.length > 0, ended], [true, false])
  } finally {
    await busy
    await feed.stop()
  }
})

/** A page that shows an address of the company's own wallet. */
const OWN_WALLET = {
  ...{ id: 'a', companyId: 'company', situation: 'waiting', status: 'AWAITING', open: true, final: false },
  ...{ payment: { channel: 'crypto', ownAccount: true, progress: null }, expiresAt: new Date('2100-01-01') },
} as unknown as PayView

test('what a company changes is not read for all its open pages at once, and what stays is not read again', async () => {
  const log = pino({ level: 'silent' })
  const feed = openOrderFeed({ db, log })
  let accounts = {}
  const loads: number[] = []
  const load = async () => {
    loads.push(performance.now())
    return OWN_WALLET
  }
  const render = () => ''
  const streams = openPayStreams({ feed, log, clock: Date.now, load, accountsOf: async () => accounts, render })
  const viewer = () => ({ language: 'en' as const, lastId: null, send: () => {}, end: () => {} })
  const readsOf = async (pages: number, ms = 30_000) => {
    await eventually(
      async () => loads.length,
      (count) => count >= pages,
      ms,
    )
    await sleep(POLL_MS / 2)
    const times = loads.splice(0)
    assert.equal(times.length, pages)
    const most = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + POLL_MS / 2).length))
    assert.ok(most <= 100, `${most} at once`)
  }
  const leave: (() => void)[] = []
  try {
    for (let page = 0; page < 150; page += 1) leave.push(streams.open(String(page).padStart(24, 'C'), viewer()))
    await sleep(100)
    assert.equal(loads.splice(0).length, 150)
    accounts = {}
    feed.channelsChanged('company')
    await sleep(100)
    assert.ok(loads.length <= 100, `${loads.length} with the answer`)
    await readsOf(150)
    feed.channelsChanged('company')
    await sleep(9 * POLL_MS)
    assert.deepEqual(loads, [], 'nothing changed')
    // on another node
    accounts = {}
    await readsOf(150)
  } finally {
    for (const close of leave) close()
    await feed.stop()
  }
})

test('a company that saves again and again keeps nobody else’s page from changing', async () => {
  const log = pino({ level: 'silent' })
  const feed = openOrderFeed({ db, log })
  const loads = { busy: 0, other: 0 }
  const load = async (code: string) => {
    const companyId = code.startsWith('A') ? 'busy' : 'other'
    loads[companyId] += 1
    return { ...OWN_WALLET, companyId }
  }
  const rest = { render: () => '', clock: Date.now, accountsOf: async () => ({}) }
  const streams = openPayStreams({ feed, log, load, ...rest })
  const viewer = () => ({ language: 'en' as const, lastId: null, send: () => {}, end: () => {} })
  const leave: (() => void)[] = []
  const again = setInterval(() => feed.channelsChanged('busy'), POLL_MS / 2)
  try {
    for (let page = 0; page < 100; page += 1) leave.push(streams.open(String(page).padStart(24, 'A'), viewer()))
    leave.push(streams.open('B'.repeat(24), viewer()))
    await sleep(2 * POLL_MS)
    const { other } = loads
    feed.channelsChanged('other')
    await eventually(
      async () => loads.other,
      (count) => count > other,
      4 * POLL_MS,
    )
  } finally {
    clearInterval(again)
    for (const close of leave) close()
    await feed.stop()
  }
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { openDb, sql } from '../src/db/db.ts'
import type { Actor } from '../src/http/actor.ts'
import { DAY } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import { followEventClock } from '../src/orders/feed/event-feed-queries.ts'
import { type EventPage, readFeed, trimFeed } from '../src/orders/feed/event-feed-service.ts'
import { lockOrderByCode } from '../src/orders/order-queries.ts'
import type { Move } from '../src/orders/order-transition.ts'
import { eventually, type Merchant, startTestService, type TestService } from './harness/service.ts'
import { openTransitionsOf } from './harness/transitions.ts'

let host: TestService

before(async () => {
  host = await startTestService()
})
after(() => host.stop())

const create = async (as: Merchant, body: Record<string, unknown> = {}): Promise<string> => {
  const fields = { amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1', ...body }
  const { data } = await host.call<{ code: string }>('POST', 'request', { as, body: fields })
  return data.code
}

const page = async (as: Merchant, query: string): Promise<EventPage> => {
  const { status, data, text } = await host.call<EventPage>('GET', `/api/next/events?${query}`, { as })
  assert.equal(status, 200, text)
  return data
}

/** Nothing is left to wait for: what the service still writes holds the feed back. */
const settled = () =>
  eventually(
    () => host.db.one<{ done: boolean }>(sql`select event_horizon() > max(position) as done from order_events`),
    ({ done }) => done,
  )

async function readAll(as: Merchant, after = '', limit = 100): Promise<{ seen: EventPage['events']; cursor: string }> {
  const seen: EventPage['events'] = []
  let cursor = after
  await settled()
  for (;;) {
    const { events, nextCursor } = await page(as, `limit=${limit}${cursor === '' ? '' : `&after=${cursor}`}`)
    seen.push(...events)
    cursor = nextCursor
    if (events.length === 0) return { seen, cursor }
  }
}

const nameOf = ({ event, order }: EventPage['events'][number]): string => `${order.code} ${order.updatedAt} ${event}`

/** As another life of the database would have written it. */
const ofOtherLife = (cursor: string): string =>
  Buffer.from(`ffffffff${Buffer.from(cursor, 'base64url').toString().slice(8)}`).toString('base64url')

function openMoves(db = host.db) {
  const transition = openTransitionsOf(host)
  return (code: string, move: Omit<Move, 'actor' | 'requestId'>, pauses: { before: number; after: number }) =>
    db.tx(async (tx) => {
      await tx.run(sql`select pg_current_xact_id()`)
      await sleep(pauses.before)
      const order = await lockOrderByCode(tx, code)
      assert.ok(order)
      await transition(tx, order, { ...move, actor: 'test', requestId: null })
      await sleep(pauses.after)
    })
}

test('a reader sees each event of 16 slow writers exactly once, in an order that never changes', async () => {
  const shop = await host.createMerchant()
  const codes = await Promise.all(Array.from({ length: 24 }, () => create(shop)))
  const db = openDb({ connectionString: host.db.connectionString, max: 16 })
  const move = openMoves(db)
  let writing = true
  let reads = 0
  const pause = (): number => Math.floor(Math.random() ** 3 * 40)
  const write = async (writer: number): Promise<void> => {
    for (let turn = 0; turn < 25; turn += 1) {
      const code = codes[(writer * 7 + turn * 5) % codes.length] ?? ''
      await move(code, { trigger: 'accept', change: { paymentChannel: 'crypto' } }, { before: pause(), after: pause() })
    }
  }
  const writers = Promise.all(Array.from({ length: 16 }, (_, writer) => write(writer))).finally(() => {
    writing = false
  })
  const seen: EventPage['events'] = []
  let cursor = ''
  let quiet = 0
  while (writing || quiet < 3) {
    if (!writing) await settled()
    const { events, nextCursor } = await page(shop, `limit=7${cursor === '' ? '' : `&after=${cursor}`}`)
    seen.push(...events)
    cursor = nextCursor
    reads += writing && events.length > 0 ? 1 : 0
    quiet = !writing && events.length === 0 ? quiet + 1 : 0
  }
  await writers
  await db.close()
  await settled()
  assert.ok(reads > 20, `it was read ${reads} times while they wrote`)
  const { count } = await host.db.one<{ count: bigint }>(
    sql`select count(*) from order_events where company_id = ${shop.companyId}`,
  )
  assert.equal(count, 24n + 16n * 25n)
  assert.equal(seen.length, Number(count))
  assert.equal(new Set(seen.map(nameOf)).size, seen.length)
  const again = await readAll(shop, '', 1000)
  assert.deepEqual(again.seen.map(nameOf), seen.map(nameOf))
  for (const code of codes) {
    const times = seen.filter(({ order }) => order.code === code).map(({ order }) => order.updatedAt)
    assert.deepEqual(times, times.toSorted(), 'an order’s own events come as they happened')
  }
})

test('what another database of the server writes for long does not hold the feed back; what this one writes does', async (t) => {
  const shop = await host.createMerchant()
  const [foreign, own] = [process.env.TEST_DATABASE_URL ?? '', host.connectionString].map(
    (connectionString) => new pg.Client({ connectionString }),
  )
  assert.ok(foreign && own)
  t.after(() => Promise.all([foreign.end(), own.end()]))
  for (const writer of [foreign, own]) {
    await writer.connect()
    await writer.query('begin')
    await writer.query('select pg_current_xact_id()')
  }
  const code = await create(shop)
  assert.deepEqual((await page(shop, 'limit=100')).events, [], 'what began earlier may still write something')
  await own.query('commit')
  await settled()
  const { events, nextCursor } = await page(shop, 'limit=100')
  assert.deepEqual(
    events.map(({ order }) => order.code),
    [code],
  )
  assert.deepEqual((await page(shop, `after=${nextCursor}`)).nextCursor, nextCursor)
  await foreign.query('commit')
  assert.deepEqual((await page(shop, `after=${nextCursor}`)).events, [])
})

test('an event shows the order as it was then, the same as its webhook, subscribed or not', async () => {
  const shop = await host.createMerchant()
  const optional = ['order.initial', 'order.pending', 'order.awaiting', 'order.expired', 'order.cancelled']
  await host.db.run(
    sql`update companies set optional_events = ${optional}, version = version + 1 where id = ${shop.companyId}`,
  )
  const code = await create(shop, { alias: 'Ü/1', webhookUrl: 'http://127.0.0.1:8099/h', goods: { goodsName: 'Tea' } })
  const move = openMoves()
  const none = { before: 0, after: 0 }
  const paidAt = new Date()
  await move(
    code,
    { trigger: 'accept', change: { paymentChannel: 'crypto', expiresAt: new Date(Date.now() + 9e5) } },
    none,
  )
  await move(code, { trigger: 'forward' }, none)
  await move(code, { trigger: 'seePayment' }, none)
  await move(code, { trigger: 'losePayment' }, none)
  await move(code, { trigger: 'pay', change: { paidAt, paidUnits: 54_000_000n } }, none)
  await move(code, { trigger: 'revert' }, none)
  await move(code, { trigger: 'refundPart', change: { refundedUnits: 4_000_000n }, refundId: newId() }, none)
  const { seen } = await readAll(shop)
  assert.deepEqual(
    seen.map(({ event }) => event),
    ['initial', 'pending', 'awaiting', 'waiting_chain_confirmation', 'paid', 'refunding', 'refunded'].map(
      (name) => `order.${name}`,
    ),
  )
  const bodies = await host.db.many<{ event: string; body: string }>(
    sql`select event, body from deliveries where company_id = ${shop.companyId}`,
  )
  assert.equal(bodies.length, 6)
  for (const { event, body } of bodies) {
    const shown = seen.find((item) => item.event === event)
    assert.deepEqual({ ...shown?.order, event }, JSON.parse(body), event)
    assert.equal(shown?.createdAt, shown?.order.updatedAt)
  }
})

test('any event’s cursor continues behind it, at the end the cursor stays good, and companies are apart', async () => {
  const shop = await host.createMerchant()
  const start = await page(shop, '')
  assert.deepEqual(start.events, [])
  const codes = [await create(shop), await create(shop), await create(shop)]
  const { seen, cursor } = await readAll(shop, start.nextCursor, 2)
  assert.deepEqual(
    seen.map(({ order }) => order.code),
    codes,
  )
  const behindFirst = await page(shop, `after=${seen[0]?.cursor}`)
  assert.deepEqual(behindFirst.events.map(nameOf), seen.slice(1).map(nameOf))
  assert.deepEqual(await page(shop, `after=${cursor}`), { events: [], nextCursor: cursor })
  const later = await create(shop)
  await settled()
  assert.deepEqual(
    (await page(shop, `after=${cursor}`)).events.map(({ order }) => order.code),
    [later],
  )
  assert.deepEqual((await page(await host.createMerchant(), `after=${cursor}`)).events, [])
})

test('what is no cursor, a foreign company, and no credential are refused', async () => {
  const shop = await host.createMerchant()
  for (const after of ['x', 'AAAA', Buffer.from('00000000.1.zz.1.1').toString('base64url')]) {
    const answer = await host.call('GET', `/api/next/events?after=${after}`, { as: shop })
    assert.deepEqual([answer.status, answer.error.details?.[0]?.path], [422, 'after'])
  }
  assert.equal((await host.call('GET', '/api/next/events?limit=1001', { as: shop })).status, 422)
  assert.equal((await host.call('GET', `/api/next/events?companyId=${newId()}`, { as: shop })).status, 404)
  assert.equal((await host.call('GET', '/api/next/events')).status, 401)
})

const actorOf = (shop: Merchant, fields: Partial<Actor>): Actor => ({
  kind: 'user',
  id: newId(),
  role: 'Manager',
  companyId: shop.companyId,
  companyIds: [],
  collectorIds: [],
  scopes: null,
  valid: true,
  sessionId: null,
  secondFactorAt: null,
  ...fields,
})

test('a cashier sees the events of its tills, an operator names the company', async () => {
  const shop = await host.createMerchant()
  await create(shop)
  const deps = { db: host.db, clock: Date.now, config: host.config }
  await settled()
  const count = async (fields: Partial<Actor>, companyId?: string): Promise<number> =>
    (await readFeed(deps, actorOf(shop, fields), companyId === undefined ? {} : { companyId })).events.length
  assert.equal(await count({ role: 'Cashier', collectorIds: [shop.collectorId] }), 1)
  assert.equal(await count({ role: 'Cashier', collectorIds: [newId()] }), 0)
  assert.equal(await count({ role: 'SuperAdmin', companyId: null }, shop.companyId), 1)
  assert.equal(await count({ role: 'SuperManager', companyId: null, companyIds: [shop.companyId] }, shop.companyId), 1)
  await assert.rejects(count({ role: 'SuperManager', companyId: null }, shop.companyId), { code: 'OBJECT_NOT_FOUND' })
  await assert.rejects(count({ role: 'SuperAdmin', companyId: null }), { code: 'VALIDATION_FAILED' })
  await assert.rejects(count({ role: 'SimpleUser', companyId: null }), { code: 'FORBIDDEN' })
})

test('events leave the feed after 90 days and stay in the order’s history; an older cursor is refused', async () => {
  const shop = await host.createMerchant()
  await create(shop)
  const recent = await create(shop)
  await host.db.run(sql`
    update order_events set at = at - interval '91 days' where company_id = ${shop.companyId} and order_id in
      (select id from orders where company_id = ${shop.companyId} and code <> ${recent})`)
  const { seen } = await readAll(shop)
  assert.equal(seen.length, 2)
  assert.equal(await trimFeed({ db: host.db, clock: Date.now }), false)
  assert.deepEqual(
    (await readAll(shop)).seen.map(({ order }) => order.code),
    [recent],
  )
  const { count } = await host.db.one<{ count: bigint }>(
    sql`select count(*) from order_events where company_id = ${shop.companyId}`,
  )
  assert.equal(count, 2n)
  assert.equal((await host.call('GET', `/api/next/events?after=${seen[0]?.cursor}`, { as: shop })).status, 422)
})

test('a quiet company’s cursor is renewed, so that it never grows too old', async () => {
  const shop = await host.createMerchant()
  await create(shop)
  await settled()
  let now = Date.now()
  const deps = { db: host.db, clock: () => now, config: host.config }
  let after = (await readFeed(deps, actorOf(shop, {}), {})).nextCursor
  for (let turn = 0; turn < 5; turn += 1) {
    now += 80 * DAY
    const next = await readFeed(deps, actorOf(shop, {}), { after })
    assert.deepEqual(next.events, [])
    after = next.nextCursor
  }
  const code = await create(shop)
  await settled()
  const { events } = await readFeed(deps, actorOf(shop, {}), { after })
  assert.deepEqual(
    events.map(({ order }) => order.code),
    [code],
  )
})

test('a shop that sold nothing for longer than the feed goes back continues behind its last event', async () => {
  const shop = await host.createMerchant()
  await create(shop)
  await create(shop)
  const { seen, cursor } = await readAll(shop)
  const [first, last] = seen.map((event) => event.cursor) as [string, string]
  const clock = () => Date.now() + 100 * DAY
  const deps = { db: host.db, clock, config: host.config }
  const read = (after: string) => readFeed(deps, actorOf(shop, {}), { after })
  await trimFeed(deps)
  assert.equal(await trimFeed(deps), false, 'what stays is no work')
  const behindAll = (await read(last)).nextCursor
  assert.notEqual(behindAll, last, 'renewed')
  for (const good of [last, cursor, behindAll]) assert.deepEqual((await read(good)).events, [])
  await assert.rejects(read(first), { code: 'VALIDATION_FAILED' })
  const fresh = await create(shop)
  await settled()
  for (const good of [last, cursor])
    assert.deepEqual(
      (await read(good)).events.map(({ order }) => order.code),
      [fresh],
    )
  await trimFeed(deps)
  await assert.rejects(read(last), { code: 'VALIDATION_FAILED' }, 'its place is not the last any more')
})

test('an event leaves the feed only with all before it, though its time was earlier', async () => {
  const shop = await host.createMerchant()
  const codes = [await create(shop), await create(shop), await create(shop)]
  await settled()
  await host.db.run(sql`
    update order_events e set at = at - interval '91 days' from orders o
    where o.company_id = e.company_id and o.id = e.order_id and o.code = ${codes[1]}`)
  await trimFeed({ db: host.db, clock: Date.now })
  assert.deepEqual(
    (await readAll(shop)).seen.map(({ order }) => order.code),
    codes,
  )
})

test('after a restored backup nothing is missed: a cursor of lost events, or of another life, goes back in time', async () => {
  const shop = await host.createMerchant()
  const kept = await create(shop)
  const lost = await create(shop)
  const { cursor } = await readAll(shop)
  await host.db.run(sql`delete from order_events e using orders o where o.id = e.order_id and o.code = ${lost}`)
  const fresh = await create(shop)
  const expected = [kept, fresh]
  assert.deepEqual(
    (await readAll(shop, cursor)).seen.map(({ order }) => order.code),
    expected,
  )
  const known = (await readAll(shop)).cursor
  assert.deepEqual(
    (await readAll(shop, ofOtherLife(known))).seen.map(({ order }) => order.code),
    expected,
  )
})

test('the cursor of a quiet shop’s last event outlives a failover or a restore after 90 days; an older one does not', async () => {
  const shop = await host.createMerchant()
  const codes = [await create(shop), await create(shop)]
  const { seen } = await readAll(shop)
  const [first, last] = seen.map(({ cursor }) => ofOtherLife(cursor)) as [string, string]
  const clock = () => Date.now() + 100 * DAY
  const deps = { db: host.db, clock, config: host.config }
  const codesAfter = async (after: string): Promise<string[]> =>
    (await readFeed(deps, actorOf(shop, {}), { after })).events.map(({ order }) => order.code)
  await trimFeed(deps)
  const [, position = ''] = Buffer.from(last, 'base64url').toString().split('.')
  const place = (facts: { position: string; atMs: number }): string =>
    Buffer.from(`ffffffff.${facts.position}..0.${facts.atMs}`).toString('base64url')
  const lastAtMs = Date.parse(seen[1]?.createdAt ?? '')
  assert.deepEqual(await codesAfter(last), [codes[1]], 'ten minutes further back than needed')
  assert.deepEqual(await codesAfter(place({ position: `${BigInt(position) + 1n}`, atMs: lastAtMs + 1 })), [codes[1]])
  const gone = [first, place({ position, atMs: lastAtMs + 1 }), place({ position: '9'.repeat(17), atMs: lastAtMs - 1 })]
  for (const after of gone) await assert.rejects(codesAfter(after), { code: 'VALIDATION_FAILED' })
  const fresh = await create(shop)
  await settled()
  assert.deepEqual(await codesAfter(last), [codes[1], fresh])
  await trimFeed(deps)
  await assert.rejects(codesAfter(last), { code: 'VALIDATION_FAILED' }, 'its place is not the last any more')
})

test('the cursor of an event that the restore lost stays good too, where nothing before it has left the feed', async () => {
  const shop = await host.createMerchant()
  const kept = await create(shop)
  const lost = await create(shop)
  const { cursor } = await readAll(shop)
  await host.db.run(sql`delete from order_events e using orders o where o.id = e.order_id and o.code = ${lost}`)
  const deps = { db: host.db, clock: () => Date.now() + 100 * DAY, config: host.config }
  await trimFeed(deps)
  for (const after of [cursor, ofOtherLife(cursor)]) {
    const { events } = await readFeed(deps, actorOf(shop, {}), { after })
    assert.deepEqual(
      events.map(({ order }) => order.code),
      [kept],
    )
  }
})

test('after a restored backup a reader that had seen everything is not told a quiet company’s whole past again', async () => {
  const shop = await host.createMerchant()
  await create(shop)
  // long before the horizon, which others on the server can set back by a moment
  await host.db.run(sql`
    update order_events set at = at - interval '1 hour', position = 1 where company_id = ${shop.companyId}`)
  const before = Buffer.from(`ffffffff.1..0.${Date.now()}`).toString('base64url')
  const { events, nextCursor } = await page(shop, `after=${before}`)
  assert.deepEqual(events, [])
  const fresh = await create(shop)
  assert.deepEqual(
    (await readAll(shop, nextCursor)).seen.map(({ order }) => order.code),
    [fresh],
  )
})

test('in another cluster, whose transactions count anew, old events stay first and new ones come behind them', async () => {
  const shop = await host.createMerchant()
  const old = [await create(shop), await create(shop)]
  await host.db.run(sql`update order_events set position = position + 1000000000000`)
  await host.db.run(sql`update event_clock set system_identifier = 'the cluster of the backup'`)
  assert.deepEqual((await page(shop, '')).events, [], 'their transactions seem to lie in the future')
  assert.deepEqual(await Promise.all([1, 2, 3].map(() => followEventClock(host.db))).then((all) => all.sort()), [
    false,
    false,
    true,
  ])
  const { seen, cursor } = await readAll(shop)
  assert.deepEqual(
    seen.map(({ order }) => order.code),
    old,
  )
  const fresh = await create(shop)
  assert.deepEqual(
    (await readAll(shop, cursor)).seen.map(({ order }) => order.code),
    [fresh],
  )
  assert.deepEqual(
    (await readAll(shop)).seen.map(({ order }) => order.code),
    [...old, fresh],
  )
})

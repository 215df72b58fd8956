import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { Lanes } from '../src/webhooks/sender/lanes.ts'
import type { Sender } from '../src/webhooks/sender/sender.ts'
import { countDue } from '../src/webhooks/sender/sender-queries.ts'
import { type Receiver, startReceiver, waitFor } from './harness/receiver.ts'
import { openWebhookWorld, type WebhookWorld } from './harness/webhook-world.ts'

type Place = { world: WebhookWorld; sender: Sender }

const places: Place[] = []
let receiver: Receiver

before(async () => {
  receiver = await startReceiver()
})

after(async () => {
  receiver.answer('/dead', 200)
  await Promise.all(places.map(({ world }) => world.close()))
  await receiver.close()
})

async function open(): Promise<Place> {
  const world = await openWebhookWorld()
  const place = { world, sender: await world.start() }
  places.push(place)
  return place
}

const newCompanies = (world: WebhookWorld, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, async () => (await world.newCompany()).id))

const percentile = (values: number[], part: number): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length * part)] ?? 0

/** Inserts one delivery for each company every 50 ms, 40 times. @returns p99 of the time from commit to arrival, ms */
async function measureStartDelay({ world, sender }: Place, companies: string[], path: string): Promise<number> {
  const committedAt = new Map<string, number>()
  for (let round = 0; round < 40; round += 1) {
    const deliveries = companies.map((company) => world.newDelivery(company, receiver.url + path))
    await world.insert(deliveries)
    for (const delivery of deliveries) committedAt.set(delivery.id, Date.now())
    sender.wake()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await waitFor(`everything at ${path}`, () => receiver.at(path).length === committedAt.size)
  const idOf = (headers: Record<string, string>): string => headers['service-webhook-id'] ?? ''
  return percentile(
    receiver.at(path).map(({ headers, atMs }) => atMs - (committedAt.get(idOf(headers)) ?? 0)),
    0.99,
  )
}

describe('isolation', { concurrency: false }, () => {
  test('one dead receiver with 1 000 queued deliveries hardly moves the p99 start delay of 20 others', async (t) => {
    const place = await open()
    const { world, sender } = place
    const companies = await newCompanies(world, 20)
    const aloneMs = await measureStartDelay(place, companies, '/alone')
    receiver.answer('/dead-one', () => {})
    const [dead = ''] = await newCompanies(world, 1)
    await world.insert(Array.from({ length: 1000 }, () => world.newDelivery(dead, `${receiver.url}/dead-one`)))
    sender.wake()
    await waitFor('the dead lane to fill', () => receiver.at('/dead-one').length === 8)
    const besideMs = await measureStartDelay(place, companies, '/beside')
    t.diagnostic(`p99 from commit to arrival: ${aloneMs} ms alone, ${besideMs} ms beside a dead receiver`)
    assert.ok(besideMs - aloneMs < 2000, `${aloneMs} ms became ${besideMs} ms`)
    assert.equal(receiver.open('/dead-one').most, 8)
  })

  test('what waits for its own hanging receiver is a backlog, and not late; what no lane holds is', async () => {
    const { world, sender } = await open()
    const [dead = '', living = ''] = await newCompanies(world, 2)
    receiver.answer('/hangs', () => {})
    await world.insert(Array.from({ length: 20 }, () => world.newDelivery(dead, `${receiver.url}/hangs`)))
    sender.wake()
    await waitFor('the lane to fill', () => receiver.at('/hangs').length === 8)
    await world.db.run(sql`update delivery_due set next_at = now() - interval '1 minute' where owner is null`)
    const lanes = new Lanes(512)
    const [{ lane } = { lane: '' }] = await world.db.many<{ lane: string }>(
      sql`select lane from delivery_due where company_id = ${dead} limit 1`,
    )
    const count = () => countDue(world.db, { limit: 100, waiting: lanes.waiting(true) })
    assert.ok((await count()).oldestMs > 50_000, 'of a lane that this node does not know')
    for (let started = 0; started < 7; started += 1) lanes.started({ companyId: dead, lane })
    assert.ok((await count()).oldestMs > 50_000, 'a lane with room and nothing known to wait')
    lanes.noteBacklog({ companyId: dead, lane }, 0)
    const held = await count()
    assert.deepEqual([held.due, held.oldestMs, held.backlogMs > 50_000], [12, 0, true])
    assert.deepEqual(lanes.waiting(false).lanes, [], 'a node without room holds it up itself')
    await world.db.run(sql`
      update delivery_due d set next_at = now() - o.place * interval '1 minute'
      from (select company_id, delivery_id, row_number() over (order by delivery_id) as place
        from delivery_due where owner is null) o
      where d.company_id = o.company_id and d.delivery_id = o.delivery_id`)
    const beyond = await countDue(world.db, { limit: 5, waiting: lanes.waiting(true) })
    const minutes = [beyond.oldestMs, beyond.backlogMs].map((ms) => Math.floor(ms / 60_000))
    assert.deepEqual([beyond.due, ...minutes], [5, 8, 12], 'what was not counted is no older than the last one counted')
    await world.db.run(sql`
      update delivery_due set company_id = ${living}
      where (company_id, delivery_id) = (select company_id, delivery_id from delivery_due where owner is null limit 1)`)
    assert.ok((await count()).oldestMs > 50_000, 'another company’s is late')
  })

  test('beside 64 dead receivers 1 000 deliveries to living ones arrive before the first dead attempt is over', async (t) => {
    const { world, sender } = await open()
    const [dead, living] = await Promise.all([newCompanies(world, 64), newCompanies(world, 50)])
    receiver.answer('/dead-many', () => {})
    await world.insert(
      dead.flatMap((company) =>
        Array.from({ length: 30 }, () => world.newDelivery(company, `${receiver.url}/dead-many`)),
      ),
    )
    sender.wake()
    await waitFor('64 full lanes', () => receiver.at('/dead-many').length === 64 * 8)
    const startedAtMs = performance.now()
    const deliveries = living.flatMap((company) =>
      Array.from({ length: 20 }, () => world.newDelivery(company, `${receiver.url}/living`)),
    )
    await world.insert(deliveries)
    sender.wake()
    await waitFor('the living', () => receiver.at('/living').length === 1000)
    t.diagnostic(
      `${Math.round(1000 / ((performance.now() - startedAtMs) / 1000))} deliveries/s beside 64 dead receivers`,
    )
    assert.equal(receiver.at('/dead-many').filter((request) => request.endedAtMs !== null).length, 0)
    assert.equal(receiver.at('/dead-many').length, 64 * 8)
  })

  test('a receiver that timed out gets one attempt at a time, until it answers: then eight, and more as it proves itself', async () => {
    const { world, sender } = await open()
    const [company = ''] = await newCompanies(world, 1)
    receiver.answer('/dead', () => {})
    await world.insert(Array.from({ length: 60 }, () => world.newDelivery(company, `${receiver.url}/dead`)))
    sender.wake()
    await waitFor('a full lane', () => receiver.at('/dead').length === 8)
    await waitFor('the slow lane', () => receiver.at('/dead').length > 8, 15_000)
    await new Promise((resolve) => setTimeout(resolve, 1500))
    assert.equal(receiver.open('/dead').now, 1)
    assert.equal(sender.stats().lanes.slow, 1)
    receiver.answer('/dead', (_request, response) => setTimeout(() => response.writeHead(200).end(), 30))
    const done = sql`select count(*) as count from delivery_states where company_id = ${company} and status = 'delivered'`
    await waitFor('everything', async () => (await world.db.one<{ count: bigint }>(done)).count === 60n, 40_000)
    assert.equal(sender.stats().lanes.slow, 0)
    const { most } = receiver.open('/dead')
    assert.ok(most >= 8 && most <= 8 + 60 / 8, `${most} at once`)
  })
})

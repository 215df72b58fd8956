import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { type Receiver, startReceiver, waitFor } from './harness/receiver.ts'
import { type NodeProcess, startNode } from './harness/webhook-node.ts'
import { openWebhookWorld, type WebhookWorld } from './harness/webhook-world.ts'

/* Deliveries that were interrupted twice: one more crash parks them, if it was theirs. */

const SLOW_MS = 4000

let receiver: Receiver
let other: Receiver
const worlds: WebhookWorld[] = []
const nodes: NodeProcess[] = []

before(async () => {
  receiver = await startReceiver()
  other = await startReceiver()
})
after(async () => {
  for (const node of nodes) node.kill('SIGKILL')
  await Promise.all(nodes.map((node) => node.ended))
  await Promise.all(worlds.map((world) => world.close()))
  await receiver?.close()
  await other?.close()
})

async function open(): Promise<WebhookWorld> {
  const world = await openWebhookWorld()
  worlds.push(world)
  return world
}

async function startOne(world: WebhookWorld, name: string): Promise<NodeProcess> {
  const node = await startNode(world, name)
  nodes.push(node)
  return node
}

/** One delivery for each of as many companies. */
async function insertCrowd(world: WebhookWorld, size: number, path: string): Promise<void> {
  const crowd = []
  for (let company = 0; company < size; company += 1)
    crowd.push(world.newDelivery((await world.newCompany()).id, `${receiver.url}${path}`))
  await world.insert(crowd)
}

const left = async (world: WebhookWorld): Promise<number> =>
  Number((await world.db.one<{ count: bigint }>(sql`select count(*) as count from delivery_due`)).count)

/** Requests that were open at once for a while: one's end may be heard after the next one's beginning. */
async function mostFor(ms: number): Promise<number> {
  let [most, last, before] = [0, 0, 0]
  for (const untilMs = Date.now() + ms; Date.now() < untilMs; ) {
    const { now } = receiver.open('/silent')
    most = Math.max(most, Math.min(now, last, before))
    ;[last, before] = [now, last]
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return most
}

describe('deliveries that were interrupted twice', { concurrency: false }, () => {
  test('slow receivers beside the delivery that kills its node: only that one is parked', async () => {
    const world = await open()
    let [crashes, inFlight] = [0, 0]
    let node = await startOne(world, 'slow-crowd')
    receiver.answer('/crowd', (_request, response) => {
      inFlight += 1
      if (crashes >= 2) setTimeout(() => response.writeHead(200).end(), SLOW_MS)
    })
    receiver.answer('/killer', () => {
      const die = async () => {
        await waitFor('the crowd', () => crashes >= 2 || inFlight === 8)
        ;[crashes, inFlight] = [crashes + 1, 0]
        node.kill('SIGKILL')
      }
      void die()
    })
    await insertCrowd(world, 8, '/crowd')
    const killer = world.newDelivery((await world.newCompany()).id, `${receiver.url}/killer`)
    await world.insert([killer])
    const isParked = async () => (await world.statusOf(killer.id)) === 'parked'
    while (!(await isParked())) {
      await Promise.race([node.ended, waitFor('parking', isParked, 60_000)])
      if (!(await isParked())) node = await startOne(world, 'slow-crowd')
    }
    await waitFor('the end', async () => (await left(world)) === 0, 60_000)
    const statuses = await world.db.many<{ status: string; count: bigint }>(
      sql`select status, count(*) as count from delivery_states group by status order by status`,
    )
    assert.deepEqual(statuses, [
      { status: 'delivered', count: 8n },
      { status: 'parked', count: 1n },
    ])
    assert.ok(crashes <= 4, `${crashes} crashes`)
  })

  test('receivers that never answer delay no other: it is made again within 20 s', async () => {
    const world = await open()
    receiver.answer('/dead', () => {})
    await insertCrowd(world, 30, '/dead')
    const good = world.newDelivery((await world.newCompany()).id, `${other.url}/good`)
    await world.insert([good])
    // as two crashes leave them
    await world.db.run(sql`update delivery_due set crashes = 2`)
    const startedAtMs = Date.now()
    await startOne(world, 'starved')
    await waitFor('the good one', () => other.at('/good').length > 0, 90_000)
    const tookMs = Date.now() - startedAtMs
    assert.ok(tookMs <= 20_000, `${tookMs} ms`)
  })

  test('a company with hundreds of receivers that never answer delays no other company', async () => {
    const world = await open()
    receiver.answer('/void', () => {})
    const { id } = await world.newCompany()
    const url = (host: number): string => `http://h${host}.localhost:${new URL(receiver.url).port}/void`
    await world.insert(Array.from({ length: 300 }, (_, host) => world.newDelivery(id, url(host))))
    await world.insert([world.newDelivery((await world.newCompany()).id, `${other.url}/turn`)])
    await world.db.run(sql`update delivery_due set crashes = 2`)
    await startOne(world, 'one-company')
    await waitFor('the first ones', () => receiver.at('/void').length > 0, 20_000)
    const startedAtMs = Date.now()
    await waitFor('the other company', () => other.at('/turn').length > 0, 60_000)
    const tookMs = Date.now() - startedAtMs
    assert.ok(tookMs <= 5000, `${tookMs} ms`)
    assert.ok(receiver.at('/void').length < 100, 'they go on one after another')
  })

  test('they take no more places of their receiver than others: eight, and one when it is silent', async () => {
    const world = await open()
    const { id } = await world.newCompany()
    receiver.answer('/silent', () => {})
    const deliveries = Array.from({ length: 40 }, () => world.newDelivery(id, `${receiver.url}/silent`))
    await world.insert(deliveries)
    // beside as many that were never interrupted, which are looked for in another way
    const suspects = deliveries.filter((_, index) => index % 2 === 0).map((one) => one.id)
    await world.db.run(sql`update delivery_due set crashes = 2 where delivery_id = any(${suspects})`)
    await startOne(world, 'crowded-lane')
    await waitFor('a full lane', () => receiver.open('/silent').now >= 8, 20_000)
    assert.equal(await mostFor(8000), 8)
    // they run into their time-out of ten seconds; what began beside the third, which makes the lane a slow one, too
    await waitFor('the ninth', () => receiver.at('/silent').length > 8, 30_000)
    await waitFor('a slow lane', async () => (await mostFor(1500)) === 1, 60_000)
    assert.equal(await mostFor(11_000), 1)
  })
})

import assert from 'node:assert/strict'
import { afterEach, beforeEach, type TestContext, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { type Receiver, startReceiver, waitFor } from './harness/receiver.ts'
import { scaled } from './harness/scale.ts'
import { type NodeProcess, startNode } from './harness/webhook-node.ts'
import { openWebhookWorld, type WebhookWorld } from './harness/webhook-world.ts'

const COMPANIES = 200
/** Between a hundred deliveries and the next: they come for as long as nodes are killed. */
const GAP_MS = 100
/** Attempts under way at a kill, and outcomes that were not written yet. */
const LOSS_PER_KILL = 512 + 200

let world: WebhookWorld
let receiver: Receiver

beforeEach(async () => {
  world = await openWebhookWorld()
  receiver = await startReceiver()
})

afterEach(async () => {
  await world.close()
  await receiver.close()
})

async function insertAll(companies: string[], total: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < total) {
    const batch = Array.from({ length: 100 }, (_, index) =>
      world.newDelivery(companies[(ids.length + index * 7) % companies.length] ?? '', `${receiver.url}/crash`),
    )
    await world.insert(batch)
    ids.push(...batch.map((delivery) => delivery.id))
    await new Promise((resolve) => setTimeout(resolve, GAP_MS))
  }
  return ids
}

async function killAtRandom(nodes: NodeProcess[], kills: number, ownBuckets: boolean): Promise<void> {
  for (let killed = 0; killed < kills; killed += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 450))
    const index = Math.floor(Math.random() * nodes.length)
    const victim = nodes[index]
    assert.ok(victim)
    victim.kill('SIGKILL')
    await victim.ended
    nodes[index] = await startNode(world, victim.name, ownBuckets)
  }
}

type Plan = { deliveries: number; kills: number; ownBuckets: boolean }

async function deliverUnderFire(t: TestContext, { deliveries, kills, ownBuckets }: Plan): Promise<void> {
  const companies: string[] = []
  for (let index = 0; index < COMPANIES; index += 1) companies.push((await world.newCompany()).id)
  const nodes = await Promise.all([startNode(world, 'first', ownBuckets), startNode(world, 'second', ownBuckets)])
  const startedAtMs = performance.now()
  const [ids] = await Promise.all([insertAll(companies, deliveries), killAtRandom(nodes, kills, ownBuckets)])
  const unfinished = async () =>
    Number((await world.db.one<{ count: bigint }>(sql`select count(*) as count from delivery_due`)).count)
  await waitFor('the end of all deliveries', async () => (await unfinished()) === 0, 60_000)
  const seconds = (performance.now() - startedAtMs) / 1000
  const received = new Set(receiver.received.map((request) => request.headers['service-webhook-id']))
  const parked = await world.db.many<{ id: string }>(sql`select id from delivery_states where status = 'parked'`)
  const givenUp = new Set(parked.map(({ id }) => id))
  assert.deepEqual(
    ids.filter((id) => !received.has(id) && !givenUp.has(id)),
    [],
    'lost deliveries',
  )
  // a delivery that one more crash would park is sent alone: each kill can be blamed on one
  assert.ok(givenUp.size <= kills, `${givenUp.size} parked`)
  const repeats = receiver.received.length - received.size
  assert.ok(repeats <= kills * LOSS_PER_KILL, `${repeats} repeats`)
  const statuses = await world.db.many<{ status: string; count: bigint }>(
    sql`select status, count(*) as count from delivery_states group by status`,
  )
  const unknown = await world.db.one<{ count: bigint }>(
    sql`select count(*) as count from delivery_attempts where error_code = 'unknown_outcome'`,
  )
  const byStatus = Object.fromEntries(statuses.map((row) => [row.status, Number(row.count)]))
  t.diagnostic(
    `${kills} kills, ${ids.length} deliveries in ${seconds.toFixed(1)} s: 0 lost, ${repeats} repeated, ` +
      `${unknown.count} attempts of unknown outcome, ${byStatus.parked ?? 0} parked`,
  )
  assert.equal((byStatus.delivered ?? 0) + (byStatus.parked ?? 0), deliveries)
  for (const node of nodes) node.kill('SIGTERM')
  assert.deepEqual(await Promise.all(nodes.map((node) => node.ended)), [0, 0])
}

const SHARED = { deliveries: 100 * scaled(60), kills: scaled(18), ownBuckets: false }
const OWNED = { deliveries: 100 * scaled(20), kills: scaled(7), ownBuckets: true }

test(`two nodes killed at ${SHARED.kills} random moments of ${SHARED.deliveries} deliveries lose none, repeat few`, (t) =>
  deliverUnderFire(t, SHARED))

test(`so do nodes that own buckets, at ${OWNED.kills} kills during ${OWNED.deliveries} deliveries`, (t) =>
  deliverUnderFire(t, OWNED))

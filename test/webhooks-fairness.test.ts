import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { Lanes } from '../src/webhooks/sender/lanes.ts'
import type { Sender } from '../src/webhooks/sender/sender.ts'
import { countDue, listLanes } from '../src/webhooks/sender/sender-queries.ts'
import { type Receiver, startReceiver, waitFor } from './harness/receiver.ts'
import { openWebhookWorld, type WebhookWorld } from './harness/webhook-world.ts'

/* One company with thousands of receivers that never answer, and the others on the same node. */

const HOSTS = 13_000
/** Of a node's 2048 attempts at once a company alone holds half, and what one claim more takes. */
const MOST = 1024 + 200

const worlds: WebhookWorld[] = []
const sockets = new Set<Socket>()
const silent = createServer((socket) => void sockets.add(socket.on('error', () => {})))
let receiver: Receiver

before(async () => {
  receiver = await startReceiver()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
})

after(async () => {
  await Promise.all(worlds.map((world) => world.close()))
  for (const socket of sockets) socket.destroy()
  silent.close()
  await receiver.close()
})

async function open(): Promise<WebhookWorld> {
  const world = await openWebhookWorld()
  worlds.push(world)
  return world
}

/** One delivery for each host of a company; the names are all this machine's. */
async function insertHosts(world: WebhookWorld, companyId: string, count: number, port: number): Promise<void> {
  for (let from = 0; from < count; from += 1000) {
    const hosts = Array.from({ length: Math.min(1000, count - from) }, (_, index) => `h${from + index}.localhost`)
    await world.insert(hosts.map((host) => world.newDelivery(companyId, `http://${host}:${port}/`)))
  }
}

const silentPort = (): number => (silent.address() as AddressInfo).port

/** @returns ms from the commit to the arrival */
async function sendOne(world: WebhookWorld, sender: Sender, companyId: string, path: string): Promise<number> {
  await world.insert([world.newDelivery(companyId, receiver.url + path)])
  const startedAtMs = performance.now()
  sender.wake()
  await waitFor(`the webhook at ${path}`, () => receiver.at(path).length > 0, 5000)
  return performance.now() - startedAtMs
}

/** Due deliveries that need no body: they are never claimed, or not sent. */
const insertDue = (world: WebhookWorld, companyId: string, lanes: readonly string[], isDue = true) =>
  world.db.run(sql`
    insert into delivery_due (company_id, delivery_id, order_id, bucket, lane, next_at)
    select ${companyId}, md5(${companyId} || lane), 'order', 1, lane,
      now() + ${isDue ? '-1 minute' : '1 hour'}::interval from unnest(${[...lanes]}::text[]) lane`)

describe('one company with thousands of dead receivers', { concurrency: false }, () => {
  test('the webhooks of another company leave at once: one that waited behind, and new ones at any time', async (t) => {
    const world = await open()
    const [dead, other, third] = [await world.newCompany(), await world.newCompany(), await world.newCompany()]
    await insertHosts(world, dead.id, HOSTS, silentPort())
    await world.insert([world.newDelivery(other.id, `${receiver.url}/behind`)])
    const sender = await world.start()
    await waitFor('the one behind', () => receiver.at('/behind').length > 0, 5000)
    await waitFor('what a company may hold', () => sender.stats().inFlight >= 1000, 20_000)
    for (let turn = 0; turn < 12; turn += 1) {
      const tookMs = await sendOne(world, sender, turn % 2 === 0 ? other.id : third.id, `/beside/${turn}`)
      t.diagnostic(`${Math.round(tookMs)} ms, ${JSON.stringify(sender.stats().lanes)}`)
      await new Promise((resolve) => setTimeout(resolve, 1000))
      assert.ok(sender.stats().inFlight <= MOST, `${sender.stats().inFlight} in flight`)
    }
    assert.ok(sender.stats().retried > 1000, 'the dead ones had their attempts meanwhile')
  })
  test('a sweep reads some lanes of each company, and the next one continues behind them', async () => {
    const world = await open()
    const [many, few] = [(await world.newCompany()).id, (await world.newCompany()).id]
    await insertDue(world, many, ['a', 'b', 'd', 'e'])
    await insertDue(world, many, ['c'], false)
    await insertDue(world, few, ['z'])
    const sweep = async (after: string, resume: string | null, limit = 100) => {
      const from = resume === null ? [] : [{ companyId: many, lane: resume }]
      const swept = await listLanes(world.db, { after, resume: from, perCompany: 3, limit })
      return swept.map(({ companyId, lane, dueMs }) => [companyId === many ? 'many' : 'few', lane, dueMs !== null])
    }
    const last = ['few', 'z', true]
    const first = ['a', 'b'].map((lane) => ['many', lane, true])
    assert.deepEqual(await sweep('', null), [...first, ['many', 'c', false], last])
    assert.deepEqual(await sweep('', 'c'), [['many', 'd', true], ['many', 'e', true], last])
    assert.deepEqual(await sweep('', 'e'), [['many', null, false], last], 'the next one begins with the first again')
    assert.deepEqual(await sweep('', null, 2), first)
    assert.deepEqual(await sweep(many, 'b'), [last])
  })
  test('what waits because its company holds its share is a backlog, and not late', async () => {
    const world = await open()
    const [many, few] = [(await world.newCompany()).id, (await world.newCompany()).id]
    await insertDue(world, many, ['a', 'b'])
    const lanes = new Lanes(8, 16)
    lanes.noteBacklog({ companyId: many, lane: 'a' }, 0)
    for (let started = 0; started < 8; started += 1) lanes.started({ companyId: many, lane: 'a' })
    const count = () => countDue(world.db, { limit: 100, waiting: lanes.waiting(true) })
    const held = await count()
    assert.deepEqual([held.due, held.oldestMs, held.backlogMs > 50_000], [2, 0, true])
    await insertDue(world, few, ['z'])
    assert.ok((await count()).oldestMs > 50_000, 'another company’s is late')
  })
})

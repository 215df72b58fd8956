import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { insertDeliveries } from '../src/webhooks/outbox/delivery-queries.ts'
import { claimDeliveries, listDue } from '../src/webhooks/sender/claim-queries.ts'
import { nodeNameOf, thisMachine } from '../src/webhooks/sender/machine.ts'
import { LEASE_MS, settleAttempts } from '../src/webhooks/sender/sender-queries.ts'
import { type Receiver, startReceiver, waitFor } from './harness/receiver.ts'
import { type NodeProcess, startNode } from './harness/webhook-node.ts'
import { openWebhookWorld, type WebhookWorld } from './harness/webhook-world.ts'

/* Each test has a database of its own, so that its nodes see no others; they run beside each other. */

let receiver: Receiver
const worlds: WebhookWorld[] = []
const nodes: NodeProcess[] = []

before(async () => {
  receiver = await startReceiver()
})

after(async () => {
  for (const node of nodes) node.kill('SIGKILL')
  await Promise.all(nodes.map((node) => node.ended))
  await Promise.all(worlds.map((world) => world.close()))
  await receiver.close()
})

async function open(): Promise<{ world: WebhookWorld; companyId: string }> {
  const world = await openWebhookWorld()
  worlds.push(world)
  return { world, companyId: (await world.newCompany()).id }
}

async function startOne(world: WebhookWorld, name: string, ownBuckets = false): Promise<NodeProcess> {
  const node = await startNode(world, name, ownBuckets)
  nodes.push(node)
  return node
}

const count = async (world: WebhookWorld, statement: ReturnType<typeof sql>): Promise<number> =>
  Number((await world.db.one<{ count: bigint }>(statement)).count)

const unknownOutcomes = (world: WebhookWorld) =>
  count(world, sql`select count(*) as count from delivery_attempts where error_code = 'unknown_outcome'`)

/** Inserts `total` deliveries to a path that hangs until `release` is called. */
async function hang(
  world: WebhookWorld,
  companyId: string,
  path: string,
  total: number,
): Promise<{ ids: string[]; release: () => void }> {
  const held: (() => void)[] = []
  receiver.answer(path, (_request, response) => void held.push(() => response.writeHead(200).end()))
  const deliveries = Array.from({ length: total }, () => world.newDelivery(companyId, receiver.url + path))
  await world.insert(deliveries)
  const release = (): void => {
    receiver.answer(path, 200)
    for (const answer of held) answer()
  }
  return { ids: deliveries.map((delivery) => delivery.id), release }
}

describe('leases', { concurrency: true }, () => {
  test("a killed node's attempts are made again by a peer before their lease would end, logged as unknown and not counted", async (t) => {
    const { world, companyId } = await open()
    const victim = await startOne(world, 'victim')
    const { ids, release } = await hang(world, companyId, '/takeover', 5)
    await waitFor('five in flight', () => receiver.at('/takeover').length === 5)
    await startOne(world, 'peer')
    // as if all had just been claimed: what is repeated before these leases end was taken over
    const renewed = await world.db.many<{ endsAt: Date }>(sql`
      update delivery_due set next_at = clock_timestamp() + ${LEASE_MS} * interval '1 millisecond'
      where owner is not null returning next_at as ends_at`)
    assert.equal(renewed.length, 5)
    victim.kill('SIGKILL')
    const killedAtMs = Date.now()
    const leftMs = Math.min(...renewed.map(({ endsAt }) => endsAt.getTime())) - killedAtMs
    release()
    await waitFor('the repeats', () => receiver.at('/takeover').length === 10)
    const tookMs = (receiver.received.findLast((request) => request.path === '/takeover')?.atMs ?? 0) - killedAtMs
    t.diagnostic(`taken over ${tookMs} ms after the kill, of leases of ${leftMs} ms`)
    assert.ok(tookMs < leftMs, `${tookMs} ms, of a lease of ${leftMs} ms`)
    await waitFor('delivery', async () => (await count(world, sql`select count(*) as count from delivery_due`)) === 0)
    assert.equal(await unknownOutcomes(world), 5)
    const statement = sql`select count(*) as count from delivery_attempts where error_code is null and number = 1`
    assert.equal(await count(world, statement), ids.length)
  })

  test('a node that restarts under its name repeats its own attempts soon after being ready', async (t) => {
    const { world, companyId } = await open()
    const victim = await startOne(world, 'same')
    const { release } = await hang(world, companyId, '/restart', 5)
    await waitFor('five in flight', () => receiver.at('/restart').length === 5)
    victim.kill('SIGKILL')
    await victim.ended
    release()
    await startOne(world, 'same')
    const readyAtMs = Date.now()
    await waitFor('the repeats', () => receiver.at('/restart').length === 10)
    t.diagnostic(`repeated ${Date.now() - readyAtMs} ms after the restart`)
    assert.ok(Date.now() - readyAtMs <= 6000)
  })

  test('two machines with one name leave each other’s leases alone, and one that falls silent is replaced', async () => {
    const { world, companyId } = await open()
    const senders = ['shop 1111 1', 'shop 2222 1'].map((machine) => ({ nodeName: 'shop:3000', machine }))
    const first = await world.start(senders[0])
    const { release } = await hang(world, companyId, '/twins', 5)
    await waitFor('five in flight', () => receiver.at('/twins').length === 5)
    const second = await world.start(senders[1])
    await new Promise((resolve) => setTimeout(resolve, 1500))
    assert.equal(receiver.at('/twins').length, 5)
    const names = await world.db.many<{ name: string }>(sql`select name from sender_nodes order by name`)
    assert.equal(names.length, 2)
    assert.ok(names.every(({ name }) => /^shop:3000(-\w{4})?$/.test(name)))
    release()
    await waitFor('delivery', async () => (await count(world, sql`select count(*) as count from delivery_due`)) === 0)
    assert.equal(await unknownOutcomes(world), 0)
    assert.deepEqual([first.stats().fenced, second.stats().takeovers], [0, 0])
    // what another machine left behind under this name is free once it is silent
    await world.db.run(sql`
      insert into sender_nodes (name, instance, host, pid, seen_at)
      values ('gone:3000', 'gone', 'gone 3333 1', 1, now() - interval '6 seconds')`)
    await world.start({ nodeName: 'gone:3000', machine: 'gone 4444 1' })
    assert.equal(await count(world, sql`select count(*) as count from sender_nodes where name = 'gone:3000'`), 1)
  })

  test('a sender is called the same after a restart, and otherwise on each machine', () => {
    assert.equal(nodeNameOf(thisMachine(), 3000), nodeNameOf(thisMachine(), 3000))
    const machines = ['shop 1111aaaa-1 1', 'shop 2222bbbb-1 1', 'shop']
    assert.deepEqual(
      machines.map((machine) => nodeNameOf(machine, 3000)),
      ['shop:3000:1111aaaa', 'shop:3000:2222bbbb', 'shop:3000'],
    )
  })

  test('nodes that own buckets keep the cap of a lane together, and a killed owner is replaced', async () => {
    const { world, companyId } = await open()
    receiver.answer('/owned', (_request, response) => setTimeout(() => response.writeHead(200).end(), 60))
    const owners = await Promise.all(['north', 'south', 'west'].map((name) => startOne(world, name, true)))
    await new Promise((resolve) => setTimeout(resolve, 2500))
    const some = (count: number) =>
      Array.from({ length: count }, () => world.newDelivery(companyId, `${receiver.url}/owned`))
    await world.insert(some(60))
    await waitFor('60 deliveries', () => receiver.at('/owned').length === 60)
    // a lane begins with eight and earns one more for each eight good answers; three nodes would begin with 24
    const { most } = receiver.open('/owned')
    assert.ok(most <= 8 + 60 / 8, `${most} at once`)
    for (const owner of owners.slice(0, 2)) owner.kill('SIGKILL')
    await world.insert(some(40))
    await waitFor('40 more', () => receiver.at('/owned').length >= 100)
    await waitFor(
      'their settlement',
      async () => (await count(world, sql`select count(*) as count from delivery_due`)) === 0,
    )
  })

  test('a delivery whose attempt kills its node three times is parked, and the others go on', async () => {
    const { world, companyId } = await open()
    let node = await startOne(world, 'poisoned')
    receiver.answer('/poison', () => node.kill('SIGKILL'))
    const poison = world.newDelivery(companyId, `${receiver.url}/poison`)
    await world.insert([poison])
    for (let crash = 0; crash < 3; crash += 1) {
      await node.ended
      node = await startOne(world, 'poisoned')
    }
    await waitFor('parking', async () => (await world.statusOf(poison.id)) === 'parked')
    assert.equal(receiver.at('/poison').length, 3)
    assert.equal(await unknownOutcomes(world), 3)
    const good = world.newDelivery(companyId, `${receiver.url}/after-poison`)
    await world.insert([good])
    await waitFor('the next delivery', async () => (await world.statusOf(good.id)) === 'delivered')
  })

  test('what was in flight beside the delivery that kills its node is delivered: only that one is parked', async () => {
    const { world } = await open()
    let [crashes, inFlight] = [0, 0]
    let node = await startOne(world, 'crowded')
    receiver.answer('/crowd', (_request, response) => {
      inFlight += 1
      if (crashes >= 2) response.writeHead(200).end()
    })
    receiver.answer('/killer', () => {
      const die = async () => {
        await waitFor('the crowd', () => crashes >= 2 || inFlight === 30)
        ;[crashes, inFlight] = [crashes + 1, 0]
        node.kill('SIGKILL')
      }
      void die()
    })
    const crowd = []
    for (let company = 0; company < 5; company += 1) {
      const { id } = await world.newCompany()
      for (let one = 0; one < 6; one += 1) crowd.push(world.newDelivery(id, `${receiver.url}/crowd`))
    }
    const killer = world.newDelivery((await world.newCompany()).id, `${receiver.url}/killer`)
    await world.insert([...crowd, killer])
    for (let crash = 0; crash < 3; crash += 1) {
      await node.ended
      node = await startOne(world, 'crowded')
    }
    await waitFor('the end', async () => (await count(world, sql`select count(*) as count from delivery_due`)) === 0)
    const statuses = await world.db.many<{ status: string; count: bigint }>(
      sql`select status, count(*) as count from delivery_states group by status order by status`,
    )
    assert.deepEqual(statuses, [
      { status: 'delivered', count: 30n },
      { status: 'parked', count: 1n },
    ])
    assert.equal(await world.statusOf(killer.id), 'parked')
  })

  test('an attempt of known outcome clears the crashes before it', async () => {
    const { world, companyId } = await open()
    receiver.answer('/cleared', 500)
    const delivery = world.newDelivery(companyId, `${receiver.url}/cleared`)
    await world.insert([delivery])
    await world.db.run(sql`update delivery_due set crashes = 2`)
    await startOne(world, 'clearing')
    const left = () =>
      world.db.one<{ attempts: number; crashes: number }>(sql`
      select attempts, crashes from delivery_due where delivery_id = ${delivery.id}`)
    await waitFor('the first attempt', async () => (await left()).attempts === 1)
    assert.equal((await left()).crashes, 0)
    receiver.answer('/cleared', 200)
    await waitFor('delivery', async () => (await world.statusOf(delivery.id)) === 'delivered')
  })

  test('a node stopped for longer than its lease comes back as a stranger: its outcomes are dropped', async () => {
    const { world, companyId } = await open()
    const zombie = await startOne(world, 'zombie')
    const { ids, release } = await hang(world, companyId, '/zombie', 3)
    await waitFor('three in flight', () => receiver.at('/zombie').length === 3)
    zombie.kill('SIGSTOP')
    await startOne(world, 'awake')
    receiver.answer('/zombie', 500)
    await waitFor('the repeats', () => receiver.at('/zombie').length === 6, 15_000)
    const attempts = () => count(world, sql`select count(*) as count from delivery_attempts where status_code = 500`)
    await waitFor('their settlement', async () => (await attempts()) >= 3)
    receiver.answer('/zombie', 200)
    release()
    zombie.kill('SIGCONT')
    await waitFor('the end', async () => (await count(world, sql`select count(*) as count from delivery_due`)) === 0)
    const rows = await world.db.many<{
      deliveryId: string
      number: number
      statusCode: number | null
      errorCode: string | null
    }>(sql`
      select delivery_id, number, status_code, error_code from delivery_attempts order by started_at, number`)
    for (const id of ids) {
      const own = rows.filter((row) => row.deliveryId === id && row.errorCode !== 'unknown_outcome')
      assert.deepEqual(
        own.map((row) => [row.number, row.statusCode]),
        [
          [1, 500],
          [2, 200],
        ],
      )
    }
  })

  test('an outcome of a lease that another node has taken over is dropped, whether the delivery goes on or ends', async () => {
    const { world, companyId } = await open()
    await world.insert([world.newDelivery(companyId, `${receiver.url}/fenced`)])
    const excluded = { lanes: [], companies: [] }
    const claim = async (instance: string) => {
      const { due } = await listDue(world.db, { lowerMs: 0, window: 1, excluded, buckets: null })
      const places = due.map(({ place }) => place)
      const [claimed] = await claimDeliveries(world.db, instance, places)
      assert.ok(claimed)
      return claimed
    }
    const { deliveryId, series, epoch } = await claim('first')
    await world.db.run(sql`update delivery_due set next_at = now() - interval '1 second'`)
    const second = await claim('second')
    const said = { companyId, deliveryId, series, number: 1, startedAt: new Date(), durationMs: 1, delayMs: 0 }
    const answered = { statusCode: 500, errorCode: null, responseBody: null }
    for (const outcome of ['retry', 'failed', 'delivered'] as const) {
      assert.deepEqual(await settleAttempts(world.db, [{ ...said, ...answered, epoch, outcome }]), [], outcome)
      const [left] = await world.db.many(sql`select owner, lease_epoch as epoch, attempts from delivery_due`)
      assert.deepEqual(left, { owner: 'second', epoch: second.epoch, attempts: 0 }, outcome)
    }
    assert.equal(await world.statusOf(deliveryId), 'pending')
  })

  test('an outcome of an earlier series is dropped: a redelivery counts its leases anew', async () => {
    const { world, companyId } = await open()
    const delivery = world.newDelivery(companyId, `${receiver.url}/again`)
    await world.insert([delivery])
    // as an earlier attempt, whose node was stopped, left it: over, and started once more
    await world.db.run(sql`update delivery_due set series = 2, lease_epoch = 1, owner = 'second'`)
    const facts = {
      startedAt: new Date(),
      durationMs: 1,
      delayMs: 0,
      statusCode: 500,
      errorCode: null,
      responseBody: null,
    }
    const said = { companyId, deliveryId: delivery.id, series: 1, epoch: 1n, number: 5, ...facts }
    for (const outcome of ['retry', 'failed', 'delivered'] as const)
      assert.deepEqual(await settleAttempts(world.db, [{ ...said, outcome }]), [], outcome)
    assert.equal(await count(world, sql`select count(*) as count from delivery_due where owner = 'second'`), 1)
  })

  test('a node told to stop lets its attempts end, keeps their outcome and leaves nothing leased', async () => {
    const { world, companyId } = await open()
    const node = await startOne(world, 'leaving')
    receiver.answer('/leaving', (_request, response) => setTimeout(() => response.writeHead(200).end(), 1500))
    const deliveries = Array.from({ length: 20 }, () => world.newDelivery(companyId, `${receiver.url}/leaving`))
    await world.insert(deliveries)
    await waitFor('eight in flight', () => receiver.open('/leaving').now === 8)
    node.kill('SIGTERM')
    assert.equal(await node.ended, 0)
    assert.equal(receiver.at('/leaving').length, 8)
    const delivered = sql`select count(*) as count from delivery_states where status = 'delivered'`
    assert.equal(await count(world, delivered), 8)
    assert.equal(await count(world, sql`select count(*) as count from delivery_due where owner is not null`), 0)
    assert.equal(await count(world, sql`select count(*) as count from sender_nodes`), 0)
  })

  test('what a transaction commits long after writing it is sent at once by its own process', async () => {
    const { world, companyId } = await open()
    const sender = await world.start()
    await world.insert([world.newDelivery(companyId, `${receiver.url}/early`)])
    sender.wake()
    await waitFor('the early one', () => receiver.at('/early').length === 1)
    await world.db.tx(async (tx) => {
      await insertDeliveries(tx, [world.newDelivery(companyId, `${receiver.url}/late`)])
      await tx.run(sql`select pg_sleep(4)`)
      tx.afterCommit(() => sender.wake(companyId))
    })
    const committedAtMs = Date.now()
    await waitFor('the late one', () => receiver.at('/late').length === 1)
    assert.ok(Date.now() - committedAtMs <= 5000)
  })

  test('another process finds what was committed late with its next sweep', async () => {
    const { world, companyId } = await open()
    await startOne(world, 'elsewhere')
    await world.db.tx(async (tx) => {
      await insertDeliveries(tx, [world.newDelivery(companyId, `${receiver.url}/late-elsewhere`)])
      await tx.run(sql`select pg_sleep(4)`)
    })
    const committedAtMs = Date.now()
    await waitFor('the late one', () => receiver.at('/late-elsewhere').length === 1)
    assert.ok(Date.now() - committedAtMs <= 12_000)
  })

  test('a delivery exists exactly when its transaction committed', async () => {
    const { world, companyId } = await open()
    const expected: string[] = []
    const worker = async (): Promise<void> => {
      for (let index = 0; index < 40; index += 1) {
        const delivery = world.newDelivery(companyId, `${receiver.url}/commit`)
        const isKept = Math.random() < 0.5
        if (isKept) expected.push(delivery.id)
        const work = world.db.tx(async (tx) => {
          await insertDeliveries(tx, [delivery])
          if (!isKept) throw new Error(`rolled back ${index}`)
        })
        await work.catch((error: Error) => assert.match(error.message, /^rolled back/))
      }
    }
    await Promise.all(Array.from({ length: 8 }, worker))
    const rows = await world.db.many<{ id: string }>(sql`select id from deliveries`)
    const due = await world.db.many<{ id: string }>(sql`select delivery_id as id from delivery_due`)
    assert.deepEqual(rows.map((row) => row.id).sort(), expected.sort())
    assert.deepEqual(due.map((row) => row.id).sort(), expected.sort())
  })
})

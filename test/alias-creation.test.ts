import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { paidReport } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import type { Order } from '../src/orders/order.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { actorOf, contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { eventually, type Merchant } from './harness/service.ts'

/* An order that is being created while something is decided about an older one of its alias. */

let world: ModelWorld
let merchant: Merchant
let neighbour: Merchant
let other: pg.Client
before(async () => {
  world = await startModelWorld()
  merchant = await world.host.createMerchant()
  neighbour = await world.host.createMerchant()
  other = new pg.Client({ connectionString: world.host.db.connectionString })
  await other.connect()
})
after(async () => {
  await other?.end()
  await world?.stop()
})

const accept = ({ code }: Order, more = {}) =>
  acceptOrder(world.payments, {
    ...{ context: contextFor(actorOf(merchant)), code },
    body: { paymentChannel: 'binance', ...more },
  })

/** An order of the alias that a way to pay is chosen for. */
async function orderOf(alias: string): Promise<Order> {
  const order = await world.makeOrder(merchant, { alias })
  await accept(order)
  return order
}

async function receive({ id: orderId }: Order, at: Date | null = null): Promise<void> {
  const { id, reference } = await world.host.db.one<{ id: string; reference: string }>(sql`
    select id, provider_reference as reference from payments where order_id = ${orderId}`)
  const transfer = { network: 31337, txHash: '0x', from: '0xfrom', final: true, confirmations: 3, needed: 3 }
  await applyReport(
    world.payments,
    { companyId: merchant.companyId, id },
    {
      ...paidReport(reference, { final: DUE, providerStatus: 'PAID' }),
      transfers: at === null ? [] : [{ ...transfer, units: DUE, at }],
    },
  )
}

const expire = async ({ id }: Order): Promise<void> => {
  const at = new Date(world.clock.nowMs)
  await world.host.db.run(
    sql`update orders set status = 'EXPIRED', updated_at = ${at}, expires_at = ${at} where id = ${id}`,
  )
  await world.host.db.run(sql`update payments set status = 'closed' where order_id = ${id}`)
}

const statusOf = async ({ id }: Order): Promise<string> =>
  (await world.host.db.one<{ status: string }>(sql`select status from orders where id = ${id}`)).status

const create = (alias: string | null, as = merchant) =>
  world.host.call('POST', 'request', {
    as,
    body: { amount: 500, fromAsset: 'EUR', merchantIdentifier: as.merchantIdentifier, alias },
  })

/** Until a statement with this beginning waits for a lock, or the work is over without. */
const waits = (work: Promise<unknown>, statement: string) =>
  Promise.race([
    work,
    eventually(
      () =>
        world.host.db.many(sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
            and query like ${`%${statement}%`}`),
      (found) => found.length > 0,
    ),
  ])

/** On the other connection, as a creation writes it: an open order of this one's alias. */
const insertLike = ({ id }: Order) =>
  other.query(
    `insert into orders select (jsonb_populate_record(o, jsonb_build_object('id', o.id || 'x', 'code', o.code || 'x',
       'short_code', right(o.id, 12), 'status', 'INITIAL'))).* from orders o where id = $1`,
    [id],
  )

/** On the other connection, until its transaction ends. */
const lockAlias = (alias: string, shared = '') =>
  other.query(`select pg_advisory_xact_lock${shared}(hashtextextended('alias ' || $1 || ' ' || $2, 0))`, [
    merchant.companyId,
    alias,
  ])

async function onOther<Result>(work: () => Promise<Result>): Promise<Result> {
  await other.query('begin')
  try {
    return await work()
  } finally {
    await other.query('rollback')
  }
}

test('late money waits for a newer order of its alias that is being created, and for a person then', async () => {
  const old = await orderOf('CART-1')
  await expire(old)
  const { creation, late } = await onOther(async () => {
    // holds the creation up after its first step
    await insertLike(old)
    const creating = { creation: create('CART-1') }
    await waits(creating.creation, 'with input as')
    const both = { ...creating, late: receive(old) }
    await waits(both.late, 'pg_advisory_xact_lock(')
    return both
  })
  assert.equal((await creation).status, 200)
  await late
  assert.equal(await statusOf(old), 'EXPIRED')
  const records = await world.host.db.many<{ kind: string }>(
    sql`select kind from mispayments where order_id = ${old.id}`,
  )
  assert.deepEqual(records, [{ kind: 'late' }])
})

test('an order is created once what is decided about its alias is; others wait for nothing', async () => {
  const creation = await onOther(async () => {
    await lockAlias('CART-2')
    const waiting = create('CART-2').then((answer) => ({ answer, at: performance.now() }))
    await waits(waiting, 'with input as')
    for (const alias of [null, 'CART-3']) assert.equal((await create(alias)).status, 200)
    return { waiting, freeAt: performance.now() }
  })
  const { answer, at } = await creation.waiting
  assert.deepEqual([answer.status, at > creation.freeAt], [200, true])
})

const HELD: Record<string, (order: Order) => Promise<unknown>> = {
  'is decided about': async ({ alias }) => lockAlias(alias ?? ''),
  'is freed': ({ id }) => other.query("update orders set status = 'CANCELLED' where id = $1", [id]),
  'is taken by another creation': async (order) => {
    await other.query("update orders set status = 'CANCELLED' where id = $1", [order.id])
    await other.query('commit; begin')
    await lockAlias(order.alias ?? '', '_shared')
    await insertLike(order)
  },
}
for (const [what, hold] of Object.entries(HELD))
  test(`while an alias ${what}, creations that wait for it keep no other company waiting`, async () => {
    const alias = `CART ${what}`
    const order = await world.makeOrder(merchant, { alias })
    await create(null, neighbour)
    const answers = await onOther(async () => {
      await hold(order)
      const waiting = [create(alias)]
      await waits(Promise.all(waiting), 'with input as')
      waiting.push(create(alias), create(alias))
      // in a batch with theirs, and after it
      const own = [create(null, neighbour), create(alias, neighbour)]
      await setTimeout(100)
      own.push(create(`${alias} 2`, neighbour))
      const late = setTimeout(2000, undefined, { ref: false })
      const statuses = await Promise.race([Promise.all(own), late])
      assert.deepEqual(
        statuses?.map(({ status }) => status),
        [200, 200, 200],
        'within two seconds',
      )
      return waiting
    })
    // the other connection has undone what it did
    const statuses = await Promise.all(answers.map(async (answer) => (await answer).status))
    assert.deepEqual(statuses.toSorted(), what.startsWith('is taken') ? [200, 400, 400] : [400, 400, 400])
  })

test('of two creations of one alias at once one is refused, and orders beside them are made', async () => {
  const answers = await Promise.all(['CART-4', 'CART-5', 'CART-4', null].map((alias) => create(alias)))
  const statuses = answers.map(({ status }) => status)
  assert.deepEqual([statuses[1], statuses[3], [statuses[0], statuses[2]].toSorted()], [200, 200, [200, 400]])
})

for (const [what, change] of [
  ['expires because its money came late', (order: Order) => receive(order, new Date(order.expiresAt.getTime() + 1))],
  ['loses its payer’s name as its way to pay is chosen', (order: Order) => accept(order, { anonymous: true })],
] as const)
  test(`an order that ${what} and a creation of its alias never wait for each other`, async () => {
    const alias = `CART-${what.length}`
    const order = what.startsWith('expires')
      ? await orderOf(alias)
      : await world.makeOrder(merchant, { alias, anonymous: false })
    const changed = await onOther(async () => {
      await lockAlias(alias, '_shared')
      const work = change(order)
      await waits(work, 'pg_advisory_xact_lock(')
      await other.query("set local lock_timeout = '500ms'")
      await assert.rejects(insertLike(order), { code: '23505', constraint: 'orders__open_alias' }, 'at once')
      return { work }
    })
    await changed.work
    assert.notEqual(await statusOf(order), 'INITIAL')
  })

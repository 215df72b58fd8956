import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Registry } from 'prom-client'
import { sql } from '../src/db/db.ts'
import { HOUR, SECOND } from '../src/kernel/clock.ts'
import { AppError } from '../src/kernel/errors.ts'
import { expireOrders, openStuckExpiries } from '../src/orders/order-jobs.ts'
import type { TransitionOrder } from '../src/orders/order-transition.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'
import { openTransitionsOf } from './harness/transitions.ts'
import { keepLog } from './harness/webhook-world.ts'

/* An order whose expiry fails each time: its data are broken. */

let host: TestService
before(async () => {
  host = await startTestService()
})
after(() => host.stop())

type Created = { code: string; order: { _id: string } }

async function create(): Promise<Created> {
  const merchant = await host.createMerchant()
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
  return (await host.call<Created>('POST', 'request', { as: merchant, body })).data
}

const statusOf = async ({ code }: Created): Promise<string> =>
  (await host.call<{ status: string }>('GET', `status/${code}`)).data.status

test('an order that cannot expire is reported, tried again ever later, and keeps no other, of any company, from expiring', async () => {
  const [broken, later] = [await create(), await create()]
  const log = keepLog()
  const transition = openTransitionsOf(host)
  let tries = 0
  const refuse: TransitionOrder = async (tx, order, change) => {
    if (order.code !== broken.code) return transition(tx, order, change)
    tries += 1
    throw new Error('the row does not fit its index')
  }
  const stuck = openStuckExpiries({ log, metrics: new Registry() })
  const checked: string[] = []
  const checks = {
    chains: [],
    beforeEnd: async <Key extends { id: string }>(orders: readonly Key[]) => {
      checked.push(...orders.map(({ id }) => id))
      return orders
    },
    stuck,
  }
  const nowMs = Date.now() + HOUR
  assert.equal(await expireOrders(host.db, refuse, nowMs, checks), 1)
  assert.deepEqual([await statusOf(broken), await statusOf(later)], ['INITIAL', 'EXPIRED'])
  const said = log.lines.map(({ text }) => text)
  assert.deepEqual(said, [`order ${broken.order._id} could not expire; it is tried again`])
  for (let seconds = 1; seconds <= 120; seconds += 1)
    await expireOrders(host.db, refuse, nowMs + seconds * SECOND, checks)
  // after 2, 6, 14, 30 and 62 seconds, and then for a while each ten minutes
  assert.deepEqual([tries, stuck.count()], [6, 1])
  assert.equal(checked.filter((id) => id === broken.order._id).length, 6)
  const another = await create()
  assert.equal(await expireOrders(host.db, refuse, nowMs + 120 * SECOND, checks), 1)
  assert.equal(await statusOf(another), 'EXPIRED')

  const away = () => Promise.reject(new AppError('DATABASE_UNAVAILABLE', {}))
  await assert.rejects(expireOrders(host.db, away, nowMs + 2 * HOUR, checks), { code: 'DATABASE_UNAVAILABLE' })
  assert.equal(await expireOrders(host.db, transition, nowMs + 2 * HOUR, checks), 1)
  assert.deepEqual([await statusOf(broken), stuck.count()], ['EXPIRED', 0])
})

test('one that ended otherwise, or that other data let end, is no longer counted', async () => {
  const order = await create()
  const stuck = openStuckExpiries({ log: keepLog(), metrics: new Registry() })
  const checks = { chains: [], beforeEnd: async <Key>(orders: readonly Key[]) => orders, stuck }
  const refuse = () => Promise.reject(new Error('the row does not fit its index'))
  await expireOrders(host.db, refuse, Date.now() + HOUR, checks)
  assert.equal(stuck.count(), 1)
  await expireOrders(host.db, openTransitionsOf(host), Date.now() + HOUR)
  assert.equal(await statusOf(order), 'EXPIRED')
  await expireOrders(host.db, refuse, Date.now() + HOUR, checks)
  assert.equal(stuck.count(), 0)
})

test('an order that another node ended and its payer reopened since it was listed does not expire', async () => {
  const order = await create()
  const nowMs = Date.now() + HOUR
  const beforeEnd = async <Key>(orders: readonly Key[]) => {
    const until = new Date(nowMs + HOUR)
    await host.db.run(sql`update orders set status = 'PENDING', expires_at = ${until} where code = ${order.code}`)
    return orders
  }
  await expireOrders(host.db, openTransitionsOf(host), nowMs, { chains: [], beforeEnd })
  assert.equal(await statusOf(order), 'PENDING')
})

test('the metric counts them', async () => {
  await host.service.startWorkers()
  const metric = host.service.metrics.getSingleMetric('comptoir_expiries_failing')
  await eventually(
    async () => (await metric?.get())?.values[0]?.value,
    (count) => count === 0,
  )
})

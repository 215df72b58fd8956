import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { describe } from '../src/commands/backup/reconcile-words.ts'
import { sql } from '../src/db/db.ts'
import { markRestored } from '../src/db/restored-queries.ts'
import { HOUR } from '../src/kernel/clock.ts'
import { expireOrders } from '../src/orders/order-jobs.ts'
import { readOpenOrders } from '../src/orders/order-queries.ts'
import { noteReconciled } from './harness/restored.ts'
import { type Merchant, startTestService, type TestService } from './harness/service.ts'
import { openTransitionsOf } from './harness/transitions.ts'

/* Orders that were open in a backup: their shops may have been told since that they are paid. */

let host: TestService
let merchant: Merchant
before(async () => {
  host = await startTestService()
  merchant = await host.createMerchant()
  await host.db.run(sql`insert into installation (mode, key_mark) values ('sandbox', 'x') on conflict do nothing`)
})
after(() => host.stop())

async function create(): Promise<{ code: string; id: string }> {
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
  const { data } = await host.call<{ code: string; order: { _id: string } }>('POST', 'request', { as: merchant, body })
  return { code: data.code, id: data.order._id }
}

const statusOf = async ({ code }: { code: string }): Promise<string> =>
  (await host.call<{ status: string }>('GET', `status/${code}`)).data.status

const expire = () => expireOrders(host.db, openTransitionsOf(host), Date.now() + HOUR)

/** As the feed and webhooks tell it. */
const listTold = ({ id }: { id: string }) =>
  host.db.many<{ event: string }>(sql`
    select event from order_events where order_id = ${id} and event = 'order.expired'`)

const reconciled = { backupMadeAt: '2030-01-31T12:00:00.000Z', chains: [], withoutChains: [], faults: [] }

test('an order of before a restore does not end before it is reconciled, which names it; a later one does', async () => {
  const old = await create()
  const restoredAt = new Date(Date.now() + 1)
  await host.db.tx((tx) => markRestored(tx, { backupMadeAt: restoredAt, restoredAt }))
  await new Promise((resolve) => setTimeout(resolve, 5))
  const fresh = await create()
  assert.equal(await expire(), 1)
  assert.deepEqual([await statusOf(fresh), await listTold(old)], ['EXPIRED', []])
  const openOrders = await readOpenOrders(host.db, restoredAt, 50)
  assert.deepEqual([openOrders.count, openOrders.first.map(({ code }) => code)], [1, [old.code]])
  const words = describe({ ...reconciled, openOrders, refundsUnderWay: 0, ledger: 'right', released: false }).join('\n')
  assert.match(words, /not known as paid here yet: 1 order\./)
  assert.ok(words.includes(`${old.code} of `) && /Ask their shops: one that was told “paid”/.test(words), words)
  await noteReconciled(host.db)
  assert.equal(await expire(), 1)
  assert.deepEqual([await statusOf(old), (await listTold(old)).length], ['EXPIRED', 1])
  assert.deepEqual(await readOpenOrders(host.db, restoredAt, 50), { count: 0, first: [] })
})

test('only so many of the open orders are named, and the rest is counted', async () => {
  const orders = [await create(), await create(), await create()]
  const openOrders = await readOpenOrders(host.db, new Date(Date.now() + HOUR), 2)
  assert.deepEqual([openOrders.count, openOrders.first.length], [orders.length, 2])
  const words = describe({ ...reconciled, openOrders, refundsUnderWay: 0, ledger: 'right', released: true }).join('\n')
  assert.match(words, /3 orders\.\n.*\n.*\n {2}and 1 more; the back office lists them/)
})

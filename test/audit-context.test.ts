import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { createPaid, newAddress, payoutEnv } from './harness/refunds.ts'
import { openShop, type Shop } from './harness/shop.ts'

let shop: Shop

before(async () => {
  shop = await openShop({ env: payoutEnv })
})
after(() => shop?.stop())

type Row = { action: string; ip: string | null; userAgent: string | null; requestId: string | null; actor: string }

test('every entry about money says who asked, from which address, with which program, in which request', async () => {
  const { host, merchant } = shop
  const headers = { 'user-agent': 'ShopServer/7', 'x-request-id': 'money-test-1' }
  const order = await createPaid(shop)
  const body = { address: newAddress(), amount: '1' }
  assert.equal((await host.call('POST', `revert/${order.code}`, { as: merchant, body, headers })).status, 200)
  const rows = await host.db.many<Row>(
    sql`select action, ip, user_agent, request_id, actor from audit_log order by seq`,
  )
  assert.ok(rows.some(({ action }) => action === 'refund.revert'))
  for (const row of rows) {
    assert.deepEqual([row.ip, row.userAgent, row.requestId], ['127.0.0.1', 'ShopServer/7', 'money-test-1'], row.action)
    assert.match(row.actor, /^apiKey:[0-9a-f]{24}$/)
  }
})

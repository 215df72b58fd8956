import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { type MoneyDesk, openMoneyDesk } from './harness/money.ts'
import { createPaid, newAddress, payoutEnv } from './harness/refunds.ts'
import { openShop, type Shop } from './harness/shop.ts'

let shop: Shop
let desk: MoneyDesk

before(async () => {
  shop = await openShop({ env: payoutEnv })
  desk = await openMoneyDesk(shop)
  await shop.host.db.run(sql`update companies set settlement_address = ${newAddress()}, settlement_network = 31337
    where id = ${shop.merchant.companyId}`)
})
after(() => shop?.stop())

type Row = { action: string; ip: string | null; userAgent: string | null; requestId: string | null; actor: string }

const listRows = (): Promise<Row[]> =>
  shop.host.db.many<Row>(sql`select action, ip, user_agent, request_id, actor from audit_log order by seq`)

test('every entry about money says who asked, from which address, with which program, in which request', async () => {
  const { host, merchant } = shop
  const headers = { 'user-agent': 'ShopServer/7', 'x-request-id': 'money-test-1' }
  const order = await createPaid(shop)
  const body = { address: newAddress(), amount: '1' }
  assert.equal((await host.call('POST', `revert/${order.code}`, { as: merchant, body, headers })).status, 200)
  const rows = (await listRows()).filter(({ actor }) => actor.startsWith('apiKey:'))
  assert.ok(rows.some(({ action }) => action === 'refund.revert'))
  for (const row of rows) {
    assert.deepEqual([row.ip, row.userAgent, row.requestId], ['127.0.0.1', 'ShopServer/7', 'money-test-1'], row.action)
    assert.match(row.actor, /^apiKey:[0-9a-f]{24}$/)
  }
})

test('decisions about stray money and settlements say the same of the person', async () => {
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 30_000_000n)
  assert.equal((await desk.ignore(await desk.openRecord(order, 'under', 30_000_000n))).status, 200)
  await createPaid(shop)
  const { companyId } = shop.merchant
  const made = await desk.admin.post<{ _id: string }>('settlements', { companyId })
  assert.equal(made.status, 200, made.text)
  assert.equal((await desk.admin.post(`settlements/${made.data._id}/cancel`)).status, 200)
  const rows = await listRows()
  for (const action of ['mispayment.ignore', 'settlement.create', 'settlement.cancel']) {
    const row = rows.find((one) => one.action === action)
    assert.equal(row?.ip, '127.0.0.1', action)
    assert.equal(row.userAgent, 'node', action)
    assert.match(row.requestId ?? '', /^[\w.-]{8,64}$/, action)
    assert.match(row.actor, /^user:[0-9a-f]{24}$/, action)
  }
})

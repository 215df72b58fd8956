import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { ORDER_STATUSES } from '../src/orders/order-states.ts'
import { registerManager } from './harness/accounts.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* Conversations of clients that were written against the older service, as they were recorded. */

const OLD = '/api/confirm_conversion'
let shop: Shop
before(async () => {
  shop = await openShop()
})
after(() => shop?.stop())

const EXPECTED: Record<string, string> = {
  ...{ INITIAL: 'state:created', PENDING: 'state:pending', AWAITING: 'state:pending', PAID: 'state:executed' },
  ...{ WAITING_CHAIN_CONFIRMATION: 'state:pending', REFUNDING: 'state:executed', REFUNDED: 'state:executed' },
  ...{ FULL_REFUNDED: 'state:executed', EXPIRED: 'state:expired', CANCELLED: 'state:cancelled' },
  ...{ ERROR: 'state:error', KYT_FAILED: 'state:error' },
}

test('status reads under /api carry data.state beside status for all twelve states, under /api/next they do not', async () => {
  const { code, _id } = await shop.create({ alias: 'CURRENTORDER-LZ-17' })
  for (const status of ORDER_STATUSES) {
    await shop.host.db.run(sql`update orders set status = ${status} where id = ${_id}`)
    for (const path of [`${OLD}/status/${code}`, `${OLD}/status/order/CURRENTORDER-LZ-17`]) {
      const { data } = await shop.host.call<{ status: string; state: string }>('GET', path, { as: shop.merchant })
      assert.deepEqual([data.status, data.state], [status, EXPECTED[status]], path)
    }
  }
  const now = await shop.host.call('GET', `status/${code}`)
  assert.ok(!('state' in now.data))
  const unknown = await shop.host.call('GET', `${OLD}/status/nope`)
  assert.deepEqual([unknown.status, unknown.error.code], [404, 'ORDER_NOT_FOUND'])
})

test('an order with a float as PHP prints it and a numeric quantity is made, and a numeric refund is taken', async () => {
  const { merchantIdentifier } = shop.merchant
  const raw = `{"amount":30.299999999999997,"fromAsset":"EUR","merchantIdentifier":"${merchantIdentifier}",
    "goods":{"goodsName":"products","goodsType":"01","goodsCategory":"Z000","goodsQuantity":2}}`
  const made = await shop.host.call<{ code: string; order: { fromAmount: string; goods: { goodsQuantity: string } } }>(
    'POST',
    `${OLD}/request`,
    { as: shop.merchant, raw },
  )
  assert.equal(made.status, 200, made.text)
  assert.deepEqual([made.data.order.fromAmount, made.data.order.goods.goodsQuantity], ['30.30', '2'])
  const { code, toAddress, units } = await shop.createAwaiting()
  await shop.chain.pay({ to: toAddress, units })
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
  const refused = await shop.host.call('POST', `${OLD}/revert/${code}`, { as: shop.merchant, raw: '{"amount":1e21}' })
  assert.equal(refused.status, 422)
  const done = await shop.host.call('POST', `${OLD}/revert/${code}`, { as: shop.merchant, raw: '{"amount":4.5}' })
  assert.equal(done.status, 200, done.text)
  const row = await shop.host.db.one<{ units: bigint }>(sql`
    select r.units from refunds r join orders o on o.id = r.order_id where o.code = ${code}`)
  assert.equal(Number(row.units), 4_500_000)
})

test('a date without a time is that whole day, UTC, on both sides', async () => {
  const { _id, code } = await shop.create()
  const at = (time: string) => shop.host.db.run(sql`update orders set created_at = ${new Date(time)} where id = ${_id}`)
  const lists = async (query: string): Promise<boolean> => {
    const { status, data, text } = await shop.host.call<{ orders: { code: string }[] }>('GET', `${OLD}?${query}`, {
      as: shop.merchant,
    })
    assert.equal(status, 200, text)
    return data.orders.some((order) => order.code === code)
  }
  for (const [time, isIn] of [
    ['2026-07-02T23:59:59.999Z', false],
    ['2026-07-03T00:00:00.000Z', true],
    ['2026-07-03T23:59:59.999Z', true],
    ['2026-07-04T00:00:00.000Z', false],
  ] as const) {
    await at(time)
    assert.equal(await lists('from=2026-07-03&to=2026-07-03&limit=100'), isIn, time)
  }
  const wrong = await shop.host.call('GET', `${OLD}?from=2026-7-3`, { as: shop.merchant })
  assert.equal(wrong.status, 422)
})

test('closing the modal deletes the session without /next, and repeating it or a stranger does no harm', async () => {
  const { client } = await registerManager(shop.host.baseUrl)
  const button = await client.post<{ _id: string }>('buy-buttons', {
    name: 'Tea',
    websiteUrl: 'https://tea.example',
    price: '5',
    currency: 'EUR',
  })
  const session = await client.post<{ _id: string }>('buy-button/sessions', {
    button: button.data._id,
    orderRef: 'CURRENTORDER-LZ-18',
  })
  const path = `/api/buy-button/sessions/${session.data._id}`
  const stranger = await shop.host.call('DELETE', path, { as: shop.merchant })
  assert.deepEqual([stranger.status, stranger.error.code], [404, 'OBJECT_NOT_FOUND'])
  const read = async () => (await client.get<{ ended: boolean }>(`buy-button/sessions/${session.data._id}`)).data
  assert.equal((await read()).ended, false)
  assert.equal((await client.call('DELETE', path)).status, 200)
  assert.equal((await read()).ended, true)
})

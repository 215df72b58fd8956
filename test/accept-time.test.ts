import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { type Market, openMarket } from './harness/market.ts'

/* A way to pay that is chosen in the order's last seconds, or after them. */

let market: Market
before(async () => {
  market = await openMarket()
})
after(() => market?.stop())

const endsIn = (orderId: string, seconds: number) =>
  market.host.db.run(sql`
    update orders set expires_at = now() + make_interval(secs => ${seconds}) where id = ${orderId}`)
const secondsTo = (at: string | number | null | undefined): number => (new Date(at ?? 0).getTime() - Date.now()) / 1000

for (const channel of ['binance', 'gatepay', 'kucoinpay', 'cryptopay', 'whitepay', 'coinbase'])
  test(`who chooses ${channel} in the last seconds has time to pay there`, async () => {
    const { code, _id } = await market.create()
    await endsIn(_id, 4)
    const { data, text } = await market.accept(code, channel)
    assert.equal(data?.status, 'AWAITING', text)
    assert.ok(secondsTo(data.expiresAt) > 110, text)
    assert.ok(secondsTo((await market.order(code)).expiresAt) > 110)
    const [payment] = await market.paymentsOf(_id)
    assert.ok(payment && secondsTo(payment.expiresAt) > 110, JSON.stringify(payment))
  })

/** An order whose payer chooses in its last seconds, and whose past can be moved. */
async function createHeld(more: Record<string, unknown> = {}) {
  const { code, _id } = await market.create(more)
  return {
    code,
    choose: async (channel: string, body: object = {}) => {
      await endsIn(_id, 4)
      const { data, text } = await market.accept(code, channel, body)
      assert.equal(data?.status, 'AWAITING', text)
      return secondsTo((await market.order(code)).expiresAt)
    },
    /** Makes what happened so far that many minutes older. */
    passes: (minutes: number) =>
      market.host.db.run(sql`
        update order_events set at = at - make_interval(mins => ${minutes}), facts = jsonb_set(facts, '{expiresAt}',
          to_jsonb((facts->>'expiresAt')::timestamptz - make_interval(mins => ${minutes})))
        where order_id = ${_id}`),
  }
}

test('who comes back to a payment link shortly before its end has time to pay, but not for ever', async () => {
  const { choose, passes } = await createHeld({ alias: 'LINK-HELD', expiryMinutes: 120 })
  await choose('binance')
  await passes(119)
  assert.ok((await choose('gatepay')) > 100)
  await passes(4)
  assert.ok((await choose('binance')) < 5)
})

test('who goes on choosing keeps the price for an hour, not for ever; a fresh price begins anew', async () => {
  const { code, choose, passes } = await createHeld()
  await choose('binance')
  await passes(58)
  assert.ok((await choose('gatepay')) > 100)
  await passes(1)
  const left = await choose('binance')
  assert.ok(left > 5 && left < 61, `${left} s: what is left of the hour`)
  await passes(1)
  assert.ok((await choose('gatepay')) < 5, 'the hour is over')
  await market.host.call('POST', `expire/${code}`, { as: market.merchant })
  assert.ok((await choose('binance', { requote: true })) > 100)
  await passes(1)
  assert.ok((await choose('gatepay')) > 100)
})

test('who goes on choosing the own wallet keeps the price for an hour, too', async () => {
  const { code, choose, passes } = await createHeld()
  assert.ok((await choose('crypto')) > 890)
  await choose('binance')
  await passes(50)
  const left = await choose('crypto')
  assert.ok(left > 540 && left < 601, `${left} s: what is left of the hour, for the address that was left`)
  await choose('binance')
  await passes(10)
  assert.ok((await choose('crypto')) < 5, 'the hour is over')
  await market.host.call('POST', `expire/${code}`, { as: market.merchant })
  assert.ok((await choose('crypto', { requote: true })) > 890, 'a fresh price')
})

test('an order that has more time than that keeps its end', async () => {
  const { code, expiresAt } = await market.create()
  assert.equal((await market.accept(code, 'binance')).data?.expiresAt, expiresAt)
  const link = await market.create({ alias: 'LINK-LONG', expiryMinutes: 120 })
  assert.equal((await market.accept(link.code, 'crypto')).data?.expiresAt, link.expiresAt)
})

test('an order whose time is over names the way to a fresh price, whether or not a job has ended it', async () => {
  const { code, _id } = await market.create()
  await endsIn(_id, -1)
  const just = await market.accept(code, 'binance')
  assert.equal(just.error?.code, 'ORDER_STATE_CONFLICT', just.text)
  assert.match(just.error.message, /accept it with "requote": true/)
  await market.host.call('POST', `expire/${code}`, { as: market.merchant })
  const ended = await market.accept(code, 'binance')
  assert.equal(ended.error?.code, 'ORDER_STATE_CONFLICT', ended.text)
  assert.match(ended.error.message, /The order is EXPIRED.*accept it with "requote": true/)
  const cancelled = await market.create()
  await market.host.call('POST', `cancel/${cancelled.code}`, { as: market.merchant })
  assert.doesNotMatch((await market.accept(cancelled.code, 'binance')).error.message, /requote/)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { type Market, openMarket } from './harness/market.ts'
import { startProxy, type TestProxy } from './harness/proxy.ts'
import { eventually } from './harness/service.ts'
import type { OrderData } from './harness/shop.ts'

let market: Market
let wire: TestProxy
const HUNG = 5

before(async () => {
  // the address of the imitations is known only once they run
  market = await openMarket({
    async envOf(credentials) {
      wire = await startProxy(new URL(credentials.CHANNEL_BINANCE_BASE_URL ?? '').origin)
      const { pathname } = new URL(credentials.CHANNEL_BINANCE_BASE_URL ?? '')
      return { CHANNEL_BINANCE_BASE_URL: wire.url + pathname }
    },
  })
})
after(async () => {
  await wire?.stop()
  await market?.stop()
})

async function createPaid(channel: string): Promise<{ order: OrderData; reference: string }> {
  const made = await market.createAwaiting(channel)
  await market.act(made.reference, 'pay')
  await market.reaches(made.order.code, 'PAID')
  return made
}
const revert = (code: string) => market.host.call('POST', `revert/${code}`, { as: market.merchant })

test('five hung refunds at one provider do not delay another’s, and each of them goes out once', async () => {
  const stuck = await Promise.all(Array.from({ length: HUNG }, () => createPaid('binance')))
  const healthy = await createPaid('kucoinpay')
  wire.hang()
  for (const { order } of stuck) assert.equal((await revert(order.code)).status, 200)
  await eventually(
    async () =>
      (
        await market.host.db.one<{ sent: number }>(sql`
        select count(*)::int as sent from refunds where status = 'submitted' and channel = 'binance'`)
      ).sent,
    (sent) => sent === HUNG,
  )
  assert.equal((await revert(healthy.order.code)).status, 200)
  // a hung call is given up after ten seconds: within six, none of the five is
  await eventually(
    () => market.order(healthy.order.code),
    ({ status }) => status === 'FULL_REFUNDED',
    6000,
  )
  for (const { order } of stuck) assert.equal((await market.order(order.code)).status, 'REFUNDING', 'unknown is no end')
  wire.mend()
  // a call that hangs, an open circuit and the next gap may follow each other
  for (const { order, reference } of stuck) {
    await eventually(
      () => market.order(order.code),
      ({ status }) => status === 'FULL_REFUNDED',
      120_000,
    )
    const kept = (await market.paymentsOf(order._id)).find((one) => one.reference === reference)
    assert.equal(kept?.refunds.length, 1)
  }
})

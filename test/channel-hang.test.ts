import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { type Market, openMarket } from './harness/market.ts'
import { eventually } from './harness/service.ts'

let market: Market
let hole: Server
const sockets = new Set<Socket>()

before(async () => {
  // takes every connection and never says a word
  hole = createServer((socket) => void sockets.add(socket.on('error', () => {}))).listen(0, '127.0.0.1')
  await once(hole, 'listening')
  const { port } = hole.address() as AddressInfo
  market = await openMarket({ env: { CHANNEL_KUCOINPAY_BASE_URL: `http://127.0.0.1:${port}` } })
})
after(async () => {
  for (const socket of sockets) socket.destroy()
  hole?.close()
  await market?.stop()
})

test('a provider that hangs is given up after ten seconds, its order waits, and no other provider’s is held up', async () => {
  const stuck = await market.create()
  const begun = Date.now()
  const answer = await market.accept(stuck.code, 'kucoinpay')
  assert.deepEqual([answer.status, answer.error.code], [502, 'CHANNEL_UNAVAILABLE'])
  assert.ok(Date.now() - begun < 14_000, 'the payer is told in time')
  assert.equal((await market.order(stuck.code)).status, 'PENDING')
  // from now on the job asks again, and hangs for another ten seconds
  const asked = sockets.size
  await eventually(
    async () => sockets.size,
    (count) => count > asked,
  )
  const { order, reference } = await market.createAwaiting('binance')
  await market.act(reference, 'pay')
  await eventually(
    () => market.order(order.code),
    ({ status }) => status === 'PAID',
    4000,
  )
  // what only the job does goes on, too
  const given = await market.createAwaiting('gatepay')
  await market.host.call('POST', `cancel/${given.order.code}`, { as: market.merchant })
  await eventually(
    async () => (await market.paymentsOf(given.order._id))[0]?.state,
    (state) => state === 'closed',
    4000,
  )
  assert.equal((await market.order(stuck.code)).status, 'PENDING', 'unknown is not failure')
})

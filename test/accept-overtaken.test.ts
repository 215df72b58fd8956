import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Channel, NO_INSTRUCTIONS, paidReport } from '../src/channels/channel.ts'
import { ProviderTrouble } from '../src/channels/provider-errors.ts'
import { sql } from '../src/db/db.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { findPayment } from '../src/payments/payment-queries.ts'
import { type PaymentDeps, pollPayment } from '../src/payments/payment-service.ts'
import { actorOf, contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { openChannels } from './harness/one-channel-set.ts'

/* The payer chooses another channel while the provider of the first one has not answered yet. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld()
})
after(() => world?.stop())

function channelOf(id: 'binance' | 'kucoinpay', answer: Promise<unknown>, closed: string[]): Channel {
  return {
    id,
    networks: [],
    async createPayment({ merchantReference }) {
      await answer
      return {
        ...NO_INSTRUCTIONS,
        checkoutUrl: `https://${id}.example`,
        providerReference: `${id}-${merchantReference}`,
      }
    },
    async closePayment({ providerReference }) {
      closed.push(providerReference)
    },
    fetchPayment: async ({ providerReference }) => ({
      ...{ outcome: closed.includes(providerReference) ? 'expired' : 'waiting', providerReference },
      providerStatus: 'model',
    }),
  }
}

test('a channel that answers after another one was chosen shows its payment to no one, and is told to close it', async () => {
  const slow = Promise.withResolvers<void>()
  const closed: string[] = []
  const channels = openChannels([
    channelOf('binance', slow.promise, closed),
    channelOf('kucoinpay', Promise.resolve(), closed),
  ])
  const deps: PaymentDeps = { ...world.payments, channels }
  const merchant = await world.host.createMerchant()
  const { id: orderId, code, companyId } = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  const accept = (paymentChannel: string) => acceptOrder(deps, { context, code, body: { paymentChannel } })
  const first = accept('binance')
  const find = () => world.host.db.maybe<{ id: string }>(sql`select id from payments where order_id = ${orderId}`)
  let started = await find()
  while (!started) started = await find()
  assert.equal((await accept('kucoinpay')).checkoutUrl, 'https://kucoinpay.example')
  slow.resolve()
  await assert.rejects(first, { code: 'ORDER_STATE_CONFLICT', message: /accepted again meanwhile, through kucoinpay/ })
  const payment = await findPayment(world.host.db, companyId, started.id)
  assert.ok(payment)
  assert.deepEqual([payment.status, payment.providerReference], ['closing', `binance-${orderId}01`])
  await pollPayment(deps, payment)
  assert.deepEqual(closed, [`binance-${orderId}01`])
  assert.equal((await findPayment(world.host.db, companyId, started.id))?.status, 'closed')
})

test('money that comes to an abandoned payment is seen, also while its provider refuses to close it', async () => {
  let said: 'waiting' | 'paid' = 'waiting'
  const paying: Channel = {
    ...channelOf('binance', Promise.resolve(), []),
    async closePayment() {
      throw new ProviderTrouble('paid or has any payment activity on the way')
    },
    fetchPayment: async ({ providerReference }) =>
      said === 'paid'
        ? paidReport(providerReference, { final: DUE, providerStatus: 'PAID' })
        : { outcome: 'waiting', providerReference, providerStatus: 'PENDING' },
  }
  const deps = { ...world.payments, channels: openChannels([paying, channelOf('kucoinpay', Promise.resolve(), [])]) }
  const merchant = await world.host.createMerchant()
  const { id: orderId, code, companyId } = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  for (const paymentChannel of ['binance', 'kucoinpay'])
    await acceptOrder(deps, { context, code, body: { paymentChannel } })
  const { id } = await world.host.db.one<{ id: string }>(
    sql`select id from payments where order_id = ${orderId} and channel = 'binance'`,
  )
  const find = async () => {
    const payment = await findPayment(world.host.db, companyId, id)
    assert.ok(payment)
    return payment
  }
  await assert.rejects(pollPayment(deps, await find()), ProviderTrouble)
  assert.equal((await find()).status, 'closing', 'it is closed by a later poll')
  said = 'paid'
  await pollPayment(deps, await find())
  const paid = await find()
  assert.deepEqual([paid.status, paid.receivedUnits], ['paid', DUE])
  const { status } = await world.host.db.one<{ status: string }>(sql`select status from orders where id = ${orderId}`)
  assert.equal(status, 'PAID')
})

test('a poll that was about to close an attempt leaves it open when its payer comes back meanwhile', async () => {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const place = { ...NO_INSTRUCTIONS, toAddress: '0xA', tokenAmount: '54.000000', providerReference: '0xA' }
  const wallet: Channel = {
    ...channelOf('binance', Promise.resolve(), []),
    ...{ id: 'crypto', onChain: true },
    createPayment: async () => place,
    reopenPayment: async () => place,
    async fetchPayment({ providerReference }) {
      asked.resolve()
      await answer.promise
      return { ...paidReport(providerReference, { final: 0n, providerStatus: '0 transfers' }) }
    },
  }
  const deps = { ...world.payments, channels: openChannels([wallet, channelOf('kucoinpay', Promise.resolve(), [])]) }
  const merchant = await world.host.createMerchant()
  const { id: orderId, code, companyId } = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  const accept = (paymentChannel: string) => acceptOrder(deps, { context, code, body: { paymentChannel } })
  await accept('crypto')
  await accept('kucoinpay')
  const { id } = await world.host.db.one<{ id: string }>(
    sql`select id from payments where order_id = ${orderId} and channel = 'crypto'`,
  )
  const find = async () => {
    const payment = await findPayment(world.host.db, companyId, id)
    assert.ok(payment)
    return payment
  }
  const poll = pollPayment(deps, await find())
  await asked.promise
  assert.equal((await accept('crypto')).toAddress, '0xA')
  answer.resolve()
  await poll
  const { status, abandonedAt } = await find()
  assert.deepEqual([status, abandonedAt], ['awaiting', null])
})

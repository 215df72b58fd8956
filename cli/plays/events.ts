import type { EventType, Order } from '../../sdk/index.ts'
import { until } from '../sandbox.ts'
import type { Stage } from './stage.ts'

export type Play = { description: string; act(stage: Stage): Promise<Order> }

async function identity(stage: Stage, answer: 'approve' | 'refuse' | null): Promise<{ order: Order; kycId: string }> {
  const { client, sandbox, say } = stage
  const order = await stage.order()
  await client.api.setPayerEmail({
    code: order.code,
    body: { email: `payer-${order.shortCode}@mail.example`.toLowerCase() },
  })
  const { kycId, url } = await client.api.startKyc({ body: { code: order.code } })
  say(`${order.code}: the identity check ${kycId} is pending`)
  if (answer === null) return { order, kycId }
  // opening the payer's page creates the applicant at the provider
  await fetch(url)
  await sandbox.decideIdentity(kycId, answer)
  const wanted = answer === 'approve' ? 'approved' : 'refused'
  await until(`The identity check to be ${wanted}`, async () => {
    const { status } = await client.api.getKyc({ id: kycId })
    return status === wanted ? true : undefined
  })
  say(`${order.code}: the identity check is ${wanted}`)
  return { order, kycId }
}

async function complete(stage: Stage): Promise<Order> {
  const { order, kycId } = await identity(stage, 'approve')
  const operator = await stage.sandbox.operator()
  await operator.api.requestEdd({ id: kycId, body: { reason: 'played by comptoir trigger' } })
  await operator.api.completeEdd({ id: kycId, body: { outcome: 'approved', spendingLimit: '15000.00' } })
  stage.say(`${order.code}: the enhanced check is completed`)
  return order
}

async function refunded(stage: Stage, amount: string | undefined): Promise<Order> {
  const order = await stage.paid()
  await stage.client.orders.refund(order.code, amount ? { amount } : {})
  return stage.becomes(order, amount ? 'REFUNDED' : 'FULL_REFUNDED')
}

const through = async (stage: Stage, channel: 'gatepay' | 'kucoinpay', action: string): Promise<Order> => {
  const order = await stage.order()
  const reference = await stage.accept(order, channel)
  await stage.sandbox.act(reference, action)
  return order
}

/** How to trigger each event for real. */
export const EVENT_PLAYS: Record<EventType, Play> = {
  'order.initial': { description: 'an order is created', act: (stage) => stage.order() },
  'order.pending': {
    description: 'the payer chooses a channel',
    async act(stage) {
      const order = await stage.order()
      await stage.accept(order, 'kucoinpay')
      return stage.becomes(order, 'AWAITING')
    },
  },
  'order.awaiting': {
    description: 'the provider knows the payment',
    async act(stage) {
      const order = await stage.order()
      await stage.accept(order, 'kucoinpay')
      return stage.becomes(order, 'AWAITING')
    },
  },
  'order.waiting_chain_confirmation': {
    description: 'the payer sends USDC on the test chain',
    async act(stage) {
      const order = await stage.order()
      const to = await stage.accept(order, 'crypto')
      await stage.sandbox.payFromWallet(to, order.toAmount)
      return stage.becomes(order, ['WAITING_CHAIN_CONFIRMATION', 'PAID'])
    },
  },
  'order.paid': { description: 'the payer pays', act: (stage) => stage.paid() },
  'order.cancelled': {
    description: 'the shop cancels',
    async act(stage) {
      const order = await stage.order()
      await stage.client.orders.cancel(order.code)
      return stage.becomes(order, 'CANCELLED')
    },
  },
  'order.error': {
    description: 'the provider declines the payment',
    act: async (stage) => stage.becomes(await through(stage, 'kucoinpay', 'fail'), 'ERROR'),
  },
  'order.expired': {
    description: 'the order’s time is over',
    async act(stage) {
      const order = await stage.order()
      await stage.client.orders.expire(order.code)
      return stage.becomes(order, 'EXPIRED')
    },
  },
  'order.kyt_failed': {
    description: 'the provider’s screening holds the money',
    act: async (stage) => stage.becomes(await through(stage, 'gatepay', 'block'), 'KYT_FAILED'),
  },
  'order.refunding': { description: 'a refund begins, and settles', act: (stage) => refunded(stage, undefined) },
  'order.refunded': { description: 'a part is refunded', act: (stage) => refunded(stage, '4.00') },
  'order.full_refunded': { description: 'everything is refunded', act: (stage) => refunded(stage, undefined) },
  'kyc.pending': { description: 'an identity check begins', act: async (stage) => (await identity(stage, null)).order },
  'kyc.approved': {
    description: 'the check is approved',
    act: async (stage) => (await identity(stage, 'approve')).order,
  },
  'kyc.refused': { description: 'the check is refused', act: async (stage) => (await identity(stage, 'refuse')).order },
  'kyc.edd_completed': { description: 'an enhanced check ends', act: complete },
}

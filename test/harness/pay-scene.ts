import { NO_INSTRUCTIONS } from '../../src/channels/channel.ts'
import { newId } from '../../src/ids.ts'
import type { Order } from '../../src/orders/order.ts'
import { findOrderByCode, lockOrderByCode } from '../../src/orders/order-queries.ts'
import type { Trigger } from '../../src/orders/order-states.ts'
import { openAnnounce, openTransition, type TransitionOrder } from '../../src/orders/order-transition.ts'
import { insertPayment, lockPayment, updatePaymentInstructions } from '../../src/payments/payment-queries.ts'
import { applyReport } from '../../src/payments/payment-report.ts'
import type { Merchant, TestService } from './service.ts'

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

/** Moves orders as another node of the service would: through the services, with no word to the node under test. */
export type PayScene = {
  create(body?: Record<string, unknown>): Promise<string>
  /** The order waits for money at a deposit address. @returns the payment link */
  assignAddress(code: string): Promise<string>
  /** The chain tells of money: units of USDC, final or still to be confirmed. */
  report(code: string, money: { final?: bigint; pending?: bigint }): Promise<void>
  move(code: string, trigger: Trigger): Promise<void>
}

export function openPayScene(host: TestService, merchant: Merchant): PayScene {
  const { db, vault, config } = host
  const deps = { clock: Date.now, vault, payUrl: config.payUrl, signals: { onDelivery: () => {}, onChange: () => {} } }
  const transition: TransitionOrder = openTransition(deps, openAnnounce(deps))
  const by = { actor: 'test', requestId: null }
  const withOrder = <Result>(
    code: string,
    work: (tx: Parameters<typeof lockOrderByCode>[0], order: Order) => Promise<Result>,
  ) =>
    db.tx(async (tx) => {
      const order = await lockOrderByCode(tx, code)
      if (!order) throw new Error(`no order ${code}`)
      return work(tx, order)
    })
  return {
    async create(body = {}) {
      const order = { amount: 54, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier, ...body }
      const { data, text } = await host.call<{ code: string }>('POST', 'request', { as: merchant, body: order })
      if (!data) throw new Error(text)
      return data.code
    },
    assignAddress: (code) =>
      withOrder(code, async (tx, order) => {
        const at = new Date()
        const { companyId } = order
        const key = { companyId, id: newId() }
        await insertPayment(tx, {
          ...key,
          orderId: order.id,
          number: 1,
          channel: 'crypto',
          merchantReference: `${order.id}01`,
          network: 31337,
          dueUnits: order.to.units,
          userAddress: null,
          payerEmailSealed: null,
          pastOrders: null,
          cancelUrl: null,
          returnUrl: null,
          nextCheckAt: new Date(at.getTime() + 3_600_000),
          at,
        })
        const accepted = await transition(tx, order, {
          ...by,
          trigger: 'accept',
          change: { paymentChannel: 'crypto', paymentId: key.id },
        })
        const payment = await lockPayment(tx, companyId, key.id)
        if (!payment) throw new Error('the payment was not stored')
        const paymentUri = `ethereum:${TOKEN}@31337/transfer?address=${ADDRESS}&uint256=${order.to.units}`
        const tokenAmount = (Number(order.to.units) / 1e6).toFixed(6)
        const crypto = { toAddress: ADDRESS, tokenAmount, tokenAddress: TOKEN, network: 31337, paymentUri }
        const instructions = { ...NO_INSTRUCTIONS, ...crypto, qrData: paymentUri, providerReference: ADDRESS }
        await updatePaymentInstructions(tx, payment, instructions, null, at)
        const expiresAt = new Date(at.getTime() + 15 * 60_000)
        await transition(tx, accepted, { ...by, trigger: 'forward', change: { expiresAt } })
        return paymentUri
      }),
    async report(code, { final = 0n, pending = 0n }) {
      const order = await findOrderByCode(db, code)
      if (!order?.paymentId) throw new Error(`${code} waits for no payment`)
      const money = { final, pending, payerAddresses: [], words: 'seen by the test', providerReference: ADDRESS }
      const key = { companyId: order.companyId, id: order.paymentId }
      await applyReport({ db, clock: Date.now, transition }, key, { outcome: 'seen', ...money })
    },
    move: (code, trigger) =>
      withOrder(code, async (tx, order) => {
        await transition(tx, order, { ...by, trigger })
      }),
  }
}

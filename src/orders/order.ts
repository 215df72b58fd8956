import type { Goods } from '../kernel/goods.ts'
import { EXPONENTS, type Fiat, formatDecimal, formatMoney, type Money, RATE_EXPONENT } from '../kernel/money.ts'
import type { OrderStatus } from './order-states.ts'

export type Order = {
  companyId: string
  id: string
  code: string
  shortCode: string
  status: OrderStatus
  alias: string | null
  from: Money & { asset: Fiat }
  to: Money
  /** Scaled by 10^RATE_EXPONENT. */
  rate: bigint
  quoteId: string
  paymentChannel: string | null
  paymentId: string | null
  collectorId: string | null
  merchantIdentifier: string | null
  websiteUrl: string | null
  buttonSessionId: string | null
  webhookUrl: string | null
  cancelUrl: string | null
  returnUrl: string | null
  goods: Goods | null
  anonymous: boolean
  createdBy: string | null
  requestId: string | null
  createdAt: Date
  updatedAt: Date
  expiresAt: Date
  paidAt: Date | null
  /** Settled units of `to.asset`, final. */
  paidUnits: bigint
  refundedUnits: bigint
  version: number
}

/** What the interface calls Order: strings, every key present, absent values null. */
export type OrderView = {
  _id: string
  code: string
  shortCode: string
  fromAmount: string
  toAmount: string
  fromAsset: string
  toAsset: string
  status: OrderStatus
  paymentChannel: string | null
  webhookUrl?: string | null
  alias: string | null
  goods: Goods | null
  createdAt: string
  updatedAt: string
  expiresAt: string
  paidAt: string | null
  refundedAmount: string
  rate: string
  paymentUrl: string
  anonymous: boolean
  merchantIdentifier: string | null
  websiteUrl: string | null
  returnUrl: string | null
  cancelUrl: string | null
}

export const paymentUrlOf = (payUrl: string, code: string): string => `${payUrl}/pay?code=${code}`

/** Rates without the zeros that say nothing: "1.08". */
export const formatRate = (rate: bigint): string => formatDecimal(rate, RATE_EXPONENT).replace(/\.?0+$/, '')

/** The order as its company sees it. */
export function viewOrder(order: Order, payUrl: string): OrderView {
  return {
    _id: order.id,
    code: order.code,
    shortCode: order.shortCode,
    fromAmount: formatMoney(order.from),
    toAmount: formatMoney(order.to),
    fromAsset: order.from.asset,
    toAsset: order.to.asset,
    status: order.status,
    paymentChannel: order.paymentChannel,
    webhookUrl: order.webhookUrl,
    alias: order.alias,
    goods: order.goods,
    createdAt: order.createdAt.toISOString(),
    updatedAt: order.updatedAt.toISOString(),
    expiresAt: order.expiresAt.toISOString(),
    paidAt: order.paidAt?.toISOString() ?? null,
    refundedAmount: formatDecimal(order.refundedUnits, EXPONENTS[order.to.asset]),
    rate: formatRate(order.rate),
    paymentUrl: paymentUrlOf(payUrl, order.code),
    anonymous: order.anonymous,
    merchantIdentifier: order.merchantIdentifier,
    websiteUrl: order.websiteUrl,
    returnUrl: order.returnUrl,
    cancelUrl: order.cancelUrl,
  }
}

/** What leads to the payer's page: hidden from whoever found an order by its reference, which can be guessed. */
export type ReferenceView = Omit<OrderView, '_id' | 'code' | 'shortCode' | 'paymentUrl'> & {
  _id: string | null
  code: string | null
  shortCode: string | null
  paymentUrl: string | null
}

/** The order for readers who know no more than its reference. */
export const viewOrderByReference = (order: Order, payUrl: string): ReferenceView => ({
  ...viewOrderPublicly(order, payUrl),
  _id: null,
  code: null,
  shortCode: null,
  paymentUrl: null,
})

/** The order for readers without a credential of its company: the same without `webhookUrl`. */
export function viewOrderPublicly(order: Order, payUrl: string): OrderView {
  const { webhookUrl: _hidden, ...rest } = viewOrder(order, payUrl)
  return rest
}

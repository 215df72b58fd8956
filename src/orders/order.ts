import { toIsoText } from '../kernel/clock.ts'
import type { Goods } from '../kernel/goods.ts'
import { EXPONENTS, type Fiat, formatDecimal, formatMoney, type Money, RATE_EXPONENT } from '../kernel/money.ts'
import type { Static } from '../kernel/schema.ts'
import type { OrderSchema, ReferenceOrderSchema } from './order-schemas.ts'
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
  /** The shop's own names and texts, which payers never see. */
  metadata: Readonly<Record<string, string>> | null
  anonymous: boolean
  createdBy: string | null
  requestId: string | null
  createdAt: Date
  updatedAt: Date
  expiresAt: Date
  paidAt: Date | null
  /** Final units of `to.asset`, the amount that was settled. */
  paidUnits: bigint
  refundedUnits: bigint
  version: number
}

/** An order as the API shows it. Add a field to the schema first; the view then does not compile until it has it. */
export type OrderView = Static<typeof OrderSchema>

export const paymentUrlOf = (payUrl: string, code: string): string => `${payUrl}/pay?code=${code}`

/** A rate without trailing zeros: "1.08". */
export const formatRate = (rate: bigint): string => formatDecimal(rate, RATE_EXPONENT).replace(/\.?0+$/, '')

/** Between the shop and us. */
type ShopFields = 'webhookUrl' | 'metadata'

/** The order for readers without a credential of its company: everything except what is between the shop and us. */
export function viewOrderPublicly(order: Order, payUrl: string): Omit<OrderView, ShopFields> {
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
    alias: order.alias,
    goods: order.goods,
    createdAt: toIsoText(order.createdAt),
    updatedAt: toIsoText(order.updatedAt),
    expiresAt: toIsoText(order.expiresAt),
    paidAt: order.paidAt && toIsoText(order.paidAt),
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

/** The order as its company sees it. */
export const viewOrder = (order: Order, payUrl: string): OrderView => ({
  ...viewOrderPublicly(order, payUrl),
  webhookUrl: order.webhookUrl,
  metadata: order.metadata,
})

/**
 * Without what leads to the payer's page, or to the shop's page of the order, because a reference can be guessed: the
 * shop's addresses often hold a key, which is as good as the order's code.
 */
export type ReferenceView = Static<typeof ReferenceOrderSchema>

/** The order for readers who have only its reference. */
export const viewOrderByReference = (order: Order, payUrl: string): ReferenceView => ({
  ...viewOrderPublicly(order, payUrl),
  _id: null,
  code: null,
  shortCode: null,
  paymentUrl: null,
  returnUrl: null,
  cancelUrl: null,
})

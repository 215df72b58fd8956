import { createHash } from 'node:crypto'
import { HOUR, MINUTE } from '../../kernel/clock.ts'
import { formatMoney } from '../../kernel/money.ts'
import type { PaymentRequest } from '../channel.ts'
import { address } from '../short-url.ts'

export type OrderOptions = {
  /** Gate's names of a network, and of USDC on it. */
  chain: string
  fullCurrType: string
  /** Sent with every order; empty: each order has its own. */
  merchantUserId: string
}

/** Gate allows one hour from its own clock. */
const LONGEST_MS = HOUR - MINUTE
/** The largest whole number that every reader of JSON keeps is 2^53 - 1. */
const HEX_OF_48_BITS = 12

/**
 * "Unique id of the payer on the merchant's platform", a required integer. Our payers have no account, so each order
 * stands for one, and Gate cannot link their orders.
 */
const payerIdOf = (merchantReference: string): number =>
  Number.parseInt(createHash('sha256').update(merchantReference).digest('hex').slice(0, HEX_OF_48_BITS), 16)

/**
 * The body of "Place Checkout Order", priced in USDC. `orderExpireTime` is in milliseconds, as in the SDKs' tests of
 * this endpoint and the rule for all times; only the guide says seconds.
 */
export const orderBody = (request: PaymentRequest, options: OrderOptions, nowMs: number) => ({
  merchantTradeNo: request.merchantReference,
  env: { terminalType: 'WEB' },
  currency: 'USDC',
  orderAmount: formatMoney(request.due),
  toleranceAmount: '0',
  merchantUserId: options.merchantUserId === '' ? payerIdOf(request.merchantReference) : Number(options.merchantUserId),
  chain: options.chain,
  fullCurrType: options.fullCurrType,
  goods: {
    goodsName: request.goods?.goodsName ?? request.description,
    ...(request.goods?.goodsDetail ? { goodsDetail: request.goods.goodsDetail } : {}),
  },
  orderExpireTime: Math.min(request.expiresAt.getTime(), nowMs + LONGEST_MS),
  // required by the guide, absent from the reference and the SDKs
  callbackUrl: request.callbackUrl,
  ...address('returnUrl', request.returnUrl),
  ...address('cancelUrl', request.cancelUrl),
})

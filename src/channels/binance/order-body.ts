import { type Clock, MINUTE } from '../../kernel/clock.ts'
import { numberLiteral } from '../../kernel/json.ts'
import type { PaymentRequest } from '../channel.ts'
import { address } from '../short-url.ts'
import { shortText } from '../usdc-text.ts'

export type OrderOptions = {
  /** Only for channel partners; empty: not sent. */
  subMerchantId: string
  /** `WEB`, `APP`, `WAP`, `MINI_PROGRAM` or `OTHERS`. */
  terminalType: string
  /** Comma-separated assets that the payer may use; empty: Binance decides. */
  supportPayCurrency: string
}

/** Binance allows one hour by its own clock. */
const LONGEST_MS = 59 * MINUTE
const VIRTUAL = '02'
const OTHER_GOODS = 'Z000'

/** Names of goods may contain no quotes and no emoji, and at most 256 characters. */
const plainName = (text: string): string =>
  text
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{N}.,:;()/#&+_ -]/gu, ' ')
    .replace(/ +/g, ' ')
    .trim()
    .slice(0, 256)
    .replace(/\p{Cs}/gu, '')

const optional = (name: string, value: string | null | undefined): Record<string, string> =>
  value ? { [name]: value } : {}

/** The one entry of `goodsDetails`; defaults are "virtual" and "other". */
function goodsOf({ goods, description, merchantReference }: PaymentRequest): Record<string, unknown> {
  const { goodsType, goodsCategory, goodsName, goodsDetail, goodsQuantity } = goods ?? {}
  return {
    goodsType: goodsType ?? VIRTUAL,
    goodsCategory: goodsCategory ?? OTHER_GOODS,
    referenceGoodsId: merchantReference,
    goodsName: plainName(goodsName ?? description) || 'Order',
    ...optional('goodsDetail', goodsDetail === undefined ? null : plainName(goodsDetail)),
    ...optional('goodsQuantity', goodsQuantity),
  }
}

/** The body of Create Order v3, priced in USDC. */
export function orderBody(request: PaymentRequest, options: OrderOptions, clock: Clock): Record<string, unknown> {
  const { merchantReference, due, description, expiresAt, returnUrl, cancelUrl, callbackUrl } = request
  const { subMerchantId, terminalType, supportPayCurrency } = options
  return {
    ...(subMerchantId === '' ? {} : { merchant: { subMerchantId } }),
    env: { terminalType },
    merchantTradeNo: merchantReference,
    orderAmount: numberLiteral(shortText(due)),
    currency: 'USDC',
    description: plainName(description) || 'Order',
    goodsDetails: [goodsOf(request)],
    orderExpireTime: Math.min(expiresAt.getTime(), clock() + LONGEST_MS),
    ...address('returnUrl', returnUrl),
    ...address('cancelUrl', cancelUrl),
    ...optional('supportPayCurrency', supportPayCurrency),
    webhookUrl: callbackUrl,
  }
}

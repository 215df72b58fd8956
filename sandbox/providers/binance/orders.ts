import { unitsOf } from '../decimal.ts'
import { type Fields, isFields, isText, NumberText } from '../exact-json.ts'

/** A refusal of "api-common": HTTP status, code and message. */
export type Refusal = { status: number; code: string; message: string }

export const refusal = (status: number, code: string, message: string): Refusal => ({ status, code, message })

const CRYPTO = ['USDT', 'USDC', 'BNB', 'BTC', 'ETH']
const TERMINALS = ['APP', 'WEB', 'WAP', 'MINI_PROGRAM', 'OTHERS', 'PAYMENT_LINK']
const CATEGORY = /^(?:[0-9A-F]000|Z000)$/
const HOUR_MS = 3_600_000
/** Tolerance between the merchant's clock and this one. */
const SLACK_MS = 5000

const missing = (name: string): Refusal => refusal(400, '400100', `Parameter ${name} is missing or malformed`)
const tooLong = (name: string): Refusal => refusal(400, '400101', `Parameter ${name} has an illegal length`)
const wrongValue = (name: string): Refusal => refusal(400, '400102', `Parameter ${name} has an illegal value`)

/** A plain number above zero with at most 8 decimals; null for anything else. */
export function amountOf(value: unknown, alsoText = false): string | null {
  const text = value instanceof NumberText ? value.text : alsoText && typeof value === 'string' ? value : ''
  const units = /^\d+(\.\d{1,8})?$/.test(text) ? unitsOf(text) : undefined
  return units !== undefined && units > 0n ? text : null
}

function checkGoods(body: Fields): Refusal | null {
  const { goods, goodsDetails } = body
  if (goods !== undefined || !Array.isArray(goodsDetails) || goodsDetails.length === 0) return missing('goodsDetails')
  for (const item of goodsDetails) {
    if (!isFields(item)) return missing('goodsDetails')
    if (item.goodsType !== '01' && item.goodsType !== '02') return wrongValue('goodsType')
    if (!isText(item.goodsCategory) || !CATEGORY.test(item.goodsCategory)) return wrongValue('goodsCategory')
    if (!isText(item.referenceGoodsId)) return missing('referenceGoodsId')
    if (!isText(item.goodsName)) return missing('goodsName')
    if (item.goodsName.length > 256) return tooLong('goodsName')
    if (/["'\p{Extended_Pictographic}]/u.test(item.goodsName))
      return refusal(400, '400103', 'Parameter goodsName has an illegal character')
    if (item.goodsDetail !== undefined && !isText(item.goodsDetail, 256)) return tooLong('goodsDetail')
  }
  return null
}

/** "Can only start with http or https", at most 256 characters; all are optional. */
export function checkAddresses(body: Fields, names: readonly string[]): Refusal | null {
  for (const name of names) {
    const url = body[name]
    if (url === undefined) continue
    if (!isText(url) || !/^https?:\/\//.test(url)) return wrongValue(name)
    if (url.length > 256) return tooLong(name)
  }
  return null
}

/** The first fault of a Create Order v3 request ("api-order-create-v3"); null when the body is valid. */
export function checkOrder(body: Fields, now: number): Refusal | null {
  const { env, merchant, merchantTradeNo, orderAmount, currency, description, orderExpireTime } = body
  if (!isFields(env) || !TERMINALS.includes(String(env.terminalType))) return wrongValue('env.terminalType')
  if (merchant !== undefined && !(isFields(merchant) && isText(merchant.subMerchantId, 19)))
    return refusal(403, '400206', 'Sub-merchant is invalid')
  if (!isText(merchantTradeNo) || !/^[A-Za-z0-9]{1,32}$/.test(merchantTradeNo))
    return refusal(400, '400201', 'merchantTradeNo is invalid or duplicated')
  if (amountOf(orderAmount) === null) return wrongValue('orderAmount')
  if (!CRYPTO.includes(String(currency))) return wrongValue('currency')
  if (!isText(description)) return missing('description')
  if (orderExpireTime !== undefined) {
    const expires = orderExpireTime instanceof NumberText ? Number(orderExpireTime.text) : Number.NaN
    const isInTime = expires > now && expires <= now + HOUR_MS + SLACK_MS
    if (!isInTime) return wrongValue('orderExpireTime')
  }
  return checkGoods(body) ?? checkAddresses(body, ['returnUrl', 'cancelUrl', 'webhookUrl'])
}

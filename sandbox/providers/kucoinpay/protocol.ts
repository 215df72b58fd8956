import { constants, createCipheriv, type KeyObject, sign, verify } from 'node:crypto'
import { type Fields, NumberText } from '../exact-json.ts'

/** A refusal: KuCoin's code and message. */
export type Refusal = { code: string; msg: string; retry?: true }

/** The signed names of each call, in order: alphabetical, ignoring case. */
export const CALL_NAMES = {
  '/api/v1/order/create': [
    ...['apiKey', 'expireTime', 'orderAmount', 'orderCurrency', 'reference', 'requestId', 'source'],
    ...['subMerchantId', 'timestamp'],
  ],
  '/api/v1/order/info': ['apiKey', 'payOrderId', 'requestId', 'timestamp'],
  '/api/v1/order/close': ['apiKey', 'requestId', 'timestamp'],
  '/api/v1/refund/create': [
    ...['apiKey', 'payID', 'refundAmount', 'refundReason', 'requestId', 'subMerchantId', 'timestamp'],
  ],
  '/api/v1/refund/info': ['apiKey', 'refundId', 'requestId', 'timestamp'],
} as const

export const TRADE_NAMES = [
  ...['apiKey', 'errorReason', 'orderAmount', 'orderCurrency', 'payOrderId', 'payTime', 'reference'],
  ...['refundCurrency', 'requestId', 'status', 'subMerchantId', 'timestamp'],
]
export const REFUND_NAMES = [
  ...['apiKey', 'merchantId', 'payID', 'refundAmount', 'refundCurrency', 'refundFinishTime', 'refundId'],
  ...['remainingRefundAmount', 'remainingRefundCurrency', 'requestId', 'status', 'subMerchantId', 'timestamp'],
]

/** The text of a field: the content of a string, or the digits of a number as in the JSON. */
export const textOf = (value: unknown): string | undefined => {
  if (value instanceof NumberText) return value.text
  return typeof value === 'string' ? value : undefined
}

/** `name=value` pairs in the given order, values raw, absent fields left out. */
export function signatureText(names: readonly string[], fields: Fields): string {
  const pairs: string[] = []
  for (const name of names) {
    const text = textOf(fields[name])
    if (text !== undefined) pairs.push(`${name}=${text}`)
  }
  return pairs.join('&')
}

const RSA = { padding: constants.RSA_PKCS1_PADDING }

export const signedWith = (key: KeyObject, text: string): string =>
  sign('RSA-SHA256', Buffer.from(text, 'utf8'), { key, ...RSA }).toString('base64')

/** Accepts Base64 in one line only; hex and other paddings are not signatures. */
export function isSignature(key: KeyObject, text: string, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64')
  if (bytes.toString('base64') !== signature) return false
  return verify('RSA-SHA256', Buffer.from(text, 'utf8'), { key, ...RSA }, bytes)
}

/** The payer's personal data: Base64 of the IV and the AES-256-CBC ciphertext. */
export function sealPayer(detail: Fields, key: Buffer, iv: Buffer): string {
  const cipher = createCipheriv('aes-256-cbc', key, iv)
  const sealed = Buffer.concat([cipher.update(JSON.stringify(detail), 'utf8'), cipher.final()])
  return Buffer.concat([iv, sealed]).toString('base64')
}

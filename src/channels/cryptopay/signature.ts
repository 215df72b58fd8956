import { createHmac, timingSafeEqual } from 'node:crypto'

/** The parsed header `Pay-Signature`; schemes other than v1 are left out. */
export type PaySignature = { t: string; v1: readonly string[] }

/** `t=<unix seconds>,v1=<hex>[,v1=<hex>…]`. Null: no time, or no signature of a known scheme. */
export function readPaySignature(header: string): PaySignature | null {
  const parts = header.split(',').map((part) => part.trim().split('='))
  const valuesOf = (name: string): string[] => parts.flatMap(([key, value]) => (key === name && value ? [value] : []))
  const [t, ...more] = valuesOf('t')
  const v1 = valuesOf('v1')
  return t === undefined || !/^\d{1,12}$/.test(t) || more.length > 0 || v1.length === 0 ? null : { t, v1 }
}

/** 64 lower-case hexadecimal digits of HMAC-SHA256; the key is the text of the secret. */
export const signatureOf = (secret: string, t: string, rawBody: string | Buffer): string =>
  createHmac('sha256', secret).update(`${t}.`).update(rawBody).digest('hex')

/** During a rotation of the secret there are several signatures: one valid one is enough. */
export function isSigned(secret: string, { t, v1 }: PaySignature, rawBody: Buffer): boolean {
  const expected = Buffer.from(signatureOf(secret, t, rawBody))
  return v1.some((one) => {
    const given = Buffer.from(one)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}

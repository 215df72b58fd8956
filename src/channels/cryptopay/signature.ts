import { createHmac, timingSafeEqual } from 'node:crypto'

/** What the header `Pay-Signature` says; schemes other than v1 are left out. */
export type PaySignature = { t: string; v1: readonly string[] }

/** `t=<unix seconds>,v1=<hex>[,v1=<hex>…]`. Null: no time, or no signature of a scheme that we know. */
export function readPaySignature(header: string): PaySignature | null {
  const parts = header.split(',').map((part) => part.trim().split('='))
  const valuesOf = (name: string): string[] => parts.flatMap(([key, value]) => (key === name && value ? [value] : []))
  const [t, ...more] = valuesOf('t')
  const v1 = valuesOf('v1')
  return t === undefined || !/^\d{1,12}$/.test(t) || more.length > 0 || v1.length === 0 ? null : { t, v1 }
}

/** 64 lower-case hexadecimal digits of HMAC-SHA256; the key is the secret as it is written. */
export const signatureOf = (secret: string, t: string, rawBody: string | Buffer): string =>
  createHmac('sha256', secret).update(`${t}.`).update(rawBody).digest('hex')

/** While a secret is exchanged several signatures come: one that fits is enough. */
export function isSigned(secret: string, { t, v1 }: PaySignature, rawBody: Buffer): boolean {
  const expected = Buffer.from(signatureOf(secret, t, rawBody))
  return v1.some((one) => {
    const given = Buffer.from(one)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}

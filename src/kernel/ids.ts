import { createHash, createHmac, type KeyObject, randomBytes } from 'node:crypto'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

let pool = Buffer.alloc(0)
let used = 0

/** Random bytes from a pool, because one system call per id is measurable when orders are created. */
function takeRandom(count: number): Buffer {
  if (used + count > pool.length) {
    pool = randomBytes(4096)
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}

let lastMs = 0
/** `lastMs` in hex, cached: formatting a number of this size takes as long as the rest of an id. */
let lastHead = ''
let sequence = 0

/** 24 hex characters that sort by creation: 48 bits of milliseconds, a 16-bit counter, 32 random bits. */
export function newId(nowMs: number = Date.now()): string {
  if (nowMs > lastMs) {
    setLast(nowMs)
    sequence = takeRandom(1)[0] ?? 0
  } else {
    sequence += 1
    if (sequence > 0xffff) {
      setLast(lastMs + 1)
      sequence = 0
    }
  }
  return lastHead + sequence.toString(16).padStart(4, '0') + takeRandom(4).toString('hex')
}

function setLast(ms: number): void {
  lastMs = ms
  lastHead = ms.toString(16).padStart(12, '0')
}

/** The lowest id of that moment: no id of that time or later sorts before it. */
export const firstIdAt = (timeMs: number): string => timeMs.toString(16).padStart(12, '0').padEnd(24, '0')

/**
 * A deterministic id: the first refund of an order has the same one after a restored backup, so that providers, tokens
 * and receivers of webhooks recognise it. 96 bits of SHA-256; does not sort by time.
 */
export const idFrom = (...parts: readonly (string | number)[]): string =>
  createHash('sha256').update(parts.join('|')).digest('hex').slice(0, 24)

export const isId = (text: string): boolean => /^[0-9a-f]{24}$/.test(text)

function randomText(alphabet: string, length: number): string {
  const limit = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of takeRandom(length)) {
      if (byte < limit && text.length < length) text += alphabet[byte % alphabet.length]
    }
  }
  return text
}

/** An order's public code: 24 letters and digits, 142 random bits. */
export const newOrderCode = (): string => randomText(BASE62, 24)

/** For reading aloud: 8 characters of Crockford's base32 (no I, L, O, U). */
export const newShortCode = (): string => randomText(CROCKFORD, 8)

/** An opaque secret with a readable prefix: `prefix` and 43 characters of base64url, 256 bits. */
export const newSecret = (prefix: string): string => prefix + randomBytes(32).toString('base64url')

/** `whsec_` and the base64 of 32 random bytes, the form that Standard Webhooks libraries read. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/**
 * The `Service-Webhook-Id` of one (order, event): 32 hex characters, the same for every attempt, every redelivery, and
 * after a restored backup.
 * @param serverKey pass a KeyObject when many are made: Node parses a Buffer for each HMAC, which takes five times as
 * long
 */
export function deliveryId(
  serverKey: Buffer | KeyObject,
  parts: { companyId: string; orderId: string; event: string; refundId: string | null },
): string {
  const text = [parts.companyId, parts.orderId, parts.event, parts.refundId ?? ''].join('|')
  return createHmac('sha256', serverKey).update(text).digest('hex').slice(0, 32)
}

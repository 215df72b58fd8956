import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Callback, CallbackRefused } from '../../kernel/callback.ts'

const MAX_AGE_SECONDS = 300
const HEX = /^[0-9a-f]{64}$/

/** `t=…,h=…,v1=…`; a header with a repeated name is invalid. */
function readParts(header: string): Map<string, string> {
  const parts = new Map<string, string>()
  for (const piece of header.split(',')) {
    const at = piece.indexOf('=')
    const name = piece.slice(0, Math.max(at, 0)).trim()
    if (name === '' || parts.has(name)) throw new CallbackRefused('X-Hook0-Signature cannot be read')
    parts.set(name, piece.slice(at + 1).trim())
  }
  return parts
}

function valuesOf(names: string, headers: Callback['headers']): string[] {
  return names.split(' ').map((name) => {
    const value = headers[name]
    if (typeof value !== 'string') throw new CallbackRefused(`the signed header ${name || 'without a name'} is missing`)
    return value
  })
}

function matches(secret: string, before: string, rawBody: Buffer, given: string): boolean {
  if (!HEX.test(given)) return false
  const made = createHmac('sha256', secret).update(`${before}.`).update(rawBody).digest()
  return timingSafeEqual(made, Buffer.from(given, 'hex'))
}

/**
 * Hook0's scheme: HMAC-SHA256 over time, header names, their values and the raw body; without `v1`, over time and body
 * (`v0`). If both are present, only `v1` counts.
 * @throws CallbackRefused
 */
export function verifyHook(secret: string, { headers, rawBody }: Callback, nowMs: number): void {
  const header = headers['x-hook0-signature']
  if (typeof header !== 'string') throw new CallbackRefused('X-Hook0-Signature is missing')
  const parts = readParts(header)
  const time = parts.get('t') ?? ''
  if (!/^\d{1,12}$/.test(time)) throw new CallbackRefused('X-Hook0-Signature has no time')
  const v1 = parts.get('v1')
  const names = parts.get('h')
  if (v1 !== undefined && !names) throw new CallbackRefused('X-Hook0-Signature names no headers')
  const right =
    v1 === undefined
      ? matches(secret, time, rawBody, parts.get('v0') ?? '')
      : matches(secret, [time, names, ...valuesOf(names ?? '', headers)].join('.'), rawBody, v1)
  if (!right) throw new CallbackRefused('X-Hook0-Signature is not of this subscription')
  if (Math.abs(nowMs / 1000 - Number(time)) > MAX_AGE_SECONDS) throw new CallbackRefused('the callback is too old')
}

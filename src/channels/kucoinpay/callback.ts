import type { KeyObject } from 'node:crypto'
import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import type { Clock } from '../../kernel/clock.ts'
import { parseJsonExact } from '../../kernel/json.ts'
import type { CallbackNews, RefundNews } from '../channel.ts'
import { usdcUnits } from '../usdc-text.ts'
import { isSignedBy, type SignedValues, signedText } from './signature.ts'
import { isSignedList, type SignedList, type SignedNames } from './signed-names.ts'
import { refundOutcome, reportOfOrder } from './status-map.ts'

export type CallbackOptions = {
  apiKey: string
  publicKey: KeyObject
  names: SignedNames
  clock: Clock
  maxAgeMs: number
}

function header({ headers }: Callback, name: string): string {
  const value = headers[name]
  if (typeof value !== 'string' || value === '') throw new CallbackRefused(`the header ${name} is missing`)
  return value
}

function parse(rawBody: Buffer): Record<string, unknown> {
  try {
    const body = parseJsonExact(rawBody.toString('utf8'))
    if (typeof body === 'object' && body !== null) return body as Record<string, unknown>
  } catch (cause) {
    throw new CallbackRefused('the body is no JSON', { cause })
  }
  throw new CallbackRefused('the body is no object')
}

/** Public code treats ORDER like TRADE. The type itself is not signed: each type signs other fields. */
function listOf(body: Record<string, unknown>): SignedList {
  const type = body.orderType === 'ORDER' ? 'TRADE' : body.orderType
  if (typeof type !== 'string' || !isSignedList(type) || type !== type.toUpperCase())
    throw new CallbackRefused(`the orderType ${JSON.stringify(type)?.slice(0, 40)} is not known`)
  return type
}

/**
 * Only the signed fields, with numbers as they were written: 20.0 would be serialised as 20, which was never signed.
 */
function pick(body: Record<string, unknown>, names: readonly string[]): Record<string, string> {
  const values = names.flatMap((name): [string, string][] => {
    const value = Object.hasOwn(body, name) ? body[name] : undefined
    if (value === undefined || value === null) return []
    // not verified yet: some objects make String throw, so it is not called on objects
    if (typeof value === 'object' || String(value).includes('&'))
      throw new CallbackRefused(`${name} could be read as several fields`)
    return [[name, String(value)]]
  })
  return Object.fromEntries(values)
}

/** Signers disagree on whether empty texts are signed; both forms mean the same message. */
const withoutEmpty = (values: SignedValues): SignedValues =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))

/** Every field of it is signed. Undefined: it does not identify the refund or its amount. */
function readRefund(signed: Record<string, string>, providerStatus: string): RefundNews | undefined {
  const { refundId: reference, requestId = null, refundAmount, refundCurrency, status } = signed
  const units = usdcUnits(refundAmount)
  if (reference === undefined || units === undefined || refundCurrency !== 'USDC') return undefined
  const said = refundOutcome(status)
  const outcome = said === 'manual' ? 'unknown' : said
  return { reference, refundId: requestId, outcome, fiat: { asset: 'USDC', units }, providerStatus }
}

function readNews(list: SignedList, signed: Record<string, string>): CallbackNews {
  const providerStatus = `${list} ${signed.status ?? 'no status'}`
  if (list === 'REFUND') {
    const refund = readRefund(signed, providerStatus)
    const providerReference = signed.payID ?? null
    return { merchantReference: null, providerReference, report: null, providerStatus, ...(refund && { refund }) }
  }
  if (list !== 'TRADE') return { merchantReference: null, providerReference: null, report: null, providerStatus }
  const { payOrderId, requestId } = signed
  const report = payOrderId === undefined ? null : reportOfOrder(signed, payOrderId)
  return { merchantReference: requestId ?? null, providerReference: payOrderId ?? null, report, providerStatus }
}

/**
 * The signature covers named fields, not the body: only those are verified and used.
 * @throws CallbackRefused
 */
export function readCallback(callback: Callback, options: CallbackOptions): CallbackNews {
  const { apiKey, publicKey, names, clock, maxAgeMs } = options
  const signature = header(callback, 'pay-api-sign')
  const timestamp = header(callback, 'pay-api-timestamp')
  const body = parse(callback.rawBody)
  const list = listOf(body)
  const signed = pick(body, names[list])
  const values = { ...signed, apiKey, timestamp }
  const isTrue = [values, withoutEmpty(values)].some((texts) =>
    isSignedBy(publicKey, signedText(names[list], texts), signature),
  )
  if (!isTrue) throw new CallbackRefused('the signature is not of these fields')
  const isFresh = /^\d{13}$/.test(timestamp) && Math.abs(clock() - Number(timestamp)) <= maxAgeMs
  if (!isFresh) throw new CallbackRefused(`the timestamp ${timestamp} is too far from our clock`)
  return readNews(list, signed)
}

import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import { textAt } from '../../kernel/json.ts'
import type { CallbackNews } from '../channel.ts'
import { tryParse } from './api.ts'
import { callbackSignatureOf, isSame } from './signature.ts'
import { reportOf } from './status-map.ts'

const SIGNATURE = /^t=(\d{13}),v1=([0-9a-f]{64})$/

export type CallbackRules = { secret: string; maxAgeMs: number }

/** The signature first, over the bytes as they came; then their age; then what they say. */
function verify({ headers, rawBody }: Callback, { secret, maxAgeMs }: CallbackRules, nowMs: number): void {
  const [, timestamp = '', signature = ''] = SIGNATURE.exec(String(headers['x-signature'] ?? '')) ?? []
  if (timestamp === '') throw new CallbackRefused('the signature is missing or not readable')
  if (!isSame(callbackSignatureOf(secret, timestamp, rawBody), signature))
    throw new CallbackRefused('the signature is wrong')
  if (Math.abs(nowMs - Number(timestamp)) > maxAgeMs)
    throw new CallbackRefused(`sent at ${timestamp}, too far from our clock`)
}

/** @throws CallbackRefused */
export function readCallback(callback: Callback, rules: CallbackRules, nowMs: number): CallbackNews {
  verify(callback, rules, nowMs)
  const body = tryParse(callback.rawBody.toString('utf8'))
  const type = textAt(body, 'type')
  if (type === undefined) throw new CallbackRefused('the body is not readable')
  const { payment, refund } = body as { payment?: unknown; refund?: unknown }
  if (refund !== undefined) {
    const merchantReference = textAt(refund, 'payment_reference') ?? null
    const providerReference = textAt(refund, 'payment_id') ?? null
    return { merchantReference, providerReference, report: null, providerStatus: `${type} ${textAt(refund, 'status')}` }
  }
  const providerReference = textAt(payment, 'id') ?? null
  return {
    merchantReference: textAt(payment, 'reference') ?? null,
    providerReference,
    report: providerReference === null ? null : reportOf(payment, providerReference),
    providerStatus: `${type} ${textAt(payment, 'status')}`,
  }
}

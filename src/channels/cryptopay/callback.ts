import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import type { Clock } from '../../kernel/clock.ts'
import { textAt } from '../../kernel/json.ts'
import type { CallbackNews } from '../channel.ts'
import { fieldAt, flagAt, tryParse } from './api.ts'
import { readRefundNews } from './refunds.ts'
import { isSigned, readPaySignature } from './signature.ts'
import { reportOf } from './status-map.ts'

export type CallbackRules = { secret: string; maxAgeMs: number; live: boolean; weCancel: boolean }

function verify({ headers, rawBody }: Callback, { secret, maxAgeMs }: CallbackRules, nowMs: number): void {
  const signature = readPaySignature(String(headers['pay-signature'] ?? ''))
  if (signature === null) throw new CallbackRefused('no signature of a scheme that is known')
  if (!isSigned(secret, signature, rawBody)) throw new CallbackRefused('the signature is wrong')
  if (Math.abs(nowMs - Number(signature.t) * 1000) > maxAgeMs)
    throw new CallbackRefused(`signed at ${signature.t}: too old`)
}

/** An event about a payment or a refund. Subscriptions are not ours and are ignored. */
export function readCallback(callback: Callback, rules: CallbackRules, clock: Clock): CallbackNews {
  verify(callback, rules, clock())
  const event = tryParse(callback.rawBody.toString('utf8'))
  const type = textAt(event, 'type')
  if (type === undefined || textAt(event, 'object_type') !== 'event')
    throw new CallbackRefused('the body is not an event')
  const nothing = { merchantReference: null, providerReference: null, report: null, providerStatus: type }
  if (!type.startsWith('payment.')) return nothing
  const object = fieldAt(fieldAt(event, 'data'), 'object')
  const isRefund = type.startsWith('payment.refund')
  const live = flagAt(object, 'live_mode')
  // a refund object may omit the mode; its payment is polled anyway
  if (live !== rules.live && !(isRefund && live === undefined))
    throw new CallbackRefused(`of ${live ? 'live' : 'test'} mode`)
  const providerStatus = `${type} ${textAt(object, 'status') ?? ''}`.trim()
  if (isRefund) {
    const refund = readRefundNews(type, object)
    const providerReference = textAt(object, 'payment_id') ?? null
    return { ...nothing, providerReference, providerStatus, ...(refund && { refund }) }
  }
  return {
    merchantReference: textAt(object, 'order_id') ?? null,
    providerReference: textAt(object, 'id') ?? null,
    report: reportOf(object, null, { clock, weCancel: rules.weCancel }),
    providerStatus,
  }
}

import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import type { Clock } from '../../kernel/clock.ts'
import { textAt } from '../../kernel/json.ts'
import type { CallbackNews } from '../channel.ts'
import { filledAt, tryParse, unwrap } from './api.ts'
import { isSigned } from './signature.ts'
import { reportOf } from './status-map.ts'

/** Kinds that concern an order; the others are about transfers that we do not use. */
const OF_ORDERS = ['PAY', 'PAY_ADDRESS', 'TRANSFER_ADDRESS']

export type CallbackRules = {
  clientId: string
  secret: string
  maxAgeMs: number
  closedStatuses: readonly string[]
}

function verify({ headers, rawBody }: Callback, { secret, maxAgeMs }: CallbackRules, nowMs: number): void {
  const header = (name: string): string => String(headers[`x-gatepay-${name}`] ?? '')
  const timestamp = header('timestamp')
  if (!/^\d{10,15}$/.test(timestamp)) throw new CallbackRefused('no timestamp')
  if (!isSigned(secret, { timestamp, nonce: header('nonce'), body: rawBody }, header('signature')))
    throw new CallbackRefused('the signature is wrong')
  if (Math.abs(nowMs - Number(timestamp)) > maxAgeMs) throw new CallbackRefused(`sent at ${timestamp}: too old`)
}

/** The callback URL belongs to the application, not to an order: the body names the order. */
export function readCallback(callback: Callback, rules: CallbackRules, clock: Clock): CallbackNews {
  verify(callback, rules, clock())
  const body = tryParse(callback.rawBody.toString('utf8'))
  const bizType = textAt(body, 'bizType')
  const bizStatus = textAt(body, 'bizStatus')
  if (bizType === undefined || bizStatus === undefined) throw new CallbackRefused('the body is not readable')
  // callpayment/refundNotify: "top-level field may be client_id or clientId"
  const clientId = filledAt(body, 'client_id') ?? filledAt(body, 'clientId')
  if (clientId !== null && clientId !== rules.clientId) throw new CallbackRefused(`for the application ${clientId}`)
  const data = unwrap((body as { data?: unknown }).data)
  const merchantReference = filledAt(data, 'merchantTradeNo')
  const aboutOrder = OF_ORDERS.includes(bizType)
  const bizId = aboutOrder ? filledAt(body, 'bizId') : filledAt(data, 'refundInfo', 'prepayId')
  const prepayId = filledAt(data, 'prepayId')
  const named = prepayId ?? bizId
  return {
    merchantReference,
    // callpayment/callback calls bizId "the ID of the prepayment"; our own reference is preferred
    providerReference: prepayId ?? (merchantReference === null ? bizId : null),
    report: aboutOrder ? reportOf(bizStatus, data, { ...rules, providerReference: named ?? '' }) : null,
    providerStatus: `${bizType} ${bizStatus}`,
  }
}

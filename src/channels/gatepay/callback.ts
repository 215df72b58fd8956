import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import type { Clock } from '../../kernel/clock.ts'
import { textAt } from '../../kernel/json.ts'
import type { CallbackNews, UnmatchedMoney } from '../channel.ts'
import { coinUnits } from '../usdc-text.ts'
import { filledAt, tryParse, unwrap } from './api.ts'
import { isSigned } from './signature.ts'
import { reportOf } from './status-map.ts'

/** Kinds that concern an order; the others are about transfers that we do not use. */
const OF_ORDERS = ['PAY', 'PAY_ADDRESS', 'TRANSFER_ADDRESS']
const UNRESOLVED = 'PAY_UNRESOLVED'

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

/**
 * Money that reached an order's address and is not credited to the order: another coin or chain, or frozen
 * (docs.gate.com, fundrecords/unresolvedPayNotify).
 */
function unresolvedMoney(kind: 'unresolved' | 'frozen', body: unknown, data: unknown): UnmatchedMoney {
  const asset = filledAt(data, 'actualCurrency') ?? 'unknown'
  const amount = filledAt(data, 'actualAmount') ?? ''
  const units = coinUnits(asset, amount)
  // "Some fields may be empty"
  const named = filledAt(data, 'exceptionId') ?? filledAt(data, 'hash') ?? filledAt(body, 'bizId')
  const id = named ?? `${filledAt(data, 'originalOrderId')}:${amount}:${asset}`
  return { asset, units, reference: `gatepay:${kind}:${id}`, isOneSum: true }
}

/**
 * One event of PAY_UNRESOLVED. Of risky money, "Risk funds will not be credited" and are frozen
 * (gate.com/help/gatepay/merchant_integration_guide/49197).
 */
function readUnresolved(body: unknown, data: unknown, bizStatus: string): CallbackNews {
  const errorType = filledAt(data, 'errorType') ?? 'without errorType'
  const providerReference = filledAt(data, 'originalOrderId')
  const providerStatus = `${UNRESOLVED} ${bizStatus} ${errorType}`
  const named = { merchantReference: null, providerReference, providerStatus }
  if (errorType.endsWith('_risk_address'))
    return {
      ...named,
      report: {
        outcome: 'blocked',
        providerReference: providerReference ?? '',
        unmatched: [unresolvedMoney('frozen', body, data)],
        providerStatus: errorType,
      },
    }
  return { ...named, report: null, unmatched: [unresolvedMoney('unresolved', body, data)] }
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
  if (bizType === UNRESOLVED) return readUnresolved(body, data, bizStatus)
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

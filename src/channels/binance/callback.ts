import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import type { Clock } from '../../kernel/clock.ts'
import { parseJsonExact, textAt } from '../../kernel/json.ts'
import type { CallbackNews } from '../channel.ts'
import type { Certificates } from './certificates.ts'
import { isSignedBy } from './signature.ts'
import { reportOfPay, reportOfRefund } from './status-map.ts'

function header({ headers }: Callback, name: string): string {
  const value = headers[name]
  if (typeof value !== 'string' || value === '') throw new CallbackRefused(`the header ${name} is missing`)
  return value
}

function parse(text: string, what: string): unknown {
  try {
    return parseJsonExact(text)
  } catch (cause) {
    throw new CallbackRefused(`${what} is no JSON`, { cause })
  }
}

/** refund-order-notification calls `refundInfo` a string, yet lists its fields: accepts text and object. */
function readData(text: string): unknown {
  const data = parse(text, 'data')
  const refundInfo = textAt(data, 'refundInfo')
  return refundInfo ? { ...(data as object), refundInfo: parse(refundInfo, 'refundInfo') } : data
}

/** `bizId` is an integer above 2^53, so its copy in text form is used. */
function readNews(body: unknown): CallbackNews {
  const bizType = textAt(body, 'bizType') ?? ''
  const bizStatus = textAt(body, 'bizStatus') ?? ''
  const providerStatus = `${bizType} ${bizStatus}`
  // payouts, scanned till codes and other notifications arrive at the same address
  if (bizType !== 'PAY' && bizType !== 'PAY_REFUND')
    return { merchantReference: null, providerReference: null, report: null, providerStatus }
  const data = readData(textAt(body, 'data') ?? '')
  const merchantReference = textAt(data, 'merchantTradeNo') ?? null
  const providerReference = textAt(data, 'refundInfo', 'prepayId') ?? textAt(body, 'bizIdStr') ?? null
  const read = bizType === 'PAY' ? reportOfPay : reportOfRefund
  const report = providerReference === null ? null : read(bizStatus, data, providerReference)
  return { merchantReference, providerReference, report, providerStatus }
}

/**
 * Verifies the raw bytes against Binance's key, then their age, then parses them.
 * @throws CallbackRefused; ProviderTrouble when Binance's keys are unavailable
 */
export async function readCallback(
  callback: Callback,
  { certificates, clock, maxAgeMs }: { certificates: Certificates; clock: Clock; maxAgeMs: number },
): Promise<CallbackNews> {
  const timestamp = header(callback, 'binancepay-timestamp')
  const nonce = header(callback, 'binancepay-nonce')
  const serial = header(callback, 'binancepay-certificate-sn')
  const signature = header(callback, 'binancepay-signature')
  const key = await certificates.find(serial)
  if (!key) throw new CallbackRefused('Binance knows no certificate with this serial')
  if (!isSignedBy(key, { timestamp, nonce }, callback.rawBody, signature))
    throw new CallbackRefused('the signature is not of these bytes')
  const isFresh = /^\d{13}$/.test(timestamp) && Math.abs(clock() - Number(timestamp)) <= maxAgeMs
  if (!isFresh) throw new CallbackRefused(`the timestamp ${timestamp} is too far from our clock`)
  return readNews(parse(callback.rawBody.toString('utf8'), 'the body'))
}

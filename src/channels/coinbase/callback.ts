import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import { parseJsonExact, textAt } from '../../kernel/json.ts'
import { type CallbackNews, type PaymentReport, paidReport } from '../channel.ts'
import { verifyHook } from './hook-signature.ts'
import { type Purchase, readPurchase } from './transactions.ts'

/** Marks a simulated purchase. */
export const TEST_PREFIX = 'sandbox-'

function parse(rawBody: Buffer): unknown {
  try {
    return parseJsonExact(rawBody.toString('utf8'))
  } catch (error) {
    throw new CallbackRefused('the body is no JSON', { cause: error })
  }
}

/** A purchase in progress is pending: only the chain makes money final. A failed one may be retried. */
function claimOf({ meaning, units, providerStatus }: Purchase, providerReference: string): PaymentReport {
  if (meaning === 'moving' && units !== undefined)
    return paidReport(providerReference, { final: 0n, pending: units, providerStatus })
  const outcome = meaning === 'unknown' || meaning === 'moving' ? 'unknown' : 'waiting'
  return { outcome, providerReference, providerStatus }
}

/** @throws CallbackRefused */
export function readCoinbaseCallback(
  callback: Callback,
  { secret, nowMs, live }: { secret: string; nowMs: number; live: boolean },
): CallbackNews {
  verifyHook(secret, callback, nowMs)
  const body = parse(callback.rawBody)
  const event = textAt(body, 'eventType') ?? ''
  const transactionId = textAt(body, 'transactionId')
  // an `orderId` belongs to the headless API, which we do not use
  if (transactionId === undefined && textAt(body, 'orderId') !== undefined)
    return {
      merchantReference: null,
      providerReference: null,
      report: null,
      providerStatus: `${event}: headless, ignored`,
    }
  if (transactionId === undefined || event === '' || textAt(body, 'status') === undefined)
    throw new CallbackRefused('eventType, transactionId or status is missing')
  const reference = textAt(body, 'partnerUserRef') ?? null
  const isTest = reference?.startsWith(TEST_PREFIX) === true
  if (isTest && live) throw new CallbackRefused('a simulated purchase means nothing here')
  const purchase = readPurchase(body)
  const address = purchase.walletAddress ?? null
  return {
    merchantReference: isTest ? reference.slice(TEST_PREFIX.length) : reference,
    // Coinbase may write the address in another case than we do, so our own reference takes precedence
    providerReference: reference === null ? address : null,
    report: claimOf(purchase, address ?? transactionId),
    providerStatus: `${event}: ${purchase.providerStatus}`,
  }
}

import type { Clock } from '../../kernel/clock.ts'
import { ownAt, textAt } from '../../kernel/json.ts'
import { type Money, parseDecimal, proportion } from '../../kernel/money.ts'
import { type PaymentReport, paidReport } from '../channel.ts'
import { fieldAt, flagAt } from './api.ts'

/** The amount due in USDC, and the same price in fiat, in which the provider was asked. */
export type Price = { due: Money; fiat: Money }

type Meaning = 'waiting' | 'captured' | 'cancelled'

export const MEANINGS: Readonly<Record<string, Meaning>> = {
  pending: 'waiting',
  succeeded: 'captured',
  cancelled: 'cancelled',
}

/** The payer's amount may have this many decimals, whatever the coin. */
const COIN_EXPONENT = 18

/** No real amount has more digits, and the database stores 38. */
export const minorUnits = (payment: unknown, name: string): bigint | undefined => {
  const text = textAt(payment, name)
  return text !== undefined && /^\d{1,30}$/.test(text) ? BigInt(text) : undefined
}

/** A share of the fiat price in USDC, rounded down: the whole price is exactly what is due. */
const inUsdc = ({ due, fiat }: Price, minor: bigint): bigint => proportion(due.units, minor, fiat.units)

/**
 * Money on its way as a share of the price, as far as the requested coin shows. Too little is never added up:
 * Crypto.com returns it, and the payer pays the exact amount again; of too much it returns the rest (help.crypto.com,
 * articles/4383072 and 4383038). Another coin is returned, too.
 */
function pendingOf(payment: unknown, { due }: Price): bigint {
  const fund = fieldAt(payment, 'current_inbound_fund')
  const came = parseDecimal(textAt(fund, 'amount') ?? '', COIN_EXPONENT)
  const asked = parseDecimal(textAt(payment, 'crypto_amount') ?? '', COIN_EXPONENT)
  const isReturned = Boolean(textAt(fund, 'mismatched_reason'))
  const comparable = textAt(fund, 'currency') === textAt(payment, 'crypto_currency')
  if (!comparable || came === undefined || !asked) return isReturned ? 0n : due.units
  if (came >= asked) return due.units
  return isReturned ? 0n : proportion(due.units, came, asked)
}

/**
 * Money that fits and was seen in time, which may still wait for its chain. A payment is late when the customer sent
 * the coins after the session time (help.crypto.com, articles/4383072), not when they are confirmed after it.
 */
const arrivesInTime = (fund: unknown): boolean => Boolean(fund) && !textAt(fund, 'mismatched_reason')

/** Whether its payment window is over, according to the provider or to our clock. */
const isOver = (payment: unknown, nowMs: number): boolean =>
  flagAt(payment, 'expired') === true || Number(textAt(payment, 'expired_at') ?? 'NaN') * 1000 <= nowMs

type PaymentFacts = {
  clock: Clock
  /** We cancel payments ourselves: a cancelled one may be ours, and then is not the payer's decision. */
  weCancel: boolean
}

/**
 * The meaning of a payment object. Without `price` (a callback has none) money is `unknown`: the query tells how much.
 * Crypto.com has no status for money that it holds for its own checks.
 */
export function reportOf(payment: unknown, price: Price | null, { clock, weCancel }: PaymentFacts): PaymentReport {
  const providerReference = textAt(payment, 'id') ?? ''
  const word = textAt(payment, 'status') ?? 'no status'
  const told = (outcome: 'waiting' | 'expired' | 'cancelled' | 'unknown', providerStatus = word): PaymentReport => ({
    outcome,
    providerReference,
    providerStatus,
  })
  const fund = fieldAt(payment, 'current_inbound_fund')
  const mismatch = textAt(fund, 'mismatched_reason')
  const providerStatus = mismatch ? `${word}, ${mismatch}` : word
  const meaning = ownAt(MEANINGS, word)
  if (meaning === undefined) return told('unknown')
  if (meaning === 'cancelled')
    return told(weCancel || isOver(payment, clock()) ? 'expired' : 'cancelled', providerStatus)
  if (meaning === 'waiting' && flagAt(payment, 'expired') === true && !arrivesInTime(fund))
    return told('expired', providerStatus)
  if (meaning === 'waiting' && (fund === undefined || fund === null)) return told('waiting')
  if (price === null) return told('unknown', providerStatus)
  const received = minorUnits(payment, 'amount')
  const currency = textAt(payment, 'currency')
  if (currency !== price.fiat.asset || received === undefined)
    return told('unknown', `${word}: ${received} ${currency}`)
  if (meaning === 'waiting')
    return paidReport(providerReference, { final: 0n, pending: pendingOf(payment, price), providerStatus })
  if (flagAt(payment, 'captured') === false)
    return paidReport(providerReference, {
      final: 0n,
      pending: inUsdc(price, received),
      providerStatus: `${word}, not captured`,
    })
  return paidReport(providerReference, { final: inUsdc(price, received), providerStatus })
}

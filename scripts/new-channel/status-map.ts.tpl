import { textAt } from '../../kernel/json.ts'
import { EXPONENTS, type Money, parseDecimal } from '../../kernel/money.ts'
import { type PaymentReport, paidReport, type RefundReport } from '../channel.ts'

type Meaning = 'waiting' | 'money' | 'expired' | 'cancelled' | 'failed' | 'blocked'

/** Every word that the provider documents. One that is not here is unknown. */
export const MEANINGS: Readonly<Record<string, Meaning>> = {
  open: 'waiting',
  partly_paid: 'money',
  confirming: 'money',
  paid: 'money',
  expired: 'expired',
  closed: 'expired',
  cancelled: 'cancelled',
  failed: 'failed',
  blocked: 'blocked',
}

export const REFUND_OUTCOMES: Readonly<Record<string, RefundReport['outcome']>> = {
  pending: 'pending',
  settled: 'settled',
  rejected: 'refused',
}

export const wordIn = <Value>(table: Readonly<Record<string, Value>>, word: string): Value | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined

/** A field with an amount in USDC units; undefined when it is missing or no plain decimal. */
export function unitsAt(value: unknown, name: string): bigint | undefined {
  const text = textAt(value, name)
  return text === undefined ? undefined : parseDecimal(text, EXPONENTS.USDC)
}

/**
 * What the provider says of one payment, in its query and in its callbacks. Money that came is told whatever the word
 * beside it: an attempt may expire with a part of its price.
 * @param due what the payer owes, where it is known: a payment with another price is not ours
 */
export function reportOf(payment: unknown, providerReference: string, due?: Money): PaymentReport {
  const word = textAt(payment, 'status') ?? ''
  const meaning = wordIn(MEANINGS, word)
  const unknown = (providerStatus: string): PaymentReport => ({ outcome: 'unknown', providerReference, providerStatus })
  if (meaning === undefined) return unknown(word === '' ? 'no status' : word)
  if (meaning === 'failed' || meaning === 'blocked') return { outcome: meaning, providerReference, providerStatus: word }
  const asked = unitsAt(payment, 'amount')
  const currency = textAt(payment, 'currency')
  if (currency !== 'USDC' || asked === undefined || (due && asked !== due.units))
    return unknown(`${word}: a payment of ${textAt(payment, 'amount')} ${currency}`)
  const final = unitsAt(payment, 'received')
  const pending = unitsAt(payment, 'pending')
  const refunded = unitsAt(payment, 'refunded')
  if (final === undefined || pending === undefined || refunded === undefined)
    return unknown(`${word}: an amount is missing`)
  if (final + pending > 0n) return paidReport(providerReference, { final, pending, refunded, providerStatus: word })
  if (meaning === 'money') return unknown(`${word}, and nothing was received`)
  return { outcome: meaning, providerReference, providerStatus: word }
}

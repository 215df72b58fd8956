import { textAt } from '../../kernel/json.ts'
import { EXPONENTS, type Money, parseDecimal } from '../../kernel/money.ts'
import { type PaymentKey, type PaymentReport, paidReport } from '../channel.ts'

type Meaning = 'open' | 'part' | 'done' | 'gone'

/**
 * Every word that documents (first column of the contract file) and older public code use. PATIALLY is how older code
 * spells it.
 */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  INIT: 'open',
  OPEN: 'open',
  NEW: 'open',
  PARTIALLY_FULFILLED: 'part',
  PATIALLY_FULFILLED: 'part',
  COMPLETE: 'done',
  DECLINED: 'gone',
  CANCELED: 'gone',
}

/** What Whitepay tells of one order; decimals as it wrote them. */
export type WhitepayOrder = {
  id: string
  status: string
  currency: string | undefined
  value: string | undefined
  expected: string | undefined
  received: string | undefined
  reference: string | undefined
  /** Paid inside WhiteBIT, or from an outside wallet; undefined as long as nobody knows. */
  isInternal: boolean | undefined
  checkoutUrl: string | undefined
  raw: unknown
}

/** An order object, alone or under `order`; undefined when it has no id or no status. */
export function readOrder(body: unknown): WhitepayOrder | undefined {
  const raw = (body as { order?: unknown } | null)?.order ?? body
  const id = textAt(raw, 'id')
  const status = textAt(raw, 'status')
  if (id === undefined || status === undefined) return undefined
  const internal = (raw as { is_internal?: unknown }).is_internal
  return {
    id,
    status,
    currency: textAt(raw, 'currency'),
    value: textAt(raw, 'value') ?? textAt(raw, 'expected_amount'),
    expected: textAt(raw, 'expected_amount') ?? textAt(raw, 'value'),
    received: textAt(raw, 'received_total'),
    reference: textAt(raw, 'external_order_id'),
    isInternal: typeof internal === 'boolean' ? internal : undefined,
    checkoutUrl: textAt(raw, 'acquiring_url') ?? textAt(raw, 'payment_url'),
    raw,
  }
}

const DIGITS = 18
const exact = (text: string | undefined): bigint | undefined =>
  text === undefined ? undefined : parseDecimal(text, DIGITS)

/** Why this is not the order that was asked for, or null. */
function strangeness(order: WhitepayOrder, payment: PaymentKey): string | null {
  if (order.reference !== undefined && order.reference !== payment.merchantReference)
    return `it belongs to ${order.reference}`
  const asked: Money | undefined = [payment.fiat, payment.due].find(({ asset }) => asset === order.currency)
  if (asked === undefined) return `its currency is ${order.currency ?? 'missing'}`
  const scaled = asked.units * 10n ** BigInt(DIGITS - EXPONENTS[asked.asset])
  return exact(order.value) === scaled ? null : `its price is ${order.value ?? 'missing'} ${order.currency}`
}

/** What arrived, in USDC units: the due amount's share, whatever currency the order is priced in. */
function receivedUnits(order: WhitepayOrder, due: Money): bigint | undefined {
  const expected = exact(order.expected)
  const received = exact(order.received)
  if (expected === undefined || received === undefined || expected === 0n) return undefined
  return (due.units * received) / expected
}

const WALLETS = { true: 'inside WhiteBIT', false: 'from an outside wallet' } as const

const wordsOf = ({ status, isInternal }: WhitepayOrder): string =>
  isInternal === undefined ? status : `${status}, ${WALLETS[`${isInternal}`]}`

/** Money counts whatever the word: a COMPLETE may follow a DECLINED, and a declined order may hold a part. */
export function reportOf(order: WhitepayOrder, payment: PaymentKey, nowMs: number): PaymentReport {
  const { id: providerReference } = order
  const words = wordsOf(order)
  const meaning = Object.hasOwn(MEANINGS, order.status) ? MEANINGS[order.status] : undefined
  if (meaning === undefined) return { outcome: 'unknown', providerReference, words }
  const strange = strangeness(order, payment)
  if (strange !== null) return { outcome: 'unknown', providerReference, words: `${words}: ${strange}` }
  const units = receivedUnits(order, payment.due)
  if (units !== undefined && units > 0n) {
    const money = meaning === 'open' ? { final: 0n, pending: units } : { final: units }
    return paidReport(providerReference, { ...money, words })
  }
  if (meaning === 'open') return { outcome: 'waiting', providerReference, words }
  if (meaning !== 'gone') return { outcome: 'unknown', providerReference, words: `${words}: no received_total` }
  return { outcome: nowMs >= payment.expiresAt.getTime() ? 'expired' : 'cancelled', providerReference, words }
}

/** What a callback claims: without knowing what is due, money is left to the query. */
export function claimOf(order: WhitepayOrder): PaymentReport {
  const { id: providerReference, status } = order
  const meaning = Object.hasOwn(MEANINGS, status) ? MEANINGS[status] : undefined
  const holdsMoney = (exact(order.received) ?? 0n) > 0n
  const claims = { open: 'waiting', gone: 'cancelled', part: 'unknown', done: 'unknown' } as const
  const outcome = meaning === undefined || holdsMoney ? 'unknown' : claims[meaning]
  return { outcome, providerReference, words: wordsOf(order) }
}

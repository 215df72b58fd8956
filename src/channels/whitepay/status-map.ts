import { ownAt, textAt } from '../../kernel/json.ts'
import { EXPONENTS, type Money, parseDecimal } from '../../kernel/money.ts'
import { type PaymentKey, type PaymentReport, paidReport, type SeenReport, type UnmatchedMoney } from '../channel.ts'
import { coinUnits } from '../usdc-text.ts'

type Meaning = 'open' | 'part' | 'done' | 'gone'

/** Every status that the documents and older public code use. PATIALLY is how older code spells it. */
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

/** One deposit, or a return of money; decimals as Whitepay wrote them. */
type Deposit = {
  id: string | undefined
  currency: string | undefined
  value: string | undefined
  status: string | undefined
  /** DEPOSIT, ROLLBACK_TO_CLIENT and so on (docs.whitepay.com, webhooks/events). */
  type: string | undefined
}

/**
 * Whitepay's data about one order. `value` and `currency` are what was requested; `expected` is the amount to deposit,
 * in `depositedCurrency`. `received_total` is left out: it is what reaches the balance, in a third currency, after
 * conversion and fees (docs.whitepay.com, acquiring/crypto).
 */
export type WhitepayOrder = {
  id: string
  status: string
  currency: string | undefined
  value: string | undefined
  expected: string | undefined
  depositedCurrency: string | undefined
  deposits: readonly Deposit[]
  reference: string | undefined
  /** Paid within WhiteBIT, or from an external wallet; undefined until it is paid. */
  isInternal: boolean | undefined
  checkoutUrl: string | undefined
  raw: unknown
}

const readDeposit = (row: unknown): Deposit => ({
  id: textAt(row, 'id'),
  currency: textAt(row, 'currency'),
  value: textAt(row, 'value'),
  status: textAt(row, 'status'),
  type: textAt(row, 'type'),
})

function readDeposits(raw: unknown): Deposit[] {
  const rows = (raw as { transactions?: unknown } | null)?.transactions
  return (Array.isArray(rows) ? rows : []).map(readDeposit)
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
    // host-to-host writes it as an object
    currency: textAt(raw, 'currency') ?? textAt(raw, 'currency', 'ticker'),
    value: textAt(raw, 'value') ?? textAt(raw, 'amount'),
    expected: textAt(raw, 'expected_amount'),
    // the entity reference names it differently from every example
    depositedCurrency: textAt(raw, 'deposited_currency') ?? textAt(raw, 'deposit_currency'),
    deposits: readDeposits(raw),
    reference: textAt(raw, 'external_order_id'),
    isInternal: typeof internal === 'boolean' ? internal : undefined,
    checkoutUrl: textAt(raw, 'acquiring_url') ?? textAt(raw, 'payment_url'),
    raw,
  }
}

const DIGITS = 18
const exact = (text: string | undefined): bigint | undefined =>
  text === undefined ? undefined : parseDecimal(text, DIGITS)

/** Why this is not the requested order, or null. */
function strangeness(order: WhitepayOrder, payment: PaymentKey): string | null {
  if (order.reference !== payment.merchantReference) return `it belongs to ${order.reference ?? 'no order'}`
  const asked: Money | undefined = [payment.fiat, payment.due].find(({ asset }) => asset === order.currency)
  if (asked === undefined) return `its currency is ${order.currency ?? 'missing'}`
  const scaled = asked.units * 10n ** BigInt(DIGITS - EXPONENTS[asked.asset])
  return exact(order.value) === scaled ? null : `its price is ${order.value ?? 'missing'} ${order.currency}`
}

/** Deposits that were declined or sent back do not count. */
const isGone = ({ status }: Deposit): boolean => /declin|cancel|reject|fail|rollback/i.test(status ?? '')

/** The sign of each transaction type in the sum of deposits; money that Whitepay sent back is subtracted. */
const SIGNS: Readonly<Record<string, bigint>> = { ROLLBACK_TO_CLIENT: -1n, ROLLBACK_TO_MERCHANT: 0n, WITHDRAWAL: 0n }
const signOf = ({ type }: Deposit): bigint => ownAt(SIGNS, type ?? '') ?? 1n

/** A transaction that will not change any more (docs.whitepay.com, webhooks/events). */
const isComplete = ({ status }: Deposit): boolean => status === 'COMPLETE'

type Counts = (deposit: Deposit) => boolean

/**
 * The deposits as a share of the due amount: their sum over the expected deposit, both in one coin, minus what went
 * back. Undefined: something arrived, but it is unknown how much.
 */
function shareOf(order: WhitepayOrder, due: Money, counts: Counts = () => true): bigint | undefined {
  const deposits = order.deposits.filter((one) => !isGone(one) && signOf(one) !== 0n && counts(one))
  if (deposits.length === 0) return 0n
  const expected = exact(order.expected)
  if (!expected || order.depositedCurrency === undefined) return undefined
  let sum = 0n
  for (const deposit of deposits) {
    const units = exact(deposit.value)
    if (deposit.currency !== order.depositedCurrency || units === undefined) return undefined
    sum += units * signOf(deposit)
  }
  return sum <= 0n ? 0n : (due.units * sum) / expected
}

/** The same, up to the due amount. */
function depositedUnits(order: WhitepayOrder, due: Money, counts?: Counts): bigint | undefined {
  const share = shareOf(order, due, counts)
  return share !== undefined && share > due.units ? due.units : share
}

/**
 * "Rollback to account – overpayment amount was transferred to the account" (docs.whitepay.com, webhooks/events): money
 * above the price that stays with the merchant. It comes with an event of its own, and possibly in the order.
 */
const keptOf = (deposits: readonly Deposit[], orderId: string): UnmatchedMoney[] =>
  deposits
    .filter((deposit) => deposit.type === 'ROLLBACK_TO_MERCHANT' && isComplete(deposit))
    .map(({ id, currency = 'unknown', value = '' }) => ({
      asset: currency,
      units: coinUnits(currency, value),
      reference: `whitepay:${id ?? `${orderId}:${value}:${currency}`}`,
      isOneSum: true,
    }))

/** The same from the event's transaction. */
export const keptOfEvent = (transaction: unknown): UnmatchedMoney[] =>
  keptOf([readDeposit(transaction)], textAt(transaction, 'order_id') ?? '')

/**
 * What went to the account is above the price where more came than that, or an unknown amount. Else it is part of what
 * counts, whether its order is declined or complete.
 */
function besideOf(order: WhitepayOrder, due: Money): Pick<SeenReport, 'unmatched' | 'nowCounted'> {
  const kept = keptOf(order.deposits, order.id)
  const share = shareOf(order, due)
  if (share === undefined) return { unmatched: kept }
  if (share > due.units) return { unmatched: kept, nowCounted: [] }
  return { unmatched: [], nowCounted: kept.map(({ reference }) => reference) }
}

const WALLETS = { true: 'inside WhiteBIT', false: 'from an outside wallet' } as const

const statusText = ({ status, isInternal }: WhitepayOrder): string =>
  isInternal === undefined ? status : `${status}, ${WALLETS[`${isInternal}`]}`

/**
 * COMPLETE with our value, currency and reference is the whole payment, whatever reached the balance, unless its own
 * deposits show that staff completed a part of it (3.3 of the API). With any other status the money is a part, which
 * never completes the order; a COMPLETE may follow a DECLINED, and a declined order may hold a part.
 */
export function reportOf(order: WhitepayOrder, payment: PaymentKey, nowMs: number): PaymentReport {
  const { id: providerReference } = order
  const providerStatus = statusText(order)
  const meaning = ownAt(MEANINGS, order.status)
  if (meaning === undefined) return { outcome: 'unknown', providerReference, providerStatus }
  const strange = strangeness(order, payment)
  if (strange !== null)
    return { outcome: 'unknown', providerReference, providerStatus: `${providerStatus}: ${strange}` }
  const units = depositedUnits(order, payment.due)
  // a return counts as soon as it is announced
  const settled = depositedUnits(order, payment.due, (one) => isComplete(one) || signOf(one) < 0n) ?? 0n
  const allWentBack = units === 0n && order.deposits.some((deposit) => !isGone(deposit) && signOf(deposit) < 0n)
  if (meaning === 'done' && allWentBack)
    return { outcome: 'unknown', providerReference, providerStatus: `${providerStatus}, but all of it went back` }
  if (meaning === 'done') {
    // staff may complete an order while some of its deposits are still open
    const isSettled = order.deposits.some((one) => isComplete(one) && signOf(one) > 0n)
    const money =
      isSettled && units !== undefined
        ? { final: settled, pending: units - settled }
        : { final: units || payment.due.units }
    return { ...paidReport(providerReference, { ...money, providerStatus }), ...besideOf(order, payment.due) }
  }
  if (units === undefined || (meaning === 'part' && units === 0n))
    return {
      outcome: 'unknown',
      providerReference,
      providerStatus: `${providerStatus}: a part came, it does not say how much`,
    }
  if (units > 0n) {
    const final = meaning === 'open' ? 0n : settled
    const part = paidReport(providerReference, { final, pending: units - final, providerStatus })
    return { ...part, ...(meaning === 'gone' && besideOf(order, payment.due)), isPart: true }
  }
  if (meaning === 'open') return { outcome: 'waiting', providerReference, providerStatus }
  const outcome = nowMs >= payment.expiresAt.getTime() ? 'expired' : 'cancelled'
  return { outcome, providerReference, unmatched: keptOf(order.deposits, order.id), providerStatus }
}

/** Whether it can no longer be paid. */
export const isOver = ({ status }: WhitepayOrder): boolean => ownAt(MEANINGS, status) === 'gone'

/** What a callback claims: amounts are left to the query. */
export function claimOf(order: WhitepayOrder): PaymentReport {
  const { id: providerReference, status } = order
  const meaning = ownAt(MEANINGS, status)
  const claims = { open: 'waiting', gone: 'cancelled', part: 'unknown', done: 'unknown' } as const
  const holdsMoney = order.deposits.length > 0 || (exact(textAt(order.raw, 'received_total')) ?? 0n) > 0n
  const outcome = meaning === undefined || holdsMoney ? 'unknown' : claims[meaning]
  return { outcome, providerReference, providerStatus: statusText(order) }
}

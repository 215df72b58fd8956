import { ownAt, textAt } from '../../kernel/json.ts'
import { EXPONENTS, type Money, parseDecimal, proportion } from '../../kernel/money.ts'
import {
  type PaymentKey,
  type PaymentReport,
  paidReport,
  type Returned,
  type SeenReport,
  type Total,
  type UnmatchedMoney,
} from '../channel.ts'
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
  at: Date | undefined
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

/** `2024-06-10 06:13:20`; the zone is not documented. */
function readTime(text: string | undefined): Date | undefined {
  const at = new Date(`${text?.slice(0, 19).replace(' ', 'T')}Z`)
  return Number.isNaN(at.getTime()) ? undefined : at
}

const readDeposit = (row: unknown): Deposit => ({
  id: textAt(row, 'id'),
  currency: textAt(row, 'currency'),
  value: textAt(row, 'value'),
  status: textAt(row, 'status'),
  type: textAt(row, 'type'),
  at: readTime(textAt(row, 'created_at')),
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

/** The sign of each transaction type in the sum of deposits; money that Whitepay sent back is subtracted. */
const SIGNS: Readonly<Record<string, bigint>> = { ROLLBACK_TO_CLIENT: -1n, ROLLBACK_TO_MERCHANT: 0n, WITHDRAWAL: 0n }
const signOf = ({ type }: Deposit): bigint => ownAt(SIGNS, type ?? '') ?? 1n

const isRolledBack = ({ status }: Deposit): boolean => /rollback/i.test(status ?? '')

/** A transaction that will not change any more (docs.whitepay.com, webhooks/events). */
const isComplete = ({ status }: Deposit): boolean => status === 'COMPLETE'
/** The same of money that came: it may have left again. */
const isFinal = (one: Deposit): boolean => isComplete(one) || isRolledBack(one)

/**
 * What was declined never came. A deposit that was rolled back did, if the order lists where anything went: then its
 * return is subtracted, or the account has it.
 */
function countedOf({ deposits }: WhitepayOrder): Deposit[] {
  const isGone = (one: Deposit): boolean => /declin|cancel|reject|fail/i.test(one.status ?? '')
  const tellsWhere = deposits.some((one) => /^ROLLBACK_TO_/.test(one.type ?? '') && !isGone(one) && !isRolledBack(one))
  return deposits.filter((one) => !isGone(one) && (!isRolledBack(one) || (tellsWhere && signOf(one) > 0n)))
}

type Counts = (deposit: Deposit) => boolean

/**
 * The deposits in one coin, minus what went back to the client. Less than 0: a deposit of what went back is not listed.
 * Undefined: something arrived, but it is unknown how much.
 */
function coinsOf(order: WhitepayOrder, counts: Counts = () => true): bigint | undefined {
  const deposits = countedOf(order).filter((one) => signOf(one) !== 0n && counts(one))
  let sum = 0n
  for (const deposit of deposits) {
    const units = exact(deposit.value)
    if (deposit.currency !== order.depositedCurrency || units === undefined) return undefined
    sum += units * signOf(deposit)
  }
  return sum
}

/** The same as a share of the due amount: over the expected deposit, in the same coin. It may be more than is due. */
function shareOf(order: WhitepayOrder, due: Money, counts?: Counts): bigint | undefined {
  const coins = coinsOf(order, counts)
  const expected = exact(order.expected)
  if (coins === undefined || coins <= 0n) return coins === undefined ? undefined : 0n
  return expected ? proportion(due.units, coins, expected) : undefined
}

/** What went back to the client of what came; undefined: nothing came, or it is unknown how much. */
function returnedOf(order: WhitepayOrder, due: Money): Returned | undefined {
  const came = shareOf(order, due, (one) => signOf(one) > 0n)
  const left = shareOf(order, due)
  const atLast = shareOf(order, due, (one) => signOf(one) > 0n || isComplete(one))
  if (!came || left === undefined || atLast === undefined) return undefined
  const made = countedOf(order).flatMap((one) => {
    const units = came - (shareOf(order, due, (other) => signOf(other) > 0n || other === one) ?? came)
    return signOf(one) < 0n && isComplete(one) && one.at ? [{ units, at: one.at }] : []
  })
  return { units: came - left, complete: came - atLast, made }
}

/** Whether any transaction of this sign counts. */
const has = (order: WhitepayOrder, sign: bigint): boolean => countedOf(order).some((one) => signOf(one) === sign)

/** All that came is known to have gone back to the client. */
const wentBack = (order: WhitepayOrder): boolean => coinsOf(order) === 0n && has(order, 1n) && has(order, -1n)

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
      reference: `${OWN}${id ?? `${orderId}:${value}:${currency}`}`,
      isOneSum: true,
    }))

/** The same from the event's transaction. */
export const keptOfEvent = (transaction: unknown): UnmatchedMoney[] =>
  keptOf([readDeposit(transaction)], textAt(transaction, 'order_id') ?? '')

/** What it names of its own money: what went to the account may be above the price, or be the price. */
const OWN = 'whitepay:'

/**
 * All that came, in the payer's coin. What went to the account is part of that, whether it is listed here or only its
 * event told of it: the order may list none of it. Where it is unknown how much came, it is above the price.
 */
function totalOf(order: WhitepayOrder, due: Money): Total {
  const { depositedCurrency: asset, expected } = order
  const units = asset === undefined || expected === undefined ? 0n : coinUnits(asset, expected)
  if (shareOf(order, due) === undefined || asset === undefined || units === 0n)
    return { price: due.units, contains: [] }
  return { price: due.units, contains: [OWN], rate: { asset, units }, mayOmit: true }
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
  return moneyOf(order, payment, { meaning, providerStatus, nowMs })
}

/** What an order says whose price and reference are ours. */
function moneyOf(
  order: WhitepayOrder,
  { due, expiresAt }: PaymentKey,
  { meaning, providerStatus, nowMs }: { meaning: Meaning; providerStatus: string; nowMs: number },
): PaymentReport {
  const { id: providerReference, deposits } = order
  const units = shareOf(order, due)
  // a return counts as soon as it is announced
  const settled = shareOf(order, due, (one) => isFinal(one) || signOf(one) < 0n) ?? 0n
  const total = totalOf(order, due)
  const unmatched = keptOf(deposits, order.id)
  const returned = returnedOf(order, due)
  const tell = (money: { final: bigint; pending?: bigint }): SeenReport => ({
    ...paidReport(providerReference, { ...money, providerStatus }),
    ...{ unmatched, total, ...(returned && { returned }) },
  })
  const unknown = (why: string): PaymentReport => ({
    outcome: 'unknown',
    providerReference,
    providerStatus: `${providerStatus}${why}`,
  })
  const end = nowMs >= expiresAt.getTime() ? 'expired' : 'cancelled'
  if (wentBack(order))
    return {
      ...tell({ final: 0n }),
      ...(meaning !== 'done' && { isPart: true }),
      providerStatus: `${providerStatus}, but all of it went back`,
      ...(meaning === 'gone' && { ends: end }),
    }
  if (meaning === 'done') {
    if (units === 0n && has(order, -1n)) return unknown(', but more went back than came')
    if (units === undefined || units === 0n)
      return { ...tell({ final: due.units }), total: { ...total, contains: [], isLeast: true } }
    // staff may complete an order while some of its deposits are still open
    const isSettled = countedOf(order).some((one) => isFinal(one) && signOf(one) > 0n)
    return isSettled ? tell({ final: settled, pending: units - settled }) : tell({ final: units })
  }
  if (units === undefined || (meaning === 'part' && units === 0n))
    return unknown(': a part came, it does not say how much')
  if (units > 0n) {
    // nothing of an open order counts yet, also of what went to the account
    if (meaning === 'open')
      return { ...paidReport(providerReference, { final: 0n, pending: units, providerStatus }), isPart: true }
    return { ...tell({ final: settled, pending: units - settled }), isPart: true }
  }
  if (meaning === 'open') return { outcome: 'waiting', providerReference, providerStatus }
  return { outcome: end, providerReference, unmatched, providerStatus }
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

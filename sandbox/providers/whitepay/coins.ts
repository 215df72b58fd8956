import { textOf, unitsOf } from '../decimal.ts'
import type { Deposit, ProviderPayment } from '../imitation.ts'

/*
 * Meaning of the amounts (docs.whitepay.com, "docs/http-api/acquiring/crypto"): `value` and `currency` are what the
 * merchant requested, `expected_amount` is what must be deposited, in `deposited_currency`, and `received_total` is
 * what reaches the merchant's balance, in `received_currency`, after conversion and fees.
 */

/** Decimals of each coin that a payer can deposit. */
export const COINS: Readonly<Record<string, number>> = { USDT: 6, USDC: 6, BTC: 8 }
/** The currency of the merchant's balance. */
export const SETTLEMENT_ASSET = 'USDT'

/** Price of one unit in USDT. Deliberately unlike the shop's rates: no two amounts of an order are interchangeable. */
const PRICES: Readonly<Record<string, string>> = {
  EUR: '1.082',
  USD: '1.002',
  GBP: '1.262',
  UAH: '0.0236',
  USDC: '0.999',
  USDT: '1',
  BTC: '64000',
}
/** The fee in the documentation's own example of a COMPLETE order: 100 deposited, 95.5 received. */
const FEE_PER_MILLE = 45n

/** One deposit of the payer. */
export type CoinDeposit = {
  value: string
  currency: string
  /** What it adds to the merchant's balance, in the settlement asset. */
  received: string
  at: number
  /** The chain has not confirmed it yet. */
  unconfirmed?: boolean
}

const SCALE = 10n ** 18n
const unit = (text: string): bigint => unitsOf(text) ?? 0n
const priceOf = (asset: string): bigint => unit(PRICES[asset] ?? '0')

/** Rounds to the coin's digits: up for what is requested, down for what is given. */
function roundTo(digits: number, units: bigint, up: boolean): string {
  const step = 10n ** BigInt(18 - digits)
  const whole = units / step + (up && units % step > 0n ? 1n : 0n)
  return textOf(whole * step)
}

function convert(amount: string, from: string, to: string, up = false): string {
  return roundTo(COINS[to] ?? 2, (unit(amount) * priceOf(from)) / priceOf(to), up)
}

/** Units of the deposited coin for one unit of the asked currency. */
export const rateOf = (from: string, to: string): string => textOf((priceOf(from) * SCALE) / priceOf(to))

export const depositsOf = ({ facts }: ProviderPayment): CoinDeposit[] => (facts.deposits as CoinDeposit[]) ?? []
export const completeOf = (payment: ProviderPayment): CoinDeposit[] =>
  depositsOf(payment).filter(({ unconfirmed }) => !unconfirmed)

/** @returns whether there was one to confirm */
export function confirmDeposits(payment: ProviderPayment): boolean {
  const waiting = depositsOf(payment).filter(({ unconfirmed }) => unconfirmed)
  for (const deposit of waiting) deposit.unconfirmed = false
  return waiting.length > 0
}

export const coinOf = ({ facts }: ProviderPayment): string | null => (facts.coin as string | undefined) ?? null
export const expectedOf = ({ facts }: ProviderPayment): string | null => (facts.expected as string | undefined) ?? null

const total = (amounts: string[]): bigint => amounts.reduce((sum, amount) => sum + unit(amount), 0n)

export const depositedOf = (payment: ProviderPayment): string =>
  textOf(total(depositsOf(payment).map(({ value }) => value)))
export const receivedTotalOf = (payment: ProviderPayment): string =>
  textOf(total(completeOf(payment).map(({ received }) => received)))

/** The payer chooses a coin; from now on the order shows how much of it must arrive. */
export function chooseCoin(payment: ProviderPayment, coin: string): void {
  payment.facts.coin = coin
  payment.facts.expected = convert(payment.amount, payment.currency, coin, true)
}

const defaultCoin = (currency: string): string => (currency in COINS ? currency : SETTLEMENT_ASSET)

/** The payer's amount in the coin, or in the requested currency, which the payer's wallet converts. */
function coinValueOf(payment: ProviderPayment, coin: string, { amount, currency }: Deposit): string {
  if (amount === undefined) return textOf(unit(expectedOf(payment) ?? '0') - unit(depositedOf(payment)))
  if (currency !== coin) return convert(amount, payment.currency, coin)
  if (unitsOf(amount, COINS[coin]) === undefined) throw new Error(`${coin} has ${COINS[coin]} digits after the point`)
  return amount
}

/** @returns how much of the requested amount the deposit pays, in the requested currency */
export function receiveCoin(payment: ProviderPayment, deposit: Deposit, at: number, confirmed: boolean): string {
  const { currency = '' } = deposit
  const isCoin = currency !== payment.currency && currency !== ''
  if (isCoin && !(currency in COINS)) throw new Error(`Whitepay takes ${Object.keys(COINS).join(', ')}`)
  const wanted = isCoin || currency in COINS ? currency : defaultCoin(payment.currency)
  const chosen = coinOf(payment)
  if (chosen !== null && isCoin && chosen !== wanted) throw new Error(`this order waits for ${chosen}`)
  const coin = chosen ?? wanted
  if (chosen === null) chooseCoin(payment, coin)
  // a chain confirms in order
  if (confirmed) confirmDeposits(payment)
  const value = coinValueOf(payment, coin, isCoin ? deposit : { ...deposit, currency: payment.currency })
  const gross = unit(convert(value, coin, SETTLEMENT_ASSET))
  const received = roundTo(COINS[SETTLEMENT_ASSET] ?? 6, (gross * (1000n - FEE_PER_MILLE)) / 1000n, false)
  payment.facts.deposits = [...depositsOf(payment), { value, currency: coin, received, at, unconfirmed: !confirmed }]
  const share = (unit(payment.amount) * unit(depositedOf(payment))) / unit(expectedOf(payment) ?? '1')
  return textOf(share - unit(payment.received))
}

/**
 * How much more than expected arrived, in the deposited coin; null: nothing. Whitepay sends it back to the client or
 * moves it to the merchant's account (webhooks/events, "rollback to client/account").
 */
export function overpaidOf(payment: ProviderPayment): string | null {
  const over = unit(depositedOf(payment)) - unit(expectedOf(payment) ?? '0')
  return over > 0n && coinOf(payment) !== null ? textOf(over) : null
}

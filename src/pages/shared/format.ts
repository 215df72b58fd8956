import { type Fiat, formatDecimal, formatMoney, type Money, RATE_EXPONENT } from '../../kernel/money.ts'
import { formatRate } from '../../orders/order.ts'

const numbers = new Map<string, Intl.NumberFormat>()
const dates = new Map<string, Intl.DateTimeFormat>()

function numberFormat(locale: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${locale} ${JSON.stringify(options)}`
  const format = numbers.get(key) ?? new Intl.NumberFormat(locale, options)
  numbers.set(key, format)
  return format
}

/** Decimal text in, every digit out: `Intl` formats strings without rounding them to a double. */
const format = (locale: string, decimal: string, options: Intl.NumberFormatOptions): string =>
  numberFormat(locale, options).format(decimal as Intl.StringNumericLiteral)

/** "€54.00": fiat as people of this locale write it. */
export const showFiat = (money: Money, locale: string): string =>
  format(locale, formatMoney(money), { style: 'currency', currency: money.asset })

/** An example for an amount field, "€1000.00": not grouped, because a typed separator of thousands is ambiguous. */
export const showTypedFiat = (money: Money, locale: string): string =>
  format(locale, formatMoney(money), { style: 'currency', currency: money.asset, useGrouping: false })

/** How this locale writes a currency, "US$" and "$", the longer one first. */
export const currencySigns = (currency: Fiat, locale: string): string[] =>
  (['symbol', 'narrowSymbol'] as const).flatMap((currencyDisplay) =>
    numberFormat(locale, { style: 'currency', currency, currencyDisplay })
      .formatToParts(0)
      .flatMap(({ type, value }) => (type === 'currency' ? [value] : [])),
  )

/** "58.32": at least two digits after the point, and as many as there are. */
export const showToken = (money: Money, locale: string): string =>
  format(locale, formatMoney(money), { minimumFractionDigits: 2, maximumFractionDigits: 6 })

/**
 * "58.32" for pasting into wallets: always a point, no grouping, exact. Never three digits after the point: where a
 * point groups thousands, "53.892" reads as 53 thousand.
 */
export const plainToken = (money: Money): string =>
  formatMoney(money)
    .replace(/(\.\d{2}\d*?)0+$/, '$1')
    .replace(/\.\d{3}$/, '$&0')

export const showRate = (rate: bigint, locale: string): string =>
  format(locale, formatRate(rate) || formatDecimal(rate, RATE_EXPONENT), { maximumFractionDigits: 12 })

export function showTime(date: Date, locale: string): string {
  const known = dates.get(locale)
  const dateFormat =
    known ?? new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  dates.set(locale, dateFormat)
  return `${dateFormat.format(date)} UTC`
}

/** "14:32", or "1:05:00" from one hour on. */
export function showSpan(spanMs: number): string {
  const seconds = Math.max(0, Math.ceil(spanMs / 1000))
  const two = (value: number): string => String(value).padStart(2, '0')
  const minutes = Math.floor(seconds / 60) % 60
  const hours = Math.floor(seconds / 3600)
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`
}

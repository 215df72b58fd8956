import { type Lang, useCore, useLang } from '../texts/lang.ts'
import { pointOf } from './decimal.ts'

const numbers = new Map<string, Intl.NumberFormat>()
const dates = new Map<string, Intl.DateTimeFormat>()

function cached<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key) ?? make()
  map.set(key, known)
  return known
}

/** The reader's time zone: "today" is the reader's day. */
export const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'

/** English readers are assumed to be in Europe: day before month. */
const localeOf = (lang: Lang): string => (lang === 'en' ? 'en-GB' : lang)

const FIAT = /^(EUR|CHF|XPF|USD|GBP)$/

/** Decimal text in, readable text out; every digit is kept, without a float. Trailing zeros of USDC are dropped. */
export function formatMoney(lang: Lang, amount: string, asset: string): string {
  if (!/^-?\d+(\.\d+)?$/.test(amount)) return `${amount} ${asset}`
  const exact = amount as unknown as number
  if (FIAT.test(asset)) {
    const make = () => new Intl.NumberFormat(localeOf(lang), { style: 'currency', currency: asset })
    return cached(numbers, `${lang}:${asset}`, make).format(exact)
  }
  const make = () => new Intl.NumberFormat(localeOf(lang), { minimumFractionDigits: 2, maximumFractionDigits: 6 })
  return `${cached(numbers, `${lang}:unit`, make).format(exact)} ${asset}`
}

export function formatTime(lang: Lang, iso: string, style: 'short' | 'long' = 'short'): string {
  const options: Intl.DateTimeFormatOptions =
    style === 'long' ? { dateStyle: 'medium', timeStyle: 'medium' } : { dateStyle: 'medium', timeStyle: 'short' }
  return cached(dates, `${lang}:${style}`, () => new Intl.DateTimeFormat(localeOf(lang), options)).format(new Date(iso))
}

/** `2026-11-23` as "23 Nov", regardless of the reader's time zone. */
export const formatDay = (lang: Lang, day: string): string =>
  cached(
    dates,
    `${lang}:day`,
    () => new Intl.DateTimeFormat(localeOf(lang), { day: 'numeric', month: 'short', timeZone: 'UTC' }),
  ).format(new Date(day))

/** `2026-11` as "November 2026". */
export const formatMonth = (lang: Lang, month: string): string =>
  cached(
    dates,
    `${lang}:month`,
    () => new Intl.DateTimeFormat(localeOf(lang), { month: 'long', year: 'numeric', timeZone: 'UTC' }),
  ).format(new Date(`${month}-15T12:00:00Z`))

/** An amount of the API in the form that people type into a field. */
export const writeAmount = (lang: Lang, amount: string | null | undefined): string | undefined =>
  amount?.replace('.', pointOf(lang))

/** A rate or a share: every digit, with the reader's separator. */
export const formatNumber = (lang: Lang, number: string): string => {
  const make = () => new Intl.NumberFormat(localeOf(lang), { maximumFractionDigits: 18 })
  return cached(numbers, `${lang}:number`, make).format(number as unknown as number)
}

/** "1 EUR = 1.08 USDC" */
export const formatRate = (lang: Lang, order: { fromAsset: string; rate: string; toAsset: string }): string =>
  `1 ${order.fromAsset} = ${formatNumber(lang, order.rate)} ${order.toAsset}`

export const formatCount = (lang: Lang, count: number): string =>
  cached(numbers, `${lang}:count`, () => new Intl.NumberFormat(localeOf(lang))).format(count)

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

/** "3 hours ago", for the age of waiting items. */
export function useAgo(): (iso: string) => string {
  const lang = useLang()
  const core = useCore()
  return (iso) => {
    const seconds = Math.round((Date.parse(iso) - Date.now()) / 1000)
    const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? []
    if (!unit || !size) return core.ago.now
    return new Intl.RelativeTimeFormat(localeOf(lang), { numeric: 'auto' }).format(Math.round(seconds / size), unit)
  }
}

/** 0x1234…abcd for display; the whole address is in the title. */
export const shorten = (text: string): string => (text.length > 16 ? `${text.slice(0, 8)}…${text.slice(-6)}` : text)

/** "in 42 minutes" */
export function formatWait(lang: Lang, seconds: number): string {
  const words = new Intl.RelativeTimeFormat(localeOf(lang))
  if (seconds < 60) return words.format(Math.ceil(seconds), 'second')
  if (seconds <= 5400) return words.format(Math.ceil(seconds / 60), 'minute')
  return words.format(Math.ceil(seconds / 3600), 'hour')
}

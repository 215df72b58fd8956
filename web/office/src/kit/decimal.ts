const DIGITS = 6

/** Units of decimal text with up to 6 digits; money is never a floating point number. */
export function toUnits(text: string): bigint {
  const [whole = '0', part = ''] = text.replace('-', '').split('.')
  const units = BigInt(whole + part.slice(0, DIGITS).padEnd(DIGITS, '0'))
  return text.startsWith('-') ? -units : units
}

export function fromUnits(units: bigint): string {
  const text = (units < 0n ? -units : units).toString().padStart(DIGITS + 1, '0')
  return `${units < 0n ? '-' : ''}${text.slice(0, -DIGITS)}.${text.slice(-DIGITS)}`
}

export const sum = (amounts: readonly string[]): string =>
  fromUnits(amounts.reduce((left, amount) => left + toUnits(amount), 0n))

const TYPED = [
  /^(\d+)(?:[.,](\d+))?$/,
  /^(\d{1,3}(?:[\s'’]\d{3})+)(?:[.,](\d+))?$/,
  /^(\d{1,3}(?:\.\d{3})+),(\d+)$/,
  /^(\d{1,3}(?:,\d{3})+)\.(\d+)$/,
  /^(\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:,\d{3}){2,})$/,
]

/** One separator and three digits: "1.250" is more than a thousand in Berlin, and one and a quarter in London. */
const GROUP_OR_POINT = /^[1-9]\d{0,2}([.,])\d{3}$/

export const pointOf = (lang: string): '.' | ',' => (lang === 'en' ? '.' : ',')

/** The reader's decimal separator, and the currency's decimals. */
export type AmountForm = { point: '.' | ','; digits: number }

/**
 * Whether the text might mean a thousand times more. For a token with three decimals, the reader's own decimal
 * separator settles it.
 */
export function isAmbiguous(text: string, { point, digits }: AmountForm): boolean {
  const separator = GROUP_OR_POINT.exec(text.trim())?.[1]
  return separator !== undefined && (digits < 3 || separator !== point)
}

/**
 * An amount as people type it ("12,5", "1.234,56", "1 234.56"), in the API's form; null if it is not an amount. A
 * single separator is the decimal one; check `isAmbiguous` first.
 */
export function readAmount(text: string): string | null {
  for (const form of TYPED) {
    const [, whole, part] = form.exec(text.trim()) ?? []
    if (whole !== undefined) return whole.replace(/\D/g, '') + (part === undefined ? '' : `.${part}`)
  }
  return null
}

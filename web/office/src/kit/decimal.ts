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

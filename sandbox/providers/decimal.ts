/** Decimal text as whole units of 10^-exponent; undefined when it does not fit exactly. */
export function unitsOf(text: string, exponent = 18): bigint | undefined {
  const [, whole, fraction = ''] = /^(\d{1,30})(?:\.(\d{1,18}))?$/.exec(text) ?? []
  if (whole === undefined || fraction.length > exponent) return undefined
  return BigInt(whole + fraction.padEnd(exponent, '0'))
}

/** Whole units of 10^-exponent as the shortest decimal text. */
export function textOf(units: bigint, exponent = 18): string {
  const digits = units.toString().padStart(exponent + 1, '0')
  const fraction = digits.slice(digits.length - exponent).replace(/0+$/, '')
  return digits.slice(0, digits.length - exponent) + (fraction === '' ? '' : `.${fraction}`)
}

const units = (text: string): bigint => unitsOf(text) ?? 0n

export const isAtLeast = (left: string, right: string): boolean => units(left) >= units(right)
export const add = (left: string, right: string): string => textOf(units(left) + units(right))
export const subtract = (left: string, right: string): string => textOf(units(left) - units(right))
export const half = (text: string): string => textOf(units(text) / 2n)
export const sum = (texts: readonly string[]): string => texts.reduce(add, '0')

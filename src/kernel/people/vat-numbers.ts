/**
 * VAT numbers by prefix: the pattern of the rest, and an example. EU: the formats of VIES (ec.europa.eu, "VAT number
 * structure"), XI is Northern Ireland, EL is Greece. GB: gov.uk. CHE: the Swiss UID with the suffix of the register.
 */
const FORMATS: Readonly<Record<string, readonly [RegExp, string]>> = {
  AT: [/^U\d{8}$/, 'ATU12345678'],
  BE: [/^[01]\d{9}$/, 'BE0123456789'],
  BG: [/^\d{9,10}$/, 'BG123456789'],
  CHE: [/^\d{9}(MWST|TVA|IVA)?$/, 'CHE-123.456.789 MWST'],
  CY: [/^\d{8}[A-Z]$/, 'CY12345678X'],
  CZ: [/^\d{8,10}$/, 'CZ12345678'],
  DE: [/^\d{9}$/, 'DE123456789'],
  DK: [/^\d{8}$/, 'DK12345678'],
  EE: [/^\d{9}$/, 'EE123456789'],
  EL: [/^\d{9}$/, 'EL123456789'],
  ES: [/^[A-Z0-9]\d{7}[A-Z0-9]$/, 'ESB12345678'],
  FI: [/^\d{8}$/, 'FI12345678'],
  FR: [/^[A-HJ-NP-Z0-9]{2}\d{9}$/, 'FR12345678901'],
  GB: [/^(\d{9}|\d{12}|GD\d{3}|HA\d{3})$/, 'GB123456789'],
  HR: [/^\d{11}$/, 'HR12345678901'],
  HU: [/^\d{8}$/, 'HU12345678'],
  IE: [/^(\d{7}[A-W][A-I]?|\d[A-Z+*]\d{5}[A-W])$/, 'IE1234567FA'],
  IT: [/^\d{11}$/, 'IT12345678901'],
  LT: [/^(\d{9}|\d{12})$/, 'LT123456789'],
  LU: [/^\d{8}$/, 'LU12345678'],
  LV: [/^\d{11}$/, 'LV12345678901'],
  MT: [/^\d{8}$/, 'MT12345678'],
  NL: [/^[A-Z0-9+*]{12}$/, 'NL123456789B01'],
  PL: [/^\d{10}$/, 'PL1234567890'],
  PT: [/^\d{9}$/, 'PT123456789'],
  RO: [/^\d{2,10}$/, 'RO12345678'],
  SE: [/^\d{12}$/, 'SE123456789012'],
  SI: [/^\d{8}$/, 'SI12345678'],
  SK: [/^\d{10}$/, 'SK1234567890'],
  XI: [/^(\d{9}|\d{12}|GD\d{3}|HA\d{3})$/, 'XI123456789'],
}

/** Without separators that people type: spaces, dots, hyphens. */
const plain = (text: string): string => text.toUpperCase().replaceAll(/[\s.\-\u2010-\u2015]/g, '')

const prefixOf = (text: string): string => (text.startsWith('CHE') ? 'CHE' : text.slice(0, 2))

/** `CHE-123.456.789 MWST`, as the Swiss register writes it. */
const showSwiss = (rest: string): string =>
  `CHE-${rest.slice(0, 3)}.${rest.slice(3, 6)}.${rest.slice(6, 9)} ${rest.slice(9)}`.trimEnd()

/**
 * @param text as people write it, with its prefix
 * @returns the form that is stored, or what is wrong with it, as words that follow the field's name
 */
export function readVatNumber(text: string): { number: string } | { fault: string } {
  const written = plain(text)
  const prefix = prefixOf(written)
  const known = FORMATS[prefix]
  if (!known)
    return { fault: 'must begin with its country, such as DE123456789, FR12345678901 or CHE-123.456.789 MWST' }
  const [form, example] = known
  const rest = written.slice(prefix.length)
  if (!form.test(rest)) return { fault: `must look like ${example}` }
  return { number: prefix === 'CHE' ? showSwiss(rest) : written }
}

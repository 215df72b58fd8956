import type { Address } from 'viem'
import { isAddress } from 'viem/utils'
import { invalid } from './errors.ts'

/**
 * An EVM address, in one case or with a valid checksum (EIP-55); a wrong checksum is a typo. Undefined: not an address.
 * @returns it in lower case if it came in capitals, which libraries take for a wrong checksum, and with a small x
 */
export function parseAddress(text: string): Address | undefined {
  const plain = text.replace(/^0X/, '0x')
  if (isAddress(plain, { strict: true })) return plain
  return /^0x[0-9A-F]{40}$/.test(plain) ? (plain.toLowerCase() as Address) : undefined
}

/** As `parseAddress`. @throws VALIDATION_FAILED at `path` */
export function readAddress(path: string, text: string): string {
  const address = parseAddress(text)
  if (address !== undefined) return address
  throw invalid(path, 'must be an EVM address: 0x and 40 hexadecimal digits, in one case or with a right checksum')
}

/** ISO 3166-1 alpha-2, as of 2026. */
const COUNTRIES = new Set(
  `AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC
CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE
GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM
KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ
NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH
SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG
VI VN VU WF WS YE YT ZA ZM ZW`.split(/\s+/),
)

export const isCountry = (code: string): boolean => COUNTRIES.has(code)

/** A French establishment number: 14 digits whose Luhn sum is a multiple of ten (insee.fr). */
export function isSiret(text: string): boolean {
  if (!/^\d{14}$/.test(text)) return false
  const sum = [...text].reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 2 : 1)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

import type { Queryable } from '../db/db.ts'
import { DOTS, withoutUnseen } from '../kernel/names.ts'
import { findCompanyName, findShortCode } from './operator-queries.ts'

/** Longer names are cut: in an alarm a name only helps to recognise a company, and the id says which one it is. */
const MAX_NAME = 60

/**
 * A link, an address or a scheme begins after one of these; with a space behind it, mail programs see plain text. A
 * word joiner (U+2060) would keep names as they are written, but host names ignore it (UTS #46): what a program makes a
 * link of all the same would lead there.
 */
const LINKING = new RegExp(`[:@${DOTS}](?=\\S)`, 'gu')

/** Host names ignore them, and people do not see them: they decide nothing. */
const bare = (text: string): string => text.replace(/\p{Default_Ignorable_Code_Point}/gu, '')

const STARTS_LABEL = /^\p{M}*[\p{L}\p{N}]/u
/** A number with one dot, `3.0`; four with three are an address. */
const WHOLE_PART = new RegExp(`(?<![${DOTS}][\\p{L}\\p{N}]*)\\p{N}$`, 'u')
const FRACTION = new RegExp(`^\\p{N}+(?![\\p{L}\\p{N}\\p{M}]|[${DOTS}][\\p{L}\\p{N}\\p{M}])`, 'u')

const isLinking = (sign: string, before: string, after: string): boolean =>
  sign === ':' || sign === '@' || (STARTS_LABEL.test(after) && !(WHOLE_PART.test(before) && FRACTION.test(after)))

/** A stranger's name as one line without anything that a mail program would make a link of. */
export const unlinkedName = (name: string): string =>
  withoutUnseen(name)
    .replace(/\s+/g, ' ')
    .replace(LINKING, (sign, at: number, whole: string) =>
      isLinking(sign, bare(whole.slice(0, at)), bare(whole.slice(at + 1))) ? `${sign} ` : sign,
    )
    .trim()

/** The same as a short line, for alarms. */
export function plainName(name: string): string {
  const line = unlinkedName(name)
  const letters = [...line]
  return letters.length > MAX_NAME
    ? `${letters
        .slice(0, MAX_NAME - 1)
        .join('')
        .trim()}…`
    : line
}

/** How alarms name a company: `Name (id)`, or its id alone where it has no name. */
export async function nameCompany(q: Queryable, companyId: string): Promise<string> {
  const name = plainName((await findCompanyName(q, companyId)) ?? '')
  return name === '' ? companyId : `${name} (${companyId})`
}

/** `order SHORTCODE of company Name (id)`, without the order where there is none. */
export async function nameOrigin(
  q: Queryable,
  { companyId, orderId }: { companyId: string; orderId: string | null },
): Promise<string> {
  const shortCode = orderId === null ? undefined : await findShortCode(q, companyId, orderId)
  const order = shortCode === undefined ? '' : `order ${shortCode} of `
  return `${order}company ${await nameCompany(q, companyId)}`
}

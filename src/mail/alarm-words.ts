import type { Queryable } from '../db/db.ts'
import { withoutUnseen } from '../kernel/names.ts'
import { findCompanyName, findShortCode } from './operator-queries.ts'

/** Longer names are cut: in an alarm a name only helps to recognise a company, and the id says which one it is. */
const MAX_NAME = 60

/**
 * A link, an address or a scheme begins after one of these; with a space behind it, mail programs see plain text. A
 * word joiner (U+2060) would keep names as they are written, but host names ignore it (UTS #46): what a program makes a
 * link of all the same would lead there.
 */
const LINKING = /([:@]|[.。．｡](?=[\p{L}\p{N}]*\p{L}))(?=\S)/gu

/** A stranger's name as one line without anything that a mail program would make a link of. */
export const unlinkedName = (name: string): string =>
  withoutUnseen(name).replace(/\s+/g, ' ').replace(LINKING, '$1 ').trim()

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

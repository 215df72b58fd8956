import type { Cells } from './export-cells.ts'
import { COLUMNS } from './export-columns.ts'

/**
 * Prefixes that a spreadsheet takes for a formula (OWASP, CSV injection), wide forms included. Spreadsheets that
 * separate by semicolon also split there, so the rest of the text starts another cell.
 */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]|;\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/

/** Whether a spreadsheet would evaluate this text. */
export const looksLikeFormula = (text: string): boolean => FORMULA.test(text)

/** Most texts: nothing in them has a meaning in CSV, in XML or to a spreadsheet. Saves the other checks. */
export const isPlain = (text: string): boolean => /^[0-9A-Za-z][0-9A-Za-z:/.?=#-]*$/.test(text)

const quote = (text: string): string => (/[";,\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

const guard = (text: string): string => quote(looksLikeFormula(text) ? `'${text}` : text)

const IS_TEXT = COLUMNS.map(({ kind }) => kind === 'text')

/** One line of RFC 4180, with its CRLF. User text that looks like a formula gets an apostrophe in front. */
export function csvRow(cells: Cells): string {
  let line = ''
  for (let index = 0; index < cells.length; index += 1) {
    const text = cells[index]
    if (index > 0) line += ','
    if (typeof text === 'string') line += !IS_TEXT[index] || isPlain(text) ? text : guard(text)
  }
  return `${line}\r\n`
}

/** The line of titles. Old spreadsheets need a byte order mark to read accents. */
export const csvStart = (headers: readonly string[], bom: boolean): string =>
  `${bom ? '\uFEFF' : ''}${headers.map(quote).join(',')}\r\n`

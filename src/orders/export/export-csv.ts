import { COLUMNS } from './export-columns.ts'

/**
 * Beginnings that a spreadsheet takes for a formula (OWASP, CSV injection); the wide forms count in some locales. Where
 * the list separator is a semicolon, a spreadsheet splits at it, so the rest of the text begins a cell of its own.
 */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]|;\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/

/** Would a spreadsheet calculate this text instead of showing it? */
export const looksLikeFormula = (text: string): boolean => FORMULA.test(text)

const quote = (text: string): string => (/[";,\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

function csvCell(text: string | null, index: number): string {
  if (text === null) return ''
  if (COLUMNS[index]?.kind !== 'text') return text
  return quote(looksLikeFormula(text) ? `'${text}` : text)
}

/** One line of RFC 4180, with its CRLF. Texts of people that look like formulas get an apostrophe in front. */
const csvRow = (cells: readonly (string | null)[]): string => `${cells.map(csvCell).join(',')}\r\n`

/** UTF-8 with a byte order mark is what old spreadsheets need to see accents. */
export async function* csvFile(
  headers: readonly string[],
  rows: AsyncIterable<readonly (string | null)[][]>,
  options: { bom: boolean },
): AsyncGenerator<string> {
  yield `${options.bom ? '\uFEFF' : ''}${headers.map(quote).join(',')}\r\n`
  for await (const group of rows) yield group.map(csvRow).join('')
}

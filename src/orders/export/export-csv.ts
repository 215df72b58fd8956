import { COLUMNS } from './export-columns.ts'

/**
 * Prefixes that a spreadsheet takes for a formula (OWASP, CSV injection), wide forms included. Spreadsheets that
 * separate by semicolon also split there, so the rest of the text starts another cell.
 */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]|;\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/

/** Whether a spreadsheet would evaluate this text. */
export const looksLikeFormula = (text: string): boolean => FORMULA.test(text)

const quote = (text: string): string => (/[";,\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

function csvCell(text: string | null, index: number): string {
  if (text === null) return ''
  if (COLUMNS[index]?.kind !== 'text') return text
  return quote(looksLikeFormula(text) ? `'${text}` : text)
}

/** One line of RFC 4180, with its CRLF. User text that looks like a formula gets an apostrophe in front. */
const csvRow = (cells: readonly (string | null)[]): string => `${cells.map(csvCell).join(',')}\r\n`

/** Old spreadsheets need a byte order mark to read accents. */
export async function* csvFile(
  headers: readonly string[],
  rows: AsyncIterable<readonly (string | null)[][]>,
  options: { bom: boolean; after: unknown },
): AsyncGenerator<string> {
  if (options.after === null) yield `${options.bom ? '\uFEFF' : ''}${headers.map(quote).join(',')}\r\n`
  for await (const group of rows) yield group.map(csvRow).join('')
}

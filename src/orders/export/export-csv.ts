import { guardCell, quoteCell } from '../../http/csv.ts'
import type { Cells } from './export-cells.ts'
import { COLUMNS } from './export-columns.ts'

/** True for most texts: no character that is special in CSV, in XML or to a spreadsheet. Skips the other checks. */
export const isPlain = (text: string): boolean => /^[0-9A-Za-z][0-9A-Za-z:/.?=#-]*$/.test(text)

const IS_TEXT = COLUMNS.map(({ kind }) => kind === 'text')

/** One line of RFC 4180, with its CRLF. User text that looks like a formula gets a leading apostrophe. */
export function csvRow(cells: Cells): string {
  let line = ''
  for (let index = 0; index < cells.length; index += 1) {
    const text = cells[index]
    if (index > 0) line += ','
    if (typeof text === 'string') line += !IS_TEXT[index] || isPlain(text) ? text : guardCell(text)
  }
  return `${line}\r\n`
}

/** The header line. Old spreadsheets need a byte order mark to read accents. */
export const csvStart = (headers: readonly string[], bom: boolean): string =>
  `${bom ? '\uFEFF' : ''}${headers.map(quoteCell).join(',')}\r\n`

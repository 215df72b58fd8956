import { looksLikeFormula } from '../../http/csv.ts'
import { invalid } from '../../kernel/errors.ts'
import type { Cells } from './export-cells.ts'
import { COLUMNS, type ColumnKind } from './export-columns.ts'
import { isPlain } from './export-csv.ts'
import { type ZipEntry, zipFile } from './export-zip.ts'

/** Rows that a sheet can hold, header included (limit of ECMA-376 applications: 2^20). */
const MAX_SHEET_ROWS = 1_048_576

/** @throws VALIDATION_FAILED for more orders than a sheet holds */
export function checkSheetSize(total: number): void {
  if (total < MAX_SHEET_ROWS) return
  throw invalid(
    'format',
    `a spreadsheet holds at most ${MAX_SHEET_ROWS - 1} orders, these are ${total}: choose csv, or a shorter time with from and to`,
  )
}

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const SHEET_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

/** Indexes of the formats in `styles.xml`. */
const STYLE = { general: 0, text: 1, guarded: 2, time: 3, whole: 4, cents: 5, micros: 6, header: 7 } as const

const FORMATS = [
  '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>',
  '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>',
  // quotePrefix: what typing an apostrophe sets; the cell stays text even after it is edited
  '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" quotePrefix="1"/>',
  '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>',
  '<xf numFmtId="1" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>',
  '<xf numFmtId="2" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>',
  '<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>',
  '<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>',
]

const STYLES = `${HEAD}<styleSheet xmlns="${MAIN}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/><numFmt numFmtId="165" formatCode="0.000000"/></numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="${FORMATS.length}">${FORMATS.join('')}</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`

const relation = (id: number, type: string, target: string): string =>
  `<Relationship Id="rId${id}" Type="${OFFICE}/${type}" Target="${target}"/>`

const PARTS: readonly ZipEntry[] = [
  {
    name: '[Content_Types].xml',
    content: `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${SHEET_TYPE}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${SHEET_TYPE}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${SHEET_TYPE}.styles+xml"/></Types>`,
  },
  {
    name: '_rels/.rels',
    content: `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${relation(1, 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
  },
  {
    name: 'xl/workbook.xml',
    content: `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="Orders" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  },
  {
    name: 'xl/_rels/workbook.xml.rels',
    content: `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${relation(1, 'worksheet', 'worksheets/sheet1.xml')}${relation(2, 'styles', 'styles.xml')}</Relationships>`,
  },
  { name: 'xl/styles.xml', content: STYLES },
]

function columnLetters(index: number): string {
  const rest = Math.floor(index / 26)
  return (rest > 0 ? columnLetters(rest - 1) : '') + String.fromCharCode(65 + (index % 26))
}

const LETTERS = COLUMNS.map((_, index) => columnLetters(index))

const WIDTHS: Record<ColumnKind, number> = { text: 18, amount: 16, time: 20, flag: 11 }

const SHEET_START = `${HEAD}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>${COLUMNS.map(({ kind }, index) => `<col min="${index + 1}" max="${index + 1}" width="${WIDTHS[kind]}" customWidth="1"/>`).join('')}</cols><sheetData>`
export const SHEET_END = '</sheetData></worksheet>'

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML cannot hold
const UNSAFE = /[&<>\u0000-\u0008\u000b-\u001f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)/g

const hex4 = (char: string): string => char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')

/**
 * Text of a cell; what XML cannot hold is written as `_xHHHH_`, and text that looks like that is escaped
 * (ST_Xstring).
 */
const escapeText = (text: string): string => text.replace(UNSAFE, (char) => ENTITIES[char] ?? `_x${hex4(char)}_`)

/** Readers may trim spaces at the ends and join lines unless the text is marked as space-preserving. */
const NEEDS_SPACES = /^\s|\s$|\s\s|[\t\r\n]/

function textCell(start: string, text: string, style: number): string {
  const kept = NEEDS_SPACES.test(text) ? ' xml:space="preserve"' : ''
  return `${start}" s="${style}" t="inlineStr"><is><t${kept}>${escapeText(text)}</t></is></c>`
}

/** Spreadsheets keep 15 significant digits; a longer number stays text, so that no digit is lost. */
const EXACT_DIGITS = 15

const hasExactDigits = (text: string): boolean =>
  text.length <= EXACT_DIGITS || text.replace(/\D/g, '').replace(/^0+/, '').length <= EXACT_DIGITS

const AMOUNT_STYLES: Readonly<Record<number, number>> = { 0: STYLE.whole, 2: STYLE.cents, 6: STYLE.micros }

function amountCell(start: string, text: string): string {
  if (!hasExactDigits(text)) return textCell(start, text, STYLE.text)
  const decimals = text.includes('.') ? text.length - text.indexOf('.') - 1 : 0
  return `${start}" s="${AMOUNT_STYLES[decimals] ?? STYLE.general}"><v>${text}</v></c>`
}

const MS_PER_DAY = 86_400_000
/** Days from the spreadsheet's day 0 (1899-12-30) to 1970-01-01. */
const EPOCH_DAYS = 25_569

const timeCell = (start: string, text: string): string =>
  `${start}" s="${STYLE.time}"><v>${(Date.parse(text) / MS_PER_DAY + EPOCH_DAYS).toFixed(9)}</v></c>`

function anyText(start: string, text: string): string {
  if (isPlain(text)) return `${start}" s="${STYLE.text}" t="inlineStr"><is><t>${text}</t></is></c>`
  return textCell(start, text, looksLikeFormula(text) ? STYLE.guarded : STYLE.text)
}

/** @param start the cell up to its row number, for example `<c r="A1` */
const CELLS: Readonly<Record<ColumnKind, (start: string, text: string) => string>> = {
  text: anyText,
  amount: amountCell,
  time: timeCell,
  flag: (start, text) => `${start}" t="b"><v>${text === 'true' ? 1 : 0}</v></c>`,
}

const WRITERS = COLUMNS.map(({ kind }, index) => ({ write: CELLS[kind], start: `<c r="${LETTERS[index]}` }))

/** Everything before the first order's row, header row included. */
export function sheetStart(headers: readonly string[]): string {
  const titles = headers.map((title, index) => textCell(`<c r="${LETTERS[index]}1`, title, STYLE.header))
  return `${SHEET_START}<row r="1">${titles.join('')}</row>`
}

/**
 * The row of one order. Text stays exactly as it was and is never a formula. Amounts are numbers if a spreadsheet can
 * keep every digit; times are dates in UTC.
 */
export function sheetRow(cells: Cells, number: number): string {
  const row = String(number + 2)
  if (number + 2 > MAX_SHEET_ROWS) throw new Error('more orders arrived than a spreadsheet can hold')
  let xml = `<row r="${row}">`
  for (const [index, { write, start }] of WRITERS.entries()) {
    const text = cells[index]
    if (typeof text === 'string') xml += write(start + row, text)
  }
  return `${xml}</row>`
}

/** A workbook with one sheet, generated while it is sent (ECMA-376, inline strings). */
export const xlsxFile = (sheet: AsyncIterable<Buffer>, at: Date): AsyncGenerator<Buffer> =>
  zipFile([...PARTS, { name: 'xl/worksheets/sheet1.xml', content: sheet }], at)

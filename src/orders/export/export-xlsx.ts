import { invalid } from '../../kernel/errors.ts'
import { COLUMNS, type ColumnKind } from './export-columns.ts'
import { looksLikeFormula } from './export-csv.ts'
import { type ZipEntry, zipFile } from './export-zip.ts'

/** Rows that a sheet can hold, the header included (ECMA-376 applications: 2^20). */
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

/** Numbers of the formats in `styles.xml`. */
const STYLE = { general: 0, text: 1, guarded: 2, time: 3, whole: 4, cents: 5, micros: 6, header: 7 } as const

const FORMATS = [
  '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>',
  '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>',
  // quotePrefix: what a person gets by typing an apostrophe; the text stays text also when the cell is edited
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
const SHEET_END = '</sheetData></worksheet>'

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML cannot hold
const UNSAFE = /[&<>\u0000-\u0008\u000b-\u001f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)/g

const hex4 = (char: string): string => char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')

/**
 * Text of a cell; what XML cannot hold is written as `_xHHHH_`, and text that looks like that is escaped
 * (ST_Xstring).
 */
const escapeText = (text: string): string => text.replace(UNSAFE, (char) => ENTITIES[char] ?? `_x${hex4(char)}_`)

const textCell = (place: string, text: string, style: number): string =>
  `<c r="${place}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${escapeText(text)}</t></is></c>`

/** Spreadsheets keep 15 significant digits; a longer number stays text, so that no digit is lost. */
const EXACT_DIGITS = 15

function amountCell(place: string, text: string): string {
  if (text.replace(/\D/g, '').replace(/^0+/, '').length > EXACT_DIGITS) return textCell(place, text, STYLE.text)
  const decimals = text.includes('.') ? text.length - text.indexOf('.') - 1 : 0
  const style = { 0: STYLE.whole, 2: STYLE.cents, 6: STYLE.micros }[decimals] ?? STYLE.general
  return `<c r="${place}" s="${style}"><v>${text}</v></c>`
}

const MS_PER_DAY = 86_400_000
/** Days from the spreadsheet's day 0 (1899-12-30) to 1970-01-01. */
const EPOCH_DAYS = 25_569

const timeCell = (place: string, text: string): string =>
  `<c r="${place}" s="${STYLE.time}"><v>${(Date.parse(text) / MS_PER_DAY + EPOCH_DAYS).toFixed(9)}</v></c>`

function cell(text: string | null, index: number, row: number): string {
  if (text === null) return ''
  const place = `${LETTERS[index]}${row}`
  switch (COLUMNS[index]?.kind) {
    case 'amount':
      return amountCell(place, text)
    case 'time':
      return timeCell(place, text)
    case 'flag':
      return `<c r="${place}" t="b"><v>${text === 'true' ? 1 : 0}</v></c>`
    default:
      return textCell(place, text, looksLikeFormula(text) ? STYLE.guarded : STYLE.text)
  }
}

function rowXml(row: number, cells: readonly (string | null)[]): string {
  let xml = `<row r="${row}">`
  for (const [index, text] of cells.entries()) xml += cell(text, index, row)
  return `${xml}</row>`
}

async function* sheet(
  headers: readonly string[],
  rows: AsyncIterable<readonly (string | null)[][]>,
): AsyncGenerator<string> {
  const titles = headers.map((title, index) => textCell(`${LETTERS[index]}1`, title, STYLE.header))
  yield `${SHEET_START}<row r="1">${titles.join('')}</row>`
  let row = 1
  for await (const group of rows) {
    let xml = ''
    for (const cells of group) {
      row += 1
      xml += rowXml(row, cells)
    }
    if (row > MAX_SHEET_ROWS) throw new Error('more orders arrived than a spreadsheet can hold')
    yield xml
  }
  yield SHEET_END
}

/**
 * A workbook with one sheet, written while it is sent (ECMA-376, inline strings). Text stays exactly what it was and is
 * never a formula; amounts are numbers where a spreadsheet keeps every digit, and times are dates in UTC.
 */
export const xlsxFile = (
  headers: readonly string[],
  rows: AsyncIterable<readonly (string | null)[][]>,
  at: Date,
): AsyncGenerator<Buffer> =>
  zipFile([...PARTS, { name: 'xl/worksheets/sheet1.xml', content: sheet(headers, rows) }], at)

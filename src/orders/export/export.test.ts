import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { readXlsx } from 'hucre/xlsx'
import { readSheet } from 'read-excel-file/node'
import type { AppError } from '../../kernel/errors.ts'
import { COLUMNS, headersOf } from './export-columns.ts'
import { csvRow } from './export-csv.ts'
import { checkSheetSize, SHEET_END, sheetRow, sheetStart, xlsxFile } from './export-xlsx.ts'

const rowWith = (alias: string | null): (string | null)[] =>
  COLUMNS.map(({ name }) => (name === 'alias' ? alias : null))

/** How the CSV writes one alias. */
const csvCell = (alias: string): string => csvRow(rowWith(alias)).replace(/^,+|,*\r\n$/g, '')

test('CSV cells that a spreadsheet would calculate begin with an apostrophe, others are left alone', () => {
  for (const text of ['=1+1', '+1', '-1', '@A1', '＝1', '＠A1']) assert.equal(csvCell(text), `'${text}`)
  assert.equal(csvCell('\t1'), "'\t1")
  assert.equal(csvCell('\r1'), '"\'\r1"')
  assert.equal(csvCell('a;b'), '"a;b"', 'also where the list separator is a semicolon it stays one cell')
  for (const text of ['a=1', '1-2', 'x@y.example', "'quoted'", ' =1']) assert.equal(csvCell(text), text)
  assert.equal(csvCell('say "hi", then\r\ngo'), '"say ""hi"", then\r\ngo"')
})

test('nothing is calculated either where a spreadsheet splits at semicolons, at tabs or at the end of a line', () => {
  const splits = ['INV 7;=1+1;x', 'a; +1', 'b;\t@A1', 'x;＝1', 'a;"=1+1', 'a\t=1;-2', 'a\r\n=1', 'a\n@A1', '=1;=2']
  for (const text of splits) {
    const cell = csvCell(text)
    for (const delimiter of [',', ';', '\t']) {
      const cells = (
        parse(`x,${cell}`, { delimiter, relax_quotes: true, relax_column_count: true }) as string[][]
      ).flat()
      assert.deepEqual(
        cells.filter((one) => /^\s*[=+\-@＝＋－＠]/.test(one)),
        [],
        `${JSON.stringify(text)} at ${JSON.stringify(delimiter)}`,
      )
    }
  }
  assert.equal(csvCell('INV 7;=1+1;x'), `"INV 7;'=1+1;x"`)
  assert.equal(csvCell('a;"=1+1'), `"a;'""=1+1"`, 'a spreadsheet drops the empty quotes before the formula')
})

test('one apostrophe guards a formula, however many line ends stand before it', () => {
  for (const separators of ['\n\n', '\r\n\r\n', ';\t \n', '\n'.repeat(30_000)])
    assert.equal(csvCell(`a${separators}=1`), `"a${separators}'=1"`)
})

async function throughXlsx(texts: string[]): Promise<unknown[][]> {
  async function* sheet() {
    yield Buffer.from(sheetStart(headersOf(null)))
    for (const [number, text] of texts.entries()) yield Buffer.from(sheetRow(rowWith(text), number))
    yield Buffer.from(SHEET_END)
  }
  const chunks: Buffer[] = []
  for await (const chunk of xlsxFile(sheet(), new Date('2026-01-02T03:04:05Z'))) chunks.push(chunk)
  const file = Buffer.concat(chunks)
  const place = COLUMNS.findIndex(({ name }) => name === 'alias')
  const pick = (sheet: unknown[][]): unknown[] => sheet.slice(1).map((row) => row[place])
  const [read] = (await readXlsx(file)).sheets
  return [pick(await readSheet(file, { trim: false })), pick(read?.rows ?? [])]
}

test('two spreadsheet readers see every text as it was, also what XML must escape', async () => {
  const texts = ['<a b="c">&amp;</a>', ' two  spaces ', 'Zoë 東京 🍵', 'line\nline', "'", ']]>', '=1+1', '\t1']
  for (const seen of await throughXlsx(texts)) assert.deepEqual(seen, texts)
})

test('control characters and look-alikes of their escapes survive a spreadsheet', async () => {
  const texts = ['a\u0001b\r\nc', '_x0041_', '\uffff']
  const [, seen] = await throughXlsx(texts)
  assert.deepEqual(seen, texts)
})

test('more orders than a sheet has rows are refused, with the way out', () => {
  checkSheetSize(1_048_575)
  assert.throws(
    () => checkSheetSize(1_048_576),
    (error: AppError) => error.details?.[0]?.path === 'format' && /csv/.test(error.details[0].message),
  )
})

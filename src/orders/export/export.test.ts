import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readXlsx } from 'hucre/xlsx'
import { readSheet } from 'read-excel-file/node'
import type { AppError } from '../../kernel/errors.ts'
import { COLUMNS, headersOf } from './export-columns.ts'
import { csvFile } from './export-csv.ts'
import { checkSheetSize, xlsxFile } from './export-xlsx.ts'

const rowWith = (alias: string | null): (string | null)[] =>
  COLUMNS.map(({ name }) => (name === 'alias' ? alias : null))

/** How the CSV writes one alias. */
async function csvCell(alias: string): Promise<string> {
  async function* rows() {
    yield [rowWith(alias)]
  }
  let line = ''
  for await (const part of csvFile(headersOf(null), rows(), { bom: false, after: null })) line = part
  return line.replace(/^,+|,*\r\n$/g, '')
}

test('CSV cells that a spreadsheet would calculate begin with an apostrophe, others are left alone', async () => {
  for (const text of ['=1+1', '+1', '-1', '@A1', '＝1', '＠A1']) assert.equal(await csvCell(text), `'${text}`)
  assert.equal(await csvCell('\t=1'), "'\t=1")
  assert.equal(await csvCell('\r=1'), '"\'\r=1"')
  for (const text of ['a;=1+1', 'a; +1', 'b;\t@A1', 'x;＝1']) assert.equal(await csvCell(text), `"'${text}"`, text)
  assert.equal(await csvCell('a;b'), '"a;b"', 'also where the list separator is a semicolon it stays one cell')
  for (const text of ['a=1', '1-2', 'x@y.example', "'quoted'", ' =1']) assert.equal(await csvCell(text), text)
  assert.equal(await csvCell('say "hi", then\r\ngo'), '"say ""hi"", then\r\ngo"')
})

async function throughXlsx(texts: string[]): Promise<unknown[][]> {
  async function* rows() {
    yield texts.map(rowWith)
  }
  const chunks: Buffer[] = []
  for await (const chunk of xlsxFile(headersOf(null), rows(), new Date('2026-01-02T03:04:05Z'))) chunks.push(chunk)
  const file = Buffer.concat(chunks)
  const place = COLUMNS.findIndex(({ name }) => name === 'alias')
  const pick = (sheet: unknown[][]): unknown[] => sheet.slice(1).map((row) => row[place])
  const [sheet] = (await readXlsx(file)).sheets
  return [pick(await readSheet(file, { trim: false })), pick(sheet?.rows ?? [])]
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

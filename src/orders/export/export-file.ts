import type { Db } from '../../db/db.ts'
import type { Lang } from '../../kernel/lang.ts'
import type { LookedUpFilter, OrderScope } from '../order-list-queries.ts'
import { type Cells, openCells, placeOf } from './export-cells.ts'
import { headersOf } from './export-columns.ts'
import { csvRow, csvStart } from './export-csv.ts'
import { type ChosenPage, type ExportPage, type ExportPlace, eachExportedOrder, splitChosen } from './export-queries.ts'
import { SHEET_END, sheetRow, sheetStart, xlsxFile } from './export-xlsx.ts'

/** Orders per statement. Two pages are in memory: 0.5 kB of CSV an order, 1.5 kB of XML. */
export const PAGE_ORDERS = { csv: 2500, xlsx: 1250 } as const
/** Characters per chunk of the file. */
const PIECE_CHARS = 1 << 16
/** A page of orders with much metadata ends here: a hundred times what orders without any take each. */
const PAGE_CHARS = 1 << 23

/** Everything that determines a file. It is sent to the thread that writes the file. */
export type ExportPlan = {
  scope: OrderScope
  filter: LookedUpFilter
  newestFirst: boolean
  /** The newest order in the file; null: no orders. */
  lastId: string | null
  /** Resumes an interrupted file after this order, without the header line. */
  after: ExportPlace | null
  /** The file's orders, where a change could take one out of the filters; null: those that fit when they are read. */
  chosen: ChosenPage[] | null
  format: 'csv' | 'xlsx'
  headers: Lang | null
  bom: boolean
  payUrl: string
  at: Date
}

/**
 * One row of the file as text.
 * @param number position of the order in the file, from 0
 */
type WriteRow = (cells: Cells, number: number) => string

type Page = {
  pieces: Buffer[]
  count: number
  last: ExportPlace | null
  /** More orders were asked for than it may hold. */
  isCut: boolean
}

const [ID, COMPANY] = [placeOf('_id'), placeOf('companyId')]

/** Rows are written as they arrive, so a page is in memory only as the bytes of the file. */
async function readPage(
  db: Db,
  plan: ExportPlan,
  { number, writeRow, ...wanted }: Omit<ExportPage, 'newestFirst'> & { number: number; writeRow: WriteRow },
): Promise<Page> {
  const toCells = openCells(plan.payUrl)
  return db.tx(async (tx) => {
    const page: Page = { pieces: [], count: 0, last: null, isCut: false }
    let text = ''
    let chars = 0
    let last: Cells = []
    const flush = (): void => {
      page.pieces.push(Buffer.from(text))
      chars += text.length
      text = ''
    }
    await eachExportedOrder(tx, plan, { ...wanted, newestFirst: plan.newestFirst }, (row) => {
      page.isCut ||= chars > PAGE_CHARS
      if (page.isCut) return
      last = toCells(row)
      text += writeRow(last, number + page.count)
      page.count += 1
      if (text.length > PIECE_CHARS) flush()
    })
    if (text !== '') flush()
    if (page.isCut || page.count === wanted.limit) page.last = { companyId: last[COMPANY] ?? '', id: last[ID] ?? '' }
    return page
  })
}

/**
 * Every order once: a page holds orders chosen when the file began, or starts after the last order of the previous page
 * and never reads past `lastId`.
 */
async function* rowsOf(db: Db, plan: ExportPlan, writeRow: WriteRow): AsyncGenerator<Buffer> {
  const { lastId, after, format, chosen } = plan
  if (lastId === null) return
  let limit: number = PAGE_ORDERS[format]
  let number = 0
  let wanted: ChosenPage = []
  const fetchPage = (place: ExportPlace | null): Promise<Page> | null => {
    const [page, rest] = splitChosen(chosen?.shift() ?? [], limit)
    if (chosen && page.length === 0) return null
    if (rest.length > 0) chosen?.unshift(rest)
    wanted = page
    const reading = readPage(db, plan, {
      after: place,
      limit,
      lastId,
      number,
      writeRow,
      ...(chosen ? { chosen: page } : {}),
    })
    reading.catch(() => {}) // handled where the page is awaited, if it is awaited
    return reading
  }
  let next = fetchPage(after)
  while (next) {
    const { pieces, count, last, isCut }: Page = await next
    number += count
    const [, left] = splitChosen(wanted, count)
    if (isCut && left.length > 0) chosen?.unshift(left)
    limit = isCut ? count : Math.min(PAGE_ORDERS[format], limit * 2)
    next = last || chosen ? fetchPage(last) : null
    yield* pieces
  }
}

async function* csvFile(db: Db, plan: ExportPlan): AsyncGenerator<Buffer> {
  if (plan.after === null) yield Buffer.from(csvStart(headersOf(plan.headers), plan.bom))
  yield* rowsOf(db, plan, csvRow)
}

async function* sheet(db: Db, plan: ExportPlan): AsyncGenerator<Buffer> {
  yield Buffer.from(sheetStart(headersOf(plan.headers)))
  yield* rowsOf(db, plan, sheetRow)
  yield Buffer.from(SHEET_END)
}

/** Streams the file: short statements, one page ahead of the reader. */
export const exportFile = (db: Db, plan: ExportPlan): AsyncIterable<Buffer> =>
  plan.format === 'csv' ? csvFile(db, plan) : xlsxFile(sheet(db, plan), plan.at)

import type { Db } from '../../db/db.ts'
import type { OrderFilter, OrderScope } from '../order-queries.ts'
import { cellsOf, type ExportedOrder, type HeaderLanguage, headersOf } from './export-columns.ts'
import { csvFile } from './export-csv.ts'
import { listExportedOrders } from './export-queries.ts'
import { xlsxFile } from './export-xlsx.ts'

/** Orders in one statement, and rows in one chunk of the file. */
const PAGE_ORDERS = 500
const CHUNK_ROWS = 100

/** Everything that determines a file; it is sent to the thread that writes it. */
export type ExportPlan = {
  scope: OrderScope
  filter: OrderFilter
  newestFirst: boolean
  /** The newest order in the file; null: no orders. */
  lastId: string | null
  /** Continues a file that broke off behind this order; then without the line of titles. */
  after: { companyId: string; id: string } | null
  format: 'csv' | 'xlsx'
  headers: HeaderLanguage | null
  bom: boolean
  payUrl: string
  at: Date
}

/** Every order once: a page starts after the last order of the previous page and never reads past `lastId`. */
async function* pagesOf(
  db: Db,
  { scope, filter, newestFirst, lastId, after }: ExportPlan,
): AsyncGenerator<ExportedOrder[]> {
  if (lastId === null) return
  const fetchPage = (place: ExportPlan['after']): Promise<ExportedOrder[]> => {
    const page = listExportedOrders(db, scope, filter, { newestFirst, lastId, after: place, limit: PAGE_ORDERS })
    page.catch(() => {}) // handled where the page is awaited, if it still is
    return page
  }
  let next: Promise<ExportedOrder[]> | null = fetchPage(after)
  while (next) {
    const page: ExportedOrder[] = await next
    const last = page.at(-1)?.order
    next = page.length === PAGE_ORDERS && last ? fetchPage({ companyId: last.companyId, id: last.id }) : null
    yield page
  }
}

async function* rowsOf(pages: AsyncIterable<ExportedOrder[]>, payUrl: string): AsyncGenerator<(string | null)[][]> {
  for await (const page of pages) {
    for (let start = 0; start < page.length; start += CHUNK_ROWS) {
      yield page.slice(start, start + CHUNK_ROWS).map((order) => cellsOf(order, payUrl))
    }
  }
}

/** Streams the file: short statements, one page ahead of the reader. */
export function exportFile(db: Db, plan: ExportPlan): AsyncIterable<string | Buffer> {
  const headers = headersOf(plan.headers)
  const rows = rowsOf(pagesOf(db, plan), plan.payUrl)
  return plan.format === 'csv' ? csvFile(headers, rows, plan) : xlsxFile(headers, rows, plan.at)
}

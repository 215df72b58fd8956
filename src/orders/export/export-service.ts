import type { Readable } from 'node:stream'
import type { Config } from '../../config/config.ts'
import type { StaleReads } from '../../db/stale-reads.ts'
import type { Actor } from '../../http/actor.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { withLookUp } from '../order-list-queries.ts'
import { type FilterInput, filterOf, scopeOf } from '../order-service.ts'
import { type ExportPlan, PAGE_ORDERS } from './export-file.ts'
import { openPlaces } from './export-places.ts'
import { canChange, countChosen, findExportBounds, findExportPlace, listChosen } from './export-queries.ts'
import { openExportThreads } from './export-thread.ts'
import { checkSheetSize } from './export-xlsx.ts'

export type ExportFormat = ExportPlan['format']

export type ExportRequest = FilterInput &
  Pick<ExportPlan, 'format' | 'headers' | 'bom' | 'newestFirst'> & {
    /** The `_id` of the last complete row of an interrupted file. */
    after: string | null
  }

export type OrderExport = { fileName: string; contentType: string; total: number; body: Readable }

/** @throws BUSY while too many exports run, VALIDATION_FAILED for filters or too many rows for a spreadsheet */
export type ExportOrders = (actor: Actor, request: ExportRequest) => Promise<OrderExport>

export type ExportDeps = { reads: StaleReads; clock: Clock; config: Pick<Config, 'payUrl'> }

const CONTENT_TYPES: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
}

/** Streams files of orders page by page at the reader’s speed: 12 bytes an order at most, no long snapshot. */
export function openOrderExports({ reads, clock, config }: ExportDeps): ExportOrders {
  const takePlace = openPlaces(() => performance.now())
  const threads = openExportThreads()
  return async (actor, { format, headers, bom, newestFirst, after, ...query }) => {
    if (after !== null && format !== 'csv') throw invalid('after', 'continues a CSV only; start the spreadsheet again')
    const scope = scopeOf(actor)
    const asked = filterOf(actor, query)
    // read bounds and rows from one server: another one may not have the last row yet
    const db = reads.place()
    const place = after === null ? null : await findExportPlace(db, scope, after)
    if (place === undefined) throw invalid('after', 'is the _id of no order of yours')
    let body: Readable | undefined
    let isWanted = true
    const taken = takePlace(actor.companyId ?? actor.id, () => {
      isWanted = false
      body?.destroy(new Error('read too slowly: another company needs the place'))
    })
    try {
      const filter = await withLookUp(db, scope, asked)
      const { total: found, lastId } = await findExportBounds(db, scope, filter)
      const page = { newestFirst, limit: PAGE_ORDERS[format], lastId: lastId ?? '', after: place }
      const chosen = canChange(filter) ? await db.tx((tx) => listChosen(tx, { scope, filter }, page)) : null
      const total = chosen && place === null ? countChosen(chosen) : found
      if (format === 'xlsx') checkSheetSize(total)
      const at = new Date(clock())
      const { payUrl } = config
      const how = { newestFirst, format, headers, bom, payUrl, at }
      const plan: ExportPlan = { scope, filter, lastId, after: place, chosen, ...how }
      if (!isWanted) throw new AppError('BUSY', { retryAfter: 5 })
      body = threads.write({ connectionString: db.connectionString, prepared: db.prepared, plan }, taken.note)
      body.once('close', taken.giveBack)
      const fileName = `orders-${at.toISOString().slice(0, 10)}.${format}`
      return { fileName, contentType: CONTENT_TYPES[format], total, body }
    } catch (error) {
      taken.giveBack()
      throw error
    }
  }
}

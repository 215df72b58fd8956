import type { Readable } from 'node:stream'
import type { Config } from '../../config/config.ts'
import type { StaleReads } from '../../db/stale-reads.ts'
import type { Actor } from '../../http/actor.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { type FilterInput, filterOf, scopeOf } from '../order-service.ts'
import type { ExportPlan } from './export-file.ts'
import { findExportBounds, findExportPlace } from './export-queries.ts'
import { openExportThreads } from './export-thread.ts'
import { checkSheetSize } from './export-xlsx.ts'

/** Files under way on one node: each has a thread, at most some fifty megabytes, and one database connection. */
const MAX_AT_ONCE = 4
const MAX_PER_COMPANY = 2

export type ExportFormat = ExportPlan['format']

export type ExportRequest = FilterInput &
  Pick<ExportPlan, 'format' | 'headers' | 'bom' | 'newestFirst'> & {
    /** The `_id` of the last whole row of a file that broke off. */
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

/** Limits concurrent exports on this node. @throws BUSY */
function openSlots(): (key: string) => () => void {
  const busy = new Map<string, number>()
  let total = 0
  return (key) => {
    const own = busy.get(key) ?? 0
    if (total >= MAX_AT_ONCE || own >= MAX_PER_COMPANY) {
      throw new AppError('BUSY', {
        message: 'Other downloads are still running. Try again in a moment.',
        retryAfter: 5,
      })
    }
    total += 1
    busy.set(key, own + 1)
    return () => {
      total -= 1
      const left = (busy.get(key) ?? 1) - 1
      if (left === 0) busy.delete(key)
      else busy.set(key, left)
    }
  }
}

/** Streams files of orders page by page at the reader’s speed: constant memory, no long snapshot. */
export function openOrderExports({ reads, clock, config }: ExportDeps): ExportOrders {
  const takeSlot = openSlots()
  const threads = openExportThreads()
  return async (actor, { format, headers, bom, newestFirst, after, ...query }) => {
    if (after !== null && format !== 'csv') throw invalid('after', 'continues a CSV only; start the spreadsheet again')
    const scope = scopeOf(actor)
    const filter = filterOf(actor, query)
    // bounds and rows of one server: another one may not have the last row yet
    const db = reads.place()
    const place = after === null ? null : await findExportPlace(db, scope, after)
    if (place === undefined) throw invalid('after', 'is the _id of no order of yours')
    const giveBack = takeSlot(actor.companyId ?? actor.id)
    try {
      const { total, lastId } = await findExportBounds(db, scope, filter)
      if (format === 'xlsx') checkSheetSize(total)
      const at = new Date(clock())
      const { payUrl } = config
      const plan: ExportPlan = { scope, filter, newestFirst, lastId, after: place, format, headers, bom, payUrl, at }
      const body = threads.write({ connectionString: db.connectionString, prepared: db.prepared, plan })
      body.once('close', giveBack)
      const fileName = `orders-${at.toISOString().slice(0, 10)}.${format}`
      return { fileName, contentType: CONTENT_TYPES[format], total, body }
    } catch (error) {
      giveBack()
      throw error
    }
  }
}

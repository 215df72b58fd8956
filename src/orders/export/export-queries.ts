import { type Queryable, sql, unnamed } from '../../db/db.ts'
import { COLUMNS, filterSql, type OrderFilter, type OrderScope, type Row, toOrder } from '../order-queries.ts'
import type { ExportedOrder } from './export-columns.ts'

/** How many orders fit now, and the newest of them; later ones stay out. Null: none. */
export async function findExportBounds(
  q: Queryable,
  scope: OrderScope,
  filter: OrderFilter,
): Promise<{ total: number; lastId: string | null }> {
  const { total, lastId } = await q.one<{ total: bigint; lastId: string | null }>(
    unnamed(sql`select count(*) as total, max(id) as last_id from orders where ${filterSql(scope, filter)}`),
  )
  return { total: Number(total), lastId }
}

const NO_FILTER: OrderFilter = {
  ...{ statuses: [], search: null, managerEmail: null, companyId: null, from: null, to: null },
  ...{ paymentChannel: null, linksOnly: false },
}

/** Where a file that broke off goes on. */
export const findExportPlace = (
  q: Queryable,
  scope: OrderScope,
  id: string,
): Promise<{ companyId: string; id: string } | undefined> =>
  q.maybe(unnamed(sql`select company_id, id from orders where id = ${id} and ${filterSql(scope, NO_FILTER)}`))

export type ExportPage = {
  newestFirst: boolean
  limit: number
  lastId: string
  /** The last order of the previous page. */
  after: { companyId: string; id: string } | null
}

/** The next orders by primary key (company, id). Each page is a short statement, so that no export holds a snapshot. */
export async function listExportedOrders(
  q: Queryable,
  scope: OrderScope,
  filter: OrderFilter,
  { newestFirst, limit, lastId, after }: ExportPage,
): Promise<ExportedOrder[]> {
  const position = after === null ? null : sql`(${after.companyId}, ${after.id})`
  const compare = newestFirst ? sql`<` : sql`>`
  const start = position === null ? sql`true` : sql`(company_id, id) ${compare} ${position}`
  const direction = newestFirst ? sql`desc` : sql`asc`
  const rows = await q.many<Row & { feeUnits: string; txHash: string | null }>(
    unnamed(sql`
      select o.*, coalesce(fee.units, 0) as fee_units, transfer.tx_hash
      from (
        select ${COLUMNS} from orders where ${filterSql(scope, filter)} and id <= ${lastId} and ${start}
        order by company_id ${direction}, id ${direction} limit ${limit}
      ) o
      left join lateral (
        select -sum(e.units) as units
        from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
        where o.paid_at is not null and j.company_id = o.company_id and j.order_id = o.id and e.account = 'fees'
      ) fee on true
      left join lateral (
        select t.tx_hash
        from payments p join chain_transfers t on t.to_address = p.deposit_address
        where o.payment_id is not null and p.company_id = o.company_id and p.order_id = o.id
          and p.deposit_address is not null and t.status = 'seen' and t.symbol = p.due_asset
        order by t.token = p.token_address desc, t.final_at is null, t.block_number, t.log_index limit 1
      ) transfer on true
      order by o.company_id ${direction}, o.id ${direction}`),
  )
  return rows.map(({ feeUnits, txHash, ...row }) => ({
    order: toOrder(row),
    feeUnits: BigInt(feeUnits),
    transactionHash: txHash,
  }))
}

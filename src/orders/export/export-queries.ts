import { TRANSFERS } from '../../chain/deposits/reservation-queries.ts'
import { joinSql, type Queryable, type RawRow, type Sql, sql, type Tx, unnamed } from '../../db/db.ts'
import { filterSql, type LookedUpFilter, type OrderScope } from '../order-list-queries.ts'
import { COLUMNS, type ColumnName } from './export-columns.ts'

/** How many orders match now, and the newest of them; later orders are left out. Null: no orders. */
export async function findExportBounds(
  q: Queryable,
  scope: OrderScope,
  filter: LookedUpFilter,
): Promise<{ total: number; lastId: string | null }> {
  const { total, lastId } = await q.one<{ total: bigint; lastId: string | null }>(
    unnamed(sql`select count(*) as total, max(id) as last_id from orders where ${filterSql(scope, filter)}`),
  )
  return { total: Number(total), lastId }
}

const NO_FILTER: LookedUpFilter = {
  ...{ statuses: [], search: null, managerEmail: null, companyId: null, from: null, to: null },
  ...{ paymentChannel: null, till: null, payer: null, linksOnly: false },
}

/** An order's primary key. */
export type ExportPlace = { companyId: string; id: string }

/** Where an interrupted file resumes. */
export const findExportPlace = (q: Queryable, scope: OrderScope, id: string): Promise<ExportPlace | undefined> =>
  q.maybe(unnamed(sql`select company_id, id from orders where id = ${id} and ${filterSql(scope, NO_FILTER)}`))

export type ExportPage = {
  newestFirst: boolean
  limit: number
  lastId: string
  /** The last order of the previous page. */
  after: ExportPlace | null
  /** Its orders, chosen when the file began; otherwise those that fit the filters when the page is read. */
  chosen?: ChosenPage
}

/** Orders of one company: their ids, 12 bytes each, because there may be a million. */
type ChosenRun = { companyId: string; ids: Uint8Array }
/** As many orders as a page holds, however many companies they belong to: each page is a statement. */
export type ChosenPage = ChosenRun[]

const ID_BYTES = 12
/** Whether an order can stop fitting the filters: what it was created with stays. */
export const canChange = ({ statuses, paymentChannel, search, managerEmail }: LookedUpFilter): boolean =>
  statuses.length > 0 || paymentChannel !== null || search !== null || managerEmail !== null

/** The orders that fit now, page by page in the order of the file. */
export async function listChosen(
  tx: Tx,
  { scope, filter }: ExportQuery,
  { newestFirst, limit, lastId, after }: ExportPage,
): Promise<ChosenPage[]> {
  const [compare, direction] = newestFirst ? [sql`<`, sql`desc`] : [sql`>`, sql`asc`]
  const start = after === null ? sql`true` : sql`(company_id, id) ${compare} (${after.companyId}, ${after.id})`
  const pages: ChosenPage[] = []
  await tx.each(
    sql`
      select page, company_id, string_agg(id, '' order by id ${direction})
      from (
        select company_id, id,
          (row_number() over (order by company_id ${direction}, id ${direction}) - 1) / ${limit}::int as page
        from orders where ${filterSql(scope, filter)} and id <= ${lastId} and ${start}
      ) numbered
      group by page, company_id order by page, company_id ${direction}`,
    ([number, companyId, ids]) => {
      const page = Number(number)
      pages[page] ??= []
      pages[page].push({ companyId: `${companyId}`, ids: new Uint8Array(Buffer.from(`${ids}`, 'hex')) })
    },
  )
  return pages
}

export const countChosen = (pages: readonly ChosenPage[]): number =>
  pages.flat().reduce((total, { ids }) => total + ids.length / ID_BYTES, 0)

/** The first orders of a page, and the others. */
export function splitChosen(page: ChosenPage, count: number): [first: ChosenPage, rest: ChosenPage] {
  const [first, rest]: [ChosenPage, ChosenPage] = [[], []]
  let left = count * ID_BYTES
  for (const { companyId, ids } of page) {
    if (left > 0) first.push({ companyId, ids: ids.subarray(0, left) })
    if (left < ids.length) rest.push({ companyId, ids: ids.subarray(left) })
    left = Math.max(0, left - ids.length)
  }
  return [first, rest]
}

function idsOf({ ids }: ChosenRun): string[] {
  const hex = Buffer.from(ids).toString('hex')
  return Array.from({ length: ids.length / ID_BYTES }, (_, at) => hex.slice(at * 24, (at + 1) * 24))
}

/** A page of one company is read by its ids alone, which is faster. */
function chosenOrders(page: ChosenPage): Sql {
  const ids = page.flatMap(idsOf)
  const companyIds = page.flatMap((run) => Array<string>(run.ids.length / ID_BYTES).fill(run.companyId))
  const isChosen =
    page.length === 1
      ? sql`company_id = ${companyIds[0]} and id = any(${ids}::text[])`
      : sql`(company_id, id) in (select * from unnest(${companyIds}::text[], ${ids}::text[]))`
  return sql`(select * from orders where ${isChosen})`
}

type ExportQuery = { scope: OrderScope; filter: LookedUpFilter }

/** The price that was booked: less than the order's where less was accepted. */
const PRICE = sql`coalesce(p.price_units, o.paid_units)`
const ofPaid = (units: Sql): Sql => sql`case when o.paid_at is not null then ${units} end`

const utc = (time: Sql): Sql => sql`${time} at time zone 'UTC'`

/** The SQL for each column of the file; `openCells` formats it as the API does. */
const SOURCES: Readonly<Record<ColumnName, Sql>> = {
  _id: sql`o.id`,
  companyId: sql`o.company_id`,
  code: sql`o.code`,
  shortCode: sql`o.short_code`,
  alias: sql`o.alias`,
  status: sql`o.status`,
  fromAmount: sql`o.from_units`,
  fromAsset: sql`o.from_asset`,
  toAmount: sql`o.to_units`,
  toAsset: sql`o.to_asset`,
  rate: sql`o.rate`,
  refundedAmount: sql`o.refunded_units`,
  feeAmount: sql`coalesce(books.fee_units, 0)`,
  paymentChannel: sql`o.payment_channel`,
  transactionHash: sql`transfer.tx_hash`,
  merchantIdentifier: sql`o.merchant_identifier`,
  websiteUrl: sql`o.website_url`,
  goodsName: sql`o.goods->>'goodsName'`,
  goodsType: sql`o.goods->>'goodsType'`,
  goodsCategory: sql`o.goods->>'goodsCategory'`,
  goodsDetail: sql`o.goods->>'goodsDetail'`,
  goodsQuantity: sql`o.goods->>'goodsQuantity'`,
  anonymous: sql`o.anonymous`,
  createdAt: utc(sql`o.created_at`),
  updatedAt: utc(sql`o.updated_at`),
  expiresAt: utc(sql`o.expires_at`),
  paidAt: utc(sql`o.paid_at`),
  paymentUrl: sql`o.code`,
  webhookUrl: sql`o.webhook_url`,
  returnUrl: sql`o.return_url`,
  cancelUrl: sql`o.cancel_url`,
  paidAmount: ofPaid(PRICE),
  overpaidAmount: ofPaid(sql`greatest(o.paid_units - ${PRICE}, 0)`),
  refundedExcessAmount: sql`coalesce(back.excess_units, 0)`,
  lostAmount: sql`coalesce(books.lost_units, 0)`,
  metadata: sql`o.metadata`,
}

const SELECTED = joinSql(
  COLUMNS.map(({ name }) => SOURCES[name]),
  ', ',
)

/**
 * The next orders by primary key (company, id). The rest of the last page's company is a separate condition: for
 * `(company_id, id) < (…)` with `company_id = …`, PostgreSQL starts every page at the end of the company and reads up
 * to the page.
 */
function pageOf({ scope, filter }: ExportQuery, page: ExportPage): Sql {
  const { newestFirst, limit, lastId, after, chosen } = page
  if (chosen) return chosenOrders(chosen)
  const [compare, direction] = newestFirst ? [sql`<`, sql`desc`] : [sql`>`, sql`asc`]
  const order = sql`order by company_id ${direction}, id ${direction} limit ${limit}`
  const read = (start: Sql): Sql =>
    sql`(select * from orders where ${filterSql(scope, filter)} and id <= ${lastId} and ${start} ${order})`
  if (after === null) return read(sql`true`)
  const { companyId, id } = after
  const rest = read(sql`company_id = ${companyId} and id ${compare} ${id}`)
  return sql`(select * from (${rest} union all ${read(sql`company_id ${compare} ${companyId}`)}) both_parts ${order})`
}

/** What payment `p` must have received for its price: before it, money came that was refunded or ignored. */
const NEEDED = sql`(coalesce(p.price_units, p.due_units) + coalesce((
    select sum(m.units) from mispayments m
    where m.company_id = o.company_id and m.order_id = o.id and m.payment_id = p.id
      and m.kind in ('under', 'late', 'duplicate', 'held') and m.status in ('refunded', 'ignored')), 0))`

/**
 * The transfer that completed the price of payment `p`. If later losses left less than the price, the last one before
 * the order was paid. An order can be paid before the chain has settled its transfer by the rule for large amounts.
 */
const PAID_BY = sql`
  select came.tx_hash
  from (
    select t.tx_hash, t.block_at, sum(t.units) over (order by t.block_at, t.chain_id, t.log_index, t.id) - ${NEEDED} as above
    from (${TRANSFERS}) as t
    where t.status = 'seen' and t.symbol = p.due_asset
      and (t.final_at is not null or t.block_at <= coalesce(o.paid_at, 'infinity'))
  ) came
  where came.above >= 0 or came.block_at <= o.paid_at
  order by came.above < 0, abs(came.above) limit 1`

/**
 * The next orders, each with its fee, its loss and the on-chain transfer that paid it. Each page is a short statement,
 * so no export holds a snapshot.
 */
export async function eachExportedOrder(
  tx: Tx,
  query: ExportQuery,
  page: ExportPage,
  onRow: (row: RawRow) => void,
): Promise<void> {
  const direction = page.newestFirst ? sql`desc` : sql`asc`
  const statement = sql`
      select ${SELECTED}
      from ${pageOf(query, page)} o
      left join lateral (
        select -sum(e.units) filter (where e.account = 'fees') as fee_units,
          sum(e.units) filter (where e.account = 'company_payable' and j.kind = 'loss_borne') as lost_units
        from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
        where o.payment_id is not null and j.company_id = o.company_id and j.order_id = o.id
          and e.account in ('fees', 'company_payable')
      ) books on true
      left join lateral (
        select * from payments where o.payment_id is not null and company_id = o.company_id and id = o.payment_id offset 0
      ) p on true
      left join lateral (select * from (${PAID_BY}) paid_by where p.deposit_address is not null) transfer on true
      left join lateral (
        select sum(r.excess_units) as excess_units from refunds r
        where o.refunded_units > 0 and r.company_id = o.company_id and r.order_id = o.id and r.status = 'settled'
          and r.mispayment_id is null
      ) back on true
      order by o.company_id ${direction}, o.id ${direction}`
  await tx.each(statement, onRow)
}

import { joinSql, type Queryable, type Sql, sql, unnamed } from '../db/db.ts'
import type { Order } from './order.ts'
import { countWithAmount, isNextWithAmount, type NextOf, ofCompanies } from './order-amount-queries.ts'
import { lookUpPayer, ofPayer, type PayerFilter } from './order-payer-queries.ts'
import { COLUMNS, type OrderScope, type Row, toOrder } from './order-queries.ts'
import {
  frequentAmounts,
  lookUp,
  otherThanAmounts,
  type Search,
  searchSql,
  type TypedSearch,
} from './order-search-queries.ts'

export type { OrderScope }

/** What was asked for. Conditions are made of a `LookedUpFilter`. */
export type OrderFilter = {
  statuses: readonly string[]
  search: TypedSearch | null
  managerEmail: string | null
  companyId: string | null
  from: Date | null
  to: Date | null
  paymentChannel: string | null
  /** Its identifier at the time of the order, or its id. */
  till: string | null
  payer: PayerFilter | null
  linksOnly: boolean
}

/** A filter whose search was looked up, so that a list, its count and its file mean the same orders. */
export type LookedUpFilter = Omit<OrderFilter, 'search'> & { search: Search | null }

/** The companies that a list may contain. Null: all. */
export function companiesOf(
  { companyIds }: OrderScope,
  { companyId }: Pick<OrderFilter, 'companyId'>,
): readonly string[] | null {
  if (companyId === null) return companyIds
  return companyIds === null || companyIds.includes(companyId) ? [companyId] : []
}

/** Looks up the search and the payer: what the search means, and so that a list's condition reads fewer rows. */
export async function withLookUp(q: Queryable, scope: OrderScope, filter: OrderFilter): Promise<LookedUpFilter> {
  const companyIds = companiesOf(scope, filter)
  const search = filter.search && (await lookUp(q, companyIds, filter.search))
  const payer = filter.payer && (await lookUpPayer(q, companyIds, filter.payer))
  return { ...filter, search, payer }
}

function companySql(scope: OrderScope, filter: LookedUpFilter): Sql {
  const inCompanies = ofCompanies(companiesOf(scope, filter))
  if (filter.managerEmail === null) return inCompanies
  return sql`${inCompanies} and company_id in (select company_id from users where email_key = ${filter.managerEmail})`
}

/** What a list asks of its orders besides the company. */
function orderSql(scope: OrderScope, filter: LookedUpFilter, search: Sql | null): Sql {
  const parts: Sql[] = []
  if (scope.collectorIds !== null) parts.push(sql`collector_id = any(${scope.collectorIds})`)
  if (scope.createdBy !== null) parts.push(sql`created_by = ${scope.createdBy}`)
  if (filter.statuses.length > 0) parts.push(sql`status = any(${filter.statuses})`)
  if (search !== null) parts.push(search)
  if (filter.from !== null) parts.push(sql`created_at >= ${filter.from}`)
  if (filter.to !== null) parts.push(sql`created_at <= ${filter.to}`)
  if (filter.paymentChannel !== null) parts.push(sql`payment_channel = ${filter.paymentChannel}`)
  if (filter.till !== null) parts.push(sql`(collector_id = ${filter.till} or merchant_identifier = ${filter.till})`)
  if (filter.payer !== null) parts.push(ofPayer(companiesOf(scope, filter), filter.payer))
  if (filter.linksOnly) parts.push(sql`alias is not null`)
  return joinSql(parts, ' and ')
}

/** The condition of lists and exports. */
export function filterSql(
  scope: OrderScope,
  filter: LookedUpFilter,
  search = filter.search && searchSql(filter.search),
): Sql {
  return sql`${companySql(scope, filter)} and ${orderSql(scope, filter, search)}`
}

export type OrderSort = '-createdAt' | 'createdAt' | '-fromAmount' | 'fromAmount' | '-toAmount' | 'toAmount'

/** End of the previous page: the order's id, and when sorting by amount its units with 6 digits. */
export type OrderPosition = { id: string; amount: string | null }

const AMOUNT = sql`(from_units * case when from_asset = 'XPF' then 1000000 else 10000 end)`

type Sort = { order: Sql; after: (position: OrderPosition) => Sql }

const byAmount = (amount: Sql): { down: Sort; up: Sort } => ({
  down: {
    order: sql`${amount} desc, id desc`,
    after: ({ id, amount: last }) => sql`(${amount}, id) < (${last}::numeric, ${id})`,
  },
  up: {
    order: sql`${amount} asc, id asc`,
    after: ({ id, amount: last }) => sql`(${amount}, id) > (${last}::numeric, ${id})`,
  },
})

const [FROM, TO] = [byAmount(AMOUNT), byAmount(sql`to_units`)]
const SORTS: Record<OrderSort, Sort> = {
  '-createdAt': { order: sql`id desc`, after: ({ id }) => sql`id < ${id}` },
  createdAt: { order: sql`id asc`, after: ({ id }) => sql`id > ${id}` },
  '-fromAmount': FROM.down,
  fromAmount: FROM.up,
  '-toAmount': TO.down,
  toAmount: TO.up,
}

export type ListPage = { sort: OrderSort; limit: number; offset: number; after: OrderPosition | null }

/** By time, the next orders with a frequent amount are found by their index; other sorts read all of them. */
function pageSql(scope: OrderScope, filter: LookedUpFilter, { sort, limit, offset, after }: ListPage): Sql {
  const { search } = filter
  if (search === null || !sort.endsWith('createdAt')) return filterSql(scope, filter)
  const companyIds = companiesOf(scope, filter)
  const each =
    companyIds === null
      ? sql`select id as company_id from companies`
      : sql`select unnest(${companyIds}::text[]) as company_id`
  const list: NextOf = {
    companies: sql`select company_id from (${each}) as each where ${companySql(scope, filter)}`,
    filter: orderSql(scope, filter, null),
    ...{ direction: sort === 'createdAt' ? 'asc' : 'desc', after: after?.id ?? null, limit: offset + limit },
  }
  return filterSql(
    scope,
    filter,
    searchSql(search, (amounts) => isNextWithAmount(amounts, list)),
  )
}

export async function listOrders(
  q: Queryable,
  scope: OrderScope,
  filter: LookedUpFilter,
  page: ListPage,
): Promise<Order[]> {
  const { order, after } = SORTS[page.sort]
  const start = page.after === null ? sql`true` : after(page.after)
  const rows = await q.many<Row>(
    unnamed(sql`
      select ${COLUMNS} from orders where ${pageSql(scope, filter, page)} and ${start}
      order by ${order} limit ${page.limit} offset ${page.offset}`),
  )
  return rows.map(toOrder)
}

export async function countOrders(q: Queryable, scope: OrderScope, filter: LookedUpFilter): Promise<number> {
  const { search } = filter
  const amounts = search ? frequentAmounts(search) : []
  const count =
    search && amounts.length > 0
      ? countWithAmount(amounts, filterSql(scope, filter, null), otherThanAmounts(search))
      : sql`select count(*) as total from orders where ${filterSql(scope, filter)}`
  const { total } = await q.one<{ total: bigint }>(unnamed(count))
  return Number(total)
}

/** How many orders match in each company that has some. */
export const countByCompany = (
  q: Queryable,
  scope: OrderScope,
  filter: LookedUpFilter,
): Promise<{ companyId: string; orders: number }[]> =>
  q.many(
    unnamed(sql`
      select company_id, count(*)::integer as orders from orders where ${filterSql(scope, filter)}
      group by company_id order by company_id`),
  )

export const positionOf = ({ id, from, to }: Order, sort: OrderSort): OrderPosition => {
  const fromUnits = from.units * (from.asset === 'XPF' ? 1_000_000n : 10_000n)
  return { id, amount: (sort.endsWith('toAmount') ? to.units : fromUnits).toString() }
}

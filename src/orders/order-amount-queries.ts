import { joinSql, type Queryable, raw, type Sql, sql, unnamed } from '../db/db.ts'
import { EXPONENTS } from '../kernel/money.ts'

/*
 * Orders by their price or USDC amount, among millions. The two indices leave out open orders, so creating one writes
 * no entry. Open orders are few, and `orders__expiring` lists them.
 */

/** The conditions of the indices, word for word: without them PostgreSQL does not use them. */
const OPEN = sql`status in ('INITIAL', 'PENDING', 'AWAITING')`
const CLOSED = sql`status not in ('INITIAL', 'PENDING', 'AWAITING')`
/** Not exactly the price arrived. */
const PAID_OTHERWISE = sql`paid_units > 0 and paid_units <> to_units`

/** A single company is compared by equality, so an index returns its rows in order. @param companyIds null: all */
export function ofCompanies(companyIds: readonly string[] | null): Sql {
  if (companyIds === null) return sql`true`
  const [only, ...others] = companyIds
  return only !== undefined && others.length === 0 ? sql`company_id = ${only}` : sql`company_id = any(${companyIds})`
}

/** With more codes a list is slower than one that reads the newest from the index. */
const MOST_CODES = 200

/** Digits of the amounts here, as of USDC. */
const DIGITS = EXPONENTS.USDC
const CURRENCIES = Object.entries(EXPONENTS).filter(([asset]) => asset !== 'USDC')

type Price = { asset: string; units: bigint }

/** Amounts in millionths as prices in each currency that has enough digits for them. */
const pricesOf = (amounts: readonly bigint[]): Price[] =>
  CURRENCIES.flatMap(([asset, exponent]) => {
    const unit = 10n ** BigInt(DIGITS - exponent)
    return amounts.filter((amount) => amount % unit === 0n).map((amount) => ({ asset, units: amount / unit }))
  })

/** Each is a range of an index. No order has two of the prices. */
function conditionsOf(amounts: readonly bigint[]): { paid: Sql; prices: Sql[] } {
  const byUnits = Map.groupBy(pricesOf(amounts), ({ units }) => units)
  const prices = [...byUnits].map(
    ([units, of]) => sql`(from_units = ${units} and from_asset = any(${of.map(({ asset }) => asset)}::text[]))`,
  )
  return { paid: sql`to_units = any(${amounts.map(String)}::numeric[])`, prices }
}

const anyOf = (amounts: readonly bigint[]): Sql => {
  const { paid, prices } = conditionsOf(amounts)
  return sql`(${joinSql([paid, ...prices], ' or ')})`
}

/** Whether an order has one of these amounts, in millionths: its price, or its USDC amount. */
export function hasAmount(amounts: readonly bigint[]): Sql {
  const { paid, prices } = conditionsOf(amounts)
  const closed = [paid, ...prices].map((one) => sql`(${CLOSED} and ${one})`)
  return sql`(${joinSql([sql`(${OPEN} and ${anyOf(amounts)})`, ...closed], ' or ')})`
}

/** The first columns of an index, and rows `w` with the values that are looked for. */
type Range = { columns: readonly string[]; values: readonly string[]; wanted: Sql }

function rangesOf(amounts: readonly bigint[]): Range[] {
  const prices = pricesOf(amounts)
  const units = sql`${prices.map((price) => price.units.toString())}::numeric[]`
  const assets = sql`${prices.map(({ asset }) => asset)}::text[]`
  return [
    { columns: ['to_units'], values: ['w.units'], wanted: sql`unnest(${amounts.map(String)}::numeric[]) as w (units)` },
    {
      columns: ['from_units', 'from_asset'],
      values: ['w.units', 'w.asset'],
      wanted: sql`unnest(${units}, ${assets}) as w (units, asset)`,
    },
  ]
}

const rowOf = (parts: readonly string[]): Sql => raw(`(${parts.join(', ')})`)

/** By all columns of the index: no other index returns orders in this order, whatever the statistics say of amounts. */
const orderOf = ({ columns }: Range, direction: 'asc' | 'desc'): Sql =>
  raw([...columns, 'company_id', 'id'].map((column) => `${column} ${direction}`).join(', '))

/** @param where the condition of the index, word for word */
function codesIn(
  range: Range,
  where: Sql,
  companyIds: readonly string[] | null,
  { direction, limit }: { direction: 'asc' | 'desc'; limit: Sql },
): Sql {
  const companies = companyIds === null ? raw('') : sql`cross join unnest(${companyIds}::text[]) as c (company_id)`
  const [columns, values] = [range.columns, range.values].map((parts, n) =>
    rowOf(companyIds === null ? parts : [...parts, n === 0 ? 'company_id' : 'c.company_id']),
  )
  return sql`(select o.code from ${range.wanted} ${companies} cross join lateral (
    select code from orders where ${columns} >= ${values} and ${columns} <= ${values} and ${where}
    order by ${orderOf(range, direction)} ${limit}) as o ${limit})`
}

/**
 * The codes of the orders at which one of these amounts arrived, in millionths, although their price is another: in
 * all, or as money that waits for a decision. Of very many, the newest.
 * @param companyIds null: all companies
 */
export async function findCodesByArrival(
  q: Queryable,
  companyIds: readonly string[] | null,
  amounts: readonly bigint[],
): Promise<string[]> {
  const limit = sql`limit ${MOST_CODES}`
  const units = amounts.map(String)
  const wanted = sql`unnest(${units}::numeric[]) as w (units)`
  const paid = { columns: ['paid_units'], values: ['w.units'], wanted }
  const undecided = sql`(select code from orders where (company_id, id) in (
    select company_id, order_id from mispayments where ${ofCompanies(companyIds)} and status = 'open'
      and asset = 'USDC' and units = any(${units}::numeric[]) ${limit}))`
  const found = joinUnion([codesIn(paid, PAID_OTHERWISE, companyIds, { direction: 'desc', limit }), undecided])
  return (await q.many<{ code: string }>(unnamed(found))).map(({ code }) => code)
}

/**
 * The codes of all orders with one of these amounts, as fast among ten million orders as among ten thousand. Rows are
 * compared, not columns: if PostgreSQL knew that a column has one value only, it could ignore the order by it, and read
 * the company's orders instead.
 * @param companyIds null: all companies
 * @returns null if there are too many
 */
export async function findCodesByAmount(
  q: Queryable,
  companyIds: readonly string[] | null,
  amounts: readonly bigint[],
): Promise<string[] | null> {
  const limit = sql`limit ${MOST_CODES + 1}`
  const closed = rangesOf(amounts).map((range) => codesIn(range, CLOSED, companyIds, { direction: 'asc', limit }))
  const open = sql`(select code from orders where ${ofCompanies(companyIds)} and ${OPEN} and ${anyOf(amounts)} ${limit})`
  // planned each time: how PostgreSQL finds open orders depends on the company
  const rows = await q.many<{ code: string }>(unnamed(sql`${joinUnion([...closed, open])} ${limit}`))
  return rows.length > MOST_CODES ? null : rows.map(({ code }) => code)
}

const joinUnion = ([first = sql``, ...rest]: readonly Sql[]): Sql =>
  rest.reduce((left, right) => sql`${left} union ${right}`, first)

export type NextOf = {
  /** Selects the `company_id` of each company of the list. */
  companies: Sql
  /** The list's other conditions. None of the company: a small one PostgreSQL would then read whole, for each price. */
  filter: Sql
  direction: 'asc' | 'desc'
  /** The last id of the previous page. */
  after: string | null
  limit: number
}

/** Whether an order is one of the next by time with these amounts: for amounts that very many orders have. */
export function isNextWithAmount(amounts: readonly bigint[], list: NextOf): Sql {
  const { direction, after, limit } = list
  const closed = rangesOf(amounts).map((range) => {
    const columns = [...range.columns, 'company_id']
    const values = [...range.values, 'c.company_id']
    const within = (compare: '>' | '<'): Sql =>
      after !== null && compare === (direction === 'asc' ? '>' : '<')
        ? sql`(${raw(columns.join(', '))}, id) ${raw(compare)} (${raw(values.join(', '))}, ${after}::text)`
        : sql`${rowOf(columns)} ${raw(compare)}= ${rowOf(values)}`
    return sql`select o.code, o.id from ${range.wanted} cross join (${list.companies}) as c cross join lateral (
      select code, id from orders where ${within('>')} and ${within('<')} and ${CLOSED} and ${list.filter}
      order by ${orderOf(range, direction)} limit ${limit}) as o`
  })
  const start = after === null ? sql`true` : sql`id ${raw(direction === 'asc' ? '>' : '<')} ${after}`
  const open = sql`select code, id from orders where company_id in (${list.companies})
    and ${OPEN} and ${anyOf(amounts)} and ${list.filter} and ${start}`
  return sql`code = any(array(
    select code from (${joinUnion([...closed, open])}) as found order by id ${raw(direction)} limit ${limit}))`
}

/**
 * Counts the orders with one of these amounts and those with other meanings of the text, each once. If the list has no
 * other condition than its companies, orders with the price are counted from the index alone.
 * @param filter the list's conditions without the search
 */
export function countWithAmount(amounts: readonly bigint[], filter: Sql, others: Sql): Sql {
  const { paid, prices } = conditionsOf(amounts)
  const priced = prices.length === 0 ? sql`false` : joinSql(prices, ' or ')
  const parts = [
    sql`${others} and not ${anyOf(amounts)}`,
    sql`${OPEN} and ${anyOf(amounts)}`,
    sql`${CLOSED} and ${paid} and not (${priced})`,
    ...prices.map((price) => sql`${CLOSED} and ${price}`),
  ]
  const counts = parts.map((part) => sql`select count(*) as orders from orders where ${filter} and ${part}`)
  const [first = sql``, ...rest] = counts
  const all = rest.reduce((left, right) => sql`${left} union all ${right}`, first)
  return sql`select sum(orders)::bigint as total from (${all}) as counts`
}

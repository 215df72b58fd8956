import { type Queryable, sql, type Tx, unnamed } from '../../db/db.ts'
import { countOrders, filterSql, type LookedUpFilter, type OrderScope } from '../order-list-queries.ts'

/** Changes that one statement folds: a few milliseconds of work. */
export const FOLD_CHANGES = 5000

/** The filters that `order_counts` can answer: companies and states. */
const isCounted = ({ collectorIds, createdBy }: OrderScope, filter: LookedUpFilter): boolean => {
  const { search, from, to, paymentChannel, till, payer, linksOnly } = filter
  return (
    [collectorIds, createdBy, search, from, to, paymentChannel, till, payer].every((one) => one === null) && !linksOnly
  )
}

/**
 * The exact number of matching orders. By company and state it reads the counters; other filters count the orders
 * themselves.
 */
export async function findTotal(q: Queryable, scope: OrderScope, filter: LookedUpFilter): Promise<number> {
  if (!isCounted(scope, filter)) return countOrders(q, scope, filter)
  const fits = filterSql(scope, filter)
  // one statement: a change is in exactly one of the two tables, whenever the job runs
  const { counted, total } = await q.one<{ counted: boolean; total: string }>(
    unnamed(sql`
      select exists (select from order_count_state) as counted, coalesce(sum(orders), 0) as total from (
        select orders from order_counts where ${fits}
        union all
        select orders from order_count_changes where ${fits}
      ) as parts`),
  )
  return counted ? Number(total) : countOrders(q, scope, filter)
}

/** Folds changes into `order_counts`. Other nodes fold other changes concurrently. @returns how many */
export async function foldOrderCounts(q: Queryable): Promise<number> {
  const { folded } = await q.one<{ folded: number }>(sql`
    with due as (
      select company_id, id from order_count_changes order by company_id, id limit ${FOLD_CHANGES} for update skip locked
    ), gone as (
      delete from order_count_changes c using due where c.company_id = due.company_id and c.id = due.id
      returning c.company_id, c.status, c.orders
    ), counts as (
      insert into order_counts as c (company_id, status, orders)
      select company_id, status, sum(orders) from gone group by company_id, status order by company_id, status
      on conflict (company_id, status) do update set orders = c.orders + excluded.orders
    )
    select count(*)::integer as folded from gone`)
  return folded
}

/**
 * Counts the orders that are older than the counters, once. Subtracts what the counters hold in the same snapshot, so
 * orders may be created and removed meanwhile.
 */
export async function countOlderOrders(tx: Tx): Promise<boolean> {
  const first = await tx.run(sql`insert into order_count_state (only_row) values (true) on conflict do nothing`)
  if (first === 0) return false
  await tx.liftTimeLimit()
  await tx.run(sql`
    insert into order_counts as c (company_id, status, orders)
    select company_id, status, sum(orders) from (
      select company_id, status, count(*) as orders from orders group by company_id, status
      union all select company_id, status, -orders from order_counts
      union all select company_id, status, -orders from order_count_changes
    ) as parts group by company_id, status order by company_id, status
    on conflict (company_id, status) do update set orders = c.orders + excluded.orders`)
  return true
}

export const isEveryOrderCounted = async (q: Queryable): Promise<boolean> =>
  (await q.one<{ counted: boolean }>(sql`select exists (select from order_count_state) as counted`)).counted

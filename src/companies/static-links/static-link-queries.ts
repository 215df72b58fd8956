import { type Queryable, sql, type Tx } from '../../db/db.ts'

export type StaticLink = {
  id: string
  companyId: string
  /** In the public address. */
  code: string
  name: string
  collectorId: string
  /** The till's name in orders. */
  merchantIdentifier: string
  currency: string
  /** Decimal text with the currency's digits; null: the payer types it. */
  amount: string | null
  minAmount: string | null
  maxAmount: string | null
  webhookUrl: string | null
  returnUrl: string | null
  active: boolean
  createdAt: Date
  updatedAt: Date
}

const LINKS = sql`
  select l.id, l.company_id, l.code, l.name, l.collector_id, c.identifier as merchant_identifier, l.currency, l.amount,
    l.min_amount, l.max_amount, l.webhook_url, l.return_url, l.active, l.created_at, l.updated_at
  from static_links l join collectors c on c.id = l.collector_id`

export async function insertStaticLink(tx: Tx, link: StaticLink): Promise<void> {
  await tx.run(sql`
    insert into static_links (id, company_id, code, name, collector_id, currency, amount, min_amount, max_amount,
      webhook_url, return_url, active, created_at, updated_at)
    values (${link.id}, ${link.companyId}, ${link.code}, ${link.name}, ${link.collectorId}, ${link.currency},
      ${link.amount}, ${link.minAmount}, ${link.maxAmount}, ${link.webhookUrl}, ${link.returnUrl}, ${link.active},
      ${link.createdAt}, ${link.updatedAt})`)
}

export async function updateStaticLink(tx: Tx, link: StaticLink): Promise<void> {
  await tx.run(sql`
    update static_links set name = ${link.name}, collector_id = ${link.collectorId}, amount = ${link.amount},
      min_amount = ${link.minAmount}, max_amount = ${link.maxAmount}, webhook_url = ${link.webhookUrl},
      return_url = ${link.returnUrl}, active = ${link.active}, updated_at = ${link.updatedAt}
    where id = ${link.id}`)
}

export const findStaticLink = (q: Queryable, id: string): Promise<StaticLink | undefined> =>
  q.maybe(sql`${LINKS} where l.id = ${id}`)

export const findStaticLinkByCode = (q: Queryable, code: string): Promise<StaticLink | undefined> =>
  q.maybe(sql`${LINKS} where l.code = ${code}`)

export const lockStaticLink = (tx: Tx, id: string): Promise<StaticLink | undefined> =>
  tx.maybe(sql`${LINKS} where l.id = ${id} for update of l`)

export const listStaticLinks = (
  q: Queryable,
  companyIds: readonly string[] | null,
  page: { limit: number; offset: number },
): Promise<StaticLink[]> =>
  q.many(sql`
    ${LINKS} where (${companyIds}::text[] is null or l.company_id = any(${companyIds}))
    order by l.id desc limit ${page.limit} offset ${page.offset}`)

export async function countStaticLinks(q: Queryable, companyIds: readonly string[] | null): Promise<number> {
  const { count } = await q.one<{ count: number }>(sql`
    select count(*)::int as count from static_links
    where (${companyIds}::text[] is null or company_id = any(${companyIds}))`)
  return count
}

/** What a link brought. `paidUnits` are of its own currency. */
export type LinkSales = { createdBy: string; orders: number; paid: number; paidUnits: bigint }

/**
 * Money above a price counts for nothing; an accepted underpayment counts as its share of the price, as in the summary.
 * @param creators as the orders name the links: `static-link:<id>`
 */
export const listLinkSales = (
  q: Queryable,
  companyIds: readonly string[],
  creators: readonly string[],
): Promise<LinkSales[]> =>
  q.many(sql`
    with above as (
      select company_id, payment_id, sum(units) as units from mispayments
      where company_id = any(${companyIds}) and kind = 'over' and status <> 'resolved' group by 1, 2
    ), made as (
      select created_by, paid_at, from_units, to_units, paid_units - coalesce(above.units, 0) as sold_units
      from orders left join above using (company_id, payment_id)
      where company_id = any(${companyIds}) and created_by = any(${creators}) and created_by like 'static-link:%'
    )
    select created_by, count(*)::int as orders, count(paid_at)::int as paid,
      coalesce(sum(case when sold_units < to_units then round(from_units * sold_units / to_units) else from_units end)
        filter (where paid_at is not null), 0)::bigint as paid_units
    from made group by created_by`)

import { type Queryable, sql } from '../../db/db.ts'

/** The website of the buy button that created an order; null for any other order. */
export async function findOriginOfOrder(q: Queryable, code: string): Promise<string | null> {
  const row = await q.maybe<{ origin: string }>(sql`
    select b.website_origin as origin
    from orders o join button_sessions s on s.company_id = o.company_id and s.id = o.button_session_id
      join buy_buttons b on b.id = s.button_id and b.deleted_at is null
    where o.code = ${code}`)
  return row?.origin ?? null
}

export type ShopRow = {
  name: string
  displayName: string | null
  legalName: string | null
  siret: string | null
  vatNumber: string | null
  /** `#rrggbb` in lower case. */
  brandColor: string | null
  supportEmail: string | null
  supportPhone: string | null
  termsUrl: string | null
  /** The hash in the logo's URL. */
  logo: string | null
}

export const findShop = (q: Queryable, companyId: string): Promise<ShopRow | undefined> =>
  q.maybe(sql`
    select c.name, c.display_name, c.legal_name, c.siret, c.vat_number, c.brand_color, c.support_email, c.support_phone, c.terms_url, l.hash as logo
    from companies c left join company_logos l on l.company_id = c.id where c.id = ${companyId}`)

/** Whether money was booked for any payment of the order. */
export async function hasReceived(
  q: Queryable,
  { companyId, id }: { companyId: string; id: string },
): Promise<boolean> {
  const { found } = await q.one<{ found: boolean }>(sql`
    select exists (select 1 from payments
      where company_id = ${companyId} and order_id = ${id} and received_units > 0) as found`)
  return found
}

/** Whether money of an unpaid order is on its way, or waits for the shop's decision. */
export async function isMoneyWaiting(
  q: Queryable,
  { companyId, id }: { companyId: string; id: string },
): Promise<boolean> {
  const { found } = await q.one<{ found: boolean }>(sql`
    select exists (select 1 from payments
        where company_id = ${companyId} and order_id = ${id} and pending_units > 0 and next_check_at is not null)
      or exists (select 1 from mispayments
        where company_id = ${companyId} and order_id = ${id} and status = 'open') as found`)
  return found
}

export type Seller = Pick<ShopRow, 'name' | 'legalName' | 'siret' | 'vatNumber'>

/** A company as its payers saw it at a time; undefined while that has not changed since. */
export const findSellerAt = (q: Queryable, companyId: string, at: Date): Promise<Seller | undefined> =>
  q.maybe(sql`
    select coalesce(display_name, name) as name, legal_name, siret, vat_number
    from company_history where company_id = ${companyId} and until_at > ${at} order by until_at limit 1`)

/** One text per order that changes whenever anything visible to its payer changes. */
export async function listOrderMarks(
  q: Queryable,
  codes: readonly string[],
): Promise<{ code: string; mark: string }[]> {
  return q.many(sql`
    select o.code, concat_ws('.', o.version,
      (select string_agg(concat_ws('.', p.status, p.received_units, p.pending_units, p.next_check_at is null, p.last_words), '.' order by p.number)
        from payments p where p.company_id = o.company_id and p.order_id = o.id),
      (select max(r.updated_at) from refunds r where r.company_id = o.company_id and r.order_id = o.id),
      (select max(m.updated_at) from mispayments m where m.company_id = o.company_id and m.order_id = o.id)) as mark
    from orders o where o.code = any(${codes})`)
}

import { type Queryable, type Sql, sql, unnamed } from '../db/db.ts'
import { ofCompanies } from './order-amount-queries.ts'

export type PayerFilter = {
  /** Of the e-mail, one by each master key. */
  keys: readonly string[]
  /** Codes of the payer's orders. Null: not looked up, or too many. */
  codes: readonly string[] | null
}

/** With more codes the payer's rows are joined, so that no statement gets thousands of values. */
const MOST_CODES = 200

/** The last two conditions are those of the index, word for word: a key of another text is not believed. */
const rowsOf = (companyIds: readonly string[] | null, keys: readonly string[]): Sql => sql`
  select company_id, order_id from payer_information where ${ofCompanies(companyIds)} and email_key = any(${keys}::text[])
    and email_key is not null and keyed_for = split_part(sealed, '.', 3)`

/**
 * The same filter with the codes of its orders, which are few for nearly every payer: a list by its codes is fast
 * whatever PostgreSQL supposes about e-mails.
 * @param companyIds null: all companies
 */
export async function lookUpPayer(
  q: Queryable,
  companyIds: readonly string[] | null,
  payer: PayerFilter,
): Promise<PayerFilter> {
  const rows = await q.many<{ code: string }>(
    unnamed(sql`
      select code from orders where (company_id, id) in (${rowsOf(companyIds, payer.keys)} limit ${MOST_CODES + 1})`),
  )
  return { ...payer, codes: rows.length > MOST_CODES ? null : rows.map(({ code }) => code) }
}

/** Whether some payers are not found yet: those of before an upgrade, or that an older node wrote just now. */
export async function hasUnkeyedPayers(q: Queryable): Promise<boolean> {
  // order and condition are those of the index, which is nearly always empty
  const row = await q.maybe(sql`
    select order_id from payer_information where keyed_for is distinct from split_part(sealed, '.', 3)
    order by updated_at limit 1`)
  return row !== undefined
}

/** @param companyIds null: all companies */
export const ofPayer = (companyIds: readonly string[] | null, { keys, codes }: PayerFilter): Sql =>
  codes === null ? sql`(company_id, id) in (${rowsOf(companyIds, keys)})` : sql`code = any(${codes}::text[])`

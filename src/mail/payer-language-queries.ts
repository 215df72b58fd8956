import { type Queryable, sql } from '../db/db.ts'
import { isLang, type Lang } from '../kernel/lang.ts'

type OrderKey = { companyId: string; id: string }

/**
 * The language that the payer of an order last used on our pages, else that of the last mail with its link; null:
 * neither, or one that only a newer version writes.
 */
export async function findPayerLanguage(q: Queryable, { companyId, id }: OrderKey): Promise<Lang | null> {
  const { lang } = await q.one<{ lang: string | null }>(sql`
    select coalesce(
      (select lang from payer_languages where company_id = ${companyId} and order_id = ${id}),
      (select lang from link_mails where company_id = ${companyId} and order_id = ${id})) as lang`)
  return lang !== null && isLang(lang) ? lang : null
}

export const upsertPayerLanguage = (q: Queryable, order: OrderKey, lang: Lang): Promise<number> =>
  q.run(sql`
    insert into payer_languages (company_id, order_id, lang) values (${order.companyId}, ${order.id}, ${lang})
    on conflict (company_id, order_id) do update set lang = excluded.lang where payer_languages.lang <> excluded.lang`)

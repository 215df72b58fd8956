import { type Queryable, sql } from '../db/db.ts'
import type { Lang } from '../kernel/lang.ts'

type OrderKey = { companyId: string; id: string }

/** The language that the payer of an order last used on our pages; null: the payer never took a step there. */
export async function findPayerLanguage(q: Queryable, order: OrderKey): Promise<Lang | null> {
  const row = await q.maybe<{ lang: Lang }>(sql`
    select lang from payer_languages where company_id = ${order.companyId} and order_id = ${order.id}`)
  return row?.lang ?? null
}

export const upsertPayerLanguage = (q: Queryable, order: OrderKey, lang: Lang): Promise<number> =>
  q.run(sql`
    insert into payer_languages (company_id, order_id, lang) values (${order.companyId}, ${order.id}, ${lang})
    on conflict (company_id, order_id) do update set lang = excluded.lang where payer_languages.lang <> excluded.lang`)

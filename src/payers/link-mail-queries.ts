import { type Queryable, sql, type Tx } from '../db/db.ts'
import type { Lang } from '../kernel/lang.ts'
import type { Order } from '../orders/order.ts'

type Key = Pick<Order, 'companyId' | 'id'>

/** Notes one more mail and its language. The order must be locked. @param remindAt undefined: as it was */
export const countLinkMail = (
  tx: Tx,
  { companyId, id }: Key,
  { lang, remindAt }: { lang: Lang; remindAt: Date | null | undefined },
): Promise<{ sent: number; remindAt: Date | null }> =>
  tx.one(sql`
    insert into link_mails as m (company_id, order_id, sent, lang, remind_at)
    values (${companyId}, ${id}, 1, ${lang}, ${remindAt ?? null})
    on conflict (company_id, order_id) do update set sent = m.sent + 1, lang = excluded.lang,
      remind_at = case when ${remindAt === undefined} then m.remind_at else excluded.remind_at end
    returning sent, remind_at`)

/** Orders whose payer is due for a reminder, the longest due first. */
export const listReminders = (q: Queryable, now: Date, limit: number): Promise<Key[]> =>
  q.many<Key>(sql`
    select company_id, order_id as id from link_mails where remind_at <= ${now} order by remind_at limit ${limit}`)

/** Takes a due reminder, whatever becomes of it. The order must be locked. @returns whether it was due */
export async function takeReminder(tx: Tx, { companyId, id }: Key, now: Date): Promise<boolean> {
  const taken = await tx.run(sql`
    update link_mails set remind_at = null
    where company_id = ${companyId} and order_id = ${id} and remind_at <= ${now}`)
  return taken === 1
}

/** Puts a due reminder off, or drops it if its order will have ended by then. Reads nothing that may be unreadable. */
export const postponeReminder = (q: Queryable, { companyId, id }: Key, now: Date, until: Date): Promise<number> =>
  q.run(sql`
    update link_mails m set remind_at = (select ${until}::timestamptz from orders o
      where o.company_id = m.company_id and o.id = m.order_id and o.expires_at > ${until}::timestamptz)
    where m.company_id = ${companyId} and m.order_id = ${id} and m.remind_at <= ${now}`)

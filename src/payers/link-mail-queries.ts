import { type Queryable, sql, type Tx } from '../db/db.ts'
import type { Lang } from '../kernel/lang.ts'
import type { Order } from '../orders/order.ts'

type Key = Pick<Order, 'companyId' | 'id'>

/** Notes one more mail, and what it says about a reminder. The order must be locked. @returns how many there were */
export async function countLinkMail(
  tx: Tx,
  { companyId, id }: Key,
  { lang, remindAt }: { lang: Lang; remindAt: Date | null },
): Promise<number> {
  const { sent } = await tx.one<{ sent: number }>(sql`
    insert into link_mails as m (company_id, order_id, sent, lang, remind_at)
    values (${companyId}, ${id}, 1, ${lang}, ${remindAt})
    on conflict (company_id, order_id) do update
      set sent = m.sent + 1, lang = excluded.lang, remind_at = excluded.remind_at
    returning sent`)
  return sent
}

/** Orders whose payer is due for a reminder, the longest due first. */
export const listReminders = (q: Queryable, now: Date, limit: number): Promise<Key[]> =>
  q.many<Key>(sql`
    select company_id, order_id as id from link_mails where remind_at <= ${now} order by remind_at limit ${limit}`)

/** Takes a due reminder, whatever becomes of it. The order must be locked. @returns the language; undefined: not due */
export async function takeReminder(tx: Tx, { companyId, id }: Key, now: Date): Promise<Lang | undefined> {
  const row = await tx.maybe<{ lang: Lang }>(sql`
    update link_mails set remind_at = null
    where company_id = ${companyId} and order_id = ${id} and remind_at <= ${now} returning lang`)
  return row?.lang
}

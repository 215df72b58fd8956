import { sql, type Tx } from '../db/db.ts'

/** The person gets a mail for each sale from now on: those that are in the company's feed already are not mailed. */
export const insertSaleMails = (tx: Tx, userId: string, companyId: string): Promise<number> =>
  tx.run(sql`
    insert into sale_mails (user_id, position, order_id, seq)
    select ${userId}, coalesce(f.position, 0), coalesce(f.order_id, ''), coalesce(f.seq, 0)
    from (select event_horizon() as horizon) h left join lateral (
      select * from event_feed e where e.company_id = ${companyId} and e.position < h.horizon
      order by e.position desc, e.order_id desc, e.seq desc limit 1) f on true
    on conflict (user_id) do nothing`)

export const deleteSaleMails = (tx: Tx, userId: string): Promise<number> =>
  tx.run(sql`delete from sale_mails where user_id = ${userId}`)

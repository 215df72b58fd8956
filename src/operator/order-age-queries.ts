import { sql, type Tx } from '../db/db.ts'

const ENDED = sql`status not in ('INITIAL', 'PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION', 'REFUNDING')`

/** Books and history refuse changes by trigger; a superuser of a sandbox may set that aside for one transaction. */
export async function allowHistoryChanges(tx: Tx): Promise<void> {
  await tx.run(sql`set local session_replication_role = replica`)
}

/** Those of the codes whose orders have ended, oldest id first. */
export async function listOrderCodesById(tx: Tx, codes: readonly string[]): Promise<string[]> {
  const rows = await tx.many<{ code: string }>(sql`
    select code from orders where code = any(${[...codes]}) and ${ENDED} order by id`)
  return rows.map(({ code }) => code)
}

/** Moves an ended order, and all that belongs to it, back in time. @returns whether there is such an order */
export async function updateOrderAge(tx: Tx, code: string, seconds: number): Promise<boolean> {
  const order = await tx.maybe<{ companyId: string; id: string }>(sql`
    select company_id, id from orders
    where code = ${code} and ${ENDED} for update`)
  if (!order) return false
  const { companyId, id } = order
  const back = sql`make_interval(secs => ${seconds})`
  await tx.run(sql`
    update orders set created_at = created_at - ${back}, updated_at = updated_at - ${back}, paid_at = paid_at - ${back},
      expires_at = expires_at - ${back} where company_id = ${companyId} and id = ${id}`)
  await tx.run(sql`update order_events set at = at - ${back} where company_id = ${companyId} and order_id = ${id}`)
  await tx.run(sql`
    update payments set opened_at = opened_at - ${back}, updated_at = updated_at - ${back},
      closed_at = closed_at - ${back} where company_id = ${companyId} and order_id = ${id}`)
  await tx.run(sql`
    update mispayments set created_at = created_at - ${back}, updated_at = updated_at - ${back}
    where company_id = ${companyId} and order_id = ${id}`)
  await tx.run(sql`
    update refunds set created_at = created_at - ${back}, updated_at = updated_at - ${back},
      settled_at = settled_at - ${back} where company_id = ${companyId} and order_id = ${id}`)
  // what opens closed days again is a trigger, too
  await tx.run(sql`
    with moved as (
      update ledger_journals set at = at - ${back} where company_id = ${companyId} and order_id = ${id} returning at)
    select ledger_reopen_day(${companyId}, at), ledger_reopen_day(${companyId}, at + ${back}) from moved`)
  await tx.run(sql`
    update delivery_attempts set started_at = started_at - ${back}
    where company_id = ${companyId}
      and delivery_id in (select id from deliveries where company_id = ${companyId} and order_id = ${id})`)
  await tx.run(sql`
    update deliveries set created_at = created_at - ${back}, updated_at = updated_at - ${back}
    where company_id = ${companyId} and order_id = ${id}`)
  await tx.run(sql`
    update channel_exchanges set at = at - ${back} where company_id = ${companyId} and merchant_reference in
      (select merchant_reference from payments where company_id = ${companyId} and order_id = ${id})`)
  return true
}

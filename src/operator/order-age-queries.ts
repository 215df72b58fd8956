import { sql, type Tx } from '../db/db.ts'

/** Books and history refuse changes by trigger; a superuser of a sandbox may set that aside for one transaction. */
export async function allowHistoryChanges(tx: Tx): Promise<void> {
  await tx.run(sql`set local session_replication_role = replica`)
}

/** Moves an ended order, and all that belongs to it, back in time. @returns whether there is such an order */
export async function updateOrderAge(tx: Tx, code: string, seconds: number): Promise<boolean> {
  const order = await tx.maybe<{ companyId: string; id: string }>(sql`
    select company_id, id from orders
    where code = ${code} and status not in ('INITIAL', 'PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION', 'REFUNDING')
    for update`)
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
  await tx.run(sql`update ledger_journals set at = at - ${back} where company_id = ${companyId} and order_id = ${id}`)
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

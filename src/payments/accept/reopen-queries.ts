import type { Instructions } from '../../channels/channel.ts'
import { json, type Queryable, sql, type Tx } from '../../db/db.ts'
import { OWN_AMOUNTS_UNITS, parseDecimal } from '../../kernel/money.ts'
import type { NewPayment, Payment } from '../payment-queries.ts'

/** A way to pay an order. */
type Way = Pick<NewPayment, 'companyId' | 'orderId' | 'channel' | 'ownAccount' | 'network'>

/**
 * Attempts of an order that its payer was shown at the present price and that did not pay it, those with money first:
 * what comes for an earlier price is told apart. Not one whose money is blocked, or went back, by the word of a
 * screening.
 * @param dueUnits the price; orders of one address differ in the digits after it
 */
export async function listReopenable(
  q: Queryable,
  { companyId, orderId, channel, ownAccount, network }: Way,
  dueUnits: bigint,
): Promise<string[]> {
  const rows = await q.many<{ id: string }>(sql`
    select id from payments p
    where company_id = ${companyId} and order_id = ${orderId} and channel = ${channel} and own_account = ${ownAccount}
      and network is not distinct from ${network}::integer and status in ('awaiting', 'closing', 'closed')
      and instructions is not null and price_units is null
      and due_units >= ${dueUnits} and due_units < ${dueUnits + OWN_AMOUNTS_UNITS}
      and not exists (select 1 from screenings s where s.company_id = p.company_id and s.purpose = 'payment'
        and s.subject_id = p.id and s.status in ('blocked', 'returned'))
    order by received_units desc, number desc`)
  return rows.map(({ id }) => id)
}

/** The company of an order that is, or was, paid at this address (lower case). */
export async function findCompanyAt(
  q: Queryable,
  { orderId, address }: { orderId: string; address: string },
): Promise<string | undefined> {
  const row = await q.maybe<{ companyId: string }>(sql`
    select company_id from payments where deposit_address = ${address} and order_id = ${orderId} limit 1`)
  return row?.companyId
}

type Reopening = Pick<
  NewPayment,
  'userAddress' | 'userAddressBy' | 'cancelUrl' | 'returnUrl' | 'pos' | 'pastOrders'
> & { instructions: Instructions }

/**
 * It waits for money again, is polled at once, and is audited again after its end. `updated_at` stays: it tells which
 * transfers its last report knew.
 */
export async function updatePaymentReopened(
  tx: Tx,
  payment: Payment,
  { instructions, ...said }: Reopening,
  now: Date,
): Promise<void> {
  const dueUnits = parseDecimal(instructions.tokenAmount ?? '', 6) ?? payment.dueUnits
  await tx.run(sql`
    update payments set status = 'awaiting', instructions = ${json(instructions)}, due_units = ${dueUnits},
      token_address = lower(${instructions.tokenAddress}), user_address = ${said.userAddress},
      user_address_by = ${said.userAddressBy}, cancel_url = ${said.cancelUrl}, return_url = ${said.returnUrl},
      pos = coalesce(${said.pos}, pos), past_orders = coalesce(${json(said.pastOrders)}, past_orders), closed_at = null, abandoned_at = null,
      audited_at = null, audit_due_at = null, next_check_at = ${now}, checks = 0, poll_again = lease_until is not null
    where company_id = ${payment.companyId} and id = ${payment.id}`)
}

import { IS_SHARED, TRANSFERS } from '../chain/deposits/reservation-queries.ts'
import { ON_CHAIN_CHANNELS } from '../channels/channel.ts'
import { type Queryable, sql } from '../db/db.ts'
import type { Payment } from './payment-queries.ts'

export type OrderDeposit = { companyId: string; id: string; orderId: string; depositAddress: string; network: number }

/** Older nodes stored addresses of providers too. */
const IS_OURS = sql`p.channel = any(${[...ON_CHAIN_CHANNELS]}::text[])`

const COLUMNS = sql`p.company_id, p.id, p.order_id, p.deposit_address, p.network`

/** Deposit addresses of all attempts to pay these orders. */
export const listDepositsOfOrders = (
  q: Queryable,
  orders: readonly { companyId: string; id: string }[],
): Promise<OrderDeposit[]> =>
  q.many(sql`
    select ${COLUMNS} from payments as p
    join unnest(${orders.map(({ companyId }) => companyId)}::text[], ${orders.map(({ id }) => id)}::text[])
      as o (company_id, id) on o.company_id = p.company_id and o.id = p.order_id
    where p.deposit_address is not null and p.network is not null and ${IS_OURS}`)

/** Whether the transaction pays this order: to an address of its own, or at a shared one what is its own there. */
export const findOwnTransaction = (
  q: Queryable,
  { companyId, id }: { companyId: string; id: string },
  txHash: string,
): Promise<{ isOwn: boolean; isShared: boolean }> =>
  q.one(sql`
    select coalesce(bool_or(exists (select 1 from (${TRANSFERS}) as t
        where t.tx_hash = ${txHash} and t.status = 'seen')), false) as is_own,
      coalesce(bool_or(${IS_SHARED}), false) as is_shared
    from payments p where p.company_id = ${companyId} and p.order_id = ${id} and p.deposit_address is not null
      and ${IS_OURS}`)

/** Transfers of a transaction, on whichever chain, to these addresses. */
export const listTransfersOf = (
  q: Queryable,
  { txHash, addresses }: { txHash: string; addresses: readonly string[] },
): Promise<{ id: string }[]> =>
  q.many(sql`
    select t.id from chain_heads h join chain_transfers t on t.chain_id = h.chain_id and t.tx_hash = ${txHash}
    where t.to_address = any(${[...addresses]}::text[])`)

export type EndedDeposit = OrderDeposit & { closedAt: Date }

/** Ended payments that have not been compared with the chain since they ended, and are due. */
export const listUnauditedDeposits = (q: Queryable, dueAt: Date, limit: number): Promise<EndedDeposit[]> =>
  q.many(sql`
    select ${COLUMNS}, p.closed_at from payments as p
    where p.deposit_address is not null and p.audited_at is null and p.closed_at is not null and p.network is not null
      and coalesce(p.audit_due_at, p.closed_at) <= ${dueAt} and ${IS_OURS}
    order by coalesce(p.audit_due_at, p.closed_at), p.id limit ${limit}`)

const among = (deposits: readonly OrderDeposit[]) => sql`
  (company_id, id) in (select * from unnest(${deposits.map(({ companyId }) => companyId)}::text[],
    ${deposits.map(({ id }) => id)}::text[]))`

export const updateDepositsAudited = (q: Queryable, deposits: readonly OrderDeposit[], at: Date): Promise<number> =>
  q.run(sql`update payments set audited_at = ${at} where ${among(deposits)}`)

/** Due again after half of the time since the payment ended: at least 5 s, at most 10 min. */
export const updateDepositsPostponed = (q: Queryable, deposits: readonly OrderDeposit[], at: Date): Promise<number> =>
  q.run(sql`
    update payments set audit_due_at = ${at}::timestamptz
      + greatest(interval '5 s', least(interval '10 min', (${at}::timestamptz - closed_at) / 2))
    where ${among(deposits)}`)

/** Whether the deposit address serves other payments too. */
export async function isSharedDeposit(q: Queryable, { companyId, merchantReference }: Payment): Promise<boolean> {
  const row = await q.maybe(sql`
    select 1 from deposit_reservations where company_id = ${companyId} and reference = ${merchantReference}`)
  return row !== undefined
}

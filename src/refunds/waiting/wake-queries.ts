import type { ChannelId } from '../../channels/channel.ts'
import { type Queryable, sql, type Tx } from '../../db/db.ts'
import { isUnfinishedThere, type LeavingAccount, type SavedAccount } from '../../payments/accounts/account-queries.ts'
import type { Refund } from '../refund-queries.ts'

/* Refunds that are polled again at once, because what they wait for may be there. */

/** Has one that waits for a person polled again. */
export const wakeRefundUnpolled = (tx: Tx, { companyId, id }: Refund, nextCheckAt: Date): Promise<number> =>
  tx.run(sql`
    update refunds set next_check_at = ${nextCheckAt}
    where company_id = ${companyId} and id = ${id} and status in ('ready', 'submitted') and next_check_at is null`)

/** Has the refunds of an order that a person is asked to send polled again. */
export const wakeRefundsHandedOver = (
  tx: Tx,
  { companyId, id }: { companyId: string; id: string },
  now: Date,
): Promise<number> =>
  tx.run(sql`
    update refunds set next_check_at = ${now}
    where company_id = ${companyId} and order_id = ${id} and status = 'ready' and handed_over_at is not null
      and next_check_at is null`)

/** Polls the open refunds of a payment now. */
export const wakeRefundsOfPayment = (q: Queryable, companyId: string, paymentId: string, now: Date): Promise<number> =>
  q.run(sql`
    update refunds set next_check_at = least(next_check_at, ${now}), poll_again = lease_until is not null
    where company_id = ${companyId} and payment_id = ${paymentId} and next_check_at is not null`)

/**
 * A company's account was saved: refunds through it that have no final answer are polled at once, also those that
 * an older node handed to a person although the provider has them.
 */
export const wakeRefundsOfAccount = (
  tx: Tx,
  { companyId, channel, accountMarks }: SavedAccount,
  now: Date,
): Promise<number> =>
  tx.run(sql`
    update refunds r set next_check_at = ${now}, checks = 0, poll_again = r.lease_until is not null
    from payments p where p.company_id = ${companyId} and p.id = r.payment_id and p.own_account
      and (p.account_mark is null or p.account_mark = any(${[...accountMarks]}::text[]))
      and r.company_id = ${companyId} and r.channel = ${channel} and r.status in ('ready', 'submitted')
      and (r.next_check_at is not null or r.provider_reference is not null)`)

export async function countRefundsOfAccount(q: Queryable, account: LeavingAccount): Promise<number> {
  const { total } = await q.one<{ total: bigint }>(sql`
    select count(*) as total from refunds r
    join payments p on p.company_id = r.company_id and p.id = r.payment_id
    where ${isUnfinishedThere(account)}`)
  return Number(total)
}

/** The operator uses these channels again: the refunds that wait for them, and say so, are polled at once. */
export const wakeRefundsOfOperator = (
  q: Queryable,
  { channels, words }: { channels: readonly ChannelId[]; words: readonly string[] },
  now: Date,
): Promise<number> =>
  q.run(sql`
    update refunds set next_check_at = ${now}, checks = 0, poll_again = lease_until is not null
    where status in ('ready', 'submitted') and next_check_at is not null and channel = any(${[...channels]})
      and last_words = any(${[...words]})`)

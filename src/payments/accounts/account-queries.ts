import type { ChannelId } from '../../channels/channel.ts'
import type { OwnPlaces } from '../../channels/crypto/own-wallets.ts'
import { type Queryable, type Sql, sql, type Tx } from '../../db/db.ts'

/* Payments by the account at their provider that they were opened with. */

/** A company's account at a provider, or its wallet. */
export type SavedAccount = { companyId: string; channel: ChannelId; accountMarks: readonly string[] }

/** A company's account was saved: payments opened with it that have no final answer are polled at once. */
export async function wakePaymentsOfAccount(
  q: Queryable,
  { companyId, channel, accountMarks }: SavedAccount,
  now: Date,
): Promise<void> {
  await q.run(sql`
    update payments set next_check_at = ${now}, checks = 0, poll_again = lease_until is not null
    where company_id = ${companyId} and channel = ${channel} and own_account and next_check_at is not null
      and (account_mark is null or account_mark = any(${[...accountMarks]}::text[]))`)
}

/**
 * Payments of earlier versions that do not say which of the company's accounts opened them.
 * @param savedAt of the account: older payments may be those of an account before it that could not be read
 */
export const markPaymentsOfAccount = (
  tx: Tx,
  { companyId, channel, accountMark }: { companyId: string; channel: ChannelId; accountMark: string },
  savedAt: Date,
): Promise<number> =>
  tx.run(sql`
    update payments set account_mark = ${accountMark}
    where company_id = ${companyId} and channel = ${channel} and own_account and account_mark is null
      and opened_at >= ${savedAt}`)

/** An account of a company that is removed or replaced. */
export type LeavingAccount = SavedAccount & {
  /** Of the account that replaces it, which continues its own payments; none: nothing does. */
  nextMarks: readonly string[]
}

/** Payment `p` can only be followed with this account. Without marks it could not be read: it may be that of any. */
const needsAccount = ({ accountMarks, nextMarks }: LeavingAccount): Sql =>
  sql`(p.own_account
    and (${accountMarks.length === 0} or p.account_mark is null or p.account_mark = any(${[...accountMarks]}::text[]))
    and (p.account_mark is null or p.account_mark <> all(${[...nextMarks]}::text[])))`

/** Payment `p` is not over and needs this account. */
const isOpenThere = (account: LeavingAccount): Sql => sql`(
  p.company_id = ${account.companyId} and p.channel = ${account.channel} and ${needsAccount(account)}
  and p.status in ('creating', 'awaiting', 'confirming', 'closing'))`

/** Refund `r`, of payment `p`, is not finished and needs this account: all but those that a person sends by hand. */
export const isUnfinishedThere = (account: LeavingAccount): Sql => sql`(
  r.company_id = ${account.companyId} and r.channel = ${account.channel} and ${needsAccount(account)}
  and (r.status = 'needs_approval' or r.status in ('ready', 'submitted')
    and (r.next_check_at is not null or r.provider_reference is not null)))`

export async function countPaymentsOfAccount(q: Queryable, account: LeavingAccount): Promise<number> {
  const { total } = await q.one<{ total: bigint }>(sql`
    select count(*) as total from payments p where ${isOpenThere(account)}`)
  return Number(total)
}

export type MarkedPayment = { id: string; orderId: string; accountMark: string | null }

/** So many of the company's newest payments are looked through for those that no longer need their account. */
const RECENT = 10_000
const MOST_MARKS = 8

/** Of each of a company's accounts at a provider, the newest payment that the provider has: its account knows it. */
export function listMarkedPayments(q: Queryable, companyId: string, channel: ChannelId): Promise<MarkedPayment[]> {
  const any = { companyId, channel, accountMarks: [], nextMarks: [] }
  return q.many(sql`
    select * from (
      select distinct on (account_mark) id, order_id, account_mark, opened_at from (
        select p.id, p.order_id, p.account_mark, p.opened_at from payments p
        where ${isOpenThere(any)} and p.provider_reference is not null
        union all
        select p.id, p.order_id, p.account_mark, p.opened_at from refunds r
        join payments p on p.company_id = r.company_id and p.id = r.payment_id
        where ${isUnfinishedThere(any)} and p.provider_reference is not null
        union all
        select id, order_id, account_mark, opened_at from (
          select id, order_id, account_mark, opened_at, channel, own_account, provider_reference from payments
          where company_id = ${companyId} order by id desc limit ${RECENT}) as recent
        where channel = ${channel} and own_account and provider_reference is not null
      ) as known order by account_mark, opened_at desc
    ) as newest order by opened_at desc limit ${MOST_MARKS}`)
}

/**
 * Open orders whose payer was shown a place of the company's wallet that is not in this one.
 * @param places null: there is no wallet any more
 */
export async function countOrdersElsewhere(q: Queryable, companyId: string, places: OwnPlaces | null): Promise<number> {
  const { keyId = null, addresses = [], networks = [] } = places ?? {}
  const { total } = await q.one<{ total: bigint }>(sql`
    select count(*) as total from payments p
    join orders o on o.company_id = p.company_id and o.id = p.order_id and o.payment_id = p.id
    where p.company_id = ${companyId} and p.channel = 'crypto' and p.own_account
      and p.status in ('awaiting', 'confirming') and o.status in ('PENDING', 'AWAITING')
      and not ((p.deposit_address = any(${[...addresses]}::text[])
          or exists (select 1 from deposit_addresses d where d.address = p.deposit_address and d.key_id = ${keyId}))
        and ${places !== null} and (${networks.length === 0} or p.network = any(${[...networks]}::integer[])))`)
  return Number(total)
}

/** The operator uses these channels again: the payments that waited for them are polled at once. */
export async function wakePaymentsOfOperator(
  q: Queryable,
  { channels, providerStatus }: { channels: readonly ChannelId[]; providerStatus: string },
  now: Date,
): Promise<void> {
  await q.run(sql`
    update payments set next_check_at = ${now}, checks = 0, poll_again = lease_until is not null
    where status = 'closing' and not own_account and next_check_at is not null and channel = any(${[...channels]})
      and last_words = ${providerStatus}`)
}

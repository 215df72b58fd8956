import { type Queryable, sql, type Tx, unnamed } from '../db/db.ts'
import type { PollTopic } from '../db/polling.ts'
import { longestGapMs } from '../kernel/poll-gaps.ts'
import { IS_CHECK_OPEN } from '../orders/summary/summary-queries.ts'
import { type Kyc, type KycState, type KycStatus, PATIENCE_MS } from './kyc.ts'
import type { PayerKeys } from './payer-key.ts'

type Row = Omit<Kyc, 'spendingLimit' | 'eddLimit'> & {
  spendingLimitAmount: string | null
  eddLimitAmount: string | null
}

const IS_EDD_GOING_ON = sql`t.edd_status in ('requested', 'pending')
  and t.updated_at > now() - ${PATIENCE_MS}::float8 * interval '1 millisecond'`

export const KYC_POLLS: PollTopic = {
  kind: 'identity',
  table: { table: sql`kyc_records`, lane: sql`t.provider` },
  // what was decided is read again ever later, and so is an enhanced check that no one has gone on with for long
  longest: [{ ms: longestGapMs('identity'), of: sql`(t.status = 'pending' or ${IS_EDD_GOING_ON})` }],
}

const COLUMNS = sql`company_id, id, payer_key, email_sealed, provider, status, edd_status, edd_outcome,
  spending_limit_amount, edd_limit_amount, applicant_id, creation_tried, payer_message, last_words as provider_status, first_order_id,
  mail_opened_at, checks, next_check_at, version, created_at, updated_at`

const toKyc = ({ spendingLimitAmount, eddLimitAmount, ...row }: Row): Kyc => ({
  ...row,
  spendingLimit: spendingLimitAmount,
  eddLimit: eddLimitAmount,
})

export type PayerName = { companyId: string; payerKey: string }

/**
 * Locked until the transaction ends, so that of a payer's concurrent orders the second sees the first one's amount.
 * Under all keys, for nodes whose master keys differ; what is stored under an earlier one moves to the present one.
 */
export async function lockPayer(tx: Tx, companyId: string, { present, all }: PayerKeys): Promise<PayerName> {
  const keys = [...all].sort()
  await tx.run(sql`
    insert into kyc_payers (company_id, payer_key) select ${companyId}, unnest(${keys}::text[]) on conflict do nothing`)
  await tx.run(sql`
    select 1 from kyc_payers where company_id = ${companyId} and payer_key = any(${keys}::text[])
    order by payer_key for update`)
  const earlier = keys.filter((key) => key !== present)
  if (earlier.length > 0) await movePayer(tx, companyId, { present, earlier })
  return { companyId, payerKey: present }
}

/** A check stays where it is when the payer has one under the present key, too. */
async function movePayer(tx: Tx, companyId: string, { present, earlier }: { present: string; earlier: string[] }) {
  await tx.run(sql`
    update kyc_records set payer_key = ${present} where company_id = ${companyId} and id = (
      select id from kyc_records where company_id = ${companyId} and payer_key = any(${earlier}::text[])
      order by created_at limit 1)
    and not exists (select 1 from kyc_records where company_id = ${companyId} and payer_key = ${present})`)
  await tx.run(sql`
    update kyc_spendings set payer_key = ${present}
    where company_id = ${companyId} and payer_key = any(${earlier}::text[])`)
}

export async function lockKycOfPayer(tx: Tx, { companyId, payerKey }: PayerName): Promise<Kyc | undefined> {
  const row = await tx.maybe<Row>(sql`
    select ${COLUMNS} from kyc_records where company_id = ${companyId} and payer_key = ${payerKey} for update`)
  return row && toKyc(row)
}

export async function findKyc(q: Queryable, id: string): Promise<Kyc | undefined> {
  const row = await q.maybe<Row>(sql`select ${COLUMNS} from kyc_records where id = ${id}`)
  return row && toKyc(row)
}

export async function lockKyc(tx: Tx, id: string): Promise<Kyc | undefined> {
  const row = await tx.maybe<Row>(sql`select ${COLUMNS} from kyc_records where id = ${id} for update`)
  return row && toKyc(row)
}

export async function findKycOfOrder(q: Queryable, companyId: string, orderId: string): Promise<Kyc | undefined> {
  const row = await q.maybe<Row>(sql`
    select ${COLUMNS} from kyc_records where company_id = ${companyId}
      and id = (select kyc_id from kyc_orders where company_id = ${companyId} and order_id = ${orderId})`)
  return row && toKyc(row)
}

export type KycFilter = { companyIds: readonly string[] | null; status: KycStatus | 'waiting' | null }

const matches = ({ companyIds, status }: KycFilter) => sql`
  (${companyIds}::text[] is null or company_id = any(${companyIds}))
  and ${status === 'waiting' ? IS_CHECK_OPEN : sql`(${status}::text is null or status = ${status})`}`

export async function listKycs(
  q: Queryable,
  filter: KycFilter,
  page: { limit: number; offset: number },
): Promise<Kyc[]> {
  const rows = await q.many<Row>(
    unnamed(sql`
      select ${COLUMNS} from kyc_records where ${matches(filter)} order by id desc
      limit ${page.limit} offset ${page.offset}`),
  )
  return rows.map(toKyc)
}

export async function countKycs(q: Queryable, filter: KycFilter): Promise<number> {
  const count = unnamed(sql`select count(*)::int as total from kyc_records where ${matches(filter)}`)
  return (await q.one<{ total: number }>(count)).total
}

export type NewKyc = Pick<Kyc, 'companyId' | 'id' | 'payerKey' | 'provider' | 'createdAt'> & {
  emailSealed: string
  firstOrderId: string
}

export async function insertKyc(tx: Tx, kyc: NewKyc): Promise<Kyc> {
  const row = await tx.one<Row>(sql`
    insert into kyc_records (company_id, id, payer_key, email_sealed, email_saved_at, provider, status, first_order_id,
      next_check_at, created_at, updated_at)
    values (${kyc.companyId}, ${kyc.id}, ${kyc.payerKey}, ${kyc.emailSealed}, ${kyc.createdAt}, ${kyc.provider}, 'pending',
      ${kyc.firstOrderId}, case when ${kyc.provider} = 'manual' then null else ${kyc.createdAt}::timestamptz end, ${kyc.createdAt}, ${kyc.createdAt})
    returning ${COLUMNS}`)
  return toKyc(row)
}

export type KycChange = KycState & { eddLimit: string | null; nextCheckAt: Date | null }

/** A change of state; `updated_at` strictly grows, because receivers of webhooks sort by it. */
export async function updateKycState(tx: Tx, kyc: Kyc, change: KycChange, now: Date): Promise<Kyc> {
  const row = await tx.one<Row>(sql`
    update kyc_records set status = ${change.status}, edd_status = ${change.eddStatus},
      edd_outcome = ${change.eddOutcome}, spending_limit_amount = ${change.spendingLimit},
      edd_limit_amount = ${change.eddLimit}, next_check_at = ${change.nextCheckAt}, checks = 0, version = version + 1,
      updated_at = greatest(${now}::timestamptz, updated_at + interval '1 millisecond')
    where company_id = ${kyc.companyId} and id = ${kyc.id}
    returning ${COLUMNS}`)
  return toKyc(row)
}

/** Restores an erased e-mail, or changes the provider. */
export async function updateKycPayer(
  tx: Tx,
  kyc: Kyc,
  payer: { emailSealed: string; savedAt: Date; provider: Kyc['provider']; nextCheckAt: Date | null },
): Promise<Kyc> {
  const row = await tx.one<Row>(sql`
    update kyc_records set email_sealed = ${payer.emailSealed}, email_saved_at = ${payer.savedAt},
      provider = ${payer.provider}, next_check_at = ${payer.nextCheckAt}
    where company_id = ${kyc.companyId} and id = ${kyc.id}
    returning ${COLUMNS}`)
  return toKyc(row)
}

/** Stores the provider's last message and the next poll, without a change of state. */
export async function updateKycNews(
  tx: Tx,
  kyc: Kyc,
  news: { providerStatus: string | null; payerMessage: string | null; nextCheckAt: Date | null },
): Promise<void> {
  await tx.run(sql`
    update kyc_records set last_words = ${news.providerStatus}, payer_message = ${news.payerMessage},
      next_check_at = ${news.nextCheckAt}
    where company_id = ${kyc.companyId} and id = ${kyc.id}`)
}

type Key = Pick<Kyc, 'companyId' | 'id'>

/** Written before the provider is called: from then on an applicant may exist. */
export async function updateCreationTried(q: Queryable, kyc: Key): Promise<void> {
  await q.run(sql`
    update kyc_records set creation_tried = true where company_id = ${kyc.companyId} and id = ${kyc.id}`)
}

/** Its mailed link led into the check: from then on the pay page of the order that started it does not. */
export async function updateMailOpened(q: Queryable, kyc: Key, at: Date): Promise<void> {
  await q.run(sql`
    update kyc_records set mail_opened_at = ${at}
    where company_id = ${kyc.companyId} and id = ${kyc.id} and mail_opened_at is null`)
}

/**
 * Whether the pay page of this order leads into the check: its payer started it there, and nobody has come through a
 * mailed link yet. Of an earlier version's check the first order that waited counts.
 */
export async function isOpenToPage(q: Queryable, kyc: Kyc, orderId: string): Promise<boolean> {
  if (kyc.mailOpenedAt !== null) return false
  if (kyc.firstOrderId !== null) return kyc.firstOrderId === orderId
  const first = await q.maybe<{ orderId: string }>(sql`
    select order_id from kyc_orders where company_id = ${kyc.companyId} and kyc_id = ${kyc.id}
    order by created_at, order_id limit 1`)
  return first?.orderId === orderId
}

/** @param applicantId null: the provider no longer has the applicant */
export async function updateApplicant(q: Queryable, kyc: Key, applicantId: string | null): Promise<void> {
  await q.run(sql`
    update kyc_records set applicant_id = ${applicantId}, creation_tried = ${applicantId !== null}
    where company_id = ${kyc.companyId} and id = ${kyc.id}`)
}

/** The newest row's number is the record's version. */
export async function insertKycHistory(
  tx: Tx,
  kyc: Kyc,
  entry: { trigger: string; actor: string; reason: string | null; requestId: string | null },
): Promise<void> {
  await tx.run(sql`
    insert into kyc_history (company_id, kyc_id, seq, trigger, status, edd_status, edd_outcome, spending_limit_amount,
      actor, reason, request_id, at)
    values (${kyc.companyId}, ${kyc.id}, ${kyc.version}, ${entry.trigger}, ${kyc.status}, ${kyc.eddStatus},
      ${kyc.eddOutcome}, ${kyc.spendingLimit}, ${entry.actor}, ${entry.reason}, ${entry.requestId}, ${kyc.updatedAt})`)
}

/** Whether a person, not the provider, completed the last EDD. */
export async function isEddByHand(tx: Tx, kyc: Key): Promise<boolean> {
  const last = await tx.maybe<{ byHand: boolean }>(sql`
    select trigger = 'completeEdd' as by_hand from kyc_history
    where company_id = ${kyc.companyId} and kyc_id = ${kyc.id} and trigger in ('completeEdd', 'edd.completed')
    order by seq desc limit 1`)
  return last?.byHand ?? false
}

/** Whether a person refused it. What is refused changes by its status only, so the newest row did that. */
export async function isRefusedByHand(
  tx: Tx,
  kyc: Pick<Kyc, 'companyId' | 'id' | 'status' | 'version'>,
): Promise<boolean> {
  if (kyc.status !== 'refused') return false
  const row = await tx.maybe(sql`
    select from kyc_history
    where company_id = ${kyc.companyId} and kyc_id = ${kyc.id} and seq = ${kyc.version} and trigger = 'refuse'`)
  return row !== undefined
}

/** When the enhanced check that is open was first requested by a person; undefined: by no one. */
export async function findEddRequest(q: Queryable, kyc: Key): Promise<Date | undefined> {
  const row = await q.maybe<{ at: Date }>(sql`
    select at from kyc_history
    where company_id = ${kyc.companyId} and kyc_id = ${kyc.id} and trigger = 'requestEdd' and seq > (
      select coalesce(max(seq), 0) from kyc_history
      where company_id = ${kyc.companyId} and kyc_id = ${kyc.id} and edd_status not in ('requested', 'pending'))
    order by seq limit 1`)
  return row?.at
}

export type KycHistoryRow = KycState & { seq: number; trigger: string; actor: string; reason: string | null; at: Date }

export async function listKycHistory(q: Queryable, kyc: Key): Promise<KycHistoryRow[]> {
  return q.many<KycHistoryRow>(sql`
    select seq, trigger, status, edd_status, edd_outcome, spending_limit_amount as spending_limit, actor, reason, at
    from kyc_history where company_id = ${kyc.companyId} and kyc_id = ${kyc.id} order by seq`)
}

/**
 * An order waits for one check. If it leaves another one, for which no other order waits, that one's e-mail is erased:
 * an erasure finds checks by their orders. @returns whether the order newly waits for this check
 */
export async function upsertKycOrder(tx: Tx, kyc: Key, orderId: string, now: Date): Promise<boolean> {
  const { companyId } = kyc
  // with the lock, the next statement sees who joined it meanwhile
  await tx.run(sql`
    select from kyc_records where company_id = ${companyId} and id <> ${kyc.id}
      and id = (select kyc_id from kyc_orders where company_id = ${companyId} and order_id = ${orderId}) for update`)
  await tx.run(sql`
    update kyc_records set email_sealed = null, payer_message = null
    where company_id = ${companyId} and id <> ${kyc.id} and email_sealed is not null
      and id = (select kyc_id from kyc_orders where company_id = ${companyId} and order_id = ${orderId})
      and not exists (select 1 from kyc_orders o
        where o.company_id = ${companyId} and o.kyc_id = kyc_records.id and o.order_id <> ${orderId})`)
  const changed = await tx.run(sql`
    insert into kyc_orders (company_id, order_id, kyc_id, created_at)
    values (${companyId}, ${orderId}, ${kyc.id}, ${now})
    on conflict (company_id, order_id) do update set kyc_id = excluded.kyc_id, created_at = excluded.created_at
      where kyc_orders.kyc_id <> excluded.kyc_id`)
  return changed > 0
}

export type WaitingOrder = {
  companyId: string
  id: string
  code: string
  shortCode: string
  alias: string | null
  webhookUrl: string | null
}

/** The orders that wait for a check, newest first. @param before leaves out this order and newer ones */
export async function listWaitingOrders(
  q: Queryable,
  kyc: Key,
  limit: number,
  before: string | null = null,
): Promise<WaitingOrder[]> {
  return q.many<WaitingOrder>(sql`
    select o.company_id, o.id, o.code, o.short_code, o.alias, o.webhook_url
    from kyc_orders k join orders o on o.company_id = k.company_id and o.id = k.order_id
    where k.company_id = ${kyc.companyId} and k.kyc_id = ${kyc.id}
      and (${before}::text is null or k.order_id < ${before}) order by k.order_id desc limit ${limit}`)
}

/** Moves a poll planned for later to now. */
export async function updateKycDue(q: Queryable, kyc: Key, at: Date): Promise<void> {
  await q.run(sql`
    update kyc_records set next_check_at = ${at}, checks = 0, poll_again = lease_until is not null
    where company_id = ${kyc.companyId} and id = ${kyc.id}`)
}

/** The same for the checks that a callback names. @returns how many */
export async function updateKycDueByProvider(
  tx: Tx,
  names: { applicantId: string; externalUserId: string | null },
  at: Date,
): Promise<number> {
  return tx.run(sql`
    update kyc_records set next_check_at = ${at}, checks = 0, poll_again = lease_until is not null
    where provider = 'sumsub' and (applicant_id = ${names.applicantId} or id = ${names.externalUserId})`)
}

export const hasApplicant = async (q: Queryable, applicantId: string): Promise<boolean> =>
  (await q.maybe(sql`select from kyc_records where applicant_id = ${applicantId} limit 1`)) !== undefined

/** @returns false when this callback was already processed */
export async function insertKycCallback(
  tx: Tx,
  callback: { applicantId: string; type: string; createdAtText: string },
  now: Date,
): Promise<boolean> {
  const added = await tx.run(sql`
    insert into kyc_callbacks (applicant_id, type, created_at_text, received_at)
    values (${callback.applicantId}, ${callback.type}, ${callback.createdAtText}, ${now}) on conflict do nothing`)
  return added > 0
}

export async function deleteOldKycCallbacks(q: Queryable, before: Date): Promise<number> {
  return q.run(sql`delete from kyc_callbacks where received_at < ${before}`)
}

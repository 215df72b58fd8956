import type { ChannelId } from '../channels/channel.ts'
import { joinSql, json, type Queryable, type Sql, sql, type Tx, unnamed } from '../db/db.ts'
import type { PollTopic } from '../db/polling.ts'
import type { Lang } from '../kernel/lang.ts'
import { type HOLDERS, heldBy } from '../ledger/payable-queries.ts'
import { toSendByHand, waitsForOne } from '../orders/summary/summary-queries.ts'
import { type AddressProof, leavesOnChain } from './destination/address-proof.ts'

export const REFUND_STATUSES = [
  'needs_approval',
  'needs_address',
  'ready',
  'submitted',
  'settled',
  'rejected',
  'refused',
] as const
export type RefundStatus = (typeof REFUND_STATUSES)[number]

/** Why a refund needs approval: the company’s setting, or the role’s limit. */
export type RefundApproval = 'company' | 'limit'

/** Money on its way back to a payer. */
export type Refund = {
  companyId: string
  id: string
  orderId: string
  /** Sequence number among the refunds of its order, from 1. */
  number: number
  paymentId: string
  mispaymentId: string | null
  channel: ChannelId
  status: RefundStatus
  /** USDC units; of these, `excessUnits` never belonged to the company. */
  units: bigint
  excessUnits: bigint
  fiatUnits: bigint
  /** A SuperAdmin released it although the company's balance did not cover it. */
  withoutCover: boolean
  /** The payer’s trusted address; proposals stay separate until confirmed, and what a provider pays back has none. */
  address: string | null
  proposedAddress: string | null
  /** Who proposed it: a value of `payer-word.ts`, or `payer` through a link that was not mailed. */
  proposedBy: string | null
  /** The first person of the shop who vouches for the proposed address; the database forgets it with the address. */
  confirmedBy: string | null
  /** What the payer named through a link that was not mailed, before another address took its place; newest last. */
  replacedAddresses: string[]
  addressProof: AddressProof | null
  askedByMail: boolean
  /** Who of the staff wrote the e-mail where the payer is asked; null: someone else, or not known (`payer-word.ts`). */
  emailBy: string | null
  network: number | null
  reason: string | null
  approval: RefundApproval | null
  requestedBy: string
  requestedRole: string | null
  decidedBy: string | null
  providerReference: string | null
  txHash: string | null
  /** A person sent it and named the transaction. */
  byHand: boolean
  /** A person settled it by hand. */
  settledByHand: boolean
  /** Paid outside its provider, which does not know about it. */
  paidElsewhere: boolean
  /** Made in its provider's console: a SuperAdmin recorded how much it was. */
  recorded: boolean
  providerStatus: string | null
  checks: number
  /** Null: no more polls, or a person sends it. */
  nextCheckAt: Date | null
  /** Since when a person is asked to send it: the service does not send it any more. */
  handedOverAt: Date | null
  /** Since when it waits for an account (or a channel, or a chain) that is not set up; null: it does not. */
  accountGoneAt: Date | null
  /** When a person said, of a refund whose answer was lost, that its provider never had it; null: nobody did. */
  deniedAt: Date | null
  /** A person has to send it now: no check holds it. */
  toSendByHand: boolean
  /** Who holds its money, and sends it where a person has to. */
  heldBy: (typeof HOLDERS)[number]
  createdAt: Date
  updatedAt: Date
  settledAt: Date | null
}

type Row = Omit<Refund, 'units' | 'excessUnits' | 'fiatUnits'> & {
  units: string
  excessUnits: string
  fiatUnits: string
}

/** One lane per provider account that received the payment. */
export const REFUND_POLLS: PollTopic = {
  kind: 'refund',
  table: {
    table: sql`refunds`,
    lane: sql`(select p.channel || case when p.own_account then ':' || p.company_id else '' end
      from payments p where p.company_id = t.company_id and p.id = t.payment_id)`,
  },
}

const COLUMNS = sql`company_id, id, order_id, number, payment_id, mispayment_id, channel, status, units, excess_units,
  fiat_units, without_cover, address, proposed_address, proposed_by, confirmed_by, replaced_addresses,
  address_proof, asked_by_mail, email_by, network, reason, approval, requested_by, requested_role, decided_by, provider_reference, tx_hash, by_hand,
  coalesce(settled_by_hand, false) as settled_by_hand,
  coalesce(paid_elsewhere, settled_by_hand, false) as paid_elsewhere, recorded, last_words as provider_status, checks, next_check_at, handed_over_at, account_gone_at, denied_at,
  ${toSendByHand(sql`refunds`)} as to_send_by_hand, ${heldBy(sql`refunds`)} as held_by, created_at, updated_at, settled_at`

/**
 * Earlier versions stored addresses without a proof: that is no destination. On a chain one stays known once something
 * may have been signed for it.
 */
const isUnproven = ({ addressProof, channel, status }: Row): boolean =>
  addressProof === null && (!leavesOnChain({ channel }) || status === 'needs_approval' || status === 'needs_address')

const toRefund = (row: Row): Refund => ({
  ...row,
  address: isUnproven(row) ? null : row.address,
  units: BigInt(row.units),
  excessUnits: BigInt(row.excessUnits),
  fiatUnits: BigInt(row.fiatUnits),
})

export type NewRefund = Omit<
  Refund,
  | 'replacedAddresses'
  | 'decidedBy'
  | 'providerReference'
  | 'txHash'
  | 'byHand'
  | 'settledByHand'
  | 'paidElsewhere'
  | 'recorded'
  | 'providerStatus'
  | 'checks'
  | 'nextCheckAt'
  | 'handedOverAt'
  | 'accountGoneAt'
  | 'deniedAt'
  | 'toSendByHand'
  | 'heldBy'
  | 'updatedAt'
  | 'settledAt'
> & { requestId: string | null; recorded?: boolean }

export async function insertRefund(tx: Tx, refund: NewRefund): Promise<void> {
  const { addressProof } = refund
  await tx.run(sql`
    insert into refunds (company_id, id, order_id, number, payment_id, mispayment_id, channel, status, units,
      excess_units, fiat_units, without_cover, address, proposed_address, proposed_by, confirmed_by, address_proof,
      asked_by_mail, email_by, network, reason, approval, requested_by, requested_role, request_id, recorded,
      next_check_at, created_at, updated_at)
    values (${refund.companyId}, ${refund.id}, ${refund.orderId}, ${refund.number}, ${refund.paymentId},
      ${refund.mispaymentId}, ${refund.channel}, ${refund.status}, ${refund.units}, ${refund.excessUnits},
      ${refund.fiatUnits}, ${refund.withoutCover}, ${refund.address}, ${refund.proposedAddress}, ${refund.proposedBy}, ${refund.confirmedBy}, ${addressProof && json(addressProof)},
      ${refund.askedByMail}, ${refund.emailBy}, ${refund.network}, ${refund.reason}, ${refund.approval}, ${refund.requestedBy},
      ${refund.requestedRole}, ${refund.requestId}, ${refund.recorded ?? false},
      case when ${refund.status} = 'ready' then ${refund.createdAt}::timestamptz end, ${refund.createdAt},
      ${refund.createdAt})`)
}

export async function findRefund(q: Queryable, id: string): Promise<Refund | undefined> {
  const row = await q.maybe<Row>(sql`select ${COLUMNS} from refunds where id = ${id}`)
  return row && toRefund(row)
}

export async function lockRefund(tx: Tx, companyId: string, id: string): Promise<Refund | undefined> {
  const row = await tx.maybe<Row>(
    sql`select ${COLUMNS} from refunds where company_id = ${companyId} and id = ${id} for update`,
  )
  return row && toRefund(row)
}

export async function listRefundsOfOrder(q: Queryable, companyId: string, orderId: string): Promise<Refund[]> {
  const rows = await q.many<Row>(sql`
    select ${COLUMNS} from refunds where company_id = ${companyId} and order_id = ${orderId} order by number`)
  return rows.map(toRefund)
}

/** As payers know it. */
const COMPANY_NAME = sql`coalesce(display_name, name)`

/** A refund with the codes of its order, and the name by which payers know the company. */
export type ListedRefund = Refund & { orderCode: string; orderShortCode: string; company: string }

export type RefundFilter = {
  companyIds: readonly string[] | null
  status: RefundStatus | 'waiting' | null
  /** Who asks, of `waiting` ones. */
  isOperator: boolean
  code: string | null
}

const filterSql = ({ companyIds, status, isOperator, code }: RefundFilter): Sql => {
  const parts = [sql`true`]
  if (companyIds !== null) parts.push(sql`r.company_id = any(${companyIds})`)
  if (status === 'waiting') parts.push(waitsForOne(sql`r`, isOperator))
  else if (status !== null) parts.push(sql`r.status = ${status}`)
  if (code !== null) parts.push(sql`o.code = ${code}`)
  return sql`from refunds r join orders o on o.company_id = r.company_id and o.id = r.order_id
    where ${joinSql(parts, ' and ')}`
}

/** Newest first. */
export async function listRefunds(
  q: Queryable,
  filter: RefundFilter,
  page: { limit: number; offset: number },
): Promise<ListedRefund[]> {
  const rows = await q.many<Row & Pick<ListedRefund, 'orderCode' | 'orderShortCode' | 'company'>>(
    unnamed(sql`
      select r.*, r.last_words as provider_status, ${toSendByHand(sql`r`)} as to_send_by_hand,
        ${heldBy(sql`r`)} as held_by, o.code as order_code, o.short_code as order_short_code,
        (select ${COMPANY_NAME} from companies where id = r.company_id) as company
      ${filterSql(filter)} order by r.created_at desc, r.id desc
      limit ${page.limit} offset ${page.offset}`),
  )
  return rows.map((row) => ({
    ...toRefund(row),
    ...{ orderCode: row.orderCode, orderShortCode: row.orderShortCode, company: row.company },
  }))
}

export async function countRefundsListed(q: Queryable, filter: RefundFilter): Promise<number> {
  const { total } = await q.one<{ total: bigint }>(unnamed(sql`select count(*) as total ${filterSql(filter)}`))
  return Number(total)
}

export type RefundChange = {
  status: RefundStatus
  address?: string
  proposedAddress?: string
  proposedBy?: string
  confirmedBy?: string
  addressProof?: AddressProof
  askedByMail?: boolean
  emailBy?: string | null
  decidedBy?: string
  reference?: string | null
  txHash?: string | null
  byHand?: boolean
  settledByHand?: boolean
  paidElsewhere?: boolean
  providerStatus?: string
  handedOverAt?: Date
  /**
   * Since when it waits for an account, a channel or a chain that is not set up; null: that has it now, or a person
   * names what they sent.
   */
  accountGoneAt?: Date | null
  deniedAt?: Date
  nextCheckAt: Date | null
}

/** Whether it waits no more for its account: a later wait is asked about again. Another question says nothing of it. */
const endsWait = ({ status, handedOverAt }: RefundChange): boolean =>
  handedOverAt !== undefined || (status !== 'ready' && status !== 'submitted')

/** Since when it waits for its account after this change. */
const goneAt = (change: RefundChange): Sql =>
  change.accountGoneAt !== undefined
    ? sql`${change.accountGoneAt}::timestamptz`
    : sql`case when not ${endsWait(change)}::boolean then account_gone_at end`

export async function updateRefund(tx: Tx, refund: Refund, change: RefundChange, now: Date): Promise<void> {
  const proof = change.addressProof === undefined ? null : json(change.addressProof)
  await tx.run(sql`
    update refunds set status = ${change.status}, address = coalesce(${change.address ?? null}, address),
      proposed_address = coalesce(${change.proposedAddress ?? null}, proposed_address),
      proposed_by = coalesce(${change.proposedBy ?? null}, proposed_by),
      confirmed_by = coalesce(${change.confirmedBy ?? null}, confirmed_by),
      address_proof = coalesce(${proof}::jsonb, address_proof),
      asked_by_mail = coalesce(${change.askedByMail ?? null}, asked_by_mail),
      email_by = coalesce(${change.emailBy ?? null}, email_by),
      decided_by = coalesce(${change.decidedBy ?? null}, decided_by),
      provider_reference = coalesce(${change.reference ?? null}, provider_reference),
      tx_hash = coalesce(${change.txHash ?? null}, tx_hash), by_hand = coalesce(${change.byHand ?? null}, by_hand),
      settled_by_hand = coalesce(${change.settledByHand ?? null}, settled_by_hand),
      paid_elsewhere = coalesce(${change.paidElsewhere ?? null}, paid_elsewhere),
      last_words = coalesce(${change.providerStatus ?? null}, last_words),
      handed_over_at = coalesce(handed_over_at, ${change.handedOverAt ?? null}),
      account_gone_at = ${goneAt(change)}, denied_at = coalesce(${change.deniedAt ?? null}, denied_at),
      by_hand_since = case when ${goneAt(change)} is not null or handed_over_at is not null then by_hand_since end,
      next_check_at = ${change.nextCheckAt}, updated_at = ${now},
      settled_at = case when ${change.status} = 'settled' then ${now}::timestamptz else settled_at end
    where company_id = ${refund.companyId} and id = ${refund.id}`)
}

/** Forgets the transaction that a person named. */
export const updateRefundUnnamed = (tx: Tx, { companyId, id }: Refund): Promise<number> =>
  tx.run(sql`update refunds set tx_hash = null, by_hand = false where company_id = ${companyId} and id = ${id}`)

/** Sets the next poll; null: none. */
export const updateRefundNextCheck = (tx: Tx, refund: Refund, nextCheckAt: Date | null): Promise<number> =>
  tx.run(sql`
    update refunds set next_check_at = ${nextCheckAt}
    where company_id = ${refund.companyId} and id = ${refund.id}`)

type ReferenceScope = { companyId: string; channel: ChannelId; id?: string }

/**
 * Serialises the check for a used reference: whoever checks waits until a transaction that is about to use one has
 * ended.
 */
export const lockRefundReference = (tx: Tx, { companyId, channel }: ReferenceScope, reference: string) =>
  tx.run(sql`
    select pg_advisory_xact_lock(hashtextextended(${`refund ${companyId} ${channel} ${reference}`}, 0))`)

/** Whether another refund of this channel has this reference. */
export async function isRefundReferenceUsed(
  q: Queryable,
  { companyId, channel, id }: ReferenceScope,
  reference: string,
): Promise<boolean> {
  const { used } = await q.one<{ used: boolean }>(sql`
    select exists (select 1 from refunds
      where company_id = ${companyId} and channel = ${channel} and provider_reference = ${reference}
        and id <> ${id ?? ''}) as used`)
  return used
}

/** Whether a poll of its provider is in progress. */
export async function isRefundPolled(tx: Tx, { companyId, id }: Refund, now: Date): Promise<boolean> {
  const { polled } = await tx.one<{ polled: boolean }>(sql`
    select coalesce(lease_until > ${now}, false) as polled from refunds where company_id = ${companyId} and id = ${id}`)
  return polled
}

/** Sender of mails to payers, the contact for replies, and the language for payers who have chosen none. */
export type Merchant = {
  name: string
  country: string | null
  customerLanguage: Lang | null
  supportEmail: string | null
  supportPhone: string | null
}

export const findMerchant = (q: Queryable, companyId: string): Promise<Merchant> =>
  q.one(sql`
    select ${COMPANY_NAME} as name, country, customer_language, support_email, support_phone
    from companies where id = ${companyId}`)

/** The number of the order's next refund. The order must be locked. */
export async function findNextNumber(tx: Tx, companyId: string, orderId: string): Promise<number> {
  const { next } = await tx.one<{ next: number }>(sql`
    select coalesce(max(number), 0) + 1 as next from refunds where company_id = ${companyId} and order_id = ${orderId}`)
  return next
}

/** Refunds that are approved for sending and not finished, over all companies. */
export async function countRefundsUnderWay(q: Queryable): Promise<number> {
  const { count } = await q.one<{ count: bigint }>(
    sql`select count(*) as count from refunds where status in ('ready', 'submitted') and next_check_at is not null`,
  )
  return Number(count)
}

/** Makes all of them due for a poll now. */
export const wakeRefundsUnderWay = (q: Queryable, now: Date): Promise<number> =>
  q.run(sql`
    update refunds set next_check_at = ${now} where status in ('ready', 'submitted') and next_check_at is not null`)

import type { ChannelId } from '../channels/channel.ts'
import { type Queryable, sql, type Tx } from '../db/db.ts'

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

/** Money on its way back to a payer. */
export type Refund = {
  companyId: string
  id: string
  orderId: string
  paymentId: string
  mispaymentId: string | null
  channel: ChannelId
  status: RefundStatus
  /** USDC units; `excessUnits` of them never belonged to the company. */
  units: bigint
  excessUnits: bigint
  fiatUnits: bigint
  address: string | null
  network: number | null
  reason: string | null
  requestedBy: string
  decidedBy: string | null
  providerReference: string | null
  txHash: string | null
  /** A person sent it and named the transaction. */
  byHand: boolean
  lastWords: string | null
  checks: number
  createdAt: Date
  updatedAt: Date
  settledAt: Date | null
}

type Row = Omit<Refund, 'units' | 'excessUnits' | 'fiatUnits'> & {
  units: string
  excessUnits: string
  fiatUnits: string
}

const COLUMNS = sql`company_id, id, order_id, payment_id, mispayment_id, channel, status, units, excess_units, fiat_units,
  address, network, reason, requested_by, decided_by, provider_reference, tx_hash, by_hand, last_words, checks, created_at, updated_at,
  settled_at`

const toRefund = (row: Row): Refund => ({
  ...row,
  units: BigInt(row.units),
  excessUnits: BigInt(row.excessUnits),
  fiatUnits: BigInt(row.fiatUnits),
})

export type NewRefund = Omit<
  Refund,
  'decidedBy' | 'providerReference' | 'txHash' | 'byHand' | 'lastWords' | 'checks' | 'updatedAt' | 'settledAt'
> & { requestId: string | null }

export async function insertRefund(tx: Tx, refund: NewRefund): Promise<void> {
  await tx.run(sql`
    insert into refunds (company_id, id, order_id, payment_id, mispayment_id, channel, status, units, excess_units, fiat_units,
      address, network, reason, requested_by, request_id, next_check_at, created_at, updated_at)
    values (${refund.companyId}, ${refund.id}, ${refund.orderId}, ${refund.paymentId}, ${refund.mispaymentId}, ${refund.channel},
      ${refund.status}, ${refund.units}, ${refund.excessUnits}, ${refund.fiatUnits}, ${refund.address}, ${refund.network},
      ${refund.reason}, ${refund.requestedBy}, ${refund.requestId},
      case when ${refund.status} = 'ready' then ${refund.createdAt}::timestamptz end, ${refund.createdAt}, ${refund.createdAt})`)
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
    select ${COLUMNS} from refunds where company_id = ${companyId} and order_id = ${orderId} order by id`)
  return rows.map(toRefund)
}

export async function listRefunds(
  q: Queryable,
  filter: { companyIds: readonly string[] | null; status: string | null; limit: number; offset: number },
): Promise<Refund[]> {
  const rows = await q.many<Row>(sql`
    select ${COLUMNS} from refunds
    where (${filter.companyIds === null} or company_id = any(${filter.companyIds ?? []}))
      and (${filter.status}::text is null or status = ${filter.status})
    order by id desc limit ${filter.limit} offset ${filter.offset}`)
  return rows.map(toRefund)
}

export type RefundChange = {
  status: RefundStatus
  address?: string
  decidedBy?: string
  reference?: string | null
  txHash?: string | null
  byHand?: boolean
  words?: string
  nextCheckAt: Date | null
}

export async function updateRefund(tx: Tx, refund: Refund, change: RefundChange, now: Date): Promise<void> {
  await tx.run(sql`
    update refunds set status = ${change.status}, address = coalesce(${change.address ?? null}, address),
      decided_by = coalesce(${change.decidedBy ?? null}, decided_by),
      provider_reference = coalesce(${change.reference ?? null}, provider_reference),
      tx_hash = coalesce(${change.txHash ?? null}, tx_hash), by_hand = coalesce(${change.byHand ?? null}, by_hand),
      last_words = coalesce(${change.words ?? null}, last_words),
      next_check_at = ${change.nextCheckAt}, updated_at = ${now},
      settled_at = case when ${change.status} = 'settled' then ${now}::timestamptz else settled_at end
    where company_id = ${refund.companyId} and id = ${refund.id}`)
}

/** Takes refunds whose time to be sent or asked about has come; a node that dies leaves them to the next one. */
export async function claimDueRefunds(q: Queryable, now: Date, until: Date, limit: number): Promise<Refund[]> {
  const rows = await q.many<Row>(sql`
    update refunds set next_check_at = ${until}, checks = checks + 1
    where (company_id, id) in (
      select company_id, id from refunds where next_check_at <= ${now} order by next_check_at limit ${limit}
      for update skip locked)
    returning ${COLUMNS}`)
  return rows.map(toRefund)
}

export async function isRefundReferenceUsed(
  q: Queryable,
  companyId: string,
  channel: ChannelId,
  reference: string,
): Promise<boolean> {
  const { used } = await q.one<{ used: boolean }>(sql`
    select exists (select 1 from refunds
      where company_id = ${companyId} and channel = ${channel} and provider_reference = ${reference}) as used`)
  return used
}

/** Refunds of a payment that are under way are asked about again now. */
export const wakeRefundsOfPayment = (q: Queryable, companyId: string, paymentId: string, now: Date): Promise<number> =>
  q.run(sql`
    update refunds set next_check_at = least(next_check_at, ${now})
    where company_id = ${companyId} and payment_id = ${paymentId} and next_check_at is not null`)

/** The shop as its payers know it. */
export const findMerchant = (q: Queryable, companyId: string): Promise<{ name: string; country: string | null }> =>
  q.one(sql`select name, country from companies where id = ${companyId}`)

export type RefundPolicy = { refundApproval: boolean; refundLimitUnits: string }

export async function findRefundPolicy(q: Queryable, companyId: string): Promise<RefundPolicy> {
  return q.one<RefundPolicy>(sql`select refund_approval, refund_limit_units from companies where id = ${companyId}`)
}

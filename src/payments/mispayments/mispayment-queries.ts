import { refundStatusOf } from '../../companies/order-money-queries.ts'
import { joinSql, type Queryable, type Sql, sql, type Tx, unnamed } from '../../db/db.ts'
import type { Fiat } from '../../kernel/money.ts'

export const MISPAYMENT_KINDS = ['under', 'over', 'late', 'duplicate', 'held', 'wrong_token', 'orphaned'] as const
export type MispaymentKind = (typeof MISPAYMENT_KINDS)[number]
export const MISPAYMENT_STATUSES = ['open', 'accepted', 'refunded', 'ignored', 'borne', 'resolved'] as const
export type MispaymentStatus = (typeof MISPAYMENT_STATUSES)[number]

/** Who bears the loss when money leaves the chain after it counted. */
export const LOSS_BEARERS = ['operator', 'company'] as const
export type LossBearer = (typeof LOSS_BEARERS)[number]

export type Mispayment = {
  companyId: string
  id: string
  orderId: string
  paymentId: string
  kind: MispaymentKind
  asset: string
  units: bigint
  sourceReference: string
  status: MispaymentStatus
  decidedBy: string | null
  reason: string | null
  borneBy: LossBearer | null
  /** Its provider names another coin for the same sum now. */
  isRenamed: boolean
  /** That coin; null: not renamed, or by an older node, until its provider tells of the sum again. */
  renamedTo: string | null
  /** When its payer asked for it; null: not asked. */
  askedBackAt: Date | null
  createdAt: Date
  updatedAt: Date
}

type Row = Omit<Mispayment, 'units'> & { units: string }

const COLUMNS = sql`company_id, id, order_id, payment_id, kind, asset, units, source_reference, status, decided_by, reason,
  borne_by, is_renamed, renamed_to, asked_back_at, created_at, updated_at`

const toMispayment = (row: Row): Mispayment => ({ ...row, units: BigInt(row.units) })

/** All records of one payment, locked until the transaction ends. */
export async function lockMispayments(tx: Tx, companyId: string, paymentId: string): Promise<Mispayment[]> {
  const rows = await tx.many<Row>(sql`
    select ${COLUMNS} from mispayments where company_id = ${companyId} and payment_id = ${paymentId} order by id for update`)
  return rows.map(toMispayment)
}

export async function lockMispayment(tx: Tx, companyId: string, id: string): Promise<Mispayment | undefined> {
  const row = await tx.maybe<Row>(sql`
    select ${COLUMNS} from mispayments where company_id = ${companyId} and id = ${id} for update`)
  return row && toMispayment(row)
}

export async function findMispayment(q: Queryable, id: string): Promise<Mispayment | undefined> {
  const row = await q.maybe<Row>(sql`select ${COLUMNS} from mispayments where id = ${id}`)
  return row && toMispayment(row)
}

/** A record with its order. */
export type ListedMispayment = Mispayment & {
  orderCode: string
  orderShortCode: string
  orderStatus: string
  fromAsset: Fiat
  fromUnits: bigint
  toUnits: bigint
  /** How the refund stands that takes it back; null: none does. */
  refundStatus: string | null
}
type ListedRow = Row &
  Omit<ListedMispayment, keyof Mispayment | 'fromUnits' | 'toUnits'> & { fromUnits: string; toUnits: string }

export type MispaymentFilter = {
  companyIds: readonly string[] | null
  status: string | null
  kind: string | null
  code: string | null
}

const filterSql = ({ companyIds, status, kind, code }: MispaymentFilter): Sql => {
  const parts: Sql[] = []
  if (companyIds !== null) parts.push(sql`m.company_id = any(${companyIds})`)
  if (status !== null) parts.push(sql`m.status = ${status}`)
  if (kind !== null) parts.push(sql`m.kind = ${kind}`)
  if (code !== null) parts.push(sql`o.code = ${code}`)
  return sql`from mispayments m join orders o on o.company_id = m.company_id and o.id = m.order_id
    where ${joinSql(parts, ' and ')}`
}

/** Newest first. */
export async function listMispayments(
  q: Queryable,
  filter: MispaymentFilter,
  page: { limit: number; offset: number },
): Promise<ListedMispayment[]> {
  const rows = await q.many<ListedRow>(
    unnamed(sql`
      select m.*, o.code as order_code, o.short_code as order_short_code, o.status as order_status,
        o.from_asset, o.from_units::text, o.to_units::text,
        ${refundStatusOf(sql`m`)} as refund_status
        ${filterSql(filter)}
      order by m.id desc limit ${page.limit} offset ${page.offset}`),
  )
  return rows.map((row) => ({
    ...{ ...row, units: BigInt(row.units) },
    ...{ fromUnits: BigInt(row.fromUnits), toUnits: BigInt(row.toUnits) },
  }))
}

export async function countMispayments(q: Queryable, filter: MispaymentFilter): Promise<number> {
  const { total } = await q.one<{ total: bigint }>(unnamed(sql`select count(*) as total ${filterSql(filter)}`))
  return Number(total)
}

/** Records of one order, oldest first. */
export async function listMispaymentsOfOrder(q: Queryable, companyId: string, orderId: string): Promise<Mispayment[]> {
  const rows = await q.many<Row>(sql`
    select ${COLUMNS} from mispayments where company_id = ${companyId} and order_id = ${orderId} order by id`)
  return rows.map(toMispayment)
}

export async function insertMispayment(
  tx: Tx,
  record: Omit<
    Mispayment,
    'status' | 'decidedBy' | 'reason' | 'borneBy' | 'isRenamed' | 'renamedTo' | 'askedBackAt' | 'updatedAt'
  >,
): Promise<Mispayment> {
  const row = await tx.one<Row>(sql`
    insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, created_at, updated_at)
    values (${record.companyId}, ${record.id}, ${record.orderId}, ${record.paymentId}, ${record.kind}, ${record.asset},
      ${record.units}, ${record.sourceReference}, ${record.createdAt}, ${record.createdAt})
    returning ${COLUMNS}`)
  return toMispayment(row)
}

export async function deleteMispayment(tx: Tx, { companyId, id }: Mispayment): Promise<void> {
  await tx.run(sql`delete from mispayments where company_id = ${companyId} and id = ${id}`)
}

export type MispaymentChange = {
  units?: bigint
  status?: MispaymentStatus
  decidedBy?: string
  reason?: string | null
  borneBy?: LossBearer
  /** Its coin from now on; null: it waits in its own again. */
  renamedTo?: string | null
  askedBackAt?: Date
}

/**
 * The order of decisions and reports is told by their times: no change is older than an earlier one, whichever node's
 * clock is behind.
 */
export async function updateMispayment(
  tx: Tx,
  { companyId, id, paymentId, kind }: Mispayment,
  change: MispaymentChange,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update mispayments set units = coalesce(${change.units?.toString() ?? null}::numeric, units),
      status = coalesce(${change.status ?? null}, status), decided_by = coalesce(${change.decidedBy ?? null}, decided_by),
      reason = coalesce(${change.reason ?? null}, reason), borne_by = coalesce(${change.borneBy ?? null}, borne_by),
      is_renamed = case when ${change.renamedTo !== undefined} then ${change.renamedTo ?? null}::text is not null else is_renamed end,
      renamed_to = case when ${change.renamedTo !== undefined} then ${change.renamedTo ?? null}::text else renamed_to end,
      asked_back_at = coalesce(${change.askedBackAt ?? null}::timestamptz, asked_back_at),
      grown_at = case when ${change.units?.toString() ?? null}::numeric > units then ${now} else grown_at end,
      updated_at = (select greatest(${now}::timestamptz, max(m.updated_at)) from mispayments m
        where m.company_id = ${companyId} and m.payment_id = ${paymentId} and m.kind = ${kind})
    where company_id = ${companyId} and id = ${id}`)
}

/** Notes the coin that an older node renamed the record to. */
export const updateNewName = (tx: Tx, { companyId, id }: Mispayment, renamedTo: string): Promise<number> =>
  tx.run(sql`update mispayments set renamed_to = ${renamedTo} where company_id = ${companyId} and id = ${id}`)

/** Money above the price that is returned, or being returned, by refunds of the order itself. */
export async function sumRefundedExcess(tx: Tx, companyId: string, orderId: string): Promise<bigint> {
  const { units } = await tx.one<{ units: string }>(sql`
    select coalesce(sum(excess_units), 0) as units from refunds
    where company_id = ${companyId} and order_id = ${orderId} and mispayment_id is null
      and status not in ('rejected', 'refused')`)
  return BigInt(units)
}

/** What the order's own refunds return, or are returning, of the price that this payment paid. */
export async function sumRefundedPrice(tx: Tx, { companyId, orderId, id }: PaymentRef): Promise<bigint> {
  const { units } = await tx.one<{ units: string }>(sql`
    select coalesce(sum(units - excess_units), 0) as units from refunds
    where company_id = ${companyId} and order_id = ${orderId} and payment_id = ${id} and mispayment_id is null
      and status not in ('rejected', 'refused')`)
  return BigInt(units)
}

export type PaymentRef = { companyId: string; orderId: string; id: string }

type PaymentPlace = Pick<PaymentRef, 'companyId' | 'id'>

/**
 * `gone`: null if no returns of it were told to this version. `ignored`: the part of that which was ignored, and
 * released after the price was paid.
 */
export async function findReturns(
  tx: Tx,
  { companyId, id }: PaymentRef,
): Promise<{ gone: bigint | null; ignored: bigint }> {
  const { gone, ignored } = await tx.one<{ gone: string | null; ignored: string }>(sql`
    select returns_gone_units as gone, returns_ignored_units as ignored from payments
    where company_id = ${companyId} and id = ${id}`)
  return { gone: gone === null ? null : BigInt(gone), ignored: BigInt(ignored) }
}

export const updateReturnsGone = (
  tx: Tx,
  { companyId, id }: PaymentRef,
  { gone, ignored }: { gone: bigint; ignored: bigint },
): Promise<number> =>
  tx.run(sql`
    update payments set returns_gone_units = ${gone}::numeric, returns_ignored_units = ${ignored}::numeric
    where company_id = ${companyId} and id = ${id}`)

/** The last report that listed returns, as `kept-report.ts` writes it; null: none, or to an older version only. */
export async function findReturnsTold(tx: Tx, { companyId, id }: PaymentRef): Promise<string | null> {
  const { told } = await tx.one<{ told: string | null }>(sql`
    select returns_told as told from payments where company_id = ${companyId} and id = ${id}`)
  return told
}

export const updateReturnsTold = (tx: Tx, { companyId, id }: PaymentRef, told: string | null): Promise<number> =>
  tx.run(sql`update payments set returns_told = ${told} where company_id = ${companyId} and id = ${id}`)

export const updateUnansweredEvent = (tx: Tx, { companyId, id }: PaymentPlace, at: Date): Promise<number> =>
  tx.run(sql`update payments set unanswered_event_at = ${at} where company_id = ${companyId} and id = ${id}`)

/** @param known the one to clear, and no later one; null: whichever there is */
export const clearUnansweredEvent = (tx: Tx, { companyId, id }: PaymentPlace, known: Date | null): Promise<number> =>
  tx.run(sql`
    update payments set unanswered_event_at = null
    where company_id = ${companyId} and id = ${id} and unanswered_event_at = coalesce(${known}, unanswered_event_at)`)

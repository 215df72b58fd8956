import { type Queryable, sql, type Tx } from '../db/db.ts'

export const MISPAYMENT_KINDS = ['under', 'over', 'late', 'duplicate', 'wrong_token', 'orphaned'] as const
export type MispaymentKind = (typeof MISPAYMENT_KINDS)[number]
export type MispaymentStatus = 'open' | 'accepted' | 'refunded' | 'ignored' | 'resolved'

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
  createdAt: Date
  updatedAt: Date
}

type Row = Omit<Mispayment, 'units'> & { units: string }

const COLUMNS = sql`company_id, id, order_id, payment_id, kind, asset, units, source_reference, status, decided_by, reason,
  created_at, updated_at`

const toMispayment = (row: Row): Mispayment => ({ ...row, units: BigInt(row.units) })

/** Everything that was noticed of one payment, held until the transaction ends. */
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

export async function listMispayments(
  q: Queryable,
  filter: {
    companyIds: readonly string[] | null
    status: string | null
    orderId: string | null
    limit: number
    offset: number
  },
): Promise<Mispayment[]> {
  const rows = await q.many<Row>(sql`
    select ${COLUMNS} from mispayments
    where (${filter.companyIds === null} or company_id = any(${filter.companyIds ?? []}))
      and (${filter.status}::text is null or status = ${filter.status})
      and (${filter.orderId}::text is null or order_id = ${filter.orderId})
    order by id desc limit ${filter.limit} offset ${filter.offset}`)
  return rows.map(toMispayment)
}

export async function insertMispayment(
  tx: Tx,
  record: Omit<Mispayment, 'status' | 'decidedBy' | 'reason' | 'updatedAt'>,
): Promise<void> {
  await tx.run(sql`
    insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, created_at, updated_at)
    values (${record.companyId}, ${record.id}, ${record.orderId}, ${record.paymentId}, ${record.kind}, ${record.asset},
      ${record.units}, ${record.sourceReference}, ${record.createdAt}, ${record.createdAt})`)
}

export type MispaymentChange = { units?: bigint; status?: MispaymentStatus; decidedBy?: string; reason?: string | null }

export async function updateMispayment(
  tx: Tx,
  { companyId, id }: Mispayment,
  change: MispaymentChange,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update mispayments set units = coalesce(${change.units?.toString() ?? null}::numeric, units),
      status = coalesce(${change.status ?? null}, status), decided_by = coalesce(${change.decidedBy ?? null}, decided_by),
      reason = coalesce(${change.reason ?? null}, reason), updated_at = ${now}
    where company_id = ${companyId} and id = ${id}`)
}

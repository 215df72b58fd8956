import { type Queryable, sql, type Tx } from '../../db/db.ts'
import type { ProofFile } from './proof-file.ts'

/** A stored file without its bytes. */
export type ProofFacts = {
  refundId: string
  mime: string
  size: number
  sha256: string
  by: string
  at: Date
  /** When the file was erased; its facts remain. */
  erasedAt: Date | null
}

type Key = { companyId: string; id: string }

/** False: the refund already has a file, which is kept. */
export async function insertProof(tx: Tx, { companyId, id }: Key, file: ProofFile & { by: string; at: Date }) {
  const rows = await tx.run(sql`
    insert into refund_proofs (company_id, refund_id, mime, bytes, sha256, added_by, added_at)
    values (${companyId}, ${id}, ${file.mime}, ${file.bytes}, ${file.sha256}, ${file.by}, ${file.at})
    on conflict (company_id, refund_id) do nothing`)
  return rows === 1
}

const FACTS = sql`
  refund_id, mime, coalesce(size, octet_length(bytes)) as size, sha256, added_by as "by", added_at as "at", erased_at`

export const listProofs = (q: Queryable, refunds: readonly Key[]): Promise<ProofFacts[]> => {
  const [companyIds, ids] = [[...new Set(refunds.map(({ companyId }) => companyId))], refunds.map(({ id }) => id)]
  return q.many(sql`
    select ${FACTS} from refund_proofs
    where company_id = any(${companyIds}::text[]) and refund_id = any(${ids}::text[])`)
}

export const findProof = (q: Queryable, { companyId, id }: Key): Promise<ProofFacts | undefined> =>
  q.maybe(sql`select ${FACTS} from refund_proofs where company_id = ${companyId} and refund_id = ${id}`)

export const findProofBytes = (
  q: Queryable,
  { companyId, id }: Key,
): Promise<(Pick<ProofFile, 'mime' | 'bytes' | 'sha256'> & Pick<ProofFacts, 'erasedAt'>) | undefined> =>
  q.maybe(sql`
    select mime, bytes, sha256, erased_at from refund_proofs where company_id = ${companyId} and refund_id = ${id}`)

const ERASED = sql`size = octet_length(bytes), bytes = ''`

/** Erases all files of the order's refunds. @returns how many */
export const eraseProofsOfOrder = (tx: Tx, { companyId, id }: Key, at: Date): Promise<number> =>
  tx.run(sql`
    update refund_proofs set ${ERASED}, erased_at = ${at}
    where company_id = ${companyId} and erased_at is null
      and refund_id in (select r.id from refunds r where r.company_id = ${companyId} and r.order_id = ${id})`)

/** Erases files added before that time, of every company. @returns how many */
export const eraseOldProofs = (q: Queryable, before: Date, { at, limit }: { at: Date; limit: number }) =>
  q.run(sql`
    update refund_proofs set ${ERASED}, erased_at = ${at}
    where (company_id, refund_id) in
      (select company_id, refund_id from refund_proofs where erased_at is null and added_at < ${before} limit ${limit})`)

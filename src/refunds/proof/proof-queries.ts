import { type Queryable, sql, type Tx } from '../../db/db.ts'
import type { ProofFile } from './proof-file.ts'

/** A kept file without its bytes. */
export type ProofFacts = { refundId: string; mime: string; size: number; sha256: string; by: string; at: Date }

type Key = { companyId: string; id: string }

/** False: the refund has a file already, which stays. */
export async function insertProof(tx: Tx, { companyId, id }: Key, file: ProofFile & { by: string; at: Date }) {
  const rows = await tx.run(sql`
    insert into refund_proofs (company_id, refund_id, mime, bytes, sha256, added_by, added_at)
    values (${companyId}, ${id}, ${file.mime}, ${file.bytes}, ${file.sha256}, ${file.by}, ${file.at})
    on conflict (company_id, refund_id) do nothing`)
  return rows === 1
}

const FACTS = sql`refund_id, mime, octet_length(bytes) as size, sha256, added_by as "by", added_at as "at"`

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
): Promise<Pick<ProofFile, 'mime' | 'bytes' | 'sha256'> | undefined> =>
  q.maybe(sql`
    select mime, bytes, sha256 from refund_proofs where company_id = ${companyId} and refund_id = ${id}`)

import { type Queryable, sql } from '../db/db.ts'
import type { ApiScope } from '../http/actor.ts'

export type ApiKeyRow = {
  id: string
  companyId: string
  publicId: string
  scopes: ApiScope[]
  expiresAt: Date | null
  companyApproved: boolean
}

/** A key that is not revoked, by the hash of its secret. */
export async function findApiKeyBySecretHash(q: Queryable, secretHash: string): Promise<ApiKeyRow | undefined> {
  return q.maybe<ApiKeyRow>(sql`
    select k.id, k.company_id, k.public_id, k.scopes, k.expires_at, c.approved as company_approved
    from api_keys k join companies c on c.id = k.company_id
    where k.secret_hash = ${secretHash} and k.revoked_at is null`)
}

export async function updateApiKeyLastUsed(q: Queryable, ids: readonly string[], at: Date): Promise<void> {
  await q.run(sql`update api_keys set last_used_at = ${at} where id = any(${ids})`)
}

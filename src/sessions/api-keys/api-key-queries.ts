import { type Queryable, sql, type Tx } from '../../db/db.ts'
import type { ApiScope } from '../../http/actor.ts'

export type ApiKeyRow = {
  id: string
  companyId: string
  publicId: string
  secretHash: string
  scopes: ApiScope[]
  expiresAt: Date | null
  companyApproved: boolean
}

/** Keys that are not revoked, by the hashes of their secrets. */
export async function listApiKeysBySecretHash(q: Queryable, secretHashes: string[]): Promise<ApiKeyRow[]> {
  return q.many<ApiKeyRow>(sql`
    select k.id, k.company_id, k.public_id, k.secret_hash, k.scopes, k.expires_at, c.approved as company_approved
    from api_keys k join companies c on c.id = k.company_id
    where k.secret_hash = any(${secretHashes}::text[]) and k.revoked_at is null`)
}

export async function findApiKeyBySecretHash(q: Queryable, secretHash: string): Promise<ApiKeyRow | undefined> {
  const [row] = await listApiKeysBySecretHash(q, [secretHash])
  return row
}

export async function updateApiKeyLastUsed(q: Queryable, ids: readonly string[], at: Date): Promise<void> {
  await q.run(sql`update api_keys set last_used_at = ${at} where id = any(${ids})`)
}

export type ApiKey = {
  id: string
  companyId: string
  name: string
  publicId: string
  scopes: ApiScope[]
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
  createdAt: Date
}

export async function insertApiKey(
  tx: Tx,
  key: Pick<ApiKey, 'id' | 'companyId' | 'name' | 'publicId' | 'scopes' | 'expiresAt' | 'createdAt'> & {
    createdBy: string
    secretHash: string
    /** A person's login of a command line, which ends with the person's access. */
    ofLogin?: boolean
  },
): Promise<void> {
  await tx.run(sql`
    insert into api_keys (id, company_id, created_by, name, public_id, secret_hash, scopes, expires_at, created_at,
      of_login)
    values (${key.id}, ${key.companyId}, ${key.createdBy}, ${key.name}, ${key.publicId}, ${key.secretHash},
      ${key.scopes}, ${key.expiresAt}, ${key.createdAt}, ${key.ofLogin === true})`)
}

const COLUMNS = sql`id, company_id, name, public_id, scopes, expires_at, revoked_at, last_used_at, created_at`

/**
 * Keys that are not revoked, those used or made last first. Those that have expired come last. `isPaged`: the newest
 * first, an order that no use of a key changes between two pages.
 */
export async function listApiKeys(
  q: Queryable,
  companyIds: readonly string[] | null,
  { now, isPaged, limit, offset }: { now: Date; isPaged: boolean; limit: number; offset: number },
): Promise<ApiKey[]> {
  const order = isPaged
    ? sql`id desc`
    : sql`coalesce(expires_at <= ${now}, false), greatest(created_at, last_used_at) desc, id desc`
  return q.many<ApiKey>(sql`
    select ${COLUMNS} from api_keys
    where (${companyIds}::text[] is null or company_id = any(${companyIds})) and revoked_at is null
    order by ${order}
    limit ${limit} offset ${offset}`)
}

export async function lockApiKey(tx: Tx, id: string): Promise<ApiKey | undefined> {
  return tx.maybe<ApiKey>(sql`select ${COLUMNS} from api_keys where id = ${id} for update`)
}

export async function updateApiKeyRevoked(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`update api_keys set revoked_at = coalesce(revoked_at, ${at}) where id = ${id}`)
}

/** Ends a person's (null: everyone's) logins of command lines, but those for these companies. @returns the keys' ids */
export async function updateLoginKeysRevoked(
  tx: Tx,
  userId: string | null,
  { but, at }: { but: readonly string[]; at: Date },
): Promise<string[]> {
  const rows = await tx.many<{ id: string }>(sql`
    update api_keys set revoked_at = ${at}
    where (${userId}::text is null or created_by = ${userId}) and of_login and revoked_at is null
      and company_id <> all(${[...but]}::text[])
    returning id`)
  return rows.map(({ id }) => id)
}

/** Ends every key that a person made, also those for servers: the account was never anyone's. @returns the keys' ids */
export async function updateKeysOfPersonRevoked(tx: Tx, userId: string, at: Date): Promise<string[]> {
  const rows = await tx.many<{ id: string }>(sql`
    update api_keys set revoked_at = ${at} where created_by = ${userId} and revoked_at is null returning id`)
  return rows.map(({ id }) => id)
}

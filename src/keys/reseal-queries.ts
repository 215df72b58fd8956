import { type Queryable, sql } from '../db/db.ts'
import type { Sql } from '../db/sql.ts'

/** A column of sealed values, and what each is bound to. */
export type SealedPlace = { table: Sql; column: Sql; contextOf(id: string): string }

const secretContext = (companyId: string): string => `company:${companyId}:webhook-secret`
const totpContext = (userId: string): string => `user:${userId}:totp`

/**
 * What the master key seals for as long as the installation lives, besides payers, checks of identities and accounts at
 * providers, which are sealed again where they belong. Stored answers and waiting mails live for days only. A new place
 * belongs into `readSealPrefixes` (src/db/installation.ts), too.
 */
export const SEALED_PLACES: readonly SealedPlace[] = [
  { table: sql`server_keys`, column: sql`sealed`, contextOf: (id) => `server-key:${id}` },
  { table: sql`companies`, column: sql`webhook_secret_sealed`, contextOf: secretContext },
  { table: sql`companies`, column: sql`next_webhook_secret_sealed`, contextOf: secretContext },
  { table: sql`users`, column: sql`totp_sealed`, contextOf: totpContext },
  { table: sql`users`, column: sql`totp_pending_sealed`, contextOf: totpContext },
]

export type SealedValue = { id: string; sealed: string }

/** Values that one of these keys sealed. */
export const listSealedBy = (
  q: Queryable,
  { table, column }: SealedPlace,
  { prefixes, limit }: { prefixes: readonly string[]; limit: number },
): Promise<SealedValue[]> =>
  q.many<SealedValue>(sql`
    select id, ${column} as sealed from ${table}
    where left(${column}, 12) = any(${prefixes}::text[]) limit ${limit}`)

/** Only if it is unchanged since it was read. */
export const updateSealed = (
  q: Queryable,
  { table, column }: SealedPlace,
  { id, sealed }: SealedValue,
  next: string,
): Promise<number> => q.run(sql`update ${table} set ${column} = ${next} where id = ${id} and ${column} = ${sealed}`)

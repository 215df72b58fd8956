import { type Queryable, sql } from '../db/db.ts'
import type { Sql } from '../db/sql.ts'

/** A column of sealed values, and the context that each is bound to. */
export type SealedPlace = { table: Sql; column: Sql; contextOf(id: string): string }

const secretContext = (companyId: string): string => `company:${companyId}:webhook-secret`
const totpContext = (userId: string): string => `user:${userId}:totp`

/**
 * Everything that is sealed with the master key for the lifetime of the installation, except payers, identity checks,
 * notes on orders and provider accounts, which are re-sealed in their own rooms. Stored responses and waiting mails
 * live only for days. A new place must also be added to `readSealPrefixes`, a large table to
 * `readIsStillSealed` (src/db/installation.ts).
 */
export const SEALED_PLACES: readonly SealedPlace[] = [
  { table: sql`server_keys`, column: sql`sealed`, contextOf: (id) => `server-key:${id}` },
  { table: sql`companies`, column: sql`webhook_secret_sealed`, contextOf: secretContext },
  { table: sql`companies`, column: sql`next_webhook_secret_sealed`, contextOf: secretContext },
  { table: sql`users`, column: sql`totp_sealed`, contextOf: totpContext },
  { table: sql`users`, column: sql`totp_pending_sealed`, contextOf: totpContext },
]

export type SealedValue = { id: string; sealed: string }

/** Values sealed with one of these keys. */
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

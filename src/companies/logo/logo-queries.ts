import { type Queryable, sql, type Tx } from '../../db/db.ts'

export type Logo = { hash: string; mime: string; bytes: Buffer }

export async function upsertLogo(tx: Tx, companyId: string, logo: Logo, at: Date): Promise<void> {
  await tx.run(sql`
    insert into company_logos (company_id, hash, mime, bytes, updated_at)
    values (${companyId}, ${logo.hash}, ${logo.mime}, ${logo.bytes}, ${at})
    on conflict (company_id) do update set hash = excluded.hash, mime = excluded.mime, bytes = excluded.bytes,
      updated_at = excluded.updated_at`)
}

export const deleteLogo = (tx: Tx, companyId: string): Promise<number> =>
  tx.run(sql`delete from company_logos where company_id = ${companyId}`)

/** By the hash that its address ends with. */
export const findLogo = (q: Queryable, hash: string): Promise<Pick<Logo, 'mime' | 'bytes'> | undefined> =>
  q.maybe(sql`select mime, bytes from company_logos where hash = ${hash} limit 1`)

import { type Queryable, sql, type Tx } from '../db/db.ts'

export type ResetKind = 'link' | 'application' | 'invitation'

export type Reset = {
  tokenHash: string
  userId: string | null
  /** Keyed hash of the address; null for an invitation, and for resets older than the column. */
  accountKey: string | null
  kind: ResetKind
  codeHash: string | null
  wrongCodes: number
  provenAt: Date | null
  expiresAt: Date
  usedAt: Date | null
}

/** Voids a user's open resets and invitations, once the password was changed. */
export async function updateResetsVoid(tx: Tx, userId: string, at: Date): Promise<void> {
  await tx.run(sql`update password_resets set expires_at = ${at} where user_id = ${userId} and expires_at > ${at}`)
}

/** Voids a user's open invitations: only the newest works. Resets stay, because anyone can ask for another one. */
export async function updateInvitationsVoid(tx: Tx, userId: string, at: Date): Promise<void> {
  await tx.run(sql`
    update password_resets set expires_at = ${at}
    where user_id = ${userId} and kind = 'invitation' and expires_at > ${at}`)
}

export async function insertReset(
  tx: Tx,
  reset: Pick<Reset, 'tokenHash' | 'userId' | 'accountKey' | 'kind' | 'codeHash' | 'provenAt' | 'expiresAt'> & {
    proofHash: string | null
    at: Date
  },
): Promise<void> {
  await tx.run(sql`
    insert into password_resets (token_hash, user_id, account_key, kind, proof_hash, code_hash, proven_at, created_at,
      expires_at)
    values (${reset.tokenHash}, ${reset.userId}, ${reset.accountKey}, ${reset.kind}, ${reset.proofHash}, ${reset.codeHash},
      ${reset.provenAt}, ${reset.at}, ${reset.expiresAt})`)
}

/** How many resets of this kind were mailed to the user since then, and whether a mailed link works until that time. */
export async function countResets(
  q: Queryable,
  { userId, kind }: { userId: string | null; kind: ResetKind },
  { since, until }: { since: Date; until: Date },
): Promise<{ count: number; hasLink: boolean }> {
  return q.one<{ count: number; hasLink: boolean }>(sql`
    select count(*) filter (where kind = ${kind})::int as count,
      coalesce(bool_or(kind = 'link' and proven_at is null and used_at is null
        and expires_at > ${until}), false) as has_link
    from password_resets where user_id = ${userId} and created_at > ${since}`)
}

export async function countInvitations(q: Queryable, userId: string, since: Date): Promise<number> {
  const { count } = await q.one<{ count: number }>(sql`
    select count(*)::int as count from password_resets
    where user_id = ${userId} and created_at > ${since} and kind = 'invitation'`)
  return count
}

/** Wrong codes over all resets of one address requested since then. */
export async function sumWrongCodes(q: Queryable, accountKey: string | null, since: Date): Promise<number> {
  const { count } = await q.one<{ count: number }>(sql`
    select coalesce(sum(wrong_codes), 0)::int as count from password_resets
    where account_key = ${accountKey} and created_at > ${since}`)
  return count
}

const COLUMNS = sql`token_hash, user_id, account_key, kind, code_hash, wrong_codes, proven_at, expires_at, used_at`

/** Locked until the transaction ends, so that only one of many concurrent uses wins. */
export async function lockReset(tx: Tx, tokenHash: string): Promise<Reset | undefined> {
  return tx.maybe<Reset>(sql`select ${COLUMNS} from password_resets where token_hash = ${tokenHash} for update`)
}

export async function findReset(q: Queryable, tokenHash: string): Promise<Reset | undefined> {
  return q.maybe<Reset>(sql`select ${COLUMNS} from password_resets where token_hash = ${tokenHash}`)
}

export async function updateResetProven(q: Queryable, proofHash: string, at: Date): Promise<boolean> {
  const changed = await q.run(sql`
    update password_resets set proven_at = coalesce(proven_at, ${at})
    where proof_hash = ${proofHash} and expires_at > ${at} and used_at is null`)
  return changed === 1
}

export async function updateResetWrong(tx: Tx, tokenHash: string): Promise<void> {
  await tx.run(sql`update password_resets set wrong_codes = wrong_codes + 1 where token_hash = ${tokenHash}`)
}

export async function updateResetUsed(tx: Tx, tokenHash: string, at: Date): Promise<void> {
  await tx.run(sql`update password_resets set used_at = ${at} where token_hash = ${tokenHash}`)
}

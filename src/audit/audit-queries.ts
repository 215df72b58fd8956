import { joinSql, type Queryable, type Sql, sql, type Tx, unnamed } from '../db/db.ts'
import { emailKeyOf } from '../kernel/people/emails.ts'

export type AuditRow = {
  seq: bigint
  at: Date
  actor: string
  action: string
  result: 'ok' | 'refused'
  companyId: string | null
  object: string | null
  ip: string | null
  userAgent: string | null
  requestId: string | null
  detail: string
  keyId: string
  hash: string
}

export type AuditHead = { seq: bigint; hash: string }

/** Locks the end of the chain until the transaction ends, so that entries are in commit order. */
export async function lockAuditHead(tx: Tx): Promise<AuditHead> {
  return tx.one<AuditHead>(sql`select seq, hash from audit_head for update`)
}

export async function insertAuditRow(tx: Tx, row: AuditRow): Promise<void> {
  await tx.run(sql`
    with entry as (
      insert into audit_log (seq, at, actor, action, result, company_id, object, ip, user_agent, request_id, detail,
        key_id, hash)
      values (${row.seq}, ${row.at}, ${row.actor}, ${row.action}, ${row.result}, ${row.companyId}, ${row.object},
        ${row.ip}, ${row.userAgent}, ${row.requestId}, ${row.detail}, ${row.keyId}, ${row.hash})
      returning seq, hash
    )
    update audit_head set seq = entry.seq, hash = entry.hash from entry`)
}

export async function findAuditHead(q: Queryable): Promise<AuditHead> {
  return q.one<AuditHead>(sql`select seq, hash from audit_head`)
}

/** Who writes the entry of a restore, and its action. */
export const RESTORE = { actor: 'restore', action: 'audit.restored' } as const

/**
 * Its facts. `keptEntries`: so many are of the backup; further ones may have been written before this one. `lostUntil`:
 * it lost no entry that was noted later.
 */
export type RestoreDetail = { backupMadeAt: string; restoredAt: string; keptEntries?: number; lostUntil?: string }

/** The newest entry of a restore: where a restored database went on, or soon after. */
export const findRestoreEntry = (q: Queryable): Promise<(AuditHead & { restoredAt: string }) | undefined> =>
  q.maybe(sql`
    select seq, hash, detail::jsonb->>'restoredAt' as restored_at from audit_log where actor = ${RESTORE.actor} and action = ${RESTORE.action}
    order by seq desc limit 1`)

export const hasRestoreEntry = async (q: Queryable, restoredAt: Date): Promise<boolean> =>
  (await q.maybe(sql`
    select seq from audit_log where actor = ${RESTORE.actor} and action = ${RESTORE.action}
      and detail::jsonb->>'restoredAt' = ${restoredAt.toISOString()}`)) !== undefined

/** How many entries there were then. */
export async function countAuditEntriesAt(q: Queryable, at: Date): Promise<number> {
  const last = await q.maybe<{ seq: bigint }>(sql`
    select seq from audit_log where at <= ${at} order by seq desc limit 1`)
  return Number(last?.seq ?? 0n)
}

export const hasAuditEntry = async (q: Queryable, { seq, hash }: AuditHead): Promise<boolean> =>
  (await q.maybe(sql`select seq from audit_log where seq = ${seq} and hash = ${hash}`)) !== undefined

/** Those of these entries that are there. */
export const listAuditHeads = (q: Queryable, seqs: readonly bigint[]): Promise<AuditHead[]> =>
  q.many(sql`select seq, hash from audit_log where seq = any (${seqs.map(String)}::bigint[])`)

/** The chain in order, from after `seq`. */
export async function listAuditChain(q: Queryable, afterSeq: bigint, limit: number): Promise<AuditRow[]> {
  return q.many<AuditRow>(sql`select * from audit_log where seq > ${afterSeq} order by seq limit ${limit}`)
}

export type AuditFilter = {
  companyIds: readonly string[] | null
  action: string | null
  actor: string | null
  object: string | null
  beforeSeq: bigint | null
  limit: number
}

/** An entry, with its actor's name. */
export type ListedAuditRow = AuditRow & { actorName: string | null }

/** Newest first. */
export async function listAuditRows(q: Queryable, filter: AuditFilter): Promise<ListedAuditRow[]> {
  const conditions: Sql[] = []
  if (filter.companyIds !== null) conditions.push(sql`a.company_id = any(${filter.companyIds})`)
  if (filter.action !== null) conditions.push(sql`starts_with(action, ${filter.action})`)
  // a person is searched by e-mail as well as by id
  if (filter.actor !== null) {
    const email = emailKeyOf(filter.actor)
    conditions.push(sql`(starts_with(actor, ${filter.actor})
      or actor in (select 'user:' || id from users where email_key = ${email}))`)
  }
  if (filter.object !== null) conditions.push(sql`starts_with(object, ${filter.object})`)
  if (filter.beforeSeq !== null) conditions.push(sql`a.seq < ${filter.beforeSeq}`)
  return q.many<ListedAuditRow>(
    unnamed(sql`
      select a.*, coalesce(
        (select first_name || ' ' || last_name from users where id = split_part(a.actor, ':', 2) and starts_with(a.actor, 'user:')),
        (select name from api_keys where id = split_part(a.actor, ':', 2) and starts_with(a.actor, 'apiKey:'))) as actor_name
      from audit_log a where ${joinSql(conditions, ' and ')} order by a.seq desc limit ${filter.limit}`),
  )
}

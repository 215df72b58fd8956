import { type Queryable, sql, type Tx } from './db.ts'

/** The database's knowledge at the time of its backup; `reconcile` continues from here. */
export type RestoredFacts = {
  /** The last block read on each chain. */
  heads: { chainId: number; number: string }[]
  /** Index ranges of deposit addresses that orders after the backup may have used: from (included) to (excluded). */
  skipped: { xpub: string; from: string; to: string }[]
}

export type RestoreTimes = { backupMadeAt: Date; restoredAt: Date }

export type Restored = RestoreTimes & { facts: RestoredFacts; reconciledAt: Date | null }

/**
 * Number of addresses that orders after the backup may have used; a restored installation assigns none of them. More
 * than a service assigns in a day at ten orders a second.
 */
const SKIPPED_ADDRESSES = 1_000_000

const IS_UNRECONCILED = sql`restored_at is not null and reconciled_at is null`

/**
 * Marks the restore, and skips the deposit addresses that may have been assigned after the backup: the same address for
 * two orders would pay the wrong one. Idempotent. The facts of an earlier mark are kept until it is reconciled: what
 * happened between the two is still to be compared.
 */
export async function markRestored(tx: Tx, at: RestoreTimes): Promise<boolean> {
  const done = await tx.run(sql`
    with earlier as (
      select backup_made_at, restored_facts as facts from installation where ${IS_UNRECONCILED}
    ), heads as (
      select chain_id, min(number) as number from (
        select chain_id, number from chain_heads where number is not null
        union all
        select (head->>'chainId')::integer, (head->>'number')::bigint
        from earlier, jsonb_array_elements(facts->'heads') head) every_head
      group by chain_id
    )
    update installation set
      backup_made_at = least(${at.backupMadeAt}::timestamptz, (select backup_made_at from earlier)),
      restored_at = ${at.restoredAt}, reconciled_at = null,
      restored_facts = jsonb_build_object(
        'heads', (select coalesce(jsonb_agg(jsonb_build_object('chainId', chain_id, 'number', number::text)), '[]')
          from heads),
        'skipped', coalesce((select facts->'skipped' from earlier), '[]')
          || (select coalesce(jsonb_agg(jsonb_build_object('xpub', xpub, 'from', next_index::text,
            'to', (next_index + ${SKIPPED_ADDRESSES}::bigint)::text)), '[]') from deposit_keys))
    where restored_at is distinct from ${at.restoredAt}`)
  if (done === 0) return false
  // a person may have sent them since the backup: they are not asked to again before it is reconciled
  await tx.run(sql`
    update refunds set next_check_at = ${at.restoredAt}
    where status = 'ready' and handed_over_at is not null and next_check_at is null`)
  await tx.run(sql`update deposit_keys set next_index = next_index + ${SKIPPED_ADDRESSES}::bigint`)
  return true
}

/** Undefined: this database was never restored. */
export const findRestored = (q: Queryable): Promise<Restored | undefined> =>
  q.maybe<Restored>(sql`
    select backup_made_at, restored_at, restored_facts as facts, reconciled_at from installation
    where restored_at is not null`)

/** The backup's time, of a restore that has not been reconciled yet. */
export const findUnreconciled = (q: Queryable): Promise<{ backupMadeAt: Date } | undefined> =>
  q.maybe(sql`select backup_made_at from installation where ${IS_UNRECONCILED}`)

const sameAs = ({ restoredAt, facts }: Pick<Restored, 'restoredAt' | 'facts'>) =>
  sql`restored_at = ${restoredAt} and restored_facts = ${JSON.stringify(facts)}::jsonb`

/** Releases the restore that was compared, never another one that took its place meanwhile. @returns 1: it did now */
export const updateReconciledRestore = (q: Queryable, compared: Restored, at: Date): Promise<number> =>
  q.run(sql`update installation set reconciled_at = ${at} where ${IS_UNRECONCILED} and ${sameAs(compared)}`)

/** Whether the database is still of this restore; undefined: it is not. */
export const findSameRestore = (q: Queryable, compared: Restored): Promise<{ reconciledAt: Date | null } | undefined> =>
  q.maybe(sql`select reconciled_at from installation where ${sameAs(compared)}`)

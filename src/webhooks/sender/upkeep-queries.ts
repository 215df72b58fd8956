import { type Db, type Sql, sql, type Tx } from '../../db/db.ts'

const LOCK = 4_207_316_010

export type FailureSummary = {
  companyId: string
  companyName: string
  failed: number
  parked: number
  /** Newest first, at most 20. */
  deliveryIds: string[]
}

/** Companies with deliveries that failed for good, or were parked, in a span of time, and are so still. */
export const listFailures = (db: Db, from: Date, to: Date): Promise<FailureSummary[]> =>
  db.many<FailureSummary>(sql`
    select d.company_id, c.name as company_name, count(*) filter (where d.status = 'failed')::integer as failed,
      count(*) filter (where d.status = 'parked')::integer as parked,
      (array_agg(d.id order by d.updated_at desc))[1:20] as delivery_ids
    from deliveries d join companies c on c.id = d.company_id
    where d.status in ('failed', 'parked') and d.updated_at >= ${from} and d.updated_at < ${to}
    group by d.company_id, c.name`)

export type Manager = { companyId: string; email: string; firstName: string; lang: string }

/** The active managers, who get mails about webhooks. */
export const listManagers = (db: Db, companyIds: readonly string[]): Promise<Manager[]> =>
  db.many<Manager>(sql`
    select company_id, email, first_name, lang from users
    where company_id = any (${[...companyIds]}::text[]) and role in ('Manager', 'Association')
      and verified_at is not null and disabled_at is null`)

/** @returns false when this was already sent */
export const insertNotice = async (tx: Tx, key: string, now: Date): Promise<boolean> =>
  (await tx.run(sql`insert into notices_sent (key, sent_at) values (${key}, ${now}) on conflict do nothing`)) === 1

/** One node at a time, until the transaction ends. */
export const lockUpkeep = async (tx: Tx): Promise<boolean> =>
  (await tx.one<{ taken: boolean }>(sql`select pg_try_advisory_xact_lock(${LOCK}) as taken`)).taken

export const listAttemptPartitions = async (tx: Tx): Promise<string[]> => {
  const rows = await tx.many<{ name: string }>(sql`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'delivery_attempts'::regclass and c.relname ~ '^delivery_attempts_\\d{4}_\\d{2}$' order by 1`)
  return rows.map((row) => row.name)
}

/** A statement about tables takes no parameters, and is planned once. */
const ddl = (text: string): Sql => ({ text, values: [], name: '' })

const monthOf = (partition: string): { from: string; to: string } => {
  const [year, month] = partition.split('_').slice(-2).map(Number)
  const at = (offset: number): string => new Date(Date.UTC(year ?? 0, (month ?? 1) - 1 + offset, 1)).toISOString()
  return { from: at(0), to: at(1) }
}

/** Creates a month's partition and moves into it what the default partition caught of that month. */
export async function insertAttemptPartition(tx: Tx, partition: string): Promise<void> {
  const { from, to } = monthOf(partition)
  await tx.run(ddl(`create table ${partition} (like delivery_attempts including defaults including constraints)`))
  await tx.run(
    ddl(`with moved as (
      delete from delivery_attempts_default where started_at >= '${from}' and started_at < '${to}' returning *
    ) insert into ${partition} select * from moved`),
  )
  await tx.run(
    ddl(`alter table delivery_attempts attach partition ${partition} for values from ('${from}') to ('${to}')`),
  )
}

export const deleteAttemptPartition = (tx: Tx, partition: string): Promise<number> =>
  tx.run(ddl(`drop table ${partition}`))

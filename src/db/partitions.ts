import { DAY } from '../kernel/clock.ts'
import { type Db, raw, sql, type Tx } from './db.ts'

/** Created in advance, so that a worker that is down for a while does no harm. */
const AHEAD = { day: 3, month: 2 } as const
/**
 * Detaching a partition waits for statements that read its table, and new ones wait for it; so it gives up after this
 * time and retries later.
 */
const LOCK_MS = 2000

/** A table partitioned by time. Rows that fit no other partition go to its `…_default`. */
export type Partitioned = {
  table: string
  /** The partition key: a time, or an order's id, which begins with its creation time. */
  key: string
  kind: 'time' | 'id'
  unit: 'day' | 'month'
  /** When a row was written. */
  at: string
  /** Every row is kept at least this many days before its partition is dropped; null: forever. */
  keepDays: number | null
  /** Constraints of each partition that the table itself lacks, such as a primary key. */
  own?: string
  storage?: string
  /** A quick query for rows that must not be dropped yet, given a partition and a time; repeated under the lock. */
  neededBy?: (partition: string, before: string) => string
}

const startOf = (ms: number, unit: Partitioned['unit'], offset = 0): number => {
  const at = new Date(ms)
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
  return unit === 'day' ? Date.UTC(year, month, day + offset) : Date.UTC(year, month + offset, 1)
}

const nameAt = ({ table, unit }: Partitioned, ms: number): string =>
  `${table}_${new Date(ms)
    .toISOString()
    .slice(0, unit === 'day' ? 10 : 7)
    .replaceAll('-', '_')}`

/** A bound in the form of the key. An id begins with 48 bits of milliseconds. */
const boundAt = ({ kind }: Partitioned, ms: number): string =>
  kind === 'time' ? new Date(ms).toISOString() : ms.toString(16).padStart(12, '0')

const timeOf = ({ kind }: Partitioned, bound: string): number =>
  kind === 'id' ? Number.parseInt(bound, 16) : Date.parse(bound.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'))

type Partition = { name: string; endsMs: number }

/** All partitions except the default. One without an end holds everything. */
async function listPartitions(tx: Tx, spec: Partitioned): Promise<Partition[]> {
  const rows = await tx.many<{ name: string; bound: string }>(sql`
    select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = ${spec.table}::regclass and pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT' order by 1`)
  return rows.map(({ name, bound }) => {
    const end = /TO \('([^']+)'\)/.exec(bound)?.[1]
    return { name, endsMs: end === undefined ? Number.POSITIVE_INFINITY : timeOf(spec, end) }
  })
}

/** Creates a partition and moves its rows out of the default partition. */
async function insertPartition(tx: Tx, spec: Partitioned, fromMs: number): Promise<string> {
  const { table, key, unit, own, storage } = spec
  const name = nameAt(spec, fromMs)
  const [from, to] = [boundAt(spec, fromMs), boundAt(spec, startOf(fromMs, unit, 1))]
  const keys = own === undefined ? '' : `, ${own}`
  const options = storage === undefined ? '' : ` with (${storage})`
  await tx.run(raw(`create table ${name} (like ${table} including defaults including constraints${keys})${options}`))
  await tx.run(
    raw(`with moved as (
      delete from ${table}_default where ${key} >= '${from}' and ${key} < '${to}' returning *
    ) insert into ${name} select * from moved`),
  )
  await tx.run(raw(`alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`))
  return name
}

const holds = async (tx: Tx, condition: string): Promise<boolean> =>
  (await tx.one<{ found: boolean }>(raw(`select ${condition} as found`))).found

async function dropOld(tx: Tx, spec: Partitioned, { existing, nowMs }: { existing: Partition[]; nowMs: number }) {
  const { table, at, kind, keepDays, neededBy } = spec
  if (keepDays === null) return []
  const beforeMs = nowMs - keepDays * DAY
  const before = new Date(beforeMs).toISOString()
  const dropped: string[] = []
  for (const { name, endsMs } of existing) {
    if (endsMs > beforeMs) continue
    // an order of that month may have had a later event; read without a lock, because it may take a while
    if (kind === 'id' && (await holds(tx, `exists (select from ${name} p where p.${at} >= '${before}')`))) continue
    await tx.run(raw(`lock table only ${table} in access exclusive mode`))
    if (neededBy && (await holds(tx, `exists (${neededBy(name, before)})`))) continue
    await tx.run(raw(`drop table ${name}`))
    dropped.push(name)
  }
  const defaults = `${table}_default`
  const needed = neededBy === undefined ? 'false' : `exists (${neededBy(defaults, before)})`
  await tx.run(raw(`delete from ${defaults} p where p.${at} < '${before}' and not ${needed}`))
  return dropped
}

/**
 * Creates the partitions of this day or month and the next ones, and drops those whose rows have all expired. Runs on
 * one node at a time; a concurrent call does nothing.
 * @returns names
 */
export const keepPartitions = (
  db: Db,
  spec: Partitioned,
  nowMs: number,
): Promise<{ made: string[]; dropped: string[] }> =>
  db.tx(async (tx) => {
    const { taken } = await tx.one<{ taken: boolean }>(
      sql`select pg_try_advisory_xact_lock(hashtextextended(${`partitions ${spec.table}`}, 0)) as taken`,
    )
    if (!taken) return { made: [], dropped: [] }
    await tx.run(raw(`set local lock_timeout = ${LOCK_MS}`))
    const existing = await listPartitions(tx, spec)
    const names = new Set(existing.map(({ name }) => name))
    // rows from before the table was partitioned are in one partition, up to a date of its own
    const coveredMs = existing.find(({ name }) => name === `${spec.table}_before`)?.endsMs ?? 0
    const made: string[] = []
    for (let offset = 0; offset <= AHEAD[spec.unit]; offset += 1) {
      const fromMs = startOf(nowMs, spec.unit, offset)
      if (fromMs >= coveredMs && !names.has(nameAt(spec, fromMs))) made.push(await insertPartition(tx, spec, fromMs))
    }
    return { made, dropped: await dropOld(tx, spec, { existing, nowMs }) }
  })

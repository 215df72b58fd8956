import { DAY } from '../kernel/clock.ts'
import { type Db, type Queryable, raw, sql, type Tx } from './db.ts'

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
  /**
   * A quick query for rows that must not be dropped yet, given a partition and a time; repeated under the lock, because
   * such rows may come until then.
   */
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
async function listPartitions(q: Queryable, spec: Partitioned): Promise<Partition[]> {
  const rows = await q.many<{ name: string; bound: string }>(sql`
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

const holds = async (q: Queryable, condition: string): Promise<boolean> =>
  (await q.one<{ found: boolean }>(raw(`select ${condition} as found`))).found

const isThere = (q: Queryable, partition: string): Promise<boolean> =>
  holds(q, `to_regclass('${partition}') is not null`)

const takes = async (tx: Tx, work: string): Promise<boolean> =>
  (await tx.one<{ taken: boolean }>(sql`select pg_try_advisory_xact_lock(hashtextextended(${work}, 0)) as taken`)).taken

/** Null: another node is at it, or has done it. */
const makePartition = (db: Db, spec: Partitioned, fromMs: number): Promise<string | null> =>
  db.tx(async (tx) => {
    if (!(await takes(tx, `partitions ${spec.table}`)) || (await isThere(tx, nameAt(spec, fromMs)))) return null
    await tx.run(raw(`set local lock_timeout = ${LOCK_MS}`))
    return insertPartition(tx, spec, fromMs)
  })

/** Each in its own transaction, so that one that fails takes no other with it. */
async function makeAhead(db: Db, spec: Partitioned, nowMs: number) {
  const existing = await listPartitions(db, spec)
  const names = new Set(existing.map(({ name }) => name))
  // rows from before the table was partitioned are in one partition, up to a date of its own
  const coveredMs = existing.find(({ name }) => name === `${spec.table}_before`)?.endsMs ?? 0
  const made: string[] = []
  const failures: unknown[] = []
  for (let offset = 0; offset <= AHEAD[spec.unit]; offset += 1) {
    const fromMs = startOf(nowMs, spec.unit, offset)
    if (fromMs < coveredMs || names.has(nameAt(spec, fromMs))) continue
    const name = await makePartition(db, spec, fromMs).catch((error: unknown) => void failures.push(error))
    if (name) made.push(name)
  }
  return { existing, made, failures }
}

const newestRows = new WeakMap<Db, Map<string, number>>()

/** The newest row of each partition that was read. Rows only get newer: it is read again once that one is old. */
function newestOf(db: Db): Map<string, number> {
  const known = newestRows.get(db) ?? new Map()
  newestRows.set(db, known)
  return known
}

/** Whether all rows are old. May read the whole partition, so it holds no lock that anything else waits for. */
async function isOld(db: Db, spec: Partitioned, { name, beforeMs }: { name: string; beforeMs: number }) {
  const { table, at, kind, neededBy } = spec
  const known = newestOf(db)
  if ((known.get(name) ?? Number.NEGATIVE_INFINITY) >= beforeMs) return false
  return db.tx(async (tx) => {
    if (!(await takes(tx, `old partitions ${table}`)) || !(await isThere(tx, name))) return false
    await tx.liftTimeLimit()
    if (neededBy && (await holds(tx, `exists (${neededBy(name, new Date(beforeMs).toISOString())})`))) return false
    if (kind === 'time') return true
    // an order of that month may have had a later event
    const { newest } = await tx.one<{ newest: Date | null }>(raw(`select max(p.${at}) as newest from ${name} p`))
    if (newest) known.set(name, newest.getTime())
    return newest === null || newest.getTime() < beforeMs
  })
}

const dropPartition = (db: Db, { table, neededBy }: Partitioned, { name, before }: { name: string; before: string }) =>
  db.tx(async (tx) => {
    await tx.run(raw(`set local lock_timeout = ${LOCK_MS}`))
    await tx.run(raw(`lock table only ${table} in access exclusive mode`))
    if (!(await isThere(tx, name)) || (neededBy && (await holds(tx, `exists (${neededBy(name, before)})`))))
      return false
    await tx.run(raw(`drop table ${name}`))
    return true
  })

async function dropOld(db: Db, spec: Partitioned, { existing, nowMs }: { existing: Partition[]; nowMs: number }) {
  const { table, at, keepDays, neededBy } = spec
  if (keepDays === null) return []
  const beforeMs = nowMs - keepDays * DAY
  const before = new Date(beforeMs).toISOString()
  const dropped: string[] = []
  for (const { name, endsMs } of existing) {
    if (endsMs > beforeMs || !(await isOld(db, spec, { name, beforeMs }))) continue
    if (await dropPartition(db, spec, { name, before })) dropped.push(name)
    newestOf(db).delete(name)
  }
  const defaults = `${table}_default`
  const needed = neededBy === undefined ? 'false' : `exists (${neededBy(defaults, before)})`
  await db.run(raw(`delete from ${defaults} p where p.${at} < '${before}' and not ${needed}`))
  return dropped
}

/**
 * Creates the partitions of this day or month and the next ones, then drops those whose rows have all expired. Each in
 * its own transaction: however long it takes to find what is old, the new ones are there. May run on several nodes.
 * @returns names
 */
export async function keepPartitions(
  db: Db,
  spec: Partitioned,
  nowMs: number,
): Promise<{ made: string[]; dropped: string[] }> {
  const { existing, made, failures } = await makeAhead(db, spec, nowMs)
  const dropped = await dropOld(db, spec, { existing, nowMs })
  if (failures.length > 0) throw failures[0]
  return { made, dropped }
}

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { MINUTE, SECOND } from '../kernel/clock.ts'
import { refuseOtherEncoding } from './durable.ts'
import { buildIndices, readIndexMigration } from './index-migrations.ts'
import { KEEP_ALIVE } from './wire/connection.ts'
import { openNoting } from './wire/schema-parts.ts'

const FOLDER = join(import.meta.dirname, '../../migrations')
const LOCK = 4_207_316_001

/** The role's limits are meant for requests: indexing a large table takes longer. */
const NO_LIMITS = 'set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0'
/** A node that vanished without a word must not keep the lock from the others for two hours, the kernel's default. */
const SHORT_MEMORY = 'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 1; set tcp_keepalives_count = 10'
/**
 * While a migration waits for a table lock, everyone else who needs the table queues behind it: so it gives way and
 * retries.
 */
const GIVE_WAY = "set local lock_timeout = '1s'"
const GIVEN_WAY_MS = 1000
/** A lock timeout, or the victim of a deadlock. Source: PostgreSQL, Appendix A. */
const IN_USE = ['55P03', '40P01']
/** Another node migrates; after this time a person should know. */
const SILENT_MS = 5 * SECOND
/** A transaction that holds a table for longer has been forgotten. */
const PATIENCE_MS = 5 * MINUTE

/** `expands`: it only adds, so that the versions before it keep working. */
export type Migration = { id: string; text: string; hash: string; expands: boolean }

/** As the database records it; `expands` is null where it was not noted yet. */
export type AppliedMigration = { id: string; hash: string; expands: boolean | null }

/** A file that takes away what the versions before it use says so in a line of its own. */
const CONTRACTS = /^-- contracts\b/m

/** The numbered files of `migrations/`, in order. */
export function listMigrations(folder: string = FOLDER): Migration[] {
  const files = readdirSync(folder)
    .filter((name) => /^\d{4}_.+\.sql$/.test(name))
    .sort()
  return files.map((name) => {
    const text = readFileSync(join(folder, name), 'utf8')
    const hash = createHash('sha256').update(text).digest('hex')
    return { id: name.slice(0, -4), text, hash, expands: !CONTRACTS.test(text) }
  })
}

type MigrateOptions = {
  onApplied?: (done: number, of: number) => void
  onWaiting?: (words: string) => void
  /** Of the files, instead of ours. */
  folder?: string
}

/**
 * Migrates a database to the latest schema: forward only, one transaction per file (one for all in a new database), one
 * node at a time (advisory lock).
 * A file that contains only indices is built without a transaction, while others write. Refuses a database whose
 * applied files differ from ours, or from which a newer program took something away.
 * @param options.onApplied progress: how many of the missing ones are done
 * @param options.onWaiting which session holds the lock, a sentence, when it holds it for longer
 * @returns the ids applied now
 */
export async function migrate(
  connectionString: string,
  { onApplied, onWaiting, folder }: MigrateOptions = {},
): Promise<string[]> {
  const migrations = listMigrations(folder)
  const client = new pg.Client({ connectionString, application_name: 'comptoir-migrate', ...KEEP_ALIVE })
  // a lost connection also rejects what is being asked
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(`${NO_LIMITS}; ${SHORT_MEMORY}`)
    await refuseOtherEncoding(client)
    await lockMigrations(client, onWaiting)
    await client.query(
      'create table if not exists migrations (id text primary key, hash text not null, applied_at timestamptz not null default now())',
    )
    const rows = await readApplied(client)
    const fault = findHistoryFault(rows, migrations)
    if (fault !== undefined) throw new Error(fault)
    const applied = new Set(rows.map((row) => row.id))
    const pending = migrations.filter((migration) => !applied.has(migration.id))
    const noteParts = await openNoting(client, pending.flatMap(listDropped))
    const isNew = rows.length === 0 && (await applyAllAtOnce(client, pending, { noteParts, onApplied }))
    for (const [index, migration] of (isNew ? [] : pending).entries()) {
      await apply(client, migration, noteParts)
      onApplied?.(index + 1, pending.length)
    }
    return pending.map((migration) => migration.id)
  } finally {
    await client.end()
  }
}

/** Polls for the lock: a concurrent index build of another node would wait for a statement that blocks on it. */
async function lockMigrations(client: pg.Client, onWaiting: (words: string) => void = () => {}): Promise<void> {
  const silentUntil = Date.now() + SILENT_MS
  let said = ''
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [LOCK])
    if (rows[0]?.locked === true) return
    const words = Date.now() < silentUntil ? undefined : await describeHolder(client)
    if (words !== undefined && words !== said) {
      said = words
      onWaiting(words)
    }
    await sleep(200)
  }
}

/** A lock of one key is in `pg_locks` as two halves of it. Source: PostgreSQL, 53.12. */
async function describeHolder(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ pid: number; name: string | null; state: string | null }>(
    `select l.pid, nullif(a.application_name, '') as name, a.state from pg_locks l
     left join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and l.pid is not null
       and l.database = (select oid from pg_database where datname = current_database())
       and (l.classid::int8 << 32) + l.objid::int8 = $1 limit 1`,
    [LOCK],
  )
  const [holder] = rows
  if (!holder) return undefined
  const { pid, name, state } = holder
  return (
    `Waiting for another node that migrates this database: session ${pid} (${name ?? 'without a name'}, ` +
    `${state ?? 'in a state that is not shown'}). If it hangs, end it: select pg_terminate_backend(${pid})`
  )
}

/** A database from before the column has no `expands`. */
export async function readApplied(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<AppliedMigration>(
    `select id, hash, (to_jsonb(m)->>'expands')::boolean as expands from migrations m order by id`,
  )
  return rows
}

/** Why this program must not run on this database; it may on one that a newer version only added to. */
export function findHistoryFault(
  rows: readonly AppliedMigration[],
  migrations: readonly Migration[],
): string | undefined {
  const known = new Map(migrations.map((migration) => [migration.id, migration.hash]))
  for (const { id, hash, expands } of rows) {
    const ours = known.get(id)
    if (ours === undefined && expands !== true)
      return (
        `The database has migration ${id}, which this program does not know: it is newer, and may lack what this ` +
        'program uses. Update the program.'
      )
    if (ours !== undefined && ours !== hash)
      return `Migration ${id} was changed after it had been applied. Restore the file; write a new one instead.`
  }
  return undefined
}

/** Leaves out what the table has no column for yet. */
const NOTE = `insert into migrations select * from jsonb_populate_record(null::migrations,
  jsonb_build_object('id', $1::text, 'hash', $2::text, 'expands', $3::boolean, 'applied_at', now()))`

const FORGOTTEN =
  'Another session holds a table that it needs. Find it (select pid, state, xact_start, query from pg_stat_activity ' +
  'order by xact_start), end it, and start again.'

const isInUse = (error: unknown): boolean => IN_USE.includes((error as { code?: string }).code ?? '')

/** What is dropped outside a transaction. */
const listDropped = ({ text }: Migration): string[] =>
  (readIndexMigration(text)?.statements ?? []).filter(({ kind }) => kind === 'drop').map(({ name }) => name)

type NoteParts = () => Promise<void>

/**
 * A new database has no rows to index and nobody who waits for a table, and half of what its first migration takes is
 * a commit for each file.
 * @returns false, with nothing done, if a file fails or the locks of all are too many for the server: then each of them
 * by itself succeeds, or says which one fails
 */
async function applyAllAtOnce(
  client: pg.Client,
  pending: readonly Migration[],
  { noteParts, onApplied }: { noteParts: NoteParts; onApplied: MigrateOptions['onApplied'] | undefined },
): Promise<boolean> {
  try {
    await client.query('begin')
    for (const [index, { id, text, hash, expands }] of pending.entries()) {
      await client.query(text)
      await client.query(NOTE, [id, hash, expands])
      onApplied?.(index + 1, pending.length)
    }
    await noteParts()
    await client.query('commit')
    return true
  } catch {
    await client.query('rollback')
    return false
  }
}

async function applyAtOnce(
  client: pg.Client,
  { id, text, hash, expands }: Migration,
  noteParts: NoteParts,
): Promise<void> {
  const indices = readIndexMigration(text)
  try {
    const isBuilt = indices !== undefined && (await buildIndices(client, indices))
    await client.query('begin')
    await client.query(GIVE_WAY)
    if (!isBuilt) await client.query(text)
    await client.query(NOTE, [id, hash, expands])
    await noteParts()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/** Retries while tables that the migration needs are in use. */
async function apply(client: pg.Client, migration: Migration, noteParts: NoteParts): Promise<void> {
  const until = Date.now() + PATIENCE_MS
  for (;;) {
    try {
      return await applyAtOnce(client, migration, noteParts)
    } catch (error) {
      if (isInUse(error) && Date.now() < until) {
        await sleep(GIVEN_WAY_MS)
        continue
      }
      const reasons = [(error as Error).message, ...(isInUse(error) ? [FORGOTTEN] : [])]
      throw new Error(`Migration ${migration.id} failed: ${reasons.join('. ')}`, { cause: error })
    }
  }
}

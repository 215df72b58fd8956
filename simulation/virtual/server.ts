import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/embedded/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'

/** `guards`: statements run after the migrations. */
type DatabaseStart = { atMs: number; guards: readonly string[] }
export type PreparedDatabase = { connectionString: string; drop(): Promise<void> }

/**
 * SQL's clock is the simulation's: these functions precede PostgreSQL's own in the search path. `now()` is the time at
 * which the session's transaction began.
 */
const CLOCK = ['now', 'clock_timestamp'].map(
  (name) => `create function public.${name}() returns timestamptz language sql stable parallel safe
    as $$ select to_timestamp(current_setting('simulation.at')::float8) $$`,
)

const SESSIONS = `select format('%s %s, waits for %s, blocked by %s, in its transaction since %s: %s', pid, state,
  coalesce(wait_event, 'nothing'), pg_blocking_pids(pid)::text, xact_start, query) as line
  from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() order by pid`

/** The activity of each session of the real server, one line each. */
export async function describeSessions(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(SESSIONS)
  return rows.map(({ line }) => line)
}

/**
 * No row moves in the background: the order in which a statement finds rows must not depend on a background process.
 */
const STILL = `do $$ declare one regclass; begin
  for one in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
    execute format('alter table %s set (autovacuum_enabled = off)', one);
  end loop; end $$`

const run = async (connectionString: string, statements: readonly string[]): Promise<void> => {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

const NAME = 'simulation'

function addressOn(adminUrl: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${NAME}`
  return url.href
}

/** The database on this server, with the clock set to `atMs`. */
async function createDatabase(adminUrl: string, { atMs, guards }: DatabaseStart): Promise<void> {
  await run(adminUrl, [
    `create database ${NAME} template template0`,
    `alter database ${NAME} set search_path = public, pg_catalog`,
    `alter database ${NAME} set simulation.at = '${atMs / 1000}'`,
  ])
  const address = addressOn(adminUrl)
  await run(address, CLOCK)
  await migrate(address)
  await run(address, [STILL, ...guards])
}

/**
 * Nothing outlives the run, so nothing has to reach a disk. Commits are still written at once: until one is, rows
 * cannot be marked as committed, and whether the writer in the background was there first would be seen in what a
 * vacuum skips, and so in where new rows are put.
 */
const HURRIED = [
  'fsync = off',
  'full_page_writes = off',
  'autovacuum = off',
  // else a statement is planned again each time where partitions make a plan for its values look cheaper
  'plan_cache_mode = force_generic_plan',
  // who writes a page holds it for a moment, and old row versions cannot be cleared away meanwhile: `keepTidy` does it
  'bgwriter_lru_maxpages = 0',
  // kept in memory, like the tables
  "min_wal_size = '80MB'",
]

const MIGRATIONS = join(import.meta.dirname, '../../migrations')

/** Differs as soon as the database would. */
function versionOf(start: DatabaseStart): string {
  const hash = createHash('sha256').update(JSON.stringify([start, HURRIED, CLOCK, STILL]))
  for (const file of globSync('*.sql', { cwd: MIGRATIONS }).sort())
    hash.update(`\n${file}\n`).update(readFileSync(join(MIGRATIONS, file)))
  return hash.digest('hex').slice(0, 16)
}

/** A new folder for a server's files, which may run under another account. */
function makeFolder(folder: string | null): string {
  const dataDir = mkdtempSync(join(folder ?? (existsSync('/dev/shm') ? '/dev/shm' : tmpdir()), 'comptoir-simulation-'))
  chmodSync(dataDir, 0o711)
  return dataDir
}

async function startServer(dataDir: string, start: DatabaseStart | null): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, log: console.error })
  if (start === null) return server
  try {
    const settings = HURRIED.map((setting) => `alter system set ${setting}`)
    await run(server.connectionString, [...settings, 'select pg_reload_conf()'])
    await createDatabase(server.connectionString, start)
    return server
  } catch (error) {
    await server.stop()
    throw error
  }
}

/**
 * Makes the database once for many worlds: a copy starts in a tenth of the time that initdb and the migrations take.
 * @param prepared the folder that keeps it, for this version of the schema
 * @returns where it lies
 */
export async function keepDatabase(prepared: string, start: DatabaseStart): Promise<string> {
  const kept = join(prepared, versionOf(start))
  if (existsSync(kept)) return kept
  const dataDir = makeFolder(null)
  const copy = `${kept}-${process.pid}`
  try {
    const server = await startServer(dataDir, start)
    await server.stop()
    mkdirSync(prepared, { recursive: true })
    copyCluster(join(dataDir, 'postgres'), copy)
    // another process may have been faster
    if (!existsSync(kept)) renameSync(copy, kept)
    return kept
  } finally {
    for (const folder of [dataDir, copy]) rmSync(folder, { recursive: true, force: true })
  }
}

/** Owners and modes stay: for root the files belong to the user that runs PostgreSQL. */
const copyCluster = (from: string, to: string): void => void execFileSync('cp', ['-a', from, to])

type Places = {
  /** For the server's files; null: in memory if possible, otherwise the temporary folder. */
  folder: string | null
  /** Keeps a made database for other runs; null: it is made for this run alone. */
  prepared: string | null
}

/**
 * A separate server: activity in other databases of a server changes where rows are stored, and so the order in which
 * they are found.
 */
export async function prepareDatabase({ folder, prepared }: Places, start: DatabaseStart): Promise<PreparedDatabase> {
  const kept = prepared === null ? null : await keepDatabase(prepared, start)
  const dataDir = makeFolder(folder)
  if (kept !== null) copyCluster(kept, join(dataDir, 'postgres'))
  const server = await startServer(dataDir, kept === null ? start : null)
  return {
    connectionString: addressOn(server.connectionString),
    async drop() {
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

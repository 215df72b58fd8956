import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../src/db/embedded/embedded.ts'
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

/** A database of its own on this server, with the clock set to `atMs`. */
async function createDatabase(adminUrl: string, { atMs, guards }: DatabaseStart): Promise<PreparedDatabase> {
  const name = `simulation_${process.pid}`
  await run(adminUrl, [
    `create database ${name} template template0`,
    `alter database ${name} set search_path = public, pg_catalog`,
    `alter database ${name} set simulation.at = '${atMs / 1000}'`,
  ])
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  await run(url.href, CLOCK)
  await migrate(url.href)
  await run(url.href, [STILL, ...guards])
  return { connectionString: url.href, drop: () => run(adminUrl, [`drop database if exists ${name} with (force)`]) }
}

/** Nothing outlives the run, so nothing has to reach a disk. */
const HURRIED = [
  'fsync = off',
  'full_page_writes = off',
  'synchronous_commit = off',
  'autovacuum = off',
  "checkpoint_timeout = '1h'",
  // kept in memory, like the tables
  "max_wal_size = '256MB'",
  "min_wal_size = '80MB'",
]

/**
 * A separate server: activity in other databases of a server changes where rows are stored, and so the order in which
 * they are found. @param folder for the server's files; null: in memory if possible, otherwise the temporary folder
 */
export async function prepareDatabase(options: { folder: string | null } & DatabaseStart): Promise<PreparedDatabase> {
  const base = options.folder ?? (existsSync('/dev/shm') ? '/dev/shm' : tmpdir())
  const dataDir = mkdtempSync(join(base, 'comptoir-simulation-'))
  chmodSync(dataDir, 0o711)
  const server = await startEmbeddedPostgres({ dataDir, log: console.error })
  const settings = HURRIED.map((setting) => `alter system set ${setting}`)
  await run(server.connectionString, [...settings, 'select pg_reload_conf()'])
  const database = await createDatabase(server.connectionString, options)
  return {
    connectionString: database.connectionString,
    async drop() {
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

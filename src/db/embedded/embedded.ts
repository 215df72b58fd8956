import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { makeFolder } from '../../kernel/process/make-folder.ts'
import { embeddedConnections } from '../connection-need.ts'
import { prepareBinaries } from './binaries.ts'
import { type ClusterPaths, chooseSocketDir, connectionStringFor, makeCluster, NAME } from './cluster.ts'
import { lockDataDir } from './data-dir-lock.ts'
import { endOrphan } from './orphan.ts'
import { answers, PATIENCE, type Patience } from './readiness.ts'
import { type Log, runServer } from './server.ts'
import { findUnrestored } from './state-directory.ts'
import { chooseAccount } from './system-user.ts'

export type EmbeddedPostgres = {
  /** For the database `comptoir`, as its superuser. Uses a unix socket that only the owner can open. */
  connectionString: string
  /** Fast shutdown, at most 4 s; afterwards the data directory is free for another start. */
  stop(): Promise<void>
}

/**
 * Starts the PostgreSQL that npm installed, with its data in `<dataDir>/postgres` and its log in
 * `<dataDir>/postgres.log`; the first start creates the database, which in live mode it must not (`refuseNoDatabase`).
 * The server ends with this process, even after kill -9 (on Linux; elsewhere the next start ends it). If it ends on its
 * own, it is restarted. While it replays its log after a crash, the start waits, however long that takes.
 * @param options.log gets a line when something unusual happens
 * @param options.processes of the service: how many connections the server must take
 * @param options.onLocked called once this process owns the directory, before anything is made; it may refuse
 * @throws Error with a sentence for the user: another start owns the directory, or why PostgreSQL does not run here
 */
export async function startEmbeddedPostgres(options: {
  dataDir: string
  log: Log
  processes?: number | 'auto'
  patience?: Patience
  onLocked?(): Promise<void>
}): Promise<EmbeddedPostgres> {
  const { log, processes = 1, patience = PATIENCE } = options
  const dataDir = openDataDir(options.dataDir)
  const lock = await lockDataDir(dataDir)
  try {
    await options.onLocked?.()
    const place = preparePlace(dataDir)
    await endOrphan(place, log)
    if (!existsSync(place.clusterDir)) {
      const unrestored = findUnrestored(dataDir)
      if (unrestored !== null) throw unrestored
      log(`First start: making the database in ${place.clusterDir}.`)
    }
    makeCluster(place)
    const connections = embeddedConnections({ processes })
    const server = await runServer({ ...place, connections }, { log, patience })
    await makeDatabase(place).catch(async (error: unknown) => {
      await server.stop()
      throw error
    })
    const stop = async (): Promise<void> => {
      await server.stop()
      lock.release()
    }
    return { connectionString: connectionStringFor(place, NAME), stop }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** The existing cluster of a folder; null: there is none. */
function findPlace(dataDir: string): ClusterPaths | null {
  if (!existsSync(join(dataDir, 'postgres'))) return null
  const realDir = realpathSync(dataDir)
  const clusterDir = join(realDir, 'postgres')
  const account = chooseAccount(realDir, clusterDir)
  return { native: '', clusterDir, socketDir: chooseSocketDir(realDir, clusterDir, account), logFile: '', account }
}

/**
 * The server that another process of ours runs on this directory, or null: for commands run next to a running service.
 */
export async function findEmbeddedPostgres(dataDir: string): Promise<string | null> {
  const place = findPlace(dataDir)
  return place !== null && (await answers(place)) ? connectionStringFor(place, NAME) : null
}

/** Ends the server that a killed process left here; for the owner of the lock. @throws Error when it does not end */
export async function endLeftServer(dataDir: string, log: Log): Promise<void> {
  const place = findPlace(dataDir)
  if (place !== null) await endOrphan(place, log)
}

function openDataDir(path: string): string {
  try {
    makeFolder(path)
    return realpathSync(path)
  } catch (error) {
    throw new Error(`Comptoir cannot use ${path} as its data directory: ${(error as Error).message}`, { cause: error })
  }
}

function preparePlace(dataDir: string): ClusterPaths {
  const clusterDir = join(dataDir, 'postgres')
  const account = chooseAccount(dataDir, clusterDir)
  const native = prepareBinaries(dataDir, account)
  const socketDir = chooseSocketDir(dataDir, clusterDir, account)
  return { native, clusterDir, socketDir, logFile: join(dataDir, 'postgres.log'), account }
}

/**
 * In the log an error's detail names values, which may be a payer's: sessions write none. The server's own processes
 * do: there it says why the server does not start. As an option of the server it would hold for them, too.
 */
async function hideValues(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(
    `select 1 from pg_db_role_setting
      where setdatabase = 0 and setrole = 0 and 'log_error_verbosity=terse' = any(setconfig)`,
  )
  if (rowCount === 0) await client.query(`alter role all set log_error_verbosity = 'terse'`)
}

async function makeDatabase(place: ClusterPaths): Promise<void> {
  const client = new pg.Client({ connectionString: connectionStringFor(place, 'postgres') })
  // a lost connection also rejects what is being asked
  client.on('error', () => {})
  await client.connect()
  try {
    await hideValues(client)
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [NAME])
    if (rowCount === 0) await client.query(`create database ${NAME}`)
  } finally {
    await client.end()
  }
}

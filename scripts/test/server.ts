import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { openDb } from '../../src/db/db.ts'
import { startEmbeddedPostgres } from '../../src/db/embedded/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { partitionedTables } from '../../src/db/partitioned-tables.ts'
import { keepPartitions } from '../../src/db/partitions.ts'
import { copyCluster } from '../../test/harness/cluster.ts'

const TEMPLATE = 'comptoir_template'
const PREFIX = 'comptoir-test-'
const ENOUGH_BYTES = 2_000_000_000
/** What the tests' own databases, browsers and copies take at once is a quarter of this. */
const ROOMY_BYTES = 8_000_000_000
const MEMORY = '/dev/shm'

export type TestServer = {
  /** What test processes find in their environment; `database.ts` and `cluster.ts` of the harness read it. */
  env: { TEST_DATABASE_URL: string; TEST_TEMPLATE: string; TEST_CLUSTER: string }
  stop(): Promise<void>
}

function hasRoom(folder: string, bytes = ENOUGH_BYTES): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > bytes
  } catch {
    return false
  }
}

/** What runs that were killed left here. */
function removeLeftovers(base: string): void {
  for (const name of readdirSync(base).filter((name) => name.startsWith(PREFIX))) {
    const pid = Number(name.slice(PREFIX.length).split('-')[0])
    try {
      process.kill(pid, 0)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') rmSync(join(base, name), { recursive: true, force: true })
    }
  }
}

/** A new folder of this run, in memory where there is room. */
export function makeScratch(base = hasRoom(MEMORY) ? MEMORY : tmpdir()): string {
  mkdirSync(base, { recursive: true })
  removeLeftovers(base)
  return mkdtempSync(join(base, `${PREFIX}${process.pid}-`))
}

/**
 * Where tests put their temporary files, open to the user that runs PostgreSQL for root. In memory where there is
 * plenty, because some thirty database clusters are made there, which a disk has to flush.
 */
export function makeTemporary(scratch: string): string {
  if (!scratch.startsWith(MEMORY) || !hasRoom(MEMORY, ROOMY_BYTES)) return tmpdir()
  chmodSync(scratch, 0o711)
  const folder = join(scratch, 'tmp')
  mkdirSync(folder)
  chmodSync(folder, 0o1777)
  return folder
}

/** Makes the cluster as the first start of a service does, and keeps a copy. @returns the copy's folder */
async function makeCluster(dataDir: string): Promise<string> {
  const server = await startEmbeddedPostgres({ dataDir, log: console.error })
  await migrate(server.connectionString).finally(() => server.stop())
  const kept = join(dataDir, 'kept')
  copyCluster(join(dataDir, 'postgres'), kept)
  return join(kept, 'postgres')
}

/** One PostgreSQL for a whole run of tests, with a migrated template to clone, and a migrated cluster to copy. */
export async function startTestServer(): Promise<TestServer> {
  const dataDir = makeScratch()
  chmodSync(dataDir, 0o711)
  const remove = () => rmSync(dataDir, { recursive: true, force: true })
  try {
    const cluster = await makeCluster(dataDir)
    const server = await startEmbeddedPostgres({ dataDir, log: console.error })
    const stop = async () => {
      await server.stop()
      remove()
    }
    await makeTemplate(server.connectionString).catch(async (error: unknown) => {
      await stop()
      throw error
    })
    const env = { TEST_DATABASE_URL: server.connectionString, TEST_TEMPLATE: TEMPLATE, TEST_CLUSTER: cluster }
    return { env, stop }
  } catch (error) {
    remove()
    throw error
  }
}

const FOR_EVER = { exchangeRetentionDays: 0, requestLogDays: 0, orderEventRetentionDays: 0, webhookRetentionDays: 0 }

/** What a service makes in its first second, and all others find. */
async function makePartitions(connectionString: string): Promise<void> {
  const db = openDb({ connectionString, max: 1 })
  try {
    for (const spec of partitionedTables(FOR_EVER)) await keepPartitions(db, { ...spec, keepDays: null }, Date.now())
  } finally {
    await db.close()
  }
}

async function makeTemplate(adminUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  try {
    // else each connection plans each statement five times before it keeps a plan; a fifth of all processor time
    await admin.query('alter system set plan_cache_mode = force_generic_plan')
    // databases live for seconds: a worker in each of them every few seconds found nothing to do
    await admin.query('alter system set autovacuum = off')
    await admin.query('select pg_reload_conf()')
    const url = new URL(adminUrl)
    await admin.query(`create database ${TEMPLATE} template ${url.pathname.slice(1)}`)
    url.pathname = `/${TEMPLATE}`
    await makePartitions(url.href)
    await admin.query(`alter database ${TEMPLATE} with is_template true allow_connections false`)
    await admin.query('checkpoint')
  } finally {
    await admin.end()
  }
}

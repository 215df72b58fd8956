import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { findEmbeddedPostgres, startEmbeddedPostgres } from '../db/embedded/embedded.ts'
import { refuseElsewhere } from '../db/embedded/state-directory.ts'

/** Without this, a command that only reads would create a new database. @throws Error with a sentence */
export function refuseNoData({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>): void {
  if (databaseUrl !== null || existsSync(join(dataDir, 'postgres'))) return
  refuseElsewhere(dataDir)
  throw new Error(`There is no database in ${resolve(dataDir)} yet. Start the service first, or set DATA_DIR.`)
}

type Say = (line: string) => void

/**
 * The database of this installation, even while the service runs. If it is embedded and not running, it is started for
 * the duration of the task. @throws Error when the orders are in another one
 */
export async function withDatabaseServer<Result>(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  say: Say,
  work: (connectionString: string, serviceRuns: boolean) => Promise<Result>,
): Promise<Result> {
  const running = config.databaseUrl ?? (await findEmbeddedPostgres(config.dataDir))
  if (running === null) refuseElsewhere(config.dataDir)
  const own = running === null ? await startEmbeddedPostgres({ dataDir: config.dataDir, log: say }) : null
  try {
    return await work(running ?? own?.connectionString ?? '', running !== null)
  } finally {
    await own?.stop()
  }
}

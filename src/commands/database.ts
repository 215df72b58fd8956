import { claimOf } from '../checks/installation-checks.ts'
import { type Config, ConfigError } from '../config/config.ts'
import { chooseMasterKey } from '../config/master-key.ts'
import { type Db, openDb } from '../db/db.ts'
import { EMPTY, findInstallationFaults, isLeftEmpty, migrateService, readInstallation } from '../db/installation.ts'
import type { SandboxVault } from '../kernel/vault.ts'
import { openVaultOf } from '../keys/sandbox-vault.ts'
import { withDatabaseServer } from './operator-database.ts'

/** @throws ConfigError when mode or master key differ from those of this database, or a live one is empty */
export async function refuseForeignDatabase(connectionString: string, config: Config, key: Buffer): Promise<void> {
  const faults = findInstallationFaults(await readInstallation(connectionString), claimOf(config, key))
  if (faults.length === 0 && (await isLeftEmpty(connectionString, config)))
    throw new ConfigError([`${EMPTY.message} ${EMPTY.fix}`])
  if (faults.length > 0) throw new ConfigError(faults.map(({ check, message, fix }) => `${check}: ${message} ${fix}`))
}

/**
 * Opens the database, even while the service runs, and runs one task.
 * @throws ConfigError when mode or master key differ from those of this database
 */
export async function withDatabase<Result>(
  config: Config,
  say: (line: string) => void,
  work: (db: Db, vault: SandboxVault) => Promise<Result>,
): Promise<Result> {
  return withDatabaseServer(config, say, async (connectionString) => {
    const chosen = chooseMasterKey(config)
    await refuseForeignDatabase(connectionString, config, chosen.key)
    chosen.keep()
    await migrateService({ connectionString, directUrl: config.databaseDirectUrl }, { onWaiting: say })
    const db = openDb({
      ...{ connectionString, max: 4, prepared: config.databasePrepared, applicationName: 'comptoir-command' },
    })
    try {
      return await work(db, await openVaultOf(db, config, chosen.key))
    } finally {
      await db.close()
    }
  })
}

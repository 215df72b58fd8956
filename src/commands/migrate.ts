import { parseArgs } from 'node:util'
import { claimOf } from '../checks/installation-checks.ts'
import { type Config, ConfigError } from '../config/config.ts'
import { findMasterKey } from '../config/master-key.ts'
import { findInstallationFaults, migrateService, readInstallation } from '../db/installation.ts'
import type { OperatorCommand } from './admin.ts'
import { withDatabaseServer } from './operator-database.ts'
import { startProgress } from './progress.ts'

/** An empty database belongs to no one yet. @throws ConfigError when this one is of another mode or master key */
async function refuseAnother(connectionString: string, config: Config): Promise<void> {
  const key = findMasterKey(config)
  const known = await readInstallation(connectionString)
  if (!key || !known) return
  const faults = findInstallationFaults(known, claimOf(config, key))
  if (faults.length > 0) throw new ConfigError(faults.map(({ check, message, fix }) => `${check}: ${message} ${fix}`))
}

/** Migrates the database, embedded or not, to the newest schema, even while the service runs. */
export const runMigrate: OperatorCommand = async (config, args, say) => {
  const { json } = parseArgs({ args, options: { json: { type: 'boolean', default: false } } }).values
  const place = { ...config, databaseUrl: config.databaseDirectUrl ?? config.databaseUrl }
  const onApplied = startProgress(say, 'Migrations', 'applied')
  const applied = await withDatabaseServer(place, say, async (connectionString) => {
    await refuseAnother(connectionString, config)
    const urls = { connectionString: config.databaseUrl ?? connectionString, directUrl: config.databaseDirectUrl }
    return migrateService(urls, { onApplied, onWaiting: say })
  })
  const sentence = applied.length === 0 ? 'The schema is the newest already.' : `Applied: ${applied.join(', ')}`
  process.stdout.write(`${json ? JSON.stringify({ applied }) : sentence}\n`)
  return undefined
}

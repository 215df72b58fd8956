import { parseArgs } from 'node:util'
import { migrateService } from '../db/installation.ts'
import type { OperatorCommand } from './admin.ts'
import { withDatabaseServer } from './operator-database.ts'
import { startProgress } from './progress.ts'

/** Migrates the database, embedded or not, to the newest schema, even while the service runs. */
export const runMigrate: OperatorCommand = async (config, args, say) => {
  const { json } = parseArgs({ args, options: { json: { type: 'boolean', default: false } } }).values
  const place = { ...config, databaseUrl: config.databaseDirectUrl ?? config.databaseUrl }
  const onApplied = startProgress(say, 'Migrations', 'applied')
  const applied = await withDatabaseServer(place, say, (connectionString) =>
    migrateService(
      { connectionString: config.databaseUrl ?? connectionString, directUrl: config.databaseDirectUrl },
      { onApplied, onWaiting: say },
    ),
  )
  const sentence = applied.length === 0 ? 'The schema is the newest already.' : `Applied: ${applied.join(', ')}`
  process.stdout.write(`${json ? JSON.stringify({ applied }) : sentence}\n`)
  return undefined
}

import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '../db/embedded/embedded.ts'
import { migrate } from '../db/migrate.ts'
import type { OperatorCommand } from './admin.ts'
import { startProgress } from './progress.ts'

/** Brings the database, or the embedded one, to the newest schema. */
export const runMigrate: OperatorCommand = async (config, args, say) => {
  const { json } = parseArgs({ args, options: { json: { type: 'boolean', default: false } } }).values
  const outside = config.databaseDirectUrl ?? config.databaseUrl
  const server = outside === null ? await startEmbeddedPostgres({ dataDir: config.dataDir, log: say }) : null
  const print = (text: string): void => void process.stdout.write(`${text}\n`)
  try {
    const connectionString = outside ?? server?.connectionString ?? ''
    const applied = await migrate(connectionString, { onApplied: startProgress(say, 'Migrations', 'applied') })
    if (json) print(JSON.stringify({ applied }))
    else print(applied.length === 0 ? 'The schema is the newest already.' : `Applied: ${applied.join(', ')}`)
  } finally {
    await server?.stop()
  }
  return undefined
}

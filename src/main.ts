import { parseArgs } from 'node:util'
import {
  ADMIN_USAGE,
  AUDIT_USAGE,
  LEDGER_USAGE,
  type OperatorCommand,
  runAdmin,
  runAudit,
  runLedger,
} from './commands/admin.ts'
import { AGE_ORDERS_USAGE, runAgeOrders } from './commands/age-orders.ts'
import { BACKUP_USAGE, RESTORE_USAGE, runBackup } from './commands/backup/backup.ts'
import { RECONCILE_USAGE, runReconcile } from './commands/backup/reconcile.ts'
import { runRestore } from './commands/backup/restore.ts'
import { type Commands, runCommand } from './commands/command.ts'
import { runDoctor } from './commands/doctor.ts'
import { INIT_USAGE, runInit } from './commands/init/init.ts'
import { startProgress } from './commands/progress.ts'
import { RESCAN_USAGE, runRescan } from './commands/rescan.ts'
import { readEnv, runServe } from './commands/serve/serve-command.ts'
import { runSweepCommand, SWEEP_USAGE } from './commands/sweep.ts'
import { ConfigError, loadConfig } from './config/config.ts'
import { startEmbeddedPostgres } from './db/embedded/embedded.ts'
import { migrate } from './db/migrate.ts'

const say = (line: string): void => void process.stderr.write(`${line}\n`)

const print = (text: string): void => void process.stdout.write(`${text}\n`)

function printTable(facts: Record<string, unknown>, file: string): void {
  type Login = { email: string; password: string }
  const { manager, superAdmin } = facts as { manager: Login; superAdmin: Login }
  const rows: [string, unknown][] = [
    ['Service', facts.baseUrl],
    ['Back office', facts.officeUrl],
    ['Documentation', facts.docsUrl],
    ['Demo shop', facts.demoShopUrl],
    ['Providers', `${facts.providersUrl}/payments`],
    ['Manager', `${manager.email}  ${manager.password}`],
    ['SuperAdmin', `${superAdmin.email}  ${superAdmin.password}`],
    ['Mailbox', facts.mailboxUrl],
    ['x-api-key', facts.apiKey],
    ['x-api-secret', facts.apiSecret],
    ['Till', facts.merchantIdentifier],
    ['All of this', file],
  ]
  const lines = rows.map(([name, value]) => `  ${name.padEnd(14)} ${String(value ?? '–')}`)
  process.stdout.write(`\nComptoir is ready (sandbox: no real money).\n\n${lines.join('\n')}\n\nStop with Ctrl-C.\n`)
}

const readJsonFlag = (args: string[]): { json: boolean } =>
  parseArgs({ args, options: { json: { type: 'boolean', default: false } } }).values

async function runMigrate(args: string[]): Promise<undefined> {
  const { json } = readJsonFlag(args)
  const config = loadConfig(readEnv())
  const outside = config.databaseDirectUrl ?? config.databaseUrl
  const server = outside === null ? await startEmbeddedPostgres({ dataDir: config.dataDir, log: say }) : null
  try {
    const connectionString = outside ?? server?.connectionString ?? ''
    const applied = await migrate(connectionString, { onApplied: startProgress(say, 'Migrations', 'applied') })
    if (json) print(JSON.stringify({ applied }))
    else print(applied.length === 0 ? 'The schema is the newest already.' : `Applied: ${applied.join(', ')}`)
  } finally {
    await server?.stop()
  }
}

const JSON_FLAG = '  --json   for programs'

const COMMANDS: Commands = {
  serve: {
    summary: 'run the service (also without a command)',
    usage: 'comptoir serve\n\nRuns what ROLES says: API, workers, in the sandbox all of it. Settings: .env.example',
    run: (args) => runServe(args, { say, print, printTable }),
  },
  migrate: {
    summary: 'bring the database to the newest schema',
    usage: `comptoir migrate [--json]\n\n${JSON_FLAG}`,
    run: runMigrate,
  },
  init: {
    summary: 'write a live configuration, step by step',
    usage: INIT_USAGE,
    run: (args) => runInit(args, process.env, say),
  },
  doctor: {
    summary: 'look at everything that the service needs, and say what to do',
    usage: `comptoir doctor [--json]\n\nChanges nothing. Exit code 1 when a check fails.\n${JSON_FLAG}`,
    run: (args) => runDoctor(readEnv(), readJsonFlag(args)),
  },
  admin: {
    summary: 'the operator’s own work on accounts and keys',
    usage: ADMIN_USAGE,
    run: runOperatorCommand(runAdmin),
  },
  audit: { summary: 'verify the audit log', usage: AUDIT_USAGE, run: runOperatorCommand(runAudit) },
  ledger: { summary: 'verify the books', usage: LEDGER_USAGE, run: runOperatorCommand(runLedger) },
  backup: {
    summary: 'an encrypted copy of the embedded database',
    usage: BACKUP_USAGE,
    run: runOperatorCommand(runBackup),
  },
  restore: { summary: 'put a backup into a new place', usage: RESTORE_USAGE, run: runOperatorCommand(runRestore) },
  reconcile: {
    summary: 'after a restore: compare with chains and providers',
    usage: RECONCILE_USAGE,
    run: runOperatorCommand(runReconcile),
  },
  rescan: { summary: 'read a chain again from a block on', usage: RESCAN_USAGE, run: runOperatorCommand(runRescan) },
  'age-orders': {
    summary: 'sandbox: give a demo shop a past',
    usage: AGE_ORDERS_USAGE,
    run: runOperatorCommand(runAgeOrders),
  },
  sweep: {
    summary: 'bring deposits home: plan, sign, send',
    usage: SWEEP_USAGE,
    run: runSweepCommand(() => loadConfig(readEnv()), say),
  },
}

function runOperatorCommand(work: OperatorCommand): (args: string[]) => Promise<boolean | undefined> {
  return (args) => work(loadConfig(readEnv()), args, say)
}

const describe = (error: unknown): string => {
  if (error instanceof ConfigError)
    return `Comptoir does not start:\n${error.faults.map((fault) => `  ${fault}`).join('\n')}`
  return error instanceof Error ? error.message : String(error)
}

const isService = ['serve', undefined].includes(process.argv[2])
const exitCode = await runCommand(COMMANDS, process.argv.slice(2), { print, say, describe })
// the service goes on; everything else has ended
if (!isService || exitCode !== 0 || process.argv.includes('--help')) process.exit(exitCode)

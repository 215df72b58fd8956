import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeFailure } from './checks/database-words.ts'
import type { OperatorCommand } from './commands/admin.ts'
import { type Commands, runCommand } from './commands/command.ts'
import { findEnvFile, readEnv } from './commands/read-env.ts'
import { ConfigError, loadConfig } from './config/config.ts'
import { waitForEachAddress } from './kernel/process/address-attempts.ts'
import { endWithReader } from './kernel/process/closed-output.ts'

const say = (line: string): void => void process.stderr.write(`${line}\n`)

function printTable(facts: Record<string, unknown>, file: string): void {
  type Login = { email: string; password: string }
  const { manager, superAdmin } = facts as { manager: Login; superAdmin: Login }
  const rows: [string, unknown][] = [
    ['Service', facts.baseUrl],
    ['Back office', facts.officeUrl],
    ['Documentation', facts.docsUrl],
    ['Demo shop', facts.demoShopUrl],
    ['Providers', facts.providersUrl && `${facts.providersUrl}/payments`],
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

const JSON_FLAG = '  --json   for programs'

const COMMANDS: Commands = {
  serve: async () => {
    const { runServe, SERVE_USAGE } = await import('./commands/serve/serve-command.ts')
    return { usage: SERVE_USAGE, run: (args) => runServe(args, { say, printTable }) }
  },
  migrate: async () => {
    const { runMigrate } = await import('./commands/migrate.ts')
    return { usage: `comptoir migrate [--json]\n\n${JSON_FLAG}`, run: asOperator(runMigrate) }
  },
  init: async () => {
    const { INIT_USAGE, runInit } = await import('./commands/init/init.ts')
    return { usage: INIT_USAGE, run: (args) => runInit(args, process.env, say) }
  },
  doctor: async () => {
    const { runDoctor } = await import('./commands/doctor.ts')
    return {
      usage: `comptoir doctor [--json]\n\nChanges nothing. Exit code 1 when a check fails.\n${JSON_FLAG}`,
      run: (args) => runDoctor(readEnv(), { ...readJsonFlag(args), file: findEnvFile() }),
    }
  },
  admin: async () => {
    const { ADMIN_USAGE, runAdmin } = await import('./commands/admin.ts')
    return { usage: ADMIN_USAGE, run: asOperator(runAdmin) }
  },
  audit: async () => {
    const { AUDIT_USAGE, runAudit } = await import('./commands/admin.ts')
    return { usage: AUDIT_USAGE, run: asOperator(runAudit) }
  },
  ledger: async () => {
    const { LEDGER_USAGE, runLedger } = await import('./commands/admin.ts')
    return { usage: LEDGER_USAGE, run: asOperator(runLedger) }
  },
  backup: async () => {
    const { BACKUP_USAGE, runBackup } = await import('./commands/backup/backup.ts')
    return { usage: BACKUP_USAGE, run: asOperator(runBackup) }
  },
  restore: async () => {
    const [{ RESTORE_USAGE }, { runRestore }] = await Promise.all([
      import('./commands/backup/backup.ts'),
      import('./commands/backup/restore.ts'),
    ])
    return { usage: RESTORE_USAGE, run: asOperator(runRestore, { mayLack: true }) }
  },
  reconcile: async () => {
    const { RECONCILE_USAGE, runReconcile } = await import('./commands/backup/reconcile.ts')
    return { usage: RECONCILE_USAGE, run: asOperator(runReconcile) }
  },
  rescan: async () => {
    const { RESCAN_USAGE, runRescan } = await import('./commands/rescan.ts')
    return { usage: RESCAN_USAGE, run: asOperator(runRescan) }
  },
  'age-orders': async () => {
    const { AGE_ORDERS_USAGE, runAgeOrders } = await import('./commands/age-orders.ts')
    return { usage: AGE_ORDERS_USAGE, run: asOperator(runAgeOrders) }
  },
  sweep: async () => {
    const { runSweepCommand, SWEEP_USAGE } = await import('./commands/sweep.ts')
    return { usage: SWEEP_USAGE, run: runSweepCommand(() => loadConfig(readEnv()), say) }
  },
}

function asOperator(
  work: OperatorCommand,
  settings: { mayLack?: boolean } = {},
): (args: string[]) => Promise<boolean | undefined> {
  return (args) => work(loadConfig(readEnv(settings)), args, say)
}

const describe = (error: unknown): string => {
  if (error instanceof ConfigError)
    return `Comptoir does not start:\n${error.faults.map((fault) => `  ${fault}`).join('\n')}`
  return describeFailure(error)
}

const version = (): string => {
  const text = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

const asksForHelp = process.argv.some((word) => ['--help', '-h'].includes(word))
const isService = ['serve', undefined].includes(process.argv[2]) && !asksForHelp
waitForEachAddress()
if (!isService) endWithReader()
const exitCode = await runCommand(COMMANDS, process.argv.slice(2), { say, describe, version })
// the service keeps running; every other command exits here
if (!isService || exitCode !== 0) process.exit(exitCode)

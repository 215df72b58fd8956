import { existsSync } from 'node:fs'
import { runAdmin, runAudit, runLedger } from './commands/admin.ts'
import { type Config, ConfigError, loadConfig } from './config/config.ts'
import { startEmbeddedPostgres } from './db/embedded/embedded.ts'
import { migrate } from './db/migrate.ts'
import { collectStartGarbage } from './kernel/start-garbage.ts'
import { type Running, serve } from './serve.ts'

const say = (line: string): void => void process.stderr.write(`${line}\n`)

function readConfig(): Config {
  if (existsSync('.env')) process.loadEnvFile('.env')
  return loadConfig(process.env)
}

function printTable(facts: Record<string, unknown>, file: string): void {
  type Login = { email: string; password: string }
  const { manager, superAdmin } = facts as { manager: Login; superAdmin: Login }
  const rows: [string, unknown][] = [
    ['Service', facts.baseUrl],
    ['Back office', facts.officeUrl],
    ['API reference', facts.docsUrl],
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

function stopOnSignals(running: Running): void {
  let stopping = false
  const stop = (): void => {
    if (stopping) return
    stopping = true
    const timer = setTimeout(() => process.exit(1), 4800)
    void running.stop().finally(() => {
      clearTimeout(timer)
      process.exit(0)
    })
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
}

async function runServe(): Promise<void> {
  const running = await serve(readConfig(), say)
  stopOnSignals(running)
  collectStartGarbage()
  if (running.facts) printTable(running.facts, `${running.config.dataDir}/sandbox.json`)
  else process.stdout.write(`Comptoir is ready: ${running.config.baseUrl}\n`)
}

async function runMigrate(): Promise<void> {
  const config = readConfig()
  const server = config.databaseUrl === null ? await startEmbeddedPostgres({ dataDir: config.dataDir, log: say }) : null
  try {
    const applied = await migrate(config.databaseUrl ?? server?.connectionString ?? '')
    process.stdout.write(
      applied.length === 0 ? 'The schema is the newest already.\n' : `Applied: ${applied.join(', ')}\n`,
    )
  } finally {
    await server?.stop()
  }
}

const COMMANDS: Record<string, () => Promise<void>> = {
  serve: runServe,
  migrate: runMigrate,
  admin: () => runAdmin(readConfig(), process.argv.slice(3), say),
  audit: () => runAudit(readConfig(), process.argv.slice(3), say),
  ledger: () => runLedger(readConfig(), process.argv.slice(3), say),
}

const command = process.argv[2] ?? 'serve'
try {
  const run = COMMANDS[command]
  if (!run) throw new Error(`There is no command "${command}". Choose from: ${Object.keys(COMMANDS).join(', ')}.`)
  await run()
} catch (error) {
  if (error instanceof ConfigError)
    say(`The configuration is not complete:\n${error.faults.map((fault) => `  ${fault}`).join('\n')}`)
  else say(error instanceof Error ? error.message : String(error))
  process.exit(1)
}

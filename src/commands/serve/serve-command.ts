import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Logger, pino } from 'pino'
import { Registry } from 'prom-client'
import { hasOwnChain } from '../../assembly/sandbox-settings.ts'
import { loadForStart, readEnvironment } from '../../checks/environment.ts'
import type { Config, Env } from '../../config/config.ts'
import { countProcesses } from '../../config/process-count.ts'
import { outgrowsEmbedded } from '../../db/connection-need.ts'
import { metricsHostOf, startMetricsServer } from '../../http/health/metrics-server.ts'
import { Closers, noteInstallation, openOwned, type Running, serve } from '../../serve.ts'
import { print } from '../command.ts'
import { findCutSettings, findEnvFile, listDividedPlaces, readEnv } from '../read-env.ts'
import { type Parent, startParent } from './parent.ts'

type Say = (line: string) => void

const STOP_MS = 4800
/** Several processes may need their full time to stop. */
const STOP_ALL_MS = 16_000

function onSignals(stop: () => Promise<void>, { forMs, reload }: { forMs: number; reload: (() => void) | null }): void {
  let stopping = false
  const end = (): void => {
    if (stopping) return
    stopping = true
    const timer = setTimeout(() => process.exit(1), forMs)
    void stop().finally(() => {
      clearTimeout(timer)
      process.exit(0)
    })
  }
  process.on('SIGINT', end)
  process.on('SIGTERM', end)
  process.on('SIGHUP', reload ?? end)
}

const placeOf = ({ roles, host, port }: Config): string =>
  roles.includes('api') ? `listening on ${host}:${port} (HOST, PORT)` : 'as a worker'

/** One process that does everything. Closing the terminal ends the sandbox; live mode keeps running. */
async function runAlone(config: Config, say: Say): Promise<Running> {
  const running = await serve(config, say)
  const refuse = (): void =>
    running.app.log.error('SIGHUP: one process cannot replace itself. Set PROCESSES=2 or auto, or restart.')
  onSignals(() => running.stop(), { forMs: STOP_MS, reload: config.mode === 'live' ? refuse : null })
  return running
}

/**
 * What the parent owns: its socket, database and sandbox stay as they are until a restart, and the proxy goes on asking
 * at the address of before.
 */
const OWNED: readonly { name: string; read(config: Config): unknown }[] = [
  { name: 'MODE', read: ({ mode }) => mode },
  { name: 'DATABASE_URL', read: ({ databaseUrl }) => databaseUrl },
  { name: 'DATA_DIR', read: ({ dataDir }) => dataDir },
  { name: 'HOST', read: ({ host }) => host },
  { name: 'PORT', read: ({ port }) => port },
  { name: 'METRICS_PORT', read: ({ metricsPort }) => metricsPort },
  {
    name: 'The address of METRICS_PORT, which follows from METRICS_TOKEN,',
    read: (config) => config.metricsPort !== null && metricsHostOf(config),
  },
  { name: 'SANDBOX_PROVIDERS_URL', read: ({ sandbox }) => sandbox.providersUrl },
  { name: 'CHAIN_<id>_RPC_URL, in place of the sandbox’s own chain', read: hasOwnChain },
]

const listOwned = (next: Config, first: Config): string[] => [
  ...OWNED.filter(({ read }) => read(next) !== read(first)).map(({ name }) => `${name} needs a restart.`),
  ...(first.databaseUrl === null && outgrowsEmbedded(next, first)
    ? ['More PROCESSES on the database in DATA_DIR need a restart.']
    : []),
]

const NOT_NOTED =
  'the database did not take the mark of its master key. Keep MASTER_KEY_PREVIOUS, and send SIGHUP again.'

type ReloadDeps = { parent: Parent; first: Config; port: number; connectionString: string; log: Logger }

/** What a reload would bring, or why it brings nothing. */
function readAgain(first: Config): { config: Config; env: Env } | { reasons: string[] } {
  let env: Env
  try {
    env = readEnv()
  } catch (error) {
    // a settings file that is unreadable now must not end the service
    return { reasons: [(error as Error).message] }
  }
  const { config, refusals } = readEnvironment(env)
  const reasons = [...refusals, ...listOwned(config, first)]
  return reasons.length > 0 ? { reasons } : { config, env }
}

/** A signal that comes while it reloads is heard afterwards: what it is about may have been written meanwhile. */
function openReload({ parent, first, port, connectionString, log }: ReloadDeps): () => void {
  let busy = false
  let again = false
  const reload = async (): Promise<void> => {
    const read = readAgain(first)
    if ('reasons' in read) return log.error({ reasons: read.reasons }, 'SIGHUP: nothing was changed')
    const { config, env } = read
    log.info('SIGHUP: starting new processes; the old ones finish their work and exit')
    if (!(await parent.reload({ ...config, port }, { ...env, PORT: String(port) })))
      return log.error('SIGHUP: the new processes did not start; the old ones go on')
    const noted = await noteInstallation(config, connectionString).then(
      () => true,
      () => false,
    )
    if (noted) log.info('SIGHUP: reloaded')
    else log.error(`SIGHUP: reloaded, but ${NOT_NOTED}`)
  }
  const run = async (): Promise<void> => {
    busy = true
    do {
      again = false
      await reload().catch((error: unknown) => log.error({ err: error }, 'SIGHUP: the reload failed'))
    } while (again)
    busy = false
  }
  return () => {
    if (!busy) return void run()
    again = true
    log.info('SIGHUP: a reload is in progress; the settings are read once more after it')
  }
}

async function runMany(
  given: Config,
  env: NodeJS.ProcessEnv,
  { say, log }: { say: Say; log: Logger },
): Promise<Parent> {
  const closers = new Closers()
  try {
    const { config, handover } = await openOwned(given, say, { closers })
    env.PORT = String(config.port)
    const parent = await startParent(config, env, { handover, log })
    const { metricsPort } = config
    const place = { host: metricsHostOf(config), token: () => parent.config().metricsToken }
    const registry = { contentType: Registry.PROMETHEUS_CONTENT_TYPE, metrics: parent.metrics.read }
    const scraped = metricsPort === null ? null : await startMetricsServer(registry, { ...place, port: metricsPort })
    const stop = async (): Promise<void> => {
      await parent.stop()
      await scraped?.close()
      await closers.closeAll()
    }
    const { connectionString } = handover
    const reload = openReload({ parent, first: given, port: config.port, connectionString, log })
    onSignals(stop, { forMs: STOP_ALL_MS, reload })
    return parent
  } catch (error) {
    await closers.closeAll()
    throw error
  }
}

/**
 * A reload may come while a migration runs, and by default this signal would end the process.
 * @returns ends the answers: the service is there
 */
function answerEarlyReloads(log: Logger): () => void {
  const answer = (): void =>
    log.warn('SIGHUP: still starting; nothing was changed. Send it again once Comptoir is ready.')
  process.on('SIGHUP', answer)
  return () => void process.off('SIGHUP', answer)
}

const DIVIDED =
  'The environment wins here; a command that is run without it works on another database. Remove one of the two.'

export const SERVE_USAGE = `comptoir serve [--json]

Runs what ROLES says: API, workers, in the sandbox all of it. Settings: .env.example

  --json   for programs: one line once it is ready, with what the sandbox's table shows`

/** `serve`: the service, in one process or several. @param printTable prints what a user of the sandbox needs */
export async function runServe(
  args: string[],
  { say, printTable }: { say: Say; printTable(facts: Record<string, unknown>, file: string): void },
): Promise<undefined> {
  const { json } = parseArgs({ args, options: { json: { type: 'boolean', default: false } } }).values
  const env: Env = readEnv()
  const file = findEnvFile()
  const cut = file === null ? null : findCutSettings(file)
  if (cut !== null) say(`Warning: ${cut.message} ${cut.fix}`)
  for (const name of listDividedPlaces()) say(`${name} in the environment differs from the settings file. ${DIVIDED}`)
  const { config } = loadForStart(env, say)
  const { mode, baseUrl, host, port, roles } = config
  const count = countProcesses(config.processes)
  const isAlone = count === 1
  const endsWithTerminal = isAlone && mode === 'sandbox'
  // as the service's own lines
  const log = pino({ level: config.logLevel, base: null })
  const isThere = endsWithTerminal ? () => {} : answerEarlyReloads(log)
  const facts = isAlone
    ? (await runAlone(config, say)).facts
    : (await runMany(config, { ...env }, { say, log })).facts()
  isThere()
  const written = `${config.dataDir}/sandbox.json`
  if (json) {
    const known = { ready: true, mode, baseUrl, host, port, roles, processes: count }
    print(JSON.stringify({ ...known, ...(facts && { ...facts, file: resolve(written) }) }))
  } else if (facts) printTable(facts, written)
  else print(`Comptoir is ready: ${baseUrl}, ${placeOf(config)}${isAlone ? '' : `, in ${count} processes`}`)
}

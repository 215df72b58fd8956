import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Registry } from 'prom-client'
import { loadForStart, readEnvironment } from '../../checks/environment.ts'
import type { Config, Env } from '../../config/config.ts'
import { startMetricsServer } from '../../http/health/metrics-server.ts'
import { Closers, noteInstallation, openOwned, type Running, serve } from '../../serve.ts'
import { print } from '../command.ts'
import { listDividedPlaces, readEnv } from '../read-env.ts'
import { countProcesses, type Parent, startParent } from './parent.ts'

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
  const refuse = (): void => say('SIGHUP: one process cannot replace itself. Set PROCESSES=2 or auto, or restart.')
  onSignals(() => running.stop(), { forMs: STOP_MS, reload: config.mode === 'live' ? refuse : null })
  return running
}

/** The parent owns these, so only a restart changes them. */
const OWNED = ['databaseUrl', 'dataDir', 'mode', 'host', 'metricsPort'] as const

/** A settings file that is unreadable now must not end the service. */
function readAgain(say: Say): Env | undefined {
  try {
    return readEnv()
  } catch (error) {
    say(`SIGHUP: nothing was changed.\n  ${(error as Error).message}`)
    return undefined
  }
}

const NOT_NOTED =
  'the database did not take the mark of its master key. Keep MASTER_KEY_PREVIOUS, and send SIGHUP again.'

type ReloadDeps = { parent: Parent; first: Config; connectionString: string; say: Say }

function openReload({ parent, first, connectionString, say }: ReloadDeps): () => void {
  let busy = false
  const reload = async (config: Config, env: Env): Promise<void> => {
    if (!(await parent.reload(config, env))) return say('SIGHUP: the new processes did not start; the old ones go on.')
    const noted = await noteInstallation(config, connectionString).then(
      () => true,
      () => false,
    )
    say(noted ? 'SIGHUP: reloaded.' : `SIGHUP: reloaded, but ${NOT_NOTED}`)
  }
  return () => {
    if (busy) return say('SIGHUP: a reload is already in progress.')
    const env = readAgain(say)
    if (env === undefined) return
    const { config, refusals } = readEnvironment(env)
    const fixed = OWNED.filter((name) => config[name] !== first[name])
    if (refusals.length > 0 || fixed.length > 0) {
      const reasons = [...refusals, ...fixed.map((name) => `${name} changes with a restart only`)]
      return say(`SIGHUP: nothing was changed.\n${reasons.map((reason) => `  ${reason}`).join('\n')}`)
    }
    busy = true
    say('SIGHUP: starting new processes; the old ones finish their work and exit.')
    void reload(config, env).finally(() => {
      busy = false
    })
  }
}

async function runMany(given: Config, env: NodeJS.ProcessEnv, say: Say): Promise<Parent> {
  const closers = new Closers()
  try {
    const { config, handover } = await openOwned(given, say, { closers })
    env.PORT = String(config.port)
    const parent = await startParent(config, env, { handover, say })
    const { host, metricsPort } = config
    const token = () => parent.config().metricsToken
    const registry = { contentType: Registry.PROMETHEUS_CONTENT_TYPE, metrics: parent.metrics.read }
    const scraped = metricsPort === null ? null : await startMetricsServer(registry, { host, port: metricsPort, token })
    const stop = async (): Promise<void> => {
      await parent.stop()
      await scraped?.close()
      await closers.closeAll()
    }
    const reload = openReload({ parent, first: given, connectionString: handover.connectionString, say })
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
function answerEarlyReloads(say: Say): () => void {
  const answer = (): void => say('SIGHUP: still starting; nothing was changed. Send it again once Comptoir is ready.')
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
  for (const name of listDividedPlaces()) say(`${name} in the environment differs from the settings file. ${DIVIDED}`)
  const { config } = loadForStart(env, say)
  const { mode, baseUrl, host, port, roles } = config
  const count = countProcesses(config.processes)
  const isAlone = count === 1
  const endsWithTerminal = isAlone && mode === 'sandbox'
  const isThere = endsWithTerminal ? () => {} : answerEarlyReloads(say)
  const facts = isAlone ? (await runAlone(config, say)).facts : (await runMany(config, { ...env }, say)).facts()
  isThere()
  const file = `${config.dataDir}/sandbox.json`
  if (json) {
    const known = { ready: true, mode, baseUrl, host, port, roles, processes: count }
    print(JSON.stringify({ ...known, ...(facts && { ...facts, file: resolve(file) }) }))
  } else if (facts) printTable(facts, file)
  else print(`Comptoir is ready: ${baseUrl}, ${placeOf(config)}${isAlone ? '' : `, in ${count} processes`}`)
}

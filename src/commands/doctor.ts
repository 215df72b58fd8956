import type { CheckResult } from '../checks/check.ts'
import { runChecks } from '../checks/check.ts'
import { readEnvironment } from '../checks/environment.ts'
import {
  claimOf,
  connectionChecks,
  outsideChecks,
  runDatabaseChecks,
  schemaCheck,
} from '../checks/installation-checks.ts'
import { rehearsalCheck } from '../checks/rehearsal-check.ts'
import type { Config, Env } from '../config/config.ts'
import { findMasterKey } from '../config/master-key.ts'
import { findEmbeddedPostgres } from '../db/embedded/embedded.ts'
import { findElsewhere, findNoDatabase } from '../db/embedded/state-directory.ts'
import { print } from './command.ts'
import { findCutSettings } from './read-env.ts'

/** A sandbox's first start makes its database. */
const findPlaceFault = ({ dataDir, mode }: Config) =>
  findElsewhere(dataDir) ?? (mode === 'live' ? findNoDatabase(dataDir, mode) : null)

async function checkDatabase(config: Config): Promise<CheckResult[]> {
  const connectionString = config.databaseUrl ?? (await findEmbeddedPostgres(config.dataDir))
  const fault = config.databaseUrl === null ? findPlaceFault(config) : null
  if (fault !== null) return [{ name: 'database', ok: false, message: fault.what, fix: fault.fix }]
  if (connectionString === null) {
    const message = 'The embedded database is not running; it starts with the service.'
    return [{ name: 'database', ok: true, message, fix: null }]
  }
  const key = findMasterKey(config)
  if (!key) return [{ name: 'master-key', ok: false, message: 'There is no master key.', fix: 'Set MASTER_KEY.' }]
  const place = { connectionString, prepared: config.databasePrepared }
  return runDatabaseChecks(place, claimOf(config, key), [
    schemaCheck(connectionString, config),
    rehearsalCheck(connectionString),
    ...connectionChecks(config),
  ])
}

const printResult = ({ name, ok, message, fix }: CheckResult): string => {
  const lines = message.split('\n').map((line, index) => (index === 0 ? line : `${' '.repeat(28)}${line}`))
  const first = `${ok ? 'ok  ' : 'FAIL'}  ${name.padEnd(20)}  ${lines.join('\n')}`
  return ok || fix === null ? first : `${first}\n${' '.repeat(28)}→ ${fix}`
}

/** Names what was checked: in the wrong folder, a sandbox that does not exist would look fine. */
const headline = ({ mode }: Config, file: string | null): string =>
  `${mode === 'live' ? 'Live' : 'Sandbox'}; ${file === null ? `no .env in ${process.cwd()}, only the environment` : `settings from ${file}`}.`

type Diagnosis = { ready: boolean; checks: CheckResult[]; words: string }

/**
 * Checks everything that the service needs, without changing anything. @param file where settings come from, besides
 * the environment
 */
export async function diagnose(env: Env, file: string | null): Promise<Diagnosis> {
  const { config, results, warnings } = readEnvironment(env)
  const typos = warnings.map((message) => ({ name: 'settings', ok: false, message, fix: 'Correct or remove it.' }))
  const [database, outside] = await Promise.all([checkDatabase(config), runChecks(outsideChecks(config))])
  const cut = file === null ? null : findCutSettings(file)
  const cuts = cut === null ? [] : [{ name: 'settings', ok: false, ...cut }]
  const checks = [
    ...(cut === null ? results : results.filter(({ ok }) => !ok)),
    ...cuts,
    ...typos,
    ...database,
    ...outside,
  ]
  const words = [headline(config, file), ...checks.map(printResult)].join('\n')
  return { ready: checks.every(({ ok }) => ok), checks, words }
}

/** @returns whether all checks passed */
export async function runDoctor(env: Env, { json, file }: { json: boolean; file: string | null }): Promise<boolean> {
  const { ready, checks, words } = await diagnose(env, file)
  print(json ? JSON.stringify({ ready, checks }, null, 2) : words)
  return ready
}

import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { claimOf } from '../../checks/installation-checks.ts'
import type { Config, Env } from '../../config/config.ts'
import { findMasterKey } from '../../config/master-key.ts'
import { findInstallationFaults, readInstallation } from '../../db/installation.ts'
import { withDatabaseServer } from '../operator-database.ts'
import type { Flags } from './asker.ts'

type Say = (line: string) => void

/** The settings of the file to be replaced. @throws Error when it must not be replaced */
export function readOldEnv(file: string, replace: boolean): Env {
  if (!existsSync(file)) return {}
  if (!replace) throw new Error(`${file} exists. Nothing was written; add --force to replace it.`)
  return parseEnv(readFileSync(file, 'utf8'))
}

const domainOf = (url: string | undefined): string | undefined =>
  url !== undefined && URL.canParse(url) ? new URL(url).hostname : undefined

/**
 * What the old file answers, by flag. Above all where its database is: in another place there would be an empty one,
 * under the same keys.
 */
export function listEarlier(old: Env): Flags {
  if (old.MODE !== 'live') return {}
  return {
    domain: domainOf(old.BASE_URL),
    'database-url': old.DATABASE_URL,
    'data-dir': old.DATA_DIR ?? (existsSync(join('data', 'postgres')) ? './data' : undefined),
    'backup-to': old.BACKUP_TO,
    'smtp-url': old.SMTP_URL,
    'mail-from': old.MAIL_FROM,
    'operator-email': old.OPERATOR_EMAIL,
  }
}

/** Sentences about a database that is in another place than before, because the answers say so. */
export function listMoved(old: Env, written: Env): string[] {
  const isElsewhere = (name: 'DATA_DIR' | 'DATABASE_URL', form: (value: string) => string): boolean =>
    !!old[name] && form(old[name]) !== form(written[name] ?? '')
  const lines = []
  if (isElsewhere('DATA_DIR', (folder) => resolve(folder)))
    lines.push(`DATA_DIR was ${old.DATA_DIR}. What is there stays there, and is not used from now on.`)
  if (isElsewhere('DATABASE_URL', (url) => url))
    lines.push('DATABASE_URL is another than before. What is in the earlier database is not used from now on.')
  return lines
}

/** A setting in the form in which it was set: directly, or as the file that holds it. */
function findGiven(name: string, env: Env): Record<string, string> | undefined {
  const { [name]: value, [`${name}_FILE`]: file } = env
  if (value) return { [name]: value }
  return file ? { [`${name}_FILE`]: resolve(file) } : undefined
}

/**
 * The master key already in use, and its predecessors: from the environment, otherwise from the old file.
 * @returns undefined for the first installation
 */
export function findKnownKey(environment: Env, old: Env): Record<string, string> | undefined {
  const find = (name: string) => findGiven(name, environment) ?? findGiven(name, old)
  const key = find('MASTER_KEY')
  return key && { ...key, ...find('MASTER_KEY_PREVIOUS') }
}

/** The token of /metrics already in use: whoever reads them would otherwise be refused after the next start. */
export const findKnownToken = (environment: Env, old: Env): Record<string, string> | undefined =>
  findGiven('METRICS_TOKEN', environment) ?? findGiven('METRICS_TOKEN', old)

const KEY_HINT =
  'This database was made with another MASTER_KEY, and without it what it encrypted cannot be read. Nothing was ' +
  'written. Run this again with that key: MASTER_KEY=… comptoir init …'

const whyNot = (error: unknown): string => {
  const { code, message } = error as { code?: string; message: string }
  return code ?? message
}

/** Checks the data that the answers point to. @throws Error when it belongs to another key or mode */
export async function refuseForeignData(config: Config, say: Say): Promise<void> {
  const key = findMasterKey(config)
  if (!key || (config.databaseUrl === null && !existsSync(join(config.dataDir, 'postgres')))) return
  const known = await withDatabaseServer(config, say, readInstallation).catch((error: unknown) => {
    const message = `The database cannot be looked at (${whyNot(error)}). Nothing was written.`
    throw new Error(message, { cause: error })
  })
  const [fault] = findInstallationFaults(known, claimOf(config, key))
  if (fault) throw new Error(fault.check === 'master-key' ? KEY_HINT : `${fault.message} ${fault.fix}`)
}

/** Names set in the old file but not in the new one, because init does not ask for everything. */
export const listLeftBehind = (old: Env, written: Env): string[] =>
  Object.keys(old).filter((name) => old[name] && written[name] === undefined && written[`${name}_FILE`] === undefined)

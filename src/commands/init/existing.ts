import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { claimOf } from '../../checks/installation-checks.ts'
import type { Config, Env } from '../../config/config.ts'
import { findMasterKey } from '../../config/master-key.ts'
import { BACKUPS } from '../../config/settings/backups.ts'
import { isBucket } from '../../db/backup/places.ts'
import { findElsewhere, findUnrestored } from '../../db/embedded/state-directory.ts'
import { findInstallationFaults, readInstallation, readMigrations } from '../../db/installation.ts'
import { withDatabaseServer } from '../operator-database.ts'
import { findLeftBehind } from '../read-env.ts'
import type { Asker, Flags } from './asker.ts'

type Say = (line: string) => void

/** The settings of the file to be replaced. @throws Error when it must not be replaced */
export function readOldEnv(file: string, replace: boolean): Env {
  if (!existsSync(file)) return {}
  if (!replace) throw new Error(`${file} exists. Nothing was written; add --force to replace it.`)
  return parseEnv(readFileSync(file, 'utf8'))
}

/** With its port. A sandbox's address is no live one. */
function domainOf(address: string | undefined): string | undefined {
  const url = URL.parse(address ?? '')
  return url?.protocol === 'https:' ? url.host : undefined
}

/** Earlier units of systemd set MODE, and DATA_DIR, beside the file; a live service has a key. */
const isOfLive = ({ MODE, MASTER_KEY, MASTER_KEY_FILE }: Env): boolean =>
  MODE ? MODE === 'live' : Boolean(MASTER_KEY || MASTER_KEY_FILE)

/**
 * What the old file answers, by flag. Above all where its database is: in another place there would be an empty one,
 * under the same keys.
 */
export function listEarlier(old: Env): Flags {
  if (!isOfLive(old)) return {}
  // beside a unit that set MODE, too, and DATA_DIR, a folder here is not its own
  const here = old.MODE && existsSync(join('data', 'postgres')) ? './data' : undefined
  return {
    domain: domainOf(old.BASE_URL),
    'database-url': old.DATABASE_URL,
    'data-dir': old.DATA_DIR ?? here,
    'backup-to': old.BACKUP_TO,
    'smtp-url': old.SMTP_URL,
    'mail-from': old.MAIL_FROM,
    'operator-email': old.OPERATOR_EMAIL,
  }
}

/** Settings that init does not ask for: in live mode those of before are right, and ours are only a beginning. */
export const listKept = (old: Env): Record<string, string> =>
  Object.fromEntries(
    ['TRUST_PROXY', 'PROCESSES'].flatMap((name) => (isOfLive(old) && old[name] ? [[name, old[name]]] : [])),
  )

/** Sentences about a database, or backups, in another place than before, because the answers say so. */
export function listMoved(old: Env, written: Env): string[] {
  const isElsewhere = (name: 'DATA_DIR' | 'DATABASE_URL' | 'BACKUP_TO', form: (value: string) => string): boolean =>
    !!old[name] && form(old[name]) !== form(written[name] ?? '')
  const lines = []
  if (isElsewhere('DATA_DIR', (folder) => resolve(folder)))
    lines.push(`DATA_DIR was ${old.DATA_DIR}. What is there stays there, and is not used from now on.`)
  if (isElsewhere('DATABASE_URL', (url) => url))
    lines.push('DATABASE_URL is another than before. What is in the earlier database is not used from now on.')
  if (isElsewhere('BACKUP_TO', (to) => (isBucket(to) ? to : resolve(to))))
    lines.push(`BACKUP_TO was ${old.BACKUP_TO}. Its backups stay there, and no more are added.`)
  return lines
}

/** A setting in the form in which it was set: directly, or as the file that holds it, which wins (`readConfig`). */
function findGiven(name: string, env: Env): Record<string, string> | undefined {
  const { [name]: value, [`${name}_FILE`]: file } = env
  if (file) return { [`${name}_FILE`]: resolve(file) }
  return value ? { [name]: value } : undefined
}

/** A setting already in use: from the environment, otherwise from the old file. */
const findKnown = (name: string, environment: Env, old: Env): Record<string, string> | undefined =>
  findGiven(name, environment) ?? findGiven(name, old)

/**
 * The master key already in use, and its predecessors: from the environment, otherwise from the old file.
 * @returns undefined for the first installation
 */
export function findKnownKey(environment: Env, old: Env): Record<string, string> | undefined {
  const key = findKnown('MASTER_KEY', environment, old)
  return key && { ...key, ...findKnown('MASTER_KEY_PREVIOUS', environment, old) }
}

/** The token of /metrics already in use: whoever reads them would otherwise be refused after the next start. */
export const findKnownToken = (environment: Env, old: Env): Record<string, string> | undefined =>
  findKnown('METRICS_TOKEN', environment, old)

const BUCKET_SETTINGS = Object.values(BACKUPS)
  .map(({ name }) => name)
  .filter((name) => name.startsWith('BACKUP_S3_'))

/** The bucket's keys, its endpoint and region: without them no backup reaches it. */
export const findKnownBucket = (environment: Env, old: Env): Record<string, string> =>
  Object.assign({}, ...BUCKET_SETTINGS.map((name) => findKnown(name, environment, old)))

const KEY_HINT =
  'This database was made with another MASTER_KEY, and without it what it encrypted cannot be read. Nothing was ' +
  'written. Run this again with that key: MASTER_KEY=… comptoir init …'

const whyNot = (error: unknown): string => {
  const { code, message } = error as { code?: string; message: string }
  return code ?? message
}

/**
 * Looks at the place that the answers name. @returns what it lacks, if there is no database yet; null: there is one
 * @throws Error when it belongs to another key or mode, when the orders are in another one, or were not restored
 */
export async function lookAtData(config: Config, say: Say): Promise<string | null> {
  const { databaseUrl, dataDir } = config
  const key = findMasterKey(config)
  if (!key) return null
  if (databaseUrl === null) {
    const fault = findElsewhere(dataDir) ?? findUnrestored(dataDir)
    if (fault) throw fault
    if (!existsSync(join(dataDir, 'postgres'))) return `There is no database in ${resolve(dataDir)}`
  }
  const { known, applied } = await withDatabaseServer(config, say, async (connectionString) => ({
    known: await readInstallation(connectionString),
    applied: await readMigrations(connectionString),
  })).catch((error: unknown) => {
    const message = `The database cannot be looked at (${whyNot(error)}). Nothing was written.`
    throw new Error(message, { cause: error })
  })
  const [fault] = findInstallationFaults(known, claimOf(config, key))
  if (fault) throw new Error(fault.check === 'master-key' ? KEY_HINT : `${fault.message} ${fault.fix}`)
  if (applied.length > 0) return null
  return databaseUrl === null ? `The database in ${resolve(dataDir)} is empty` : 'The database of DATABASE_URL is empty'
}

/** What shows that there is an installation already, which has a database somewhere; null: nothing does. */
export function findInstallation(environment: Env, old: Env, file: string): string | null {
  if (isOfLive(old)) return `${resolve(file)} is of an installation, which has a database`
  if (findKnownKey(environment, old)) return 'the MASTER_KEY was given, as for an installation that has a database'
  const beside = findLeftBehind()
  return beside === undefined ? null : `the settings of another release are in ${beside}`
}

const DOUBLE = 'A new database would give the deposit addresses of earlier orders to new ones.'

/**
 * An installation has one database: where the answers name an empty place, only a person knows whether it is the wrong
 * one, or a first installation. @throws Error when he does not want a new database
 */
export async function askForNew(asker: Asker, lacking: string, shown: string): Promise<void> {
  const words = `${lacking}, and ${shown}. ${DOUBLE}`
  if (await asker.confirm(`${words}\n  Begin a new one all the same, without any earlier order?`, 'new-database'))
    return
  throw new Error(
    `${words} Nothing was written. Name the place of the database (--data-dir, --database-url), which after an upgrade ` +
      'may lie beside the earlier release, or in it, or restore a backup first. For a first installation, or one that ' +
      'never had an order: --new-database',
  )
}

/** Names set in the old file but not in the new one, because init does not ask for everything. */
export const listLeftBehind = (old: Env, written: Env): string[] =>
  Object.keys(old).filter((name) => old[name] && written[name] === undefined && written[`${name}_FILE`] === undefined)

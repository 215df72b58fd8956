import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { InstallationFault } from '../../kernel/errors.ts'
import { restoringOf } from './cluster.ts'

const holdsDatabase = (folder: string): boolean => existsSync(join(folder, 'postgres', 'PG_VERSION'))

/** The embedded database of a folder while DATABASE_URL names another; null: there is none, or none is named. */
export const findLeftDatabase = (dataDir: string, databaseUrl: string | null): string | null =>
  databaseUrl !== null && holdsDatabase(dataDir) ? join(dataDir, 'postgres') : null

const noteOf = (dataDir: string): string => join(dataDir, 'database-elsewhere')

/**
 * The note of `noteElsewhere`: when it was written, and when the installation began. The note of an earlier version
 * does not say the latter. Null: it does not say it.
 */
export type Elsewhere = { file: string; notedAt: Date | null; installedAt: Date | null }

const SINCE = /^Since (\S+Z) the orders are /m
const MARK = /^It was installed on (\S+Z)\.$/m

/** What the folder says of the database that DATABASE_URL must name; null: nothing, or DATABASE_URL is not set. */
export function readElsewhere(dataDir: string, databaseUrl: string | null): Elsewhere | null {
  const file = noteOf(dataDir)
  if (databaseUrl === null || !existsSync(file)) return null
  const words = readFileSync(file, 'utf8')
  const [notedAt = null, installedAt = null] = [SINCE, MARK].map((pattern) => {
    const [, at] = pattern.exec(words) ?? []
    return at === undefined ? null : new Date(at)
  })
  return { file, notedAt, installedAt }
}

/** The service has started with the database of DATABASE_URL: with another one, or none named, another would begin. */
export function noteElsewhere(dataDir: string, installedAt: Date): void {
  const file = noteOf(dataDir)
  const words = existsSync(file)
    ? readFileSync(file, 'utf8').trim()
    : `Since ${new Date().toISOString()} the orders are in the database of DATABASE_URL.`
  if (!MARK.test(words)) writeFileSync(file, `${words}\nIt was installed on ${installedAt.toISOString()}.\n`)
}

/** Whoever restores a backup into this folder wants its database to be the one from now on. */
export const forgetElsewhere = (dataDir: string): void => rmSync(noteOf(dataDir), { force: true })

/** Why the embedded database of this folder may not start: the orders are in another one; null: they are not. */
export function findElsewhere(dataDir: string): InstallationFault | null {
  const file = noteOf(dataDir)
  if (!existsSync(file)) return null
  const words = readFileSync(file, 'utf8').trim().replaceAll('\n', ' ')
  return new InstallationFault(
    `DATABASE_URL is not set, and ${file} says: "${words}" Nothing was written.`,
    'Set DATABASE_URL again. If the database in this folder is to be used from now on, and has all orders, remove that file.',
  )
}

/** @throws InstallationFault when the orders are not in this folder's database */
export function refuseElsewhere(dataDir: string): void {
  const elsewhere = findElsewhere(dataDir)
  if (elsewhere !== null) throw elsewhere
}

/** A restore that was cut off, or failed: the orders are in its backup, and an empty database would hide that. */
export function findUnrestored(dataDir: string): InstallationFault | null {
  const draft = restoringOf(join(dataDir, 'postgres'))
  if (!existsSync(draft)) return null
  return new InstallationFault(
    `A restore into ${resolve(dataDir)} was cut off or failed, and there is no database yet.`,
    `Run comptoir restore again. For an empty database instead, first remove ${draft}`,
  )
}

const NO_DATABASE_FIX = {
  live:
    'Set DATA_DIR to the folder that holds it; after an upgrade it may lie beside the earlier release, or in it. A start ' +
    'makes none in live mode. comptoir restore brings back a lost one; docs/going-live.md says how an installation begins.',
  sandbox: 'Start the service first, or set DATA_DIR.',
}

/** Null: this folder has a database. */
export function findNoDatabase(dataDir: string, mode: 'sandbox' | 'live'): InstallationFault | null {
  if (existsSync(join(dataDir, 'postgres'))) return null
  return (
    findUnrestored(dataDir) ??
    new InstallationFault(`There is no database in ${resolve(dataDir)}.`, NO_DATABASE_FIX[mode])
  )
}

/**
 * In live mode only `init` and `restore` make a database: in the wrong folder, or after its settings were lost, a start
 * would begin an empty one, and give the deposit addresses of old orders to new ones.
 * @throws InstallationFault when this folder has no database, or the orders are in another one
 */
export function refuseNoDatabase({ dataDir, mode }: { dataDir: string; mode: 'sandbox' | 'live' }): void {
  refuseElsewhere(dataDir)
  const none = findNoDatabase(dataDir, mode)
  if (none !== null) throw none
}

/**
 * Compares DATA_DIR with the folders that systemd gives to the service: earlier units set DATA_DIR to theirs, and
 * settings that name another one, or none, would then begin an empty database.
 * @param folders STATE_DIRECTORY, separated by colons (systemd.exec(5))
 * @throws Error when a database is there: DATA_DIR has none, or another one, and only a person knows which is the right
 */
export function checkStateDirectory(dataDir: string, folders: string | undefined): void {
  const own = resolve(dataDir)
  const other = (folders ?? '').split(':').find((folder) => folder !== '' && folder !== own && holdsDatabase(folder))
  if (other === undefined) return
  const words = `The folder of this service, ${other}, holds a database, and DATA_DIR is ${own}`
  if (!holdsDatabase(own))
    throw new Error(`${words}, where there is none. Nothing was written. Set DATA_DIR=${other} in the settings file.`)
  throw new Error(
    `${words}, where there is another. Nothing was written. The one that earlier units used is ${other}: if it has your ` +
      `orders, set DATA_DIR=${other} in the settings file. Otherwise move ${join(other, 'postgres')} out of the way.`,
  )
}

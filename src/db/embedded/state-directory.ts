import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const holdsDatabase = (folder: string): boolean => existsSync(join(folder, 'postgres', 'PG_VERSION'))

/** The embedded database of a folder while DATABASE_URL names another; null: there is none, or none is named. */
export const findLeftDatabase = (dataDir: string, databaseUrl: string | null): string | null =>
  databaseUrl !== null && holdsDatabase(dataDir) ? join(dataDir, 'postgres') : null

const noteOf = (dataDir: string): string => join(dataDir, 'database-elsewhere')

/** The service has started with the database of DATABASE_URL: without that setting, another one would begin here. */
export function noteElsewhere(dataDir: string): void {
  const file = noteOf(dataDir)
  if (existsSync(file)) return
  writeFileSync(file, `Since ${new Date().toISOString()} the orders are in the database of DATABASE_URL.\n`)
}

/** Why the embedded database of this folder may not start: the orders are in another one; null: they are not. */
export function findElsewhere(dataDir: string): string | null {
  const file = noteOf(dataDir)
  if (!existsSync(file)) return null
  const words = readFileSync(file, 'utf8').trim()
  return (
    `DATABASE_URL is not set, and ${file} says: "${words}" Nothing was written. Set DATABASE_URL again. If the ` +
    'database in this folder is to be used from now on, and has all orders, remove that file.'
  )
}

/** @throws Error with a sentence when the orders are not in this folder's database */
export function refuseElsewhere(dataDir: string): void {
  const elsewhere = findElsewhere(dataDir)
  if (elsewhere !== null) throw new Error(elsewhere)
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

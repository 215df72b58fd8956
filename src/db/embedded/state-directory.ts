import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'

const holdsDatabase = (folder: string): boolean => existsSync(join(folder, 'postgres', 'PG_VERSION'))

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

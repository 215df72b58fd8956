import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'

const holdsDatabase = (folder: string): boolean => existsSync(join(folder, 'postgres', 'PG_VERSION'))

/**
 * Compares DATA_DIR with the folders that systemd gives to the service: earlier units set DATA_DIR to theirs, and
 * settings that name another one, or none, would then begin an empty database.
 * @param folders STATE_DIRECTORY, separated by colons (systemd.exec(5)) @returns a warning
 * @throws Error when a database is there, and none in DATA_DIR
 */
export function checkStateDirectory(dataDir: string, folders: string | undefined): string | undefined {
  const own = resolve(dataDir)
  const other = (folders ?? '').split(':').find((folder) => folder !== '' && folder !== own && holdsDatabase(folder))
  if (other === undefined) return undefined
  const words = `The folder of this service, ${other}, holds a database, and DATA_DIR is ${own}`
  if (!holdsDatabase(own))
    throw new Error(`${words}, where there is none. Nothing was written. Set DATA_DIR=${other} in the settings file.`)
  return `${words}, where there is another. The one in ${own} is used.`
}

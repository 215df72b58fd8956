import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { WRITTEN } from './init/env-file.ts'

/** The settings file: COMPTOIR_ENV_FILE, otherwise `.env` in this folder; null: neither exists. */
export function findEnvFile(): string | null {
  const named = process.env.COMPTOIR_ENV_FILE
  if (named) return resolve(named)
  return existsSync('.env') ? resolve('.env') : null
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why =
      code === 'ENOENT'
        ? 'does not exist. COMPTOIR_ENV_FILE names it; "comptoir init" writes it.'
        : `cannot be read (${code}). Run this as root, or as the user that the service runs as.`
    throw new Error(`${file} ${why}`, { cause: error })
  }
}

/**
 * Why a settings file seems to be empty, or cut off: without MODE it would be a sandbox, whatever it was before. Null:
 * it does not.
 */
export function findCutSettings(file: string): { message: string; fix: string } | null {
  const text = read(file)
  const written = parseEnv(text)
  if (process.env.MODE || written.MODE) return null
  const isEmpty = Object.keys(written).length === 0
  const isOurs = text.startsWith(WRITTEN)
  const isOfLive = Boolean(written.MASTER_KEY || written.MASTER_KEY_FILE || written.BASE_URL?.startsWith('https://'))
  // a copy of .env.example sets nothing, and is a sandbox; a file of a person's may leave MODE out
  const isCut = isEmpty ? text.trim() === '' || isOurs : isOurs && isOfLive
  if (!isCut) return null
  const lack = isEmpty ? 'holds no settings' : 'has no MODE'
  return {
    message: `${file} ${lack}, so this would be a sandbox: it was emptied or cut off.`,
    fix:
      'Put it back from a copy ("comptoir init" keeps the replaced one beside it), or write it again with ' +
      '"comptoir init --force" and the MASTER_KEY that you noted. For a sandbox, write MODE=sandbox into it.',
  }
}

/** Two of these are two databases. */
const PLACES = ['DATA_DIR', 'DATABASE_URL']

/** Names of databases that the environment and the file give differently; the environment wins. */
export function listDividedPlaces(): string[] {
  const file = findEnvFile()
  if (file === null) return []
  const written = parseEnv(read(file))
  return PLACES.filter((name) => written[name] && process.env[name] && written[name] !== process.env[name])
}

/** The folder of an unpacked release, by its name. */
export const isRelease = (folder: string): boolean => /^comptoir-\d/.test(basename(folder))

/** What lies beside a folder, as far as this user may see it. */
function listNeighbours(folder: string): string[] {
  try {
    return readdirSync(dirname(folder)).map((name) => join(dirname(folder), name))
  } catch {
    return []
  }
}

/** The settings of another release beside this one, which has none: they were not brought along. */
export function findLeftBehind(): string | undefined {
  const here = process.cwd()
  if (!isRelease(here)) return undefined
  return listNeighbours(here)
    .filter((folder) => folder !== here && isRelease(folder))
    .map((folder) => join(folder, '.env'))
    .find((file) => existsSync(file))
}

function refuseLeftBehind(): void {
  const { MODE, DATABASE_URL, DATA_DIR } = process.env
  const file = MODE || DATABASE_URL || DATA_DIR ? undefined : findLeftBehind()
  if (file === undefined) return
  throw new Error(
    `There are no settings here, but those of another release are in ${file}. Copy the file here (cp -p ${file} .), ` +
      'or name one file for all releases in COMPTOIR_ENV_FILE. For a sandbox: MODE=sandbox',
  )
}

/**
 * The environment, plus the file's settings where the environment has none. Reads the file on every call.
 * @param mayLack whoever restores may have lost the file that COMPTOIR_ENV_FILE names; the environment is enough then
 * @throws Error
 */
export function readEnv({ mayLack = false } = {}): NodeJS.ProcessEnv {
  const file = findEnvFile()
  if (file === null) refuseLeftBehind()
  if (file === null || (mayLack && !existsSync(file))) return process.env
  return { ...parseEnv(read(file)), ...process.env }
}

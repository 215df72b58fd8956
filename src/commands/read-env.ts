import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'

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

/** Two of these are two databases. */
const PLACES = ['DATA_DIR', 'DATABASE_URL']

/** Names of databases that the environment and the file give differently; the environment wins. */
export function listDividedPlaces(): string[] {
  const file = findEnvFile()
  if (file === null) return []
  const written = parseEnv(read(file))
  return PLACES.filter((name) => written[name] && process.env[name] && written[name] !== process.env[name])
}

/**
 * The environment, plus the file's settings where the environment has none. Reads the file on every call. @throws Error
 */
export function readEnv(): NodeJS.ProcessEnv {
  const file = findEnvFile()
  return file === null ? process.env : { ...parseEnv(read(file)), ...process.env }
}

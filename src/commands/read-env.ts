import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

/** The environment, with `.env` for what it does not set. Reads the file on every call. */
export function readEnv(): NodeJS.ProcessEnv {
  return existsSync('.env') ? { ...parseEnv(readFileSync('.env', 'utf8')), ...process.env } : process.env
}

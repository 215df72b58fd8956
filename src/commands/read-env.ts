import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

/** The environment, and beneath it `.env`, read anew each time. */
export function readEnv(): NodeJS.ProcessEnv {
  return existsSync('.env') ? { ...parseEnv(readFileSync('.env', 'utf8')), ...process.env } : process.env
}

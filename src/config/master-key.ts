import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config.ts'

/** The configured master key, or in the sandbox one that is made once and kept in the data directory (mode 0600). */
export function readMasterKey(config: Pick<Config, 'masterKey' | 'dataDir'>): Buffer {
  if (config.masterKey) return config.masterKey
  const path = join(config.dataDir, 'master.key')
  if (existsSync(path)) {
    const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64')
    if (key.length !== 32)
      throw new Error(`${path} does not hold 32 bytes in base64. Restore it: without it nothing sealed can be read.`)
    return key
  }
  mkdirSync(config.dataDir, { recursive: true })
  const key = randomBytes(32)
  writeFileSync(path, `${key.toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  chmodSync(path, 0o600)
  return key
}

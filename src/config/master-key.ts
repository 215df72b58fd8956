import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config.ts'

type KeyPlace = Pick<Config, 'masterKey' | 'dataDir'>

/** The configured master key, or the one in the data directory; undefined without either. Creates nothing. */
export function findMasterKey({ masterKey, dataDir }: KeyPlace): Buffer | undefined {
  if (masterKey) return masterKey
  const path = join(dataDir, 'master.key')
  if (!existsSync(path)) return undefined
  const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64')
  if (key.length === 32) return key
  throw new Error(`${path} does not hold 32 bytes in base64. Restore it: without it nothing sealed can be read.`)
}

/** The configured master key, or in the sandbox one that is made once and kept in the data directory (mode 0600). */
export function readMasterKey(config: KeyPlace): Buffer {
  const known = findMasterKey(config)
  if (known) return known
  mkdirSync(config.dataDir, { recursive: true })
  const path = join(config.dataDir, 'master.key')
  const key = randomBytes(32)
  writeFileSync(path, `${key.toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  chmodSync(path, 0o600)
  return key
}

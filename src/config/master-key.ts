import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../kernel/process/make-folder.ts'
import type { Config } from './config.ts'

type KeyPlace = Pick<Config, 'masterKey' | 'dataDir'>

/** The configured master key, or the one in the data directory; undefined if there is neither. Creates nothing. */
export function findMasterKey({ masterKey, dataDir }: KeyPlace): Buffer | undefined {
  if (masterKey) return masterKey
  const path = join(dataDir, 'master.key')
  if (!existsSync(path)) return undefined
  const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64')
  if (key.length === 32) return key
  throw new Error(`${path} does not hold 32 bytes in base64. Restore it: without it nothing sealed can be read.`)
}

/** `keep` writes a new key to the data directory (mode 0600); for a known key it does nothing. */
export type ChosenKey = { key: Buffer; keep(): void }

/**
 * The configured master key, or in the sandbox a new one that is created once. The database may turn out to have
 * another key, so a new key is stored only by `keep`, after the checks.
 */
export function chooseMasterKey(config: KeyPlace): ChosenKey {
  const known = findMasterKey(config)
  const key = known ?? randomBytes(32)
  return {
    key,
    keep() {
      if (known) return
      makeFolder(config.dataDir)
      const path = join(config.dataDir, 'master.key')
      writeFileSync(path, `${key.toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
      chmodSync(path, 0o600)
    },
  }
}

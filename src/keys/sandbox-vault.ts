import type { Config } from '../config/config.ts'
import type { Db } from '../db/db.ts'
import { newId } from '../kernel/ids.ts'
import { openVault, type SandboxVault } from '../kernel/vault.ts'
import { findServerKey, insertServerKey, listServerKeys, lockServerKeys } from './server-key-queries.ts'
import { serverKeyContext } from './server-key-service.ts'

const PURPOSE = 'sandbox'

/**
 * The vault of this database. In the sandbox, its demo company and its wallets follow from the master key of its first
 * start, which the database keeps sealed like the server's other keys: they outlive a change of the master key.
 */
export async function openVaultOf(
  db: Db,
  { mode, previousMasterKeys: previous }: Pick<Config, 'mode' | 'previousMasterKeys'>,
  masterKey: Buffer,
): Promise<SandboxVault> {
  const vault = openVault(masterKey, previous)
  const open = (seed: Buffer): SandboxVault => ({ ...vault, deriveSandbox: openVault(seed).derive })
  if (mode === 'live') return open(masterKey)
  const find = async (): Promise<Buffer | undefined> => {
    const row = await findServerKey(db, PURPOSE)
    return row && Buffer.from(vault.open(row.sealed, serverKeyContext(row.id)), 'base64')
  }
  const known = await find()
  if (known) return open(known)
  await db.tx(async (tx) => {
    await lockServerKeys(tx)
    const now = new Date()
    const rows = await listServerKeys(tx, now)
    if (rows.some(({ purpose }) => purpose === PURPOSE)) return
    // an older version made the sandbox with the key that sealed what is there
    const sealed = rows[0]?.sealed ?? vault.sealPrefix
    const first = [masterKey, ...previous].find((key) => sealed.startsWith(openVault(key).sealPrefix)) ?? masterKey
    const id = newId(now.getTime())
    const seed = vault.seal(first.toString('base64'), serverKeyContext(id))
    await insertServerKey(tx, { id, purpose: PURPOSE, sealed: seed, createdAt: now })
  })
  return open((await find()) ?? masterKey)
}

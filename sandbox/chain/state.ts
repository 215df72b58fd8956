import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { RpcCall } from './rpc.ts'

/**
 * Writes the whole chain (accounts, blocks, receipts; not the waiting transactions) beside the file and renames it, so
 * that the file is always whole. About 190 bytes a block; anvil 1.7.1 gives it compressed, as hex.
 */
export async function saveState(call: RpcCall, file: string): Promise<void> {
  const dump = await call<string>('anvil_dumpState')
  const draft = `${file}.tmp`
  await mkdir(dirname(file), { recursive: true })
  await writeFile(draft, Buffer.from(dump.slice(2), 'hex'), { mode: 0o600 })
  await rename(draft, file)
}

/**
 * Brings a fresh node to the saved state. A file that cannot be read is kept under another name; the chain starts
 * new.
 */
export async function loadState(call: RpcCall, file: string, log: (message: string) => void): Promise<void> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (bytes === undefined) return
  try {
    await call('anvil_loadState', `0x${bytes.toString('hex')}`)
  } catch {
    const aside = `${file}.unreadable`
    await rename(file, aside)
    log(`chain: the saved state could not be read; it is now ${aside}, and a new chain begins`)
  }
}

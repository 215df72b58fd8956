import { existsSync } from 'node:fs'
import { readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArchiveItem } from './archive.ts'

/**
 * What a sandbox keeps outside its database: its chain, and what its providers and screening services know. A real
 * chain and a real provider outlive this machine; these do not.
 */
const FILES = ['chain.json', 'providers.json', 'screening.json']

/** Their folder within a backup. */
export const SANDBOX_FOLDER = 'comptoir.sandbox'

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content
}

/** Read after the database, so that the chain is never older than the blocks that the database knows. */
export async function* sandboxItems(dataDir: string): AsyncGenerator<ArchiveItem> {
  for (const name of FILES) {
    // each is replaced as a whole, so one read has one state
    const content = await readFile(join(dataDir, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (content) yield { path: `${SANDBOX_FOLDER}/${name}`, bytes: content.length, content: once(content) }
  }
}

/**
 * Moves them from the restored files to their place. A file that is there already stays, because it is newer: like a
 * real chain, it knows what happened since the backup.
 */
export async function placeSandboxFiles(restored: string, dataDir: string): Promise<void> {
  for (const name of FILES) {
    const [from, to] = [join(restored, SANDBOX_FOLDER, name), join(dataDir, name)]
    if (existsSync(from) && !existsSync(to)) await rename(from, to)
  }
  await rm(join(restored, SANDBOX_FOLDER), { recursive: true, force: true })
}

/** Whether a sandbox started there would begin a new chain, below the blocks that its database knows. */
export const lacksChain = (dataDir: string): boolean => !existsSync(join(dataDir, 'chain.json'))

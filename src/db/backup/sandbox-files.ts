import { existsSync } from 'node:fs'
import { readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { ArchiveItem } from './archive.ts'

/**
 * What a sandbox keeps outside its database: its chain, and what its providers and screening services know. A real
 * chain and a real provider outlive this machine; these do not. They belong together: the chain, which is the first,
 * decides for all.
 */
const FILES = ['chain.json', 'providers.json', 'screening.json'] as const

/** Their folder within a backup, and within a restored cluster until it is decided about them. */
export const SANDBOX_FOLDER = 'comptoir.sandbox'
/** The same folder once it is decided that they take the place of those that were there. */
const CHOSEN_FOLDER = 'comptoir.sandbox.chosen'
const ASIDE = 'before-restore'

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content
}

/**
 * Read after the database, so that every block with a transaction that the database knows is in it. Empty blocks are
 * saved now and then only: the sandbox mines those that are missing when it starts.
 */
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

type Header = { number: string }
/** What anvil saves of a chain; read here as far as it is needed. */
type SavedChain = { best_block_number: number; blocks: { header: Header }[] }

const unzip = promisify(gunzip)

/** Undefined: it is no chain that can be read. */
async function readChain(file: string): Promise<SavedChain | undefined> {
  try {
    return JSON.parse((await unzip(await readFile(file))).toString('utf8')) as SavedChain
  } catch {
    return undefined
  }
}

const headerAt = (chain: SavedChain, number: number): string | undefined =>
  JSON.stringify(chain.blocks.find(({ header }) => Number(header.number) === number)?.header)

/** Whether the chain that is there has the backup's newest block, and so all that the backup knows. */
async function goesOn(there: string, backup: string): Promise<boolean> {
  if (!existsSync(there)) return false
  if (!existsSync(backup)) return true
  const [own, saved] = [await readChain(there), await readChain(backup)]
  if (!own || !saved) return false
  const newest = headerAt(saved, Number(saved.best_block_number))
  return newest !== undefined && headerAt(own, Number(saved.best_block_number)) === newest
}

/** `aside`: those that were there, and have another name now. */
export type PlacedFiles = { kept: 'backup' | 'there' | 'none'; aside: readonly string[] }

/**
 * Decides which of them count, those of the backup or those that are in the data directory already, and moves the
 * backup's out of the restored cluster to their place. Those that are there stay only where their chain goes on from
 * the backup's: then they know, like a real chain, what happened since. Else they are set aside. May be killed
 * anywhere, and is then called again at the next start: it is decided before the first file is put in place.
 */
export async function placeSandboxFiles(cluster: string, dataDir: string): Promise<PlacedFiles> {
  const [given, chosen] = [join(cluster, SANDBOX_FOLDER), join(cluster, CHOSEN_FOLDER)]
  const [chain] = FILES
  const aside: string[] = []
  if (existsSync(given)) {
    if (await goesOn(join(dataDir, chain), join(given, chain))) {
      await rm(given, { recursive: true })
      return { kept: 'there', aside }
    }
    for (const file of FILES.map((name) => join(dataDir, name)).filter((path) => existsSync(path))) {
      await rename(file, `${file}.${ASIDE}`)
      aside.push(`${file}.${ASIDE}`)
    }
    await rename(given, chosen)
  }
  if (!existsSync(chosen)) return { kept: 'none', aside }
  for (const name of FILES) if (existsSync(join(chosen, name))) await rename(join(chosen, name), join(dataDir, name))
  await rm(chosen, { recursive: true })
  return { kept: 'backup', aside }
}

/** Whether a sandbox started there would begin a new chain, below the blocks that its database knows. */
export const lacksChain = (dataDir: string): boolean => !existsSync(join(dataDir, 'chain.json'))

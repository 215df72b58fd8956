import { createReadStream, existsSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
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
const ASIDE = '.before-restore'

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

const KEY = '"header":'
const HEADERS = /"header":(\{[^{}]*\})/g

/**
 * The headers of the blocks that anvil saved, as it wrote them, in no order. Piece by piece, because a chain of some
 * days is longer than a string can be.
 */
async function* readHeaders(file: string): AsyncGenerator<string> {
  const source = createReadStream(file)
  const text = createGunzip({ chunkSize: 1 << 18 })
  source.on('error', (error) => text.destroy(error)).pipe(text)
  let rest = ''
  try {
    for await (const piece of text) {
      rest += (piece as Buffer).toString('latin1')
      let end = 0
      for (const { 0: whole, 1: header = '', index } of rest.matchAll(HEADERS)) {
        yield header
        end = index + whole.length
      }
      // what the next piece completes
      const open = rest.lastIndexOf(KEY)
      rest = rest.slice(open < end ? Math.max(end, rest.length - KEY.length) : open)
    }
  } finally {
    source.destroy()
  }
}

async function findNewest(file: string): Promise<string | undefined> {
  let newest: { number: number; header: string } | undefined
  for await (const header of readHeaders(file)) {
    const number = Number(header.match(/"number":"(0x[0-9a-f]+)"/)?.[1] ?? -1)
    if (number > (newest?.number ?? -1)) newest = { number, header }
  }
  return newest?.header
}

/** Reads to the end: what is cut short is no chain. */
async function hasHeader(file: string, wanted: string): Promise<boolean> {
  let has = false
  for await (const header of readHeaders(file)) if (header === wanted) has = true
  return has
}

/** Whether the chain that is there has the backup's newest block, and so all that the backup knows. */
async function goesOn(there: string, backup: string): Promise<boolean> {
  if (!existsSync(there)) return false
  if (!existsSync(backup)) return true
  try {
    const newest = await findNewest(backup)
    return newest !== undefined && (await hasHeader(there, newest))
  } catch (error) {
    // what is no chain, or a damaged one; a disk that cannot be read says nothing of it
    if ((error as NodeJS.ErrnoException).code?.startsWith('Z_')) return false
    throw error
  }
}

/** Holds the ending that those set aside get, so that a start after a kill gives the others the same. */
const ENDING_FILE = 'ending'

/** The same for all of them, and none that an earlier restore has given: what it set aside stays. */
function freeEnding(dataDir: string): string {
  const files = FILES.map((name) => join(dataDir, name))
  for (let count = 1; ; count += 1) {
    const end = count === 1 ? ASIDE : `${ASIDE}-${count}`
    if (!files.some((file) => existsSync(`${file}${end}`))) return end
  }
}

/** Chosen before the first file has it. What was not written to its end was never used. */
async function keepEnding(given: string, dataDir: string): Promise<string> {
  const file = join(given, ENDING_FILE)
  const kept = existsSync(file) ? await readFile(file, 'utf8') : ''
  if (kept.endsWith('\n')) return kept.trim()
  const end = freeEnding(dataDir)
  await writeFile(file, `${end}\n`)
  return end
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
    const there = FILES.map((name) => join(dataDir, name)).filter((path) => existsSync(path))
    const end = await keepEnding(given, dataDir)
    for (const file of there) {
      await rename(file, `${file}${end}`)
      aside.push(`${file}${end}`)
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

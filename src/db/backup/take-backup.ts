import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import pg from 'pg'
import type { Vault } from '../../kernel/vault.ts'
import { packFiles } from './archive.ts'
import { backupItems, measureCluster } from './cluster-files.ts'
import { type BackupFacts, BackupFault, seal, unseal } from './sealed.ts'

export type BackupRequest = {
  connectionString: string
  /** The cluster's own folder. */
  cluster: string
  /** Folder for the backup; made when it does not exist. */
  to: string
  vault: Vault
  facts: BackupFacts
  onProgress(done: number, of: number): void
}

export type Backup = { file: string; bytes: number; madeAt: string }

const NAME = /^comptoir-\d{8}T\d{6}Z\.backup$/
const nameAt = (madeAt: string): string => `comptoir-${madeAt.replaceAll(/[-:]|\.\d+/g, '')}.backup`

/** Finished backups in a folder, oldest first. */
async function listBackups(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.filter((name) => NAME.test(name)).sort()
}

/** When the newest backup of a folder was made, in milliseconds; undefined without any. */
export async function findNewestBackup(folder: string): Promise<{ file: string; madeAtMs: number } | undefined> {
  const name = (await listBackups(folder)).at(-1)
  if (name === undefined) return undefined
  const [, y, mo, d, h, mi, s] = /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/.exec(name) ?? []
  return { file: join(folder, name), madeAtMs: Date.parse(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`) }
}

/** Removes all but the newest backups, and drafts that a crash left behind. */
export async function pruneBackups(folder: string, keep: number): Promise<void> {
  const drafts = (await readdir(folder)).filter((name) => /^comptoir-.*\.backup\.part$/.test(name))
  const old = (await listBackups(folder)).slice(0, -keep)
  for (const name of [...old, ...drafts]) await rm(join(folder, name), { force: true })
}

async function* counted(source: AsyncIterable<Buffer>, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of source) {
    bytes += piece.length
    onBytes(bytes)
    yield piece
  }
}

const compressed = (source: AsyncIterable<Buffer>): AsyncIterable<Buffer> => {
  const zstd = createZstdCompress()
  const input = Readable.from(source, { objectMode: false })
  input.on('error', (error) => zstd.destroy(error))
  return input.pipe(zstd)
}

/** @throws BackupFault when what follows was compressed by something else, or is damaged */
export async function* decompressed(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const zstd = createZstdDecompress()
  const input = Readable.from(source, { objectMode: false })
  input.on('error', (error) => zstd.destroy(error))
  for await (const piece of input.pipe(zstd)) yield piece as Buffer
}

async function writeDurably(file: string, source: AsyncIterable<Buffer>): Promise<number> {
  const handle = await open(file, 'wx', 0o600)
  let bytes = 0
  try {
    for await (const piece of source) {
      await handle.writeFile(piece)
      bytes += piece.length
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  return bytes
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

/** Reads a backup from beginning to end, as a restore would. @throws BackupFault */
async function verifyBackup(file: string, vaults: readonly Vault[]): Promise<void> {
  const { content } = await unseal(createReadStream(file), vaults)
  for await (const piece of decompressed(content)) if (piece.length === 0) continue
}

/**
 * A consistent, encrypted copy of the embedded database while it runs. It appears under its name when it is whole, is
 * on the disk, and was read back once.
 * @throws Error with a sentence for the operator
 */
export async function takeBackup(request: BackupRequest): Promise<Backup> {
  const { to, cluster, vault, facts, onProgress } = request
  await mkdir(to, { recursive: true, mode: 0o700 })
  const file = join(to, nameAt(facts.madeAt))
  const draft = `${file}.part`
  const client = new pg.Client({ connectionString: request.connectionString, application_name: 'comptoir-backup' })
  client.on('error', () => {})
  await client.connect()
  try {
    const total = measureCluster(cluster)
    const plain = counted(packFiles(backupItems(client, cluster)), (done) => onProgress(Math.min(done, total), total))
    await rm(draft, { force: true })
    const bytes = await writeDurably(draft, seal(compressed(plain), { vault, facts }))
    await verifyBackup(draft, [vault])
    await rename(draft, file)
    await syncFolder(to)
    return { file, bytes, madeAt: facts.madeAt }
  } catch (error) {
    await rm(draft, { force: true })
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC')
      throw new BackupFault(`There is no room left in ${to}. Nothing of this backup was kept.`)
    throw error
  } finally {
    await client.end()
  }
}

/** A file, or the newest backup in a folder. @throws BackupFault */
export async function chooseBackup(from: string): Promise<string> {
  const found = await stat(from).catch(() => undefined)
  if (!found) throw new BackupFault(`There is nothing at ${from}.`)
  if (!found.isDirectory()) return from
  const newest = await findNewestBackup(from)
  if (!newest) throw new BackupFault(`There is no backup in ${from}.`)
  return newest.file
}

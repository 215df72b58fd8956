import { dirname } from 'node:path'
import { Readable, type Transform } from 'node:stream'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import pg from 'pg'
import type { Vault } from '../../kernel/vault.ts'
import { type ArchiveItem, packFiles } from './archive.ts'
import { backupItems, measureCluster } from './cluster-files.ts'
import { sandboxItems } from './sandbox-files.ts'
import { type BackupFacts, BackupFault, seal, unseal } from './sealed.ts'
import { type BackupStore, backupLifeOf, backupNameAt, backupTimeOf, type Content, isAhead } from './store.ts'

export type BackupRequest = {
  /** Of `withBackupConnection`. */
  client: pg.Client
  /** The cluster's folder, in the data directory. */
  cluster: string
  to: BackupStore
  vault: Vault
  facts: BackupFacts
  onProgress(done: number, of: number): void
}

export type Backup = { file: string; bytes: number; madeAt: string }

export type FoundBackup = { name: string; madeAtMs: number; life: string | null }

/**
 * Finished backups, of whichever database, oldest first. Those `ahead` have a time that has not come: they count
 * neither as the newest nor among those to keep, because a wrong clock would otherwise stop backups, or remove the
 * good ones.
 */
export async function listBackups(
  store: BackupStore,
  nowMs: number,
): Promise<{ found: FoundBackup[]; ahead: string[] }> {
  const all = (await store.list()).map((name) => ({ name, madeAtMs: backupTimeOf(name), life: backupLifeOf(name) }))
  const found = all.filter(({ madeAtMs }) => !isAhead(madeAtMs, nowMs))
  return { found, ahead: all.filter((one) => !found.includes(one)).map(({ name }) => name) }
}

/**
 * Those of this life of the database, oldest first. Others may lie in the same place: of a copy that was restored for a
 * rehearsal, of the machine before, of another shop. None of them keeps ours from being made, and none is ours to
 * remove.
 */
export const ownOf = (found: readonly FoundBackup[], life: string): FoundBackup[] =>
  found.filter((one) => one.life === life)

/** Removes all but the newest backups of this life, and drafts left by a crash. */
export async function pruneBackups(
  store: BackupStore,
  { life, keep, nowMs }: { life: string; keep: number; nowMs: number },
): Promise<void> {
  const { found } = await listBackups(store, nowMs)
  for (const { name } of ownOf(found, life).slice(0, -keep)) await store.remove(name)
  await store.clean(nowMs)
}

async function* counted(source: AsyncIterable<Buffer>, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of source) {
    bytes += piece.length
    onBytes(bytes)
    yield piece
  }
}

/**
 * Starts and ends with its reader: a pipe that runs on its own would throw an uncaught error after its reader is gone,
 * and end the whole service.
 */
async function* through(source: AsyncIterable<Buffer>, zstd: Transform): AsyncGenerator<Buffer> {
  const input = Readable.from(source, { objectMode: false })
  input.on('error', (error) => zstd.destroy(error))
  try {
    for await (const piece of input.pipe(zstd)) yield piece as Buffer
  } finally {
    input.destroy()
  }
}

const compressed = (source: AsyncIterable<Buffer>): AsyncIterable<Buffer> => through(source, createZstdCompress())

/** @throws BackupFault when the data was compressed by something else, or is damaged */
export const decompressed = (source: AsyncIterable<Buffer>): AsyncIterable<Buffer> =>
  through(source, createZstdDecompress())

/**
 * Reads a backup from beginning to end, as a restore would. @param written facts of the backup that was written: any
 * other one of this master key would be readable as well @throws BackupFault
 */
export async function verifyBackup(
  stored: Content,
  vault: Vault,
  written: Pick<BackupFacts, 'madeAt' | 'life'>,
): Promise<void> {
  const { facts, content } = await unseal(stored, [vault])
  const { madeAt, life } = written
  if (facts.madeAt !== madeAt || facts.life !== life)
    throw new BackupFault(
      `What was written at ${madeAt} is read back as the backup of ${facts.madeAt}${facts.life === life ? '' : ' of another database'}.`,
    )
  for await (const piece of decompressed(content)) if (piece.length === 0) continue
}

/** A connection for one backup, which PostgreSQL binds to the session that began it. */
export async function withBackupConnection<Result>(
  connectionString: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString, application_name: 'comptoir-backup' })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const LOCK = 4_207_316_002

/** Whether this connection is now the one that makes the due backups of its database; it stays so until it ends. */
export async function lockBackups(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [LOCK])
  return rows[0]?.locked === true
}

async function* allItems({ client, cluster, facts }: BackupRequest): AsyncGenerator<ArchiveItem> {
  yield* backupItems(client, cluster)
  if (facts.mode === 'sandbox') yield* sandboxItems(dirname(cluster))
}

/**
 * A consistent, encrypted copy of the embedded database while it runs. It is sealed before it leaves this machine, and
 * kept only if it is complete and was read back once.
 * @throws Error with a sentence for the operator
 */
export async function takeBackup(request: BackupRequest): Promise<Backup> {
  const { to, cluster, vault, facts, onProgress } = request
  const name = backupNameAt(facts.madeAt, facts.life)
  const total = measureCluster(cluster)
  const plain = counted(packFiles(allItems(request)), (done) => onProgress(Math.min(done, total), total))
  const bytes = await to.put(name, seal(compressed(plain), { vault, facts }), {
    expectedBytes: total,
    verify: (stored) => verifyBackup(stored, vault, facts),
  })
  return { file: to.pathOf(name), bytes, madeAt: facts.madeAt }
}

import { appendFileSync, existsSync } from 'node:fs'
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../kernel/clock.ts'
import type { Vault } from '../../kernel/vault.ts'
import { type Db, openDb, type Tx } from '../db.ts'
import { RECOVERY_SIGNAL, restoringOf } from '../embedded/cluster.ts'
import { chooseAccount, giveTo } from '../embedded/system-user.ts'
import { migrate } from '../migrate.ts'
import { markRestored } from '../restored-queries.ts'
import { unpackFiles } from './archive.ts'
import { diskFault } from './folder-store.ts'
import { type FoundMark, type MarkTimes, readRestoreMark, restoreMarkOf, writeRestoreMark } from './restore-mark.ts'
import { type PlacedFiles, placeSandboxFiles } from './sandbox-files.ts'
import { type BackupFacts, BackupFault, unseal } from './sealed.ts'
import { backupNameAt, type Content, isBackupName } from './store.ts'
import { decompressed } from './take-backup.ts'

/** Prepares recovery of the restored files through the log that came with them, onto a new timeline. */
async function prepareRecovery(folder: string): Promise<void> {
  await mkdir(join(folder, 'pg_wal', 'archive_status'), { recursive: true, mode: 0o700 })
  await writeFile(join(folder, RECOVERY_SIGNAL), '', { mode: 0o600 })
  appendFileSync(join(folder, 'postgresql.auto.conf'), "restore_command = 'false'\n")
  await chmod(folder, 0o700)
}

/**
 * What was made after a restore has not left before it: by a clock that is behind, that would hold of what was made
 * before it, too. @throws BackupFault
 */
export function refuseAhead(backupMadeAt: Date, now: Date): void {
  if (backupMadeAt <= now) return
  throw new BackupFault(
    `The backup is of ${backupMadeAt.toISOString()}, and your clock says ${now.toISOString()}. Nothing was restored. ` +
      'Correct the clock of this machine. If it is right, the one that made the backup was ahead: take an earlier backup, ' +
      'or wait until then.',
  )
}

/**
 * A cluster whose log PostgreSQL has not replayed to its end holds nothing that its backup does not: it makes room.
 * @throws BackupFault for every other one
 */
function refuseDatabase(cluster: string, dataDir: string): void {
  if (!existsSync(cluster)) return
  const isMarked = existsSync(restoreMarkOf(cluster))
  if (isMarked && existsSync(join(cluster, RECOVERY_SIGNAL))) return
  throw new BackupFault(
    isMarked
      ? `There is a database in ${dataDir} already, which a restore put there. If that was cut off, the next start of the ` +
          'service finishes it. Nothing was changed; restore into another folder.'
      : `There is a database in ${dataDir} already. Nothing was changed; restore into another folder.`,
  )
}

/**
 * Restores a backup's files into an empty place, atomically: all of them or none. What a failed restore left there is
 * replaced; no server may run on it.
 * @throws BackupFault: the place is occupied or full, or the backup has another key, is damaged or truncated
 */
export async function restoreFiles(request: {
  backup: { name: string; bytes: number; content: Content }
  dataDir: string
  vaults: readonly Vault[]
  /** Signs the mark that the next start reads. */
  vault: Vault
  /** Asked for the restore's time at its end: the machine before may have paid while a large backup was unpacked. */
  clock: Clock
  isRehearsal: boolean
  /** Asked once the files are unpacked, as the mark says it. */
  lostUntil(): Date
  onProgress(done: number, of: number): void
}): Promise<{ facts: BackupFacts; restoredAt: Date; sandbox: PlacedFiles }> {
  const { backup, dataDir, vault, clock, isRehearsal, onProgress } = request
  const startedAt = new Date(clock())
  const cluster = join(dataDir, 'postgres')
  refuseDatabase(cluster, dataDir)
  let read = 0
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const piece of backup.content) {
      read += piece.length
      onProgress(read, backup.bytes)
      yield piece
    }
  }
  const { facts, content } = await unseal(counted(), request.vaults)
  // a store that returns an older backup than the requested one would lose days of orders
  const name = backupNameAt(facts.madeAt, facts.life)
  if (isBackupName(backup.name) && backup.name !== name)
    throw new BackupFault(
      `${backup.name} holds the backup of ${facts.madeAt}, ${name}. Nothing was restored; take another one, or rename the file.`,
    )
  refuseAhead(new Date(facts.madeAt), startedAt)
  const draft = restoringOf(cluster)
  await rm(draft, { recursive: true, force: true })
  if (existsSync(cluster)) await rename(cluster, draft)
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true, mode: 0o700 })
  let restoredAt = startedAt
  try {
    await unpackFiles(decompressed(content), draft, () => {})
    await prepareRecovery(draft)
    restoredAt = new Date(clock())
    const times = { backupMadeAt: new Date(facts.madeAt), restoredAt, lostUntil: request.lostUntil(), isRehearsal }
    await writeRestoreMark(draft, times, vault)
    giveTo(chooseAccount(dataDir, cluster), draft)
    await rename(draft, cluster)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    // a sign for `findUnrestored`: nobody begins an empty database here because this one could not be restored
    await mkdir(draft, { mode: 0o700 }).catch(() => {})
    throw diskFault(error, dataDir, 'Nothing was restored.')
  }
  // with the cluster, never without it: a restore that is killed here is finished by the next start
  return { facts, restoredAt, sandbox: await placeSandboxFiles(cluster, dataDir) }
}

export type Finishing = {
  /** Throws before anything is recorded, if the vault does not belong to this database. */
  refuse?(): Promise<void>
  /** Writes it to the audit log, in the same transaction, unless it is there. */
  note(db: Db, tx: Tx, at: MarkTimes): Promise<void>
  /** Writes the mails about it, in the same transaction. */
  tell(tx: Tx, at: MarkTimes): Promise<void>
}

/**
 * Makes a restored database record that it was restored. Called after each start of the embedded server, because the
 * restore may have been killed before. A mark without our signature holds money like any other, and excuses nothing; it
 * stays, because a newer master key, which this start may lack, may have signed it.
 * @returns the mark that was found
 */
export async function finishRestore(
  { connectionString, dataDir, vault }: { connectionString: string; dataDir: string; vault: Vault },
  { refuse, note, tell }: Finishing,
): Promise<FoundMark | undefined> {
  const cluster = join(dataDir, 'postgres')
  const file = restoreMarkOf(cluster)
  if (!existsSync(file)) return undefined
  await placeSandboxFiles(cluster, dataDir)
  const db = openDb({ connectionString, max: 2, applicationName: 'comptoir-restore' })
  try {
    // the backup may be older than the columns that the marker needs
    await migrate(connectionString)
    await refuse?.()
    const mark = await readRestoreMark(cluster, vault)
    await db.tx(async (tx) => {
      if ((await markRestored(tx, mark)) && !mark.isRehearsal) await tell(tx, mark)
      if (mark.isOurs) await note(db, tx, mark)
    })
    await db.pool.query('alter system reset restore_command')
    if (mark.isOurs) await rm(file)
    return mark
  } finally {
    await db.close()
  }
}

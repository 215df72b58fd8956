import { statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MINUTE } from '../../kernel/clock.ts'
import { readInstalledAt } from '../installation.ts'
import { diskFault } from './folder-store.ts'
import { openStore, type StoreSettings } from './places.ts'
import { BackupFault } from './sealed.ts'
import { findNewestBackup } from './take-backup.ts'

type Found = { name: string; madeAtMs: number }

/** The backups of this installation's database, whoever made them. */
export type KnownBackups = {
  place: string
  /** @throws BackupFault when they cannot be listed */
  findNewest(): Promise<Found | undefined>
  /**
   * When the database was created, in milliseconds: from then on a first backup is due. Undefined without a database.
   */
  databaseMadeAtMs(): Promise<number | undefined>
}

/** A backup takes a while, and a failed one is retried after ten minutes. */
const GRACE_MS = 30 * MINUTE

/** Of the embedded database; undefined before its first start. */
const clusterTimeOf = (dataDir: string): number | undefined =>
  statSync(join(dataDir, 'postgres', 'PG_VERSION'), { throwIfNoEntry: false })?.mtimeMs

/** The newest non-empty file, by modification time. Files that are being written end in `.part` or `.tmp`. */
async function findNewestFile(folder: string): Promise<Found | undefined> {
  try {
    const names = (await readdir(folder)).filter((name) => !/^\.|\.(part|tmp)$/.test(name))
    const files = await Promise.all(
      names.map(async (name) => ({ name, facts: await stat(join(folder, name)).catch(() => undefined) })),
    )
    const whole = files.flatMap(({ name, facts }) =>
      facts?.isFile() && facts.size > 0 ? [{ name, madeAtMs: facts.mtimeMs }] : [],
    )
    return whole.sort((left, right) => right.madeAtMs - left.madeAtMs)[0]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES')
      throw new BackupFault(
        `${folder} cannot be listed by this user. Its files may stay closed: chmod a+rx the folder.`,
      )
    throw diskFault(error, folder, 'Its backups cannot be watched.')
  }
}

export type BackupSettings = StoreSettings & {
  backupTo: string | null
  backupWatch: string | null
  databaseUrl: string | null
  dataDir: string
}

/** Backups in BACKUP_TO for the embedded database, in BACKUP_WATCH for another one; null if neither is set. */
export function openKnownBackups(config: BackupSettings): KnownBackups | null {
  const { backupTo, backupWatch, databaseUrl, dataDir } = config
  if (databaseUrl === null) {
    if (backupTo === null) return null
    const findNewest = async () => findNewestBackup(openStore(backupTo, config))
    return { place: backupTo, findNewest, databaseMadeAtMs: async () => clusterTimeOf(dataDir) }
  }
  if (backupWatch === null) return null
  const databaseMadeAtMs = async () => (await readInstalledAt(databaseUrl))?.getTime()
  return { place: backupWatch, findNewest: () => findNewestFile(backupWatch), databaseMadeAtMs }
}

/**
 * Time since the newest backup, or else since the database was created, in milliseconds. Undefined without a database.
 * @throws BackupFault when the backups cannot be listed
 */
export async function readBackupAge(
  backups: KnownBackups,
  nowMs: number,
): Promise<{ newest: Found | undefined; ageMs: number | undefined }> {
  const newest = await backups.findNewest()
  const sinceMs = newest?.madeAtMs ?? (await backups.databaseMadeAtMs())
  return { newest, ageMs: sinceMs === undefined ? undefined : nowMs - sinceMs }
}

export const isBackupOverdue = (ageMs: number | undefined, everyMinutes: number): boolean =>
  ageMs !== undefined && ageMs > everyMinutes * MINUTE + GRACE_MS

import { statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MINUTE } from '../../kernel/clock.ts'
import { LOOK_MS, mountOf, SilentMount } from '../../kernel/process/mount.ts'
import { findEmbeddedPostgres } from '../embedded/embedded.ts'
import { type Life, readInstalledAt, readLife } from '../installation.ts'
import { diskFault, findSilence } from './folder-store.ts'
import { openStore, type StoreSettings } from './places.ts'
import { BackupFault } from './sealed.ts'
import { isAhead } from './store.ts'
import { listBackups, ownOf } from './take-backup.ts'

/**
 * Those `ahead` have a time that has not come, and do not count. Nor do those of `others`: of another life of this
 * database, of another database, or of an older version, which did not say whose they are.
 */
type Found = { newest: { name: string; madeAtMs: number } | undefined; ahead: readonly string[]; others: number }

/** `unknownSinceMs`: since then the place does not answer, and this is what it answered last. */
type Look = Found & { unknownSinceMs?: number }

/** The backups of this installation's database, whoever made them. */
export type KnownBackups = {
  place: string
  /** Within 5 s. @throws BackupFault when they cannot be listed, or were not since the start */
  look(nowMs: number): Promise<Look>
  /**
   * When this life of the database began, in milliseconds: from then on a first backup is due. Undefined without a
   * database.
   */
  databaseMadeAtMs(): Promise<number | undefined>
}

/** A backup takes a while, and a failed one is retried after ten minutes. */
const GRACE_MS = 30 * MINUTE

/** Of the embedded database; undefined before its first start. */
const clusterTimeOf = (dataDir: string): number | undefined =>
  statSync(join(dataDir, 'postgres', 'PG_VERSION'), { throwIfNoEntry: false })?.mtimeMs

/** Non-empty files, by modification time. Files that are being written end in `.part` or `.tmp`. */
async function lookAtFiles(folder: string, nowMs: number): Promise<Found> {
  const mount = mountOf(folder)
  try {
    const names = await mount.call(() => readdir(folder))
    const whole: { name: string; madeAtMs: number }[] = []
    for (const name of names.filter((one) => !/^\.|\.(part|tmp)$/.test(one))) {
      const facts = await mount.call(() => stat(join(folder, name)).catch(() => undefined))
      if (facts?.isFile() && facts.size > 0) whole.push({ name, madeAtMs: facts.mtimeMs })
    }
    const ahead = whole.filter(({ madeAtMs }) => isAhead(madeAtMs, nowMs))
    const usable = whole.filter((file) => !ahead.includes(file))
    const [newest] = usable.sort((left, right) => right.madeAtMs - left.madeAtMs)
    return { newest, ahead: ahead.map(({ name }) => name), others: 0 }
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

/** Of the embedded database, if it runs. */
async function readEmbeddedLife(dataDir: string): Promise<Life | undefined> {
  const connectionString = await findEmbeddedPostgres(dataDir)
  return connectionString === null ? undefined : readLife(connectionString)
}

const UNLISTED = 'Its backups could not be listed.'

/**
 * One look at a time for everyone who asks. Without an answer within 5 s the last one counts: a place that is away for
 * a while is no reason to say that there are no backups.
 */
function shareLook(place: string, find: (nowMs: number) => Promise<Found>): KnownBackups['look'] {
  let asked: Promise<Found> | undefined
  let askedAtMs = 0
  let known: Found | undefined
  const ask = async (nowMs: number): Promise<Found> => {
    askedAtMs = nowMs
    known = await find(nowMs)
    return known
  }
  return async (nowMs) => {
    asked ??= ask(nowMs).finally(() => {
      asked = undefined
    })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new SilentMount(place, askedAtMs)), LOOK_MS)
    })
    try {
      return await Promise.race([asked, late])
    } catch (error) {
      const silence = findSilence(error)
      if (silence === undefined) throw error
      if (known === undefined) throw diskFault(silence, place, UNLISTED)
      return { ...known, unknownSinceMs: silence.sinceMs }
    } finally {
      clearTimeout(timer)
    }
  }
}

/** While the database does not say whose they are, because it does not run, all in the place count as its own. */
function ownBackups(backupTo: string, config: BackupSettings): KnownBackups {
  const { dataDir } = config
  return {
    place: backupTo,
    look: shareLook(backupTo, async (nowMs) => {
      const listed = listBackups(openStore(backupTo, config), nowMs)
      const [life, { found, ahead }] = await Promise.all([readEmbeddedLife(dataDir), listed])
      const own = life ? ownOf(found, life.id) : found
      return { newest: own.at(-1), ahead, others: found.length - own.length }
    }),
    databaseMadeAtMs: async () => (await readEmbeddedLife(dataDir))?.since.getTime() ?? clusterTimeOf(dataDir),
  }
}

/** Backups in BACKUP_TO for the embedded database, in BACKUP_WATCH for another one; null if neither is set. */
export function openKnownBackups(config: BackupSettings): KnownBackups | null {
  const { backupTo, backupWatch, databaseUrl } = config
  if (databaseUrl === null) return backupTo === null ? null : ownBackups(backupTo, config)
  if (backupWatch === null) return null
  const databaseMadeAtMs = async () => (await readInstalledAt(databaseUrl))?.getTime()
  const look = shareLook(backupWatch, (nowMs) => lookAtFiles(backupWatch, nowMs))
  return { place: backupWatch, look, databaseMadeAtMs }
}

/**
 * Time since the newest backup, or else since the database was created, in milliseconds. Undefined without a database.
 * @throws BackupFault when the backups cannot be listed
 */
export async function readBackupAge(
  backups: KnownBackups,
  nowMs: number,
): Promise<Look & { ageMs: number | undefined }> {
  const look = await backups.look(nowMs)
  const sinceMs = look.newest?.madeAtMs ?? (await backups.databaseMadeAtMs())
  return { ...look, ageMs: sinceMs === undefined ? undefined : nowMs - sinceMs }
}

export const isBackupOverdue = (ageMs: number | undefined, everyMinutes: number): boolean =>
  ageMs !== undefined && ageMs > everyMinutes * MINUTE + GRACE_MS

import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { folderStore } from './folder-store.ts'
import { readS3Place, type S3Settings, s3Store } from './s3-store.ts'
import { BackupFault } from './sealed.ts'
import { type BackupStore, isBackupName } from './store.ts'
import { type FoundBackup, listBackups } from './take-backup.ts'

/** Settings from the configuration; keys are needed for a bucket only. */
export type StoreSettings = {
  backupS3Endpoint: string | null
  backupS3Region: string
  backupS3AccessKeyId: string | null
  backupS3SecretAccessKey: string | null
}

export const isBucket = (place: string): boolean => place.startsWith('s3:')

/** @throws BackupFault without the keys */
function readKeys(settings: StoreSettings): S3Settings {
  const {
    backupS3Region: region,
    backupS3AccessKeyId: accessKeyId,
    backupS3SecretAccessKey: secretAccessKey,
  } = settings
  if (accessKeyId === null || secretAccessKey === null)
    throw new BackupFault('A bucket needs BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY.')
  const endpoint = settings.backupS3Endpoint ?? `https://s3.${region}.amazonaws.com`
  return { endpoint, region, accessKeyId, secretAccessKey }
}

/** A folder, or `s3://bucket/prefix`. @throws BackupFault */
export const openStore = (place: string, settings: StoreSettings): BackupStore =>
  isBucket(place) ? s3Store(place, readKeys(settings)) : folderStore(place)

/** What is wrong with the settings of a bucket, one line each. */
export function findStoreFaults({ backupTo, ...settings }: StoreSettings & { backupTo: string | null }): string[] {
  if (backupTo === null || !isBucket(backupTo)) return []
  const { backupS3AccessKeyId, backupS3SecretAccessKey } = settings
  return [
    ...(readS3Place(backupTo) ? [] : ['BACKUP_TO: write s3://bucket/prefix for a bucket']),
    ...(backupS3AccessKeyId === null ? ['BACKUP_S3_ACCESS_KEY_ID: missing; BACKUP_TO is a bucket'] : []),
    ...(backupS3SecretAccessKey === null ? ['BACKUP_S3_SECRET_ACCESS_KEY: missing; BACKUP_TO is a bucket'] : []),
  ]
}

export type ChosenBackup = { store: BackupStore; name: string }

/** Which of several databases, or lives of one, is wanted, a person knows: the newest backup may be of a rehearsal. */
function severalFault({ place, pathOf }: BackupStore, lives: readonly FoundBackup[][]): BackupFault {
  const lines = lives.flatMap((backups) => {
    const newest = backups.at(-1)
    if (!newest) return []
    const older = newest.life === null ? '; made by an older version, of one database or several' : ''
    return [`  ${pathOf(newest.name)} (the newest of ${backups.length}${older})`]
  })
  return new BackupFault(
    `${place} holds backups of ${lives.length} databases, or of one before and after a restore. Nothing was restored. ` +
      `Name the one that you want:\n${lines.join('\n')}`,
  )
}

/**
 * The backup that the operator named, or the newest one at a place that holds those of one database only.
 * @throws BackupFault
 */
export async function chooseBackup(from: string, settings: StoreSettings): Promise<ChosenBackup> {
  const last = basename(from)
  if (isBucket(from) && isBackupName(last))
    return { store: openStore(from.slice(0, -last.length), settings), name: last }
  if (!isBucket(from)) {
    const found = await stat(from).catch(() => undefined)
    if (!found) throw new BackupFault(`There is nothing at ${from}.`)
    if (!found.isDirectory()) return { store: folderStore(dirname(from)), name: last }
  }
  const store = openStore(from, settings)
  const nowMs = Date.now()
  const { found, ahead } = await listBackups(store, nowMs)
  const [future] = ahead
  // by a clock that is behind, the newest ones have not come yet
  if (future !== undefined)
    throw new BackupFault(
      `${future} in ${from} has a time that has not come: your clock says ${new Date(nowMs).toISOString()}. Nothing was ` +
        'restored. Correct the clock of this machine; if it is right, name the backup that you want.',
    )
  const lives = [...Map.groupBy(found, ({ life }) => life).values()]
  if (lives.length > 1) throw severalFault(store, lives)
  const newest = found.at(-1)
  if (newest) return { store, name: newest.name }
  throw new BackupFault(`There is no backup in ${from}.`)
}

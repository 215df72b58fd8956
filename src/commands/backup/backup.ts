import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Config } from '../../config/config.ts'
import { findMasterKey } from '../../config/master-key.ts'
import { type ChosenBackup, chooseBackup, openStore } from '../../db/backup/places.ts'
import { isRestorePending } from '../../db/backup/restore-mark.ts'
import { pruneBackups, takeBackup, withBackupConnection } from '../../db/backup/take-backup.ts'
import { readIsRehearsal, readLife, readMigrations } from '../../db/installation.ts'
import { openVault } from '../../kernel/vault.ts'
import type { OperatorCommand } from '../admin.ts'
import { UsageError } from '../command.ts'
import { refuseForeignDatabase } from '../database.ts'
import { withDatabaseServer } from '../operator-database.ts'
import { megabytes, startProgress } from '../progress.ts'

export const BACKUP_USAGE = `comptoir backup --to PATH [--keep N] [--json]

A consistent, encrypted copy of the embedded database, also while the service runs. It is read back once before it
gets its name.

  --to PATH   folder, or s3://bucket/prefix (default: BACKUP_TO)
  --keep N    remove all but the newest N of this database afterwards
  --json      for programs

The copy opens with MASTER_KEY only. Keep the key in another place than the backups: without it they cannot be read,
and neither can you. See docs/backup.md.`

/** Its copy would pass for one of the database that the restored backup is of, and `--keep` would remove those. */
const pending = (dataDir: string): string =>
  `The restore into ${dataDir} is not finished: the database does not know of it yet. Start the service there once.`

/** Restored, it would be taken for the real service: what it stands for is where it came from. */
const REHEARSED = 'This is a rehearsal: no backup of it is made. The one that it was restored from is still there.'

const OUTSIDE =
  'DATABASE_URL names a server of its own; back that one up with its own tools (pgBackRest, WAL-G, or your provider’s). ' +
  'docs/backup.md says what to keep, and how to go on afterwards.'

function readKeep(text: string | undefined): number | null {
  if (text === undefined) return null
  const keep = Number(text)
  if (Number.isInteger(keep) && keep >= 1) return keep
  throw new UsageError('--keep takes a whole number of at least 1.')
}

/** @throws UsageError, Error with a sentence for the operator */
export const runBackup: OperatorCommand = async (config: Config, args, say) => {
  const options = {
    to: { type: 'string' },
    keep: { type: 'string' },
    json: { type: 'boolean', default: false },
  } as const
  const { values } = parseArgs({ args, options })
  const to = values.to ?? config.backupTo
  const keep = readKeep(values.keep)
  if (config.databaseUrl !== null) throw new Error(OUTSIDE)
  if (to === null || to === undefined) throw new UsageError('Name a destination: --to PATH, or set BACKUP_TO.')
  const store = openStore(to, config)
  const key = findMasterKey(config)
  if (!key) throw new Error('There is no master key, so nothing can be encrypted. Set MASTER_KEY.')
  const vault = openVault(key)
  const cluster = join(config.dataDir, 'postgres')
  const progress = startProgress(say, 'Backup', 'MB')
  const made = await withDatabaseServer(config, say, async (connectionString) => {
    // another key would seal a backup that this installation cannot open, and --keep would then remove the good ones
    await refuseForeignDatabase(connectionString, config, key)
    if (await isRestorePending(cluster, vault, connectionString)) throw new Error(pending(config.dataDir))
    if (await readIsRehearsal(connectionString)) throw new Error(REHEARSED)
    const facts = {
      madeAt: new Date().toISOString(),
      mode: config.mode,
      schema: (await readMigrations(connectionString)).at(-1)?.id ?? '',
      life: (await readLife(connectionString))?.id ?? null,
    }
    const taken = await withBackupConnection(connectionString, (client) =>
      takeBackup({
        ...{ client, cluster, to: store, vault, facts },
        onProgress: (done, of) => progress(megabytes(done), megabytes(of)),
      }),
    )
    return { ...taken, life: facts.life }
  })
  if (keep !== null && made.life !== null) await pruneBackups(store, { life: made.life, keep, nowMs: Date.now() })
  else if (keep !== null) say('Nothing was removed: a database of an older version does not say which backups are its.')
  const text = `Backed up and read back: ${made.file} (${megabytes(made.bytes)} MB). It opens with your MASTER_KEY only.`
  process.stdout.write(`${values.json ? JSON.stringify(made) : text}\n`)
}

export const RESTORE_USAGE = `comptoir restore --from PATH --data-dir DIR [--rehearsal] [--json]
comptoir restore --already-done TIME [--rehearsal] [--yes]

Puts a backup into a folder that holds no database yet. Start the service there afterwards, then run
"comptoir reconcile": until then no refund and no settlement leaves.

  --from PATH      a backup, or where backups of one database are (a folder, s3://bucket/prefix): the newest one counts
  --data-dir DIR   the new place
  --already-done TIME   only mark: your PostgreSQL's own tools restored DATABASE_URL to this time (ISO 8601)
  --rehearsal      a copy to try out: whatever its settings, a service on it sends nothing, pays nothing, and only reads
  --yes            with --already-done: do not ask
  --json           for programs

MASTER_KEY must be the key that was in use when the backup was made (or one of MASTER_KEY_PREVIOUS).`

export type RestoreArgs = { rehearsal: boolean } & (
  | { backup: ChosenBackup; dataDir: string; json: boolean }
  | { alreadyDone: Date; yes: boolean }
)

/** @throws UsageError, BackupFault */
export async function readRestoreArgs(config: Config, args: string[]): Promise<RestoreArgs> {
  const options = {
    from: { type: 'string' },
    'data-dir': { type: 'string' },
    'already-done': { type: 'string' },
    rehearsal: { type: 'boolean', default: false },
    yes: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  } as const
  const { from, 'data-dir': dataDir, 'already-done': time, rehearsal, yes, json } = parseArgs({ args, options }).values
  if (time !== undefined) {
    const alreadyDone = new Date(time)
    if (Number.isNaN(alreadyDone.getTime()))
      throw new UsageError('--already-done takes a time such as 2030-01-31T12:00:00Z')
    return { alreadyDone, rehearsal, yes }
  }
  if (from === undefined || dataDir === undefined) throw new UsageError('Name the backup and the destination.')
  return { backup: await chooseBackup(from, config), dataDir: resolve(dataDir), rehearsal, json }
}

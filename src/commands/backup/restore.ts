import { existsSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { findMasterKey } from '../../config/master-key.ts'
import { diskFault } from '../../db/backup/folder-store.ts'
import { finishRestore, refuseAhead, restoreFiles } from '../../db/backup/restore-backup.ts'
import { restoreMarkOf } from '../../db/backup/restore-mark.ts'
import { lacksChain, type PlacedFiles } from '../../db/backup/sandbox-files.ts'
import { lockDataDir } from '../../db/embedded/data-dir-lock.ts'
import { endLeftServer, startEmbeddedPostgres } from '../../db/embedded/embedded.ts'
import { forgetElsewhere } from '../../db/embedded/state-directory.ts'
import { markRestored } from '../../db/restored-queries.ts'
import { missingWords, readMissingParts } from '../../db/wire/schema-parts.ts'
import { systemClock } from '../../kernel/clock.ts'
import { makeFolder } from '../../kernel/process/make-folder.ts'
import { openVault } from '../../kernel/vault.ts'
import type { OperatorCommand } from '../admin.ts'
import { askBefore } from '../ask-before.ts'
import { UsageError } from '../command.ts'
import { withDatabase } from '../database.ts'
import { megabytes, startProgress } from '../progress.ts'
import { readRestoreArgs } from './backup.ts'
import { lostUntilNow, noteRestore } from './note-restore.ts'
import { tellRestored } from './tell-restore.ts'

const REHEARSED = 'It is a rehearsal: a service on it sends nothing, pays nothing, and only answers reads.'

/** For a database that its own server's tools restored. */
async function markOutside(
  config: Config,
  { alreadyDone: backupMadeAt, rehearsal, yes }: { alreadyDone: Date; rehearsal: boolean; yes: boolean },
  say: (line: string) => void,
): Promise<undefined> {
  if (config.databaseUrl === null)
    throw new UsageError('--already-done is for a DATABASE_URL; the embedded one takes --from.')
  refuseAhead(backupMadeAt, new Date(systemClock()))
  const missing = await readMissingParts(config.databaseUrl)
  if (missing.length > 0)
    throw new Error(`${missingWords(missing)} Nothing was marked. Load the dump again as a whole.`)
  await askBefore(
    { yes },
    `The database of DATABASE_URL counts as restored to ${backupMadeAt.toISOString()} then: everybody is logged out, no ` +
      'refund and no settlement leaves before "comptoir reconcile", and each company has to confirm its payout address.',
  )
  // once answered: the machine before may have gone on until then
  const restoredAt = new Date(systemClock())
  const lostUntil = lostUntilNow(config.auditAnchorFile, say)
  const at = { backupMadeAt, restoredAt, lostUntil, isRehearsal: rehearsal }
  await withDatabase(config, say, (db, vault) =>
    db.tx(async (tx) => {
      if ((await markRestored(tx, at)) && !rehearsal) await tellRestored({ vault, clock: systemClock }, tx, at)
      await noteRestore({ db, vault, clock: systemClock }, tx, at)
    }),
  )
  process.stdout.write(
    rehearsal
      ? `Marked. ${REHEARSED}\n`
      : 'Marked. Start the service, then run: comptoir reconcile\nUntil then no refund and no settlement leaves.\n',
  )
}

/** @returns takes the folder away again, unless it was there, or something is in it @throws BackupFault */
function makeDataDir(dataDir: string): () => void {
  const isThere = existsSync(dataDir)
  try {
    makeFolder(dataDir)
  } catch (error) {
    throw diskFault(error, dataDir, 'Nothing was restored.')
  }
  return () => {
    if (isThere) return
    try {
      rmdirSync(dataDir)
    } catch {
      // the sign of a restore that was cut off is in it
    }
  }
}

/** A chain begun from nothing would stay below the blocks that the database knows. Older backups hold no chain. */
const needsChain = ({ chains }: Config, mode: string, dataDir: string): boolean =>
  mode === 'sandbox' && chains.length === 0 && lacksChain(dataDir)

const copyFiles = (dataDir: string): string =>
  'This backup holds no sandbox chain: if the sandbox ran its own, first copy chain.json, providers.json and ' +
  `screening.json from its data directory to ${dataDir}.`

/** Which of the sandbox's files count from now on, in words; empty: there are none. */
function filesWords({ kept, aside }: PlacedFiles, dataDir: string): string {
  if (kept === 'there')
    return `The sandbox’s chain in ${dataDir} goes on from the backup’s: it stays, with its providers.json and screening.json.`
  if (aside.length === 0) return ''
  return (
    'The sandbox’s chain is the one of the backup. What was there did not go on from it, and was set aside: ' +
    `${aside.join(', ')}.`
  )
}

/** A folder of root says nothing of the service's user, to whom the files must belong. Empty: it does. */
const ownerWords = (dataDir: string): string =>
  process.getuid?.() === 0 && statSync(dataDir).uid === 0
    ? `The database belongs to user number ${statSync(join(dataDir, 'postgres')).uid}. If the service runs as another user ` +
      `than root, first give it the folder: chown -R <user>: ${dataDir}\n`
    : ''

const lacksKey = (dataDir: string): string =>
  `The files are in ${dataDir}, but what an earlier master key sealed in them cannot be read. Start the service ` +
  'there with that key as MASTER_KEY_PREVIOUS: it finishes the restore.'

const againWords = (dataDir: string): string =>
  `The files are in ${dataDir}, but the database did not start. Remove the cause, then run comptoir restore again.`

/** @throws UsageError, BackupFault, Error with a sentence for the operator */
export const runRestore: OperatorCommand = async (config, args, say) => {
  const read = await readRestoreArgs(config, args)
  if ('alreadyDone' in read) return markOutside(config, read, say)
  const { backup, dataDir, rehearsal, json } = read
  const key = findMasterKey({ masterKey: config.masterKey, dataDir })
  if (!key) throw new Error('The backup is encrypted. Set MASTER_KEY to the key that was in use when it was made.')
  const vaults = [openVault(key), ...config.previousMasterKeys.map((previous) => openVault(previous))]
  const vault = openVault(key, config.previousMasterKeys)
  const takeAway = makeDataDir(dataDir)
  const progress = startProgress(say, 'Restore', 'MB')
  const lostUntil = (): Date => lostUntilNow(config.auditAnchorFile, say)
  const lock = await lockDataDir(dataDir)
  const copy = async () => {
    if (existsSync(restoreMarkOf(join(dataDir, 'postgres')))) await endLeftServer(dataDir, say)
    return restoreFiles({
      ...{ dataDir, vaults, vault, clock: systemClock, lostUntil, isRehearsal: rehearsal },
      backup: { name: backup.name, ...(await backup.store.get(backup.name)) },
      onProgress: (done, of) => progress(megabytes(done), megabytes(of)),
    })
  }
  const { facts, restoredAt, sandbox } = await copy()
    .finally(() => lock.release())
    .catch((error: unknown) => {
      takeAway()
      throw error
    })
  say('The files are restored; PostgreSQL replays its log.')
  const server = await startEmbeddedPostgres({ dataDir, log: say }).catch((error: Error) => {
    throw new Error(`${error.message}\n${againWords(dataDir)}`, { cause: error })
  })
  try {
    const place = { connectionString: server.connectionString, dataDir, vault }
    await finishRestore(place, {
      tell: (tx, at) => tellRestored({ vault, clock: systemClock }, tx, at),
      note: (db, tx, at) => {
        // the files took their time; a mark that is not of this restore keeps its own
        const times = at.restoredAt.getTime() === restoredAt.getTime() ? { ...at, lostUntil: lostUntil() } : at
        return noteRestore({ db, vault, clock: systemClock }, tx, times).catch((error: unknown) => {
          throw new Error(lacksKey(dataDir), { cause: error })
        })
      },
    })
    forgetElsewhere(dataDir)
  } finally {
    await server.stop()
  }
  const sameKey = config.masterKey ? ' and the same MASTER_KEY' : ''
  const files = needsChain(config, facts.mode, dataDir) ? copyFiles(dataDir) : filesWords(sandbox, dataDir)
  const goOn = rehearsal ? '' : ', then run with the same settings: comptoir reconcile'
  const next = `${files === '' ? '' : `${files}\n`}${ownerWords(dataDir)}Start the service with DATA_DIR=${dataDir}${sameKey}${goOn}`
  const held = rehearsal ? REHEARSED : 'Until then no refund and no settlement leaves.'
  const text = `Restored into ${dataDir}: the state of ${facts.madeAt} (${facts.mode}).\n${next}\n${held}`
  process.stdout.write(`${json ? JSON.stringify({ dataDir, ...facts, next }) : text}\n`)
}

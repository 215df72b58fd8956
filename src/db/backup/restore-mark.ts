import { existsSync, readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Hmac, openHmac, type Vault } from '../../kernel/vault.ts'
import { readRestoredAt } from '../installation.ts'
import { isRecorded, type NotedRestore } from '../restored-queries.ts'

/** Marker file in a restored cluster, until its database itself records that it was restored. */
const MARK = 'comptoir.restored'

/**
 * `mac`, `lostUntil`: missing in marks of older versions; `mac` also in those written without the master key.
 * `rehearsal`: only of one.
 */
type Mark = { backupMadeAt: string; restoredAt: string; lostUntil?: string; rehearsal?: true; mac?: string }

/** `lostUntil`: what was noted outside the database until then may be lost; undefined: until the restore. */
export type MarkTimes = NotedRestore & { lostUntil?: Date | undefined }

/** A mark as it was found. `isOurs`: whoever wrote it has the master key, and meant this cluster. */
export type FoundMark = MarkTimes & { isOurs: boolean }

export const restoreMarkOf = (cluster: string): string => join(cluster, MARK)

const macOf = (vault: Vault): Hmac => openHmac(vault, 'restore-mark', 'hex')

/** PostgreSQL's system identifier is the first eight bytes of its control file; a backup has that of its cluster. */
const identifierOf = (cluster: string): string =>
  readFileSync(join(cluster, 'global', 'pg_control'))
    .subarray(0, 8)
    .toString('hex')

const textOf = ({ backupMadeAt, restoredAt, lostUntil, rehearsal }: Mark, cluster: string): string =>
  JSON.stringify([
    ...[backupMadeAt, restoredAt, identifierOf(cluster)],
    ...(lostUntil === undefined ? [] : [lostUntil]),
    ...(rehearsal ? ['rehearsal'] : []),
  ])

/** Signed: who controls the database can write files next to it, but excuses no cut of the audit log with them. */
export async function writeRestoreMark(
  cluster: string,
  { backupMadeAt, restoredAt, lostUntil, isRehearsal }: MarkTimes,
  vault: Vault,
): Promise<void> {
  const mark: Mark = {
    ...{ backupMadeAt: backupMadeAt.toISOString(), restoredAt: restoredAt.toISOString() },
    ...(lostUntil ? { lostUntil: lostUntil.toISOString() } : {}),
    ...(isRehearsal ? { rehearsal: true } : {}),
  }
  const mac = macOf(vault).of(textOf(mark, cluster))
  await writeFile(restoreMarkOf(cluster), JSON.stringify({ ...mark, mac }), { mode: 0o600 })
}

/** @throws Error if there is no mark, or it is not JSON */
export async function readRestoreMark(cluster: string, vault: Vault): Promise<FoundMark> {
  const mark = JSON.parse(await readFile(restoreMarkOf(cluster), 'utf8')) as Mark
  const isOurs = typeof mark.mac === 'string' && macOf(vault).fits(textOf(mark, cluster), mark.mac)
  const lostUntil = mark.lostUntil === undefined ? undefined : new Date(mark.lostUntil)
  const times = { backupMadeAt: new Date(mark.backupMadeAt), restoredAt: new Date(mark.restoredAt), lostUntil }
  return { ...times, isRehearsal: mark.rehearsal === true, isOurs }
}

/** Whether a restore has put the files in place, and the database does not know it yet: it is another one still. */
export async function isRestorePending(cluster: string, vault: Vault, connectionString: string): Promise<boolean> {
  if (!existsSync(restoreMarkOf(cluster))) return false
  return !isRecorded(await readRestoredAt(connectionString), await readRestoreMark(cluster, vault))
}

import { listLastNoted } from '../../audit/anchor.ts'
import { openAudit } from '../../audit/audit.ts'
import { countAuditEntriesAt, findAuditHead, hasRestoreEntry, RESTORE } from '../../audit/audit-queries.ts'
import type { MarkTimes } from '../../db/backup/restore-mark.ts'
import type { Db, Tx } from '../../db/db.ts'
import { systemContext } from '../../http/request-context.ts'
import { type Clock, systemClock } from '../../kernel/clock.ts'
import type { Vault } from '../../kernel/vault.ts'
import { auditKeysOf, openServerKeys } from '../../keys/server-key-service.ts'

const latestOf = (times: readonly Date[]): Date => new Date(Math.max(...times.map((time) => time.getTime())))

/**
 * Until when what was noted in the anchor file may be lost: until now. The clock of the machine that restores may be
 * behind those of the nodes that noted it: then until its last lines, if the file is at hand.
 */
export function lostUntilNow(file: string | null, say: (line: string) => void): Date {
  const now = new Date(systemClock())
  try {
    return latestOf([now, ...(file === null ? [] : listLastNoted(file).map(({ at }) => at))])
  } catch (error) {
    say(
      `AUDIT_ANCHOR_FILE cannot be read (${(error as Error).message}): the time of the restore is that of this machine.`,
    )
    return now
  }
}

/**
 * Writes the restore to the audit log, so that `audit verify --anchor` can tell what it lost from what was cut off.
 * Only whoever restores, with the master key, can write it: a mark set in the database alone excuses nothing.
 * @throws Error when the vault lacks the key that seals the server's keys
 */
export async function noteRestore(
  { db, vault, clock }: { db: Db; vault: Vault; clock: Clock },
  tx: Tx,
  { backupMadeAt, restoredAt, lostUntil = restoredAt }: MarkTimes,
): Promise<void> {
  // a database that never ran has no key for it, and nothing to lose
  if ((await findAuditHead(tx)).seq === 0n) return
  // a mark that is put back excuses nothing a second time
  if (await hasRestoreEntry(tx, restoredAt)) return
  const audit = openAudit({ db, clock, keys: auditKeysOf(openServerKeys({ db, vault, clock })) })
  // the service may have started, and written, before its restore is noted
  const keptEntries = await countAuditEntriesAt(tx, backupMadeAt)
  await audit.write(tx, systemContext(RESTORE.actor), {
    action: RESTORE.action,
    detail: {
      ...{ backupMadeAt: backupMadeAt.toISOString(), restoredAt: restoredAt.toISOString(), keptEntries },
      // not when this entry is written: a copy of the mark may be put back later
      lostUntil: latestOf([backupMadeAt, restoredAt, lostUntil]).toISOString(),
    },
  })
}

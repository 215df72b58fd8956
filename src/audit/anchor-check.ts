import { MINUTE } from '../kernel/clock.ts'
import { type AuditHead, type AuditRow, RESTORE, type RestoreDetail } from './audit-queries.ts'

/** A head, and when it was noted. `restoredAt`: it is the entry of this restore. */
export type NotedHead = AuditHead & { at: Date; restoredAt?: Date | undefined }

/** Entries that a restore lost: written after its backup was made. */
export type LostEntries = { entries: number; backupMadeAt: Date; restoredAt: Date }

export type AnchorVerdict = { lost: readonly LostEntries[]; fault: null | { seq: bigint; reason: string } }

/** `kept`: the last entry of the backup, behind which the restored database went on. `until`: it lost nothing later. */
type Restore = AuditHead & { kept: bigint; backupMadeAt: Date; restoredAt: Date; until: Date }

/** The clocks of the nodes that note heads and make backups differ by so much at most. */
const SKEW_MS = MINUTE
/** A node of the lost database may go on for so long after the restore. */
const LATE_MS = 5 * MINUTE

/** The entry is chained like any other: who cuts the log without the server's keys cannot write one. */
function readRestore({ seq, hash, at, actor, action, detail }: AuditRow): Restore | undefined {
  if (actor !== RESTORE.actor || action !== RESTORE.action) return undefined
  const { backupMadeAt, restoredAt, keptEntries, lostUntil } = JSON.parse(detail) as RestoreDetail
  return {
    ...{ seq, hash, backupMadeAt: new Date(backupMadeAt), restoredAt: new Date(restoredAt) },
    // entries of older versions do not say it: nothing was written before them, and they may have lost all until then
    kept: keptEntries === undefined ? seq - 1n : BigInt(keptEntries),
    until: lostUntil === undefined ? at : new Date(lostUntil),
  }
}

/**
 * At least so many. After an earlier restore from an older backup the database went on from there: of that, too, heads
 * may be lost, and their numbers are not above those of the backup.
 */
function countLost(heads: readonly AuditHead[], kept: bigint): number {
  const last = heads.at(-1)?.seq ?? kept
  return Math.max(Number(last - kept), new Set(heads.map(({ hash }) => hash)).size)
}

/**
 * Compares the chain with what was noted outside the database. A restore loses the entries after its backup: heads that
 * were noted after that backup and before the restored database went on: by the times of the restore, which only the
 * holder of the master key signs, and before the file holds its entry, if it does. What was noted before the backup,
 * and after the restore, must be there. A restore is written once: where the file knows it by another entry, that one
 * was cut off, and what takes its place excuses nothing.
 */
export function openAnchorCheck(anchors: readonly NotedHead[]) {
  /** Noted heads that are not in the chain, each with its place in the file. */
  const unmet = new Map<bigint, { noted: NotedHead; place: number }[]>()
  for (const [place, noted] of anchors.entries())
    unmet.set(noted.seq, [...(unmet.get(noted.seq) ?? []), { noted, place }])
  const restores: (Restore & { place: number })[] = []
  let end = 0n
  const lostBy = ({ noted, place }: { noted: NotedHead; place: number }) =>
    restores.find(
      (restore) =>
        noted.at.getTime() >= restore.backupMadeAt.getTime() - SKEW_MS &&
        noted.at.getTime() <= restore.until.getTime() + LATE_MS &&
        (restore.place === -1 || place < restore.place),
    )
  const isWrittenAgain = ({ restoredAt, hash }: Restore): boolean => {
    const first = anchors.find((noted) => noted.restoredAt?.getTime() === restoredAt.getTime())
    return first !== undefined && first.hash !== hash
  }
  return {
    /** In order, each entry once its own hash was found right. */
    pass(row: AuditRow): void {
      end = row.seq
      const restore = readRestore(row)
      const isRow = ({ seq, hash }: NotedHead): boolean => seq === row.seq && hash === row.hash
      if (restore && !isWrittenAgain(restore)) restores.push({ ...restore, place: anchors.findIndex(isRow) })
      const rest = unmet.get(row.seq)?.filter(({ noted }) => noted.hash !== row.hash) ?? []
      if (rest.length > 0) unmet.set(row.seq, rest)
      else unmet.delete(row.seq)
    },
    end(): AnchorVerdict {
      const lostHeads: { restore: Restore; noted: NotedHead }[] = []
      for (const [seq, heads] of [...unmet].sort(([one], [other]) => (one < other ? -1 : 1)))
        for (const head of heads) {
          const restore = lostBy(head)
          const reason =
            seq > end
              ? 'the end of the log was cut off: the anchor knows more entries'
              : 'it differs from its anchor outside the database'
          if (!restore) return { lost: [], fault: { seq, reason } }
          lostHeads.push({ restore, noted: head.noted })
        }
      const byRestore = [...Map.groupBy(lostHeads, ({ restore }) => restore)]
      const lost = byRestore.map(([{ kept, backupMadeAt, restoredAt }, heads]) => ({
        entries: countLost(
          heads.map(({ noted }) => noted),
          kept,
        ),
        ...{ backupMadeAt, restoredAt },
      }))
      return { lost, fault: null }
    },
  }
}

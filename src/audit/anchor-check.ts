import { MINUTE } from '../kernel/clock.ts'
import { type AuditHead, type AuditRow, RESTORE, type RestoreDetail } from './audit-queries.ts'

/** A head, and when it was noted. `restoredAt`: it is the entry of this restore. */
export type NotedHead = AuditHead & { at: Date; restoredAt?: Date | undefined }

/** What an anchor file held when it was first read; later lines of it do not count. */
export type Anchors = {
  count: number
  /** The entry that each restore was first noted with, by the time of the restore in ms. */
  restores: ReadonlyMap<number, string>
  /** All of them in the order of the file, read anew. */
  heads: () => Iterable<NotedHead>
}

/** Entries that a restore lost: written after its backup was made. */
export type LostEntries = { entries: number; backupMadeAt: Date; restoredAt: Date }

export type AnchorVerdict = { lost: readonly LostEntries[]; fault: null | { seq: bigint; reason: string } }

/** `kept`: the last entry of the backup, behind which the restored database went on. `until`: it lost nothing later. */
type Restore = AuditHead & { kept: bigint; backupMadeAt: Date; restoredAt: Date; until: Date }

/** A noted head, and where it is in the file. */
type Placed = { noted: NotedHead; place: number }

const CUT_OFF = 'the end of the log was cut off: the anchor knows more entries'
const DIFFERS = 'it differs from its anchor outside the database'

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

/** `place`: of its own entry in the file; -1: not found there so far. */
type PlacedRestore = Restore & { place: number }

/** By when it was noted, and before the file has the restore's own entry, if it does. */
const isLostBy = ({ noted, place }: Placed, restore: PlacedRestore): boolean =>
  noted.at.getTime() >= restore.backupMadeAt.getTime() - SKEW_MS &&
  noted.at.getTime() <= restore.until.getTime() + LATE_MS &&
  (restore.place === -1 || place < restore.place)

/** What the file knows of entries that one restore lost. `first`: the lowest of them, at this place in the file. */
type Loss = { restore: Restore; first: bigint; place: number; last: bigint; hashes: Set<string> }

/**
 * At least so many. After an earlier restore from an older backup the database went on from there: of that, too, heads
 * may be lost, and their numbers are not above those of the backup.
 */
const countLost = ({ restore: { kept }, last, hashes }: Loss): number => Math.max(Number(last - kept), hashes.size)

/** Noted heads that are not where the chain is by now are looked up so many at a time. */
const LOOKED_UP = 1000

/** With more heads that are not in the chain the file is read once more at its end, instead of keeping them. */
const MOST_UNMET = 10_000

/**
 * Compares the chain with what was noted outside the database. A restore loses the entries after its backup: heads that
 * were noted after that backup and before the restored database went on: by the times of the restore, which only the
 * holder of the master key signs, and before the file holds its entry, if it does. What was noted before the backup,
 * and after the restore, must be there. A restore is written once: where the file knows it by another entry, that one
 * was cut off, and what takes its place excuses nothing.
 *
 * The file is read along with the chain, so that what is in memory does not grow with either. Where the file goes back,
 * as it does at a restore, `find` tells the hashes of entries that were passed.
 */
export class AnchorCheck {
  readonly #anchors: Anchors | undefined
  readonly #find: (seqs: readonly bigint[]) => Promise<AuditHead[]>
  #heads: Iterator<NotedHead> | undefined
  #next: NotedHead | undefined
  #place = 0
  readonly #restores: PlacedRestore[] = []
  readonly #losses = new Map<Restore, Loss>()
  /** Not in the chain, as long as it may still hold the restore that lost them. */
  readonly #unmet: Placed[] = []
  readonly #behind: Placed[] = []
  /** There are more than are kept: another installation's file, or one restore after a long time. */
  #isReadTwice = false
  #end = 0n
  #isOver = false
  #fault: bigint | null = null

  constructor(anchors: Anchors | undefined, find: (seqs: readonly bigint[]) => Promise<AuditHead[]>) {
    this.#anchors = anchors
    this.#find = find
    this.#begin()
  }

  #begin(): void {
    this.#heads = this.#anchors?.heads()[Symbol.iterator]()
    this.#next = this.#heads?.next().value
    this.#place = 0
  }

  /** In order, each entry once its own hash was found right. */
  async pass(row: AuditRow): Promise<void> {
    this.#end = row.seq
    const restore = this.#anchors && readRestore(row)
    const first = restore && this.#anchors?.restores.get(restore.restoredAt.getTime())
    const isWrittenAgain = first !== undefined && first !== row.hash
    if (restore && !isWrittenAgain) this.#restores.push({ ...restore, place: -1 })
    while (this.#next && this.#next.seq <= row.seq) await this.#take(this.#next, row)
  }

  async end(): Promise<AnchorVerdict> {
    if (this.#isReadTwice) {
      // the rest, for the places of the restores
      await this.#readOn()
      this.#begin()
    }
    await this.#lookUp()
    this.#isOver = true
    for (const one of this.#unmet) this.#judge(one)
    await this.#readOn()
    const fault = this.#fault
    if (fault !== null) return { lost: [], fault: { seq: fault, reason: fault > this.#end ? CUT_OFF : DIFFERS } }
    const inOrder = [...this.#losses.values()].sort((one, other) =>
      one.first === other.first ? one.place - other.place : Number(one.first - other.first),
    )
    const lost = inOrder.map((loss) => {
      const { backupMadeAt, restoredAt } = loss.restore
      return { entries: countLost(loss), backupMadeAt, restoredAt }
    })
    return { lost, fault: null }
  }

  async #readOn(): Promise<void> {
    while (this.#next) await this.#take(this.#next)
    await this.#lookUp()
  }

  /** @param row the entry that the chain is at; none: it is over */
  async #take(noted: NotedHead, row?: AuditRow): Promise<void> {
    const one = { noted, place: this.#place }
    const own = this.#restores.find(({ seq, hash }) => seq === noted.seq && hash === noted.hash)
    if (own?.place === -1) own.place = one.place
    if (noted.seq === row?.seq) this.#meet(one, row.hash)
    else if (noted.seq > this.#end) this.#meet(one, undefined)
    else this.#behind.push(one)
    if (this.#behind.length >= LOOKED_UP) await this.#lookUp()
    this.#place += 1
    this.#next = this.#heads?.next().value
  }

  async #lookUp(): Promise<void> {
    const behind = this.#behind.splice(0)
    if (behind.length === 0) return
    const found = await this.#find([...new Set(behind.map(({ noted }) => noted.seq))])
    const hashes = new Map(found.map(({ seq, hash }) => [seq, hash]))
    for (const one of behind) this.#meet(one, hashes.get(one.noted.seq))
  }

  #meet(one: Placed, hash: string | undefined): void {
    if (one.noted.hash === hash) return
    if (this.#isOver) this.#judge(one)
    else if (!this.#isReadTwice) this.#unmet.push(one)
    if (this.#unmet.length <= MOST_UNMET) return
    this.#unmet.length = 0
    this.#isReadTwice = true
  }

  #judge(one: Placed): void {
    const { seq, hash } = one.noted
    const restore = this.#restores.find((each) => isLostBy(one, each))
    if (!restore) {
      if (this.#fault === null || seq < this.#fault) this.#fault = seq
      return
    }
    const known = this.#losses.get(restore)
    const loss = known ?? { restore, first: seq, place: one.place, last: seq, hashes: new Set<string>() }
    if (!known) this.#losses.set(restore, loss)
    if (seq < loss.first || (seq === loss.first && one.place < loss.place))
      Object.assign(loss, { first: seq, place: one.place })
    if (seq > loss.last) loss.last = seq
    loss.hashes.add(hash)
  }
}

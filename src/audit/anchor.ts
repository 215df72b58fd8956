import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { FastifyBaseLogger } from 'fastify'
import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/db.ts'
import { clearGauge } from '../db/metrics/stored-gauge.ts'
import { type Clock, MINUTE, SECOND } from '../kernel/clock.ts'
import { mountOf } from '../kernel/process/mount.ts'
import type { Anchors, NotedHead } from './anchor-check.ts'
import { type AuditHead, findAuditHead, findRestoreEntry, hasAuditEntry } from './audit-queries.ts'

/** The head of the chain is noted at most this often. */
export const ANCHOR_EVERY_MS = 10_000

/** A time as `toISOString` writes it. */
const TIME = String.raw`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)`
/** The hash is last, so that no part of a line is one. */
const LINE = new RegExp(`^${TIME} (\\d+)(?: ${TIME})? ([0-9a-f]{64})$`)
/** What a crash may leave of a line: its beginning, or what came after zeros. */
const PIECE = /^[\da-fTZ:. -]*$/
/** After a power failure any block of the file may be zeros: the end of one line, and the beginning of the next. */
const BREAK = /(\n|\0+)/
/** Long enough for the last line, whatever a crash left behind it. */
const END_BYTES = 16_384

function readLine(line: string): NotedHead | undefined {
  const [, at, seq, restoredAt, hash] = LINE.exec(line) ?? []
  if (at === undefined || seq === undefined || hash === undefined || Number.isNaN(Date.parse(at))) return undefined
  return { at: new Date(at), seq: BigInt(seq), hash, ...(restoredAt ? { restoredAt: new Date(restoredAt) } : {}) }
}

/**
 * Reads an anchor file: one `time seq hash` per line, oldest first; the entry of a restore has the restore's time
 * before the hash. What crashes left of a line is no head. Workers may note the same head more than once, and a
 * restored database goes on from an earlier one. Of a file of any size, only a piece is in memory.
 * @throws Error when the file cannot be read, is empty, or holds another kind of line
 */
export function readAnchors(file: string): Anchors {
  const restores = new Map<number, string>()
  let count = 0
  for (const { restoredAt, hash } of readHeads(file)) {
    count += 1
    const ms = restoredAt?.getTime()
    if (ms !== undefined && !restores.has(ms)) restores.set(ms, hash)
  }
  if (count === 0) throw new Error(`${file} holds no anchor`)
  return { count, restores, heads: () => readHeads(file, count) }
}

function* readHeads(file: string, most = Number.POSITIVE_INFINITY): Generator<NotedHead> {
  let count = 0
  for (const { piece, line } of readPieces(file)) {
    if (count === most) return
    const head = readLine(piece)
    if (head) {
      count += 1
      yield head
    } else if (!PIECE.test(piece)) throw new Error(`${file}, line ${line}: expected "time seq hash"`)
  }
  if (most !== Number.POSITIVE_INFINITY && count < most) throw new Error(`${file} was cut while it was read`)
}

/** What is between line breaks and zeros. */
function* readPieces(file: string): Generator<{ piece: string; line: number }> {
  let [rest, line] = ['', 1]
  for (const part of readParts(file)) {
    const pieces = (rest + part).split(BREAK)
    rest = pieces.pop() ?? ''
    // no line is so long: another kind of file, which may be of any size
    if (rest.length > END_BYTES) throw new Error(`${file}, line ${line}: expected "time seq hash"`)
    for (const [index, piece] of pieces.entries()) {
      if (index % 2 === 0) yield { piece, line }
      else if (piece === '\n') line += 1
    }
  }
  yield { piece: rest, line }
}

/** A file that is noted in for years is longer than a string may be. */
function* readParts(file: string): Generator<string> {
  const fd = openSync(file, 'r')
  try {
    const part = Buffer.alloc(1 << 20)
    for (;;) {
      const length = readSync(fd, part)
      if (length === 0) return
      yield part.toString('latin1', 0, length)
    }
  } finally {
    closeSync(fd)
  }
}

const headsIn = (end: string): NotedHead[] => end.split(/[\n\0]+/).flatMap((piece) => readLine(piece) ?? [])

/** The newest ones of a file, oldest first; empty: it holds none, or does not exist. */
export function listLastNoted(file: string): NotedHead[] {
  if (!existsSync(file)) return []
  const fd = openSync(file, 'r')
  try {
    const { size } = fstatSync(fd)
    const end = Buffer.alloc(Math.min(size, END_BYTES))
    readSync(fd, end, 0, end.length, size - end.length)
    return headsIn(end.toString())
  } finally {
    closeSync(fd)
  }
}

async function readEnd(handle: FileHandle): Promise<string> {
  const { size } = await handle.stat()
  const end = Buffer.alloc(Math.min(size, END_BYTES))
  await handle.read(end, 0, end.length, size - end.length)
  return end.toString()
}

/** What a disk that wakes up may take, and a flush on a busy one. */
const ANCHOR_MS = MINUTE

/** Whether a line says the same as the last one, but for the time: another worker, or this one before a restart. */
const isNoted = (end: string, line: string): boolean => {
  const [last, next] = [headsIn(end).at(-1), readLine(line)]
  const isSame = last?.seq === next?.seq && last?.hash === next?.hash
  return isSame && last?.restoredAt?.getTime() === next?.restoredAt?.getTime()
}

/** One visit of the file: opened, read at its end, given a line if there is one that it lacks, and closed. */
const visitEnd = (file: string, line?: string): Promise<string> =>
  mountOf(file).call(async () => {
    const handle = await open(file, 'a+', 0o600)
    try {
      const end = await readEnd(handle)
      if (line === undefined) return end
      if (!isNoted(end, line)) await handle.appendFile(`${/[^\n]$/.test(end) ? '\n' : ''}${line}\n`)
      // a line that is there may be one whose flush failed
      await handle.sync()
      return end
    } finally {
      await handle.close()
    }
  }, ANCHOR_MS)

export type Anchor = { note(): Promise<boolean> }

/**
 * Notes the head of the audit log where the owner of the database cannot change it: in this process's log, as the
 * metric `comptoir_audit_entries`, and in AUDIT_ANCHOR_FILE. `audit verify --anchor` compares them.
 */
export function openAnchor(deps: {
  db: Db
  clock: Clock
  log: Pick<FastifyBaseLogger, 'info'>
  metrics: Registry
  file: string | null
}): Anchor {
  const { db, clock, log, file } = deps
  const entries = new Gauge({
    name: 'comptoir_audit_entries',
    help: 'Entries of the audit log; a fall means that its tail was cut off, or lost by a restore.',
    registers: [deps.metrics],
  })
  // none was read yet, and 0 would mean that all of them are gone
  clearGauge(entries)
  let noted: string | undefined
  let lateSinceMs: number | undefined
  if (file !== null)
    new Gauge({
      name: 'comptoir_audit_anchor_late_seconds',
      help: 'For how long AUDIT_ANCHOR_FILE has lacked the present head of the audit log; 0: it has it.',
      registers: [deps.metrics],
      collect() {
        this.set(lateSinceMs === undefined ? 0 : Math.max(0, clock() - lateSinceMs) / SECOND)
      },
    })
  /** @throws Error instead of writing what is no line: the owner of the database chooses what is read from it */
  const append = async ({ seq, hash }: AuditHead, restoredAt?: string): Promise<void> => {
    if (file === null) return
    const line = [new Date(clock()).toISOString(), seq, ...(restoredAt ? [restoredAt] : []), hash].join(' ')
    if (!readLine(line)) throw new Error(`entry ${seq} of the audit log has no hash that can be noted`)
    await visitEnd(file, line)
  }
  /**
   * The file says where the restored database went on, and which entry is the restore's, unless a worker of it has
   * noted that. Noted late it excuses no more: the times in the entry bound it.
   */
  const noteRestore = async (): Promise<void> => {
    const entry = file === null ? undefined : await findRestoreEntry(db)
    if (file === null || entry === undefined) return
    const last = headsIn(await visitEnd(file)).at(-1)
    if (!last || last.seq < entry.seq || !(await hasAuditEntry(db, last))) await append(entry, entry.restoredAt)
  }
  return {
    async note() {
      const head = await findAuditHead(db).catch((error: unknown) => {
        clearGauge(entries)
        throw error
      })
      entries.set(Number(head.seq))
      if (head.hash === noted || head.seq === 0n) return false
      lateSinceMs ??= clock()
      await noteRestore()
      await append(head)
      lateSinceMs = undefined
      log.info({ auditSeq: head.seq.toString(), auditHash: head.hash }, 'head of the audit log')
      noted = head.hash
      return false
    },
  }
}

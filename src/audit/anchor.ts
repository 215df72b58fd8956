import { appendFileSync, closeSync, fstatSync, fsyncSync, openSync, readFileSync, readSync } from 'node:fs'
import type { FastifyBaseLogger } from 'fastify'
import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/db.ts'
import type { Clock } from '../kernel/clock.ts'
import { type AuditHead, findAuditHead } from './audit-queries.ts'

/** The head of the chain is noted at most this often. */
export const ANCHOR_EVERY_MS = 10_000

const LINE = /^\S+ (\d+) ([0-9a-f]{64})$/

function readLine(line: string): AuditHead | undefined {
  const [, seq, hash] = LINE.exec(line) ?? []
  return seq !== undefined && hash !== undefined ? { seq: BigInt(seq), hash } : undefined
}

const continues = (next: AuditHead, last: AuditHead): boolean =>
  next.seq > last.seq || (next.seq === last.seq && next.hash === last.hash)

/**
 * Reads an anchor file: one `time seq hash` per line, oldest first. Lines that crashes truncated are left out: the last
 * ones, or those after which the chain goes on. A restart notes the same head again.
 * @throws Error when the file cannot be read, is empty, or holds another kind of line
 */
export function readAnchors(file: string): AuditHead[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  const heads: AuditHead[] = []
  let truncated: number | undefined
  for (const [index, line] of lines.entries()) {
    const head = readLine(line)
    if (!head) {
      truncated ??= index
      continue
    }
    const last = heads.at(-1)
    if (truncated !== undefined && last && !continues(head, last))
      throw new Error(`${file}, line ${truncated + 1}: expected "time seq hash"`)
    truncated = undefined
    heads.push(head)
  }
  if (heads.length === 0) throw new Error(`${file} holds no anchor`)
  return heads
}

/** Whether a crash truncated the last line. */
function isTruncated(handle: number): boolean {
  const { size } = fstatSync(handle)
  if (size === 0) return false
  const last = Buffer.alloc(1)
  readSync(handle, last, 0, 1, size - 1)
  return last.toString() !== '\n'
}

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
    help: 'Entries of the audit log; a fall means that its tail was cut off.',
    registers: [deps.metrics],
  })
  let noted = -1n
  const append = (head: AuditHead): void => {
    if (file === null) return
    const handle = openSync(file, 'a+', 0o600)
    try {
      const before = isTruncated(handle) ? '\n' : ''
      appendFileSync(handle, `${before}${new Date(clock()).toISOString()} ${head.seq} ${head.hash}\n`)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
  }
  return {
    async note() {
      const head = await findAuditHead(db)
      entries.set(Number(head.seq))
      if (head.seq === noted || head.seq === 0n) return false
      append(head)
      log.info({ auditSeq: head.seq.toString(), auditHash: head.hash }, 'head of the audit log')
      noted = head.seq
      return false
    },
  }
}

import { createHmac } from 'node:crypto'
import type { Db, Tx } from '../db/db.ts'
import { type AnyContext, nameOf } from '../http/request-context.ts'
import type { Clock } from '../kernel/clock.ts'
import { AnchorCheck, type Anchors, type AnchorVerdict } from './anchor-check.ts'
import {
  type AuditRow,
  findAuditHead,
  insertAuditRow,
  listAuditChain,
  listAuditHeads,
  lockAuditHead,
} from './audit-queries.ts'

export type AuditEntry = {
  /** If the context does not say it: whose login, whose link. Default: the context's actor. */
  actor?: string
  /** A dotted verb, for example `session.revoke`. */
  action: string
  result?: 'ok' | 'refused'
  companyId?: string | null
  /** `kind:id` of the affected object. */
  object?: string | null
  /** Facts for people; never a secret, a password or a code. */
  detail?: Record<string, string | number | boolean | null | readonly string[]>
}

export type AuditKey = { id: string; key: Buffer }
export type AuditKeys = { current(tx: Tx): Promise<AuditKey>; find(id: string): Promise<AuditKey | undefined> }

/** An entry with its actor, as its row has it: who did it is never read from the context again. */
export type ActorsEntry = AuditEntry & { actor: string }

/** `lost`: what the anchors know of, and a restore from an older backup did not have. */
export type AuditVerdict = { entries: number } & AnchorVerdict

export type Audit = {
  /**
   * Writes an entry in the transaction of the action, so that no action happens without one. It locks the end of the
   * chain until the commit: make it the last statement of the transaction.
   */
  write(tx: Tx, context: AnyContext, entry: AuditEntry): Promise<void>
  /**
   * Recomputes the whole chain.
   * @param anchors heads noted outside the database: each must still be there, with the same hash, unless a restore
   * whose entry is in the chain lost it
   */
  verify(anchors?: Anchors): Promise<AuditVerdict>
}

/** One text per row: a change of any field changes the hash. */
function hashOf(row: Omit<AuditRow, 'hash'>, before: string, key: Buffer): string {
  const { seq, at, actor, action, result, companyId, object, ip, userAgent, requestId, detail, keyId } = row
  const facts = [before, String(seq), at.toISOString(), actor, action, result, companyId, object, ip, userAgent]
  const text = JSON.stringify([...facts, requestId, detail, keyId])
  return createHmac('sha256', key).update(text).digest('hex')
}

const PAGE = 1000

export type AuditDeps = {
  db: Db
  clock: Clock
  keys: AuditKeys
  /** Mails those whom an action concerns, in its transaction. */
  tell?: (tx: Tx, context: AnyContext, entry: ActorsEntry) => Promise<void>
}

export function openAudit({ db, clock, keys, tell }: AuditDeps): Audit {
  const checkRow = async (row: AuditRow, expectedSeq: bigint, before: string): Promise<string | null> => {
    if (row.seq !== expectedSeq) return `entry ${expectedSeq} is missing`
    const key = await keys.find(row.keyId)
    if (!key) return `its key ${row.keyId} is missing`
    return hashOf(row, before, key.key) === row.hash ? null : 'it was changed, or the entry before it'
  }
  return {
    async write(tx, context, given) {
      const entry = { ...given, actor: given.actor ?? nameOf(context) }
      // before the log is locked
      await tell?.(tx, context, entry)
      const { id: keyId, key } = await keys.current(tx)
      const head = await lockAuditHead(tx)
      const row = {
        seq: head.seq + 1n,
        at: new Date(clock()),
        actor: entry.actor,
        action: entry.action,
        result: entry.result ?? 'ok',
        companyId: entry.companyId ?? null,
        object: entry.object ?? null,
        ip: context.ip,
        userAgent: context.userAgent,
        requestId: context.requestId,
        detail: JSON.stringify(entry.detail ?? {}),
        keyId,
      } as const
      await insertAuditRow(tx, { ...row, hash: hashOf(row, head.hash, key) })
    },
    async verify(anchors) {
      const check = new AnchorCheck(anchors, (seqs) => listAuditHeads(db, seqs))
      const head = await findAuditHead(db)
      let [seq, before, entries] = [0n, '', 0]
      for (;;) {
        const rows = await listAuditChain(db, seq, PAGE)
        for (const row of rows) {
          const reason = await checkRow(row, seq + 1n, before)
          if (reason !== null) return { entries, lost: [], fault: { seq: row.seq, reason } }
          await check.pass(row)
          seq = row.seq
          before = row.hash
          entries += 1
        }
        if (rows.length < PAGE) break
      }
      const { lost, fault } = await check.end()
      const isCut = fault === null && seq < head.seq
      return { entries, lost, fault: isCut ? { seq: head.seq, reason: 'the end of the log was cut off' } : fault }
    },
  }
}

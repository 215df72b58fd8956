import type { Audit } from '../../audit/audit.ts'
import { lockActor } from '../../companies/company-scope.ts'
import type { Db } from '../../db/db.ts'
import type { Actor } from '../../http/actor.ts'
import { ruleOf } from '../../http/permissions.ts'
import { nameOf, type RequestContext } from '../../http/request-context.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { newId } from '../../kernel/ids.ts'
import type { Vault } from '../../kernel/vault.ts'
import { findReachableOrder, lockReachableOrder } from '../order-service.ts'
import * as queries from './note-queries.ts'

export type NoteDeps = { db: Db; vault: Vault; clock: Clock; audit: Audit }

/** Of an order, so that a list is one page. */
export const MOST_NOTES = 100
export const LONGEST_NOTE = 2000

/** A note without its text: an answer that is stored for repetitions must not outlive the note. */
export type NoteHead = {
  _id: string
  author: string
  authorName: string | null
  createdAt: string
  removable: boolean
}
export type Note = NoteHead & { text: string | null }

const sealContext = ({ companyId, id }: { companyId: string; id: string }): string => `order-note:${companyId}:${id}`

/** Control characters other than line breaks, and marks that turn the direction of what is written after them. */
const REFUSED = /(?!\n)[\p{Cc}\u202a-\u202e\u2066-\u2069]/u

/** @throws VALIDATION_FAILED */
function readText(given: string): string {
  const text = given.replaceAll(/\r\n?/g, '\n').trim()
  if (REFUSED.test(text)) throw invalid('text', 'must have no control characters except line breaks')
  if ([...text].length > LONGEST_NOTE) throw invalid('text', `must NOT have more than ${LONGEST_NOTE} characters`)
  return text
}

/** Its author, and whoever may erase a payer's data, which a note may hold. */
const mayRemove = (actor: Actor, { author }: { author: string }): boolean =>
  author === nameOf({ actor }) || (actor.kind === 'user' && ruleOf('payers.erase').roles.includes(actor.role))

const headOf = (actor: Actor, row: Omit<queries.NoteRow, 'sealed'>): NoteHead => ({
  _id: row.id,
  author: row.author,
  authorName: row.authorName,
  createdAt: row.createdAt.toISOString(),
  removable: mayRemove(actor, row),
})

/** Null: sealed by a master key that is missing here. One such note must not hide the others. */
function openText(vault: Vault, row: queries.NoteRow): string | null {
  try {
    return vault.open(row.sealed, sealContext(row))
  } catch {
    return null
  }
}

/** @throws ORDER_NOT_FOUND */
export async function listNotes({ db, vault }: NoteDeps, actor: Actor, code: string): Promise<Note[]> {
  const { companyId, id: orderId } = await findReachableOrder(db, actor, code)
  const rows = await queries.listNotes(db, { companyId, orderId })
  return rows.map((row) => ({ ...headOf(actor, row), text: openText(vault, row) }))
}

/** @throws ORDER_NOT_FOUND, VALIDATION_FAILED, OBJECT_CONFLICT when the order has as many notes as it may have */
export async function addNote(
  deps: NoteDeps,
  context: RequestContext,
  code: string,
  body: { text: string },
): Promise<NoteHead> {
  const { actor } = context
  const text = readText(body.text)
  const { companyId, id: orderId } = await findReachableOrder(deps.db, actor, code)
  return deps.db.tx(async (tx) => {
    await lockActor(tx, actor, companyId)
    // counts are exact while no other note can be added
    await lockReachableOrder(tx, actor, code)
    if ((await queries.countNotes(tx, { companyId, orderId })) >= MOST_NOTES)
      throw new AppError('OBJECT_CONFLICT', {
        message: `This order has ${MOST_NOTES} notes, and that is the most. Remove one first.`,
      })
    const now = deps.clock()
    const key = { companyId, orderId, id: newId(now) }
    const row = {
      ...{ ...key, sealed: deps.vault.seal(text, sealContext(key)), author: nameOf(context) },
      ...{ authorName: await queries.findAuthorName(tx, actor.id), createdAt: new Date(now) },
    }
    await queries.insertNote(tx, row)
    const head = headOf(actor, row)
    await context.remember(tx, head)
    const entry = { action: 'note.add', companyId, object: `order:${orderId}`, detail: { note: key.id } }
    await deps.audit.write(tx, context, entry)
    return head
  })
}

/** Nothing of the text is left. @throws ORDER_NOT_FOUND, OBJECT_NOT_FOUND, FORBIDDEN for a colleague's note */
export async function removeNote(
  deps: NoteDeps,
  context: RequestContext,
  { code, id }: { code: string; id: string },
): Promise<void> {
  const { actor } = context
  const { companyId, id: orderId } = await findReachableOrder(deps.db, actor, code)
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, companyId)
    const key = { companyId, orderId, id }
    const note = await queries.findNote(tx, key)
    if (note && !mayRemove(actor, note))
      throw new AppError('FORBIDDEN', { message: 'Only its author or a manager may remove a note.' })
    if (!note || (await queries.deleteNote(tx, key)) === 0) throw new AppError('OBJECT_NOT_FOUND')
    const { author } = note
    const detail = { note: id, author }
    await deps.audit.write(tx, context, { action: 'note.remove', companyId, object: `order:${orderId}`, detail })
  })
}

const BATCH = 200

/**
 * Reseals, a batch at a time, what an earlier master key sealed. A damaged note stays as it is.
 * @returns how many were resealed
 */
export async function resealNotes({ db, vault }: Pick<NoteDeps, 'db' | 'vault'>, batch = BATCH): Promise<number> {
  const { previousSealPrefixes } = vault
  if (previousSealPrefixes.length === 0) return 0
  let count = 0
  for (let after: queries.NoteRow | null = null; ; ) {
    const rows: queries.NoteRow[] = await queries.listNotesSealedBy(db, previousSealPrefixes, { after, limit: batch })
    for (const row of rows) {
      const text = openText(vault, row)
      if (text !== null) count += await queries.updateNoteSeal(db, row, vault.seal(text, sealContext(row)))
    }
    after = rows.at(-1) ?? null
    // a whole batch of damaged notes does not hide those after it
    if (after === null || count > 0) return count
  }
}

import { type Queryable, sql, type Tx } from '../../db/db.ts'

type OfOrder = { companyId: string; orderId: string }
type Key = OfOrder & { id: string }

export type NoteRow = Key & {
  sealed: string
  /** `user:<id>`. */
  author: string
  /** As it was when the note was written. */
  authorName: string | null
  createdAt: Date
}

const COLUMNS = sql`company_id, order_id, id, sealed, author, author_name, created_at`

/** The notes of an order, newest first. */
export const listNotes = (q: Queryable, { companyId, orderId }: OfOrder): Promise<NoteRow[]> =>
  q.many<NoteRow>(sql`
    select ${COLUMNS} from order_notes where company_id = ${companyId} and order_id = ${orderId}
    order by created_at desc, id desc`)

export const findNote = (q: Queryable, { companyId, orderId, id }: Key): Promise<NoteRow | undefined> =>
  q.maybe<NoteRow>(sql`
    select ${COLUMNS} from order_notes where company_id = ${companyId} and order_id = ${orderId} and id = ${id}`)

export async function countNotes(q: Queryable, { companyId, orderId }: OfOrder): Promise<number> {
  const { count } = await q.one<{ count: number }>(sql`
    select count(*)::integer as count from order_notes where company_id = ${companyId} and order_id = ${orderId}`)
  return count
}

export async function findAuthorName(q: Queryable, userId: string): Promise<string | null> {
  const row = await q.maybe<{ name: string }>(sql`
    select first_name || ' ' || last_name as name from users where id = ${userId}`)
  return row?.name ?? null
}

export const insertNote = (tx: Tx, note: NoteRow): Promise<number> =>
  tx.run(sql`
    insert into order_notes (${COLUMNS})
    values (${note.companyId}, ${note.orderId}, ${note.id}, ${note.sealed}, ${note.author}, ${note.authorName},
      ${note.createdAt})`)

export const deleteNote = (tx: Tx, { companyId, orderId, id }: Key): Promise<number> =>
  tx.run(sql`delete from order_notes where company_id = ${companyId} and order_id = ${orderId} and id = ${id}`)

/** Erases notes past their retention time, of every company. @returns how many were erased */
export const deleteOldNotes = (q: Queryable, before: Date, limit: number): Promise<number> =>
  q.run(sql`
    delete from order_notes where (company_id, order_id, id) in
      (select company_id, order_id, id from order_notes where created_at < ${before} limit ${limit})`)

/** Notes sealed by one of these keys, in the order of their keys, after one of them. */
export const listNotesSealedBy = (
  q: Queryable,
  prefixes: readonly string[],
  { after, limit }: { after: Key | null; limit: number },
): Promise<NoteRow[]> =>
  q.many<NoteRow>(sql`
    select ${COLUMNS} from order_notes
    where (company_id, order_id, id) > (${after?.companyId ?? ''}, ${after?.orderId ?? ''}, ${after?.id ?? ''})
      and left(sealed, 12) = any(${prefixes}::text[])
    order by company_id, order_id, id limit ${limit}`)

/** Only if the note is unchanged since it was read. */
export const updateNoteSeal = (
  q: Queryable,
  { companyId, orderId, id, sealed }: NoteRow,
  next: string,
): Promise<number> =>
  q.run(sql`
    update order_notes set sealed = ${next}
    where company_id = ${companyId} and order_id = ${orderId} and id = ${id} and sealed = ${sealed}`)

import type { Db, Tx } from '../../db/db.ts'
import { type Clock, HOUR } from '../../kernel/clock.ts'
import type { Order } from '../order.ts'
import * as queries from './sale-mail-queries.ts'

/** Within an hour a person gets at most this many mails about one sale each; the rest of the hour is one mail. */
export const SALES_AN_HOUR = 20

/** People whose mails one round writes. */
const BATCH = 100

/** To whom a mail goes. */
export type SaleReader = Pick<queries.Reader, 'companyName' | 'email' | 'firstName' | 'lang'>

export type SaleMailDeps = {
  db: Db
  clock: Clock
  log: { error(fields: object, text: string): void }
  /** Queues a mail about one sale, in the transaction that remembers it. */
  tellSale(tx: Tx, reader: SaleReader, order: Order): Promise<void>
  /** The same about several: a sum for each currency. */
  tellRest(tx: Tx, reader: SaleReader, sums: readonly queries.SaleSum[]): Promise<void>
}

/** One mail about what was sold since the last one. */
async function tellRest(deps: SaleMailDeps, tx: Tx, reader: queries.Reader, end: queries.Sale['place']): Promise<void> {
  const [first, second] = await queries.listSales(tx, reader, end, 2)
  if (first && !second) await deps.tellSale(tx, reader, first.order)
  if (second) await deps.tellRest(tx, reader, await queries.sumSales(tx, reader, end))
  await queries.updateReader(tx, reader.userId, { after: end, since: null, told: 0 })
}

/** Tells one person what was sold. The row is locked, and remembers it in the same transaction. */
async function tellReader(deps: SaleMailDeps, tx: Tx, userId: string, now: Date): Promise<void> {
  const reader = await queries.lockReader(tx, userId)
  const end = reader && (await queries.findEnd(tx, reader))
  if (!reader || !end) return
  const { since, told } = reader
  // an account that works again begins with what is sold from then on
  if (reader.isAway) return void (await queries.updateReader(tx, userId, { after: end, since, told }))
  const isOver = since !== null && since.getTime() <= now.getTime() - HOUR
  if (told >= SALES_AN_HOUR && !isOver) return
  if (told >= SALES_AN_HOUR) return tellRest(deps, tx, reader, end)
  const before = isOver ? 0 : told
  const room = SALES_AN_HOUR - before
  const sales = await queries.listSales(tx, reader, end, room)
  for (const { order } of sales) await deps.tellSale(tx, reader, order)
  const after = (sales.length === room && sales.at(-1)?.place) || end
  const hour = since === null || isOver ? { since: now, told: sales.length } : { since, told: before + sales.length }
  await queries.updateReader(tx, userId, { after, ...(sales.length === 0 ? { since, told } : hour) })
}

/**
 * Mails each person who asked for it about every sale that the person may see, once: the events feed says what was
 * paid, so that a payment itself does nothing for it. Runs on any number of nodes. @returns whether there may be more
 */
export async function mailSales(deps: SaleMailDeps): Promise<boolean> {
  const now = new Date(deps.clock())
  const before = new Date(now.getTime() - HOUR)
  const due = await queries.listDueReaders(deps.db, { most: SALES_AN_HOUR, before, limit: BATCH })
  let failed = 0
  for (const userId of due) {
    // one person whose mails cannot be written keeps no other from theirs
    await deps.db
      .tx((tx) => tellReader(deps, tx, userId, now))
      .catch((error: unknown) => {
        failed += 1
        deps.log.error({ err: error, userId }, 'the mails about sales could not be written')
      })
  }
  // those that failed would come first again
  return due.length === BATCH && failed === 0
}

import type { Config } from '../../config/config.ts'
import type { Db } from '../../db/db.ts'
import { type Actor, companyOf, sees } from '../../http/actor.ts'
import { type Clock, DAY, MINUTE } from '../../kernel/clock.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { type OrderView, viewOrder } from '../order.ts'
import * as queries from './event-feed-queries.ts'

/** How far the feed goes back; the newest event of a company stays for as long as it is the newest. */
const KEPT_MS = 90 * DAY
/** A quiet company gets newer cursors this often, so that they do not outlive the feed. */
const REFRESH_MS = DAY
/** After a restore, the feed rereads this much before the cursor: repeats, but no gap. */
const OVERLAP_MS = 10 * MINUTE
const TRIM_BATCH = 2000

/** Content of a cursor: the place after an event (or after everything), its time, and the life of the database. */
type Cursor = queries.FeedPosition & { at: Date; life: string }

const writeCursor = ({ life, position, orderId, seq, at }: Cursor): string =>
  Buffer.from([life, position, orderId, seq, at.getTime()].join('.')).toString('base64url')

function readCursor(text: string): Cursor {
  const plain = Buffer.from(text, 'base64url').toString('latin1')
  const match = /^([0-9a-f]{8})\.(\d{1,18})\.([0-9a-f]{24}|)\.(\d{1,9})\.(\d{1,15})$/.exec(plain)
  if (!match) throw invalid('after', 'is not a cursor of this feed; send one that it returned, or none to start')
  const [, life = '', position = '', orderId = '', seq = '', at = ''] = match
  return { life, position: BigInt(position), orderId, seq: Number(seq), at: new Date(Number(at)) }
}

export type FeedDeps = { db: Db; clock: Clock; config: Pick<Config, 'payUrl'> }
export type FeedQuery = { after?: string; limit?: number; companyId?: string }
export type EventView = { cursor: string; event: string; createdAt: string; order: OrderView }
export type EventPage = { events: EventView[]; nextCursor: string }

function companyOfFeed(actor: Actor, companyId: string | undefined): string {
  if (companyId === undefined) return companyOf(actor)
  if (!sees(actor, companyId)) throw new AppError('OBJECT_NOT_FOUND')
  return companyId
}

const viewEvent = ({ order, event, at, ...place }: queries.FeedEvent, life: string, payUrl: string): EventView => ({
  cursor: writeCursor({ ...place, at, life }),
  event,
  createdAt: at.toISOString(),
  order: viewOrder(order, payUrl),
})

const START: queries.FeedPosition = { position: 0n, orderId: '', seq: 0 }

/** Where reading starts: after the cursor, or, if its database is gone, at events from a safe time before it. */
async function startOf(
  db: Db,
  companyId: string,
  cursor: Cursor | null,
): Promise<{ life: string; after: queries.FeedPosition; exact: boolean; whole: boolean }> {
  const { life, known, whole } = await queries.findFeedState(db, companyId, cursor)
  if (cursor === null) return { life, after: START, exact: false, whole: true }
  if (known && cursor.life === life) return { life, after: cursor, exact: true, whole }
  const position = await queries.findPositionAt(db, companyId, new Date(cursor.at.getTime() - OVERLAP_MS))
  const reachesBack = await queries.feedReachesBack(db, companyId, cursor)
  return { life, after: { ...START, position }, exact: false, whole: reachesBack }
}

/**
 * The company’s events after a cursor, each exactly once, in an order that never changes, subscribed or not. An order’s
 * own events come in the order in which they happened.
 * @throws VALIDATION_FAILED for an invalid cursor, or one older than the feed after which events may be gone
 */
export async function readFeed({ db, clock, config }: FeedDeps, actor: Actor, query: FeedQuery): Promise<EventPage> {
  const { limit = 100 } = query
  const companyId = companyOfFeed(actor, query.companyId)
  const fromLatest = query.after === 'latest'
  const cursor = query.after === undefined || fromLatest ? null : readCursor(query.after)
  const now = clock()
  const collectorIds = actor.role === 'Cashier' ? actor.collectorIds : null
  const { life, after, exact, whole } = await startOf(db, companyId, cursor)
  if (cursor && cursor.at.getTime() < now - KEPT_MS && !whole) {
    throw invalid(
      'after',
      'is older than 90 days, and events after it may be gone; read the orders, then start without it',
    )
  }
  const { events, horizon } = await queries.listFeedEvents(db, {
    companyId,
    collectorIds,
    after,
    limit: fromLatest ? 1 : limit,
  })
  const views = events.map((event) => viewEvent(event, life, config.payUrl))
  if (fromLatest)
    return { events: [], nextCursor: writeCursor({ ...START, position: horizon, at: new Date(now), life }) }
  const keep = exact && cursor && now - cursor.at.getTime() < REFRESH_MS ? query.after : undefined
  const behind = exact && after.position > horizon ? after : { ...START, position: horizon }
  const behindAll = writeCursor({ ...behind, at: new Date(now), life })
  return { events: views, nextCursor: views.at(-1)?.cursor ?? keep ?? behindAll }
}

export type LatestQuery = { before?: string; event?: string; limit?: number; companyId?: string }

/** Newest first, for people. A cursor from another life of the database starts again at the newest. */
export async function readLatest(
  { db, config }: FeedDeps,
  actor: Actor,
  query: LatestQuery,
): Promise<{ events: EventView[]; nextBefore: string | null }> {
  const { limit = 50, event = null } = query
  const companyId = companyOfFeed(actor, query.companyId)
  const cursor = query.before === undefined ? null : readCursor(query.before)
  const { life, known } = await queries.findFeedState(db, companyId, cursor)
  const before = cursor !== null && known && cursor.life === life ? cursor : null
  const collectorIds = actor.role === 'Cashier' ? actor.collectorIds : null
  const events = await queries.listLatestEvents(db, { companyId, collectorIds, before, event, limit })
  const views = events.map((one) => viewEvent(one, life, config.payUrl))
  return { events: views, nextBefore: views.length === limit ? (views.at(-1)?.cursor ?? null) : null }
}

/** Removes old events from the feed, one batch at a time. @returns whether there may be more */
export async function trimFeed({ db, clock }: Pick<FeedDeps, 'db' | 'clock'>): Promise<boolean> {
  return (await queries.trimOldFeedEvents(db, new Date(clock() - KEPT_MS), TRIM_BATCH)) === TRIM_BATCH
}

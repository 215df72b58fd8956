import { CHANNEL_IDS, isChannelId } from '../channels/channel.ts'
import type { Config } from '../config/config.ts'
import { createBatcher } from '../db/batch.ts'
import type { Db, Queryable, Tx } from '../db/db.ts'
import type { StaleReads } from '../db/stale-reads.ts'
import { type Actor, companyOf, hasStanding, sees } from '../http/actor.ts'
import type { RequestContext } from '../http/request-context.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { emailKeyOf } from '../kernel/people/emails.ts'
import { filterText } from '../kernel/schema.ts'
import {
  type Order,
  type OrderView,
  type ReferenceView,
  viewOrder,
  viewOrderByReference,
  viewOrderPublicly,
} from './order.ts'
import * as lists from './order-list-queries.ts'
import { hasUnkeyedPayers } from './order-payer-queries.ts'
import * as queries from './order-queries.ts'
import type { LinksQuery, ListQuery } from './order-schemas.ts'
import { openSearch } from './order-search-queries.ts'
import { isOrderStatus, ORDER_STATUSES } from './order-states.ts'
import type { TransitionOrder } from './order-transition.ts'
import type { PayerSearch } from './payer-search.ts'
import { findTotal } from './totals/total-queries.ts'

export type OrderDeps = { db: Db; config: Pick<Config, 'baseUrl' | 'payUrl'>; transition: TransitionOrder }

/** What lists need. Orders created a moment ago may be missing from them. */
export type ListDeps = Pick<OrderDeps, 'config'> & { reads: StaleReads }

export type FindOrder = (code: string) => Promise<Order | undefined>

/** Reads orders by code; concurrent calls share one statement. */
export function openFindOrder(db: Db): FindOrder {
  return createBatcher<string, Order | undefined>({
    max: 64,
    concurrency: 2,
    async runMany(codes) {
      const [only] = codes
      if (codes.length === 1 && only !== undefined) return [await queries.findOrderByCode(db, only)]
      const found = new Map((await queries.listOrdersByCode(db, codes)).map((order) => [order.code, order]))
      return codes.map((code) => found.get(code))
    },
  })
}

/** Whether this actor may access the order. */
export function reaches(actor: Actor, order: Order): boolean {
  if (actor.kind === 'payer') return actor.id === order.code
  if (actor.role === 'SimpleUser') return order.createdBy === actor.id
  if (!sees(actor, order.companyId)) return false
  return actor.role !== 'Cashier' || (order.collectorId !== null && actor.collectorIds.includes(order.collectorId))
}

/** Locks the order if the actor may access it. @throws ORDER_NOT_FOUND */
export async function lockReachableOrder(tx: Tx, actor: Actor, code: string): Promise<Order> {
  const order = await queries.lockOrderByCode(tx, code)
  if (!order || !reaches(actor, order)) throw new AppError('ORDER_NOT_FOUND')
  return order
}

export async function findReachableOrder(db: Db, actor: Actor, code: string): Promise<Order> {
  const order = await queries.findOrderByCode(db, code)
  if (!order || !reaches(actor, order)) throw new AppError('ORDER_NOT_FOUND')
  return order
}

/**
 * The order for this reader. Its company and operators see all of it; customers, also the one who made it, see it
 * without `webhookUrl`, which is between the shop and us.
 */
export const viewOrderFor = (actor: Actor | null, order: Order, payUrl: string): OrderView =>
  actor !== null && hasStanding(actor) && sees(actor, order.companyId)
    ? viewOrder(order, payUrl)
    : viewOrderPublicly(order, payUrl)

export async function readOrder(
  { config }: Pick<OrderDeps, 'config'>,
  findOrder: FindOrder,
  actor: Actor | null,
  code: string,
): Promise<OrderView> {
  const order = await findOrder(code)
  if (!order) throw new AppError('ORDER_NOT_FOUND')
  return viewOrderFor(actor, order, config.payUrl)
}

/** Neither paid nor being paid. */
const IDLE = ['INITIAL', 'EXPIRED', 'CANCELLED', 'ERROR']

/** Where nobody pays the newest of an alias, one that was paid since it was made says what became of the purchase. */
const countedOf = async (q: Queryable, order: Order, scope: queries.OrderScope): Promise<Order> =>
  IDLE.includes(order.status) ? ((await queries.findPaidSince(q, order, scope)) ?? order) : order

/**
 * The newest order with the merchant's reference, or one that was paid since that was made: of those that the actor may
 * list, or of the only company that used it; with `companyId`, as if no other company were there. If no alias matches,
 * a session's `orderRef`. Strangers do not see what leads to the pay page.
 */
export async function readOrderByAlias(
  { db, config }: OrderDeps,
  actor: Actor | null,
  { references, companyId }: { references: readonly string[]; companyId?: string | undefined },
): Promise<ReferenceView> {
  const scope = within(actor?.valid ? scopeOf(actor) : ANY_ORDER, companyId)
  for (const reference of references) {
    const byAlias = await queries.listOrdersByAlias(db, reference, scope)
    const orders = byAlias.length > 0 ? byAlias : await queries.listOrdersBySessionRef(db, reference, scope)
    const [order, other] = actor?.valid ? orders.filter((one) => reaches(actor, one)) : orders
    if (other) throw new AppError('AMBIGUOUS_REFERENCE')
    if (!order) continue
    const shown = byAlias.length > 0 ? await countedOf(db, order, scope) : order
    return actor?.valid ? viewOrderFor(actor, shown, config.payUrl) : viewOrderByReference(shown, config.payUrl)
  }
  throw new AppError('ORDER_NOT_FOUND')
}

/** Cancel and expire. Idempotent; a state that forbids it is 409. */
export async function endOrder(
  { db, transition }: OrderDeps,
  context: RequestContext,
  code: string,
  trigger: 'cancel' | 'expire',
): Promise<void> {
  const { actor } = context
  const reached = trigger === 'cancel' ? 'CANCELLED' : 'EXPIRED'
  await db.tx(async (tx) => {
    const order = await lockReachableOrder(tx, actor, code)
    if (order.status !== reached) {
      await transition(tx, order, { trigger, actor: `${actor.kind}:${actor.id}`, requestId: context.requestId })
    }
    await context.remember(tx, null)
  })
}

/** Cancels the open order of a purchase that the shop ends. @throws ORDER_STATE_CONFLICT */
export const openCancelOrder =
  (transition: TransitionOrder) =>
  async (tx: Tx, { actor, requestId }: RequestContext, { companyId, id }: Pick<Order, 'companyId' | 'id'>) => {
    const order = await queries.lockOrderById(tx, companyId, id)
    if (order) await transition(tx, order, { trigger: 'cancel', actor: `${actor.kind}:${actor.id}`, requestId })
  }

const ANY_ORDER: lists.OrderScope = { companyIds: null, collectorIds: null, createdBy: null }

/** The part of a scope that is one company's; undefined: all of it. */
function within(scope: lists.OrderScope, companyId: string | undefined): lists.OrderScope {
  if (companyId === undefined) return scope
  const isIn = scope.companyIds === null || scope.companyIds.includes(companyId)
  return { ...scope, companyIds: isIn ? [companyId] : [] }
}

/** The orders that an actor may list. */
export function scopeOf(actor: Actor): lists.OrderScope {
  switch (actor.role) {
    case 'SuperAdmin':
      return ANY_ORDER
    case 'SuperManager':
      return { companyIds: actor.companyIds, collectorIds: null, createdBy: null }
    case 'SimpleUser':
      return { companyIds: null, collectorIds: null, createdBy: actor.id }
    case 'Cashier':
      return { companyIds: [companyOf(actor)], collectorIds: actor.collectorIds, createdBy: null }
    default:
      return { companyIds: [companyOf(actor)], collectorIds: null, createdBy: null }
  }
}

export type FilterInput = Pick<
  ListQuery,
  'status' | 'search' | 'managerEmail' | 'companyId' | 'from' | 'to' | 'paymentChannel' | 'merchantIdentifier'
>

export function filterOf(actor: Actor, query: FilterInput, linksOnly = false): lists.OrderFilter {
  const statuses = (query.status ?? [])
    .flatMap((text) => text.split(','))
    .map((text) => text.trim().toUpperCase())
    .filter(Boolean)
  const wrong = statuses.find((status) => !isOrderStatus(status))
  if (wrong !== undefined) throw invalid('status', `${wrong} is no status. Choose from: ${ORDER_STATUSES.join(', ')}`)
  if (query.paymentChannel !== undefined && !isChannelId(query.paymentChannel)) {
    throw invalid('paymentChannel', `${query.paymentChannel} is no channel. Choose from: ${CHANNEL_IDS.join(', ')}`)
  }
  const search = filterText(query.search)
  const managerEmail = filterText(query.managerEmail)
  if (managerEmail !== null && actor.role !== 'SuperAdmin' && actor.role !== 'SuperManager') {
    throw new AppError('FORBIDDEN', { message: 'Filtering by manager needs the role SuperAdmin or SuperManager.' })
  }
  return {
    statuses,
    search: search === null ? null : openSearch(search),
    managerEmail: managerEmail === null ? null : emailKeyOf(managerEmail),
    companyId: query.companyId ?? null,
    from: query.from === undefined ? null : new Date(query.from),
    to: query.to === undefined ? null : new Date(query.to),
    paymentChannel: query.paymentChannel ?? null,
    till: filterText(query.merchantIdentifier),
    payer: null,
    linksOnly,
  }
}

type Cursor = lists.OrderPosition & { sort: string }

const writeCursor = (cursor: Cursor): string => Buffer.from(JSON.stringify(cursor)).toString('base64url')

const isText = (value: unknown, pattern: RegExp): value is string => typeof value === 'string' && pattern.test(value)

/** Anyone can write a cursor, so only text of our own form reaches the statement. @throws VALIDATION_FAILED */
function readCursor(text: string, sort: string): lists.OrderPosition {
  try {
    const cursor = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Record<keyof Cursor, unknown>
    const { id, amount } = cursor
    if (cursor.sort === sort && isText(id, /^[0-9a-f]{24}$/) && isText(amount, /^\d{1,40}$/)) return { id, amount }
  } catch {
    // falls through to the refusal
  }
  throw invalid('cursor', 'is not a cursor for this list and sort order; start again without one')
}

export type OrderPage = { orders: OrderView[]; total: number; page: number; limit: number; nextCursor: string | null }

type Found = { rows: Order[]; total: number }
type Asked = { scope: lists.OrderScope; filter: lists.OrderFilter; page: lists.ListPage }

/** @param find the orders of the page and one more, and how many there are */
async function showPage(
  { config }: Pick<ListDeps, 'config'>,
  actor: Actor,
  query: Omit<ListQuery, 'search'>,
  { filter, find }: { filter: lists.OrderFilter; find(asked: Asked): Promise<Found> },
): Promise<OrderPage> {
  const { page = 1, limit = 20 } = query
  const sort = (query.sort ?? '-createdAt') as lists.OrderSort
  const after = query.cursor === undefined ? null : readCursor(query.cursor, sort)
  const offset = after === null ? (page - 1) * limit : 0
  const asked = { scope: scopeOf(actor), filter, page: { sort, limit: limit + 1, offset, after } }
  const { rows, total } = await find(asked)
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const nextCursor = rows.length > limit && last ? writeCursor({ sort, ...lists.positionOf(last, sort) }) : null
  return { orders: shown.map((order) => viewOrderFor(actor, order, config.payUrl)), total, page, limit, nextCursor }
}

export const listOrders = (deps: ListDeps, actor: Actor, query: ListQuery): Promise<OrderPage> =>
  showPage(deps, actor, query, {
    filter: filterOf(actor, query),
    find: ({ scope, filter, page }) =>
      deps.reads.read(async (q) => {
        const wanted = await lists.withLookUp(q, scope, filter)
        const [rows, total] = await Promise.all([lists.listOrders(q, scope, wanted, page), findTotal(q, scope, wanted)])
        return { rows, total }
      }),
  })

export type PayerOrders = OrderPage & { complete: boolean }

/** The orders of a payer, by the whole e-mail. Audited before they are shown. @throws UNAUTHORIZED */
export async function findPayerOrders(
  deps: ListDeps & { payers: PayerSearch },
  context: RequestContext,
  { payerEmail, ...query }: Omit<ListQuery, 'search'> & { payerEmail: string },
): Promise<PayerOrders> {
  const { payers, reads } = deps
  const { actor } = context
  const payer = { keys: payers.keysOf(payerEmail), codes: null }
  let complete = true
  const find = async ({ scope, filter, page }: Asked): Promise<Found> => {
    const [rows, found] = await reads.read(async (q) => {
      const wanted = await lists.withLookUp(q, scope, filter)
      complete = !(await hasUnkeyedPayers(q))
      return Promise.all([lists.listOrders(q, scope, wanted, page), lists.countByCompany(q, scope, wanted)])
    })
    await payers.note(context, { companyIds: lists.companiesOf(scope, filter), found })
    return { rows, total: found.reduce((sum, { orders }) => sum + orders, 0) }
  }
  const shown = await showPage(deps, actor, query, { filter: { ...filterOf(actor, query), payer }, find })
  return { ...shown, complete }
}

/** The company's payment links, newest first, a page at a time. */
export async function listLinks(
  { reads, config }: ListDeps,
  actor: Actor,
  query: LinksQuery,
): Promise<Pick<OrderPage, 'orders' | 'nextCursor'>> {
  const { limit = 1000 } = query
  const sort = '-createdAt'
  const after = query.cursor === undefined ? null : readCursor(query.cursor, sort)
  const page = { sort, limit: limit + 1, offset: 0, after } as const
  const [scope, filter] = [scopeOf(actor), filterOf(actor, query, true)]
  const rows = await reads.read(async (q) => lists.listOrders(q, scope, await lists.withLookUp(q, scope, filter), page))
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const nextCursor = rows.length > limit && last ? writeCursor({ sort, ...lists.positionOf(last, sort) }) : null
  return { orders: shown.map((order) => viewOrderFor(actor, order, config.payUrl)), nextCursor }
}

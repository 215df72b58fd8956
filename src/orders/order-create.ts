import { isSoldAlready, soldAlready } from '../companies/button-landing.ts'
import {
  type ButtonSession,
  findButtonSession,
  findButtonSessionByCode,
  findSessionOrder,
} from '../companies/button-queries.ts'
import type { SaleCache } from '../companies/sale-cache.ts'
import {
  lockSaleSession,
  type SaleCollector,
  type SaleSession,
  updateSaleSessionOrder,
} from '../companies/sale-queries.ts'
import type { Config } from '../config/config.ts'
import { createBatcher } from '../db/batch.ts'
import { brokenConstraint, type Db, type Queryable, type Tx } from '../db/db.ts'
import { type Actor, companyOf, isOperator, sees } from '../http/actor.ts'
import { ok } from '../http/envelope.ts'
import { answerOfKey, type Claim } from '../http/idempotency/idempotency.ts'
import { findIdempotencyKey } from '../http/idempotency/idempotency-queries.ts'
import { nameOf, type RequestContext } from '../http/request-context.ts'
import { crashPoint } from '../kernel/crash-point.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { mendPageUrl, readPageUrl } from '../kernel/html.ts'
import { newId, newOrderCode, newShortCode } from '../kernel/ids.ts'
import { convert } from '../kernel/money.ts'
import { askEuroRate, type EuroRate, largestOrderAt, peekEuroRate } from '../rates/euro.ts'
import type { Quote, Rates } from '../rates/rate-service.ts'
import { isSubscribed } from '../webhooks/outbox/events.ts'
import { checkWebhookUrl } from '../webhooks/outbox/webhook-url.ts'
import { type Order, type OrderView, paymentUrlOf } from './order.ts'
import { insertOrders, type NewOrder } from './order-insert-queries.ts'
import {
  checkPlace,
  checkPrice,
  checkSimpleUser,
  EuroWanted,
  expiryOf,
  readAmount,
  readAssets,
  readShopWord,
} from './order-rules.ts'
import type { CreateOrderBody } from './order-schemas.ts'
import { viewOrderFor } from './order-service.ts'
import type { Announce } from './order-transition.ts'

export type CreatedOrder = { code: string; order: OrderView; paymentUrl: string }
export type CreateRequest = {
  context: RequestContext
  body: CreateOrderBody
  /** For operators: the company that owns the till. */
  companyId?: string | undefined
  /** For a sale that a person at a till took over from a colleague: the colleague. */
  soldBy?: string | undefined
  claim: Claim | null
}
/**
 * The response for the new order, with the text stored under its Idempotency-Key if it had one; or the stored text of
 * an earlier request with the same key.
 */
export type CreateResult = { created: CreatedOrder; stored: string | null } | { replay: string }
export type CreateOrder = (request: CreateRequest) => Promise<CreateResult>

export type CreateDeps = {
  db: Db
  clock: () => number
  config: Pick<Config, 'payUrl' | 'fiatAssets' | 'webhooks' | 'orders'>
  rates: Rates
  cache: SaleCache
  announce: Announce
}

type SaleOrigin = {
  companyId: string
  collector: SaleCollector | null
  session: SaleSession | null
  websiteUrl: string | null
}

/** The cached company or till was outdated; the next try reads it again. */
class StaleCopy extends Error {}

/** @param euro what an earlier try asked for */
type Tried = CreateRequest & { euro?: EuroRate }

/** @param tx locks the session of the sale; null: the sale has none */
async function findPlace(deps: CreateDeps, request: CreateRequest, tx: Tx | null): Promise<SaleOrigin> {
  const { body } = request
  const { actor } = request.context
  const websiteUrl = readPageUrl('websiteUrl', body.websiteUrl)
  const collector =
    body.merchantIdentifier === undefined ? null : await findTill(deps, request, body.merchantIdentifier, tx)
  if (collector === null && tx === null && isOperator(actor))
    throw invalid('merchantIdentifier', 'is required for your role: the till that sells')
  if (tx === null)
    return { companyId: collector?.companyId ?? companyOf(actor), collector, session: null, websiteUrl: null }
  const session = await lockSaleSession(tx, body.sessionId ?? '')
  const foreign = session !== undefined && actor.role !== 'SimpleUser' && !sees(actor, session.companyId)
  if (!session || foreign || session.ended) throw new AppError('UNKNOWN_SESSION')
  if (collector && collector.companyId !== session.companyId) throw new AppError('UNKNOWN_MERCHANT_IDENTIFIER')
  if (websiteUrl !== null && new URL(websiteUrl).origin !== session.websiteOrigin) {
    throw new AppError('WEBSITE_MISMATCH')
  }
  const dustUnits = BigInt(deps.config.orders.chainDustUnits)
  const earlier = await findSessionOrder(tx, session, dustUnits)
  if (earlier?.live) throw new AppError('UNKNOWN_SESSION')
  if (await isSoldAlready({ db: tx, dustUnits }, { id: null, buttonSessionId: session.id })) throw soldAlready()
  return { companyId: session.companyId, collector, session, websiteUrl: websiteUrl ?? mendPageUrl(session.websiteUrl) }
}

/** The session through which a SimpleUser orders; undefined: none, or an unknown one. */
export async function findOwnSession(
  db: Queryable,
  actor: Actor | null,
  { sessionId }: Partial<CreateOrderBody>,
): Promise<ButtonSession | undefined> {
  if (actor?.role !== 'SimpleUser' || typeof sessionId !== 'string') return undefined
  return (await findButtonSession(db, sessionId)) ?? findButtonSessionByCode(db, sessionId)
}

/** What a SimpleUser leaves out of an order comes from its session; the body stays as sent. @throws UNKNOWN_SESSION */
export function fillFromSession(
  actor: Actor | null,
  body: Partial<CreateOrderBody>,
  session: ButtonSession | undefined,
): Partial<CreateOrderBody> {
  const { amount, fromAsset, sessionId } = body
  const isWhole = amount !== undefined && fromAsset !== undefined
  if (actor?.role !== 'SimpleUser' || typeof sessionId !== 'string' || isWhole) return body
  if (!session) throw new AppError('UNKNOWN_SESSION')
  return { ...body, amount: amount ?? session.price, fromAsset: fromAsset ?? session.currency }
}

/** Finds a till by its identifier within one company, or by its id; operators who name no company use the id. */
async function findTill(
  { cache }: CreateDeps,
  { context: { actor }, companyId }: CreateRequest,
  identifier: string,
  tx: Tx | null,
): Promise<SaleCollector> {
  if (companyId !== undefined && !sees(actor, companyId)) throw new AppError('OBJECT_NOT_FOUND')
  const place = companyId ?? (isOperator(actor) ? null : companyOf(actor))
  const collector = await cache.collector(place, identifier, tx ?? undefined)
  const seen = collector !== undefined && sees(actor, collector.companyId)
  if (collector === undefined && place === null) {
    const message =
      'No active till has this id. An operator names a till by its id, or by its identifier and ?companyId=.'
    throw new AppError('UNKNOWN_MERCHANT_IDENTIFIER', { message })
  }
  const given = actor.role !== 'Cashier' || (seen && actor.collectorIds.includes(collector.id))
  if (!seen || !given) throw new AppError('UNKNOWN_MERCHANT_IDENTIFIER')
  return collector
}

const mended = (url: string | null | undefined): string | null => (url ? mendPageUrl(url) : null)

/** The order's rate, and that of EUR, in which the company's maximum is. */
type Quoted = { quote: Quote; euro: EuroRate }

/**
 * Called before any transaction, because it may query price sources on the internet. EUR is not asked for: few orders
 * are so large that its present rate decides, and only those wait for it.
 * @throws INVALID_EXCHANGE_RATE, VALIDATION_FAILED
 */
async function readQuote({ config, rates }: CreateDeps, { body, euro }: Tried): Promise<Quoted> {
  const from = readAssets(body, config.fiatAssets)
  const quote = await rates.quote(from, { isForOrder: true })
  await rates.store(quote)
  return { quote, euro: euro ?? peekEuroRate(rates) }
}

/** What the cached copies said that the order was made from; the insert compares. */
type Copies = Pick<NewOrder, 'companyVersion' | 'tillWebhookUrl'>

async function buildOrder(
  deps: CreateDeps,
  request: CreateRequest,
  place: SaleOrigin,
  { quote, euro, tx }: Quoted & { tx: Tx | null },
): Promise<{ order: Order; copies: Copies; optionalEvents: string[] }> {
  const { body, context } = request
  const from = readAssets(body, deps.config.fiatAssets)
  if (body.webhookUrl !== undefined) checkWebhookUrl(body.webhookUrl, deps.config.webhooks)
  const company = await deps.cache.company(place.companyId, tx ?? undefined)
  if (!company) throw new AppError('UNAUTHORIZED')
  const amount = readAmount(body.amount, from, largestOrderAt(company.maxOrderAmount, quote, euro))
  checkPrice(amount, place.session)
  const word = readShopWord(context.actor, body)
  const nowMs = deps.clock()
  const order: Order = {
    companyId: place.companyId,
    id: newId(nowMs),
    code: newOrderCode(),
    shortCode: newShortCode(),
    status: 'INITIAL',
    alias: body.alias ?? null,
    from: amount,
    to: convert(amount, quote.rate, 'USDC'),
    rate: quote.rate,
    quoteId: quote.id,
    paymentChannel: null,
    paymentId: null,
    collectorId: place.collector?.id ?? null,
    merchantIdentifier: place.collector?.identifier ?? null,
    websiteUrl: place.websiteUrl,
    buttonSessionId: place.session?.id ?? null,
    webhookUrl: body.webhookUrl ?? place.session?.callbackUrl ?? place.collector?.webhookUrl ?? null,
    cancelUrl: word.cancelUrl ?? mended(place.session?.cancelUrl),
    returnUrl: word.returnUrl ?? mended(place.session?.returnUrl),
    goods: body.goods ?? null,
    metadata: word.metadata,
    anonymous: word.anonymous,
    createdBy: context.actor.id,
    requestId: context.requestId,
    createdAt: new Date(nowMs),
    updatedAt: new Date(nowMs),
    expiresAt: expiryOf(body, nowMs, deps.config.orders.expiryMinutes),
    paidAt: null,
    paidUnits: 0n,
    refundedUnits: 0n,
    version: 1,
  }
  const copies = { companyVersion: company.version, tillWebhookUrl: place.collector?.webhookUrl ?? null }
  return { order, copies, optionalEvents: company.optionalEvents }
}

function answerOf(deps: CreateDeps, { context }: CreateRequest, order: Order): CreatedOrder {
  return {
    code: order.code,
    order: viewOrderFor(context.actor, order, deps.config.payUrl),
    paymentUrl: paymentUrlOf(deps.config.payUrl, order.code),
  }
}

/** Finds the reason why an insert added no row. */
async function explainRefusal(
  deps: CreateDeps,
  request: CreateRequest,
  order: Order,
  q: Queryable = deps.db,
): Promise<CreateResult> {
  const row = request.claim ? await findIdempotencyKey(q, request.claim) : undefined
  if (row && request.claim) return { replay: answerOfKey(row, request.claim) }
  deps.cache.forget(order.companyId)
  throw new StaleCopy()
}

/**
 * What a repetition gets instead of a refusal: its order exists, although it could not be made again now. The key is
 * looked up only after a refusal, so that a new order costs no read for it.
 */
export async function replayInstead(db: Queryable, claim: Claim | null, refusal: unknown): Promise<{ replay: string }> {
  const row = claim && refusal instanceof AppError ? await findIdempotencyKey(db, claim) : undefined
  if (!row || !claim) throw refusal
  return { replay: answerOfKey(row, claim) }
}

/** Turns a constraint violation into an error for the client; a short code that is taken is retried. */
function explainConstraint(error: unknown): unknown {
  const constraint = brokenConstraint(error)
  if (constraint === 'orders__open_alias') return new AppError('ALIAS_IN_USE')
  if (constraint === 'orders__short_code') return new StaleCopy()
  return error
}

function newOrderOf(request: CreateRequest, order: Order, copies: Copies, answer: CreatedOrder): NewOrder {
  const { claim, context } = request
  const idempotency = claim && {
    companyId: claim.companyId,
    scope: claim.scope,
    key: claim.key,
    fingerprint: claim.fingerprint,
    response: JSON.stringify(ok(answer)),
  }
  const { actor } = context
  const isTakenOver = actor.tillDeviceId !== undefined && request.soldBy !== actor.id
  const soldBy = isTakenOver ? (request.soldBy ?? null) : null
  const atTill = actor.kind === 'user' ? actor.tillDeviceId !== undefined : null
  return { order, ...copies, actor: nameOf(context), atTill, soldBy, idempotency }
}

const storedOf = ({ idempotency }: NewOrder): string | null => idempotency?.response ?? null

/**
 * Creates orders. Under load, sales at tills share a statement. Sales through a session, and companies that subscribe
 * to `order.initial`, get a transaction each.
 */
export function openCreateOrder(deps: CreateDeps): CreateOrder {
  const insertGrouped = createBatcher<NewOrder, boolean>({
    max: 64,
    // a statement costs as much as five orders, so small batches wait; a third batch can run while two wait for the
    // disk
    concurrency: 2,
    oneMoreFrom: 4,
    async runMany(items) {
      const made = await insertOrders(deps.db, items, { wait: false })
      return items.map(({ order }) => made.has(order.id))
    },
  })
  /** One whose alias may not be free waits alone, in its caller's share: the others of a batch would wait with it. */
  const insertAtTill = async (newOrder: NewOrder): Promise<boolean> => {
    if (await insertGrouped(newOrder)) return true
    if (newOrder.order.alias === null) return false
    return (await insertOrders(deps.db, [newOrder], { wait: true })).size > 0
  }
  const createAtTill = async (request: Tried): Promise<CreateResult> => {
    const place = await findPlace(deps, request, null)
    const quoted = await readQuote(deps, request)
    const { order, copies, optionalEvents } = await buildOrder(deps, request, place, { ...quoted, tx: null })
    const answer = answerOf(deps, request, order)
    const newOrder = newOrderOf(request, order, copies, answer)
    const alone = order.webhookUrl !== null && isSubscribed(optionalEvents, 'order.initial')
    crashPoint('create:before-insert')
    const made = alone ? await deps.db.tx((tx) => insertInTx(tx, newOrder)) : await insertAtTill(newOrder)
    crashPoint('create:after-insert')
    return made ? { created: answer, stored: storedOf(newOrder) } : explainRefusal(deps, request, order)
  }
  const insertInTx = async (tx: Tx, newOrder: NewOrder): Promise<boolean> => {
    const made = await insertOrders(tx, [newOrder], { wait: true })
    if (made.size === 0) return false
    await deps.announce(tx, newOrder.order, 'order.initial', { requestId: newOrder.order.requestId, refundId: null })
    return true
  }
  const createInSession = async (request: Tried): Promise<CreateResult> => {
    const quoted = await readQuote(deps, request)
    return deps.db.tx(async (tx) => {
      const place = await findPlace(deps, request, tx)
      const { order, copies } = await buildOrder(deps, request, place, { ...quoted, tx })
      const answer = answerOf(deps, request, order)
      const newOrder = newOrderOf(request, order, copies, answer)
      if (!(await insertInTx(tx, newOrder))) return explainRefusal(deps, request, order, tx)
      if (place.session) await updateSaleSessionOrder(tx, place.session.id, order.id)
      return { created: answer, stored: storedOf(newOrder) }
    })
  }
  const createOrder: CreateOrder = async (request) => {
    if (request.context.actor.role === 'SimpleUser') checkSimpleUser(request.body)
    checkPlace(request.body)
    if (request.body.merchantIdentifier !== undefined && request.body.merchantIdentifier.length > 100) {
      throw invalid('merchantIdentifier', 'must not be longer than 100 characters')
    }
    const tried: Tried = { ...request }
    for (let attempt = 1; ; attempt += 1) {
      try {
        return request.body.sessionId === undefined ? await createAtTill(tried) : await createInSession(tried)
      } catch (thrown) {
        const error = explainConstraint(thrown)
        if (error instanceof EuroWanted) {
          tried.euro = await askEuroRate(deps.rates)
          continue
        }
        if (!(error instanceof StaleCopy) || attempt >= 4)
          throw error instanceof StaleCopy ? new AppError('BUSY', { retryAfter: 1 }) : error
      }
    }
  }
  return (request) => createOrder(request).catch((error: unknown) => replayInstead(deps.db, request.claim, error))
}

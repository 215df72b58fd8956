import type { FastifyReply, FastifyRequest } from 'fastify'
import { brokenConstraint, type Queryable, type Tx } from '../db/db.ts'
import type { RateLimits } from '../http/limits/rate-limits.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { newId, newOrderCode } from '../kernel/ids.ts'
import { type Fiat, formatMoney } from '../kernel/money.ts'
import { openHmac, type Vault } from '../kernel/vault.ts'
import type { ButtonSession, BuyButton } from './button-queries.ts'
import * as queries from './button-queries.ts'
import { decideClick, decideSession, isSold } from './button-reference.ts'
import { type ButtonDeps, checkLargest, findExceeded, moneyOf, readCallback, readPrice } from './button-service.ts'

/** What a page requests for one purchase. A page can send anything: nothing here is trusted. */
export type PageWish = {
  orderRef?: string
  price?: string
  currency?: string
  buttonName?: string
  callbackUrl?: string
  /** The code of an order that this buyer has seen before: proof that it is the buyer's own. */
  code?: string
}

type Price = { price: string; currency: string }

/** Where a purchase continues: an existing order, or a session that an order will be created for. */
export type Landing = { session: Pick<ButtonSession, 'id'>; button: BuyButton } & (
  | {
      code: string
      /** It is open at another price than the page's present one: cancel it, unless it has money, and land again. */
      isOutdated: boolean
    }
  | ({ code: null } & Price)
)

export type ButtonLimits = Pick<RateLimits, 'checkVisitor' | 'checkLink'>

/**
 * Limits the orders of visitors through a session. One that the shop's server made is an order that the shop wants, so
 * it counts for the visitor's address alone; any other one counts for its button too. @throws TOO_MANY_REQUESTS
 */
export const checkSessionOrder = (
  limits: ButtonLimits,
  [request, reply]: [FastifyRequest, FastifyReply],
  session: Pick<ButtonSession, 'code' | 'buttonId'>,
): Promise<void> =>
  isServerMade(session) ? limits.checkVisitor(request, reply) : limits.checkLink(request, reply, session.buttonId)

/** How long a session without an order counts as one whose order another request is creating. */
const CREATING_MS = 10_000

/** @throws OBJECT_NOT_FOUND */
export async function findLandingButton({ db }: Pick<ButtonDeps, 'db'>, id: string): Promise<BuyButton> {
  const button = await queries.findButton(db, id)
  if (!button) throw new AppError('OBJECT_NOT_FOUND')
  return button
}

/**
 * The price of the button, or the page's own where the button allows that.
 * @throws ILLEGAL_AMOUNT, VALIDATION_FAILED
 */
function readPagePrice(deps: ButtonDeps, button: BuyButton, wish: PageWish): Price {
  const { price, currency } = wish
  const own = { price: button.price, currency: button.currency }
  // a currency alone is no price: the older script, for one, always sends EUR
  if (price === undefined) return own
  // pages print numbers with as many digits as their language produces, such as 30.299999999999997
  const isLong = /^\d+\.\d{7,}$/.test(price)
  const wanted = readPrice(deps, isLong ? Number(price) : price, currency ?? button.currency)
  const isSame = wanted.price === own.price && wanted.currency === own.currency
  if (isSame || button.pagePrice) return wanted
  throw new AppError('ILLEGAL_AMOUNT', {
    message: `This button costs ${own.price} ${own.currency}. The shop can allow other prices in the button’s settings.`,
  })
}

/** A page may send events only to the shop itself: to its website, or to where the button sends them anyway. */
function readPageCallback(deps: ButtonDeps, button: BuyButton, url: string | undefined): string | null {
  const callback = readCallback(deps, url)
  if (callback === null) return null
  const known = [button.websiteUrl, button.callbackUrl ?? button.websiteUrl].map((one) => new URL(one).origin)
  if (known.includes(new URL(callback).origin)) return callback
  throw invalid('callbackUrl', 'must be at the website of the button')
}

function checkReference(orderRef: string | undefined): void {
  if (orderRef !== undefined && orderRef.length < 6) throw invalid('orderRef', 'must be 6 to 100 characters')
}

/**
 * A buyer arrives through a button. The order with the same reference is shown only to those who know its code, or an
 * earlier one of its session, because references can be guessed. For others an unpaid one is replaced, so that a second
 * try is no dead end. A page that gives no reference names that of its order by the code alone.
 * @throws ILLEGAL_AMOUNT, VALIDATION_FAILED; ORDER_STATE_CONFLICT when the reference is sold; OBJECT_CONFLICT when the
 *   shop's server made a session for it
 */
export async function openLanding(deps: ButtonDeps, button: BuyButton, wish: PageWish): Promise<Landing> {
  const at = new Date(deps.clock())
  checkReference(wish.orderRef)
  const fields = {
    id: newId(at.getTime()),
    companyId: button.companyId,
    buttonId: button.id,
    code: newOrderCode(),
    ...readPagePrice(deps, button, wish),
    buttonName: wish.buttonName ?? button.name,
    callbackUrl: readPageCallback(deps, button, wish.callbackUrl),
    ...{ cancelUrl: null, returnUrl: null, createdAt: at },
  }
  const { price, currency } = fields
  const cost = moneyOf({ price, currency: currency as Fiat })
  const exceeded = await findExceeded(deps, button.companyId, cost)
  const land = async (tx: Tx): Promise<Landing> => {
    // one at a time: two windows of one buyer do not make two sessions of one reference
    await queries.lockButton(tx, button.id)
    const known = wish.code === undefined ? undefined : await queries.findSessionOfOrder(tx, button, wish.code)
    const orderRef = wish.orderRef ?? known?.orderRef ?? `BUTTON-${newOrderCode()}`
    const session = { ...fields, orderRef }
    const kept = await keepOrEnd(deps, tx, { button, session, own: known?.orderRef === orderRef ? known : undefined })
    // whoever lands cancels an outdated order: not for a price at which no new one can be made
    if (kept?.code && kept.isOutdated) checkLargest('price', cost, exceeded)
    if (kept) return kept
    // only here: an order that exists already is shown, although the maximum was lowered since
    checkLargest('price', cost, exceeded)
    await queries.insertButtonSession(tx, session)
    return { session, button, code: null, price, currency }
  }
  return deps.db.tx(land).catch((error: unknown) => {
    // another button, or the shop's server, has just made a session of this reference
    if (brokenConstraint(error) !== 'button_sessions__live_ref') throw error
    return openLanding(deps, button, wish)
  })
}

type Wanted = {
  button: BuyButton
  session: queries.NewButtonSession
  /** The session whose order this buyer knows; another tab, another buyer or a closed dialog may have ended it. */
  own: ButtonSession | undefined
}

const isServerMade = ({ code }: { code: string }): boolean => code.startsWith(queries.SERVER_CODE_PREFIX)

const isSamePrice = (one: Price, other: Price): boolean => one.price === other.price && one.currency === other.currency

/** The order or the session that this click continues in. Ends a live session that the click replaces. */
async function keepOrEnd(
  { dustUnits }: ButtonDeps,
  tx: Tx,
  { button, session, own }: Wanted,
): Promise<Landing | undefined> {
  const { price, currency, callbackUrl, createdAt } = session
  const live = await queries.lockLiveSession(tx, session)
  const facts = await queries.findReferenceFacts(tx, session, { dustUnits, sale: null })
  const order = own && (await queries.findSessionOrder(tx, own, dustUnits))
  const isOwn = live !== undefined && live.id === own?.id
  const isTaken = live !== undefined && isServerMade(live) && !isOwn
  const click = decideClick(facts, order ?? null, isTaken)
  if (click === 'sold') throw soldAlready()
  if (click === 'taken') {
    const message = 'Your server made a session with this orderRef. Open it with data-comptoir-session.'
    throw new AppError('OBJECT_CONFLICT', { message })
  }
  if (click === 'own' && own && order) {
    const cost = {
      price: formatMoney({ asset: order.fromAsset, units: BigInt(order.fromUnits) }),
      currency: order.fromAsset,
    }
    const isReplaceable = button.pagePrice && !isServerMade(own) && decideClick(facts, null, isTaken) === 'new'
    return { session: own, button, code: order.code, isOutdated: isReplaceable && !isSamePrice(cost, session) }
  }
  if (!live) return undefined
  if (isServerMade(live)) return { session: live, button, code: null, price: live.price, currency: live.currency }
  if (live.buttonId === button.id) {
    // the next order of the same buyer: whoever knows one code of the session is led to it, so two tabs make one
    if (isOwn) await queries.updateButtonSessionWish(tx, live.id, session)
    const isSame = isSamePrice(live, session) && live.callbackUrl === callbackUrl
    const isRecent = createdAt.getTime() - live.createdAt.getTime() < CREATING_MS
    const isCreating = isSame && isRecent && !(await queries.findSessionOrder(tx, live, dustUnits))
    if (isOwn || isCreating) return { session: live, button, code: null, price, currency }
  }
  await queries.updateButtonSessionEnded(tx, live.id, createdAt)
  return undefined
}

/** Refuses a second payment for a purchase; `orderRef` in its details names the reason. */
export const soldAlready = (hint = ''): AppError =>
  new AppError('ORDER_STATE_CONFLICT', {
    message: `This purchase already has a payment: it has arrived, is being confirmed or is under review. Do not pay this order.${hint}`,
    details: [{ path: 'orderRef', message: 'already has a payment' }],
  })

/** An order as part of a purchase. Id null: it is to be created in this session. Session null: of no buy button. */
type Buying = { id: string | null; buttonSessionId: string | null }
type Made = queries.AliasedOrder & Buying

/**
 * The session of an order's purchase, since when a payment of its reference counts, and at which price a page's order
 * does; null: since ever, at any.
 */
async function findPurchase(q: Queryable, { buttonSessionId }: Buying) {
  const session = buttonSessionId === null ? undefined : await queries.findButtonSession(q, buttonSessionId)
  if (session === undefined) return undefined
  return isServerMade(session)
    ? { session, since: session.createdAt, sale: session }
    : { session, since: null, sale: null }
}

/** Locks the names of an order's purchase: what is decided about it next sees what was decided before. */
export async function lockPurchase(tx: Tx, order: Made): Promise<void> {
  const purchase = await findPurchase(tx, order)
  if (purchase) await queries.lockReference(tx, purchase.session)
  if (order.alias !== null) await queries.lockAlias(tx, order)
}

/** Whether the purchase that an order is for has a payment already, by another order of its buy button's reference. */
export async function isSoldAlready(
  { db, dustUnits }: { db: Queryable; dustUnits: bigint },
  order: Buying,
): Promise<boolean> {
  const purchase = await findPurchase(db, order)
  if (purchase === undefined) return false
  const { session, since, sale } = purchase
  return isSold(await queries.findReferenceFacts(db, session, { dustUnits, sale, exceptOrderId: order.id }), since)
}

/**
 * Whether the shop took back what an order sells: it ended the session of its server, its server took the reference
 * over from a page, or another order has its alias, perhaps at another price.
 */
export async function isTakenBack(q: Queryable, order: Made): Promise<boolean> {
  if (order.alias !== null && (await queries.isAliasReplaced(q, order))) return true
  const purchase = await findPurchase(q, order)
  if (!purchase) return false
  const { session } = purchase
  return isServerMade(session) ? session.endedAt !== null : queries.isTakenOver(q, session)
}

/** Refuses to sell an order whose purchase has a payment. @throws ORDER_STATE_CONFLICT */
export async function checkUnsold(tx: Tx, order: Made, dustUnits: bigint): Promise<void> {
  await lockPurchase(tx, order)
  if (await isSoldAlready({ db: tx, dustUnits }, order)) throw soldAlready()
  if (order.alias !== null && (await queries.findPaidAlias(tx, order, dustUnits)) !== undefined)
    throw soldAlready(' A shop that sells its alias once more cancels this order and creates it again.')
}

/** Another order of the buy button's reference that has the payment of an order's purchase. Locks the reference. */
async function findPaidByReference(tx: Tx, order: Made, dustUnits: bigint): Promise<string | undefined> {
  const purchase = await findPurchase(tx, order)
  if (!purchase) return undefined
  const { session, since, sale } = purchase
  await queries.lockReference(tx, session)
  return queries.findPaidOrder(tx, session, { dustUnits, since, sale, exceptOrderId: order.id })
}

/**
 * The code of another order that has the payment of an order's purchase, by the reference of a buy button or by its
 * alias. Both are locked, so that of two orders that are to be paid at once one finds the other. Unpaid money elsewhere
 * does not count.
 */
export async function findPaidInstead(tx: Tx, order: Made, dustUnits: bigint): Promise<string | undefined> {
  const code = await findPaidByReference(tx, order, dustUnits)
  if (code !== undefined || order.alias === null) return code
  await queries.lockAlias(tx, order)
  return queries.findPaidAlias(tx, order, dustUnits)
}

const ALL_ELSE = 'they paid for something else, accept it with the codes of all of them'

const paidInstead = (codes: readonly string[], hint: string): AppError => {
  const [named, are] = codes.length === 1 ? [`Order ${codes[0]}`, 'is'] : [`Orders ${codes.join(', ')}`, 'are']
  return new AppError('ORDER_STATE_CONFLICT', {
    message: `${named} of the same purchase ${are} paid, being confirmed or under review. Refund or ignore this money.${hint}`,
  })
}

/**
 * Refuses money as the payment of an order once another order of its purchase has one. A shop may use an alias for many
 * sales: whoever knows that names each other order that is paid as the reason. What is held may still be this purchase.
 * @throws ORDER_STATE_CONFLICT
 */
export async function checkAcceptableOnce(
  tx: Tx,
  order: Made,
  { dustUnits, reason = '' }: { dustUnits: bigint; reason: string | undefined },
): Promise<void> {
  const code = await findPaidByReference(tx, order, dustUnits)
  if (code !== undefined) throw paidInstead([code], '')
  if (order.alias === null) return
  await queries.lockAlias(tx, order)
  const paid = await queries.listPaidAliases(tx, order, dustUnits)
  const counted = paid.filter((one) => one.isHeld || !reason.includes(one.code))
  if (counted.length === 0) return
  // all of them: the next try gives its reason anew
  const codes = paid.map((one) => one.code)
  if (paid.some(({ isHeld }) => isHeld)) throw paidInstead(codes, ' What is confirmed or reviewed must end first.')
  const whose = codes.length === 1 ? 'it paid for something else, accept it with that order’s code' : ALL_ELSE
  throw paidInstead(codes, ` If ${whose} in the reason.`)
}

type ServerSession = { session: ButtonSession; button: BuyButton }

/** By the session's code, which cannot be guessed; an ended one too. @throws UNKNOWN_SESSION */
export async function findServerSession({ db }: Pick<ButtonDeps, 'db'>, code: string): Promise<ServerSession> {
  const session = await queries.findButtonSessionByCode(db, code)
  const button = session && (await queries.findButton(db, session.buttonId))
  if (!session || !button) throw new AppError('UNKNOWN_SESSION')
  return { session, button }
}

/**
 * A buyer arrives through a session that the shop's server made.
 * @throws UNKNOWN_SESSION; ORDER_STATE_CONFLICT when the reference has been sold elsewhere since
 */
export async function openServerSession({ db, dustUnits }: ButtonDeps, sessionCode: string): Promise<Landing> {
  const { session, button } = await findServerSession({ db }, sessionCode)
  const facts = await queries.findReferenceFacts(db, session, { dustUnits, sale: session })
  const order = await queries.findSessionOrder(db, session, dustUnits)
  const decision = decideSession(facts, order ?? null, session)
  if (decision === 'ended') throw new AppError('UNKNOWN_SESSION')
  if (decision === 'sold') throw soldAlready()
  if (decision === 'own' && order) return { session, button, code: order.code, isOutdated: false }
  return { session, button, code: null, price: session.price, currency: session.currency }
}

/** Whether another click has changed the price of the session since this landing. */
export async function isRepriced({ db }: ButtonDeps, landing: Landing): Promise<boolean> {
  if (landing.code !== null) return false
  const now = await queries.findButtonSession(db, landing.session.id)
  return now?.price !== landing.price || now.currency !== landing.currency
}

const PREFIX = 'bst_'

/** What a page may end its own session with, and nothing else: HMAC-SHA-256 of the session's id. */
export type SessionTokens = {
  of(id: string): string
  /** @param authorization the header as it came */
  isBorneBy(id: string, authorization: string | undefined): boolean
}

export function openSessionTokens(vault: Vault): SessionTokens {
  const tokens = openHmac(vault, 'button-session', 'base64url')
  return {
    of: (id) => PREFIX + tokens.of(`button-session:${id}`),
    isBorneBy(id, authorization) {
      const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? ''
      return given.startsWith(PREFIX) && tokens.fits(`button-session:${id}`, given.slice(PREFIX.length))
    },
  }
}

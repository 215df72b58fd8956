import { brokenConstraint, type Tx } from '../db/db.ts'
import { type Actor, sees } from '../http/actor.ts'
import type { RequestContext } from '../http/request-context.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { readPageUrl } from '../kernel/html.ts'
import { newId, newOrderCode } from '../kernel/ids.ts'
import {
  EXPONENTS,
  type Fiat,
  formatMoney,
  isAsset,
  leastOf,
  type Money,
  parseDecimal,
  parseMoneyNumber,
} from '../kernel/money.ts'
import type { Static } from '../kernel/schema.ts'
import type { ButtonSession, BuyButton } from './button-queries.ts'
import * as queries from './button-queries.ts'
import { isBeingPaid, sells } from './button-reference.ts'
import type { ButtonSchema, SessionSchema } from './company-schemas.ts'
import { type CompanyChoice, companiesFor, companyFor } from './company-scope.ts'
import { type CompanyDeps, noteChange } from './company-service.ts'

export type ButtonDeps = CompanyDeps & {
  fiatAssets: readonly Fiat[]
  /** A company's largest order, given in EUR, in a currency; null: there are no rates to compare by. */
  largestOrder: {
    ask(maximum: string, asset: Fiat): Promise<Money | null>
    peek(maximum: string, asset: Fiat): Money | null
  }
  /** On a chain, less does not sell a reference. */
  dustUnits: bigint
  /** Cancels an open order, which this transaction has locked. */
  cancelOrder(tx: Tx, context: RequestContext, order: { companyId: string; id: string }): Promise<void>
}

export type ButtonFields = {
  name: string
  websiteUrl: string
  price: string | number
  currency: string
  itemRef?: string
  callbackUrl?: string
  pagePrice?: boolean
}

export const viewButton = (button: BuyButton): Static<typeof ButtonSchema> => ({
  _id: button.id,
  name: button.name,
  company: button.companyId,
  websiteUrl: button.websiteUrl,
  price: button.price,
  currency: button.currency,
  itemRef: button.itemRef,
  callbackUrl: button.callbackUrl,
  pagePrice: button.pagePrice,
  createdAt: button.createdAt.toISOString(),
  updatedAt: button.updatedAt.toISOString(),
})

export const viewSession = (session: ButtonSession): Static<typeof SessionSchema> => ({
  _id: session.id,
  code: session.code,
  company: session.companyId,
  button: session.buttonId,
  buttonName: session.buttonName,
  orderRef: session.orderRef,
  price: session.price,
  currency: session.currency,
  websiteUrl: session.websiteUrl,
  callbackUrl: session.callbackUrl,
  cancelUrl: session.cancelUrl,
  returnUrl: session.returnUrl,
  order: session.orderId,
  ended: session.endedAt !== null,
  createdAt: session.createdAt.toISOString(),
})

/** Undefined for a number that is not an amount of this currency. */
function numberUnits(price: number, asset: Fiat): bigint | undefined {
  try {
    return parseMoneyNumber(price, asset).units
  } catch {
    return undefined
  }
}

/** A price in the currency's own digits. @throws VALIDATION_FAILED */
export function readPrice(
  { fiatAssets }: ButtonDeps,
  price: string | number,
  currency: string,
): { price: string; currency: Fiat } {
  const asset = currency.toUpperCase()
  if (!isAsset(asset) || asset === 'USDC' || !fiatAssets.includes(asset))
    throw invalid('currency', `must be one of: ${fiatAssets.join(', ')}`)
  const units = typeof price === 'number' ? numberUnits(price, asset) : parseDecimal(price, EXPONENTS[asset])
  if (units === undefined || units <= 0n)
    throw invalid('price', `must be a positive decimal with at most ${EXPONENTS[asset]} digits after the point`)
  const least = leastOf(asset)
  if (units < least.units) throw invalid('price', `must be at least ${formatMoney(least)} ${asset}`)
  return { price: formatMoney({ asset, units }), currency: asset }
}

/**
 * Asks for rates: call before opening a transaction. Null: there are none to compare by, and each order is compared
 * again. @throws OBJECT_NOT_FOUND
 */
export async function largestOf(deps: ButtonDeps, companyId: string, asset: Fiat): Promise<Money | null> {
  const company = await deps.cache.company(companyId)
  if (!company) throw new AppError('OBJECT_NOT_FOUND')
  return deps.largestOrder.ask(company.maxOrderAmount, asset)
}

/** What no order of the company may cost. @throws VALIDATION_FAILED */
export function checkLargest(path: string, { asset, units }: Money, largest: Money | null): void {
  if (largest === null || units <= largest.units) return
  throw invalid(path, `must not be above ${formatMoney(largest)} ${asset}, the largest order of this account`)
}

type Price = { price: string; currency: Fiat }

/**
 * The largest order of a company, where a price is above it; null: it is not, as far as rates are known. Asks for rates
 * only if those known do not settle it: call before opening a transaction. @throws OBJECT_NOT_FOUND
 */
export async function findExceeded(
  deps: ButtonDeps,
  companyId: string,
  { asset, units }: Money,
): Promise<Money | null> {
  const company = await deps.cache.company(companyId)
  if (!company) throw new AppError('OBJECT_NOT_FOUND')
  const known = deps.largestOrder.peek(company.maxOrderAmount, asset as Fiat)
  if (known !== null && units <= known.units) return null
  const largest = await deps.largestOrder.ask(company.maxOrderAmount, asset as Fiat)
  return largest !== null && units > largest.units ? largest : null
}

export const moneyOf = ({ price, currency }: Price): Money => ({
  asset: currency,
  units: parseDecimal(price, EXPONENTS[currency]) ?? 0n,
})

/** The price of a button, at which orders can be made. @throws VALIDATION_FAILED */
async function readButtonPrice(
  deps: ButtonDeps,
  companyId: string,
  { price, currency }: Pick<ButtonFields, 'price' | 'currency'>,
): Promise<Price> {
  const read = readPrice(deps, price, currency)
  checkLargest('price', moneyOf(read), await findExceeded(deps, companyId, moneyOf(read)))
  return read
}

/** @throws VALIDATION_FAILED */
const readOrigin = (websiteUrl: string): string => new URL(readPageUrl('websiteUrl', websiteUrl) ?? '').origin

export function readCallback({ callbackFault }: ButtonDeps, text: string | undefined): string | null {
  if (text === undefined) return null
  const fault = callbackFault(text)
  if (fault !== null) throw invalid('callbackUrl', fault)
  return text
}

const seen = (actor: Actor, button: BuyButton | undefined): button is BuyButton =>
  button !== undefined && sees(actor, button.companyId)

export async function createButton(
  deps: ButtonDeps,
  context: RequestContext,
  choice: CompanyChoice,
  fields: ButtonFields,
): Promise<BuyButton> {
  const { actor } = context
  const companyId = await companyFor(deps.db, actor, choice)
  const at = new Date(deps.clock())
  const button: BuyButton = {
    id: newId(at.getTime()),
    companyId,
    name: fields.name,
    websiteUrl: fields.websiteUrl,
    websiteOrigin: readOrigin(fields.websiteUrl),
    ...(await readButtonPrice(deps, companyId, fields)),
    itemRef: fields.itemRef ?? null,
    callbackUrl: readCallback(deps, fields.callbackUrl),
    pagePrice: fields.pagePrice ?? false,
    createdAt: at,
    updatedAt: at,
  }
  await deps.db.tx(async (tx) => {
    await queries.insertButton(tx, button)
    await context.remember(tx, viewButton(button))
    await noteChange(deps, tx, context, { companyId, action: 'buy-button.create', object: `buy-button:${button.id}` })
  })
  return button
}

export async function listButtons(
  { db }: ButtonDeps,
  actor: Actor,
  query: CompanyChoice & { page: number; limit: number },
): Promise<{ buyButtons: BuyButton[]; total: number; page: number; limit: number }> {
  const { page, limit } = query
  const companyIds = await companiesFor(db, actor, query)
  const [buyButtons, total] = await Promise.all([
    queries.listButtons(db, companyIds, { limit, offset: (page - 1) * limit }),
    queries.countButtons(db, companyIds),
  ])
  return { buyButtons, total, page, limit }
}

/** @throws OBJECT_NOT_FOUND */
export async function readButton({ db }: ButtonDeps, actor: Actor, id: string): Promise<BuyButton> {
  const button = await queries.findButton(db, id)
  if (!seen(actor, button)) throw new AppError('OBJECT_NOT_FOUND')
  return button
}

/** Changes the given fields. @throws OBJECT_NOT_FOUND, VALIDATION_FAILED */
export async function changeButton(
  deps: ButtonDeps,
  context: RequestContext,
  id: string,
  fields: Partial<ButtonFields>,
): Promise<BuyButton> {
  const { actor } = context
  const known = await readButton(deps, actor, id)
  const { price = known.price, currency = known.currency } = fields
  // a price from before these rules stays until it is changed
  const isPriced = String(price) !== known.price || currency.toUpperCase() !== known.currency
  const priced = isPriced ? await readButtonPrice(deps, known.companyId, { price, currency }) : {}
  return deps.db.tx(async (tx) => {
    const button = await queries.lockButton(tx, id)
    if (!seen(actor, button)) throw new AppError('OBJECT_NOT_FOUND')
    const websiteUrl = fields.websiteUrl ?? button.websiteUrl
    const changed: BuyButton = {
      ...button,
      name: fields.name ?? button.name,
      websiteUrl,
      // one from before the rule stays until it is changed
      ...(websiteUrl !== button.websiteUrl && { websiteOrigin: readOrigin(websiteUrl) }),
      ...priced,
      itemRef: fields.itemRef ?? button.itemRef,
      callbackUrl: readCallback(deps, fields.callbackUrl) ?? button.callbackUrl,
      pagePrice: fields.pagePrice ?? button.pagePrice,
      updatedAt: new Date(deps.clock()),
    }
    await queries.updateButton(tx, changed)
    const { companyId } = button
    await noteChange(deps, tx, context, { companyId, action: 'buy-button.change', object: `buy-button:${id}` })
    return changed
  })
}

/** @throws OBJECT_NOT_FOUND */
export async function deleteButton(deps: ButtonDeps, context: RequestContext, id: string): Promise<void> {
  const { actor } = context
  await deps.db.tx(async (tx) => {
    const button = await queries.lockButton(tx, id)
    if (!seen(actor, button)) throw new AppError('OBJECT_NOT_FOUND')
    await queries.updateButtonDeleted(tx, id, new Date(deps.clock()))
    const { companyId } = button
    await noteChange(deps, tx, context, { companyId, action: 'buy-button.delete', object: `buy-button:${id}` })
  })
}

export type SessionFields = {
  button: string
  orderRef: string
  price?: string | number
  currency?: string
  buttonName?: string
  callbackUrl?: string
  cancelUrl?: string
  returnUrl?: string
}

const busy = (sessionId: string): AppError =>
  new AppError('OBJECT_CONFLICT', {
    message: `An order of session ${sessionId}, with this orderRef, has money, is being confirmed or under review. Wait for its end, or use another orderRef.`,
    details: [{ path: 'busySession', message: sessionId }],
  })

/**
 * Takes the reference over from a page, which may have been the first to name it: its orders are cancelled, but for
 * those whose buyers were shown where to pay.
 * @throws OBJECT_NOT_FOUND for an unknown button; OBJECT_CONFLICT when a live session of the server has this reference,
 *   or an order of it is unpaid and has money, or is under review; of a page only one at this price, with all of it
 */
export async function createSession(
  deps: ButtonDeps,
  context: RequestContext,
  fields: SessionFields,
): Promise<ButtonSession> {
  const { actor } = context
  const at = new Date(deps.clock())
  const priced = (button: BuyButton): Price =>
    readPrice(deps, fields.price ?? button.price, fields.currency ?? button.currency)
  const known = await queries.findButton(deps.db, fields.button)
  const exceeded = seen(actor, known) ? await findExceeded(deps, known.companyId, moneyOf(priced(known))) : null
  const make = async (tx: Tx): Promise<ButtonSession> => {
    // locked before the session, as for a click, so that neither waits for the other
    const button = await queries.lockButton(tx, fields.button)
    if (!seen(actor, button))
      throw new AppError('OBJECT_NOT_FOUND', {
        message: 'No buy button in your account has this id. See GET /buy-buttons.',
      })
    const price = priced(button)
    checkLargest('price', moneyOf(price), exceeded)
    const id = newId(at.getTime())
    const { companyId } = button
    const session = {
      id,
      companyId,
      buttonId: button.id,
      code: queries.SERVER_CODE_PREFIX + newOrderCode(),
      orderRef: fields.orderRef,
      ...price,
      buttonName: fields.buttonName ?? button.name,
      callbackUrl: readCallback(deps, fields.callbackUrl),
      cancelUrl: readPageUrl('cancelUrl', fields.cancelUrl),
      returnUrl: readPageUrl('returnUrl', fields.returnUrl),
      createdAt: at,
    }
    // a page that makes an order of its session is waited for
    await queries.updateReferenceFreed(tx, session, at)
    const unchosen = await queries.lockUnchosenOrders(tx, session)
    const live = await queries.lockLiveSession(tx, session)
    // last, as wherever it is locked: late money that finds the reference free, or this session, waits for the other
    await queries.lockReference(tx, session)
    const { stoppingSession } = await queries.findReferenceFacts(tx, session, {
      dustUnits: deps.dustUnits,
      sale: price,
    })
    if (stoppingSession !== null) throw busy(stoppingSession)
    if (live)
      throw new AppError('OBJECT_CONFLICT', {
        message: `Session ${live.id} has this orderRef. End it with DELETE /buy-button/sessions/{id}, or use another one.`,
        details: [{ path: 'liveSession', message: live.id }],
      })
    for (const orderId of unchosen) await deps.cancelOrder(tx, context, { companyId, id: orderId })
    await queries.insertButtonSession(tx, session)
    const made = { ...session, websiteUrl: button.websiteUrl, orderId: null, endedAt: null }
    await context.remember(tx, viewSession(made))
    return made
  }
  return deps.db.tx(make).catch((error: unknown) => {
    // a page, or another call, has just made a session of this reference
    if (brokenConstraint(error) !== 'button_sessions__live_ref') throw error
    return createSession(deps, context, fields)
  })
}

/** By id or by code. @throws OBJECT_NOT_FOUND */
export async function readSession(
  { db }: ButtonDeps,
  actor: Actor,
  by: { id: string } | { code: string },
): Promise<ButtonSession> {
  const found = 'id' in by ? queries.findButtonSession(db, by.id) : queries.findButtonSessionByCode(db, by.code)
  const session = await found
  if (!session || !sees(actor, session.companyId)) throw new AppError('OBJECT_NOT_FOUND')
  return session
}

/**
 * Ends a session for the shop: it takes no further order, and its open one is cancelled, so that nobody pays a price
 * that the shop takes back. Idempotent.
 * @throws OBJECT_NOT_FOUND; OBJECT_CONFLICT when an order of it is unpaid and has money, or is under review
 */
export async function endSession(deps: ButtonDeps, context: RequestContext, id: string): Promise<void> {
  await readSession(deps, context.actor, { id })
  await deps.db.tx(async (tx) => {
    // whoever makes an order of it waits here, and finds it ended
    const session = await queries.lockButtonSession(tx, id)
    const orderIds = await queries.lockOpenOrders(tx, session)
    const order = await queries.findSessionOrder(tx, session, deps.dustUnits)
    if (order && !order.isPaid && sells(order)) {
      if (session.endedAt === null) throw busy(id)
      return
    }
    for (const orderId of orderIds) await deps.cancelOrder(tx, context, { companyId: session.companyId, id: orderId })
    await queries.updateButtonSessionEnded(tx, id, new Date(deps.clock()))
  })
}

/**
 * For the page that holds the session's token. Idempotent; a session of the shop's server stays, and so does one whose
 * order may be being paid.
 */
export async function endOwnSession({ db, clock, dustUnits }: ButtonDeps, id: string): Promise<void> {
  await db.tx(async (tx) => {
    const session = await queries.findButtonSession(tx, id)
    const order = session && (await queries.findSessionOrder(tx, session, dustUnits))
    if (order && isBeingPaid(order)) return
    await queries.updatePageSessionEnded(tx, id, new Date(clock()))
  })
}

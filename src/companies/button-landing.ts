import { brokenConstraint, type Tx } from '../db/db.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { newId, newOrderCode } from '../kernel/ids.ts'
import { openHmac, type Vault } from '../kernel/vault.ts'
import type { ButtonSession, BuyButton } from './button-queries.ts'
import * as queries from './button-queries.ts'
import { type ButtonDeps, readCallback, readPrice } from './button-service.ts'

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

const OPEN = ['INITIAL', 'PENDING', 'AWAITING']
const ENDED = ['EXPIRED', 'CANCELLED', 'ERROR']
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

function readReference(orderRef: string | undefined): string {
  if (orderRef === undefined) return `BUTTON-${newOrderCode()}`
  if (orderRef.length < 6) throw invalid('orderRef', 'must be 6 to 100 characters')
  return orderRef
}

/**
 * A buyer arrives through a button. The order with the same reference is shown only to those who know its code, or an
 * earlier one of its session, because references can be guessed. For others an unpaid one is replaced, so that a second
 * try is no dead end. A page that gives no reference names its order by the code alone.
 * @throws ILLEGAL_AMOUNT, VALIDATION_FAILED; ORDER_STATE_CONFLICT when the reference is being paid, or is paid;
 *   OBJECT_CONFLICT when the shop's server made a session for it
 */
export async function openLanding(deps: ButtonDeps, button: BuyButton, wish: PageWish): Promise<Landing> {
  const at = new Date(deps.clock())
  const session = {
    id: newId(at.getTime()),
    companyId: button.companyId,
    buttonId: button.id,
    code: newOrderCode(),
    orderRef: readReference(wish.orderRef),
    ...readPagePrice(deps, button, wish),
    buttonName: wish.buttonName ?? button.name,
    callbackUrl: readPageCallback(deps, button, wish.callbackUrl),
    ...{ cancelUrl: null, returnUrl: null, createdAt: at },
  }
  const { price, currency } = session
  const land = async (tx: Tx): Promise<Landing> => {
    // one at a time: two windows of one buyer do not make two sessions of one reference
    await queries.lockButton(tx, button.id)
    const isNamed = wish.orderRef !== undefined || wish.code === undefined
    const live = await (isNamed
      ? queries.lockLiveSession(tx, session)
      : queries.lockSessionOfOrder(tx, button, wish.code ?? ''))
    const isSold = await queries.isReferenceSold(tx, session)
    const wanted = { button, session, code: wish.code, isSold }
    const kept = (await keepEnded(tx, live, wanted)) ?? (live && (await keepOrEnd(tx, live, wanted)))
    if (kept) return kept
    if (isSold) throw new AppError('ORDER_STATE_CONFLICT')
    await queries.insertButtonSession(tx, session)
    return { session, button, code: null, price, currency }
  }
  return deps.db.tx(land).catch((error: unknown) => {
    // another button, or the shop's server, has just made a session of this reference
    if (brokenConstraint(error) !== 'button_sessions__live_ref') throw error
    return openLanding(deps, button, wish)
  })
}

type Wanted = { button: BuyButton; session: queries.NewButtonSession; code: string | undefined; isSold: boolean }

const isServerMade = ({ code }: queries.LiveSession): boolean => code.startsWith(queries.SERVER_CODE_PREFIX)

const isSamePrice = (one: Price, other: Price): boolean => one.price === other.price && one.currency === other.currency

/** Leads a buyer to his own order. */
function leadTo(order: queries.SessionOrder, own: queries.LiveSession, { button, session }: Wanted): Landing {
  const isOpen = OPEN.includes(order.status)
  const isOutdated = button.pagePrice && !isServerMade(own) && !isSamePrice(own, session) && isOpen
  return { session: own, button, code: order.code, isOutdated }
}

/**
 * The buyer's own order in a session that another tab, another buyer or a closed dialog ended: his money may be on its
 * way. An open one does not undercut the session that the shop's server has made since.
 */
async function keepEnded(tx: Tx, live: queries.LiveSession | undefined, wanted: Wanted): Promise<Landing | undefined> {
  const { code, session } = wanted
  const ended = code === undefined ? undefined : await queries.findEndedSessionOfOrder(tx, session, code)
  const order = ended && (await queries.findSessionOrder(tx, ended))
  if (!order || ENDED.includes(order.status)) return undefined
  return live && isServerMade(live) && OPEN.includes(order.status) ? undefined : leadTo(order, ended, wanted)
}

async function keepOrEnd(tx: Tx, live: queries.LiveSession, wanted: Wanted): Promise<Landing | undefined> {
  const { button, session, code, isSold } = wanted
  const { price, currency, callbackUrl, createdAt } = session
  const order = await queries.findSessionOrder(tx, live)
  const isOver = !order || ENDED.includes(order.status)
  const isOwn = code !== undefined && (await queries.hasSessionOrder(tx, live, code))
  if (!isOver && isOwn) return leadTo(order, live, wanted)
  if (!isOver && !OPEN.includes(order.status)) throw new AppError('ORDER_STATE_CONFLICT')
  const isOfButton = live.buttonId === button.id
  if (isServerMade(live)) {
    if (isOwn && isOfButton) return { session: live, button, code: null, price: live.price, currency: live.currency }
    const message = 'Your server made a session with this orderRef. Open it with data-comptoir-session.'
    throw new AppError('OBJECT_CONFLICT', { message })
  }
  if (isOfButton && !isSold) {
    // the next order of the same buyer: whoever knows one code of the session is led to it, so two tabs make one
    if (isOwn) await queries.updateButtonSessionWish(tx, live.id, session)
    const isSame = isSamePrice(live, session) && live.callbackUrl === callbackUrl
    const isCreating = !order && isSame && createdAt.getTime() - live.createdAt.getTime() < CREATING_MS
    if (isOwn || isCreating) return { session: live, button, code: null, price, currency }
  }
  await queries.updateButtonSessionEnded(tx, live.id, createdAt)
  return undefined
}

/** A session that the shop's server made; its code cannot be guessed. @throws UNKNOWN_SESSION */
export async function openServerSession({ db }: ButtonDeps, code: string): Promise<Landing> {
  const session = await queries.findButtonSessionByCode(db, code)
  const button = session && (await queries.findButton(db, session.buttonId))
  if (!session || !button || session.endedAt) throw new AppError('UNKNOWN_SESSION')
  const order = await queries.findSessionOrder(db, session)
  if (order && !ENDED.includes(order.status)) return { session, button, code: order.code, isOutdated: false }
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

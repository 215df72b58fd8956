import { type Actor, hasStanding } from '../http/actor.ts'
import { addCalendarMonth, MINUTE } from '../kernel/clock.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { readPageUrl } from '../kernel/html.ts'
import {
  type Fiat,
  formatMoney,
  isAsset,
  isHuge,
  leastOf,
  type Money,
  parseMoney,
  parseMoneyNumber,
} from '../kernel/money.ts'
import type { Largest } from '../rates/euro.ts'
import type { Order } from './order.ts'
import type { CreateOrderBody } from './order-schemas.ts'

/** The amount is above the limit by what is known of EUR without asking: ask for its rate, and try again. */
export class EuroWanted extends Error {}

function tooLarge({ isKnown, isFinal, ...largest }: Largest): Error {
  if (!isFinal) return new EuroWanted()
  const [most, asset] = [formatMoney(largest), largest.asset]
  if (!isKnown)
    return new AppError('INVALID_EXCHANGE_RATE', {
      message: `Orders above ${most} ${asset} need a rate of EUR, to compare them with the largest of this account. There is none now; try again later.`,
    })
  return new AppError('ILLEGAL_AMOUNT', {
    message: `The largest amount of this account is ${most} ${asset}. Ask the operator to raise it.`,
  })
}

/**
 * The exact amount of a new order.
 * @throws ILLEGAL_AMOUNT, naming the limit that it violates; INVALID_EXCHANGE_RATE for one that cannot be compared;
 *   EuroWanted
 */
export function readAmount(amount: number | string, asset: Fiat, largest: Largest): Money & { asset: Fiat } {
  if (isHuge(amount)) throw tooLarge(largest)
  const money = typeof amount === 'number' ? parseMoneyNumber(amount, asset) : parseMoney(amount, asset)
  const least = leastOf(asset)
  if (money.units < least.units) {
    throw new AppError('ILLEGAL_AMOUNT', { message: `The smallest amount is ${formatMoney(least)} ${asset}.` })
  }
  if (money.units > largest.units) throw tooLarge(largest)
  return { asset, units: money.units }
}

/** @throws VALIDATION_FAILED for an asset that is not offered */
export function readAssets(body: CreateOrderBody, fiatAssets: readonly Fiat[]): Fiat {
  const from = body.fromAsset.toUpperCase()
  if (!isAsset(from) || from === 'USDC' || !fiatAssets.includes(from)) {
    throw invalid('fromAsset', `must be one of: ${fiatAssets.join(', ')}`)
  }
  if (body.toAsset !== undefined && body.toAsset.toUpperCase() !== 'USDC') throw invalid('toAsset', 'must be USDC')
  return from
}

/** An online sale costs exactly its session’s price. @throws ILLEGAL_AMOUNT */
export function checkPrice(amount: Money, session: { price: string; currency: string } | null): void {
  if (session === null || (amount.asset === session.currency && formatMoney(amount) === session.price)) return
  throw new AppError('ILLEGAL_AMOUNT', {
    message: `The session is for ${session.price} ${session.currency}; send exactly that amount and currency.`,
  })
}

/**
 * A SimpleUser sells for a merchant, so price, pages and webhook come from the merchant’s session, and the merchant’s
 * server may trust the metadata.
 * @throws FORBIDDEN
 */
export function checkSimpleUser(body: CreateOrderBody): void {
  const given = (['merchantIdentifier', 'alias', 'webhookUrl', 'metadata'] as const).filter(
    (name) => body[name] !== undefined,
  )
  if (given.length === 0 && body.sessionId !== undefined) return
  const reason = given.length > 0 ? `may not send ${given.join(', ')}` : 'needs a sessionId with its websiteUrl'
  throw new AppError('FORBIDDEN', {
    message: `A SimpleUser orders only through a buy-button session and ${reason}. Other orders need the role Manager or Cashier.`,
  })
}

/**
 * All of it as JSON: a page of the feed has 1,000 orders, and each webhook one. A spreadsheet's cell holds more.
 */
const MAX_METADATA_CHARS = 8000

/** @throws VALIDATION_FAILED */
function readMetadata(metadata: Readonly<Record<string, string>>): Order['metadata'] {
  if (Object.keys(metadata).length === 0) return null
  if (JSON.stringify(metadata).length > MAX_METADATA_CHARS)
    throw invalid('metadata', 'must be at most 8,000 characters in all, written as JSON')
  return metadata
}

/** What only the shop says about an order: where its payers go, that it need not know who pays, its own notes. */
type ShopWord = Pick<Order, 'cancelUrl' | 'returnUrl' | 'anonymous' | 'metadata'>

/**
 * Payers' pages and the accounts of customers, which anyone can open, do not speak for the shop: what they send of this
 * is left out.
 * @throws VALIDATION_FAILED
 */
export function readShopWord(
  actor: Actor,
  { cancelUrl, returnUrl, anonymous = false, metadata = {} }: Pick<CreateOrderBody, keyof ShopWord>,
): ShopWord {
  if (!hasStanding(actor)) return { cancelUrl: null, returnUrl: null, anonymous: false, metadata: null }
  return {
    cancelUrl: readPageUrl('cancelUrl', cancelUrl),
    returnUrl: readPageUrl('returnUrl', returnUrl),
    anonymous,
    metadata: readMetadata(metadata),
  }
}

/** The place of sale: a till, or a website with its session. @throws VALIDATION_FAILED */
export function checkPlace(body: CreateOrderBody): void {
  if (body.merchantIdentifier === undefined && body.websiteUrl === undefined) {
    throw new AppError('VALIDATION_FAILED', {
      message: 'Say where the sale takes place: merchantIdentifier (a till) or websiteUrl (a website).',
      details: [
        { path: 'merchantIdentifier', message: 'is required without websiteUrl' },
        { path: 'websiteUrl', message: 'is required without merchantIdentifier' },
      ],
    })
  }
  if (body.websiteUrl !== undefined && body.sessionId === undefined) {
    throw invalid('sessionId', 'is required with websiteUrl: the id of the buy-button session')
  }
  // browsers and HTTP clients resolve such a path segment, even a percent-encoded one
  if (body.alias === '.' || body.alias === '..') {
    throw invalid('alias', 'may not be "." or "..": no URL can name such a reference')
  }
  if (body.expiryMinutes !== undefined && body.alias === undefined) {
    throw invalid('expiryMinutes', 'is only possible for payment links; send an alias with it')
  }
}

/** Five minutes; for a payment link one calendar month, or as requested. */
export function expiryOf(body: CreateOrderBody, nowMs: number, defaultMinutes: number): Date {
  if (body.alias === undefined) return new Date(nowMs + defaultMinutes * MINUTE)
  if (body.expiryMinutes !== undefined) return new Date(nowMs + body.expiryMinutes * MINUTE)
  return new Date(addCalendarMonth(nowMs))
}

/* Whether the thing that a shop's reference names may be sold: one rule for pages and for the shop's server. */

/** What the orders of a reference say, over all its sessions: a page's and the server's, live and ended. */
export type ReferenceFacts = {
  /** When one of them was last paid. */
  paidAt: Date | null
  /** A session with an order that is held, or is unpaid and has money. */
  busySession: string | null
  /**
   * The same for the shop's server, which a page's order stops only with the whole of the server's price: whoever names
   * a reference could stop its sale with a cent, or with the price of another button.
   */
  stoppingSession: string | null
}

/** The order that stands for the session through which this buyer came. */
export type OwnOrder = {
  status: string
  isPaid: boolean
  /** Being confirmed, or under review. One whose money was all sent back or ignored is not. */
  isHeld: boolean
  hasMoney: boolean
}

/** A way to pay was chosen: money may be on its way to the address that was shown. */
const PAYABLE = ['PENDING', 'AWAITING']

/**
 * Whether the purchase has a payment, so that no other order of it takes one.
 * @param madeAt when the shop's server made the session: what was paid before, it sells again; null: a page made it
 */
export const isSold = ({ paidAt, busySession, stoppingSession }: ReferenceFacts, madeAt: Date | null): boolean =>
  madeAt === null
    ? busySession !== null || paidAt !== null
    : stoppingSession !== null || (paidAt !== null && paidAt > madeAt)

/** Whether an order has the payment of its purchase, or may have it. */
export const sells = ({ isPaid, isHeld, hasMoney }: OwnOrder): boolean => isPaid || isHeld || hasMoney

/** Whether the buyer may have paid, or may be paying now. */
export const isBeingPaid = (own: OwnOrder): boolean => sells(own) || PAYABLE.includes(own.status)

/** `own`: led to that order; `sold`: the purchase has a payment; `taken`: the shop's server sells it at its price. */
export type Click = 'own' | 'sold' | 'taken' | 'new'

/**
 * A click in a page.
 * @param own null for a buyer who knows the code of no order
 * @param isTaken whether the live session is one of the shop's server that this buyer did not come through
 */
export function decideClick(facts: ReferenceFacts, own: OwnOrder | null, isTaken: boolean): Click {
  if (own && isBeingPaid(own)) return 'own'
  if (isSold(facts, null)) return 'sold'
  if (isTaken) return 'taken'
  return own?.status === 'INITIAL' ? 'own' : 'new'
}

/** A buyer opens a session that the shop's server made; `ended`: it leads nowhere any more. */
export function decideSession(
  facts: ReferenceFacts,
  own: OwnOrder | null,
  { createdAt, endedAt }: { createdAt: Date; endedAt: Date | null },
): 'own' | 'sold' | 'ended' | 'new' {
  if (own && sells(own)) return 'own'
  if (endedAt !== null) return 'ended'
  if (own && PAYABLE.includes(own.status)) return 'own'
  if (isSold(facts, createdAt)) return 'sold'
  return own?.status === 'INITIAL' ? 'own' : 'new'
}

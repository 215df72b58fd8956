import { lockActor } from '../companies/company-scope.ts'
import type { Tx } from '../db/db.ts'
import { countDailyMail, countMail, MOST_MAILS_AN_HOUR } from '../http/limits/mail-limits.ts'
import type { RequestContext } from '../http/request-context.ts'
import { DAY, HOUR, SECOND } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import type { Lang } from '../kernel/lang.ts'
import type { Order } from '../orders/order.ts'
import { lockOrderById } from '../orders/order-queries.ts'
import { findReachableOrder, lockReachableOrder } from '../orders/order-service.ts'
import { allows } from '../orders/order-states.ts'
import { findEuroRate } from '../rates/euro.ts'
import { countLinkMail, listReminders, postponeReminder, takeReminder } from './link-mail-queries.ts'
import { findPayerContact, notePayerEmail, type PayerDeps, writePayerAudit } from './payer-service.ts'

/** Whoever may create orders could otherwise write to strangers in our name. Its reminder comes on top. */
export const MAILS_OF_ORDER = 3
/** Of a company, reminders included. */
export const MAILS_A_DAY = 200

/** The reminder goes out this long before the order ends. */
const REMIND_MS = DAY
/** How long a reminder waits that could not be written, or has reached a limit. */
const POSTPONE_MS = HOUR
const BATCH = 100

export type LinkMailDeps = {
  payers: PayerDeps
  log: { error(fields: object, text: string): void }
  /** The language of a mail for which none was given: what the payer uses, else what the shop last chose. */
  findLanguage(tx: Tx, order: Order): Promise<Lang>
  /** Whether a payment of the order has money, or money beside it, that is not decided about. */
  hasMoney(tx: Tx, order: Order): Promise<boolean>
  /** Queues the mail, which is worth nothing once the order has ended. */
  mailLink(tx: Tx, order: Order, mail: { to: string; lang: Lang; isReminder: boolean }): Promise<void>
}

export type SendLinkBody = { email: string; language?: Lang; remind?: boolean }
export type SentLink = { sent: number; left: number; language: Lang; remindAt: string | null }

const isPayable = ({ status, expiresAt }: Order, now: Date): boolean => allows(status, 'cancel') && expiresAt > now

/** @throws ORDER_STATE_CONFLICT */
function checkPayable(order: Order, now: Date): void {
  if (isPayable(order, now)) return
  const state = allows(order.status, 'cancel') ? 'past its end' : order.status
  throw new AppError('ORDER_STATE_CONFLICT', {
    message: `The order is ${state}: its link is mailed only while it waits for a payment. Nothing was sent.`,
  })
}

/** One more to this address. @throws TOO_MANY_REQUESTS */
async function countMails(tx: Tx, { companyId }: Order, email: string, nowMs: number): Promise<void> {
  const endsAt = await countDailyMail(tx, 'link', { company: companyId, most: MAILS_A_DAY }, nowMs)
  if (endsAt !== null)
    throw new AppError('TOO_MANY_REQUESTS', {
      message: `Your company has mailed ${MAILS_A_DAY} links within a day, and that is the most. Go on tomorrow.`,
      retryAfter: Math.max(1, Math.ceil((endsAt.getTime() - nowMs) / SECOND)),
    })
  if (!(await countMail(tx, 'link', { email }, nowMs)))
    throw new AppError('TOO_MANY_REQUESTS', {
      message: `This address was mailed ${MOST_MAILS_AN_HOUR} links within an hour, and that is the most. Send it later.`,
      retryAfter: HOUR / SECOND,
    })
}

/** When the payer is reminded; null: never; undefined: as it was. */
function remindAtOf({ expiresAt }: Order, remind: boolean | undefined, now: Date): Date | null | undefined {
  if (remind === undefined) return undefined
  const at = new Date(expiresAt.getTime() - REMIND_MS)
  return remind && at > now ? at : null
}

/**
 * Mails the link of an order to its payer. The address becomes the payer's e-mail, as if it had been saved.
 * @throws ORDER_NOT_FOUND, ORDER_STATE_CONFLICT, TOO_MANY_REQUESTS
 */
export async function sendLink(
  deps: LinkMailDeps,
  context: RequestContext,
  code: string,
  { email, language, remind }: SendLinkBody,
): Promise<SentLink> {
  const { payers } = deps
  const { actor } = context
  const euroRate = await findEuroRate(payers)
  const { companyId } = await findReachableOrder(payers.db, actor, code)
  return payers.db.tx(async (tx) => {
    await lockActor(tx, actor, companyId)
    const order = await lockReachableOrder(tx, actor, code)
    const now = new Date(payers.clock())
    checkPayable(order, now)
    const lang = language ?? (await deps.findLanguage(tx, order))
    const { sent, remindAt } = await countLinkMail(tx, order, { lang, remindAt: remindAtOf(order, remind, now) })
    if (sent > MAILS_OF_ORDER)
      throw new AppError('ORDER_STATE_CONFLICT', {
        message: `The link of this order was mailed ${MAILS_OF_ORDER} times, and that is the most. Hand it over another way.`,
      })
    await countMails(tx, order, email, now.getTime())
    await notePayerEmail(payers, tx, { order, actor, euroRate }, email)
    await deps.mailLink(tx, order, { to: email, lang, isReminder: false })
    const answer: SentLink = {
      ...{ sent, left: MAILS_OF_ORDER - sent, language: lang },
      remindAt: remindAt?.toISOString() ?? null,
    }
    await context.remember(tx, answer)
    const detail = { language: lang, number: sent, remindAt: answer.remindAt }
    await payers.audit.write(tx, context, { action: 'payer.send-link', companyId, object: `order:${order.id}`, detail })
    await writePayerAudit(payers, tx, context, { order, fields: ['email'] })
    return answer
  })
}

/** @returns whether it was due; it is taken even if there is nothing to remind of */
function remindPayer(deps: LinkMailDeps, key: Pick<Order, 'companyId' | 'id'>, now: Date): Promise<boolean> {
  const { payers } = deps
  return payers.db.tx(async (tx) => {
    const order = await lockOrderById(tx, key.companyId, key.id)
    if (!order) throw new Error('the order of a reminder is missing')
    if (!(await takeReminder(tx, order, now))) return false
    // whoever has paid a part must not read that nothing was paid, and the whole amount
    if (!isPayable(order, now) || (await deps.hasMoney(tx, order))) return true
    const { email } = await findPayerContact(payers, tx, order)
    if (email === null) return true
    await countMails(tx, order, email, now.getTime())
    const lang = await deps.findLanguage(tx, order)
    await deps.mailLink(tx, order, { to: email, lang, isReminder: true })
    return true
  })
}

/**
 * Reminds payers, once, of orders that still wait for their money. The address is the payer's e-mail as it is now: none
 * is left once the payer was erased. @returns whether there may be more
 */
export async function remindPayers(deps: LinkMailDeps, nowMs: number): Promise<boolean> {
  const { db } = deps.payers
  const now = new Date(nowMs)
  const due = await listReminders(db, now, BATCH)
  let taken = 0
  for (const key of due) {
    try {
      if (await remindPayer(deps, key, now)) taken += 1
    } catch (error) {
      // it must not come first again, before all others
      await postponeReminder(db, key, now, new Date(nowMs + POSTPONE_MS))
      const isLimit = error instanceof AppError && error.code === 'TOO_MANY_REQUESTS'
      if (!isLimit)
        deps.log.error({ err: error, orderId: key.id }, 'a payer was not reminded; the next try is in an hour')
    }
  }
  return due.length === BATCH && taken > 0
}

import { lockActor } from '../companies/company-scope.ts'
import type { Tx } from '../db/db.ts'
import { countDailyMail } from '../http/limits/mail-limits.ts'
import type { RequestContext } from '../http/request-context.ts'
import { DAY, SECOND } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import type { Lang } from '../kernel/lang.ts'
import type { Order } from '../orders/order.ts'
import { lockOrderById } from '../orders/order-queries.ts'
import { findReachableOrder, lockReachableOrder } from '../orders/order-service.ts'
import { allows } from '../orders/order-states.ts'
import { findEuroRate } from '../rates/euro.ts'
import { countLinkMail, listReminders, takeReminder } from './link-mail-queries.ts'
import { findPayerContact, notePayerEmail, type PayerDeps, writePayerAudit } from './payer-service.ts'

/** Whoever may create orders could otherwise write to strangers in our name. */
export const MAILS_OF_ORDER = 3
export const MAILS_A_DAY = 200

/** The reminder goes out this long before the order ends. */
const REMIND_MS = DAY
const BATCH = 100

export type LinkMailDeps = {
  payers: PayerDeps
  /** The language for a payer of whom none was given. */
  findLanguage(tx: Tx, order: Order): Promise<Lang>
  /** Queues the mail, which is worth nothing once the order has ended. */
  mailLink(tx: Tx, order: Order, mail: { to: string; lang: Lang; isReminder: boolean }): Promise<void>
  /** Later mails about the order are in this language too, unless the payer chose one. */
  noteLanguage(tx: Tx, order: Order, lang: Lang): Promise<void>
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

/** @throws TOO_MANY_REQUESTS */
async function countSending(tx: Tx, order: Order, mail: { lang: Lang; remindAt: Date | null }, nowMs: number) {
  const sent = await countLinkMail(tx, order, mail)
  if (sent > MAILS_OF_ORDER)
    throw new AppError('TOO_MANY_REQUESTS', {
      message: `The link of this order was mailed ${MAILS_OF_ORDER} times, and that is the most. Hand it over another way.`,
      retryAfter: DAY / SECOND,
    })
  const endsAt = await countDailyMail(tx, 'link', { company: order.companyId, most: MAILS_A_DAY }, nowMs)
  if (endsAt !== null)
    throw new AppError('TOO_MANY_REQUESTS', {
      message: `Your company has mailed ${MAILS_A_DAY} links within a day, and that is the most. Go on tomorrow.`,
      retryAfter: Math.max(1, Math.ceil((endsAt.getTime() - nowMs) / SECOND)),
    })
  return sent
}

/**
 * Mails the link of an order to its payer. The address becomes the payer's e-mail, as if it had been saved.
 * @throws ORDER_NOT_FOUND, ORDER_STATE_CONFLICT, TOO_MANY_REQUESTS
 */
export async function sendLink(
  deps: LinkMailDeps,
  context: RequestContext,
  code: string,
  { email, language, remind = false }: SendLinkBody,
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
    if (language !== undefined) await deps.noteLanguage(tx, order, language)
    const lang = language ?? (await deps.findLanguage(tx, order))
    const remindsAt = new Date(order.expiresAt.getTime() - REMIND_MS)
    const remindAt = remind && remindsAt > now ? remindsAt : null
    const sent = await countSending(tx, order, { lang, remindAt }, now.getTime())
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

/**
 * Reminds payers, once, of orders that still wait for their money. The address is the payer's e-mail as it is now: none
 * is left once the payer was erased. @returns whether there may be more
 */
export async function remindPayers(deps: LinkMailDeps, nowMs: number): Promise<boolean> {
  const { payers } = deps
  const now = new Date(nowMs)
  const due = await listReminders(payers.db, now, BATCH)
  for (const { companyId, id } of due) {
    await payers.db.tx(async (tx) => {
      const order = await lockOrderById(tx, companyId, id)
      const lang = order && (await takeReminder(tx, order, now))
      if (!order || lang === undefined || !isPayable(order, now)) return
      const { email } = await findPayerContact(payers, tx, order)
      if (email !== null) await deps.mailLink(tx, order, { to: email, lang, isReminder: true })
    })
  }
  return due.length === BATCH
}

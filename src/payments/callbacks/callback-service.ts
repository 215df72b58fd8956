import type { FastifyBaseLogger } from 'fastify'
import { unavailable } from '../../channels/ask-provider.ts'
import {
  type Acknowledgement,
  type Channel,
  type ChannelId,
  isChannelId,
  type PaymentReport,
  type RefundNews,
} from '../../channels/channel.ts'
import { CHANNEL_KINDS } from '../../channels/kinds.ts'
import { ProviderRefusal, ProviderTrouble } from '../../channels/provider-errors.ts'
import { renewItem } from '../../db/poll-queries.ts'
import { pollNow } from '../../db/polling.ts'
import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import { AppError } from '../../kernel/errors.ts'
import { recordUnmatched } from '../mispayments/told-event.ts'
import {
  findPayment,
  findPaymentByReference,
  PAYMENT_POLLS,
  type Payment,
  updatePaymentReference,
} from '../payment-queries.ts'
import { applyReport } from '../payment-report.ts'
import { noteTakenBack, type PaymentDeps, pollPayment } from '../payment-service.ts'
import { adoptSecondPayment, LONGEST_REFERENCE, namedBy } from './second-payments.ts'

export type CallbackDeps = PaymentDeps & {
  log: FastifyBaseLogger
  /** A provider that cannot be polled about refunds reported a refund of this payment. */
  reportRefund(payment: Payment, news: RefundNews): Promise<void>
  /** There may be news about a refund of this payment too. */
  wakeRefunds(payment: Payment): Promise<void>
}

/** Addressee of a callback: the channel, and the company if it is the company's own account. */
export type CallbackTarget = { channel: string; companyId: string | null }

const ACKNOWLEDGED: Acknowledgement = { contentType: 'text/plain', body: 'OK' }

/** Channels with the same account share their callbacks (Whitepay has one address for both of its own). */
function siblingsOf(id: ChannelId): ChannelId[] {
  const env = CHANNEL_KINDS.find((kind) => kind.id === id)?.env
  return env === undefined ? [id] : CHANNEL_KINDS.filter((kind) => kind.env === env).map((kind) => kind.id)
}

async function findReceiver(deps: CallbackDeps, { channel, companyId }: CallbackTarget): Promise<Channel> {
  const id = isChannelId(channel) ? channel : undefined
  const set = companyId === null ? deps.channels.operator : await deps.channels.of(companyId)
  const mine = id !== undefined && (companyId === null || set.isOwn(id))
  const found = mine ? set.find(id) : undefined
  if (!found?.readCallback) throw new AppError('NOT_FOUND')
  return found
}

/**
 * The payment of a callback. Stores the provider's id if it is new. Undefined: the two references belong to different
 * orders.
 */
async function findReportedPayment(
  deps: CallbackDeps,
  payment: Payment,
  { providerReference, onChain }: { providerReference: string | null; onChain: boolean },
): Promise<Payment | undefined> {
  if (providerReference === null || onChain || payment.providerReference === providerReference) return payment
  const known = await findPaymentByReference(deps.db, namedBy(payment, providerReference))
  if (known) return known.orderId === payment.orderId ? known : undefined
  if (providerReference.length > LONGEST_REFERENCE) return undefined
  if (payment.providerReference !== null) return adoptSecondPayment(deps, payment, providerReference)
  if (await updatePaymentReference(deps.db, payment, providerReference)) return payment
  // its creation was answered meanwhile, perhaps with another one
  const now = await findPayment(deps.db, payment.companyId, payment.id)
  return now && findReportedPayment(deps, now, { providerReference, onChain })
}

/**
 * Makes the payment due, then polls it here instead of waiting for the engine's next round. A creation in progress is
 * left to the request that waits for it.
 */
async function pollSoon(deps: CallbackDeps, payment: Payment): Promise<void> {
  if (payment.status === 'creating') return
  await renewItem(deps.db, PAYMENT_POLLS.table, payment, new Date(deps.clock()))
  void pollNow(deps, PAYMENT_POLLS, payment, async (db) => pollPayment({ ...deps, db }, payment)).catch(
    (error: unknown) =>
      deps.log.warn({ err: error, channel: payment.channel, paymentId: payment.id }, 'poll after a callback failed'),
  )
}

/**
 * The one state that a verified callback decides on its own: the provider's screening holds the money. Some providers
 * report it in no other way, and holding is safe.
 */
async function holdBlocked(deps: CallbackDeps, payment: Payment, report: PaymentReport | null): Promise<void> {
  if (report?.outcome !== 'blocked') return
  const { providerReference } = payment
  const named = { ...report, providerReference: providerReference ?? report.providerReference }
  await applyReport(deps, payment, named, {
    also: (tx, order) => noteTakenBack(deps, tx, { order, payment, report }),
  })
}

/**
 * Takes a provider's callback. Once verified, it durably schedules a poll, and the poll finds out what is true. A
 * callback about something unknown is acknowledged, so that the provider stops sending it.
 * @param onVerified called once the signature is verified
 * @throws NOT_FOUND for a channel without callbacks, CALLBACK_REFUSED, CHANNEL_UNAVAILABLE, TOO_MANY_REQUESTS
 */
export async function takeCallback(
  deps: CallbackDeps,
  target: CallbackTarget,
  callback: Callback,
  onVerified: () => Promise<void>,
): Promise<Acknowledgement> {
  const channel = await findReceiver(deps, target)
  const news = await channel.readCallback?.(callback).catch((error: unknown) => {
    // the keys that verify it are not available: the provider sends it again
    if (error instanceof ProviderTrouble || error instanceof ProviderRefusal) throw unavailable(error)
    if (!(error instanceof CallbackRefused)) throw error
    deps.log.warn({ channel: channel.id, reason: error.message }, 'a callback was refused')
    throw new AppError('CALLBACK_REFUSED', { cause: error })
  })
  const acknowledgement = channel.acknowledgement ?? ACKNOWLEDGED
  if (!news) return acknowledgement
  await onVerified()
  const { merchantReference, providerReference, providerStatus } = news
  const channels = siblingsOf(channel.id)
  const named = { merchantReference, providerReference, channels, accountOf: target.companyId }
  const found = await findPaymentByReference(deps.db, named)
  const onChain = channel.onChain === true
  const payment = found && (await findReportedPayment(deps, found, { providerReference, onChain }))
  if (!payment) {
    deps.log.info({ channel: channel.id, providerStatus }, 'callback for an unknown payment')
    return acknowledgement
  }
  // before the poll, which goes on while a record is open
  await holdBlocked(deps, payment, news.report)
  if (news.unmatched) await recordUnmatched(deps, payment, news.unmatched)
  await pollSoon(deps, payment)
  // some providers report a refund from their console only here; its amount is signed like the rest
  const { report } = news
  if (report?.outcome === 'seen' && report.refunded !== undefined)
    await deps.db.tx((tx) => deps.onRefunded(tx, payment, report))
  if (news.refund) await deps.reportRefund(payment, news.refund)
  await deps.wakeRefunds(payment)
  return acknowledgement
}

import { lockActor } from '../companies/company-scope.ts'
import type { Tx } from '../db/db.ts'
import { nameOf, type RequestContext } from '../http/request-context.ts'
import { AppError } from '../kernel/errors.ts'
import { pollGapMs } from '../kernel/poll-gaps.ts'
import { checkNoneHolds, isNamedSince, listNamed, namedWords, signedWords } from '../ledger/claims.ts'
import { bookRefundDropped } from '../ledger/ledger-service.ts'
import { findOrderById } from '../orders/order-queries.ts'
import { findPayerContact } from '../payers/payer-service.ts'
import { staffWho } from '../payers/payer-word.ts'
import { findPayment } from '../payments/payment-queries.ts'
import { closeScreenings } from '../screening/screening-queries.ts'
import { goesToAddress } from './destination/address-proof.ts'
import { noticeToldRefunds } from './foreign/foreign-refund.ts'
import { writeRefundAudit } from './refund-audit.ts'
import type { RefundDeps } from './refund-deps.ts'
import type { RefundLinks } from './refund-link.ts'
import { isRefundPolled, type Refund, updateRefund, updateRefundUnnamed } from './refund-queries.ts'
import { reopenRecords } from './refund-records.ts'
import { bookingOf, isPaidOnChain, lockRefundWithOrder, releaseNamed } from './refund-settle.ts'
import { rememberRefund } from './refund-views.ts'

/** Submitted without an answer, and only a callback could report on it: a person checks with the provider. */
async function isLost(deps: RefundDeps, { companyId, paymentId, status, providerReference }: Refund): Promise<boolean> {
  if (status !== 'submitted' || providerReference !== null) return false
  const payment = await findPayment(deps.db, companyId, paymentId)
  return payment !== undefined && (await deps.channels.forPayment(payment))?.refundsByCallback === true
}

/** Why a person cannot end it now: its provider is being asked, and may take it after that. Null: no one asks. */
export const findAsking = async ({ clock }: RefundDeps, tx: Tx, refund: Refund): Promise<string | null> =>
  (await isRefundPolled(tx, refund, new Date(clock())))
    ? `${refund.channel} is being asked for this refund right now. Try again in a minute.`
    : null

/**
 * A refusal of our own payout is expected once a person names what they sent: naming it withdraws ours. If naming was
 * cut short after that, the refund says what to do, also one that a person was asked to send.
 */
export async function isPaidByHand(
  deps: RefundDeps,
  tx: Tx,
  { asked, current, handedOver = {} }: { asked: Refund; current: Refund; handedOver?: { handedOverAt?: Date } },
): Promise<boolean> {
  if (isNamedSince(asked, current)) return true
  const { status, checks } = current
  const named = await listNamed(tx, current)
  if (named.length === 0) return false
  const now = new Date(deps.clock())
  const nextCheckAt = new Date(now.getTime() + pollGapMs('refund', checks))
  await updateRefund(tx, current, { status, providerStatus: namedWords(named), nextCheckAt, ...handedOver }, now)
  return true
}

const OVER: readonly Refund['status'][] = ['settled', 'rejected', 'refused']

/** Why a refund that is paid on a chain cannot be taken back yet. @throws CHANNEL_UNAVAILABLE */
export async function findRefundHold(deps: RefundDeps, refund: Refund): Promise<string | null> {
  const { companyId, orderId, id, network, status, address: to, units } = refund
  if (network === null || OVER.includes(status)) return null
  const order = await findOrderById(deps.db, companyId, orderId)
  if (!order) throw new Error(`refund ${id} without its order`)
  return deps.findWithdrawalHold({ id, network, to, units, since: order.createdAt })
}

/**
 * Its transfer may be in progress, whatever its state.
 * @param isChainGone its chain is not set up here
 * @param hold the answer of `findRefundHold`
 * @throws OBJECT_CONFLICT
 */
export async function stopPayout(
  deps: RefundDeps,
  tx: Tx,
  { id, network, address: to, units }: Refund,
  { why, isChainGone, hold }: { why: 'rejected' | 'settled by hand'; isChainGone: boolean; hold: string | null },
): Promise<void> {
  if (network === null) return
  if (await deps.withdrawPayout(tx, { id, network, to, units, hold, isRejected: why === 'rejected' }, why)) return
  throw new AppError('OBJECT_CONFLICT', {
    message: isChainGone
      ? `The refund cannot be ${why} now. ${signedWords(network)}`
      : `The refund is already being paid and cannot be ${why}. Wait until its transfer is final.`,
  })
}

/** What a provider has taken under an id, it refuses under that id; any other refusal says nothing about it. */
async function holdTaken({ clock }: RefundDeps, tx: Tx, refund: Refund, words: string): Promise<void> {
  const now = new Date(clock())
  const providerStatus = `waits: ${refund.channel} has taken it as ${refund.providerReference}, and says now: ${words}`
  const nextCheckAt = new Date(now.getTime() + pollGapMs('refund', refund.checks))
  await updateRefund(tx, refund, { status: refund.status, providerStatus, nextCheckAt }, now)
}

/**
 * Drops a refund that a person rejected or the provider refused, and evaluates what the provider reported meanwhile.
 * @param news `vanished`: as in `checkNoneHolds`; `hold`: as in `stopPayout`
 * @throws OBJECT_CONFLICT
 */
export async function dropRefund(
  deps: RefundDeps,
  key: Refund,
  news: { providerStatus: string } & (
    | {
        status: 'rejected'
        by: RequestContext
        vanished: readonly string[] | null
        hold: string | null
        /** Stores the answer to the request that asks. */
        remember?(tx: Tx): Promise<void>
      }
    | { status: 'refused'; channel: string; reference: string | null }
  ),
): Promise<void> {
  const neverSent = news.status === 'rejected' && (await isLost(deps, key))
  await deps.db.tx(async (tx) => {
    if (news.status === 'rejected') await lockActor(tx, news.by.actor, key.companyId)
    const { order, refund } = await lockRefundWithOrder(tx, key)
    const open = news.status === 'rejected' ? ['needs_approval', 'needs_address', 'ready'] : ['ready', 'submitted']
    const isStillLost = neverSent && refund.status === 'submitted' && refund.providerReference === null
    // what was named for it or signed refuses below
    const mayBeUnsent = news.status === 'rejected' && refund.status === 'submitted' && isPaidOnChain(refund)
    if (!open.includes(refund.status) && !isStillLost && !mayBeUnsent) {
      throw new AppError('OBJECT_CONFLICT', {
        message: `The refund is ${refund.status}; it can no longer be ${news.status}.`,
      })
    }
    const asking = isStillLost ? await findAsking(deps, tx, refund) : null
    if (asking !== null) throw new AppError('OBJECT_CONFLICT', { message: asking })
    if (news.status === 'rejected') await checkNoneHolds(tx, { asked: key, current: refund }, news.vanished)
    if (news.status === 'rejected' && refund.providerReference !== null) {
      throw new AppError('OBJECT_CONFLICT', {
        message:
          `${refund.channel} has taken this refund as ${refund.providerReference} and may pay it. ` +
          'Wait for its answer; if the account there was removed, save it again.',
      })
    }
    if (news.status === 'refused' && refund.providerReference !== null && news.reference === null)
      return holdTaken(deps, tx, refund, news.providerStatus)
    if (news.status === 'refused' && (await isPaidByHand(deps, tx, { asked: key, current: refund }))) return
    if (news.status === 'rejected') {
      const { vanished, hold } = news
      await stopPayout(deps, tx, refund, { why: 'rejected', isChainGone: vanished === null, hold })
      if (refund.byHand) await updateRefundUnnamed(tx, refund)
      await releaseNamed(tx, refund)
    }
    const now = new Date(deps.clock())
    const { status, providerStatus } = news
    const decidedBy = news.status === 'rejected' ? nameOf(news.by) : news.channel
    // some providers name a refund only as they refuse it; what it was taken as stays
    const reference = refund.providerReference ?? (news.status === 'refused' ? news.reference : null)
    const denied = isStillLost ? { deniedAt: now } : {}
    await updateRefund(tx, refund, { status, decidedBy, reference, providerStatus, nextCheckAt: null, ...denied }, now)
    await closeScreenings(tx, { companyId: refund.companyId, purpose: 'refund', subjectId: refund.id })
    await bookRefundDropped(tx, bookingOf(refund, now), { units: refund.units, excess: refund.excessUnits })
    await reopenRecords(tx, order, refund, now)
    if (refund.mispaymentId === null) {
      const trigger = order.refundedUnits > 0n ? 'dropRefundPart' : 'dropRefund'
      await deps.transition(tx, order, { trigger, actor: decidedBy, requestId: null })
    }
    if (news.status === 'rejected') {
      await news.remember?.(tx)
      await writeRefundAudit(deps, tx, news.by, { refund, action: 'refund.reject', more: { reason: providerStatus } })
    }
    // a provider that refuses what it never took has it in no total
    const wasTaken = news.status === 'rejected' || (news.reference ?? refund.providerReference) !== null
    await noticeToldRefunds(deps, tx, refund, wasTaken ? refund.units : undefined)
  })
}

/** Approves a refund. @throws OBJECT_CONFLICT, UNAUTHORIZED */
export async function approveRefund(
  deps: RefundDeps & { links: RefundLinks },
  key: Refund,
  context: RequestContext,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    await lockActor(tx, context.actor, key.companyId)
    const { order, refund } = await lockRefundWithOrder(tx, key)
    if (refund.status !== 'needs_approval') {
      throw new AppError('OBJECT_CONFLICT', { message: `The refund is ${refund.status}; there is nothing to approve.` })
    }
    const now = new Date(deps.clock())
    const status = goesToAddress(refund) && refund.address === null ? 'needs_address' : 'ready'
    const { asked } = await findPayerContact(deps.payers, tx, order)
    const { email } = asked
    const emailBy = (status === 'needs_address' ? staffWho(asked) : null) ?? refund.emailBy
    const askedByMail = status === 'needs_address' && email !== null
    const nextCheckAt = status === 'ready' ? now : null
    await updateRefund(tx, refund, { status, decidedBy: nameOf(context), askedByMail, emailBy, nextCheckAt }, now)
    if (status === 'needs_address') await deps.askForAddress(tx, order, { ...refund, requestId: null }, email)
    await rememberRefund(deps, tx, context, refund)
    await writeRefundAudit(deps, tx, context, { refund: { ...refund, emailBy }, action: 'refund.approve' })
  })
}

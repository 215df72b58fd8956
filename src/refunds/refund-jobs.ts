import type { Channel, RefundReport, RefundRequest } from '../channels/channel.ts'
import { isOtherAccount, ProviderRefusal, ProviderTrouble } from '../channels/provider-errors.ts'
import type { Queryable, Tx } from '../db/db.ts'
import type { PollSpec } from '../db/polling.ts'
import { DAY } from '../kernel/clock.ts'
import { crashPoint } from '../kernel/crash-point.ts'
import { pollGapMs } from '../kernel/poll-gaps.ts'
import { isClaimedByOther } from '../ledger/claim-queries.ts'
import { checkNamedAgain, claimedWords, isNamedSince, listNamed } from '../ledger/claims.ts'
import type { Order } from '../orders/order.ts'
import { findOrderById } from '../orders/order-queries.ts'
import { callbackUrlOf } from '../payments/accept/create-at-provider.ts'
import { findPayment, type Payment } from '../payments/payment-queries.ts'
import { TARGET_BLOCKED, TARGET_WAITS } from '../screening/screening-words.ts'
import { goesToAddress } from './destination/address-proof.ts'
import { noteToldBeforeSending, noticeForeignRefund, noticeToldRefunds } from './foreign/foreign-refund.ts'
import { nextRefundIds } from './new-refund.ts'
import { eraseOldProofs } from './proof/proof-queries.ts'
import { findLossOf } from './refund-cover.ts'
import { dropRefund, isPaidByHand } from './refund-decisions.ts'
import type { RefundDeps } from './refund-deps.ts'
import {
  findRefund,
  listRefundsOfOrder,
  REFUND_POLLS,
  type Refund,
  updateRefund,
  updateRefundNextCheck,
} from './refund-queries.ts'
import { isPaidOnChain, lockRefundWithOrder, settleRefundIn, withChainOf } from './refund-settle.ts'
import { isAccountGone, missingWords, noteAsking, waitForAccount, waitForOther } from './waiting/account-wait.ts'
import { findLeftBefore, judgeFound } from './waiting/before-restore.ts'
import { wakeRefundsOfOperator } from './waiting/wake-queries.ts'

/** Delay before a blocked refund is retried. */
const HOLD_MS = 30_000

const sumOf = (refunds: readonly Refund[], field: 'units' | 'fiatUnits'): bigint =>
  refunds.reduce((sum, refund) => sum + refund[field], 0n)

export async function findPaymentOf({ db }: { db: Queryable }, { id, companyId, paymentId }: Refund): Promise<Payment> {
  const payment = await findPayment(db, companyId, paymentId)
  if (!payment) throw new Error(`refund ${id} without its payment`)
  return payment
}

async function findOrderOf(db: Queryable, { id, companyId, orderId }: Refund): Promise<Order> {
  const order = await findOrderById(db, companyId, orderId)
  if (!order) throw new Error(`refund ${id} without its order`)
  return order
}

/** What a channel needs for a refund. */
export async function refundRequestOf(deps: RefundDeps, refund: Refund): Promise<RefundRequest> {
  const [order, payment] = await Promise.all([findOrderOf(deps.db, refund), findPaymentOf(deps, refund)])
  const all = await listRefundsOfOrder(deps.db, refund.companyId, refund.orderId)
  const ofPayment = all.filter(({ id, paymentId }) => id !== refund.id && paymentId === payment.id)
  const others = ofPayment.filter(({ paidElsewhere }) => !paidElsewhere)
  const leftBefore = await findLeftBefore(deps.db, order, refund, ofPayment)
  const earlier = others.filter(({ status }) => status === 'settled')
  const lastReference = others.findLast(({ providerReference }) => providerReference !== null)?.providerReference
  return {
    refundId: refund.id,
    companyId: refund.companyId,
    merchantReference: payment.merchantReference,
    providerReference: payment.providerReference ?? '',
    units: refund.units,
    fiat: { asset: order.from.asset, units: refund.fiatUnits },
    paidUnits: payment.receivedUnits,
    paidFiat: order.from,
    openedAt: payment.openedAt,
    earlierUnits: sumOf(earlier, 'units'),
    earlierFiat: { asset: order.from.asset, units: sumOf(earlier, 'fiatUnits') },
    ...(lastReference ? { lastReference } : {}),
    reference: refund.providerReference,
    attempted: refund.status === 'submitted' || leftBefore !== undefined,
    ...(leftBefore && { leftBefore }),
    network: refund.network,
    address: refund.address,
    reason: refund.reason,
    callbackUrl: callbackUrlOf(deps.baseUrl, payment),
  }
}

/** Whether another refund of this payment is in flight. A provider that reports only totals cannot tell two apart. */
async function anotherRuns(tx: Tx, refund: Refund): Promise<boolean> {
  const all = await listRefundsOfOrder(tx, refund.companyId, refund.orderId)
  return all.some(
    ({ id, paymentId, status }) => id !== refund.id && paymentId === refund.paymentId && status === 'submitted',
  )
}

/** Clears the destination before anything is sent. @returns why it waits; null: it may be sent */
async function findScreeningHold(deps: RefundDeps, tx: Tx, refund: Refund): Promise<string | null> {
  const { companyId, id: subjectId, orderId, network, address } = refund
  if (address === null || network === null) return null
  const standing = await deps.screening.look(tx, { companyId, purpose: 'refund', subjectId, orderId }, [
    { network, address },
  ])
  if (standing === 'blocked') return TARGET_BLOCKED
  return standing === 'waiting' ? TARGET_WAITS : null
}

/** Why it waits: another refund of its order had left before the database was restored. */
async function findOther({ db, findOtherPayout }: RefundDeps, refund: Refund): Promise<string | null> {
  const { companyId, orderId, id, network } = refund
  if (network === null) return null
  return findOtherPayout({ network, id }, async () => {
    const order = await findOrderOf(db, refund)
    const all = await listRefundsOfOrder(db, companyId, orderId)
    return { since: order.createdAt, known: all.map((one) => one.id), next: nextRefundIds(refund, all) }
  })
}

/** No step before gives it a destination without a proof; a transfer cannot be reversed, so it is looked at again. */
const findUnproven = (refund: Refund): string | null =>
  goesToAddress(refund) && (refund.address === null || refund.addressProof === null) ? UNPROVEN : null

const UNPROVEN =
  'nothing proves that its destination is the payer’s. Reject the refund; a new one asks for the address again'

const findLocalHold = async (deps: RefundDeps, tx: Tx, refund: Refund): Promise<string | null> =>
  findUnproven(refund) ?? (await findLossOf(tx, refund)) ?? (await findScreeningHold(deps, tx, refund))

/** Why it waits; the chain is asked only once nothing else is in the way. */
const findHold = async (deps: RefundDeps, refund: Refund): Promise<string | null> =>
  (await deps.books.findHold(refund.companyId)) ??
  (await deps.db.tx((tx) => findLocalHold(deps, tx, refund))) ??
  (await findOther(deps, refund))

/** The same with the order locked: what its provider has told since of refunds of its console. */
async function findLastHold(deps: RefundDeps, tx: Tx, order: Order, refund: Refund): Promise<string | null> {
  await noteToldBeforeSending(deps, tx, order, refund)
  return (await deps.books.findStoredHold(tx, refund.companyId)) ?? findLocalHold(deps, tx, refund)
}

/** What had left before a restore is followed, whatever holds others. */
async function recognise({ db, recognisePayout }: RefundDeps, refund: Refund): Promise<void> {
  const { id, network, address: to, units, byHand } = refund
  if (!isPayable(refund) || !isPaidOnChain(refund) || byHand || network === null || to === null) return
  await recognisePayout({ id, network, to, units }, async () => (await findOrderOf(db, refund)).createdAt)
}

/** A person was asked to send it, and the provider does not have it. */
export const isHandedOver = ({ handedOverAt, providerReference }: Refund): boolean =>
  handedOverAt !== null && providerReference === null

/** Whether a person named what they sent, and it is not followed: the service does not send it then. */
const isNamed = async (tx: Tx, refund: Refund): Promise<boolean> =>
  !refund.byHand && (await listNamed(tx, refund)).length > 0

/**
 * Whether a provider was asked for it, or a transaction was signed that can pay it on its chain, or a person paid it.
 * Until then all checks are repeated.
 */
const mayHaveLeft = async ({ db, mayPayoutHaveLeft }: RefundDeps, refund: Refund): Promise<boolean> => {
  if (refund.byHand || !isPaidOnChain(refund)) return refund.status === 'submitted'
  return mayPayoutHaveLeft(db, refund.id)
}

/**
 * `send`: all checks passed. `resume`: what had left goes on without them. `follow`: a person sends it, or named what
 * they sent. `held`: a check holds it, but what was signed may be used.
 */
type Step = 'send' | 'resume' | 'follow' | 'held'

/**
 * Marks the refund as submitted before it is sent: it can no longer be rejected then, unless nothing was signed for it.
 * @returns null: nothing is asked of its channel now
 */
async function beginSending(deps: RefundDeps, refund: Refund): Promise<Step | null> {
  const isUnsent = isPayable(refund) && !(await mayHaveLeft(deps, refund))
  const hold = isUnsent ? await findHold(deps, refund) : null
  return deps.db.tx(async (tx) => {
    const { order, refund: current } = await lockRefundWithOrder(tx, refund)
    if (isNamedSince(refund, current)) return null
    const now = new Date(deps.clock())
    if (!isPayable(current)) {
      await updateRefundNextCheck(tx, current, null)
      return null
    }
    if (await isNamed(tx, current)) return 'follow'
    const isChecked = isUnsent && current.status === refund.status
    const reason = isChecked ? (hold ?? (await findLastHold(deps, tx, order, current))) : null
    if (reason !== null) {
      const nextCheckAt = new Date(now.getTime() + HOLD_MS)
      await updateRefund(tx, current, { status: 'ready', providerStatus: `waits: ${reason}`, nextCheckAt }, now)
      return (await deps.isPayoutSigned(tx, current.id)) ? 'held' : null
    }
    if (isHandedOver(current)) return 'follow'
    if (current.status === 'submitted') return isChecked ? 'send' : 'resume'
    if (await anotherRuns(tx, current)) {
      await updateRefundNextCheck(tx, current, new Date(now.getTime() + pollGapMs('refund', current.checks)))
      return null
    }
    await updateRefund(tx, current, { status: 'submitted', nextCheckAt: current.nextCheckAt }, now)
    return isChecked ? 'send' : 'resume'
  })
}

const isNotDone = (error: unknown): boolean =>
  error instanceof ProviderRefusal || (error instanceof ProviderTrouble && error.notSent)

/** The refund was certainly not sent: makes it ready for the next poll. */
async function takeBack(deps: RefundDeps, refund: Refund): Promise<void> {
  await deps.db.tx(async (tx) => {
    const { refund: current } = await lockRefundWithOrder(tx, refund)
    if (current.status !== 'submitted' || isNamedSince(refund, current)) return
    const now = new Date(deps.clock())
    const nextCheckAt = new Date(now.getTime() + pollGapMs('refund', current.checks))
    await updateRefund(tx, current, { status: 'ready', providerStatus: 'not sent yet', nextCheckAt }, now)
  })
}

async function askChannel(
  deps: RefundDeps,
  refund: Refund,
  { channel, step }: { channel: Channel | undefined; step: Step },
): Promise<RefundReport> {
  const followOnly = step === 'follow' || step === 'held'
  const how = followOnly ? { followOnly } : step === 'send' && { isChecked: true as const }
  const request = { ...(await refundRequestOf(deps, refund)), ...how }
  const { byHand, txHash } = refund
  if (byHand && txHash !== null && channel?.checkRefundTransaction) {
    const { checkRefundTransaction } = channel
    return checkNamedAgain(txHash, () => checkRefundTransaction({ ...request, isFollowed: true }, txHash))
  }
  if (channel?.refundPayment && (!followOnly || channel.checkRefundTransaction))
    return judgeFound(request, await channel.refundPayment(request))
  return { outcome: 'manual', reference: null, txHash: null, providerStatus: 'to be sent by hand' }
}

/** The provider may have a refund that was attempted. */
const isUntaken = ({ status, providerReference }: Refund): boolean => status === 'ready' && providerReference === null

/** Nothing was signed for it: it says what was named. If that was refused meanwhile, it goes on as before. */
async function holdNamed(deps: RefundDeps, refund: Refund): Promise<void> {
  await deps.db.tx(async (tx) => {
    const { refund: current } = await lockRefundWithOrder(tx, refund)
    if (!isPayable(current) || (await isPaidByHand(deps, tx, { asked: refund, current }))) return
    await updateRefundNextCheck(tx, current, new Date(deps.clock()))
  })
}

/** It can be rejected, or settled by hand: what its provider has under its number is one of others, or it. */
async function holdFound(deps: RefundDeps, refund: Refund, { providerStatus }: RefundReport): Promise<void> {
  await deps.db.tx(async (tx) => {
    const { refund: current } = await lockRefundWithOrder(tx, refund)
    if (!isPayable(current) || isNamedSince(refund, current)) return
    const now = new Date(deps.clock())
    const nextCheckAt = new Date(now.getTime() + HOLD_MS)
    await updateRefund(tx, current, { status: 'ready', providerStatus: `waits: ${providerStatus}`, nextCheckAt }, now)
  })
}

/** Once the chain says that what was signed ran out unused, the refund can be rejected; if it was used, it goes on. */
async function followHeld(deps: RefundDeps, refund: Refund, channel: Channel | undefined): Promise<void> {
  const report = await askChannel(deps, refund, { channel, step: 'held' })
  if (await mayHaveLeft(deps, refund)) await applyRefundReport(deps, refund, report)
}

/** Polls one refund: sends it, or fetches its state. The channel makes sending idempotent. */
async function pollRefund(deps: RefundDeps, refund: Refund): Promise<void> {
  const payment = await findPaymentOf(deps, refund)
  const account = await deps.channels.forPayment(payment)
  const channel = withChainOf(refund, account)
  if (!channel) {
    const isGone = !account && (await isAccountGone(deps, deps.db, payment))
    if (!isGone || !isUntaken(refund)) return waitForAccount(deps, refund, isGone)
  } else await noteAsking(deps, refund)
  await recognise(deps, refund)
  const step = await beginSending(deps, refund)
  if (step === null) return
  if (step === 'held') return followHeld(deps, refund, channel)
  crashPoint('refund:before-send')
  const report = await askChannel(deps, refund, { channel, step }).catch(async (error: unknown) => {
    if (refund.status === 'ready' && refund.providerReference === null && isNotDone(error)) await takeBack(deps, refund)
    if (isOtherAccount(error)) await waitForOther(deps, refund)
    throw error
  })
  crashPoint('refund:after-send')
  if (report.waits) return holdFound(deps, refund, report)
  if (step === 'follow' && report.outcome === 'manual' && !isHandedOver(refund)) return holdNamed(deps, refund)
  await applyRefundReport(deps, refund, report)
  crashPoint('refund:after-settle')
}

/** What a person named was claimed for it; what our wallet paid may have been named for another one. */
const isClaimed = async (
  tx: Tx,
  { byHand, id: causeId, network, address: toAddress }: Refund,
  txHash: string | null,
): Promise<boolean> =>
  !byHand && txHash !== null && network !== null && toAddress !== null
    ? isClaimedByOther(tx, { network, txHash, causeId, toAddress })
    : false

async function holdClaimed(deps: RefundDeps, tx: Tx, refund: Refund, txHash: string): Promise<void> {
  if (refund.status !== 'submitted') return
  const now = new Date(deps.clock())
  const nextCheckAt = new Date(now.getTime() + HOLD_MS)
  await updateRefund(tx, refund, { status: 'submitted', providerStatus: claimedWords(txHash), nextCheckAt }, now)
}

export async function applyRefundReport(deps: RefundDeps, refund: Refund, report: RefundReport): Promise<void> {
  const { reference, txHash, providerStatus } = report
  const actor = `channel:${refund.channel}`
  if (report.outcome === 'settled') {
    const { refundedUnits } = report
    return deps.db.tx(async (tx) => {
      const { refund: current } = await lockRefundWithOrder(tx, refund)
      if (isNamedSince(refund, current) && current.txHash !== txHash) return
      if (await isClaimed(tx, current, txHash)) return holdClaimed(deps, tx, current, txHash ?? '')
      await settleRefundIn(deps, tx, refund, { actor, reference, txHash, providerStatus })
      // refunds other than ours: a settled refund is not polled again, so this must not wait for a later step
      const payment = await findPayment(tx, refund.companyId, refund.paymentId)
      if (payment && refundedUnits !== undefined)
        await noticeForeignRefund(deps, tx, payment, { refunded: refundedUnits, askedAt: refund.createdAt })
      // a callback may have arrived after this answer was requested
      await noticeToldRefunds(deps, tx, refund)
    })
  }
  if (report.outcome === 'refused')
    return dropRefund(deps, refund, { status: 'refused', channel: actor, reference, providerStatus })
  await deps.db.tx(async (tx) => {
    const { refund: current } = await lockRefundWithOrder(tx, refund)
    if (!isPayable(current)) return
    const manual = report.outcome === 'manual'
    const now = new Date(deps.clock())
    const handedOver = manual ? { handedOverAt: now } : {}
    if (manual ? await isPaidByHand(deps, tx, { asked: refund, current, handedOver }) : isNamedSince(refund, current))
      return
    const nextCheckAt = manual ? null : new Date(now.getTime() + pollGapMs('refund', current.checks))
    const status = manual ? 'ready' : 'submitted'
    // only what its account has, or hands over, waits for it no more
    const taken = report.outcome === 'pending' ? { accountGoneAt: null } : {}
    const change = { status, reference, txHash, providerStatus, nextCheckAt, ...handedOver, ...taken } as const
    await updateRefund(tx, current, change, now)
  })
}

export const isPayable = ({ status }: Refund): boolean => status === 'ready' || status === 'submitted'

/** For the start of a node: the operator may have set up channels or chains again that refunds wait for. */
export function wakeWaitingRefunds({ db, clock, channels: { operator } }: RefundDeps): Promise<number> {
  const networks = new Set(operator.available.flatMap((id) => operator.find(id)?.refundNetworks ?? []))
  const wait = { channels: operator.available, words: missingWords(networks) }
  return wakeRefundsOfOperator(db, wait, new Date(clock()))
}

/**
 * Refunds that are ready to send or have no final answer, for the polling engine. Every try uses the same id, so each
 * is sent once.
 */
export const refundPolls = (deps: RefundDeps): PollSpec => ({
  ...REFUND_POLLS,
  async work(db, { id }) {
    const refund = await findRefund(db, id)
    if (refund) await pollRefund({ ...deps, db }, refund)
  },
})

const PROOF_BATCH = 500

/** Erases proof files older than that many days. @returns how many were erased */
export const eraseProofsOlderThan = (
  { db, clock }: Pick<RefundDeps, 'db' | 'clock'>,
  days: number,
): Promise<number> => {
  const now = clock()
  return eraseOldProofs(db, new Date(now - days * DAY), { at: new Date(now), limit: PROOF_BATCH })
}

import { CREDITABLE, type PaymentReport, type UnmatchedMoney } from '../../channels/channel.ts'
import { readable } from '../../channels/usdc-text.ts'
import type { Tx } from '../../db/db.ts'
import { wakeItem } from '../../db/poll-queries.ts'
import { MINUTE } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { PAYMENT_POLLS, type Payment } from '../payment-queries.ts'
import { lockCase, type PaymentPlace, type ReportDeps } from '../report-case.ts'
import { clearUnansweredEvent, updateUnansweredEvent } from './mispayment-queries.ts'
import { recordUnmatchedTransfers } from './mispayment-records.ts'
import { withoutAbsurd } from './told-report.ts'

/*
 * An event of a provider names money that its own total may contain: a part of the price that it moved to the account
 * waits as a part and under the event's name at the same time. Only the next total tells the two apart, so nobody
 * decides about either before.
 */

const IN_A_TOTAL = new RegExp(CREDITABLE)

/**
 * Records money that only a callback reports. Nothing else changes, but where the provider's total may contain it, that
 * is asked for at once: if the process dies here, the poll is made all the same.
 */
export const recordUnmatched = (
  deps: ReportDeps,
  key: PaymentPlace,
  unmatched: readonly UnmatchedMoney[],
): Promise<void> =>
  deps.db.tx(async (tx) => {
    const locked = await lockCase(deps, tx, key)
    if (!locked) return
    const { payment, now } = locked
    const news = await recordUnmatchedTransfers(locked, unmatched.map(readable))
    if (!news.some(({ reference }) => IN_A_TOTAL.test(reference))) return
    await updateUnansweredEvent(tx, payment, now)
    // a creation in progress is left to the request that waits for it
    if (payment.status !== 'creating') await wakeItem(tx, PAYMENT_POLLS.table, payment, now)
  })

/**
 * The provider has told its total: what its events named is told apart from the rest.
 * @param asked the payment as it was before the question: the answer knows nothing of later events. Absent: it was told
 *   unasked
 */
export async function noteAnswer(
  tx: Tx,
  key: PaymentPlace,
  said: PaymentReport,
  asked?: Pick<Payment, 'unansweredEventAt'>,
): Promise<void> {
  const report = withoutAbsurd(said)
  if (report.outcome !== 'seen' || !report.total || asked?.unansweredEventAt === null) return
  await clearUnansweredEvent(tx, key, asked?.unansweredEventAt ?? null)
}

/**
 * A person waits no longer for a provider that does not answer, or whose account is gone: then its console tells which
 * of the records are the same money.
 */
const LONGEST_WAIT_MS = 15 * MINUTE

const MAY_OVERLAP =
  'The provider has just moved money of this payment, and two records may show the same money. ' +
  'It is being asked: try again in a minute. If it does not answer, you can decide after 15 minutes.'

/**
 * Whether a decision about money of the payment has to wait for its provider's total. If so, that is asked for at once.
 * An event that names all that is known of a payment overlaps with nothing.
 * @returns the refusal, to be thrown once the transaction is committed
 */
export async function findUnanswered(tx: Tx, payment: Payment, now: Date): Promise<AppError | null> {
  if (payment.receivedUnits === 0n && payment.priceUnits === null) return null
  const at = payment.unansweredEventAt
  if (at === null || now.getTime() - at.getTime() >= LONGEST_WAIT_MS) return null
  await wakeItem(tx, PAYMENT_POLLS.table, payment, now)
  return new AppError('OBJECT_CONFLICT', { message: MAY_OVERLAP, retryAfter: 60 })
}

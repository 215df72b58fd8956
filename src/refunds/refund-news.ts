import type { RefundNews } from '../channels/channel.ts'
import { formatMoney } from '../kernel/money.ts'
import type { Payment } from '../payments/payment-queries.ts'
import { recordForeignRefund } from './foreign-refund.ts'
import type { RefundDeps } from './refund-deps.ts'
import { applyRefundReport } from './refund-jobs.ts'
import { listRefundsOfOrder, type Refund } from './refund-queries.ts'

/** It was settled otherwise, by a person: the payer has the money twice, and nothing else leaves before one looks. */
async function noteTwice(
  { books }: RefundDeps,
  { companyId, id, channel, providerReference }: Refund,
  news: RefundNews,
) {
  const subject = `refund ${id}`
  const booked = `settled as ${providerReference}`
  const expected = `${news.reference}, ${news.providerStatus}: ${formatMoney(news.fiat)} ${news.fiat.asset}`
  await books.note(
    companyId,
    'providers',
    [{ companyId, subject, what: `word of ${channel}`, booked, expected }],
    [subject],
  )
}

/**
 * A provider that reports refunds only by callback names one: ours, by our id or its own, or one from its console. One
 * that was dropped here but transferred there counts as the latter.
 */
export async function takeRefundNews(deps: RefundDeps, payment: Payment, news: RefundNews): Promise<void> {
  const { reference, refundId, outcome, providerStatus } = news
  const ofPayment = (await listRefundsOfOrder(deps.db, payment.companyId, payment.orderId)).filter(
    ({ paymentId }) => paymentId === payment.id,
  )
  const ours = ofPayment.find(({ id, providerReference }) => id === refundId || providerReference === reference)
  const isOpen = ours?.status === 'ready' || ours?.status === 'submitted'
  if (ours && isOpen) return applyRefundReport(deps, ours, { outcome, reference, txHash: null, providerStatus })
  if (outcome !== 'settled') return
  if (ours?.status !== 'settled') return recordForeignRefund(deps, payment, news)
  if (ours.providerReference !== reference) await noteTwice(deps, ours, news)
}

import type { RefundNews } from '../channels/channel.ts'
import { formatMoney } from '../kernel/money.ts'
import type { Payment } from '../payments/payment-queries.ts'
import { recordForeignRefund } from './foreign/foreign-refund.ts'
import type { RefundDeps } from './refund-deps.ts'
import { applyRefundReport } from './refund-jobs.ts'
import { listRefundsOfOrder, type Refund } from './refund-queries.ts'

/** The payer has the money twice, or does not have it after all: nothing else leaves before a person looks. */
async function noteContradiction(
  { books }: RefundDeps,
  { companyId, id, channel, status, providerReference }: Refund,
  news: RefundNews,
) {
  const subject = `refund ${id}`
  const booked = `${status} as ${providerReference}`
  const expected = `${news.reference}, ${news.providerStatus}: ${formatMoney(news.fiat)} ${news.fiat.asset}`
  await books.note(companyId, 'providers', [{ companyId, subject, what: `word of ${channel}`, booked, expected }], {
    subjects: [subject],
  })
}

/**
 * A callback names a refund: ours, by our id or the provider's, or one from its console. A refund that was dropped here
 * but transferred there counts as the latter, unless the provider itself refused it under that id. If the provider can
 * be polled about our refunds, its callback only triggers a poll. A settled refund is not polled any more: if the
 * provider takes it back, only a callback can say so.
 */
export async function takeRefundNews(deps: RefundDeps, payment: Payment, news: RefundNews): Promise<void> {
  const { reference, refundId, outcome, providerStatus } = news
  const ofPayment = (await listRefundsOfOrder(deps.db, payment.companyId, payment.orderId)).filter(
    ({ paymentId }) => paymentId === payment.id,
  )
  const ours = ofPayment.find(({ id, providerReference }) => id === refundId || providerReference === reference)
  if (ours?.status === 'ready' || ours?.status === 'submitted') {
    const decides = (await deps.channels.forPayment(payment))?.refundsByCallback === true
    if (decides) await applyRefundReport(deps, ours, { outcome, reference, txHash: null, providerStatus })
    return
  }
  if (ours?.status !== 'settled') {
    if (outcome !== 'settled') return
    // under the id that the provider refused it: the word may be older than that, or the payer has the money after all
    if (ours?.providerReference === reference) return noteContradiction(deps, ours, news)
    return recordForeignRefund(deps, payment, news)
  }
  // the provider's answer to our poll may have settled it without naming its id
  const isThisOne = ours.providerReference === reference || (ours.providerReference === null && !ours.paidElsewhere)
  if (outcome === (isThisOne ? 'refused' : 'settled')) await noteContradiction(deps, ours, news)
}

import type { Tx } from '../../db/db.ts'
import { updateDifferencesAnswered } from '../../ledger/difference-queries.ts'
import { bookRefund } from '../../ledger/ledger-service.ts'
import { partSubject } from '../../ledger/part-refunded.ts'
import type { Order } from '../../orders/order.ts'
import type { Payment } from '../../payments/payment-queries.ts'
import { identifyForeign } from '../new-refund.ts'
import { needOf } from '../refund-amount.ts'
import { lacksCover } from '../refund-cover.ts'
import type { RefundDeps } from '../refund-deps.ts'
import { insertRefund, listRefundsOfOrder, type NewRefund, type Refund } from '../refund-queries.ts'
import { closeUsedRecord, type Returned } from '../refund-records.ts'
import { bookingOf, settleRefundIn } from '../refund-settle.ts'

export type ForeignCase = {
  order: Order
  payment: Payment
  returned: Returned
  units: bigint
  fiatUnits: bigint
  reference: string | null
  /** Our id, if the provider names it by that: it left before a restore. */
  named?: string | null
  /** Who recorded it, and why; absent: the provider reported it. */
  person?: Pick<NewRefund, 'requestedBy' | 'requestedRole' | 'reason' | 'requestId'>
}

type Amounts = Pick<NewRefund, 'id' | 'number' | 'excessUnits' | 'withoutCover'>

const foreignRefund = (
  { order, payment, units, fiatUnits, person }: ForeignCase,
  amounts: Amounts,
  at: Date,
): NewRefund => ({
  companyId: order.companyId,
  orderId: order.id,
  paymentId: payment.id,
  mispaymentId: null,
  channel: payment.channel,
  status: 'submitted',
  units,
  fiatUnits,
  ...amounts,
  address: null,
  proposedAddress: null,
  proposedBy: null,
  confirmedBy: null,
  addressProof: null,
  askedByMail: false,
  emailBy: null,
  approval: null,
  requestedRole: null,
  network: payment.network,
  reason: 'started at the provider',
  requestedBy: `channel:${payment.channel}`,
  requestId: null,
  ...person,
  recorded: person !== undefined,
  createdAt: at,
})

/** What its provider says of it, also after a restore: its reference, or the total to which it brings the payment. */
function wordOf({ payment, units, reference }: ForeignCase, known: readonly Refund[]): string {
  if (reference !== null) return reference
  const earlier = known.filter(
    ({ paymentId, status, paidElsewhere }) => paymentId === payment.id && status === 'settled' && !paidElsewhere,
  )
  return `total ${earlier.reduce((sum, one) => sum + one.units, units)}`
}

/** Records a refund that is already settled. After that nobody need look up how much was refunded of its payment. */
export async function bookForeign(deps: RefundDeps, tx: Tx, refunded: ForeignCase): Promise<NewRefund> {
  const { order, payment, returned, units, reference, person } = refunded
  const { companyId } = order
  const now = new Date(deps.clock())
  await updateDifferencesAnswered(tx, { companyId, source: 'providers', subject: partSubject(order, payment), at: now })
  const above = order.paidUnits - (payment.priceUnits ?? payment.dueUnits) - returned.usedExcess
  const free = above > 0n ? above : 0n
  const known = await listRefundsOfOrder(tx, companyId, order.id)
  const { named = null } = refunded
  const own = identifyForeign({ companyId, orderId: order.id }, { named, word: wordOf(refunded, known) }, known)
  const excess = units < free ? units : free
  const withoutCover = await lacksCover(tx, needOf(order, payment, { units, excess }))
  const refund = foreignRefund(refunded, { ...own, excessUnits: excess, withoutCover }, now)
  await insertRefund(tx, refund)
  await bookRefund(tx, bookingOf(refund, now), { units, excess })
  await closeUsedRecord(tx, refund, returned, now)
  const { requestedBy: actor, requestId } = refund
  await deps.transition(tx, order, { trigger: 'revert', actor, requestId, refundId: refund.id })
  const words =
    refund.id === named ? 'refunded before the database was restored' : 'refunded from the provider’s console'
  const providerStatus = person ? `${words}: a person recorded how much` : words
  await settleRefundIn(deps, tx, refund, { actor, reference, txHash: null, providerStatus })
  return refund
}

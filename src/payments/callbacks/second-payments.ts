import type { FastifyBaseLogger } from 'fastify'
import { updateCounter } from '../../http/limits/rate-limit-queries.ts'
import { HOUR } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { newId } from '../../kernel/ids.ts'
import {
  countPayments,
  countSecondPayments,
  findPayment,
  findPaymentByReference,
  insertPayment,
  lockPayment,
  type NamedPayment,
  type Payment,
  updatePayment,
  updatePaymentReference,
} from '../payment-queries.ts'
import type { PaymentDeps } from '../payment-service.ts'

/**
 * Limit per order. Each one is a creation whose answer was lost: one or two for an order, a few more after an outage.
 */
const MOST_OF_ORDER = 10
/** Hourly limit per company account, because the holder of a company's own keys can sign anything. */
const MOST_OF_COMPANY_AN_HOUR = 100
/** Longer than any provider's id; our reference is stored in front of it. */
export const LONGEST_REFERENCE = 90

type SecondDeps = PaymentDeps & { log: FastifyBaseLogger }

/** Reference of the payment that has this id at this provider account. */
export const namedBy = (payment: Payment, providerReference: string): NamedPayment => ({
  merchantReference: null,
  providerReference,
  channels: [payment.channel],
  accountOf: payment.ownAccount ? payment.companyId : null,
})

/** Refuses instead of acknowledging: the provider sends it again later, so a real one is not lost. */
function refuse({ log }: SecondDeps, payment: Payment, providerReference: string, bound: string): AppError {
  const { companyId, orderId, id: paymentId, channel, ownAccount } = payment
  const facts = { companyId, orderId, paymentId, channel, ownAccount, providerReference }
  log.error(facts, `a callback names a further payment of an order: refused, ${bound}`)
  return new AppError('TOO_MANY_REQUESTS', { retryAfter: HOUR / 1000 })
}

/**
 * The provider has a second payment under our reference: a creation whose answer was lost. It becomes an abandoned
 * attempt of its own, so it is closed there and money paid to it is not lost.
 * @throws TOO_MANY_REQUESTS when there are more than lost answers can explain
 */
export function adoptSecondPayment(deps: SecondDeps, payment: Payment, providerReference: string): Promise<Payment> {
  const { companyId, channel, orderId, ownAccount } = payment
  return deps.db.tx(async (tx) => {
    const now = new Date(deps.clock())
    await lockPayment(tx, companyId, payment.id)
    // the same callback may arrive twice at the same moment
    const known = await findPaymentByReference(tx, namedBy(payment, providerReference))
    if (known) return known
    if ((await countSecondPayments(tx, companyId, orderId)) >= MOST_OF_ORDER)
      throw refuse(deps, payment, providerReference, `it has ${MOST_OF_ORDER} already`)
    const use = { count: 1, now, endsAt: new Date(now.getTime() + HOUR) }
    const counter = ownAccount ? await updateCounter(tx, `second-payments:${companyId}`, use) : { used: 0n }
    if (counter.used > MOST_OF_COMPANY_AN_HOUR)
      throw refuse(deps, payment, providerReference, `its company has had ${MOST_OF_COMPANY_AN_HOUR} within an hour`)
    const id = newId(now.getTime())
    const number = (await countPayments(tx, companyId, orderId)) + 1
    const { accountMark, network, dueUnits, userAddress, userAddressBy } = payment
    await insertPayment(tx, {
      ...{ companyId, id, orderId, number, channel, ownAccount, accountMark },
      ...{ network, dueUnits, userAddress, userAddressBy },
      merchantReference: `${payment.merchantReference}-${providerReference}`,
      pos: null,
      pastOrders: null,
      cancelUrl: null,
      returnUrl: null,
      nextCheckAt: now,
      at: now,
    })
    const second = await findPayment(tx, companyId, id)
    if (!second) throw new Error('the second payment was not stored')
    await updatePaymentReference(tx, second, providerReference)
    const change = { status: 'closing', providerStatus: 'showed itself by a callback', nextCheckAt: now } as const
    await updatePayment(tx, second, change, now)
    return { ...second, providerReference, status: 'closing' }
  })
}

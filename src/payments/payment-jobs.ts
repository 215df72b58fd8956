import { renewItem } from '../db/poll-queries.ts'
import { type PollSpec, pollNow } from '../db/polling.ts'
import { findPayment, listPaymentsByDepositAddress, PAYMENT_POLLS } from './payment-queries.ts'
import { type PaymentDeps, pollPayment } from './payment-service.ts'

/** Payments without a final answer, for the polling engine. */
export const paymentPolls = (deps: PaymentDeps): PollSpec => ({
  ...PAYMENT_POLLS,
  async work(db, { companyId, id }) {
    const payment = await findPayment(db, companyId, id)
    if (payment) await pollPayment({ ...deps, db }, payment)
  },
})

/**
 * Polls the payments of these addresses now, each under its lease, so that an older reading of the chain never follows
 * a newer one. Failures and payments already being polled are left to the engine.
 */
export async function pollDepositAddresses(deps: PaymentDeps, addresses: readonly string[]): Promise<void> {
  const payments = await listPaymentsByDepositAddress(deps.db, addresses)
  for (const payment of payments) {
    await renewItem(deps.db, PAYMENT_POLLS.table, payment, new Date(deps.clock()))
    await pollNow(deps, PAYMENT_POLLS, payment, (db) => pollPayment({ ...deps, db }, payment)).catch(() => undefined)
  }
}

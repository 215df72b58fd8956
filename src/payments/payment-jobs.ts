import type { PollSpec } from '../db/polling.ts'
import { findPayment, listPaymentsByDepositAddress, PAYMENT_POLLS, updatePaymentNextCheck } from './payment-queries.ts'
import { checkPayment, type PaymentDeps, pollPayment } from './payment-service.ts'

/** Payments without a final answer, for the polling engine. */
export const paymentPolls = (deps: PaymentDeps): PollSpec => ({
  ...PAYMENT_POLLS,
  async work(db, { companyId, id }) {
    const payment = await findPayment(db, companyId, id)
    if (payment) await pollPayment({ ...deps, db }, payment)
  },
})

/**
 * The scanner saw something at these addresses: the payments behind them are polled now. One that fails is left to the
 * polling engine, which logs why, so that it does not hold up the others.
 */
export async function pollDepositAddresses(deps: PaymentDeps, addresses: readonly string[]): Promise<void> {
  const payments = await listPaymentsByDepositAddress(deps.db, addresses)
  for (const payment of payments) {
    await checkPayment(deps, payment, null).catch(() =>
      updatePaymentNextCheck(deps.db, payment, new Date(deps.clock())),
    )
  }
}

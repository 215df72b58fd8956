import type { FastifyBaseLogger } from 'fastify'
import { claimDuePayments, listPaymentsByDepositAddress, updatePaymentNextCheck } from './payment-queries.ts'
import { checkPayment, type PaymentDeps, pollPayment } from './payment-service.ts'

const LEASE_MS = 30_000
const BATCH = 50
/** A provider that hangs keeps its own payments waiting, not the round: they go on by themselves, under their lease. */
const ROUND_MS = 1500

/** Looks at payments whose time has come. One that fails is looked at again after its lease. */
export async function pollDuePayments(deps: PaymentDeps, log: FastifyBaseLogger): Promise<number> {
  const now = deps.clock()
  const due = await claimDuePayments(deps.db, new Date(now), new Date(now + LEASE_MS), BATCH)
  const visits = due.map((payment) =>
    pollPayment(deps, payment).catch((error: unknown) => {
      log.warn({ err: error, channel: payment.channel, paymentId: payment.id }, 'payment could not be checked')
    }),
  )
  await Promise.race([Promise.all(visits), new Promise((resolve) => setTimeout(resolve, ROUND_MS).unref())])
  return due.length === BATCH ? due.length : 0
}

/**
 * The scanner saw something at these addresses: the payments behind them are looked at now. One that cannot be is
 * left to `visitDuePayments`, which says why, so that it does not hold up the others.
 */
export async function pollDepositAddresses(deps: PaymentDeps, addresses: readonly string[]): Promise<void> {
  const payments = await listPaymentsByDepositAddress(deps.db, addresses)
  for (const payment of payments) {
    await checkPayment(deps, payment, null).catch(() =>
      updatePaymentNextCheck(deps.db, payment, new Date(deps.clock())),
    )
  }
}

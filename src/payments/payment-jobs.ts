import type { Db } from '../db/db.ts'
import { renewFreeItem, renewItem } from '../db/poll-queries.ts'
import { type PollSpec, pollNow } from '../db/polling.ts'
import { type Clock, DAY } from '../kernel/clock.ts'
import { wakePaymentsOfOperator } from './accounts/account-queries.ts'
import {
  eraseOldUserAddresses,
  findPayment,
  listPaymentsByDepositAddress,
  listPaymentsByTransfers,
  PAYMENT_POLLS,
  type Payment,
} from './payment-queries.ts'
import { ACCOUNT_REMOVED } from './payment-rules.ts'
import { type PaymentDeps, pollPayment } from './payment-service.ts'

/** For the start of a node: the operator may have switched on channels again that payments wait for. */
export const wakeWaitingPayments = ({ db, clock, channels }: PaymentDeps): Promise<void> =>
  wakePaymentsOfOperator(
    db,
    { channels: channels.operator.available, providerStatus: ACCOUNT_REMOVED },
    new Date(clock()),
  )

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
 * a newer one. Failures, and payments that are already being polled, are left to the engine.
 */
export const pollDepositAddresses = async (deps: PaymentDeps, addresses: readonly string[]): Promise<void> =>
  pollAll(deps, await listPaymentsByDepositAddress(deps.db, addresses))

/** The same for the payments that these transfers may pay. */
export const pollTransfers = async (deps: PaymentDeps, transferIds: readonly string[]): Promise<void> =>
  pollAll(deps, await listPaymentsByTransfers(deps.db, transferIds))

/** Oldest first. Waits for rows that are locked only after all others, so that they hold nothing else up. */
async function pollAll(deps: PaymentDeps, found: readonly Payment[]): Promise<void> {
  const payments = found.toSorted((left, right) => (left.id < right.id ? -1 : 1))
  const poll = (payment: Payment) =>
    pollNow(deps, PAYMENT_POLLS, payment, (db) => pollPayment({ ...deps, db }, payment)).catch(() => undefined)
  const renew = (payment: Payment, renewRow: typeof renewItem) =>
    renewRow(deps.db, PAYMENT_POLLS.table, payment, new Date(deps.clock()))
  const locked: Payment[] = []
  for (const payment of payments) {
    if ((await renew(payment, renewFreeItem)) > 0) await poll(payment)
    else locked.push(payment)
  }
  for (const payment of locked) {
    await renew(payment, renewItem)
    await poll(payment)
  }
}

const RETENTION_BATCH = 500

/** Erases wallets given at accept that many days ago. @returns how many were erased */
export const eraseUserAddressesOlderThan = ({ db, clock }: { db: Db; clock: Clock }, days: number): Promise<number> =>
  eraseOldUserAddresses(db, new Date(clock() - days * DAY), RETENTION_BATCH)

import type { Db } from '../db/db.ts'
import { type RowKey, renewFreeItem, renewItem } from '../db/poll-queries.ts'
import { type PollSpec, pollNow } from '../db/polling.ts'
import { type Clock, DAY } from '../kernel/clock.ts'
import { wakePaymentsOfOperator } from './accounts/account-queries.ts'
import { eraseOldUserAddresses, findPayment, listPaymentsByDepositAddress, PAYMENT_POLLS } from './payment-queries.ts'
import { ACCOUNT_REMOVED } from './payment-rules.ts'
import { type PaymentDeps, pollPayment } from './payment-service.ts'

/** For the start of a node: the operator may have switched on channels again that payments wait for. */
export const wakeWaitingPayments = ({ db, clock, channels }: PaymentDeps): Promise<void> =>
  wakePaymentsOfOperator(
    db,
    { channels: channels.operator.available, providerStatus: ACCOUNT_REMOVED },
    new Date(clock()),
  )

/**
 * Polls these payments now, each once and under its lease, so that an older reading of the chain never follows a newer
 * one. Failures, and payments that are already being polled, are left to the engine. Oldest first; waits for rows that
 * are locked only after all others, so that they hold nothing else up.
 */
export async function pollPayments(deps: PaymentDeps, keys: readonly RowKey[]): Promise<void> {
  const payments = [...new Map(keys.map((key) => [`${key.companyId} ${key.id}`, key])).values()]
  payments.sort((left, right) => (left.id < right.id ? -1 : 1))
  const { work } = paymentPolls(deps)
  const poll = (key: RowKey) => pollNow(deps, PAYMENT_POLLS, key, (db) => work(db, key)).catch(() => undefined)
  const renew = (key: RowKey, renewRow: typeof renewItem) =>
    renewRow(deps.db, PAYMENT_POLLS.table, key, new Date(deps.clock()))
  const locked: RowKey[] = []
  for (const key of payments) {
    if ((await renew(key, renewFreeItem)) > 0) await poll(key)
    else locked.push(key)
  }
  for (const key of locked) {
    await renew(key, renewItem)
    await poll(key)
  }
}

/** Payments without a final answer, for the polling engine. */
export const paymentPolls = (deps: PaymentDeps): PollSpec => ({
  ...PAYMENT_POLLS,
  async work(db, { companyId, id }) {
    const payment = await findPayment(db, companyId, id)
    if (payment) await pollPayment({ ...deps, db }, payment)
  },
})

/** The same for the payments that have these addresses alone. */
export const pollDepositAddresses = async (deps: PaymentDeps, addresses: readonly string[]): Promise<void> =>
  pollPayments(deps, await listPaymentsByDepositAddress(deps.db, addresses))

const RETENTION_BATCH = 500

/** Erases wallets given at accept that many days ago. @returns how many were erased */
export const eraseUserAddressesOlderThan = ({ db, clock }: { db: Db; clock: Clock }, days: number): Promise<number> =>
  eraseOldUserAddresses(db, new Date(clock() - days * DAY), RETENTION_BATCH)

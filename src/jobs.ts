import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from './clock.ts'
import { HOUR } from './clock.ts'
import type { Db } from './db/db.ts'
import { IDEMPOTENCY_RETENTION_MS } from './http/idempotency.ts'
import { deleteOldIdempotencyKeys } from './http/idempotency-queries.ts'
import { expireOrders } from './orders/order-jobs.ts'
import { visitDuePayments } from './payments/payment-jobs.ts'
import type { PaymentDeps } from './payments/payment-service.ts'
import { startTicker, type Ticker } from './ticker.ts'

export type JobDeps = { db: Db; clock: Clock; log: FastifyBaseLogger; payments: PaymentDeps }

/** Every periodic job, by name, with its period. Each may run on any number of nodes at once. */
export function startJobs({ db, clock, log, payments }: JobDeps): { stop(): Promise<void> } {
  const tickers: Ticker[] = [
    startTicker('orders.expire', 1000, log, async () => (await expireOrders(db, payments.transition, clock())) > 0),
    startTicker('payments.visit', 1000, log, async () => (await visitDuePayments(payments, log)) > 0),
    startTicker('idempotency.clean', HOUR, log, async () => {
      const before = new Date(clock() - IDEMPOTENCY_RETENTION_MS)
      return (await deleteOldIdempotencyKeys(db, before)) > 0
    }),
  ]
  return {
    async stop() {
      await Promise.all(tickers.map((ticker) => ticker.stop()))
    },
  }
}

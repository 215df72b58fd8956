import assert from 'node:assert/strict'
import type { PaymentKey } from '../../src/channels/channel.ts'
import { keptOfEvent, readOrder, reportOf } from '../../src/channels/whitepay/status-map.ts'
import { sql } from '../../src/db/db.ts'
import { recordUnmatched } from '../../src/payments/mispayments/told-event.ts'
import { type PaymentDeps, pollPayment } from '../../src/payments/payment-service.ts'
import { reconcileEveryPayment } from '../../src/payments/reconcile.ts'
import { refundMispayment } from '../../src/refunds/mispayment-refund.ts'
import { openBlockedIn } from './attempts.ts'
import { DUE, MODEL_PROVIDER, type ModelWorld } from './model-world.ts'
import { openChannels } from './one-channel-set.ts'

/** Type and value of a transaction; `OPEN` as its third word: it is not complete; at last, when it was made. */
export type Transaction =
  | readonly [string, string]
  | readonly [string, string, string]
  | readonly [string, string, string, number]

/** Of 54 USDC, in a coin of no known value. */
export const BTC = { asset: 'BTC', expected: '0.000001234567890123' }

/** An attempt whose provider is Whitepay: what it answers about its order, read as the channel reads it. */
export async function openWhitepayIn(world: ModelWorld, { asset, expected } = { asset: 'USDT', expected: '54' }) {
  const { db } = world.host
  const attempt = await openBlockedIn(world, false)
  const { apply, context, find, key, order, reference, recordsOf, openOf } = attempt
  const { merchantReference } = await find()
  const place: PaymentKey = {
    ...{ ...key, merchantReference, providerReference: reference, network: null, expiresAt: order.expiresAt },
    ...{ due: { asset: 'USDC', units: DUE }, fiat: { asset: 'EUR', units: 5000n } },
  }
  const short = (records: readonly string[]) => records.map((record) => record.replace(/ \S+$/, ''))
  const transaction = ([type, value, status = 'COMPLETE', atMs]: Transaction, id: string) => ({
    ...{ id, currency: asset, status, type, value },
    ...(atMs !== undefined && { created_at: new Date(atMs).toISOString().slice(0, 19).replace('T', ' ') }),
  })
  const reports = (status: string, ...sums: Transaction[]) => {
    const read = readOrder({
      ...{ id: reference, status, currency: 'EUR', value: '50', expected_amount: expected, deposited_currency: asset },
      ...{ external_order_id: merchantReference, transactions: sums.map((sum, at) => transaction(sum, `t${at}`)) },
    })
    assert.ok(read)
    return reportOf(read, place, world.clock.nowMs)
  }
  const answering = (status: string, ...sums: Transaction[]): PaymentDeps => ({
    ...world.payments,
    channels: openChannels([{ ...MODEL_PROVIDER, fetchPayment: async () => reports(status, ...sums) }]),
  })
  const poll = async (status: string, ...sums: Transaction[]) => pollPayment(answering(status, ...sums), await find())
  return {
    ...attempt,
    reports,
    records: async () => short(await recordsOf()),
    open: async () => short(await openOf()),
    /** @returns the status of the order */
    tells: async (status: string, ...sums: Transaction[]) => (await apply(reports(status, ...sums)))?.status,
    /** The same as the answer of a poll, or of the daily question: what follows from it is noted too. */
    isAsked: async (status: string, ...sums: Transaction[]) => {
      const isPaid = (await find()).status === 'paid'
      return isPaid
        ? void (await reconcileEveryPayment(answering(status, ...sums), world.books))
        : poll(status, ...sums)
    },
    poll,
    /** The event of the transaction with this number among those of the order. */
    announces: (value: string, number: number) =>
      recordUnmatched(world.payments, key, keptOfEvent(transaction(['ROLLBACK_TO_MERCHANT', value], `t${number}`))),
    refundFirst: async () => {
      const { id } = await db.one<{ id: string }>(
        sql`select id from mispayments where order_id = ${order.id} and status = 'open' order by id limit 1`,
      )
      return refundMispayment(world.refunds, context, id, {})
    },
  }
}

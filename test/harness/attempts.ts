import assert from 'node:assert/strict'
import type { PaymentReport } from '../../src/channels/channel.ts'
import { sql } from '../../src/db/db.ts'
import { acceptOrder } from '../../src/payments/accept/accept-order.ts'
import { ignoreMispayment } from '../../src/payments/mispayments/mispayment-service.ts'
import { findPayment, type Payment } from '../../src/payments/payment-queries.ts'
import { applyReport } from '../../src/payments/payment-report.ts'
import { pollPayment } from '../../src/payments/payment-service.ts'
import { actorOf, contextFor, type ModelWorld } from './model-world.ts'

/** An order that waits for its money at a provider. */
export async function openAttemptIn(world: ModelWorld) {
  const { db } = world.host
  const merchant = await world.host.createMerchant()
  const order = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  await acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance' } })
  const { id, reference } = await db.one<{ id: string; reference: string }>(
    sql`select id, provider_reference as reference from payments where order_id = ${order.id}`,
  )
  const key = { companyId: merchant.companyId, id }
  const recordsOf = async () =>
    (
      await db.many<Record<string, string>>(
        sql`select kind, asset, units::text, status, source_reference as reference from mispayments
          where order_id = ${order.id} order by id`,
      )
    ).map(({ kind, asset, units, status, reference: name }) => `${kind} ${units} ${asset} ${status} ${name}`)
  const ignoreFirst = async () => {
    const [record] = await db.many<{ id: string }>(
      sql`select id from mispayments where order_id = ${order.id} and status = 'open' order by id`,
    )
    await ignoreMispayment(world.mispayments, context, record?.id ?? '', { reason: 'sent back in the console' })
  }
  const openOf = async () => (await recordsOf()).filter((record) => record.includes(' open '))
  const find = async (): Promise<Payment> => {
    const payment = await findPayment(db, key.companyId, key.id)
    assert.ok(payment)
    return payment
  }
  return {
    order,
    context,
    key,
    reference,
    find,
    recordsOf,
    openOf,
    ignoreFirst,
    poll: async () => {
      await pollPayment(world.payments, await find())
      return (await find()).nextCheckAt
    },
    apply: (report: PaymentReport) => applyReport(world.payments, key, report),
  }
}

/** An attempt whose provider names the coin of one sum beside it. */
export async function openRenamedIn(world: ModelWorld) {
  const attempt = await openAttemptIn(world)
  const tell = async (...sums: (readonly [string, bigint])[]): Promise<void> => {
    for (const [asset, units] of sums) {
      // after what a person decided
      world.clock.nowMs += 1000
      await attempt.apply({
        ...{ outcome: 'waiting', providerReference: attempt.reference, providerStatus: 'PENDING' },
        unmatched: [{ asset, units, reference: 'p', isOneSum: true }],
      })
    }
  }
  return { ...attempt, tell }
}

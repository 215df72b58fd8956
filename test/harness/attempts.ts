import assert from 'node:assert/strict'
import { type PaymentReport, paidReport } from '../../src/channels/channel.ts'
import { reportOf } from '../../src/channels/gatepay/status-map.ts'
import { sql } from '../../src/db/db.ts'
import type { Alarm } from '../../src/mail/operator-alarm.ts'
import { acceptOrder } from '../../src/payments/accept/accept-order.ts'
import { ignoreMispayment } from '../../src/payments/mispayments/mispayment-service.ts'
import { findPayment, type Payment } from '../../src/payments/payment-queries.ts'
import { applyReport } from '../../src/payments/payment-report.ts'
import { pollPayment } from '../../src/payments/payment-service.ts'
import { decideScreening } from '../../src/screening/screening-decisions.ts'
import { openScreeningGate } from '../../src/screening/screening-gate.ts'
import { actorOf, contextFor, DUE, type ModelWorld } from './model-world.ts'

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

export const PART = 1_000_000n

/** What Gate answers about an order that nothing was credited to (docs.gate.com, checkout/orderQuery). */
export const gateSays = (word: string, providerReference: string) => {
  const data = { currency: 'USDC', orderAmount: '54', pay_currency: '', pay_amount: '0' }
  return reportOf(word, data, { providerReference, closedStatuses: [] })
}

/** Gate's own answer: so many coins at the order's address are credited, and so many are not confirmed yet. */
export const gateTells = (word: string, providerReference: string, done_amount: string, ...coins: string[]) => {
  const data = {
    ...{ currency: 'USDC', orderAmount: '54', pay_currency: 'USDC', pay_amount: '54' },
    transaction_info: { done_amount, confirming_list: coins.map((amount) => ({ amount })) },
  }
  return reportOf(word, data, { providerReference, closedStatuses: [] })
}

/** What the provider of a payment blocks. */
export const findBlock = (world: ModelWorld, payment: string) =>
  world.host.db.one<{ id: string; status: string; isWhole: boolean; updatedAt: Date; answers: number }>(sql`
    select id, status, is_whole, updated_at,
      (select count(*)::int from screening_answers a where a.screening_id = s.id) as answers
    from screenings s where subject_id = ${payment}`)

/**
 * An attempt whose money its provider blocks in parts or whole, with the mails about that.
 * @param isTold whether its provider has told that the price is on its way
 */
export async function openBlockedIn(world: ModelWorld, isTold = true) {
  const { db } = world.host
  const mails: Alarm[] = []
  const screening = openScreeningGate({
    ...{ clock: world.payments.clock, screens: false, wake: () => {}, findListing: () => null },
    alarm: async (_tx, mail) => {
      mails.push(mail)
    },
  })
  const attempt = await openAttemptIn(world)
  const { context, key, order, reference, find, ignoreFirst, openOf } = attempt
  const apply = (report: PaymentReport) => {
    world.clock.nowMs += 60_000
    return applyReport({ ...world.payments, screening }, key, report)
  }
  const requote = async () => {
    await db.run(sql`update orders set status = 'EXPIRED', updated_at = now() where id = ${order.id}`)
    return acceptOrder(world.payments, {
      context,
      code: order.code,
      body: { paymentChannel: 'binance', requote: true },
    })
  }
  const tells = (units: bigint) =>
    apply(paidReport(reference, { final: 0n, pending: units, providerStatus: 'PROCESS' }))
  const arrives = () => tells(DUE)
  if (isTold) await arrives()
  return {
    ...{ ...attempt, apply, arrives, requote, tells },
    mails: () => mails.length,
    lastMail: () => mails.at(-1),
    status: async () => (await findBlock(world, key.id)).status,
    pending: async () => (await find()).pendingUnits,
    is: (status: string) => db.run(sql`update payments set status = ${status} where id = ${key.id}`),
    says: (said: string) => apply(gateSays(said, reference)),
    /** @param done what is credited; `coins` are not confirmed yet. @returns the status of the order */
    gate: async (said: string, done = '0', ...coins: string[]) =>
      (await apply(gateTells(said, reference, done, ...coins)))?.status,
    freeze: (units: bigint, name = '1', asset = 'USDC') => {
      const unmatched = [{ asset, units, reference: `gatepay:frozen:${name}`, isOneSum: true as const }]
      return apply({ outcome: 'blocked', providerReference: reference, providerStatus: 'risk', unmatched })
    },
    giveBack: async (shown: { updatedAt?: string } = {}) => {
      world.clock.nowMs += 60_000
      const { id } = await findBlock(world, key.id)
      await decideScreening(world.screenings, context, id, { decision: 'return', reason: 'sent back', ...shown })
    },
    ignoreAll: async () => {
      while ((await openOf()).length > 0) await ignoreFirst()
    },
    isFree: async () => assert.equal((await requote())?.status, 'AWAITING'),
  }
}

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type CallbackNews, type PaymentReport, paidReport, type UnmatchedMoney } from '../src/channels/channel.ts'
import { sql, type Tx } from '../src/db/db.ts'
import { wakeItem } from '../src/db/poll-queries.ts'
import { pollNow } from '../src/db/polling.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import { gapsOf } from '../src/kernel/poll-gaps.ts'
import type { Alarm } from '../src/mail/operator-alarm.ts'
import { expireOrders } from '../src/orders/order-jobs.ts'
import { findOrderById } from '../src/orders/order-queries.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { takeCallback } from '../src/payments/callbacks/callback-service.ts'
import { openGivenUpAlarm } from '../src/payments/given-up-alarm.ts'
import { ignoreMispayment } from '../src/payments/mispayments/mispayment-service.ts'
import { findPayment, PAYMENT_POLLS, type Payment } from '../src/payments/payment-queries.ts'
import { pollPayment } from '../src/payments/payment-service.ts'
import { openAttemptIn } from './harness/attempts.ts'
import { actorOf, contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { eventually } from './harness/service.ts'

/* Money of a payment that is over: asked about less and less, and not for ever. */

let world: ModelWorld
let received = 0n
/** Money that the provider reports with the end of the payment. */
let unmatched: UnmatchedMoney[] = []
/** Its answer instead of these. */
let answer: PaymentReport | undefined
/** Called before it answers. */
let onPoll = async (): Promise<void> => {}
/** What its callback says. */
let news: CallbackNews
before(async () => {
  world = await startModelWorld({
    async fetchPayment({ providerReference }) {
      await onPoll()
      if (answer) return answer
      return received > 0n
        ? paidReport(providerReference ?? '', { final: received, providerStatus: 'PAID' })
        : { outcome: 'expired', providerReference: providerReference ?? '', unmatched, providerStatus: 'EXPIRED' }
    },
    readCallback: async () => news,
    async closePayment() {},
  })
})
after(() => world?.stop())

/** A payment that was closed with its order, and half of its price that came later. */
async function receiveLate() {
  received = 0n
  const merchant = await world.host.createMerchant()
  const order = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  await acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance' } })
  const { db } = world.host
  const { id } = await db.one<{ id: string }>(sql`select id from payments where order_id = ${order.id}`)
  const key = { companyId: merchant.companyId, id }
  const find = async () => {
    const payment = await findPayment(db, key.companyId, key.id)
    assert.ok(payment)
    return payment
  }
  const poll = async () => pollPayment(world.payments, await find())
  const recordsOf = () =>
    db.many<{ id: string; units: string }>(sql`select id, units::text from mispayments where order_id = ${order.id}`)
  // polled often while its order was open
  await db.run(sql`update payments set checks = 20 where id = ${id}`)
  await db.run(sql`update orders set status = 'CANCELLED' where id = ${order.id}`)
  await poll()
  const callBack = async (units: bigint) => {
    received = units
    await wakeItem(db, PAYMENT_POLLS.table, key, new Date(world.clock.nowMs))
    await poll()
  }
  if (unmatched.length === 0) await callBack(DUE / 2n)
  /** As the polling engine does, for so long. @returns the gaps */
  const pollFor = async (ms: number): Promise<number[]> => {
    const gaps: number[] = []
    const until = world.clock.nowMs + ms
    for (let next = (await find()).nextCheckAt; next && next.getTime() < until; next = (await find()).nextCheckAt) {
      gaps.push(Math.max(0, next.getTime() - world.clock.nowMs))
      world.clock.nowMs = Math.max(world.clock.nowMs, next.getTime())
      await db.run(sql`update payments set checks = checks + 1 where id = ${id}`)
      await poll()
      assert.ok(gaps.length < 100, 'polled without end')
    }
    return gaps
  }
  return { context, find, recordsOf, callBack, pollFor }
}

test('once its money was decided about, a payment that is over is looked at once more; a callback still tells of more', async () => {
  const late = await receiveLate()
  const [record] = await late.recordsOf()
  await ignoreMispayment(world.mispayments, late.context, record?.id ?? '', { reason: 'a gift' })
  assert.deepEqual(await late.pollFor(60 * DAY), [0])
  const { status, nextCheckAt } = await late.find()
  assert.deepEqual({ status, nextCheckAt }, { status: 'closed', nextCheckAt: null })
  await late.callBack(DUE / 2n + 1_000_000n)
  assert.deepEqual(
    (await late.recordsOf()).map(({ units }) => units),
    ['27000000', '1000000'],
  )
})

test('money that nobody decides about is asked about with growing gaps, for thirty days', async () => {
  const late = await receiveLate()
  const gaps = await late.pollFor(60 * DAY)
  assert.deepEqual(gaps.slice(0, 5), [5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY])
  assert.ok(gaps.length > 30 && gaps.length < 40, `${gaps.length} polls`)
  assert.equal((await late.find()).nextCheckAt, null)
  await late.callBack(DUE / 2n + 1_000_000n)
  assert.deepEqual(
    (await late.recordsOf()).map(({ units }) => units),
    ['28000000'],
  )
})

test('an attempt that ended with money beside it is polled too, for thirty days or until a person has decided', async () => {
  unmatched = [{ asset: 'USDC', units: DUE / 4n, reference: 'p:late' }]
  const undecided = await receiveLate()
  const decided = await receiveLate()
  const gaps = await undecided.pollFor(60 * DAY)
  assert.deepEqual(gaps.slice(0, 5), [5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY])
  assert.ok(gaps.length > 30 && gaps.length < 40, `${gaps.length} polls`)
  const [record] = await decided.recordsOf()
  await ignoreMispayment(world.mispayments, decided.context, record?.id ?? '', { reason: 'a gift' })
  assert.deepEqual(await decided.pollFor(60 * DAY), [0])
  unmatched = []
})

const openAttempt = () => openAttemptIn(world)

test('late money that its provider counts after all is part of the price: its open record is resolved', async () => {
  const { reference, recordsOf, apply } = await openAttempt()
  const unmatched = [{ asset: 'USDC', units: DUE / 2n, reference: 'p:late' }]
  await apply({ outcome: 'expired', providerReference: reference, unmatched, providerStatus: 'EXPIRED' })
  assert.deepEqual(await recordsOf(), ['wrong_token 27000000 USDC open p:late'])
  const paid = paidReport(reference, { final: DUE, providerStatus: 'PAID' })
  assert.equal((await apply({ ...paid, total: { price: DUE, contains: ['p:late'] } }))?.status, 'PAID')
  assert.deepEqual(await recordsOf(), ['wrong_token 27000000 USDC resolved p:late'])
})

test('late money that a person decided about pays no order, even if its provider counts it after all', async () => {
  for (const asset of ['USDC', 'USDT', 'BTC']) {
    const { reference, recordsOf, ignoreFirst, apply } = await openAttempt()
    const units = asset === 'USDC' ? DUE / 2n : (DUE / 2n) * 10n ** 12n
    const unmatched = [{ asset, units, reference: 'p:late' }]
    await apply({ outcome: 'expired', providerReference: reference, unmatched, providerStatus: 'EXPIRED' })
    await ignoreFirst()
    const total = { price: DUE, contains: ['p:late'] }
    const paid = { ...paidReport(reference, { final: DUE, providerStatus: 'PAID' }), total }
    const waits = asset === 'BTC' ? 'WAITING_CHAIN_CONFIRMATION' : 'AWAITING'
    for (const told of [paid, paid]) assert.equal((await apply(told))?.status, waits, asset)
    const [late, under, ...more] = await recordsOf()
    // what is left of it in a coin of unknown value is for a person to see
    const left = asset === 'BTC' ? DUE : DUE / 2n
    assert.deepEqual([late, more], [`wrong_token ${units} ${asset} ignored p:late`, []])
    assert.match(under ?? '', new RegExp(`^under ${left} USDC open `))
  }
})

test('an order waits again for late money that its provider takes up, but not for what a person decided', async () => {
  for (const isDecided of [false, true]) {
    const { reference, recordsOf, ignoreFirst, find, apply } = await openAttempt()
    const unmatched = [{ asset: 'USDC', units: DUE, reference: 'p:late' }]
    const expired = { outcome: 'expired', providerReference: reference, unmatched, providerStatus: 'EXPIRED' } as const
    await apply(expired)
    if (isDecided) await ignoreFirst()
    const more = (pending: bigint) => ({
      ...paidReport(reference, { final: 0n, pending, providerStatus: 'EXPIRED, money arrives' }),
      alreadyRecorded: ['p:late'],
    })
    for (const [units, waits] of [
      [DUE / 2n, false],
      [DUE, !isDecided],
      [DUE + 1n, !isDecided],
      [DUE + DUE, true],
    ] as const) {
      const { status } = (await apply(more(units))) ?? {}
      assert.equal(status, waits ? 'WAITING_CHAIN_CONFIRMATION' : 'AWAITING', `${units}`)
      assert.equal((await find()).pendingUnits, units > DUE ? units - DUE : 0n, 'the record is not on its way')
    }
    assert.equal((await apply(expired))?.status, 'AWAITING')
    assert.equal((await recordsOf()).length, 1)
  }
})

test('other tokens of one transaction are each recorded once, together or one after the other', async () => {
  const [dai, usdt, btc] = ['DAI', 'USDT', 'BTC'].map((asset) => ({ asset, units: 5n, reference: '0xabc:0' }))
  assert.ok(dai && usdt && btc)
  const { reference, recordsOf, apply } = await openAttempt()
  for (const unmatched of [[dai], [dai, usdt], [dai, usdt], [usdt, dai, btc], [dai], [usdt, btc]])
    await apply({ ...paidReport(reference, { final: 0n, providerStatus: '0 transfers' }), unmatched })
  assert.deepEqual(await recordsOf(), [
    'wrong_token 5 DAI open 0xabc:0',
    'wrong_token 5 USDT open 0xabc:0.1',
    'wrong_token 5 BTC open 0xabc:0.2',
  ])
  const together = await openAttempt()
  const paid = {
    ...paidReport(together.reference, { final: DUE, providerStatus: '1 transfers' }),
    unmatched: [dai, usdt],
  }
  assert.equal((await together.apply(paid))?.status, 'PAID')
  assert.deepEqual(await together.recordsOf(), ['wrong_token 5 DAI open 0xabc:0', 'wrong_token 5 USDT open 0xabc:0.1'])
})

test('a coin that its provider still reports is not renamed', async () => {
  const { reference, recordsOf, apply } = await openAttempt()
  const unmatched = ['BTC', 'DAI'].map((asset) => ({ asset, units: 5n, reference: 'p', isOneSum: true as const }))
  for (const _ of [1, 2, 3])
    await apply({ outcome: 'expired', providerReference: reference, unmatched, providerStatus: 'EXPIRED' })
  assert.deepEqual(await recordsOf(), ['wrong_token 5 BTC open p', 'wrong_token 5 DAI open p.1'])
})

test('an order does not wait on for money of an attempt that was over before it came, and ended unpaid again', async () => {
  const { reference, apply } = await openAttempt()
  const expired = { outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' } as const
  await apply(expired)
  const seen = await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
  assert.equal(seen?.status, 'WAITING_CHAIN_CONFIRMATION')
  assert.equal((await apply(expired))?.status, 'AWAITING')
})

test('an order stops waiting when its provider waits again, also after a decision about money beside the payment', async () => {
  const { reference, apply, ignoreFirst } = await openAttempt()
  const unmatched = [{ asset: 'USDT', units: 10n ** 18n, reference: 'p:1' }]
  const pending = paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' })
  assert.equal((await apply({ ...pending, unmatched }))?.status, 'WAITING_CHAIN_CONFIRMATION')
  await ignoreFirst()
  const waiting = await apply({ outcome: 'waiting', providerReference: reference, providerStatus: 'PENDING' })
  assert.equal(waiting?.status, 'AWAITING')
})

test('an answer that says nothing does not end the polling of an attempt whose order waits, or whose money does', async () => {
  for (const pending of [DUE, 0n]) {
    const { reference, apply, poll } = await openAttempt()
    await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
    await apply(paidReport(reference, { final: DUE / 2n - pending / 2n, pending, providerStatus: 'money arrives' }))
    answer = { outcome: 'unknown', providerReference: reference, providerStatus: 'the order is not known' }
    assert.ok(await poll(), `${pending}`)
    assert.ok(await poll(), `${pending}`)
  }
  answer = undefined
})

test('an abandoned attempt with money is polled on after it is given up', async () => {
  const { db } = world.host
  for (const [final, pending] of [
    [0n, DUE / 2n],
    [DUE / 2n, 0n],
  ] as const) {
    const { order, key, reference, poll } = await openAttempt()
    await db.run(sql`update orders set status = 'CANCELLED' where id = ${order.id}`)
    const abandonedAt = new Date(world.clock.nowMs)
    await db.run(sql`update payments set status = 'closing', abandoned_at = ${abandonedAt} where id = ${key.id}`)
    answer = paidReport(reference, { final, pending, providerStatus: 'money arrives' })
    world.clock.nowMs += 25 * HOUR
    assert.ok(await poll())
    assert.equal((await findPayment(db, key.companyId, key.id))?.status, 'closed')
    assert.ok(await poll())
  }
  answer = undefined
})

test('a decision about one record does not end the polling while another one is open', async () => {
  const { reference, ignoreFirst, apply, poll } = await openAttempt()
  await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
  const part = paidReport(reference, { final: DUE / 2n, providerStatus: 'DECLINED' })
  await apply(part)
  answer = { ...part, isPart: true, unmatched: [{ asset: 'USDT', units: 10n ** 18n, reference: 'p:1' }] }
  await poll()
  await ignoreFirst()
  assert.ok(await poll())
  await ignoreFirst()
  assert.equal(await poll(), null)
  answer = undefined
})

test('a record that a report opens keeps the polling, whatever was decided before', async () => {
  const beside = { isPart: true as const, unmatched: [{ asset: 'USDT', units: 10n ** 18n, reference: 'p:1' }] }
  for (const change of [beside, { final: 0n }]) {
    const { reference, ignoreFirst, apply, poll } = await openAttempt()
    await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
    const part = paidReport(reference, { final: DUE / 2n, providerStatus: 'DECLINED' })
    await apply(part)
    await ignoreFirst()
    answer = { ...part, ...change }
    assert.ok(await poll(), Object.keys(change).join())
  }
  answer = undefined
})

/** The provider's callback, with its news. */
async function callBack(): Promise<void> {
  const { log } = world.host.service.app
  const deps = { ...world.payments, log, reportRefund: async () => {}, wakeRefunds: async () => {} }
  const callback = { headers: {}, rawBody: Buffer.from('') }
  await takeCallback(deps, { channel: 'binance', companyId: null }, callback, async () => {})
}

const isPolledLater = ({ nextCheckAt }: Payment): boolean => (nextCheckAt?.getTime() ?? 0) > world.clock.nowMs

test('money that only a callback reports is recorded before its payment is polled, so that the polling goes on', async () => {
  const { reference, apply, recordsOf, find } = await openAttempt()
  await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
  const unmatched = [{ asset: 'USDT', units: 5n, reference: 'p:kept' }]
  news = { merchantReference: null, providerReference: reference, report: null, unmatched, providerStatus: 'KEPT' }
  const { promise: atPoll, resolve } = Promise.withResolvers<string[]>()
  onPoll = async () => resolve(await recordsOf())
  await callBack()
  assert.deepEqual(await atPoll, ['wrong_token 5 USDT open p:kept'])
  onPoll = async () => {}
  await eventually(find, isPolledLater)
})

const refuses = () => Promise.reject(new Error('refused'))

/** Polls for sixty days, as the engine does, at a provider that refuses to answer. @returns the gaps */
async function pollRefused(
  { key, find }: Pick<Awaited<ReturnType<typeof openAttempt>>, 'key' | 'find'>,
  deps = world.payments,
): Promise<number[]> {
  onPoll = refuses
  const gaps: number[] = []
  const until = world.clock.nowMs + 60 * DAY
  for (let next = (await find()).nextCheckAt; next && next.getTime() < until; next = (await find()).nextCheckAt) {
    gaps.push(next.getTime() - world.clock.nowMs)
    world.clock.nowMs = next.getTime()
    const poll = pollNow(deps, PAYMENT_POLLS, key, async (db) => pollPayment({ ...deps, db }, await find()))
    await assert.rejects(poll, /did not answer/)
    assert.ok(gaps.length < 100, 'polled without end')
  }
  onPoll = async () => {}
  return gaps
}

/** The service's parts, with the alarm that the operator gets. */
function withAlarm() {
  const subjects: string[] = []
  const alarm = async (_: Tx, { subject }: Alarm): Promise<void> => void subjects.push(subject)
  const onGivenUp = openGivenUpAlarm({ alarm, log: world.host.service.app.log, clock: () => world.clock.nowMs })
  return { subjects, deps: { ...world.payments, onGivenUp } }
}

test('a provider that refuses to answer about an attempt that is over is asked with growing gaps, for thirty days', async () => {
  const attempt = await openAttempt()
  const unmatched = [{ asset: 'USDC', units: 5n, reference: 'p:late' }]
  await attempt.apply({
    ...{ outcome: 'expired', providerReference: attempt.reference, providerStatus: 'EXPIRED' },
    unmatched,
  })
  const gaps = await pollRefused(attempt)
  assert.deepEqual(gaps.slice(0, 14), [5 * MINUTE, ...gapsOf('unanswered')])
  assert.ok(gaps.length > 40 && gaps.length < 50, `${gaps.length} polls`)
})

test('a poll that fails after a callback is repeated in seconds, however long the payment has been over', async () => {
  for (const age of [0, 31 * DAY]) {
    const { key, reference, apply, find } = await openAttempt()
    await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
    await world.host.db.run(sql`update payments set checks = 20 where id = ${key.id}`)
    world.clock.nowMs += age
    news = { merchantReference: null, providerReference: reference, report: null, providerStatus: 'NEWS' }
    onPoll = refuses
    await callBack()
    const { nextCheckAt } = await eventually(find, isPolledLater)
    assert.equal((nextCheckAt?.getTime() ?? 0) - world.clock.nowMs, 2 * SECOND)
    onPoll = async () => {}
  }
})

test('an order that waits for money of an attempt that is over is asked for as often after a poll that failed', async () => {
  const { key, reference, apply, find } = await openAttempt()
  await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
  await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
  await world.host.db.run(sql`update payments set checks = 20 where id = ${key.id}`)
  onPoll = refuses
  await assert.rejects(pollPayment(world.payments, await find()))
  assert.equal(((await find()).nextCheckAt?.getTime() ?? 0) - world.clock.nowMs, 5 * MINUTE)
  onPoll = async () => {}
})

test('an order waits for money that is first seen after thirty days as long as for any other', async () => {
  for (const isKnown of [true, false]) {
    const { reference, apply, find } = await openAttempt()
    await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
    const pending = paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' })
    const unknown = { outcome: 'unknown', providerReference: reference, providerStatus: 'no status' } as const
    world.clock.nowMs += 31 * DAY
    for (const [later, status, isAskedAgain] of [
      [0, 'WAITING_CHAIN_CONFIRMATION', true],
      [30 * DAY, 'WAITING_CHAIN_CONFIRMATION', true],
      [HOUR, 'AWAITING', false],
    ] as const) {
      world.clock.nowMs += later
      const order = await apply(isKnown || later === 0 ? pending : unknown)
      assert.deepEqual([order?.status, (await find()).nextCheckAt !== null], [status, isAskedAgain])
    }
  }
})

test('an order stops waiting after thirty days, and the operator is told', async () => {
  const { subjects, deps } = withAlarm()
  for (const last of ['unknown', 'pending', 'refused']) {
    const { order, reference, apply, find } = await openAttempt()
    const pending = paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' })
    await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
    await apply(pending)
    answer = last === 'pending' ? pending : { outcome: 'unknown', providerReference: reference, providerStatus: '?' }
    if (last === 'refused') onPoll = refuses
    const poll = async () => pollPayment(deps, await find()).catch(() => {})
    const statusOf = async () => (await findOrderById(world.host.db, order.companyId, order.id))?.status
    await poll()
    assert.equal(await statusOf(), 'WAITING_CHAIN_CONFIRMATION', last)
    world.clock.nowMs += 31 * DAY
    await world.host.db.run(sql`update payments set checks = 20 where order_id = ${order.id}`)
    await poll()
    assert.deepEqual([await statusOf(), (await find()).nextCheckAt], ['AWAITING', null], last)
    assert.deepEqual(subjects.splice(0), [`Order ${order.shortCode} no longer waits for its payment`], last)
    onPoll = async () => {}
  }
  answer = undefined
})

test('an order stops waiting for money that never arrives, also at a payment that is not over, and the operator is told once', async () => {
  for (const last of ['refused', 'unknown', 'waiting', 'pending'] as const) {
    const { subjects, deps } = withAlarm()
    const { order, key, reference, apply, find } = await openAttempt()
    const pending = paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' })
    await apply(last === 'waiting' ? { ...pending, final: 1n, pending: DUE - 1n } : pending)
    answer = pending
    if (last === 'refused') onPoll = refuses
    else if (last !== 'pending') answer = { outcome: last, providerReference: reference, providerStatus: '?' }
    const statusOf = async () => (await findOrderById(world.host.db, order.companyId, order.id))?.status
    const pollFor = async (days: number) => {
      for (let day = 0; day < days; day += 1) {
        world.clock.nowMs += DAY
        const poll = pollNow(deps, PAYMENT_POLLS, key, async (db) => pollPayment({ ...deps, db }, await find()))
        await poll.catch(() => {})
        await expireOrders(world.host.db, deps.transition, world.clock.nowMs)
      }
      return [await statusOf(), subjects.splice(0)]
    }
    assert.deepEqual(await pollFor(30), ['WAITING_CHAIN_CONFIRMATION', []], last)
    assert.deepEqual(await pollFor(1), ['EXPIRED', [`Order ${order.shortCode} no longer waits for its payment`]], last)
    assert.deepEqual((await pollFor(40))[0], 'EXPIRED', last)
    onPoll = async () => {}
  }
  answer = undefined
})

test('an order waits on for money that a chain shows, that still grows, or that is under review', async () => {
  const from = { network: 1, txHash: '0x1', from: '0x2', at: new Date(), final: false, confirmations: 1, needed: 2 }
  for (const [index, change] of [
    { pending: DUE, transfers: [{ ...from, units: DUE }] },
    { pending: DUE + 1n },
    { pending: 0n, final: DUE, isPart: true as const },
  ].entries()) {
    const { reference, apply } = await openAttempt()
    const nothing = paidReport(reference, { final: 0n, providerStatus: 'money arrives' })
    await apply({ ...nothing, pending: DUE })
    world.clock.nowMs += 31 * DAY
    assert.equal((await apply({ ...nothing, ...change }))?.status, 'WAITING_CHAIN_CONFIRMATION', `${index}`)
  }
})

test('an amount that no payer has pays nothing, and its payment is asked about again', async () => {
  for (const told of [
    { final: 10n ** 39n },
    { final: 0n, pending: 10n ** 39n },
    { final: 10n ** 38n - 1n, pending: 1n },
  ]) {
    const { reference, apply, find } = await openAttempt()
    const order = await apply(paidReport(reference, { ...told, providerStatus: 'PAID' }))
    const { status, receivedUnits, nextCheckAt } = await find()
    assert.deepEqual([order?.status, status, receivedUnits, nextCheckAt !== null], ['AWAITING', 'awaiting', 0n, true])
    assert.equal((await apply(paidReport(reference, { final: DUE, providerStatus: 'PAID' })))?.status, 'PAID')
  }
})

test('an order whose account at the provider was removed stops waiting after thirty days too', async () => {
  const { subjects, deps } = withAlarm()
  const { order, reference, apply, find } = await openAttempt()
  await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
  const removed = { ...deps, channels: { ...deps.channels, forPayment: async () => undefined } }
  const statusOf = async () => (await findOrderById(world.host.db, order.companyId, order.id))?.status
  await pollPayment(removed, await find())
  assert.equal(await statusOf(), 'WAITING_CHAIN_CONFIRMATION')
  world.clock.nowMs += 31 * DAY
  await pollPayment(removed, await find())
  assert.equal(await statusOf(), 'AWAITING')
  assert.deepEqual(subjects, [`Order ${order.shortCode} no longer waits for its payment`])
})

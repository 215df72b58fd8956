import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paidReport } from '../src/channels/channel.ts'
import { type Sql, sql, type Tx, unnamed } from '../src/db/db.ts'
import { pollNow } from '../src/db/polling.ts'
import { DAY, HOUR, MINUTE } from '../src/kernel/clock.ts'
import type { Alarm } from '../src/mail/operator-alarm.ts'
import { countClosing, wakePaymentOfOrder } from '../src/payments/abandoned-queries.ts'
import { openGivenUpAlarm } from '../src/payments/given-up-alarm.ts'
import { PAYMENT_POLLS, updatePaymentClosed, updatePaymentReference } from '../src/payments/payment-queries.ts'
import { pollPayment } from '../src/payments/payment-service.ts'
import { openAttemptIn } from './harness/attempts.ts'
import { DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* Abandoned payments are closed at their provider, however long it refuses or does not answer. */

let world: ModelWorld
let isDown = false
let isRefused = false
let isClosed = false
let received = 0n
before(async () => {
  world = await startModelWorld({
    async fetchPayment({ providerReference }) {
      if (isDown) throw new Error('down')
      if (received > 0n) return paidReport(providerReference ?? '', { final: received, providerStatus: 'PART' })
      const outcome = isClosed ? 'expired' : 'waiting'
      return { outcome, providerReference: providerReference ?? '', providerStatus: outcome }
    },
    async closePayment() {
      if (isDown || isRefused) throw new Error('refused')
      isClosed = true
    },
  })
})
after(() => world?.stop())

const openAttempt = () => {
  isClosed = false
  return openAttemptIn(world)
}

/** The service's parts, with the alarm that the operator gets. */
function withAlarm() {
  const subjects: string[] = []
  const texts: string[] = []
  const alarm = async (_: Tx, { subject, paragraphs }: Alarm): Promise<void> => {
    subjects.push(subject)
    texts.push(paragraphs.join(' '))
  }
  const onGivenUp = openGivenUpAlarm({ alarm, log: world.host.service.app.log, clock: () => world.clock.nowMs })
  return { subjects, texts, deps: { ...world.payments, onGivenUp } }
}

test('a payment that was open for days before it was abandoned is closed again after its provider refused to', async () => {
  const { key, find, poll } = await openAttempt()
  world.clock.nowMs += 25 * HOUR
  await world.host.db.run(sql`update payments set status = 'closing' where id = ${key.id}`)
  isRefused = true
  await assert.rejects(poll(), /refused/)
  assert.equal((await find()).status, 'closing')
  isRefused = false
  await poll()
  assert.equal((await find()).status, 'closed')
})

test('what became of a payment since it was read stays: that it is paid, and its id at the provider', async () => {
  const { find, reference, apply } = await openAttempt()
  const read = await find()
  await apply(paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
  await updatePaymentClosed(world.host.db, read, { now: new Date(world.clock.nowMs), isAsked: true })
  await updatePaymentReference(world.host.db, { ...read, providerReference: null }, 'another')
  const { status, providerReference } = await find()
  assert.deepEqual([status, providerReference], ['paid', reference])
})

test('an abandoned payment that its provider does not let us close is tried again soon for thirty days, then the operator is told', async () => {
  const { db } = world.host
  const { subjects, deps } = withAlarm()
  for (const status of ['closing', 'awaiting']) {
    const { order, key, find } = await openAttempt()
    // open for long, and polled often
    world.clock.nowMs += 40 * DAY
    await db.run(sql`update payments set status = ${status} where id = ${key.id}`)
    await db.run(sql`update orders set status = 'CANCELLED' where id = ${order.id}`)
    await wakePaymentOfOrder(db, { ...order, paymentId: key.id }, new Date(world.clock.nowMs))
    isDown = true
    for (const [checks, age, gapMs] of [
      [0, 0, 2000],
      [500, HOUR, 5 * MINUTE],
      [500, DAY, (25 / 100) * HOUR],
      [500, 9 * DAY, (10 * DAY + HOUR) / 100],
    ] as const) {
      world.clock.nowMs += age
      const now = new Date(world.clock.nowMs)
      await db.run(sql`update payments set checks = ${checks}, next_check_at = ${now} where id = ${key.id}`)
      const poll = pollNow(deps, PAYMENT_POLLS, key, async (db) => pollPayment({ ...deps, db }, await find()))
      await assert.rejects(poll, /did not answer/)
      assert.equal((await find()).nextCheckAt?.getTime(), world.clock.nowMs + gapMs, `${status} ${age}`)
    }
    assert.deepEqual(subjects, [])
    world.clock.nowMs += 20 * DAY
    await assert.rejects(pollPayment(deps, await find()), /did not answer/)
    assert.equal((await find()).status, 'closed')
    assert.deepEqual(subjects.splice(0), [`A payment of order ${order.shortCode} could not be closed`])
    isDown = false
  }
})

test('an abandoned payment whose account was removed is given up after thirty days, and the operator is told', async () => {
  const { subjects, deps } = withAlarm()
  const { order, find } = await openAttempt()
  world.clock.nowMs += 31 * DAY
  await world.host.db.run(sql`update orders set status = 'EXPIRED' where id = ${order.id}`)
  const removed = { ...deps, channels: { ...deps.channels, forPayment: async () => undefined } }
  await pollPayment(removed, await find())
  assert.equal((await find()).status, 'closing')
  world.clock.nowMs += 31 * DAY
  await pollPayment(removed, await find())
  assert.equal((await find()).status, 'closed')
  assert.deepEqual(subjects, [`A payment of order ${order.shortCode} could not be closed`])
})

test('a payment that is paid in part is closed at its provider, also if that refuses once', async () => {
  const { key, find, poll } = await openAttempt()
  // since when it is abandoned is not known, as where its order was paid by another attempt
  world.clock.nowMs += 2 * DAY
  await world.host.db.run(sql`update payments set status = 'closing', abandoned_at = null where id = ${key.id}`)
  received = DUE / 4n
  isRefused = true
  await assert.rejects(poll(), /refused/)
  isRefused = false
  assert.ok((await find()).nextCheckAt)
  await poll()
  assert.equal(isClosed, true)
  received = 0n
})

test('of payments of one company and channel that are given up, one mail a day tells, and how many there are', async () => {
  const { subjects, texts, deps } = withAlarm()
  const { order, key, find } = await openAttempt()
  const at = new Date(world.clock.nowMs)
  // its order ended, and its provider has not let us close it yet
  await wakePaymentOfOrder(world.host.db, { ...order, paymentId: key.id }, at)
  const payment = await find()
  const giveUp = () => world.host.db.tx((tx) => deps.onGivenUp(tx, { order, payment }))
  await giveUp()
  await giveUp()
  assert.equal(subjects.length, 1)
  assert.match(texts[0] ?? '', /Order \w+ \(\w+\) of company Test & Söhne \([0-9a-f]{24}\)/)
  assert.match(texts[0] ?? '', /Payments of this company through \w+ that are still to be closed: 1\./)
  world.clock.nowMs += DAY
  await giveUp()
  assert.equal(subjects.length, 2)
})

test('payments that are still to be closed are counted without reading all others of the company', async () => {
  const { find } = await openAttempt()
  const payment = await find()
  const plan: unknown[] = []
  await world.host.db.tx(async (tx) => {
    await tx.run(sql`set local enable_seqscan = off`)
    const one = async <Row>(statement: Sql): Promise<Row> => {
      plan.push(...(await tx.many(unnamed(sql`explain ${statement}`))))
      return tx.one<Row>(statement)
    }
    await countClosing({ ...tx, one }, payment)
  })
  assert.match(JSON.stringify(plan), /payments__closing/)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paidReport } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { DAY, HOUR, MINUTE } from '../src/kernel/clock.ts'
import type { Alarm } from '../src/mail/operator-alarm.ts'
import { expireOrders } from '../src/orders/order-jobs.ts'
import { postponeEnded } from '../src/payments/ended-payments.ts'
import { openGivenUpAlarm } from '../src/payments/given-up-alarm.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { gateTells, openAttemptIn, openBlockedIn } from './harness/attempts.ts'
import { DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* How long an order waits for money that its provider says is on its way. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld()
})
after(() => world?.stop())

/** An attempt to pay a link that is open for that long. */
async function openLink(days: number) {
  const attempt = await openAttemptIn(world)
  const { order, reference, key } = attempt
  const { db } = world.host
  await db.run(sql`update orders set expires_at = ${new Date(world.clock.nowMs + days * DAY)} where id = ${order.id}`)
  const subjects: string[] = []
  const onGivenUp = openGivenUpAlarm({
    alarm: async (_, { subject }) => {
      subjects.push(subject)
    },
    ...{ log: world.host.service.app.log, clock: world.payments.clock },
  })
  const arrives = async (pending: bigint) =>
    (
      await applyReport(
        { ...world.payments, onGivenUp },
        key,
        paidReport(reference, { final: 0n, pending, providerStatus: 'money arrives' }),
      )
    )?.status
  const waits = async () =>
    (
      await db.one<{ n: number }>(sql`
        select count(*)::int as n from order_events
        where order_id = ${order.id} and to_status = 'WAITING_CHAIN_CONFIRMATION'`)
    ).n
  return { ...attempt, arrives, subjects, waits }
}

test('an order waits thirty days for the same money, however often its provider repeats it, and once', async () => {
  const { apply, arrives, reference, subjects, waits } = await openLink(400)
  for (let day = 0; day <= 30; day += 1) {
    assert.equal(await arrives(DUE), 'WAITING_CHAIN_CONFIRMATION', `${day}`)
    world.clock.nowMs += DAY
  }
  for (let day = 31; day < 70; day += 1) {
    assert.equal(await arrives(DUE), 'AWAITING', `${day}`)
    world.clock.nowMs += DAY
  }
  assert.deepEqual([subjects.length, await waits()], [1, 1])
  assert.equal(await arrives(DUE + 1n), 'WAITING_CHAIN_CONFIRMATION', 'more came')
  assert.equal((await apply(paidReport(reference, { final: DUE + 1n, providerStatus: 'PAID' })))?.status, 'PAID')
})

test('what an order stopped waiting for pays it once it arrives, and is confirmed in between', async () => {
  const { apply, arrives, reference } = await openLink(400)
  await arrives(DUE)
  world.clock.nowMs += 31 * DAY
  assert.equal(await arrives(DUE), 'AWAITING')
  const part = paidReport(reference, { final: DUE, providerStatus: 'PROCESS' })
  assert.equal((await apply({ ...part, isPart: true }))?.status, 'WAITING_CHAIN_CONFIRMATION')
  assert.equal((await apply(part))?.status, 'PAID')
})

test('an order waits as long for money that comes late in the life of a link, also after it ended', async () => {
  const { apply, arrives, reference } = await openLink(32)
  world.clock.nowMs += 32 * DAY - HOUR
  assert.equal(await arrives(DUE), 'WAITING_CHAIN_CONFIRMATION')
  world.clock.nowMs += 25 * HOUR
  assert.equal(await arrives(DUE), 'WAITING_CHAIN_CONFIRMATION')
  await expireOrders(world.host.db, world.payments.transition, world.clock.nowMs)
  world.clock.nowMs += HOUR
  assert.equal((await apply(paidReport(reference, { final: DUE, providerStatus: 'PAID' })))?.status, 'PAID')
})

test('other money that came to a returned payment is not given up without a mail, and with one', async () => {
  for (const isGone of [false, true]) {
    const { find, giveBack, key, order, reference, says } = await openBlockedIn(world)
    await says('PAY_BLOCK')
    await giveBack()
    await says('EXPIRED')
    const mails: Alarm[] = []
    const onGivenUp = openGivenUpAlarm({
      alarm: async (_tx, mail) => void mails.push(mail),
      ...{ log: world.host.service.app.log, clock: world.payments.clock },
    })
    const tells = (word: string, ...coins: string[]) =>
      applyReport({ ...world.payments, onGivenUp }, key, gateTells(word, reference, '0', ...coins))
    for (let day = 0; day < 29; day += 1) {
      await tells('PROCESS', '54')
      world.clock.nowMs += DAY
    }
    assert.deepEqual([mails, (await find()).nextCheckAt !== null], [[], true])
    world.clock.nowMs += 3 * DAY
    for (const _ of [1, 2]) await (isGone ? tells('EXPIRED') : tells('PROCESS', '54'))
    assert.deepEqual([mails.length, (await find()).nextCheckAt], [1, null])
    assert.equal(mails[0]?.subject, `54.000000 USDC of order ${order.shortCode} came beside what was returned`)
  }
  // what was returned, and is told all the same
  const { giveBack, key, reference, says } = await openBlockedIn(world)
  await says('PAY_BLOCK')
  await giveBack()
  const onGivenUp = () => assert.fail('it is decided')
  world.clock.nowMs += 32 * DAY
  await applyReport({ ...world.payments, onGivenUp }, key, gateTells('PROCESS', reference, '0', '54'))
})

/** A payment whose block a person returned, and whose provider tells of other money, with the mails about that. */
async function openReturned(isTold: boolean) {
  const attempt = await openBlockedIn(world, isTold)
  const { key, reference, says, giveBack } = attempt
  const mails: Alarm[] = []
  const onGivenUp = openGivenUpAlarm({
    alarm: async (_tx, mail) => void mails.push(mail),
    ...{ log: world.host.service.app.log, clock: world.payments.clock },
  })
  await says('PAY_BLOCK')
  await giveBack()
  return {
    ...attempt,
    /** Once no gap is left: until then the poll is repeated. */
    pollFails: async () => {
      await world.host.db.run(sql`update payments set checks = 20 where id = ${key.id}`)
      await postponeEnded({ ...world.payments, onGivenUp }, key)
    },
    subjects: () => mails.map(({ subject }) => subject.replace(/ of order .*/, '')),
    tells: (word: string, done: string, ...coins: string[]) => {
      world.clock.nowMs += 60_000
      return applyReport({ ...world.payments, onGivenUp }, key, gateTells(word, reference, done, ...coins))
    },
  }
}

test('of a payment that is still asked about, no mail says that it is not asked any more', async () => {
  const { find, is, subjects, tells } = await openReturned(false)
  await is('closing')
  await tells('PROCESS', '0', '54')
  for (const _ of [1, 2]) {
    await tells('PENDING', '0')
    assert.notEqual((await find()).nextCheckAt, null)
  }
  assert.deepEqual(subjects(), [])
})

test('cents that come after other money was given up bring no mail each, and what adds up does', async () => {
  const { says, subjects, tells } = await openReturned(true)
  await says('EXPIRED')
  world.clock.nowMs += 32 * DAY
  for (const coins of ['54', '54.01', '54.02', '54.03', '54.04']) await tells('PROCESS', '0', coins)
  assert.deepEqual(subjects(), ['54.000000 USDC'])
  await tells('EXPIRED', '0')
  world.clock.nowMs += HOUR
  for (const coins of ['54', '54.01', '54']) await tells('PROCESS', '0', coins)
  assert.deepEqual(subjects(), ['54.000000 USDC', '108.040000 USDC'], 'what comes after nothing is other money again')
})

test('other money of which no mail could tell so soon after the last one is asked about once more, and told of then', async () => {
  for (const isAnswered of [true, false]) {
    const { find, pollFails, says, subjects, tells } = await openReturned(true)
    await says('EXPIRED')
    world.clock.nowMs += 32 * DAY
    await tells('PROCESS', '0', '0.02')
    assert.equal((await find()).nextCheckAt, null)
    await tells('PROCESS', '0', '0.02', '5000')
    const { nextCheckAt } = await find()
    assert.equal(nextCheckAt?.getTime(), world.clock.nowMs + 15 * MINUTE)
    assert.deepEqual(subjects(), ['0.020000 USDC'])
    // a callback repeats it meanwhile
    await tells('PROCESS', '0', '0.02', '5000')
    world.clock.nowMs = (await find()).nextCheckAt?.getTime() ?? 0
    await (isAnswered ? tells('PROCESS', '0', '0.02', '5000') : pollFails())
    assert.deepEqual(subjects(), ['0.020000 USDC', '5000.020000 USDC'], `${isAnswered}`)
    assert.equal((await find()).nextCheckAt, null)
  }
})

test('what arrived since a return is not told of as neither credited nor blocked', async () => {
  for (const isSeen of [true, false])
    for (const isPart of [false, true]) {
      const { ignoreAll, openOf, subjects, tells } = await openReturned(false)
      // a payment of the whole price in two transfers: one is seen before both are credited
      await tells('PROCESS', '0', '20')
      if (!isSeen) await tells('EXPIRED', '0')
      await (isPart ? tells('EXPIRED', '12') : tells('PAID', '54'))
      assert.equal((await openOf()).length, 1)
      await ignoreAll()
      world.clock.nowMs += 32 * DAY
      await tells('EXPIRED', isPart ? '12' : '54')
      assert.deepEqual(subjects(), isPart ? ['8.000000 USDC'] : [], `${isSeen} ${isPart}`)
    }
})

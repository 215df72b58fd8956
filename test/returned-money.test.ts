import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { reportOf } from '../src/channels/gatepay/status-map.ts'
import { sql } from '../src/db/db.ts'
import { MINUTE } from '../src/kernel/clock.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { recordUnmatched } from '../src/payments/mispayments/told-event.ts'
import { findBlock, openBlockedIn, PART } from './harness/attempts.ts'
import { type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* Money that a person returned or decided about, and what its provider says of it after that. */

const WAITS = 'WAITING_CHAIN_CONFIRMATION'
const BTC = { actualCurrency: 'BTC', pay_amount: '0' }

let world: ModelWorld
before(async () => {
  world = await startModelWorld({ async closePayment() {} })
})
after(() => world?.stop())

test('late money that a person ignored does not count again; what comes after it pays the price first', async () => {
  for (const [late, paid, status, ...records] of [
    ['84', '84', 'AWAITING'],
    ['84', '94', 'AWAITING', 'under 10000000'],
    ['54', '84', 'AWAITING', 'under 30000000'],
    ['30', '54', 'AWAITING', 'under 24000000'],
    ['30', '84', 'PAID'],
    ['84', '148', 'PAID', 'wrong_token 10000000'],
  ] as const) {
    const { gate, ignoreAll, openOf } = await openBlockedIn(world, false)
    await gate('EXPIRED', late)
    await ignoreAll()
    for (const _ of [1, 2]) assert.equal(await gate('PAID', paid), status)
    const open = (await openOf()).map((record) => record.replace(/ USDC open .*/, ''))
    assert.deepEqual(open.toSorted(), records, `${late} ${paid}`)
  }
})

test('a word of Gate without an amount tells nothing of what is recorded to be on its way, decided about or not', async () => {
  for (const [isDecided, late, status, units] of [
    // in doubt nobody pays twice: it may be the whole price
    [true, '10', WAITS, 44n],
    [true, '30', WAITS, 24n],
    // what counts as paid
    [true, '53.8', 'AWAITING', 0n],
    [true, '54', 'AWAITING', 0n],
    [false, '30', WAITS, 24n],
    [false, '54', WAITS, 0n],
  ] as const) {
    const { gate, ignoreAll, lastMail, pending, says } = await openBlockedIn(world, false)
    await gate('EXPIRED', late)
    if (isDecided) await ignoreAll()
    for (const word of ['PROCESS', 'PAY_EXPIRED_IN_PROCESS']) {
      if (late === '30') assert.equal(await gate('EXPIRED', late, '24'), isDecided ? 'AWAITING' : WAITS)
      assert.equal(await gate(word), status, `${isDecided} ${late}`)
      assert.equal(await pending(), units * PART)
    }
    await says('PAY_BLOCK')
    const told = units > 0n ? `, ${units}.000000 USDC on its way` : ''
    assert.equal(lastMail()?.paragraphs[1], `binance: PAY_BLOCK${told}.`)
  }
})

test('a part that waits beside one that was sent back makes a word of Gate without an amount no less than the price', async () => {
  const { gate, ignoreAll, pending } = await openBlockedIn(world, false)
  await gate('EXPIRED', '30')
  await ignoreAll()
  await gate('EXPIRED', '54')
  assert.deepEqual([await gate('PROCESS'), await pending()], [WAITS, 0n])
  await ignoreAll()
  assert.equal(await gate('PROCESS'), 'AWAITING')
})

test('a coin of unknown value, decided about or not, takes nothing off the price where Gate names no amount', async () => {
  for (const [isDecided, coins] of [
    [true, { pay_amount: '0' }],
    [true, { ...BTC, transaction_info: { done_amount: '0.00001', confirming_list: [{ amount: '0.001' }] } }],
    [false, { pay_amount: '0' }],
  ] as const) {
    const { apply, context, find, ignoreAll, order, pending, reference } = await openBlockedIn(world, false)
    const say = async (word: string, data: object) => {
      const told = { currency: 'USDC', orderAmount: '54', ...data }
      return (await apply(reportOf(word, told, { providerReference: reference, closedStatuses: [] })))?.status
    }
    await say('EXPIRED', { ...BTC, transaction_info: { done_amount: '0.00001', confirming_list: [] } })
    if (isDecided) await ignoreAll()
    for (const word of ['PROCESS', 'PAY_EXPIRED_IN_PROCESS']) {
      assert.equal(await say(word, coins), WAITS)
      assert.deepEqual([await pending(), (await find()).nextCheckAt !== null], [54n * PART, true])
    }
    const body = { paymentChannel: 'binance' }
    await assert.rejects(acceptOrder(world.payments, { context, code: order.code, body }), {
      code: 'ORDER_STATE_CONFLICT',
    })
  }
})

test('a word of Gate without an amount adds nothing to an amount that counts as paid, and the rest to one that does not', async () => {
  for (const [part, rest] of [
    ['53.73', 0n],
    ['53.729999', 270_001n],
  ] as const) {
    const { gate, giveBack, isFree, mails, pending, says, status } = await openBlockedIn(world, false)
    await gate('PROCESS', '0', part)
    await says('PAY_BLOCK')
    await giveBack()
    for (const _ of [1, 2]) await gate('PAY_EXPIRED_IN_PROCESS')
    assert.equal(await pending(), rest, part)
    for (const word of ['EXPIRED', 'PAY_BLOCK', 'TRANSFERRED_ADDRESS_BLOCK']) await says(word)
    assert.deepEqual([await status(), mails()], rest > 0n ? ['blocked', 2] : ['returned', 1], part)
    if (rest === 0n) await isFree()
  }
})

test('dust on its way beside a record of the whole price moves no order, and another way to pay may be chosen', async () => {
  const { context, gate, openOf, order } = await openBlockedIn(world, false)
  for (const dust of [[], ['0.000001'], ['0.009999']]) assert.equal(await gate('EXPIRED', '54', ...dust), 'AWAITING')
  assert.equal((await openOf()).length, 1)
  const body = { paymentChannel: 'binance' }
  assert.equal((await acceptOrder(world.payments, { context, code: order.code, body }))?.status, 'AWAITING')
})

test('a block that was returned is repeated once what came after it was received or recorded, and is none of that', async () => {
  for (const isRecorded of [true, false]) {
    const { gate, giveBack, ignoreAll, isFree, mails, recordsOf, says, status } = await openBlockedIn(world)
    await says('PAY_BLOCK')
    await giveBack()
    await says('EXPIRED')
    if (isRecorded) {
      await gate('EXPIRED', '0', '20')
      await gate('EXPIRED', '20')
    } else {
      await gate('PROCESS', '0', '54')
      await gate('PAID', '54')
    }
    const before = mails()
    for (const word of ['PAY_BLOCK', 'TRANSFERRED_ADDRESS_BLOCK']) await says(word)
    assert.equal(await status(), 'returned')
    await ignoreAll()
    for (const word of ['PAY_BLOCK', 'TRANSFERRED_ADDRESS_BLOCK']) await says(word)
    assert.deepEqual([await status(), mails(), (await recordsOf()).length], ['returned', before, 1])
    if (isRecorded) await isFree()
  }
})

test('money that is credited after a person returned the block is held, and a mail says so, once', async () => {
  const { gate, giveBack, lastMail, mails, openOf, order, says } = await openBlockedIn(world)
  await says('PAY_BLOCK')
  await giveBack()
  await says('EXPIRED')
  await gate('PROCESS', '0', '54')
  for (const _ of [1, 2]) assert.equal(await gate('PAID', '54'), 'KYT_FAILED')
  assert.match((await openOf()).join(), /^held 54000000 USDC open/)
  assert.equal(mails(), 2)
  const { subject, paragraphs, path } = lastMail() ?? {}
  assert.equal(subject, '54.000000 USDC arrived for a payment that was returned')
  assert.equal(path, `/mispayments?company=${order.companyId}&status=open`)
  assert.match(
    paragraphs?.[0] ?? '',
    new RegExp(`\\(${order.code}\\) of company .+ \\(${order.companyId}\\): PAID\\.$`),
  )
})

test('what is left of later money, once a part of it was recorded, may be what a block is about, unless it is dust', async () => {
  for (const [said, told, credited, isRest, between = []] of [
    ['EXPIRED', '54', '20', true],
    ['EXPIRED', '54', '54', false],
    ['EXPIRED', '54', '53.99', true],
    ['EXPIRED', '54', '53.990001', false],
    ['EXPIRED', '54', '54.01', false],
    // more than was told: something else arrived
    ['EXPIRED', '54', '54.010001', true],
    // as much as was told, but it went before: in doubt it was blocked, and something else arrived
    ['EXPIRED', '54', '54', true, ['EXPIRED', 'EXPIRED']],
    ['PAID', '84', '84', false],
    // what came above the price was told by nobody
    ['PAID', '54', '84', true],
    // less than 0.01 above the price is the rounding of a coin
    ['PAID', '54.009999', '54.009999', false],
  ] as const) {
    const { gate, giveBack, mails, says, status } = await openBlockedIn(world)
    for (const word of ['PAY_BLOCK', 'EXPIRED']) await says(word)
    await giveBack()
    await gate('PROCESS', '0', told)
    for (const word of between) await says(word)
    await gate(said, credited)
    const before = mails()
    await says('PAY_BLOCK')
    const expected = isRest ? ['blocked', before + 1] : ['returned', before]
    assert.deepEqual([await status(), mails()], expected, `${said} ${credited}`)
    if (!isRest) continue
    await giveBack()
    for (const word of ['PAY_BLOCK', 'EXPIRED', 'PAY_BLOCK']) await says(word)
    assert.deepEqual([await status(), mails()], ['returned', before + 1])
  }
})

test('money that is told after a return is blocked, whatever else is credited or kept apart meanwhile', async () => {
  type Attempt = Awaited<ReturnType<typeof openBlockedIn>>
  const stories: Record<string, (attempt: Attempt) => Promise<unknown>> = {
    'another sum, which nothing told': async ({ gate, says }) => {
      await says('EXPIRED')
      for (const coins of [['20'], []]) await gate('EXPIRED', '0', ...coins)
      await gate('EXPIRED', '30')
    },
    'what was returned': async ({ gate }) => {
      await gate('PROCESS', '0', '54', '20')
      await gate('EXPIRED', '54')
    },
    'as much again, late': async ({ gate, says }) => {
      await says('EXPIRED')
      for (const coins of [['54'], [], ['54']]) await gate('EXPIRED', '0', ...coins)
      await gate('EXPIRED', '54')
    },
    'as much again, in time': async ({ gate, says }) => {
      await says('EXPIRED')
      for (const coins of [['54'], [], ['54']]) await gate('EXPIRED', '0', ...coins)
      await gate('PAID', '54')
    },
    'a coin that is kept apart': async ({ gate, key, says }) => {
      await says('EXPIRED')
      await gate('PROCESS', '0', '54')
      const units = 54n * 10n ** 18n
      await recordUnmatched(world.payments, key, [
        { asset: 'USDT', units, reference: 'gatepay:unresolved:77', isOneSum: true },
      ])
      await says('EXPIRED')
    },
    'a part that is frozen': async ({ freeze, gate, says }) => {
      await says('EXPIRED')
      await gate('PROCESS', '0', '54')
      await freeze(34n * PART)
    },
  }
  for (const [name, happens] of Object.entries(stories)) {
    const attempt = await openBlockedIn(world)
    await attempt.says('PAY_BLOCK')
    await attempt.giveBack()
    await happens(attempt)
    const before = attempt.mails()
    for (const word of ['PAY_BLOCK', 'TRANSFERRED_ADDRESS_BLOCK']) await attempt.says(word)
    assert.deepEqual([await attempt.status(), attempt.mails()], ['blocked', before + 1], name)
  }
})

test('as much again after a fall is news of a block that nobody has decided about, if nothing was on its way or less was told', async () => {
  for (const [before, ...after] of [
    [['54'], [], ['54'], [], ['54']],
    [['54', '30'], ['54']],
  ] as const) {
    const { gate, giveBack, isFree, key, lastMail, mails, pending, says, status } = await openBlockedIn(world, false)
    for (const told of before) await gate('PROCESS', '0', told)
    await says('PAY_BLOCK')
    for (const coins of after) {
      const { updatedAt } = await findBlock(world, key.id)
      const told = mails()
      world.clock.nowMs += 15 * MINUTE
      await gate('EXPIRED', '0', ...coins)
      assert.equal(mails(), coins.length > 0 ? told + 1 : told)
      if (coins.length === 0) continue
      assert.match(lastMail()?.paragraphs[1] ?? '', / 54\.000000 USDC on its way\.$/)
      await assert.rejects(giveBack({ updatedAt: updatedAt.toISOString() }), /has changed. Read it again/)
    }
    await giveBack()
    await says('PAY_BLOCK')
    assert.deepEqual([await pending(), await status()], [0n, 'returned'])
    await isFree()
  }
})

test('an amount that changes and ends, without anything on its way, is nothing that a block is about', async () => {
  const { gate, giveBack, isFree, mails, says, status } = await openBlockedIn(world)
  await says('PAY_BLOCK')
  await giveBack()
  for (const told of ['30', '20']) await gate('EXPIRED', '0', told)
  for (const said of ['EXPIRED', 'PAY_BLOCK']) await says(said)
  assert.deepEqual([await status(), mails()], ['returned', 1])
  await isFree()
})

test('whichever node a person decided on, what was on its way after that, and what was not, is told by no clock', async () => {
  for (const aheadMs of [10 * MINUTE, -10 * MINUTE]) {
    const { gate, giveBack, mails, says, status } = await openBlockedIn(world)
    await says('PAY_BLOCK')
    for (const [isMore, expected] of [
      [false, ['returned', 1]],
      [true, ['blocked', 2]],
    ] as const) {
      world.clock.nowMs += aheadMs
      if (!isMore) await giveBack()
      world.clock.nowMs -= aheadMs
      if (isMore) await gate('PROCESS', '0', '20')
      for (const said of ['EXPIRED', 'PAY_BLOCK']) await says(said)
      assert.deepEqual([await status(), mails()], expected, `${aheadMs}`)
    }
  }
})

test('of a block that an older node noted and returned, only what is still on its way is other money', async () => {
  const { gate, giveBack, isFree, key, mails, says, status } = await openBlockedIn(world)
  const forget = () =>
    world.host.db.run(sql`update payments set pending_peak_units = null, unexplained_units = null where id = ${key.id}`)
  await says('PAY_BLOCK')
  await giveBack()
  await forget()
  for (const said of ['PAY_BLOCK', 'EXPIRED', 'PAY_BLOCK']) await says(said)
  assert.deepEqual([await status(), mails()], ['returned', 1])
  await gate('PROCESS', '0', '20')
  await forget()
  await says('PAY_BLOCK')
  assert.deepEqual([await status(), mails()], ['blocked', 2])
  await giveBack()
  await isFree()
})

test('a part and no amount that are told in turns tell a person once of what is more, and let a decision about that stand', async () => {
  const { gate, giveBack, key, lastMail, mails, pending, says } = await openBlockedIn(world, false)
  await gate('PENDING', '0', '30')
  await says('PAY_BLOCK')
  await gate('PROCESS')
  const { updatedAt } = await findBlock(world, key.id)
  for (const _ of [1, 2, 3]) {
    await gate('PENDING', '0', '30')
    await says('TRANSFERRED_ADDRESS_BLOCK')
    await gate('PROCESS')
  }
  assert.equal(mails(), 2)
  assert.equal(lastMail()?.paragraphs[1], 'binance: PAY_BLOCK, PROCESS, 54.000000 USDC on its way.')
  // credited, and as much again
  world.clock.nowMs += 15 * MINUTE
  await gate('EXPIRED', '54')
  await gate('PENDING', '54', '20')
  assert.equal(lastMail()?.paragraphs[1], 'binance: PAY_BLOCK, PENDING, money arrives, 20.000000 USDC on its way.')
  await assert.rejects(giveBack({ updatedAt: updatedAt.toISOString() }), /has changed. Read it again/)
  await gate('PENDING', '54', '10')
  await giveBack({ updatedAt: (await findBlock(world, key.id)).updatedAt.toISOString() })
  assert.deepEqual([await pending(), mails()], [0n, 3])
})

test('a second block says that it is no repetition, and how much other money it is about, also where that has gone', async () => {
  for (const [isGone, told] of [
    [true, '54.000000 USDC came after this payment was returned'],
    [false, '54.000000 USDC on its way, 54.000000 USDC came after this payment was returned'],
  ] as const) {
    const { gate, giveBack, key, lastMail, says } = await openBlockedIn(world, false)
    await says('PAY_BLOCK')
    const first = lastMail()?.paragraphs
    await giveBack()
    await gate('PROCESS', '0', '54')
    if (isGone) await says('EXPIRED')
    await says('PAY_BLOCK')
    const second = lastMail()?.paragraphs
    assert.equal(first?.[1], 'binance: PAY_BLOCK.')
    assert.equal(second?.[1], `binance: PAY_BLOCK, ${told}.`)
    assert.match(second?.[2] ?? '', /no repetition/)
    const { evidence } = await world.host.db.one<{ evidence: { other: string } }>(sql`
      select a.evidence from screening_answers a join screenings s on s.id = a.screening_id
      where s.subject_id = ${key.id} order by a.id desc limit 1`)
    assert.equal(evidence.other, '54.000000 USDC')
  }
})

test('cents on their way to a blocked payment void no decision and bring no mail, what adds up does, and one mail in a quarter of an hour', async () => {
  const { gate, giveBack, key, lastMail, mails, says } = await openBlockedIn(world, false)
  await gate('PROCESS', '0', '54')
  await says('PAY_BLOCK')
  const { updatedAt } = await findBlock(world, key.id)
  // half a percent of 54, and dust
  for (const cents of ['0.1', '0.2', '0.27']) await gate('PROCESS', '0', '54', cents)
  assert.deepEqual([(await findBlock(world, key.id)).updatedAt, mails()], [updatedAt, 1])
  for (const [told, count] of [
    ['0.28', 2],
    ['0.6', 2],
    ['0.9', 2],
  ] as const) {
    const before = await findBlock(world, key.id)
    await gate('PROCESS', '0', '54', told)
    const after = await findBlock(world, key.id)
    assert.deepEqual([after.updatedAt > before.updatedAt, mails()], [true, count], told)
    await assert.rejects(giveBack({ updatedAt: before.updatedAt.toISOString() }), /has changed. Read it again/)
  }
  world.clock.nowMs += 15 * MINUTE
  // what no mail told comes with the next word, whatever that says
  for (const _ of [1, 2]) await says('EXPIRED')
  assert.deepEqual([mails(), lastMail()?.paragraphs[1]], [3, 'binance: PAY_BLOCK, PROCESS, 54.900000 USDC on its way.'])
  await giveBack({ updatedAt: (await findBlock(world, key.id)).updatedAt.toISOString() })
})

test('cents that go again, with all that a person knows of or without, bring no mail about a block that nobody has decided about', async () => {
  const { gate, lastMail, mails, says } = await openBlockedIn(world, false)
  await gate('PROCESS', '0', '54')
  await says('PAY_BLOCK')
  for (let turn = 1; turn <= 3; turn += 1) {
    await gate('PROCESS', '0', '54', '0.02')
    if (turn > 1) await gate('PROCESS', '0', '54')
    assert.equal(mails(), 1)
  }
  for (const word of ['EXPIRED', 'PAY_BLOCK', 'EXPIRED']) {
    await (word === 'EXPIRED' ? gate(word, '0') : says(word))
    assert.equal(mails(), 1, lastMail()?.paragraphs[1])
  }
  await gate('PROCESS', '0', '54')
  assert.equal(mails(), 2, 'as much again after nothing is other money')
})

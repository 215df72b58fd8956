import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { DAY } from '../src/kernel/clock.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { BTC } from './harness/whitepay-attempts.ts'
import { back, came, kept, madeAt, openRefundedIn } from './harness/whitepay-refunds.ts'

/* Each return that Whitepay lists is one thing only, whatever persons decide between two answers. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld({ async closePayment() {} })
})
after(async () => {
  try {
    if (world) assert.equal((await verifyLedger(world.host.db)).difference, null)
  } finally {
    await world?.stop()
  }
})

const openRefunded = (coin?: { asset: string; expected: string }) => openRefundedIn(world, coin)

test('what was seen to go back while a refund was asked for is booked with its rejection, and cannot leave again', async () => {
  const { books, isAsked, refunds, reject, revert, tells } = await openRefunded()
  await tells('COMPLETE', came('54'))
  await revert()
  await isAsked('COMPLETE', came('54'), back('54'))
  await reject()
  assert.deepEqual([await refunds(), await books()], [['54 rejected', '54 settled console'], []])
  await assert.rejects(revert(), { code: 'ORDER_STATE_CONFLICT' })
})

test('the rest of what was seen to go back is booked with the end of a refund of less, however it ends', async () => {
  const seen = [came('54'), back('20'), back('34')]
  for (const isSettled of [true, false]) {
    const { books, isAsked, refunds, reject, revert, settle, tells } = await openRefunded()
    await tells('COMPLETE', came('54'))
    await revert('20')
    await isAsked('COMPLETE', ...seen)
    await (isSettled ? settle : reject)()
    const expected = isSettled ? ['20 settled', '34 settled console'] : ['20 rejected', '54 settled console']
    for (const _ of [1, 2]) {
      assert.deepEqual([await refunds(), await books()], [expected, []])
      await isAsked('COMPLETE', ...seen)
    }
  }
})

test('an overpayment that went back while a refund was asked for is gone with its rejection', async () => {
  const seen = [came('84'), kept('30'), back('30')]
  const { books, isAsked, open, refunds, reject, revert, tells } = await openRefunded()
  await tells('COMPLETE', came('84'), kept('30'))
  await revert('20')
  await isAsked('COMPLETE', ...seen)
  await reject()
  assert.deepEqual([await open(), await refunds()], [[], ['20 rejected']])
  assert.deepEqual(await books(), ['company_payable -54', 'payer_clearing 54'])
})

test('what goes back beyond a refund that is asked for is taken from ignored money only once that refund ends', async () => {
  for (const isSettled of [true, false]) {
    const { books, ignoreAll, isAsked, records, refunds, reject, revert, settle, tells } = await openRefunded()
    await tells('PARTIALLY_FULFILLED', came('30'))
    await ignoreAll()
    await tells('COMPLETE', came('30'), came('54'))
    await revert('20')
    await isAsked('COMPLETE', came('30'), came('54'), back('30'))
    assert.deepEqual(await records(), ['under 30000000 USDC ignored'])
    await (isSettled ? settle : reject)()
    const after = isSettled
      ? ['20 settled', 'under 20000000 USDC ignored', 'company_payable -34', 'payer_clearing 54', 'suspense -20']
      : ['20 rejected', 'under 0 USDC resolved', 'company_payable -54', 'payer_clearing 54']
    assert.deepEqual([...(await refunds()), ...(await records()), ...(await books())], after)
  }
})

test('after a refund Whitepay is asked at once what it lists by now, however old the payment is', async () => {
  for (const isSettled of [true, false]) {
    const { find, key, poll, refunds, reject, revert, settle, tells } = await openRefunded()
    await tells('COMPLETE', came('54'))
    await world.host.db.run(
      sql`update payments set opened_at = ${new Date(world.clock.nowMs - 61 * DAY)} where id = ${key.id}`,
    )
    await revert('20')
    await (isSettled ? settle : reject)()
    assert.deepEqual((await find()).nextCheckAt, new Date(world.clock.nowMs))
    await poll('COMPLETE', came('54'), back('20'), back('34'))
    const all = isSettled ? ['20 settled', '34 settled console'] : ['20 rejected', '54 settled console']
    assert.deepEqual([await refunds(), (await find()).nextCheckAt], [all, null])
  }
})

test('a refund in the CRM that bounced and is made anew days later is the one that is booked', async () => {
  const { books, isAsked, refunds, tells } = await openRefunded()
  const [now, later] = [world.clock.nowMs, world.clock.nowMs + 6 * DAY]
  await tells('COMPLETE', came('54'))
  await isAsked('COMPLETE', came('54'), madeAt('20', now))
  for (const list of [[], [madeAt('20', later)], [madeAt('20', later)]]) {
    await isAsked('COMPLETE', came('54'), ...list)
    assert.deepEqual([await refunds(), (await books())[0]], [['20 settled console'], 'company_payable -34'])
  }
})

test('what was gone before lists were kept is none of the returns that a refund is', async () => {
  const { books, isAsked, key, refunds, revert, settle, tells } = await openRefunded()
  const { nowMs } = world.clock
  const seen = [came('84'), kept('30'), madeAt('20', nowMs), madeAt('30', nowMs + 10 * DAY)]
  await tells('COMPLETE', came('84'), kept('30'))
  await revert('20')
  await settle()
  await isAsked('COMPLETE', ...seen.slice(0, 3))
  await isAsked('COMPLETE', ...seen)
  await world.host.db.run(sql`update payments set returns_told = null where id = ${key.id}`)
  await isAsked('COMPLETE', ...seen)
  assert.deepEqual([await refunds(), await books()], [['20 settled'], ['company_payable -34', 'payer_clearing 34']])
})

test('the end of a refund takes nothing from an older list than the last answer', async () => {
  const { books, open, reject, revert, tells } = await openRefunded()
  await tells('PARTIALLY_FULFILLED', came('30'))
  assert.equal(await tells('COMPLETE'), 'PAID')
  await revert('20')
  await reject()
  assert.deepEqual([await open(), await books()], [[], ['company_payable -54', 'payer_clearing 54']])
})

/** A refund of so much, settled by hand, and what Whitepay lists days after that. */
async function settledBefore(amount: string, before: readonly (readonly [string, number])[] = []) {
  const attempt = await openRefunded()
  const sums = [came('54'), ...before.map(([value, day]) => madeAt(value, world.clock.nowMs + day * DAY))]
  await attempt.tells('COMPLETE', came('54'))
  if (before.length > 0) await attempt.isAsked('COMPLETE', ...sums)
  await attempt.revert(amount)
  await attempt.settle()
  return {
    ...attempt,
    lists: async (...later: (readonly [string, number])[]) => {
      const startMs = world.clock.nowMs
      world.clock.nowMs += 10 * DAY
      const rest = later.map(([value, day]) => madeAt(value, startMs + day * DAY))
      for (const _ of [1, 2]) await attempt.isAsked('COMPLETE', ...sums, ...rest)
      return [await attempt.refunds(), (await attempt.books()).filter((one) => one.endsWith('USDC'))]
    },
  }
}

test('a late return beside a refund that was settled by hand is a difference, also where it is as much as is left', async () => {
  const same = await settledBefore('27')
  assert.deepEqual(await same.lists(['27', 3]), [['27 settled'], ['27.000000 USDC']])
  // both are in the list, or all of it is later
  const both = await settledBefore('27')
  assert.deepEqual(await both.lists(['27', 0], ['27', 3]), [['27 settled', '27 settled console'], []])
  const later = await settledBefore('27')
  assert.deepEqual(await later.lists(['54', 3]), [['27 settled', '27 settled console'], ['54.000000 USDC']])
})

test('a return that is booked as a refund from the console is not the one that was settled by hand, too', async () => {
  const { lists } = await settledBefore('20', [['20', 0]])
  assert.deepEqual(await lists(['14', 10]), [['20 settled console', '20 settled'], ['34.000000 USDC']])
})

for (const [name, ...answers] of [['is told'], ['is told, also after an answer that lists nothing', []]] as const)
  test(`an overpayment that Whitepay returned is not the refund that was settled by hand: a return after that ${name}`, async () => {
    const { books, isAsked, open, refunds, revert, settle, tells } = await openRefunded()
    const first = [came('108'), madeAt('54', world.clock.nowMs)]
    assert.equal(await tells('COMPLETE', ...first), 'PAID')
    await revert()
    await settle()
    for (const list of answers) await isAsked('COMPLETE', ...list)
    world.clock.nowMs += 10 * DAY
    for (const _ of [1, 2]) await isAsked('COMPLETE', ...first, madeAt('54', world.clock.nowMs))
    assert.deepEqual([await open(), await refunds(), await books()], [[], ['54 settled'], ['54.000000 USDC']])
  })

test('all of the payer’s coin for a refund of nearly all is the rate of the day, and the rest no refund', async () => {
  const { books, isAsked, order, refunds, revert, settle, tells } = await openRefunded(BTC)
  await tells('COMPLETE', came(BTC.expected))
  await revert('50')
  await settle()
  for (const _ of [1, 2]) await isAsked('COMPLETE', came(BTC.expected), back(BTC.expected))
  assert.deepEqual([await refunds(), await books()], [['50 settled'], ['company_payable -4', 'payer_clearing 4']])
  const { status } = await world.host.db.one<{ status: string }>(sql`select status from orders where id = ${order.id}`)
  assert.equal(status, 'REFUNDED')
})

for (const [name, ...sums] of [
  ['above the price', came('84'), kept('30')],
  ['of a part', came('30'), came('54')],
] as const)
  test(`what goes back beyond ignored money is told also where it goes back in two steps: ${name}`, async () => {
    const openIgnored = async () => {
      const attempt = await openRefunded()
      if (name === 'of a part') await attempt.tells('PARTIALLY_FULFILLED', came('30'))
      if (name === 'of a part') await attempt.ignoreAll()
      assert.equal(await attempt.tells('COMPLETE', ...sums), 'PAID')
      if (name !== 'of a part') await attempt.ignoreAll()
      return attempt
    }
    const differences = async ({ books }: Awaited<ReturnType<typeof openIgnored>>) =>
      (await books()).filter((one) => one.endsWith('USDC'))
    const steps = await openIgnored()
    await steps.isAsked('COMPLETE', ...sums, back('30'))
    assert.deepEqual([await steps.refunds(), await differences(steps)], [[], []])
    for (const _ of [1, 2]) await steps.isAsked('COMPLETE', ...sums, back('30'), back('24'))
    assert.deepEqual([await steps.refunds(), await differences(steps)], [['24 settled console'], ['54.000000 USDC']])

    const all = await openIgnored()
    for (const rest of [[], [back('54')], [back('54')]]) await all.isAsked('COMPLETE', ...sums, back('30'), ...rest)
    assert.deepEqual([await all.refunds(), await all.books()], [['54 settled console'], []])
  })

test('what a person ignored and sent back before the price came is none of a later refund of the price', async () => {
  const { books, ignoreAll, isAsked, refunds, tells } = await openRefunded()
  await tells('PARTIALLY_FULFILLED', came('30'))
  await ignoreAll()
  await isAsked('PARTIALLY_FULFILLED', came('30'), back('30'))
  const sums = [came('30'), back('30'), came('54')]
  assert.equal(await tells('COMPLETE', ...sums), 'PAID')
  for (const _ of [1, 2]) await isAsked('COMPLETE', ...sums, back('24'))
  assert.deepEqual(await refunds(), ['24 settled console'])
  assert.deepEqual(await books(), ['company_payable -30', 'payer_clearing 30'])
})

test('money that a person ignored, or that came beside the price, may go back days after a refund: nothing differs', async () => {
  for (const isIgnored of [true, false]) {
    const { books, ignoreAll, isAsked, refunds, revert, settle, tells } = await openRefunded()
    const [first, then] = isIgnored ? ['30', '54'] : ['54', '30']
    if (isIgnored) await tells('PARTIALLY_FULFILLED', came(first))
    if (isIgnored) await ignoreAll()
    await tells('COMPLETE', came(first), ...(isIgnored ? [came(then)] : []))
    await revert('20')
    const sums = [came(first), came(then), madeAt('20', world.clock.nowMs)]
    await isAsked('COMPLETE', ...(isIgnored ? sums : [came(first), sums[2] as (typeof sums)[0]]))
    await settle()
    world.clock.nowMs += 5 * DAY
    for (const _ of [1, 2]) await isAsked('COMPLETE', ...sums, madeAt('30', world.clock.nowMs))
    assert.deepEqual(await refunds(), ['20 settled'], `${isIgnored}`)
    assert.deepEqual(await books(), ['company_payable -34', 'payer_clearing 34'], `${isIgnored}`)
  }
})

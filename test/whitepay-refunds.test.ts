import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { DAY } from '../src/kernel/clock.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { acceptMispayment, bearLoss } from '../src/payments/mispayments/mispayment-service.ts'
import { contextFor, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { BTC } from './harness/whitepay-attempts.ts'
import { back, came, kept, madeAt, openRefundedIn } from './harness/whitepay-refunds.ts'

/* Whitepay has no call for refunds: a person makes them in its CRM, and the order lists what went back. */

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

test('a refund that a person makes in the CRM is paid once, whether its return is seen before it is settled here or after', async () => {
  for (const isSeenFirst of [true, false]) {
    const { books, isAsked, open, refunds, revert, settle, tells } = await openRefunded()
    assert.equal(await tells('COMPLETE', came('54')), 'PAID')
    await revert()
    if (isSeenFirst) await isAsked('COMPLETE', came('54'), back('54'))
    assert.deepEqual(await refunds(), ['54 ready'])
    await settle()
    for (const _ of [1, 2]) await isAsked('COMPLETE', came('54'), back('54'))
    assert.deepEqual([await open(), await refunds(), await books()], [[], ['54 settled'], []], `${isSeenFirst}`)
  }
})

test('what goes back from the CRM of a paid order, without a refund here, is one', async () => {
  for (const word of ['COMPLETE', 'DECLINED']) {
    const { books, find, isAsked, open, refunds, tells } = await openRefunded()
    assert.equal(await tells('COMPLETE', came('54')), 'PAID')
    await isAsked(word, came('54'), back('20', 'OPEN'))
    assert.deepEqual([await open(), await refunds()], [[], []], 'it is announced only')
    for (const _ of [1, 2]) await isAsked(word, came('54'), back('20'))
    assert.deepEqual([await open(), await refunds()], [[], ['20 settled console']], word)
    assert.deepEqual(await books(), ['company_payable -34', 'payer_clearing 34'])
    for (const _ of [1, 2]) await isAsked(word, came('54'), back('20'), back('34'))
    assert.deepEqual([await open(), await books()], [[], []], word)
    assert.deepEqual(await refunds(), ['20 settled console', '34 settled console'])
    assert.deepEqual([(await find()).status, (await find()).receivedUnits], ['paid', 54_000_000n])
    // it was sent again
    await isAsked(word, came('54'), back('20'), back('34'), came('54'))
    assert.deepEqual([await open(), await books()], [[], []])
  }
})

test('a refund that is rejected although the CRM made it is one from the console', async () => {
  for (const isSeenFirst of [true, false]) {
    const { books, isAsked, open, refunds, revert, reject, tells } = await openRefunded()
    await tells('COMPLETE', came('54'))
    await revert()
    if (isSeenFirst) await isAsked('COMPLETE', came('54'), back('54'))
    await reject()
    await isAsked('COMPLETE', came('54'), back('54'))
    const found = [await open(), await refunds(), await books()]
    assert.deepEqual(found, [[], ['54 rejected', '54 settled console'], []], `${isSeenFirst}`)
  }
})

test('of two partial refunds each return is paid once, whichever of them were asked for here', async () => {
  const both = [came('54'), back('20'), back('34')]
  const { books, isAsked, open, refunds, revert, settle, tells } = await openRefunded()
  await tells('COMPLETE', came('54'))
  await revert('20')
  await settle()
  await isAsked('COMPLETE', came('54'), back('20'))
  await revert('34')
  await isAsked('COMPLETE', ...both)
  await settle()
  await isAsked('COMPLETE', ...both)
  assert.deepEqual([await open(), await refunds(), await books()], [[], ['20 settled', '34 settled'], []])
  for (const isOursFirst of [true, false]) {
    const one = await openRefunded()
    await one.tells('COMPLETE', came('54'))
    if (isOursFirst) await one.revert('20')
    if (isOursFirst) await one.settle()
    if (!isOursFirst) await one.isAsked('COMPLETE', came('54'), back('34'))
    if (!isOursFirst) await one.revert('20')
    await one.isAsked('COMPLETE', ...both)
    if (!isOursFirst) await one.settle()
    await one.isAsked('COMPLETE', ...both)
    assert.deepEqual([await one.open(), await one.books()], [[], []], `${isOursFirst}`)
    assert.deepEqual((await one.refunds()).toSorted(), ['20 settled', '34 settled console'])
  }
})

test('a return of a part beside a refund that a person settled may be that one: it is a difference, and no refund', async () => {
  const { books, isAsked, refunds, revert, settle, tells } = await openRefunded()
  await tells('COMPLETE', came('54'))
  await revert('20')
  await settle()
  for (const _ of [1, 2]) await isAsked('COMPLETE', came('54'), back('30'))
  assert.deepEqual(await refunds(), ['20 settled'])
  assert.deepEqual(await books(), ['company_payable -34', 'payer_clearing 34', '30.000000 USDC'])
})

test('what goes back is first what a person refunds, then what is above the price, then the price', async () => {
  const all = [came('84'), kept('30')]
  const above = ['wrong_token 30000000000000000000 USDT open']
  const asked = await openRefunded()
  await asked.tells('COMPLETE', ...all)
  await asked.revert()
  await asked.isAsked('COMPLETE', ...all, back('54'))
  await asked.settle()
  assert.deepEqual([await asked.open(), await asked.refunds(), await asked.books()], [above, ['54 settled'], []])
  await asked.isAsked('COMPLETE', ...all, back('54'), back('30'))
  assert.deepEqual([await asked.open(), await asked.refunds(), await asked.books()], [[], ['54 settled'], []])

  const { books, isAsked, open, refunds, tells } = await openRefunded()
  await tells('COMPLETE', ...all)
  await isAsked('COMPLETE', ...all, back('30'))
  assert.deepEqual([await open(), await refunds()], [[], []])
  for (const _ of [1, 2]) await isAsked('COMPLETE', ...all, back('30'), back('24'))
  assert.deepEqual([await open(), await refunds()], [[], ['24 settled console']])
  assert.deepEqual(await books(), ['company_payable -30', 'payer_clearing 30'])
})

test('what was sent back above the price after a person ignored it is no refund of the price', async () => {
  const { books, ignoreAll, isAsked, open, refunds, tells } = await openRefunded()
  await tells('COMPLETE', came('84'), kept('30'))
  await ignoreAll()
  await isAsked('COMPLETE', came('84'), kept('30'), back('30'))
  assert.deepEqual([await open(), await refunds()], [[], []])
  await isAsked('COMPLETE', came('84'), kept('30'), back('84'))
  assert.deepEqual([await open(), await refunds(), await books()], [[], ['54 settled console'], []])
})

for (const [name, ...sums] of [
  ['above the price', came('84'), kept('30')],
  ['of a part', came('30'), came('54')],
] as const)
  test(`what goes back beyond ignored money may all be of the price: somebody is told, unless all went back: ${name}`, async () => {
    const openIgnored = async () => {
      const attempt = await openRefunded()
      if (name === 'of a part') await attempt.tells('PARTIALLY_FULFILLED', came('30'))
      if (name === 'of a part') await attempt.ignoreAll()
      assert.equal(await attempt.tells('COMPLETE', ...sums), 'PAID')
      if (name !== 'of a part') await attempt.ignoreAll()
      return attempt
    }
    const found = async ({ open, refunds, books }: Awaited<ReturnType<typeof openIgnored>>) => [
      ...(await open()),
      ...(await refunds()),
      ...(await books()).filter((one) => one.endsWith('USDC')),
    ]
    const some = await openIgnored()
    for (const _ of [1, 2]) await some.isAsked('COMPLETE', ...sums, back('54'))
    assert.deepEqual(await found(some), ['24 settled console', '54.000000 USDC'])

    const all = await openIgnored()
    await all.isAsked('COMPLETE', ...sums, back('30'))
    for (const _ of [1, 2]) await all.isAsked('COMPLETE', ...sums, back('30'), back('54'))
    assert.deepEqual([await found(all), await all.books()], [['54 settled console'], []])

    const asked = await openIgnored()
    await asked.revert()
    await asked.isAsked('COMPLETE', ...sums, back('54'))
    await asked.settle()
    for (const rest of [[], [back('30')], [back('30')]]) await asked.isAsked('COMPLETE', ...sums, back('54'), ...rest)
    assert.deepEqual([await found(asked), await asked.books()], [['54 settled'], []])

    const rejected = await openIgnored()
    await rejected.revert('20')
    await rejected.isAsked('COMPLETE', ...sums, back('54'))
    await rejected.reject()
    for (const _ of [1, 2]) await rejected.isAsked('COMPLETE', ...sums, back('54'))
    assert.deepEqual(await found(rejected), ['20 rejected', '24 settled console', '54.000000 USDC'])
  })

test('a part that is refunded, and that Whitepay lists as sent back, is no loss, and the whole price after it pays', async () => {
  for (const isSettledFirst of [true, false]) {
    const { books, find, isAsked, open, refundFirst, refunds, settle, tells } = await openRefunded()
    await tells('PARTIALLY_FULFILLED', came('30'))
    await refundFirst()
    if (isSettledFirst) await settle()
    for (const _ of [1, 2]) await isAsked('PARTIALLY_FULFILLED', came('30'), back('30'))
    if (!isSettledFirst) await settle()
    assert.deepEqual([await open(), await refunds(), await books()], [[], ['30 settled'], []], `${isSettledFirst}`)
    assert.equal(await tells('PARTIALLY_FULFILLED', came('30'), back('30'), came('24')), 'AWAITING')
    assert.deepEqual(await open(), ['under 24000000 USDC open'])
    for (const _ of [1, 2]) assert.equal(await tells('COMPLETE', came('30'), back('30'), came('54')), 'PAID')
    assert.deepEqual([await open(), (await find()).priceUnits], [[], 54_000_000n])
    await isAsked('COMPLETE', came('30'), back('30'), came('54'))
    assert.deepEqual([await refunds(), await books()], [['30 settled'], ['company_payable -54', 'payer_clearing 54']])
  }
})

test('a part that a person ignored and sent back is in the books no more, and the whole price after it pays', async () => {
  const { books, find, ignoreAll, isAsked, open, records, refunds, tells } = await openRefunded()
  await tells('PARTIALLY_FULFILLED', came('30'))
  await ignoreAll()
  await isAsked('PARTIALLY_FULFILLED', came('30'), back('10'))
  assert.deepEqual(await records(), ['under 20000000 USDC ignored'])
  await isAsked('PARTIALLY_FULFILLED', came('30'), back('30', 'OPEN'))
  assert.deepEqual(await books(), ['payer_clearing 20', 'suspense -20'], 'it is announced only')
  for (const _ of [1, 2]) {
    await isAsked('PARTIALLY_FULFILLED', came('30'), back('30'))
    assert.deepEqual([await records(), await books()], [['under 0 USDC resolved'], []])
  }
  for (const _ of [1, 2]) {
    assert.equal(await tells('COMPLETE', came('30'), back('30'), came('54')), 'PAID')
    await isAsked('COMPLETE', came('30'), back('30'), came('54'))
  }
  assert.deepEqual([await open(), await refunds(), (await find()).priceUnits], [[], [], 54_000_000n])
})

test('a part that was sent back before a person decided about the rest never counts again', async () => {
  const { books, isAsked, open, refundFirst, refunds, settle, tells } = await openRefunded()
  const first = [came('30'), back('10')]
  await tells('PARTIALLY_FULFILLED', came('30'))
  await isAsked('PARTIALLY_FULFILLED', ...first)
  assert.deepEqual(await open(), ['under 20000000 USDC open'])
  await refundFirst()
  for (const more of [[], [back('20')], [back('20')]]) {
    await isAsked('PARTIALLY_FULFILLED', ...first, ...more)
    assert.deepEqual([await open(), await refunds()], [[], ['20 ready']])
  }
  await settle()
  assert.deepEqual(await books(), [])
  // all of it went back, and came again
  const again = await openRefunded()
  await again.tells('DECLINED', came('30'))
  await again.isAsked('DECLINED', came('30'), back('30'))
  await again.isAsked('DECLINED', came('30'), back('30'), came('30'))
  await again.refundFirst()
  for (const _ of [1, 2]) await again.isAsked('DECLINED', came('30'), back('30'), came('30'))
  assert.deepEqual([await again.open(), await again.refunds()], [[], ['30 ready']])
})

test('the rejected refund of a part that Whitepay lists as sent back leaves nothing that waits', async () => {
  const { books, isAsked, open, refundFirst, refunds, reject, tells } = await openRefunded()
  await tells('DECLINED', came('30'))
  await refundFirst()
  await isAsked('DECLINED', came('30'), back('30'))
  await reject()
  await isAsked('DECLINED', came('30'), back('30'))
  assert.deepEqual([await open(), await refunds(), await books()], [[], ['30 rejected'], []])
})

test('a return that an earlier version booked as a loss becomes a refund, whoever bore the loss', async () => {
  for (const by of [undefined, 'company', 'operator'] as const) {
    const { apply, books, isAsked, key, open, order, refunds, reports, tells } = await openRefunded()
    await tells('COMPLETE', came('54'))
    const { returned: _, ...told } = { returned: 0n, ...reports('COMPLETE', came('54'), back('54')) }
    await apply(told as never)
    assert.deepEqual(await open(), ['orphaned 54000000 USDC open'])
    await world.host.db.run(sql`update payments set returns_gone_units = null where id = ${key.id}`)
    const { id } = await world.host.db.one<{ id: string }>(
      sql`select id from mispayments where order_id = ${order.id} and kind = 'orphaned'`,
    )
    if (by) await bearLoss(world.mispayments, contextFor(world.operator), id, { by })
    for (const _ of [1, 2]) await isAsked('COMPLETE', came('54'), back('54'))
    assert.deepEqual([await open(), await refunds(), await books()], [[], ['54 settled console'], []], by)
  }
})

test('an overpayment that went back while a refund was asked for is no refund once that is rejected', async () => {
  // Whitepay returned it, or staff did as they are told
  for (const [sums, returned] of [
    [[came('60')], '6'],
    [[came('84'), kept('30')], '30'],
  ] as const) {
    const { books, isAsked, open, refunds, revert, reject, tells } = await openRefunded()
    await tells('COMPLETE', ...sums)
    await revert('20')
    await isAsked('COMPLETE', ...sums, back(returned))
    await reject()
    for (const _ of [1, 2]) await isAsked('COMPLETE', ...sums, back(returned))
    assert.deepEqual([await open(), await refunds()], [[], ['20 rejected']])
    assert.deepEqual(await books(), ['company_payable -54', 'payer_clearing 54'])
  }
})

for (const [coin, sum] of [
  [BTC, '0.000000481252853520'],
  [{ asset: 'USDT', expected: '53.95' }, '20'],
] as const)
  test(`a part that a person refunds in the CRM, at its rate of the payer’s coin, stops no payouts: ${coin.asset}`, async () => {
    for (const isSeenFirst of [true, false]) {
      const { books, isAsked, key, refunds, revert, settle, tells } = await openRefunded(coin)
      await tells('COMPLETE', came(coin.expected))
      await revert('20')
      if (isSeenFirst) await isAsked('COMPLETE', came(coin.expected), back(sum))
      await settle()
      for (const _ of [1, 2]) await isAsked('COMPLETE', came(coin.expected), back(sum))
      assert.deepEqual([await refunds(), await books()], [['20 settled'], ['company_payable -34', 'payer_clearing 34']])
      await world.books.check(key.companyId)
    }
  })

const WAITS = ['wrong_token 30000000000000000000 USDT open']
for (const [word, sum] of [
  ['COMPLETE', '54'],
  ['COMPLETE', '20'],
  ['DECLINED', '20'],
  ['DECLINED', '54'],
] as const)
  test(`an overpayment that only its event told of still waits after a refund in the CRM: ${word}, ${sum}`, async () => {
    const { announces, books, isAsked, open, refunds, tells } = await openRefunded()
    assert.equal(await tells('COMPLETE', came('54')), 'PAID')
    await announces('30', 9)
    await isAsked('COMPLETE', came('54'))
    assert.deepEqual(await open(), WAITS)
    for (const _ of [1, 2]) await isAsked(word, came('54'), back(sum))
    await announces('30', 9)
    assert.deepEqual([await open(), await refunds()], [WAITS, [`${sum} settled console`]])
    const rest = 54 - Number(sum)
    assert.deepEqual(await books(), rest === 0 ? [] : [`company_payable -${rest}`, `payer_clearing ${rest}`])
  })

test('the same of money that came too late, whether a person decided about it before it went back or not', async () => {
  for (const isDecided of [true, false]) {
    const { announces, books, isAsked, open, order, refundFirst, refunds, tells } = await openRefunded()
    await world.host.db.run(sql`update orders set status = 'CANCELLED', updated_at = now() where id = ${order.id}`)
    await tells('COMPLETE', came('54'))
    assert.deepEqual(await open(), ['late 54000000 USDC open'])
    if (isDecided) await refundFirst()
    await announces('30', 9)
    for (const _ of [1, 2]) await isAsked('COMPLETE', came('54'), back('54'))
    await announces('30', 9)
    assert.deepEqual([await open(), await refunds()], [WAITS, isDecided ? ['54 ready'] : []])
    assert.deepEqual(await books(), isDecided ? ['payer_clearing 54', 'refunds -54'] : [])
  }
})

test('of an accepted part, what an event tells of is that part, and waits for nobody', async () => {
  const { announces, context, find, isAsked, open, order, tells } = await openRefunded()
  await tells('PARTIALLY_FULFILLED', came('30'))
  const { id } = await world.host.db.one<{ id: string }>(
    sql`select id from mispayments where order_id = ${order.id} and kind = 'under'`,
  )
  await acceptMispayment(world.mispayments, context, id, { reason: 'enough' })
  await announces('30', 9)
  for (const word of ['PARTIALLY_FULFILLED', 'DECLINED']) await isAsked(word, came('30'))
  assert.deepEqual([await open(), (await find()).priceUnits], [[], 30_000_000n])
})

test('a part was refunded by a withdrawal, and days later Whitepay returns as much by itself: somebody is told', async () => {
  const { books, isAsked, refundFirst, refunds, settle, tells } = await openRefunded()
  await tells('PARTIALLY_FULFILLED', came('30'))
  await refundFirst()
  await settle()
  const all = [came('30'), came('54')]
  assert.equal(await tells('COMPLETE', ...all), 'PAID')
  world.clock.nowMs += 3 * DAY
  for (const _ of [1, 2]) await isAsked('COMPLETE', ...all, madeAt('30', world.clock.nowMs))
  assert.deepEqual(await refunds(), ['30 settled'])
  assert.deepEqual(await books(), ['company_payable -54', 'payer_clearing 54', '30.000000 USDC'])
})

test('a refund that was settled by hand is not the one that is made in the CRM days later, whenever either is read', async () => {
  for (const [days, differs] of [
    [-1, []],
    [0, []],
    [1, []],
    [3, ['54.000000 USDC']],
  ] as const) {
    const { books, isAsked, refunds, revert, settle, tells } = await openRefunded()
    await tells('COMPLETE', came('54'))
    await revert()
    await settle()
    const atMs = world.clock.nowMs + days * DAY
    await isAsked('COMPLETE', came('54'))
    world.clock.nowMs += 10 * DAY
    for (const _ of [1, 2]) await isAsked('COMPLETE', came('54'), madeAt('54', atMs))
    assert.deepEqual([await refunds(), await books()], [['54 settled'], differs], `${days}`)
  }
})

test('a later refund from the console takes nothing from the one that was settled by hand before', async () => {
  const { books, isAsked, refunds, revert, settle, tells } = await openRefunded()
  await tells('COMPLETE', came('54'))
  await revert('20')
  await settle()
  const first = madeAt('19', world.clock.nowMs)
  await isAsked('COMPLETE', came('54'), first)
  world.clock.nowMs += 5 * DAY
  for (const _ of [1, 2]) await isAsked('COMPLETE', came('54'), first, madeAt('35', world.clock.nowMs))
  assert.deepEqual([await refunds(), await books()], [['20 settled', '34 settled console'], []])
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { DAY } from '../src/kernel/clock.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { back, came, kept, openRefundedIn } from './harness/whitepay-refunds.ts'

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

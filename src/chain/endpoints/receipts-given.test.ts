import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SECOND } from '../../kernel/clock.ts'
import { ReceiptsGiven } from './receipts-given.ts'

/** Questions of an endpoint that gives no receipts, each so long after the one before. */
function open(gaveSome: boolean) {
  const time = { nowMs: 0 }
  const receipts = new ReceiptsGiven(() => time.nowMs)
  if (gaveSome) receipts.begin()?.(true)
  const fail = async (afterMs: number, takesMs = 0): Promise<boolean | null> => {
    time.nowMs += afterMs
    const note = receipts.begin()
    if (note && takesMs > 0) await sleep(takesMs)
    return note?.(false) ?? null
  }
  return { time, receipts, fail }
}

test('an endpoint that gave receipts has none only while it gives none each time it is asked', async () => {
  const { fail, receipts } = open(true)
  assert.deepEqual([await fail(0), await fail(19 * SECOND), await fail(SECOND)], [false, false, true])
  assert.equal(await fail(19 * SECOND), true)
  assert.equal(await fail(20 * SECOND), false, 'it may have given some meanwhile')
  assert.deepEqual([await fail(19 * SECOND), await fail(SECOND), receipts.begin()?.(true)], [false, true, false])
  assert.equal(await fail(SECOND), false)
})

test('an endpoint that never gave receipts has none until it gives some', async () => {
  const { fail, receipts } = open(false)
  assert.deepEqual([await fail(0), await fail(19 * SECOND), await fail(SECOND)], [false, false, true])
  assert.equal(await fail(3600 * SECOND), true)
  assert.deepEqual([receipts.begin()?.(true), await fail(SECOND)], [false, false])
})

test('one that has none and takes long to give none is asked every 20 seconds, and begins not again for that', async () => {
  const { fail } = open(true)
  assert.deepEqual([await fail(0), await fail(15 * SECOND), await fail(5 * SECOND, 1010)], [false, false, true])
  assert.deepEqual([await fail(SECOND), await fail(18 * SECOND)], [null, null])
  assert.equal(await fail(SECOND), true)
  assert.equal(await fail(SECOND), true, 'this one refused at once')
})

test('questions that are open at once, and a clock that is set back, count once', async () => {
  const { time, receipts, fail } = open(true)
  const [first, second] = [receipts.begin(), receipts.begin()]
  time.nowMs += 10 * SECOND
  assert.deepEqual([first?.(false), second?.(false)], [false, false])
  time.nowMs -= 3600 * SECOND
  assert.deepEqual([await fail(0), await fail(19 * SECOND), await fail(SECOND)], [false, false, true])
})

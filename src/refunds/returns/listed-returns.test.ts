import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY } from '../../kernel/clock.ts'
import { matchReturns } from './listed-returns.ts'

const on = (day: number): Date => new Date(day * DAY)
type Sum = readonly [units: bigint, day: number]
const refundsOf = (sums: readonly Sum[]) => sums.map(([units, day]) => ({ units, settledAt: on(day) }))

/**
 * @param returns units and the day on which they were made
 * @param of `gone`: units, and the day of the newest return before; `unplaced`: units, and that of the newest then
 */
function match(
  returns: readonly Sum[],
  of: { refunded: bigint; gone?: Sum; unplaced?: Sum; known?: readonly Sum[]; byHand?: readonly Sum[] },
) {
  const made = returns.map(([units, day]) => ({ units, at: on(day) }))
  const complete = returns.reduce((sum, [units]) => sum + units, 0n)
  const { gone, unplaced, known = [], byHand = [] } = of
  const parts = [
    ...(gone ? [{ units: gone[0], after: on(gone[1]) }] : []),
    ...(unplaced ? [{ units: unplaced[0], after: 'unknown' as const, until: on(unplaced[1]) }] : []),
  ]
  const read = { gone: parts, ignored: 0n, isAll: false }
  const refunds = { known: refundsOf(known), byHand: refundsOf(byHand) }
  return matchReturns({ units: complete, complete, made, read }, of.refunded, refunds)
}

test('a return is the refund that was settled by hand until two days after that, and not later', () => {
  for (const [day, byHand] of [
    [-9, 20n],
    [2, 20n],
    [3, 0n],
  ] as const)
    assert.deepEqual(match([[20n, day]], { refunded: 20n, byHand: [[20n, 0]] }), { known: 0n, byHand })
})

test('what is gone is the oldest return that was new when that was told, and no refund', () => {
  const returns = [[54n, 0] as const, [54n, 10]] as const
  const byHand = [[54n, 1]] as const
  assert.deepEqual(match(returns, { refunded: 54n, gone: [54n, -1], byHand }), { known: 0n, byHand: 0n })
  assert.deepEqual(match(returns, { refunded: 54n, gone: [54n, 0], byHand }), { known: 0n, byHand: 54n })
  // no list was told before, or all of it was told before
  assert.deepEqual(match(returns, { refunded: 54n, gone: [54n, 10], byHand }), { known: 0n, byHand: 0n })
})

test('ignored money may come back at any time, and takes no return from a refund', () => {
  for (const day of [0, 9]) {
    const found = match([[54n, 0] as const, [30n, day]], { refunded: 54n, byHand: [[54n, 0]] })
    assert.deepEqual(found, { known: 0n, byHand: 54n })
  }
  assert.deepEqual(match([[20n, 0]], { refunded: 0n, byHand: [[20n, 0]] }), { known: 0n, byHand: 0n })
})

test('a return that is booked is no other refund, and takes no return from one', () => {
  const other = match([[20n, 0] as const, [14n, 10]], { refunded: 34n, known: [[20n, 0]], byHand: [[20n, 1]] })
  assert.deepEqual(other, { known: 20n, byHand: 0n })
  const later = match([[19n, 0] as const, [35n, 5]], { refunded: 54n, known: [[34n, 5]], byHand: [[20n, 0]] })
  assert.deepEqual(later, { known: 34n, byHand: 19n })
})

test('a return that bounced and is sent anew, or whose time is ahead of ours, is the refund that was booked', () => {
  assert.deepEqual(match([[20n, 6]], { refunded: 20n, known: [[20n, 0]] }), { known: 20n, byHand: 0n })
})

test('what is gone takes no return from a refund where nobody knows when it was told', () => {
  const returns = [[20n, 0] as const, [30n, 10]] as const
  const [known, byHand] = [[[20n, 0]], [[20n, 0]]] as const
  const unplaced = [30n, 10] as const
  assert.deepEqual(match(returns, { refunded: 20n, unplaced, known }), { known: 20n, byHand: 0n })
  assert.deepEqual(match(returns, { refunded: 20n, unplaced, byHand }), { known: 0n, byHand: 20n })
})

test('what was gone when only older returns were listed hides no later one behind a refund by hand', () => {
  const [unplaced, byHand] = [[30n, 0] as const, [[20n, 1]] as const]
  const later = match([[30n, 0] as const, [20n, 15]], { refunded: 20n, unplaced, byHand })
  assert.deepEqual(later, { known: 0n, byHand: 0n })
  // what is left of those that were listed may be the refund
  const spare = match([[20n, 0] as const, [30n, 0], [54n, 15]], { refunded: 74n, unplaced, byHand })
  assert.deepEqual(spare, { known: 0n, byHand: 20n })
})

test('a return without a time may be any refund, and one in progress may be any return', () => {
  const list = { units: 20n, complete: 20n, made: [] }
  const none = matchReturns(list, 20n, { known: [], byHand: refundsOf([[20n, 0]]) })
  assert.deepEqual(none, { known: 0n, byHand: 20n })
  const made = [{ units: 20n, at: on(9) }]
  const running = matchReturns({ ...list, made }, 20n, { known: [{ units: 30n, settledAt: null }], byHand: [] })
  assert.deepEqual(running, { known: 20n, byHand: 0n })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Known, splitReturned } from './returned-money.ts'

const PRICE = 54n
const nothing: Known = { goneUnits: 0n, committed: 0n, expected: 0n, ignored: 0n, beside: 0n }
const split = (final: bigint, returned: { units: bigint; complete: bigint }, known: Partial<Known>) =>
  splitReturned({ final, returned: { ...returned, made: [] } }, { ...nothing, ...known })
const all = { units: PRICE, complete: PRICE }

test('what goes back before it paid anything is gone, and what comes then pays', () => {
  assert.deepEqual(split(0n, all, { goneUnits: null }), { final: 0n, goneUnits: PRICE, refunded: 0n })
  assert.deepEqual(split(PRICE, all, { goneUnits: PRICE }), { final: PRICE, goneUnits: PRICE, refunded: 0n })
})

test('what goes back of a price that was paid is a refund, and still counts as received', () => {
  const asked = { committed: PRICE, expected: PRICE }
  assert.deepEqual(split(0n, all, asked), { final: PRICE, goneUnits: 0n, refunded: PRICE })
  const fromConsole = { committed: PRICE }
  assert.deepEqual(split(0n, all, fromConsole), { final: PRICE, goneUnits: 0n, refunded: PRICE })
  const part = { units: 20n, complete: 20n }
  assert.deepEqual(split(34n, part, fromConsole), { final: PRICE, goneUnits: 0n, refunded: 20n })
})

test('a return that is only announced refunds nothing yet, and takes nothing away', () => {
  const announced = { units: PRICE, complete: 0n }
  assert.deepEqual(split(0n, announced, { committed: PRICE }), { final: PRICE, goneUnits: 0n, refunded: 0n })
})

test('of more than the price, what nobody refunds goes back first from what waits', () => {
  const above = { units: 30n, complete: 30n }
  assert.deepEqual(split(PRICE, above, { committed: PRICE }), { final: PRICE, goneUnits: 30n, refunded: 0n })
  const asked = { committed: PRICE, expected: 30n }
  assert.deepEqual(split(PRICE, above, asked), { final: 84n, goneUnits: 0n, refunded: 30n })
})

test('what a person ignored goes back as no refund', () => {
  const ignored = { committed: 84n, expected: 30n, ignored: 30n }
  const back = { units: 30n, complete: 30n }
  assert.deepEqual(split(PRICE, back, ignored), { final: 84n, goneUnits: 0n, refunded: 0n })
})

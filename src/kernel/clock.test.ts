import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isRecent, isYounger, toIsoText } from './clock.ts'

test('a time is written as Date.prototype.toISOString writes it, in every year that has one', () => {
  fc.assert(fc.property(fc.date({ noInvalidDate: true }), (at) => toIsoText(at) === at.toISOString()))
  for (const text of ['1969-12-31T23:59:59.999Z', '2026-11-26T23:59:59.999Z', '2026-11-27T00:00:00.000Z'])
    assert.equal(toIsoText(new Date(text)), text)
})

test('what is read is young for its time only, and not once the clock was set back behind it', () => {
  assert.deepEqual(
    [999, 1000, 1099, 1100].map((nowMs) => isYounger(1000, 100, nowMs)),
    [false, true, true, false],
  )
})

test('what another node wrote is recent though its clock is half a minute ahead, and no further', () => {
  assert.deepEqual(
    [-30_001, -30_000, 0, 99, 100].map((agedMs) => isRecent(1000, 100, 1000 + agedMs)),
    [false, true, true, true, false],
  )
})

test('an invalid date is refused', () => {
  assert.throws(() => toIsoText(new Date(Number.NaN)), RangeError)
})

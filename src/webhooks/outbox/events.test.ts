import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_EVENTS, EVENTS, isSubscribed, OPTIONAL_EVENTS } from './events.ts'

test('sixteen events, four of them for everybody', () => {
  assert.equal(new Set(EVENTS).size, 16)
  assert.equal(OPTIONAL_EVENTS.length, 12)
  for (const event of DEFAULT_EVENTS) assert.equal(isSubscribed([], event), true)
  for (const event of OPTIONAL_EVENTS)
    assert.deepEqual([isSubscribed([], event), isSubscribed([event], event)], [false, true])
})

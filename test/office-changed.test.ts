import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changed, moved, withChanges } from '../web/office/src/kit/changed.ts'

test('only what differs from what was shown is sent', () => {
  const shown = { name: 'Bread', price: '12.00', minAmount: null, pagePrice: false }
  assert.deepEqual(changed(shown, { name: 'Good bread', price: '12.00', minAmount: undefined, pagePrice: false }), {
    name: 'Good bread',
  })
  assert.deepEqual(changed(shown, { price: null, pagePrice: true }), { price: null, pagePrice: true })
})

test('a list keeps what a colleague added and stays without what a colleague removed', () => {
  assert.deepEqual(withChanges(['a', 'new'], ['a', 'gone'], ['a', 'gone', 'mine']), ['a', 'new', 'mine'])
  assert.deepEqual(withChanges(['a', 'b', 'new'], ['a', 'b'], ['a']), ['a', 'new'])
  assert.deepEqual(withChanges(['a', 'mine'], ['a'], ['a', 'mine']), ['a', 'mine'])
})

test('a move keeps what a colleague moved meanwhile, and moving back undoes that move alone', () => {
  // shown: a b c d; a colleague moved d above c
  const now = ['a', 'b', 'd', 'c']
  const next = moved(now, 'a', { by: 1, past: 'b' })
  assert.deepEqual(next, ['b', 'a', 'd', 'c'])
  assert.deepEqual(moved(next, 'd', { by: 1, past: 'c' }), ['b', 'a', 'c', 'd'], 'the colleague presses Undo')
  assert.deepEqual(moved(next, 'a', { by: -1, past: 'b' }), now)
  assert.deepEqual(moved(next, 'a', { by: -1, past: 'gone' }), next)
})

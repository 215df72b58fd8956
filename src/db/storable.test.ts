import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toStorable, toStorableText } from './storable.ts'

test('a foreign text loses what no database takes, and keeps the rest', () => {
  assert.equal(toStorableText('reverted: \0\0Error\0'), 'reverted: Error')
  assert.equal(toStorableText('half \ud83d, whole 😀'), 'half \ufffd, whole 😀')
})

test('a foreign text is cut at its limit, and not inside of a character that is stored', () => {
  assert.equal(toStorableText('x'.repeat(1000)), 'x'.repeat(1000))
  assert.equal(toStorableText('x'.repeat(1001)), `${'x'.repeat(999)}…`)
  assert.equal(toStorableText('a😀bc', 3), 'a\ufffd…')
})

test('a foreign object is cleaned at every depth, its names too, and keeps what is no text', () => {
  const at = new Date(0)
  const given = { 'na\0me': ['a\0', { deep: '\udc00' }], units: 5n, at, none: null }
  assert.deepEqual(toStorable(given), { name: ['a', { deep: '\ufffd' }], units: 5n, at, none: null })
})

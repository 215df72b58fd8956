import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Knowledge } from '../../channels/account-probe.ts'
import { binance } from '../../channels/binance/adapter.ts'
import { readSettings } from '../../channels/kind.ts'
import { AppError } from '../../kernel/errors.ts'
import { chooseMarks } from './account-identity.ts'

const valuesOf = (secret: string, terminal = 'WEB') => ({
  API_KEY: `key-${secret}`,
  API_SECRET: secret,
  TERMINAL_TYPE: terminal,
})

type Marks = Record<string, Knowledge>
/** What an account with these secrets gets: marks of payments, `new` for one that none has; `409` if it is refused. */
function choose(
  answers: Marks,
  {
    last,
    secret = 'new',
    terminal,
    isForced = false,
  }: Partial<Record<'secret' | 'terminal', string>> & {
    last?: string[]
    isForced?: boolean
  } = {},
): string[] | '409' {
  const recognition = new Map(Object.entries(answers).map(([mark, said]) => [mark === 'none' ? null : mark, said]))
  const before = last && { accountMarks: last, reading: readSettings(binance, valuesOf('old')) }
  const asked = [...(last ?? []), ...Object.keys(answers)]
  try {
    const choice = { kind: binance, values: valuesOf(secret, terminal), before, recognition, isForced }
    return chooseMarks(choice).map((mark) => (asked.includes(mark) ? mark : 'new'))
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'ACCOUNT_IN_USE')
    return '409'
  }
}

test('an account has the marks whose payments it knows, whichever account is saved before it', () => {
  assert.deepEqual(choose({ a: 'known', b: 'strange' }), ['a'])
  assert.deepEqual(choose({ a: 'known', b: 'strange' }, { last: ['b'] }), ['a'])
  assert.deepEqual(choose({ a: 'known', b: 'silent' }, { last: ['b'] }), ['a'])
  assert.deepEqual(choose({ a: 'known' }, { last: ['b'] }), ['a'], 'an account without payments is not the same')
  assert.deepEqual(choose({ a: 'known', b: 'known' }, { last: ['b'] }), ['b', 'a'], 'one account under two marks')
  assert.deepEqual(choose({ a: 'known', b: 'strange', c: 'known' }, { last: ['c', 'b'] }), ['c', 'a'])
})

test('an account that does not know what the one before has is another one, also while nothing is open there', () => {
  assert.deepEqual(choose({ a: 'strange' }, { last: ['a'] }), ['new'])
  assert.deepEqual(choose({}, { last: ['a'] }), ['new'])
  assert.deepEqual(choose({}), ['new'])
})

test('the same secrets are the same account, whatever else is set, and find what it has under other marks', () => {
  assert.deepEqual(choose({ a: 'silent' }, { last: ['a'], secret: 'old', terminal: 'APP' }), ['a'])
  assert.deepEqual(choose({ a: 'strange' }, { last: ['a'], secret: 'old' }), ['a'])
  assert.deepEqual(choose({ a: 'known' }, { last: ['b'], secret: 'old' }), ['b', 'a'])
})

test('a provider that does not answer is no word: only force saves the account, as another one', () => {
  for (const last of [undefined, ['a'], ['b']]) {
    assert.equal(choose({ a: 'silent' }, { ...(last && { last }) }), '409')
    assert.equal(choose({ a: 'silent', b: 'strange' }, { ...(last && { last }) }), '409')
    assert.deepEqual(choose({ a: 'silent' }, { ...(last && { last }), isForced: true }), ['new'])
  }
})

test('refused secrets are no word either, also those of an account that is put back or of another one', () => {
  for (const last of [undefined, ['b'], ['c', 'b']]) {
    const before = last && { last }
    assert.equal(choose({ a: 'refused', b: 'refused' }, { ...before }), '409')
    assert.equal(choose({ b: 'refused', a: 'silent' }, { ...before }), '409')
    assert.deepEqual(choose({ b: 'refused' }, { ...before, isForced: true }), ['new'])
  }
  assert.deepEqual(choose({ b: 'refused' }, { last: ['b'], secret: 'old' }), ['b'], 'the same secrets as before')
})

test('payments without a mark are anybody’s: they tell only where nothing else does', () => {
  assert.deepEqual(choose({ none: 'known' }, { last: ['a'] }), ['a'])
  assert.deepEqual(choose({ none: 'known', a: 'strange' }, { last: ['a'] }), ['new'])
  assert.deepEqual(choose({ none: 'known', a: 'known' }, { last: ['b'] }), ['a'])
  assert.deepEqual(choose({ none: 'known' }), ['new'])
  assert.equal(choose({ none: 'refused' }, { last: ['a'] }), '409')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseLanguage } from '../../texts/languages.ts'
import { plainToken, showFiat, showRate, showSpan, showTime, showToken } from './format.ts'

test('amounts keep every digit, however large', () => {
  const units = 123_456_789_012_345_678_901_234n
  assert.equal(showToken({ asset: 'USDC', units }, 'en-GB'), '123,456,789,012,345,678.901234')
  assert.equal(plainToken({ asset: 'USDC', units }), '123456789012345678.901234')
})

test('amounts for pasting have a point, two digits or more after it, but never three, and lose none', () => {
  const cases: [bigint, string][] = [
    [58_320_000n, '58.32'],
    [58_000_000n, '58.00'],
    [58_300_000n, '58.30'],
    [1n, '0.000001'],
    [1_234_500n, '1.2345'],
    [1_000_000_000n, '1000.00'],
    // three digits after a point: a German or an Italian would read 53 thousand
    [53_892_000n, '53.8920'],
  ]
  for (const [units, text] of cases) assert.equal(plainToken({ asset: 'USDC', units }), text)
})

test('fiat is written as in its country, with the digits that it has', () => {
  assert.equal(showFiat({ asset: 'EUR', units: 5400n }, 'en-GB'), '€54.00')
  assert.equal(showFiat({ asset: 'EUR', units: 5400n }, 'de-DE').replace(/\s/g, ' '), '54,00 €')
  assert.doesNotMatch(showFiat({ asset: 'XPF', units: 6000n }, 'en-GB'), /[.]\d/)
  assert.equal(showRate(1_080_000_000_000n, 'en-GB'), '1.08')
  assert.equal(showRate(9_050_000_000n, 'en-GB'), '0.00905')
})

test('spans count down to zero and no further', () => {
  assert.deepEqual([872_000, 59_001, 0, -5000, 3_905_000].map(showSpan), ['14:32', '1:00', '0:00', '0:00', '1:05:05'])
  assert.equal(showTime(new Date('2026-11-20T12:46:10Z'), 'en-GB'), '20 Nov 2026, 12:46 UTC')
})

test('the language asked for wins, then the one chosen before, then the browser’s, then English', () => {
  assert.equal(chooseLanguage({ asked: 'de', remembered: 'fr', accepted: 'es' }), 'de')
  assert.equal(chooseLanguage({ remembered: 'fr', accepted: 'es' }), 'fr')
  assert.equal(chooseLanguage({ accepted: 'nl, es-ES;q=0.8, it;q=0.5' }), 'es')
  assert.equal(chooseLanguage({}), 'en')
  assert.equal(chooseLanguage({ asked: 'xx', accepted: 'yy,en-US;q=0.8' }), 'en')
  assert.equal(chooseLanguage({ asked: 'constructor', accepted: '__proto__' }), 'en')
})

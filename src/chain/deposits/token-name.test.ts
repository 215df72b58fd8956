import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeText, labelOf, MOST_TOKENS, readsLikeUsdc, readTokenNames } from './token-name.ts'

test('USDC, its bridged forms, and USDC in letters of other scripts read like USDC; other dollars do not', () => {
  for (const text of [
    'USDC',
    'usdc.e',
    'USDbC',
    'axlUSDC',
    'USD Coin',
    'USD Coin (PoS)',
    'UЅDС',
    'U\u200bSDC',
    'ＵＳＤＣ',
  ])
    assert.ok(readsLikeUsdc(text), text)
  for (const text of ['USDT', 'DAI', 'EURC', 'USDe', 'GUSD', '', 'Circus']) assert.ok(!readsLikeUsdc(text), text)
})

test('a contract’s text is read as string or bytes32, never longer than 100 bytes, and its label is no bare USDC', () => {
  const text = (word: string) =>
    `0x${'20'.padStart(64, '0')}${word.length.toString(16).padStart(64, '0')}${Buffer.from(word).toString('hex').padEnd(64, '0')}`
  assert.equal(decodeText(text('USDC')), 'USDC')
  assert.equal(decodeText(`0x${Buffer.from('MKR').toString('hex').padEnd(64, '0')}`), 'MKR')
  assert.equal(decodeText(`0x${'20'.padStart(64, '0')}${'f'.repeat(64)}`), '')
  assert.equal(decodeText('0x'), '')
  const token = `0x12ab${'0'.repeat(32)}cd34`
  assert.equal(labelOf(token, 'USDC'), 'USDC (0x12ab…cd34)')
  assert.equal(labelOf(token, '<img src=x onerror=alert(1)>'), 'imgsrcxonerr (0x12ab…cd34)')
  assert.equal(labelOf(token, '\u202e'), '0x12ab…cd34')
})

test('a transaction of a thousand tokens asks a node for twenty names', async () => {
  const tokens = Array.from({ length: 1000 }, (_, index) => `0x${index.toString(16).padStart(40, '0')}`)
  const asked: unknown[] = []
  const call = async <Result>(_method: string, ...params: unknown[]): Promise<Result> => {
    asked.push(params)
    return '0x' as Result
  }
  const names = await readTokenNames({ call }, tokens)
  assert.deepEqual([asked.length, [...names.keys()]], [2 * MOST_TOKENS, tokens.slice(0, MOST_TOKENS)])
})

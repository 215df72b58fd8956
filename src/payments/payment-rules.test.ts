import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR, MINUTE, SECOND } from '../kernel/clock.ts'
import type { Money } from '../kernel/money.ts'
import { acceptsLate, minAcceptedUnits, nextCheckDelayMs, priceUnitsOf } from './payment-rules.ts'

const ENDED = new Date('2026-03-01T12:00:00Z')
type Policy = Parameters<typeof acceptsLate>[3]
const POLICY = {
  ...{ toleranceBps: 50, toleranceMaxUnits: '1000000', lateAcceptHours: 24, lateAfterCancel: 'hold', feeBps: 0 },
} as const satisfies Partial<Policy>

const after = (ms: number, status: 'EXPIRED' | 'CANCELLED' | 'ERROR', more: Partial<Policy> = {}): boolean =>
  acceptsLate(status, ENDED, ENDED.getTime() + ms, { ...POLICY, ...more })

test('late money is accepted up to 24 hours after expiry, and a second later it is not', () => {
  assert.equal(after(24 * HOUR - SECOND, 'EXPIRED'), true)
  assert.equal(after(24 * HOUR, 'EXPIRED'), true)
  assert.equal(after(24 * HOUR + SECOND, 'EXPIRED'), false)
  assert.equal(after(SECOND, 'EXPIRED', { lateAcceptHours: 0 }), false)
})

test('after a cancel or an error late money is held, unless the company accepts it, and then for the same hours', () => {
  for (const status of ['CANCELLED', 'ERROR'] as const) {
    assert.equal(after(SECOND, status), false)
    assert.equal(after(24 * HOUR, status, { lateAfterCancel: 'accept' }), true)
    assert.equal(after(24 * HOUR + SECOND, status, { lateAfterCancel: 'accept' }), false)
    assert.equal(after(SECOND, status, { lateAfterCancel: 'accept', lateAcceptHours: 0 }), false)
  }
})

test('an address to which nothing came is looked at in minutes, not all at once; anything else in seconds', () => {
  const at = (checks: number, end = '7fff', channel: 'crypto' | 'binance' = 'crypto') => ({
    ...{ id: `${'0'.repeat(20)}${end}`, channel, checks },
  })
  const minutes = [0, 1, 2, 50].map((checks) => Math.round(nextCheckDelayMs(at(checks), 'awaiting') / MINUTE))
  assert.deepEqual(minutes, [5, 10, 15, 15])
  assert.deepEqual(
    ['0000', 'ffff'].map((end) => nextCheckDelayMs(at(0, end), 'awaiting')),
    [4 * MINUTE, 6 * MINUTE],
  )
  for (const status of ['confirming', 'creating', 'closing', 'failed'] as const)
    assert.equal(nextCheckDelayMs(at(0), status), 2 * SECOND)
  assert.equal(nextCheckDelayMs(at(0, '7fff', 'binance'), 'awaiting'), 2 * SECOND)
})

test('an amount of its own stays the price at a shared address; a fresh rate changes it, at a provider only upwards', () => {
  const to: Money = { asset: 'USDC', units: 54_000_000n }
  const price = (dueUnits: bigint, channel: 'crypto' | 'binance' = 'crypto'): bigint =>
    priceUnitsOf({ to }, { channel, dueUnits })
  assert.equal(price(54_000_990n), 54_000_990n)
  assert.equal(price(54_001_000n), 54_000_000n)
  assert.equal(price(50_000_000n), 54_000_000n)
  assert.equal(price(50_000_000n, 'binance'), 54_000_000n)
  assert.equal(price(60_000_000n, 'binance'), 60_000_000n)
})

test('a payment may be short by the tolerance, but nothing received pays nothing', () => {
  assert.equal(minAcceptedUnits(54_000_000n, POLICY), 53_730_000n)
  assert.equal(minAcceptedUnits(500_000_000n, POLICY), 499_000_000n)
  const all = { ...POLICY, toleranceBps: 10_000, toleranceMaxUnits: '54000000' }
  assert.equal(minAcceptedUnits(54_000_000n, all), 1n)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR, SECOND } from '../kernel/clock.ts'
import { acceptsLate } from './payment-rules.ts'

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

test('after a cancel or an error late money is held unless the company says otherwise', () => {
  for (const status of ['CANCELLED', 'ERROR'] as const) {
    assert.equal(after(SECOND, status), false)
    assert.equal(after(SECOND, status, { lateAfterCancel: 'accept' }), true)
  }
})

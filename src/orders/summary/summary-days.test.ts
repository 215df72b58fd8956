import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../kernel/errors.ts'
import { daysBefore } from './summary-days.ts'

const read = (now: string, count: number, zone: string): string[] =>
  daysBefore(Date.parse(now), count, zone).map(({ day, start }) => `${day} ${start.toISOString()}`)

test('days begin at the midnight of the zone, on the day that it is there', () => {
  assert.deepEqual(read('2026-11-23T14:30:00.123Z', 2, 'UTC'), [
    '2026-11-22 2026-11-22T00:00:00.000Z',
    '2026-11-23 2026-11-23T00:00:00.000Z',
  ])
  // in Nouméa the next day has begun
  assert.deepEqual(read('2026-11-23T14:30:00Z', 2, 'Pacific/Noumea'), [
    '2026-11-23 2026-11-22T13:00:00.000Z',
    '2026-11-24 2026-11-23T13:00:00.000Z',
  ])
  assert.deepEqual(read('2026-01-01T04:00:00Z', 1, 'America/New_York'), ['2025-12-31 2025-12-31T05:00:00.000Z'])
})

test('a day on which the clocks change has 25 or 23 hours', () => {
  assert.deepEqual(read('2026-10-26T12:00:00Z', 3, 'Europe/Paris'), [
    '2026-10-24 2026-10-23T22:00:00.000Z',
    '2026-10-25 2026-10-24T22:00:00.000Z',
    '2026-10-26 2026-10-25T23:00:00.000Z',
  ])
  assert.deepEqual(read('2026-03-30T12:00:00Z', 2, 'Europe/Berlin'), [
    '2026-03-29 2026-03-28T23:00:00.000Z',
    '2026-03-30 2026-03-29T22:00:00.000Z',
  ])
})

test('a zone that does not exist is refused', () => {
  assert.throws(
    () => daysBefore(0, 1, 'Mars/Olympus'),
    (error) => error instanceof AppError && error.code === 'VALIDATION_FAILED',
  )
})

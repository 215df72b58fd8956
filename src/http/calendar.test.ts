import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../kernel/errors.ts'
import { daysBefore, monthsBefore } from './calendar.ts'

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

test('a day whose midnight the clocks jump over begins after it', () => {
  // 28 March 2026, 24:00 in the Azores is 01:00 on the 29th
  assert.deepEqual(read('2026-03-30T12:00:00Z', 3, 'Atlantic/Azores'), [
    '2026-03-28 2026-03-28T01:00:00.000Z',
    '2026-03-29 2026-03-29T01:00:00.000Z',
    '2026-03-30 2026-03-30T00:00:00.000Z',
  ])
  // on 25 October midnight occurs twice; the day begins with the first
  assert.deepEqual(read('2026-10-25T12:00:00Z', 1, 'Atlantic/Azores'), ['2026-10-25 2026-10-25T00:00:00.000Z'])
  assert.deepEqual(read('2026-04-24T12:00:00Z', 1, 'Africa/Cairo'), ['2026-04-24 2026-04-23T22:00:00.000Z'])
  assert.deepEqual(read('2026-09-06T12:00:00Z', 1, 'America/Santiago'), ['2026-09-06 2026-09-06T04:00:00.000Z'])
})

test('months begin at midnight by the clocks of their first day, over the end of a year', () => {
  const months = monthsBefore(Date.parse('2026-03-31T22:30:00Z'), 5, 'Europe/Paris')
  assert.deepEqual(
    months.map(({ month, start }) => `${month} ${start.toISOString()}`),
    [
      '2025-12 2025-11-30T23:00:00.000Z',
      '2026-01 2025-12-31T23:00:00.000Z',
      '2026-02 2026-01-31T23:00:00.000Z',
      '2026-03 2026-02-28T23:00:00.000Z',
      '2026-04 2026-03-31T22:00:00.000Z',
    ],
  )
})

test('a zone that does not exist is refused', () => {
  assert.throws(
    () => daysBefore(0, 1, 'Mars/Olympus'),
    (error) => error instanceof AppError && error.code === 'VALIDATION_FAILED',
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { parseTimestamp } from './timestamps.ts'

const driver = pg.types.getTypeParser(1184, 'text') as unknown as (text: string) => Date | number

test('a timestamp reads as the driver reads it, whatever its form', () => {
  const written = [
    ...[
      '2026-11-22 13:05:09+00',
      '2026-11-22 13:05:09.1+00',
      '2026-11-22 13:05:09.12+00',
      '1969-12-31 23:59:59.999+00',
    ],
    ...['2026-02-28 23:59:59.999999+00', '2024-02-29 00:00:00.000001+00', '0044-03-15 12:00:00+00'],
    ...['0044-03-15 12:00:00+00 BC', '2026-11-22 13:05:09.5+02', '2026-11-22 13:05:09-03:30', 'infinity', '-infinity'],
    ...['12026-01-01 00:00:00+00'],
  ]
  for (const text of written) assert.deepEqual(parseTimestamp(text), driver(text), text)
  for (let ms = 0; ms < 4e12; ms += 987_654_321_987) {
    const text = new Date(ms).toISOString().replace('T', ' ').replace('Z', '+00')
    assert.equal(parseTimestamp(text).getTime(), ms, text)
  }
})

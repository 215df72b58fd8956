import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MINUTE, SECOND } from './clock.ts'
import { pollGapMs } from './poll-gaps.ts'

test('money that was sent is looked at every half minute for ten minutes: a slow chain delays no good news', () => {
  for (const kind of ['refund', 'settlement', 'sweep'] as const) {
    let passedMs = 0
    for (let checks = 0; passedMs < 10 * MINUTE; checks += 1) {
      const gapMs = pollGapMs(kind, checks)
      assert.ok(gapMs <= 30 * SECOND, `${kind}: ${gapMs} ms after ${passedMs} ms`)
      passedMs += gapMs
    }
    assert.equal(pollGapMs(kind, 1000), 5 * MINUTE)
  }
})

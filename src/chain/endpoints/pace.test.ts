import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pace } from './pace.ts'

test('calls count for a second after their answer: they may have reached the node only just before it', async () => {
  const pace = new Pace()
  const answered = await pace.wait(10, 10)
  await sleep(300)
  answered()
  const answeredAtMs = performance.now()
  const again = await pace.wait(10, 10)
  assert.ok(performance.now() - answeredAtMs >= 1000)
  again()
})

test('calls that are never answered count for two seconds, and keep no one longer', async () => {
  const pace = new Pace()
  const sentAtMs = performance.now()
  await pace.wait(10, 10)
  await pace.wait(10, 10)
  assert.ok(performance.now() - sentAtMs >= 2000)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { HOUR, SECOND } from '../../kernel/clock.ts'
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

test('a limit from before a restart grows while the node refuses nothing, and a refusal lowers what it has become', async (t) => {
  let nowMs = performance.now()
  t.mock.method(performance, 'now', () => nowMs)
  t.mock.method(globalThis, 'setTimeout', (work: () => void, delayMs: number) => {
    nowMs += delayMs
    queueMicrotask(work)
  })
  const pace = new Pace()
  const measure = async (limit: number): Promise<number> => {
    const untilMs = nowMs + 10 * SECOND
    let calls = 0
    for (; nowMs < untilMs; calls += 1) (await pace.wait(1, limit))()
    return Math.floor(calls / 10)
  }
  assert.equal(await measure(5), 5)
  nowMs += HOUR
  assert.equal(await measure(5), 29)
  nowMs += SECOND
  for (let calls = 0; calls < 29; calls += 1) (await pace.wait(1, 5))()
  const limit = pace.slower(5)
  assert.equal(limit, 21)
  nowMs += HOUR
  assert.ok((await measure(limit)) > 100)
})

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import type { FastifyBaseLogger } from 'fastify'
import { AppError } from './errors.ts'
import { startTicker } from './ticker.ts'

const log = { warn: () => {} } as unknown as FastifyBaseLogger

/** @returns the seconds at which a job was tried in two minutes that all fail */
async function failFor(intervalMs: number, error: Error): Promise<number[]> {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    const tries: number[] = []
    let second = 0
    const ticker = startTicker('job', intervalMs, log, () => {
      tries.push(second)
      return Promise.reject(error)
    })
    for (; second < 120; second += 1) {
      mock.timers.tick(1000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await ticker.stop()
    return tries
  } finally {
    mock.timers.reset()
  }
}

const longestGap = (tries: readonly number[]): number =>
  Math.max(...tries.slice(1).map((at, index) => at - (tries[index] ?? 0)))

test('a job that fails is tried more and more seldom; one of short period returns soon after the database', async () => {
  const away = new AppError('DATABASE_UNAVAILABLE')
  assert.equal(longestGap(await failFor(1000, new Error('no answer'))), 30)
  assert.equal(longestGap(await failFor(1000, away)), 5)
  assert.equal(longestGap(await failFor(3_600_000, away)), 30)
})

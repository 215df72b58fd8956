import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createBatcher } from './batch.ts'
import { askFor, openShares } from './shares.ts'

/** A batcher whose batches end when the test decides. */
function open(options: { max: number; concurrency: number; oneMoreFrom?: number }) {
  const started: number[][] = []
  const ends: (() => void)[] = []
  const run = createBatcher<number, number>({
    ...options,
    runMany: (items) => {
      started.push(items)
      return new Promise((resolve) => ends.push(() => resolve(items.map((item) => item * 10))))
    },
  })
  const asked: Promise<number>[] = []
  const ask = async (...items: number[]): Promise<void> => {
    asked.push(...items.map(run))
    await turn()
  }
  const end = async (place: number): Promise<void> => {
    ends[place]?.()
    await turn()
  }
  return { started, asked, ask, end }
}

test('what arrives together goes together, and each gets its own answer', async () => {
  const { started, asked, ask, end } = open({ max: 3, concurrency: 2 })
  await ask(1, 2, 3, 4)
  assert.deepEqual(started, [[1, 2, 3], [4]])
  await end(1)
  await end(0)
  assert.deepEqual(await Promise.all(asked), [10, 20, 30, 40])
})

test('while all are in flight others gather, and one more batch starts only once enough wait', async () => {
  const { started, ask, end } = open({ max: 64, concurrency: 2, oneMoreFrom: 4 })
  await ask(1)
  await ask(2)
  await ask(3, 4, 5)
  assert.deepEqual(started, [[1], [2]], 'three wait')
  await ask(6)
  assert.deepEqual(started, [[1], [2], [3, 4, 5, 6]])
  await ask(7, 8, 9, 10, 11)
  assert.equal(started.length, 3, 'never a fourth')
  await end(0)
  assert.deepEqual(started[3], [7, 8, 9, 10, 11], 'five wait, so that it is the third again')
  await ask(12)
  await end(1)
  assert.equal(started.length, 4, 'one waits, and two are in flight')
  await end(2)
  assert.deepEqual(started[4], [12])
})

test('a batch waits in the share of none of its callers, the first one included, nor does the next batch', async () => {
  const shares = openShares(1)
  let free = (): void => {}
  askFor('company:stuck', () => void shares.run(() => new Promise<void>((resolve) => (free = resolve))))
  const run = createBatcher<number, number>({
    ...{ max: 2, concurrency: 1 },
    runMany: (items) => shares.run(async () => items.map((item) => item * 10)),
  })
  const asked: Promise<number>[] = []
  askFor('company:stuck', () => void asked.push(run(1)))
  askFor('company:other', () => void asked.push(run(2), run(3)))
  const late = new Promise((resolve) => setTimeout(resolve, 1000, 'still waiting').unref())
  assert.deepEqual(await Promise.race([Promise.all(asked), late]), [10, 20, 30])
  free()
})

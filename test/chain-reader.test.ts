import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SECOND } from '../src/kernel/clock.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* The node that is read is wrong, slow or gives blocks back; the others go on. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

test('one of three nodes that takes long for every answer holds no payment up', async (t) => {
  const nodes = await world.openNodes(t, 3)
  const slow = nodes.endpoints.all[2]
  assert.ok(slow)
  const { rpc } = slow
  const answered: unknown[] = []
  const later = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    await sleep(6 * SECOND)
    answered.push(await ask())
    return ask()
  }
  Object.assign(slow, {
    rpc: {
      call: (method: string, ...params: unknown[]) => later(() => rpc.call(method, ...params)),
      batch: (calls: Parameters<typeof rpc.batch>[0]) => later(() => rpc.batch(calls)),
      close: () => rpc.close(),
    },
  })
  nodes.time.nowMs += 3 * SECOND
  for (const units of [45n, 46n]) {
    const address = await world.payNew(units)
    const startedMs = performance.now()
    await nodes.lookOn(1)
    assert.deepEqual(await world.seen(address), [`${units} seen`])
    assert.ok(performance.now() - startedMs < 3 * SECOND)
  }
  assert.deepEqual(answered, [])
  await sleep(7 * SECOND) // its answers come while the scanner is still there
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Mount, mountOf, SilentMount } from './mount.ts'

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('of a place that does not answer one thread is lost, however many ask: they hear since when', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const mount = new Mount('/mnt/nas', () => 0)
  let calls = 0
  let wakeUp = (): void => {}
  const hang = () => {
    calls += 1
    return new Promise<void>((resolve) => {
      wakeUp = resolve
    })
  }
  const asked = Array.from({ length: 50 }, () => mount.call(hang).catch((error: unknown) => error))
  // one that waits behind a longer call waits no longer than it says itself
  t.mock.timers.tick(5000)
  for (const answer of await Promise.all(asked)) assert.ok(answer instanceof SilentMount)
  await assert.rejects(mount.call(hang), { message: '/mnt/nas has not answered since 1970-01-01T00:00:00.000Z.' })
  assert.equal(calls, 1)
  wakeUp()
  await settled()
  assert.equal(await mount.call(async () => 'here'), 'here')
})

test('calls take turns; one that fails holds up no other, and one that waits gives up after its own time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const mount = new Mount('/mnt/nas')
  let running = 0
  const look = (fails: boolean) => async () => {
    running += 1
    assert.equal(running, 1)
    await settled()
    running -= 1
    if (fails) throw new Error('EACCES')
  }
  const results = await Promise.allSettled([false, true, false].map((fails) => mount.call(look(fails))))
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  let finish = (): void => {}
  const slow = mount.call(
    () =>
      new Promise<void>((resolve) => {
        finish = resolve
      }),
    120_000,
  )
  const impatient = mount.call(async () => 'never', 5000)
  t.mock.timers.tick(5000)
  await assert.rejects(impatient, SilentMount)
  finish()
  await slow
  assert.equal(await mount.call(async () => 'next'), 'next')
  assert.equal(mountOf('/a'), mountOf('/a'), 'whoever looks at one place shares its thread')
})

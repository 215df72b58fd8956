import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openRenamedIn } from './harness/attempts.ts'
import { type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* A sum beside a payment that was decided about, in whole or in part, before its provider named another coin for it. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld({ async closePayment() {} })
})
after(() => world?.stop())

const M = 10n ** 6n
const USDT = 10n ** 18n

/** As time passes between what the provider says and what a person decides. */
async function openRenamed() {
  const { tell, ignoreFirst, openOf, recordsOf } = await openRenamedIn(world)
  const later = async (act: () => Promise<unknown>) => {
    world.clock.nowMs += 1000
    await act()
  }
  return {
    tell: async (...sums: Parameters<typeof tell>) => {
      for (const sum of sums) await later(() => tell(sum))
    },
    ignoreFirst: () => later(ignoreFirst),
    ...{ openOf, recordsOf },
  }
}

test('what was decided about in a second coin does not wait again when the first coin comes back', async () => {
  const { tell, ignoreFirst, openOf, recordsOf } = await openRenamed()
  await tell(['USDC', 5n * M])
  await ignoreFirst()
  await tell(['USDT', 59n * USDT])
  assert.deepEqual(await openOf(), [`wrong_token ${54n * USDT} USDT open p.2`])
  await ignoreFirst()
  await tell(['USDC', 59n * M], ['USDT', 59n * USDT], ['USDC', 59n * M])
  assert.deepEqual(await openOf(), [])
  await tell(['USDC', 61n * M], ['USDC', 61n * M])
  const open = `wrong_token ${2n * M} USDC open p.4`
  assert.deepEqual((await recordsOf()).slice(3), [`wrong_token ${54n * M} USDC resolved p.3`, open])
})

test('of a sum that was decided about in part only the rest waits in a dollar coin that it never had', async () => {
  const { tell, ignoreFirst, openOf, recordsOf } = await openRenamed()
  await tell(['USDC', 50n * M], ['USDC', 54n * M])
  await ignoreFirst()
  await tell(['USDT', 54n * USDT])
  assert.deepEqual(await openOf(), [`wrong_token ${4n * USDT} USDT open p.3`])
  await tell(['USDC', 54n * M])
  assert.deepEqual(await openOf(), [`wrong_token ${4n * M} USDC open p.1`])
  await tell(['USDT', 60n * USDT], ['USDT', 60n * USDT])
  assert.deepEqual(await openOf(), [`wrong_token ${10n * USDT} USDT open p.3`])
  assert.equal((await recordsOf()).length, 4)
})

test('the rest of a partly decided sum waits in its own coin while another names less than was decided, and moves once', async () => {
  const { tell, ignoreFirst, openOf } = await openRenamed()
  await tell(['USDC', 5n * M], ['USDC', 8n * M])
  await ignoreFirst()
  await tell(['USDT', 4n * USDT])
  assert.deepEqual(await openOf(), [`wrong_token ${3n * M} USDC open p.1`])
  await tell(['USDT', 8n * USDT], ['USDT', 8n * USDT])
  assert.deepEqual(await openOf(), [`wrong_token ${3n * USDT} USDT open p.3`])
})

test('what came after the decision takes nothing of what was decided about into a third coin', async () => {
  const { tell, ignoreFirst, openOf } = await openRenamed()
  await tell(['BTC', 2000n], ['USDC', 5n * M])
  await ignoreFirst()
  await tell(['USDT', 59n * USDT], ['BTC', 3000n])
  assert.deepEqual(await openOf(), ['wrong_token 1000 BTC open p.4'])
})

test('a decided sum keeps its whole value in a dollar coin that names less of it first', async () => {
  const { tell, ignoreFirst, openOf } = await openRenamed()
  await tell(['USDC', 100n * M])
  await ignoreFirst()
  await tell(['USDT', 40n * USDT], ['USDT', 120n * USDT])
  assert.deepEqual(await openOf(), [`wrong_token ${20n * USDT} USDT open p.2`])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTurns } from './turns.ts'

/** Takes turns for a caller and keeps them; `begun` grows as they are granted. */
function openCaller(turns: ReturnType<typeof openTurns>, key: string) {
  const begun: (() => void)[] = []
  const refusals: unknown[] = []
  return {
    begun,
    refusals,
    ask(count: number): void {
      for (let asked = 0; asked < count; asked += 1) {
        Promise.resolve(turns.take(key)).then(
          (end) => begun.push(end),
          (error: unknown) => refusals.push(error),
        )
      }
    },
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a caller that is alone never waits', async () => {
  const shop = openCaller(openTurns(), 'company:1')
  shop.ask(64)
  await settle()
  assert.equal(shop.begun.length, 64)
})

test('beside another caller two requests run and the rest wait in their own line', async () => {
  const turns = openTurns()
  const loud = openCaller(turns, 'company:1')
  const quiet = openCaller(turns, 'company:2')
  quiet.ask(1)
  loud.ask(10)
  await settle()
  assert.equal(loud.begun.length, 2)
  quiet.ask(1)
  await settle()
  assert.equal(quiet.begun.length, 2, 'the line of one caller holds up no other')
  loud.begun[0]?.()
  await settle()
  assert.equal(loud.begun.length, 3)
})

test('a request that hangs at a provider does not keep its company’s next ones waiting', async () => {
  const turns = openTurns()
  const quiet = openCaller(turns, 'company:2')
  const loud = openCaller(turns, 'company:1')
  quiet.ask(1)
  loud.ask(6)
  await settle()
  assert.equal(loud.begun.length, 2)
  for (let tries = 0; tries < 50 && loud.begun.length < 6; tries += 1) await sleep(20)
  assert.equal(loud.begun.length, 6, 'although none of them ended')
})

test('ending a turn twice frees one place', async () => {
  const turns = openTurns()
  const quiet = openCaller(turns, 'company:2')
  const loud = openCaller(turns, 'company:1')
  quiet.ask(1)
  loud.ask(9)
  await settle()
  loud.begun[0]?.()
  loud.begun[0]?.()
  await settle()
  assert.equal(loud.begun.length, 3)
})

test('a line that is full refuses with words instead of growing', async () => {
  const turns = openTurns()
  const quiet = openCaller(turns, 'company:2')
  const loud = openCaller(turns, 'company:1')
  quiet.ask(1)
  loud.ask(2 + 512 + 1)
  await settle()
  assert.equal(loud.refusals.length, 1)
  assert.match(String(loud.refusals[0]), /Too many requests of this account/)
  let ended = 0
  while (ended < 514) {
    for (const end of loud.begun.splice(0)) {
      end()
      ended += 1
    }
    await settle()
  }
})

test('a request that outlived its turn and ends late does not give its company more places', async () => {
  const turns = openTurns()
  const quiet = openCaller(turns, 'company:2')
  const loud = openCaller(turns, 'company:1')
  loud.ask(1)
  await settle()
  const [endOld] = loud.begun
  await sleep(120)
  loud.ask(1)
  await settle()
  loud.begun[1]?.()
  quiet.ask(1)
  loud.ask(2)
  await settle()
  assert.equal(loud.begun.length, 4)
  endOld?.()
  loud.ask(1)
  await settle()
  assert.equal(loud.begun.length, 4, 'two are at work, the third waits')
})

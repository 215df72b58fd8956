import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR, MINUTE, SECOND } from '../../kernel/clock.ts'
import { ProviderTrouble } from '../provider-errors.ts'
import { keepList } from './prices.ts'

/** Whitepay, whose answers the test gives one by one. */
function open() {
  let nowMs = Date.UTC(2026, 0, 1)
  const calls: PromiseWithResolvers<unknown>[] = []
  const api = (): Promise<unknown> => {
    const call = Promise.withResolvers<unknown>()
    calls.push(call)
    return call.promise
  }
  const settle = async (decide: (call: PromiseWithResolvers<unknown>) => void): Promise<void> => {
    const last = calls.at(-1)
    assert.ok(last)
    decide(last)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return {
    list: keepList(api, () => nowMs, { path: '/currencies', keys: ['currencies'] }),
    calls,
    answer: (...rows: string[]) => settle((call) => call.resolve({ currencies: rows })),
    fail: () => settle((call) => call.reject(new ProviderTrouble('no answer'))),
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

test('fifty pages at once ask Whitepay once', async () => {
  const { list, calls, answer } = open()
  const pages = Promise.all(Array.from({ length: 50 }, () => list.peek()))
  await answer('EUR')
  assert.deepEqual(new Set((await pages).flat()), new Set(['EUR']))
  assert.equal(calls.length, 1)
})

test('once Whitepay did not answer, no page waits for it: it is asked again behind a page, every half minute', async () => {
  const { list, calls, answer, fail, pass } = open()
  const first = assert.rejects(list.peek(), /no answer/)
  await fail()
  await first
  for (let page = 0; page < 7; page += 1) await assert.rejects(list.peek(), /no answer/)
  assert.equal(calls.length, 1)
  pass(30 * SECOND)
  for (let page = 0; page < 7; page += 1) await assert.rejects(list.peek(), /no answer/, 'while the call hangs')
  assert.equal(calls.length, 2)
  await fail()
  await assert.rejects(list.peek(), /no answer/)
  assert.equal(calls.length, 2)
  pass(30 * SECOND)
  await assert.rejects(list.peek(), /no answer/)
  await answer('EUR')
  assert.deepEqual(await list.peek(), ['EUR'])
  assert.equal(calls.length, 3)
})

test('an order is not refused for what a page was refused: its creation asks Whitepay, and no page asks meanwhile', async () => {
  const { list, calls, answer, fail } = open()
  const page = assert.rejects(list.peek(), /no answer/)
  await fail()
  await page
  const orders = Promise.all([list.read(), list.read()])
  await assert.rejects(list.peek(), /no answer/)
  await answer('EUR')
  assert.deepEqual(await orders, [['EUR'], ['EUR']])
  assert.equal(calls.length, 2)
})

test('an old list serves while Whitepay does not answer, for a day at most, and until a new one has come', async () => {
  const { list, calls, answer, fail, pass } = open()
  const first = list.read()
  await answer('old')
  await first
  pass(HOUR)
  assert.deepEqual(await list.peek(), ['old'])
  await fail()
  for (let page = 0; page < 7; page += 1) assert.deepEqual(await list.read(), ['old'])
  assert.equal(calls.length, 2, 'a failure is followed by a pause')
  pass(22 * HOUR + 59 * MINUTE)
  assert.deepEqual(await list.peek(), ['old'])
  await fail()
  pass(MINUTE)
  await assert.rejects(list.peek(), /no answer/)
  assert.equal(calls.length, 4)
  await answer('new')
  assert.deepEqual(await list.peek(), ['new'])
})

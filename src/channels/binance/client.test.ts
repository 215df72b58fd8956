import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProviderCall } from '../provider-http.ts'
import { openClient } from './client.ts'

const LATE = '{"status":"FAIL","code":"400003","errorMessage":"outside of the time window"}'
const DONE = '{"status":"SUCCESS","code":"000000","data":"taken"}'

/** @param waitMs how long each answer takes */
function openWire(texts: string[], waitMs = 1500) {
  const calls: ProviderCall[] = []
  let nowMs = 1_718_000_000_000
  const http = async (call: ProviderCall) => {
    calls.push(call)
    nowMs += waitMs
    const text = texts.shift() ?? ''
    return { status: text === DONE ? 200 : 406, headers: {}, text }
  }
  const account = { baseUrl: 'https://b.test', apiKey: 'key', apiSecret: 'test-secret' }
  return { calls, client: openClient({ ...account, http, clock: () => nowMs }) }
}

test('what reached Binance too late is signed again and sent once more, within the time of one call', async () => {
  const { client, calls } = openWire([LATE, DONE])
  assert.deepEqual(await client.ask('/x', { a: 1 }), { outcome: 'done', data: 'taken' })
  const [first, second] = calls
  assert.equal(second?.body, first?.body)
  for (const name of ['BinancePay-Timestamp', 'BinancePay-Nonce', 'BinancePay-Signature'])
    assert.notEqual(second?.headers[name], first?.headers[name])
  assert.deepEqual([first?.timeoutMs, second?.timeoutMs], [10_000, 8500])
})

test('a clock that is wrong is asked about twice, and no third time; with hardly any time left not twice', async () => {
  const wrong = openWire([LATE, LATE, DONE])
  const answer = await wrong.client.ask('/x', {})
  assert.equal(answer.outcome === 'refused' && answer.refusal.reason, 'clock')
  assert.equal(wrong.calls.length, 2)
  const slow = openWire([LATE, DONE], 8001)
  assert.equal((await slow.client.ask('/x', {})).outcome, 'refused')
  const inTime = openWire([LATE, DONE], 8000)
  assert.equal((await inTime.client.ask('/x', {})).outcome, 'done')
})

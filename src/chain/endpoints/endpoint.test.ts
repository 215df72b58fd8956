import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR, MINUTE } from '../../kernel/clock.ts'
import { Endpoint } from './endpoint.ts'
import { createRpc } from './rpc.ts'

test('a clock that is set back ends the pause after a failure, and begins a probation again', async () => {
  let nowMs = Date.now()
  const events = { onError: () => {}, onLearned: () => {} }
  const endpoint = new Endpoint(1, createRpc({ url: 'http://127.0.0.1:1' }), { clock: () => nowMs, events })
  await assert.rejects(endpoint.rpc.call('eth_chainId'))
  assert.equal(endpoint.fault(), 'down')
  nowMs -= 2
  assert.equal(endpoint.fault(), 'down', 'a small correction ends nothing')
  nowMs -= HOUR
  assert.equal(endpoint.fault(), null)
  endpoint.noteRight()
  assert.equal(endpoint.needsLook, false)
  nowMs -= HOUR
  assert.equal(endpoint.needsLook, true, 'when it proved its chain is unknown')
  endpoint.noteWrong('outvoted')
  nowMs -= HOUR
  assert.equal(endpoint.fault(), 'outvoted')
  nowMs += MINUTE
  assert.equal(endpoint.fault(), null)
  await endpoint.rpc.close()
})

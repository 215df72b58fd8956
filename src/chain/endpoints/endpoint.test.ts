import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { HOUR, MINUTE } from '../../kernel/clock.ts'
import { Endpoint } from './endpoint.ts'
import { createRpc, type RpcCall } from './rpc.ts'

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

type Question = RpcCall & { id: number }

test('a batch that is refused as a whole for its rate teaches a rate, not a size, and is not asked again in parts', async (t) => {
  let allowed = 150
  let requests = 0
  const server = createServer(async (request, response) => {
    const asked = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Question[]
    requests += 1
    allowed -= asked.length
    const refusal = { jsonrpc: '2.0', id: null, error: { code: -32016, message: 'over rate limit' } }
    const answers = asked.map(({ id }) => ({ jsonrpc: '2.0', id, result: '0x1' }))
    response.end(JSON.stringify(allowed < 0 ? refusal : answers))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const rpc = createRpc({ url: `http://127.0.0.1:${(server.address() as { port: number }).port}` })
  t.after(() => Promise.all([rpc.close(), server.close()]))
  const events = { onError: () => {}, onLearned: () => {} }
  const endpoint = new Endpoint(1, rpc, { clock: Date.now, events })
  const calls = Array.from({ length: 200 }, () => ({ method: 'eth_blockNumber', params: [] }))
  await assert.rejects(endpoint.rpc.batch(calls), { tooOften: true })
  const { batchSize, callsPerSecond } = endpoint.limits
  assert.deepEqual([requests, endpoint.fault(), batchSize, callsPerSecond], [2, 'down', 100, 150])
  allowed = 200
  await endpoint.rpc.batch(calls)
  assert.deepEqual([requests, endpoint.fault(), endpoint.limits.batchSize], [4, null, 100])
})

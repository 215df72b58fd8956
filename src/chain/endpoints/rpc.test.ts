import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { after, describe, it } from 'node:test'
import { makeCertificate } from '../../../test/harness/certificates.ts'
import { createRpc, MAX_FILTER_VALUES, type Rpc, RpcError, toWord } from './rpc.ts'
import { whyUnreached } from './unreached.ts'

const opened: { rpc: Rpc; server: Server }[] = []

/** A client of a node with scripted answers. */
async function open(listener: RequestListener, credentials = ''): Promise<Rpc> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const rpc = createRpc({ url: `http://${credentials}127.0.0.1:${port}/v1/secret-key`, timeoutMs: 300 })
  opened.push({ rpc, server })
  return rpc
}

after(async () => {
  for (const { rpc, server } of opened) {
    server.closeAllConnections()
    server.close()
    await rpc.close()
  }
})

const answering = (body: unknown, status = 200): Promise<Rpc> =>
  open((_, response) => response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body)))

describe('an answer of a node', () => {
  it('names what is wrong with a TLS certificate, and that nothing listens', async (t) => {
    const { cert, keyPem: key } = makeCertificate({ name: 'node', hosts: ['localhost'] })
    const server = createTlsServer({ cert, key }, (_, response) => response.end('{}'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const rpc = createRpc({ url: `https://localhost:${port}/secret` })
    t.after(() => rpc.close())
    const message = 'eth_chainId: its TLS certificate is not signed by an authority that this machine trusts'
    await assert.rejects(rpc.call('eth_chainId'), { kind: 'unknown', message })
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await assert.rejects(rpc.call('eth_chainId'), { message: 'eth_chainId: nothing listens there' })
    const expired = new Error('fetch failed', { cause: Object.assign(new Error(), { code: 'CERT_HAS_EXPIRED' }) })
    assert.equal(whyUnreached(expired), 'its TLS certificate has expired')
    assert.equal(whyUnreached(new Error('socket hang up')), undefined)
  })

  it('is unknown when it does not come, is no JSON-RPC, or tells of a passing trouble', async () => {
    const silent = await open(() => {})
    const unknown = { name: 'RpcError', kind: 'unknown' }
    await assert.rejects(silent.call('eth_chainId'), { ...unknown, message: 'eth_chainId: no answer within 300 ms' })
    const dropping = await open((request) => request.socket.destroy())
    await assert.rejects(dropping.call('eth_chainId'), unknown)
    await assert.rejects((await answering('<html>502</html>', 502)).call('eth_chainId'), unknown)
    await assert.rejects((await answering({ jsonrpc: '2.0', id: 1 })).call('eth_chainId'), unknown)
    const busy = await answering({ id: 1, error: { code: -32005, message: 'too many requests' } }, 429)
    await assert.rejects(busy.call('eth_chainId'), { ...unknown, code: -32005 })
  })

  it('is definite when the node refuses what was asked', async () => {
    const refusing = await answering({ id: 1, error: { code: -32000, message: 'nonce too low' } })
    const expected = { kind: 'definite', code: -32000, message: 'eth_sendRawTransaction: nonce too low' }
    await assert.rejects(refusing.call('eth_sendRawTransaction', '0x'), expected)
  })

  it('is unknown with HTTP 5xx, whatever its words: the node may have taken it; a contract’s words are its refusal', async () => {
    const failing = async (message: string, status: number) => {
      const node = await answering({ id: 1, error: { code: -32000, message } }, status)
      const error = await node.call('eth_sendRawTransaction', '0x').catch((caught: unknown) => caught)
      assert.ok(error instanceof RpcError)
      return [error.kind, error.refused]
    }
    for (const status of [500, 502, 503, 504]) {
      assert.deepEqual(await failing('upstream request failed', status), ['unknown', false])
      assert.deepEqual(await failing('execution reverted', status), ['definite', true])
    }
    assert.deepEqual(await failing('nonce too low', 400), ['definite', true])
  })

  it('is definite with HTTP 5xx where a node says that it does not keep a block, unless it is about a transaction', async () => {
    const failing = async (method: string, code: number, message: string) => {
      const node = await answering({ id: 1, error: { code, message } }, 503)
      const error = await node.call(method, {}).catch((caught: unknown) => caught)
      assert.ok(error instanceof RpcError)
      return error.kind
    }
    for (const [code, message] of [
      [4444, 'not this one'],
      [-32000, 'pruned history unavailable'],
      [-32000, 'header not found'],
      [-32001, 'block 0x1 not found'],
      [-32000, 'unknown block'],
    ] as const) {
      for (const method of ['eth_getLogs', 'eth_getBlockByNumber', 'eth_getBlockReceipts'])
        assert.equal(await failing(method, code, message), 'definite', `${method}: ${message}`)
      for (const method of ['eth_call', 'eth_estimateGas', 'eth_sendRawTransaction'])
        assert.equal(await failing(method, code, message), 'unknown', `${method}: ${message}`)
    }
    for (const message of ['upstream request failed', 'service not available', 'node is busy', 'no backend found'])
      assert.equal(await failing('eth_getLogs', -32000, message), 'unknown', message)
    assert.equal(await failing('eth_getLogs', -32603, 'block not found'), 'unknown', 'an internal error')
  })

  it('is about the rate, and passes, however a provider says so; a contract’s own words are its refusal', async () => {
    const refusing = async (code: number, message: string) => {
      const node = await answering({ id: 1, error: { code, message } })
      const error = await node.call('eth_call').catch((caught: unknown) => caught)
      assert.ok(error instanceof RpcError)
      return [error.kind, error.tooOften]
    }
    for (const [code, message] of [
      [-32005, 'daily request count exceeded'],
      [-32007, '50/second request limit reached'],
      [-32016, 'over rate limit'],
      [-32029, 'Too Many Requests'],
      [-32000, 'rate limit exceeded'],
      [15, 'Too many requests, try again later'],
    ] as const)
      assert.deepEqual(await refusing(code, message), ['unknown', true], message)
    for (const message of ['query returned more than 10000 results', 'eth_getLogs request was canceled due to timeout'])
      for (const code of [-32005, -32016]) assert.deepEqual(await refusing(code, message), ['unknown', false], message)
    for (const code of [3, -32000])
      assert.deepEqual(await refusing(code, 'execution reverted: rate limit exceeded'), ['definite', false])
  })

  it('never shows the secret in the address of the node', async () => {
    const dropping = await open((request) => request.socket.destroy())
    await assert.rejects(dropping.call('eth_chainId'), (error: Error) => !/secret-key/.test(String(error.stack)))
  })
})

it('a result of another shape than the method’s is no usable answer, so that another node is asked', async () => {
  const hash = `0x${'a1'.repeat(32)}`
  const block = { number: '0x10', hash, parentHash: hash, timestamp: '0x66', logsBloom: '0x00', transactions: [] }
  const where = { blockHash: hash, blockNumber: '0x10', transactionHash: hash }
  const log = { ...where, address: `0x${'b2'.repeat(20)}`, topics: [hash], data: '0x', logIndex: '0x0' }
  const right: [string, unknown][] = [
    ['eth_chainId', '0x7a69'],
    ['eth_call', '0x'],
    ['eth_getBlockByNumber', null],
    ['eth_getBlockByNumber', block],
    ['eth_getBlockByHash', { ...block, logsBloom: undefined }],
    ['eth_getLogs', []],
    ['eth_getLogs', [log]],
    ['eth_getLogs', [{ ...log, logIndex: '0x7fffffff' }]],
    ['eth_getTransactionReceipt', { ...where, logs: [log], status: '0x1' }],
    ['eth_getTransactionCount', '0xffffffffff'],
    ['eth_getTransactionByHash', { value: '0x0' }],
    ['eth_feeHistory', null],
    ['eth_feeHistory', { gasUsedRatio: [0.5], reward: [['a lot']] }],
    ['web3_clientVersion', 'any'],
  ]
  for (const [method, result] of right) await (await answering({ id: 1, result })).call(method)
  const wrong: [string, unknown][] = [
    ...(['', '0x', 31337, null, {}, 'x', `0x${'1'.repeat(65)}`] as const).map((odd): [string, unknown] => [
      'eth_chainId',
      odd,
    ]),
    ['eth_call', null],
    ['eth_getBlockByNumber', {}],
    ['eth_getBlockByNumber', { ...block, timestamp: 102 }],
    ['eth_getLogs', null],
    ['eth_getLogs', [null]],
    ['eth_getLogs', [{ ...log, topics: 'topic' }]],
    ['eth_getLogs', [{ ...log, blockHash: null }]],
    ['eth_getLogs', [{ ...log, logIndex: '0x80000000' }]],
    ['eth_getBlockReceipts', [{ ...where, logs: [{ ...log, logIndex: '0x80000000' }] }]],
    ['eth_getTransactionReceipt', { ...where, logs: [log], status: '0x1', gasUsed: `0x${'f'.repeat(64)}` }],
    ['eth_getTransactionReceipt', { ...where, logs: [log], status: '0x1', effectiveGasPrice: `0x${'f'.repeat(64)}` }],
    ['eth_getTransactionCount', '0x10000000000'],
    ['eth_getTransactionReceipt', { ...where, logs: null }],
    ['eth_getTransactionReceipt', { ...where, logs: [log] }],
    ['eth_getTransactionReceipt', { ...where, status: '0x1' }],
    ['eth_getBlockByNumber', { ...block, baseFeePerGas: 'low' }],
    ['eth_getBlockByNumber', { ...block, number: `0x${'f'.repeat(64)}` }],
    ['eth_getTransactionByHash', { value: 'all' }],
    ['eth_getTransactionByHash', { value: '0x0', input: 7 }],
    ['eth_sendRawTransaction', true],
  ]
  for (const [method, result] of wrong)
    await assert.rejects((await answering({ id: 1, result })).call(method), { kind: 'unknown' }, JSON.stringify(result))
  const empty = await answering({ id: 1, result: null })
  assert.equal(await empty.call('eth_getBlockByNumber', '0x7', false), null)
  await assert.rejects(empty.call('eth_getBlockByNumber', 'latest', false), { kind: 'unknown' })
  assert.equal(toWord(`0x${'1'.padStart(64, '0')}`), 1n)
  for (const odd of ['0x', '0x1', 'x']) assert.throws(() => toWord(odd), { kind: 'unknown' })
})

it('a block with another hash or number than the one asked for is no usable answer', async () => {
  const hash = `0x${'a1'.repeat(32)}`
  const block = { number: '0x10', hash, parentHash: hash, timestamp: '0x66' }
  const node = await answering({ id: 1, result: block })
  const right = { eth_getBlockByHash: [hash.toUpperCase().replace('X', 'x')], eth_getBlockByNumber: ['0x10', 'latest'] }
  const wrong = { eth_getBlockByHash: [`0x${'b2'.repeat(32)}`], eth_getBlockByNumber: ['0xf', '0x100'] }
  for (const [method, which] of Object.entries(right))
    for (const one of which) assert.deepEqual(await node.call(method, one, false), block)
  for (const [method, which] of Object.entries(wrong))
    for (const one of which) await assert.rejects(node.call(method, one, false), { kind: 'unknown' })
})

describe('a batch', () => {
  it('gives the answers in the order of the questions, however the node orders them', async () => {
    const rpc = await answering([
      { id: 1, result: '0xb' },
      { id: 0, result: '0xa' },
    ])
    const calls = ['a', 'b'].map((method) => ({ method, params: [] }))
    assert.deepEqual(await rpc.batch(calls), ['0xa', '0xb'])
    assert.deepEqual(await rpc.batch([]), [])
  })

  it('fails whole when one answer is missing, or the node refuses batches', async () => {
    const calls = ['a', 'b'].map((method) => ({ method, params: [] }))
    await assert.rejects((await answering([{ id: 0, result: '0xa' }])).batch(calls), { kind: 'unknown' })
    const refusing = await answering({ id: null, error: { code: -32600, message: 'no batches' } })
    await assert.rejects(refusing.batch(calls), { kind: 'definite' })
  })

  it('that one error refuses may be too large; if it is of one call, that call is refused', async () => {
    const calls = ['a', 'b'].map((method) => ({ method, params: [] }))
    const failed = { id: null, error: { code: -32603, message: 'too many topics' } }
    for (const node of [await answering(failed), await answering('too large', 413)]) {
      await assert.rejects(node.batch(calls), { kind: 'unknown', wholeBatch: true, refused: false })
      await assert.rejects(node.batch(calls.slice(1)), { kind: 'unknown', wholeBatch: false, refused: true })
    }
  })

  it('that one error refuses as too often is not too large', async () => {
    const calls = ['a', 'b'].map((method) => ({ method, params: [] }))
    const node = await answering({ id: null, error: { code: -32016, message: 'over rate limit' } })
    const expected = { kind: 'unknown', tooOften: true, wholeBatch: false, refused: false }
    for (const asked of [calls, calls.slice(1)]) await assert.rejects(node.batch(asked), expected)
  })
})

it('a log filter with more than 1,000 values never leaves the house: nodes refuse it, the local chain would not', async () => {
  const rpc = await answering({ id: 1, result: [] })
  const filter = (count: number) => ({ topics: ['0x', null, Array.from({ length: count }, () => '0x')] })
  assert.deepEqual(await rpc.call('eth_getLogs', filter(MAX_FILTER_VALUES)), [])
  await assert.rejects(rpc.call('eth_getLogs', filter(MAX_FILTER_VALUES + 1)), RangeError)
  await assert.rejects(rpc.batch([{ method: 'eth_getLogs', params: [filter(2000)] }]), RangeError)
})

it('credentials in the address of the node travel as a header', async () => {
  const rpc = await open((request, response) => {
    response.end(JSON.stringify({ id: 1, result: request.headers.authorization }))
  }, 'me:p%40ss@')
  assert.equal(await rpc.call('web3_clientVersion'), `Basic ${Buffer.from('me:p@ss').toString('base64')}`)
})

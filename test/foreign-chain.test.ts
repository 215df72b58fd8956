import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openChainHealth } from '../src/chain/chain-health.ts'
import { sql } from '../src/db/db.ts'
import { HOUR } from '../src/kernel/clock.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { startReceiver } from './harness/receiver.ts'
import { type Faults, startRpcProxy } from './harness/rpc-proxy.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'
import { chainEnv, TEST_XPUB } from './harness/shop.ts'

/* Base's address leads to the node of another chain when the service starts; the other chain is right. */

let chain: TestChain
let host: TestService | undefined

before(async () => {
  chain = await startTestChain()
})
after(async () => {
  await host?.stop()
  await chain?.stop()
})

type Ready = { checks: { name: string; ok: boolean; message?: string; fix?: string | null }[] }

test('an endpoint that serves another chain does not stop the start: only its chain is not offered', async () => {
  const base = { CHAIN_8453_RPC_URL: chain.rpcUrl, CHAIN_8453_USDC: chain.usdcAddress, CHAIN_8453_XPUB: TEST_XPUB }
  const env = { ...chainEnv(chain), ...base, METRICS_TOKEN: 'scrape-me-please' }
  const service = await startTestService({ env, workers: true })
  host = service
  const shop = await service.createMerchant()
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: shop.merchantIdentifier }
  const made = await service.call<{ code: string }>('POST', 'request', { as: shop, body })
  const { code } = made.data
  const headers = { authorization: 'Bearer scrape-me-please' }
  const read = async () => (await service.call<Ready>('GET', '/readyz', { headers })).data.checks
  const checks = await eventually(read, (all) =>
    all.some(({ message }) => /served as another chain/.test(message ?? '')),
  )
  assert.equal(checks.find(({ name }) => name === 'chain 31337')?.ok, true)
  const fix = checks.find(({ name }) => name === 'chain 8453')?.fix
  assert.equal(fix, 'Let CHAIN_8453_RPC_URL name nodes of this chain, and CHAIN_8453_USDC its USDC.', 'no test chain')
  assert.equal(
    service.logLines.filter((line) => /ALARM: .*endpoint 1 serves chain 31337, not 8453/.test(line)).length,
    1,
  )
  const accept = (network: number) =>
    service.call('POST', `accept/${code}`, { as: shop, body: { paymentChannel: 'crypto', network } })
  const refused = await accept(8453)
  assert.deepEqual([refused.status, refused.error.code], [502, 'CHANNEL_UNAVAILABLE'], refused.text)
  const accepted = await accept(31337)
  assert.equal(accepted.status, 200, accepted.text)
})

test('the state of the chains is read again once the clock was set back', async () => {
  assert.ok(host)
  let now = HOUR
  const health = openChainHealth({ db: host.db, clock: () => now, networks: [], maxLagSeconds: 60 })
  const first = health.list()
  assert.equal(health.list(), first, 'kept for a second')
  now = 0
  assert.notEqual(health.list(), first)
  await Promise.all([first, health.list()])
})

test('an endpoint that was down at the start proves its token before it is believed', async (t) => {
  const proxy = await startRpcProxy(chain.rpcUrl)
  proxy.faults.status = 503
  let aheadMs = 0
  const env = { ...chainEnv(chain), CHAIN_31337_RPC_URL: proxy.url, METRICS_TOKEN: 'scrape-me-please' }
  const service = await startTestService({ env, workers: true, clock: () => Date.now() + aheadMs })
  t.after(async () => {
    await service.stop()
    await proxy.stop()
  })
  proxy.faults.alter = ({ params }, result) =>
    (params[0] as { data?: string })?.data === DECIMALS ? `0x${'12'.padStart(64, '0')}` : result
  proxy.faults.status = null
  const headers = { authorization: 'Bearer scrape-me-please' }
  const isRead = async () => {
    const { checks } = (await service.call<Ready>('GET', '/readyz', { headers })).data
    return checks.find(({ name }) => name === 'chain 31337')
  }
  await eventually(isRead, (check) => /its token is not USDC/.test(check?.message ?? ''), 20_000)
  const alarms = service.logLines.filter((line) => /ALARM: .* has 18 decimals, USDC has 6; its answers/.test(line))
  assert.equal(alarms.length, 1)
  const { count } = await service.db.one<{ count: number }>(sql`select count(*)::int as count from chain_blocks`)
  assert.equal(count, 0, 'nothing of it was recorded')
  proxy.faults.alter = null
  await eventually(
    async () => {
      aheadMs += 10_000
      return isRead()
    },
    (check) => check?.ok === true,
    20_000,
  )
})

type Fault = Partial<Faults>

/** One node of the chain with faults, beside `others` that are right. */
async function startBeside(t: TestContext, fault: Fault, others: readonly string[]) {
  const proxy = await startRpcProxy(chain.rpcUrl)
  Object.assign(proxy.faults, fault)
  const env = {
    ...chainEnv(chain),
    CHAIN_31337_RPC_URL: [proxy.url, ...others].join(),
    METRICS_TOKEN: 'scrape-me-please',
  }
  const service = await startTestService({ env })
  t.after(async () => {
    await service.stop()
    await proxy.stop()
  })
  return { service, proxy }
}

const noCode: Fault['alter'] = ({ method }, result) => (method === 'eth_call' ? '0x' : result)
const old: Fault['alter'] = (question, result) =>
  question.method === 'eth_getBlockByNumber'
    ? { ...(result as object), timestamp: '0x5f5e100' }
    : noCode(question, result)
const decimals18: Fault['alter'] = ({ params }, result) =>
  (params[0] as { data?: string })?.data === DECIMALS ? `0x${'12'.padStart(64, '0')}` : result

test('a node that cannot tell, or contradicts one that proves the token, does not stop the start', async (t) => {
  const notNow: Fault = { refuses: ({ method }) => method === 'eth_call' }
  for (const fault of [notNow, { alter: noCode }, { alter: decimals18 }]) {
    const { service } = await startBeside(t, fault, [chain.rpcUrl])
    await service.service.startWorkers()
    const blocks = () => service.db.one<{ count: number }>(sql`select count(*)::int as count from chain_blocks`)
    await eventually(blocks, ({ count }) => count > 0)
    const alarms = service.logLines.filter((line) => /ALARM: .*its answers are ignored/.test(line))
    assert.equal(alarms.length, fault === notNow ? 0 : 1)
  }
})

test('a chain whose only node is still synchronised is not read, and everything else starts', async (t) => {
  const { service, proxy } = await startBeside(t, { alter: old }, [])
  await service.service.startWorkers()
  const blocks = () => service.db.one<{ count: number }>(sql`select count(*)::int as count from chain_blocks`)
  await sleep(1500)
  assert.equal((await blocks()).count, 0, 'nothing is read from it')
  proxy.faults.alter = null
  await eventually(blocks, ({ count }) => count > 0, 40_000)
})

test('a token that is another one by a node’s answer, and USDC by none, stops the start and all its jobs', async (t) => {
  for (const [fault, words] of [
    [{ alter: noCode }, /has no decimals\(\)/],
    [{ alter: decimals18 }, /has 18 decimals, USDC has 6/],
  ] as const) {
    const silent = await startRpcProxy(chain.rpcUrl)
    silent.faults.status = 503
    t.after(() => silent.stop())
    const { service } = await startBeside(t, fault, [silent.url])
    await assert.rejects(service.service.startWorkers(), words)
  }
})

test('a chain of which no block was read lags since the start, in its metric as at /readyz', async (t) => {
  let aheadMs = 0
  const down = { CHAIN_8453_RPC_URL: 'http://127.0.0.1:9', CHAIN_8453_XPUB: TEST_XPUB }
  const env = { ...down, METRICS_TOKEN: 'scrape-me-please' }
  const service = await startTestService({ env, clock: () => Date.now() + aheadMs })
  t.after(() => service.stop())
  aheadMs = 300_000
  const headers = { authorization: 'Bearer scrape-me-please' }
  const { text } = await service.call('GET', '/metrics', { headers })
  assert.match(text, /^comptoir_chain_lag_seconds\{chain="8453"\} 30\d/m)
  const { checks } = (await service.call<Ready>('GET', '/readyz', { headers })).data
  assert.match(checks.find(({ name }) => name === 'chain 8453')?.message ?? '', /no new block for 30\d seconds/)
})

test('nodes that hang hold up no webhook at a start', async (t) => {
  const hole = createServer((socket) => void socket.on('error', () => {}).resume()).listen(0, '127.0.0.1')
  await once(hole, 'listening')
  const { port } = hole.address() as AddressInfo
  const receiver = await startReceiver()
  const env: Record<string, string> = {}
  for (const id of [1, 10, 8453, 42161]) {
    env[`CHAIN_${id}_RPC_URL`] = `http://127.0.0.1:${port}/a,http://127.0.0.1:${port}/b`
    env[`CHAIN_${id}_XPUB`] = TEST_XPUB
  }
  const service = await startTestService({ env })
  t.after(async () => {
    await service.stop()
    await receiver.close()
    hole.close()
  })
  const as = await service.createMerchant()
  await service.db.run(sql`update companies set optional_events = array['order.initial']`)
  const startedMs = Date.now()
  const started = service.service.startWorkers()
  const place = { merchantIdentifier: as.merchantIdentifier, webhookUrl: `${receiver.url}/hook` }
  const sold = await service.call('POST', 'request', { as, body: { amount: '5', fromAsset: 'EUR', ...place } })
  assert.equal(sold.status, 200, sold.text)
  await eventually(
    async () => receiver.received.length,
    (count) => count > 0,
    6000,
  )
  await started
  assert.ok(Date.now() - startedMs < 15_000, 'all at the same time, and none for longer than one question takes')
})

/** ERC-20: decimals() */
const DECIMALS = '0x313ce567'

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openChainHealth } from '../src/chain/chain-health.ts'
import { sql } from '../src/db/db.ts'
import { HOUR } from '../src/kernel/clock.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { startRpcProxy } from './harness/rpc-proxy.ts'
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

type Ready = { checks: { name: string; ok: boolean; message?: string }[] }

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

/** ERC-20: decimals() */
const DECIMALS = '0x313ce567'

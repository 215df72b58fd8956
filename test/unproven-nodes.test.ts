import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { findHead } from '../src/chain/chain-queries.ts'
import { openEndpoints, provenEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import { checkEndpoints } from '../src/chain/endpoints/start-check.ts'
import { networkFor } from '../src/chain/networks.ts'
import { balanceCall, readBalance } from '../src/chain/payout/usdc-token.ts'
import { startScanner } from '../src/chain/scanner.ts'
import { SECOND } from '../src/kernel/clock.ts'
import { createPaid, newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { type Faults, type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* The first of two nodes does not prove its token when the service starts; the second does. */

const noCalls: Partial<Faults> = { refuses: ({ method }) => method === 'eth_call' }
const synchronising: Partial<Faults> = {
  alter: ({ method }, result) => {
    if (method === 'eth_getBlockByNumber') return { ...(result as object), timestamp: '0x5f5e100' }
    return method === 'eth_call' ? '0x' : result
  },
}
/** It never proves its token, and the time of its newest block has not come. */
const ahead: Partial<Faults> = {
  ...noCalls,
  alter: ({ method, params }, result) => {
    if (method !== 'eth_getBlockByNumber' || params[0] !== 'latest') return result
    return { ...(result as object), timestamp: `0x${(Math.floor(Date.now() / SECOND) + 3600).toString(16)}` }
  },
}
const NOBODY = `0x${'9'.padStart(40, '0')}`
const log = pino({ level: 'silent' })

let shop: Shop
let proxy: RpcProxy
before(async () => {
  shop = await openShop({
    env: async (chain) => {
      proxy = await startRpcProxy(chain.rpcUrl)
      Object.assign(proxy.faults, noCalls)
      return { ...(await payoutEnv(chain)), CHAIN_31337_RPC_URL: `${proxy.url},${chain.rpcUrl}` }
    },
  })
})
after(async () => {
  await shop?.stop()
  await proxy?.stop()
})

test('a refund leaves through the node that proved the token', async () => {
  const order = await createPaid(shop)
  const made = await revert(shop, order.code, { address: newAddress() })
  assert.equal(made.status, 200, made.text)
  await refundReaches(shop, order.orderId, 'settled')
})

/** Two nodes: the first has the fault, and a clock that the test turns. */
async function openTwo(t: { after(work: () => unknown): void }, fault: Partial<Faults>, isAlone = false) {
  const { chain } = shop
  const first = await startRpcProxy(chain.rpcUrl)
  t.after(() => first.stop())
  Object.assign(first.faults, fault)
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const urls = isAlone ? [first.url] : [first.url, chain.rpcUrl]
  const time = { nowMs: Date.now() }
  const endpoints = openEndpoints(
    network,
    urls.map((url) => createRpc({ url })),
    { clock: () => time.nowMs },
  )
  t.after(() => endpoints.rpc.close())
  const faults = () => endpoints.all.map((endpoint) => endpoint.fault())
  return { first, network, endpoints, faults, time }
}

for (const [name, fault] of Object.entries({ 'refuses eth_call': noCalls, 'is being synchronised': synchronising }))
  test(`nothing is asked of a node that ${name}, until it has proved its token`, async (t) => {
    const { first, network, endpoints, faults, time } = await openTwo(t, fault)
    await checkEndpoints({ endpoints, network }, log)
    assert.deepEqual(faults(), ['unproven', null])
    const asked = () => first.counts.get('eth_call') ?? 0
    const before = asked()
    assert.equal(await readBalance(endpoints.rpc, network, NOBODY), 0n)
    assert.deepEqual(
      (await provenEndpoints({ endpoints, network })).map(({ number }) => number),
      [2],
    )
    assert.equal(asked(), before)
    first.heal()
    const clock = () => time.nowMs
    const { db } = shop.host
    const scanner = startScanner({ db, network, endpoints, log, pollMs: 0, onChange: () => {}, clock })
    t.after(() => scanner.stop())
    for (let look = 0; look < 10 && faults()[0] !== null; look += 1) {
      await scanner.tick()
      time.nowMs += 1000
    }
    assert.deepEqual(faults(), [null, null])
    assert.deepEqual(await findHead(db, network.chainId).then((head) => head?.number !== undefined), true)
  })

test('a node that never proves its token is no measure for others, however new its block claims to be', async (t) => {
  const { network, endpoints, faults, time } = await openTwo(t, ahead)
  await checkEndpoints({ endpoints, network }, log)
  const { db } = shop.host
  const clock = () => time.nowMs
  const scanner = startScanner({ db, network, endpoints, log, pollMs: 0, onChange: () => {}, clock })
  t.after(() => scanner.stop())
  await scanner.tick()
  assert.deepEqual(faults(), ['unproven', null])
})

test('a payment is counted beside such a node', async () => {
  Object.assign(proxy.faults, ahead)
  await new Promise((resolve) => setTimeout(resolve, 4000)) // longer than heads go without being compared
  await createPaid(shop)
})

test('the only node of a chain is asked nothing but for its proof, says why, and is used at once after it', async (t) => {
  const { first, network, endpoints, faults } = await openTwo(t, noCalls, true)
  await checkEndpoints({ endpoints, network }, log)
  await assert.rejects(readBalance(endpoints.rpc, network, NOBODY), { kind: 'unknown' })
  const { db } = shop.host
  const scanner = startScanner({ db, network, endpoints, log, pollMs: 0, onChange: () => {} })
  t.after(() => scanner.stop())
  await assert.rejects(scanner.tick(), /eth_call/)
  first.heal()
  await scanner.tick()
  assert.deepEqual(faults(), [null])
  assert.equal(await readBalance(endpoints.rpc, network, NOBODY), 0n)
})

test('what a proven node refuses, the next one answers; what a contract or a transaction is refused for stays', async (t) => {
  const { first, network, endpoints } = await openTwo(t, noCalls)
  const question = balanceCall(network, NOBODY)
  assert.equal(await readBalance(endpoints.rpc, network, NOBODY), 0n)
  const batch = [{ method: 'eth_call', params: [question, 'latest'] }]
  assert.equal(BigInt((await endpoints.rpc.batch<string>(batch))[0] ?? '0x1'), 0n)
  first.heal()
  const isDefinite = (error: unknown) => error instanceof RpcError && error.kind === 'definite'
  const reverting = { ...question, data: '0xdeadbeef' }
  const before = first.counts.get('eth_call') ?? 0
  await assert.rejects(endpoints.rpc.call('eth_call', reverting, 'latest'), isDefinite)
  assert.equal((first.counts.get('eth_call') ?? 0) - before, 1)
  first.faults.refuses = ({ method }) => method === 'eth_estimateGas'
  await assert.rejects(endpoints.rpc.call('eth_estimateGas', question), /not this one/)
  first.faults.refuses = ({ method }) => method === 'eth_sendRawTransaction'
  await assert.rejects(endpoints.rpc.call('eth_sendRawTransaction', '0x00'), /not this one/)
})

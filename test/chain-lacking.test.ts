import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { openChainHealth } from '../src/chain/chain-health.ts'
import { findHead, listStandings } from '../src/chain/chain-queries.ts'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { type Network, networkFor } from '../src/chain/networks.ts'
import { startScanner } from '../src/chain/scanner.ts'
import { toHex } from '../src/chain/transfer-logs.ts'
import { listTransfersTo } from '../src/chain/transfer-queries.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { HOUR, SECOND } from '../src/kernel/clock.ts'
import { newTestXpub, startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { type Faults, type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'

/* Nodes that answer and still do not have the block they are asked about, or have one whose time has not come. */

const XPUB = newTestXpub()
const FAR = new Date('2100-01-01')

let database: TestDatabase
let db: Db
let chain: TestChain
let network: Network

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 4 })
  chain = await startTestChain()
  network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
})
after(async () => {
  await chain?.stop()
  await db?.close()
  await database?.drop()
})

type Test = { after(work: () => unknown): void }

/** A scanner with so many nodes, all honest until their faults are set, and a clock that only the test turns. */
async function openNodes(t: Test, count: number) {
  const proxies = await Promise.all(Array.from({ length: count }, () => startRpcProxy(chain.rpcUrl)))
  const rpcs = proxies.map(({ url }) => createRpc({ url }))
  const lines: { level: number; msg: string }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const time = { nowMs: Date.now() }
  const clock = () => time.nowMs
  const endpoints = openEndpoints(network, rpcs, { clock })
  const scanner = startScanner({ db, network, endpoints, log, pollMs: 0, onChange: () => {}, clock })
  t.after(async () => {
    await scanner.stop()
    for (const rpc of rpcs) await rpc.close()
    for (const proxy of proxies) await proxy.stop()
    await db.run(sql`update chain_heads set trouble = null, trouble_since = null`)
  })
  const lookOn = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      await scanner.tick().catch((error: Error) => assert.equal(error.name, 'RpcError'))
      time.nowMs += SECOND
    }
  }
  await scanner.tick()
  return {
    ...{ endpoints, lookOn, time },
    proxy: (number: number) => proxies[number - 1] as RpcProxy,
    faults: () => endpoints.all.map((endpoint) => endpoint.fault()),
    alarms: () => lines.filter(({ level }) => level >= 50).map(({ msg }) => msg),
    warnings: () => lines.filter(({ level }) => level === 40).map(({ msg }) => msg),
  }
}

async function payNew(units: bigint): Promise<string> {
  const wanted = { companyId: 'c'.repeat(24), reference: randomBytes(6).toString('hex'), xpub: XPUB, watchedUntil: FAR }
  const { address } = await db.tx((tx) => assignDepositAddress(tx, wanted))
  await chain.pay({ to: address, units })
  return address
}
const seen = async (address: string): Promise<string[]> =>
  (await listTransfersTo(db, [address])).map(({ units, status }) => `${units} ${status}`)
const trouble = async () => (await listStandings(db, [chain.chainId]))[0]?.trouble

/** The newest block of this node is three hours ahead. */
const early: Faults['alter'] = ({ method, params }, result) => {
  if (method !== 'eth_getBlockByNumber' || params[0] !== 'latest') return result
  return { ...(result as object), timestamp: toHex(BigInt(Math.floor((Date.now() + 3 * HOUR) / SECOND))) }
}

test('a node whose newest block is from the future is not read, with an alarm, until it no longer is', async (t) => {
  const nodes = await openNodes(t, 2)
  nodes.proxy(1).faults.alter = early
  nodes.time.nowMs += 3 * SECOND
  const address = await payNew(41n)
  await nodes.lookOn(2)
  assert.deepEqual([await seen(address), nodes.faults()], [['41 seen'], ['outvoted', null]])
  assert.deepEqual([nodes.alarms().length, await trouble()], [1, null])
  const head = await findHead(db, chain.chainId)
  assert.equal(head?.number, await chain.blockNumber())
  nodes.proxy(1).heal()
  await nodes.lookOn(4)
  assert.deepEqual(nodes.faults(), [null, null])
})

const byHash = 'eth_getBlockByHash'
/** Knows its blocks by their numbers alone. */
const knowsNoHash: Faults['alter'] = ({ method }, result) => (method === byHash ? null : result)
/** Has another block at every height, and knows none of ours. */
const hasOthers: Faults['alter'] = ({ method, params }, result) => {
  if (method === byHash) return null
  if (method !== 'eth_getBlockByNumber' || params[0] === '0x0') return result
  return { ...(result as object), hash: `0x${'a'.repeat(64)}` }
}
const noProof: Faults['refuses'] = ({ method }) => method === 'eth_call'

for (const [what, alter] of Object.entries({
  'no block by its hash': knowsNoHash,
  'other blocks than all': hasOthers,
})) {
  test(`two nodes outvote a third one that knows ${what}: the payment counts, with one alarm`, async (t) => {
    const nodes = await openNodes(t, 3)
    nodes.proxy(2).faults.alter = alter
    const address = await payNew(42n)
    await nodes.lookOn(8)
    assert.deepEqual([await seen(address), nodes.faults()], [['42 seen'], [null, 'outvoted', null]])
    assert.deepEqual([nodes.alarms().length, await trouble()], [1, null])
  })

  test(`one against one, a node that knows ${what} contradicts: nothing counts, and the operator hears`, async (t) => {
    const nodes = await openNodes(t, 2)
    nodes.proxy(2).faults.alter = alter
    const address = await payNew(43n)
    await nodes.lookOn(5)
    assert.deepEqual([await seen(address), await trouble()], [[], null], 'it may only be a moment behind')
    await nodes.lookOn(8)
    assert.deepEqual([await seen(address), await trouble()], [[], 'disagreement'])
    assert.match(nodes.alarms().join(), /the chain is not read/)
    nodes.proxy(2).heal()
    await nodes.lookOn(2)
    assert.deepEqual([await seen(address), await trouble()], [['43 seen'], null])
  })
}

test('two nodes that both have another block outvote the one in use', async (t) => {
  const nodes = await openNodes(t, 3)
  for (const number of [2, 3]) nodes.proxy(number).faults.alter = hasOthers
  const address = await payNew(44n)
  await nodes.lookOn(7)
  assert.deepEqual([nodes.faults(), await seen(address)], [['outvoted', null, null], []])
})

for (const { count, late } of [
  { count: 2, late: 'waited for until it confirms' },
  { count: 3, late: 'not waited for where the others agree' },
  { count: 4, late: 'waited for for a moment where half of all agree' },
])
  test(`one of ${count} nodes that is late is ${late}`, async (t) => {
    const nodes = await openNodes(t, count)
    for (let number = 2; number < Math.max(3, count); number += 1)
      nodes.proxy(number).faults.knowsUpTo = await chain.blockNumber()
    const address = await payNew(45n)
    await nodes.lookOn(4)
    assert.deepEqual(await seen(address), count === 3 ? ['45 seen'] : [])
    await nodes.lookOn(8)
    assert.deepEqual(await seen(address), count === 2 ? [] : ['45 seen'])
    assert.deepEqual([nodes.faults(), nodes.alarms()], [new Array(count).fill(null), []])
    for (let number = 2; number <= count; number += 1) nodes.proxy(number).heal()
    await nodes.lookOn(1)
    assert.deepEqual(await seen(address), ['45 seen'])
  })

for (const [what, { alter, counted, ends }] of Object.entries({
  'knows no block by its hash holds no payment up': { alter: knowsNoHash, counted: ['46 seen'], ends: null },
  'has another block contradicts': { alter: hasOthers, counted: [], ends: 'disagreement' },
}))
  test(`a node that proved nothing and ${what}`, async (t) => {
    const nodes = await openNodes(t, 2)
    Object.assign(nodes.proxy(2).faults, { alter, refuses: noProof })
    Object.assign(nodes.endpoints.all[1] ?? {}, { unproven: true })
    const address = await payNew(46n)
    await nodes.lookOn(5)
    assert.deepEqual([await seen(address), nodes.faults()], [[], [null, 'unproven']], 'it may only be a moment behind')
    await nodes.lookOn(8)
    assert.deepEqual([await seen(address), await trouble()], [counted, ends])
  })

test('a doubt that lasts is trouble of the chain, with a warning that says why, until the chain is read on', async (t) => {
  const nodes = await openNodes(t, 2)
  const health = async () => {
    const [one] = await openChainHealth({ db, clock: Date.now, networks: [network], maxLagSeconds: 60 }).list()
    return one
  }
  nodes.proxy(2).faults.knowsUpTo = await chain.blockNumber()
  const address = await payNew(47n)
  await nodes.lookOn(29)
  assert.deepEqual([await trouble(), nodes.warnings()], [null, []])
  await nodes.lookOn(10)
  assert.deepEqual([await trouble(), (await health())?.ok, nodes.alarms()], ['doubt', false, []])
  assert.equal(nodes.warnings().length, 1)
  assert.match(nodes.warnings().join(), /not read on: endpoint 2 does not have the block yet/)
  assert.match((await health())?.message ?? '', /do not fit together/)
  nodes.proxy(2).heal()
  await nodes.lookOn(1)
  assert.deepEqual([await trouble(), (await health())?.ok, await seen(address)], [null, true, ['47 seen']])
})

test('doubts between which the chain is read on are no trouble, though its head is never reached', async (t) => {
  const nodes = await openNodes(t, 1)
  // as several nodes behind one address, of which most do not have the newest block
  let newest = ''
  nodes.proxy(1).faults.alter = ({ params }, result) => (params[0] === newest ? null : result)
  for (let look = 0; look < 40; look += 1) {
    await chain.mine()
    newest = toHex(await chain.blockNumber())
    Object.assign(nodes.endpoints.all[0] ?? {}, { blocksAtOnce: 1 })
    await nodes.lookOn(1)
  }
  assert.equal((await findHead(db, chain.chainId))?.number, (await chain.blockNumber()) - 1n)
  assert.deepEqual([await trouble(), nodes.warnings()], [null, []])
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, beforeEach, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { pino } from 'pino'
import { findHead, listStandings } from '../src/chain/chain-queries.ts'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { type Network, networkFor } from '../src/chain/networks.ts'
import { type Scanner, startScanner } from '../src/chain/scanner.ts'
import { listTransfersTo } from '../src/chain/transfer-queries.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { HOUR, systemClock } from '../src/kernel/clock.ts'
import { newTestXpub, startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { startRpcProxy } from './harness/rpc-proxy.ts'

/* Several nodes share a chain: one reads it, and the others go on when it stops. */

const XPUB = newTestXpub()
const LEASE_MS = 10_000
const log = pino({ level: 'silent' })

let database: TestDatabase
let db: Db
let chain: TestChain
let rpc: Rpc
let network: Network
let scanner: Scanner

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 4 })
  chain = await startTestChain()
  rpc = createRpc({ url: chain.rpcUrl })
  network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
})

after(async () => {
  await scanner?.stop()
  await rpc?.close()
  await chain?.stop()
  await db?.close()
  await database?.drop()
})

const openScanner = (through: Rpc = rpc, clock = systemClock): Scanner =>
  startScanner({
    ...{ db, network, endpoints: openEndpoints(network, [through], { clock }), log, clock },
    ...{ pollMs: 0, onChange: () => {} },
  })

beforeEach(async () => {
  await scanner?.stop()
  await db.run(sql`update chain_heads set lease_until = null`)
  scanner = openScanner()
  await scanner.tick()
})

async function assign(): Promise<string> {
  const watched = { companyId: 'a'.repeat(24), reference: randomBytes(6).toString('hex'), xpub: XPUB }
  const watchedUntil = new Date('2100-01-01')
  return (await db.tx((tx) => assignDepositAddress(tx, { ...watched, watchedUntil }))).address
}

const troubleNow = async () => (await listStandings(db, [chain.chainId]))[0]?.trouble

/** As ten seconds after its reader was heard of last. */
const endLease = (): Promise<number> => db.run(sql`update chain_heads set lease_until = now()`)

it('of two nodes one reads; when it stops the other goes on', async () => {
  const address = await assign()
  const second = openScanner()
  await chain.pay({ to: address, units: 1n })
  assert.equal(await second.tick(), false)
  assert.deepEqual(await listTransfersTo(db, [address]), [])
  await scanner.stop()
  assert.equal(await second.tick(), true)
  assert.equal((await listTransfersTo(db, [address])).length, 1)
  await second.stop()
})

it('trouble that one node recorded ends when another one reads the chain, and is recorded again if it lasts', async () => {
  await scanner.stop()
  const proxy = await startRpcProxy(chain.rpcUrl)
  const throughProxy = createRpc({ url: proxy.url })
  let nowMs = Date.now()
  const [wrong, right] = [openScanner(throughProxy, () => nowMs), openScanner()]
  await right.tick()
  await endLease()
  proxy.faults.alter = ({ method }, result) => (method === 'eth_chainId' ? '0xf' : result)
  await wrong.tick()
  assert.equal(await troubleNow(), 'foreign')
  await endLease()
  await chain.mine()
  await right.tick()
  assert.equal(await troubleNow(), null)
  await right.stop()
  nowMs += 2 * LEASE_MS + 1
  await wrong.tick()
  assert.equal(await troubleNow(), 'foreign')
  await wrong.stop()
  await throughProxy.close()
  await proxy.stop()
  await db.run(sql`update chain_heads set trouble = null, trouble_since = null`)
})

it('of two nodes that read more slowly than their lease lasts, one still brings the chain to its end', async () => {
  const address = await assign()
  await scanner.stop()
  await chain.mine(30)
  await chain.pay({ to: address, units: 1n })
  const slow: Rpc = {
    ...rpc,
    batch: async (calls) => {
      if (calls.some(({ method }) => method === 'eth_getLogs')) await setTimeout(500)
      return rpc.batch(calls)
    },
  }
  const options = { db, network, log, pollMs: 0, onChange: () => {}, leaseMs: 200 }
  const nodes = [1, 2].map(() => startScanner({ ...options, endpoints: openEndpoints(network, [slow]) }))
  const isDone = async (): Promise<boolean> => (await listTransfersTo(db, [address])).length === 1
  const endMs = performance.now() + 10_000
  const readOn = async (node: Scanner): Promise<void> => {
    while (!(await isDone()) && performance.now() < endMs) await node.tick()
  }
  await Promise.all(nodes.map(readOn))
  assert.ok(performance.now() < endMs, 'the nodes took the chain from each other')
  for (const node of nodes) await node.stop()
})

it('a node whose lease was taken over writes nothing more, not even what it is reading just then', async () => {
  const address = await assign()
  await scanner.tick()
  const before = await findHead(db, chain.chainId)
  await chain.pay({ to: address, units: 1n })
  const takeOver = async (): Promise<unknown> =>
    db.run(sql`update chain_heads set lease_owner = 'other', lease_until = now() + interval '1 minute'`)
  const slow: Rpc = {
    ...rpc,
    batch: async (calls) => {
      if (calls.some(({ method }) => method === 'eth_getLogs')) await takeOver()
      return rpc.batch(calls)
    },
  }
  await scanner.stop()
  scanner = openScanner(slow)
  assert.equal(await scanner.tick(), false)
  assert.equal(await scanner.tick(), false)
  assert.equal((await findHead(db, chain.chainId))?.number, before?.number)
  assert.deepEqual(await listTransfersTo(db, [address]), [])
  await db.run(sql`update chain_heads set lease_until = now() - interval '1 second'`)
  scanner = openScanner()
  await scanner.tick()
  assert.deepEqual(
    (await listTransfersTo(db, [address])).map(({ status }) => status),
    ['seen'],
  )
})

it('a scanner whose clock is set back goes on renewing its lease', async () => {
  let nowMs = Date.now()
  await scanner.stop()
  scanner = openScanner(rpc, () => nowMs)
  const leasedUntil = async (): Promise<number> => {
    const { until } = await db.one<{ until: Date }>(
      sql`select lease_until as until from chain_heads where chain_id = ${chain.chainId}`,
    )
    return until.getTime()
  }
  await scanner.tick()
  const before = await leasedUntil()
  await scanner.tick()
  assert.equal(await leasedUntil(), before, 'not each time')
  nowMs -= HOUR
  await scanner.tick()
  assert.ok((await leasedUntil()) > before)
})

it('a node that does not tell its newest block is behind until it does, and another one is read', async () => {
  await scanner.stop()
  await db.run(sql`update chain_heads set lease_until = null`)
  const proxies = await Promise.all([1, 2].map(() => startRpcProxy(chain.rpcUrl)))
  const rpcs = proxies.map(({ url }) => createRpc({ url }))
  let nowMs = Date.now()
  const clock = () => nowMs
  const endpoints = openEndpoints(network, rpcs, { clock })
  const base = { db, network, endpoints, log, clock, pollMs: 0, onChange: () => {} }
  const both = startScanner(base)
  const faults = () => endpoints.all.map((one) => one.fault())
  try {
    await both.tick()
    assert.deepEqual(faults(), [null, null])
    const [silent] = proxies
    if (silent)
      silent.faults.alter = ({ method, params }, result) =>
        method === 'eth_getBlockByNumber' && params[0] === 'latest' ? null : result
    nowMs += 5000
    await chain.mine()
    await both.tick()
    assert.equal((await findHead(db, chain.chainId))?.number, await chain.blockNumber())
    assert.deepEqual(faults(), ['down', null])
    nowMs += 2000
    assert.deepEqual(faults(), ['behind', null])
    silent?.heal()
    nowMs += 2000
    await both.tick()
    assert.deepEqual(faults(), [null, null])
  } finally {
    await both.stop()
    await Promise.all([...rpcs.map((one) => one.close()), ...proxies.map((one) => one.stop())])
  }
})

it('an outage of the database calls no node wrong, though another one shows no new block', async () => {
  await scanner.stop()
  await db.run(sql`update chain_heads set lease_until = null`)
  const proxies = await Promise.all([1, 2].map(() => startRpcProxy(chain.rpcUrl)))
  const rpcs = proxies.map(({ url }) => createRpc({ url }))
  let nowMs = Date.now()
  let isDown = false
  const failing = new Proxy(db, {
    get: (target, name: keyof Db) => (isDown ? () => Promise.reject(new Error('no connection')) : target[name]),
  })
  const clock = () => nowMs
  const endpoints = openEndpoints(network, rpcs, { clock })
  const both = startScanner({ db: failing, network, endpoints, log, clock, pollMs: 0, onChange: () => {} })
  try {
    await both.tick()
    const [, late] = proxies
    if (late) late.faults.knowsUpTo = await chain.blockNumber()
    await chain.mine()
    isDown = true
    for (let look = 0; look < 12; look += 1) {
      nowMs += 1000
      await both.tick().catch(() => {})
    }
    assert.deepEqual(
      endpoints.all.map((one) => one.fault()),
      [null, null],
    )
    isDown = false
    for (const proxy of proxies) proxy.heal()
    await both.tick()
    assert.equal((await findHead(db, chain.chainId))?.number, await chain.blockNumber())
  } finally {
    isDown = false
    await both.stop()
    await Promise.all([...rpcs.map((one) => one.close()), ...proxies.map((one) => one.stop())])
  }
})

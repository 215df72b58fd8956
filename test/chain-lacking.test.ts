import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
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

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, afterEach, before, beforeEach, it } from 'node:test'
import { pino } from 'pino'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { type Scanner, startScanner } from '../src/chain/scanner.ts'
import { TRANSFER_TOPIC, toHex, toTopic } from '../src/chain/transfer-logs.ts'
import { listTransfersTo } from '../src/chain/transfer-queries.ts'
import { type Db, openDb } from '../src/db/db.ts'
import { newTestXpub, startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'

/* How often endpoints are asked: where an answer takes seconds, a chain that is asked block by block runs away. */

const XPUB = newTestXpub()

let database: TestDatabase
let db: Db
let chain: TestChain
let proxies: [RpcProxy, RpcProxy]
let rpcs: Rpc[]
let scanner: Scanner

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 4 })
  chain = await startTestChain()
})

after(async () => {
  await chain?.stop()
  await db?.close()
  await database?.drop()
})

const requests = (): number => proxies.reduce((sum, proxy) => sum + proxy.requests(), 0)

beforeEach(async () => {
  proxies = [await startRpcProxy(chain.rpcUrl), await startRpcProxy(chain.rpcUrl)]
  open(2)
  await scanner.tick()
})

afterEach(async () => {
  await scanner.stop()
  for (const rpc of rpcs) await rpc.close()
  for (const proxy of proxies) await proxy.stop()
})

/** Reads through the first endpoints. */
function open(count: number): void {
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  rpcs = proxies.slice(0, count).map(({ url }) => createRpc({ url, timeoutMs: 1000 }))
  const options = { db, network, endpoints: openEndpoints(network, rpcs), log: pino({ level: 'silent' }) }
  scanner = startScanner({ ...options, pollMs: 0, onChange: () => {} })
}

async function readThroughOne(): Promise<RpcProxy> {
  await scanner.stop()
  for (const rpc of rpcs) await rpc.close()
  open(1)
  await scanner.tick()
  return proxies[0]
}

async function assign(): Promise<string> {
  const watched = { companyId: 'a'.repeat(24), reference: randomBytes(6).toString('hex'), xpub: XPUB }
  const watchedUntil = new Date('2100-01-01')
  return (await db.tx((tx) => assignDepositAddress(tx, { ...watched, watchedUntil }))).address
}

async function payEach(address: string, blocks: number): Promise<void> {
  for (let block = 0; block < blocks; block += 1) await chain.pay({ to: address, units: 1n })
}

/** A look that fails is made again. */
async function lookOn(): Promise<void> {
  for (let look = 0; look < 3; look += 1)
    await scanner.tick().catch((error: Error) => assert.equal(error.name, 'RpcError'))
}

const countSeen = async (address: string): Promise<number> => (await listTransfersTo(db, [address])).length

for (const blocks of [1, 30]) {
  it(`${blocks} blocks with payments are read and confirmed with a dozen requests`, async () => {
    const address = await assign()
    await payEach(address, blocks)
    const before = requests()
    await scanner.tick()
    assert.equal(await countSeen(address), blocks)
    const asked = requests() - before
    assert.ok(asked <= 12, `${asked} requests`)
  })
}

it('one endpoint whose headers show more than it tells is asked about all such blocks at once', async () => {
  const only = await readThroughOne()
  const address = await assign()
  await payEach(address, 30)
  let hidden = 0
  only.faults.alter = ({ method, params }, result) => {
    const isFirst = method === 'eth_getLogs' && 'blockHash' in (params[0] as object)
    if (isFirst) hidden += 1
    return isFirst ? [] : result
  }
  const before = only.requests()
  await scanner.tick()
  assert.deepEqual([hidden, await countSeen(address)], [30, 30])
  const asked = only.requests() - before
  assert.ok(asked <= 12, `${asked} requests`)
})

it('an endpoint that takes too long for many blocks is asked about fewer, until all are read', async () => {
  const only = await readThroughOne()
  const address = await assign()
  await payEach(address, 30)
  only.faults.hangsAbove = 8
  for (let looks = 0; looks < 10 && (await countSeen(address)) < 30; looks += 1) await lookOn()
  assert.equal(await countSeen(address), 30)
})

type Place = { hash: string; number: string }

async function payBlocks(address: string, blocks: number): Promise<Place[]> {
  const places: Place[] = []
  for (let block = 0; block < blocks; block += 1) {
    await payEach(address, 1)
    places.push(await chain.call<Place>('eth_getBlockByNumber', 'latest', false))
  }
  return places
}

/** Adds a transfer to each of these addresses to what the endpoint says about each of these blocks. */
function invent(liar: RpcProxy, places: readonly Place[], addresses: readonly string[]): void {
  const byHash = new Map(places.map((place) => [place.hash, place]))
  liar.faults.alter = ({ method, params }, result) => {
    const place = byHash.get((params[0] as { blockHash?: string })?.blockHash ?? '')
    if (method !== 'eth_getLogs' || !place) return result
    const made = addresses.map((address, index) => ({
      ...{ blockHash: place.hash, blockNumber: place.number, transactionHash: `0x${'e'.repeat(64)}` },
      ...{ logIndex: toHex(BigInt(1000 + index)), address: chain.usdcAddress },
      ...{ topics: [TRANSFER_TOPIC, toTopic(address), toTopic(address)], data: `0x${'1'.padStart(64, '0')}` },
    }))
    return [...(result as object[]), ...made]
  }
}

it('an endpoint that fails at one block of many still contradicts what was invented in another', async () => {
  const [liar, other] = proxies
  const [paid, invented] = [await assign(), await assign()]
  const [place, refused] = await payBlocks(paid, 2)
  assert.ok(place && refused)
  other.faults.refuses = ({ method, params }) =>
    method === 'eth_getLogs' && (params[0] as { blockHash?: string }).blockHash === refused.hash
  invent(liar, [place], [invented])
  await lookOn()
  assert.equal(await countSeen(invented), 0)
  for (const proxy of proxies) proxy.heal()
  await lookOn()
  assert.deepEqual([await countSeen(paid), await countSeen(invented)], [2, 0])
})

it('an endpoint that allows few calls in a second still contradicts what another invents in many blocks', async () => {
  const [liar, other] = proxies
  const [paid, invented] = [await assign(), await assign()]
  invent(liar, await payBlocks(paid, 12), [invented])
  other.faults.maxPerSecond = 10
  await lookOn()
  assert.equal(await countSeen(invented), 0)
})

it('an endpoint that takes too long for many blocks at once still contradicts what another invents', async () => {
  const [liar, other] = proxies
  const [paid, invented] = [await assign(), await assign()]
  invent(liar, await payBlocks(paid, 12), [invented])
  other.faults.hangsAbove = 4
  await lookOn()
  assert.equal(await countSeen(invented), 0)
})

it('an endpoint that takes fewer addresses in a question still contradicts what another invents for many', async () => {
  const [liar, other] = proxies
  const invented = await Promise.all(Array.from({ length: 30 }, assign))
  invent(liar, await payBlocks(await assign(), 1), invented)
  other.faults.maxTopics = 20
  await lookOn()
  assert.equal((await listTransfersTo(db, invented)).length, 0)
})

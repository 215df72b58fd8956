import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { pino } from 'pino'
import { findHead } from '../src/chain/chain-queries.ts'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { type Endpoints, openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { type Scanner, startScanner } from '../src/chain/scanner.ts'
import { toTopic } from '../src/chain/transfer-logs.ts'
import { listChangedTransfers, listTransfersTo } from '../src/chain/transfer-queries.ts'
import { type Db, openDb } from '../src/db/db.ts'
import { newTestXpub, startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { tellLie } from './harness/lying-endpoints.ts'
import { type Random, randomBelow } from './harness/random.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'

const STEPS = Number(process.env.STEPS ?? 200)
assert.ok(STEPS > 0, 'STEPS must be a number above 0')
const SEED = Number(process.env.SEED ?? 20261120)
const XPUB = newTestXpub()
const FAR = new Date('2100-01-01')
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

let database: TestDatabase
let db: Db
let chain: TestChain
let other: TestChain
let rpcs: Rpc[]
let proxies: RpcProxy[]
let endpoints: Endpoints
let nowMs = Date.now()
let scanner: Scanner

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 4 })
  chain = await startTestChain()
  // the first block of a local chain differs by its second
  await new Promise((resolve) => setTimeout(resolve, 1100))
  other = await startTestChain()
  await other.mine(40)
  proxies = await Promise.all([1, 2, 3].map(() => startRpcProxy(chain.rpcUrl)))
  rpcs = proxies.map(({ url }) => createRpc({ url, timeoutMs: 2000 }))
})

after(async () => {
  await scanner?.stop()
  for (const rpc of rpcs ?? []) await rpc.close()
  for (const proxy of proxies ?? []) await proxy.stop()
  await other?.stop()
  await chain?.stop()
  await db?.close()
  await database?.drop()
})

const openScanner = (): Scanner => {
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const clock = () => nowMs
  endpoints = openEndpoints(network, rpcs, { clock })
  return startScanner({ db, network, endpoints, log: pino({ level: 'silent' }), pollMs: 0, onChange: () => {}, clock })
}

type Placed = { txHash: string; blockHash: string; logIndex: number; to: string; units: bigint }
const inOrder = (rows: Placed[]): string[] =>
  rows.map((row) => [row.txHash, row.blockHash, row.logIndex, row.to, row.units].join(' ')).sort()

async function listOnChain(addresses: string[]): Promise<Placed[]> {
  type Log = { transactionHash: string; blockHash: string; logIndex: string; topics: string[]; data: string }
  const filter = { address: chain.usdcAddress, topics: [TRANSFER], fromBlock: '0x0', toBlock: 'latest' }
  const logs = await chain.call<Log[]>('eth_getLogs', filter)
  const mine = new Set(addresses.map((address) => address.toLowerCase()))
  return logs
    .map((log) => ({
      txHash: log.transactionHash,
      blockHash: log.blockHash,
      logIndex: Number(log.logIndex),
      to: `0x${log.topics[2]?.slice(26)}`,
      units: BigInt(log.data),
    }))
    .filter((row) => mine.has(row.to))
}

/** Looks until nothing is left to read; a doubtful look may end early, and who lied is not believed for a minute. */
async function readAll(): Promise<void> {
  for (let look = 0; look < 12; look += 1) {
    await scanner.tick().catch((error: Error) => assert.equal(error.name, 'RpcError'))
    nowMs += look < 3 ? 61_000 : 1000
    const head = await findHead(db, chain.chainId)
    const newest = await chain.call<{ hash: string }>('eth_getBlockByNumber', 'latest', false)
    if (head?.hash === newest.hash) return
  }
  assert.fail('the scanner does not reach the head of the chain')
}

type Pick = <Item>(items: readonly Item[]) => Item

/** Makes things happen on the chain and to the scanner, and compares what the scanner knows with the chain itself. */
class Story {
  readonly random: Random
  readonly accounts: string[]
  readonly addresses: string[] = []
  readonly feed = new Map<string, string>()
  readonly orphans = new Set<string>()
  raws: string[] = []
  cursor = 0n
  compared = 0
  lies = 0
  reorganised = 0

  constructor(random: Random, accounts: string[]) {
    this.random = random
    this.accounts = accounts
  }

  pick: Pick = (items) => items[this.random(items.length)] as (typeof items)[number]

  async assign(): Promise<string> {
    const wanted = { companyId: 'c', reference: String(this.addresses.length), xpub: XPUB, watchedUntil: FAR }
    const { address } = await db.tx((tx) => assignDepositAddress(tx, wanted))
    this.addresses.push(address)
    return address
  }

  async pay(): Promise<void> {
    const to = this.addresses.length < 10 || this.random(4) === 0 ? await this.assign() : this.pick(this.addresses)
    const payment = { from: this.pick(this.accounts), to, units: BigInt(1 + this.random(1_000_000)) }
    // the node may refuse, or keep it waiting for an earlier payment that a reorganisation took away
    const txHash = await chain.send(payment).catch(() => undefined)
    if (txHash !== undefined) this.raws = [...this.raws.slice(-30), await chain.rawTransaction(txHash)]
  }

  /** Some payments of the lost blocks come back later, some never. */
  async lose(replace: (depth: number) => Promise<void>): Promise<void> {
    this.reorganised += 1
    await replace(1 + this.random(8))
    const again = this.raws.slice(-12).filter(() => this.random(3) > 0)
    for (const raw of again) await chain.resend(raw).catch(() => undefined)
  }

  /** One of the endpoints does not do what it should, until the next step. */
  async lie(): Promise<void> {
    for (const proxy of proxies) proxy.heal()
    if (this.random(3) === 0) return
    // an endpoint that stands alone is believed: no one can contradict it
    const isHeard = endpoints.all.every((endpoint) => endpoint.fault() === null)
    const inventsFor = isHeard && this.addresses.length > 0 ? toTopic(this.pick(this.addresses)) : null
    await tellLie({ chain, other, proxies }, this.random, inventsFor)
    this.lies += 1
  }

  async step(): Promise<void> {
    await this.lie()
    const dice = this.random(20)
    if (dice < 9) for (let count = this.random(4); count >= 0; count -= 1) await this.pay()
    else if (dice < 14) await chain.mine(1 + this.random(3))
    else if (dice < 16) await this.lose((depth) => chain.reorg(depth))
    else if (dice < 17)
      await this.lose(async (depth) => {
        await chain.rollback(depth)
        await chain.mine(depth + 1)
      })
    else if (dice < 19) {
      // the ground moves while the scanner is looking: it may find the node's answers not to fit, and has to come again
      const looking = scanner.tick().catch((error: Error) => assert.equal(error.name, 'RpcError'))
      await this.lose((depth) => chain.reorg(depth))
      await looking
    } else {
      await scanner.stop()
      scanner = openScanner()
    }
  }

  async compare(): Promise<void> {
    for (const proxy of proxies) proxy.heal()
    await readAll()
    const transfers = await listTransfersTo(db, this.addresses)
    const seen = transfers.filter(({ status }) => status === 'seen')
    const rows = seen.map(({ toAddress, ...row }) => ({ ...row, to: toAddress }))
    assert.deepEqual(inOrder(rows), inOrder(await listOnChain(this.addresses)))
    for (const address of this.addresses) {
      const own = seen.filter(({ toAddress }) => toAddress === address.toLowerCase())
      const sum = own.reduce((left, { units }) => left + units, 0n)
      assert.equal(sum, await chain.balanceOf(address), address)
    }
    const { cursor: afterChange, feed } = this
    const changed = await listChangedTransfers(db, { chainId: chain.chainId, afterChange, limit: 10_000 })
    this.cursor = changed.at(-1)?.change ?? afterChange
    for (const { id, status, blockHash } of changed) feed.set(id, `${status} ${blockHash}`)
    assert.deepEqual(feed, new Map(transfers.map(({ id, status, blockHash }) => [id, `${status} ${blockHash}`])))
    for (const { id, status } of transfers) if (status === 'orphaned') this.orphans.add(id)
    this.compared += 1
  }
}

it(`after each of ${STEPS} random steps (seed ${SEED}), with endpoints that lie in turn, the sums equal the chain's, and the feed missed nothing`, async () => {
  const accounts = (await chain.call<string[]>('eth_accounts')).slice(2, 8)
  for (const to of accounts) await chain.pay({ to, units: 1_000_000_000n })
  scanner = openScanner()
  const random = randomBelow(SEED)
  const story = new Story(random, accounts)
  for (let count = 0; count < STEPS; count += 1) {
    await story.step()
    await scanner.tick().catch((error: Error) => assert.equal(error.name, 'RpcError'))
    nowMs += 500
    if (random(3) === 0) await story.compare()
  }
  await story.compare()
  const { compared, reorganised, orphans, lies } = story
  const wild = compared > STEPS / 5 && reorganised > 10 && orphans.size > 5 && lies > STEPS / 3
  assert.ok(
    wild,
    `too tame: ${compared} comparisons, ${reorganised} reorganisations, ${orphans.size} orphans, ${lies} lies`,
  )
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { findHead, listStandings } from '../src/chain/chain-queries.ts'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { askLogs } from '../src/chain/endpoints/ask-logs.ts'
import { listEndpointLimits } from '../src/chain/endpoints/endpoint-queries.ts'
import { type Endpoints, openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { type Network, networkFor } from '../src/chain/networks.ts'
import { openChains } from '../src/chain/open-chains.ts'
import { type Scanner, startScanner } from '../src/chain/scanner.ts'
import { blockCall, tokensOf, toTopic } from '../src/chain/transfer-logs.ts'
import { listTransfersTo } from '../src/chain/transfer-queries.ts'
import { NO_CHAIN } from '../src/config/config.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { newTestXpub, startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { otherHistory } from './harness/lying-endpoints.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'
import { eventually } from './harness/service.ts'

const XPUB = newTestXpub()
const FAR = new Date('2100-01-01')

let database: TestDatabase
let db: Db
let chain: TestChain
let other: TestChain
let network: Network
let proxies: RpcProxy[]
let rpcs: Rpc[]
let endpoints: Endpoints
let scanner: Scanner
let lines: { level: number; msg: string }[] = []
let nowMs = Date.now()

const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
const alarms = (): string[] => lines.filter(({ level }) => level >= 50).map(({ msg }) => msg)

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 4 })
  chain = await startTestChain()
  // the first block of a local chain differs by its second
  await sleep(1100)
  other = await startTestChain()
  network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
})

after(async () => {
  await chain?.stop()
  await other?.stop()
  await db?.close()
  await database?.drop()
})

async function open(count: number): Promise<void> {
  proxies = await Promise.all(Array.from({ length: count }, () => startRpcProxy(chain.rpcUrl)))
  rpcs = proxies.map(({ url }) => createRpc({ url, timeoutMs: 500 }))
  reopen()
  await db.run(sql`update chain_heads set trouble = null`)
  await scanner.tick()
}

function reopen(): void {
  endpoints = openEndpoints(network, rpcs, { clock: () => nowMs })
  scanner = startScanner({ db, network, endpoints, log, pollMs: 0, onChange: () => {}, clock: () => nowMs })
}

beforeEach(() => {
  lines = []
  nowMs = Date.now()
})

afterEach(async () => {
  await scanner.stop()
  for (const rpc of rpcs) await rpc.close()
  for (const proxy of proxies) await proxy.stop()
})

async function assign(): Promise<string> {
  const reference = randomBytes(6).toString('hex')
  const wanted = { companyId: 'c'.repeat(24), reference, xpub: XPUB, watchedUntil: FAR }
  return (await db.tx((tx) => assignDepositAddress(tx, wanted))).address
}

/** Looks as often as a service does in some seconds; a look that fails is made again. */
async function lookOn(seconds = 5): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await scanner.tick().catch((error: Error) => assert.equal(error.name, 'RpcError'))
    nowMs += 1000
  }
}

const seen = async (address: string): Promise<string[]> =>
  (await listTransfersTo(db, [address])).map(({ units, status }) => `${units} ${status}`)
const faultOf = (number: number) => endpoints.all[number - 1]?.fault()
const standing = async () => (await listStandings(db, [chain.chainId]))[0]
const proxy = (number: number): RpcProxy => proxies[number - 1] as RpcProxy

/** All endpoints lack the logs and receipts of a block, whose header shows them. */
async function isNotReadPast(units: bigint): Promise<void> {
  const address = await assign()
  await lookOn(1)
  const before = await findHead(db, chain.chainId)
  for (const { faults } of proxies)
    faults.alter = ({ method }, result) => (/eth_getLogs|eth_getBlockReceipts/.test(method) ? [] : result)
  await chain.pay({ to: address, units })
  await lookOn(3)
  assert.equal((await findHead(db, chain.chainId))?.number, before?.number)
  for (const one of proxies) one.heal()
  await lookOn(1)
  assert.deepEqual(await seen(address), [`${units} seen`])
}

describe('one endpoint', () => {
  beforeEach(() => open(1))

  it('that serves another chain changes nothing, calls the operator, and is read again after a minute', async () => {
    const address = await assign()
    await chain.pay({ to: address, units: 7n })
    await lookOn(1)
    const before = await findHead(db, chain.chainId)
    await other.mine(3)
    await other.pay({ to: address, units: 1000n })
    proxy(1).faults.otherUrl = other.rpcUrl
    await lookOn(5)
    assert.deepEqual([await seen(address), await findHead(db, chain.chainId)], [['7 seen'], before])
    assert.deepEqual([(await standing())?.trouble, alarms().length], ['foreign', 2])
    assert.match(alarms().join(), /its first block is different/)
    proxy(1).heal()
    await chain.pay({ to: address, units: 8n })
    await lookOn(59)
    assert.deepEqual(await seen(address), ['7 seen'], 'a minute is not over')
    await lookOn(3)
    assert.deepEqual([await seen(address), (await standing())?.trouble], [['7 seen', '8 seen'], null])
  })

  it('with another chain id is another chain, and a restart does not shorten the minute', async () => {
    const address = await assign()
    await chain.pay({ to: address, units: 7n })
    await lookOn(1)
    await chain.pay({ to: address, units: 8n })
    proxy(1).faults.alter = ({ method }, result) => (method === 'eth_chainId' ? '0x1' : result)
    await lookOn(2)
    assert.deepEqual([await seen(address), (await standing())?.trouble], [['7 seen'], 'foreign'])
    proxy(1).heal()
    await scanner.stop()
    reopen()
    await lookOn(58)
    assert.deepEqual(await seen(address), ['7 seen'])
    await lookOn(5)
    assert.deepEqual(await seen(address), ['7 seen', '8 seen'])
  })

  it('that changes chains in the middle of a look orphans nothing', async () => {
    const address = await assign()
    await chain.pay({ to: address, units: 7n })
    await lookOn(1)
    await chain.mine()
    // the newest block is still right; what is asked after it comes from another chain
    let asked = 0
    proxy(1).faults.alter = ({ method, params }, result) => {
      if (method !== 'eth_getBlockByNumber' || params[0] === 'latest' || params[0] === '0x0') return result
      asked += 1
      const block = result as { hash: string; parentHash: string }
      return { ...block, hash: `0x${'a'.repeat(64)}`, parentHash: `0x${'b'.repeat(64)}` }
    }
    await other.mine(20)
    const switching = setInterval(() => {
      if (asked > 0) proxy(1).faults.otherUrl = other.rpcUrl
    }, 1)
    await lookOn(3)
    clearInterval(switching)
    assert.deepEqual(await seen(address), ['7 seen'])
  })

  it('that shows no logs once, and then does, loses nothing', async () => {
    const address = await assign()
    proxy(1).faults.hidesOnce = 1
    await chain.pay({ to: address, units: 9n })
    await lookOn(1)
    assert.deepEqual(await seen(address), ['9 seen'])
    assert.equal(proxy(1).faults.hidesOnce, 0, 'the empty answer was given')
  })

  for (const [which, lacks] of Object.entries({ block: null, transactions: 'eth_getBlockReceipts' }))
    it(`that shows no logs at all is contradicted by its own headers: receipts of its ${which} decide`, async () => {
      Object.assign(proxy(1).faults, { hidesLogs: true, lacks })
      const address = await assign()
      await chain.pay({ to: address, units: 10n })
      await lookOn(1)
      assert.equal(String(await seen(address)), '10 seen')
    })

  it('whose headers speak of a transfer that nothing shows is not read past it', () => isNotReadPast(11n))

  it('that shows no logs of old blocks, while hundreds are read at once, loses nothing', async () => {
    const address = await assign()
    await scanner.stop()
    await chain.pay({ to: address, units: 12n })
    await chain.mine(200)
    reopen()
    proxy(1).faults.hidesLogs = true
    await lookOn(3)
    assert.deepEqual(await seen(address), ['12 seen'])
    assert.equal((await findHead(db, chain.chainId))?.number, await chain.blockNumber())
  })

  it('that answers 503, or nothing, and is back, loses nothing', async () => {
    const address = await assign()
    proxy(1).faults.status = 503
    await chain.pay({ to: address, units: 13n })
    await lookOn(3)
    assert.deepEqual(await seen(address), [])
    proxy(1).heal()
    proxy(1).faults.hangs = true
    await chain.pay({ to: address, units: 14n })
    await lookOn(2)
    proxy(1).heal()
    await lookOn(1)
    assert.deepEqual(await seen(address), ['13 seen', '14 seen'])
  })

  it('that falls behind, and comes back, loses nothing', async () => {
    const address = await assign()
    await chain.pay({ to: address, units: 15n })
    await lookOn(1)
    const before = await findHead(db, chain.chainId)
    proxy(1).faults.knowsUpTo = (before?.number ?? 0n) - 3n
    await chain.pay({ to: address, units: 16n })
    await lookOn(3)
    assert.deepEqual([await seen(address), (await findHead(db, chain.chainId))?.hash], [['15 seen'], before?.hash])
    proxy(1).heal()
    await lookOn(1)
    assert.deepEqual(await seen(address), ['15 seen', '16 seen'])
  })

  it('that takes small batches and few receivers is asked for less, and nothing is lost', async () => {
    const addresses = await Promise.all(Array.from({ length: 60 }, assign))
    Object.assign(proxy(1).faults, { maxBatch: 7, maxTopics: 25 })
    const paid = addresses.slice(-12)
    await chain.payMany(paid.map((to, index) => ({ to, units: BigInt(index + 1) })))
    await chain.mine(12)
    await lookOn(2)
    assert.equal((await listTransfersTo(db, addresses)).length, 12)
    const { limits } = endpoints.all[0] as Endpoints['all'][number]
    assert.ok(
      limits.batchSize <= 7 && limits.topicCount <= 25,
      JSON.stringify(limits, (_, value) => String(value)),
    )
  })
})

describe('two endpoints', () => {
  beforeEach(() => open(2))

  it('one of which is down, or answers what is no answer: the other one is read', async () => {
    const address = await assign()
    const faults = [{ alter: () => ({}) }, { status: 503 }]
    for (const [number, fault] of [1, 2].flatMap((one) => faults.map((fault) => [one, fault] as const))) {
      Object.assign(proxy(number).faults, fault)
      await chain.pay({ to: address, units: 20n })
      await lookOn(3)
      proxy(number).heal()
    }
    assert.deepEqual(await seen(address), new Array(4).fill('20 seen'))
  })

  it('one of which serves another chain: it is left out with an alarm, and the chain is read on', async () => {
    const address = await assign()
    proxy(1).faults.otherUrl = other.rpcUrl
    await chain.pay({ to: address, units: 22n })
    await lookOn(2)
    assert.deepEqual([await seen(address), faultOf(1), (await standing())?.trouble], [['22 seen'], 'foreign', null])
    assert.equal(alarms().length, 1)
  })

  it('one of which hides a transfer: its own header gives it away', async () => {
    const address = await assign()
    proxy(1).faults.alter = ({ method }, result) => {
      if (method === 'eth_getLogs') return []
      return method === 'eth_getBlockReceipts' ? (result as object[]).map((one) => ({ ...one, logs: [] })) : result
    }
    await chain.pay({ to: address, units: 23n })
    await lookOn(3)
    assert.deepEqual([await seen(address), faultOf(1)], [['23 seen'], 'outvoted'])
    assert.equal(alarms().length, 1)
  })

  it('whose common index of logs is late do not outvote the header', () => isNotReadPast(28n))
  it('one of which invents a transfer: it is never recorded', async () => {
    const address = await assign()
    proxy(1).faults.inventsFor = toTopic(address)
    await chain.pay({ to: await assign(), units: 24n })
    await lookOn(3)
    assert.deepEqual([await seen(address), faultOf(1)], [[], 'outvoted'])
  })

  it('one of which tells of another history: the older one is kept, with an alarm', async () => {
    const address = await assign()
    await chain.pay({ to: address, units: 25n })
    await lookOn(1)
    const before = await findHead(db, chain.chainId)
    proxy(1).faults.alter = otherHistory(before?.number ?? 0n)
    await lookOn(8)
    assert.deepEqual([await seen(address), (await standing())?.trouble], [['25 seen'], 'disagreement'])
    assert.ok(alarms().length > 0)
    proxy(1).heal()
    await chain.pay({ to: address, units: 26n })
    await lookOn(2)
    assert.deepEqual([await seen(address), (await standing())?.trouble], [['25 seen', '26 seen'], null])
  })

  it('follow a reorganisation as soon as both tell of it', async () => {
    const address = await assign()
    await chain.pay({ to: address, units: 28n })
    await lookOn(1)
    await chain.reorg(1)
    await chain.mine()
    await lookOn(1)
    assert.deepEqual([await seen(address), alarms()], [['28 orphaned'], []])
  })
})

describe('three endpoints', () => {
  beforeEach(() => open(3))

  it('two of which say the same: the third one is outvoted, and nothing stops', async () => {
    const address = await assign()
    await chain.pay({ to: address, units: 30n })
    await lookOn(1)
    const before = await findHead(db, chain.chainId)
    proxy(1).faults.alter = otherHistory(before?.number ?? 0n)
    await chain.pay({ to: address, units: 31n })
    await lookOn(3)
    assert.deepEqual([await seen(address), faultOf(1)], [['30 seen', '31 seen'], 'outvoted'])
    assert.equal((await standing())?.trouble, null)
  })

  it('one of which invents a transfer while the others are out: they are asked all the same', async () => {
    const [address, paid] = [await assign(), await assign()]
    for (const number of [2, 3]) proxy(number).faults.status = 503
    await scanner.tick().catch(() => {})
    for (const other of [2, 3]) await endpoints.all[other - 1]?.rpc.call('eth_chainId').catch(() => {})
    assert.deepEqual([faultOf(2), faultOf(3)], ['down', 'down'])
    for (const number of [2, 3]) proxy(number).heal()
    proxy(1).faults.inventsFor = toTopic(address)
    await chain.pay({ to: paid, units: 32n })
    await lookOn(3)
    assert.deepEqual([await seen(address), await seen(paid), faultOf(1)], [[], ['32 seen'], 'outvoted'])
    endpoints.all[1]?.noteWrong('outvoted')
    proxy(1).heal()
    nowMs += 70_000
    proxy(3).faults.status = 503
    await endpoints.all[2]?.rpc.call('eth_chainId').catch(() => {})
    endpoints.all[1]?.noteWrong('outvoted')
    proxy(1).faults.inventsFor = toTopic(address)
    await chain.pay({ to: paid, units: 33n })
    await scanner.tick().catch(() => {})
    assert.deepEqual(await seen(address), [], 'who lied before may still contradict')
  })

  it('one of which invents a transfer while the others served another chain a moment ago: they are asked as well', async () => {
    const [address, paid] = [await assign(), await assign()]
    for (const other of endpoints.all.slice(1)) other.noteWrong('foreign')
    for (const other of endpoints.all.slice(1)) other.noteRight()
    proxy(1).faults.inventsFor = toTopic(address)
    await chain.pay({ to: paid, units: 34n })
    await scanner.tick().catch(() => {})
    assert.deepEqual(await seen(address), [], 'who is back on the chain may contradict')
    proxy(1).heal()
    nowMs += 70_000
    for (const other of endpoints.all.slice(1)) other.noteWrong('foreign')
    for (const { faults } of proxies.slice(1))
      faults.alter = ({ method }, result) => (method === 'eth_getBlockByHash' ? null : result)
    await lookOn(3)
    assert.deepEqual([await seen(address), await seen(paid)], [[], ['34 seen']], 'who does not know the block is not')
  })
})

it('what an endpoint takes (range, receivers, batch, rate) is learned, kept in the database, and respected after a restart', async () => {
  await open(1)
  const settings = { ...NO_CHAIN, chainId: chain.chainId, usdcAddress: chain.usdcAddress, rpcUrls: [proxy(1).url] }
  const deps = { config: { chains: [settings] }, db, clock: () => nowMs, log }
  const openNode = async () => {
    const [opened] = openChains({ ...deps, metrics: new Registry() })
    const node = opened?.endpoints.all[0]
    assert.ok(opened && node)
    return { rpc: opened.rpc, node }
  }
  const first = await openNode()
  Object.assign(proxy(1).faults, { maxBatch: 60, maxTopics: 25, maxSpan: 16n, maxPerSecond: 80 })
  const addresses = await Promise.all(Array.from({ length: 60 }, assign))
  const head = await chain.blockNumber()
  const filter = { addresses, tokens: tokensOf(network), at: new Date() }
  const block = await chain.call<{ hash: string }>('eth_getBlockByNumber', 'latest', false)
  const places = Array.from({ length: 3 }, () => ({ blockHash: block.hash }))
  const many = Array.from({ length: 90 }, () => blockCall(head))
  const insist = (ask: () => Promise<unknown>) =>
    eventually(
      () => ask().catch(({ name }: Error) => name),
      (end) => end !== 'RpcError',
    )
  await insist(() => first.node.rpc.batch(many))
  await insist(() => askLogs(first.node, filter, places))
  first.node.learn({ blockSpan: 16n })
  const learned = first.node.limits
  assert.ok(learned.batchSize <= 60 && learned.topicCount <= 25, inspect(learned))
  assert.ok((learned.callsPerSecond ?? 0) >= 20 && (learned.callsPerSecond ?? 0) <= 80, inspect(learned))
  await eventually(
    () => listEndpointLimits(db, chain.chainId),
    ([row]) => row?.callsPerSecond === learned.callsPerSecond && row.blockSpan === 16n,
  )
  await first.rpc.close()
  const second = await openNode()
  await eventually(
    async () => second.node.limits,
    ({ callsPerSecond }) => callsPerSecond !== null,
  )
  assert.deepEqual({ ...second.node.limits }, { ...learned, urlHash: Object(second.node.limits).urlHash })
  await sleep(1000) // longer than the proxy counts calls; no process starts sooner
  const refused = proxy(1).refused()
  await second.node.rpc.batch(many)
  await askLogs(second.node, filter, places)
  assert.equal(proxy(1).refused(), refused, 'nothing is refused that was learned')
  await second.rpc.close()
})

it('a transfer that stays, but loses confirmations, is announced again until it is final again', async () => {
  await open(1)
  const address = await assign()
  await chain.pay({ to: address, units: 3n })
  await chain.mine(2)
  await scanner.tick()
  const look = async () => (await listTransfersTo(db, [address]))[0]
  const first = await look()
  assert.ok(first?.finalAt)
  await chain.rollback(2)
  await chain.call('evm_increaseTime', 5)
  await chain.mine(1)
  await lookOn(1)
  assert.equal((await look())?.finalAt, null)
  await chain.mine(2)
  await lookOn(1)
  const last = await look()
  assert.ok(last?.finalAt && last.change > first.change, 'its payment hears that it is final again')
})

it('of 2,500 watched addresses all transfers are read while blocks are quiet, batches of 1,000 when they are full', async () => {
  await open(1)
  const address = await assign()
  await db.run(sql`
    insert into deposit_addresses (address, company_id, reference, key_id, key_index, watched_until)
    select '0x' || 'cc' || lpad(to_hex(n), 38, '0'), 'crowd', n::text, (select id from deposit_keys), 1000000 + n, ${FAR}
    from generate_series(1, 2500) as n`)
  // the proxy refuses more than 1,000 topics, as geth does
  const asked = async (): Promise<number> => {
    const before = proxy(1).counts.get('eth_getLogs') ?? 0
    await scanner.tick()
    return (proxy(1).counts.get('eth_getLogs') ?? 0) - before
  }
  try {
    await scanner.tick()
    await chain.pay({ to: address, units: 1n })
    assert.equal(await asked(), 1, 'quiet blocks')
    // a reader that has not measured this chain yet
    await scanner.stop()
    reopen()
    for (let nth = 0; nth < 300; nth += 1) await chain.send({ to: `0x${'9'.repeat(40)}`, units: 1n })
    await chain.mine()
    assert.equal(await asked(), 1, 'the first block is measured')
    await chain.pay({ to: address, units: 2n })
    assert.equal(await asked(), 3, 'at most a thousand in each call')
    assert.deepEqual([await seen(address), proxy(1).refused()], [['1 seen', '2 seen'], 0])
  } finally {
    await db.run(sql`delete from deposit_addresses where company_id = 'crowd'`)
  }
})

it('a transaction is handed to one endpoint only, questions go on to the next', async () => {
  await open(2)
  proxy(1).faults.status = 503
  await assert.rejects(endpoints.rpc.call('eth_sendRawTransaction', '0x00'), { kind: 'unknown' })
  assert.equal(await endpoints.rpc.call('eth_chainId'), '0x7a69')
  assert.deepEqual([proxy(2).counts.get('eth_sendRawTransaction'), faultOf(1)], [undefined, 'down'])
})

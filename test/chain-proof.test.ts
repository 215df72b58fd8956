import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { bloomOf, readBloom } from '../src/chain/bloom.ts'
import { isProven } from '../src/chain/hearing/header-proof.ts'
import { areProven, type RpcReceipt } from '../src/chain/hearing/receipts-root.ts'
import { rescan } from '../src/chain/rescan.ts'
import { type RpcBlock, TRANSFER_TOPIC, toHex, toTopic } from '../src/chain/transfer-logs.ts'
import type { Faults } from './harness/rpc-proxy.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* Receipts whose root the block's hash holds decide between two nodes; nothing else convicts who denies a log. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

type Nodes = Awaited<ReturnType<ScannedChain['openNodes']>>
type Header = RpcBlock & { logsBloom: string; [field: string]: unknown }
type Log = { address: string; topics: string[]; data: string; transactionHash: string; blockHash: string }
type Alter = NonNullable<Faults['alter']>

const STRANGER: `0x${string}` = `0x${'77'.repeat(20)}`
const newest = () => world.chain.call<Header>('eth_getBlockByNumber', 'latest', false)
const receiptsOf = (hash: string) => world.chain.call<RpcReceipt[]>('eth_getBlockReceipts', hash)
const isReceipts = (method: string): boolean => method.endsWith('Receipts')

/** All receipts of the newest block prove it, and no part of them does. */
async function proveNewest(): Promise<RpcReceipt[]> {
  const header = await newest()
  const receipts = await receiptsOf(header.hash)
  assert.ok(isProven(header))
  assert.ok(areProven(header, receipts), `${receipts.length} receipts`)
  if (receipts.length > 0) assert.ok(!areProven(header, receipts.slice(0, -1)))
  return receipts
}

test('the receipts of real blocks have the root of their header: of none, one, and so many that the trie is deep', async () => {
  for (const count of [0, 1, 2, 16, 17, 128, 129, 200]) {
    for (let sent = 0; sent < count; sent += 1) await world.chain.send({ to: STRANGER, units: 1n })
    await world.chain.mine()
    assert.equal((await proveNewest()).length, count)
  }
})

test('so do those of legacy, access list and fee market transactions, and of one that failed', async () => {
  const { chain } = world
  const [from] = await chain.call<[string]>('eth_accounts')
  const gas = { gasPrice: '0x77359400' }
  const list = [{ address: from, storageKeys: [`0x${'0'.repeat(64)}`] }]
  await chain.call('eth_sendTransaction', { from, to: from, value: '0x1', type: '0x0', ...gas })
  await chain.call('eth_sendTransaction', { from, to: from, value: '0x1', type: '0x1', ...gas, accessList: list })
  await chain.call('eth_sendTransaction', { from, to: from, value: '0x1', type: '0x2' })
  await chain.call('eth_sendTransaction', { from, to: chain.usdcAddress, data: '0xdeadbeef', gas: '0x30d40' })
  await chain.mine()
  const receipts = await proveNewest()
  const kinds = new Set(receipts.map(({ type, status }) => `${type} ${status}`))
  assert.deepEqual(kinds, new Set(['0x0 0x1', '0x1 0x1', '0x2 0x1', '0x2 0x0']))
})

test('a header whose fields stand under the names of the next ones is not proven', async () => {
  await world.chain.pay({ to: STRANGER, units: 1n })
  const header = await newest()
  const { sha3Uncles, miner, stateRoot } = header
  assert.ok(isProven(header))
  const moved = { ...header, sha3Uncles: null, miner: sha3Uncles, stateRoot: miner, transactionsRoot: stateRoot }
  assert.ok(!isProven(moved as unknown as RpcBlock))
  assert.ok(!isProven({ ...header, withdrawalsRoot: undefined } as unknown as RpcBlock))
})

/** One block: a deposit leaves its address, so that all bits of a payment to it are set, and two strangers are paid. */
async function sweepOne(nodes: Nodes): Promise<{ address: string; header: Header }> {
  const address = await world.payNew(800n)
  await nodes.lookOn(2)
  await world.chain.call('anvil_impersonateAccount', address)
  await world.chain.call('anvil_setBalance', address, '0xde0b6b3a7640000')
  await world.chain.send({ to: STRANGER, units: 6n })
  await world.chain.send({ to: world.chain.payer, units: 800n, from: address })
  await world.chain.mine()
  return { address, header: await newest() }
}

/** Logs of this block, where it is asked for, as they are changed. */
const inLogs =
  ({ hash, number }: Header, change: (logs: Log[], receivers: readonly string[]) => object[]): Alter =>
  ({ method, params: [what] }, result) => {
    if (method !== 'eth_getLogs') return result
    const { blockHash, fromBlock = '0x0', toBlock = '0x0', topics } = what as Record<string, string>
    const isIn = BigInt(fromBlock) <= BigInt(number) && BigInt(toBlock) >= BigInt(number)
    if (blockHash ? blockHash !== hash : !isIn) return result
    const [, , receivers] = topics as unknown as (string[] | null)[]
    return change(result as Log[], receivers ?? [])
  }

/** Adds a payment of 5000 USDC that never happened. */
const addsPayment = (header: Header, address: string, from = world.chain.payer): Alter =>
  inLogs(header, (logs, receivers) => {
    const made = {
      ...{ address: world.chain.usdcAddress, blockHash: header.hash, blockNumber: header.number, removed: false },
      topics: [TRANSFER_TOPIC, toTopic(from), toTopic(address)],
      data: `0x${5_000_000_000n.toString(16).padStart(64, '0')}`,
      ...{ transactionHash: `0x${'e'.repeat(64)}`, logIndex: '0x7f' },
    }
    return receivers.includes(toTopic(address)) ? [...logs, made] : logs
  })

for (const [what, change] of Object.entries({
  'a list that lacks the last receipt': (all: RpcReceipt[]) => all.slice(0, -1),
  'receipts without their logs': (all: RpcReceipt[]) => all.map((one) => ({ ...one, logs: [] })),
  'the receipts of another block': (_: RpcReceipt[], other: RpcReceipt[]) => other,
  'receipts that name no block': (all: RpcReceipt[]) => all.map(({ blockHash: _, ...one }) => one),
  'receipts without a list of logs': (all: RpcReceipt[]) => all.map(({ logs: _, ...one }) => one),
  'no list of receipts': (all: RpcReceipt[]) => ({ length: all.length }),
}))
  for (const liar of [1, 2])
    test(`node ${liar} of two invents a payment, and the honest one answers ${what}: the invention counts for nothing`, async (t) => {
      await world.chain.mine()
      const nodes = await world.openNodes(t, 2)
      await world.chain.pay({ to: STRANGER, units: 5n })
      const other = await receiptsOf((await newest()).hash)
      const { address, header } = await sweepOne(nodes)
      nodes.proxy(liar).faults.alter = addsPayment(header, address)
      nodes.proxy(3 - liar).faults.alter = ({ method, params: [which] }, result) =>
        isReceipts(method) && which === header.hash ? change(result as RpcReceipt[], other) : result
      await nodes.lookOn(30)
      assert.deepEqual([await world.seen(address), nodes.faults()[2 - liar]], [['800 seen'], null])
      assert.equal(await world.head(), await world.chain.blockNumber())
    })

test('an invention beside a zero transfer that anybody may emit counts for nothing where the honest node answers short lists at first', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  const address = await world.assign()
  await world.chain.call('anvil_impersonateAccount', address)
  await world.chain.call('anvil_setBalance', address, '0xde0b6b3a7640000')
  await world.chain.send({ to: STRANGER, units: 6n })
  await world.chain.send({ to: world.chain.payer, units: 0n, from: address })
  await world.chain.mine()
  nodes.proxy(1).faults.alter = addsPayment(await newest(), address)
  let asked = 0
  nodes.proxy(2).faults.alter = ({ method }, result) =>
    isReceipts(method) && asked++ < 2 ? (result as object[]).slice(0, -1) : result
  await nodes.lookOn(10)
  await world.chain.mine(5)
  await nodes.lookOn(3)
  assert.deepEqual([await world.seen(address), nodes.faults()[1]], [[], null])
})

for (const liar of [1, 2])
  test(`where headers have bits that no receipt holds, node ${liar} of two chooses a sender with such bits: nobody is called wrong, and nothing counts`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 2)
    const { address, header } = await sweepOne(nodes)
    const sender = `0x${'a1'.repeat(20)}`
    const ghost = bloomOf([{ address: `0x${'0'.repeat(36)}1001`, topics: [toTopic(sender)] }])
    const bits = readBloom(header.logsBloom)?.map((byte, index) => byte | (ghost[index] ?? 0)) ?? assert.fail()
    const logsBloom = `0x${Buffer.from(bits).toString('hex')}`
    const haunted: Alter = ({ method }, result) =>
      method.startsWith('eth_getBlockBy') && (result as Header | null)?.hash === header.hash
        ? { ...(result as object), logsBloom }
        : result
    const lie = addsPayment(header, address, sender)
    nodes.proxy(3 - liar).faults.alter = haunted
    nodes.proxy(liar).faults.alter = (asked, result) => lie(asked, haunted(asked, result))
    await nodes.lookOn(20)
    assert.deepEqual([await world.seen(address), nodes.faults()], [['800 seen'], [null, null]])
    assert.match(
      nodes.alarms().join(),
      /disagree about the transfers in block \d+.*; .*take it out of CHAIN_31337_RPC_URL/,
    )
  })

/** Neither logs nor receipts of this block. */
const keepsNothing = (header: Header): Alter => {
  const noLogs = inLogs(header, (logs) => logs.filter(({ blockHash }) => blockHash !== header.hash))
  return (asked, result) => (isReceipts(asked.method) && asked.params[0] === header.hash ? null : noLogs(asked, result))
}

for (const pruned of [1, 2])
  test(`node ${pruned} of two keeps nothing of a block: the receipts of the other one prove its payment, which is read at once`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 2)
    const address = await world.payNew(901n)
    nodes.proxy(pruned).faults.alter = keepsNothing(await newest())
    await world.chain.mine(5)
    await nodes.lookOn(2)
    assert.deepEqual([await world.seen(address), await world.trouble()], [['901 seen'], null])
    assert.equal(await world.head(), await world.chain.blockNumber())
    assert.deepEqual([nodes.faults(), nodes.alarms()], [[null, null], []])
  })

/** Each log of its answers, as it is changed; receipts too. */
const everywhere =
  (change: (log: Log) => Log): Alter =>
  ({ method }, result) => {
    if (method === 'eth_getLogs') return (result as Log[]).map(change)
    if (!isReceipts(method)) return result
    return (result as { logs: Log[] }[]).map((one) => ({ ...one, logs: one.logs.map(change) }))
  }

for (const liar of [1, 2])
  test(`node ${liar} of two names another transaction, which no root holds, and the other one keeps nothing: it is not believed alone`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 2)
    const address = await world.payNew(902n)
    const header = await newest()
    const lies = everywhere((log) => ({ ...log, transactionHash: `0x${'d'.repeat(64)}` }))
    nodes.proxy(liar).faults.alter = lies
    nodes.proxy(3 - liar).faults.alter = keepsNothing(header)
    await nodes.lookOn(3)
    assert.deepEqual([await world.seen(address), nodes.faults()[2 - liar]], [[], null])
    const [name] = header.transactions as string[]
    nodes.proxy(liar).faults.alter = (asked, result) => {
      const isHeader = asked.method.startsWith('eth_getBlockBy') && (result as Header | null)?.hash === header.hash
      return isHeader ? { ...(result as object), transactions: [`0x${'d'.repeat(64)}`] } : lies(asked, result)
    }
    await nodes.lookOn(3)
    assert.deepEqual([await world.seen(address), nodes.faults()[2 - liar], name?.length], [[], null, 66])
  })

for (const [what, change] of Object.entries({
  'in capitals': (topic: string) => `0x${topic.slice(2).toUpperCase()}`,
  'without their first zeros': (topic: string) => topic.replace(/^0x0+/, (zeros) => (zeros.length % 2 ? '0x0' : '0x')),
}))
  test(`receipts whose topics are written ${what} hide no payment`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 2)
    const address = await world.payNew(903n)
    const hides = inLogs(await newest(), () => [])
    const rewrite = everywhere((log) => ({ ...log, topics: log.topics.map(change) }))
    nodes.proxy(1).faults.alter = (asked, result) =>
      asked.method === 'eth_getLogs' ? hides(asked, result) : rewrite(asked, result)
    await nodes.lookOn(3)
    assert.deepEqual([await world.seen(address), nodes.faults()[1]], [['903 seen'], null])
  })

test('logs of another block are no answer: who names one block and shows those of another confirms nothing', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  const address = await world.payNew(904n)
  const header = await newest()
  const elsewhere = `0x${'c'.repeat(64)}`
  nodes.proxy(1).faults.alter = inLogs(header, (logs) => logs.map((log) => ({ ...log, blockHash: elsewhere })))
  await nodes.lookOn(3)
  assert.deepEqual([await world.seen(address), nodes.faults()[1]], [['904 seen'], null])
})

const NO_BLOOM = { logsBloom: toHex(0n).padEnd(514, '0') }
const noBloom: Alter = ({ method }, result) =>
  method.startsWith('eth_getBlockBy') && result !== null ? { ...(result as object), ...NO_BLOOM } : result

for (const late of [1, 2])
  test(`a chain leaves its blooms empty, and logs and receipts of node ${late} of two are 2 seconds late: no alarm, and the payment is read`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 2)
    for (const number of [1, 2]) nodes.proxy(number).faults.alter = noBloom
    await world.chain.mine()
    await nodes.lookOn(2)
    const address = await world.payNew(900n)
    const lacks = keepsNothing(await newest())
    nodes.proxy(late).faults.alter = (asked, result) => noBloom(asked, lacks(asked, result))
    await nodes.lookOn(2)
    assert.deepEqual([nodes.faults(), nodes.alarms()], [[null, null], []])
    nodes.proxy(late).faults.alter = noBloom
    await nodes.lookOn(2)
    assert.deepEqual([await world.seen(address), nodes.faults(), nodes.alarms()], [['900 seen'], [null, null], []])
  })

test('what both nodes missed, a rescan records as soon as one proves it, also where the other one keeps nothing', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  const address = await world.payNew(906n)
  const header = await newest()
  const lacks = keepsNothing(header)
  for (const number of [1, 2])
    nodes.proxy(number).faults.alter = (asked, result) => noBloom(asked, lacks(asked, result))
  await nodes.lookOn(2)
  assert.deepEqual([await world.seen(address), await world.head()], [[], await world.chain.blockNumber()])
  nodes.proxy(1).faults.alter = lacks
  nodes.proxy(2).heal()
  const { db, network } = world
  const reader = { db, network, endpoints: nodes.endpoints, log: pino({ level: 'silent' }) }
  const range = { from: BigInt(header.number), to: BigInt(header.number) }
  assert.equal(await rescan(reader, { addresses: [address.toLowerCase()], ...range }), 1)
  assert.deepEqual([await world.seen(address), nodes.faults()], [['906 seen'], [null, null]])
})

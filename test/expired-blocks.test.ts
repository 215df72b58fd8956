import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { openAddresses } from '../src/chain/after-backup.ts'
import { findBlockSince } from '../src/chain/deposits/block-since.ts'
import { auditDeposits, auditNextPage } from '../src/chain/deposits/deposit-audit.ts'
import { type Endpoints, openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { reconcileChain } from '../src/commands/backup/reconcile-chain.ts'
import { sql } from '../src/db/db.ts'
import { HOUR, MINUTE } from '../src/kernel/clock.ts'
import { deriveAddress } from '../src/kernel/xpub.ts'
import { newTestXpub } from './harness/chain.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* Nodes expire old blocks (EIP-4444): error 4444, or null, for what is below a height, with the headers or without. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
  await world.chain.mine(40)
})
after(() => world?.stop())

const log = pino({ level: 'silent' })

async function openProxies(t: TestContext, count: number): Promise<{ proxies: RpcProxy[]; endpoints: Endpoints }> {
  const proxies = await Promise.all(Array.from({ length: count }, () => startRpcProxy(world.chain.rpcUrl)))
  const rpcs = proxies.map(({ url }) => createRpc({ url }))
  t.after(() => Promise.all([...rpcs.map((rpc) => rpc.close()), ...proxies.map((one) => one.stop())]))
  return { proxies, endpoints: openEndpoints(world.network, rpcs) }
}

type How = 'with their headers' | 'by error 4444' | 'by null'

/** The node keeps the blocks from this one on. */
function expire({ faults }: RpcProxy, kept: bigint, how: How): void {
  const isOld = (which: unknown) => /^0x[1-9a-f]/.test(String(which)) && BigInt(which as string) < kept
  const isHeader = (method: string, which: unknown) => method === 'eth_getBlockByNumber' && isOld(which)
  faults.refusalCode = 4444
  faults.refuses = ({ method, params: [which] }) =>
    (method === 'eth_getLogs' && isOld((which as { fromBlock?: string }).fromBlock)) ||
    (how === 'by error 4444' && isHeader(method, which))
  if (how === 'by null')
    faults.alter = ({ method, params: [which] }, result) => (isHeader(method, which) ? null : result)
}

async function timeOf(number: bigint): Promise<Date> {
  const block = await world.chain.call<{ timestamp: string }>('eth_getBlockByNumber', `0x${number.toString(16)}`, false)
  return new Date(Number(BigInt(block.timestamp)) * 1000)
}

/** A block that is later than the one before. */
async function mineLater(): Promise<bigint> {
  await world.chain.call('evm_increaseTime', 20)
  await world.chain.mine(1)
  return world.chain.blockNumber()
}

for (const how of ['by error 4444', 'by null'] as const)
  test(`the first block since a time is found where older ones are expired ${how}`, async (t) => {
    const { proxies, endpoints } = await openProxies(t, 1)
    const old = await mineLater()
    await world.chain.mine(30)
    const near = await mineLater()
    await world.chain.mine(20)
    const head = await world.chain.blockNumber()
    const findSince = (at: Date) => findBlockSince(endpoints.rpc, at, head)
    assert.deepEqual(await findSince(await timeOf(old)), { number: old, isCutOff: false })
    const kept = old + 10n
    const [proxy] = proxies
    assert.ok(proxy)
    expire(proxy, kept, how)
    assert.deepEqual(await findSince(await timeOf(near)), { number: near, isCutOff: false })
    for (const at of [await timeOf(old), new Date(0)])
      assert.deepEqual(await findSince(at), { number: kept, isCutOff: true })
    assert.deepEqual(await findSince(new Date(Date.now() + 24 * HOUR)), { number: head, isCutOff: false })
    proxy.heal()
    assert.deepEqual(await findSince(new Date(0)), { number: 0n, isCutOff: false })
  })

test('what a node lacks for a moment is not taken for expired', async (t) => {
  const { proxies, endpoints } = await openProxies(t, 1)
  const since = await mineLater()
  await world.chain.mine(9)
  const head = await world.chain.blockNumber()
  const [proxy] = proxies
  assert.ok(proxy)
  let lacks = 1
  proxy.faults.alter = ({ params: [which] }, result) => {
    const isLacked = /^0x/.test(String(which)) && BigInt(which as string) < head && lacks > 0
    if (isLacked) lacks -= 1
    return isLacked ? null : result
  }
  await assert.rejects(findBlockSince(endpoints.rpc, await timeOf(since), head), /lacked block/)
  assert.equal((await findBlockSince(endpoints.rpc, await timeOf(since), head)).number, since)
})

/** A transfer that the service missed; its address was given out an hour after this block at the earliest. */
async function openMissed(t: TestContext, assignedAfter: bigint): Promise<string> {
  const nodes = await world.openNodes(t, 1)
  const address = await world.assign()
  await world.chain.pay({ to: address, units: 901n })
  await world.chain.mine()
  const { faults } = nodes.proxy(1)
  faults.lacks = 'eth_getBlockReceipts'
  faults.alter = ({ method }, result) => {
    if (method === 'eth_getLogs') return []
    return /^eth_getBlockBy/.test(method) && result ? { ...result, logsBloom: `0x${'0'.repeat(512)}` } : result
  }
  await nodes.lookOn(3)
  const createdAt = new Date((await timeOf(assignedAfter)).getTime() + HOUR)
  await world.db.run(
    sql`update deposit_addresses set created_at = ${createdAt} where address = ${address.toLowerCase()}`,
  )
  assert.deepEqual(await world.seen(address), [])
  return address
}

const reader = (endpoints: Endpoints) => ({ db: world.db, network: world.network, log, endpoints })

for (const how of ['with their headers', 'by error 4444', 'by null'] as const)
  for (const [count, since] of [
    [1, 'all that it needs is kept'],
    [1, 'the address is older than what is kept'],
    [2, 'the address is older than what is kept'],
  ] as const)
    test(`the audit finds a missed payment: old blocks expired ${how}, ${count} nodes, ${since}`, async (t) => {
      const first = await mineLater()
      await world.chain.mine(10)
      const kept = await mineLater()
      const address = await openMissed(t, since.startsWith('all') ? await mineLater() : first)
      const { proxies, endpoints } = await openProxies(t, count)
      const [proxy] = proxies
      assert.ok(proxy)
      expire(proxy, kept, how)
      await auditDeposits(reader(endpoints), [address.toLowerCase()])
      assert.deepEqual(await world.seen(address), ['901 seen'])
    })

test('what left in expired blocks stays a difference, and the hourly round goes on behind it', async (t) => {
  const address = (await world.payNew(700n)).toLowerCase()
  await world.chain.mine(3)
  await world.chain.call('anvil_impersonateAccount', address)
  await world.chain.call('anvil_setBalance', address, '0xde0b6b3a7640000')
  await world.chain.pay({ to: world.chain.payer, units: 700n, from: address })
  await world.chain.mine(5)
  await (await world.openNodes(t, 1)).lookOn(2)
  const head = (await world.head()) ?? assert.fail()
  const { hash } = await world.chain.call<{ hash: string }>('eth_getBlockByNumber', `0x${head.toString(16)}`, false)
  const { proxies, endpoints } = await openProxies(t, 1)
  const [proxy] = proxies
  assert.ok(proxy)
  expire(proxy, head - 2n, 'by error 4444')
  const { refuses } = proxy.faults
  // its state is that of the newest block alone
  proxy.faults.refuses = (question) =>
    refuses?.(question) ||
    (question.method === 'eth_call' && (question.params[1] as { blockHash?: string }).blockHash !== hash)
  await world.db.run(sql`update chain_heads set audit_cursor = '', audited_at = null`)
  while (await auditNextPage(reader(endpoints), Date.now())) {}
  const { auditedAt } = await world.db.one<{ auditedAt: Date | null }>(sql`select audited_at from chain_heads`)
  assert.notEqual(auditedAt, null)
  const open = await world.db.many(sql`
    select recorded_units from deposit_differences where address = ${address} and closed_at is null`)
  assert.deepEqual(open, [{ recordedUnits: '700' }])
})

/** Refuses so many questions about blocks below this one, whichever they are. */
function refuseFor({ faults }: RpcProxy, { code, below }: { code: number; below: bigint }): void {
  let left = 2
  faults.refusalCode = code
  faults.refuses = ({ method, params: [which] }) =>
    method === 'eth_getBlockByNumber' && which !== `0x${below.toString(16)}` && left > 0 && left-- > 0
}

type Difference = { recordedUnits: string; isClosed: boolean }

const differencesOf = (address: string) =>
  world.db.many<Difference>(sql`
    select recorded_units, closed_at is not null as is_closed from deposit_differences where address = ${address}`)

/* -32016: "over rate limit"; -32099: a reason that we do not know. */
for (const code of [-32016, -32099])
  for (const count of [1, 2])
    test(`${count} nodes that refuse two questions in a row (${code}) explain no missed payment away`, async (t) => {
      const address = (await openMissed(t, await mineLater())).toLowerCase()
      const { proxies, endpoints } = await openProxies(t, count)
      const below = (await world.head()) ?? assert.fail()
      for (const proxy of proxies) refuseFor(proxy, { code, below })
      assert.deepEqual([...(await auditDeposits(reader(endpoints), [address])).keys()], [address])
      assert.deepEqual(await differencesOf(address), [])
      for (const proxy of proxies) proxy.heal()
      await auditDeposits(reader(endpoints), [address])
      assert.deepEqual(await world.seen(address), ['901 seen'])
    })

test('logs that a node refuses for a moment are not taken for expired', async (t) => {
  const address = (await openMissed(t, await mineLater())).toLowerCase()
  const { proxies, endpoints } = await openProxies(t, 1)
  const [proxy] = proxies
  assert.ok(proxy)
  for (const refused of [1, 2, 1000]) {
    let left = refused
    proxy.faults.refusalCode = -32099
    proxy.faults.refuses = ({ method }) => method === 'eth_getLogs' && left > 0 && left-- > 0
    assert.deepEqual([...(await auditDeposits(reader(endpoints), [address])).keys()], [address])
  }
  proxy.heal()
  await auditDeposits(reader(endpoints), [address])
  assert.deepEqual(await world.seen(address), ['901 seen'])
})

for (const count of [1, 2])
  test(`an invented payment stays a difference where ${count} nodes keep the state of expired blocks`, async (t) => {
    const first = await mineLater()
    await world.chain.mine(5)
    const nodes = await world.openNodes(t, 1)
    const address = (await world.payNew(10n)).toLowerCase()
    await world.chain.mine(3)
    const kept = await mineLater()
    await world.chain.mine(3)
    await nodes.lookOn(3)
    const createdAt = new Date((await timeOf(first)).getTime() + HOUR)
    await world.db.run(sql`update deposit_addresses set created_at = ${createdAt} where address = ${address}`)
    await world.db.run(sql`update chain_transfers set units = 5000 where to_address = ${address}`)
    const { proxies, endpoints } = await openProxies(t, count)
    for (const proxy of proxies) expire(proxy, kept, 'by error 4444')
    const lines: string[] = []
    const heard = pino({ level: 'error' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
    for (let round = 0; round < 2; round += 1) await auditDeposits({ ...reader(endpoints), log: heard }, [address])
    assert.deepEqual(await differencesOf(address), [{ recordedUnits: '5000', isClosed: false }])
    assert.deepEqual(lines, ['ALARM: a deposit balance differs from the recorded transfers'])
  })

/** The chain goes on after the restore, and the service has read it. @returns when the restore was */
async function goOn(t: TestContext): Promise<Date> {
  const restoredAt = new Date()
  await new Promise((resolve) => setTimeout(resolve, 1500))
  await world.chain.mine(2)
  await (await world.openNodes(t, 1)).lookOn(2)
  return restoredAt
}

type Compared = { heads: { chainId: number; number: string }[]; xpub: string; restoredAt: Date }

/** What `reconcile` says of the chain. */
async function compare(endpoints: Endpoints, { heads, xpub, restoredAt }: Compared) {
  const facts = { heads, skipped: [{ xpub, from: '5', to: '20030' }] }
  const backupMadeAt = new Date(restoredAt.getTime() - MINUTE)
  const base = { db: world.db, log, metrics: new Registry() } as unknown as Parameters<typeof reconcileChain>[0]
  const chain = { network: world.network, endpoints, payouts: null } as unknown as Parameters<typeof reconcileChain>[1]
  const restored = { backupMadeAt, restoredAt, reconciledAt: null, facts }
  const { report } = await reconcileChain(base, chain, {
    restored,
    xpubs: [],
    addressesOf: openAddresses(),
    say: () => {},
  })
  return report
}

for (const count of [1, 2])
  test(`reconcile compares a chain of which node 1 of ${count} keeps what came after the backup`, async (t) => {
    const xpub = newTestXpub()
    const kept = await mineLater()
    await world.chain.mine(5)
    const heads = [{ chainId: world.chain.chainId, number: `${await world.chain.blockNumber()}` }]
    const txHash = await world.chain.pay({ to: deriveAddress(xpub, 7), units: 50n })
    const { proxies, endpoints } = await openProxies(t, count)
    const [proxy] = proxies
    assert.ok(proxy)
    expire(proxy, kept, 'by error 4444')
    const { skippedDeposits } = await compare(endpoints, { heads, xpub, restoredAt: await goOn(t) })
    assert.deepEqual(
      skippedDeposits.map((one) => one.txHash),
      [txHash],
    )
  })

test('a chain that was set up after the backup is compared where a node keeps that time, and is held otherwise', async (t) => {
  const xpub = newTestXpub()
  const txHash = await world.chain.pay({ to: deriveAddress(xpub, 7), units: 50n })
  const { proxies, endpoints } = await openProxies(t, 2)
  const [first, second] = proxies
  assert.ok(first && second)
  const kept = await mineLater()
  for (const proxy of proxies) expire(proxy, kept, 'by error 4444')
  const asked = { heads: [], xpub, restoredAt: await goOn(t) }
  await assert.rejects(compare(endpoints, asked), /no node of CHAIN_31337_RPC_URL keeps the blocks/)
  second.heal()
  const { skippedDeposits, keptLess } = await compare(endpoints, asked)
  assert.deepEqual([skippedDeposits.map((one) => one.txHash), keptLess], [[txHash], [1]])
})

test('reconcile goes on without a node that says with HTTP 503 that it does not keep the blocks', async (t) => {
  const xpub = newTestXpub()
  const heads = [{ chainId: world.chain.chainId, number: `${await world.chain.blockNumber()}` }]
  const txHash = await world.chain.pay({ to: deriveAddress(xpub, 7), units: 51n })
  const kept = await mineLater()
  const { proxies, endpoints } = await openProxies(t, 2)
  const second = proxies[1] ?? assert.fail()
  expire(second, kept, 'by error 4444')
  second.faults.refusalStatus = 503
  const report = await compare(endpoints, { heads, xpub, restoredAt: await goOn(t) })
  assert.deepEqual([report.skippedDeposits.map((one) => one.txHash), report.keptLess], [[txHash], [2]])
})

test('reconcile names a node that refuses what is compared, and says what to do', async (t) => {
  const { proxies, endpoints } = await openProxies(t, 2)
  const heads = [{ chainId: world.chain.chainId, number: `${await world.chain.blockNumber()}` }]
  const restoredAt = await goOn(t)
  const { faults } = proxies[1] ?? assert.fail()
  faults.refusalCode = -32000
  faults.refusalStatus = 503
  faults.refuses = ({ method }) => method === 'eth_getLogs'
  const { chainId } = world.network
  await assert.rejects(compare(endpoints, { heads, xpub: newTestXpub(), restoredAt }), {
    message:
      `Endpoint 2 of chain ${chainId} does not answer (eth_getLogs: not this one): what it shows was not compared. ` +
      `Wait until it has caught up, or leave it out of CHAIN_${chainId}_RPC_URL for this command.`,
  })
})

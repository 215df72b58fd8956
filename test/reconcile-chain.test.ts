import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { openAddresses } from '../src/chain/after-backup.ts'
import { listStandings } from '../src/chain/chain-queries.ts'
import { type Endpoints, openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { startScanner } from '../src/chain/scanner.ts'
import { reconcileChain } from '../src/commands/backup/reconcile-chain.ts'
import { openDb, sql } from '../src/db/db.ts'
import type { RestoredFacts } from '../src/db/restored-queries.ts'
import { deriveAddress } from '../src/kernel/xpub.ts'
import { newTestXpub } from './harness/chain.ts'
import { createTestDatabase } from './harness/database.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* What `reconcile` compares of one chain: all that happened since the backup, by every node of the settings. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

const log = pino({ level: 'silent' })
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The chain goes on after the restore, and the service has read it. */
async function goOn(t: TestContext): Promise<void> {
  await wait(1500)
  await world.chain.mine(2)
  await (await world.openNodes(t, 1)).lookOn(2)
}

type Facts = Pick<RestoredFacts, 'heads'> & { xpub: string; restoredAt: Date }

/** What is reported of money at addresses 5 and later. */
async function compare(endpoints: Endpoints, { heads, xpub, restoredAt }: Facts) {
  const skipped = [{ xpub, from: '5', to: '20030' }]
  const restored = { backupMadeAt: new Date(restoredAt.getTime() - 60_000), restoredAt, reconciledAt: null }
  const base = { db: world.db, log, metrics: new Registry() } as unknown as Parameters<typeof reconcileChain>[0]
  const chain = { network: world.network, endpoints, payouts: null } as unknown as Parameters<typeof reconcileChain>[1]
  const comparison = {
    restored: { ...restored, facts: { heads, skipped } },
    xpubs: [],
    addressesOf: openAddresses(),
    say: () => {},
  }
  const { report } = await reconcileChain(base, chain, comparison)
  return report
}

async function openProxies(t: TestContext, count: number): Promise<{ proxies: RpcProxy[]; endpoints: Endpoints }> {
  const proxies = await Promise.all(Array.from({ length: count }, () => startRpcProxy(world.chain.rpcUrl)))
  const rpcs = proxies.map(({ url }) => createRpc({ url }))
  t.after(() => Promise.all([...rpcs.map((rpc) => rpc.close()), ...proxies.map((one) => one.stop())]))
  return { proxies, endpoints: openEndpoints(world.network, rpcs) }
}

test('a chain that was set up after the backup: all since then is compared, not its last block alone', async (t) => {
  const xpub = newTestXpub()
  const txHash = await world.chain.pay({ to: deriveAddress(xpub, 7), units: 50n })
  const paidIn = await world.chain.blockNumber()
  await world.chain.mine(5)
  const restoredAt = new Date()
  await goOn(t)
  const { endpoints } = await openProxies(t, 1)
  const report = await compare(endpoints, { heads: [], xpub, restoredAt })
  assert.ok(BigInt(report.from) < paidIn, report.from)
  assert.deepEqual(
    report.skippedDeposits.map((one) => [one.txHash, one.units]),
    [[txHash, 50n]],
  )
})

test('a node that fails for a moment, before or during the comparison, is heard all the same', async (t) => {
  const xpub = newTestXpub()
  await world.assign()
  await world.chain.mine()
  const heads = [{ chainId: world.chain.chainId, number: `${await world.chain.blockNumber()}` }]
  const txHash = await world.chain.pay({ to: deriveAddress(xpub, 7), units: 50n })
  const restoredAt = new Date()
  await goOn(t)
  // the first node keeps no old logs, and says that there are none
  for (const failing of ['before', 'during', 'after the first was read'] as const) {
    const { proxies, endpoints } = await openProxies(t, 2)
    const [first, second] = proxies
    assert.ok(first && second)
    first.faults.hidesLogs = true
    let failures = 0
    if (failing === 'before') {
      second.faults.status = 503
      setTimeout(() => second.heal(), 500)
    } else {
      const read = failing === 'during' ? second : first
      read.faults.alter = ({ method }, result) => {
        if (method !== 'eth_getLogs' || failures > 0) return result
        failures += 1
        second.faults.status = 503
        setTimeout(() => second.heal(), 500)
        return failing === 'during' ? result : []
      }
    }
    const report = await compare(endpoints, { heads, xpub, restoredAt })
    const found = report.skippedDeposits.map((one) => one.txHash)
    assert.deepEqual([found, report.keptLess], [[txHash], []], failing)
  }
})

for (const receipts of ['gives its receipts', 'gives no receipts'])
  test(`payments that the index of node 1 lacks are found one after another, where it ${receipts}`, async (t) => {
    const xpub = newTestXpub()
    await world.chain.mine()
    const heads = [{ chainId: world.chain.chainId, number: `${await world.chain.blockNumber()}` }]
    for (const index of [900, 1800]) await world.chain.pay({ to: deriveAddress(xpub, index), units: 50n })
    const restoredAt = new Date()
    await goOn(t)
    const { proxies, endpoints } = await openProxies(t, 2)
    const [first] = proxies
    assert.ok(first)
    first.faults.hidesLogs = true
    if (receipts === 'gives no receipts') first.faults.refuses = ({ method }) => /Receipts?$/.test(method)
    const { skippedDeposits } = await compare(endpoints, { heads, xpub, restoredAt })
    assert.deepEqual(
      skippedDeposits.map(({ index, shownBy }) => [index, shownBy]),
      [
        [900, null],
        [1800, null],
      ],
    )
  })

test('a node that refuses the logs of older blocks is named, and another one is compared', async (t) => {
  const xpub = newTestXpub()
  await world.chain.mine()
  const heads = [{ chainId: world.chain.chainId, number: `${await world.chain.blockNumber()}` }]
  await world.chain.pay({ to: deriveAddress(xpub, 7), units: 50n })
  const paidIn = await world.chain.blockNumber()
  await world.chain.mine(5)
  const restoredAt = new Date()
  await goOn(t)
  const { proxies, endpoints } = await openProxies(t, 2)
  const [first] = proxies
  assert.ok(first)
  first.faults.refuses = ({ method, params: [which] }) =>
    method === 'eth_getLogs' && BigInt((which as { fromBlock?: string }).fromBlock ?? paidIn) <= paidIn
  const report = await compare(endpoints, { heads, xpub, restoredAt })
  assert.deepEqual([report.skippedDeposits.length, report.keptLess], [1, [1]])
  // one that refuses the newest, too, is not too old for them: what it would show was not compared
  first.faults.refuses = ({ method }) => method === 'eth_getLogs'
  await assert.rejects(compare(endpoints, { heads, xpub, restoredAt }), /^Error: Endpoint 1 .*leave it out of CHAIN_/)
})

test('a service whose nodes are down tries to read the chain, and says so, without keeping others from it', async (t) => {
  const database = await createTestDatabase()
  const db = openDb({ connectionString: database.connectionString, max: 3 })
  const rpc = createRpc({ url: 'http://127.0.0.1:1' })
  const network = networkFor({ chainId: 8453 })
  await db.run(sql`
    insert into chain_heads (chain_id, number, advanced_at, scanned_at, tried_at)
    values (8453, 1000, now() - interval '1 hour', now() - interval '1 hour', now() - interval '1 hour')`)
  const standing = async () => {
    const [{ isLeased, isTried } = assert.fail()] = await listStandings(db, [8453])
    return { isLeased, isTried }
  }
  assert.deepEqual(await standing(), { isLeased: false, isTried: false })
  const endpoints = openEndpoints(network, [rpc])
  const scanner = startScanner({ db, network, endpoints, log, pollMs: 0, leaseMs: 100, onChange: () => {} })
  t.after(async () => {
    await scanner.stop()
    await rpc.close()
    await db.close()
    await database.drop()
  })
  for (const begun of ['by its start', 'by a later look']) {
    await assert.rejects(scanner.tick())
    await wait(200)
    assert.deepEqual(await standing(), { isLeased: false, isTried: true }, begun)
    await db.run(sql`update chain_heads set tried_at = now() - interval '4 minutes'`)
    assert.deepEqual(await standing(), { isLeased: false, isTried: false })
  }
})

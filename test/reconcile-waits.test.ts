import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { awaitComparable } from '../src/commands/backup/await-chain.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { startRpcProxy } from './harness/rpc-proxy.ts'

/** A chain that goes on, and what the service has read of it: what these tests write. */
let database: TestDatabase
let chain: TestChain
let db: Db
before(async () => {
  ;[database, chain] = await Promise.all([createTestDatabase(), startTestChain()])
  db = openDb({ connectionString: database.connectionString, max: 2 })
  await chain.mine(5)
})
after(async () => {
  await db?.close()
  await Promise.all([chain?.stop(), database?.drop()])
})

const readUpTo = (number: bigint, blockAt: Date) =>
  db.run(sql`
    insert into chain_heads (chain_id, number, block_at) values (${chain.chainId}, ${number}, ${blockAt})
    on conflict (chain_id) do update set number = excluded.number, block_at = excluded.block_at`)

type Limits = { silentMs: number; mostMs?: number }

/** @param onBlock after each block, until there is an outcome */
async function outcomeOf(urls: readonly string[], limits: Limits, onBlock: () => Promise<unknown>): Promise<string> {
  const { chainId } = chain
  let isOver = false
  const grow = async (): Promise<void> => {
    while (!isOver) {
      await chain.mine()
      await onBlock()
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
  const rpcs = urls.map((url) => createRpc({ url }))
  const asked = { network: { chainId }, endpoints: openEndpoints({ chainId }, rpcs) }
  const awaited = awaitComparable({ db }, asked, { known: 1n, restoredAt: new Date(), say: () => {}, ...limits })
    .then((to) => `all have ${to}`)
    .catch((error: Error) => error.message)
    .finally(() => {
      isOver = true
    })
  const [outcome] = await Promise.all([awaited, grow()])
  return outcome
}

/** A test fails by its time where `reconcile` would wait for ever. */
const timeout = 20_000

test('where no worker reads a chain that goes on, reconcile says so', { timeout }, async () => {
  const words = /^Chain 31337 is at block (\d+) of \d+ and does not move\. Start the service \(a worker\) first\.$/
  assert.match(await outcomeOf([chain.rpcUrl], { silentMs: 1000 }, async () => {}), words)
  // it has stopped before the restore
  const number = await chain.blockNumber()
  await readUpTo(number, new Date(Date.now() - 60_000))
  const [, place] = (await outcomeOf([chain.rpcUrl], { silentMs: 1000 }, async () => {})).match(words) ?? []
  assert.equal(place, `${number}`)
})

test('a node that is always some blocks behind is waited for only until it has what is compared', {
  timeout,
}, async () => {
  const proxy = await startRpcProxy(chain.rpcUrl)
  let read = 0n
  try {
    const follow = async (): Promise<void> => {
      const top = await chain.blockNumber()
      await readUpTo(top, new Date())
      proxy.faults.knowsUpTo = top - 10n
      read = top
    }
    await chain.mine(20)
    await follow()
    const outcome = await outcomeOf([chain.rpcUrl, proxy.url], { silentMs: 5000 }, follow)
    const [, to = ''] = outcome.match(/^all have (\d+)$/) ?? []
    assert.ok(BigInt(to) > 1n && BigInt(to) <= read - 10n, `${outcome}, and the service has ${read}`)
  } finally {
    await proxy.stop()
  }
})

test('a chain that goes on without coming to the restore is given up in the end', { timeout }, async () => {
  const follow = async () => readUpTo(await chain.blockNumber(), new Date(0))
  await follow()
  const outcome = await outcomeOf([chain.rpcUrl], { silentMs: 5000, mostMs: 2000 }, follow)
  assert.match(outcome, /^Chain 31337 has been read up to block \d+ of 1970-.* what happened in between is not known/)
  // nor is a service that reads on and does not come near
  const crawl = async () => readUpTo(1n, new Date(0))
  await crawl()
  const words = /^Chain 31337 is at block 1 of \d+\. Run this again once it has caught up\.$/
  assert.match(await outcomeOf([chain.rpcUrl], { silentMs: 5000, mostMs: 2000 }, crawl), words)
})

test('a worker that reads for long before its next step is waited for, unless it has stopped', {
  timeout,
}, async () => {
  const lease = (trouble: string | null) =>
    db.run(
      sql`update chain_heads set lease_owner = 'worker', lease_until = now() + interval '10 s', trouble = ${trouble}`,
    )
  await readUpTo(1n, new Date(0))
  await lease(null)
  const limits = { silentMs: 1000, mostMs: 4000 }
  const caughtUp = /^Chain 31337 is at block 1 of \d+\. Run this again once it has caught up\.$/
  assert.match(await outcomeOf([chain.rpcUrl], limits, () => lease(null)), caughtUp)
  await lease('doubt')
  const stopped = /^Chain 31337 is at block 1 of \d+ and does not move\. The service does not read on \(doubt\): see/
  assert.match(await outcomeOf([chain.rpcUrl], limits, () => lease('doubt')), stopped)
  await db.run(sql`update chain_heads set trouble = null, lease_owner = null, lease_until = null`)
})

test('an answer that fails once ends no wait; a node that is silent for as long as a standstill does', {
  timeout,
}, async () => {
  const proxy = await startRpcProxy(chain.rpcUrl)
  await readUpTo(1n, new Date(0))
  let blocks = 0
  try {
    const outcome = await outcomeOf([proxy.url], { silentMs: 8000 }, async () => {
      blocks += 1
      proxy.faults.status = blocks > 3 && blocks < 10 ? 503 : null
      if (blocks >= 15) await readUpTo(await chain.blockNumber(), new Date(Date.now() + 60_000))
    })
    assert.match(outcome, /^all have \d+$/)
    await readUpTo(1n, new Date(0))
    blocks = 0
    const silent = await outcomeOf([proxy.url], { silentMs: 1000 }, async () => {
      blocks += 1
      proxy.faults.status = blocks > 3 ? 503 : null
    })
    assert.match(silent, /503/)
  } finally {
    await proxy.stop()
  }
})

test('a node that is silent from the start is waited for, alone and beside another one', { timeout }, async () => {
  const proxy = await startRpcProxy(chain.rpcUrl)
  try {
    for (const urls of [[proxy.url], [chain.rpcUrl, proxy.url]]) {
      proxy.faults.status = 503
      const healing = setTimeout(() => proxy.heal(), 2000)
      const follow = async () => readUpTo(await chain.blockNumber(), new Date(Date.now() + 60_000))
      assert.match(await outcomeOf(urls, { silentMs: 8000 }, follow), /^all have \d+$/)
      clearTimeout(healing)
    }
    // while the chain goes on, too, one that stays silent ends it, and is named
    proxy.faults.status = 503
    const follow = async () => readUpTo(await chain.blockNumber(), new Date(Date.now() + 60_000))
    const words =
      /^Endpoint 2 of chain 31337 does not answer .* or leave it out of CHAIN_31337_RPC_URL for this command\.$/
    assert.match(await outcomeOf([chain.rpcUrl, proxy.url], { silentMs: 1000 }, follow), words)
  } finally {
    await proxy.stop()
  }
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* How many blocks, and how many receivers, a second node is asked about at once. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

type Nodes = Awaited<ReturnType<ScannedChain['openNodes']>>
type Question = { method: string; params: unknown[] }

const limitsOf = ({ endpoints }: Nodes) => endpoints.all[1]?.limits

/** It knows no block above this one, and refuses a range that ends there, as geth, reth, Nethermind and Besu do. */
function endAt(nodes: Nodes, last: bigint): void {
  const { faults } = nodes.proxy(2)
  faults.knowsUpTo = last
  faults.refuses = ({ method, params }: Question) =>
    method === 'eth_getLogs' && BigInt((params[0] as { toBlock?: string }).toBlock ?? 0) > last
}

test('a second node that is a block behind, and refuses ranges beyond its chain, is asked for as many blocks as before', async (t) => {
  await world.assign()
  await world.chain.mine(40)
  const nodes = await world.openNodes(t, 2)
  await nodes.lookOn(3)
  const { blockSpan } = limitsOf(nodes) ?? {}
  const top = await world.chain.blockNumber()
  await world.chain.mine(32)
  endAt(nodes, top + 31n)
  await nodes.lookOn(1)
  assert.deepEqual([limitsOf(nodes)?.blockSpan, await world.head()], [blockSpan, top + 31n])
  endAt(nodes, top + 31n - 32n)
  await world.chain.mine()
  await nodes.lookOn(1)
  nodes.proxy(2).heal()
  await nodes.lookOn(2)
  assert.deepEqual([limitsOf(nodes)?.blockSpan, await world.head()], [blockSpan, await world.chain.blockNumber()])
})

test('a second node that takes fewer receivers is asked for fewer, over as many blocks', async (t) => {
  for (let count = 0; count < 45; count += 1) await world.assign()
  await world.chain.mine(40)
  const nodes = await world.openNodes(t, 2)
  await nodes.lookOn(1)
  const { blockSpan } = limitsOf(nodes) ?? {}
  nodes.proxy(2).faults.maxTopics = 30
  await world.chain.mine(20)
  await nodes.lookOn(1)
  assert.deepEqual([limitsOf(nodes)?.blockSpan, limitsOf(nodes)?.topicCount], [blockSpan, 23])
  assert.equal(await world.head(), await world.chain.blockNumber())
})

test('a range that a second node refused for a while is as long again after a few that it answers', async (t) => {
  await world.assign()
  await world.chain.mine(40)
  const nodes = await world.openNodes(t, 2)
  nodes.proxy(2).faults.maxSpan = 8n
  await world.chain.mine(32)
  await nodes.lookOn(1)
  assert.equal(limitsOf(nodes)?.blockSpan, 8n)
  nodes.proxy(2).heal()
  for (let times = 0; times < 3; times += 1) {
    await world.chain.mine(32)
    await nodes.lookOn(1)
  }
  assert.ok((limitsOf(nodes)?.blockSpan ?? 0n) >= 32n)
  assert.equal(await world.head(), await world.chain.blockNumber())
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { toHex } from '../src/chain/transfer-logs.ts'
import { listTransfersTo } from '../src/chain/transfer-queries.ts'
import { sql } from '../src/db/db.ts'
import { SECOND } from '../src/kernel/clock.ts'
import type { Faults } from './harness/rpc-proxy.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* The number and the time of a block are no single node's word, as its transfers are not. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

type Header = { hash: string; number: string; timestamp: string }
const byNumber = (number: string) => world.chain.call<Header>('eth_getBlockByNumber', number, false)
const follow = async (time: { nowMs: number }) => {
  time.nowMs = Math.max(time.nowMs, Number((await byNumber('latest')).timestamp) * SECOND)
}
const find = async (address: string) => (await listTransfersTo(world.db, [address]))[0]
const isRead = async (address: string) => [await world.head(), await world.seen(address)]

/** What a node answers about one block, by its number. */
const about =
  (number: string, change: object): Faults['alter'] =>
  ({ method, params }, result) =>
    method === 'eth_getBlockByNumber' && params[0] === number && result ? { ...(result as object), ...change } : result
const NO_BLOOM = { logsBloom: `0x${'0'.repeat(512)}` }

for (const [words, at] of [
  ['after the last watch', 4_200_000_000n],
  ['before the first', 1n],
] as const)
  test(`the first of three nodes hides no payment by the time of its block: ${words}`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 3)
    await follow(nodes.time)
    const first = toHex((await world.chain.blockNumber()) + 1n)
    const address = await world.payNew(81n)
    await world.chain.mine(2)
    nodes.proxy(1).faults.alter = about(first, { ...NO_BLOOM, timestamp: toHex(at) })
    await nodes.lookOn(3)
    nodes.proxy(1).heal()
    await nodes.lookOn(3)
    assert.deepEqual(await isRead(address), [await world.chain.blockNumber(), ['81 seen']])
  })

test('nor by a time that is ahead in the newest block, with nothing after it', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  await follow(nodes.time)
  const first = toHex((await world.chain.blockNumber()) + 1n)
  const address = await world.payNew(86n)
  nodes.proxy(1).faults.alter = about(first, { ...NO_BLOOM, timestamp: toHex(4_200_000_000n) })
  await nodes.lookOn(1)
  assert.deepEqual(nodes.faults()[0], 'outvoted') // the other one's header is proven by its hash
  await nodes.lookOn(1)
  assert.equal((await find(address))?.blockAt.getTime(), Number((await byNumber(first)).timestamp) * SECOND)
})

test('one wrong time in a catch-up hides no payment of the whole range', async (t) => {
  await world.assign()
  const nodes = await world.openNodes(t, 3)
  await world.chain.mine(100)
  const address = await world.payNew(84n)
  await world.chain.mine(200)
  const first = toHex(((await world.head()) ?? 0n) + 1n)
  nodes.proxy(1).faults.alter = about(first, { timestamp: toHex(4_200_000_000n) })
  nodes.time.nowMs += 5 * SECOND
  await nodes.lookOn(4)
  assert.deepEqual(await isRead(address), [await world.chain.blockNumber(), ['84 seen']])
})

test('the first of three nodes does not say when a payment was made', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3)
  const number = toHex((await world.chain.blockNumber()) + 1n)
  const address = await world.payNew(83n)
  const paid = await byNumber(number)
  await world.chain.mine()
  nodes.proxy(1).faults.alter = about(number, { timestamp: toHex(BigInt(paid.timestamp) - 7200n) })
  await nodes.lookOn(3)
  assert.equal((await find(address))?.blockAt.getTime(), Number(paid.timestamp) * SECOND)
})

for (const lie of ['its block', 'the newest block'] as const)
  test(`the first of three nodes makes no payment final by another number of ${lie}`, async (t) => {
    const rule = { kind: 'confirmations', confirmations: 50 } as const
    await world.chain.mine(200)
    const nodes = await world.openNodes(t, 3, { ...world.network, small: rule, large: rule })
    await follow(nodes.time)
    const number = toHex((await world.chain.blockNumber()) + 2n)
    await world.chain.mine()
    const address = await world.payNew(82n)
    const paid = await byNumber(number)
    await world.chain.mine(2)
    const lower = toHex(BigInt(number) - 150n)
    const higher = toHex(BigInt(number) + 150n)
    nodes.proxy(1).faults.alter = (asked, result) => {
      if (lie === 'the newest block') return about('latest', { number: higher })?.(asked, result)
      if (asked.method !== 'eth_getLogs') return about(number, { number: lower })?.(asked, result)
      const logs = result as { blockHash: string }[]
      return logs.map((log) => (log.blockHash === paid.hash ? { ...log, blockNumber: lower } : log))
    }
    await nodes.lookOn(3)
    const one = await find(address)
    assert.deepEqual([one?.blockNumber, one?.finalAt], [BigInt(number), null])
  })

test('a wrong time that an earlier version stored stops nothing, and no payment is hidden by it', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  await follow(nodes.time)
  await world.db.run(sql`update chain_heads set block_at = '2100-06-01'`)
  const address = await world.payNew(85n)
  await nodes.lookOn(2)
  assert.deepEqual([await isRead(address), nodes.alarms()], [[await world.chain.blockNumber(), ['85 seen']], []])
  await world.db.run(sql`update chain_heads set block_at = null`)
  const next = await world.payNew(87n)
  await nodes.lookOn(2)
  assert.deepEqual(await world.seen(next), ['87 seen'])
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listTransfersTo } from '../src/chain/transfer-queries.ts'
import { HOUR, SECOND } from '../src/kernel/clock.ts'
import { forgeBlocks } from './harness/forged-blocks.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* A node shows blocks that no other has, and that are newer than what the others show. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

for (const { nodes: count, liar, ahead } of [
  { nodes: 3, liar: 1, ahead: 60 * SECOND },
  { nodes: 3, liar: 3, ahead: 60 * SECOND },
  { nodes: 2, liar: 2, ahead: 60 * SECOND },
  { nodes: 2, liar: 1, ahead: 60 * SECOND },
  { nodes: 3, liar: 3, ahead: 5 * SECOND },
])
  test(`no money counts that node ${liar} of ${count} shows in blocks ${ahead / SECOND} s ahead of our clock`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, count)
    const address = await world.assign()
    nodes.proxy(liar).faults.forges = await forgeBlocks(world.chain, { paid: address, atMs: nodes.time.nowMs + ahead })
    await nodes.lookOn(40)
    assert.deepEqual(await world.seen(address), [])
  })

test('nor where the last honest block is 20 s old, and the forged ones are not ahead of our clock', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3)
  const address = await world.assign()
  nodes.proxy(3).faults.forges = await forgeBlocks(world.chain, { paid: address, atMs: nodes.time.nowMs + 18 * SECOND })
  nodes.time.nowMs += 20 * SECOND
  await nodes.lookOn(20)
  assert.deepEqual([await world.seen(address), nodes.faults()], [[], [null, null, null]])
})

test('two nodes of three that agree go on beside one whose blocks are ahead: a payment counts at once', async (t) => {
  const nodes = await world.openNodes(t, 3)
  nodes.proxy(3).faults.forges = await forgeBlocks(world.chain, { atMs: nodes.time.nowMs + 60 * SECOND })
  await nodes.lookOn(20)
  const address = await world.payNew(77n)
  await nodes.lookOn(8)
  assert.deepEqual([await world.seen(address), await world.trouble()], [['77 seen'], null])
})

test('of two nodes the one that lags is not read, but holds up what it lacks while it answers, with an alarm', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const both = await world.chain.blockNumber()
  nodes.proxy(1).faults.knowsUpTo = both
  nodes.time.nowMs += 20 * SECOND
  await world.chain.call('evm_increaseTime', 20)
  await world.chain.mine()
  await nodes.lookOn(1)
  assert.deepEqual([await world.head(), nodes.faults()], [both, ['behind', null]])
  const address = await world.payNew(78n)
  await nodes.lookOn(25)
  assert.deepEqual([await world.seen(address), nodes.alarms()], [[], []])
  await nodes.lookOn(10)
  assert.deepEqual([await world.seen(address), await world.trouble()], [[], 'doubt'])
  assert.match(nodes.alarms().join(), /^ALARM: the chain is not read on: endpoint 1 does not have the block yet/)
  nodes.proxy(1).heal()
  await nodes.lookOn(4)
  assert.deepEqual([await world.seen(address), await world.trouble()], [['78 seen'], null])
})

/* The last node has every block some seconds later than the others; all are honest. A block every two seconds. */
for (const { count, lag, every, most } of [
  { count: 2, lag: 4, every: 2, most: 6 },
  { count: 2, lag: 20, every: 10, most: 22 },
  { count: 3, lag: 4, every: 2, most: 1 },
])
  test(`${count} nodes, one ${lag} s late, a payment every ${every} s: each counts within ${most} s`, async (t) => {
    const rule = { kind: 'confirmations', confirmations: 3 } as const
    const nodes = await world.openNodes(t, count, { ...world.network, small: rule, large: rule })
    const late = nodes.proxy(count).faults
    const { timestamp } = await world.chain.call<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
    nodes.time.nowMs = Math.max(nodes.time.nowMs, Number(timestamp) * SECOND + 2 * SECOND)
    late.knowsUpTo = await world.chain.blockNumber()
    const heads: bigint[] = []
    const paid: { address: string; second: number; after?: number }[] = []
    const troubles: unknown[] = []
    for (let second = 0; second < 90; second += 1) {
      if (second % 2 === 0) {
        await world.chain.call('evm_setNextBlockTimestamp', Math.floor(nodes.time.nowMs / SECOND))
        if (second >= 20 && second < 60 && second % every === 0) paid.push({ address: await world.payNew(81n), second })
        else await world.chain.mine()
      }
      heads.push(await world.chain.blockNumber())
      late.knowsUpTo = heads.at(-1 - lag) ?? late.knowsUpTo
      await nodes.lookOn(1)
      troubles.push(await world.trouble())
      for (const one of paid)
        if (one.after === undefined && (await world.seen(one.address)).length > 0) one.after = second - one.second
      const [first] = paid
      if (second === 59 && first && count === 2 && every === 2)
        assert.ok((await listTransfersTo(world.db, [first.address]))[0]?.finalAt, 'it is final before the head is read')
    }
    assert.deepEqual([paid.filter(({ after = 90 }) => after > most), troubles.filter(Boolean)], [[], []])
    assert.deepEqual(nodes.alarms(), [])
  })

test('of two nodes the one that lags holds no money up once it does not answer', async (t) => {
  const nodes = await world.openNodes(t, 2)
  nodes.proxy(1).faults.knowsUpTo = await world.chain.blockNumber()
  nodes.time.nowMs += 40 * SECOND
  await world.chain.call('evm_increaseTime', 20)
  const address = await world.payNew(79n)
  await nodes.lookOn(4)
  assert.deepEqual(await world.seen(address), [])
  nodes.proxy(1).faults.status = 503
  await nodes.lookOn(2)
  assert.deepEqual(await world.seen(address), ['79 seen'])
})

test('of two nodes the one that is being synchronised holds no money up', async (t) => {
  const nodes = await world.openNodes(t, 2)
  nodes.proxy(1).faults.knowsUpTo = await world.chain.blockNumber()
  nodes.time.nowMs += 2 * HOUR
  await world.chain.call('evm_increaseTime', 2 * 3600)
  await world.chain.mine()
  await nodes.lookOn(1)
  assert.deepEqual(nodes.faults(), ['behind', null])
  const address = await world.payNew(80n)
  await nodes.lookOn(4)
  assert.deepEqual([await world.seen(address), nodes.alarms()], [['80 seen'], []])
})

test('who was found to show the future is not believed because the other node fails for some seconds', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  const address = await world.assign()
  nodes.proxy(2).faults.forges = await forgeBlocks(world.chain, { paid: address, atMs: nodes.time.nowMs + 3 * HOUR })
  await nodes.lookOn(4)
  assert.deepEqual([await world.seen(address), nodes.faults()], [[], [null, 'outvoted']])
  nodes.proxy(1).faults.status = 503
  await nodes.lookOn(6)
  nodes.proxy(1).heal()
  await nodes.lookOn(10)
  assert.deepEqual([await world.seen(address), nodes.faults()], [[], [null, 'outvoted']])
  assert.equal(nodes.alarms().length, 1)
})

test('money that only a node far ahead of our clock shows waits, while the other one was never heard', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  const address = await world.assign()
  nodes.proxy(1).faults.status = 503
  nodes.proxy(2).faults.forges = await forgeBlocks(world.chain, { paid: address, atMs: nodes.time.nowMs + 3 * HOUR })
  nodes.time.nowMs += 3 * SECOND
  await nodes.lookOn(10)
  assert.deepEqual(await world.seen(address), [])
  assert.match(nodes.alarms().join(), /the clock here is slow; nothing is read from it/)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { toHex } from '../src/chain/transfer-logs.ts'
import { HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import { forgeBlocks } from './harness/forged-blocks.ts'
import type { Faults } from './harness/rpc-proxy.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* After nodes lied, froze or contradicted each other, the chain is read on. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

const follow = async (time: { nowMs: number }) => {
  const { timestamp } = await world.chain.call<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
  time.nowMs = Math.max(time.nowMs, Number(timestamp) * SECOND)
}
const hasOthers: Faults['alter'] = ({ method, params }, result) => {
  if (method === 'eth_getBlockByHash') return null
  if (method !== 'eth_getBlockByNumber' || params[0] === '0x0') return result
  return { ...(result as object), hash: `0x${'a'.repeat(64)}` }
}

test('a disagreement that is over ends, though one node lags by 4 s and each block pays', async (t) => {
  const nodes = await world.openNodes(t, 2)
  await follow(nodes.time)
  nodes.proxy(2).faults.alter = hasOthers
  await world.payNew(71n)
  await nodes.lookOn(14)
  assert.equal(await world.trouble(), 'disagreement')
  nodes.proxy(2).heal()
  const late = nodes.proxy(2).faults
  late.knowsUpTo = await world.chain.blockNumber()
  const heads: bigint[] = []
  const paid: string[] = []
  const troubles: unknown[] = []
  for (let second = 0; second < 60; second += 1) {
    if (second % 2 === 0) {
      await world.chain.call('evm_setNextBlockTimestamp', Math.floor(nodes.time.nowMs / SECOND) + 1)
      paid.push(await world.payNew(72n))
    }
    heads.push(await world.chain.blockNumber())
    late.knowsUpTo = heads.at(-1 - 4) ?? late.knowsUpTo
    await nodes.lookOn(1)
    troubles.push(await world.trouble())
  }
  const counted = (await Promise.all(paid.map((one) => world.seen(one)))).filter((one) => one.length > 0).length
  assert.equal(troubles.at(-1), null, `after ${troubles.length} s and ${counted} counted payments of ${paid.length}`)
})

test('two frozen nodes of three: the third is read within two hours, or the operator hears which are frozen', async (t) => {
  const nodes = await world.openNodes(t, 3)
  const at = await world.chain.blockNumber()
  for (const number of [1, 2]) nodes.proxy(number).faults.knowsUpTo = at
  nodes.time.nowMs += 2 * HOUR
  await world.chain.call('evm_increaseTime', 2 * 3600)
  const address = await world.payNew(73n)
  await nodes.lookOn(70)
  assert.ok(
    (await world.seen(address)).length > 0 || nodes.alarms().length > 0 || (await world.trouble()) !== null,
    `head ${await world.head()} of ${await world.chain.blockNumber()}, faults ${nodes.faults()}, trouble ${await world.trouble()}`,
  )
})

test('blocks up to 9 minutes ahead that one of three nodes showed for 2 s hold payments up a minute at most', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3)
  await follow(nodes.time)
  nodes.proxy(2).faults.forges = await forgeBlocks(world.chain, { atMs: nodes.time.nowMs + 140 * SECOND, count: 400 })
  nodes.proxy(1).faults.status = 503
  await nodes.lookOn(2)
  nodes.proxy(1).heal()
  nodes.proxy(2).heal()
  const startedMs = nodes.time.nowMs
  const address = await world.payNew(74n)
  let seconds = 0
  while ((await world.seen(address)).length === 0 && seconds < 900) {
    seconds += 1
    if (seconds % 2 === 0) {
      await world.chain
        .call('evm_setNextBlockTimestamp', Math.max(Math.floor(nodes.time.nowMs / SECOND), 0))
        .catch(() => {})
      await world.chain.mine()
    }
    await nodes.lookOn(1)
  }
  const waited = Math.round((nodes.time.nowMs - startedMs) / SECOND)
  assert.ok(
    waited * SECOND <= MINUTE,
    `the payment waited ${waited} s; trouble ${await world.trouble()}, faults ${nodes.faults()}`,
  )
})

test('the only node up at a restart shows blocks 3 h ahead; once the others are back, payments count in minutes', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3)
  await follow(nodes.time)
  const forges = await forgeBlocks(world.chain, { atMs: nodes.time.nowMs + 3 * HOUR, count: 400 })
  for (const number of [1, 3]) nodes.proxy(number).faults.status = 503
  nodes.proxy(2).faults.forges = forges
  nodes.time.nowMs += 4 * SECOND
  await nodes.lookOn(8)
  for (const number of [1, 3]) nodes.proxy(number).heal()
  nodes.proxy(2).heal()
  const startedMs = nodes.time.nowMs
  const address = await world.payNew(75n)
  while ((await world.seen(address)).length === 0 && nodes.time.nowMs - startedMs < 30 * MINUTE) {
    nodes.time.nowMs += 9 * SECOND
    await world.chain.call('evm_setNextBlockTimestamp', Math.floor(nodes.time.nowMs / SECOND)).catch(() => {})
    await world.chain.mine()
    await nodes.lookOn(1)
  }
  const waited = Math.round((nodes.time.nowMs - startedMs) / SECOND)
  assert.ok(
    waited <= 120,
    `the payment waited ${waited} s; trouble ${await world.trouble()}, faults ${nodes.faults()}, head ${await world.head()} of ${await world.chain.blockNumber()}`,
  )
})

test('while each of two nodes counts as wrong, nothing is read, and that is trouble until one is read again', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  for (const endpoint of nodes.endpoints.all) endpoint.noteWrong('outvoted')
  const address = await world.payNew(76n)
  await nodes.lookOn(35)
  assert.deepEqual([await world.seen(address), await world.trouble()], [[], 'doubt'])
  assert.match(nodes.warnings().join('|'), /^the chain is not read on: each endpoint is contradicted[^|]*$/)
  await nodes.lookOn(30)
  assert.deepEqual([await world.seen(address), await world.trouble()], [['76 seen'], null])
})

test('after a node lied for 600 blocks while the others were down, what was paid meanwhile is read', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3)
  await follow(nodes.time)
  const before = await world.payNew(65n)
  await nodes.lookOn(1)
  for (const number of [2, 3]) nodes.proxy(number).faults.status = 503
  const base = await world.chain.blockNumber()
  const forges = await forgeBlocks(world.chain, { atMs: nodes.time.nowMs, count: 600 })
  let shown = 0n
  nodes.proxy(1).faults.forges = (asked) => {
    const [place] = asked.params as [string]
    if (asked.method !== 'eth_getBlockByNumber') return forges(asked)
    if (place === 'latest') return shown === 0n ? undefined : forges({ ...asked, params: [toHex(base + shown), false] })
    return place.startsWith('0x') && BigInt(place) > base + shown ? null : forges(asked)
  }
  const address = await world.payNew(66n)
  await world.chain.mine(29)
  while (shown < 600n) {
    shown += 30n
    await follow(nodes.time)
    await nodes.lookOn(1)
    await world.chain.mine(30)
  }
  assert.equal(await world.head(), base + 600n)
  assert.deepEqual(await world.seen(address), [])
  for (const number of [1, 2, 3]) nodes.proxy(number).heal()
  await world.chain.mine(10)
  await follow(nodes.time)
  await nodes.lookOn(60)
  assert.equal(await world.head(), await world.chain.blockNumber())
  assert.deepEqual([await world.seen(before), await world.seen(address)], [['65 seen'], ['66 seen']])
  assert.equal(await world.trouble(), null)
})

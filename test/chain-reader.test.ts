import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { toHex } from '../src/chain/transfer-logs.ts'
import { sql } from '../src/db/db.ts'
import { SECOND } from '../src/kernel/clock.ts'
import { forgeBlocks } from './harness/forged-blocks.ts'
import type { Faults } from './harness/rpc-proxy.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* The node that is read is wrong, slow or gives blocks back; the others go on. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

type Alter = NonNullable<Faults['alter']>
const isAt = ({ method, params }: Parameters<Alter>[0], place: string): boolean =>
  method === 'eth_getBlockByNumber' && params[0] === place
const ODD: Record<string, (next: string) => Alter> = {
  'has a hole at one height': (next) => (asked, result) => (isAt(asked, next) ? null : result),
  'has a block that does not follow': (next) => (asked, result) =>
    isAt(asked, next) ? { ...(result as object), parentHash: `0x${'b'.repeat(64)}` } : result,
  'shows logs in another block': () => (asked, result) =>
    asked.method === 'eth_getLogs'
      ? (result as object[]).map((one) => ({ ...one, blockHash: `0x${'d'.repeat(64)}` }))
      : result,
  'puts two different logs in one place': () => (asked, result) =>
    asked.method === 'eth_getLogs'
      ? (result as object[]).flatMap((one) => [one, { ...one, data: `0x${'1'.padStart(64, '0')}` }])
      : result,
}

for (const [what, alter] of Object.entries(ODD))
  test(`where the first of three nodes ${what}, the second one reads on at once`, async (t) => {
    const nodes = await world.openNodes(t, 3)
    nodes.proxy(1).faults.alter = alter(toHex((await world.chain.blockNumber()) + 1n))
    const address = await world.payNew(42n)
    await nodes.lookOn(1)
    assert.deepEqual([await world.seen(address), await world.head()], [['42 seen'], await world.chain.blockNumber()])
    await nodes.lookOn(8)
    assert.equal(await world.trouble(), null)
  })

const placeLogsAt =
  (logIndex: string): Alter =>
  ({ method }, result) =>
    method === 'eth_getLogs' ? (result as object[]).map((one) => ({ ...one, logIndex })) : result

for (const odd of [1, 2])
  test(`node ${odd} of two shows logs in a place that no column holds: the other one is read at once`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 2)
    nodes.proxy(odd).faults.alter = placeLogsAt('0x80000000')
    const address = await world.payNew(45n)
    await nodes.lookOn(3)
    assert.deepEqual([await world.seen(address), await world.trouble(), nodes.alarms()], [['45 seen'], null, []])
  })

/** As a new column or condition, which what a node says may not fit. */
async function refuseToStore(t: { after(work: () => unknown): void }): Promise<void> {
  t.after(() => world.db.run(sql`alter table chain_transfers drop constraint test_place`))
  await world.db.run(sql`alter table chain_transfers add constraint test_place check (log_index < 1000)`)
}

test('where what the first of two nodes says cannot be stored, the second reads on, and the operator hears of it', async (t) => {
  await refuseToStore(t)
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  nodes.proxy(1).faults.alter = placeLogsAt('0x7fff')
  for (let payment = 0; payment < 8; payment += 1) {
    const address = await world.payNew(46n)
    await nodes.lookOn(1)
    assert.deepEqual(await world.seen(address), ['46 seen'])
  }
  assert.deepEqual([nodes.faults(), await world.trouble()], [['outvoted', null], null])
  assert.match(nodes.alarms().join(), /^ALARM: the endpoint is set aside, and another one is read: .*test_place/)
})

test('where what the only node says cannot be stored, that is trouble of the chain, with an alarm', async (t) => {
  await refuseToStore(t)
  await world.chain.mine()
  const nodes = await world.openNodes(t, 1)
  nodes.proxy(1).faults.alter = placeLogsAt('0x7fff')
  const address = await world.payNew(47n)
  for (let second = 0; second < 32; second += 1)
    await nodes.lookOn(1).catch(() => {
      nodes.time.nowMs += SECOND
    })
  assert.deepEqual([await world.seen(address), await world.trouble()], [[], 'doubt'])
  assert.match(
    nodes.alarms().join(),
    /^ALARM: the chain is not read on: .*test_place.*; the errors in the log say more$/,
  )
  nodes.proxy(1).heal()
  await nodes.lookOn(2)
  assert.deepEqual([await world.seen(address), await world.trouble()], [['47 seen'], null])
})

test('a node that names another finalized block is set aside with an alarm, and payments become final', async (t) => {
  const network = { ...world.network, large: { kind: 'tag', tag: 'finalized', extraBlocks: 0 } as const }
  await world.chain.mine(70)
  const nodes = await world.openNodes(t, 3, network)
  nodes.proxy(1).faults.alter = (asked, result) =>
    isAt(asked, 'finalized') ? { ...(result as object), hash: `0x${'c'.repeat(64)}` } : result
  for (let times = 0; times < 4; times += 1) {
    await world.chain.mine(30)
    await nodes.lookOn(2)
  }
  assert.deepEqual([nodes.faults(), await world.trouble()], [['outvoted', null, null], null])
  assert.match(nodes.alarms().join(), /^ALARM: the endpoint is set aside, and another one is read: block \d+ is not/)
})

test('a node whose blocks never follow stops a chain that has no other, with a doubt and its reason', async (t) => {
  const nodes = await world.openNodes(t, 1)
  nodes.proxy(1).faults.alter = ODD['has a block that does not follow']?.(
    toHex((await world.chain.blockNumber()) + 1n),
  ) as Alter
  const address = await world.payNew(43n)
  await nodes.lookOn(32)
  assert.deepEqual([await world.seen(address), await world.trouble()], [[], 'doubt'])
  assert.match(nodes.warnings().join(), /what endpoint 1 shows after block \d+ does not follow it/)
})

test('a doubt that was noted ends when the chain is read on, though its head is not reached', async (t) => {
  const nodes = await world.openNodes(t, 1)
  let missing = toHex((await world.chain.blockNumber()) + 1n)
  nodes.proxy(1).faults.alter = (asked, result) => (isAt(asked, missing) ? null : result)
  await world.chain.mine()
  await nodes.lookOn(32)
  assert.equal(await world.trouble(), 'doubt')
  await world.chain.mine()
  missing = toHex(await world.chain.blockNumber())
  Object.assign(nodes.endpoints.all[0] ?? {}, { blocksAtOnce: 1 })
  await nodes.lookOn(1)
  assert.deepEqual([await world.head(), await world.trouble()], [BigInt(missing) - 1n, null])
})

test('blocks that all nodes together have no more are taken back after half a minute, and payments count again', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3)
  const honest = await world.chain.blockNumber()
  nodes.proxy(1).faults.forges = await forgeBlocks(world.chain, { atMs: nodes.time.nowMs - 400 * SECOND, count: 400 })
  for (const number of [2, 3]) nodes.proxy(number).faults.status = 503
  await nodes.lookOn(2)
  assert.equal(await world.head(), honest + 400n)
  for (const number of [1, 2, 3]) nodes.proxy(number).heal()
  const address = await world.payNew(44n)
  await nodes.lookOn(28)
  assert.deepEqual([await world.seen(address), await world.head()], [[], honest + 400n])
  await nodes.lookOn(8)
  assert.deepEqual([await world.seen(address), await world.trouble()], [['44 seen'], null])
  assert.match(nodes.alarms().join(), /the newest blocks that were read are not part of the chain/)
})

for (const [what, count, fault] of [
  ['one of two nodes still has them', 2, 'holds'],
  ['the only node has them no more', 1, 'none'],
] as const)
  test(`blocks are not taken back while ${what}`, async (t) => {
    const nodes = await world.openNodes(t, count)
    const honest = await world.chain.blockNumber()
    const forges = await forgeBlocks(world.chain, { atMs: nodes.time.nowMs })
    for (let number = 1; number <= count; number += 1) nodes.proxy(number).faults.forges = forges
    await nodes.lookOn(1)
    assert.equal(await world.head(), honest + 5n)
    nodes.proxy(1).heal()
    if (fault === 'none') assert.equal(count, 1)
    await nodes.lookOn(35)
    assert.deepEqual([await world.head(), await world.trouble()], [honest + 5n, 'doubt'])
  })

/* A power cut: the nodes come back with an earlier block. */
for (const moves of [false, true])
  test(`two nodes that ${moves ? 'catch up' : 'stand still'} below a block that was read undo no payment`, async (t) => {
    const rule = { kind: 'confirmations', confirmations: 3 } as const
    const nodes = await world.openNodes(t, 2, { ...world.network, small: rule, large: rule })
    const address = await world.payNew(47n)
    const paidAt = await world.chain.blockNumber()
    await world.chain.mine(70)
    await nodes.lookOn(4)
    const both = [1, 2].map((number) => nodes.proxy(number).faults)
    for (let second = 0; second < 40; second += 1) {
      const moved = moves ? BigInt(Math.floor(second / 2)) : 0n
      for (const faults of both) faults.knowsUpTo = paidAt - 3n + moved
      await nodes.lookOn(1)
    }
    assert.deepEqual([await world.seen(address), nodes.alarms()], [['47 seen'], []])
    for (const number of [1, 2]) nodes.proxy(number).heal()
    await nodes.lookOn(4)
    assert.deepEqual([await world.seen(address), await world.trouble()], [['47 seen'], null])
  })

test('two of three nodes take back the blocks that the third one alone still shows, and exclude it', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3)
  nodes.proxy(2).faults.forges = await forgeBlocks(world.chain, { atMs: nodes.time.nowMs - 2000 * SECOND, count: 2000 })
  for (const number of [1, 3]) nodes.proxy(number).faults.status = 503
  await nodes.lookOn(2)
  for (const number of [1, 3]) nodes.proxy(number).heal()
  const address = await world.payNew(48n)
  await nodes.lookOn(40)
  assert.deepEqual([await world.seen(address), await world.trouble()], [['48 seen'], null])
  assert.deepEqual(nodes.faults(), [null, 'outvoted', null])
  assert.match(nodes.alarms().join(), /the endpoint is contradicted about block/)
})

test('one of three nodes that takes long for every answer holds no payment up', async (t) => {
  const nodes = await world.openNodes(t, 3)
  const slow = nodes.endpoints.all[2]
  assert.ok(slow)
  const { rpc } = slow
  const answered: unknown[] = []
  const later = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    await sleep(6 * SECOND)
    answered.push(await ask())
    return ask()
  }
  Object.assign(slow, {
    rpc: {
      call: (method: string, ...params: unknown[]) => later(() => rpc.call(method, ...params)),
      batch: (calls: Parameters<typeof rpc.batch>[0]) => later(() => rpc.batch(calls)),
      close: () => rpc.close(),
    },
  })
  nodes.time.nowMs += 3 * SECOND
  for (const units of [45n, 46n]) {
    const address = await world.payNew(units)
    const startedMs = performance.now()
    await nodes.lookOn(1)
    assert.deepEqual(await world.seen(address), [`${units} seen`])
    assert.ok(performance.now() - startedMs < 3 * SECOND)
  }
  assert.deepEqual(answered, [])
  await sleep(7 * SECOND) // its answers come while the scanner is still there
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { toHex } from '../src/chain/transfer-logs.ts'
import { sql } from '../src/db/db.ts'
import { MINUTE, SECOND } from '../src/kernel/clock.ts'
import type { Faults } from './harness/rpc-proxy.ts'
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

/** Shows no log, in receipts neither, and headers without any, under the true hashes. */
const hides = ({ method }: Question, result: unknown): unknown => {
  if (method === 'eth_getLogs') return []
  if (method === 'eth_getBlockReceipts') return (result as object[]).map((one) => ({ ...one, logs: [] }))
  if (!method.startsWith('eth_getBlockBy') || result === null) return result
  return { ...(result as object), logsBloom: `0x${'0'.repeat(512)}` }
}

for (const how of ['results', 'status'] as const)
  test(`a second node that answers no long range (${how}) is asked for shorter ones: nothing is hidden in it`, async (t) => {
    const address = await world.assign()
    await world.chain.mine(50)
    const nodes = await world.openNodes(t, 2)
    await world.chain.mine(100)
    await world.chain.pay({ to: address, units: 9_000n })
    await world.chain.mine(1000)
    nodes.time.nowMs += 5 * SECOND
    nodes.proxy(2).faults.breaksAbove = { span: 200n, how }
    nodes.proxy(1).faults.alter = hides
    await nodes.lookOn(5)
    assert.deepEqual(await world.seen(address), ['9000 seen'])
    for (const number of [1, 2]) nodes.proxy(number).heal()
    await nodes.lookOn(5)
    assert.equal(await world.head(), await world.chain.blockNumber())
  })

test('a second node that is down keeps no range from being read', async (t) => {
  const address = await world.assign()
  await world.chain.mine(50)
  const nodes = await world.openNodes(t, 2)
  await world.chain.pay({ to: address, units: 9_001n })
  await world.chain.mine(500)
  nodes.proxy(2).faults.status = 503
  const asked = nodes.proxy(1).requests()
  await nodes.lookOn(2)
  assert.deepEqual([await world.seen(address), await world.head()], [['9001 seen'], await world.chain.blockNumber()])
  const requests = nodes.proxy(1).requests() - asked
  assert.ok(requests < 150, `${requests} requests for 500 blocks`)
})

for (const count of [2, 3])
  test(`one of ${count} nodes that has no old blocks is asked few times about them`, async (t) => {
    const address = await world.assign()
    await world.chain.mine(10)
    const nodes = await world.openNodes(t, count)
    await world.chain.pay({ to: address, units: 9_002n })
    await world.chain.mine(1000)
    nodes.time.nowMs += 5 * SECOND
    const oldest = (await world.chain.blockNumber()) - 100n
    const isOld = (number: unknown) => number !== '0x0' && /^0x/.test(String(number)) && BigInt(String(number)) < oldest
    const { faults } = nodes.proxy(2)
    faults.alter = ({ method }, result) =>
      method.startsWith('eth_getBlockBy') && isOld((result as { number?: string } | null)?.number) ? null : result
    faults.refuses = ({ method, params: [what] }) => {
      const { fromBlock, blockHash } = what as { fromBlock?: string; blockHash?: string }
      return method === 'eth_getLogs' && (blockHash !== undefined || isOld(fromBlock))
    }
    const before = nodes.proxy(2).requests()
    const asked = () => nodes.proxy(2).requests() - before
    await nodes.lookOn(1)
    assert.ok(asked() <= 25, `${asked()} requests in the first look`)
    await nodes.lookOn(20)
    assert.ok(asked() <= 200, `${asked()} requests`)
    if (count === 3) assert.equal(await world.head(), await world.chain.blockNumber())
    else assert.equal(await world.trouble(), 'disagreement')
  })

/** More receivers than these nodes take in one filter. */
async function assignMany(): Promise<void> {
  const { length } = await world.db.many(sql`select 1 from deposit_addresses`)
  for (let count = length; count < 45; count += 1) await world.assign()
}

for (const count of [1, 2])
  test(`${count} nodes that take few receivers are read on from far behind, and for so many blocks as before`, async (t) => {
    await assignMany()
    await world.chain.mine(10)
    const nodes = await world.openNodes(t, count)
    for (let number = 1; number <= count; number += 1) nodes.proxy(number).faults.maxTopics = 30
    await world.chain.mine(300)
    nodes.time.nowMs += 5 * SECOND
    await nodes.lookOn(2)
    assert.equal(await world.head(), await world.chain.blockNumber())
    for (const { limits } of nodes.endpoints.all) assert.ok(limits.blockSpan >= 2000n && limits.topicCount <= 30)
  })

test('a node that refuses all ranges is read block by block, and keeps no short range', async (t) => {
  const address = await world.assign()
  await world.chain.mine(10)
  const nodes = await world.openNodes(t, 1)
  await world.chain.pay({ to: address, units: 9_003n })
  await world.chain.mine(200)
  nodes.proxy(1).faults.refuses = ({ method, params }: Question) =>
    method === 'eth_getLogs' && (params[0] as { blockHash?: string }).blockHash === undefined
  await nodes.lookOn(2)
  assert.deepEqual([await world.head(), await world.seen(address)], [await world.chain.blockNumber(), ['9003 seen']])
  assert.ok((nodes.endpoints.all[0]?.limits.blockSpan ?? 0n) >= 2000n)
})

test('a chain whose only node refuses its logs is in trouble, with a warning that quotes it, until it answers', async (t) => {
  const address = await world.assign()
  await world.chain.mine(10)
  const nodes = await world.openNodes(t, 1)
  nodes.proxy(1).faults.refuses = ({ method }: Question) => method === 'eth_getLogs'
  await world.chain.pay({ to: address, units: 9_004n })
  await world.chain.mine(100)
  await nodes.lookOn(29)
  assert.deepEqual([await world.trouble(), nodes.warnings()], [null, []])
  await nodes.lookOn(5)
  assert.deepEqual([await world.trouble(), nodes.warnings().length, nodes.alarms()], ['doubt', 1, []])
  assert.match(nodes.warnings().join(), /the chain is not read on: eth_getLogs: not this one/)
  nodes.proxy(1).heal()
  await nodes.lookOn(2)
  assert.deepEqual([await world.trouble(), await world.seen(address)], [null, ['9004 seen']])
})

for (const reader of [true, false])
  test(`a node that refuses all logs for a moment takes as many receivers afterwards (the first of two: ${reader})`, async (t) => {
    await assignMany()
    await world.chain.mine(40)
    const nodes = await world.openNodes(t, 2)
    const number = reader ? 1 : 2
    await nodes.lookOn(2)
    nodes.proxy(number).faults.refuses = ({ method }: Question) => method === 'eth_getLogs'
    await world.chain.mine()
    await nodes.lookOn(2)
    nodes.proxy(number).heal()
    await world.chain.mine()
    await nodes.lookOn(1)
    assert.equal(nodes.endpoints.all[number - 1]?.limits.topicCount, 1000)
    assert.equal(await world.head(), await world.chain.blockNumber())
  })

for (const number of [1, 2])
  test(`node ${number} of two, which took few receivers for a while, is asked for more again after ten minutes`, async (t) => {
    await assignMany()
    await world.chain.mine(40)
    const nodes = await world.openNodes(t, 2)
    const taken = () => nodes.endpoints.all[number - 1]?.limits.topicCount ?? 0
    const readOn = async () => {
      await world.chain.mine()
      await nodes.lookOn(1)
      assert.equal(await world.head(), await world.chain.blockNumber())
    }
    nodes.proxy(number).faults.maxTopics = 30
    await readOn()
    const few = taken()
    assert.ok(few <= 30)
    nodes.time.nowMs += 9 * MINUTE
    await readOn()
    assert.equal(taken(), few)
    nodes.time.nowMs += 2 * MINUTE
    for (let times = 0; times < 3; times += 1) await readOn()
    assert.ok(taken() <= 30 && taken() >= few, 'it refused more, and keeps its limit')
    const refused = nodes.proxy(number).refused()
    for (let times = 0; times < 3; times += 1) await readOn()
    assert.equal(nodes.proxy(number).refused(), refused, 'it is not asked for more all the time')
    nodes.proxy(number).heal()
    nodes.time.nowMs += 11 * MINUTE
    for (let times = 0; times < 7; times += 1) await readOn()
    const { length } = await world.db.many(sql`select 1 from deposit_addresses`)
    assert.ok(taken() >= Math.min(length, 1000), `${taken()} of ${length}`)
  })

/** Answers and failures of eth_getLogs in turn: 0 fails. What is no list of logs counts like an internal error. */
function inTurn(pattern: string, how: 'fails' | 'refuses'): Partial<Faults> {
  let asked = 0
  const isBad = ({ method }: Question) => method === 'eth_getLogs' && pattern[asked++ % pattern.length] === '0'
  return how === 'refuses' ? { refuses: isBad } : { alter: (one, result) => (isBad(one) ? 'internal error' : result) }
}

for (const [count, number] of [
  [1, 1],
  [2, 2],
] as const)
  for (const { how, pattern } of [
    { how: 'fails', pattern: '001' },
    { how: 'refuses', pattern: '0011' },
  ] as const)
    test(`node ${number} of ${count} that ${how} now and then (${pattern}) is asked for as many receivers as before`, async (t) => {
      await assignMany()
      await world.chain.mine(10)
      const nodes = await world.openNodes(t, count)
      Object.assign(nodes.proxy(number).faults, inTurn(pattern, how))
      for (let times = 0; times < 12; times += 1) {
        await world.chain.mine()
        await nodes.lookOn(2)
      }
      assert.equal(nodes.endpoints.all[number - 1]?.limits.topicCount, 1000)
      nodes.proxy(number).heal()
      await nodes.lookOn(40)
      assert.equal(await world.head(), await world.chain.blockNumber())
    })

/** With codes that other nodes send for a failure that passes. */
const PASSING = [-32603, 'TOO_MANY'] as const

for (const code of PASSING)
  for (const count of [1, 2])
    test(`${count} nodes that refuse so many receivers as a failure (${code}) are read on at once, and asked for fewer if it lasts`, async (t) => {
      await assignMany()
      const address = await world.assign()
      await world.chain.mine(10)
      const nodes = await world.openNodes(t, count)
      await nodes.lookOn(2)
      const numbers = [1, 2].slice(0, count)
      for (const number of numbers) Object.assign(nodes.proxy(number).faults, { maxTopics: 30, refusalCode: code })
      const readOn = async (looks: number) => {
        for (let look = 0; look < looks; look += 1) {
          await world.chain.mine()
          await nodes.lookOn(1)
          assert.equal(await world.head(), await world.chain.blockNumber())
        }
      }
      const limits = () => nodes.endpoints.all.map(({ limits: { topicCount } }) => topicCount)
      await world.chain.pay({ to: address, units: 9_010n })
      await readOn(8)
      assert.deepEqual([await world.seen(address), limits()], [['9010 seen'], numbers.map(() => 1000)])
      await readOn(5)
      assert.ok(
        limits().every((most) => most <= 30),
        String(limits()),
      )
      const refused = () => numbers.map((number) => nodes.proxy(number).refused())
      const before = refused()
      await readOn(5)
      assert.deepEqual(refused(), before)
      nodes.time.nowMs += 11 * MINUTE // it is asked for more then, and known to refuse them
      await readOn(2)
      const again = refused()
      await readOn(5)
      assert.deepEqual(refused(), again)
      for (const number of numbers) nodes.proxy(number).heal()
      nodes.time.nowMs += 11 * MINUTE
      await readOn(7)
      assert.ok(
        limits().every((most) => most > 30),
        String(limits()),
      )
      assert.deepEqual([await world.trouble(), nodes.alarms(), nodes.warnings()], [null, [], []])
    })

for (const code of PASSING)
  test(`a second node that refuses so many receivers as a failure (${code}) keeps the first one from hiding`, async (t) => {
    await assignMany()
    const address = await world.assign()
    await world.chain.mine(10)
    const nodes = await world.openNodes(t, 2)
    await nodes.lookOn(2)
    Object.assign(nodes.proxy(2).faults, { maxTopics: 30, refusalCode: code })
    nodes.proxy(1).faults.alter = hides
    await world.chain.pay({ to: address, units: 9_011n })
    await nodes.lookOn(60)
    assert.deepEqual([await world.seen(address), await world.head()], [['9011 seen'], await world.chain.blockNumber()])
  })

for (const code of [-32602, -32603])
  for (const count of [1, 2])
    test(`node ${count} of ${count} that refuses a whole batch with one error (${code}) for its receivers is asked for fewer`, async (t) => {
      await assignMany()
      await world.chain.mine(10)
      const nodes = await world.openNodes(t, count)
      Object.assign(nodes.proxy(count).faults, { maxTopics: 30, refusalCode: code, refusesWhole: true })
      for (let second = 0; second < 60; second += 1) {
        if (second % 4 === 0) await world.chain.mine()
        await nodes.lookOn(1)
      }
      const { batchSize, topicCount = 0 } = nodes.endpoints.all[count - 1]?.limits ?? {}
      assert.ok(topicCount <= 30, `${topicCount} receivers`)
      assert.deepEqual([batchSize, await world.head()], [100, await world.chain.blockNumber()])
      assert.deepEqual([nodes.warnings(), nodes.alarms(), await world.trouble()], [[], [], null])
    })

for (const code of [-32602, -32603, -32016])
  test(`a second node that refuses all logs (${code}) look after look confirms nothing, with one warning`, async (t) => {
    await assignMany()
    await world.chain.mine(10)
    const nodes = await world.openNodes(t, 2)
    Object.assign(nodes.proxy(2).faults, {
      refusalCode: code,
      refuses: ({ method }: Question) => method === 'eth_getLogs',
    })
    const address = await world.assign()
    await world.chain.pay({ to: address, units: 9_012n })
    const readOn = async (looks: number) => {
      for (let look = 0; look < looks; look += 1) {
        await world.chain.mine()
        await nodes.lookOn(1)
      }
    }
    await readOn(20)
    assert.deepEqual([await world.seen(address), nodes.warnings()], [['9012 seen'], []])
    await readOn(60)
    const [warning, ...more] = nodes.warnings()
    assert.match(warning ?? '', /it confirms nothing/)
    assert.deepEqual([more, nodes.alarms(), await world.trouble()], [[], [], null])
  })

test('nor does one to which each block comes a moment late: that its chain ends before is no word about logs', async (t) => {
  await world.chain.mine(10)
  const nodes = await world.openNodes(t, 2)
  const { faults } = nodes.proxy(2)
  faults.refuses = ({ method }: Question) => method === 'eth_getLogs'
  const address = await world.payNew(9_013n)
  for (let look = 0; look < 40; look += 1) {
    faults.knowsUpTo = await world.chain.blockNumber()
    await world.chain.mine()
    await nodes.lookOn(1)
    faults.knowsUpTo = null
    await nodes.lookOn(1)
  }
  assert.deepEqual([await world.seen(address), await world.head()], [['9013 seen'], await world.chain.blockNumber()])
  const [warning, ...more] = nodes.warnings()
  assert.match(warning ?? '', /it confirms nothing/)
  assert.deepEqual([more, nodes.alarms()], [[], []])
})

test('a node that answers no request for so few receivers at once is asked for more after ten minutes', async (t) => {
  await assignMany()
  await world.chain.mine(10)
  const nodes = await world.openNodes(t, 1)
  nodes.endpoints.all[0]?.learn({ topicCount: 15 }) // as an earlier version stored it
  nodes.proxy(1).faults.alter = ({ id, method }: Question & { id?: unknown }, result) =>
    method === 'eth_getLogs' && Number(id) > 0 ? 'internal error' : result
  await world.chain.mine()
  await nodes.lookOn(5)
  nodes.time.nowMs += 9 * MINUTE
  await nodes.lookOn(5)
  assert.notEqual(await world.head(), await world.chain.blockNumber())
  nodes.time.nowMs += 2 * MINUTE
  await nodes.lookOn(5)
  assert.equal(await world.head(), await world.chain.blockNumber())
})

for (const few of [true, false])
  test(`a second node with old headers and no old logs is asked few times about them (few receivers: ${few})`, async (t) => {
    if (!few) await assignMany()
    const address = await world.assign()
    await world.chain.mine(10)
    const nodes = await world.openNodes(t, 2)
    await world.chain.pay({ to: address, units: 9_005n })
    await world.chain.mine(300)
    nodes.time.nowMs += 5 * SECOND
    nodes.proxy(2).faults.refuses = ({ method }: Question) => method === 'eth_getLogs'
    const before = nodes.proxy(2).requests()
    await nodes.lookOn(1)
    const asked = nodes.proxy(2).requests() - before
    assert.ok(asked <= 300, `${asked} requests for 300 blocks`)
    assert.deepEqual([await world.head(), await world.seen(address)], [await world.chain.blockNumber(), ['9005 seen']])
  })

test('where a second node has the logs of the last blocks of a step only, these are its word', async (t) => {
  await world.assign()
  await world.chain.mine(10)
  const nodes = await world.openNodes(t, 2)
  const oldest = (await world.chain.blockNumber()) + 9n
  await world.chain.mine(8)
  const address = await world.payNew(9_006n)
  await world.chain.mine(3)
  const known = new Set<string>()
  for (let number = oldest; number <= oldest + 3n; number += 1n)
    known.add((await world.chain.call<{ hash: string }>('eth_getBlockByNumber', toHex(number), false)).hash)
  nodes.proxy(1).faults.alter = hides
  nodes.proxy(2).faults.refuses = ({ method, params: [what] }: Question) =>
    method === 'eth_getLogs' && !known.has((what as { blockHash?: string }).blockHash ?? '')
  await nodes.lookOn(3)
  assert.deepEqual([await world.seen(address), nodes.faults()[0]], [[], 'outvoted'])
  for (const number of [1, 2]) nodes.proxy(number).heal()
  await nodes.lookOn(2)
  assert.deepEqual(await world.seen(address), ['9006 seen'])
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { openChainHealth } from '../src/chain/chain-health.ts'
import { rescan } from '../src/chain/rescan.ts'
import { toHex, toTopic } from '../src/chain/transfer-logs.ts'
import { listTransfersSince } from '../src/chain/transfer-queries.ts'
import { sql } from '../src/db/db.ts'
import { HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import type { Faults } from './harness/rpc-proxy.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* Nodes that answer and still do not have the block they are asked about, or have one whose time has not come. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

/** The newest block of this node is three hours ahead. */
const early: Faults['alter'] = ({ method, params }, result) => {
  if (method !== 'eth_getBlockByNumber' || params[0] !== 'latest') return result
  return { ...(result as object), timestamp: toHex(BigInt(Math.floor((Date.now() + 3 * HOUR) / SECOND))) }
}

test('a node whose newest block is from the future is not read, with an alarm, until it no longer is', async (t) => {
  const nodes = await world.openNodes(t, 2)
  nodes.proxy(1).faults.alter = early
  nodes.time.nowMs += 3 * SECOND
  const address = await world.payNew(41n)
  await nodes.lookOn(2)
  assert.deepEqual([await world.seen(address), nodes.faults()], [['41 seen'], ['outvoted', null]])
  assert.deepEqual([nodes.alarms().length, await world.trouble()], [1, null])
  assert.equal(await world.head(), await world.chain.blockNumber())
  nodes.proxy(1).heal()
  await nodes.lookOn(4)
  assert.deepEqual(nodes.faults(), [null, null])
})

const byHash = 'eth_getBlockByHash'
/** Knows its blocks by their numbers alone. */
const knowsNoHash: Faults['alter'] = ({ method }, result) => (method === byHash ? null : result)
/** Has another block at every height, and knows none of ours. */
const hasOthers: Faults['alter'] = ({ method, params }, result) => {
  if (method === byHash) return null
  if (method !== 'eth_getBlockByNumber' || params[0] === '0x0') return result
  return { ...(result as object), hash: `0x${'a'.repeat(64)}` }
}
const noProof: Faults['refuses'] = ({ method }) => method === 'eth_call'

test('two nodes outvote a third one that has other blocks than all: a payment counts at once, with one alarm', async (t) => {
  const nodes = await world.openNodes(t, 3)
  nodes.proxy(2).faults.alter = hasOthers
  const address = await world.payNew(42n)
  await nodes.lookOn(1)
  assert.deepEqual([await world.seen(address), nodes.faults()], [['42 seen'], [null, null, null]])
  for (let look = 0; look < 8; look += 1) {
    await world.chain.mine()
    await nodes.lookOn(1)
  }
  assert.deepEqual([nodes.faults(), await world.trouble()], [[null, 'outvoted', null], null])
  assert.match(
    nodes.alarms().join('|'),
    /^ALARM: the endpoint is contradicted about the blocks up to \d+ by endpoints 1 and 3$/,
  )
})

test('one against one, a node that has other blocks contradicts: nothing counts, and the operator hears of both', async (t) => {
  const nodes = await world.openNodes(t, 2)
  nodes.proxy(2).faults.alter = hasOthers
  const address = await world.payNew(43n)
  await nodes.lookOn(5)
  assert.deepEqual([await world.seen(address), await world.trouble()], [[], null], 'it may only be a moment behind')
  await nodes.lookOn(8)
  assert.deepEqual([await world.seen(address), await world.trouble()], [[], 'disagreement'])
  assert.match(nodes.alarms().join(), /the chain is not read.*: endpoints 1 and 2 disagree about .*endpoint 1 shows 1/)
  nodes.proxy(2).heal()
  await nodes.lookOn(2)
  assert.deepEqual([await world.seen(address), await world.trouble()], [['43 seen'], null])
})

test('a node that knows its blocks by their numbers alone confirms what others show', async (t) => {
  const nodes = await world.openNodes(t, 2)
  nodes.proxy(2).faults.alter = knowsNoHash
  const address = await world.payNew(43n)
  await nodes.lookOn(1)
  assert.deepEqual([await world.seen(address), nodes.alarms()], [['43 seen'], []])
})

test('two nodes that both have another block outvote the one in use', async (t) => {
  const nodes = await world.openNodes(t, 3)
  for (const number of [2, 3]) nodes.proxy(number).faults.alter = hasOthers
  const address = await world.payNew(44n)
  await nodes.lookOn(7)
  assert.deepEqual([nodes.faults(), await world.seen(address)], [['outvoted', null, null], []])
})

for (const { count, late } of [
  { count: 2, late: 'waited for until it confirms' },
  { count: 3, late: 'not waited for where the others agree' },
  { count: 4, late: 'waited for for a moment where half of all agree' },
])
  test(`one of ${count} nodes that is late is ${late}`, async (t) => {
    const nodes = await world.openNodes(t, count)
    for (let number = 2; number < Math.max(3, count); number += 1)
      nodes.proxy(number).faults.knowsUpTo = await world.chain.blockNumber()
    const address = await world.payNew(45n)
    await nodes.lookOn(4)
    assert.deepEqual(await world.seen(address), count === 3 ? ['45 seen'] : [])
    await nodes.lookOn(8)
    assert.deepEqual(await world.seen(address), count === 2 ? [] : ['45 seen'])
    assert.deepEqual([nodes.faults(), nodes.alarms()], [new Array(count).fill(null), []])
    for (let number = 2; number <= count; number += 1) nodes.proxy(number).heal()
    await nodes.lookOn(1)
    assert.deepEqual(await world.seen(address), ['45 seen'])
  })

for (const [what, { alter, counted, ends }] of Object.entries({
  'knows no block by its hash holds no payment up': { alter: knowsNoHash, counted: ['46 seen'], ends: null },
  'has another block contradicts': { alter: hasOthers, counted: [], ends: 'disagreement' },
}))
  test(`a node that proved nothing and ${what}`, async (t) => {
    const nodes = await world.openNodes(t, 2)
    Object.assign(nodes.proxy(2).faults, { alter, refuses: noProof })
    Object.assign(nodes.endpoints.all[1] ?? {}, { unproven: true })
    const address = await world.payNew(46n)
    await nodes.lookOn(5)
    assert.deepEqual(
      [await world.seen(address), nodes.faults()],
      [[], [null, 'unproven']],
      'it may only be a moment behind',
    )
    await nodes.lookOn(8)
    assert.deepEqual([await world.seen(address), await world.trouble()], [counted, ends])
  })

test('a doubt about the last block of a long range leaves none of it read: nobody was asked about those between', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const top = await world.head()
  await world.chain.mine(60)
  const address = await world.payNew(48n)
  await world.chain.mine(32) // a range ends so far below the head
  nodes.proxy(2).faults.alter = ({ method }, result) =>
    method === 'eth_getLogs' ? without(address, result) : method === byHash ? null : result
  nodes.time.nowMs += 3 * SECOND // both are asked for their newest block again
  await nodes.lookOn(2)
  assert.deepEqual([await world.head(), nodes.alarms()], [top, []])
  nodes.proxy(2).heal()
  await nodes.lookOn(4)
  assert.deepEqual([await world.head(), await world.seen(address)], [await world.chain.blockNumber(), ['48 seen']])
})

test('a doubt that lasts is trouble of the chain, with a warning that says why, until the chain is read on', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const health = async () => {
    const [one] = await openChainHealth({
      db: world.db,
      clock: Date.now,
      networks: [world.network],
      maxLagSeconds: 60,
    }).list()
    return one
  }
  nodes.proxy(2).faults.knowsUpTo = await world.chain.blockNumber()
  const address = await world.payNew(47n)
  await nodes.lookOn(29)
  assert.deepEqual([await world.trouble(), nodes.warnings()], [null, []])
  await nodes.lookOn(10)
  assert.deepEqual([await world.trouble(), (await health())?.ok, nodes.alarms()], ['doubt', false, []])
  assert.equal(nodes.warnings().length, 1)
  assert.match(nodes.warnings().join(), /not read on: endpoint 2 does not have the block yet/)
  assert.match((await health())?.message ?? '', /do not fit together/)
  nodes.proxy(2).heal()
  await nodes.lookOn(1)
  assert.deepEqual([await world.trouble(), (await health())?.ok, await world.seen(address)], [null, true, ['47 seen']])
})

test('doubts between which the chain is read on are no trouble, though its head is never reached', async (t) => {
  const nodes = await world.openNodes(t, 1)
  // as several nodes behind one address, of which most do not have the newest block
  let newest = ''
  nodes.proxy(1).faults.alter = ({ params }, result) => (params[0] === newest ? null : result)
  for (let look = 0; look < 40; look += 1) {
    await world.chain.mine()
    newest = toHex(await world.chain.blockNumber())
    Object.assign(nodes.endpoints.all[0] ?? {}, { blocksAtOnce: 1 })
    await nodes.lookOn(1)
  }
  assert.equal(await world.head(), (await world.chain.blockNumber()) - 1n)
  assert.deepEqual([await world.trouble(), nodes.warnings()], [null, []])
})

/** As if so much time had passed in the database. */
const age = (hours: number) =>
  world.db.run(sql`
    update chain_heads set scanned_at = scanned_at - make_interval(hours => ${hours}),
      block_at = block_at - make_interval(hours => ${hours})`)

for (const held of [true, false])
  test(`an hour in which a second node ${held ? 'holds the chain up does not count as read' : 'agrees and no block comes counts as read'}`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 2)
    await nodes.lookOn(2)
    const top = await world.chain.blockNumber()
    if (held) {
      nodes.proxy(2).faults.knowsUpTo = top
      await world.chain.mine(5)
    }
    await nodes.lookOn(20)
    await age(1)
    await nodes.lookOn(5)
    assert.equal(await world.head(), top)
    const address = (await world.assign()).toLowerCase()
    const { readUntil } = await world.db.one<{ readUntil: Record<string, number> }>(
      sql`select read_until from deposit_addresses where address = ${address}`,
    )
    assert.deepEqual(readUntil, held ? {} : { [world.chain.chainId]: Number(top) })
  })

test('what came to an address while a second node held the chain up for an hour pays no later order', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  await nodes.lookOn(2)
  const address = (await world.assign()).toLowerCase()
  await world.db.run(sql`delete from deposit_addresses where address = ${address}`)
  await world.db.run(sql`update deposit_keys set next_index = next_index - 1`)
  nodes.proxy(2).faults.knowsUpTo = await world.chain.blockNumber()
  await world.chain.pay({ to: address, units: 77n })
  await world.chain.mine(5)
  await nodes.lookOn(20)
  await age(1)
  await nodes.lookOn(5)
  assert.equal((await world.assign()).toLowerCase(), address, 'an order has it now')
  await world.db.run(sql`
    update deposit_addresses set created_at = created_at + interval '1 hour' where address = ${address}`)
  nodes.proxy(2).heal()
  await nodes.lookOn(5)
  assert.deepEqual([await world.seen(address), await listTransfersSince(world.db, [address])], [['77 seen'], []])
})

const without = (address: string, result: unknown) =>
  (result as { topics: string[] }[]).filter(({ topics }) => topics[2] !== toTopic(address))

/** Two endpoints of one provider: their index of logs lags, and who is asked for receipts has no such block yet. */
for (const how of ['null', 'refused'])
  test(`logs of two honest nodes lag for two looks, and their receipts are ${how}: the payment is read after that`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 2)
    const address = await world.assign()
    await nodes.lookOn(1)
    await world.chain.pay({ to: address, units: 901n })
    for (const number of [1, 2]) {
      const { faults } = nodes.proxy(number)
      faults.alter = ({ method }, result) => {
        if (method === 'eth_getLogs') return without(address, result)
        return how === 'null' && method === 'eth_getBlockReceipts' ? null : result
      }
      faults.refusalCode = -32000 // "header not found"
      if (how === 'refused') faults.refuses = ({ method }) => /Receipts?$/.test(method)
    }
    await nodes.lookOn(2)
    for (const number of [1, 2]) nodes.proxy(number).heal()
    await world.chain.mine()
    await nodes.lookOn(5)
    assert.deepEqual([await world.seen(address), nodes.alarms(), nodes.warnings()], [['901 seen'], [], []])
  })

type Nodes = Awaited<ReturnType<ScannedChain['openNodes']>>

/** What two nodes show alike, and refuse alike with one code. */
function spoilBoth(nodes: Nodes, code: number, alter: Faults['alter'] = null): void {
  for (const number of [1, 2]) {
    const { faults } = nodes.proxy(number)
    faults.refusalCode = code
    faults.refuses = ({ method }) => /Receipts?$/.test(method)
    faults.alter = alter
  }
}

async function sweep(address: string): Promise<void> {
  await world.chain.call('anvil_impersonateAccount', address)
  await world.chain.call('anvil_setBalance', address, '0xde0b6b3a7640000')
  await world.chain.pay({ to: world.chain.payer, units: 800n, from: address })
}

for (const code of [-32601, -32000])
  test(`two nodes that refuse all receipts (${code}) hold the chain up ${code === -32601 ? 'never' : 'once'}`, async (t) => {
    await world.chain.mine(301) // the first look, without these faults, sees no earlier sweep: they never gave any
    const nodes = await world.openNodes(t, 2)
    spoilBoth(nodes, code)
    const isReadOn = async (): Promise<boolean> => {
      const address = await world.payNew(800n)
      await nodes.lookOn(2)
      await sweep(address)
      await nodes.lookOn(2)
      return (await world.head()) === (await world.chain.blockNumber())
    }
    assert.equal(await isReadOn(), code === -32601)
    await nodes.lookOn(25)
    nodes.time.nowMs += MINUTE
    assert.deepEqual([await isReadOn(), await isReadOn(), nodes.alarms()], [true, true, []])
  })

test('after an outage of receipts that is long over, logs that lag for a moment hide no payment', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  const swept = [await world.payNew(800n), await world.payNew(800n)]
  await nodes.lookOn(2)
  await sweep(swept[0] ?? '')
  await nodes.lookOn(2)
  spoilBoth(nodes, -32603) // "internal error"
  await sweep(swept[1] ?? '')
  await nodes.lookOn(30)
  assert.equal(nodes.warnings().length, 1)
  for (const number of [1, 2]) nodes.proxy(number).heal()
  await nodes.lookOn(25)
  const address = await world.assign()
  await nodes.lookOn(1)
  await world.chain.pay({ to: address, units: 901n })
  spoilBoth(nodes, -32000, ({ method }, result) => (method === 'eth_getLogs' ? without(address, result) : result))
  await nodes.lookOn(1)
  for (const number of [1, 2]) nodes.proxy(number).heal()
  await world.chain.mine()
  await nodes.lookOn(5)
  assert.deepEqual([await world.seen(address), nodes.alarms(), nodes.warnings().length], [['901 seen'], [], 1])
})

test('a block that is read without what its header indicates is told, also where no node has receipts', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  const swept = await world.payNew(800n)
  await nodes.lookOn(2)
  spoilBoth(nodes, -32601)
  await sweep(swept)
  await nodes.lookOn(2)
  assert.equal(await world.head(), await world.chain.blockNumber())
  assert.match(nodes.warnings().join('|'), /^the header of block \d+ indicates transfers .* read on without them$/)
})

test('old blocks, more than a thousand, in which a watched address sent money, hold the chain up for a minute at most', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 1)
  const address = await world.payNew(1_000_000n)
  await nodes.lookOn(1)
  await world.chain.call('anvil_impersonateAccount', address)
  await world.chain.call('anvil_setBalance', address, '0xde0b6b3a7640000')
  await world.chain.payEach(new Array(1100).fill({ to: world.chain.payer, units: 1n }), address)
  await world.chain.mine(70)
  nodes.proxy(1).faults.alter = ({ method }, result) => (method === 'eth_getBlockReceipts' ? null : result)
  for (let look = 0; look < 8; look += 1) {
    await nodes.lookOn(1)
    nodes.time.nowMs += 14 * SECOND
  }
  assert.deepEqual([await world.head(), await world.trouble()], [await world.chain.blockNumber(), null])
})

/** A block like those of Base: a fifth of its bloom is set. */
async function payAmongMany(address: string): Promise<void> {
  const others = Array.from({ length: 165 }, () => ({ to: `0x${randomBytes(20).toString('hex')}`, units: 1n }))
  await world.chain.sendAll([...others, { to: address, units: 901n }])
  await world.chain.mine()
}

for (const watched of [1, 400])
  for (const count of [2, 3])
    for (const late of [[2], [1, 2]])
      test(`busy blocks, ${watched} watched addresses: the logs of node ${late.join(', then ')} of ${count} lag for a second: no alarm`, async (t) => {
        await world.chain.mine()
        await world.watch(watched)
        const nodes = await world.openNodes(t, count)
        const address = await world.assign()
        await nodes.lookOn(1)
        await payAmongMany(address)
        for (const number of late) {
          nodes.proxy(number).faults.alter = ({ method }, result) =>
            method === 'eth_getLogs' ? without(address, result) : result
          await nodes.lookOn(1)
          nodes.proxy(number).heal()
        }
        await nodes.lookOn(5)
        const found = { seen: await world.seen(address), faults: nodes.faults(), alarms: nodes.alarms() }
        assert.deepEqual(found, { seen: ['901 seen'], faults: new Array(count).fill(null), alarms: [] })
      })

for (const [how, refuses] of Object.entries({
  'and true receipts': null,
  'and gives no receipts': ({ method }: { method: string }) => /Receipts?$/.test(method),
}))
  test(`the logs of the first of two nodes lack a payment for ever, ${how}, and the second is always two blocks behind: it counts`, async (t) => {
    await world.chain.mine()
    await world.watch(400)
    const nodes = await world.openNodes(t, 2)
    const [address, later] = [await world.assign(), await world.assign()]
    const [first, second] = [nodes.proxy(1).faults, nodes.proxy(2).faults]
    const goOn = async (pay?: () => Promise<unknown>): Promise<void> => {
      nodes.time.nowMs += 11 * SECOND
      const { timestamp } = await world.chain.call<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
      nodes.time.nowMs = Math.max(nodes.time.nowMs, (Number(timestamp) + 11) * SECOND)
      await world.chain.call('evm_setNextBlockTimestamp', Math.floor(nodes.time.nowMs / SECOND))
      await (pay ? pay() : world.chain.mine())
      second.knowsUpTo = (await world.chain.blockNumber()) - 2n
      await nodes.lookOn(1)
    }
    for (let block = 0; block < 4; block += 1) await goOn()
    assert.deepEqual(nodes.faults(), [null, 'behind'])
    first.refusalCode = -32601
    first.refuses = refuses
    first.alter = ({ method }, result) => (method === 'eth_getLogs' ? without(address, result) : result)
    await goOn(() => payAmongMany(address))
    await goOn()
    await goOn(() => world.chain.pay({ to: later, units: 77n }))
    for (let block = 0; block < 4; block += 1) await goOn()
    assert.deepEqual([await world.seen(address), await world.seen(later)], [['901 seen'], ['77 seen']])
    assert.deepEqual([await world.trouble(), nodes.faults(), nodes.warnings()], [null, [null, 'behind'], []])
  })

test('what keeps a chain from being read for ten minutes is an alarm that says what to do, once', async (t) => {
  const nodes = await world.openNodes(t, 2)
  await world.payNew(905n)
  for (const number of [1, 2]) nodes.proxy(number).faults.refuses = ({ method }) => method === 'eth_getLogs'
  await nodes.lookOn(40)
  assert.deepEqual([await world.trouble(), nodes.alarms()], ['doubt', []])
  nodes.time.nowMs += 10 * MINUTE
  await nodes.lookOn(3)
  const [alarm, ...more] = nodes.alarms()
  assert.match(alarm ?? '', /^ALARM: nothing was read for ten minutes: .*CHAIN_31337_RPC_URL/)
  assert.deepEqual(more, [])
})

for (const [first, second] of [
  [4n, 50n],
  [50n, 4n],
] as const)
  test(`of ${first} and ${second} in one transaction, the first is found later: each counts once, as what it is`, async (t) => {
    const nodes = await world.openNodes(t, 2)
    const { chain, db, network } = world
    const address = (await world.assign()).toLowerCase()
    for (const number of [1, 2])
      nodes.proxy(number).faults.alter = ({ method }, result) => {
        if (method !== 'eth_getLogs' || !Array.isArray(result)) return result
        const [lost, ...others] = result.filter(({ topics }) => topics[2]?.toLowerCase() === toTopic(address))
        return others.length > 0 ? result.filter((log) => log !== lost) : result
      }
    await chain.payMany([first, second].map((units) => ({ to: address, units })))
    await chain.mine(4)
    await nodes.lookOn(5)
    assert.deepEqual(await world.seen(address), [`${second} seen`])
    for (const number of [1, 2]) nodes.proxy(number).heal()
    const reader = { db, network, endpoints: nodes.endpoints, log: pino({ level: 'silent' }) }
    const again = async () => rescan(reader, { addresses: [address], from: 0n, to: (await world.head()) ?? 0n })
    assert.equal(await again(), 1)
    const rows = () => db.many(sql`select nth, units from chain_transfers where to_address = ${address} order by nth`)
    const whole = [
      { nth: 0, units: String(second) },
      { nth: 1, units: String(first) },
    ]
    assert.deepEqual(await rows(), whole)
    // what an earlier version made of it
    await db.run(sql`
      update chain_transfers as lost set units = kept.units, log_index = kept.log_index from chain_transfers as kept
      where lost.to_address = ${address} and kept.tx_hash = lost.tx_hash and lost.nth = 1 and kept.nth = 0`)
    assert.equal(await again(), 1)
    assert.deepEqual(await rows(), whole)
    assert.equal(await again(), 0)
  })

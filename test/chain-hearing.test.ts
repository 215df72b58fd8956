import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { bloomOf } from '../src/chain/bloom.ts'
import { auditDeposits } from '../src/chain/deposits/deposit-audit.ts'
import { recordNamedTransaction } from '../src/chain/named-transaction.ts'
import { TRANSFER_TOPIC, toHex, toTopic } from '../src/chain/transfer-logs.ts'
import { listTransfersTo } from '../src/chain/transfer-queries.ts'
import { sql } from '../src/db/db.ts'
import { MINUTE, SECOND } from '../src/kernel/clock.ts'
import { forgeBlocks } from './harness/forged-blocks.ts'
import type { Faults } from './harness/rpc-proxy.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* One node lies, and another is down, late or wrong for a moment: nothing counts on one word. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

const NO_BLOOM = { logsBloom: `0x${'0'.repeat(512)}` }
/** Shows no log, in receipts neither, and headers without any, under the true hashes. */
const hides: Faults['alter'] = ({ method }, result) => {
  if (method === 'eth_getLogs') return []
  if (method === 'eth_getBlockReceipts') return (result as object[]).map((one) => ({ ...one, logs: [] }))
  if (!method.startsWith('eth_getBlockBy') || result === null) return result
  return { ...(result as object), ...NO_BLOOM }
}
const finalAt = async (address: string) => (await listTransfersTo(world.db, [address]))[0]?.finalAt ?? null

/** A liar of these nodes shows 30 blocks of its own, the first of which pays a new address. */
async function invent(nodes: Nodes, liar: number): Promise<string> {
  await follow(nodes.time)
  const address = await world.assign()
  nodes.proxy(liar).faults.forges = await forgeBlocks(world.chain, { paid: address, atMs: nodes.time.nowMs, count: 30 })
  return address
}
type Nodes = Awaited<ReturnType<ScannedChain['openNodes']>>

/** The test's clock follows the chain. */
async function follow(time: { nowMs: number }): Promise<void> {
  const { timestamp } = await world.chain.call<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
  time.nowMs = Math.max(time.nowMs, Number(timestamp) * SECOND)
}

for (const liar of [1, 2])
  test(`node ${liar} of two denies a payment under the true hash: the root of the receipts gives it away, and what it invents counts for nothing`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 2)
    nodes.proxy(liar).faults.alter = hides
    const bait = await world.payNew(1n)
    await nodes.lookOn(2)
    assert.equal(nodes.faults()[liar - 1], 'outvoted')
    assert.match(nodes.alarms().join(), /: endpoint \d shows [01], endpoint \d shows [01]$/)
    const invented = await invent(nodes, liar)
    await nodes.lookOn(4)
    assert.deepEqual([await world.seen(bait), await world.seen(invented)], [['1 seen'], []])
    assert.equal(await finalAt(invented), null)
  })

type Header = { hash: string; number: string; timestamp: string; logsBloom: string }
const newest = () => world.chain.call<Header>('eth_getBlockByNumber', 'latest', false)

test('the true header of another block proves nothing: a node of two that shows it invents no payment', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  const address = await world.payNew(1n)
  await nodes.lookOn(2)
  const bait = await newest()
  const [log] = await world.chain.call<object[]>('eth_getLogs', { blockHash: bait.hash })
  await world.chain.mine()
  const empty = await newest()
  const place = { blockHash: empty.hash, blockNumber: empty.number, transactionHash: `0x${'e'.repeat(64)}` }
  const invented = { ...log, ...place, data: `0x${5_000_000_000n.toString(16).padStart(64, '0')}` }
  nodes.proxy(1).faults.alter = ({ method, params: [what] }, result) => {
    if (method === 'eth_getBlockByHash' && what === empty.hash) return bait
    if (method !== 'eth_getLogs') return result
    const { blockHash, toBlock } = what as { blockHash?: string; toBlock?: string }
    return blockHash === empty.hash || toBlock === empty.number ? [...(result as object[]), invented] : result
  }
  await nodes.lookOn(3)
  assert.deepEqual(await world.seen(address), ['1 seen'])
  assert.notEqual(nodes.faults()[1], 'outvoted')
})

test('nor does it hide one, or have the honest node excluded', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  await world.chain.mine()
  await nodes.lookOn(1)
  const empty = await newest()
  const address = await world.payNew(7_000n)
  const paid = await newest()
  nodes.proxy(1).faults.alter = (asked, result) => {
    if (asked.method === 'eth_getBlockByHash' && asked.params[0] === paid.hash) return empty
    return (result as Header | null)?.hash === paid.hash || asked.method === 'eth_getLogs'
      ? hides(asked, result)
      : result
  }
  await nodes.lookOn(3)
  assert.notEqual(nodes.faults()[1], 'outvoted')
  nodes.proxy(1).heal()
  await nodes.lookOn(2)
  assert.deepEqual(await world.seen(address), ['7000 seen'])
})

test('where no hash proves a header, two different blooms are a dispute: nothing counts, and no node is excluded', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  nodes.proxy(1).faults.alter = unproven
  nodes.proxy(2).faults.alter = (asked, result) => unproven(asked, hides(asked, result))
  const bait = await world.payNew(4n)
  await nodes.lookOn(8)
  const invented = await invent(nodes, 2)
  await nodes.lookOn(4)
  assert.deepEqual([await world.seen(bait), await world.seen(invented), nodes.faults()], [[], [], [null, null]])
  assert.equal(await world.trouble(), 'disagreement')
})

/** Another field than those that we hash, as on some chains: no hash proves the header. */
const unproven: NonNullable<Faults['alter']> = ({ method }, result) =>
  method.startsWith('eth_getBlockBy') && result ? { ...(result as object), extDataHash: '0x1', nonce: null } : result

const unaltered: NonNullable<Faults['alter']> = (_, result) => result

/**
 * Adds to the newest block a payment of 5000 USDC by the payer, whose bits the block's other logs have set in its
 * header: these hold neither amount nor direction.
 */
async function addToNewest(nodes: Nodes, liar: number, address: string, alter = unaltered): Promise<void> {
  const { hash, number } = await newest()
  const made = {
    ...{ address: world.chain.usdcAddress, blockHash: hash, blockNumber: number, removed: false },
    topics: [TRANSFER_TOPIC, toTopic(world.chain.payer), toTopic(address)],
    data: `0x${5_000_000_000n.toString(16).padStart(64, '0')}`,
    ...{ transactionHash: `0x${'e'.repeat(64)}`, logIndex: '0x7f' },
  }
  if (alter !== unaltered) for (const index of nodes.faults().keys()) nodes.proxy(index + 1).faults.alter = alter
  nodes.proxy(liar).faults.alter = (asked, result) => {
    const { method, params } = asked
    const [what] = params
    if (method !== 'eth_getLogs') return alter(asked, result)
    const { blockHash, fromBlock = '0x0', toBlock = '0x0', topics } = what as Record<string, string>
    const isAsked = blockHash
      ? blockHash === hash
      : BigInt(fromBlock) <= BigInt(number) && BigInt(toBlock) >= BigInt(number)
    const [, , receivers] = topics as unknown as (string[] | null)[]
    return isAsked && receivers?.includes(toTopic(address)) ? [...(result as object[]), made] : result
  }
}

/** A transfer out of a deposit address; a zero one anybody may emit. */
async function send(from: string, units: bigint): Promise<void> {
  await world.chain.call('anvil_impersonateAccount', from)
  await world.chain.call('anvil_setBalance', from, '0xde0b6b3a7640000')
  await world.chain.pay({ to: world.chain.payer, units, from })
}

for (const [what, { paid, act, counted }] of Object.entries({
  'turns a sweep round': { paid: 800n, act: (address: string) => send(address, 800n), counted: ['800 seen'] },
  'turns a zero transfer round': { paid: 0n, act: (address: string) => send(address, 0n), counted: [] },
  'adds to a real payment of a millionth': {
    ...{ paid: 0n, counted: [] },
    act: (address: string) => world.chain.pay({ to: address, units: 1n }),
  },
}))
  for (const [count, liar, proof] of [
    [2, 1, true],
    [2, 2, true],
    [2, 1, false],
    [2, 2, false],
    [3, 1, true],
    [3, 2, true],
  ] as const)
    test(`node ${liar} of ${count} ${what}: ${proof ? 'the receipts prove it, or two outvote it' : 'without proof it is a dispute, and no node is called wrong'}`, async (t) => {
      await world.chain.mine()
      const nodes = await world.openNodes(t, count)
      const address = await world.assign()
      if (paid > 0n) await world.chain.pay({ to: address, units: paid })
      await nodes.lookOn(2)
      await act(address)
      await addToNewest(nodes, liar, address, proof ? unaltered : unproven)
      await nodes.lookOn(8)
      const honest = (await world.chain.blockNumber()) === (await world.head())
      if (!proof) {
        assert.deepEqual([await world.seen(address), nodes.faults()], [counted, [null, null]])
        assert.deepEqual([honest, await world.trouble()], [false, 'disagreement'])
        assert.match(
          nodes.alarms().join(),
          /the chain is not read on: endpoints \d and \d disagree about the transfers/,
        )
        nodes.proxy(liar).heal()
        await nodes.lookOn(2)
      } else {
        assert.equal(honest, true)
        const wrong = nodes.faults().flatMap((fault, index) => (fault === 'outvoted' ? [index + 1] : []))
        assert.deepEqual(wrong, count === 2 ? [liar] : wrong.filter((one) => one === liar))
      }
      const all = what.startsWith('adds') ? ['1 seen'] : counted
      assert.deepEqual([await world.seen(address), await world.trouble()], [all, null])
    })

for (const receipts of [null, []])
  test(`a node of two that has ${receipts ? 'an empty list of' : 'no'} receipts yet is not called wrong for what it denies`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 2)
    const address = await world.assign()
    await nodes.lookOn(2)
    await world.chain.pay({ to: address, units: 1n })
    await addToNewest(nodes, 1, address)
    nodes.proxy(2).faults.alter = ({ method }, result) => {
      if (method === 'eth_getLogs') return []
      return method === 'eth_getBlockReceipts' ? receipts : result
    }
    await nodes.lookOn(4)
    assert.deepEqual(
      [await world.seen(address), nodes.faults()],
      [[], ['outvoted', null]],
      'its own receipts refute it',
    )
    for (const number of [1, 2]) nodes.proxy(number).heal()
    await nodes.lookOn(2)
    assert.deepEqual([await world.seen(address), nodes.faults()[1]], [['1 seen'], null])
  })

test('of three nodes that contradict each other, the receipts prove which two are wrong', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3)
  const address = await world.assign()
  await nodes.lookOn(2)
  await world.chain.pay({ to: address, units: 1n })
  await addToNewest(nodes, 1, address)
  nodes.proxy(2).faults.inventsFor = toTopic(await world.assign())
  await nodes.lookOn(4)
  assert.deepEqual([await world.seen(address), nodes.faults()], [['1 seen'], ['outvoted', 'outvoted', null]])
})

test('of three nodes one lies while another is down: nothing invented counts', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3)
  nodes.proxy(2).faults.status = 503
  nodes.proxy(3).faults.alter = hides
  await world.payNew(2n)
  await nodes.lookOn(2)
  const invented = await invent(nodes, 3)
  await nodes.lookOn(4)
  assert.deepEqual([await world.seen(invented), await finalAt(invented)], [[], null])
})

test('an honest node that showed no log for a moment is heard: what the other one invents meanwhile does not count', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  const paid = await world.payNew(3n)
  nodes.proxy(1).faults.alter = ({ method }, result) => {
    if (method === 'eth_getLogs') return []
    return method === 'eth_getBlockReceipts' ? (result as object[]).map((one) => ({ ...one, logs: [] })) : result
  }
  await nodes.lookOn(2)
  nodes.proxy(1).heal()
  assert.deepEqual(nodes.faults(), ['outvoted', null])
  const invented = await invent(nodes, 2)
  await nodes.lookOn(4)
  assert.deepEqual([await world.seen(paid), await world.seen(invented)], [['3 seen'], []])
})

test('the first of three nodes hides no payment under the true hashes, and the operator hears of it', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3)
  const address = await world.payNew(68n)
  nodes.proxy(1).faults.alter = hides
  await nodes.lookOn(1)
  assert.deepEqual([await world.head(), await world.seen(address)], [await world.chain.blockNumber(), ['68 seen']])
  assert.match(nodes.alarms().join(), /^ALARM: the endpoint is contradicted about the transfers in block \d+ by/)
})

for (const count of [2, 3])
  test(`the first of ${count} nodes hides no payment whose block comes to the second one while it answers`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, count)
    const before = await world.chain.blockNumber()
    nodes.proxy(1).faults.alter = hides
    const address = await world.payNew(778n)
    let isFirst = true
    nodes.proxy(2).faults.alter = ({ method }, result) => {
      if (method !== 'eth_getLogs' || !isFirst) return result
      isFirst = false
      return (result as { blockNumber: string }[]).filter(({ blockNumber }) => BigInt(blockNumber) <= before)
    }
    await nodes.lookOn(5)
    assert.deepEqual([await world.head(), await world.seen(address)], [await world.chain.blockNumber(), ['778 seen']])
  })

test('nor where headers have no bloom: logs from before the block came are no word about it', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  const before = await world.chain.blockNumber()
  const address = await world.payNew(779n)
  nodes.proxy(1).faults.alter = hides
  let isFirst = true
  nodes.proxy(2).faults.alter = ({ method, params: [what] }, result) => {
    const isHeader = method.startsWith('eth_getBlockBy') && result !== null
    const shown = isHeader ? { ...(result as Header), logsBloom: undefined } : result
    if (!isFirst) return shown
    if (method === 'eth_getLogs') {
      isFirst = false
      return []
    }
    return isHeader && BigInt((result as Header).number) > before ? (what === 'latest' ? older : null) : shown
  }
  const older = await world.chain.call<Header>('eth_getBlockByNumber', toHex(before), false)
  await nodes.lookOn(3)
  assert.deepEqual([await world.head(), await world.seen(address), nodes.faults()], [before, [], [null, null]])
  nodes.proxy(1).heal()
  await nodes.lookOn(2)
  assert.deepEqual(await world.seen(address), ['779 seen'])
})

for (const count of [2, 3])
  test(`the first of ${count} nodes hides nothing that the logs of the second one, behind its headers, lack`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, count)
    nodes.proxy(1).faults.alter = hides
    // several nodes behind one address: the one with the logs is a block behind the one with the headers
    nodes.proxy(2).faults.alter = ({ method }, result) =>
      method === 'eth_getLogs'
        ? (result as { blockNumber: string }[]).filter(({ blockNumber }) => BigInt(blockNumber) < newestNumber)
        : result
    let newestNumber = 0n
    const paid: string[] = []
    for (let block = 0; block < 5; block += 1) {
      paid.push(await world.payNew(780n))
      newestNumber = await world.chain.blockNumber()
      await nodes.lookOn(1)
    }
    await nodes.lookOn(1)
    assert.deepEqual(await Promise.all(paid.map(world.seen)), new Array(5).fill(['780 seen']))
    assert.equal(await world.head(), await world.chain.blockNumber())
  })

test('a second node is asked about empty blocks with one request for all of them', async (t) => {
  const nodes = await world.openNodes(t, 3)
  await world.chain.mine(20)
  const asked = () => [2, 3].map((number) => nodes.proxy(number).requests())
  const before = asked()
  await nodes.lookOn(1)
  assert.equal(await world.head(), await world.chain.blockNumber())
  assert.deepEqual(
    asked().map((count, index) => count - (before[index] ?? 0)),
    [1, 0],
  )
})

test('empty blocks that one of three nodes puts on top of a payment confirm nothing', async (t) => {
  const rule = { kind: 'confirmations', confirmations: 5 } as const
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3, { ...world.network, small: rule, large: rule })
  const address = await world.payNew(63n)
  await follow(nodes.time)
  nodes.proxy(1).faults.forges = await forgeBlocks(world.chain, { atMs: nodes.time.nowMs })
  await nodes.lookOn(2)
  assert.deepEqual([await world.seen(address), await finalAt(address)], [['63 seen'], null])
})

test('of three nodes, a second one that lacks its own newest block, as several behind one address, is not wrong', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3)
  let tip = ''
  nodes.proxy(2).faults.alter = ({ method, params }, result) =>
    method === 'eth_getBlockByNumber' && params[0] === tip ? null : result
  for (let block = 0; block < 4; block += 1) {
    await world.chain.call('evm_increaseTime', 12)
    await world.chain.mine()
    tip = toHex(await world.chain.blockNumber())
    await follow(nodes.time)
    await nodes.lookOn(1)
    nodes.time.nowMs += 11 * SECOND
  }
  assert.deepEqual([nodes.alarms(), await world.head()], [[], await world.chain.blockNumber()])
})

test('where an honest node of two lacks its own newest block, as several behind one address, the other is not believed alone', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  await follow(nodes.time)
  const address = await world.assign()
  const base = await world.chain.blockNumber()
  const forges = await forgeBlocks(world.chain, { atMs: nodes.time.nowMs, count: 40 })
  const paidHash = `0x${(20).toString(16).padStart(64, 'f')}`
  const log = {
    ...{ blockNumber: toHex(base + 20n), blockHash: paidHash, address: world.chain.usdcAddress.toLowerCase() },
    ...{
      transactionHash: `0x${'e'.repeat(64)}`,
      topics: [TRANSFER_TOPIC, toTopic(`0x${'5'.repeat(40)}`), toTopic(address)],
    },
    ...{ data: `0x${5_000_000_000n.toString(16).padStart(64, '0')}`, logIndex: '0x0', removed: false },
  }
  let shown = 0n
  nodes.proxy(2).faults.forges = (asked) => {
    const [place] = asked.params as [string | { blockHash?: string }]
    if (asked.method === 'eth_getLogs' && (place as { blockHash?: string }).blockHash === paidHash) return [log]
    if (
      asked.method === 'eth_getBlockByNumber' &&
      typeof place === 'string' &&
      place.startsWith('0x') &&
      BigInt(place) > base + shown
    )
      return null
    const question = place === 'latest' ? { ...asked, params: [toHex(base + shown), false] } : asked
    if (place === 'latest' && shown === 0n) return undefined
    const block = forges(question) as { hash?: string } | undefined
    return block?.hash === paidHash ? { ...block, logsBloom: `0x${bloomOf([log]).toString('hex')}` } : block
  }
  let newest = ''
  nodes.proxy(1).faults.alter = ({ method, params }, result) =>
    method === 'eth_getBlockByNumber' && params[0] === newest ? null : result
  const seen: string[] = []
  for (let second = 0; second < 40; second += 1) {
    await world.chain.mine()
    newest = `0x${(await world.chain.blockNumber()).toString(16)}`
    shown += 1n
    await nodes.lookOn(1)
    const now = await world.seen(address)
    if (now.length > 0 && seen.length === 0) seen.push(`second ${second}: ${now}`)
  }
  assert.deepEqual(seen, [], `faults ${nodes.faults()}: ${nodes.alarms().join(' | ')}`)
})

for (const means of ['the hourly audit', 'the payer who names the transaction'] as const)
  test(`what the first of three nodes hides from every question, ${means} finds`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 3)
    const address = (await world.assign()).toLowerCase()
    // it was read before a second node was asked about every block
    for (const number of [2, 3]) nodes.proxy(number).faults.status = 503
    nodes.proxy(1).faults.alter = (asked, result) => {
      if (asked.method === 'eth_call') return `0x${'0'.repeat(64)}`
      const isHidden = ['eth_getTransactionReceipt', 'eth_getTransactionByHash'].includes(asked.method)
      return isHidden ? null : hides(asked, result)
    }
    const txHash = await world.chain.pay({ to: address, units: 69n })
    await nodes.lookOn(2)
    assert.deepEqual([await world.head(), await world.seen(address)], [await world.chain.blockNumber(), []])
    for (const number of [2, 3]) nodes.proxy(number).heal()
    nodes.time.nowMs += MINUTE
    const { db, network } = world
    const reader = { db, network, endpoints: nodes.endpoints, log: pino({ level: 'silent' }) }
    if (means === 'the hourly audit') {
      await auditDeposits(reader, [address])
      const open = await db.many(
        sql`select 1 from deposit_differences where address = ${address} and closed_at is null`,
      )
      assert.deepEqual([await world.seen(address), open], [['69 seen'], []])
    } else {
      const named = await recordNamedTransaction(reader, { addresses: [address], txHash })
      assert.deepEqual([await world.seen(address), named.counted], [['69 seen'], true])
    }
  })

const name = ({ endpoints }: Awaited<ReturnType<typeof world.openNodes>>, address: string, txHash: string) =>
  recordNamedTransaction({ ...world, endpoints, log: pino({ level: 'silent' }) }, { addresses: [address], txHash })

test('a receipt whose logs the first of three nodes puts into another transaction is not recorded', async (t) => {
  const nodes = await world.openNodes(t, 3)
  const address = (await world.assign()).toLowerCase()
  for (const number of [2, 3]) nodes.proxy(number).faults.status = 503
  nodes.proxy(1).faults.alter = (asked, result) => {
    if (asked.method !== 'eth_getTransactionReceipt') return hides(asked, result)
    const receipt = result as { logs: object[] }
    return { ...receipt, logs: receipt.logs.map((log) => ({ ...log, transactionHash: `0x${'7'.repeat(64)}` })) }
  }
  const txHash = await world.chain.pay({ to: address, units: 69n })
  await nodes.lookOn(2)
  for (const number of [2, 3]) nodes.proxy(number).heal()
  nodes.time.nowMs += MINUTE
  await name(nodes, address, txHash)
  assert.deepEqual(await listTransfersTo(world.db, [address]), [])
})

test('two equal transfers that the first of three nodes puts at one place are not taken for one', async (t) => {
  const nodes = await world.openNodes(t, 3)
  const address = (await world.assign()).toLowerCase()
  const twice = (gap: bigint) => (result: unknown) => {
    const { logs, ...receipt } = result as { logs: { logIndex: string }[] }
    return { ...receipt, logs: logs.flatMap((log) => [log, { ...log, logIndex: toHex(BigInt(log.logIndex) + gap) }]) }
  }
  for (const number of [2, 3]) nodes.proxy(number).faults.status = 503
  nodes.proxy(1).faults.alter = (asked, result) =>
    asked.method === 'eth_getTransactionReceipt' ? twice(0n)(result) : hides(asked, result)
  const txHash = await world.chain.pay({ to: address, units: 69n })
  await nodes.lookOn(2)
  const alter = ({ method }: { method: string }, result: unknown) =>
    method === 'eth_getTransactionReceipt' ? twice(1n)(result) : result
  for (const number of [2, 3]) Object.assign(nodes.proxy(number).faults, { status: null, alter })
  nodes.time.nowMs += MINUTE
  await name(nodes, address, txHash)
  assert.deepEqual(await listTransfersTo(world.db, [address]), [])
})

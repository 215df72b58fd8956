import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { bloomOf } from '../src/chain/bloom.ts'
import { TRANSFER_TOPIC, toHex, toTopic } from '../src/chain/transfer-logs.ts'
import { sql } from '../src/db/db.ts'
import { SECOND } from '../src/kernel/clock.ts'
import type { Faults } from './harness/rpc-proxy.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* What receipts and blooms of honest nodes hold, and headers of others lack. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

type Nodes = Awaited<ReturnType<ScannedChain['openNodes']>>

/** A deposit leaves its address: the header indicates that address, and no log has it as its receiver. */
async function sweepOne(nodes: Nodes): Promise<void> {
  const address = await world.payNew(800n)
  await nodes.lookOn(1)
  await sweep(address)
}

async function sweep(address: string): Promise<void> {
  await world.chain.call('anvil_impersonateAccount', address)
  await world.chain.call('anvil_setBalance', address, '0xde0b6b3a7640000')
  await world.chain.pay({ to: world.chain.payer, units: 800n, from: address })
}

type Log = { address: string; topics: string[]; data: string; logIndex: string }

/** Receipts hold one log more than the header's bloom, as those of Polygon's state syncs. */
const holdMore =
  (more: Partial<Log>): Faults['alter'] =>
  ({ method }, result) => {
    if (method !== 'eth_getBlockReceipts' || !result) return result
    const [first, ...rest] = result as { logs: Log[] }[]
    return first ? [first, ...rest, { ...first, logs: [{ ...first.logs[0], logIndex: '0x7f', ...more }] }] : result
  }
const holdNothing: NonNullable<Faults['alter']> = ({ method }, result) =>
  method === 'eth_getBlockReceipts' ? null : result
const answerBadly: Faults['alter'] = ({ method }, result) => (method === 'eth_getBlockReceipts' ? 'none' : result)
const stateSync = {
  ...{ address: `0x${'0'.repeat(36)}1001`, topics: [`0x${'5a'.repeat(32)}`, `0x${'6b'.repeat(32)}`], data: '0x' },
}

function spoil(nodes: Nodes, count: number, alter: Faults['alter']): void {
  for (let number = 1; number <= count; number += 1) nodes.proxy(number).faults.alter = alter
}

test('of three honest nodes, the headers of the second one indicate more than its logs for seconds: it is not called wrong', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 3)
  const paid: string[] = []
  for (let count = 0; count < 8; count += 1) paid.push(await world.payNew(800n))
  await nodes.lookOn(1)
  nodes.proxy(2).faults.alter = holdNothing
  for (const address of paid) {
    await sweep(address)
    await nodes.lookOn(1)
  }
  assert.ok((nodes.proxy(3).counts.get('eth_getLogs') ?? 0) >= paid.length, 'the third one is asked instead')
  assert.equal(await world.head(), await world.chain.blockNumber())
  assert.deepEqual([nodes.faults(), nodes.alarms()], [[null, null, null], []])
})

for (const count of [1, 2])
  test(`receipts of ${count} nodes that hold a log more than the header's bloom hold nothing up`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, count)
    spoil(nodes, count, holdMore(stateSync))
    await sweepOne(nodes)
    const paid = await world.payNew(801n)
    await nodes.lookOn(1)
    assert.deepEqual([await world.seen(paid), await world.trouble(), nodes.warnings()], [['801 seen'], null, []])
  })

for (const count of [1, 2])
  test(`a transfer that is in the receipts of ${count} nodes and not in the header's bloom does not count`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, count)
    const address = await world.assign()
    const topics = [TRANSFER_TOPIC, toTopic(`0x${'5'.repeat(40)}`), toTopic(address)]
    spoil(nodes, count, holdMore({ topics, data: `0x${5_000n.toString(16).padStart(64, '0')}` }))
    await sweepOne(nodes)
    await nodes.lookOn(2)
    assert.deepEqual([await world.seen(address), await world.head()], [[], await world.chain.blockNumber()])
  })

for (const [words, alter] of Object.entries({ null: holdNothing, unreadable: answerBadly })) {
  test(`where two nodes agree, receipts that are ${words} hold the chain up for a while, with one warning`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 2)
    spoil(nodes, 2, alter)
    await sweepOne(nodes)
    const paid = await world.payNew(802n)
    await nodes.lookOn(12)
    assert.deepEqual([await world.seen(paid), nodes.warnings()], [[], []])
    await nodes.lookOn(25)
    assert.deepEqual([await world.seen(paid), await world.trouble(), nodes.alarms()], [['802 seen'], null, []])
    const [warning, ...more] = nodes.warnings().filter((one) => /^the header of block \d+ indicates /.test(one))
    assert.match(warning ?? '', /; the chain is read on without them$/)
    assert.deepEqual(more, [])
  })

  test(`receipts of the only node that are ${words} are trouble, and hold the chain up for minutes at most`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, 1)
    spoil(nodes, 1, alter)
    await sweepOne(nodes)
    const paid = await world.payNew(803n)
    await nodes.lookOn(45)
    assert.deepEqual([await world.seen(paid), await world.trouble()], [[], 'doubt'])
    await nodes.lookOn(60)
    assert.deepEqual([await world.seen(paid), await world.trouble(), nodes.alarms()], [['803 seen'], null, []])
    assert.match(nodes.warnings().join(), /; the chain is read on without them$/)
  })
}

const failures: Record<string, Partial<Faults>> = {
  'are refused': { refusalCode: -32000, refuses: ({ method }) => /Receipts?$/.test(method) },
  'fail with an error that may pass': { refusalCode: -32603, refuses: ({ method }) => /Receipts?$/.test(method) },
  'are unreadable': { alter: answerBadly },
  'fail one by one': {
    refusalCode: -32603,
    lacks: 'eth_getTransactionReceipt',
    alter: ({ method }, result) => (method === 'eth_getBlockReceipts' ? [null] : result),
  },
}
for (const count of [1, 2])
  for (const [how, faults] of Object.entries(failures))
    test(`receipts of ${count} nodes ${how}: a payment after 40 blocks with sweeps is read within 3 minutes, and no node pauses`, async (t) => {
      await world.chain.mine()
      const nodes = await world.openNodes(t, count)
      const address = await world.payNew(1_000_000n)
      await nodes.lookOn(1)
      await world.chain.call('anvil_impersonateAccount', address)
      await world.chain.call('anvil_setBalance', address, '0xde0b6b3a7640000')
      for (let block = 0; block < 40; block += 1)
        await world.chain.pay({ to: world.chain.payer, units: 1n, from: address })
      const paid = await world.payNew(804n)
      for (let number = 1; number <= count; number += 1) Object.assign(nodes.proxy(number).faults, faults)
      for (let look = 0; look < 45 && (await world.head()) !== (await world.chain.blockNumber()); look += 1) {
        await nodes.lookOn(1)
        assert.deepEqual(nodes.faults(), new Array(count).fill(null))
        nodes.time.nowMs += 3 * SECOND
      }
      assert.deepEqual([await world.seen(paid), await world.trouble(), nodes.alarms()], [['804 seen'], null, []])
    })

/** One block in which a deposit leaves its address, and another address is paid. */
async function sweepAndPay(nodes: Nodes): Promise<{ paid: string; number: bigint }> {
  const swept = await world.payNew(800n)
  await nodes.lookOn(1)
  await world.chain.call('anvil_impersonateAccount', swept)
  await world.chain.call('anvil_setBalance', swept, '0xde0b6b3a7640000')
  const paid = await world.assign()
  await world.chain.send({ to: world.chain.payer, units: 800n, from: swept })
  await world.chain.send({ to: paid, units: 901n })
  await world.chain.mine()
  return { paid, number: await world.chain.blockNumber() }
}

type Receipt = { logs: Log[] }

/** Receipts that say something else about each log. */
const inReceipts =
  (change: (log: Log) => Log[]): Faults['alter'] =>
  ({ method }, result) => {
    if (method !== 'eth_getBlockReceipts' || !result) return result
    return (result as Receipt[]).map((receipt) => ({ ...receipt, logs: receipt.logs.flatMap(change) }))
  }

async function assertRead(nodes: Nodes, paid: string): Promise<void> {
  assert.deepEqual(await world.seen(paid), ['901 seen'])
  await assertQuiet(nodes)
}

async function assertQuiet(nodes: Nodes): Promise<void> {
  assert.equal(await world.head(), await world.chain.blockNumber())
  assert.deepEqual([await world.trouble(), nodes.faults().filter(Boolean)], [null, []])
  assert.deepEqual([nodes.alarms(), nodes.warnings()], [[], []])
}

for (const count of [1, 2, 3])
  test(`the first of ${count} nodes hides a payment in receipts alone, under another log with its bits: its logs stand`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, count)
    const { paid } = await sweepAndPay(nodes)
    const isPaid = (log: Log) => log.topics[2] === toTopic(paid)
    spoil(
      nodes,
      1,
      inReceipts((log) => [isPaid(log) ? { ...log, address: `0x${'12'.repeat(20)}` } : log]),
    )
    await nodes.lookOn(3)
    await assertRead(nodes, paid)
  })

for (const count of [1, 2, 3])
  test(`a transfer in the logs of ${count} honest nodes, and in neither their receipts nor headers, counts beside a sweep`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, count)
    const { paid, number } = await sweepAndPay(nodes)
    const isOther = (log: Log) => log.topics[2] !== toTopic(paid)
    const receipts = await world.chain.call<Receipt[]>('eth_getBlockReceipts', toHex(number))
    const bloom = bloomOf(receipts.flatMap(({ logs }) => logs).filter(isOther))
    const lack = inReceipts((log) => (isOther(log) ? [log] : []))
    spoil(nodes, count, (question, result) => {
      const block = result as { number?: string } | null
      if (question.method.startsWith('eth_getBlockBy') && block?.number === toHex(number))
        return { ...block, logsBloom: `0x${bloom.toString('hex')}` }
      return lack?.(question, result)
    })
    await nodes.lookOn(3)
    await assertRead(nodes, paid)
  })

for (const count of [1, 2])
  test(`a transfer that ${count} nodes place elsewhere in their receipts counts once`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, count)
    const { paid } = await sweepAndPay(nodes)
    spoil(
      nodes,
      count,
      inReceipts((log) => [{ ...log, logIndex: '0x7f' }]),
    )
    await nodes.lookOn(3)
    await assertRead(nodes, paid)
  })

/** Two payments in one block; the second is the one that logs lack. */
async function payTwo(): Promise<[string, string]> {
  const [first, second] = [await world.assign(), await world.assign()]
  await world.chain.send({ to: first, units: 901n })
  await world.chain.send({ to: second, units: 902n })
  await world.chain.mine()
  return [first, second]
}
const without = (address: string, result: unknown) =>
  (result as Log[]).filter(({ topics }) => topics[2] !== toTopic(address))
const seenOf = (addresses: readonly string[]) => Promise.all(addresses.map(world.seen))

for (const count of [1, 2, 3])
  for (const what of ['one of two payments', 'everything'])
    test(`where the logs of ${count} honest nodes lack ${what} in a block, their receipts add it at once`, async (t) => {
      await world.chain.mine()
      const nodes = await world.openNodes(t, count)
      const paid = await payTwo()
      spoil(nodes, count, ({ method }, result) => {
        if (method !== 'eth_getLogs') return result
        return what === 'everything' ? [] : without(paid[1], result)
      })
      await nodes.lookOn(3)
      assert.deepEqual(await seenOf(paid), [['901 seen'], ['902 seen']])
      await assertQuiet(nodes)
    })

test('two honest nodes whose logs and receipts lag together for some looks are read on as soon as they show more', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2)
  const paid = await payTwo()
  spoil(nodes, 2, (question, result) => (question.method === 'eth_getLogs' ? [] : holdNothing(question, result)))
  await nodes.lookOn(3)
  assert.deepEqual(await seenOf(paid), [[], []])
  spoil(nodes, 2, null)
  await nodes.lookOn(1)
  assert.deepEqual(await seenOf(paid), [['901 seen'], ['902 seen']])
  await assertQuiet(nodes)
})

test('alone, a node whose query by number shows one of two payments gives the other one in its receipts', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 1)
  const paid = await payTwo()
  spoil(nodes, 1, ({ method, params }, result) => {
    if (method !== 'eth_getLogs') return result
    return (params[0] as { blockHash?: string }).blockHash ? [] : without(paid[1], result)
  })
  await nodes.lookOn(2)
  assert.deepEqual(await seenOf(paid), [['901 seen'], ['902 seen']])
  await assertQuiet(nodes)
})

const fromZero: NonNullable<Faults['alter']> = ({ method }, result) => {
  if (method !== 'eth_getBlockReceipts' || !result) return result
  return (result as Receipt[]).map((receipt) => ({
    ...receipt,
    logs: receipt.logs.map((log, index) => ({ ...log, logIndex: toHex(BigInt(index)) })),
  }))
}

for (const count of [1, 2])
  test(`receipts of ${count} nodes that count from 0 in each transaction add what the logs lack in its true place`, async (t) => {
    await world.chain.mine()
    const nodes = await world.openNodes(t, count)
    const paid = await payTwo()
    const lacksOne: Faults['alter'] = (question, result) =>
      question.method === 'eth_getLogs' ? without(paid[1], result) : fromZero(question, result)
    spoil(nodes, count, lacksOne)
    await nodes.lookOn(3)
    spoil(nodes, count, null)
    await world.chain.mine()
    await nodes.lookOn(2)
    assert.deepEqual(await seenOf(paid), [['901 seen'], ['902 seen']])
    const logs = await world.db.many<{ logIndex: number }>(sql`
      select log_index from chain_transfers where to_address = any(${paid.map((one) => one.toLowerCase())})
      order by log_index`)
    assert.deepEqual(
      logs.map(({ logIndex }) => logIndex),
      [0, 1],
    )
    await assertQuiet(nodes)
  })

test('what receipts would add in the place of another log holds the chain up for a while, and not for ever', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 1)
  const paid = await payTwo()
  spoil(nodes, 1, ({ method }, result) =>
    method === 'eth_getLogs' ? without(paid[1], result).map((log) => ({ ...log, logIndex: '0x1' })) : result,
  )
  await nodes.lookOn(20)
  assert.deepEqual(await seenOf(paid), [[], []])
  await nodes.lookOn(60)
  assert.deepEqual([await seenOf(paid), await world.trouble()], [[['901 seen'], []], null])
  assert.match(nodes.warnings().join(), /; the chain is read on without them$/)
})

const noBloom: Faults['alter'] = ({ method }, result) =>
  method.startsWith('eth_getBlockBy') && result !== null
    ? { ...(result as object), logsBloom: `0x${'0'.repeat(512)}` }
    : result

for (const count of [2, 3])
  for (const odd of [1, 2])
    test(`of ${count} honest nodes, node ${odd} leaves the bloom empty: all are asked as few times as before`, async (t) => {
      await world.chain.mine()
      const nodes = await world.openNodes(t, count)
      const numbers = [1, 2, 3].slice(0, count)
      const asked = () => numbers.map((number) => nodes.proxy(number).requests())
      const readOn = async () => {
        const before = asked()
        for (let look = 0; look < 12; look += 1) {
          if (look % 3 === 0) await world.payNew(804n)
          else await world.chain.pay({ to: `0x${'77'.repeat(20)}`, units: 5n })
          await nodes.lookOn(1)
        }
        return asked().map((after, index) => after - (before[index] ?? 0))
      }
      const usual = await readOn()
      nodes.proxy(odd).faults.alter = noBloom
      for (const [index, times] of (await readOn()).entries())
        assert.ok(times <= (usual[index] ?? 0) + 1, `node ${index + 1}: ${times} requests instead of ${usual[index]}`)
      assert.deepEqual([nodes.faults(), nodes.alarms()], [new Array(count).fill(null), []])
      assert.equal(await world.head(), await world.chain.blockNumber())
    })

test('a reader that hides payments and lets receipts hang is asked once about each, and another one is soon read first', async (t) => {
  await world.chain.mine()
  const nodes = await world.openNodes(t, 2, world.network, 1100)
  const liar = nodes.proxy(1)
  liar.faults.alter = ({ method }, result) => (method === 'eth_getLogs' ? [] : result)
  liar.faults.hangsOn = 'eth_getBlockReceipts'
  const paid: string[] = []
  const payAndLook = async (): Promise<void> => {
    paid.push(await world.payNew(5n))
    await nodes.lookOn(1)
  }
  for (let count = 0; count < 3; count += 1) paid.push(await world.payNew(5n))
  await nodes.lookOn(1)
  assert.deepEqual([await seenOf(paid), liar.held.length], [paid.map(() => ['5 seen']), 3])
  for (let look = 0; look < 4; look += 1) await payAndLook()
  const readFirst = (): (number | undefined)[] => nodes.endpoints.usable().map(({ number }) => number)
  assert.deepEqual([readFirst(), nodes.warnings()], [[1, 2], []], 'an index may lag')
  await payAndLook()
  await payAndLook()
  assert.deepEqual([readFirst(), nodes.faults(), nodes.alarms()], [[2, 1], [null, null], []])
  assert.match(nodes.warnings().join('|'), /^the endpoint lacks payments that blocks prove, [^|]*$/)
  assert.deepEqual(
    await seenOf(paid),
    paid.map(() => ['5 seen']),
  )
  liar.heal()
  await payAndLook()
  assert.deepEqual([readFirst(), await seenOf(paid)], [[1, 2], paid.map(() => ['5 seen'])])
})

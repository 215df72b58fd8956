import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { openAgree } from '../src/chain/payout/agreement.ts'
import { checkTransfer } from '../src/chain/payout/transfer-check.ts'
import { toHex } from '../src/chain/transfer-logs.ts'
import { listTransfersTo } from '../src/chain/transfer-queries.ts'
import { SECOND } from '../src/kernel/clock.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* Whose word makes a payment, or a payout, final. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

const TAG = { kind: 'tag', tag: 'finalized', extraBlocks: 0 } as const
const byTag = () => ({ ...world.network, small: TAG, large: TAG })
type Question = { method: string; params: unknown[] }
const isAt = ({ method, params }: Question, place: string): boolean =>
  method === 'eth_getBlockByNumber' && params[0] === place
const finalAt = async (address: string) => (await listTransfersTo(world.db, [address]))[0]?.finalAt ?? null

/** The test's clock follows the chain. */
const follow = async (time: { nowMs: number }) => {
  const { timestamp } = await world.chain.call<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
  time.nowMs = Math.max(time.nowMs, Number(timestamp) * SECOND)
}

test('the first of three nodes whose finalized block stands still keeps no payment from becoming final', async (t) => {
  await world.chain.mine(70)
  const nodes = await world.openNodes(t, 3, byTag())
  const frozen = await world.chain.call('eth_getBlockByNumber', 'finalized', false)
  nodes.proxy(1).faults.alter = (asked, result) => (isAt(asked, 'finalized') ? frozen : result)
  const address = await world.payNew(61n)
  for (let times = 0; times < 20; times += 1) {
    await world.chain.mine(20)
    await follow(nodes.time)
    await nodes.lookOn(4)
  }
  assert.deepEqual([await world.seen(address), nodes.alarms()], [['61 seen'], []])
  assert.notEqual(await finalAt(address), null)
})

test('the first of three nodes alone cannot name the newest block finalized', async (t) => {
  await world.chain.mine(70)
  const nodes = await world.openNodes(t, 3, byTag())
  nodes.proxy(1).faults.alter = (asked, result) =>
    isAt(asked, 'finalized') ? world.chain.call('eth_getBlockByNumber', 'latest', false) : result
  const address = await world.payNew(62n)
  await nodes.lookOn(2)
  const [final, one] = [await finalAt(address), await world.seen(address)]
  nodes.proxy(1).heal()
  await world.chain.reorg(3)
  await world.chain.mine()
  await nodes.lookOn(4)
  assert.equal(final, null, `final at once: ${one}; after a reorganisation of 3 blocks: ${await world.seen(address)}`)
})

test('a node of two that lacks new blocks holds up payments in them, and not that earlier ones become final', async (t) => {
  await world.chain.mine(70)
  const nodes = await world.openNodes(t, 2, byTag())
  await follow(nodes.time)
  const early = await world.payNew(64n)
  await world.chain.mine()
  await follow(nodes.time)
  await nodes.lookOn(2)
  assert.deepEqual(await world.seen(early), ['64 seen'])
  const knownUpTo = await world.chain.blockNumber()
  nodes.proxy(2).faults.alter = ({ method, params }, result) => {
    const block = result as { number: string } | null
    if (!method.startsWith('eth_getBlockBy') || params[0] === 'finalized' || !block) return result
    if (BigInt(block.number) <= knownUpTo) return result
    return params[0] === 'latest' ? world.chain.call('eth_getBlockByNumber', toHex(knownUpTo), false) : null
  }
  const later = await world.payNew(65n)
  await world.chain.mine(100)
  await follow(nodes.time)
  await nodes.lookOn(60)
  assert.deepEqual([await world.seen(later), await world.head()], [[], knownUpTo])
  assert.notEqual(await finalAt(early), null)
})

for (const number of [1, 2])
  test(`node ${number} of two, which knows no finalized block, keeps no payment from becoming final`, async (t) => {
    await world.chain.mine(70)
    const nodes = await world.openNodes(t, 2, byTag())
    nodes.proxy(number).faults.alter = (asked, result) => (isAt(asked, 'finalized') ? null : result)
    const address = await world.payNew(66n)
    for (let times = 0; times < 8; times += 1) {
      await world.chain.mine(20)
      await follow(nodes.time)
      await nodes.lookOn(4)
    }
    assert.deepEqual([await world.seen(address), nodes.alarms()], [['66 seen'], []])
    assert.notEqual(await finalAt(address), null)
  })

for (const count of [2, 3])
  test(`that one of ${count} nodes is down for 15 minutes does not make it one that stands still`, async (t) => {
    await world.chain.mine(70)
    const nodes = await world.openNodes(t, count)
    await follow(nodes.time)
    await nodes.lookOn(4)
    nodes.proxy(2).faults.status = 503
    for (let minute = 0; minute < 15; minute += 1) {
      await world.chain.call('evm_increaseTime', 60)
      await world.chain.mine(2)
      await follow(nodes.time)
      await nodes.lookOn(4)
    }
    assert.deepEqual(nodes.alarms(), [])
  })

test('a node of two whose finalized block stands still makes nothing final, and the operator hears which', async (t) => {
  await world.chain.mine(70)
  const nodes = await world.openNodes(t, 2, byTag())
  const frozen = await world.chain.call('eth_getBlockByNumber', 'finalized', false)
  nodes.proxy(2).faults.alter = (asked, result) => (isAt(asked, 'finalized') ? frozen : result)
  const address = await world.payNew(66n)
  await world.chain.call('evm_increaseTime', 1200)
  await world.chain.mine(70)
  await follow(nodes.time)
  await nodes.lookOn(70)
  assert.deepEqual([await world.seen(address), await finalAt(address)], [['66 seen'], null])
  assert.match(
    nodes.alarms().join('|'),
    /^ALARM: endpoint 2 names block \d+ as its finalized one, endpoint 1 block \d+/,
  )
  assert.equal(nodes.alarms().length, 1)
})

for (const frozenNode of [1, 3])
  test(`a payout that two of three nodes show as final is final, though the finalized block of node ${frozenNode} stands still`, async (t) => {
    await world.chain.mine(70)
    const network = byTag()
    const nodes = await world.openNodes(t, 3, network)
    await follow(nodes.time)
    const frozen = await world.chain.call('eth_getBlockByNumber', 'finalized', false)
    nodes.proxy(frozenNode).faults.alter = (asked, result) => (isAt(asked, 'finalized') ? frozen : result)
    const to = `0x${'7'.repeat(40)}`
    const txHash = await world.chain.pay({ to, units: 67n })
    await world.chain.mine(100)
    const log = pino({ level: 'silent' })
    const agree = openAgree({ endpoints: nodes.endpoints, network, log })
    const words: string[] = []
    for (let times = 0; times < 40; times += 1) {
      await follow(nodes.time)
      await nodes.lookOn(3)
      const { verdict, providerStatus } = await checkTransfer({ agree, network }, { txHash, to, units: 67n }).catch(
        (error: Error) => ({ verdict: error.name, providerStatus: error.message }),
      )
      words.push(`${verdict}: ${providerStatus}`)
    }
    assert.match(words.at(-1) ?? '', /^final/, `after 2 min; faults ${nodes.faults()}, alarms ${nodes.alarms().length}`)
  })

test('a final payment just below a reorganisation is not final until its confirmations are back', async (t) => {
  const rule = { kind: 'confirmations', confirmations: 5 } as const
  await world.chain.mine(70)
  const nodes = await world.openNodes(t, 1, { ...world.network, small: rule, large: rule })
  const address = await world.payNew(68n)
  const paidIn = await world.chain.blockNumber()
  await world.chain.pay({ to: world.chain.payer, units: 1n }) // an empty block would be followed by one like it
  await world.chain.mine(4)
  await nodes.lookOn(2)
  assert.notEqual(await finalAt(address), null)
  await world.chain.reorg(5)
  // it shows that its newest blocks are others, and not yet what is in them
  nodes.proxy(1).faults.refuses = ({ method }) => method === 'eth_getLogs'
  await nodes.lookOn(1)
  assert.deepEqual([await world.head(), await world.seen(address)], [paidIn, ['68 seen']])
  assert.equal(await finalAt(address), null)
  nodes.proxy(1).heal()
  await nodes.lookOn(2)
  assert.notEqual(await finalAt(address), null)
})

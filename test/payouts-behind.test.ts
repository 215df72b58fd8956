import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { keccak256, parseTransaction, stringToHex } from 'viem/utils'
import { word } from '../sandbox/chain/rpc.ts'
import { DEPLOYER } from '../sandbox/chain/throwaway-keys.ts'
import type { PayoutRequest } from '../src/chain/payout/payout.ts'
import { blockCall, TRANSFER_TOPIC, toTopic } from '../src/chain/transfer-logs.ts'
import { sql } from '../src/db/db.ts'
import { type Alter, type PayoutNodes, withNodes } from './harness/payout-nodes.ts'
import { type PayoutWorld, request, startPayoutWorld } from './harness/payout-world.ts'

/* Payouts where one node lies, and the honest ones are excluded for a moment: they contradict it all the same. */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
})
after(() => world?.stop())

type Wallet = Awaited<ReturnType<PayoutWorld['openWallet']>>
const later = (block: unknown, seconds: bigint) => ({
  ...(block as object),
  timestamp: `0x${(BigInt((block as { timestamp: string }).timestamp) + seconds).toString(16)}`,
})
const isNewest = ({ method, params }: Parameters<Alter>[0]): boolean =>
  method === 'eth_getBlockByNumber' && params[0] === 'latest'
/** Its newest block is this much later. */
const ahead =
  (seconds: bigint): Alter =>
  (question, result) =>
    isNewest(question) ? later(result, seconds) : result

const issuer = async (data: string): Promise<void> => {
  await world.chain.call('eth_sendTransaction', { from: DEPLOYER, to: world.chain.usdcAddress, data })
  await world.chain.mine()
}
const block = (to: string) => issuer(`0xf9f92be4${word(to)}`)
const unblock = (to: string) => issuer(`0x1a895266${word(to)}`)
const faultsOf = ({ endpoints }: PayoutNodes) => endpoints.all.map((one) => one.fault())

/** As if they had really lagged a moment ago: no single node can make the others count as behind. */
function makeHonestBehind(nodes: PayoutNodes): void {
  for (const one of nodes.endpoints.all.slice(0, 2)) one.behind = true
  assert.deepEqual(faultsOf(nodes), ['behind', 'behind', null])
}

/** Sends it, loses it, and has its destination blocked, so that it is given up once it cannot be used any more. */
async function signAndBlock({ options }: PayoutNodes, wallet: Wallet): Promise<PayoutRequest> {
  const asked = request()
  await wallet.open(options).send(asked)
  await world.chain.call('anvil_dropAllTransactions')
  await block(asked.to)
  return asked
}

/** Whoever saw the transaction in a pool hands its authorization in. */
async function handIn(asked: PayoutRequest): Promise<bigint> {
  const { raw } = await world.db.one<{ raw: `0x02${string}` }>(
    sql`select raw from chain_payout_transactions where payout_id = ${asked.id}`,
  )
  const { data } = parseTransaction(raw)
  await unblock(asked.to)
  const transaction = { from: DEPLOYER, to: world.chain.usdcAddress, data, gas: '0x30d40' }
  await world.chain.call('eth_sendTransaction', transaction)
  await world.chain.mine()
  return world.chain.balanceOf(asked.to)
}

test('one node beside two honest ones that are behind gives up no refund that can still be paid', () =>
  withNodes(world, 3, async (nodes) => {
    const wallet = await world.openWallet(15_000_000n)
    const asked = await signAndBlock(nodes, wallet)
    const [, , liar] = nodes.proxies
    if (liar) liar.faults.alter = ahead(60n)
    makeHonestBehind(nodes)
    if (liar) liar.faults.alter = ahead(7200n)
    await wallet.open(nodes.options).send(asked)
    const { status } = await world.rowOf(asked)
    assert.deepEqual([status === 'failed', await handIn(asked)], [false, asked.units])
  }))

test('an honest node that failed a moment ago is heard: no refund is given up that can still be paid', () =>
  withNodes(world, 2, async (nodes) => {
    const wallet = await world.openWallet(15_000_000n)
    const asked = await signAndBlock(nodes, wallet)
    const [liar, honest] = nodes.proxies
    if (!liar || !honest) throw new Error('two nodes')
    liar.faults.alter = ahead(7200n)
    honest.faults.status = 503
    for (let time = 0; time < 4; time += 1)
      await nodes.endpoints.all[1]?.rpc.call('eth_blockNumber').catch(() => undefined)
    honest.heal()
    assert.deepEqual(faultsOf(nodes), [null, 'down'])
    await wallet.open(nodes.options).send(asked)
    await unblock(asked.to)
    assert.notEqual((await world.rowOf(asked)).status, 'failed')
  }))

/** A node with later blocks, in one of which it shows the payment; `above`: that many above the newest one. */
async function showsPaid(from: string, { id, to, units }: PayoutRequest, above: bigint): Promise<Alter> {
  await world.chain.mine(6)
  const newest = await world.chain.blockNumber()
  const [real] = await world.rpc.batch<{ hash: string; number: string }>([blockCall(newest - 5n)])
  const made = { hash: keccak256(stringToHex(id)), number: `0x${(newest + above).toString(16)}` }
  const at = above > 0n ? made : real
  const used = [keccak256(stringToHex('AuthorizationUsed(address,bytes32)')), toTopic(from), keccak256(stringToHex(id))]
  const logs = [
    { address: world.chain.usdcAddress, topics: used, data: '0x', logIndex: '0x0' },
    {
      ...{ address: world.chain.usdcAddress, topics: [TRANSFER_TOPIC, toTopic(from), toTopic(to)] },
      ...{ data: `0x${word(units)}`, logIndex: '0x1' },
    },
  ]
  return (question, result) => {
    const { method, params } = question
    if (method === 'eth_getTransactionReceipt') {
      const place = { transactionHash: params[0], blockHash: at?.hash, blockNumber: at?.number }
      return { ...place, status: '0x1', logs: logs.map((log) => ({ ...log, ...place })) }
    }
    if (isNewest(question)) {
      const head = later(result, 60n) as object
      return above > 0n ? { ...head, number: `0x${(newest + above + 100n).toString(16)}` } : head
    }
    if (above > 0n && method === 'eth_getBlockByNumber' && params[0] === made.number)
      return { ...made, parentHash: made.hash, timestamp: '0x1' }
    return result
  }
}

for (const above of [0n, 50n])
  test(`one node beside two honest ones that are behind settles nothing that was never paid${above > 0n ? ', in a block that they do not have' : ''}`, () =>
    withNodes(world, 3, async (nodes) => {
      const wallet = await world.openWallet(15_000_000n)
      const asked = request()
      const [, , liar] = nodes.proxies
      if (liar) liar.faults.alter = await showsPaid(wallet.refundSigner.address, asked, above)
      makeHonestBehind(nodes)
      const payouts = wallet.open(nodes.options)
      await payouts.send(asked)
      await world.chain.call('anvil_dropAllTransactions')
      for (let poll = 0; poll < 3; poll += 1) await payouts.send(asked)
      assert.notEqual((await world.rowOf(asked)).status, 'final', (await world.rowOf(asked)).words)
    }))

test('an honest node that failed a moment ago, and lacks the block that a liar shows, is waited for', () =>
  withNodes(world, 2, async (nodes) => {
    const wallet = await world.openWallet(15_000_000n)
    const asked = request()
    const [liar, honest] = nodes.proxies
    if (!liar || !honest) throw new Error('two nodes')
    const payouts = wallet.open(nodes.options)
    await payouts.send(asked)
    await world.chain.call('anvil_dropAllTransactions')
    liar.faults.alter = await showsPaid(wallet.refundSigner.address, asked, 50n)
    for (let poll = 0; poll < 3; poll += 1) {
      honest.faults.status = 503
      for (let time = 0; time < 4; time += 1)
        await nodes.endpoints.all[1]?.rpc.call('eth_blockNumber').catch(() => undefined)
      honest.heal()
      assert.deepEqual(faultsOf(nodes), [null, 'down'])
      await payouts.send(asked)
    }
    assert.notEqual((await world.rowOf(asked)).status, 'final', (await world.rowOf(asked)).words)
  }))

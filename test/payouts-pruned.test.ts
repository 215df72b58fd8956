import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { toEventSelector } from 'viem/utils'
import type { Hex } from '../src/chain/endpoints/rpc.ts'
import { nonceOf } from '../src/chain/payout/payout-deps.ts'
import { findRestoreHold } from '../src/chain/payout/state/after-restore.ts'
import { checkTransfer, checkUsed } from '../src/chain/payout/transfer-check.ts'
import { insertPayingWallet } from '../src/chain/payout/wallet-queries.ts'
import { ChainDoubt } from '../src/chain/transfer-logs.ts'
import { DAY } from '../src/kernel/clock.ts'
import { withNodes } from './harness/payout-nodes.ts'
import { type PayoutWorld, request, startPayoutWorld } from './harness/payout-world.ts'
import { forgetPayout, restore } from './harness/restored.ts'
import type { RpcProxy } from './harness/rpc-proxy.ts'

/* Two nodes, of which one keeps no old receipts and logs, and what left before a restore. */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
  await restore(world.db)
})
after(() => world?.stop())

function prune(node: RpcProxy | undefined): void {
  assert.ok(node)
  node.faults.alter = ({ method }, result) => (method === 'eth_getTransactionReceipt' ? null : result)
  node.faults.refuses = ({ method }) => method === 'eth_getLogs'
}

async function leave(units: bigint) {
  const { open, refundSigner } = await world.openWallet(30_000_000n)
  await insertPayingWallet(world.db, world.chain.chainId, refundSigner.address)
  const left = request(units)
  await open({ validSeconds: 3600 }).send(left)
  await world.chain.mine(20)
  const { outcome, txHash } = await open().send(left)
  assert.equal(outcome, 'settled')
  await forgetPayout(world.db, left)
  return { left, txHash: txHash ?? '', payouts: { address: refundSigner.address } }
}

for (const pruned of [0, 1])
  test(`a refund that left otherwise can be rejected where node ${pruned} of two keeps no old receipts`, async () => {
    const { left, payouts } = await leave(12_000_000n)
    const asked = { ...left, units: 10_000_000n, chainId: world.chain.chainId }
    await withNodes(world, 2, async ({ proxies, network, options }) => {
      prune(proxies[pruned])
      const clock = () => Date.now() + 3 * DAY
      assert.equal(await findRestoreHold({ db: world.db, clock }, { ...options, network, payouts }, asked), null)
    })
  })

test('a node that has the logs contradicts one that invents the transaction that used an authorization', async () => {
  const { left, payouts, txHash } = await leave(12_000_000n)
  const authorization = { from: payouts.address.toLowerCase() as Hex, nonce: nonceOf(left.id) }
  const invented = `0x${'9'.repeat(64)}`
  const truth = await world.rpc.call<object>('eth_getTransactionReceipt', txHash)
  await withNodes(world, 2, async ({ proxies: [liar], network, options }) => {
    assert.ok(liar)
    liar.faults.alter = ({ method }, result) =>
      method === 'eth_getTransactionReceipt' ? { ...truth, transactionHash: invented } : result
    await assert.rejects(checkUsed({ ...options, network }, { txHash: invented, authorization }), ChainDoubt)
  })
})

const [USED, CANCELED] = ['Used', 'Canceled'].map((how) => toEventSelector(`Authorization${how}(address,bytes32)`))

test('a node with all receipts that refuses long ranges of logs contradicts one that invents a cancellation', async () => {
  const { left, payouts, txHash } = await leave(10_000_000n)
  const invented = `0x${'9'.repeat(64)}`
  type Log = { topics: string[]; transactionHash: string }
  const truth = await world.rpc.call<{ logs: Log[] }>('eth_getTransactionReceipt', txHash)
  const logs = truth.logs
    .filter(({ topics }) => topics[0] === USED)
    .map((log) => ({ ...log, transactionHash: invented, topics: [CANCELED, ...log.topics.slice(1)] }))
  await withNodes(world, 2, async ({ proxies: [liar, honest], network, options }) => {
    assert.ok(liar && honest)
    honest.faults.refuses = ({ method }) => method === 'eth_getLogs'
    liar.faults.alter = ({ method, params }, result) => {
      if (method === 'eth_getTransactionReceipt')
        return params[0] === invented ? { ...truth, transactionHash: invented, logs } : result
      return method === 'eth_getLogs' ? logs : result
    }
    const clock = () => Date.now() + 3 * DAY
    const asked = { ...left, chainId: world.chain.chainId }
    const hold = findRestoreHold({ db: world.db, clock }, { ...options, network, payouts }, asked)
    await assert.rejects(hold, { code: 'CHANNEL_UNAVAILABLE' }, 'it was paid, and one liar may not have it paid again')
  })
})

const HIDDEN = ['eth_getTransactionReceipt', 'eth_getTransactionByHash']

for (const order of ['liar, pruned, whole', 'pruned, liar, whole', 'whole, liar, pruned'])
  test(`of three nodes, one that lies and one that keeps no receipts do not outvote the third (${order})`, async () => {
    const { left, payouts, txHash } = await leave(12_000_000n)
    const authorization = { from: payouts.address.toLowerCase() as Hex, nonce: nonceOf(left.id) }
    await withNodes(world, 3, async ({ proxies, network, options, endpoints }) => {
      const names = order.split(', ')
      const [liar, pruned] = ['liar', 'pruned'].map((name) => proxies[names.indexOf(name)])
      assert.ok(liar && pruned)
      for (const { faults } of [liar, pruned])
        faults.alter = ({ method }, result) => (HIDDEN.includes(method) ? null : result)
      liar.faults.forges = ({ method, params }) => {
        const isAboutUse = method === 'eth_call' && JSON.stringify(params).includes(authorization.nonce.slice(2))
        return isAboutUse ? `0x${'0'.repeat(64)}` : undefined
      }
      const asked = { txHash, to: left.to, units: left.units, authorization }
      await assert.rejects(checkTransfer({ ...options, network }, asked), ChainDoubt)
      await assert.rejects(checkUsed({ ...options, network }, { txHash, authorization }), ChainDoubt)
      assert.equal(endpoints.all[names.indexOf('whole')]?.fault(), null)
    })
  })

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parseTransaction } from 'viem/utils'
import { type Rpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import type { Agree } from '../src/chain/payout/agreement.ts'
import type { PayoutRequest } from '../src/chain/payout/payout.ts'
import type { Signer } from '../src/chain/payout/signer.ts'
import { ChainDoubt } from '../src/chain/transfer-logs.ts'
import { sql } from '../src/db/db.ts'
import { withNodes } from './harness/payout-nodes.ts'
import { type PayoutWorld, request, startPayoutWorld } from './harness/payout-world.ts'

/* Payouts whose transaction fails in its block: each one costs gas and moves nothing. */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
})
after(() => world?.stop())

const estimating = (gas: number): Rpc => ({
  ...world.rpc,
  call: async <Result>(method: string, ...params: unknown[]): Promise<Result> =>
    method === 'eth_estimateGas' ? (`0x${gas.toString(16)}` as Result) : world.rpc.call(method, ...params),
})

/** Signs with so little gas that the transaction fails in its block. */
const stingy = (signer: Signer): Signer => ({
  ...signer,
  signTransaction: (transaction) => signer.signTransaction({ ...transaction, gas: 40_000n }),
})

/** How much gas each transaction that was signed for it may use. */
async function gasOf({ id }: PayoutRequest): Promise<bigint[]> {
  const rows = await world.db.many<{ raw: `0x02${string}` }>(sql`
    select raw from chain_payout_transactions where payout_id = ${id} order by created_at, relayer_nonce`)
  return rows.map(({ raw }) => parseTransaction(raw).gas ?? 0n)
}

async function readRefusals({ id }: PayoutRequest): Promise<number> {
  return (await world.db.one<{ refusals: number }>(sql`select refusals from chain_payouts where id = ${id}`)).refusals
}

test('a node that estimates too little gas has no transaction fail', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const asked = request()
  for (let poll = 0; poll < 3; poll += 1) {
    await open({ rpc: estimating(36_000) }).send(asked)
    await world.chain.mine(4)
  }
  assert.deepEqual([(await world.rowOf(asked)).status, (await gasOf(asked)).length], ['final', 1])
})

test('a payout whose transactions fail in their blocks is sent less often each time, and says so', async () => {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const asked = request()
  const failing = open({ relayerSigner: stingy(relayerSigner), validSeconds: 3600 })
  const poll = async (times: number) => {
    for (let visit = 0; visit < times; visit += 1) {
      await failing.send(asked)
      await world.chain.mine()
    }
    return (await gasOf(asked)).length
  }
  assert.equal(await poll(24), 2)
  assert.equal(await readRefusals(asked), 1, 'what fails in a block is no refusal by the token')
  assert.match(
    (await world.rowOf(asked)).words,
    /^It failed in a block 2 times, the last time in transaction 0x.* 1 min after/,
  )
  // a minute, two, four: and half a minute for clocks that differ
  for (const [index, seconds] of [100, 160, 280].entries()) {
    await world.pass(seconds - 60)
    assert.equal(await poll(3), 2 + index, `${seconds - 60} s`)
    await world.pass(60)
    assert.equal(await poll(3), 3 + index, `${seconds} s`)
  }
  await world.pass(600)
  const healed = open({ validSeconds: 3600 })
  for (let visit = 0; visit < 3; visit += 1) {
    await healed.send(asked)
    await world.chain.mine(4)
  }
  assert.equal((await world.rowOf(asked)).status, 'final', (await world.rowOf(asked)).words)
  assert.equal(await world.chain.balanceOf(asked.to), asked.units)
})

test('one that failed long ago, on which the nodes do not agree, does not end the pause after the others', async () => {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const asked = request()
  const agree: Agree = async ({ look, keyOf }) => {
    const own = await look(world.rpc)
    const [first] = await world.db.many<{ txHash: string }>(sql`
      select tx_hash from chain_payout_transactions where payout_id = ${asked.id} order by created_at`)
    const isOld = (await gasOf(asked)).length > 1 && first !== undefined && keyOf(own, own).includes(first.txHash)
    if (isOld) throw new ChainDoubt('a node has forgotten it')
    return own
  }
  const failing = open({ agree, relayerSigner: stingy(relayerSigner), validSeconds: 3600 })
  for (let visit = 0; visit < 24; visit += 1) {
    await failing.send(asked)
    await world.chain.mine()
  }
  assert.equal((await gasOf(asked)).length, 3)
  assert.match((await world.rowOf(asked)).words, /^It failed in a block 2 times/)
})

test('while it waits after that, what was signed runs out, and a person can take it back', async () => {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const asked = request()
  const failing = open({ relayerSigner: stingy(relayerSigner), validSeconds: 90 })
  for (let visit = 0; visit < 6; visit += 1) {
    await failing.send(asked)
    await world.chain.mine()
  }
  assert.equal(await world.withdraw(asked), false)
  await world.chain.call('evm_increaseTime', 200)
  await world.chain.mine()
  await failing.send(asked)
  assert.match((await world.rowOf(asked)).words, /^It failed in a block 2 times/)
  assert.equal(await world.withdraw(asked), true)
})

test('after one failed, the largest estimate of the nodes counts, and one that does not answer is left out', async () => {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const asked = request()
  const silent: Rpc = { ...world.rpc, call: () => Promise.reject(new RpcError('unknown', 'no answer')) }
  const rpc = { ...estimating(36_000), nodes: async () => [estimating(36_000), silent, estimating(500_000)] }
  const failing = open({ rpc, relayerSigner: stingy(relayerSigner) })
  await failing.send(asked)
  await world.chain.mine()
  await failing.send(asked)
  for (let visit = 0; visit < 3; visit += 1) {
    await open({ rpc }).send(asked)
    await world.chain.mine(4)
  }
  assert.deepEqual(await gasOf(asked), [40_000n, 625_000n])
  assert.equal((await world.rowOf(asked)).status, 'final')
})

test('what the token refused before it was signed makes a lost transaction wait for nothing', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const asked = request()
  const payouts = open({ validSeconds: 3600 })
  await payouts.send(asked)
  await world.chain.call('anvil_dropAllTransactions')
  await world.db.run(sql`
    update chain_payouts set refusals = 12, status = 'reserved', relayer_address = null, relayer_nonce = null
    where id = ${asked.id}`)
  for (let visit = 0; visit < 2; visit += 1) {
    await payouts.send(asked)
    await world.chain.mine(4)
  }
  assert.equal((await world.rowOf(asked)).status, 'final', (await world.rowOf(asked)).words)
})

test('one passing refusal by the token gives no payout up, however often it failed in a block', async () => {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const asked = request()
  const failing = open({ relayerSigner: stingy(relayerSigner), validSeconds: 90 })
  await failing.send(asked)
  // as earlier versions counted
  await world.db.run(sql`update chain_payouts set refusals = 8 where id = ${asked.id}`)
  await world.chain.mine()
  await failing.send(asked)
  assert.equal(await readRefusals(asked), 1)
  await world.pass(200)
  const refusing: Rpc = {
    ...world.rpc,
    call: (method, ...params) =>
      method === 'eth_call' && JSON.stringify(params[0]).includes('0xa9059cbb')
        ? Promise.reject(new RpcError('definite', 'execution reverted', 3))
        : world.rpc.call(method, ...params),
  }
  await open({ rpc: refusing }).send(asked)
  assert.match((await world.rowOf(asked)).words, /^The token refuses the transfer/)
  for (let visit = 0; visit < 3; visit += 1) {
    await open().send(asked)
    await world.chain.mine(4)
  }
  assert.equal((await world.rowOf(asked)).status, 'final', (await world.rowOf(asked)).words)
})

test('a first node of two that shows a transaction as failed has nothing signed again', () =>
  withNodes(world, 2, async ({ proxies, options }) => {
    const { open } = await world.openWallet(15_000_000n)
    const asked = request()
    await open(options).send(asked)
    const [liar] = proxies
    const { hash, number } = await world.rpc.call<{ hash: string; number: string }>(
      'eth_getBlockByNumber',
      '0x1',
      false,
    )
    const place = { blockHash: hash, blockNumber: number, status: '0x0', logs: [] }
    if (liar)
      liar.faults.alter = ({ method, params }, result) =>
        method === 'eth_getTransactionReceipt' ? { ...place, transactionHash: params[0] } : result
    for (let visit = 0; visit < 6; visit += 1) await open(options).send(asked)
    const { status, words } = await world.rowOf(asked)
    assert.equal(status, 'sent')
    assert.match(words, /do not agree about it yet/)
    assert.deepEqual([(await gasOf(asked)).length, await readRefusals(asked)], [1, 0])
    liar?.heal()
    await world.chain.mine(4)
    await open(options).send(asked)
    assert.equal((await world.rowOf(asked)).status, 'final')
  }))

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { type Rpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { openWatchPayout, type PayoutRequest } from '../src/chain/payout/payout.ts'
import type { Signer } from '../src/chain/payout/signer.ts'
import { ETHER, type PayoutWorld, request, startPayoutWorld, VALID_SECONDS } from './harness/payout-world.ts'

/*
 * Payouts that wait, or whose authorization runs out: what a person can take back, and what is checked again. What the
 * engine does otherwise is in payouts.test.ts.
 */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
})
after(() => world?.stop())

/** A signer that does not answer. */
const silent = () => Promise.reject(new RpcError('unknown', 'Web3Signer: no answer'))

test('a payout that was signed while another one took the money can be taken back once it ran out', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const payouts = open()
  const both = [request(10_000_000n), request(10_000_000n)]
  await Promise.all(both.map((one) => payouts.send(one)))
  await world.chain.mine(4)
  for (let visit = 0; visit < 3; visit += 1) for (const one of both) await payouts.send(one)
  const rows = await Promise.all(both.map(world.rowOf))
  const loser = both[rows[0]?.status === 'final' ? 1 : 0] as PayoutRequest
  assert.equal(await world.withdraw(loser), false, 'it is signed')
  await world.pass(VALID_SECONDS + 100)
  for (let visit = 0; visit < 2; visit += 1) await payouts.send(loser)
  assert.match((await world.rowOf(loser)).words, /Fund it/)
  assert.equal(await world.withdraw(loser), true)
})

test('a payout that was signed before the gas was counted can be taken back once it ran out', async () => {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const { baseFeePerGas } = await world.rpc.call<{ baseFeePerGas: string }>('eth_getBlockByNumber', 'latest', false)
  const maxFee = BigInt(baseFeePerGas) * 2n + BigInt(await world.rpc.call<string>('eth_maxPriorityFeePerGas'))
  await world.setPurse(relayerSigner, maxFee * 150_000n)
  // dearer than usual
  const call: Rpc['call'] = (method, ...params) =>
    method === 'eth_estimateGas' ? Promise.resolve('0x493e0' as never) : world.rpc.call(method, ...params)
  const payouts = open({ rpc: { ...world.rpc, call } })
  const asked = request()
  await payouts.send(asked)
  assert.notEqual((await world.rowOf(asked)).validBefore, null)
  await world.pass(VALID_SECONDS + 100)
  await world.setPurse(relayerSigner, 0n)
  await payouts.send(asked)
  assert.match((await world.rowOf(asked)).words, /too little native coin/)
  assert.equal(await world.withdraw(asked), true)
})

test('what ran out unused is not signed again in the same visit, so that whoever asks checks it first', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const payouts = open()
  const [sent, unsent] = [request(), request()]
  await payouts.send(sent)
  await world.chain.call('anvil_dropAllTransactions')
  const { address } = (await world.openWallet(0n)).relayerSigner
  await world.setPurse({ address } as Signer, ETHER)
  await open({ relayerSigner: { address, signTypedData: silent, signTransaction: silent } }).send(unsent)
  await world.pass(VALID_SECONDS + 100)
  for (const asked of [sent, unsent]) {
    await payouts.send(asked)
    const { status, validBefore, signature, words } = await world.rowOf(asked)
    assert.deepEqual([status, validBefore, signature], ['reserved', null, null], words)
    assert.match(words, /ran out unused/)
    await payouts.send(asked)
    await world.chain.mine(4)
    assert.equal((await payouts.send(asked)).outcome, 'settled')
    assert.equal(await world.chain.balanceOf(asked.to), asked.units)
  }
})

test('without a check nothing is signed, or submitted for the first time; what was sent goes on', async () => {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const payouts = open({ stuckBlocks: 0n })
  const [unsigned, unsent, sent] = [request(), request(), request()]
  await payouts.send(sent)
  await open({ relayerSigner: { ...relayerSigner, signTransaction: silent } }).send(unsent)
  const { validBefore, signature } = await world.rowOf(unsent)
  for (const asked of [unsigned, unsent]) {
    assert.equal((await payouts.resume(asked)).outcome, 'pending')
    assert.match((await world.rowOf(asked)).words, /is checked again before anything is signed or submitted/)
    assert.deepEqual(await world.feesOf(asked), [])
  }
  assert.equal((await world.rowOf(unsigned)).validBefore, null)
  const kept = await world.rowOf(unsent)
  assert.deepEqual(kept, { ...kept, status: 'reserved', validBefore, signature })
  await payouts.resume(sent)
  assert.ok((await world.feesOf(sent)).length > 1, 'replaced with higher fees')
  await world.chain.mine(4)
  assert.equal((await payouts.resume(sent)).outcome, 'settled')
  for (const asked of [unsigned, unsent]) {
    await payouts.send(asked)
    await world.chain.mine(4)
    assert.equal((await payouts.resume(asked)).outcome, 'settled')
  }
})

test('a payout that is held before its transaction is signed holds up no other one', async () => {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const [held, behind] = [request(), request()]
  await open({ relayerSigner: { ...relayerSigner, signTransaction: silent } }).send(held)
  const payouts = open()
  await payouts.send(behind)
  const network = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
  const log = pino({ level: 'silent' })
  const watch = openWatchPayout({
    db: world.db,
    rpc: world.rpc,
    agree: agreeAlone(world.rpc),
    network,
    clock: Date.now,
    log,
  })
  for (let poll = 0; poll < 3; poll += 1) {
    await watch(held.id)
    await payouts.send(behind)
    await world.chain.mine(4)
  }
  assert.equal((await payouts.send(behind)).outcome, 'settled')
})

test('while the signer is away its announced expiry stays; what it never signed can be taken back then', async () => {
  const { open, refundSigner } = await world.openWallet(15_000_000n)
  const away = { ...refundSigner, signTypedData: () => Promise.reject(new RpcError('unknown', 'no answer')) }
  const payouts = open({ refundSigner: away })
  const [late, never] = [request(), request()]
  for (const asked of [late, never]) assert.equal((await payouts.send(asked)).outcome, 'unknown')
  const announced = await world.rowOf(late)
  assert.equal(announced.signature, '0x')
  await world.pass(VALID_SECONDS / 2)
  for (const asked of [late, never]) assert.equal((await payouts.send(asked)).outcome, 'unknown')
  assert.deepEqual(await world.rowOf(late), announced)
  assert.equal(await world.withdraw(never), false, 'an answer of the signer may have been lost')
  await open().send(late)
  assert.equal((await world.rowOf(late)).validBefore, announced.validBefore)
  await world.chain.mine()
  assert.equal(await world.chain.balanceOf(late.to), late.units)
  await world.pass(VALID_SECONDS)
  await payouts.send(never)
  assert.equal(await world.withdraw(never), true)
})

test('a payout that only waits for money can be taken back while it is looked at', async () => {
  const { open } = await world.openWallet(0n)
  const asked = request()
  await open().send(asked)
  const [inside, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow: Rpc = {
    ...world.rpc,
    call: async <Result>(name: string, ...params: unknown[]): Promise<Result> => {
      if (name === 'eth_call') {
        inside.resolve()
        await answer.promise
      }
      return world.rpc.call<Result>(name, ...params)
    },
  }
  const poll = open({ rpc: slow }).send(asked)
  await inside.promise
  assert.equal(await world.withdraw(asked), true)
  answer.resolve()
  assert.equal((await poll).outcome, 'pending')
  assert.equal((await open().send(asked)).outcome, 'refused')
})

test('nothing is signed while the chain’s clock is far ahead of ours', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const asked = request()
  const early = open({ clock: () => Date.now() + world.aheadMs() - 3_600_000 })
  const waiting = await early.send(asked)
  assert.match(waiting.providerStatus, /is 60 minutes ahead of our clock/)
  assert.equal((await world.rowOf(asked)).validBefore, null)
  await open().send(asked)
  await world.chain.mine(4)
  assert.equal((await early.send(asked)).outcome, 'settled', 'what was signed is followed')
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { openPayoutPorts } from '../src/assembly/chains.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { checkManualTransfer } from '../src/chain/payout/manual-transfer.ts'
import { openWatchPayout, withdrawPayout } from '../src/chain/payout/payout.ts'
import { nonceOf } from '../src/chain/payout/payout-deps.ts'
import { findOtherPayout } from '../src/chain/payout/payout-recheck.ts'
import { readChainView } from '../src/chain/payout/payout-view.ts'
import { findRestoreHold } from '../src/chain/payout/state/after-restore.ts'
import { findForeignReceipt } from '../src/chain/payout/state/authorization-use.ts'
import { insertPayingWallet } from '../src/chain/payout/wallet-queries.ts'
import { sql } from '../src/db/db.ts'
import { cancelAuthorization } from './harness/authorizations.ts'
import { type PayoutWorld, request, startPayoutWorld, VALID_SECONDS } from './harness/payout-world.ts'
import { restore, restoreNow } from './harness/restored.ts'
import { startRpcProxy } from './harness/rpc-proxy.ts'

/* How a payout ends whose authorization was cancelled on the chain, or has moved something else. */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
})
after(() => world?.stop())

const cancel = (wallet: Parameters<typeof cancelAuthorization>[2], id: string) =>
  cancelAuthorization(world.chain, world.rpc, wallet, id)

const factsOf = ({ id }: { id: string }) =>
  world.db.one<{ status: string; validBefore: bigint | null; spentUnits: string | null; usedAt: Date | null }>(
    sql`select status, valid_before, spent_units, used_at from chain_payouts where id = ${id}`,
  )

for (const isLost of [true, false])
  test(`a payout whose authorization was cancelled is taken back, and named otherwise (lost by the node: ${isLost})`, async () => {
    const { open, refundSigner } = await world.openWallet(15_000_000n)
    const [taken, named] = [request(), request()]
    for (const asked of [taken, named]) await open().send(asked)
    if (isLost) await world.chain.call('anvil_dropAllTransactions')
    for (const asked of [taken, named]) await cancel(refundSigner, asked.id)
    await world.chain.mine()
    await open().send(taken)
    assert.equal(await world.withdraw(taken), false, 'it is not final')
    await world.chain.mine(20)
    for (const asked of [taken, named]) {
      assert.match((await open().send(asked)).providerStatus, /has cancelled its authorization/)
      const { validBefore, spentUnits } = await factsOf(asked)
      assert.deepEqual([validBefore, spentUnits], [null, '0'], 'before its authorization ran out')
    }
    assert.equal(await world.withdraw(taken), true)
    assert.equal((await open().send(taken)).outcome, 'refused')
    const byHand = await world.chain.pay({ to: named.to, units: named.units })
    await world.chain.mine(20)
    const network = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
    const deps = { db: world.db, clock: Date.now, rpc: world.rpc, network, watchPayout: async () => null }
    const asked = { ...deps, payouts: { address: refundSigner.address } }
    assert.equal((await checkManualTransfer(asked, named, byHand)).outcome, 'settled')
    assert.equal(await world.chain.balanceOf(named.to), named.units)
  })

test('a settlement is named the cancellation of its authorization before any node has looked at it', async () => {
  const { open, refundSigner } = await world.openWallet(15_000_000n)
  const asked = request()
  await open().send(asked)
  const cancelled = await cancel(refundSigner, asked.id)
  await world.chain.mine(20)
  const network = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
  const deps = { db: world.db, clock: Date.now, rpc: world.rpc, network, watchPayout: async () => null }
  const accepts = async () => {}
  const found = await checkManualTransfer(
    { ...deps, payouts: { address: refundSigner.address } },
    { ...asked, accepts },
    cancelled,
  )
  assert.deepEqual([found.outcome, found.left], ['settled', { to: null, units: 0n }])
})

test('what was paid by hand while a cancellation was not final is rejected once that payment is gone', async () => {
  const { open, refundSigner } = await world.openWallet(15_000_000n)
  const asked = request()
  await open().resume(asked)
  await cancel(refundSigner, asked.id)
  await world.chain.mine()
  await open().resume(asked)
  const { chainId, usdcAddress } = world.chain
  const why = { by: 'canBeNamed', providerStatus: 'paid by hand' } as const
  assert.equal(await withdrawPayout(world.db, { ...asked, chainId }, why, new Date()), true)
  const network = networkFor({ chainId, usdcAddress })
  const deps = { db: world.db, clock: Date.now, rpc: world.rpc, network, watchPayout: async () => null }
  const isGone = () =>
    assert.rejects(
      checkManualTransfer({ ...deps, payouts: { address: refundSigner.address } }, asked, `0x${'7'.repeat(64)}`),
      { code: 'VALIDATION_FAILED' },
    )
  await isGone()
  assert.equal(await world.withdraw(asked), false, 'the cancellation is not final')
  await world.chain.mine(20)
  await isGone()
  assert.equal((await factsOf(asked)).status, 'failed')
  assert.equal(await world.withdraw(asked), true)
})

test('a payout whose authorization was cancelled holds up no other one of its relayer', async () => {
  const { open, refundSigner } = await world.openWallet(15_000_000n)
  const [asked, next] = [request(), request()]
  await open().send(asked)
  await world.chain.call('anvil_dropAllTransactions')
  await cancel(refundSigner, asked.id)
  for (let poll = 0; poll < 12; poll += 1) {
    for (const one of [asked, next]) await open().send(one)
    await world.chain.mine()
  }
  assert.equal((await world.rowOf(next)).status, 'final')
})

test('a payout that is in a block after all no longer shows as used otherwise', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const asked = request()
  await open().send(asked)
  await world.chain.mine()
  await world.db.run(sql`update chain_payouts set used_at = now() where id = ${asked.id}`)
  await open().send(asked)
  assert.deepEqual([(await factsOf(asked)).status, (await factsOf(asked)).usedAt], ['mined', null])
  await world.pass(VALID_SECONDS)
})

test('after a restore, what may wait in a pool is not paid by hand before it has run out', async () => {
  const { open, refundSigner } = await world.openWallet(15_000_000n)
  const asked = request()
  await open().send(asked)
  const { raw } = await world.db.one<{ raw: string }>(
    sql`select raw from chain_payout_transactions where payout_id = ${asked.id}`,
  )
  // the database is restored to a moment before it was signed; a pool elsewhere keeps its transaction
  await world.chain.call('anvil_dropAllTransactions')
  await world.db.run(sql`delete from chain_payout_transactions where payout_id = ${asked.id}`)
  await world.db.run(sql`delete from chain_payouts where id = ${asked.id}`)
  await world.db.run(sql`delete from installation`)
  await restore(world.db)
  const back = await restoreNow(world.db)
  const byHand = await world.chain.pay({ to: asked.to, units: asked.units })
  await world.chain.mine(10)
  const network = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
  const asking = { db: world.db, clock: Date.now, rpc: world.rpc, agree: agreeAlone(world.rpc), network }
  const deps = { ...asking, watchPayout: openWatchPayout({ ...asking, log: pino({ level: 'silent' }) }) }
  const name = (txHash: string) =>
    checkManualTransfer({ ...deps, payouts: { address: refundSigner.address } }, asked, txHash)
  const chain = { rpc: world.rpc, agree: agreeAlone(world.rpc), network, payouts: null }
  const handOver = () =>
    findOtherPayout(
      { db: world.db, chains: [chain], clock: Date.now, isFollowed: async () => false },
      { network: network.chainId, id: request().id },
      async () => ({ since: new Date(0), known: [], next: [] }),
    )
  assert.match((await handOver()) ?? '', /may still wait in the pool/, 'no person is asked to send it')
  await assert.rejects(name(byHand), { code: 'OBJECT_CONFLICT', message: /may still wait in the pool of a node/ })
  const own = await world.rpc.call<string>('eth_sendRawTransaction', raw)
  await world.chain.mine(10)
  assert.equal((await name(own)).outcome, 'settled', 'what left itself is named at once')
  await back()
  assert.equal(await handOver(), null)
})

test('a refund whose authorization moved something else is rejected, and not settled by hand, where its chain is gone', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const asked = request(12_000_000n)
  await open().resume(asked)
  await world.db.run(sql`update chain_payouts set used_at = now(), spent_units = 10000000 where id = ${asked.id}`)
  const ports = openPayoutPorts({ db: world.db, clock: Date.now }, [])
  const network = world.chain.chainId
  const hold = await ports.findWithdrawalHold({ ...asked, network, since: new Date(0) })
  const withdraw = (isRejected: boolean) =>
    world.db.tx((tx) => ports.withdrawPayout(tx, { ...asked, network, hold, isRejected }, 'by a person'))
  assert.equal(await withdraw(false), false)
  assert.equal(await withdraw(true), true)
})

test('a chain that is not set up any more is waited for a day longer, and not for ever', async () => {
  const { restoredAt } = await world.db.one<{ restoredAt: Date }>(sql`select restored_at from installation`)
  const after = (hours: number) =>
    findRestoreHold({ db: world.db, clock: () => restoredAt.getTime() + hours * 3_600_000 }, undefined, {
      ...request(),
      chainId: 31339,
    })
  assert.match(
    (await after(24)) ?? '',
    /The chain 31339 is not set up here: set CHAIN_31339_RPC_URL, or try again after/,
  )
  assert.equal(await after(26), null)
})

test('what used an authorization thousands of blocks ago is found where nodes refuse long ranges', async () => {
  const { open, refundSigner } = await world.openWallet(15_000_000n)
  const asked = request()
  const payouts = open()
  await payouts.send(asked)
  await world.chain.mine(4)
  const { txHash } = await payouts.send(asked)
  await world.chain.call('anvil_mine', '0xbb8')
  const proxy = await startRpcProxy(world.chain.rpcUrl)
  const rpc = createRpc({ url: proxy.url })
  try {
    const height = await world.chain.blockNumber()
    // `latest` is a range of unknown length
    proxy.faults.refuses = ({ method, params }) => {
      if (method !== 'eth_getLogs') return false
      const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
      const last = toBlock === 'latest' ? height : BigInt(toBlock)
      return last - BigInt(fromBlock) + 1n > 1000n
    }
    const network = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
    const key = { from: refundSigner.address, nonce: nonceOf(asked.id) }
    const receipt = await findForeignReceipt({ rpc, network }, key, await readChainView(rpc, network))
    assert.equal(receipt?.transactionHash, txHash)
  } finally {
    await rpc.close()
    await proxy.stop()
  }
})

test('what an earlier wallet moved under the same nonce leaves what the present one has signed', async () => {
  const [former, present] = [await world.openWallet(15_000_000n), await world.openWallet(15_000_000n)]
  for (const { refundSigner } of [former, present])
    await insertPayingWallet(world.db, world.chain.chainId, refundSigner.address)
  const asked = request(10_000_000n)
  await former.open().send({ ...asked, units: 5_000_000n })
  const { hash } = await world.db.one<{ hash: string }>(
    sql`select tx_hash as hash from chain_payout_transactions where payout_id = ${asked.id}`,
  )
  await world.chain.mine(20)
  // the database is restored to a moment before that, with the key of a new wallet
  await world.db.run(sql`delete from chain_payout_transactions where payout_id = ${asked.id}`)
  await world.db.run(sql`delete from chain_payouts where id = ${asked.id}`)
  await present.open().send(asked)
  await world.chain.call('anvil_dropAllTransactions') // another node's pool has it
  const network = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
  const chain = { db: world.db, clock: Date.now, rpc: world.rpc, agree: agreeAlone(world.rpc), network }
  const deps = { ...chain, watchPayout: openWatchPayout({ ...chain, log: pino({ level: 'silent' }) }) }
  const accepts = async () => {}
  const refused = { code: 'OBJECT_CONFLICT', message: /is already paying this/ }
  await assert.rejects(checkManualTransfer(deps, { ...asked, accepts }, hash), refused, 'a settlement')
  await assert.rejects(checkManualTransfer(deps, asked, hash), { code: 'VALIDATION_FAILED' }, 'a refund')
  const { status, signature } = await world.rowOf(asked)
  assert.deepEqual([status, signature !== null, await world.withdraw(asked)], ['sent', true, false])
  await present.open().send(asked)
  await world.chain.mine(20)
  assert.equal((await present.open().send(asked)).outcome, 'settled')
})

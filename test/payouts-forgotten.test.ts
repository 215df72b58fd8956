import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { type Hex, type Rpc, type RpcCall, RpcError } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { checkManualTransfer } from '../src/chain/payout/manual-transfer.ts'
import { openWatchPayout, type PayoutRequest } from '../src/chain/payout/payout.ts'
import { nonceOf } from '../src/chain/payout/payout-deps.ts'
import { findOtherPayout } from '../src/chain/payout/payout-recheck.ts'
import { isAuthorizationCancelled } from '../src/chain/payout/state/left-queries.ts'
import { insertPayingToken, insertPayingWallet } from '../src/chain/payout/wallet-queries.ts'
import { sql } from '../src/db/db.ts'
import { type PayoutWorld, request, startPayoutWorld } from './harness/payout-world.ts'
import { forgetPayout, restore } from './harness/restored.ts'

/* What left before a restore, on nodes that have forgotten it since: most keep no old receipts and logs. */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
  await restore(world.db)
})
after(() => world?.stop())

const network = () => networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })

const pruned = (): Rpc => ({
  ...world.rpc,
  call: async (name, ...params) =>
    name === 'eth_getLogs'
      ? Promise.reject(new RpcError('definite', 'history has been pruned for this block'))
      : world.rpc.call(name, ...params),
  batch: async <Result>(calls: readonly RpcCall[]) =>
    calls.every(({ method }) => method === 'eth_getTransactionReceipt')
      ? (calls.map(() => null) as Result[])
      : world.rpc.batch<Result>(calls),
})

/** It left after the backup, and was dropped here after the restore; its transaction was named for the next one. */
async function nameDropped() {
  const { open, refundSigner } = await world.openWallet(90_000_000n)
  await insertPayingWallet(world.db, world.chain.chainId, refundSigner.address)
  const payouts = { address: refundSigner.address }
  const dropped = request(10_000_000n)
  await open({ validSeconds: 3600 }).send(dropped)
  await world.chain.mine(20)
  const { txHash } = await open().send(dropped)
  assert.ok(txHash)
  await forgetPayout(world.db, dropped)
  assert.equal(await world.withdraw(dropped), true)
  const named = { ...request(10_000_000n), to: dropped.to }
  const chain = { db: world.db, clock: Date.now, rpc: world.rpc, agree: agreeAlone(world.rpc), network: network() }
  const watchPayout = openWatchPayout({ ...chain, log: pino({ level: 'silent' }) })
  const asked = { ...named, accepts: async () => {} }
  assert.equal((await checkManualTransfer({ ...chain, payouts, watchPayout }, asked, txHash)).outcome, 'settled')
  return { payouts, refundSigner, dropped, named }
}

/** Why the next one waits that has these numbers before it. */
const nextWaits = (known: readonly PayoutRequest[], payouts: { address: string }, rpc: Rpc = pruned()) =>
  findOtherPayout(
    {
      ...{ db: world.db, clock: Date.now, isFollowed: async () => false },
      chains: [{ rpc, agree: agreeAlone(rpc), network: network(), payouts }],
    },
    { network: world.chain.chainId, id: request().id },
    async () => ({ since: new Date(0), known: known.map(({ id }) => id), next: [] }),
  )

/** As upgrades leave it: an earlier version stored its number alone, and may have taken it before it was final. */
const unprove = ({ id }: PayoutRequest) =>
  world.db.run(sql`update chain_payouts set used_at = null, left_from = null, left_token = null where id = ${id}`)

const leftOf = ({ id }: PayoutRequest) =>
  world.db.one<{ usedAt: Date | null; leftFrom: string | null; leftToken: string | null }>(
    sql`select used_at, left_from, left_token from chain_payouts where id = ${id}`,
  )

test('a dropped number that an earlier version accounted for holds up nothing on nodes that forgot it', async () => {
  const { payouts, dropped, named } = await nameDropped()
  const key = { leftFrom: payouts.address.toLowerCase(), leftToken: world.chain.usdcAddress.toLowerCase() }
  assert.equal(await nextWaits([dropped, named], payouts), null)
  await unprove(named)
  assert.equal(await nextWaits([dropped, named], payouts), null)
  assert.equal((await leftOf(named)).usedAt, null, 'such a node proves nothing')
  assert.equal(await nextWaits([dropped, named], payouts, world.rpc), null)
  const { usedAt, ...left } = await leftOf(named)
  assert.notEqual(usedAt, null, 'the chain is not asked again')
  assert.deepEqual(left, key)
})

for (const isOld of [false, true])
  test(`what another wallet moved under the same number is not accounted for by it; named before an upgrade: ${isOld}`, async () => {
    const { payouts, dropped, named } = await nameDropped()
    if (isOld) await unprove(named)
    const other = await world.openWallet(10_000_000n)
    await insertPayingWallet(world.db, world.chain.chainId, other.refundSigner.address)
    const setAside = `${dropped.id}x`
    await world.db.run(sql`
      update chain_payouts set id = ${setAside}, authorization_nonce = ${`0x${'8'.repeat(64)}`} where id = ${dropped.id}`)
    await other.open({ validSeconds: 3600 }).send(dropped)
    await world.chain.mine(20)
    assert.equal((await other.open().send(dropped)).outcome, 'settled')
    await forgetPayout(world.db, dropped)
    // as it was: dropped here before anything was signed
    await world.db.run(sql`
      update chain_payouts set id = ${dropped.id}, authorization_nonce = ${nonceOf(dropped.id)} where id = ${setAside}`)
    assert.match((await nextWaits([dropped, named], payouts)) ?? '', /the node does not find its transaction/)
    for (let poll = 0; poll < 3; poll += 1)
      assert.match((await nextWaits([dropped, named], payouts, world.rpc)) ?? '', /brought 10\.000000 USDC/)
  })

test('a number whose authorization was cancelled, finally, holds up nothing on nodes that forgot that', async () => {
  const { open, refundSigner } = await world.openWallet(30_000_000n)
  await insertPayingWallet(world.db, world.chain.chainId, refundSigner.address)
  const asked = request(10_000_000n)
  await open({ validSeconds: 3600 }).send(asked)
  await world.chain.mine(20)
  await forgetPayout(world.db, asked)
  const waits = () => nextWaits([asked], open())
  assert.match((await waits()) ?? '', /the node does not find its transaction/)
  // to a node, cancelled and used are the same, as long as it does not find the transaction
  await open().resume(asked)
  await world.db.run(sql`
    update chain_payouts set status = 'reserved', tx_hash = null, used_at = now(), spent_units = 0 where id = ${asked.id}`)
  assert.equal(await waits(), null)
  assert.equal(await world.withdraw(asked), true)
  assert.equal(await waits(), null)
})

test('a cancellation of an earlier version, which stored no token, counts only where there is no other one', async () => {
  const { open, refundSigner } = await world.openWallet(30_000_000n)
  const asked = request(10_000_000n)
  await open().send(asked)
  await world.db.run(sql`
    update chain_payouts set status = 'reserved', valid_before = null, signature = null, used_at = now(), spent_units = 0,
      token_address = null where id = ${asked.id}`)
  const { chainId, usdcAddress } = world.chain
  const key = { from: refundSigner.address.toLowerCase() as Hex, nonce: nonceOf(asked.id) }
  const isCancelled = () =>
    isAuthorizationCancelled(world.db, chainId, { ...key, token: usdcAddress.toLowerCase() as Hex })
  assert.equal(await isCancelled(), true)
  const other = `0x${'a'.repeat(40)}` as const
  await insertPayingToken(world.db, chainId, other)
  assert.equal(await isCancelled(), false)
  await world.db.run(sql`delete from paying_tokens where token_address = ${other}`)
})

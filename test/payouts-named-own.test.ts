import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { parseTransaction } from 'viem/utils'
import { findPayoutHold } from '../src/assembly/chains.ts'
import type { Rpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { checkManualTransfer } from '../src/chain/payout/manual-transfer.ts'
import { openWatchPayout, type PayoutRequest } from '../src/chain/payout/payout.ts'
import { sql } from '../src/db/db.ts'
import { claimTransaction, releaseTransaction } from '../src/ledger/claim-queries.ts'
import { GWEI, type PayoutWorld, request, startPayoutWorld } from './harness/payout-world.ts'

/* A person names a transaction that the service itself has sent, while it waits. */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
})
after(() => world?.stop())

const rowOf = ({ id }: PayoutRequest) =>
  world.db.one<{ status: string; relayerNonce: bigint | null; presentTxHash: string; words: string }>(
    sql`select status, relayer_nonce, present_tx_hash, words from chain_payouts where id = ${id}`,
  )

/** A service with its keys, and what it does while a person names a transaction. */
async function openNamed(rpc: Rpc = world.rpc) {
  const { open, relayerSigner, refundSigner } = await world.openWallet(100_000_000n)
  const network = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
  const clock = () => Date.now() + world.aheadMs()
  const chain = { db: world.db, clock, rpc, agree: agreeAlone(rpc), network }
  const payouts = open({ findNamedHold: findPayoutHold, rpc })
  const watchPayout = openWatchPayout({
    ...{ ...chain, relayerSigner, log: pino({ level: 'silent' }), findNamedHold: findPayoutHold },
    ownWallet: refundSigner.address.toLowerCase(),
  })
  const claimOf = ({ id: causeId, to: toAddress }: PayoutRequest, txHash: string) => ({
    ...{ companyId: 'c', network: network.chainId, txHash, causeId, toAddress },
  })
  const claim = (asked: PayoutRequest, txHash: string) =>
    world.db.tx((tx) => claimTransaction(tx, claimOf(asked, txHash)))
  const release = (asked: PayoutRequest, txHash: string) =>
    world.db.tx((tx) => releaseTransaction(tx, claimOf(asked, txHash)))
  const check = (asked: PayoutRequest & { isFollowed?: true }, txHash: string) =>
    checkManualTransfer({ ...chain, payouts, watchPayout }, asked, txHash)
  const name = async (asked: PayoutRequest, txHash: string) => {
    await claim(asked, txHash)
    await assert.rejects(check(asked, txHash), { code: 'VALIDATION_FAILED' })
    await release(asked, txHash)
  }
  const sentBy = () =>
    world.db.many<{ txHash: string }>(
      sql`select tx_hash from chain_payout_transactions where signer_address = ${relayerSigner.address.toLowerCase()}`,
    )
  return { payouts, watchPayout, claim, release, check, name, sentBy }
}

test('a person who names the pending transaction of the service itself changes nothing of it', async () => {
  const { payouts, name, sentBy } = await openNamed()
  const [asked, behind] = [request(), request()]
  for (const one of [asked, behind]) await payouts.send(one)
  const sent = await rowOf(asked)
  for (let time = 0; time < 3; time += 1) {
    await name(asked, sent.presentTxHash)
    assert.deepEqual(await rowOf(asked), sent)
    for (const one of [behind, asked]) await payouts.send(one)
  }
  assert.equal((await sentBy()).length, 2)
  await world.chain.mine(20)
  for (const one of [asked, behind]) assert.equal((await payouts.send(one)).outcome, 'settled')
})

test('what stayed named after a crash goes on where it is the own transaction, and not where it is a foreign one', async () => {
  const { payouts, watchPayout, claim, release, sentBy } = await openNamed()
  const asked = request()
  await payouts.send(asked)
  const { presentTxHash, relayerNonce } = await rowOf(asked)
  await claim(asked, presentTxHash)
  await world.chain.call('anvil_dropAllTransactions')
  await watchPayout(asked.id)
  const { status, relayerNonce: kept, words } = await rowOf(asked)
  assert.deepEqual([status, kept], ['sent', relayerNonce])
  assert.equal((await sentBy()).length, 1)
  assert.notEqual(await world.rpc.call('eth_getTransactionByHash', presentTxHash), null, 'it is submitted again')
  await watchPayout(asked.id)
  assert.match((await rowOf(asked)).words, /^It is signed, and only followed now/, words)
  const foreign = `0x${'7'.repeat(64)}`
  await claim(asked, foreign)
  await watchPayout(asked.id)
  assert.deepEqual((await rowOf(asked)).relayerNonce, null)
  for (const one of [foreign, presentTxHash]) await release(asked, one)
  await world.chain.mine(20)
  assert.equal((await payouts.send(asked)).outcome, 'settled')
})

/** As go-ethereum: a pool keeps what it has while its fee is too low. Anvil drops it. */
function keepsAll(): { rpc: Rpc; kept: Set<string> } {
  const kept = new Set<string>()
  const call: Rpc['call'] = async <Result>(method: string, ...params: unknown[]) =>
    method === 'eth_getTransactionByHash' && kept.has(String(params[0]))
      ? ({ hash: params[0] } as Result)
      : world.rpc.call<Result>(method, ...params)
  return { rpc: { ...world.rpc, call }, kept }
}

for (const which of ['own', 'foreign'] as const)
  test(`what is only followed keeps nothing waiting behind its nonce when gas gets dearer: ${which} is named`, async () => {
    const { rpc, kept } = keepsAll()
    const { payouts, watchPayout, claim } = await openNamed(rpc)
    await world.mineAt(GWEI)
    const [asked, behind] = [request(), request()]
    for (const one of [asked, behind]) await payouts.send(one)
    const { presentTxHash } = await rowOf(asked)
    kept.add(presentTxHash)
    await claim(asked, which === 'own' ? presentTxHash : `0x${'7'.repeat(64)}`)
    for (let time = 0; time < 40; time += 1) {
      await world.mineAt(40n * GWEI)
      await watchPayout(asked.id)
      await payouts.send(behind)
    }
    assert.equal(await world.chain.balanceOf(behind.to), behind.units)
    assert.equal(await world.chain.balanceOf(asked.to), which === 'own' ? asked.units : 0n)
  })

test('a refund in the minute after its authorization is not told to plan a sweep', async () => {
  const { rpc, kept } = keepsAll()
  const { payouts, watchPayout } = await openNamed(rpc)
  await world.mineAt(GWEI)
  const asked = request()
  await payouts.send(asked)
  kept.add((await rowOf(asked)).presentTxHash)
  const { validBefore } = await world.db.one<{ validBefore: bigint }>(
    sql`select valid_before from chain_payouts where id = ${asked.id}`,
  )
  for (let time = 0; time < 12; time += 1) await world.mineAt(40n * GWEI)
  await world.chain.call('evm_setNextBlockTimestamp', Number(validBefore) + 10)
  await world.mineAt(40n * GWEI)
  await watchPayout(asked.id)
  const { words } = await world.db.one<{ words: string }>(sql`select words from chain_payouts where id = ${asked.id}`)
  assert.doesNotMatch(words, /sweep/)
})

/** Someone else submits what is signed for it, and that is in a block. @returns its hash */
async function submitElsewhere({ id }: PayoutRequest): Promise<string> {
  const { raw } = await world.db.one<{ raw: `0x02${string}` }>(
    sql`select raw from chain_payout_transactions where payout_id = ${id}`,
  )
  await world.chain.call('anvil_dropAllTransactions')
  const from = `0x${'5'.repeat(40)}`
  await world.chain.call('anvil_setBalance', from, '0xde0b6b3a7640000')
  await world.chain.call('anvil_impersonateAccount', from)
  const { to, data } = parseTransaction(raw)
  const txHash = await world.rpc.call<string>('eth_sendTransaction', { from, to, data, gas: '0x30d40' })
  await world.chain.mine()
  return txHash
}

for (const isOld of [false, true])
  test(`the own transaction settles what someone else had submitted, if that is undone; followed by an earlier version: ${isOld}`, async () => {
    const { payouts, claim, check, name } = await openNamed()
    const asked = request()
    await payouts.send(asked)
    const { presentTxHash } = await rowOf(asked)
    const foreign = await submitElsewhere(asked)
    await payouts.send(asked)
    if (isOld) await claim(asked, foreign)
    else await name(asked, foreign)
    const poll = () => (isOld ? check({ ...asked, isFollowed: true }, foreign) : payouts.send(asked))
    await world.chain.reorg(1)
    await world.chain.call('anvil_dropAllTransactions')
    for (let time = 0; time < 2; time += 1) assert.equal((await poll()).outcome, 'pending')
    await world.chain.mine()
    assert.equal((await poll()).outcome, 'pending')
    await world.chain.mine(20)
    const { outcome, txHash } = await poll()
    assert.deepEqual([outcome, txHash], ['settled', presentTxHash])
    assert.equal(await world.chain.balanceOf(asked.to), asked.units)
  })

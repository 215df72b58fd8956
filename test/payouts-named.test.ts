import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import pino from 'pino'
import { type Rpc, type RpcCall, RpcError } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { checkManualTransfer } from '../src/chain/payout/manual-transfer.ts'
import { openWatchPayout, type PayoutRequest, type Payouts } from '../src/chain/payout/payout.ts'
import { findOtherPayout } from '../src/chain/payout/payout-recheck.ts'
import { findRestoreHold } from '../src/chain/payout/state/after-restore.ts'
import { insertPayingWallet } from '../src/chain/payout/wallet-queries.ts'
import { sql } from '../src/db/db.ts'
import { DAY } from '../src/kernel/clock.ts'
import { GWEI, type PayoutWorld, request, startPayoutWorld, VALID_SECONDS } from './harness/payout-world.ts'
import { forgetPayout, restore, restoreNow } from './harness/restored.ts'

/* What left before a restore and is named, or not found, while its block is not final or is undone. */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
  await restore(world.db)
})
after(() => world?.stop())

const network = () => networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
/** The service has the keys of another wallet. */
const ELSEWHERE = { address: `0x${'e'.repeat(40)}` }
const chainOf = (rpc: Rpc = world.rpc) => ({ rpc, agree: agreeAlone(rpc), network: network(), payouts: ELSEWHERE })

/** A node that keeps no old logs. */
const shortLogs = (): Rpc => ({
  ...world.rpc,
  call: async (name, ...params) => {
    const oldest = (await world.chain.blockNumber()) - 1000n
    return name === 'eth_getLogs' && BigInt((params[0] as { fromBlock: string }).fromBlock) < oldest
      ? Promise.reject(new RpcError('definite', 'history has been pruned for this block'))
      : world.rpc.call(name, ...params)
  },
})

const silent = (): Rpc => {
  const never = () => Promise.reject(Object.assign(new RpcError('unknown', 'no answer'), { unanswered: true }))
  return { ...world.rpc, call: never, batch: never }
}

/** Refuses whatever is asked. */
const busy = (): Rpc => {
  const refuse = () => Promise.reject(new RpcError('unknown', 'HTTP 429: too many requests'))
  return { ...world.rpc, call: refuse, batch: refuse }
}

const deps = (rpc: Rpc = world.rpc) => {
  const chain = { db: world.db, clock: Date.now, rpc, agree: agreeAlone(rpc), network: network() }
  return { ...chain, watchPayout: openWatchPayout({ ...chain, log: pino({ level: 'silent' }) }) }
}

const name = (asked: PayoutRequest, txHash: string, rpc?: Rpc) => checkManualTransfer(deps(rpc), asked, txHash)

const holdOf = (asked: Parameters<typeof findRestoreHold>[2] | PayoutRequest, rpc?: Rpc, clock = Date.now) =>
  findRestoreHold({ db: world.db, clock }, chainOf(rpc), { ...asked, chainId: world.chain.chainId })

/** Why the next refund of the same order waits. */
const nextWaits = (first: PayoutRequest) =>
  findOtherPayout(
    { db: world.db, chains: [chainOf()], clock: Date.now, isFollowed: async () => false },
    { network: world.chain.chainId, id: request().id },
    async () => ({ since: new Date(0), known: [first.id], next: [] }),
  )

const rowOf = ({ id }: PayoutRequest) =>
  world.db.one<{ status: string; txHash: string | null; usedAt: Date | null }>(
    sql`select status, tx_hash, used_at from chain_payouts where id = ${id}`,
  )

/** Signed in an earlier database and in a block, which the restored one knows nothing about. */
async function leaveUnfinal(t: TestContext) {
  const { open, refundSigner } = await world.openWallet(30_000_000n)
  const asked = request(10_000_000n)
  await open({ validSeconds: 3600 }).send(asked)
  const { raw, hash } = await world.db.one<{ raw: string; hash: string }>(
    sql`select raw, tx_hash as hash from chain_payout_transactions where payout_id = ${asked.id}`,
  )
  await world.chain.mine()
  await forgetPayout(world.db, asked)
  await insertPayingWallet(world.db, world.chain.chainId, refundSigner.address)
  const back = await restoreNow(world.db)
  t.after(back)
  const undo = async () => {
    await world.chain.reorg(1)
    await world.chain.call('anvil_dropAllTransactions')
  }
  const comeBack = async () => {
    await world.rpc.call('eth_sendRawTransaction', raw)
    await world.chain.mine(20)
  }
  return { asked, hash, open, undo, comeBack }
}

test('what was named in a block and undone is held for the pools, and settled by its own transaction if it comes back', async (t) => {
  const { asked, hash, undo, comeBack } = await leaveUnfinal(t)
  assert.equal((await name(asked, hash)).outcome, 'pending')
  const { status, txHash } = await rowOf(asked)
  assert.deepEqual([status, txHash], ['mined', hash], 'its payout is followed there')
  assert.match((await holdOf(asked)) ?? '', /is not final yet/)
  assert.match((await nextWaits(asked)) ?? '', /another one, which is not finished here/)
  await undo()
  assert.match((await holdOf(asked)) ?? '', /may still wait in the pool/)
  await assert.rejects(name(asked, hash), { code: 'VALIDATION_FAILED' })
  assert.equal((await rowOf(asked)).txHash, null, 'it fell back')
  assert.match((await holdOf(asked)) ?? '', /may still wait in the pool/)
  await comeBack()
  assert.match((await holdOf(asked)) ?? '', new RegExp(`Transaction ${hash} .* has paid exactly this`))
  assert.equal((await name(asked, hash)).outcome, 'settled')
  assert.match(
    (await nextWaits(asked)) ?? '',
    /may still wait in the pool/,
    'for this one no longer, only for the pools',
  )
  assert.equal(await world.chain.balanceOf(asked.to), asked.units)
})

test('what was named in a block and undone is not paid by hand while it may wait in a pool', async (t) => {
  const { asked, hash, undo } = await leaveUnfinal(t)
  assert.equal((await name(asked, hash)).outcome, 'pending')
  await undo()
  const byHand = await world.chain.pay({ to: asked.to, units: asked.units })
  await world.chain.mine(20)
  for (let time = 0; time < 2; time += 1) {
    await assert.rejects(name(asked, byHand), { code: 'OBJECT_CONFLICT', message: /may still wait in the pool/ })
    await assert.rejects(name(asked, hash), { code: 'VALIDATION_FAILED' })
  }
})

test('what an earlier version took before it was final is not accounted for once it is dropped', async (t) => {
  const { asked, hash, undo, comeBack } = await leaveUnfinal(t)
  await name(asked, hash)
  await world.db.run(
    sql`update chain_payouts set status = 'failed', left_nonce = authorization_nonce where id = ${asked.id}`,
  )
  await undo()
  assert.match((await holdOf(asked)) ?? '', /may still wait in the pool/)
  assert.equal(await world.withdraw(asked), true)
  assert.equal((await rowOf(asked)).txHash, null)
  await comeBack()
  assert.match((await nextWaits(asked)) ?? '', new RegExp(`rejected or cancelled here, left .* ${hash} `))
})

test('what was found in a block and undone is not accounted for once it is dropped', async (t) => {
  const { asked, hash, open, undo, comeBack } = await leaveUnfinal(t)
  await open().resume(asked)
  assert.deepEqual((await rowOf(asked)).txHash, hash)
  await undo()
  await open().resume(asked)
  const { status, txHash } = await rowOf(asked)
  assert.deepEqual([status, txHash], ['reserved', null])
  await comeBack()
  assert.match((await holdOf(asked)) ?? '', /has paid exactly this/)
  assert.equal(await world.withdraw(asked), true, 'by a node that does not ask')
  assert.match((await nextWaits(asked)) ?? '', new RegExp(`rejected or cancelled here, left .* ${hash} `))
})

test('a payout that a transaction paid which the node does not find is settled once a person names that one', async () => {
  const { open, refundSigner } = await world.openWallet(15_000_000n)
  await insertPayingWallet(world.db, world.chain.chainId, refundSigner.address)
  const asked = request()
  await open({ validSeconds: 3600 }).send(asked)
  const { hash } = await world.db.one<{ hash: string }>(
    sql`select present_tx_hash as hash from chain_payouts where id = ${asked.id}`,
  )
  // after the backup its fees are raised, and that one is mined
  const other = open({ stuckBlocks: 0n, validSeconds: 3600, maxFeeWei: 20n * GWEI })
  for (let poll = 0; poll < 4; poll += 1) await other.send(asked)
  const { raised } = await world.db.one<{ raised: string }>(
    sql`select present_tx_hash as raised from chain_payouts where id = ${asked.id}`,
  )
  assert.notEqual(raised, hash)
  await world.chain.mine(1100)
  await world.db.run(sql`delete from chain_payout_transactions where payout_id = ${asked.id} and tx_hash <> ${hash}`)
  await world.db.run(sql`update chain_payouts set status = 'sent', present_tx_hash = ${hash} where id = ${asked.id}`)
  const rpc = shortLogs()
  const restored = open({ rpc, agree: agreeAlone(rpc) })
  for (let poll = 0; poll < 2; poll += 1) assert.match((await restored.send(asked)).providerStatus, /Look it up/)
  assert.equal((await name(asked, raised, rpc)).outcome, 'settled')
  assert.equal((await restored.send(asked)).outcome, 'settled')
})

test('what the node does not find is waited for only until nothing can be in a pool any more', async () => {
  const { open, refundSigner } = await world.openWallet(15_000_000n)
  const asked = request()
  await open().send(asked)
  await world.chain.mine(1100)
  await forgetPayout(world.db, asked)
  await insertPayingWallet(world.db, world.chain.chainId, refundSigner.address)
  const back = await restoreNow(world.db)
  assert.match((await holdOf(asked, shortLogs())) ?? '', /the node does not find\. Look .* up in an explorer, and name/)
  await back()
  assert.equal(await holdOf(asked, shortLogs()), null)
})

test('what is new since a restore does not wait for a silent node, and nothing does once that is silent for a day', async () => {
  const asked = request()
  const { restoredAt } = await world.db.one<{ restoredAt: Date }>(sql`select restored_at from installation`)
  const after = (ms: number) => () => restoredAt.getTime() + ms
  const of = (since: Date) => ({ ...asked, since, chainId: world.chain.chainId })
  const [old, fresh] = [of(restoredAt), of(new Date(after(DAY)()))]
  await assert.rejects(holdOf(old, silent(), after(DAY)), { code: 'CHANNEL_UNAVAILABLE' })
  assert.equal(await holdOf(fresh, silent(), after(DAY)), null)
  const late = after(3 * DAY)
  await assert.rejects(holdOf(old, silent(), late), { code: 'CHANNEL_UNAVAILABLE' }, 'it was never read')
  const answeredAt = (ms: number, trouble: string | null = null) =>
    world.db.run(sql`
      insert into chain_heads (chain_id, scanned_at, trouble)
      values (${world.chain.chainId}, ${new Date(ms)}, ${trouble})
      on conflict (chain_id) do update set scanned_at = excluded.scanned_at, trouble = excluded.trouble`)
  await answeredAt(late() - DAY / 2)
  await assert.rejects(holdOf(old, silent(), late), { code: 'CHANNEL_UNAVAILABLE' }, 'half a day ago it answered')
  await answeredAt(restoredAt.getTime() - DAY)
  await assert.rejects(holdOf(old, silent(), late), { code: 'CHANNEL_UNAVAILABLE' }, 'it was not read since')
  await answeredAt(late() - 2 * DAY, 'disagreement')
  await assert.rejects(holdOf(old, silent(), late), { code: 'CHANNEL_UNAVAILABLE' }, 'reading was stopped')
  await answeredAt(late() - 2 * DAY)
  await assert.rejects(holdOf(old, busy(), late), { code: 'CHANNEL_UNAVAILABLE' }, 'it answers now')
  assert.equal(await holdOf(old, silent(), late), null)
})

test('a refund that has left exactly as asked is not rejected because a node refused one question, days later', async () => {
  const { open, refundSigner } = await world.openWallet(30_000_000n)
  await insertPayingWallet(world.db, world.chain.chainId, refundSigner.address)
  const asked = request(10_000_000n)
  await open({ validSeconds: 3600 }).send(asked)
  await world.chain.mine(20)
  assert.equal((await open().send(asked)).outcome, 'settled')
  await forgetPayout(world.db, asked)
  const late = () => Date.now() + 3 * DAY
  assert.match((await holdOf(asked, world.rpc, late)) ?? '', /has paid exactly this/)
  await assert.rejects(holdOf(asked, busy(), late), { code: 'CHANNEL_UNAVAILABLE', message: /Try again in a moment/ })
})

/** It ran out before the backup, left after it, was named after the restore, and its block was undone. */
async function undoNamed(t: TestContext) {
  const { open, refundSigner } = await world.openWallet(30_000_000n)
  await insertPayingWallet(world.db, world.chain.chainId, refundSigner.address)
  const asked = request(10_000_000n)
  await open().send(asked)
  await world.chain.call('anvil_dropAllTransactions')
  await world.pass(VALID_SECONDS + 100)
  await open().resume(asked)
  assert.deepEqual([(await world.rowOf(asked)).status, (await world.rowOf(asked)).validBefore], ['reserved', null])
  const { first } = await world.db.one<{ first: string }>(
    sql`select present_tx_hash as first from chain_payouts where id = ${asked.id}`,
  )
  await open({ validSeconds: 3600 }).send(asked)
  const { hash } = await world.db.one<{ hash: string }>(
    sql`select present_tx_hash as hash from chain_payouts where id = ${asked.id}`,
  )
  await world.chain.mine()
  await world.db.run(sql`delete from chain_payout_transactions where payout_id = ${asked.id} and tx_hash <> ${first}`)
  await world.db.run(sql`
    update chain_payouts set status = 'reserved', signature = null, valid_before = null, relayer_address = null,
      relayer_nonce = null, tx_hash = null, present_tx_hash = ${first} where id = ${asked.id}`)
  t.after(await restoreNow(world.db))
  assert.equal((await name(asked, hash)).outcome, 'pending')
  await world.chain.reorg(1)
  await world.chain.call('anvil_dropAllTransactions')
  return { asked, hash, open }
}

for (const isWatched of [true, false])
  test(`what ran out once, was named and undone is ended once no pool can have it (without keys: ${isWatched})`, async (t) => {
    const { asked, hash, open } = await undoNamed(t)
    if (isWatched) await assert.rejects(name(asked, hash), { code: 'VALIDATION_FAILED' })
    else await open().resume(asked)
    const { status, txHash } = await rowOf(asked)
    assert.deepEqual([status, txHash], ['reserved', null])
    assert.match((await holdOf(asked)) ?? '', /may still wait in the pool/)
    assert.equal(await world.withdraw(asked), true)
  })

test('what an earlier version left as sent, undated, is ended by a person and goes on with the keys', async (t) => {
  for (const isEnded of [true, false]) {
    const { asked, hash, open } = await undoNamed(t)
    await world.db.run(sql`update chain_payouts set status = 'sent' where id = ${asked.id}`)
    assert.match((await holdOf(asked)) ?? '', /may still wait in the pool/)
    if (isEnded) assert.equal(await world.withdraw(asked), true)
    else await open().resume(asked)
    const { status, txHash } = await rowOf(asked)
    assert.deepEqual([status, txHash], [isEnded ? 'failed' : 'reserved', null], hash)
  }
})

/** Signed before the restore by this wallet, and in no pool that the node shows. */
async function loseSigned(payouts: Payouts, asked: PayoutRequest) {
  await payouts.send(asked)
  const { raw } = await world.db.one<{ raw: string }>(
    sql`select raw from chain_payout_transactions where payout_id = ${asked.id}`,
  )
  await forgetPayout(world.db, asked)
  await world.chain.call('anvil_dropAllTransactions')
  return raw
}

for (const isNext of [true, false])
  test(`with the keys, what waits in a pool ${isNext ? 'under the next number' : 'from an earlier wallet'} is waited for`, async (t) => {
    const [former, present] = [await world.openWallet(30_000_000n), await world.openWallet(30_000_000n)]
    for (const { refundSigner } of [former, present])
      await insertPayingWallet(world.db, world.chain.chainId, refundSigner.address)
    const asked = request()
    const lost = isNext ? { ...request(), to: asked.to } : asked
    const raw = await loseSigned((isNext ? present : former).open({ validSeconds: 3600 }), lost)
    const back = await restoreNow(world.db)
    t.after(back)
    const chain = { ...chainOf(), payouts: present.open() }
    const waits = (since = new Date(0)) =>
      findOtherPayout(
        { db: world.db, chains: [chain], clock: Date.now, isFollowed: async () => false },
        { network: world.chain.chainId, id: asked.id },
        async () => ({ since, known: [asked.id], next: isNext ? [lost.id] : [] }),
      )
    // the clock of the chain is ahead of ours by what the tests before have passed
    const ahead = world.aheadMs()
    await world.db.run(sql`update installation set restored_at = restored_at + ${`${ahead} milliseconds`}::interval`)
    t.after(() =>
      world.db.run(sql`update installation set restored_at = restored_at - ${`${ahead} milliseconds`}::interval`),
    )
    assert.match((await waits()) ?? '', /may still wait in the pool/)
    assert.equal(await waits(new Date(Date.now() + ahead + DAY)), null, 'made since')
    await world.rpc.call('eth_sendRawTransaction', raw)
    await world.chain.mine(20)
    assert.match((await waits()) ?? '', /before the database was restored or another server took over: transaction 0x/)
  })

test('a chain whose blocks are behind is named where it holds up the payouts of another one', async () => {
  await insertPayingWallet(world.db, 137, ELSEWHERE.address)
  const old = <Answer>(answer: Answer): Answer =>
    answer !== null && typeof answer === 'object' && 'timestamp' in answer ? { ...answer, timestamp: '0x1' } : answer
  const syncing: Rpc = {
    ...world.rpc,
    call: async (name, ...params) => old(await world.rpc.call(name, ...params)),
    batch: async <Result>(calls: readonly RpcCall[]) => (await world.rpc.batch<Result>(calls)).map(old),
  }
  const polygon = { ...chainOf(syncing), network: { ...network(), chainId: 137, name: 'Polygon' } }
  const waits = await findOtherPayout(
    { db: world.db, chains: [chainOf(), polygon], clock: Date.now, isFollowed: async () => false },
    { network: world.chain.chainId, id: request().id },
    async () => ({ since: new Date(0), known: [], next: [] }),
  )
  assert.match(waits ?? '', /may still wait in the pool .* Try again once Polygon has a later block\.$/)
  await world.db.run(sql`delete from paying_wallets where chain_id = 137`)
})

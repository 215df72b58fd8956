import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { parseTransaction } from 'viem/utils'
import { word } from '../sandbox/chain/rpc.ts'
import { DEPLOYER, PAYER } from '../sandbox/chain/throwaway-keys.ts'
import { mint } from '../sandbox/chain/token.ts'
import { listWallets } from '../src/chain/deposits/balance-audit-queries.ts'
import { createRpc, type Rpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { openPayouts, openWatchPayout, type PayoutRequest, withdrawPayout } from '../src/chain/payout/payout.ts'
import { localSigner, type Signer } from '../src/chain/payout/signer.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { eventually } from './harness/service.ts'

let chain: TestChain
let database: TestDatabase
let db: Db
let rpc: Rpc
let refundSigner: Signer
let relayerSigner: Signer
let payouts: ReturnType<typeof openPayouts>

const newKey = (): string => `0x${randomBytes(32).toString('hex')}`
const newAddress = (): string => localSigner(newKey()).address.toLowerCase()
const ETHER = '0x8ac7230489e80000'

type Options = Partial<Parameters<typeof openPayouts>[0]>

const open = (options: Options = {}): ReturnType<typeof openPayouts> =>
  openPayouts({
    ...{ db, rpc, refundSigner, relayerSigner, clock: Date.now, log: pino({ level: 'silent' }) },
    network: networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress }),
    ...options,
  })

before(async () => {
  ;[chain, database] = await Promise.all([startTestChain(), createTestDatabase()])
  db = openDb({ connectionString: database.connectionString })
  rpc = createRpc({ url: chain.rpcUrl })
  refundSigner = localSigner(newKey())
  relayerSigner = localSigner(newKey())
  await mint(chain.call, refundSigner.address, 1_000_000_000n)
  await chain.call('anvil_setBalance', relayerSigner.address, ETHER)
  payouts = open()
})
after(async () => {
  await rpc?.close()
  await db?.close()
  await database?.drop()
  await chain?.stop()
})

const request = (units = 1_500_000n, to = newAddress()): PayoutRequest => ({ id: newId(), to, units })

const rowOf = (id: string) =>
  db.one<{ status: string; relayerNonce: bigint | null; validBefore: bigint | null; txHash: string | null }>(
    sql`select status, relayer_nonce, valid_before, tx_hash from chain_payouts where id = ${id}`,
  )
const transactionsOf = (id: string) =>
  db.many<{ txHash: string; raw: `0x${string}`; relayerNonce: bigint; sentBlock: bigint | null }>(
    sql`select tx_hash, raw, relayer_nonce, sent_block from chain_payout_transactions where payout_id = ${id} order by created_at, max_fee_wei`,
  )
const owner = async (data: string): Promise<void> => {
  await chain.call('eth_sendTransaction', { from: DEPLOYER, to: chain.usdcAddress, data })
  await chain.mine()
}
const blacklist = (address: string): Promise<void> => owner(`0xf9f92be4${word(address)}`)
const unBlacklist = (address: string): Promise<void> => owner(`0x1a895266${word(address)}`)

/** A node whose answers to one method are changed. */
const wrapRpc = (method: string, instead: (go: () => Promise<unknown>) => Promise<unknown>): Rpc => ({
  ...rpc,
  call: <Result>(name: string, ...params: unknown[]): Promise<Result> => {
    const go = () => rpc.call<Result>(name, ...params)
    return (name === method ? instead(go) : go()) as Promise<Result>
  },
})

const settle = (asked: PayoutRequest, with_ = payouts) => chain.mine(3).then(() => with_.send(asked))

test('a payout is settled when the chain’s rule calls it final, not before', async () => {
  const asked = request()
  assert.equal((await payouts.send(asked)).outcome, 'pending')
  assert.equal((await rowOf(asked.id)).status, 'sent')
  await chain.mine()
  const mined = await payouts.send(asked)
  assert.deepEqual([mined.outcome, (await rowOf(asked.id)).status], ['pending', 'mined'])
  assert.equal(await chain.balanceOf(asked.to), asked.units)
  await chain.mine()
  assert.equal((await payouts.send(asked)).outcome, 'pending')
  await chain.mine()
  const settled = await payouts.send(asked)
  assert.deepEqual([settled.outcome, settled.txHash], ['settled', (await transactionsOf(asked.id))[0]?.txHash])
  assert.deepEqual(await payouts.send(asked), settled)
})

test('two workers at once, and again and again, pay once', async () => {
  const other = open()
  const asked = request()
  await Promise.all([payouts, other, payouts, other, payouts].map((worker) => worker.send(asked)))
  await chain.mine()
  await Promise.all([payouts, other].map((worker) => worker.send(asked)))
  assert.equal((await settle(asked, other)).outcome, 'settled')
  assert.equal(await chain.balanceOf(asked.to), asked.units)
  assert.equal((await transactionsOf(asked.id)).length, 1)
})

test('killed between signing and sending: the stored bytes are sent, once', async () => {
  const asked = request()
  const dying = open({
    rpc: wrapRpc('eth_sendRawTransaction', () => Promise.reject(new Error('the process ends here'))),
  })
  await assert.rejects(dying.send(asked), /the process ends here/)
  const stored = await transactionsOf(asked.id)
  assert.deepEqual([(await rowOf(asked.id)).status, stored.length, stored[0]?.sentBlock], ['signed', 1, null])
  await payouts.send(asked)
  const settled = await settle(asked)
  assert.deepEqual([settled.outcome, settled.txHash], ['settled', stored[0]?.txHash])
  assert.equal(await chain.balanceOf(asked.to), asked.units)
})

test('a node that took the transaction and did not answer is asked, not sent another', async () => {
  const asked = request()
  const deaf = open({
    rpc: wrapRpc('eth_sendRawTransaction', async (go) => {
      await go()
      throw new RpcError('unknown', 'no answer')
    }),
  })
  assert.equal((await deaf.send(asked)).outcome, 'unknown')
  assert.equal((await payouts.send(asked)).outcome, 'pending') // "already imported"
  assert.equal((await settle(asked)).outcome, 'settled')
  const late = request()
  assert.equal((await deaf.send(late)).outcome, 'unknown')
  await chain.mine(3)
  assert.equal((await payouts.send(late)).outcome, 'settled') // "nonce too low"
  for (const { to, id, units } of [asked, late]) {
    assert.equal(await chain.balanceOf(to), units)
    assert.equal((await transactionsOf(id)).length, 1)
  }
})

test('a transaction that waits is sent again with both fees an eighth higher, and every hash is kept', async () => {
  const asked = request()
  const hasty = open({ stuckBlocks: 2n })
  await hasty.send(asked)
  const [first] = await transactionsOf(asked.id)
  for (let block = 0; block < 2; block += 1) {
    await chain.call('anvil_setNextBlockBaseFeePerGas', `0x${(100n * 10n ** 9n).toString(16)}`)
    await chain.mine()
  }
  // the local node may have dropped it by then: it is handed in again, refused, and signed anew
  for (let visit = 0; visit < 2; visit += 1) await hasty.send(asked)
  const sent = await transactionsOf(asked.id)
  assert.equal(sent.length, 2)
  const [earlier, bumped] = sent.map(({ raw }) => parseTransaction(raw))
  assert.equal(earlier?.nonce, bumped?.nonce)
  for (const fee of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const)
    assert.ok(Number(bumped?.[fee]) >= Number(earlier?.[fee]) * 1.125, fee)
  const settled = await settle(asked, hasty)
  assert.deepEqual([settled.outcome, settled.txHash], ['settled', sent[1]?.txHash])
  assert.notEqual(settled.txHash, first?.txHash)
  assert.equal(await chain.balanceOf(asked.to), asked.units)
})

test('an authorization that ran out unused is signed again, and not before', async () => {
  const asked = request()
  const brief = open({ validSeconds: 600 })
  await brief.send(asked)
  await chain.call('anvil_dropAllTransactions')
  const { validBefore } = await rowOf(asked.id)
  await brief.send(asked)
  assert.equal((await rowOf(asked.id)).validBefore, validBefore)
  await chain.call('anvil_dropAllTransactions')
  await chain.call('evm_increaseTime', 700)
  await chain.mine()
  for (let visit = 0; visit < 2; visit += 1) await brief.send(asked)
  assert.ok(((await rowOf(asked.id)).validBefore ?? 0n) > (validBefore ?? 0n))
  assert.equal((await settle(asked, brief)).outcome, 'settled')
  assert.equal(await chain.balanceOf(asked.to), asked.units)
})

test('a destination that the issuer has blocked is refused, before anything is signed', async () => {
  const asked = request()
  await blacklist(asked.to)
  const refused = await payouts.send(asked)
  assert.deepEqual([refused.outcome, refused.txHash], ['refused', null])
  assert.match(refused.providerStatus, /blocked 0x/)
  await unBlacklist(asked.to)
  assert.equal((await payouts.send(asked)).outcome, 'refused')
  assert.deepEqual(await transactionsOf(asked.id), [])
})

test('what the token refuses for good is refused in the end, also in words that no database takes', async () => {
  const asked = request(1n, `0x${'0'.repeat(40)}`)
  let answer = await payouts.send(asked)
  for (let tries = 0; tries < 10 && answer.outcome === 'pending'; tries += 1) answer = await payouts.send(asked)
  assert.equal(answer.outcome, 'refused')
  assert.match(answer.providerStatus, /^The token refuses the transfer: eth_call: execution reverted/)
  assert.deepEqual(await transactionsOf(asked.id), [])
})

test('blocked after it was signed: refused only when the authorization cannot be used any more', async () => {
  const asked = request()
  const brief = open({ validSeconds: 600 })
  await brief.send(asked)
  const blocking = { from: DEPLOYER, to: chain.usdcAddress, data: `0xf9f92be4${word(asked.to)}` }
  await chain.call('eth_sendTransaction', {
    ...blocking,
    maxPriorityFeePerGas: '0x174876e800',
    maxFeePerGas: '0x2e90edd000',
  })
  await chain.mine()
  for (let visit = 0; visit < 3; visit += 1) assert.equal((await brief.send(asked)).outcome, 'pending')
  await chain.call('evm_increaseTime', 700)
  await chain.mine()
  assert.equal((await brief.send(asked)).outcome, 'refused')
  assert.equal(await chain.balanceOf(asked.to), 0n)
})

test('a wallet without enough money says so and goes on when it is funded', async () => {
  const asked = request(5_000_000_000n)
  const short = await payouts.send(asked)
  assert.equal(short.outcome, 'pending')
  assert.match(short.providerStatus, /holds \d+\.\d{6} USDC; 5000\.000000 USDC are needed/)
  assert.deepEqual(await transactionsOf(asked.id), [])
  await mint(chain.call, refundSigner.address, 5_000_000_000n)
  assert.equal((await payouts.send(asked)).outcome, 'pending')
  assert.equal((await settle(asked)).outcome, 'settled')
})

test('a relayer without native coin says so and goes on when it is funded', async () => {
  const poor = localSigner(newKey())
  const asked = request()
  const mine = open({ relayerSigner: poor })
  assert.match((await mine.send(asked)).providerStatus, /too little native coin/)
  assert.equal((await rowOf(asked.id)).relayerNonce, null)
  await chain.call('anvil_setBalance', poor.address, ETHER)
  await mine.send(asked)
  assert.equal((await settle(asked, mine)).outcome, 'settled')
})

test('many payouts through two workers at once take account nonces without gap or clash', async () => {
  const all = Array.from({ length: 12 }, () => request(10_000n))
  const workers = [payouts, open()]
  await Promise.all(all.flatMap((asked) => workers.map((worker) => worker.send(asked))))
  await chain.mine(3)
  const results = await Promise.all(all.map((asked) => payouts.send(asked)))
  assert.deepEqual(new Set(results.map(({ outcome }) => outcome)), new Set(['settled']))
  const nonces = await Promise.all(all.map(async ({ id }) => Number((await transactionsOf(id))[0]?.relayerNonce)))
  const sorted = nonces.toSorted((left, right) => left - right)
  assert.deepEqual(
    sorted,
    sorted.map((_, index) => (sorted[0] ?? 0) + index),
  )
})

test('an account nonce that was used elsewhere, and one that nobody uses, hold nothing up', async () => {
  const stolen = request()
  await payouts.send(stolen)
  await chain.call('anvil_dropAllTransactions')
  await chain.call('anvil_impersonateAccount', relayerSigner.address)
  await chain.call('eth_sendTransaction', { from: relayerSigner.address, to: PAYER.address, value: '0x1' })
  await chain.mine()
  for (let visit = 0; visit < 3; visit += 1) await payouts.send(stolen)
  assert.equal((await settle(stolen)).outcome, 'settled')
  const [lost, waiting] = [request(), request()]
  await payouts.send(lost)
  await payouts.send(waiting)
  await chain.call('anvil_dropTransaction', (await transactionsOf(lost.id))[0]?.txHash)
  await db.run(sql`delete from chain_payout_transactions where payout_id = ${lost.id}`)
  await db.run(sql`delete from chain_payouts where id = ${lost.id}`)
  await payouts.send(waiting)
  await chain.mine()
  assert.equal((await settle(waiting)).outcome, 'settled')
})

test('a transaction that is mined while its payout is followed settles it, also on a node without logs', async () => {
  const asked = request()
  await payouts.send(asked)
  await open({ rpc: wrapRpc('eth_getTransactionCount', (go) => chain.mine().then(go)) }).send(asked)
  assert.equal((await rowOf(asked.id)).status, 'reserved')
  const refusing = wrapRpc('eth_getLogs', () => Promise.reject(new RpcError('definite', 'no logs')))
  assert.equal((await settle(asked, open({ rpc: refusing }))).outcome, 'settled')
})

test('a payout that a former relayer started goes on with the new one, which sends nothing else', async () => {
  const takesGas = (address: string) => chain.call('anvil_setBalance', address, '0x0')
  const losesAnEarlierOne = (address: string) => chain.call('anvil_setNonce', address, '0x27')
  for (const happens of [takesGas, losesAnEarlierOne]) {
    const [former, current] = [localSigner(newKey()), localSigner(newKey())]
    for (const { address } of [former, current]) await chain.call('anvil_setBalance', address, ETHER)
    await chain.call('anvil_setNonce', former.address, '0x28')
    const asked = request()
    await open({ relayerSigner: former }).send(asked)
    await chain.call('anvil_dropAllTransactions')
    await happens(former.address)
    const mine = open({ relayerSigner: current, stuckBlocks: 2n })
    await eventually(
      () => settle(asked, mine),
      ({ outcome }) => outcome === 'settled',
    )
    const count = await chain.call<string>('eth_getTransactionCount', current.address, 'latest')
    assert.deepEqual([await chain.balanceOf(asked.to), BigInt(count)], [asked.units, 1n], happens.name)
  }
})

test('a payout whose block left the chain is sent again, once', async () => {
  const asked = request()
  await payouts.send(asked)
  await chain.mine()
  await payouts.send(asked)
  assert.equal((await rowOf(asked.id)).status, 'mined')
  await chain.reorg(1)
  await chain.call('anvil_dropAllTransactions')
  assert.equal(await chain.balanceOf(asked.to), 0n)
  await payouts.send(asked)
  assert.equal((await rowOf(asked.id)).status, 'sent')
  assert.equal((await settle(asked)).outcome, 'settled')
  assert.equal(await chain.balanceOf(asked.to), asked.units)
})

test('a payout that a reorganisation undid after it was final is sent again, once, and no other', async () => {
  const [kept, undone] = [request(), request()]
  await payouts.send(kept)
  assert.equal((await settle(kept)).outcome, 'settled')
  await payouts.send(undone)
  assert.equal((await settle(undone)).outcome, 'settled')
  await chain.reorg(3)
  await chain.call('anvil_dropAllTransactions')
  assert.deepEqual([await chain.balanceOf(kept.to), await chain.balanceOf(undone.to)], [kept.units, 0n])
  // its account nonce is free again, and another one takes it
  const other = request()
  await payouts.send(other)
  await payouts.recheck()
  assert.equal((await rowOf(undone.id)).status, 'final')
  const later = (minutes: number) => open({ clock: () => Date.now() + minutes * 60_000 })
  await later(6).recheck()
  assert.equal((await rowOf(undone.id)).status, 'sent')
  await chain.mine(3)
  await later(20).followReopened()
  assert.equal((await rowOf(undone.id)).status, 'final')
  assert.equal((await rowOf(other.id)).status, 'sent', 'a settlement that is stopped meanwhile is not worked on')
  const arrived = await Promise.all([kept, undone, other].map(({ to }) => chain.balanceOf(to)))
  assert.deepEqual(arrived, [kept.units, undone.units, other.units])
  await later(30).recheck()
  await later(30).followReopened()
  assert.equal(await chain.balanceOf(undone.to), undone.units)
})

test('a reopened payout that could not be handed in holds up the one behind it for two minutes', async () => {
  const [undone, behind] = [request(), request()]
  await payouts.send(undone)
  assert.equal((await settle(undone)).outcome, 'settled')
  await chain.reorg(3)
  await chain.call('anvil_dropAllTransactions')
  const alarms: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void alarms.push(line) })
  const refuse = () => Promise.reject(new RpcError('unknown', 'no answer', null))
  const later = (minutes: number, more: Options = {}) => open({ clock: () => Date.now() + minutes * 60_000, ...more })
  const deaf = { rpc: wrapRpc('eth_sendRawTransaction', refuse), log }
  await Promise.all([later(6, deaf).recheck(), later(6, deaf).recheck()])
  assert.equal(alarms.length, 1, 'two nodes alarm for one payout')
  assert.equal((await rowOf(undone.id)).status, 'signed')
  await payouts.send(behind)
  await chain.mine(3)
  assert.equal((await payouts.send(behind)).outcome, 'pending')
  await later(8).followReopened()
  await chain.mine(3)
  assert.equal((await payouts.send(behind)).outcome, 'settled')
  assert.equal(await chain.balanceOf(undone.to), undone.units)
  await later(10).followReopened()
  assert.equal((await rowOf(undone.id)).status, 'final')
})

test('an authorization that somebody else submitted counts, with his transaction', async () => {
  const asked = request()
  await payouts.send(asked)
  const [own] = await transactionsOf(asked.id)
  assert.ok(own)
  const { data } = parseTransaction(own.raw)
  await chain.call('anvil_dropTransaction', own.txHash)
  const foreign = await chain.call<string>('eth_sendTransaction', { from: PAYER.address, to: chain.usdcAddress, data })
  await chain.mine()
  const settled = await settle(asked)
  assert.deepEqual([settled.outcome, settled.txHash], ['settled', foreign])
  assert.equal(await chain.balanceOf(asked.to), asked.units)
})

const TAKEN_BACK = { by: 'canBeTakenBack', providerStatus: 'withdrawn' } as const
const withdraw = (asked: PayoutRequest): Promise<boolean> =>
  withdrawPayout(db, { ...asked, chainId: chain.chainId }, TAKEN_BACK, new Date())

test('what is paid by hand is never sent, and what is under way cannot be paid by hand', async () => {
  const [byHand, underWay] = [request(), request()]
  assert.equal(await withdraw(byHand), true)
  assert.equal((await payouts.send(byHand)).outcome, 'refused')
  assert.ok(!(await listWallets(db, chain.chainId)).includes(`0x${'0'.repeat(40)}`), 'it left no wallet to audit')
  await payouts.send(underWay)
  assert.equal(await withdraw(underWay), false)
  assert.equal((await settle(underWay)).outcome, 'settled')
})

test('an id that is used again for something else is a mistake, and pays nothing', async () => {
  const asked = request()
  await payouts.send(asked)
  await assert.rejects(payouts.send({ ...asked, units: asked.units + 1n }), /another chain, destination or amount/)
  await assert.rejects(payouts.send({ ...asked, to: newAddress() }), /another chain, destination or amount/)
  assert.equal((await settle(asked)).outcome, 'settled')
})

test('a payout that has an account nonce and cannot go on now holds no other up', async () => {
  const silent: Signer = {
    ...relayerSigner,
    signTransaction: () => Promise.reject(new RpcError('unknown', 'Web3Signer: no answer')),
  }
  const [large, small] = [request(200_000_000n), request(10_000n)]
  assert.equal((await open({ relayerSigner: silent }).send(large)).outcome, 'unknown')
  assert.notEqual((await rowOf(large.id)).relayerNonce, null)
  await payouts.send(small)
  // the operator takes money out of the wallet
  const from = refundSigner.address
  await chain.call('anvil_setBalance', from, ETHER)
  await chain.call('anvil_impersonateAccount', from)
  const rest = (await chain.balanceOf(from)) - 100_000_000n
  await chain.pay({ from, to: PAYER.address, units: rest })
  assert.match((await payouts.send(large)).providerStatus, /are needed. Fund it/)
  await payouts.send(small)
  await chain.mine()
  assert.equal((await settle(small)).outcome, 'settled')
  await chain.pay({ to: from, units: rest })
  for (let visit = 0; visit < 3; visit += 1) await payouts.send(large)
  assert.equal((await settle(large)).outcome, 'settled')
  assert.equal(await chain.balanceOf(large.to), large.units)
})

test('another program’s transaction with the same account nonce, which is never mined, is replaced', async () => {
  const refusals = Array.from({ length: 3 }, () => new RpcError('definite', 'replacement transaction underpriced'))
  const occupied: Rpc = wrapRpc('eth_sendRawTransaction', (go) => {
    const refusal = refusals.pop()
    return refusal ? Promise.reject(refusal) : go()
  })
  const asked = request()
  const sent = await open({ rpc: occupied, stuckBlocks: 2n }).send(asked)
  assert.match(sent.providerStatus, /has another transaction .* with the account nonce \d+/)
  await open({ rpc: occupied, stuckBlocks: 0n }).send(asked)
  assert.equal((await transactionsOf(asked.id)).length, 2)
  assert.equal((await settle(asked)).outcome, 'settled')
})

test('waiting for money or gas counts as no refusal of the token', async () => {
  const asked = request()
  const waiting = open({ relayerSigner: localSigner(newKey()) })
  await waiting.send(asked)
  await db.run(sql`update chain_payouts set used_at = now() where id = ${asked.id}`) // as a node said, wrongly
  for (let visit = 0; visit < 10; visit += 1) await waiting.send(asked)
  const row = await db.one(sql`select refusals, used_at from chain_payouts where id = ${asked.id}`)
  assert.deepEqual(row, { refusals: 0, usedAt: null })
  assert.equal((await settle(asked)).outcome, 'pending')
  assert.equal((await settle(asked)).outcome, 'settled')
})

test('without the keys a payout is followed until it is final, or until no one can use what was signed', async () => {
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const options = { db, rpc, agree: agreeAlone(rpc), network, clock: Date.now, log: pino({ level: 'silent' }) }
  const watchPayout = openWatchPayout(options)
  const [unknown, mined, dropped, started, empty] = [request(), request(), request(), request(), request()]
  assert.equal(await watchPayout(unknown.id), null)
  await payouts.send(mined)
  assert.match((await watchPayout(mined.id))?.providerStatus ?? '', /whose key is not set up here/)
  await chain.mine(4)
  assert.equal((await watchPayout(mined.id))?.outcome, 'settled')
  await open({ validSeconds: 1 }).send(dropped)
  await chain.call('anvil_dropAllTransactions')
  assert.equal((await watchPayout(dropped.id))?.outcome, 'pending')
  await chain.call('evm_increaseTime', 120)
  await chain.mine()
  assert.equal((await watchPayout(dropped.id))?.outcome, 'pending')
  assert.equal(await watchPayout(dropped.id), null, 'nothing is signed any more')
  assert.equal(await withdraw(dropped), true)
  const other = open({ refundSigner: localSigner(newKey()) })
  await payouts.send(started)
  await chain.mine(4)
  assert.equal((await other.send(started)).outcome, 'settled', 'also with another key')
  await other.send(empty)
  assert.match((await payouts.send(empty)).providerStatus, /and nothing is signed for it\. Give the key back/)
  assert.equal(await withdraw(empty), true)
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { keccak256, parseTransaction } from 'viem/utils'
import { mint } from '../sandbox/chain/token.ts'
import { createRpc, type Rpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { fillNonce } from '../src/chain/payout/account-nonces.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import {
  openPayouts,
  openWatchPayout,
  PAYOUT_TIMES,
  type PayoutRequest,
  type Payouts,
  withdrawPayout,
} from '../src/chain/payout/payout.ts'
import { readChainView } from '../src/chain/payout/payout-view.ts'
import { localSigner, type Signer } from '../src/chain/payout/signer.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'

/*
 * Payouts that wait, or whose authorization runs out: what a person can take back, and what a transaction that is lost
 * costs. Each test has wallets of its own. What the engine does otherwise is in payouts.test.ts.
 */

const ETHER = 10n ** 18n
const GWEI = 10n ** 9n
const VALID_SECONDS = 600

let chain: TestChain
let database: TestDatabase
let db: Db
let rpc: Rpc

const newKey = (): string => `0x${randomBytes(32).toString('hex')}`
const newAddress = (): string => localSigner(newKey()).address.toLowerCase()

before(async () => {
  ;[chain, database] = await Promise.all([startTestChain(), createTestDatabase()])
  db = openDb({ connectionString: database.connectionString })
  rpc = createRpc({ url: chain.rpcUrl })
})
after(async () => {
  await rpc?.close()
  await db?.close()
  await database?.drop()
  await chain?.stop()
})

type Options = Partial<Parameters<typeof openPayouts>[0]>

/** How far the chain's clock is ahead of ours. */
let aheadMs = 0
const pass = async (seconds: number): Promise<void> => {
  aheadMs += seconds * 1000
  await chain.call('evm_increaseTime', seconds)
  await chain.mine()
}

/** A signer that does not answer. */
const silent = () => Promise.reject(new RpcError('unknown', 'Web3Signer: no answer'))

/** A wallet with these units, and a relayer with ten of the native coin. */
async function openWallet(units: bigint) {
  const signers = { refundSigner: localSigner(newKey()), relayerSigner: localSigner(newKey()) }
  await mint(chain.call, signers.refundSigner.address, units)
  await setPurse(signers.relayerSigner, 10n * ETHER)
  const open = (options: Options = {}): Payouts =>
    openPayouts({
      ...{ db, rpc, clock: () => Date.now() + aheadMs, log: pino({ level: 'silent' }), validSeconds: VALID_SECONDS },
      network: networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress }),
      ...signers,
      ...options,
    })
  return { ...signers, open }
}

const setPurse = ({ address }: Signer, wei: bigint) => chain.call('anvil_setBalance', address, `0x${wei.toString(16)}`)

const request = (units = 1_500_000n): PayoutRequest => ({ id: newId(), to: newAddress(), units })

type Row = { status: string; validBefore: bigint | null; signature: string | null; words: string }
const rowOf = ({ id }: PayoutRequest) =>
  db.one<Row>(sql`select status, valid_before, signature, words from chain_payouts where id = ${id}`)

const feesOf = async ({ id }: PayoutRequest) =>
  (
    await db.many<{ raw: `0x${string}` }>(sql`
      select raw from chain_payout_transactions where payout_id = ${id} order by created_at, max_fee_wei`)
  ).map(({ raw }) => parseTransaction(raw).maxPriorityFeePerGas ?? 0n)

/** What each transaction pays at most that only uses up this account nonce of the relayer. */
const fillingsOf = async ({ address }: Signer, nonce: bigint) =>
  (
    await db.many<{ raw: `0x${string}` }>(sql`
      select raw from chain_payout_transactions where payout_id is null and relayer_nonce = ${nonce}
      order by created_at, max_fee_wei`)
  )
    .map(({ raw }) => parseTransaction(raw))
    .filter(({ to }) => to === address.toLowerCase())
    .map(({ maxFeePerGas }) => maxFeePerGas ?? 0n)

const withdraw = (asked: PayoutRequest): Promise<boolean> =>
  withdrawPayout(db, { ...asked, chainId: chain.chainId }, { isPaid: false, providerStatus: 'rejected' }, new Date())

/** A block with this base fee. */
const mineAt = async (baseFee: bigint): Promise<void> => {
  await chain.call('anvil_setNextBlockBaseFeePerGas', `0x${baseFee.toString(16)}`)
  await chain.mine()
}

test('a payout that was signed while another one took the money can be taken back once it ran out', async () => {
  const { open } = await openWallet(15_000_000n)
  const payouts = open()
  const both = [request(10_000_000n), request(10_000_000n)]
  await Promise.all(both.map((one) => payouts.send(one)))
  await chain.mine(4)
  for (let visit = 0; visit < 3; visit += 1) for (const one of both) await payouts.send(one)
  const rows = await Promise.all(both.map(rowOf))
  const loser = both[rows[0]?.status === 'final' ? 1 : 0] as PayoutRequest
  assert.equal(await withdraw(loser), false, 'it is signed')
  await pass(VALID_SECONDS + 100)
  for (let visit = 0; visit < 2; visit += 1) await payouts.send(loser)
  assert.match((await rowOf(loser)).words, /Fund it/)
  assert.equal(await withdraw(loser), true)
})

test('a payout that was signed before the gas was counted can be taken back once it ran out', async () => {
  const { open, relayerSigner } = await openWallet(15_000_000n)
  const { baseFeePerGas } = await rpc.call<{ baseFeePerGas: string }>('eth_getBlockByNumber', 'latest', false)
  const maxFee = BigInt(baseFeePerGas) * 2n + BigInt(await rpc.call<string>('eth_maxPriorityFeePerGas'))
  await setPurse(relayerSigner, maxFee * 60_000n)
  const payouts = open()
  const asked = request()
  await payouts.send(asked)
  assert.notEqual((await rowOf(asked)).validBefore, null)
  await pass(VALID_SECONDS + 100)
  await setPurse(relayerSigner, 0n)
  await payouts.send(asked)
  assert.match((await rowOf(asked)).words, /too little native coin/)
  assert.equal(await withdraw(asked), true)
})

test('what ran out unused is not signed again in the same visit, so that whoever asks checks it first', async () => {
  const { open } = await openWallet(15_000_000n)
  const payouts = open()
  const [sent, unsent] = [request(), request()]
  await payouts.send(sent)
  await chain.call('anvil_dropAllTransactions')
  const { address } = (await openWallet(0n)).relayerSigner
  await setPurse({ address } as Signer, ETHER)
  await open({ relayerSigner: { address, signTypedData: silent, signTransaction: silent } }).send(unsent)
  await pass(VALID_SECONDS + 100)
  for (const asked of [sent, unsent]) {
    await payouts.send(asked)
    const { status, validBefore, signature, words } = await rowOf(asked)
    assert.deepEqual([status, validBefore, signature], ['reserved', null, null], words)
    assert.match(words, /ran out unused/)
    await payouts.send(asked)
    await chain.mine(4)
    assert.equal((await payouts.send(asked)).outcome, 'settled')
    assert.equal(await chain.balanceOf(asked.to), asked.units)
  }
})

test('without a check nothing is signed, or submitted for the first time; what was sent goes on', async () => {
  const { open, relayerSigner } = await openWallet(15_000_000n)
  const payouts = open({ stuckBlocks: 0n })
  const [unsigned, unsent, sent] = [request(), request(), request()]
  await payouts.send(sent)
  await open({ relayerSigner: { ...relayerSigner, signTransaction: silent } }).send(unsent)
  const { validBefore, signature } = await rowOf(unsent)
  for (const asked of [unsigned, unsent]) {
    assert.equal((await payouts.resume(asked)).outcome, 'pending')
    assert.match((await rowOf(asked)).words, /is checked again before anything is signed or submitted/)
    assert.deepEqual(await feesOf(asked), [])
  }
  assert.equal((await rowOf(unsigned)).validBefore, null)
  const kept = await rowOf(unsent)
  assert.deepEqual(kept, { ...kept, status: 'reserved', validBefore, signature })
  await payouts.resume(sent)
  assert.ok((await feesOf(sent)).length > 1, 'replaced with higher fees')
  await chain.mine(4)
  assert.equal((await payouts.resume(sent)).outcome, 'settled')
  for (const asked of [unsigned, unsent]) {
    await payouts.send(asked)
    await chain.mine(4)
    assert.equal((await payouts.resume(asked)).outcome, 'settled')
  }
})

test('a payout that is held before its transaction is signed holds up no other one', async () => {
  const { open, relayerSigner } = await openWallet(15_000_000n)
  const [held, behind] = [request(), request()]
  await open({ relayerSigner: { ...relayerSigner, signTransaction: silent } }).send(held)
  const payouts = open()
  await payouts.send(behind)
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const log = pino({ level: 'silent' })
  const watch = openWatchPayout({ db, rpc, agree: agreeAlone(rpc), network, clock: Date.now, log })
  for (let poll = 0; poll < 3; poll += 1) {
    await watch(held.id)
    await payouts.send(behind)
    await chain.mine(4)
  }
  assert.equal((await payouts.send(behind)).outcome, 'settled')
})

test('while the signer is away its announced expiry stays; what it never signed can be taken back then', async () => {
  const { open, refundSigner } = await openWallet(15_000_000n)
  const away = { ...refundSigner, signTypedData: () => Promise.reject(new RpcError('unknown', 'no answer')) }
  const payouts = open({ refundSigner: away })
  const [late, never] = [request(), request()]
  for (const asked of [late, never]) assert.equal((await payouts.send(asked)).outcome, 'unknown')
  const announced = await rowOf(late)
  assert.equal(announced.signature, '0x')
  await pass(VALID_SECONDS / 2)
  for (const asked of [late, never]) assert.equal((await payouts.send(asked)).outcome, 'unknown')
  assert.deepEqual(await rowOf(late), announced)
  assert.equal(await withdraw(never), false, 'an answer of the signer may have been lost')
  await open().send(late)
  assert.equal((await rowOf(late)).validBefore, announced.validBefore)
  await chain.mine()
  assert.equal(await chain.balanceOf(late.to), late.units)
  await pass(VALID_SECONDS)
  await payouts.send(never)
  assert.equal(await withdraw(never), true)
})

test('a payout that only waits for money can be taken back while it is looked at', async () => {
  const { open } = await openWallet(0n)
  const asked = request()
  await open().send(asked)
  const [inside, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow: Rpc = {
    ...rpc,
    call: async <Result>(name: string, ...params: unknown[]): Promise<Result> => {
      if (name === 'eth_call') {
        inside.resolve()
        await answer.promise
      }
      return rpc.call<Result>(name, ...params)
    },
  }
  const poll = open({ rpc: slow }).send(asked)
  await inside.promise
  assert.equal(await withdraw(asked), true)
  answer.resolve()
  assert.equal((await poll).outcome, 'pending')
  assert.equal((await open().send(asked)).outcome, 'refused')
})

test('a node that takes transactions and loses them raises no fee, and holds nothing up later', async () => {
  const { open } = await openWallet(15_000_000n)
  const asked = request()
  const payouts = open({ stuckBlocks: 1n, maxFeeWei: 50n * GWEI, validSeconds: 3600 })
  await mineAt(10n * GWEI)
  for (let poll = 0; poll < 60; poll += 1) {
    await payouts.send(asked)
    await chain.call('anvil_dropAllTransactions')
    await mineAt(10n * GWEI)
  }
  assert.equal((await feesOf(asked)).length, 1)
  const behind = request()
  for (let poll = 0; poll < 6; poll += 1) {
    for (const one of [asked, behind]) await payouts.send(one)
    await mineAt(10n * GWEI)
  }
  assert.deepEqual([(await rowOf(asked)).status, (await rowOf(behind)).status], ['final', 'final'])
})

test('a transaction that stays in the pool is replaced until its tip is ten times the present one', async () => {
  const { open } = await openWallet(15_000_000n)
  const asked = request()
  const payouts = open({ stuckBlocks: 0n, validSeconds: 3600 })
  await mineAt(GWEI)
  for (let poll = 0; poll < 60; poll += 1) await payouts.send(asked)
  const tips = await feesOf(asked)
  const [first = 0n, last = 0n] = [tips.at(0), tips.at(-1)]
  assert.ok(last > first * 5n && last <= first * 10n, `${tips.length} tips from ${first} to ${last}`)
  await chain.mine(4)
  assert.equal((await payouts.send(asked)).outcome, 'settled')
})

/** Each node is the chain's own, with something of another kind of node. */
const nodeWith = (changed: Record<string, (raw: `0x02${string}`, go: () => Promise<unknown>) => unknown>): Rpc => ({
  ...rpc,
  call: async <Result>(name: string, ...params: unknown[]): Promise<Result> => {
    const go = () => rpc.call<unknown>(name, ...params)
    return (await (changed[name]?.(params[0] as `0x02${string}`, go) ?? go())) as Result
  },
})

const suggested = () => `0x${(30n * GWEI).toString(16)}`

/** Polygon's: suggests 30 gwei, and takes no tip below 25 (bor's txpool.pricelimit). */
const bor = (): Rpc =>
  nodeWith({
    eth_maxPriorityFeePerGas: suggested,
    eth_sendRawTransaction: (raw, go) => {
      const { maxPriorityFeePerGas: tip = 0n } = parseTransaction(raw)
      if (tip >= 25n * GWEI) return go()
      throw new RpcError('definite', `transaction underpriced: gas tip cap ${tip}, minimum needed 25000000000`)
    },
  })

/** go-ethereum: a replacement needs a tenth more of both fees. */
function geth(): Rpc {
  const pool = new Map<number, { tip: bigint; most: bigint }>()
  return nodeWith({
    eth_maxPriorityFeePerGas: suggested,
    eth_sendRawTransaction: async (raw, go) => {
      const { nonce = 0, maxPriorityFeePerGas: tip = 0n, maxFeePerGas: most = 0n } = parseTransaction(raw)
      const known = pool.get(nonce)
      if (known?.tip === tip && known.most === most) throw new RpcError('definite', 'already known')
      if (known && (tip * 10n < known.tip * 11n || most * 10n < known.most * 11n))
        throw new RpcError('definite', 'replacement transaction underpriced')
      const hash = await go()
      pool.set(nonce, { tip, most })
      return hash
    },
  })
}

/** Answers a duplicate with its hash, and shows nothing that is in no block. */
function quiet(): Rpc {
  const seen = new Set<string>()
  return nodeWith({
    eth_getTransactionByHash: async (_, go) => {
      const found = (await go()) as { blockHash: string | null } | null
      return found?.blockHash ? found : null
    },
    eth_sendRawTransaction: (raw, go) => {
      const hash = keccak256(raw)
      if (seen.has(hash)) return hash
      seen.add(hash)
      return go()
    },
  })
}

test('the account nonce of a payout that ran out is filled where the node takes no small tip', async () => {
  const { open } = await openWallet(15_000_000n)
  const payouts = open({ rpc: bor() })
  const both = [request(), request()]
  const [lost, behind] = both as [PayoutRequest, PayoutRequest]
  await payouts.send(lost)
  await chain.call('anvil_dropAllTransactions')
  await pass(VALID_SECONDS - 60)
  await payouts.send(behind)
  await pass(200)
  for (let poll = 0; poll < 10; poll += 1) {
    for (const one of both) await payouts.send(one)
    await chain.mine()
  }
  assert.deepEqual(
    (await Promise.all(both.map(rowOf))).map(({ status }) => status),
    ['final', 'final'],
  )
})

test('an expired transaction that waits for a lower base fee is replaced, and holds no other up', async () => {
  const { open, relayerSigner } = await openWallet(15_000_000n)
  const payouts = open({ rpc: geth(), maxFeeWei: 500n * GWEI })
  const both = [request(), request()]
  const [old, behind] = both as [PayoutRequest, PayoutRequest]
  await mineAt(30n * GWEI)
  await payouts.send(old)
  for (let poll = 0; poll < 12; poll += 1) {
    await mineAt(600n * GWEI) // dearer than the operator allows
    await payouts.send(old)
  }
  await pass(VALID_SECONDS - 100)
  await mineAt(200n * GWEI)
  await payouts.send(behind)
  await pass(200)
  for (let poll = 0; poll < 6; poll += 1) {
    await mineAt(600n * GWEI)
    for (const one of both) await payouts.send(one)
  }
  assert.deepEqual(await fillingsOf(relayerSigner, 0n), [], 'the operator’s limit holds for it too')
  for (let poll = 0; poll < 12; poll += 1) {
    await mineAt(200n * GWEI)
    for (const one of both) await payouts.send(one)
  }
  assert.deepEqual(
    (await Promise.all(both.map(rowOf))).map(({ status }) => status),
    ['final', 'final'],
  )
  assert.equal((await fillingsOf(relayerSigner, 0n)).length, 1)
})

test('what fills an account nonce is raised while no block takes it, on each node', async () => {
  const { open, relayerSigner } = await openWallet(15_000_000n)
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const node = geth()
  const nodes = [open({ rpc: node, log }), open({ rpc: node, log })]
  const both = [request(), request()]
  const [lost, behind] = both as [PayoutRequest, PayoutRequest]
  const look = async () => {
    for (const payouts of nodes) for (const one of both) await payouts.send(one)
  }
  await mineAt(30n * GWEI)
  await nodes[0]?.send(lost)
  await chain.call('anvil_dropAllTransactions')
  await pass(VALID_SECONDS - 100)
  await nodes[0]?.send(behind)
  await pass(200)
  await mineAt(100n * GWEI)
  for (let visit = 0; visit < 3; visit += 1) await look()
  assert.equal((await fillingsOf(relayerSigner, 0n)).length, 1, 'the same bytes again')
  for (const baseFee of [300n, 1500n]) {
    for (let block = 0; block < 10; block += 1) await mineAt(baseFee * GWEI)
    for (let visit = 0; visit < 3; visit += 1) await look()
  }
  const fees = await fillingsOf(relayerSigner, 0n)
  assert.equal(fees.length, 3)
  for (const [index, fee] of fees.entries()) assert.ok(index === 0 || fee * 8n >= (fees[index - 1] ?? 0n) * 9n)
  assert.deepEqual(lines, [])
  for (let poll = 0; poll < 5; poll += 1) {
    await mineAt(1500n * GWEI)
    await look()
  }
  for (let poll = 0; poll < 5; poll += 1) {
    await mineAt(30n * GWEI)
    await look()
  }
  assert.deepEqual(
    (await Promise.all(both.map(rowOf))).map(({ status }) => status),
    ['final', 'final'],
  )
})

test('an account nonce is used again after the highest tip was signed with it and every node has lost that', async () => {
  const { open } = await openWallet(15_000_000n)
  const refusing = nodeWith({
    eth_sendRawTransaction: () => Promise.reject(new RpcError('definite', 'transaction type not supported')),
  })
  const asked = request()
  await mineAt(GWEI)
  for (let poll = 0; poll < 60; poll += 1) await open({ rpc: refusing, validSeconds: 3600 }).send(asked)
  const refused = await feesOf(asked)
  const [first = 0n, last = 0n] = [refused.at(0), refused.at(-1)]
  assert.ok(last > first * 5n && last < first * 12n, `${refused.length} tips from ${first} to ${last}`)
  for (let poll = 0; poll < 3; poll += 1) {
    await open({ validSeconds: 3600 }).send(asked)
    await chain.mine(4)
  }
  assert.equal((await rowOf(asked)).status, 'final', (await rowOf(asked)).words)
})

test('a gap that is being filled is no news each minute, one that cannot be filled is', async () => {
  const { relayerSigner } = await openWallet(0n)
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const fillAgainst = async (error: Error): Promise<string[]> => {
    lines.length = 0
    const node = nodeWith({ eth_sendRawTransaction: () => Promise.reject(error) })
    const deps = { ...{ db, rpc: node, network, relayerSigner, log, clock: Date.now }, ...PAYOUT_TIMES }
    await fillNonce({ ...deps, agree: agreeAlone(node), refundSigner: null }, await readChainView(rpc, network), 7n)
    return lines
  }
  const refused = (words: string) => new RpcError('definite', `eth_sendRawTransaction: ${words}`, -32000)
  for (const words of ['already known', 'nonce too low: next nonce 8, tx nonce 7'])
    assert.deepEqual(await fillAgainst(refused(words)), [], words)
  assert.equal((await fillingsOf(relayerSigner, 7n)).length, 1)
  for (const words of ['replacement transaction underpriced', 'insufficient funds for gas * price + value']) {
    const [line, ...more] = await fillAgainst(refused(words))
    assert.match(line ?? '', /account nonces was not filled/)
    assert.deepEqual(more, [])
  }
  assert.equal((await fillingsOf(relayerSigner, 7n)).length, 3, 'a refused one is raised')
  await assert.rejects(fillAgainst(new RpcError('unknown', 'no answer in 10 s', null)), /no answer/)
  assert.equal((await fillingsOf(relayerSigner, 7n)).length, 3, 'a node that may have taken it is asked again')
})

test('a risen base fee is met where the node takes a duplicate and shows nothing that waits', async () => {
  const { open } = await openWallet(15_000_000n)
  const payouts = open({ rpc: quiet(), validSeconds: 3600 })
  const all = [request(), request(), request()]
  await mineAt(10n * GWEI)
  for (const one of all) await payouts.send(one)
  for (let poll = 0; poll < 30; poll += 1) {
    await mineAt(60n * GWEI)
    for (const one of all) await payouts.send(one)
  }
  assert.deepEqual(
    (await Promise.all(all.map(rowOf))).map(({ status }) => status),
    ['final', 'final', 'final'],
  )
  for (const one of all) assert.ok((await feesOf(one)).length <= 2)
})

test('nothing is signed while the chain’s clock is far ahead of ours', async () => {
  const { open } = await openWallet(15_000_000n)
  const asked = request()
  const early = open({ clock: () => Date.now() + aheadMs - 3_600_000 })
  const waiting = await early.send(asked)
  assert.match(waiting.providerStatus, /is 60 minutes ahead of our clock/)
  assert.equal((await rowOf(asked)).validBefore, null)
  await open().send(asked)
  await chain.mine(4)
  assert.equal((await early.send(asked)).outcome, 'settled', 'what was signed is followed')
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { word } from '../sandbox/chain/rpc.ts'
import { DEPLOYER } from '../sandbox/chain/throwaway-keys.ts'
import { mint } from '../sandbox/chain/token.ts'
import { createRpc, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { checkManualTransfer } from '../src/chain/payout/manual-transfer.ts'
import { openPayouts, openWatchPayout, type PayoutRequest, type Payouts } from '../src/chain/payout/payout.ts'
import { findOtherPayout } from '../src/chain/payout/payout-recheck.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { watchWallets } from '../src/chain/payout/wallet-watch.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import type { AppError } from '../src/kernel/errors.ts'
import { newId } from '../src/kernel/ids.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { restore } from './harness/restored.ts'

/* CHAIN_<id>_USDC may name another contract (USDC.e, then Circle's own): what left in the first stays paid. */

const newKey = (): string => `0x${randomBytes(32).toString('hex')}`
const newAddress = (): string => localSigner(newKey()).address.toLowerCase()
const [refundSigner, relayerSigner] = [localSigner(newKey()), localSigner(newKey())]
const lines: { level: number; msg: string }[] = []
const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
let chain: TestChain
let database: TestDatabase
let db: Db
let rpc: Rpc
let other: string
/** The chain's clock is ahead of the machine's by what passed on it; the service's goes with it. */
let aheadMs = 0
const clock = () => Date.now() + aheadMs

const networkOf = (usdcAddress: string) => networkFor({ chainId: chain.chainId, usdcAddress })
const open = (usdcAddress: string, options: Partial<Parameters<typeof openPayouts>[0]> = {}): Payouts =>
  openPayouts({
    ...{ db, rpc, refundSigner, relayerSigner, clock, log, network: networkOf(usdcAddress) },
    ...options,
  })

before(async () => {
  ;[chain, database] = await Promise.all([startTestChain(), createTestDatabase()])
  db = openDb({ connectionString: database.connectionString })
  rpc = createRpc({ url: chain.rpcUrl })
  other = await chain.deployOtherToken()
  for (const token of [chain.usdcAddress, other]) await mint(chain.call, refundSigner.address, 1_000_000_000n, token)
  await chain.mine()
  await chain.call('anvil_setBalance', relayerSigner.address, '0x8ac7230489e80000')
})
after(async () => {
  await rpc?.close()
  await db?.close()
  await database?.drop()
  await chain?.stop()
})

const request = (): PayoutRequest => ({ id: newId(), to: newAddress(), units: 1_500_000n })
const rowOf = (id: string) =>
  db.one<{ status: string; words: string; tokenAddress: string | null; txHash: string | null }>(
    sql`select status, words, token_address, tx_hash from chain_payouts where id = ${id}`,
  )
const balanceIn = async (token: string, { to }: PayoutRequest): Promise<bigint> =>
  BigInt(await chain.call<string>('eth_call', { to: token, data: `0x70a08231${word(to)}` }, 'latest'))
const leap = async (seconds: number): Promise<void> => {
  await chain.call('evm_increaseTime', seconds)
  aheadMs += seconds * 1000
}
const pass = async (seconds: number): Promise<void> => {
  await leap(seconds)
  await chain.mine()
}
const age = () => db.run(sql`update chain_payouts set updated_at = now() - interval '10 minutes'`)

async function settle(asked: PayoutRequest, payouts: Payouts): Promise<string | null> {
  await payouts.send(asked)
  await chain.mine(4)
  const { outcome, txHash } = await payouts.send(asked)
  assert.equal(outcome, 'settled')
  return txHash
}

/** Hours later, the operator has changed the settings and started again. */
async function recheckIn(token: string): Promise<Payouts> {
  await age()
  await pass(4 * 3600)
  const since = open(token)
  await since.recheck()
  await chain.mine(4)
  await since.recheck()
  return since
}

test('payouts that were final are not paid again in the contract that the settings name since', async () => {
  const all = [request(), request()]
  for (const asked of all) await settle(asked, open(chain.usdcAddress))
  await recheckIn(other)
  for (const asked of all) {
    assert.deepEqual([await balanceIn(chain.usdcAddress, asked), await balanceIn(other, asked)], [asked.units, 0n])
    assert.equal((await rowOf(asked.id)).status, 'final')
  }
  assert.deepEqual(
    lines.filter(({ level }) => level >= 50),
    [],
  )
})

test('a payout that was mined in the first contract becomes final in it, and is not sent in the second', async () => {
  const asked = request()
  await open(chain.usdcAddress).send(asked)
  await chain.mine()
  await open(chain.usdcAddress).send(asked)
  await leap(4 * 3600)
  const since = open(other)
  for (let poll = 0; poll < 5; poll += 1) {
    await since.send(asked)
    await chain.mine(2)
  }
  assert.deepEqual([(await rowOf(asked.id)).status, await balanceIn(other, asked)], ['final', 0n])
})

test('a payout that was signed in the first contract is followed there, and paid in the second once that ran out', async () => {
  const asked = request()
  const dying: Rpc = {
    ...rpc,
    call: (name, ...params) =>
      name === 'eth_sendRawTransaction'
        ? Promise.reject(new Error('the process ends here'))
        : rpc.call(name, ...params),
  }
  await assert.rejects(open(chain.usdcAddress, { rpc: dying }).send(asked))
  const since = open(other)
  const waiting = await since.send(asked)
  assert.match(waiting.providerStatus, new RegExp(`signed in ${chain.usdcAddress.toLowerCase()}, which is not USDC`))
  assert.equal(await openWatch(other)(asked.id).then((seen) => seen?.outcome), 'pending')
  await pass(3700)
  assert.equal((await since.send(asked)).providerStatus, 'not sent yet')
  await settle(asked, since)
  assert.deepEqual([await balanceIn(chain.usdcAddress, asked), await balanceIn(other, asked)], [0n, asked.units])
})

const openWatch = (token: string) =>
  openWatchPayout({ db, rpc, agree: agreeAlone(rpc), network: networkOf(token), clock, log })

test('a payout for which nothing is signed is paid in the contract that the settings name', async () => {
  const asked = request()
  const poor = localSigner(newKey())
  await open(chain.usdcAddress, { refundSigner: poor }).send(asked)
  assert.match((await rowOf(asked.id)).words, /Fund it/)
  await mint(chain.call, poor.address, asked.units, other)
  await chain.mine()
  const since = open(other, { refundSigner: poor })
  await since.send(asked)
  await settle(asked, since)
  assert.equal(await balanceIn(other, asked), asked.units)
})

test('an undone payout of an earlier contract is an alarm, and is paid in no other', async () => {
  const asked = request()
  await settle(asked, open(chain.usdcAddress))
  await age()
  await chain.reorg(6)
  await chain.call('anvil_dropAllTransactions')
  await chain.mine()
  const since = open(other)
  await since.recheck()
  assert.ok(lines.some(({ msg }) => /^ALARM: a payout was undone: .*: it is not sent again$/.test(msg)))
  await pass(3700)
  await age()
  await since.followReopened()
  assert.match((await rowOf(asked.id)).words, /is not sent again/)
  await chain.mine(4)
  assert.deepEqual([(await rowOf(asked.id)).status, await balanceIn(other, asked)], ['failed', 0n])
  assert.ok(lines.some(({ level, msg }) => level === 50 && /^ALARM: .* undone is never sent again: /.test(msg)))
})

test('an undone payout whose destination the issuer has blocked since is an alarm once it is given up', async () => {
  const asked = request()
  const payouts = open(chain.usdcAddress)
  await settle(asked, payouts)
  await age()
  await chain.reorg(6)
  await chain.call('anvil_dropAllTransactions')
  const blacklist = `0xf9f92be4${word(asked.to)}`
  await chain.call('eth_sendTransaction', { from: DEPLOYER, to: chain.usdcAddress, data: blacklist })
  await chain.mine()
  await payouts.recheck()
  await pass(3700)
  await age()
  await payouts.followReopened()
  assert.equal((await rowOf(asked.id)).status, 'failed')
  assert.ok(lines.some(({ msg }) => /^ALARM: .* never sent again: The token’s issuer has blocked/.test(msg)))
})

test('an undone payout of an earlier wallet is followed until it is mined again', async () => {
  const asked = request()
  await settle(asked, open(chain.usdcAddress))
  await age()
  const [{ raw } = { raw: '' }] = await db.many<{ raw: string }>(sql`
    select raw from chain_payout_transactions where payout_id = ${asked.id}`)
  await chain.reorg(6)
  await chain.call('anvil_dropAllTransactions')
  await chain.mine()
  const since = open(chain.usdcAddress, { refundSigner: localSigner(newKey()) })
  await since.recheck()
  assert.match((await rowOf(asked.id)).words, /followed until its authorization runs out/)
  await chain.call('eth_sendRawTransaction', raw)
  await chain.mine(4)
  await age()
  await since.followReopened()
  assert.equal((await rowOf(asked.id)).status, 'final')
})

test('after a restore, what left in an earlier contract holds the payout in the present one, and can be named', async () => {
  const asked = request()
  const lost = await createTestDatabase()
  const lostDb = openDb({ connectionString: lost.connectionString })
  const txHash = await settle(asked, open(chain.usdcAddress, { db: lostDb }))
  await lostDb.close()
  await lost.drop()
  // before the loss, the service paid in the first contract
  const earlier = { network: networkOf(chain.usdcAddress), rpc, relayerSigner, minUnits: 0n }
  const payouts = { address: refundSigner.address }
  await watchWallets({ db, clock, log, chains: [{ ...earlier, payouts }], alarm: async () => undefined })
  await restore(db)
  const present = { rpc, agree: agreeAlone(rpc), network: networkOf(other), payouts }
  const others = async () => ({ since: new Date(0), known: [asked.id], next: [] })
  const deps = { db, chains: [present], isFollowed: async () => false }
  const words = await findOtherPayout(deps, { network: chain.chainId, id: asked.id }, others)
  assert.match(words ?? '', new RegExp(`^this one left before .*transaction ${txHash} brought 1.500000`))
  const named = { ...asked, accepts: async () => undefined }
  const manual = { ...present, db, clock: Date.now, watchPayout: openWatch(other) }
  const foreign = await chain.pay({ to: asked.to, units: asked.units, token: other })
  await chain.mine(4)
  await assert.rejects(
    checkManualTransfer(manual, named, foreign),
    ({ details }: AppError) => details?.[0]?.message.includes(`that left in transaction ${txHash}`) === true,
  )
  assert.equal((await checkManualTransfer(manual, named, txHash ?? '')).outcome, 'settled')
})

test('a payout of an earlier version takes the contract of its signed transaction, otherwise the present one', async () => {
  const [sent, unsent] = [request(), request()]
  await settle(sent, open(other))
  await open(chain.usdcAddress, { refundSigner: localSigner(newKey()) }).send(unsent)
  await db.run(sql`update chain_payouts set token_address = null where id in (${sent.id}, ${unsent.id})`)
  const migration = await readFile(new URL('../migrations/0950_payouts_token.sql', import.meta.url), 'utf8')
  const [fill = ''] = /^update chain_payouts [^;]+;/m.exec(migration) ?? []
  await db.run({ text: fill, values: [], name: 'fill' })
  assert.deepEqual(
    [(await rowOf(sent.id)).tokenAddress, (await rowOf(unsent.id)).tokenAddress],
    [other.toLowerCase(), null],
  )
  await open(other).send(unsent)
  assert.equal((await rowOf(unsent.id)).tokenAddress, other.toLowerCase())
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { keccak256, stringToHex } from 'viem/utils'
import { word } from '../sandbox/chain/rpc.ts'
import { DEPLOYER } from '../sandbox/chain/throwaway-keys.ts'
import { mint } from '../sandbox/chain/token.ts'
import { createRpc, type Rpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { checkManualTransfer } from '../src/chain/payout/manual-transfer.ts'
import {
  openPayouts,
  openRechecks,
  openWatchPayout,
  type PayoutRequest,
  type Payouts,
} from '../src/chain/payout/payout.ts'
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
const age = () => db.run(sql`update chain_payouts set updated_at = ${new Date(clock() - 600_000)}`)

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
  assert.ok(lines.some(({ msg }) => /^ALARM: a payout was undone: .*: only a node with that one sends/.test(msg)))
  await pass(3700)
  for (let look = 0; look < 2; look += 1) {
    await age()
    await since.followReopened()
  }
  const { status, words } = await rowOf(asked.id)
  assert.match(`${status} ${words}`, /^reserved .* only a node with that one sends it again\. If none does for 3 days/)
  assert.ok(!lines.some(({ msg }) => /undone is never sent again/.test(msg)))
  await pass(3 * 86_400)
  await since.followReopened()
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

/** A deep reorganisation undoes a final payout, whose authorization has run out since. */
async function undo(asked: PayoutRequest): Promise<void> {
  await settle(asked, open(chain.usdcAddress))
  await age()
  await chain.reorg(6)
  await chain.call('anvil_dropAllTransactions')
  await pass(3700)
}

test('an undone payout is sent again by the node with its key, though one with another key looks first', async () => {
  const asked = request()
  await undo(asked)
  const [own, foreign] = [open(chain.usdcAddress), open(chain.usdcAddress, { refundSigner: localSigner(newKey()) })]
  await foreign.recheck()
  for (let minute = 0; minute < 8; minute += 1) {
    aheadMs += 31_000
    await own.followReopened()
    aheadMs += 30_000
    await foreign.followReopened()
    await chain.mine()
  }
  const { status, words } = await rowOf(asked.id)
  assert.equal(status, 'final', words)
})

test('an undone payout is sent again in its contract, though one node has another in its settings', async () => {
  const asked = request()
  await undo(asked)
  const [own, foreign] = [open(chain.usdcAddress), open(other)]
  await foreign.recheck()
  aheadMs += 360_000
  await foreign.followReopened()
  assert.equal((await rowOf(asked.id)).status, 'reserved')
  for (let minute = 0; minute < 4; minute += 1) {
    aheadMs += 61_000
    await own.followReopened()
    await chain.mine(2)
  }
  assert.equal((await rowOf(asked.id)).status, 'final')
  assert.deepEqual([await balanceIn(chain.usdcAddress, asked), await balanceIn(other, asked)], [asked.units, 0n])
})

test('without the keys of a chain, what was undone there is noticed and followed, and paid once they are back', async () => {
  const asked = request()
  await undo(asked)
  const keyless = openRechecks({ db, rpc, agree: agreeAlone(rpc), network: networkOf(chain.usdcAddress), clock, log })
  await keyless.recheck()
  assert.equal((await rowOf(asked.id)).status, 'reserved')
  aheadMs += 360_000
  await keyless.followReopened()
  const { status, words } = await rowOf(asked.id)
  assert.deepEqual([status, await balanceIn(chain.usdcAddress, asked)], ['reserved', 0n], words)
  for (let minute = 0; minute < 4; minute += 1) {
    aheadMs += 61_000
    await open(chain.usdcAddress).followReopened()
    await chain.mine(2)
  }
  assert.equal((await rowOf(asked.id)).status, 'final')
})

test('an undone payout that cannot be followed keeps no other waiting', async () => {
  const both = [request(), request()]
  for (const asked of both) await settle(asked, open(chain.usdcAddress))
  await chain.reorg(8)
  await chain.call('anvil_dropAllTransactions')
  await age()
  const [lost] = both as [PayoutRequest]
  const nonce = keccak256(stringToHex(lost.id)).slice(2)
  const odd: Rpc = {
    ...rpc,
    call: (name, ...params) => {
      if (JSON.stringify(params).includes(nonce)) throw new Error('a fault of ours')
      return rpc.call(name, ...params)
    },
  }
  await open(chain.usdcAddress, { rpc: odd }).recheck()
  const statuses = () => Promise.all(both.map(async ({ id }) => (await rowOf(id)).status))
  assert.deepEqual(await statuses(), ['reserved', 'sent'])
  for (let minute = 0; minute < 4; minute += 1) {
    aheadMs += 61_000
    await open(chain.usdcAddress).followReopened()
    await chain.mine(2)
  }
  assert.deepEqual(await statuses(), ['final', 'final'])
})

test('who only watches an undone payout writes nothing when nothing has changed', async () => {
  const asked = request()
  await undo(asked)
  const foreign = open(chain.usdcAddress, { refundSigner: localSigner(newKey()) })
  await foreign.recheck()
  const read = () => db.one<{ updatedAt: Date }>(sql`select updated_at from chain_payouts where id = ${asked.id}`)
  aheadMs += 360_000
  await foreign.followReopened()
  const { updatedAt } = await read()
  aheadMs += 360_000
  await foreign.followReopened()
  assert.deepEqual((await read()).updatedAt, updatedAt)
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
  const deps = { db, chains: [present], clock: Date.now, isFollowed: async () => false }
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

/** As a node of an earlier version stores it, which may run beside this one. */
const forget = ({ id }: PayoutRequest) => db.run(sql`update chain_payouts set token_address = null where id = ${id}`)

for (const isMined of [true, false])
  test(`what a node of an earlier version sent is not paid in a second contract (mined before: ${isMined})`, async () => {
    const asked = request()
    await open(chain.usdcAddress).send(asked)
    await forget(asked)
    if (isMined) await chain.mine()
    const since = open(other)
    for (let poll = 0; poll < 6; poll += 1) {
      await since.send(asked)
      await chain.mine(2)
    }
    await pass(3700)
    for (let poll = 0; poll < 6; poll += 1) {
      await since.send(asked)
      await chain.mine(2)
    }
    assert.deepEqual([await balanceIn(chain.usdcAddress, asked), await balanceIn(other, asked)], [asked.units, 0n])
    const { status, tokenAddress } = await rowOf(asked.id)
    assert.deepEqual([status, tokenAddress], ['final', chain.usdcAddress.toLowerCase()])
  })

test('what a node of an earlier version signed for a payout of this one is followed in its contract', async () => {
  const [sent, final] = [request(), request()]
  await open(chain.usdcAddress).send(sent)
  await settle(final, open(chain.usdcAddress))
  // the row names the contract of this version's settings, and the earlier version does not read it
  await db.run(sql`
    update chain_payouts set token_address = ${other.toLowerCase()} where id in (${sent.id}, ${final.id})`)
  const since = await recheckIn(other)
  for (let poll = 0; poll < 3; poll += 1) {
    await since.send(sent)
    await chain.mine(2)
  }
  for (const asked of [sent, final]) {
    assert.deepEqual([await balanceIn(chain.usdcAddress, asked), await balanceIn(other, asked)], [asked.units, 0n])
    assert.equal((await rowOf(asked.id)).tokenAddress, chain.usdcAddress.toLowerCase())
  }
})

test('a payout whose contract nothing says is followed until it ran out, and then paid in the present one', async () => {
  const asked = request()
  const poor = localSigner(newKey())
  await open(chain.usdcAddress, { refundSigner: poor }).send(asked)
  await forget(asked)
  const { timestamp } = await chain.call<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
  const validBefore = BigInt(timestamp) + 3600n
  await db.run(sql`update chain_payouts set valid_before = ${validBefore}, signature = '0x' where id = ${asked.id}`)
  await mint(chain.call, poor.address, asked.units, other)
  await chain.mine()
  const since = open(other, { refundSigner: poor })
  assert.match((await since.send(asked)).providerStatus, /nothing stored says in which USDC contract/)
  await pass(3700)
  await since.send(asked)
  await settle(asked, since)
  assert.equal(await balanceIn(other, asked), asked.units)
})

test('final payouts of an earlier version are rechecked in the contract of their transaction', async () => {
  const [kept, undone] = [request(), request()]
  const payouts = open(chain.usdcAddress)
  await settle(kept, payouts)
  await chain.mine(10)
  await settle(undone, payouts)
  for (const asked of [kept, undone]) await forget(asked)
  await age()
  await chain.reorg(6)
  await chain.call('anvil_dropAllTransactions')
  await chain.mine()
  await open(other).recheck()
  const rows = [await rowOf(kept.id), await rowOf(undone.id)]
  assert.deepEqual(
    rows.map(({ status, tokenAddress }) => [status, tokenAddress]),
    [
      ['final', chain.usdcAddress.toLowerCase()],
      ['reserved', chain.usdcAddress.toLowerCase()],
    ],
  )
})

test('a contract that a node does not find, or does not answer for, keeps the payouts of no other from their recheck', async () => {
  const [lost, silent, undone] = [request(), request(), request()]
  const payouts = open(chain.usdcAddress)
  for (const asked of [lost, silent, undone]) await settle(asked, payouts)
  const [nowhere, deaf] = [newAddress(), newAddress()]
  await db.run(sql`update chain_payouts set token_address = ${nowhere} where id = ${lost.id}`)
  await db.run(sql`update chain_payouts set token_address = ${deaf} where id = ${silent.id}`)
  await age()
  await chain.reorg(8)
  await chain.call('anvil_dropAllTransactions')
  await chain.mine()
  const batch: Rpc['batch'] = (calls) =>
    JSON.stringify(calls, (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes(deaf)
      ? Promise.reject(new RpcError('unknown', 'does not answer'))
      : rpc.batch(calls)
  await open(chain.usdcAddress, { rpc: { ...rpc, batch } }).recheck()
  const states = [await rowOf(lost.id), await rowOf(silent.id), await rowOf(undone.id)].map(({ status }) => status)
  assert.deepEqual(
    states.map((status) => status === 'final'),
    [true, true, false],
  )
})

test('the migration reads the contracts of earlier payouts, and holds no payout of a running node meanwhile', async () => {
  await settle(request(), open(other))
  const migration = await readFile(new URL('../migrations/0950_payouts_token.sql', import.meta.url), 'utf8')
  const statements = migration.split(';').filter((part) => part.replace(/--.*$/gm, '').trim() !== '')
  const held: string[] = []
  const undone = new Error('nothing of this stays')
  const tried = db.tx(async (tx) => {
    await tx.run(sql`drop table paying_tokens`)
    for (const text of statements) {
      const [name = ''] = /^(alter table|insert|create table)/m.exec(text) ?? []
      if (name === 'alter table') held.push(name)
      else assert.deepEqual(held, [], `it comes after the lock: ${text}`)
      if (name !== 'alter table') await tx.run({ text, values: [], name: '' })
    }
    const known = await tx.many<{ tokenAddress: string }>(sql`select token_address from paying_tokens`)
    assert.ok(known.some(({ tokenAddress }) => tokenAddress === other.toLowerCase()))
    const locks = await tx.many(sql`
      select mode from pg_locks where relation = 'chain_payouts'::regclass and pid = pg_backend_pid()
        and mode <> 'AccessShareLock'`)
    assert.deepEqual(locks, [])
    throw undone
  })
  await assert.rejects(tried, (error) => error === undone)
  assert.equal(held.length, 2)
})

test('a payout of an earlier version for which nothing is signed takes the contract of the settings', async () => {
  const asked = request()
  await open(chain.usdcAddress, { refundSigner: localSigner(newKey()) }).send(asked)
  await forget(asked)
  await open(other).send(asked)
  assert.equal((await rowOf(asked.id)).tokenAddress, other.toLowerCase())
})

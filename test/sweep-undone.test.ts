import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { mnemonicToAccount } from 'viem/accounts'
import { recheckBookedSweeps } from '../src/assembly/sweeps.ts'
import { createRpc, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { recheckSweeps } from '../src/chain/sweep/sweep-recheck.ts'
import { sql } from '../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Operator, openOperator } from './harness/installation.ts'
import { createPaid, payoutEnv } from './harness/refunds.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'
import { chainEnv, openShop, type Shop } from './harness/shop.ts'

/* Sweeps that a reorganisation deeper than finality undoes. */

/** A phrase of BIP-39's published test vectors: nothing of worth may ever come to its addresses. */
const PHRASE = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const XPUB = mnemonicToAccount(PHRASE, { path: "m/44'/60'/0'" }).getHdKey().publicExtendedKey
const DAY_SECONDS = 86_400

let shop: Shop
let rpc: Rpc
let folder: string
let env: Record<string, string>
let wallet: string
let relayer: string
let operator: Operator

const alarms: string[] = []
const log = pino({ level: 'error' }, { write: (line: string) => void alarms.push(JSON.parse(line).msg) })

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'comptoir-sweep-undone-'))
  writeFileSync(join(folder, 'phrase'), `${PHRASE}\n`)
  let keys: Record<string, string> = {}
  shop = await openShop({
    env: async (chain) => {
      keys = { ...(await payoutEnv(chain)), CHAIN_31337_XPUB: XPUB }
      return keys
    },
  })
  rpc = createRpc({ url: shop.chain.rpcUrl })
  wallet = localSigner(keys.CHAIN_31337_REFUND_KEY ?? '').address
  relayer = localSigner(keys.CHAIN_31337_RELAYER_KEY ?? '').address
  const { connectionString: DATABASE_URL } = shop.host.db
  const own = { DATA_DIR: folder, DATABASE_URL, MASTER_KEY: TEST_MASTER_KEY.toString('base64') }
  env = { ...own, ...chainEnv(shop.chain), ...keys }
  operator = openOperator()
})
after(async () => {
  await operator?.close()
  await rpc?.close()
  await shop?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function run(args: string[], given = env): Promise<string> {
  const { code, out, err } = await operator.run(['sweep', ...args], given, folder)
  assert.equal(code, 0, out + err)
  return out
}

/** Plans and signs the sweep of everything that can be moved, and sends it. */
async function sweepAll(...args: string[]): Promise<void> {
  const file = join(folder, 'batch.json')
  await run(['--out', file, '--valid-days', '1'])
  await run(['sign', '--in', file, '--mnemonic-file', join(folder, 'phrase'), '--to', wallet], {})
  await run(['send', file, ...args])
}

/** Blocks come while this is done, and no others. */
async function whileMining<Result>(work: () => Promise<Result>): Promise<Result> {
  const mining = setInterval(() => void shop.chain.mine().catch(() => {}), 150)
  try {
    return await work()
  } finally {
    clearInterval(mining)
  }
}

type Row = { id: string; status: string; txHash: string | null; words: string }
const listOf = (address: string): Promise<Row[]> =>
  shop.host.db.many<Row>(sql`
    select id, status, tx_hash, last_words as words from sweeps where address = ${address.toLowerCase()} order by number`)
const reach = (address: string, ...wanted: string[]) =>
  eventually(
    () => listOf(address),
    (rows) => rows.map(({ status }) => status).join() === wanted.join(),
    // a sweep that is looked at for the sixth time waits for ten seconds, then for thirty
    90_000,
  )

async function bookedOf(account: string, companyId: string): Promise<bigint> {
  const { units } = await shop.host.db.one<{ units: string }>(sql`
    select coalesce(sum(units), 0) as units from ledger_entries where company_id = ${companyId} and account = ${account}`)
  return BigInt(units)
}

/** What the books say of the wallet and the deposit addresses, once they are right. */
async function readBooks(): Promise<{ wallet: bigint; clearing: bigint; gas: bigint }> {
  const verdict = await verifyLedger(shop.host.db)
  assert.equal(verdict.difference, null, describeVerdict(verdict))
  const { companyId } = shop.merchant
  const [home, clearing, gas] = await Promise.all([
    bookedOf('wallet', companyId),
    bookedOf('payer_clearing', companyId),
    bookedOf('network_fees', ''),
  ])
  return { wallet: home, clearing, gas }
}

const nativeOf = async (address: string): Promise<bigint> =>
  BigInt(await shop.chain.call<string>('eth_getBalance', address, 'latest'))

/** Replaces the blocks from the one of the sweep's transaction on; it is forgotten. */
async function undo(txHash: string | null | undefined): Promise<void> {
  const { blockNumber } = await shop.chain.call<{ blockNumber: string }>('eth_getTransactionReceipt', txHash)
  await shop.chain.reorg(Number((await shop.chain.blockNumber()) - BigInt(blockNumber)) + 1)
  await shop.chain.call('anvil_dropAllTransactions')
}

const recheckDeps = () => {
  const network = networkFor({ chainId: 31337, usdcAddress: shop.chain.usdcAddress })
  return { db: shop.host.db, clock: Date.now, log, chains: [{ network, rpc, agree: agreeAlone(rpc) }] }
}
const recheck = (): Promise<void> => recheckBookedSweeps(recheckDeps())

/** As if what is over were it for six minutes: by then every node has its block. */
const passTime = () =>
  shop.host.db.run(sql`
    update chain_payouts set updated_at = updated_at - interval '6 minutes' where status in ('final', 'failed')`)

async function heldOf(address: string): Promise<string | undefined> {
  const { held } = JSON.parse(await run([])) as { held: { address: string; reason: string }[] }
  return held.find((one) => one.address === address)?.reason
}

test('an undone sweep leaves the books at once, is sent again, and is booked once more with what that cost', async () => {
  const { toAddress, units } = await createPaid(shop)
  const gasAtFirst = await nativeOf(relayer)
  await whileMining(() => sweepAll())
  const spent = gasAtFirst - (await nativeOf(relayer))
  assert.deepEqual(await readBooks(), { wallet: units, clearing: 0n, gas: spent })
  const [first] = await listOf(toAddress)
  await undo(first?.txHash)
  assert.equal(await shop.chain.balanceOf(toAddress), units)
  await recheck()
  assert.deepEqual(alarms, [], 'a node may be behind')
  await passTime()
  await Promise.all([recheck(), recheck()])
  assert.equal(alarms.length, 1, 'two nodes alarm for one sweep')
  assert.match(alarms[0] ?? '', /ALARM: a sweep was undone: A reorganisation undid it after it was final/)
  assert.deepEqual(await readBooks(), { wallet: 0n, clearing: units, gas: 0n })
  assert.equal(await heldOf(toAddress), 'a sweep of it is under way')
  await whileMining(() => reach(toAddress, 'done'))
  assert.deepEqual(
    [await shop.chain.balanceOf(toAddress), await readBooks()],
    [0n, { wallet: units, clearing: 0n, gas: gasAtFirst - (await nativeOf(relayer)) }],
  )
  await passTime()
  await recheck()
  assert.equal(alarms.length, 1)
})

test('one of a version that stored no token is rechecked in the one that knows its authorization', async () => {
  const before = await readBooks()
  const { toAddress, units } = await createPaid(shop)
  await whileMining(() => sweepAll())
  const [swept] = await listOf(toAddress)
  await shop.host.db.run(sql`update chain_payouts set token_address = null where id = ${swept?.id ?? ''}`)
  const read = () =>
    shop.host.db.one<{ token: string | null }>(sql`
      select token_address as token from chain_payouts where id = ${swept?.id ?? ''}`)
  await passTime()
  await recheck()
  assert.equal((await read()).token, shop.chain.usdcAddress.toLowerCase())
  await undo(swept?.txHash)
  await recheck()
  assert.equal((await readBooks()).wallet, before.wallet)
  await whileMining(() => reach(toAddress, 'done'))
  assert.equal((await readBooks()).wallet, before.wallet + units)
})

test('one that is undone twice is booked and reversed twice', async () => {
  const before = await readBooks()
  const { toAddress, units } = await createPaid(shop)
  await whileMining(() => sweepAll())
  for (const time of [1, 2]) {
    await undo((await listOf(toAddress))[0]?.txHash)
    await passTime()
    await recheck()
    assert.equal((await readBooks()).wallet, before.wallet, `time ${time}`)
    await whileMining(() => reach(toAddress, 'done'))
    assert.equal((await readBooks()).wallet, before.wallet + units, `time ${time}`)
  }
  assert.equal(await shop.chain.balanceOf(toAddress), 0n)
})

test('a sweep is undone while a later one of its address is under way: both go on', async () => {
  const before = await readBooks()
  const { toAddress, units, orderId } = await createPaid(shop)
  await whileMining(() => sweepAll())
  const [first] = await listOf(toAddress)
  const more = { to: toAddress, units: 7_000_000n }
  await shop.chain.pay(more)
  await shop.makeFinal()
  await eventually(
    () => shop.story(orderId),
    ({ mispayments }) => mispayments.some((one) => one.units === String(more.units)),
  )
  await sweepAll('--no-wait')
  await undo(first?.txHash)
  await passTime()
  await recheck()
  assert.deepEqual(
    (await listOf(toAddress)).map(({ status }) => status),
    ['sending', 'sending'],
  )
  await shop.chain.pay(more)
  await whileMining(() => reach(toAddress, 'done', 'done'))
  const look = async () => (await verifyLedger(shop.host.db)).difference
  await eventually(look, (difference) => difference === null)
  assert.equal((await readBooks()).wallet, before.wallet + units + more.units)
  assert.equal(await shop.chain.balanceOf(toAddress), 0n)
})

/** Done, undone, and its authorization has run out before it was sent again. `comeBack`: on another fork it had not. */
async function lose(): Promise<{ address: string; units: bigint; comeBack(): Promise<void> }> {
  const { toAddress: address, units } = await createPaid(shop)
  await whileMining(() => sweepAll())
  const [swept] = await listOf(address)
  const raw = await shop.chain.rawTransaction(swept?.txHash ?? '')
  await undo(swept?.txHash)
  const fork = await shop.chain.call<string>('evm_snapshot')
  await shop.chain.call('evm_increaseTime', DAY_SECONDS + 120)
  await shop.chain.mine()
  await passTime()
  await recheck()
  const [lost] = await reach(address, 'failed')
  assert.match(lost?.words ?? '', /ran out unused\. Plan the sweep again/)
  const comeBack = async (): Promise<void> => {
    await shop.chain.call('evm_revert', fork)
    await shop.chain.resend(raw)
    await shop.chain.mine(3)
  }
  return { address, units, comeBack }
}

test('an undone sweep whose transfer comes back after it was given up is booked again, once', async () => {
  const before = await readBooks()
  const { address, units, comeBack } = await lose()
  assert.equal((await readBooks()).wallet, before.wallet)
  await comeBack()
  assert.equal(await shop.chain.balanceOf(address), 0n)
  await passTime()
  await Promise.all([recheck(), recheck()])
  await whileMining(() => reach(address, 'done'))
  assert.equal((await readBooks()).wallet, before.wallet + units)
})

test('once its authorization has run out, an undone sweep fails, and the next plan moves the money once', async () => {
  const before = await readBooks()
  const home = await shop.chain.balanceOf(wallet)
  const { address, units } = await lose()
  assert.equal((await readBooks()).wallet, before.wallet)
  await whileMining(() => sweepAll())
  const { deposits } = JSON.parse(readFileSync(join(folder, 'batch.json'), 'utf8'))
  assert.deepEqual(
    deposits.map((one: { id: string }) => one.id),
    [`sweep:31337:${address.toLowerCase()}:2`],
  )
  assert.deepEqual(
    (await listOf(address)).map(({ status }) => status),
    ['failed', 'done'],
  )
  assert.deepEqual(
    [await shop.chain.balanceOf(wallet), (await readBooks()).wallet],
    [home + units, before.wallet + units],
  )
})

test('a sweep that cannot be reopened keeps no other from being rechecked', async () => {
  const before = await readBooks()
  const [first, second] = [await createPaid(shop), await createPaid(shop)]
  await whileMining(() => sweepAll())
  const swept = [(await listOf(first.toAddress))[0], (await listOf(second.toAddress))[0]]
  const blocks = await Promise.all(
    swept.map(async (one) => {
      const receipt = await shop.chain.call<{ blockNumber: string }>('eth_getTransactionReceipt', one?.txHash)
      return Number(receipt.blockNumber)
    }),
  )
  await undo(swept[blocks.indexOf(Math.min(...blocks))]?.txHash)
  await passTime()
  alarms.length = 0
  await recheckSweeps({ ...recheckDeps(), bookUndone: () => Promise.reject(new Error('the books are closed')) })
  assert.deepEqual(alarms, Array(2).fill('a sweep that was done could not be reopened'))
  await recheck()
  assert.equal((await readBooks()).wallet, before.wallet)
  for (const { toAddress } of [first, second]) await whileMining(() => reach(toAddress, 'done'))
  assert.equal((await readBooks()).wallet, before.wallet + first.units + second.units)
})

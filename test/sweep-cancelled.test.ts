import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { mnemonicToAccount } from 'viem/accounts'
import { recheckBookedSweeps } from '../src/assembly/sweeps.ts'
import { createRpc, type Hex, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { type Agree, agreeAlone } from '../src/chain/payout/agreement.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { authorizedTransferData } from '../src/chain/payout/usdc-token.ts'
import { DEFAULT_ACCOUNT, openAccount } from '../src/chain/sweep/sweep-batch.ts'
import { findOpenSweep } from '../src/chain/sweep/sweep-queries.ts'
import { pollSweep } from '../src/chain/sweep/sweep-send.ts'
import { ChainDoubt } from '../src/chain/transfer-logs.ts'
import { sql } from '../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { cancelAuthorization } from './harness/authorizations.ts'
import { type Operator, openOperator } from './harness/installation.ts'
import { createPaid, newAddress, payoutEnv } from './harness/refunds.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'
import { chainEnv, openShop, type Shop } from './harness/shop.ts'

/* Sweeps that can never happen any more, on a service without a relayer; the operator's command has one. */

/** A phrase of BIP-39's published test vectors: nothing of worth may ever come to its addresses. */
const PHRASE = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const XPUB = mnemonicToAccount(PHRASE, { path: "m/44'/60'/0'" }).getHdKey().publicExtendedKey
const DAY_SECONDS = 86_400

let shop: Shop
let rpc: Rpc
let folder: string
/** Of a command without a relayer, and of one with it. */
let env: Record<string, string>
let relayerEnv: Record<string, string>
let operator: Operator
const home = newAddress()

const log = pino({ level: 'silent' })

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'comptoir-sweep-cancelled-'))
  writeFileSync(join(folder, 'phrase'), `${PHRASE}\n`)
  let keys: Record<string, string> = {}
  shop = await openShop({
    env: async (chain) => {
      keys = await payoutEnv(chain)
      return { CHAIN_31337_XPUB: XPUB }
    },
  })
  rpc = createRpc({ url: shop.chain.rpcUrl })
  const { connectionString: DATABASE_URL } = shop.host.db
  const own = { DATA_DIR: folder, DATABASE_URL, MASTER_KEY: TEST_MASTER_KEY.toString('base64') }
  env = { ...own, ...chainEnv(shop.chain), CHAIN_31337_XPUB: XPUB }
  relayerEnv = { ...env, ...keys }
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

type Planned = { id: string; address: string; index: number; units: string; nonce: Hex; validBefore: string }
const file = () => join(folder, 'batch.json')

/** Plans and signs the sweep of everything that can be moved. */
async function signAll(): Promise<(Planned & { signature: Hex })[]> {
  await run(['--out', file(), '--valid-days', '1', '--to', home])
  await run(['sign', '--in', file(), '--mnemonic-file', join(folder, 'phrase'), '--to', home], {})
  return JSON.parse(readFileSync(file(), 'utf8')).deposits
}
const sendAll = (given = env) => run(['send', file(), '--to', home, '--no-wait'], given)

async function whileMining<Result>(work: () => Promise<Result>): Promise<Result> {
  const mining = setInterval(() => void shop.chain.mine().catch(() => {}), 150)
  try {
    return await work()
  } finally {
    clearInterval(mining)
  }
}

/** The owner of a deposit address cancels what he signed for it; it is in no block yet. */
function cancel({ id, index }: Planned): Promise<string> {
  const branch = openAccount(PHRASE, { path: DEFAULT_ACCOUNT, passphrase: '' }).deriveChild(0)
  const { privateKey } = branch.deriveChild(index)
  const owner = localSigner(`0x${Buffer.from(privateKey ?? []).toString('hex')}`)
  return cancelAuthorization(shop.chain, rpc, owner, id)
}

type Row = { id: string; status: string; words: string; txHash: string | null }
const listOf = (address: string): Promise<Row[]> =>
  shop.host.db.many<Row>(sql`
    select id, status, last_words as words, tx_hash from sweeps where address = ${address.toLowerCase()} order by number`)
const reach = (address: string, ...wanted: string[]) =>
  eventually(
    () => listOf(address),
    (rows) => rows.map(({ status }) => status).join() === wanted.join(),
    // a sweep that is looked at for the sixth time waits for ten seconds, then for thirty
    90_000,
  )

async function bookedHome(): Promise<bigint> {
  const verdict = await verifyLedger(shop.host.db)
  assert.equal(verdict.difference, null, describeVerdict(verdict))
  const { units } = await shop.host.db.one<{ units: string }>(sql`
    select coalesce(sum(units), 0) as units from ledger_entries
    where company_id = ${shop.merchant.companyId} and account = 'wallet'`)
  return BigInt(units)
}

const network = () => networkFor({ chainId: 31337, usdcAddress: shop.chain.usdcAddress })
const recheck = (): Promise<void> =>
  recheckBookedSweeps({
    ...{ db: shop.host.db, clock: Date.now, log },
    chains: [{ network: network(), agree: agreeAlone(rpc), rpc }],
  })

/** As if what is over were it for six minutes: by then every node has its block. */
const passTime = () =>
  shop.host.db.run(sql`
    update chain_payouts set updated_at = updated_at - interval '6 minutes' where status in ('final', 'failed')`)

async function planOne(): Promise<Planned & { signature: Hex }> {
  const [one, ...others] = await signAll()
  assert.ok(one && others.length === 0)
  return one
}

test('what its owner cancelled fails once that is final, without a relayer too, and is swept again', async () => {
  const { toAddress, units } = await createPaid(shop)
  const first = await planOne()
  await sendAll()
  const [waiting] = await reach(toAddress, 'sending')
  await eventually(
    () => listOf(toAddress),
    ([row]) => /no relayer is set up on chain 31337/.test(row?.words ?? ''),
  )
  assert.equal(waiting?.id, first.id)
  await cancel(first)
  await shop.chain.mine()
  await eventually(
    () => listOf(toAddress),
    ([row]) => /Transaction 0x[0-9a-f]{64} has cancelled its authorization.*It waits/.test(row?.words ?? ''),
  )
  assert.equal((await listOf(toAddress))[0]?.status, 'sending', 'that is not final yet')
  const [failed] = await whileMining(() => reach(toAddress, 'failed'))
  assert.match(
    failed?.words ?? '',
    /owner has cancelled its authorization, or used it otherwise\. Plan the sweep again/,
  )
  assert.equal(await bookedHome(), 0n)
  await passTime()
  await recheck()
  assert.equal((await listOf(toAddress))[0]?.status, 'failed', 'a cancellation is no transfer')
  const second = await planOne()
  assert.equal(second.id, first.id.replace(/:1$/, ':2'))
  await sendAll(relayerEnv)
  await whileMining(() => run(['send', file(), '--to', home], relayerEnv))
  await reach(toAddress, 'failed', 'done')
  assert.deepEqual([await bookedHome(), await shop.chain.balanceOf(home)], [units, units])
})

test('one that was cancelled and planned again was made after all on another fork: it is booked, once', async () => {
  const before = await bookedHome()
  const { toAddress, units } = await createPaid(shop)
  const swept = await planOne()
  await sendAll(relayerEnv)
  const sending = operator.run(['sweep', 'send', file(), '--to', home], relayerEnv, folder)
  const { txHash } = await eventually(
    () =>
      shop.host.db.one<{ txHash: string | null }>(sql`
        select max(t.tx_hash) as tx_hash from chain_payouts p left join chain_payout_transactions t on t.payout_id = p.id
        where p.id = ${swept.id} and p.status = 'sent'`),
    (row) => row.txHash !== null,
  )
  const raw = await shop.chain.rawTransaction(txHash ?? '')
  const fork = await shop.chain.call<string>('evm_snapshot')
  await cancel(swept)
  const { code, out } = await whileMining(() => sending)
  assert.equal(code, 1)
  assert.match(out, /was not moved: Its owner has cancelled its authorization/)
  assert.equal(await bookedHome(), before)
  await reach(toAddress, 'failed')
  await planOne()
  await sendAll()
  await reach(toAddress, 'failed', 'sending')
  await shop.chain.call('evm_revert', fork)
  await shop.chain.call('anvil_dropAllTransactions')
  await shop.chain.resend(raw)
  await shop.chain.mine(3)
  assert.equal(await shop.chain.balanceOf(toAddress), 0n)
  await passTime()
  await Promise.all([recheck(), recheck()])
  await whileMining(() => reach(toAddress, 'done', 'sending'))
  assert.equal(await bookedHome(), before + units)
  await passTime()
  await recheck()
  assert.equal(await bookedHome(), before + units)
})

test('without a relayer it is booked when someone else submits it, and fails when it has run out', async () => {
  const before = await bookedHome()
  const { toAddress, units } = await createPaid(shop)
  const { address, nonce, validBefore, signature } = await planOne()
  await sendAll()
  const authorization = { from: address as Hex, to: home as Hex, units, validBefore: BigInt(validBefore), nonce }
  const data = authorizedTransferData(authorization, signature)
  const { payer: from, usdcAddress: to } = shop.chain
  await shop.chain.call('eth_sendTransaction', { from, to, data, gas: '0x493e0' })
  await whileMining(() => reach(toAddress, 'done'))
  assert.equal(await bookedHome(), before + units)
  const late = await createPaid(shop)
  await planOne()
  await sendAll()
  const fork = await shop.chain.call<string>('evm_snapshot')
  await shop.chain.call('evm_increaseTime', DAY_SECONDS + 120)
  await shop.chain.mine()
  const [failed] = await reach(late.toAddress, 'failed')
  assert.match(failed?.words ?? '', /ran out unused\. Plan the sweep again/)
  assert.equal(await bookedHome(), before + units)
  await shop.chain.call('evm_revert', fork)
})

test('one that the relayer sent is booked with its gas, though no relayer is set up any more', async () => {
  const { db } = shop.host
  const { toAddress } = await createPaid(shop)
  const [swept] = (await signAll()).filter(({ address }) => address === toAddress)
  assert.ok(swept)
  await sendAll()
  const relayer = localSigner(relayerEnv.CHAIN_31337_RELAYER_KEY ?? '')
  const chains = [{ network: network(), rpc, agree: agreeAlone(rpc), relayerSigner: relayer }]
  const deps = { db, clock: Date.now, log, chains, book: () => Promise.reject(new Error('it is not final yet')) }
  const { txHash } = await eventually(
    async () => {
      const sweep = await findOpenSweep(db, 31337, toAddress.toLowerCase())
      assert.ok(sweep)
      await pollSweep(deps, sweep)
      return db.one<{ txHash: string | null }>(sql`
        select max(tx_hash) as tx_hash from chain_payout_transactions where payout_id = ${swept.id}`)
    },
    (row) => row.txHash !== null,
  )
  await whileMining(() => reach(toAddress, 'done'))
  const { gasUsed, effectiveGasPrice, from } = await shop.chain.call<
    Record<'gasUsed' | 'effectiveGasPrice' | 'from', Hex>
  >('eth_getTransactionReceipt', txHash)
  assert.equal(from, relayer.address.toLowerCase())
  const { fee, booked } = await db.one<{ fee: string | null; booked: string }>(sql`
    select max(s.fee_wei) as fee, coalesce(sum(e.units), 0) as booked from sweeps s
    left join ledger_journals j on j.kind = 'sweep_fee' and j.cause_id = s.id
    left join ledger_entries e on e.journal_id = j.id and e.company_id = j.company_id and e.account = 'network_fees'
    where s.id = ${swept.id}`)
  const spent = BigInt(gasUsed) * BigInt(effectiveGasPrice)
  assert.deepEqual([BigInt(fee ?? 0), BigInt(booked)], [spent, spent])
})

test('what the nodes do not agree on ends no sweep', async () => {
  const { toAddress } = await createPaid(shop)
  const [swept] = (await signAll()).filter(({ address }) => address === toAddress)
  assert.ok(swept)
  await sendAll()
  const { db } = shop.host
  const later = () => db.run(sql`update sweeps set next_check_at = now() + interval '1 hour' where status = 'sending'`)
  await later()
  await cancel(swept)
  await shop.chain.mine(5)
  const agree: Agree = () => Promise.reject(new ChainDoubt('two nodes say two things'))
  const chains = [{ network: network(), rpc, agree, relayerSigner: null }]
  const deps = { db, clock: Date.now, log, chains, book: () => Promise.reject(new Error('nothing is booked')) }
  const poll = async (given: typeof deps) => {
    const sweep = await findOpenSweep(db, 31337, toAddress.toLowerCase())
    assert.ok(sweep)
    await pollSweep(given, sweep)
    await later()
    return (await listOf(toAddress))[0]?.status
  }
  assert.equal(await poll(deps), 'sending')
  assert.equal(await poll({ ...deps, chains: [{ ...chains[0], agree: agreeAlone(rpc) }] as typeof chains }), 'failed')
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { mnemonicToAccount } from 'viem/accounts'
import { parseTransaction } from 'viem/utils'
import { PAYER } from '../sandbox/chain/throwaway-keys.ts'
import { findPayoutHold } from '../src/assembly/chains.ts'
import { createRpc, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { openPayouts, type PayoutRequest, withdrawPayout } from '../src/chain/payout/payout.ts'
import type { FindNamedHold } from '../src/chain/payout/payout-deps.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { DEFAULT_ACCOUNT, openAccount, signBatch, signerOfAccount } from '../src/chain/sweep/sweep-batch.ts'
import { makeBatch, planSweep } from '../src/chain/sweep/sweep-plan.ts'
import { type SweepDeps, storeBatch } from '../src/chain/sweep/sweep-send.ts'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { claimTransaction } from '../src/ledger/claim-queries.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logInFormerSuperAdmin, logInSuperAdmin } from './harness/accounts.ts'
import { createPaid, listRefunds, newAddress, payoutEnv, revert } from './harness/refunds.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'
import { chainEnv, openShop, type Payable, type Shop } from './harness/shop.ts'

/*
 * A refund, a settlement and a sweep at a time, on two nodes, while everything goes wrong between the relayer and the
 * chain: each moves its money exactly once. What the engine itself does is in payouts.test.ts.
 */

/** A phrase of BIP-39's published test vectors: nothing of worth may ever come to its addresses. */
const PHRASE = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const XPUB = mnemonicToAccount(PHRASE, { path: DEFAULT_ACCOUNT as "m/44'/60'/0'" }).getHdKey().publicExtendedKey
const REFUND_UNITS = 4_000_000n

let shop: Shop
let node: TestService
let admin: Client
let proxy: RpcProxy
let rpc: Rpc
let home: string
let mining: NodeJS.Timeout | undefined

before(async () => {
  let own: Record<string, string> = {}
  shop = await openShop({
    env: async (chain) => {
      proxy = await startRpcProxy(chain.rpcUrl)
      own = { ...(await payoutEnv(chain)), CHAIN_31337_XPUB: XPUB, CHAIN_31337_RPC_URL: proxy.url, CHAIN_POLL_MS: '50' }
      return own
    },
  })
  const { connectionString } = shop.host.db
  node = await startTestService({ env: { ...chainEnv(shop.chain), ...own }, connectionString, workers: true })
  admin = await logInSuperAdmin(shop.host)
  home = localSigner(own.CHAIN_31337_REFUND_KEY ?? '').address
  rpc = createRpc({ url: shop.chain.rpcUrl })
})
after(async () => {
  stopMining()
  await rpc?.close()
  await node?.stop()
  await shop?.stop()
  await proxy?.stop()
})

const startMining = (): void => {
  mining ??= setInterval(() => void shop.chain.mine().catch(() => {}), 100)
}
const stopMining = (): void => {
  clearInterval(mining)
  mining = undefined
}

/** Everything that waits for its next poll is polled now, by whichever node comes first. */
async function hasten(): Promise<void> {
  const { db } = shop.host
  for (const table of [sql`refunds`, sql`settlements`, sql`sweeps`])
    await db.run(sql`update ${table} set next_check_at = now() where next_check_at > now()`)
}

type Moved = { order: Payable; payer: string; company: string; swept: Payable; ids: string[]; homeBefore: bigint }

/** Starts one of each; nothing is mined yet. */
async function begin(): Promise<Moved> {
  const { host, chain, merchant } = shop
  startMining()
  const [order, swept] = [await createPaid(shop), await createPaid(shop)]
  stopMining()
  const [payer, company] = [newAddress(), newAddress()]
  await host.db.run(sql`
    update companies set settlement_address = ${company}, settlement_network = 31337 where id = ${merchant.companyId}`)
  const homeBefore = await chain.balanceOf(home)
  await revert(shop, order.code, { amount: '4', address: payer })
  const { data: settlement } = await admin.post<{ _id: string }>('settlements', { companyId: merchant.companyId })
  const former = await logInFormerSuperAdmin(host)
  assert.equal((await former.post(`settlements/${settlement._id}/approve`)).status, 401)
  await admin.post(`settlements/${settlement._id}/approve`)
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const own = { network, rpc, agree: agreeAlone(rpc), relayerSigner: null }
  const rules = { minUnits: 1n, screenFromUnits: 1n, limit: 100 }
  const plan = await planSweep(host.db, own, rules)
  const only = { ...plan, deposits: plan.deposits.filter(({ address }) => address === swept.toAddress.toLowerCase()) }
  const batch = await makeBatch([only], { to: () => home, validSeconds: 86_400, now: new Date() })
  const account = openAccount(PHRASE, { path: DEFAULT_ACCOUNT, passphrase: '' })
  const deps: SweepDeps = {
    db: host.db,
    clock: Date.now,
    log: pino({ level: 'silent' }),
    chains: [own],
    book: async () => {},
  }
  const signed = await signBatch(batch, signerOfAccount(account))
  const [sweepId = ''] = await storeBatch(deps, signed, { sentBy: 'test', outside: false })
  const [refund] = await listRefunds(shop, order.orderId)
  return { order, payer, company, swept, ids: [refund?._id ?? '', settlement._id, sweepId], homeBefore }
}

type Sent = { payoutId: string; txHash: string; raw: `0x${string}`; status: string }
const listSent = ({ ids }: Moved): Promise<Sent[]> =>
  shop.host.db.many<Sent>(sql`
    select t.payout_id, t.tx_hash, t.raw, p.status from chain_payout_transactions t
    join chain_payouts p on p.id = t.payout_id where p.id = any(${ids}) order by t.created_at`)

/** Each of the three has handed a transaction to the node. */
const areSent = (moved: Moved): Promise<Sent[]> =>
  eventually(
    async () => {
      await hasten()
      return listSent(moved)
    },
    (sent) => new Set(sent.map(({ payoutId }) => payoutId)).size === 3 && sent.every(({ status }) => status === 'sent'),
  )

/** All is final, and every account holds what it should: once. */
async function areDoneOnce(moved: Moved): Promise<void> {
  const { chain, host } = shop
  startMining()
  const open = () =>
    host.db.one<{ refund: string; settlement: string; sweep: string }>(sql`
      select (select status from refunds where id = ${moved.ids[0]}) as refund,
        (select status from settlements where id = ${moved.ids[1]}) as settlement,
        (select status from sweeps where id = ${moved.ids[2]}) as sweep`)
  await eventually(
    async () => {
      await hasten()
      return open()
    },
    ({ refund, settlement, sweep }) => refund === 'settled' && settlement === 'paid' && sweep === 'done',
    30_000,
  )
  const settled = await chain.balanceOf(moved.company)
  assert.ok(settled > 0n)
  assert.equal(await chain.balanceOf(moved.payer), REFUND_UNITS)
  assert.equal(await chain.balanceOf(moved.swept.toAddress), 0n)
  const balance = await chain.balanceOf(home)
  assert.equal(balance, moved.homeBefore + moved.swept.units - REFUND_UNITS - settled, 'the wallet')
  const { owed } = await host.db.one<{ owed: string }>(
    sql`select units::text as owed from settlements where id = ${moved.ids[1]}`,
  )
  assert.equal(settled, BigInt(owed))
  const verdict = await verifyLedger(host.db)
  assert.equal(verdict.difference, null, describeVerdict(verdict))
  stopMining()
}

test('two nodes, a node of the chain that takes a transaction and does not say so, and a block that leaves the chain', async () => {
  proxy.faults.alter = ({ method }, result) => {
    if (method === 'eth_sendRawTransaction') throw new Error('the connection breaks')
    return result
  }
  const moved = await begin()
  await eventually(
    async () => {
      await hasten()
      return listSent(moved)
    },
    (sent) => new Set(sent.map(({ payoutId }) => payoutId)).size === 3,
  )
  proxy.heal()
  await areSent(moved)
  await shop.chain.mine()
  await hasten()
  await shop.chain.reorg(1)
  await shop.chain.call('anvil_dropAllTransactions')
  await areDoneOnce(moved)
})

test('dropped from the pool, then stuck below a base fee that rises', async () => {
  const moved = await begin()
  const sent = await areSent(moved)
  await shop.chain.call('anvil_dropAllTransactions')
  for (let block = 0; block < 12; block += 1) {
    await shop.chain.call('anvil_setNextBlockBaseFeePerGas', `0x${(100n * 10n ** 9n).toString(16)}`)
    await shop.chain.mine()
  }
  const more = await eventually(
    async () => {
      await hasten()
      return listSent(moved)
    },
    (now) => moved.ids.every((id) => now.filter(({ payoutId }) => payoutId === id).length > 1),
  )
  assert.ok(more.length > sent.length)
  await areDoneOnce(moved)
})

test('another one submits the authorizations first, and then the database is an older one', async () => {
  const moved = await begin()
  const sent = await areSent(moved)
  await shop.chain.call('anvil_dropAllTransactions')
  for (const { raw } of sent) {
    const { data, to } = parseTransaction(raw)
    await shop.chain.call('eth_sendTransaction', { from: PAYER.address, to, data, gas: '0x30d40' })
  }
  await areDoneOnce(moved)
  const { db } = shop.host
  await db.run(sql`delete from chain_payout_transactions where payout_id = any(${moved.ids.slice(0, 2)})`)
  await db.run(sql`delete from chain_payouts where id = any(${moved.ids.slice(0, 2)})`)
  await db.tx(async (tx) => {
    // the older books have no booking of the payment, and only a restore removes one
    await tx.run(sql`set local session_replication_role = replica`)
    const paid = sql`select id from ledger_journals where kind = 'settlement_paid' and cause_id = ${moved.ids[1]}`
    await tx.run(sql`delete from ledger_entries where journal_id in (${paid})`)
    await tx.run(sql`delete from ledger_journals where id in (${paid})`)
    await tx.run(sql`
      update settlements set status = 'approved', tx_hash = null, next_check_at = now() where id = ${moved.ids[1]}`)
  })
  await db.run(sql`
    update sweeps set status = 'sending', tx_hash = null, done_at = null, next_check_at = now() where id = ${moved.ids[2]}`)
  await db.run(sql`
    update chain_payouts set status = 'reserved', tx_hash = null, relayer_nonce = null, relayer_address = null where id = ${moved.ids[2]}`)
  await areDoneOnce(moved)
})

/** A gate inside a transaction of the database: `reached` once it is there, which goes on with `open`. */
function makeGate() {
  const [there, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const stop = (): Promise<void> => {
    there.resolve()
    return go.promise
  }
  return { stop, reached: there.promise, open: go.resolve }
}

test('nothing is signed while a person names what paid it, nor is anything named while it is signed', async (t) => {
  const { chain, host } = shop
  const { db } = host
  const { chainId, usdcAddress } = chain
  const keys = await payoutEnv(chain)
  const [naming, signing] = [makeGate(), makeGate()]
  t.after(() => {
    for (const gate of [naming, signing]) gate.open()
  })
  const openWith = (findNamedHold: FindNamedHold) =>
    openPayouts({
      ...{ db, rpc, findNamedHold, clock: Date.now, log: pino({ level: 'silent' }) },
      network: networkFor({ chainId, usdcAddress }),
      refundSigner: localSigner(keys.CHAIN_31337_REFUND_KEY ?? ''),
      relayerSigner: localSigner(keys.CHAIN_31337_RELAYER_KEY ?? ''),
    })
  const request = (): PayoutRequest => ({ id: newId(), to: newAddress(), units: REFUND_UNITS })
  const [named, signed] = [request(), request()]
  const name = ({ id: causeId, to: toAddress }: PayoutRequest, stop = async () => {}) =>
    db.tx(async (tx) => {
      const txHash = `0x${causeId.padEnd(64, '0')}`
      await claimTransaction(tx, { companyId: shop.merchant.companyId, network: chainId, txHash, causeId, toAddress })
      await stop()
    })
  const waitsFor = ({ id }: PayoutRequest) =>
    eventually(
      () =>
        db.many(sql`
          select 1 from pg_locks where locktype = 'advisory' and not granted
            and (classid::bigint << 32 | objid::bigint) = hashtextextended(${`claims ${id}`}, 0)`),
      (waiting) => waiting.length === 1,
    )
  const isStopped = ({ id, to, units }: PayoutRequest) =>
    withdrawPayout(db, { id, to, units, chainId }, { by: 'canBeNamed', providerStatus: 'by hand' }, new Date())
  const first = name(named, naming.stop)
  await naming.reached
  const sending = openWith(findPayoutHold).send(named)
  await waitsFor(named)
  naming.open()
  await first
  assert.match((await sending).providerStatus, /was named for this, so the service does not send it any more/)
  assert.equal(await isStopped(named), true)
  const careful = openWith(async (tx, payout) => {
    const hold = await findPayoutHold(tx, payout)
    await signing.stop()
    return hold
  })
  const sent = careful.send(signed)
  await signing.reached
  const late = name(signed)
  await waitsFor(signed)
  signing.open()
  await late
  assert.equal(await isStopped(signed), false, 'whoever names it then learns that it is being paid')
  assert.equal((await sent).outcome, 'pending')
})

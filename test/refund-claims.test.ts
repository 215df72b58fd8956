import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { idFrom } from '../src/kernel/ids.ts'
import { claimTransaction } from '../src/ledger/claim-queries.ts'
import { type Client, logInSuperAdmin } from './harness/accounts.ts'
import { createPaid, newAddress, payoutEnv, type RefundData, refundReaches, revert } from './harness/refunds.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'
import { type Answer, eventually, startTestService, type TestService } from './harness/service.ts'
import { chainEnv, openShop, type Shop } from './harness/shop.ts'

/** A transaction that a person names settles one refund, also while the node does not answer. */
let shop: Shop
/** Holds the money, and so sends it. */
let operator: Client
let node: RpcProxy
/** A node of the same shop that has the keys; it works on nothing until it is told to. */
let keyed: TestService

before(async () => {
  shop = await openShop({
    env: async (chain) => {
      node = await startRpcProxy(chain.rpcUrl)
      return { CHAIN_31337_RPC_URL: node.url }
    },
  })
  const env = { ...chainEnv(shop.chain), ...(await payoutEnv(shop.chain)), CHAIN_31337_RPC_URL: node.url }
  operator = await logInSuperAdmin(shop.host)
  keyed = await startTestService({ env, connectionString: shop.host.connectionString })
})
after(async () => {
  await keyed?.stop()
  await shop?.stop()
  await node?.stop()
})

const name = (refund: RefundData, txHash: string, key?: string): Promise<Answer<RefundData>> =>
  operator.post(`refunds/${refund._id}/transaction`, { txHash }, key === undefined ? {} : { 'idempotency-key': key })

async function startRefund(to: string): Promise<RefundData> {
  const order = await createPaid(shop)
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  return refundReaches(shop, order.orderId, 'ready', false)
}

const ownersOf = async (txHash: string): Promise<string[]> => {
  const rows = await shop.host.db.many<{ causeId: string }>(
    sql`select cause_id from claimed_transfers where tx_hash = ${txHash}`,
  )
  return rows.map(({ causeId }) => causeId)
}

/** Two refunds of the same amount to one address, and one transaction that pays one of them. */
async function startPair() {
  const to = newAddress()
  const [first, second] = [await startRefund(to), await startRefund(to)]
  return { first, second, txHash: await shop.chain.pay({ to, units: 54_000_000n }) }
}

async function settlesOnlyTheFirst({ first, second, txHash }: Awaited<ReturnType<typeof startPair>>): Promise<void> {
  assert.deepEqual(await ownersOf(txHash), [first._id])
  const refused = await name(second, txHash)
  assert.deepEqual([refused.status, refused.error.code], [422, 'VALIDATION_FAILED'])
  await shop.chain.mine(4)
  const settled = await refundReaches(shop, first.orderId, 'settled')
  assert.equal(settled.txHash, txHash)
  const other = await refundReaches(shop, second.orderId, 'ready', false)
  assert.equal(other.txHash, null)
}

test('one transaction settles one refund, also when it is named again while the node is away', async () => {
  const pair = await startPair()
  const named = await name(pair.first, pair.txHash)
  assert.deepEqual([named.status, named.data.status], [200, 'submitted'])
  node.faults.status = 503
  const again = await name(pair.first, pair.txHash)
  assert.deepEqual([again.status, again.error.code], [502, 'CHANNEL_UNAVAILABLE'])
  node.heal()
  await settlesOnlyTheFirst(pair)
})

test('one transaction settles one refund, also when a second request names it while the first waits in vain', async () => {
  const pair = await startPair()
  node.faults.hangsOn = pair.txHash
  const waiting = name(pair.first, pair.txHash)
  await eventually(
    async () => node.held.length,
    (count) => count > 0,
  )
  node.heal()
  const named = await name(pair.first, pair.txHash)
  assert.deepEqual([named.status, named.data.status], [200, 'submitted'])
  node.refuseHeld()
  const inVain = await waiting
  assert.deepEqual([inVain.status, inVain.error.code], [502, 'CHANNEL_UNAVAILABLE'])
  await settlesOnlyTheFirst(pair)
})

test('a transaction that could not be checked is free again, so that it can settle the refund it was sent for', async () => {
  const { first, second, txHash } = await startPair()
  node.faults.status = 503
  assert.equal((await name(first, txHash)).status, 502)
  node.heal()
  assert.deepEqual(await ownersOf(txHash), [])
  assert.equal((await name(second, txHash)).status, 200)
  assert.deepEqual(await ownersOf(txHash), [second._id])
})

test('one transaction settles a refund at each address that it pays; an earlier version’s node claims none of it', async () => {
  const { chain, host } = shop
  const [a, b, c] = [newAddress(), newAddress(), newAddress()]
  const [first, second, third] = [await startRefund(a), await startRefund(b), await startRefund(c)]
  const txHash = await chain.payMany([a, b].map((to) => ({ to, units: 54_000_000n })))
  await chain.mine(3)
  const older = async (): Promise<string[]> => {
    const rows = await host.db.many<{ causeId: string }>(
      sql`select cause_id from claimed_transactions where tx_hash = ${txHash}`,
    )
    return rows.map(({ causeId }) => causeId)
  }
  // it pays this one nothing; another one is claimed while it is asked
  node.faults.hangsOn = txHash
  const wrong = name(third, txHash)
  await eventually(older, (owners) => owners.length === 1)
  await eventually(
    async () => node.held.length,
    (count) => count > 0,
  )
  node.heal()
  assert.equal((await name(first, txHash)).data.status, 'settled')
  node.refuseHeld()
  assert.notEqual((await wrong).status, 200)
  assert.deepEqual([await ownersOf(txHash), await older()], [[first._id], [first._id]])
  assert.equal((await name(second, txHash)).data.status, 'settled')
  // released by an earlier version, which knows no parts
  await host.db.run(sql`delete from claimed_transactions where tx_hash = ${txHash} and cause_id = ${first._id}`)
  assert.deepEqual([await ownersOf(txHash), await older()], [[second._id], [second._id]])
  // claimed by an earlier version, which claims all of it
  const other = await chain.payMany([{ to: c, units: 54_000_000n }])
  await host.db.run(sql`insert into claimed_transactions values (31337, ${other}, ${second._id})`)
  assert.equal((await name(third, other)).status, 422)
  assert.deepEqual(await ownersOf(other), [])
})

/** What naming a transaction commits first; then the process ends. */
const beginNaming = ({ _id: causeId }: { _id: string }, txHash: string, toAddress: string) =>
  shop.host.db.tx(async (tx) => {
    await claimTransaction(tx, { companyId: shop.merchant.companyId, network: 31337, txHash, causeId, toAddress })
  })

/** A poll may change it while its chain is asked: then the answer is to try again. */
async function freed(drop: () => Promise<Answer>): Promise<void> {
  let answer = await drop()
  for (let tries = 0; tries < 10 && /Try again/.test(answer.text); tries += 1) answer = await drop()
  assert.equal(answer.status, 200, answer.text)
}

test('a transaction whose naming was cut short settles the refund that it pays, once the other one is rejected', async () => {
  const to = newAddress()
  const [refund, next] = [await startRefund(to), await startRefund(to)]
  const right = await shop.chain.pay({ to, units: 54_000_000n })
  const wrong = await shop.chain.pay({ to, units: 20_000_000n })
  await shop.chain.mine(4)
  await beginNaming(refund, wrong, to)
  await beginNaming(refund, right, to)
  const admin = operator
  const reject = () => admin.post(`refunds/${refund._id}/reject`, { reason: 'asked again' })
  const { status, error } = await reject()
  assert.deepEqual([status, error.code], [409, 'OBJECT_CONFLICT'])
  await shop.host.db.run(sql`delete from claimed_transactions where tx_hash = ${right}`)
  await freed(reject)
  assert.deepEqual(await ownersOf(wrong), [])
  assert.equal((await name(next, right)).data.status, 'settled')
})

test('naming another transaction releases the one whose naming was cut short', async () => {
  const { first, second, txHash } = await startPair()
  const { address } = first
  const right = await shop.chain.pay({ to: address ?? '', units: 54_000_000n })
  await shop.chain.mine(4)
  await beginNaming(first, txHash, address ?? '')
  assert.equal((await name(first, right)).data.status, 'settled')
  assert.deepEqual([await ownersOf(right), await ownersOf(txHash)], [[first._id], []])
  assert.equal((await name(second, txHash)).data.status, 'settled')
})

test('a settlement is not cancelled while a transaction whose naming was cut short pays it; a wrong one is free again', async () => {
  const to = newAddress()
  const refund = await startRefund(to)
  await createPaid(shop)
  const { companyId } = shop.merchant
  await shop.host.db.run(sql`
    update companies set settlement_address = ${to}, settlement_network = 31337 where id = ${companyId}`)
  const admin = operator
  const create = async () =>
    (await admin.post<{ _id: string; amount: string; status: string }>('settlements', { companyId })).data
  const first = await create()
  await admin.post(`settlements/${first._id}/approve`)
  const right = await shop.chain.pay({ to, units: BigInt(first.amount.replace('.', '')) })
  const wrong = await shop.chain.pay({ to, units: 54_000_000n })
  await shop.chain.mine(4)
  await beginNaming(first, right, to)
  assert.equal((await admin.post(`settlements/${first._id}/cancel`)).status, 409)
  await shop.host.db.run(sql`delete from claimed_transactions where tx_hash = ${right}`)
  await beginNaming(first, wrong, to)
  await freed(() => admin.post(`settlements/${first._id}/cancel`))
  const settled = await name(refund, wrong, 'settled')
  assert.equal(settled.data.status, 'settled', 'what became of it in the same request')
  assert.equal((await name(refund, wrong, 'settled')).text, settled.text)
  const { _id } = await create()
  await admin.post(`settlements/${_id}/approve`)
  const report = () =>
    admin.post<{ status: string }>(`settlements/${_id}/paid`, { txHash: right }, { 'idempotency-key': 'paid' })
  await shop.host.db.run(sql`
    create function fail() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`)
  await shop.host.db.run(sql`
    create trigger fail before update on settlements for each row when (new.status = 'paid') execute function fail()`)
  const reported = await report()
  await shop.host.db.run(sql`drop function fail cascade`)
  assert.deepEqual([reported.status, reported.data?.status], [200, 'approved'], 'named, and not yet booked')
  assert.equal((await report()).text, reported.text)
  await eventually(
    () => admin.get<{ status: string }>(`settlements/${_id}`),
    ({ data }) => data.status === 'paid',
  )
})

test('what a person was asked to send is not sent by a node with the keys, whatever they name and whether it is cut short', async () => {
  const [mistyped, cutShort] = [await startRefund(newAddress()), await startRefund(newAddress())]
  const both = [mistyped, cutShort]
  const ids = both.map(({ _id }) => _id)
  const reach = async ({ _id }: RefundData, words: string, isPolled: boolean) =>
    eventually(
      () =>
        shop.host.db.one<{ words: string | null; nextCheckAt: Date | null }>(
          sql`select last_words as words, next_check_at from refunds where id = ${_id}`,
        ),
      (seen) => seen.words?.startsWith(words) === true && (seen.nextCheckAt !== null) === isPolled,
    )
  for (const refund of both) await reach(refund, 'send it by hand', false)
  await shop.host.service.stopWorkers()
  const paid = await Promise.all(both.map(({ address }) => shop.chain.pay({ to: address ?? '', units: 54_000_000n })))
  await shop.chain.mine(4)
  assert.equal((await name(mistyped, `0x${'12'.repeat(32)}`)).status, 422)
  await beginNaming(cutShort, paid[1] ?? '', cutShort.address ?? '')
  await shop.host.db.run(sql`update refunds set next_check_at = now() where id = any(${ids})`)
  await keyed.service.startWorkers()
  await reach(cutShort, `Transaction ${paid[1]} was named`, true)
  await reach(mistyped, 'send it by hand', false)
  for (const [index, refund] of both.entries())
    assert.equal((await name(refund, paid[index] ?? '')).data.status, 'settled')
  for (const { address } of both) assert.equal(await shop.chain.balanceOf(address ?? ''), 54_000_000n)
})

test('a refund that a person began to name when its poll was about to sign it is not sent', async () => {
  const order = await createPaid(shop)
  const to = newAddress()
  const txHash = await shop.chain.pay({ to, units: 54_000_000n })
  const _id = idFrom('refund', shop.merchant.companyId, order.orderId, 1)
  node.faults.alter = async ({ method }, result) => {
    // asked for what would be signed next
    if (method === 'eth_maxPriorityFeePerGas') await beginNaming({ _id }, txHash, to)
    return result
  }
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  const held = await eventually(
    () => refundReaches(shop, order.orderId, 'submitted'),
    ({ message }) => message?.startsWith(`Transaction ${txHash} was named`) === true,
  )
  node.heal()
  const settled = await name(held, txHash)
  assert.deepEqual([settled.data.status, await shop.chain.balanceOf(to)], ['settled', 54_000_000n])
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { getAddress } from 'viem/utils'
import { countHeld } from '../src/chain/deposits/reservation-queries.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { listSweepable } from '../src/chain/sweep/sweep-queries.ts'
import { sql } from '../src/db/db.ts'
import { deriveAddress } from '../src/kernel/xpub.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { listTransferDifferences } from '../src/ledger/transfer-verify-queries.ts'
import { listPaymentsByTransfers } from '../src/payments/payment-queries.ts'
import { insertUnmatched } from '../src/payments/unmatched/unmatched-queries.ts'
import { type Client, logIn, registerManager } from './harness/accounts.ts'
import { newTestXpub } from './harness/chain.ts'
import { payOnBase, placeAsBefore } from './harness/earlier-orders.ts'
import { payoutEnv } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import { FINAL_AFTER, type Instructions, type OrderData, openShop, type Shop, TEST_XPUB } from './harness/shop.ts'

let shop: Shop
let manager: Client
let till: string
let companyId: string
/** That pay refunds and gas. */
let wallets: string[] = []
const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'")
const hexOf = (bytes: Uint8Array | null): string => `0x${Buffer.from(bytes ?? []).toString('hex')}`

before(async () => {
  const env: typeof payoutEnv = async (chain) => {
    const keys = await payoutEnv(chain)
    // the third address of a company's account, because one person runs both
    keys.CHAIN_31337_REFUND_KEY = hexOf(account.derive('m/0/2').privateKey)
    wallets = Object.values(keys).map((key) => localSigner(key).address)
    return { ...keys, TRUST_PROXY: '127.0.0.1' }
  }
  shop = await openShop({ env })
  const person = await registerManager(shop.host.baseUrl)
  manager = await logIn(shop.host.baseUrl, person.email)
  companyId = person.companyId ?? ''
  const { data } = await manager.get<{ collectors: { identifier: string }[] }>('collectors/list')
  till = data.collectors[0]?.identifier ?? ''
})
after(() => shop?.stop())

const newAddress = (): string => getAddress(`0x${randomBytes(20).toString('hex')}`)
const save = (settings: Record<string, string>) => manager.call('PUT', 'channel-accounts/crypto', { settings })
const isFault = async (settings: Record<string, string>, name: string, say: RegExp): Promise<void> => {
  const answer = await save(settings)
  assert.equal(answer.status, 422, answer.text)
  const [fault] = answer.error.details ?? []
  assert.equal(fault?.path, `settings.${name}`)
  assert.match(fault?.message ?? '', say)
}

type Placed = { code: string; orderId: string; toAddress: string; units: bigint }

const create = async (): Promise<OrderData> => {
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: till }
  return (await manager.post<{ order: OrderData }>('confirm_conversion/request', body)).data.order
}
const accept = (code: string, more: Record<string, string> = {}) =>
  manager.post<Instructions>(`confirm_conversion/accept/${code}`, { paymentChannel: 'crypto', ...more })
async function place(more?: Record<string, string>): Promise<Placed> {
  const { code, _id: orderId } = await create()
  const { data, text } = await accept(code, more)
  assert.equal(data?.status, 'AWAITING', text)
  return { code, orderId, toAddress: data.toAddress, units: BigInt(data.tokenAmount.replace('.', '')) }
}
const statusOf = async (code: string): Promise<string> =>
  (await shop.host.call<OrderData>('GET', `status/${code}`)).data.status
const becomes = (code: string, status: string) =>
  eventually(
    () => statusOf(code),
    (seen) => seen === status,
  )
const pay = async ({ toAddress: to }: Placed, units: bigint, from?: string): Promise<string> => {
  const txHash = await shop.chain.pay({ to, units, ...(from && { from }) })
  await shop.chain.mine(FINAL_AFTER - 1)
  return txHash
}
const heldBy = async (orderId: string): Promise<Record<string, string>> => {
  const rows = await shop.host.db.many<{ account: string; units: string }>(sql`
    select e.account, sum(e.units) as units from ledger_entries e
    join ledger_journals j on j.company_id = e.company_id and j.id = e.journal_id
    where j.order_id = ${orderId} group by e.account having sum(e.units) <> 0`)
  return Object.fromEntries(rows.map((row) => [row.account, row.units]))
}

const listWrong = () => listTransferDifferences(shop.host.db, companyId, 10, {})

const xpub = newTestXpub()

test('a key that is private, the operator’s, or of another wallet than the one shown is refused with the reason', async () => {
  await isFault({ MODE: 'xpub' }, 'XPUB', /is required/)
  await isFault({ MODE: 'xpub', XPUB: `0x${'ab'.repeat(32)}` }, 'XPUB', /PRIVATE key/)
  await isFault({ MODE: 'xpub', XPUB: TEST_XPUB }, 'XPUB', /belongs to another account/)
  await isFault({ MODE: 'xpub', XPUB: xpub, CONFIRM_ADDRESS: newAddress() }, 'CONFIRM_ADDRESS', /its first are 0x/)
  await isFault({ MODE: 'pool', ADDRESSES: `${newAddress()}, 0x12` }, 'ADDRESSES', /entry 2, "0x12…", is not/)
  await isFault({ MODE: 'static', ADDRESSES: `${newAddress()} ${newAddress()}` }, 'ADDRESSES', /is one address/)
  await isFault({ MODE: 'pool', ADDRESSES: shop.chain.usdcAddress }, 'ADDRESSES', /contract of a token/)
  await isFault({ MODE: 'pool', ADDRESSES: newAddress(), NETWORKS: '5' }, 'NETWORKS', /not offered/)
  assert.equal((await manager.get<{ channel: string; own: boolean }[]>('channel-accounts')).data[0]?.own, false)
})

test('no company takes a wallet of the service, or where another company’s settlements go, as an address of its own', async () => {
  for (const wallet of wallets)
    for (const MODE of ['pool', 'static'])
      await isFault({ MODE, ADDRESSES: wallet }, 'ADDRESSES', /wallet of this service/)
  await isFault({ MODE: 'pool', ADDRESSES: `0x${'0'.repeat(36)}0009` }, 'ADDRESSES', /belongs to nobody/)
  const theirs = newAddress()
  await shop.host.db.run(sql`update companies set settlement_address = ${theirs}, settlement_network = ${shop.chain.chainId}
    where id = ${shop.merchant.companyId}`)
  await isFault({ MODE: 'pool', ADDRESSES: theirs }, 'ADDRESSES', /in use by another account/)
})

test('a wallet that was a pool becomes an xpub: an address that a payer has is not given out again', async () => {
  const key = newTestXpub()
  const [first, second] = [deriveAddress(key, 0), deriveAddress(key, 1)]
  assert.equal((await save({ MODE: 'pool', ADDRESSES: `${first}, ${second}` })).status, 200)
  const old = await place()
  assert.equal((await save({ MODE: 'xpub', XPUB: key, CONFIRM_ADDRESS: first })).status, 200)
  // the other one was named only, and nobody was shown it
  const orders = [await place(), await place()]
  assert.deepEqual(
    orders.map(({ toAddress }) => toAddress),
    [old.toAddress === first ? second : first, deriveAddress(key, 2)],
  )
  const [order] = orders
  assert.ok(order)
  await pay(order, order.units)
  await becomes(order.code, 'PAID')
  assert.equal(await statusOf(old.code), 'AWAITING')
})

test('the wallet that pays refunds lies in the account of an xpub: no order gets its address, which sweeps would pay', async () => {
  const key = account.publicExtendedKey
  assert.ok(wallets.includes(deriveAddress(key, 2)))
  assert.equal((await save({ MODE: 'xpub', XPUB: key, CONFIRM_ADDRESS: deriveAddress(key, 0) })).status, 200)
  const given = [(await place()).toAddress, (await place()).toAddress, (await place()).toAddress]
  assert.deepEqual(
    given,
    [0, 1, 3].map((index) => deriveAddress(key, index)),
  )
})

test('the address of the wallet where a company is paid out is given to no order: a settlement would pay it', async () => {
  const key = newTestXpub()
  await shop.host.db.run(sql`update companies set settlement_address = ${deriveAddress(key, 0)},
    settlement_network = ${shop.chain.chainId} where id = ${companyId}`)
  const saved = await save({ MODE: 'xpub', XPUB: key, CONFIRM_ADDRESS: deriveAddress(key, 0) })
  assert.equal(saved.status, 200, saved.text)
  assert.equal((await place()).toAddress, deriveAddress(key, 1))
  // the same of the operator's key, where one person runs both
  const ours = await shop.accept((await shop.create()).code)
  const { next } = await shop.host.db.one<{ next: bigint }>(sql`
    select next_index as next from deposit_keys where company_id is null`)
  assert.equal(ours.data.toAddress, deriveAddress(TEST_XPUB, Number(next) - 1))
  await shop.host.db.run(sql`update companies set settlement_address = ${deriveAddress(TEST_XPUB, Number(next))}
    where id = ${shop.merchant.companyId}`)
  const after = await shop.accept((await shop.create()).code)
  assert.equal(after.data.toAddress, deriveAddress(TEST_XPUB, Number(next) + 1))
})

/** Of the payment, as the books have it. */
const receives = (orderId: string, units: bigint) =>
  eventually(
    async () => (await shop.story(orderId)).payments[0]?.receivedUnits,
    (received) => received === String(units),
  )

test('a contract wallet exists only on the networks it names: money at its address elsewhere never pays an order', async () => {
  const safe = newAddress()
  assert.equal((await save({ MODE: 'pool', ADDRESSES: safe, NETWORKS: '31337' })).status, 200)
  const order = await place()
  const id = await payOnBase(shop.host.db, order, order.units)
  await pay(order, 1n)
  await receives(order.orderId, 1n)
  // the company names every network, for another address and for this one, and then takes its wallet away
  for (const ADDRESSES of [newAddress(), safe]) assert.equal((await save({ MODE: 'static', ADDRESSES })).status, 200)
  await pay(order, 1n)
  await receives(order.orderId, 2n)
  assert.equal((await manager.call('DELETE', 'channel-accounts/crypto')).status, 200)
  await pay(order, 1n)
  await receives(order.orderId, 3n)
  assert.equal(await statusOf(order.code), 'AWAITING')
  assert.deepEqual(await listWrong(), [])
  assert.equal(await insertUnmatched(shop.host.db, [id], { dustUnits: 0n, usdc: {} }), 1)
  // only the company knows whether the address is its own there
  const found = await unmatchedOf(id)
  assert.match(found.next, /no money on this network, where the address may not be yours\. If your wallet shows/)
  assert.deepEqual([found.isNetworkAccepted, found.candidates.map(({ code }) => code)], [false, [order.code]])
  assert.equal((await save({ MODE: 'pool', ADDRESSES: safe, NETWORKS: '31337' })).status, 200)
  assert.equal((await manager.post(`unmatched-transfers/${id}/match`, { code: order.code })).status, 200)
  await becomes(order.code, 'PAID')
  assert.deepEqual(await listWrong(), [])
})

test('what came on a network that the company named counts on when it names fewer', async () => {
  const ADDRESSES = newAddress()
  assert.equal((await save({ MODE: 'pool', ADDRESSES })).status, 200)
  const order = await place()
  const id = await payOnBase(shop.host.db, order, 20_000_000n)
  await pay(order, 1n)
  await receives(order.orderId, 20_000_001n)
  assert.equal((await save({ MODE: 'pool', ADDRESSES, NETWORKS: '31337' })).status, 200)
  await pay(order, 1n)
  await receives(order.orderId, 20_000_002n)
  await placeAsBefore(shop.host.db, order)
  await pay(order, 1n)
  await receives(order.orderId, 20_000_003n)
  assert.deepEqual(await listWrong(), [])
  assert.equal(await insertUnmatched(shop.host.db, [id], { dustUnits: 0n, usdc: {} }), 0, 'it has its order')
})

test('an order paid to a company’s own xpub is its own money: never swept, never settled, refunded by its people', async () => {
  const saved = await save({ MODE: 'xpub', XPUB: xpub, CONFIRM_ADDRESS: deriveAddress(xpub, 0) })
  assert.equal(saved.status, 200, saved.text)
  const order = await place()
  assert.equal(order.toAddress, deriveAddress(xpub, 0))
  await pay(order, order.units)
  await becomes(order.code, 'PAID')
  assert.deepEqual(await heldBy(order.orderId), { own_account: '54000000', company_payable: '-54000000' })
  const chain = { chainId: shop.chain.chainId, token: shop.chain.usdcAddress, screenFromUnits: 0n }
  assert.deepEqual(await listSweepable(shop.host.db, chain), [])
  await shop.host.db.run(sql`update companies set settlement_address = '0x52908400098527886E0F7030069857D2E4169EE7',
    settlement_network = ${shop.chain.chainId} where id = ${companyId}`)
  const settled = await manager.post('settlements', {})
  assert.match(settled.error.message, /less what it holds/)
  const reverted = await manager.post(`confirm_conversion/revert/${order.code}`, {
    amount: '14',
    address: shop.chain.payer,
  })
  assert.equal(reverted.status, 200, reverted.text)
  await becomes(order.code, 'REFUNDING')
  const { data } = await manager.get<{ refunds: { status: string; txHash: string | null }[] }>('refunds')
  assert.equal(data.refunds[0]?.txHash, null, 'the operator’s wallet does not pay for the company')
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
})

test('money that comes after the company took its wallet away still counts', async () => {
  const order = await place()
  assert.equal((await manager.call('DELETE', 'channel-accounts/crypto')).status, 200)
  await pay(order, order.units)
  await becomes(order.code, 'PAID')
  const next = await place()
  assert.notEqual(next.toAddress, deriveAddress(xpub, 2), 'the operator’s wallet serves again')
})

test('pool: each open order has an address of its own; when all serve, the payer is told, and the next takes a free one', async () => {
  const addresses = [newAddress(), newAddress()]
  assert.equal((await save({ MODE: 'pool', ADDRESSES: addresses.join(', ') })).status, 200)
  const [first, second] = [await place(), await place()]
  assert.deepEqual([first.toAddress, second.toAddress].toSorted(), addresses.toSorted())
  const third = await create()
  const refused = await accept(third.code)
  assert.deepEqual([refused.status, refused.error.code], [400, 'CHANNEL_NOT_AVAILABLE'])
  assert.match(refused.error.message, /all 2 addresses of the shop serve open orders/)
  await pay(first, first.units)
  await becomes(first.code, 'PAID')
  assert.equal(await statusOf(second.code), 'AWAITING')
  // an hour after its payment an address serves again; what came before is not the next order's
  await shop.host.db.run(sql`update payments set closed_at = closed_at - interval '61 minutes'
    where order_id = ${first.orderId}`)
  await shop.host.db.run(sql`update deposit_reservations set from_at = from_at - interval '61 minutes'
    where address = ${first.toAddress.toLowerCase()}`)
  await shop.host.db.run(sql`update chain_transfers set block_at = block_at - interval '61 minutes'
    where to_address = ${first.toAddress.toLowerCase()}`)
  const next = await place()
  assert.equal(next.toAddress, first.toAddress)
  assert.equal(await statusOf(next.code), 'AWAITING')
  await pay(next, next.units)
  await becomes(next.code, 'PAID')
  assert.deepEqual(await heldBy(first.orderId), { own_account: '54000000', company_payable: '-54000000' })
  await pay(second, second.units)
  await becomes(second.code, 'PAID')
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
  assert.deepEqual(await listWrong(), [], 'each order by its own transfers')
})

test('pool: one visitor does not hold the addresses that others need; the shop’s till is not counted', async () => {
  const addresses = Array.from({ length: 12 }, newAddress)
  assert.equal((await save({ MODE: 'pool', ADDRESSES: addresses.join(', ') })).status, 200)
  const choose = async (from: string) => {
    const { code } = await create()
    const headers = { origin: shop.host.baseUrl, 'x-forwarded-for': from }
    const page = await (await fetch(`${shop.host.baseUrl}/pay?code=${code}`, { headers })).text()
    const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? ''
    const body = new URLSearchParams({ code, token, paymentChannel: 'crypto', network: String(shop.chain.chainId) })
    await fetch(`${shop.host.baseUrl}/pay/accept`, { method: 'POST', headers, body, redirect: 'manual' })
    return statusOf(code)
  }
  const seen: string[] = []
  for (let count = 0; count < 9; count += 1) seen.push(await choose('192.0.2.1'))
  assert.equal(seen.filter((status) => status === 'AWAITING').length, 6, seen.join())
  assert.equal(await choose('192.0.2.2'), 'AWAITING', 'half is left to others')
  await place()
})

test('static: orders of one price differ in the fifth digit, and each is paid by its own amount alone', async () => {
  const address = newAddress()
  assert.equal((await save({ MODE: 'static', ADDRESSES: address })).status, 200)
  const [first, second, third] = [await place(), await place(), await place()]
  assert.deepEqual(
    [first, second, third].map((order) => [order.toAddress, order.units]),
    [54_000_000n, 54_000_010n, 54_000_020n].map((units) => [address, units]),
  )
  const amounts = { first: 54_000_000n, last: 54_000_010n }
  assert.equal(await shop.host.db.tx((tx) => countHeld(tx, [address.toLowerCase()], amounts)), 2)
  await pay(second, second.units)
  await becomes(second.code, 'PAID')
  assert.deepEqual([await statusOf(first.code), await statusOf(third.code)], ['AWAITING', 'AWAITING'])
  // a stranger's transfer of another amount pays no order, whoever names it
  const [, stranger = ''] = await shop.chain.call<string[]>('eth_accounts').then((list) => list.slice(-2))
  await shop.chain.call('anvil_setBalance', stranger, '0x56bc75e2d63100000')
  await shop.chain.pay({ to: stranger, units: 60_000_000n })
  const foreign = await pay(first, 54_000_005n, stranger)
  const path = `confirm_conversion/transaction/${first.code}`
  const name = async () => (await manager.post<{ counted: boolean; reason: string }>(path, { txHash: foreign })).data
  const { counted } = await eventually(name, ({ reason }) => /not the exact amount/.test(reason))
  assert.equal(counted, false)
  await pay(third, third.units)
  await becomes(third.code, 'PAID')
  assert.equal(await statusOf(first.code), 'AWAITING')
  await pay(first, first.units)
  await becomes(first.code, 'PAID')
  assert.deepEqual(await heldBy(second.orderId), { own_account: '54000010', company_payable: '-54000010' })
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
  assert.deepEqual(await listWrong(), [], 'each order by its own transfers')
  const setStatus = (status: string) =>
    shop.host.db.run(sql`update chain_transfers set status = ${status}
      where to_address = ${address.toLowerCase()} and units = ${String(second.units)}::numeric`)
  await setStatus('orphaned')
  const subjects = (await listWrong()).map(({ subject, booked, expected }) => [subject, booked, expected])
  assert.deepEqual(subjects, [[`order ${second.code}`, '54000010', '0']], 'what is missing is missed of its order')
  await setStatus('seen')
})

type Unmatched = {
  _id: string
  status: string
  txHash: string
  amount: string
  isFinal: boolean
  onChain: boolean
  isNetworkAccepted: boolean
  next: string
  shortCode: string | null
  candidates: { code: string; tokenAmount: string }[]
}
const listUnmatched = async (query = '', client = manager): Promise<Unmatched[]> =>
  (await client.get<{ transfers: Unmatched[] }>(`unmatched-transfers?${query}`)).data.transfers
const unmatchedOf = (txHash: string, isRight: (found: Unmatched) => boolean = () => true): Promise<Unmatched> =>
  eventually(
    async () => (await listUnmatched('dust=true')).find((one) => one.txHash === txHash),
    (found) => found !== undefined && isRight(found),
  ).then((found) => found as Unmatched)
const needs = async (): Promise<number> =>
  (await manager.get<{ needs: { unmatched: number } }>('summary')).data.needs.unmatched

test('money that matches no order is listed, pays the order that a person names, and counts for that one alone', async () => {
  await save({ MODE: 'static', ADDRESSES: newAddress() })
  const open = await needs()
  const [order, other] = [await place(), await place()]
  const short = await pay(order, 54_000_003n)
  const found = await unmatchedOf(short)
  assert.deepEqual([found.status, found.amount], ['open', '54.000003'])
  assert.match(found.next, /in your wallet and counts for no order/)
  assert.equal(found.isNetworkAccepted, true)
  assert.deepEqual(
    found.candidates.map(({ code }) => code),
    [order.code, other.code],
    'the closest amount first',
  )
  assert.equal(await needs(), open + 1)
  const polled = async () => (await listPaymentsByTransfers(shop.host.db, [found._id])).map(({ orderId }) => orderId)
  assert.deepEqual(await polled(), [], 'no payment is asked about for money that it does not take')
  // one person decides, however often the button is pressed
  const answers = await Promise.all(
    [order, order, other].map(({ code }) => manager.post(`unmatched-transfers/${found._id}/match`, { code })),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409])
  const [winner, loser] = answers[2]?.status === 200 ? [other, order] : [order, other]
  await becomes(winner.code, 'PAID')
  assert.equal(await statusOf(loser.code), 'AWAITING')
  assert.equal((await unmatchedOf(short)).status, 'matched')
  assert.deepEqual(await polled(), [winner.orderId])
  assert.equal(await needs(), open)
  const again = await manager.post(`unmatched-transfers/${found._id}/ignore`, { reason: 'not mine' })
  assert.match(again.error.message, /counts for order .* already/)
  await pay(loser, loser.units)
  await becomes(loser.code, 'PAID')
  // of the price and three units more, the tolerance is the payer's
  assert.equal((await heldBy(loser.orderId)).own_account, String(loser.units))
  // what was set aside is not taken by an order that asks for the same amount seconds later
  const early = await unmatchedOf(await pay(loser, 54_000_020n))
  await manager.post(`unmatched-transfers/${early._id}/ignore`, { reason: 'a test of the owner’s' })
  const next = await place()
  assert.equal(next.units, 54_000_020n)
  const confirmed = await manager.post(`confirm_conversion/confirm/${next.code}`)
  assert.equal(confirmed.error.code, 'PAYMENT_NOT_RECEIVED')
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
})

test('what matches no order is USDC, too, if an order at its address asked for its contract, whatever it is called now', async () => {
  await save({ MODE: 'static', ADDRESSES: newAddress() })
  const order = await place()
  const txHash = await pay(order, order.units + 3n)
  const { _id } = await unmatchedOf(txHash)
  const { db } = shop.host
  await db.run(sql`update chain_transfers set symbol = 'USDC.e', is_usdc = false where id = ${_id}`)
  await db.run(sql`delete from unmatched_transfers where transfer_id = ${_id}`)
  assert.equal(await insertUnmatched(db, [_id], { dustUnits: 2n * order.units, usdc: {} }), 1)
  assert.ok(
    (await listUnmatched()).every((one) => one._id !== _id),
    'dust',
  )
  const found = await unmatchedOf(txHash)
  assert.match(found.next, /counts for no order\. Match it to its order/)
  assert.deepEqual([found.amount, found.candidates.map(({ code }) => code)], ['54.000003', [order.code]])
  assert.equal((await manager.post(`unmatched-transfers/${_id}/match`, { code: order.code })).status, 200)
  await becomes(order.code, 'PAID')
})

test('set aside, matched after all, and then gone from the chain: a loss of its order; what was undecided is gone', async () => {
  const order = await place()
  const before = await shop.chain.call<string>('evm_snapshot')
  const dust = await pay(order, 9_999n)
  const lone = await unmatchedOf(await pay(order, 1_500_000n))
  const found = await unmatchedOf(await pay(order, order.units + 5n))
  await unmatchedOf(dust)
  assert.ok(
    (await listUnmatched()).every(({ txHash }) => txHash !== dust),
    'dust is shown only when asked for',
  )
  const aside = await manager.post(`unmatched-transfers/${found._id}/ignore`, { reason: 'the owner’s own money' })
  assert.equal(aside.status, 200, aside.text)
  assert.equal(await statusOf(order.code), 'AWAITING')
  assert.equal((await manager.post(`unmatched-transfers/${found._id}/match`, { code: order.code })).status, 200)
  await becomes(order.code, 'PAID')
  await shop.chain.call('evm_revert', before)
  await shop.chain.mine(4 * FINAL_AFTER)
  const kinds = async (): Promise<string[]> => {
    const path = `mispayments?code=${order.code}`
    const { data } = await manager.get<{ mispayments: { kind: string; status: string; units: string }[] }>(path)
    return data.mispayments.filter(({ status }) => status === 'open').map(({ kind, units }) => `${kind} ${units}`)
  }
  await eventually(kinds, (list) => list.includes(`orphaned ${order.units}`))
  assert.equal(await statusOf(order.code), 'PAID')
  await unmatchedOf(lone.txHash, ({ status }) => status === 'gone')
  const late = await manager.post(`unmatched-transfers/${lone._id}/match`, { code: order.code })
  assert.match(late.error.message, /left the chain/)
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
})

test('another company sees no transfer of this one, and cannot decide about it or match it to an order of its own', async () => {
  const stray = await pay(await place(), 7_000_000n)
  const { _id } = await unmatchedOf(stray)
  const other = await registerManager(shop.host.baseUrl)
  const client = await logIn(shop.host.baseUrl, other.email)
  assert.deepEqual(await listUnmatched('dust=true', client), [])
  const foreign = await client.get(`unmatched-transfers?companyId=${companyId}`)
  assert.deepEqual([foreign.status, foreign.error.code], [404, 'OBJECT_NOT_FOUND'])
  for (const [way, body] of [
    ['match', { code: (await create()).code }],
    ['ignore', { reason: 'mine' }],
  ] as const) {
    const refused = await client.post(`unmatched-transfers/${_id}/${way}`, body)
    assert.deepEqual([refused.status, refused.error.code], [404, 'OBJECT_NOT_FOUND'])
  }
  const unpaid = await create()
  const elsewhere = await manager.post(`unmatched-transfers/${_id}/match`, { code: unpaid.code })
  assert.match(elsewhere.error.message, /was never shown 0x/)
  const unknown = await manager.post(`unmatched-transfers/${_id}/match`, { code: 'no-such-order' })
  assert.equal(unknown.error.code, 'ORDER_NOT_FOUND')
})

test('no other company can use an address or a key that is taken', async () => {
  const other = await registerManager(shop.host.baseUrl)
  const client = await logIn(shop.host.baseUrl, other.email)
  const put = (settings: Record<string, string>) => client.call('PUT', 'channel-accounts/crypto', { settings })
  const [row] = await shop.host.db.many<{ address: string }>(sql`
    select address from deposit_addresses where company_id = ${companyId} and key_id is null limit 1`)
  const address = await put({ MODE: 'static', ADDRESSES: row?.address ?? '' })
  assert.match(address.error.details?.[0]?.message ?? '', /in use by another account/)
  const key = await put({ MODE: 'xpub', XPUB: xpub })
  assert.match(key.error.details?.[0]?.message ?? '', /belongs to another account/)
})

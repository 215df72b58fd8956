import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listTakers } from '../src/chain/deposits/reservation-queries.ts'
import { sql } from '../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { findSettleable } from '../src/ledger/payable-queries.ts'
import { logIn, registerManager } from './harness/accounts.ts'
import { newTestXpub } from './harness/chain.ts'
import { newAddress, payoutEnv, signAs } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import { FINAL_AFTER, type Instructions, type OrderData, openShop, type Shop } from './harness/shop.ts'

let shop: Shop
before(async () => {
  shop = await openShop({ env: payoutEnv })
})
after(() => shop?.stop())

/** A company of its own, with its own wallet. */
async function openCompany(settings: Record<string, string>) {
  const person = await registerManager(shop.host.baseUrl)
  const manager = await logIn(shop.host.baseUrl, person.email)
  const { data } = await manager.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const saved = await manager.call('PUT', 'channel-accounts/crypto', { settings })
  assert.equal(saved.status, 200, saved.text)
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: data.collectors[0]?.identifier ?? '' }
  const place = async () => {
    const { code, _id: orderId } = (await manager.post<{ order: OrderData }>('confirm_conversion/request', body)).data
      .order
    const accepted = await manager.post<Instructions>(`confirm_conversion/accept/${code}`, { paymentChannel: 'crypto' })
    assert.equal(accepted.data?.status, 'AWAITING', accepted.text)
    const { toAddress, tokenAmount } = accepted.data
    return { code, orderId, toAddress, units: BigInt(tokenAmount.replace('.', '')) }
  }
  const pay = async (to: string, units: bigint): Promise<string> => {
    const txHash = await shop.chain.pay({ to, units })
    await shop.chain.mine(FINAL_AFTER - 1)
    return txHash
  }
  const sell = async () => {
    const order = await place()
    const txHash = await pay(order.toAddress, order.units)
    await shop.reaches(order.code, 'PAID')
    return { ...order, txHash }
  }
  return { manager, companyId: person.companyId ?? '', place, pay, sell }
}
const heldBy = async (orderId: string): Promise<Record<string, string>> => {
  const rows = await shop.host.db.many<{ account: string; units: string }>(sql`
    select e.account, sum(e.units) as units from ledger_entries e
    join ledger_journals j on j.company_id = e.company_id and j.id = e.journal_id
    where j.order_id = ${orderId} group by e.account having sum(e.units) <> 0`)
  return Object.fromEntries(rows.map((row) => [row.account, row.units]))
}

test('a refund that a company sent from its own wallet is no debt to the operator, and stops nothing', async () => {
  const { manager, companyId, sell } = await openCompany({ MODE: 'xpub', XPUB: newTestXpub() })
  const order = await sell()
  assert.deepEqual(await heldBy(order.orderId), { own_account: '54000000', company_payable: '-54000000' })
  const to = newAddress()
  const query = new URLSearchParams({ code: order.code, address: to })
  const { message } = (await manager.get<{ message: string }>(`refunds/address-message?${query}`)).data
  const body = { address: to, addressProof: { signature: await signAs(to, message) } }
  const reverted = await manager.post(`confirm_conversion/revert/${order.code}`, body)
  assert.equal(reverted.status, 200, reverted.text)
  const refund = await eventually(
    async () =>
      (await manager.get<{ refunds: { _id: string; status: string; message: string | null }[] }>('refunds')).data
        .refunds[0],
    (one) => one?.status === 'ready' && one.message !== null,
  )
  assert.equal(await findSettleable(shop.host.db, companyId), 0n, 'nor while it waits')
  // the company's people send it from their own wallet, and enter the transaction
  const txHash = await shop.chain.pay({ to, units: 54_000_000n })
  await shop.chain.mine(FINAL_AFTER)
  const named = await manager.post<{ status: string }>(`refunds/${refund?._id}/transaction`, { txHash })
  assert.deepEqual([named.status, named.data?.status], [200, 'settled'], named.text)
  await shop.reaches(order.code, 'FULL_REFUNDED')
  const verdict = await verifyLedger(shop.host.db)
  const owed = String(await findSettleable(shop.host.db, companyId))
  const next = await sell()
  const refused = await manager.post(`confirm_conversion/revert/${next.code}`, { amount: '1', address: to })
  assert.deepEqual(
    {
      books: await heldBy(order.orderId),
      owed,
      verify: verdict.difference === null ? 'no difference' : describeVerdict(verdict),
      nextRefund: `${refused.status} ${refused.error?.code ?? ''}`,
    },
    { books: {}, owed: '0', verify: 'no difference', nextRefund: '200 ' },
  )
})
test('two orders paid at one static address: refunds go on, and the export names the right transaction of each', async () => {
  const { manager, companyId, place, sell } = await openCompany({ MODE: 'static', ADDRESSES: newAddress() })
  const [first, second, third] = [await sell(), await sell(), await place()]
  const csv = (await manager.get<string>('confirm_conversion/download?format=csv')).text
  const [names = '', ...lines] = csv.trim().split('\r\n')
  const place_ = names.split(',').indexOf('transactionHash')
  const hashOf = (code: string): string | undefined => {
    const hash = lines.find((line) => line.includes(code))?.split(',')[place_]
    return hash === first.txHash ? 'of the first' : hash === second.txHash ? 'of the second' : hash
  }
  const refund = await manager.post(`confirm_conversion/revert/${first.code}`, { amount: '1', address: newAddress() })
  const differences = await shop.host.db.many<{ booked: string; expected: string }>(
    sql`select booked, expected from ledger_differences where company_id = ${companyId}`,
  )
  assert.deepEqual(
    {
      export: { first: hashOf(first.code), second: hashOf(second.code), unpaid: hashOf(third.code) },
      refund: `${refund.status} ${refund.error?.code ?? ''}`,
      differences: differences.map(({ booked, expected }) => `${booked}, right is ${expected}`),
    },
    { export: { first: 'of the first', second: 'of the second', unpaid: '' }, refund: '200 ', differences: [] },
  )
})

test('undecided and ignored money in a company’s own wallet takes nothing from what the operator owes it', async () => {
  const { manager, companyId, place, pay } = await openCompany({ MODE: 'xpub', XPUB: newTestXpub() })
  const order = await place()
  await pay(order.toAddress, 20_000_000n)
  const record = await eventually(
    async () =>
      (await manager.get<{ mispayments: { _id: string }[] }>(`mispayments?code=${order.code}`)).data.mispayments[0],
    (one) => one !== undefined,
  )
  const open = await findSettleable(shop.host.db, companyId)
  const ignored = await manager.post(`mispayments/${record?._id}/ignore`, { reason: 'a gift' })
  assert.equal(ignored.status, 200, ignored.text)
  assert.deepEqual({ open, ignored: await findSettleable(shop.host.db, companyId) }, { open: 0n, ignored: 0n })
})

test('an address that becomes one of a pool: what comes then counts for the order that has it, not also for an old one', async () => {
  const address = newAddress()
  const before = await openCompany({ MODE: 'static', ADDRESSES: address })
  const old = await before.place()
  await shop.host.db.run(sql`update deposit_reservations set from_at = from_at - interval '2 hours'
    where address = ${address.toLowerCase()}`)
  await shop.host.db.run(sql`update payments set status = 'closed', closed_at = now() - interval '90 minutes'
    where order_id = ${old.orderId}`)
  const settings = { MODE: 'pool', ADDRESSES: address }
  assert.equal((await before.manager.call('PUT', 'channel-accounts/crypto', { settings })).status, 200)
  const next = await before.place()
  const txHash = await before.pay(next.toAddress, next.units)
  await shop.reaches(next.code, 'PAID')
  const [transfer] = await shop.host.db.many<{ id: string }>(
    sql`select id from chain_transfers where tx_hash = ${txHash}`,
  )
  const takers = await listTakers(shop.host.db, [transfer?.id ?? ''])
  assert.deepEqual(
    takers.map(({ reference }) => reference.slice(0, 24)),
    [next.orderId],
  )
})

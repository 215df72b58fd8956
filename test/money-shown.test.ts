import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { type Booked, paidIn } from '../web/office/src/screens/order/paid-sums.ts'
import { type MoneyDesk, openMoneyDesk } from './harness/money.ts'
import { createPaid, newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'

/* The sums that the office shows are those of the books, and those of another screen. */

let shop: Shop
let desk: MoneyDesk

before(async () => {
  shop = await openShop({ env: payoutEnv })
  desk = await openMoneyDesk(shop)
  // no reorganisation takes the wallets' money away
  await shop.chain.mine(10)
  await change(sql`settlement_address = ${newAddress()}, settlement_network = 31337`)
})
after(() => shop?.stop())

const change = (fields: ReturnType<typeof sql>) =>
  shop.host.db.run(sql`update companies set ${fields}, version = version + 1 where id = ${shop.merchant.companyId}`)

/** What the books owe the company for one order. */
async function owedFor({ orderId }: Payable): Promise<string> {
  const { units } = await shop.host.db.one<{ units: string }>(sql`
    select (coalesce(-sum(e.units), 0) / 1000000)::numeric(20, 6)::text as units from ledger_entries e
    join ledger_journals j on j.company_id = e.company_id and j.id = e.journal_id
    where j.order_id = ${orderId} and e.account = 'company_payable'`)
  return units
}
const sumsOf = async ({ code }: Payable) =>
  paidIn((await desk.admin.get<{ entries: Booked[] }>(`confirm_conversion/story/${code}`)).data.entries)

test('what was paid, less the fee and what was refunded or lost, is what the books still owe for the order', async () => {
  await change(sql`fee_bps = 100`)
  const refunded = await createPaid(shop)
  await change(sql`fee_bps = 0`)
  assert.equal((await revert(shop, refunded.code, { address: newAddress() })).status, 200)
  await refundReaches(shop, refunded.orderId, 'settled')
  const back = { paid: '54.000000', fee: '0.540000', refunded: '54.000000', lost: '0.000000', net: '-0.540000' }
  assert.deepEqual(await sumsOf(refunded), back)
  const lost = await shop.createAwaiting()
  await desk.payFinally(lost, 54_000_000n)
  await shop.reaches(lost.code, 'PAID')
  await shop.chain.reorg(4)
  const record = await desk.openRecord(lost, 'orphaned', 54_000_000n)
  assert.equal((await desk.admin.post(`mispayments/${record._id}/bear`, { by: 'company' })).status, 200)
  const gone = { paid: '54.000000', fee: '0.000000', refunded: '0.000000', lost: '54.000000', net: '0.000000' }
  assert.deepEqual(await sumsOf(lost), gone)
  assert.deepEqual([back.net, gone.net], [await owedFor(refunded), await owedFor(lost)])
})

test('the prices of a payout’s file add up to what Home shows as sold: of an accepted part only its share', async () => {
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 20_000_000n)
  const record = await desk.openRecord(order, 'under', 20_000_000n)
  assert.equal((await desk.admin.post(`mispayments/${record._id}/accept`, {})).status, 200)
  await shop.reaches(order.code, 'PAID')
  await createPaid(shop)
  const { companyId } = shop.merchant
  const { data, text } = await desk.admin.post<{ _id: string }>('settlements', { companyId })
  assert.ok(data, text)
  type Statement = { lines: { code: string | null; fromAmount: string | null }[] }
  const { lines } = (await desk.admin.get<Statement>(`settlements/${data._id}/statement`)).data
  assert.equal(lines.find(({ code }) => code === order.code)?.fromAmount, '18.52')
  const cents = (amounts: readonly (string | null)[]) =>
    amounts.reduce((sum, amount) => sum + Math.round(Number(amount ?? 0) * 100), 0)
  type Home = { days: { sales: { amount: string }[] }[] }
  const home = (await desk.admin.get<Home>(`summary?days=7&companyId=${companyId}`)).data
  const sold = home.days.flatMap(({ sales }) => sales.map(({ amount }) => amount))
  assert.equal(cents(lines.map(({ fromAmount }) => fromAmount)), cents(sold))
})

test('what left the chain is no debt before a person decides, neither in the balance nor after a refund', async () => {
  await shop.chain.mine(10)
  const { companyId } = shop.merchant
  const payoutNow = async () =>
    (await desk.admin.get<{ payout: Record<string, string> }>(`ledger?companyId=${companyId}&limit=1`)).data.payout
  const lost = await shop.createAwaiting()
  await desk.payFinally(lost, 54_000_000n)
  await shop.reaches(lost.code, 'PAID')
  // one at a time, of everything
  const [open] = (await desk.admin.get<{ _id: string }[]>(`settlements?companyId=${companyId}`)).data
  if (open) assert.equal((await desk.admin.post(`settlements/${open._id}/cancel`)).status, 200)
  const settled = await desk.admin.post('settlements', { companyId })
  assert.equal(settled.status, 200, settled.text)
  await shop.chain.reorg(4)
  const record = await desk.openRecord(lost, 'orphaned', 54_000_000n)
  const none = '0.000000'
  assert.deepEqual(await payoutNow(), { ready: none, kept: none, owed: none, undecided: '54.000000' })
  const next = await createPaid(shop)
  assert.deepEqual(await payoutNow(), { ready: none, kept: none, owed: '54.000000', undecided: '54.000000' })
  const refused = await desk.admin.post(`confirm_conversion/revert/${next.code}`, { amount: '5' })
  assert.equal(refused.error.code, 'REFUND_NOT_COVERED')
  assert.match(refused.error.message, /54\.000000 USDC left the chain, and nobody has decided who bears it/)
  assert.deepEqual(
    refused.error.details?.map(({ path, message }) => [path, message]),
    [
      ['needs', '5.000000'],
      ['left', none],
      ['missing', '5.000000'],
      ['owedAfter', none],
    ],
  )
  assert.equal((await desk.admin.post(`mispayments/${record._id}/bear`, { by: 'company' })).status, 200)
  assert.deepEqual(await payoutNow(), { ready: none, kept: none, owed: none, undecided: none })
})

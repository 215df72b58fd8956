import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { auditNextPage } from '../src/chain/deposits/deposit-audit.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { sql } from '../src/db/db.ts'
import { HOUR } from '../src/kernel/clock.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logInSuperAdmin, newEmail } from './harness/accounts.ts'
import {
  answerRefundPage,
  createPaid,
  newAddress,
  payoutEnv,
  refundReaches,
  revert,
  withProof,
} from './harness/refunds.ts'
import { type Answer, eventually } from './harness/service.ts'
import { type OrderStory, openShop, type Payable, type Shop } from './harness/shop.ts'

type Listed = {
  _id: string
  code: string
  kind: string
  status: string
  amount: string | null
  decidedBy: string | null
  refundStatus: string | null
}

let shop: Shop
let admin: Client

before(async () => {
  shop = await openShop({ env: payoutEnv })
  admin = await logInSuperAdmin(shop.host)
})
after(() => shop?.stop())

const recordsOf = async ({ code }: Payable): Promise<Listed[]> =>
  (await admin.get<{ mispayments: Listed[] }>(`mispayments?code=${code}`)).data.mispayments.toReversed()
const decide = (record: Listed | undefined, what: string, body: unknown = {}): Promise<Answer> =>
  admin.post(`mispayments/${record?._id}/${what}`, body)
const payFinally = async (to: string, units: bigint): Promise<void> => {
  await shop.chain.pay({ to, units })
  await shop.makeFinal()
}
const until = (orderId: string, isRight: (story: OrderStory) => boolean): Promise<OrderStory> =>
  eventually(() => shop.story(orderId), isRight)
const waitForRecord = (order: Payable, kind: string, units: bigint): Promise<OrderStory> =>
  until(order.orderId, ({ mispayments }) =>
    mispayments.some((record) => record.kind === kind && record.units === String(units)),
  )
const payable = async (): Promise<bigint> => {
  const { units } = await shop.host.db.one<{ units: string }>(sql`
    select coalesce(-sum(units), 0) as units from ledger_entries
    where company_id = ${shop.merchant.companyId} and account = 'company_payable'`)
  return BigInt(units)
}
const checkBooks = async (): Promise<void> => assert.equal((await verifyLedger(shop.host.db)).difference, null)

test('a part of an open order is booked at once; accepted, it is the price and the order PAID', async () => {
  const order = await shop.createAwaiting()
  await payFinally(order.toAddress, 20_000_000n)
  await waitForRecord(order, 'under', 20_000_000n)
  await checkBooks()
  const before = await payable()
  const [record] = await recordsOf(order)
  const answers = await Promise.all(Array.from({ length: 5 }, () => decide(record, 'accept', { reason: 'a regular' })))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409, 409, 409])
  const story = await shop.story(order.orderId)
  assert.deepEqual([story.status, story.paidUnits], ['PAID', '20000000'])
  assert.equal((await payable()) - before, 20_000_000n)
  assert.equal((await recordsOf(order))[0]?.status, 'accepted')
  await checkBooks()
  await payFinally(order.toAddress, 34_000_000n)
  await waitForRecord(order, 'over', 34_000_000n)
  assert.equal((await payable()) - before, 20_000_000n)
  await checkBooks()
  const refused = await revert(shop, order.code, { amount: '54.000001', address: newAddress() })
  assert.equal(refused.error.code, 'REFUND_TOO_LARGE')
})

test('a part is not accepted as the price while the rest of the price is on the chain', async () => {
  const order = await shop.createAwaiting()
  const before = await payable()
  await payFinally(order.toAddress, 30_000_000n)
  await waitForRecord(order, 'under', 30_000_000n)
  const [record] = await recordsOf(order)
  await shop.chain.pay({ to: order.toAddress, units: 24_000_000n })
  await shop.reaches(order.code, 'WAITING_CHAIN_CONFIRMATION')
  const refused = await decide(record, 'accept')
  assert.deepEqual([refused.status, refused.error.code], [409, 'OBJECT_CONFLICT'])
  assert.match(refused.error.message, /More money .* Wait until it is final/)
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  assert.equal((await payable()) - before, 54_000_000n)
  assert.deepEqual(await recordsOf(order), [])
  await checkBooks()
})

test('late money of a cancelled order is accepted by a person, with what is too much left in suspense', async () => {
  const order = await shop.createAwaiting()
  await shop.host.call('POST', `cancel/${order.code}`, { as: shop.merchant })
  await payFinally(order.toAddress, order.units + 3n)
  await waitForRecord(order, 'late', order.units + 3n)
  const [record] = await recordsOf(order)
  assert.equal((await decide(record, 'accept')).status, 200)
  const story = await until(order.orderId, ({ status }) => status === 'PAID')
  assert.deepEqual(
    story.mispayments.map(({ kind, units, status }) => [kind, units, status]),
    [
      ['late', String(order.units + 3n), 'accepted'],
      ['over', '3', 'open'],
    ],
  )
  await checkBooks()
})

test('late money of a payer whose orders reach the threshold together waits until their identity is checked', async () => {
  const company = `companies/${shop.merchant.companyId}`
  assert.equal((await admin.call('PUT', company, { kycThreshold: '1000' })).status, 200)
  const payerEmail = newEmail('splitter')
  const buy = async () => {
    const { code, _id: orderId } = await shop.create({ amount: 600 })
    const { data, text } = await shop.accept(code, { network: shop.chain.chainId, payerEmail })
    assert.equal(data?.status, 'AWAITING', text)
    return { code, orderId, toAddress: data.toAddress, units: BigInt(data.tokenAmount.replace('.', '')) }
  }
  const expired = async () => {
    const order = await buy()
    await shop.host.call('POST', `expire/${order.code}`, { as: shop.merchant })
    return order
  }
  const [first, second, part] = [await expired(), await expired(), await expired()]
  await payFinally(first.toAddress, first.units)
  await shop.reaches(first.code, 'PAID')
  // a part that a person accepts becomes the price, and counts as such
  await payFinally(part.toAddress, 20_000_000n)
  await waitForRecord(part, 'under', 20_000_000n)
  assert.equal((await decide((await recordsOf(part))[0], 'accept')).status, 200)
  const { cents } = await shop.host.db.one<{ cents: number }>(sql`
    select euro_units::integer as cents from kyc_spendings where order_id = ${part.orderId}`)
  assert.ok(cents > 1000 && cents < 3000, String(cents))
  await payFinally(second.toAddress, second.units)
  await waitForRecord(second, 'late', second.units)
  const [record] = await recordsOf(second)
  const refused = await decide(record, 'accept')
  assert.deepEqual([refused.status, refused.error.code], [400, 'KYC_REQUIRED'])
  assert.equal((await shop.story(second.orderId)).status, 'EXPIRED')
  const kycId = refused.error.details?.find(({ path }) => path === 'kycId')?.message
  assert.equal((await admin.post(`kyc/${kycId}/approve`)).status, 200)
  assert.equal((await decide(record, 'accept')).status, 200)
  await shop.reaches(second.code, 'PAID')
  await checkBooks()
  assert.equal((await admin.call('PUT', company, { kycThreshold: null })).status, 200)
})

test('money that came twice goes back, and the paid order stays PAID', async () => {
  const order = await shop.createAwaiting()
  await shop.host.call('POST', `cancel/${order.code}`, { as: shop.merchant })
  await payFinally(order.toAddress, order.units)
  await waitForRecord(order, 'late', order.units)
  const [record] = await recordsOf(order)
  const to = newAddress()
  const plain = { address: to, reason: 'the order was cancelled' }
  const body = await withProof(shop, { code: order.code, mispaymentId: record?._id ?? '' }, plain)
  const answers = await Promise.all(Array.from({ length: 5 }, () => decide(record, 'refund', body)))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409, 409, 409])
  await refundReaches(shop, order.orderId, 'settled')
  assert.equal(await shop.chain.balanceOf(to), order.units)
  assert.equal((await shop.story(order.orderId)).status, 'CANCELLED')
  assert.equal((await decide(record, 'accept')).error.code, 'OBJECT_CONFLICT')
  await checkBooks()
})

test('while money of an unpaid order goes back, the shop’s page still hears how the order ended', async () => {
  const stateOf = async (code: string) => {
    const text = await (await fetch(`${shop.host.baseUrl}/pay?code=${code}&lang=en`)).text()
    return [/data-state="(\w+)"/.exec(text)?.[1], text.includes('Where should your refund go?')]
  }
  for (const [how, state] of [
    ['cancel', 'cancelled'],
    ['expire', 'expired'],
  ]) {
    const order = await shop.createAwaiting()
    await shop.host.call('POST', `${how}/${order.code}`, { as: shop.merchant })
    await payFinally(order.toAddress, 20_000_000n)
    await waitForRecord(order, 'under', 20_000_000n)
    assert.deepEqual(await stateOf(order.code), [state, false])
    const [record] = await recordsOf(order)
    assert.equal((await decide(record, 'refund', { reason: 'too late' })).status, 200)
    assert.deepEqual(await stateOf(order.code), [state, true])
  }
})

test('money above the price goes back by a decision or with the order, never both', async () => {
  const order = await createPaid(shop, {}, 6_000_000n)
  const [record] = await recordsOf(order)
  assert.equal((await decide(record, 'accept')).error.code, 'OBJECT_CONFLICT')
  const to = newAddress()
  const { code } = order
  const signed = await withProof(shop, { code, mispaymentId: record?._id ?? '' }, { address: to })
  assert.equal((await decide(record, 'refund', signed)).status, 200)
  const tooMuch = await revert(shop, order.code, { amount: '54.000001', address: to })
  assert.equal(tooMuch.error.code, 'REFUND_TOO_LARGE')
  await refundReaches(shop, order.orderId, 'settled')
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  await until(order.orderId, ({ status }) => status === 'FULL_REFUNDED')
  assert.equal(await shop.chain.balanceOf(to), 60_000_000n)
  await checkBooks()
  const second = await createPaid(shop, {}, 6_000_000n)
  await revert(shop, second.code, { amount: '2', address: to })
  const [rest, used] = await recordsOf(second)
  assert.deepEqual(
    [rest?.amount, rest?.status, used?.amount, used?.status],
    ['4.000000', 'open', '2.000000', 'refunded'],
  )
  assert.equal((await decide(used, 'refund', { address: to })).error.code, 'OBJECT_CONFLICT')
  assert.equal((await decide(rest, 'ignore', { reason: 'a tip' })).status, 200)
  await checkBooks()
})

test('a refund of a decision that is dropped opens the decision again', async () => {
  const { companyId } = shop.merchant
  const order = await createPaid(shop, {}, 6_000_000n)
  await shop.host.db.run(sql`update companies set refund_approval = true where id = ${companyId}`)
  const [record] = await recordsOf(order)
  const { data } = await decide(record, 'refund', { address: newAddress() })
  await shop.host.db.run(sql`update companies set refund_approval = false where id = ${companyId}`)
  assert.equal((await recordsOf(order))[0]?.status, 'refunded')
  const page = await (await fetch(`${shop.host.config.payUrl}/pay?code=${order.code}`)).text()
  assert.match(page, /has received your payment.*A second person has to approve it first/s, 'the payer reads it, too')
  assert.equal((await admin.post(`refunds/${data.refundId}/reject`, { reason: 'no' })).status, 200)
  assert.equal((await recordsOf(order))[0]?.status, 'open')
  assert.equal((await shop.story(order.orderId)).status, 'PAID')
  await checkBooks()
})

test('late money whose refund is dropped joins the late money that came since', async () => {
  const { companyId } = shop.merchant
  const order = await shop.createAwaiting()
  const { units } = order
  await shop.host.call('POST', `cancel/${order.code}`, { as: shop.merchant })
  await payFinally(order.toAddress, units)
  await waitForRecord(order, 'late', units)
  await shop.host.db.run(sql`update companies set refund_approval = true where id = ${companyId}`)
  const { data } = await decide((await recordsOf(order))[0], 'refund', { address: newAddress() })
  await shop.host.db.run(sql`update companies set refund_approval = false where id = ${companyId}`)
  await payFinally(order.toAddress, units + 1n)
  await waitForRecord(order, 'late', units + 1n)
  assert.equal((await admin.post(`refunds/${data.refundId}/reject`, { reason: 'no' })).status, 200)
  const open = async () => (await recordsOf(order)).filter(({ status }) => status === 'open')
  assert.deepEqual(
    (await open()).map(({ kind, amount }) => [kind, amount]),
    [['late', '108.000001']],
  )
  await payFinally(order.toAddress, 1n)
  await waitForRecord(order, 'late', 2n * units + 2n)
  assert.equal((await open()).length, 1)
  await checkBooks()
})

test('ignoring needs a reason and leaves the money in suspense; a merchant’s key decides nothing', async () => {
  const order = await createPaid(shop, {}, 1_000_000n)
  const [record] = await recordsOf(order)
  const own = await shop.host.call('POST', `/api/next/mispayments/${record?._id}/ignore`, {
    as: shop.merchant,
    body: { reason: 'x' },
  })
  assert.equal(own.error.code, 'FORBIDDEN')
  assert.equal((await decide(record, 'ignore')).status, 422)
  assert.equal((await decide(record, 'ignore', { reason: 'a tip' })).status, 200)
  const [ignored] = await recordsOf(order)
  assert.equal(ignored?.status, 'ignored')
  await payFinally(order.toAddress, 500_000n)
  await waitForRecord(order, 'over', 500_000n)
  await checkBooks()
})

test('another company’s records are not there', async () => {
  const order = await createPaid(shop, {}, 1n)
  const [record] = await recordsOf(order)
  const other = await shop.host.createMerchant()
  const list = await shop.host.call<{ total: number }>('GET', '/api/next/mispayments', { as: other })
  assert.equal(list.data.total, 0)
  assert.equal((await decide({ ...record, _id: '0'.repeat(24) } as Listed, 'accept')).status, 404)
})

/** The hourly round over all addresses, at the end of this one's time. @returns where native coin was noticed */
async function auditLastHours(address: string): Promise<string[]> {
  const { host, chain } = shop
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const rpc = createRpc({ url: chain.rpcUrl })
  const reader = { db: host.db, network, endpoints: openEndpoints(network, [rpc]), log: pino({ level: 'silent' }) }
  await host.db.run(sql`update deposit_addresses set watched_until = now() + interval '3 hours'
    where address = ${address.toLowerCase()}`)
  const newest = BigInt(await chain.call<string>('eth_blockNumber'))
  await eventually(
    () => host.db.one<{ number: bigint }>(sql`select number from chain_heads where chain_id = ${chain.chainId}`),
    ({ number }) => number >= newest,
  )
  const noticed: string[] = []
  while (await auditNextPage(reader, Date.now() + 2 * HOUR, async (found) => void noticed.push(...found)));
  await rpc.close()
  return noticed
}

test('ether, and a token on no list that calls itself USDC, are recorded: at once when the payer names it, else when the payment is over', async () => {
  const send = async (to: string, value: string): Promise<string> => {
    const txHash = await shop.chain.call<string>('eth_sendTransaction', { from: shop.chain.payer, to, value })
    await shop.chain.mine(2)
    return txHash
  }
  const etherOf = async (order: Payable) =>
    (await recordsOf(order)).map(({ kind, status, amount, ...rest }) => ({
      ...{ kind, status, amount, asset: (rest as unknown as { asset: string }).asset },
    }))
  const mistake = { kind: 'wrong_token', status: 'open', amount: '0.001000000000000000', asset: 'ETH' }

  const fake = await shop.chain.deployOtherToken()
  const [head, tail] = [fake.toLowerCase().slice(0, 6), fake.toLowerCase().slice(-4)]
  const lookAlike = { kind: 'wrong_token', status: 'open', amount: null, asset: `USDC (${head}…${tail})` }

  const misled = await shop.createAwaiting()
  const fakeHash = await shop.chain.pay({ to: misled.toAddress, units: misled.units, token: fake })
  await shop.makeFinal()
  const nameFake = () =>
    shop.host.call<{ counted: boolean; reason: string }>('POST', `transaction/${misled.code}`, {
      as: shop.merchant,
      body: { txHash: fakeHash },
    })
  await eventually(nameFake, ({ data }) => /It sent USDC \(0x.*\), not USDC/.test(data.reason))
  await nameFake()
  assert.deepEqual(await etherOf(misled), [lookAlike])
  assert.equal((await shop.story(misled.orderId)).status, 'AWAITING')

  const open = await shop.createAwaiting()
  const txHash = await send(open.toAddress, '0x38d7ea4c68000')
  const name = () =>
    shop.host.call<{ counted: boolean; reason: string }>('POST', `transaction/${open.code}`, {
      as: shop.merchant,
      body: { txHash },
    })
  const named = await eventually(name, ({ data }) => /It sent ETH, not USDC/.test(data.reason))
  assert.equal(named.data.counted, false)
  await name()
  assert.deepEqual(await etherOf(open), [mistake])
  await payFinally(open.toAddress, open.units)
  await shop.reaches(open.code, 'PAID')
  const [record] = await recordsOf(open)
  const refused = await decide(record, 'refund', { address: newAddress() })
  assert.match(refused.error.message, /cannot send other tokens back: send it by hand/)
  assert.equal((await decide(record, 'ignore', { reason: 'sent back by hand' })).status, 200)

  const quiet = await shop.createAwaiting()
  await send(quiet.toAddress, '0x38d7ea4c68000')
  await send(quiet.toAddress, '0x1')
  await shop.chain.pay({ to: quiet.toAddress, units: 3n, token: fake })
  await shop.makeFinal()
  assert.deepEqual(await recordsOf(quiet), [], 'no log of a token that we know tells of it')
  await shop.host.call('POST', `cancel/${quiet.code}`, { as: shop.merchant })
  await eventually(
    () => etherOf(quiet),
    (list) => list.length > 1,
    20_000,
  )
  assert.deepEqual(await etherOf(quiet), [lookAlike, { ...mistake, amount: '0.001000000000000001' }])
  // what comes after that is noticed before the address is watched no longer
  await send(quiet.toAddress, '0x38d7ea4c68000')
  assert.deepEqual(await auditLastHours(quiet.toAddress), [quiet.toAddress.toLowerCase()])
  await checkBooks()
})

test('a false USDC of any amount, and in any number, is recorded and keeps no one from paying', async () => {
  const fake = await shop.chain.deployOtherToken()
  const order = await shop.createAwaiting()
  const most = 10n ** 38n - 1n
  const to = order.toAddress
  const few = Array.from({ length: 120 }, () => ({ to, units: 1n }))
  const txHash = await shop.chain.payMany([{ to, units: 2n ** 255n }, ...few], fake)
  await shop.makeFinal()
  const name = () => shop.host.call('POST', `transaction/${order.code}`, { as: shop.merchant, body: { txHash } })
  await eventually(name, ({ text }) => /, not USDC/.test(text))
  const { mispayments } = await until(order.orderId, (story) => story.mispayments.length > 0)
  assert.deepEqual(
    [mispayments.length, mispayments[0]?.kind, mispayments[0]?.units],
    [100, 'wrong_token', String(most)],
  )
  await payFinally(to, order.units)
  await shop.reaches(order.code, 'PAID')
  await checkBooks()
})

test('Home counts as received what the books count as sales: nothing above a price', async () => {
  const { companyId } = shop.merchant
  const above = await shop.host.db.one<{ count: number }>(sql`
    select count(*)::integer as count from orders where company_id = ${companyId} and paid_units > to_units`)
  assert.ok(above.count > 0, 'orders of the tests above were paid more than their price')
  const summary = await admin.get<{ days: { paidAmount: string }[] }>(`summary?days=7&companyId=${companyId}`)
  const fees = await admin.get<{ months: { received: string }[] }>(`ledger/fees?companyId=${companyId}`)
  const unitsOf = (amounts: string[]): number => amounts.reduce((sum, amount) => sum + Number(amount) * 1e6, 0)
  const received = unitsOf(fees.data.months.map((month) => month.received))
  assert.ok(received > 0)
  assert.equal(unitsOf(summary.data.days.map((day) => day.paidAmount)), received)
})

test('a payer whose part goes back while the order is open reads so, names the address there, and may still pay', async () => {
  const order = await shop.createAwaiting()
  const pageOf = async (): Promise<string> =>
    (await (await fetch(`${shop.host.baseUrl}/pay?code=${order.code}&lang=en`)).text()).replace(/<[^>]+>|\s+/g, ' ')
  await payFinally(order.toAddress, 20_000_000n)
  await waitForRecord(order, 'under', 20_000_000n)
  const [record] = await recordsOf(order)
  assert.equal((await decide(record, 'refund')).status, 200)
  const asked = await refundReaches(shop, order.orderId, 'needs_address', false)
  const standing = async () => (await recordsOf(order)).map(({ status, refundStatus }) => [status, refundStatus])
  assert.deepEqual(await standing(), [['refunded', 'needs_address']], 'decided, and not back yet')
  const page = await pageOf()
  assert.match(page, /Waiting for your payment.*Where should your refund go\? .*wants to send you 20\.00 USDC/)
  assert.match(page, /Enter my address/)
  assert.equal((await answerRefundPage(asked.addressUrl ?? '', newAddress())).status, 303)
  assert.match(await pageOf(), /Waiting for your payment.*We have your address .*Change my address/)
  await payFinally(order.toAddress, order.units)
  await shop.reaches(order.code, 'PAID')
  await checkBooks()
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { signatureOf } from '../src/channels/gatepay/signature.ts'
import { sign } from '../src/channels/whitepay/signature.ts'
import { sql } from '../src/db/db.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { listTransferDifferences } from '../src/ledger/transfer-verify-queries.ts'
import { isUnread } from '../src/orders/order-queries.ts'
import { listDepositsOfOrders } from '../src/payments/deposit-check-queries.ts'
import { type Client, logInSuperAdmin } from './harness/accounts.ts'
import { type Market, openMarket } from './harness/market.ts'
import { newAddress } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import type { OrderData } from './harness/shop.ts'

/* Money that a provider keeps apart from its payment, recorded with the order, once; and where nobody looks for it. */

let market: Market
let admin: Client

before(async () => {
  market = await openMarket({ env: { CHANNEL_WHITEPAY_HOST_TO_HOST: 'true' } })
  admin = await logInSuperAdmin(market.host)
})
after(() => market?.stop())

type Recorded = { _id: string; kind: string; asset: string; amount: string | null; status: string; reference: string }
const recordsOf = async ({ code }: OrderData): Promise<Recorded[]> =>
  (await admin.get<{ mispayments: Recorded[] }>(`mispayments?code=${code}`)).data.mispayments.toReversed()

/** A callback of the documented form. @see docs.gate.com, fundrecords/unresolvedPayNotify */
function sendUnresolved(originalOrderId: string, data: Record<string, string>): Promise<string> {
  const details = { exceptionId: '123', orderType: 'acquiring_type', originalOrderId, expectedAmount: '54.0', ...data }
  return sendGate({
    ...{ bizType: 'PAY_UNRESOLVED', bizId: '100916', bizStatus: 'UNRESOLVED_PENDING' },
    data: { ...details, actualChain: 'TRX', customerName: '', hash: '0xabc', updateTime: Date.now() },
  })
}

/** Signed with Gate's secret. */
async function sendGate(callback: object): Promise<string> {
  const body = JSON.stringify(callback)
  const stamp = { timestamp: String(Date.now()), nonce: randomBytes(8).toString('hex') }
  const headers = {
    'content-type': 'application/json',
    'X-GatePay-Timestamp': stamp.timestamp,
    'X-GatePay-Nonce': stamp.nonce,
    'X-GatePay-Signature': signatureOf(market.providers.credentials.CHANNEL_GATEPAY_SECRET ?? '', { ...stamp, body }),
  }
  const url = `${market.host.baseUrl}/api/next/channels/gatepay/callback`
  return (await fetch(url, { method: 'POST', headers, body })).text()
}

test('money in another coin that Gate Pay cannot credit is recorded once, also after a person decided', async () => {
  const { order, reference } = await market.createAwaiting('gatepay')
  const wrong = { errorType: 'address_error_currency', actualAmount: '54.0', actualCurrency: 'USDT' }
  assert.equal(await sendUnresolved(reference, wrong), '{"returnCode":"SUCCESS","returnMessage":""}')
  await sendUnresolved(reference, wrong)
  const [record, ...others] = await recordsOf(order)
  assert.deepEqual(
    [record?.kind, record?.asset, record?.amount, record?.reference, others.length],
    ['wrong_token', 'USDT', '54.000000000000000000', 'gatepay:unresolved:123', 0],
  )
  const page = await (await fetch(`${market.host.baseUrl}/pay?code=${order.code}`)).text()
  assert.match(page, /You sent USDT.*To pay, continue at Gate Pay\./s)
  assert.doesNotMatch(page, /To pay, send/)
  type Story = { entries: { kind: string; facts: Record<string, string> }[] }
  const { entries } = (await admin.get<Story>(`confirm_conversion/story/${order.code}`)).data
  assert.equal(entries.find(({ kind }) => kind === 'mispayment')?.facts.amount, '54.000000000000000000')
  const refund = await admin.post(`mispayments/${record?._id}/refund`, {})
  assert.match(refund.text, /return it in the provider’s console, then ignore/)
  assert.equal((await admin.post(`mispayments/${record?._id}/ignore`, { reason: 'sent back' })).status, 200)
  await sendUnresolved(reference, wrong)
  await sendUnresolved(reference, { ...wrong, exceptionId: '124', actualAmount: '1' })
  assert.deepEqual(
    (await recordsOf(order)).map(({ amount, status }) => `${amount} ${status}`),
    ['54.000000000000000000 ignored', '1.000000000000000000 open'],
  )
  assert.equal((await market.order(order.code)).status, 'AWAITING')
})

test('what reaches an ended order at Gate Pay later is recorded by its growth, whatever was decided about the first part', async () => {
  const { order, reference } = await market.createAwaiting('gatepay')
  const becomes = (...records: string[]) =>
    eventually(
      () => recordsOf(order),
      (all) => all.map(({ amount, status }) => `${amount} ${status}`).join() === records.join(),
    )
  await market.act(reference, 'pay-half')
  await market.act(reference, 'expire')
  const [first] = await becomes('27.000000 open')
  assert.equal((await admin.post(`mispayments/${first?._id}/ignore`, { reason: 'paid back' })).status, 200)
  await market.act(reference, 'pay', { amount: '10' })
  await becomes('27.000000 ignored', '10.000000 open')
  await market.act(reference, 'pay', { amount: '23' })
  const all = await becomes('27.000000 ignored', '10.000000 open', '23.000000 open')
  const late = `gatepay:${reference}:late`
  assert.deepEqual(
    all.map((record) => record.reference),
    [late, `${late}.1`, `${late}.2`],
  )
})

test('an attempt that expired at Gate Pay with a part of the price is over: accepting again makes a new link', async () => {
  const { order, reference } = await market.createAwaiting('gatepay')
  await market.act(reference, 'pay-half')
  await market.act(reference, 'expire')
  const [payment] = await eventually(
    async () => (await market.story(order._id)).payments,
    ([first]) => first?.status === 'closed',
  )
  assert.equal(payment?.receivedUnits, '0')
  assert.equal((await recordsOf(order)).length, 1)
  const again = await market.accept(order.code, 'gatepay')
  assert.equal(again.data.status, 'AWAITING')
  assert.notEqual(again.data.providerReference, reference)
  await market.act(again.data.providerReference, 'pay')
  await market.reaches(order.code, 'PAID')
})

test('money that Gate Pay froze for its sender is KYT_FAILED', async () => {
  const { order, reference } = await market.createAwaiting('gatepay')
  const risky = { errorType: 'address_risk_address', actualAmount: '54.0', actualCurrency: 'USDC' }
  await sendUnresolved(reference, risky)
  assert.equal((await market.order(order.code)).status, 'KYT_FAILED')
  assert.deepEqual(
    (await recordsOf(order)).map(({ asset, amount, status, reference: name }) =>
      [asset, amount, status, name].join(' '),
    ),
    ['USDC 54.000000 open gatepay:frozen:123'],
  )
})

test('risky money after a payment, or dust of it, is recorded, ends no order, and its payer does not see it', async () => {
  const { order, reference } = await market.createAwaiting('gatepay')
  const risky = { errorType: 'address_risk_address', actualCurrency: 'USDT' }
  const shows = async () =>
    (await (await fetch(`${market.host.baseUrl}/pay?code=${order.code}`)).text()).includes('USDT')
  await sendUnresolved(reference, { ...risky, actualAmount: '0.000001' })
  assert.deepEqual([(await market.order(order.code)).status, await shows()], ['AWAITING', false])
  await market.act(reference, 'pay-unconfirmed')
  await market.reaches(order.code, 'WAITING_CHAIN_CONFIRMATION')
  await sendUnresolved(reference, { ...risky, exceptionId: '124', actualAmount: '0.000002' })
  await market.act(reference, 'confirm')
  await market.reaches(order.code, 'PAID')
  await sendUnresolved(reference, { ...risky, exceptionId: '125', actualAmount: '7' })
  assert.deepEqual(
    (await recordsOf(order)).map(({ amount, reference: name }) => `${Number(amount)} ${name}`),
    ['0.000001 gatepay:frozen:123', '0.000002 gatepay:frozen:124', '7 gatepay:frozen:125'],
  )
  assert.deepEqual([(await market.order(order.code)).status, await shows()], ['PAID', false])
})

test('a payment that Gate Pay blocks after it called it paid is a difference of the books', async () => {
  const { order, reference } = await market.createAwaiting('gatepay')
  await market.act(reference, 'pay')
  await market.reaches(order.code, 'PAID')
  // docs.gate.com, addresspayment/callback
  await sendGate({ bizType: 'PAY', bizId: reference, bizStatus: 'PAY_BLOCK', data: { prepayId: reference } })
  const differences = await market.host.db.many<{ expected: string }>(
    sql`select expected from ledger_differences where subject = ${`order ${order.code}`}`,
  )
  assert.deepEqual(differences, [{ expected: 'blocked: PAY_BLOCK' }])
  assert.equal((await market.order(order.code)).status, 'PAID')
})

/** The documented event, signed with the general token. @see docs.whitepay.com, webhooks/events */
async function sendRollback(orderId: string, change: { id: string; value: string }): Promise<number> {
  const body = JSON.stringify({
    transaction: {
      ...{ order_id: orderId, external_order_id: null, stock_orders: [], currency: 'USDT', is_internal: false },
      ...{ type: 'ROLLBACK_TO_MERCHANT', status: 'COMPLETE', hash: null, ...change },
    },
    event_type: 'rollback::to_merchant',
  })
  const signature = sign(market.providers.credentials.CHANNEL_WHITEPAY_MERCHANT_WEBHOOK_TOKEN ?? '', body)
  const url = `${market.host.baseUrl}/api/next/channels/whitepay/callback`
  const headers = { 'content-type': 'application/json', signature }
  return (await fetch(url, { method: 'POST', headers, body })).status
}

test('an overpayment that Whitepay moves to our account is recorded once, and the next one beside it', async () => {
  const { order, reference } = await market.createAwaiting('whitepay')
  await market.act(reference, 'pay')
  await market.reaches(order.code, 'PAID')
  const first = { id: '313b3e1b-3d3f-4359-9e30-a726aeed7a60', value: '2' }
  assert.equal(await sendRollback(reference, first), 200)
  const [record] = await recordsOf(order)
  assert.deepEqual([record?.asset, record?.amount], ['USDT', '2.000000000000000000'])
  // refused until Whitepay has told its total
  const ignored = () => admin.post(`mispayments/${record?._id}/ignore`, { reason: 'a tip' })
  await eventually(ignored, ({ status }) => status === 200)
  await sendRollback(reference, first)
  await sendRollback(reference, { id: '4176141e-bd97-4f13-a71a-6547a230cf4a', value: '3' })
  assert.deepEqual(
    (await recordsOf(order)).map(({ amount, status }) => `${amount} ${status}`),
    ['2.000000000000000000 ignored', '3.000000000000000000 open'],
  )
  assert.equal((await market.order(order.code)).status, 'PAID')
})

test('an address that Whitepay shows is its own: an order paid there is refunded, also one that an older node stored', async () => {
  const { host } = market
  const { db } = host
  const merchant = await host.createMerchant()
  const sale = { amount: 50, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
  const { order } = (await host.call<{ order: OrderData }>('POST', 'request', { as: merchant, body: sale })).data
  const choice = { as: merchant, body: { paymentChannel: 'whitepay-non-custody' } }
  const accepted = await host.call<{ providerReference: string }>('POST', `accept/${order.code}`, choice)
  assert.equal(accepted.status, 200, accepted.text)
  const again = await host.call<{ providerReference: string }>('POST', `accept/${order.code}`, choice)
  assert.equal(
    again.data.providerReference,
    accepted.data.providerReference,
    'one order there, however often it is chosen',
  )
  const key = { companyId: merchant.companyId, id: order._id }
  const isIt = sql`company_id = ${key.companyId} and order_id = ${key.id}`
  const { address, own } = await db.one<{ address: string; own: string | null }>(sql`
    select lower(instructions ->> 'toAddress') as address, deposit_address as own from payments where ${isIt}`)
  assert.match(address, /^0x[0-9a-f]{40}$/)
  assert.equal(own, null)
  const other = await host.createMerchant()
  const search = (text: string, as = merchant) =>
    host.call<{ orders: OrderData[] }>('GET', `/api/next/confirm_conversion?search=${text}`, { as })
  for (const text of [address, `0x${address.slice(2).toUpperCase()}`]) {
    assert.deepEqual(
      (await search(text)).data.orders.map(({ code }) => code),
      [order.code],
    )
    assert.deepEqual((await search(text, other)).data.orders, [])
  }
  const onTron = 'TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE'
  await db.run(sql`
    update payments set instructions = jsonb_set(instructions, '{toAddress}', to_jsonb(${onTron}::text)) where ${isIt}`)
  assert.deepEqual(
    (await search(onTron)).data.orders.map(({ code }) => code),
    [order.code],
  )
  await db.run(sql`
    update payments set instructions = jsonb_set(instructions, '{toAddress}', to_jsonb(${address}::text)) where ${isIt}`)
  const userAddress = newAddress()
  const payer = { code: order.code, payerInformation: { userAddress } }
  assert.equal((await host.call('POST', 'payer-information', { as: merchant, body: payer })).status, 200)
  for (const isOld of [false, true]) {
    if (isOld) await db.run(sql`update payments set deposit_address = ${address} where ${isIt}`)
    // a chain that is not read does not hold the order's end back
    assert.equal(await isUnread(db, key, [8453]), false)
    assert.deepEqual(await listDepositsOfOrders(db, [key]), [])
    const body = { txHash: `0x${'7'.repeat(64)}` }
    const named = await host.call<{ counted: boolean }>('POST', `transaction/${order.code}`, { as: merchant, body })
    assert.equal(named.data.counted, false, named.text)
    if (!isOld) await market.act(accepted.data.providerReference, 'pay')
    await market.reaches(order.code, 'PAID')
    assert.equal((await verifyLedger(db)).difference, null)
    assert.deepEqual(await listTransferDifferences(db, key.companyId, 10, {}), [])
  }
  const back = await host.call('POST', `revert/${order.code}`, { as: merchant, body: { address: userAddress } })
  assert.equal(back.status, 200, back.text)
})

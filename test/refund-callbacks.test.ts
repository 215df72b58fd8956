import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { makeNonce, signRequest } from '../src/channels/binance/signature.ts'
import { sql } from '../src/db/db.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logInSuperAdmin } from './harness/accounts.ts'
import { type Market, openMarket } from './harness/market.ts'
import { listRefundsOf, type RefundData } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'

// Crypto.com Pay, but for the last one: refunds cannot be looked up and have no key against repetition; callbacks alone
// tell of them

let market: Market
let admin: Client

before(async () => {
  market = await openMarket()
  admin = await logInSuperAdmin(market.host)
})
after(async () => {
  try {
    if (market) assert.equal((await verifyLedger(market.host.db)).difference, null)
  } finally {
    await market?.stop()
  }
})

async function createPaid() {
  const made = await market.createAwaiting('cryptopay')
  await market.act(made.reference, 'pay')
  await market.reaches(made.order.code, 'PAID')
  return made
}
const revert = (code: string) => market.host.call('POST', `revert/${code}`, { as: market.merchant })
const newest = async (orderId: string): Promise<RefundData | undefined> => (await listRefundsOf(market, orderId)).at(-1)
const pollAll = () => market.host.db.run(sql`update refunds set next_check_at = now() where next_check_at is not null`)
const kept = async (orderId: string, reference: string) =>
  (await market.paymentsOf(orderId)).find((one) => one.reference === reference)

test('the order is REFUNDING from the request to the transfer, however often it is asked', async () => {
  await market.tell('refund-pending', { provider: 'cryptopay' })
  const { order, reference } = await createPaid()
  assert.equal((await revert(order.code)).status, 200)
  await eventually(
    () => newest(order._id),
    (refund) => refund?.status === 'submitted',
  )
  for (let turn = 0; turn < 5; turn += 1) {
    await pollAll()
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  assert.equal((await market.order(order.code)).status, 'REFUNDING')
  await market.act(reference, 'refund-settle')
  assert.equal((await market.reaches(order.code, 'FULL_REFUNDED')).refundedAmount, '54.000000')
  assert.equal((await kept(order._id, reference))?.refunds.length, 1)
})

test('a lost answer is never a second refund: its callback, which names our id, ends it', async () => {
  await market.tell('refund-timeout-after-acceptance', { provider: 'cryptopay' })
  const { order, reference } = await createPaid()
  assert.equal((await revert(order.code)).status, 200)
  assert.equal((await market.reaches(order.code, 'FULL_REFUNDED')).refundedAmount, '54.000000')
  await pollAll()
  await new Promise((resolve) => setTimeout(resolve, 1500))
  assert.equal((await kept(order._id, reference))?.refunds.length, 1)
  assert.equal((await newest(order._id))?.status, 'settled')
})

test('a refund that was never answered and never told of is ended by a person, while no one asks for it', async () => {
  const [settled, rejected] = [await createPaid(), await createPaid()]
  await market.tell('outage', { provider: 'cryptopay', seconds: 3 })
  const loseRefund = async ({ order, reference }: Awaited<ReturnType<typeof createPaid>>): Promise<string> => {
    assert.equal((await revert(order.code)).status, 200)
    const lost = await eventually(
      () => newest(order._id),
      (refund) => /look for “refund [0-9a-f]{24}”/.test(refund?.message ?? ''),
      30_000,
    )
    assert.equal((await kept(order._id, reference))?.refunds.length, 0)
    return `refunds/${lost?._id}`
  }
  const [toSettle, toReject] = await Promise.all([loseRefund(settled), loseRefund(rejected)])
  const proof = { reference: 'bank-1', statement: 'paid back by bank' }
  assert.equal((await admin.post(`${toSettle}/settle`, proof)).status, 200)
  assert.equal((await market.reaches(settled.order.code, 'FULL_REFUNDED')).refundedAmount, '54.000000')
  const reject = () => admin.post<RefundData>(`${toReject}/reject`, { reason: 'it was never sent' })
  const lease = (until: string | null) =>
    market.host.db.run(sql`
      update refunds set lease_until = ${until}, next_check_at = now() + interval '1 day'
      where order_id = ${rejected.order._id}`)
  await lease(new Date(Date.now() + 60_000).toISOString())
  const early = await reject()
  assert.deepEqual([early.status, early.error?.code], [409, 'OBJECT_CONFLICT'], 'the provider may just be taking it')
  assert.match(early.error.message, /asked for this refund right now/)
  assert.equal((await market.order(rejected.order.code)).status, 'REFUNDING')
  await lease(null)
  assert.equal((await reject()).data?.status, 'rejected')
  assert.equal((await market.order(rejected.order.code)).status, 'PAID')
})

/** As another program of the merchant does, or a person in the console: not with our ids. */
async function refundElsewhere(prepayId: string, refundAmount: string): Promise<void> {
  const { credentials } = market.providers
  const body = JSON.stringify({ refundRequestId: `elsewhere${prepayId}`, prepayId, refundAmount })
  const stamp = { timestamp: String(Date.now()), nonce: makeNonce() }
  const answer = await fetch(`${credentials.CHANNEL_BINANCE_BASE_URL}/binancepay/openapi/order/refund`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'BinancePay-Timestamp': stamp.timestamp,
      'BinancePay-Nonce': stamp.nonce,
      'BinancePay-Certificate-SN': credentials.CHANNEL_BINANCE_API_KEY ?? '',
      'BinancePay-Signature': signRequest(credentials.CHANNEL_BINANCE_API_SECRET ?? '', stamp, body),
    },
    body,
  })
  assert.match(await answer.text(), /"SUCCESS"/)
}

/** An order of 54 USDC paid at Binance, a refund of ours under way, and another from elsewhere that was told of. */
async function refundTwice(amount: string, elsewhere: string) {
  await market.tell('refund-pending', { provider: 'binance' })
  const { order, reference } = await market.createAwaiting('binance')
  await market.act(reference, 'pay')
  await market.reaches(order.code, 'PAID')
  const request = { as: market.merchant, body: { amount } }
  assert.equal((await market.host.call('POST', `revert/${order.code}`, request)).status, 200)
  await eventually(
    () => newest(order._id),
    (refund) => refund?.status === 'submitted' && refund.message === 'REFUND_PENDING',
  )
  await refundElsewhere(reference, elsewhere)
  const told = async () =>
    (await market.callbacksOf('binance')).some(({ body }) => body.includes(`elsewhere${reference}`))
  await eventually(told, (isTold) => isTold)
  return { order, reference }
}

test('Binance Pay: what was sent back from elsewhere while a refund of ours was under way is refunded here, too', async () => {
  const { order, reference } = await refundTwice('14', '10')
  await market.act(reference, 'refund-settle')
  const both = await eventually(
    () => listRefundsOf(market, order._id),
    (refunds) => refunds.length === 2 && refunds.every(({ status }) => status === 'settled'),
    30_000,
  )
  assert.deepEqual(both.map(({ amount }) => amount).toSorted(), ['10.000000', '14.000000'])
  assert.equal((await market.reaches(order.code, 'REFUNDED')).refundedAmount, '24.000000')
})

test('Binance Pay: what was sent back from elsewhere is refunded here when the refund of ours is refused', async () => {
  const { order, reference } = await refundTwice('14', '10')
  await market.act(reference, 'refund-refuse')
  const both = await eventually(
    () => listRefundsOf(market, order._id),
    (refunds) => refunds.length === 2 && refunds.some(({ status }) => status === 'settled'),
    30_000,
  )
  assert.deepEqual(both.map(({ amount, status }) => `${amount} ${status}`).toSorted(), [
    '10.000000 settled',
    '14.000000 refused',
  ])
  assert.equal((await market.reaches(order.code, 'REFUNDED')).refundedAmount, '10.000000')
})

import assert from 'node:assert/strict'
import { createHmac, createPublicKey, verify } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type ImitationWorld, startImitations } from './harness/imitation.ts'

/* Refunds at the imitation of Binance Pay against its documentation; no adapter of ours takes part. */
let world: ImitationWorld
before(async () => {
  world = await startImitations()
})
after(() => world?.stop())

const NONCE = 'AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEf'

type Answer<Data> = { status: string; code: string; errorMessage?: string; data: Data }
type Refund = {
  refundRequestId: string
  orderAmount: string
  refundedAmount: string
  refundAmount: string
  remainingAttempts: number
  duplicateRequest: string
  refundStatus?: string
}

async function send<Data>(path: string, fields: unknown): Promise<Answer<Data>> {
  const body = JSON.stringify(fields)
  const timestamp = String(world.now())
  const signature = createHmac('sha512', world.credential('CHANNEL_BINANCE_API_SECRET'))
    .update(`${timestamp}\n${NONCE}\n${body}\n`)
    .digest('hex')
    .toUpperCase()
  const answer = await fetch(`${world.credential('CHANNEL_BINANCE_BASE_URL')}/binancepay/openapi${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'BinancePay-Timestamp': timestamp,
      'BinancePay-Nonce': NONCE,
      'BinancePay-Certificate-SN': world.credential('CHANNEL_BINANCE_API_KEY'),
      'BinancePay-Signature': signature,
    },
    body,
  })
  return (await answer.json()) as Answer<Data>
}

let made = 0
async function createPaid(amount = 54, more = {}): Promise<string> {
  made += 1
  const { data } = await send<{ prepayId: string }>('/v3/order', {
    env: { terminalType: 'WEB' },
    merchantTradeNo: `order${made}`,
    orderAmount: amount,
    currency: 'USDC',
    description: 'Order',
    goodsDetails: [{ goodsType: '02', goodsCategory: 'Z000', referenceGoodsId: '1', goodsName: 'Tea' }],
    ...more,
  })
  await world.act(data.prepayId, 'pay')
  return data.prepayId
}
const refund = (prepayId: string, refundRequestId: string, refundAmount: number, more = {}) =>
  send<Refund>('/order/refund', { prepayId, refundRequestId, refundAmount, ...more })
const statusOf = async (prepayId: string): Promise<string> =>
  (await send<{ status: string }>('/v2/order/query', { prepayId })).data.status
const settle = (prepayId: string): Promise<void> => world.act(prepayId, 'refund-settle')

test('with one attempt left the amount is ignored: everything left goes back', async () => {
  await world.post('/binance/console', { refundAttempts: 3 })
  const prepayId = await createPaid()
  await world.post('/binance/console', { refundAttempts: 10 })
  const attempts = [await refund(prepayId, `${prepayId}-1`, 10), await refund(prepayId, `${prepayId}-2`, 4)]
  assert.deepEqual(
    attempts.map(({ data }) => [data.refundAmount, data.remainingAttempts]),
    [
      ['10', 2],
      ['4', 1],
    ],
  )
  await settle(prepayId)
  assert.equal(await statusOf(prepayId), 'REFUNDED')
  const last = await refund(prepayId, `${prepayId}-3`, 1)
  assert.deepEqual([last.data.refundAmount, last.data.remainingAttempts], ['40', 0])
  await settle(prepayId)
  const query = await send<Refund>('/order/refund/query', { refundRequestId: `${prepayId}-3` })
  assert.deepEqual(
    [query.data.refundStatus, query.data.refundAmount, query.data.refundedAmount],
    ['REFUND_SUCCESS', '40', '54'],
  )
  assert.equal(await statusOf(prepayId), 'FULL_REFUNDED')
  assert.equal((await refund(prepayId, `${prepayId}-4`, 1)).code, '400302')
})

test('the same refundRequestId is done once, takes no attempt and answers the first amount', async () => {
  const prepayId = await createPaid()
  const first = await refund(prepayId, 'same-id', 5)
  const again = await refund(prepayId, 'same-id', 7)
  assert.deepEqual([first.data.duplicateRequest, first.data.remainingAttempts], ['N', 9])
  assert.deepEqual([again.data.duplicateRequest, again.data.remainingAttempts], ['Y', 9])
  assert.equal(again.data.refundAmount, '5')
  assert.equal(first.data.refundedAmount, '5', 'this one is included')
  await settle(prepayId)
  assert.equal((await refund(prepayId, 'next-id', 7)).data.refundedAmount, '12')
})

test('a refund whose answer is lost was taken: asking for it by its id finds it', async () => {
  const prepayId = await createPaid()
  await world.story('refund-timeout-after-acceptance', { provider: 'binance' })
  await assert.rejects(refund(prepayId, 'lost-id', 5))
  const query = await send<Refund>('/order/refund/query', { refundRequestId: 'lost-id' })
  assert.deepEqual([query.code, query.data.refundAmount], ['000000', '5'])
  assert.equal((await send('/order/refund/query', { refundRequestId: 'never-sent' })).code, '400202')
})

test('a refund under way is REFUNDING; refused, the order is PAID again', async () => {
  const prepayId = await createPaid()
  await world.story('refund-pending', { provider: 'binance' })
  await refund(prepayId, `${prepayId}-held`, 5)
  assert.equal(await statusOf(prepayId), 'REFUNDING')
  await world.act(prepayId, 'refund-refuse')
  assert.equal(await statusOf(prepayId), 'PAID')
  const query = await send<Refund>('/order/refund/query', { refundRequestId: `${prepayId}-held` })
  assert.equal(query.data.refundStatus, 'REFUND_FAIL')
})

/** What arrived at one path, as soon as there is something. */
async function arrivedAt(path: string): Promise<{ headers: Record<string, string | undefined>; body: string }[]> {
  for (let tries = 0; tries < 100 && world.receiver.at(path).length === 0; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 25))
  return world.receiver.at(path)
}
type Notice = { bizType: string; bizStatus: string; data: string }
const noticesOf = async (prepayId: string, count: number): Promise<Notice[]> =>
  (await world.callbacks('binance', prepayId, count)).map(({ body }) => JSON.parse(body) as Notice)

test('the notice of a refund goes to its own webhookUrl, signed with the certificate’s key', async () => {
  const prepayId = await createPaid()
  await refund(prepayId, `${prepayId}-own`, 5, { webhookUrl: `${world.receiver.url}/refund-notices` })
  await settle(prepayId)
  const [notice] = await arrivedAt('/refund-notices')
  assert.ok(notice)
  assert.ok(
    (await noticesOf(prepayId, 1)).every((one) => one.bizType === 'PAY'),
    'none at the console’s address',
  )
  const { bizType, bizStatus, data } = JSON.parse(notice.body) as Record<string, string>
  assert.deepEqual([bizType, bizStatus], ['PAY_REFUND', 'REFUND_SUCCESS'])
  assert.equal(JSON.parse(data ?? '').refundInfo.refundRequestId, `${prepayId}-own`)
  const certificates = await send<{ certPublic: string; certSerial: string }[]>('/certificates', {})
  const certificate = certificates.data.find(
    ({ certSerial }) => certSerial === notice.headers['binancepay-certificate-sn'],
  )
  const message = `${notice.headers['binancepay-timestamp']}\n${notice.headers['binancepay-nonce']}\n${notice.body}\n`
  const signature = Buffer.from(notice.headers['binancepay-signature'] ?? '', 'base64')
  assert.ok(verify('sha256', Buffer.from(message), createPublicKey(certificate?.certPublic ?? ''), signature))
})

test('the webhookUrl of a refund begins with http or https and has at most 256 characters', async () => {
  const prepayId = await createPaid()
  const codeOf = async (webhookUrl: unknown) => (await refund(prepayId, `${prepayId}-url`, 5, { webhookUrl })).code
  for (const bad of ['ftp://shop.example/refunds', 'shop.example/refunds', '', 7])
    assert.equal(await codeOf(bad), '400102', String(bad))
  const long = `https://shop.example/${'r'.repeat(236)}`
  assert.equal(await codeOf(long), '400101', `${long.length} characters`)
  assert.equal(await codeOf(long.slice(0, 256)), '000000')
})

test('the notice of a refund without a webhookUrl goes where the console says, not to that of the order', async () => {
  const path = '/order-notices'
  const prepayId = await createPaid(54, { webhookUrl: world.receiver.url + path })
  const [paid] = await arrivedAt(path)
  assert.equal(JSON.parse(paid?.body ?? '{}').bizStatus, 'PAY_SUCCESS')
  await refund(prepayId, `${prepayId}-console`, 5, { refundReason: '' })
  await settle(prepayId)
  const [notice] = await noticesOf(prepayId, 1)
  assert.equal(notice?.bizStatus, 'REFUND_SUCCESS')
  assert.equal(world.receiver.at(path).length, 1)
})

test('a refund made in the console sends no notice: only the status of the order tells', async () => {
  await world.story('partial-refund', { provider: 'binance' })
  const prepayId = await createPaid()
  for (let tries = 0; tries < 200 && (await statusOf(prepayId)) !== 'REFUNDED'; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 25))
  assert.equal(await statusOf(prepayId), 'REFUNDED')
  const query = await send<Refund>('/order/refund/query', { refundRequestId: `console-${prepayId}` })
  assert.equal(query.code, '400202', 'no merchant gave it an id')
  // a notice of that refund would stand before this one
  await refund(prepayId, `${prepayId}-rest`, 27)
  await settle(prepayId)
  assert.equal(await statusOf(prepayId), 'FULL_REFUNDED')
  const notices = (await noticesOf(prepayId, 2)).filter(({ bizType }) => bizType === 'PAY_REFUND')
  assert.deepEqual(
    notices.map(({ data }) => JSON.parse(data).refundInfo.refundRequestId),
    [`${prepayId}-rest`],
  )
})

test('a merchant without approval gets the notice of a refund without refundInfo', async () => {
  await world.post('/binance/console', { refundInfo: false })
  const prepayId = await createPaid()
  await refund(prepayId, `${prepayId}-bare`, 5)
  await settle(prepayId)
  const notice = (await noticesOf(prepayId, 2)).find(({ bizType }) => bizType === 'PAY_REFUND')
  await world.post('/binance/console', { refundInfo: true })
  const { merchantTradeNo, productType, totalFee, currency, refundInfo } = JSON.parse(notice?.data ?? '{}')
  assert.deepEqual([productType, totalFee, currency, refundInfo], ['02', 54, 'USDC', undefined])
  assert.match(merchantTradeNo, /^order\d+$/)
})

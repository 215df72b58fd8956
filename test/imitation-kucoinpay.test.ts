import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, randomBytes, sign, verify } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type ImitationWorld, startImitations } from './harness/imitation.ts'

/* Versions and sub-merchants at the imitation of KuCoin Pay; no adapter of ours takes part. */
let world: ImitationWorld
before(async () => {
  world = await startImitations()
})
after(() => world?.stop())

const CREATE = [
  ...['apiKey', 'expireTime', 'orderAmount', 'orderCurrency', 'reference', 'requestId', 'source'],
  ...['subMerchantId', 'timestamp'],
]
const REFUND = ['apiKey', 'payID', 'refundAmount', 'refundReason', 'requestId', 'subMerchantId', 'timestamp']
const TRADE = [
  ...['apiKey', 'errorReason', 'orderAmount', 'orderCurrency', 'payOrderId', 'payTime', 'reference'],
  ...['refundCurrency', 'requestId', 'status', 'subMerchantId', 'timestamp'],
]

const pem = (name: string): string => world.credential(name).replaceAll('\\n', '\n')
const textOf = (names: readonly string[], fields: Record<string, unknown>): string =>
  names
    .filter((name) => fields[name] !== undefined && fields[name] !== null)
    .map((name) => `${name}=${String(fields[name])}`)
    .join('&')

type Answer = { success: boolean; code: string; data: { payOrderId: string; refundId: string; subMerchantId?: string } }

async function send(path: string, names: readonly string[], body: Record<string, unknown>, version = '3.8.1') {
  const timestamp = String(world.now())
  const apiKey = world.credential('CHANNEL_KUCOINPAY_API_KEY')
  const message = textOf(names, { ...body, apiKey, timestamp })
  const key = createPrivateKey(pem('CHANNEL_KUCOINPAY_PRIVATE_KEY'))
  const answer = await fetch(`${world.credential('CHANNEL_KUCOINPAY_BASE_URL')}/api/v1${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'PAY-API-KEY': apiKey,
      'PAY-API-SIGN': sign('sha256', Buffer.from(message), key).toString('base64'),
      'PAY-API-VERSION': version,
      'PAY-API-TIMESTAMP': timestamp,
    },
    body: JSON.stringify(body),
  })
  return (await answer.json()) as Answer
}
const order = (more: Record<string, unknown> = {}) => ({
  requestId: randomBytes(12).toString('hex'),
  orderAmount: 12.34,
  orderCurrency: 'USDC',
  expireTime: 300_000,
  goods: [{ goodsId: '1', goodsName: 'Tea', goodsDesc: 'Tea' }],
  reference: 'A1',
  source: 'WEB',
  subMerchantId: 'shop0001',
  ...more,
})

test('both known versions are taken, any other is refused, and callbacks carry the version of the order', async () => {
  for (const version of ['3.8.1', '1.0']) {
    const made = await send('/order/create', CREATE, order(), version)
    assert.equal(made.code, '200')
    await world.act(made.data.payOrderId, 'pay')
    const [callback] = await world.callbacks('kucoinpay', made.data.payOrderId, 2)
    assert.equal(callback?.headers['pay-api-version'], version)
  }
  for (const version of ['', '2', '3.8'])
    assert.equal((await send('/order/create', CREATE, order(), version)).code, '4001')
})

test('subMerchantId is signed with the order and with a refund, and comes back in callbacks', async () => {
  const body = order()
  const withoutIt = CREATE.filter((name) => name !== 'subMerchantId')
  assert.equal((await send('/order/create', withoutIt, body)).code, '480004')
  const { data } = await send('/order/create', CREATE, body)
  await world.act(data.payOrderId, 'pay')
  const [, callback] = await world.callbacks('kucoinpay', data.payOrderId, 2)
  const fields = JSON.parse(callback?.body ?? '') as Record<string, unknown>
  assert.deepEqual([fields.status, fields.subMerchantId], ['SUCCEEDED', 'shop0001'])
  const apiKey = world.credential('CHANNEL_KUCOINPAY_API_KEY')
  const message = textOf(TRADE, { ...fields, apiKey, timestamp: callback?.headers['pay-api-timestamp'] })
  const signature = Buffer.from(callback?.headers['pay-api-sign'] ?? '', 'base64')
  assert.ok(verify('sha256', Buffer.from(message), createPublicKey(pem('CHANNEL_KUCOINPAY_PUBLIC_KEY')), signature))
  const refund = { payID: data.payOrderId, refundAmount: 5, refundReason: 'returned', subMerchantId: 'shop0001' }
  const unsigned = REFUND.filter((name) => name !== 'subMerchantId')
  assert.equal((await send('/refund/create', unsigned, { ...refund, requestId: 'sub-1' })).code, '480004')
  assert.equal((await send('/refund/create', REFUND, { ...refund, requestId: 'sub-1' })).code, '200')
})

test('an empty text is refused wherever it stands, an order without a sub-merchant is taken', async () => {
  assert.equal((await send('/order/create', CREATE, order({ subMerchantId: '' }))).code, '4001')
  assert.equal((await send('/order/create', CREATE, order({ subMerchantId: undefined }))).code, '200')
})

test('a refund whose answer is lost was taken: its id is used, and asking for it finds it', async () => {
  const { data } = await send('/order/create', CREATE, order())
  await world.act(data.payOrderId, 'pay')
  await world.story('refund-timeout-after-acceptance', { provider: 'kucoinpay' })
  const refund = { payID: data.payOrderId, refundAmount: 5, refundReason: 'returned', requestId: 'lost-kucoin' }
  await assert.rejects(send('/refund/create', REFUND, refund))
  assert.equal((await send('/refund/create', REFUND, refund)).code, '480010')
  const found = await send('/refund/info', ['apiKey', 'requestId', 'timestamp'], { requestId: 'lost-kucoin' })
  assert.match(found.data.refundId, /^kpr_/)
})

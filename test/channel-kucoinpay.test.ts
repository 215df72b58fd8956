import assert from 'node:assert/strict'
import { constants, createPrivateKey, sign } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Channel, PaymentReport, PaymentRequest, RefundRequest } from '../src/channels/channel.ts'
import { kucoinpay } from '../src/channels/kucoinpay/adapter.ts'
import { ProviderRefusal, ProviderTrouble } from '../src/channels/provider-errors.ts'
import { type Callback, CallbackRefused } from '../src/kernel/callback.ts'
import { newRequest, type ProviderWorld, startProviderWorld } from './harness/providers.ts'

let world: ProviderWorld
let channel: Channel

before(async () => {
  world = await startProviderWorld()
  channel = world.open(kucoinpay)
})
after(() => world.stop())

async function create(fields: Partial<PaymentRequest> = {}) {
  const request = newRequest(fields)
  const instructions = await channel.createPayment(request)
  const key = { ...request, providerReference: instructions.providerReference }
  return { request, instructions, key, fetch: () => channel.fetchPayment(key) }
}

const act = async (reference: string, action: string, body = {}): Promise<void> => {
  const answer = await world.act(`/payments/${reference}/${action}`, body)
  assert.equal(answer.status, 200, await answer.text())
}
const tell = (story: string) => world.act(`/stories/${story}`, { provider: 'kucoinpay' })

const callbacksOf = async (reference: string): Promise<Callback[]> =>
  (await world.callbacks('kucoinpay', 0)).filter(({ rawBody }) => rawBody.includes(reference))

/** The newest callback about the order with this status. */
async function callbackOf(reference: string, word: string): Promise<Callback> {
  for (let tries = 0; tries < 200; tries += 1) {
    const found = (await callbacksOf(reference)).findLast(({ rawBody }) => rawBody.includes(`"status":"${word}"`))
    if (found) return found
    await sleep(25)
  }
  throw new Error(`no callback ${word} came`)
}

const refundOf = (key: PaymentRequest & { providerReference: string }, units: bigint): RefundRequest => ({
  refundId: newRequest().merchantReference.slice(0, 24),
  companyId: key.companyId,
  merchantReference: key.merchantReference,
  providerReference: key.providerReference,
  units,
  fiat: key.fiat,
  paidUnits: key.due.units,
  paidFiat: key.fiat,
  earlierUnits: 0n,
  earlierFiat: { ...key.fiat, units: 0n },
  reference: null,
  attempted: false,
  network: null,
  address: null,
  reason: 'broken',
})

async function settle(refund: RefundRequest): Promise<string | undefined> {
  const again = { ...refund, attempted: true }
  for (let tries = 0; tries < 100; tries += 1) {
    const report = await channel.refundPayment?.(again)
    if (report?.outcome !== 'pending') return report?.outcome
    await sleep(25)
  }
  return 'pending'
}

const finalOf = (report: PaymentReport): bigint | null => (report.outcome === 'seen' ? report.final : null)

describe('a payment', () => {
  test('is created, waits, is paid, and tells it twice by callback and by query', async () => {
    const { instructions, key, fetch } = await create()
    assert.match(instructions.providerReference, /^kpt_/)
    assert.ok(instructions.qrData && instructions.deepLink && instructions.checkoutUrl)
    assert.equal((await fetch()).outcome, 'waiting')
    await act(key.providerReference, 'pay')
    for (const word of ['USER_PAY_COMPLETED', 'SUCCEEDED']) {
      const news = await channel.readCallback?.(await callbackOf(key.merchantReference, word))
      assert.equal(news?.providerReference, key.providerReference)
      assert.equal(news?.merchantReference, key.merchantReference)
      assert.equal(news?.report && finalOf(news.report), key.due.units)
    }
    assert.equal(finalOf(await fetch()), key.due.units)
  })

  test('a whole amount comes back as 20.0, is verified, and is the amount', async () => {
    const { key, fetch } = await create({ due: { asset: 'USDC', units: 20_000_000n } })
    await act(key.providerReference, 'pay')
    const callback = await callbackOf(key.merchantReference, 'SUCCEEDED')
    assert.match(callback.rawBody.toString(), /"orderAmount":20\.0,/)
    const news = await channel.readCallback?.(callback)
    assert.equal(news?.report && finalOf(news.report), 20_000_000n)
    assert.equal(finalOf(await fetch()), 20_000_000n)
  })

  test('callbacks hold no empty text, and more than is known', async () => {
    const { key } = await create()
    await act(key.providerReference, 'pay')
    const text = (await callbackOf(key.merchantReference, 'SUCCEEDED')).rawBody.toString()
    assert.doesNotMatch(text, /:""/)
    assert.match(text, /"settlementHint"/)
  })

  test('a changed callback, one with another time and a forged one are refused', async () => {
    await tell('forged-callback')
    const { key, fetch } = await create()
    const forged = await callbackOf(key.merchantReference, 'SUCCEEDED')
    await assert.rejects(async () => channel.readCallback?.(forged), CallbackRefused)
    assert.equal((await fetch()).outcome, 'waiting')
    await act(key.providerReference, 'fail')
    const callback = await callbackOf(key.merchantReference, 'FAILED')
    assert.equal((await channel.readCallback?.(callback))?.report?.outcome, 'failed')
    const changed = Buffer.from(callback.rawBody.toString().replace('"FAILED"', '"SUCCEEDED"'))
    await assert.rejects(async () => channel.readCallback?.({ ...callback, rawBody: changed }), CallbackRefused)
    const headers = { ...callback.headers, 'pay-api-timestamp': String(Date.now()) }
    await assert.rejects(async () => channel.readCallback?.({ ...callback, headers }), CallbackRefused)
  })

  test('created twice is trouble; what became of a lost answer is asked for', async () => {
    const { request, instructions } = await create()
    await assert.rejects(channel.createPayment(request), ProviderTrouble)
    assert.deepEqual(await channel.recoverPayment?.(request), { outcome: 'found', instructions })
    assert.deepEqual(await channel.recoverPayment?.(newRequest()), { outcome: 'absent' })
  })

  test('timeout after acceptance: nobody knows at first, then it is found with its links', async () => {
    await tell('timeout-after-acceptance')
    const request = newRequest()
    await assert.rejects(channel.createPayment(request), ProviderTrouble)
    const recovery = await channel.recoverPayment?.(request)
    assert.ok(recovery?.outcome === 'found' && recovery.instructions.qrData)
    const { providerReference } = recovery.instructions
    await act(providerReference, 'pay')
    assert.equal(finalOf(await channel.fetchPayment({ ...request, providerReference })), request.due.units)
  })

  test('a word that nobody knows is unknown', async () => {
    await tell('unknown-status')
    const { fetch } = await create()
    assert.equal((await fetch()).outcome, 'unknown')
  })

  test('closed, expired and declined; what is over or paid may be closed again', async () => {
    const { key, fetch } = await create()
    await channel.closePayment?.(key)
    assert.equal((await fetch()).outcome, 'expired')
    await channel.closePayment?.(key)
    const news = await channel.readCallback?.(await callbackOf(key.merchantReference, 'CANCELLED'))
    assert.equal(news?.report?.outcome, 'expired')
    const paid = await create()
    await act(paid.key.providerReference, 'pay')
    await channel.closePayment?.(paid.key)
    assert.equal((await paid.fetch()).outcome, 'seen')
    const late = await create()
    await act(late.key.providerReference, 'expire')
    assert.equal((await late.fetch()).outcome, 'expired')
    await act(late.key.providerReference, 'pay')
    assert.equal(finalOf(await late.fetch()), late.key.due.units)
    const declined = await create()
    await act(declined.key.providerReference, 'fail')
    assert.equal((await declined.fetch()).outcome, 'failed')
  })
})

describe('refunds', () => {
  test('a part, the same again, the rest, and too much', async () => {
    const { key } = await create()
    await act(key.providerReference, 'pay')
    const part = refundOf(key, 4_210_000n)
    assert.equal((await channel.refundPayment?.(part))?.outcome, 'pending')
    await assert.rejects(async () => channel.refundPayment?.(part), ProviderTrouble, 'the id was used')
    await assert.rejects(async () => channel.refundPayment?.(refundOf(key, 1n)), ProviderTrouble, 'one is running')
    assert.equal(await settle(part), 'settled')
    const news = await channel.readCallback?.(await callbackOf(key.providerReference, 'REFUND_PART'))
    assert.deepEqual([news?.providerReference, news?.report], [key.providerReference, null])
    assert.equal((await channel.refundPayment?.(refundOf(key, 50_000_001n)))?.outcome, 'refused')
    assert.equal(await settle(refundOf(key, 50_000_000n)), 'settled', 'sent although it was never heard of')
    assert.ok(await channel.readCallback?.(await callbackOf(key.providerReference, 'REFUND_FULL')))
  })

  test('one that KuCoin gives up is refused', async () => {
    const { key } = await create()
    await act(key.providerReference, 'pay')
    const refund = refundOf(key, 1_000_000n)
    await channel.refundPayment?.(refund)
    await act(key.providerReference, 'refund-refuse')
    assert.equal(await settle(refund), 'refused')
  })
})

describe('the imitation is as strict as KuCoin', () => {
  type Call = {
    path?: string
    body: Record<string, unknown>
    text?: (text: string, timestamp: string) => string
    sign?: (text: string) => string
    headers?: Record<string, string>
  }
  const CREATE = ['expireTime', 'orderAmount', 'orderCurrency', 'reference', 'requestId', 'source', 'timestamp']

  const privateKey = () =>
    createPrivateKey((world.providers.credentials.CHANNEL_KUCOINPAY_PRIVATE_KEY ?? '').replaceAll('\\n', '\n'))
  const signature = (text: string): Buffer => sign('sha256', Buffer.from(text), privateKey())

  const order = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
    requestId: newRequest().merchantReference,
    orderAmount: 12.34,
    orderCurrency: 'USDC',
    expireTime: 300_000,
    goods: [{ goodsId: '1', goodsName: 'Tea', goodsDesc: 'Tea' }],
    reference: 'A1',
    source: 'WEB',
    ...fields,
  })

  async function send({ path = '/order/create', body, text = (one) => one, headers = {}, ...call }: Call) {
    const apiKey = world.providers.credentials.CHANNEL_KUCOINPAY_API_KEY ?? ''
    const timestamp = headers['PAY-API-TIMESTAMP'] ?? String(Date.now())
    const names = path === '/order/create' ? CREATE : Object.keys(body).sort().concat('timestamp')
    const fields: Record<string, unknown> = { ...body, timestamp }
    const pairs = names.filter((name) => fields[name] !== undefined).map((name) => `${name}=${String(fields[name])}`)
    const signed = text([`apiKey=${apiKey}`, ...pairs].join('&'), timestamp)
    const made = call.sign ?? ((one: string) => signature(one).toString('base64'))
    const answer = await fetch(`${world.providers.url}/kucoinpay/api/v1${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'PAY-API-KEY': apiKey,
        'PAY-API-SIGN': made(signed),
        'PAY-API-VERSION': '3.8.1',
        'PAY-API-TIMESTAMP': timestamp,
        ...headers,
      },
      body: JSON.stringify(body),
    })
    const { success, code } = (await answer.json()) as { success: boolean; code: string }
    assert.equal(success, code === '200')
    return code
  }

  test('a right call is taken, its amount as number or as text', async () => {
    assert.equal(await send({ body: order() }), '200')
    assert.equal(await send({ body: order({ orderAmount: '12.34' }) }), '200')
  })

  test('signatures: order of fields, encoded values, missing parts, another time, another text', async () => {
    const body = order({ reference: 'A 1' })
    assert.equal(await send({ body }), '200')
    const wrong: ((text: string, timestamp: string) => string)[] = [
      (text) => text.split('&').reverse().join('&'),
      (text) => text.replace('A 1', 'A%201'),
      (text) => text.replace(/apiKey=[^&]+&/, ''),
      (text) => text.replace(/&timestamp=\d+/, ''),
      (text, timestamp) => text.replace(timestamp, String(Number(timestamp) - 1)),
      (text) => text.replace('12.34', '12.340'),
      (text) => `${text}&subMerchantId=`,
    ]
    for (const text of wrong) assert.equal(await send({ body, text }), '480004')
  })

  test('signatures: hexadecimal digits, another padding, cut off, none', async () => {
    const body = order()
    const pss = (text: string) =>
      sign('sha256', Buffer.from(text), { key: privateKey(), padding: constants.RSA_PKCS1_PSS_PADDING })
    assert.equal(await send({ body, sign: (text) => signature(text).toString('hex') }), '480004')
    assert.equal(await send({ body, sign: (text) => signature(text).toString('base64url') }), '480004')
    assert.equal(await send({ body, sign: (text) => pss(text).toString('base64') }), '480004')
    assert.equal(await send({ body, sign: (text) => signature(text).toString('base64').slice(1) }), '480004')
    assert.equal(await send({ body, headers: { 'PAY-API-SIGN': '' } }), '480004')
  })

  test('headers: the time, the key, the version', async () => {
    const body = order()
    for (const old of [String(Date.now() - 61_000), String(Math.floor(Date.now() / 1000)), ''])
      assert.equal(await send({ body, headers: { 'PAY-API-TIMESTAMP': old } }), '480006')
    assert.equal(await send({ body, headers: { 'PAY-API-KEY': 'other' } }), '480036')
    assert.equal(await send({ body, headers: { 'PAY-API-VERSION': '' } }), '4001')
  })

  test('orders: repeated, empty texts, too long, too little, too exact, another currency', async () => {
    const body = order()
    assert.equal(await send({ body }), '200')
    assert.equal(await send({ body }), '480010')
    assert.equal(await send({ body: order({ returnUrl: '' }) }), '4001')
    assert.equal(await send({ body: order({ expireTime: 3_600_001 }) }), '480009')
    assert.equal(await send({ body: order({ orderAmount: 0 }) }), '480011')
    assert.equal(await send({ body: order({ orderAmount: 10_000_000 }) }), '480012')
    assert.equal(await send({ body: order({ orderAmount: '0.1234567' }) }), '480026')
    assert.equal(await send({ body: order({ orderAmount: '12.340' }) }), '4001')
    assert.equal(await send({ body: order({ orderCurrency: 'EUR' }) }), '480013')
  })

  test('closing what is paid, refunding more than is left, refunding twice with one id', async () => {
    const { key } = await create()
    await act(key.providerReference, 'pay')
    assert.equal(await send({ path: '/order/close', body: { requestId: key.merchantReference } }), '480019')
    const refund = (requestId: string, refundAmount: number) =>
      send({
        path: '/refund/create',
        body: { payID: key.providerReference, refundAmount, refundReason: 'broken', requestId },
      })
    const { merchantReference: id } = newRequest()
    assert.equal(await refund(id, 54.22), '480017')
    assert.equal(await refund(id, 54), '200')
    assert.equal(await refund(id, 54), '480010')
    assert.equal(await refund(`${id}a`, 0.1), '480015')
  })

  test('a callback comes again until somebody answers 200', async () => {
    const { key } = await create()
    const path = '/api/next/channels/kucoinpay/callback'
    let count = 0
    world.receiver.answer(path, ({ body }, response) => {
      const isOurs = body.includes(key.merchantReference)
      if (isOurs) count += 1
      response.writeHead(isOurs && count === 1 ? 500 : 200).end()
    })
    await act(key.providerReference, 'fail')
    for (let tries = 0; tries < 200 && count < 2; tries += 1) await sleep(25)
    const [first, second] = await callbacksOf(key.merchantReference)
    assert.equal(first?.rawBody.toString(), second?.rawBody.toString())
    assert.ok(second && (await channel.readCallback?.(second)))
  })
})

test('an account that is not ours is refused, and says whose matter it is', async () => {
  const other = world.open(kucoinpay, { values: { API_KEY: 'other' } })
  await assert.rejects(other.createPayment(newRequest()), (error: unknown) => {
    return error instanceof ProviderRefusal && error.reason === 'credentials'
  })
})

test('a callback of five minutes ago is refused', async () => {
  const { key } = await create()
  await act(key.providerReference, 'pay')
  const callback = await callbackOf(key.merchantReference, 'SUCCEEDED')
  assert.ok(await channel.readCallback?.(callback))
  world.pass(301_000)
  await assert.rejects(async () => channel.readCallback?.(callback), /too far from our clock/)
})

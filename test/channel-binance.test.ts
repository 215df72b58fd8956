import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { binance } from '../src/channels/binance/adapter.ts'
import type { Channel, PaymentReport, PaymentRequest, RefundRequest } from '../src/channels/channel.ts'
import { ProviderTrouble } from '../src/channels/provider-errors.ts'
import { type Callback, CallbackRefused } from '../src/kernel/callback.ts'
import { newRequest, type ProviderWorld, startProviderWorld } from './harness/providers.ts'
import { waitFor } from './harness/receiver.ts'

const PATH = '/api/next/channels/binance/callback'
let world: ProviderWorld
let channel: Channel

before(async () => {
  world = await startProviderWorld()
  channel = world.open(binance)
  world.receiver.answer(PATH, (_request, response) => void response.end(channel.acknowledgement?.body))
})
after(() => world.stop())

const requested = (fields: Partial<PaymentRequest> = {}): PaymentRequest =>
  newRequest({ callbackUrl: world.receiver.url + PATH, ...fields })

async function create(fields: Partial<PaymentRequest> = {}) {
  const request = requested(fields)
  const instructions = await channel.createPayment(request)
  const key = { ...request, providerReference: instructions.providerReference }
  return { request, instructions, key, fetch: () => channel.fetchPayment(key) }
}

const act = async (reference: string, action: string, body = {}): Promise<void> => {
  const answer = await world.act(`/payments/${reference}/${action}`, body)
  assert.equal(answer.status, 200, await answer.text())
}
const tell = (story: string) => world.act(`/stories/${story}`, { provider: 'binance' })

/** The newest callback that speaks of the order with this status. */
async function callbackOf(merchantReference: string, word: string): Promise<Callback> {
  for (let tries = 0; tries < 200; tries += 1) {
    const found = (await world.callbacks('binance', 0)).findLast(({ rawBody }) => {
      const text = rawBody.toString()
      return text.includes(merchantReference) && text.includes(`"${word}"`)
    })
    if (found) return found
    await sleep(25)
  }
  throw new Error(`no callback ${word} came`)
}

const refundOf = (key: PaymentRequest & { providerReference: string }, id: string, units: bigint): RefundRequest => ({
  refundId: id.repeat(24),
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
  reason: null,
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
  test('is created, waits, is paid, and tells both by callback and query', async () => {
    const { instructions, key, fetch } = await create()
    assert.match(instructions.providerReference, /^\d{18}$/)
    assert.ok(instructions.qrData && instructions.deepLink && instructions.checkoutUrl)
    assert.equal((await fetch()).outcome, 'waiting')
    await act(key.providerReference, 'pay')
    const news = await channel.readCallback?.(await callbackOf(key.merchantReference, 'PAY_SUCCESS'))
    assert.equal(news?.providerReference, key.providerReference)
    assert.equal(news?.merchantReference, key.merchantReference)
    assert.equal(news?.report && finalOf(news.report), key.due.units)
    assert.equal(finalOf(await fetch()), key.due.units)
  })

  test('a callback with a changed byte or another time, and a forged one, are refused', async () => {
    await tell('forged-callback')
    const { key, fetch } = await create()
    const forged = await callbackOf(key.merchantReference, 'PAY_SUCCESS')
    await assert.rejects(async () => channel.readCallback?.(forged), CallbackRefused)
    assert.equal((await fetch()).outcome, 'waiting')
    await act(key.providerReference, 'pay')
    const signature = forged.headers['binancepay-signature']
    let callback = await callbackOf(key.merchantReference, 'PAY_SUCCESS')
    for (let tries = 0; tries < 100 && callback.headers['binancepay-signature'] === signature; tries += 1) {
      await sleep(25)
      callback = await callbackOf(key.merchantReference, 'PAY_SUCCESS')
    }
    assert.ok(await channel.readCallback?.(callback))
    const changed = Buffer.from(callback.rawBody.toString().replace('54.21', '54.22'))
    await assert.rejects(async () => channel.readCallback?.({ ...callback, rawBody: changed }), CallbackRefused)
    const headers = { ...callback.headers, 'binancepay-timestamp': String(Date.now() - 3_600_000) }
    await assert.rejects(async () => channel.readCallback?.({ ...callback, headers }), CallbackRefused)
  })

  test('created twice is trouble; what became of a lost answer is asked for', async () => {
    const { request, key } = await create()
    await assert.rejects(channel.createPayment(request), ProviderTrouble)
    const lost = { outcome: 'lost', providerReference: key.providerReference }
    assert.deepEqual(await channel.recoverPayment?.(request), lost)
    assert.deepEqual(await channel.recoverPayment?.(requested()), { outcome: 'absent' })
  })

  test('timeout after acceptance: nobody knows at first, then it is lost, closed, and another one works', async () => {
    await tell('timeout-after-acceptance')
    const request = requested()
    await assert.rejects(channel.createPayment(request), ProviderTrouble)
    const recovery = await channel.recoverPayment?.(request)
    assert.equal(recovery?.outcome, 'lost')
    assert.ok(await channel.createPayment(requested()))
  })

  test('a word that nobody knows is unknown', async () => {
    await tell('unknown-status')
    const { fetch } = await create()
    assert.equal((await fetch()).outcome, 'unknown')
  })

  test('closing is accepted first and happens later; what is paid or closed may be closed again', async () => {
    const { key, fetch } = await create()
    await channel.closePayment?.(key)
    const callback = await callbackOf(key.merchantReference, 'PAY_CLOSED')
    assert.equal((await channel.readCallback?.(callback))?.report?.outcome, 'expired')
    assert.equal((await fetch()).outcome, 'expired')
    await channel.closePayment?.(key)
    const paid = await create()
    await act(paid.key.providerReference, 'pay')
    await channel.closePayment?.(paid.key)
    assert.equal((await paid.fetch()).outcome, 'seen')
  })

  test('declined is failed, let go is expired, paid late is seen', async () => {
    const declined = await create()
    await act(declined.key.providerReference, 'fail')
    assert.equal((await declined.fetch()).outcome, 'failed')
    const late = await create()
    await act(late.key.providerReference, 'expire')
    assert.equal((await late.fetch()).outcome, 'expired')
    await act(late.key.providerReference, 'pay')
    assert.equal(finalOf(await late.fetch()), late.key.due.units)
  })

  test('an outage is nobody’s knowledge', async () => {
    await world.act('/stories/outage', { provider: 'binance', seconds: 0.3 })
    await assert.rejects(channel.createPayment(requested()), ProviderTrouble)
    await sleep(350)
    assert.ok(await channel.createPayment(requested()))
  })
})

describe('refunds', () => {
  test('a part, the same again, the rest, and too much', async () => {
    const { key, fetch } = await create()
    await act(key.providerReference, 'pay')
    const part = refundOf(key, 'a', 4_210_000n)
    assert.equal((await channel.refundPayment?.(part))?.outcome, 'pending')
    assert.equal(await settle(part), 'settled')
    // sent again in spite of what is known: Binance does it once
    await channel.refundPayment?.(part)
    const partly = await fetch()
    assert.ok(partly.outcome === 'seen' && partly.refundedPart)
    assert.deepEqual([partly.providerStatus, partly.refunded], ['REFUNDED', undefined], 'it does not say how much')
    const told = await channel.readCallback?.(await callbackOf(key.merchantReference, 'REFUND_SUCCESS'))
    assert.ok(told?.report?.outcome === 'seen' && told.report.refunded === 4_210_000n)
    assert.equal((await channel.refundPayment?.(refundOf(key, 'b', 50_000_001n)))?.outcome, 'refused')
    assert.equal(await settle(refundOf(key, 'c', 50_000_000n)), 'settled')
    const report = await fetch()
    assert.ok(report.outcome === 'seen' && report.refunded === key.due.units)
  })

  test('a refund names where Binance calls back, unless the address is too long', async () => {
    const own = `${PATH}/${'c'.repeat(24)}`
    world.receiver.answer(own, (_request, response) => void response.end(channel.acknowledgement?.body))
    const settledAt = async (callbackUrl: string): Promise<string> => {
      const { key } = await create()
      await act(key.providerReference, 'pay')
      const refundId = randomBytes(12).toString('hex')
      const refund = { ...refundOf(key, 'e', 1_000_000n), refundId, callbackUrl }
      assert.equal((await channel.refundPayment?.(refund))?.outcome, 'pending')
      const isAbout = ({ body }: { body: string }) => body.includes(refundId) && body.includes('REFUND_SUCCESS')
      await waitFor('its callback', () => world.receiver.received.some(isAbout))
      return world.receiver.received.find(isAbout)?.path ?? ''
    }
    assert.equal(await settledAt(world.receiver.url + own), own)
    assert.equal(await settledAt(`${world.receiver.url}${own}?${'x'.repeat(256)}`), PATH, 'the console’s')
  })

  test('one that Binance gives up is refused', async () => {
    const { key } = await create()
    await act(key.providerReference, 'pay')
    const refund = refundOf(key, 'd', 1_000_000n)
    await channel.refundPayment?.(refund)
    await act(key.providerReference, 'refund-refuse')
    assert.equal(await settle(refund), 'refused')
    const news = await channel.readCallback?.(await callbackOf(key.merchantReference, 'REFUND_REJECTED'))
    assert.equal(news?.report, null)
  })
})

describe('the imitation is as strict as Binance', () => {
  type Call = { path?: string; body?: string; signed?: string; headers?: Record<string, string>; lower?: boolean }
  const NONCE = 'AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEf'

  const order = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
    env: { terminalType: 'WEB' },
    merchantTradeNo: newRequest().merchantReference,
    orderAmount: 12.34,
    currency: 'USDC',
    description: 'Order',
    goodsDetails: [{ goodsType: '02', goodsCategory: 'Z000', referenceGoodsId: '1', goodsName: 'Coffee' }],
    ...fields,
  })

  async function send(call: Call): Promise<string> {
    const { path = '/v3/order', body = JSON.stringify(order()), headers = {} } = call
    const { CHANNEL_BINANCE_API_KEY: key = '', CHANNEL_BINANCE_API_SECRET: secret = '' } = world.providers.credentials
    const timestamp = headers['BinancePay-Timestamp'] ?? String(Date.now())
    const nonce = headers['BinancePay-Nonce'] ?? NONCE
    const text = call.signed ?? `${timestamp}\n${nonce}\n${body}\n`
    const made = createHmac('sha512', secret).update(text.replace('NOW', timestamp)).digest('hex')
    const answer = await fetch(`${world.providers.url}/binance/binancepay/openapi${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'BinancePay-Timestamp': timestamp,
        'BinancePay-Nonce': nonce,
        'BinancePay-Certificate-SN': key,
        'BinancePay-Signature': call.lower ? made : made.toUpperCase(),
        ...headers,
      },
      body,
    })
    const { status, code } = (await answer.json()) as { status: string; code: string }
    return `${answer.status} ${status} ${code}`
  }
  const sendOrder = (fields: Record<string, unknown>): Promise<string> => send({ body: JSON.stringify(order(fields)) })

  test('a right call is taken', async () => assert.equal(await send({}), '200 SUCCESS 000000'))

  test('nonces', async () => {
    assert.equal(await send({ headers: { 'BinancePay-Nonce': '' } }), '400 FAIL 400100')
    assert.equal(await send({ headers: { 'BinancePay-Nonce': `${NONCE}A` } }), '400 FAIL 400101')
    assert.equal(await send({ headers: { 'BinancePay-Nonce': NONCE.slice(1) } }), '400 FAIL 400101')
  })

  test('signatures: lower case, over other bytes, without the last line feed, by a stranger', async () => {
    assert.equal(await send({ lower: true }), '406 FAIL 400002')
    const body = JSON.stringify(order(), null, 1)
    assert.equal(
      await send({ body, signed: `NOW\n${NONCE}\n${JSON.stringify(JSON.parse(body))}\n` }),
      '406 FAIL 400002',
    )
    assert.equal(await send({ body, signed: `NOW\n${NONCE}\n${body}` }), '406 FAIL 400002')
    assert.equal(await send({ body, signed: `NOW\n${NONCE}\n${body}\n` }), '200 SUCCESS 000000')
    assert.equal(await send({ headers: { 'BinancePay-Certificate-SN': 'other' } }), '401 FAIL 400004')
  })

  test('times in seconds or long ago', async () => {
    const seconds = String(Math.floor(Date.now() / 1000))
    assert.equal(await send({ headers: { 'BinancePay-Timestamp': seconds } }), '406 FAIL 400003')
    assert.equal(await send({ headers: { 'BinancePay-Timestamp': String(Date.now() - 60_000) } }), '406 FAIL 400003')
  })

  test('media types and bodies', async () => {
    assert.equal(await send({ headers: { 'content-type': 'text/plain' } }), '415 FAIL 400007')
    assert.equal(await send({ body: '{' }), '400 FAIL 400008')
  })

  test('references: with a dash, too long, used before', async () => {
    assert.equal(await sendOrder({ merchantTradeNo: 'a-b' }), '400 FAIL 400201')
    assert.equal(await sendOrder({ merchantTradeNo: 'a'.repeat(33) }), '400 FAIL 400201')
    const body = JSON.stringify(order())
    assert.equal(await send({ body }), '200 SUCCESS 000000')
    assert.equal(await send({ body }), '400 FAIL 400201')
  })

  test('orders: goods of v2, no description, bad amounts, more than an hour', async () => {
    const { goodsDetails, ...rest } = order()
    const [goods] = goodsDetails as unknown[]
    assert.equal(await send({ body: JSON.stringify({ ...rest, goods }) }), '400 FAIL 400100')
    assert.equal(await sendOrder({ description: undefined }), '400 FAIL 400100')
    for (const wrong of [0.123456789, '12.34', 0, -1])
      assert.equal(await sendOrder({ orderAmount: wrong }), '400 FAIL 400102')
    const exponent = JSON.stringify(order()).replace('12.34', '1e1')
    assert.equal(await send({ body: exponent }), '400 FAIL 400102')
    assert.equal(await sendOrder({ orderExpireTime: Date.now() + 3_700_000 }), '400 FAIL 400102')
    assert.equal(await sendOrder({ orderExpireTime: Date.now() - 1 }), '400 FAIL 400102')
    assert.equal(await sendOrder({ currency: 'EUR' }), '400 FAIL 400102')
    assert.equal(await sendOrder({ returnUrl: `https://a.test/${'x'.repeat(256)}` }), '400 FAIL 400101')
    const quoted = [{ goodsType: '02', goodsCategory: 'Z000', referenceGoodsId: '1', goodsName: '"Tea"' }]
    assert.equal(await sendOrder({ goodsDetails: quoted }), '400 FAIL 400103')
  })

  test('refunds: above the rest, and the same id with another amount', async () => {
    const { key } = await create()
    const refund = (refundRequestId: string, refundAmount: number): Promise<string> => {
      const body = JSON.stringify({ refundRequestId, prepayId: key.providerReference, refundAmount })
      return send({ path: '/order/refund', body })
    }
    assert.equal(await refund('r1', 1), '400 FAIL 400202', 'not paid')
    await act(key.providerReference, 'pay')
    assert.equal(await refund('r1', 54.22), '400 FAIL 400303')
    assert.equal(await refund('r1', 54), '200 SUCCESS 000000')
    assert.equal(await refund('r1', 53), '200 SUCCESS 000000', 'answered as a duplicate')
    const payment = (await (await fetch(`${world.providers.url}/payments/${key.providerReference}`)).json()) as {
      refunds: { amount: string }[]
    }
    assert.deepEqual(
      payment.refunds.map(({ amount }) => amount),
      ['54'],
    )
  })

  test('callbacks: data as text, a bare bizId above 2^53, and again until they are acknowledged', async () => {
    const { key } = await create()
    let refused = 0
    world.receiver.answer(PATH, ({ body }, response) => {
      if (body.includes(key.merchantReference)) refused += 1
      response.end(refused === 1 ? '{"returnCode":"FAIL"}' : channel.acknowledgement?.body)
    })
    await act(key.providerReference, 'pay')
    for (let tries = 0; tries < 200 && refused < 2; tries += 1) await sleep(25)
    const all = await world.callbacks('binance', 0)
    const ours = all.filter(({ rawBody }) => rawBody.includes(key.merchantReference))
    assert.equal(ours.length, 2)
    for (const one of ours) {
      const text = one.rawBody.toString()
      assert.ok(text.includes(`"bizId":${key.providerReference},`))
      assert.notEqual(JSON.stringify(JSON.parse(text)), text, 'who prints it anew loses digits')
      assert.match(text, /"data":"\{\\"merchantTradeNo\\":/)
      assert.ok(await channel.readCallback?.(one))
    }
  })
})

test('a callback of five minutes ago is refused', async () => {
  const { key } = await create()
  await act(key.providerReference, 'pay')
  const callback = await callbackOf(key.merchantReference, 'PAY_SUCCESS')
  assert.ok(await channel.readCallback?.(callback))
  world.pass(301_000)
  await assert.rejects(async () => channel.readCallback?.(callback), /too far from our clock/)
})

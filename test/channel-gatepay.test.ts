import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { SeenReport } from '../src/channels/channel.ts'
import { gatepay } from '../src/channels/gatepay/adapter.ts'
import { reportOf } from '../src/channels/gatepay/status-map.ts'
import { ProviderRefusal, ProviderTrouble } from '../src/channels/provider-errors.ts'
import { CallbackRefused } from '../src/kernel/callback.ts'
import { type ChannelDesk, openChannelDesk } from './harness/channel-desk.ts'
import { waitFor } from './harness/receiver.ts'

let desk: ChannelDesk

before(async () => {
  desk = await openChannelDesk(gatepay)
})
after(() => desk.close())

const PRICE = { due: 12_345_678n, fiat: { asset: 'EUR', units: 1140n } } as const
const create = () => desk.create(desk.request(PRICE))

/** The newest callback about one payment, as soon as it is there. */
async function callbackAbout(text: string, word: string) {
  const find = () => desk.callbacks().findLast(({ rawBody }) => rawBody.includes(text) && rawBody.includes(word))
  await waitFor(`a callback ${word}`, () => find() !== undefined, 5000)
  const found = find()
  assert.ok(found)
  return found
}
const news = async (callback: Parameters<NonNullable<typeof desk.channel.readCallback>>[0]) =>
  desk.channel.readCallback?.(callback)

test('a payment is created, waits, is paid, and its callback is verified', async () => {
  const request = desk.request(PRICE)
  const { providerReference, ...instructions } = await desk.channel.createPayment(request)
  assert.equal(instructions.checkoutUrl, `${desk.url}/payments/${providerReference}`)
  assert.equal(instructions.qrData, instructions.checkoutUrl)
  const payment = { providerReference, merchantReference: request.merchantReference, request }
  assert.equal((await desk.fetch(payment)).outcome, 'waiting')
  await desk.act(providerReference, 'pay')
  const report = (await desk.fetch(payment)) as SeenReport
  assert.deepEqual([report.outcome, report.final, report.pending], ['seen', 12_345_678n, 0n])
  const callback = await callbackAbout(request.merchantReference, 'PAY_SUCCESS')
  const told = await news(callback)
  assert.equal(told?.merchantReference, request.merchantReference)
  assert.ok(told?.report?.outcome === 'seen')
  assert.equal(told.report.final, 12_345_678n)
  await waitFor('the acknowledgement', async () => {
    const attempts = (await (await fetch(`${desk.url}/callbacks`)).json()) as { acknowledged: boolean; body: string }[]
    return attempts.some(({ body, acknowledged }) => acknowledged && body.includes(request.merchantReference))
  })
})

test('what is missing of a price may have more digits than USDC: the order is paid less that, never unknown', () => {
  const paid = (underpaidAmount: string) => {
    const data = { currency: 'USDC', orderAmount: '12.345678', underpaidAmount }
    const report = reportOf('PAID', data, { providerReference: '1', closedStatuses: [] })
    return report.outcome === 'seen' ? report.final : report.providerStatus
  }
  assert.equal(paid('0'), 12_345_678n)
  assert.equal(paid('0.00000031'), 12_345_677n)
  assert.equal(paid('2.345678000000000001'), 9_999_999n)
  assert.equal(paid('12.34567800'), 0n)
  for (const wrong of ['12.345679', '-1', 'little']) assert.equal(paid(wrong), 'PAID: underpaid')
})

test('a callback with a changed byte, or six minutes later, is refused', async () => {
  const payment = await create()
  await desk.act(payment.providerReference, 'pay')
  const callback = await callbackAbout(payment.merchantReference, 'PAY_SUCCESS')
  const changed = Buffer.from(callback.rawBody.toString().replace('PAY_SUCCESS', 'PAY_SUCCESX'))
  await assert.rejects(async () => news({ ...callback, rawBody: changed }), CallbackRefused)
  desk.later(360_000)
  await assert.rejects(async () => news(callback), /too old/)
})

test('the same reference a second time is no refusal, and the first order is found by it with its link', async () => {
  const { request, providerReference } = await create()
  await assert.rejects(desk.channel.createPayment(request), ProviderTrouble)
  const recovery = await desk.channel.recoverPayment?.(request)
  assert.ok(recovery?.outcome === 'found')
  assert.equal(recovery.instructions.providerReference, providerReference)
  assert.equal(recovery.instructions.checkoutUrl, `${desk.url}/payments/${providerReference}`)
  assert.deepEqual(await desk.channel.recoverPayment?.(desk.request(PRICE)), { outcome: 'absent' })
})

test('a creation without an answer is found again', async () => {
  const request = desk.request(PRICE)
  await desk.story('timeout-after-acceptance')
  await assert.rejects(desk.channel.createPayment(request), ProviderTrouble)
  const recovery = await desk.channel.recoverPayment?.(request)
  assert.ok(recovery?.outcome === 'found')
  const { providerReference } = recovery.instructions
  assert.equal((await desk.channel.fetchPayment({ ...request, providerReference })).outcome, 'waiting')
})

test('an order that lives a month is sent with less than an hour', async () => {
  const payment = await desk.create(desk.request(PRICE, { expiresAt: new Date(desk.clock() + 30 * 86_400_000) }))
  assert.equal((await desk.fetch(payment)).outcome, 'waiting')
  desk.later(3_600_000)
  assert.equal((await desk.fetch(payment)).outcome, 'expired')
})

test('an amount outside of the limits is refused before the call', async () => {
  const limits = await desk.channel.findLimits?.({ due: { asset: 'USDC', units: 1n }, fiat: PRICE.fiat })
  assert.deepEqual([limits?.min?.units, limits?.max?.units], [10_000n, 5_000_000_000_000n])
  for (const due of [9_999n, 5_000_000_000_001n])
    await assert.rejects(desk.create(desk.request({ ...PRICE, due })), (error) => {
      return error instanceof ProviderRefusal && error.reason === 'amount'
    })
})

test('a word that nobody knows is unknown', async () => {
  await desk.story('unknown-status')
  const payment = await create()
  assert.deepEqual(await desk.fetch(payment), {
    outcome: 'unknown',
    providerReference: payment.providerReference,
    providerStatus: 'UNDER_MYSTERY',
  })
})

test('an order that Gate does not know is unknown', async () => {
  const payment = await create()
  assert.equal((await desk.fetch({ ...payment, providerReference: '404' })).outcome, 'unknown')
  const other = { ...payment, request: { ...payment.request, merchantReference: 'f'.repeat(26) } }
  assert.match((await desk.fetch(other)).providerStatus, /another order/)
})

test('an order is closed once and for all, and closing a paid one is no error', async () => {
  const open = await create()
  const close = ({ request, providerReference }: typeof open) =>
    desk.channel.closePayment?.({ ...request, providerReference })
  await close(open)
  assert.equal((await desk.fetch(open)).outcome, 'expired')
  await close(open)
  const paid = await create()
  await desk.act(paid.providerReference, 'pay')
  await close(paid)
  assert.equal((await desk.fetch(paid)).outcome, 'seen')
})

test('half of the money is pending, a decline is a failure', async () => {
  const half = await create()
  await desk.act(half.providerReference, 'pay-half')
  const report = (await desk.fetch(half)) as SeenReport
  assert.deepEqual([report.final, report.pending], [0n, 6_172_839n])
  await desk.act(half.providerReference, 'pay')
  assert.equal(((await desk.fetch(half)) as SeenReport).final, 12_345_678n)
  const declined = await create()
  await desk.act(declined.providerReference, 'fail')
  assert.equal((await desk.fetch(declined)).outcome, 'failed')
})

test('money after the end is reported beside the order, not as a payment', async () => {
  const payment = await create()
  await desk.act(payment.providerReference, 'expire')
  await desk.act(payment.providerReference, 'pay')
  const report = await desk.fetch(payment)
  assert.ok(report.outcome === 'expired')
  assert.deepEqual(
    report.unmatched?.map(({ units }) => units),
    [12_345_678n],
  )
  const told = await news(await callbackAbout(payment.merchantReference, 'TRANSFERRED_ADDRESS_DELAY'))
  assert.equal(told?.report?.outcome, 'expired')
})

test('a forged callback is refused, the outage is trouble', async () => {
  await desk.story('forged-callback')
  const { merchantReference } = await create()
  const forged = await callbackAbout(merchantReference, 'PAY_SUCCESS')
  await assert.rejects(async () => news(forged), CallbackRefused)
  const payment = await create()
  await desk.story('outage')
  await assert.rejects(desk.fetch(payment), ProviderTrouble)
  desk.later(6000)
  assert.equal((await desk.fetch(payment)).outcome, 'waiting')
})

test('a refund is not sent in the first ten seconds; part, rest, and not a cent more', async () => {
  const unpaid = await create()
  assert.equal((await desk.channel.refundPayment?.(desk.refund(unpaid, {})))?.outcome, 'refused')
  const payment = await create()
  const ask = (more: object) => desk.channel.refundPayment?.({ ...desk.refund(payment, {}), ...more })
  await desk.act(payment.providerReference, 'pay')
  desk.later(9000)
  const part = { refundId: randomBytes(12).toString('hex'), units: 5_000_000n }
  const early = await ask(part)
  assert.equal(early?.outcome, 'pending')
  assert.match(early?.providerStatus ?? '', /not sent yet/)
  desk.later(1001)
  assert.equal((await ask({ ...part, attempted: true }))?.outcome, 'pending')
  await callbackAbout(part.refundId, 'REFUND_SUCCESS')
  const done = await ask({ ...part, attempted: true })
  assert.equal(done?.outcome, 'settled')
  assert.match(done?.reference ?? '', /^8\d+$/)
  const rest = { refundId: randomBytes(12).toString('hex'), units: 7_345_678n, earlierUnits: 5_000_000n }
  assert.match((await ask(rest))?.providerStatus ?? '', /not sent yet/)
  desk.later(10_001)
  assert.match((await ask({ ...rest, units: 7_345_679n }))?.providerStatus ?? '', /400621/)
  desk.later(10_001)
  assert.equal((await ask(rest))?.outcome, 'pending')
  await desk.act(payment.providerReference, 'refund-settle')
  assert.equal((await ask({ ...rest, attempted: true }))?.outcome, 'settled')
  const told = await news(await callbackAbout(rest.refundId, 'REFUND_SUCCESS'))
  assert.deepEqual([told?.report, told?.merchantReference], [null, payment.merchantReference])
})

test('a refund that Gate refuses later is refused, and asking again sends nothing', async () => {
  const payment = await create()
  await desk.act(payment.providerReference, 'pay')
  desk.later(10_001)
  const refund = desk.refund(payment, {})
  assert.equal((await desk.channel.refundPayment?.(refund))?.outcome, 'pending')
  await desk.act(payment.providerReference, 'refund-refuse')
  const told = await desk.channel.refundPayment?.({ ...refund, attempted: true })
  assert.deepEqual([told?.outcome, told?.providerStatus], ['refused', 'REFUND_REJECTED: rejected by the console'])
})

test('wrong keys are a refusal about credentials', async () => {
  const stranger = desk.open({ SECRET: 'wrong' })
  await assert.rejects(stranger.createPayment(desk.request(PRICE)), (error) => {
    return error instanceof ProviderRefusal && error.reason === 'credentials'
  })
})

/* ---- what the imitation must refuse, as the original does ---- */

type Raw = {
  method?: string
  path?: string
  body?: string
  timestamp?: number
  nonce?: string
  algorithm?: string
  signed?: string
  type?: string
}

/** A request in our own hand: signed as told, by default as the document says. @returns HTTP status and code */
async function send(raw: Raw): Promise<[number, string]> {
  const { method = 'POST', path = '/v1/pay/checkout/order', body = '', algorithm = 'sha512' } = raw
  const timestamp = String(raw.timestamp ?? desk.clock())
  const nonce = raw.nonce ?? randomBytes(8).toString('hex')
  const signed = raw.signed ?? `${timestamp}\n${nonce}\n${body}\n`
  const headers = {
    'content-type': raw.type ?? 'application/json',
    'X-GatePay-Certificate-ClientId': desk.credentials.CHANNEL_GATEPAY_CLIENT_ID ?? '',
    'X-GatePay-Timestamp': timestamp,
    'X-GatePay-Nonce': nonce,
    'X-GatePay-Signature': createHmac(algorithm, desk.credentials.CHANNEL_GATEPAY_SECRET ?? '')
      .update(signed)
      .digest('hex'),
  }
  const answer = await fetch(`${desk.url}/gatepay${path}`, { method, headers, ...(body === '' ? {} : { body }) })
  return [answer.status, ((await answer.json()) as { code: string }).code]
}

const orderBody = (change: object = {}): string =>
  JSON.stringify({
    merchantTradeNo: randomBytes(13).toString('hex'),
    env: { terminalType: 'WEB' },
    currency: 'USDC',
    orderAmount: '12.34',
    merchantUserId: 123,
    goods: { goodsName: 'Coffee' },
    chain: 'MATIC',
    fullCurrType: 'USDC_MATIC',
    ...change,
  })

test('signatures of 64 digits, without the last line feed, or over the query string are refused', async () => {
  const body = orderBody()
  assert.deepEqual(await send({ body, algorithm: 'sha256' }), [200, '400002'])
  const timestamp = desk.clock()
  assert.deepEqual(await send({ body, timestamp, nonce: 'n1', signed: `${timestamp}\nn1\n${body}` }), [200, '400002'])
  const { providerReference } = await create()
  const query = `prepayId=${providerReference}`
  const get = { method: 'GET', path: `/v2/pay/order/query?${query}`, timestamp }
  assert.deepEqual(await send({ ...get, nonce: 'n2', signed: `${timestamp}\nn2\n${query}\n` }), [200, '400002'])
  assert.deepEqual(await send({ ...get, nonce: 'n3' }), [200, '000000'])
})

test('a clock that is 10 seconds off, a long nonce and a repeated one are refused', async () => {
  const body = orderBody()
  assert.deepEqual(await send({ body, timestamp: desk.clock() - 11_000 }), [200, '400003'])
  assert.deepEqual(await send({ body, timestamp: desk.clock() + 11_000 }), [200, '400003'])
  assert.deepEqual(await send({ body, nonce: 'a'.repeat(33) }), [200, '400020'])
  assert.deepEqual(await send({ body, nonce: 'a-b' }), [200, '400020'])
  const once = { timestamp: desk.clock(), nonce: 'once' }
  assert.deepEqual(await send({ body, ...once }), [200, '000000'])
  assert.deepEqual(await send({ body: orderBody(), ...once }), [200, '400020'])
  assert.deepEqual(await send({ body: orderBody(), type: 'text/plain' }), [200, '400007'])
})

test('a used reference, a long life and amounts that do not fit are refused', async () => {
  const body = orderBody()
  assert.deepEqual(await send({ body }), [200, '000000'])
  assert.deepEqual(await send({ body }), [200, '400201'])
  const expiry = (ms: number) => orderBody({ orderExpireTime: desk.clock() + ms })
  assert.deepEqual(await send({ body: expiry(3_600_000 + 5000) }), [200, '400001'])
  assert.deepEqual(await send({ body: expiry(-1) }), [200, '400001'])
  for (const orderAmount of ['1.2345678', '0.00009', '5000000.01', 12.34, '1e3'])
    assert.deepEqual(await send({ body: orderBody({ orderAmount }) }), [200, '400621'], String(orderAmount))
  assert.deepEqual(await send({ body: orderBody({ merchantTradeNo: 'with space' }) }), [200, '400001'])
})

test('refunds before payment and above what was paid are refused', async () => {
  const { providerReference: prepayId } = await create()
  const refund = (refundAmount: string, refundRequestId = randomBytes(12).toString('hex')) =>
    send({
      path: '/v2/standard/order/refund',
      body: JSON.stringify({ refundRequestId, prepayId, refundAmount, refundStyle: 1 }),
    })
  assert.deepEqual(await refund('1'), [200, '400204'])
  await desk.act(prepayId, 'pay')
  assert.deepEqual(await refund('12.345679'), [200, '400621'])
  assert.deepEqual(await refund('12', 'same'), [200, '000000'])
  assert.deepEqual(await refund('12', 'same'), [200, '000000'])
  assert.deepEqual(await refund('0.345679'), [200, '400621'])
  assert.deepEqual(await refund('0.345678'), [200, '000000'])
})

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import type { Money } from '../../kernel/money.ts'
import type { PaymentRequest, RefundRequest, SeenReport } from '../channel.ts'
import { readSettings } from '../kind.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderCall } from '../provider-http.ts'
import { cryptopay } from './adapter.ts'
import { tryParse } from './api.ts'
import { type CallbackRules, readCallback } from './callback.ts'
import { isSigned, readPaySignature, signatureOf } from './signature.ts'
import { MEANINGS, minorUnits, reportOf } from './status-map.ts'

/** THROW-AWAY: made up for this vector. */
const SECRET = 'whsec_test_cryptocom_0123456789'
const T = 1718000101
const BODY =
  '{"id":"5a1d2f1e-3c63-4a55-9b58-2f6f9b1f0a11","object_type":"event","type":"payment.captured","created":1718000101,"data":{"object":{"id":"a8608fef-05bf-4a43-9d16-6c0f2235ece7","order_id":"ord20240610A1","amount":1234,"amount_refunded":0,"currency":"EUR","status":"succeeded","captured":true,"refunded":false,"live_mode":false}}}'
const V1 = 'bf84a73d1c78fad260cc0e108f46b7179d208213561d1223fe50f290e7222372'
const HEADER = `t=${T},v1=${V1}`
const QR_CODE = 'eyJ0eXBlIjoicGF5bWVudCIsImlkIjoiYTg2MDhmZWYtMDViZi00YTQzLTlkMTYtNmMwZjIyMzVlY2U3In0='

const RULES: CallbackRules = { secret: SECRET, maxAgeMs: 300_000, live: false, weCancel: false }
const read = (header: string, body = BODY, rules: Partial<CallbackRules> = {}, nowMs = T * 1000) => {
  const callback: Callback = { headers: { 'pay-signature': header }, rawBody: Buffer.from(body) }
  return readCallback(callback, { ...RULES, ...rules }, () => nowMs)
}
const refuses = (act: () => unknown, why: RegExp): void => {
  assert.throws(act, (error) => error instanceof CallbackRefused && why.test(error.message))
}
const signed = (body: string): string => `t=${T},v1=${signatureOf(SECRET, String(T), body)}`

test('the callback of the vector is accepted and names payment and order', () => {
  assert.equal(signatureOf(SECRET, String(T), BODY), V1)
  const news = read(HEADER)
  assert.equal(news.providerReference, 'a8608fef-05bf-4a43-9d16-6c0f2235ece7')
  assert.equal(news.merchantReference, 'ord20240610A1')
  assert.equal(news.providerStatus, 'payment.captured succeeded')
  // how much that is in USDC only the query can tell
  assert.equal(news.report?.outcome, 'unknown')
})

test('one of several v1 signatures is enough, other schemes are ignored', () => {
  const wrong = 'a'.repeat(64)
  assert.ok(read(`t=${T},v0=${wrong},v1=${wrong},v1=${V1}`))
  assert.ok(read(`t=${T},v0=${wrong},v1=${V1},v1=${wrong}`))
  refuses(() => read(`t=${T},v1=${wrong},v1=${wrong}`), /wrong/)
  refuses(() => read(`t=${T},v0=${V1}`), /scheme/)
  refuses(() => read(`t=${T},t=${T},v1=${V1}`), /scheme/)
  refuses(() => read(''), /scheme/)
  assert.equal(isSigned(SECRET, { t: String(T), v1: [V1.slice(0, 63)] }, Buffer.from(BODY)), false)
  assert.deepEqual(readPaySignature('t=1,v2=x,v1=a, v1=b'), { t: '1', v1: ['a', 'b'] })
})

test('a changed byte, another time, another mode and an unreadable body are refused', () => {
  refuses(() => read(HEADER, BODY.replace('1234', '1235')), /wrong/)
  refuses(() => read(`t=${T + 1},v1=${V1}`), /wrong/)
  refuses(() => read(HEADER, BODY, { live: true }), /test mode/)
  const live = BODY.replace('"live_mode":false', '"live_mode":true')
  refuses(() => read(signed(live), live), /live mode/)
  assert.ok(read(signed(live), live, { live: true }))
  const silent = BODY.replace(',"live_mode":false', '')
  refuses(() => read(signed(silent), silent), /mode/)
  refuses(() => read(signed('[]'), '[]'), /not an event/)
})

test('a callback is fresh for 300 seconds in both directions', () => {
  assert.ok(read(HEADER, BODY, {}, (T + 300) * 1000))
  refuses(() => read(HEADER, BODY, {}, (T + 301) * 1000), /too old/)
  refuses(() => read(HEADER, BODY, {}, (T - 301) * 1000), /too old/)
})

test('refund events name the payment and claim nothing, subscriptions name nothing', () => {
  for (const type of ['payment.refund_requested', 'payment.refund_transferred']) {
    const body = `{"object_type":"event","type":"${type}","data":{"object":{"id":"r1","payment_id":"p1","amount":5}}}`
    const news = read(signed(body), body)
    assert.deepEqual([news.providerReference, news.merchantReference, news.report], ['p1', null, null])
  }
  const body = '{"object_type":"event","type":"subscription.activated","data":{"object":{"id":"s1"}}}'
  const news = read(signed(body), body)
  assert.deepEqual([news.providerReference, news.merchantReference, news.report], [null, null, null])
})

const NOW_MS = T * 1000
const EUR: Money = { asset: 'EUR', units: 1234n }
const PRICE = { due: { asset: 'USDC', units: 13_370_001n } as Money, fiat: EUR }
const PAYMENT = {
  id: 'p1',
  amount: '1234',
  amount_refunded: '0',
  currency: 'EUR',
  crypto_currency: 'CRO',
  crypto_amount: '123.4',
  status: 'succeeded',
  captured: true,
  expired: false,
  expired_at: String(T + 600),
  current_inbound_fund: null as unknown,
}
const report = (change: Partial<Record<keyof typeof PAYMENT, unknown>>, weCancel = false) =>
  reportOf({ ...PAYMENT, ...change }, PRICE, { clock: () => NOW_MS, weCancel })

test('every documented status has its meaning', () => {
  assert.deepEqual(Object.keys(MEANINGS), ['pending', 'succeeded', 'cancelled'])
  assert.equal(report({ status: 'pending' }).outcome, 'waiting')
  assert.equal(report({ status: 'pending', expired: true }).outcome, 'expired')
  assert.equal(report({ status: 'succeeded' }).outcome, 'seen')
  assert.equal(report({ status: 'cancelled', expired: true }).outcome, 'expired')
  assert.equal(report({ status: 'cancelled', expired_at: String(T) }).outcome, 'expired')
  assert.equal(report({ status: 'cancelled' }).outcome, 'cancelled')
  // because we cancel payments ourselves, a cancelled one is not the payer's decision
  assert.equal(report({ status: 'cancelled' }, true).outcome, 'expired')
  assert.deepEqual(report({ status: 'on_hold' }), {
    outcome: 'unknown',
    providerReference: 'p1',
    providerStatus: 'on_hold',
  })
})

test('all that was asked for is exactly what is due, less is its share rounded down', () => {
  assert.equal((report({}) as SeenReport).final, 13_370_001n)
  assert.equal((report({ amount: '617' }) as SeenReport).final, 6_685_000n)
  const notCaptured = report({ captured: false }) as SeenReport
  assert.deepEqual([notCaptured.final, notCaptured.pending], [0n, 13_370_001n])
})

test('another currency is unknown, whatever the amount', () => {
  const told = report({ currency: 'USD' })
  assert.deepEqual([told.outcome, told.providerStatus], ['unknown', 'succeeded: 1234 USD'])
  assert.equal(report({ amount: '12.34' }).outcome, 'unknown')
})

test('money on its way is pending: all of it, or a part of it; what Crypto.com returns is none', () => {
  const pending = (fund: object): bigint =>
    (report({ status: 'pending', current_inbound_fund: fund }) as SeenReport).pending
  assert.equal(pending({ confirmed: false }), 13_370_001n)
  assert.equal(pending({ currency: 'CRO', amount: '123.4', confirmed: false }), 13_370_001n)
  assert.equal(pending({ currency: 'CRO', amount: '61.7', mismatched_reason: null }), 6_685_000n)
  assert.equal(pending({ currency: 'CRO', amount: '61.7', mismatched_reason: 'underpaid' }), 0n)
  assert.equal(pending({ currency: 'CRO', amount: '200', mismatched_reason: 'overpaid' }), 13_370_001n)
  assert.equal(pending({ currency: 'ETH', amount: '1', mismatched_reason: 'wrong coin' }), 0n)
  const told = report({ status: 'pending', current_inbound_fund: { currency: 'ETH', mismatched_reason: 'wrong coin' } })
  assert.equal(told.providerStatus, 'pending, wrong coin')
})

test('money that was seen in time is pending after the window, and nothing else is', () => {
  const late = (fund: object | null) => report({ status: 'pending', expired: true, current_inbound_fund: fund })
  const onItsWay = late({ currency: 'CRO', amount: '123.4', confirmed: false, mismatched_reason: null })
  assert.ok(onItsWay.outcome === 'seen', onItsWay.providerStatus)
  assert.deepEqual([onItsWay.final, onItsWay.pending], [0n, 13_370_001n])
  assert.equal(late(null).outcome, 'expired')
  assert.equal(late({ currency: 'CRO', amount: '61.7', mismatched_reason: 'underpaid' }).outcome, 'expired')
  assert.equal(report({ status: 'cancelled', current_inbound_fund: { confirmed: false } }).outcome, 'cancelled')
})

test('amounts beyond 2^53 keep every digit', () => {
  const payment = tryParse('{"amount":100000000000000000001}')
  assert.equal(minorUnits(payment, 'amount'), 100_000_000_000_000_000_001n)
})

/* ---- requests, and the meaning of their answers ---- */

const SETTINGS = { SECRET_KEY: 'sk_test_throwaway', WEBHOOK_SECRET: SECRET }

/** The adapter with answers that a provider could give. */
function open(answers: Partial<ProviderAnswer>[], given: Record<string, string> = {}) {
  const calls: ProviderCall[] = []
  const http = async (call: ProviderCall): Promise<ProviderAnswer> => {
    calls.push(call)
    return { status: 200, headers: {}, text: '{}', ...answers.shift() }
  }
  const reading = readSettings(cryptopay, { ...SETTINGS, ...given })
  assert.ok(reading.outcome === 'set')
  return { channel: cryptopay.open(reading.values, { http, clock: () => NOW_MS, live: false }), calls }
}

const request = (fiat: Money): PaymentRequest => ({
  companyId: 'c',
  merchantReference: '65f0c0ffee65f0c0ffee65f001',
  providerReference: null,
  network: null,
  due: PRICE.due,
  fiat,
  expiresAt: new Date(NOW_MS + 31 * 86_400_000),
  description: 'Coffee & cake',
  goods: null,
  returnUrl: 'https://shop.test/back?a=1&b=2',
  cancelUrl: null,
  payerEmail: null,
  payerIp: null,
  userAddress: null,
  callbackUrl: 'https://us.test/callback',
})
const created = (fiat: Money): Partial<ProviderAnswer> => ({
  text: `{"id":"p1","amount":${fiat.units},"currency":"${fiat.asset}","payment_url":"https://pay.test/p1","live_mode":false,"qr_code":"${QR_CODE}"}`,
})

test('a payment is asked for in minor units, form-encoded, with the key as bearer', async () => {
  const { channel, calls } = open([created(EUR)])
  const instructions = await channel.createPayment(request(EUR))
  const [call] = calls
  assert.equal(call?.url, 'https://pay.crypto.com/api/payments')
  assert.deepEqual(call?.headers, {
    authorization: 'Bearer sk_test_throwaway',
    'content-type': 'application/x-www-form-urlencoded',
  })
  assert.deepEqual(Object.fromEntries(new URLSearchParams(call?.body)), {
    amount: '1234',
    currency: 'EUR',
    description: 'Coffee & cake',
    order_id: '65f0c0ffee65f0c0ffee65f001',
    return_url: 'https://shop.test/back?a=1&b=2',
    expired_at: String(T + 3600),
    onchain_allowed: 'true',
  })
  assert.equal(instructions.qrData, QR_CODE)
  assert.deepEqual(JSON.parse(Buffer.from(QR_CODE, 'base64').toString()), {
    type: 'payment',
    id: 'a8608fef-05bf-4a43-9d16-6c0f2235ece7',
  })
  assert.equal(instructions.checkoutUrl, 'https://pay.test/p1')
})

test('a payment that a callback named is taken only where it is of our order', async () => {
  const named = { ...request(EUR), providerReference: 'p1' }
  const answer = (order: string) => ({ text: created(EUR).text?.replace('{', `{"order_id":"${order}",`) ?? '' })
  const { channel, calls } = open([answer(named.merchantReference), answer('anothers')])
  assert.equal((await channel.createPayment(named)).providerReference, 'p1')
  await assert.rejects(
    channel.createPayment(named),
    (error) => error instanceof ProviderRefusal && /another order/.test(error.message),
  )
  assert.deepEqual(
    [...new Set(calls.map(({ method, url }) => `${method} ${url}`))],
    ['GET https://pay.crypto.com/api/payments/p1'],
  )
})

test('francs of the Pacific have no minor unit, and are asked for only where the setting says so', async () => {
  const xpf: Money = { asset: 'XPF', units: 6000n }
  const shut = open([])
  await assert.rejects(shut.channel.createPayment(request(xpf)), (error) => {
    return error instanceof ProviderRefusal && /setting FIATS/.test(error.message)
  })
  assert.equal(shut.calls.length, 0)
  const price = { due: PRICE.due, fiat: xpf }
  await assert.rejects(async () => shut.channel.findLimits?.(price), ProviderRefusal, 'it is not offered')
  const { channel, calls } = open([created(xpf)], { FIATS: 'EUR,XPF' })
  await channel.createPayment(request(xpf))
  assert.equal(new URLSearchParams(calls[0]?.body).get('amount'), '6000')
})

test('a currency that Crypto.com refuses is named, with the setting to change', async () => {
  const refused = { text: '{"error":{"type":"t","code":"parameter_invalid","param":"currency"}}' }
  await assert.rejects(open([refused]).channel.createPayment(request({ asset: 'CHF', units: 1234n })), {
    reason: 'request',
    message: /currency parameter_invalid: it does not price in CHF; take it out of the setting FIATS/,
  })
})

test('an error in the answer is a refusal whatever the HTTP status; other failures leave it open', async () => {
  const refusal = async (answer: Partial<ProviderAnswer>) => {
    const error = await open([answer])
      .channel.createPayment(request(EUR))
      .catch((caught: unknown) => caught)
    return error instanceof ProviderRefusal ? error.reason : error instanceof ProviderTrouble ? 'trouble' : 'none'
  }
  assert.equal(await refusal({ text: '{"error":{"type":"t","code":"parameter_invalid","param":"amount"}}' }), 'amount')
  assert.equal(await refusal({ status: 401, text: '{"error":{"code":"unauthorized"}}' }), 'credentials')
  assert.equal(await refusal({ status: 400, text: '{"error":{"code":"x","param":"currency"}}' }), 'request')
  assert.equal(await refusal({ status: 500, text: '{"error":{"code":"internal"}}' }), 'trouble')
  assert.equal(await refusal({ status: 429, text: '{"error":{"code":"slow_down"}}' }), 'trouble')
  assert.equal(await refusal({ status: 502, text: '<html>' }), 'trouble')
  assert.equal(await refusal({ status: 200, text: '<html>' }), 'trouble')
  assert.equal(await refusal({ text: created(EUR).text?.replace('false', 'true') ?? '' }), 'credentials')
  assert.equal(await refusal({ text: created(EUR).text?.replace('1234', '1235') ?? '' }), 'trouble')
})

test('closing and recovering are not offered, closing only where it is switched on', () => {
  const { channel } = open([])
  assert.equal(channel.closePayment, undefined)
  assert.equal(channel.recoverPayment, undefined)
  assert.notEqual(open([], { CANCEL: 'on' }).channel.closePayment, undefined)
})

/* ---- refunds: pay-docs.crypto.com, "refunds" and "webhooks" ---- */

const REFUND: RefundRequest = {
  refundId: '65f0c0ffee65f0c0ffee65f0',
  companyId: 'c',
  merchantReference: 'm',
  providerReference: 'p1',
  units: 5_000_000n,
  fiat: { asset: 'EUR', units: 460n },
  paidUnits: 13_370_001n,
  paidFiat: EUR,
  earlierUnits: 0n,
  earlierFiat: { asset: 'EUR', units: 100n },
  reference: null,
  attempted: true,
  network: null,
  address: null,
  reason: null,
}
const OURS = `refund ${REFUND.refundId}`
const event = (type: string, object: Record<string, unknown>): Callback => {
  const fields = { id: 'r1', payment_id: 'p1', amount: 460, currency: 'EUR', description: OURS, ...object }
  const body = JSON.stringify({ id: 'e1', object_type: 'event', type, created: T, data: { object: fields } })
  const signature = createHmac('sha256', SECRET).update(`${T}.${body}`).digest('hex')
  return { headers: { 'pay-signature': `t=${T},v1=${signature}` }, rawBody: Buffer.from(body) }
}
const newsOf = async (type: string, object: Record<string, unknown> = {}) =>
  (await open([]).channel.readCallback?.(event(type, object)))?.refund

test('a refund that was requested is pending, whatever amount_refunded says; it is settled by its transfer alone', async () => {
  const accepted = { text: '{"id":"r1","payment_id":"p1","amount":460,"currency":"EUR","status":"succeeded"}' }
  const { channel, calls } = open([accepted])
  const sent = await channel.refundPayment?.({ ...REFUND, attempted: false })
  assert.deepEqual([sent?.outcome, sent?.reference], ['pending', 'r1'])
  assert.equal(new URLSearchParams(calls[0]?.body).get('description'), OURS)
  const later = await channel.refundPayment?.({ ...REFUND, reference: 'r1' })
  assert.equal(later?.outcome, 'pending')
  assert.equal(calls.length, 1, 'nothing that can be asked tells the end of a refund')
  assert.equal((await newsOf('payment.refund_requested', { status: 'succeeded' }))?.outcome, 'pending')
  const transferred = await newsOf('payment.refund_transferred', { status: 'succeeded' })
  assert.deepEqual(transferred, {
    reference: 'r1',
    refundId: REFUND.refundId,
    outcome: 'settled',
    fiat: { asset: 'EUR', units: 460n },
    providerStatus: 'payment.refund_transferred succeeded',
  })
  assert.equal((await newsOf('payment.refund_transferred', { status: 'failed' }))?.outcome, 'unknown')
  assert.equal(await newsOf('payment.refund_transferred', { amount: '9'.repeat(39) }), undefined, 'no sum of money')
})

test('a refund whose answer was lost is never sent again: it waits for its callback, or for a person', async () => {
  const { channel, calls } = open([])
  const told = await channel.refundPayment?.({ ...REFUND, attempted: true })
  assert.equal(told?.outcome, 'unknown')
  assert.match(told?.providerStatus ?? '', new RegExp(OURS))
  assert.equal(calls.length, 0)
  assert.equal(channel.refundsByCallback, true)
})

test('a refund from the dashboard names no id of ours', async () => {
  const news = await newsOf('payment.refund_transferred', { status: 'succeeded', description: 'customer called' })
  assert.deepEqual([news?.refundId, news?.reference], [null, 'r1'])
})

test('amount_refunded of a payment says nothing: it may grow at the request', async () => {
  const told = report({ amount_refunded: '1234' })
  assert.ok(told.outcome === 'seen')
  assert.deepEqual([told.refunded, told.refundedPart], [undefined, undefined])
})

test('a refund of nothing is refused before anything is sent', async () => {
  const { channel, calls } = open([])
  const told = await channel.refundPayment?.({ ...REFUND, fiat: { asset: 'EUR', units: 0n } })
  assert.equal(told?.outcome, 'refused')
  assert.equal(calls.length, 0)
})

test('settings with a wrong word are named', () => {
  const given = { ...SETTINGS, FIATS: 'EUR,BTC', CANCEL: 'yes', WINDOW_MINUTES: '0', ONCHAIN_ALLOWED: 'maybe' }
  const reading = readSettings(cryptopay, given)
  const names = reading.outcome === 'faulty' ? reading.faults.map(({ name }) => name) : []
  assert.deepEqual(names, ['FIATS', 'ONCHAIN_ALLOWED', 'WINDOW_MINUTES', 'CANCEL'])
})

import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PaymentKey, PaymentRequest, RefundRequest } from '../channel.ts'
import { readSettings } from '../kind.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderCall } from '../provider-http.ts'
import { __CAMEL__ } from './adapter.ts'
import { callbackSignatureOf, signatureOf } from './signature.ts'
import { MEANINGS, REFUND_OUTCOMES, reportOf } from './status-map.ts'

// THROW-AWAY: secrets and bodies made for these tests only; the signatures below were made with openssl
const API_SECRET = 'throw-away-request-secret-0001'
const CALLBACK_SECRET = 'throw-away-callback-secret-0001'
const NOW = 1_760_000_000_000
const REFERENCE = '0123456789abcdef0123456701'
const BODY = `{"reference":"${REFERENCE}","amount":"54.210000","currency":"USDC"}`
const POST_SIGNATURE = '909b1036d6632fb10f6af0acb40172276a69b141eecc77d31da0d007d4c70349'
const GET_SIGNATURE = 'aad618805b469bb5a7031e941773b4f514872ab2f480c4b7d2ebb79fb5224dff'
const CALLBACK = `{"type":"payment.paid","payment":{"id":"pay_1","reference":"${REFERENCE}","status":"paid","currency":"USDC","amount":"54.210000","received":"54.210000","pending":"0.000000","refunded":"0.000000"}}`
const CALLBACK_SIGNATURE = 'd03aff29f4a1ccceb96478a381360b11797733166d53416e8ffbb07c5ce1f8e0'

const KEY: PaymentKey & { providerReference: string } = {
  companyId: 'c'.repeat(24),
  merchantReference: REFERENCE,
  providerReference: 'pay_1',
  network: null,
  due: { asset: 'USDC', units: 54_210_000n },
  fiat: { asset: 'EUR', units: 5025n },
  expiresAt: new Date(NOW + 300_000),
}
const REQUEST: PaymentRequest = {
  ...KEY,
  providerReference: null,
  description: 'Two chairs',
  goods: null,
  returnUrl: 'https://shop.example/thanks',
  cancelUrl: null,
  payerEmail: null,
  payerIp: null,
  userAddress: null,
  callbackUrl: 'https://pay.example/callback',
}
const REFUND: RefundRequest = {
  refundId: 'd'.repeat(24),
  companyId: KEY.companyId,
  merchantReference: REFERENCE,
  providerReference: 'pay_1',
  units: 20_500_000n,
  fiat: { asset: 'EUR', units: 1900n },
  paidUnits: KEY.due.units,
  paidFiat: KEY.fiat,
  earlierUnits: 0n,
  earlierFiat: { asset: 'EUR', units: 0n },
  reference: null,
  attempted: false,
  network: null,
  address: null,
  reason: null,
}
const PAYMENT = {
  ...{ id: 'pay_1', reference: REFERENCE, status: 'open', currency: 'USDC', amount: '54.210000' },
  ...{ received: '0.000000', pending: '0.000000', refunded: '0.000000', checkout_url: 'https://acme.example/p/1' },
}
const SENT_REFUND = { id: 're_1', reference: REFUND.refundId, currency: 'USDC', amount: '20.500000', status: 'pending' }

/** The adapter in front of answers that are given one after the other. */
function openWith(...answers: { status?: number; headers?: Record<string, string>; body: unknown }[]) {
  const calls: ProviderCall[] = []
  const http = async (call: ProviderCall): Promise<ProviderAnswer> => {
    const { status = 200, headers = {}, body } = answers[calls.length] ?? { status: 500, body: 'nothing more is said' }
    calls.push(call)
    return { status, headers, text: typeof body === 'string' ? body : JSON.stringify(body) }
  }
  const given = { BASE_URL: 'https://acme.example/', API_KEY: 'key-1', API_SECRET, CALLBACK_SECRET }
  const reading = readSettings(__CAMEL__, given)
  assert.ok(reading.outcome === 'set')
  const channel = __CAMEL__.open(reading.values, { http, clock: () => NOW, live: false })
  return { channel, calls }
}
const refusal = (status: number, code: string) => ({ status, body: { error: { code, message: 'no' } } })
const reason = (expected: string) => (error: unknown) => error instanceof ProviderRefusal && error.reason === expected
const callback = (body: string, signature: string, timestamp = NOW): Callback => ({
  headers: { 'x-signature': `t=${timestamp},v1=${signature}` },
  rawBody: Buffer.from(body),
})
const wordsOf = (fields: Record<string, unknown>) => reportOf({ ...PAYMENT, ...fields }, 'pay_1', KEY.due)

describe('__ID__: signatures', () => {
  test('of a request with and without a body, as the vectors have them', () => {
    const timestamp = String(NOW)
    assert.equal(
      signatureOf(API_SECRET, { timestamp, method: 'POST', path: '/v1/payments', body: BODY }),
      POST_SIGNATURE,
    )
    const path = `/v1/payments?reference=${REFERENCE}`
    assert.equal(signatureOf(API_SECRET, { timestamp, method: 'GET', path, body: '' }), GET_SIGNATURE)
    assert.equal(callbackSignatureOf(CALLBACK_SECRET, timestamp, Buffer.from(CALLBACK)), CALLBACK_SIGNATURE)
  })
})

describe('__ID__: callbacks', () => {
  const read = async (given: Callback) => openWith().channel.readCallback?.(given)

  test('the vector is read', async () => {
    const news = await read(callback(CALLBACK, CALLBACK_SIGNATURE))
    assert.deepEqual([news?.merchantReference, news?.providerReference], [REFERENCE, 'pay_1'])
    assert.ok(news?.report?.outcome === 'seen')
    assert.equal(news.report.final, 54_210_000n)
  })

  test('news of a refund speak of its payment and claim nothing', async () => {
    const refund = { ...SENT_REFUND, payment_id: 'pay_1', payment_reference: REFERENCE }
    const body = JSON.stringify({ type: 'refund.settled', refund })
    const news = await read(callback(body, callbackSignatureOf(CALLBACK_SECRET, String(NOW), Buffer.from(body))))
    assert.deepEqual([news?.merchantReference, news?.providerReference, news?.report], [REFERENCE, 'pay_1', null])
  })

  test('one changed byte, another secret, no signature, an old one and a text that is no JSON are refused', async () => {
    const other = callbackSignatureOf(API_SECRET, String(NOW), Buffer.from(CALLBACK))
    const old = callbackSignatureOf(CALLBACK_SECRET, String(NOW - 301_000), Buffer.from(CALLBACK))
    const noJson = callbackSignatureOf(CALLBACK_SECRET, String(NOW), Buffer.from('paid'))
    const refused: Callback[] = [
      callback(CALLBACK.replace('54.21', '54.22'), CALLBACK_SIGNATURE),
      callback(CALLBACK, CALLBACK_SIGNATURE, NOW + 1),
      callback(CALLBACK, other),
      callback(CALLBACK, ''),
      callback(CALLBACK, old, NOW - 301_000),
      callback('paid', noJson),
      { headers: {}, rawBody: Buffer.from(CALLBACK) },
    ]
    for (const one of refused) await assert.rejects(read(one), CallbackRefused)
  })
})

describe('__ID__: words and amounts', () => {
  test('every documented word while nothing came', () => {
    const outcomes = Object.keys(MEANINGS).map((status) => [status, wordsOf({ status }).outcome])
    assert.deepEqual(Object.fromEntries(outcomes), {
      open: 'waiting',
      // money that nobody received is not believed
      ...{ partly_paid: 'unknown', confirming: 'unknown', paid: 'unknown' },
      ...{ expired: 'expired', closed: 'expired', cancelled: 'cancelled', failed: 'failed', blocked: 'blocked' },
    })
    assert.deepEqual(REFUND_OUTCOMES, { pending: 'pending', settled: 'settled', rejected: 'refused' })
  })

  test('money counts by its amount, not by the word', () => {
    const amounts = (fields: Record<string, unknown>) => {
      const report = wordsOf(fields)
      return report.outcome === 'seen' ? [report.final, report.pending, report.refunded] : report.outcome
    }
    assert.deepEqual(amounts({ status: 'paid', received: '54.21' }), [54_210_000n, 0n, 0n])
    assert.deepEqual(amounts({ status: 'paid', received: '54.20', refunded: '1' }), [54_200_000n, 0n, 1_000_000n])
    assert.deepEqual(amounts({ status: 'partly_paid', received: '20' }), [20_000_000n, 0n, 0n])
    assert.deepEqual(amounts({ status: 'confirming', pending: '54.21' }), [0n, 54_210_000n, 0n])
    assert.deepEqual(amounts({ status: 'expired', received: '20' }), [20_000_000n, 0n, 0n])
  })

  test('another word, currency, price or form of an amount is unknown', () => {
    const paid = { status: 'paid', received: '54.21' }
    const wrong = [
      ...['PAID', 'settling', 'toString', ''].map((status) => ({ ...paid, status })),
      ...[{ currency: 'USDT' }, { amount: '54.22' }, { amount: '5.421e1' }, { received: '54,21' }, { received: null }],
    ]
    for (const fields of wrong) assert.equal(wordsOf({ ...paid, ...fields }).outcome, 'unknown', JSON.stringify(fields))
  })
})

describe('__ID__: what is sent', () => {
  test('a creation: these bytes, signed; and what the payer gets', async () => {
    const { channel, calls } = openWith({ status: 201, body: { ...PAYMENT, app_link: 'acme://p/1' } })
    const instructions = await channel.createPayment(REQUEST)
    assert.equal(instructions.providerReference, 'pay_1')
    assert.deepEqual([instructions.checkoutUrl, instructions.deepLink], [PAYMENT.checkout_url, 'acme://p/1'])
    const [call] = calls
    assert.deepEqual([call?.method, call?.url], ['POST', 'https://acme.example/v1/payments'])
    const body = call?.body ?? ''
    assert.deepEqual(JSON.parse(body), {
      ...{ reference: REFERENCE, amount: '54.210000', currency: 'USDC', description: 'Two chairs' },
      ...{ expires_at: new Date(NOW + 300_000).toISOString(), callback_url: REQUEST.callbackUrl },
      return_url: 'https://shop.example/thanks',
    })
    const timestamp = String(NOW)
    assert.equal(
      call?.headers['x-signature'],
      signatureOf(API_SECRET, { timestamp, method: 'POST', path: '/v1/payments', body }),
    )
  })

  test('an amount outside the limits is refused before anybody is asked', async () => {
    const { channel, calls } = openWith()
    const due = { asset: 'USDC', units: 99_999n } as const
    await assert.rejects(channel.createPayment({ ...REQUEST, due }), reason('amount'))
    assert.deepEqual(calls, [])
  })

  test('a definite no is a refusal; whatever else is answered leaves it open', async () => {
    const create = (answer: ReturnType<typeof refusal> | { status: number; body: string }) =>
      openWith(answer).channel.createPayment(REQUEST)
    await assert.rejects(create(refusal(401, 'signature_wrong')), reason('credentials'))
    await assert.rejects(create(refusal(422, 'amount_not_allowed')), reason('amount'))
    for (const answer of [
      ...[refusal(409, 'reference_exists'), refusal(500, 'request_invalid'), refusal(400, 'something_new')],
      ...[{ status: 502, body: '<h1>Bad gateway</h1>' }, { status: 200, body: 'OK' }, { status: 201, body: '{}' }],
    ])
      await assert.rejects(create(answer), ProviderTrouble)
    const busy = openWith({ status: 429, headers: { 'retry-after': '7' }, body: '{}' }).channel.createPayment(REQUEST)
    await assert.rejects(busy, (error) => error instanceof ProviderTrouble && error.retryAfterMs === 7000)
  })

  test('a creation without an answer is found, absent or lost', async () => {
    const recover = (answer: Parameters<typeof openWith>[0]) => openWith(answer).channel.recoverPayment?.(REQUEST)
    assert.equal((await recover({ body: PAYMENT }))?.outcome, 'found')
    assert.equal((await recover(refusal(404, 'payment_not_found')))?.outcome, 'absent')
    assert.equal((await recover({ body: { ...PAYMENT, checkout_url: '' } }))?.outcome, 'lost')
    await assert.rejects(async () => recover({ body: { ...PAYMENT, reference: 'other' } }), ProviderTrouble)
  })

  test('closing what is closed or paid already is fine', async () => {
    await openWith(refusal(409, 'payment_not_open')).channel.closePayment?.(KEY)
    await assert.rejects(async () => openWith(refusal(403, 'account_blocked')).channel.closePayment?.(KEY))
  })

  test('the answer about another payment is unknown', async () => {
    const other = await openWith({ body: { ...PAYMENT, reference: 'other' } }).channel.fetchPayment(KEY)
    const none = await openWith(refusal(404, 'payment_not_found')).channel.fetchPayment(KEY)
    assert.deepEqual([other.outcome, none.outcome], ['unknown', 'unknown'])
  })
})

describe('__ID__: refunds', () => {
  const refund = async (fields: Partial<RefundRequest>, ...answers: Parameters<typeof openWith>) => {
    const { channel, calls } = openWith(...answers)
    const report = await channel.refundPayment?.({ ...REFUND, ...fields })
    return [report?.outcome, ...calls.map(({ method }) => method)]
  }

  test('a new one is sent; one that may have been sent is asked for first and sent only when it is not there', async () => {
    assert.deepEqual(await refund({}, { status: 201, body: SENT_REFUND }), ['pending', 'POST'])
    const settled = { body: { ...SENT_REFUND, status: 'settled' } }
    assert.deepEqual(await refund({ attempted: true }, settled), ['settled', 'GET'])
    assert.deepEqual(await refund({ reference: 're_1' }, settled), ['settled', 'GET'])
    const absent = refusal(404, 'refund_not_found')
    assert.deepEqual(await refund({ attempted: true }, absent, { body: SENT_REFUND }), ['pending', 'GET', 'POST'])
  })

  test('a no to the refund is refused; a no to us, a repeated reference and silence are not', async () => {
    assert.deepEqual(await refund({}, refusal(422, 'refund_too_large')), ['refused', 'POST'])
    await assert.rejects(refund({}, refusal(401, 'key_unknown')), ProviderRefusal)
    await assert.rejects(refund({}, refusal(409, 'refund_exists')), ProviderTrouble)
    await assert.rejects(refund({ attempted: true }, { status: 503, body: '' }), ProviderTrouble)
  })

  test('another amount under our id, or a word that nobody knows, is unknown', async () => {
    for (const fields of [{ amount: '20.4' }, { reference: 'e'.repeat(24) }, { status: 'on hold' }])
      assert.deepEqual(await refund({ attempted: true }, { body: { ...SENT_REFUND, ...fields } }), ['unknown', 'GET'])
  })
})

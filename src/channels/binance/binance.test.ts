import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { describe, test } from 'node:test'
import { BINANCE_PUBLIC_KEY } from '../../../test/harness/throwaway-provider-keys.ts'
import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import type { PaymentRequest, RefundRequest } from '../channel.ts'
import { readSettings } from '../kind.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderCall } from '../provider-http.ts'
import { binance } from './adapter.ts'
import { openCertificates } from './certificates.ts'
import { openClient, readAnswer } from './client.ts'
import { orderBody } from './order-body.ts'
import { isSignedBy, makeNonce, signRequest } from './signature.ts'
import { reportOfPay, reportOfQuery, reportOfRefund } from './status-map.ts'

const SECRET = 'test-binance-secret-0123456789abcdefghijklmnop'
const STAMP = { timestamp: '1718000000000', nonce: 'AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEf' }
const BODY =
  '{"env":{"terminalType":"WEB"},"merchantTradeNo":"ord20240610A1","orderAmount":12.34,"currency":"USDC","description":"Order A1","goodsDetails":[{"goodsType":"02","goodsCategory":"Z000","referenceGoodsId":"A1","goodsName":"Coffee beans"}],"orderExpireTime":1718001800000,"webhookUrl":"https://merchant.test/hooks/binance"}'
const WITHOUT_LAST_LF =
  '46AA803AB6F3A77A86954199E2E345416215200BCA815F813DEEB79FB0A11BF34821A0FA62DAC54536C0A4D418FACF236E12818B060744CB1F77CEB41AAC9DD5'

const SERIAL = '5f4897d7290dc3eb0d3a34819b8d8356'
const WEBHOOK = String.raw`{"bizType":"PAY","data":"{\"merchantTradeNo\":\"ord20240610A1\",\"productType\":\"02\",\"productName\":\"Coffee beans\",\"transactTime\":1718000100123,\"tradeType\":\"WEB\",\"totalFee\":12.34,\"currency\":\"USDC\",\"transactionId\":\"M_R_282737362839373\",\"openUserId\":\"1211HS10K81f4273ac031\",\"commission\":0}","bizIdStr":"298765432109876543","bizId":298765432109876543,"bizStatus":"PAY_SUCCESS"}`
const WEBHOOK_SIGNATURE =
  'XhvDesBZkryfBccAu73YVH+RZteG5iObWvM+U+JCE/qHQSH9jZySsXmsttM6XtMnztC3Br3iyMsXVSJyAXMPFrVwC09Qq/LZen8k5y+uH1dCbw1GFjTHYzh+kOLg+m32kQBdY03vMcHhDj2ajGVas+U9FdhwkkaXv23e3fA6iz/wkWo8T14ml/dTkP2o5ni4Y77z0cs/xSfhY5Sq6ZI5FOt72lxPHlDxJcDKQpC7UIKf8YC6850WDv4xMZ8mdxSGwQKzN/cLh4pIzDfHaNsMImJDumQ24AWNouhwCv+/SL71t6X7fenU1iG/09+5Vxcnpf1jhHS729K5TdRwUH/IaQ=='
const SENT_AT = 1718000101000

const REQUEST: PaymentRequest = {
  companyId: 'c'.repeat(24),
  merchantReference: '0123456789abcdef0123456701',
  providerReference: null,
  network: null,
  due: { asset: 'USDC', units: 12_340_000n },
  fiat: { asset: 'EUR', units: 1140n },
  expiresAt: new Date(SENT_AT + 300_000),
  description: 'Order A1',
  goods: null,
  returnUrl: null,
  cancelUrl: null,
  payerEmail: null,
  payerIp: null,
  userAddress: null,
  callbackUrl: 'https://merchant.test/hooks/binance',
}
const OPTIONS = { subMerchantId: '', terminalType: 'WEB', supportPayCurrency: '' }

const json = (body: unknown, status = 200): ProviderAnswer => ({ status, headers: {}, text: JSON.stringify(body) })
const done = (data: unknown): ProviderAnswer => json({ status: 'SUCCESS', code: '000000', data })
const failed = (code: string, status = 400): ProviderAnswer =>
  json({ status: 'FAIL', code, errorMessage: 'said so' }, status)
const CERTIFICATES = done([{ certPublic: BINANCE_PUBLIC_KEY, certSerial: SERIAL }])

/** The adapter with canned answers by path; `calls` records its requests. */
function openWire(answers: Record<string, ProviderAnswer[]>, { now = SENT_AT } = {}) {
  const calls: ProviderCall[] = []
  const reading = readSettings(binance, { API_KEY: 'key', API_SECRET: SECRET })
  if (reading.outcome !== 'set') throw new Error('the settings do not read')
  const time = { now }
  const http = async (call: ProviderCall): Promise<ProviderAnswer> => {
    calls.push(call)
    const answer = answers[new URL(call.url).pathname.replace('/binancepay/openapi', '')]?.shift()
    if (!answer) throw new ProviderTrouble(`nothing answers ${call.url}`)
    return answer
  }
  const channel = binance.open(reading.values, { http, clock: () => time.now, live: true })
  return { channel, calls, time }
}

const webhook = (changes: { headers?: Record<string, string>; rawBody?: string } = {}): Callback => ({
  headers: {
    'binancepay-timestamp': String(SENT_AT),
    'binancepay-nonce': 'QwErTyUiOpAsDfGhJkLzXcVbNmQwErTy',
    'binancepay-certificate-sn': SERIAL,
    'binancepay-signature': WEBHOOK_SIGNATURE,
    ...changes.headers,
  },
  rawBody: Buffer.from(changes.rawBody ?? WEBHOOK),
})

describe('signature', () => {
  test('the request vector, the vector of {}, and not the one without the last line feed', () => {
    const signature = signRequest(SECRET, STAMP, BODY)
    assert.equal(
      signature,
      '9B311858CD69A75B18EDEA4C3D49C40D8213065FA49597A94F1F162F436CBABDBBD16256FB0BD292D13BDC006E46FB5758E572F214DBE7CF1FAF164894832129',
    )
    assert.equal(
      signRequest(SECRET, STAMP, '{}'),
      'F21111A5FB70EC9888011EFB9CDEEA975667D4614490980EFA23E1DF0FFF521BE03B17A037E28A85ED051B8B07E117F2423D8A64E35EEECE65C06B4A6F296E15',
    )
    assert.notEqual(signature, WITHOUT_LAST_LF)
  })

  test('the webhook vector, and no changed byte of it', () => {
    const key = createPublicKey(BINANCE_PUBLIC_KEY)
    const stamp = { timestamp: String(SENT_AT), nonce: 'QwErTyUiOpAsDfGhJkLzXcVbNmQwErTy' }
    assert.ok(isSignedBy(key, stamp, Buffer.from(WEBHOOK), WEBHOOK_SIGNATURE))
    assert.ok(!isSignedBy(key, stamp, Buffer.from(WEBHOOK.replace('12.34', '12.35')), WEBHOOK_SIGNATURE))
    assert.ok(!isSignedBy(key, { ...stamp, nonce: 'x' }, Buffer.from(WEBHOOK), WEBHOOK_SIGNATURE))
    const reprinted = JSON.stringify(JSON.parse(WEBHOOK))
    assert.match(reprinted, /"bizId":298765432109876540/)
    assert.ok(!isSignedBy(key, stamp, Buffer.from(reprinted), WEBHOOK_SIGNATURE))
  })

  test('a nonce is 32 letters', () => assert.match(makeNonce(), /^[A-Za-z]{32}$/))

  test('what is sent is what was signed, with all five headers', async () => {
    const calls: ProviderCall[] = []
    const http = async (call: ProviderCall) => {
      calls.push(call)
      return done(true)
    }
    const client = openClient({ baseUrl: 'https://b.test', apiKey: 'key', apiSecret: SECRET, http, clock: () => 1 })
    await client.ask(
      '/x',
      orderBody(REQUEST, OPTIONS, () => SENT_AT),
    )
    const [call] = calls
    const { 'BinancePay-Nonce': nonce = '', 'BinancePay-Signature': signature, ...others } = call?.headers ?? {}
    assert.equal(signature, signRequest(SECRET, { timestamp: '1', nonce }, call?.body ?? ''))
    assert.deepEqual(others, {
      'content-type': 'application/json',
      'BinancePay-Timestamp': '1',
      'BinancePay-Certificate-SN': 'key',
    })
  })
})

describe('the order', () => {
  const written = (request: Partial<PaymentRequest> = {}, options = OPTIONS): string =>
    JSON.stringify(orderBody({ ...REQUEST, ...request }, options, () => SENT_AT))

  test('amounts are plain numbers, without exponent and without zeros at the end', () => {
    const price = (units: bigint): string | undefined =>
      /"orderAmount":([^,]+),/.exec(written({ due: { asset: 'USDC', units } }))?.[1]
    assert.deepEqual([12_340_000n, 1n, 20_000_000n, 100_000_000_000_000_000_001n].map(price), [
      '12.34',
      '0.000001',
      '20',
      '100000000000000.000001',
    ])
  })

  test('goods are an array, their names without quotes and pictures', () => {
    const body = JSON.parse(written({ goods: { goodsName: 'Tea "Earl" \u{1F375} d’été', goodsType: '01' } }))
    assert.deepEqual(body.goodsDetails, [
      {
        goodsType: '01',
        goodsCategory: 'Z000',
        referenceGoodsId: REQUEST.merchantReference,
        goodsName: 'Tea Earl d été',
      },
    ])
    assert.equal(body.description, 'Order A1')
    assert.equal('goods' in body, false)
  })

  test('an order of a month is sent with less than an hour, a short one as it is', () => {
    const expires = (at: number): number => JSON.parse(written({ expiresAt: new Date(at) })).orderExpireTime
    assert.equal(expires(SENT_AT + 30 * 86_400_000), SENT_AT + 59 * 60_000)
    assert.equal(expires(SENT_AT + 300_000), SENT_AT + 300_000)
  })

  test('callbacks go to this order’s address; an address that is too long is left out', () => {
    const body = JSON.parse(written({ returnUrl: `https://a.test/${'x'.repeat(250)}`, cancelUrl: 'https://a.test/no' }))
    assert.equal(body.webhookUrl, REQUEST.callbackUrl)
    assert.equal(body.returnUrl, undefined)
    assert.equal(body.cancelUrl, 'https://a.test/no')
  })

  test('a channel partner names its sub-merchant', () => {
    assert.deepEqual(JSON.parse(written({}, { ...OPTIONS, subMerchantId: '123' })).merchant, { subMerchantId: '123' })
    assert.equal(JSON.parse(written()).merchant, undefined)
  })
})

describe('answers', () => {
  test('a documented refusal is definite, everything else is unknown', () => {
    const refusal = readAnswer(failed('400004', 401))
    assert.ok(refusal.outcome === 'refused' && refusal.refusal.reason === 'credentials')
    const inside = readAnswer(failed('400202', 200))
    assert.ok(inside.outcome === 'refused' && inside.code === '400202')
    const unclear = [failed('400000', 500), failed('499999'), failed('400001', 502), failed('400001', 429)]
    for (const answer of [...unclear, { status: 200, headers: {}, text: '<html>' }, json({ code: '000000' })])
      assert.throws(() => readAnswer(answer), ProviderTrouble)
    assert.throws(() => readAnswer(failed('499999')), { answered: true })
    assert.throws(() => readAnswer(failed('400000', 500)), { answered: false })
  })

  test('being asked to wait is told in milliseconds', () => {
    const busy = { ...failed('400001', 429), headers: { 'retry-after': '7' } }
    assert.throws(() => readAnswer(busy), { retryAfterMs: 7000 })
  })

  test('an id above 2^53 keeps its digits', async () => {
    const text = '{"status":"SUCCESS","code":"000000","data":{"prepayId":298765432109876543,"qrContent":"q"}}'
    const { channel } = openWire({ '/v3/order': [{ status: 200, headers: {}, text }] })
    assert.equal((await channel.createPayment(REQUEST)).providerReference, '298765432109876543')
  })

  test('a duplicate is trouble, so that the order is looked for; other noes are refusals', async () => {
    const { channel } = openWire({ '/v3/order': [failed('400201'), failed('400203', 403), done({ prepayId: '1' })] })
    await assert.rejects(channel.createPayment(REQUEST), ProviderTrouble)
    await assert.rejects(channel.createPayment(REQUEST), ProviderRefusal)
    await assert.rejects(channel.createPayment(REQUEST), ProviderTrouble, 'an order without links cannot be paid')
  })
})

describe('statuses', () => {
  const told = (status: string, fields = {}) =>
    reportOfQuery(
      { merchantTradeNo: 'm', status, orderAmount: '12.34000000', currency: 'USDC', ...fields },
      { merchantReference: 'm', providerReference: 'p' },
    )

  test('every documented word', () => {
    const words = [
      'INITIAL',
      'PENDING',
      'PAID',
      'REFUNDING',
      'REFUNDED',
      'FULL_REFUNDED',
      'CANCELED',
      'EXPIRED',
      'ERROR',
    ]
    assert.deepEqual(
      words.map((word) => told(word).outcome),
      ['waiting', 'waiting', 'seen', 'seen', 'seen', 'seen', 'expired', 'expired', 'failed'],
    )
    for (const word of ['CANCELLED', 'paid', '', 'constructor']) assert.equal(told(word).outcome, 'unknown')
  })

  test('paid is the amount that the order has there, in USDC or not at all', () => {
    const { final, pending, refunded } = told('PAID') as { final: bigint; pending: bigint; refunded?: bigint }
    assert.deepEqual({ final, pending, refunded }, { final: 12_340_000n, pending: 0n, refunded: undefined })
    assert.equal((told('PAID', { orderAmount: '1.5' }) as { final: bigint }).final, 1_500_000n)
    assert.equal(told('PAID', { currency: 'USDT' }).outcome, 'unknown')
    assert.equal(told('PAID', { orderAmount: '1e2' }).outcome, 'unknown')
    assert.equal(told('PAID', { merchantTradeNo: 'other' }).outcome, 'unknown')
    assert.equal((told('FULL_REFUNDED') as { refunded?: bigint }).refunded, 12_340_000n)
  })

  test('callback words', () => {
    const data = { totalFee: '12.34', currency: 'USDC' }
    assert.deepEqual(
      ['PAY_SUCCESS', 'PAY_CLOSED', 'PAY_FAIL', 'PAY_Closed'].map((word) => reportOfPay(word, data, 'p').outcome),
      ['seen', 'expired', 'failed', 'unknown'],
    )
    const refund = { currency: 'USDC', refundInfo: { orderAmount: '12.34', refundedAmount: '5' } }
    const report = reportOfRefund('REFUND_SUCCESS', refund, 'p')
    assert.ok(report?.outcome === 'seen' && report.refunded === 5_000_000n && report.final === 12_340_000n)
    assert.equal(reportOfRefund('REFUND_REJECTED', refund, 'p'), null)
  })
})

describe('callbacks', () => {
  test('the vector is read, with the exact id', async () => {
    const { channel } = openWire({ '/certificates': [CERTIFICATES] })
    const news = await channel.readCallback?.(webhook())
    assert.equal(news?.merchantReference, 'ord20240610A1')
    assert.equal(news?.providerReference, '298765432109876543')
    assert.ok(news?.report?.outcome === 'seen' && news.report.final === 12_340_000n)
  })

  test('changed, old, unsigned and unknown ones are refused', async () => {
    const refuse = async (callback: Callback, now = SENT_AT): Promise<void> => {
      const { channel } = openWire({ '/certificates': [CERTIFICATES] }, { now })
      await assert.rejects(async () => channel.readCallback?.(callback), CallbackRefused)
    }
    await refuse(webhook({ rawBody: WEBHOOK.replace('12.34', '99.34') }))
    await refuse(webhook({ rawBody: JSON.stringify(JSON.parse(WEBHOOK)) }))
    await refuse(webhook({ headers: { 'binancepay-signature': '' } }))
    await refuse(webhook({ headers: { 'binancepay-signature': 'AAAA' } }))
    await refuse(webhook({ headers: { 'binancepay-certificate-sn': 'other' } }))
    await refuse(webhook({ headers: { 'binancepay-timestamp': String(SENT_AT + 1) } }))
    await refuse(webhook(), SENT_AT + 301_000)
    await refuse(webhook(), SENT_AT - 301_000)
  })

  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const openOwnKey = () => {
    const certPublic = publicKey.export({ type: 'spki', format: 'pem' })
    return openWire({ '/certificates': [done([{ certPublic, certSerial: 'mine' }])] })
  }
  const signedHere = (rawBody: string) => {
    const signed = Buffer.from(`${SENT_AT}\nn\n${rawBody}\n`)
    const headers = {
      'binancepay-nonce': 'n',
      'binancepay-certificate-sn': 'mine',
      'binancepay-signature': sign('sha256', signed, privateKey).toString('base64'),
    }
    return webhook({ headers, rawBody })
  }

  test('a refund is read whether its refundInfo is an object or text', async () => {
    const refundInfo = { prepayId: '7', orderAmount: '12.34', refundedAmount: '5' }
    for (const given of [refundInfo, JSON.stringify(refundInfo)]) {
      const data = JSON.stringify({ merchantTradeNo: 'm', currency: 'USDC', refundInfo: given })
      const rawBody = JSON.stringify({ bizType: 'PAY_REFUND', bizStatus: 'REFUND_SUCCESS', bizIdStr: '9', data })
      const news = await openOwnKey().channel.readCallback?.(signedHere(rawBody))
      assert.equal(news?.providerReference, '7')
      assert.ok(news.report?.outcome === 'seen' && news.report.refunded === 5_000_000n)
    }
  })

  test('what is not about a payment is taken and forgotten', async () => {
    const { channel } = openOwnKey()
    const rawBody = '{"bizType":"MERCHANT_QR_CODE","bizIdStr":"1","bizId":1,"bizStatus":"MERCHANT_QR_CODE_SCANED"}'
    assert.deepEqual(await channel.readCallback?.(signedHere(rawBody)), {
      merchantReference: null,
      providerReference: null,
      report: null,
      providerStatus: 'MERCHANT_QR_CODE MERCHANT_QR_CODE_SCANED',
    })
    assert.equal(channel.acknowledgement?.body, '{"returnCode":"SUCCESS","returnMessage":null}')
  })
})

describe('certificates', () => {
  const hour = 3_600_000

  function openKeys() {
    const state = { now: 0, asked: 0, answers: true }
    const http = async (): Promise<ProviderAnswer> => {
      state.asked += 1
      return state.answers ? CERTIFICATES : failed('400000', 500)
    }
    const clock = () => state.now
    const client = openClient({ baseUrl: 'https://b.test', apiKey: 'k', apiSecret: 's', http, clock })
    return { state, keys: openCertificates(client, clock) }
  }

  test('kept for an hour, used for two when Binance does not answer, then not any more', async () => {
    const { state, keys } = openKeys()
    await Promise.all([keys.find(SERIAL), keys.find(SERIAL)])
    state.now = hour - 1
    assert.ok(await keys.find(SERIAL))
    assert.equal(state.asked, 1)
    Object.assign(state, { now: hour, answers: false })
    assert.ok(await keys.find(SERIAL))
    assert.equal(state.asked, 2)
    for (state.now of [2 * hour, -1]) await assert.rejects(keys.find(SERIAL), ProviderTrouble)
  })

  test('while Binance does not answer, callbacks that anyone sends ask it every ten seconds, not each', async () => {
    const { state, keys } = openKeys()
    Object.assign(state, { answers: false })
    for (let tries = 0; tries < 5; tries += 1) await assert.rejects(keys.find(SERIAL), ProviderTrouble)
    assert.equal(state.asked, 1)
    Object.assign(state, { now: 10_000, answers: true })
    assert.ok(await keys.find(SERIAL))
    assert.equal(state.asked, 2)
  })

  test('an unknown serial is asked for once, and not again at once', async () => {
    const { state, keys } = openKeys()
    await keys.find(SERIAL)
    state.now = 20_000
    for (let tries = 0; tries < 5; tries += 1) assert.equal(await keys.find('other'), undefined)
    assert.equal(state.asked, 2)
  })
})

describe('after a creation without an answer', () => {
  const order = (status: string) => done({ prepayId: '7', merchantTradeNo: REQUEST.merchantReference, status })
  const recover = (answer: ProviderAnswer) =>
    openWire({ '/v2/order/query': [answer] }).channel.recoverPayment?.(REQUEST)

  test('never heard of is absent; unpaid is lost; money is found', async () => {
    assert.deepEqual(await recover(failed('400202')), { outcome: 'absent' })
    for (const status of ['INITIAL', 'EXPIRED', 'CANCELED', 'ERROR'])
      assert.deepEqual(await recover(order(status)), { outcome: 'lost', providerReference: '7' })
    for (const status of ['PENDING', 'PAID', 'REFUNDED']) assert.equal((await recover(order(status)))?.outcome, 'found')
    await assert.rejects(async () => recover(order('NEW_WORD')), ProviderTrouble)
  })
})

describe('refunds', () => {
  const refund: RefundRequest = {
    refundId: 'f'.repeat(24),
    companyId: 'c'.repeat(24),
    merchantReference: REQUEST.merchantReference,
    providerReference: '298765432109876543',
    units: 5_000_000n,
    fiat: { asset: 'EUR', units: 460n },
    paidUnits: 12_340_000n,
    paidFiat: { asset: 'EUR', units: 1140n },
    earlierUnits: 0n,
    earlierFiat: { asset: 'EUR', units: 0n },
    reference: null,
    attempted: false,
    network: null,
    address: null,
    reason: 'broken',
  }
  const said = (fields = {}) => done({ refundRequestId: refund.refundId, refundAmount: '5.00', ...fields })

  test('sent once, with our id and a plain number', async () => {
    const { channel, calls } = openWire({ '/order/refund': [said({ duplicateRequest: 'N' })] })
    const report = await channel.refundPayment?.(refund)
    assert.deepEqual([report?.outcome, report?.reference], ['pending', refund.refundId])
    assert.equal(
      calls[0]?.body,
      `{"refundRequestId":"${refund.refundId}","prepayId":"298765432109876543","refundAmount":5,"refundReason":"broken"}`,
    )
  })

  test('one that may have been sent is asked for, by every documented word', async () => {
    const words = ['REFUND_SUCCESS', 'REFUND_FAIL', 'REFUND_PENDING', 'REFUND_REJECT']
    const answers = words.map((refundStatus) => said({ refundStatus }))
    const { channel, calls } = openWire({ '/order/refund/query': answers })
    const outcomes: unknown[] = []
    for (const _ of words) outcomes.push((await channel.refundPayment?.({ ...refund, attempted: true }))?.outcome)
    assert.deepEqual(outcomes, ['settled', 'refused', 'pending', 'unknown'])
    assert.ok(calls.every(({ url }) => url.endsWith('/query')))
  })

  test('one that Binance never had is sent; a definite no is refused; a smaller amount is unknown', async () => {
    const { channel } = openWire({
      '/order/refund/query': [failed('400202'), failed('400202')],
      '/order/refund': [said(), failed('400102'), said({ refundAmount: '4' })],
      '/v2/order/query': [done({ prepayId: refund.providerReference })],
    })
    assert.equal((await channel.refundPayment?.({ ...refund, attempted: true }))?.outcome, 'pending')
    assert.equal((await channel.refundPayment?.({ ...refund, attempted: true }))?.outcome, 'refused')
    assert.equal((await channel.refundPayment?.(refund))?.outcome, 'unknown')
  })

  // developers.binance.com, api-order-refund: remainingAttempts
  test('on the last attempt a part is left to a person, and all that is left is sent', async () => {
    const last = { ...refund, lastReference: 'e'.repeat(24), earlierUnits: 2_000_000n }
    const told = (remainingAttempts: number) =>
      done({ refundRequestId: last.lastReference, refundStatus: 'REFUND_SUCCESS', remainingAttempts })
    const part = openWire({ '/order/refund/query': [told(1)] })
    const report = await part.channel.refundPayment?.(last)
    assert.equal(report?.outcome, 'manual')
    assert.match(report?.providerStatus ?? '', /all that is left/)
    assert.deepEqual(
      part.calls.map(({ url }) => url.endsWith('/query')),
      [true],
      'nothing was sent',
    )
    const rest = { ...last, units: 10_340_000n }
    const sent = openWire({ '/order/refund/query': [told(1)], '/order/refund': [said({ refundAmount: '10.34' })] })
    assert.equal((await sent.channel.refundPayment?.(rest))?.outcome, 'pending')
    const two = openWire({ '/order/refund/query': [told(2)], '/order/refund': [said()] })
    assert.equal((await two.channel.refundPayment?.(last))?.outcome, 'pending')
    const none = openWire({ '/order/refund/query': [told(0)] })
    assert.equal((await none.channel.refundPayment?.(rest))?.outcome, 'manual')
  })

  test('more than was asked for is settled, and says what went back in all', async () => {
    const { channel } = openWire({
      '/order/refund/query': [said({ refundAmount: '10.34', refundStatus: 'REFUND_SUCCESS', remainingAttempts: 0 })],
    })
    const report = await channel.refundPayment?.({ ...refund, attempted: true, earlierUnits: 2_000_000n })
    assert.deepEqual([report?.outcome, report?.refundedUnits], ['settled', 12_340_000n])
  })

  test('a wrong key or an empty balance refuses no refund: it goes out when that is put right', async () => {
    const { channel } = openWire({ '/order/refund': [failed('400004', 401), failed('400304')] })
    await assert.rejects(async () => channel.refundPayment?.(refund), ProviderRefusal)
    await assert.rejects(async () => channel.refundPayment?.(refund), { reason: 'account' })
  })

  // result codes of api-order-refund
  test('more than is left and an unknown order are refused; after ten attempts a person sends it', async () => {
    const { channel } = openWire({ '/order/refund': ['400303', '400301', '400302'].map((code) => failed(code)) })
    const outcomes: unknown[] = []
    for (let tries = 0; tries < 3; tries += 1) outcomes.push((await channel.refundPayment?.(refund))?.outcome)
    assert.deepEqual(outcomes, ['refused', 'refused', 'manual'])
  })
})

describe('closing', () => {
  const key = { ...REQUEST, providerReference: '7' }

  test('what is over or paid already is fine, what is open is not', async () => {
    const { channel } = openWire({
      // 400204, api-order-close: "paid or has any payment activity on the way"
      '/order/close': [done(true), failed('400202'), failed('400204'), failed('400204')],
      '/v2/order/query': [done({ status: 'CANCELED' }), done({ status: 'PAID' }), done({ status: 'PENDING' })],
    })
    await channel.closePayment?.(key)
    await channel.closePayment?.(key)
    await channel.closePayment?.(key)
    await assert.rejects(async () => channel.closePayment?.(key), ProviderRefusal)
  })
})

test('settings: a part of them is a mistake, none is no channel', () => {
  assert.equal(readSettings(binance, {}).outcome, 'absent')
  assert.equal(readSettings(binance, { API_KEY: 'x' }).outcome, 'faulty')
  assert.equal(readSettings(binance, { API_KEY: 'x', API_SECRET: 'y', TERMINAL_TYPE: 'TV' }).outcome, 'faulty')
})

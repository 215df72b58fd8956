import assert from 'node:assert/strict'
import { constants, sign } from 'node:crypto'
import { describe, test } from 'node:test'
import {
  KUCOIN_MERCHANT_PRIVATE_KEY,
  KUCOIN_PRIVATE_KEY,
  KUCOIN_PUBLIC_KEY,
} from '../../../test/harness/throwaway-provider-keys.ts'
import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import type { PaymentRequest, RefundRequest } from '../channel.ts'
import { readSettings } from '../kind.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderCall } from '../provider-http.ts'
import { kucoinpay } from './adapter.ts'
import { readAnswer, writeBody } from './client.ts'
import { isSignedBy, readPrivateKey, readPublicKey, signedText, signText } from './signature.ts'
import { readSignedNames } from './signed-names.ts'
import { refundOutcome, reportOfOrder } from './status-map.ts'

const API_KEY = 'kp-test-api-key'
const VECTORS = {
  create: {
    text: 'apiKey=kp-test-api-key&expireTime=1800000&orderAmount=12.34&orderCurrency=USDC&reference=A1&requestId=ord20240610A1&source=WEB&subMerchantId=sub001&timestamp=1718000000000',
    signature:
      'ShSIGKQ66aCLLqsVgZSPrZ3VYGuqfGM5yVgiZdiDHRMDoRIOPaBLLbVfnbYybcb/QZw8Z31jiH+x9iF2/h41U7h7ILXVzYOL1X2bHBKjpF619c0GJCXAGqv5W+L0TyJi2HakFbwNSMtFNp7rFZafXqhnJtC5njjtgD6pvI5LX11C46TmHHY/vLB/wZlSlp0wM164UJWJPYC/qJKWLOPSLAP5NTWaLwp4wg8UWfPsIw4fbxM2GyIfcnb1e/E3ZkeCnyxZkYJ0UZgWJ1C0NOn6Ph/BK+nJH9luT3Cb8wCx/bVY+PM4PNTGeFFEJBPzr4EmxSKaQH38FnKyGGghoUu/0Q==',
  },
  info: {
    text: 'apiKey=kp-test-api-key&requestId=ord20240610A1&timestamp=1718000000000',
    signature:
      'MMGhCMqKFpxl4PBGQvPK2N/LVDTBico+KPEJdDa2CLBWlVJUjlvrlGVX1VaFpvglSXg7WumvwQXl9WSPUxU+zB4jUslvwb0rsh/qZ2xbNlBXLW8moG5pklsS7ucV4Wcu9tZv63EL8aUgde7kQ8LIS9UK6ErXeJ1qoGtqnP2n32OBqHpQpHAvo8UFVMXBA/irpDHuY/Gj/8DpyVDXASFfJhCYCLiD2nqZKPsTr3ypOBPLBf6Y2gHb+w9VQRNYlxAX/QEZc61xmTfayfYm2LuzpuG80MQnoxMEV47UR/J9baD20kFkKtBdHHi5erfXpUcVFcZb2eZypQWBT8GVI1wGBA==',
  },
  refund: {
    text: 'apiKey=kp-test-api-key&payID=kpt_test0001&refundAmount=5&refundReason=partial&requestId=ref20240610A1&subMerchantId=sub001&timestamp=1718000000000',
    signature:
      'ihjgkppek/QUjQRF3j5SUGXpS+hspdLYDvq3XzHgD3hMvG5Ytv40rKEMMiZSiewhzlwycYYeEn9N9YTUobycs6Fqiay2E0iWy1XpWoEfBwFvSNIaNLvqE2hteWirk/hfmz+g2U7nbS1Jn5jITMAPpGuBVeyPcAUnGXjGzmQdWXJW5H1mIK2OImx9UXyv2GNcgGOq+h3Ir8FWRGkh/DTaWuNEgMeDyKEUgbE0xmYe2QoGFBNTruXmI2CcrV6dFFNQu2DBEF3BlWEw37KikqQMTIxGOrxHoaz9e2WKKjf2vKXvUd6+wNIvi3hSTYJCziciPhtyWCj0aB4ZoC6r+eCsOw==',
  },
  tradeHook: {
    text: 'apiKey=kp-test-api-key&orderAmount=12.34&orderCurrency=USDC&payOrderId=kpt_test0001&payTime=1718000100123&reference=A1&refundCurrency=USDC&requestId=ord20240610A1&status=SUCCEEDED&subMerchantId=sub001&timestamp=1718000101000',
    signature:
      'D+bjjeuiQiMJLWW5RqS9T1VjQhVM01AsPWs+GH2fDWbFsM/V7R4sXReCYg2cTuWkG3kciaW5sn8Dt6QXJ15x4c2Nvrt7A/7RNFQ3HuKC1rzUtW6WmdebUTtOaO4ex5cO/qTVuz9bx20ZRXUi60Y5iTPL33j7oznHOPHc3BisxYxBBf0AJ415EY44QK5bhM8j7otSqU1/LJlnuDPFdBlb8jHIT2rDskz0TUH7M+ckVmrL6jf3JRh6JqPw2Y2PjiPx6bTWLVcgvztP29NRD8Ew6khq353XEMLifhHvdcMgTOlqNWnqfsefcdNhOgdcUIDK2V2h4J6VXw3FpTctpJq2RQ==',
  },
  refundHook: {
    text: 'apiKey=kp-test-api-key&merchantId=m-001&payID=kpt_test0001&refundAmount=5&refundCurrency=USDC&refundFinishTime=1718000200123&refundId=kpr_test0001&remainingRefundAmount=7.34&remainingRefundCurrency=USDC&requestId=ref20240610A1&status=REFUND_PART&subMerchantId=sub001&timestamp=1718000101000',
    signature:
      'fHT0OrnyPLx3uAXeJwMAlN/jS/A83w+U6zGuqqzwZWjJZOB41H4qoXtJDzApSdgUoGf2d+8Es2Vi9cxVgiGr3ysU+sAIXQ7QtZH/LIVL1iqIpUDycU238HV9oL8V1/QxX8C/RRk98SmVMJBvsaKRPdpsIn7W36AJE5Rm64/5vTzPJg5P4hutu5NTsJ8jilERIf7xAUDStdeFR1MnYs3mkiFRHu1pG9DXYPy2zOeGAeuJk4PfVHeqJlar2b+UeUZZiTSHULDvJJw1krz4fc9tXSyBUgYYDkpU03WHV37ffnbY88AV0z6GpDAUO/RN9XO2fMopL6rBh73ZruKQ3TI8+w==',
  },
}
const NAMES = readSignedNames('')
const MERCHANT_KEY = readPrivateKey(KUCOIN_MERCHANT_PRIVATE_KEY)
const KUCOIN_KEY = readPublicKey(KUCOIN_PUBLIC_KEY)
const CALLED_AT = 1718000000000
const SENT_AT = 1718000101000

const TRADE =
  '{"orderType":"TRADE","requestId":"ord20240610A1","payOrderId":"kpt_test0001","status":"SUCCEEDED","orderCurrency":"USDC","orderAmount":12.34,"goods":[{"goodsId":"1"}],"reference":"A1","subMerchantId":"sub001","payTime":1718000100123,"canRefundAmount":12.34,"refundCurrency":"USDC","errorReason":null,"payerDetail":"CQkJCQkJCQkJCQkJCQkJCTr7gPQWTABvPGBGJj6FTCm8IV1Rws6M0ycK5ME6hKsJ"}'
const REFUNDED =
  '{"orderType":"REFUND","merchantId":"m-001","payID":"kpt_test0001","refundAmount":5,"refundCurrency":"USDC","refundFinishTime":1718000200123,"refundId":"kpr_test0001","remainingRefundAmount":7.34,"remainingRefundCurrency":"USDC","requestId":"ref20240610A1","status":"REFUND_PART","subMerchantId":"sub001"}'

const REQUEST: PaymentRequest = {
  companyId: 'c'.repeat(24),
  merchantReference: '0123456789abcdef0123456701',
  providerReference: null,
  network: null,
  due: { asset: 'USDC', units: 12_340_000n },
  fiat: { asset: 'EUR', units: 1140n },
  expiresAt: new Date(CALLED_AT + 300_000),
  description: 'Order A1',
  goods: null,
  returnUrl: null,
  cancelUrl: null,
  payerEmail: null,
  payerIp: null,
  userAddress: null,
  callbackUrl: 'https://merchant.test/hooks/kucoinpay',
}

const json = (body: unknown, status = 200): ProviderAnswer => ({ status, headers: {}, text: JSON.stringify(body) })
const done = (data: unknown): ProviderAnswer => json({ success: true, code: '200', msg: 'ok', retry: false, data })
const failed = (code: string, status = 200): ProviderAnswer =>
  json({ success: false, code, msg: 'said so', retry: false }, status)

/** The adapter with canned answers by path; `calls` records its requests. */
function openWire(answers: Record<string, ProviderAnswer[]>, { now = CALLED_AT, settings = {} } = {}) {
  const calls: ProviderCall[] = []
  const keys = { PRIVATE_KEY: KUCOIN_MERCHANT_PRIVATE_KEY, PUBLIC_KEY: KUCOIN_PUBLIC_KEY }
  const reading = readSettings(kucoinpay, { API_KEY, ...keys, ...settings })
  if (reading.outcome !== 'set') throw new Error('the settings do not read')
  const http = async (call: ProviderCall): Promise<ProviderAnswer> => {
    calls.push(call)
    const answer = answers[new URL(call.url).pathname.replace('/api/kucoinpay/api/v1', '')]?.shift()
    if (!answer) throw new ProviderTrouble(`nothing answers ${call.url}`)
    return answer
  }
  return { channel: kucoinpay.open(reading.values, { http, clock: () => now, live: true }), calls }
}

const REFUND: RefundRequest = {
  refundId: 'f'.repeat(24),
  companyId: 'c'.repeat(24),
  merchantReference: REQUEST.merchantReference,
  providerReference: 'kpt_test0001',
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
  reason: 'a & b=c',
}

describe('signature', () => {
  const values = {
    ...{ apiKey: API_KEY, timestamp: '1718000000000', requestId: 'ord20240610A1', reference: 'A1', source: 'WEB' },
    ...{ expireTime: '1800000', orderAmount: '12.34', orderCurrency: 'USDC', subMerchantId: 'sub001' },
  }
  const refund = {
    ...{ apiKey: API_KEY, timestamp: '1718000000000', requestId: 'ref20240610A1', payID: 'kpt_test0001' },
    ...{ refundAmount: '5', refundReason: 'partial', subMerchantId: 'sub001' },
  }

  test('the vectors of our calls', () => {
    assert.equal(signedText(NAMES.create, values), VECTORS.create.text)
    assert.equal(signedText(NAMES.info, { ...values, payOrderId: undefined }), VECTORS.info.text)
    assert.equal(signedText(NAMES.close, values), VECTORS.info.text)
    assert.equal(signedText(NAMES.refund, refund), VECTORS.refund.text)
    for (const { text, signature } of [VECTORS.create, VECTORS.info, VECTORS.refund])
      assert.equal(signText(MERCHANT_KEY, text), signature)
  })

  test('the vectors of callbacks, and neither another padding nor hexadecimal digits', () => {
    for (const { text, signature } of [VECTORS.tradeHook, VECTORS.refundHook])
      assert.ok(isSignedBy(KUCOIN_KEY, text, signature))
    const { text, signature } = VECTORS.tradeHook
    assert.ok(!isSignedBy(KUCOIN_KEY, `${text}0`, signature))
    assert.ok(!isSignedBy(KUCOIN_KEY, text, Buffer.from(signature, 'base64').toString('hex')))
    const pss = { key: readPrivateKey(KUCOIN_PRIVATE_KEY), padding: constants.RSA_PKCS1_PSS_PADDING }
    assert.ok(!isSignedBy(KUCOIN_KEY, text, sign('sha256', Buffer.from(text), pss).toString('base64')))
  })

  test('what is signed is what is sent, digit for digit; nothing empty is', () => {
    const { json: sent, texts } = writeBody({ a: { literal: '0.000001' }, b: '', c: null, d: 'x', e: [{ f: 1 }] })
    assert.equal(sent, '{"a":0.000001,"d":"x","e":[{"f":1}]}')
    assert.deepEqual(texts, { a: '0.000001', d: 'x' })
  })

  test('an operator corrects a list of names', () => {
    const names = readSignedNames('close=requestId apiKey; info=timestamp')
    assert.deepEqual([names.close, names.info, names.create], [['requestId', 'apiKey'], ['timestamp'], NAMES.create])
    for (const wrong of ['closed=apiKey', 'close', 'close=', 'constructor=a'])
      assert.throws(() => readSignedNames(wrong))
  })

  test('keys are read as environments have them', () => {
    const lines = KUCOIN_PUBLIC_KEY.trim().split('\n')
    for (const text of [lines.join('\\n'), lines.slice(1, -1).join('')])
      assert.ok(readPublicKey(text).equals(KUCOIN_KEY))
  })
})

describe('the order', () => {
  const links = { payOrderId: 'kpt_1', appPayUrl: 'https://app.test/1', qrcodeUrl: 'https://qr.test/1', qrcode: 'cXI=' }

  test('is sent as the vector’s kind, signed with its own text', async () => {
    const { channel, calls } = openWire({ '/order/create': [done(links)] }, { settings: { SUB_MERCHANT_ID: 'none' } })
    const instructions = await channel.createPayment({ ...REQUEST, due: { asset: 'USDC', units: 20_000_000n } })
    assert.deepEqual(
      [instructions.providerReference, instructions.qrData, instructions.deepLink, instructions.checkoutUrl],
      ['kpt_1', 'https://app.test/1', 'https://app.test/1', 'https://qr.test/1'],
    )
    const [call] = calls
    const reference = REQUEST.merchantReference
    const goods = `[{"goodsId":"${reference}","goodsName":"Order A1","goodsDesc":"Order A1"}]`
    assert.equal(
      call?.body,
      `{"requestId":"${reference}","orderAmount":20,"orderCurrency":"USDC","expireTime":300000,"goods":${goods},"reference":"${reference}","source":"WEB"}`,
    )
    const text = `apiKey=${API_KEY}&expireTime=300000&orderAmount=20&orderCurrency=USDC&reference=${reference}&requestId=${reference}&source=WEB&timestamp=${CALLED_AT}`
    assert.deepEqual(call?.headers, {
      'content-type': 'application/json',
      'PAY-API-KEY': API_KEY,
      'PAY-API-SIGN': signText(MERCHANT_KEY, text),
      'PAY-API-VERSION': '3.8.1',
      'PAY-API-TIMESTAMP': String(CALLED_AT),
    })
  })

  test('a month is sent as less than an hour; settings choose version, link and sub-merchant', async () => {
    const settings = { VERSION: '1.0', QR_FIELD: 'qrcodeUrl', SUB_MERCHANT_ID: 'sub001' }
    const { channel, calls } = openWire({ '/order/create': [done(links)] }, { settings })
    const month = new Date(CALLED_AT + 30 * 86_400_000)
    assert.equal((await channel.createPayment({ ...REQUEST, expiresAt: month })).qrData, 'https://qr.test/1')
    assert.match(calls[0]?.body ?? '', /"expireTime":3540000,.*"subMerchantId":"sub001"/)
    assert.equal(calls[0]?.headers['PAY-API-VERSION'], '1.0')
  })

  test('each company is a sub-merchant of its own, of 8 characters, the same in its refunds', async () => {
    const { channel, calls } = openWire({
      '/order/create': [done(links), done(links), done(links)],
      '/refund/create': [done({ refundId: 'kpr_1' })],
    })
    for (const companyId of ['one', 'two', 'one']) await channel.createPayment({ ...REQUEST, companyId })
    await channel.refundPayment?.({ ...REFUND, companyId: 'one', attempted: false, reference: null })
    const named = calls.map(({ body }) => /"subMerchantId":"([^"]*)"/.exec(body ?? '')?.[1] ?? '')
    assert.match(named[0] ?? '', /^[0-9a-f]{8}$/)
    assert.notEqual(named[0], named[1])
    assert.deepEqual([named[2], named[3]], [named[0], named[0]])
  })

  test('a refund that was taken, or may have been, is refused only by the account that has its order', async () => {
    const taken = openWire({ '/refund/info': [done(null)] })
    await assert.rejects(async () => taken.channel.refundPayment?.({ ...REFUND, reference: 'kpr_1' }), {
      reason: 'account',
    })
    for (const order of [done(null), failed('4001')]) {
      const { channel } = openWire({
        ...{ '/refund/info': [done(null)], '/refund/create': [failed('4001')], '/order/info': [order] },
      })
      await assert.rejects(async () => channel.refundPayment?.({ ...REFUND, attempted: true }), { reason: 'account' })
    }
    const { channel } = openWire({
      '/refund/info': [done(null)],
      '/refund/create': [failed('480017')],
      '/order/info': [done({ payOrderId: REFUND.providerReference })],
    })
    assert.equal((await channel.refundPayment?.({ ...REFUND, attempted: true }))?.outcome, 'refused')
  })

  test('a repeated requestId is trouble, so that the order is looked for; other noes are refusals', async () => {
    const answers = [failed('480010'), failed('480011'), done({ payOrderId: 'kpt_1' })]
    const { channel } = openWire({ '/order/create': answers })
    await assert.rejects(channel.createPayment(REQUEST), ProviderTrouble)
    await assert.rejects(channel.createPayment(REQUEST), { name: 'ProviderRefusal', reason: 'amount' })
    await assert.rejects(channel.createPayment(REQUEST), ProviderTrouble, 'an order without links helps nobody')
  })

  test('internal errors, unknown codes and garbage decide nothing', () => {
    const unclear = [failed('480000'), failed('480006'), failed('480005'), failed('999'), failed('480004', 502)]
    for (const answer of [...unclear, { status: 200, headers: {}, text: 'x' }, json(null), json({ code: '480004' })])
      assert.throws(() => readAnswer(answer), ProviderTrouble)
    assert.throws(() => readAnswer(failed('999')), { answered: true })
    assert.throws(() => readAnswer(failed('999', 502)), { answered: false })
  })
})

describe('statuses', () => {
  const told = (status: string, fields = {}) =>
    reportOfOrder({ status, orderAmount: '12.340', orderCurrency: 'USDC', ...fields }, 'p')

  test('every documented word', () => {
    const words = ['CREATED', 'PROCESSING', 'USER_PAY_COMPLETED', 'SUCCEEDED', 'SUCCESS', 'CANCELLED', 'FAILED']
    assert.deepEqual(
      words.map((word) => told(word).outcome),
      ['waiting', 'waiting', 'seen', 'seen', 'seen', 'expired', 'failed'],
    )
    for (const word of ['', 'succeeded', 'CANCELED', 'toString']) assert.equal(told(word).outcome, 'unknown')
    assert.deepEqual(
      ['PROCESSING', 'REFUND_PART', 'REFUND_FULL', 'SUCCEEDED', 'SUCCESS', 'FAILED', 'OTHER'].map(refundOutcome),
      ['pending', 'settled', 'settled', 'settled', 'settled', 'refused', 'unknown'],
    )
  })

  test('paid is the amount that the order has there, in USDC or not at all', () => {
    const report = told('SUCCEEDED')
    assert.ok(report.outcome === 'seen' && report.final === 12_340_000n && report.pending === 0n)
    assert.equal(told('SUCCEEDED', { orderCurrency: 'USDT' }).outcome, 'unknown')
    assert.equal(told('SUCCEEDED', { orderAmount: '1e1' }).outcome, 'unknown')
  })
})

describe('callbacks', () => {
  const callback = (rawBody = TRADE, headers = {}): Callback => ({
    headers: {
      'pay-api-sign': VECTORS.tradeHook.signature,
      'pay-api-timestamp': String(SENT_AT),
      'pay-api-version': '1.0',
      ...headers,
    },
    rawBody: Buffer.from(rawBody),
  })
  const read = async (one: Callback, now = SENT_AT) => openWire({}, { now }).channel.readCallback?.(one)
  const signed = (rawBody: string, text: string): Callback =>
    callback(rawBody, { 'pay-api-sign': signText(readPrivateKey(KUCOIN_PRIVATE_KEY), text) })

  test('the vector of a payment: believed is what is signed, the payer’s data go no further', async () => {
    const news = await read(callback())
    assert.deepEqual([news?.merchantReference, news?.providerReference], ['ord20240610A1', 'kpt_test0001'])
    assert.ok(news?.report?.outcome === 'seen' && news.report.final === 12_340_000n)
    const withMore = TRADE.replace('"canRefundAmount":12.34', '"canRefundAmount":0,"somethingNew":{"a":1}')
    assert.deepEqual(await read(callback(withMore)), news)
  })

  test('the vector of a refund names its payment, and the refund itself: it may be one from the portal', async () => {
    const news = await read(callback(REFUNDED, { 'pay-api-sign': VECTORS.refundHook.signature }))
    const providerStatus = 'REFUND REFUND_PART'
    const fiat = { asset: 'USDC', units: 5_000_000n }
    assert.deepEqual(news, {
      merchantReference: null,
      providerReference: 'kpt_test0001',
      report: null,
      providerStatus,
      refund: { reference: 'kpr_test0001', refundId: 'ref20240610A1', outcome: 'settled', fiat, providerStatus },
    })
    const changed = (text: string) => text.replace('REFUND_PART', 'FAILED')
    const failed = await read(signed(changed(REFUNDED), changed(VECTORS.refundHook.text)))
    assert.equal(failed?.refund?.outcome, 'refused', 'one that was settled did not arrive after all')
  })

  test('a number counts as it was written', async () => {
    const rawBody = TRADE.replace('"orderAmount":12.34', '"orderAmount":20.0')
    const text = VECTORS.tradeHook.text.replace('orderAmount=12.34', 'orderAmount=20.0')
    const news = await read(signed(rawBody, text))
    assert.ok(news?.report?.outcome === 'seen' && news.report.final === 20_000_000n)
    await assert.rejects(read(signed(rawBody, text.replace('20.0', '20'))), CallbackRefused)
  })

  test('an empty text is signed or left out, both are the same message', async () => {
    const rawBody = TRADE.replace('"errorReason":null', '"errorReason":""')
    assert.ok(await read(signed(rawBody, VECTORS.tradeHook.text)))
    assert.ok(await read(signed(rawBody, VECTORS.tradeHook.text.replace('&order', '&errorReason=&order'))))
  })

  test('ORDER is TRADE; what is not about a payment is taken and forgotten', async () => {
    assert.ok((await read(callback(TRADE.replace('"TRADE"', '"ORDER"'))))?.report)
    const text = `apiKey=${API_KEY}&batchNo=kpbw_1&status=SUCCEEDED&timestamp=${SENT_AT}`
    const news = await read(signed('{"orderType":"PAYOUT","batchNo":"kpbw_1","status":"SUCCEEDED"}', text))
    assert.deepEqual([news?.merchantReference, news?.providerReference, news?.report], [null, null, null])
  })

  test('changed, old, unsigned and foreign ones are refused', async () => {
    const refused = [
      callback(TRADE.replace('12.34', '99.34')),
      callback(TRADE.replace('SUCCEEDED', 'FAILED')),
      callback(TRADE.replace('kpt_test0001', 'kpt_test0002')),
      callback(TRADE, { 'pay-api-timestamp': String(SENT_AT + 1) }),
      callback(TRADE, { 'pay-api-sign': '' }),
      callback(TRADE, { 'pay-api-sign': VECTORS.refundHook.signature }),
      callback(TRADE.replace('"TRADE"', '"REFUND"')),
      callback(TRADE.replace('"TRADE"', '"create"')),
      callback(TRADE.replace('"TRADE"', '"constructor"')),
      callback('[]'),
      callback('null'),
      callback('x'),
    ]
    // an object that cannot be converted to text, as the type and as a field
    const odd = '{"toString":1,"valueOf":1}'
    refused.push(callback(`{"orderType":${odd}}`), callback(`{"orderType":"TRADE","payOrderId":${odd}}`))
    for (const one of refused) await assert.rejects(read(one), CallbackRefused)
    for (const now of [SENT_AT + 301_000, SENT_AT - 301_000])
      await assert.rejects(read(callback(), now), CallbackRefused)
  })

  test('fields that were moved into another one are refused, though the signed text is the same', async () => {
    const moved = TRADE.replace('"orderAmount":12.34', '"orderAmount":"12.34&orderCurrency=USDC"')
    await assert.rejects(read(callback(moved.replace('"orderCurrency":"USDC",', ''))), CallbackRefused)
  })
})

describe('after a creation without an answer', () => {
  const order = (status: string, more = {}) =>
    done({ payOrderId: 'kpt_1', requestId: REQUEST.merchantReference, status, ...more })
  const recover = async (answer: ProviderAnswer) =>
    openWire({ '/order/info': [answer] }).channel.recoverPayment?.(REQUEST)

  test('links make it found, money too; otherwise it is lost or absent', async () => {
    const found = await recover(order('CREATED', { appPayUrl: 'https://app.test/1' }))
    assert.ok(found?.outcome === 'found' && found.instructions.qrData === 'https://app.test/1')
    const paid = await recover(order('SUCCEEDED'))
    assert.ok(paid?.outcome === 'found' && paid.instructions.providerReference === 'kpt_1')
    for (const answer of [order('CREATED'), order('CANCELLED', { appPayUrl: 'https://app.test/1' })])
      assert.deepEqual(await recover(answer), { outcome: 'lost', providerReference: 'kpt_1' })
    for (const answer of [done(null), failed('4001'), failed('480028')])
      assert.deepEqual(await recover(answer), { outcome: 'absent' })
    await assert.rejects(recover(order('NEW_WORD')), ProviderTrouble)
    await assert.rejects(recover(failed('480004')), ProviderRefusal)
    await assert.rejects(recover(failed('480000')), ProviderTrouble)
  })
})

describe('refunds', () => {
  const refund = REFUND
  const told = (status: string, fields = {}) =>
    done({ requestId: refund.refundId, refundId: 'kpr_1', refundAmount: '5.0', status, ...fields })

  test('sent with our id; a reason cannot be taken for another field', async () => {
    const { channel, calls } = openWire(
      { '/refund/create': [done({ refundId: 'kpr_1' })] },
      { settings: { SUB_MERCHANT_ID: 'none' } },
    )
    const report = await channel.refundPayment?.(refund)
    assert.deepEqual([report?.outcome, report?.reference], ['pending', 'kpr_1'])
    const { refundId } = refund
    assert.equal(
      calls[0]?.body,
      `{"requestId":"${refundId}","payID":"kpt_test0001","refundAmount":5,"refundReason":"a   b c","reference":"${refundId}"}`,
    )
  })

  test('one that may have been sent is asked for, and sent only when KuCoin does not know it', async () => {
    const again = { ...refund, attempted: true }
    const words = ['REFUND_PART', 'FAILED', 'PROCESSING', 'NEW_WORD']
    const known = openWire({ '/refund/info': words.map((word) => told(word)) })
    const outcomes: unknown[] = []
    for (const _ of words) outcomes.push((await known.channel.refundPayment?.(again))?.outcome)
    assert.deepEqual(outcomes, ['settled', 'refused', 'pending', 'unknown'])
    const other = openWire({ '/refund/info': [told('REFUND_PART', { refundAmount: '4' })] })
    assert.equal((await other.channel.refundPayment?.(again))?.outcome, 'unknown')
    const absent = openWire({ '/refund/info': [done(null)], '/refund/create': [done({ refundId: 'kpr_1' })] })
    assert.equal((await absent.channel.refundPayment?.(again))?.outcome, 'pending')
  })

  test('its word is read under either name; two that disagree, and a part without its time, are not settled', async () => {
    const answers: [object, string][] = [
      [{ refundStatus: 'SUCCEEDED' }, 'settled'],
      [{ refundStatus: 'FAILED' }, 'refused'],
      [{ status: 'SUCCESS', refundStatus: 'REFUND_FULL' }, 'settled'],
      [{ status: 'SUCCEEDED', refundStatus: 'PROCESSING' }, 'unknown'],
      [{ status: 'REFUND_PART', refundFinishTime: null }, 'pending'],
      [{ status: 'REFUND_PART', refundFinishTime: 0 }, 'pending'],
      [{ status: 'REFUND_PART', refundFinishTime: 1_718_000_200_123 }, 'settled'],
      [{ refundStatus: 'REFUND_PART' }, 'settled'],
      [{}, 'unknown'],
    ]
    const fields = { requestId: refund.refundId, refundId: 'kpr_1', refundAmount: '5.0' }
    const { channel } = openWire({ '/refund/info': answers.map(([words]) => done({ ...fields, ...words })) })
    for (const [words, outcome] of answers) {
      const report = await channel.refundPayment?.({ ...refund, attempted: true })
      assert.equal(report?.outcome, outcome, JSON.stringify(words))
    }
  })

  test('a repeated id and a running refund decide nothing, a definite no does, a wrong key refuses none', async () => {
    const codes = ['480010', '480015', '480017', '480036']
    const { channel } = openWire({ '/refund/create': codes.map((code) => failed(code)) })
    await assert.rejects(async () => channel.refundPayment?.(refund), ProviderTrouble)
    await assert.rejects(async () => channel.refundPayment?.(refund), ProviderTrouble)
    assert.equal((await channel.refundPayment?.(refund))?.outcome, 'refused')
    await assert.rejects(async () => channel.refundPayment?.(refund), ProviderRefusal)
  })

  test('the limits of the API are limits of the amount, and a closed account of the payer takes no refund', async () => {
    const limits = openWire({ '/order/create': [failed('480033'), failed('480034')] })
    for (const _ of ['below', 'above'])
      await assert.rejects(limits.channel.createPayment(REQUEST), { name: 'ProviderRefusal', reason: 'amount' })
    const codes = ['480033', '480035', '480037', '480038']
    const { channel } = openWire({ '/refund/create': codes.map((code) => failed(code)) })
    for (const code of codes) assert.equal((await channel.refundPayment?.(refund))?.outcome, 'refused', code)
  })
})

test('closing what is over or paid is fine, what is open is not', async () => {
  const key = { ...REQUEST, providerReference: 'kpt_1' }
  const { channel } = openWire({
    '/order/close': [done({}), failed('480019'), failed('4001'), failed('4001')],
    '/order/info': [done({ status: 'CANCELLED' }), done({ status: 'CREATED' })],
  })
  for (let tries = 0; tries < 3; tries += 1) await channel.closePayment?.(key)
  await assert.rejects(async () => channel.closePayment?.(key), ProviderRefusal)
})

test('settings: faults are told by name', () => {
  const keys = { PRIVATE_KEY: KUCOIN_MERCHANT_PRIVATE_KEY, PUBLIC_KEY: KUCOIN_PUBLIC_KEY }
  const names = (given: Record<string, string>): unknown => {
    const reading = readSettings(kucoinpay, given)
    return reading.outcome === 'faulty' ? reading.faults.map(({ name }) => name) : reading.outcome
  }
  assert.equal(names({}), 'absent')
  assert.equal(names({ API_KEY, ...keys }), 'set')
  assert.deepEqual(names({ API_KEY, ...keys, PRIVATE_KEY: 'x', SOURCE: 'TV' }), ['PRIVATE_KEY', 'SOURCE'])
  assert.deepEqual(names({ API_KEY, ...keys, SIGNED_FIELDS: 'x', EXPIRE_SECONDS: '0' }), [
    'EXPIRE_SECONDS',
    'SIGNED_FIELDS',
  ])
})

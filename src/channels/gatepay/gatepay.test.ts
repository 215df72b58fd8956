import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import type { RefundRequest, SeenReport } from '../channel.ts'
import { readSettings } from '../kind.ts'
import type { ProviderCall } from '../provider-http.ts'
import { gatepay } from './adapter.ts'
import { openGateApi, tryParse, unwrap } from './api.ts'
import { type CallbackRules, readCallback } from './callback.ts'
import { openRefunds, REFUND_OUTCOMES, readRefund } from './refunds.ts'
import { isSigned, signatureOf } from './signature.ts'
import { MEANINGS, reportOf } from './status-map.ts'

/** THROW-AWAY: made up for these vectors. */
const SECRET = 'gatepay-test-secret-ABCDEFGHIJKLMNOPQRSTUVWXYZ012345'
const REQUEST = {
  timestamp: '1718000000000',
  nonce: 'a1B2c3D4e5F6g7H8',
  body: '{"merchantTradeNo":"ord-20240610-A1","currency":"USDC","orderAmount":"12.34","env":{"terminalType":"WEB"},"goods":{"goodsName":"Coffee beans","goodsDetail":"1 kg"},"orderExpireTime":1718001800000,"returnUrl":"https://merchant.test/return","cancelUrl":"https://merchant.test/cancel"}',
}
const POST_SIGNATURE =
  'fe10fa389e732ba004b68f1a783519dadd7778aa9b59512656941f2d3760ca725bbb4c34976d19f010c542f4bb412685f34390c70833243052dac6044b745a18'
const GET_SIGNATURE =
  'cacda30398946d69649da66e3d1f427e172e363f8adf8cb767e504e38b4b67d0dc711213a15b3f75ee7d193819ad338dff065cd5a182286c624269fe838a2ef1'
const SHA256_SIGNATURE = '4ffee489c8fc2d2b9b124a2cf361dfd3053b61bcbed8504f3298dfa2c9fe81fc'
const WEBHOOK = {
  timestamp: '1718000101000',
  nonce: 'Zz9Yy8Xx7',
  body: String.raw`{"bizType":"PAY","bizId":"50559474385305600","bizStatus":"PAY_SUCCESS","client_id":"test-client","data":"{\"merchantTradeNo\":\"ord-20240610-A1\",\"productType\":\"Coffee beans\",\"productName\":\"Coffee beans\",\"tradeType\":\"WEB\",\"goodsName\":\"Coffee beans\",\"terminalType\":\"WEB\",\"currency\":\"USDC\",\"totalFee\":\"12.34\",\"orderAmount\":\"12.34\",\"createTime\":1718000000500,\"transactionId\":\"12345678\"}"}`,
}
const WEBHOOK_SIGNATURE =
  '01ba5b2303b6964ecc4a15180ad07f8eb3b269d5ccfeb8347481de2c60899b62289c96196be47529fcfecf8b1f61a1c9f2a58c009b4f8cb3f70e28c7f565efac'

const RULES: CallbackRules = { clientId: 'test-client', secret: SECRET, maxAgeMs: 300_000, closedStatuses: [] }

const callbackOf = (body: string, headers: Record<string, string> = {}): Callback => ({
  headers: {
    'x-gatepay-timestamp': WEBHOOK.timestamp,
    'x-gatepay-nonce': WEBHOOK.nonce,
    'x-gatepay-signature': signatureOf(SECRET, { ...WEBHOOK, body }),
    ...headers,
  },
  rawBody: Buffer.from(body),
})
const read = (callback: Callback, rules: Partial<CallbackRules> = {}, nowMs = Number(WEBHOOK.timestamp)) =>
  readCallback(callback, { ...RULES, ...rules }, () => nowMs)
const refuses = (act: () => unknown, why: RegExp): void => {
  assert.throws(act, (error) => error instanceof CallbackRefused && why.test(error.message))
}

test('requests are signed as the vectors say, with and without a body', () => {
  assert.equal(signatureOf(SECRET, REQUEST), POST_SIGNATURE)
  assert.equal(signatureOf(SECRET, { ...REQUEST, body: '' }), GET_SIGNATURE)
})

test('SHA-256, a missing last line feed and a signed query string are other signatures', () => {
  const { timestamp, nonce, body } = REQUEST
  const sha256 = createHmac('sha256', SECRET).update(`${timestamp}\n${nonce}\n${body}\n`).digest('hex')
  assert.equal(sha256, SHA256_SIGNATURE)
  assert.equal(isSigned(SECRET, REQUEST, SHA256_SIGNATURE), false)
  const unended = createHmac('sha512', SECRET).update(`${timestamp}\n${nonce}\n${body}`).digest('hex')
  assert.equal(isSigned(SECRET, REQUEST, unended), false)
  assert.equal(
    isSigned(SECRET, { ...REQUEST, body: '' }, signatureOf(SECRET, { ...REQUEST, body: 'prepayId=1' })),
    false,
  )
  assert.equal(isSigned(SECRET, REQUEST, POST_SIGNATURE), true)
})

test('the callback of the vector is accepted and claims 12.34 USDC for its order', () => {
  assert.equal(signatureOf(SECRET, WEBHOOK), WEBHOOK_SIGNATURE)
  const news = read(callbackOf(WEBHOOK.body, { 'x-gatepay-signature': WEBHOOK_SIGNATURE }))
  assert.equal(news.merchantReference, 'ord-20240610-A1')
  assert.equal(news.providerReference, null)
  assert.equal(news.providerStatus, 'PAY PAY_SUCCESS')
  assert.ok(news.report?.outcome === 'seen')
  assert.equal(news.report.final, 12_340_000n)
})

test('a callback with one changed byte, the SHA-256 signature, no signature or for another application is refused', () => {
  const signed = { 'x-gatepay-signature': WEBHOOK_SIGNATURE }
  refuses(() => read(callbackOf(WEBHOOK.body.replace('12.34', '12.35'), signed)), /signature/)
  const sha256 = createHmac('sha256', SECRET)
    .update(`${WEBHOOK.timestamp}\n${WEBHOOK.nonce}\n${WEBHOOK.body}\n`)
    .digest('hex')
  refuses(() => read(callbackOf(WEBHOOK.body, { 'x-gatepay-signature': sha256 })), /signature/)
  refuses(() => read({ headers: {}, rawBody: Buffer.from(WEBHOOK.body) }), /timestamp/)
  refuses(() => read(callbackOf(WEBHOOK.body, { 'x-gatepay-nonce': 'other' })), /signature/)
  refuses(() => read(callbackOf(WEBHOOK.body), { clientId: 'another' }), /application/)
  refuses(() => read(callbackOf('not json')), /not readable/)
})

test('a callback is fresh for five minutes in both directions', () => {
  const at = Number(WEBHOOK.timestamp)
  assert.ok(read(callbackOf(WEBHOOK.body), {}, at + 300_000))
  assert.ok(read(callbackOf(WEBHOOK.body), {}, at - 300_000))
  refuses(() => read(callbackOf(WEBHOOK.body), {}, at + 300_001), /too old/)
  refuses(() => read(callbackOf(WEBHOOK.body), {}, at - 300_001), /too old/)
})

// docs.gate.com, api-reference/version/100/en/endpoint/callpayment/refundNotify: the example message
const REFUND_NOTICE = String.raw`{"bizType":"PAY_REFUND","bizId":"79553022813274112","bizStatus":"REFUND_SUCCESS","clientId":"test-client","data":"{\"merchantTradeNo\":\"native5939082218\",\"productName\":\"goodsName\",\"tradeType\":\"APP\",\"goodsName\":\"goodsName\",\"terminalType\":\"APP\",\"currency\":\"USDT\",\"orderAmount\":\"0.01200000\",\"createTime\":1780017217454,\"transactionId\":\"79553022813274118\",\"refundInfo\":{\"refundRequestId\":\"6559049045\",\"prepayId\":\"79553022813274112\",\"orderAmount\":\"0.01200000\",\"refundAmount\":\"0.012\",\"refundPayCurrency\":\"USDT\",\"refundPayAmount\":\"0.012\"},\"channelId\":\"\"}"}`

test('the documented callback about a refund names its payment, and its application', () => {
  const told = {
    merchantReference: 'native5939082218' as string | null,
    providerReference: null as string | null,
    report: null,
    providerStatus: 'PAY_REFUND REFUND_SUCCESS',
  }
  assert.deepEqual(read(callbackOf(REFUND_NOTICE)), told)
  const unnamed = REFUND_NOTICE.replace('native5939082218', '')
  const byId = { ...told, merchantReference: null, providerReference: '79553022813274112' }
  assert.deepEqual(read(callbackOf(unnamed)), byId)
  refuses(() => read(callbackOf(REFUND_NOTICE), { clientId: 'another' }), /application/)
})

// docs.gate.com, api-reference/version/100/en/endpoint/fundrecords/unresolvedPayNotify: the example message
const UNRESOLVED_NOTICE = {
  bizType: 'PAY_UNRESOLVED',
  bizId: '100916',
  bizStatus: 'UNRESOLVED_PENDING',
  data: {
    exceptionId: '123',
    orderType: 'acquiring_type',
    errorType: 'address_risk_address',
    originalOrderId: '355450733498011648',
    expectedAmount: '10.0',
    expectedChainCurrency: [{ chain: 'TRX', currencies: ['USDT'] }],
    actualAmount: '1.0',
    actualCurrency: 'USDT',
    actualChain: 'TRX',
    customerName: '',
    toAddress: 'TExampleAddressxxxxxxxxxxxxxxxxxx',
    fromAddress: 'TFromAddressxxxxxxxxxxxxxxxxxxxx',
    hash: '0xabc',
    updateTime: 1740000000000,
  },
}
const readUnresolved = (change: object) =>
  read(callbackOf(JSON.stringify({ ...UNRESOLVED_NOTICE, data: { ...UNRESOLVED_NOTICE.data, ...change } })))

test('the documented callback about risky money is a block of its order', () => {
  const news = readUnresolved({})
  assert.deepEqual([news.merchantReference, news.providerReference], [null, '355450733498011648'])
  assert.deepEqual(news.report, {
    outcome: 'blocked',
    providerReference: '355450733498011648',
    unmatched: [{ asset: 'USDT', units: 10n ** 18n, reference: 'gatepay:frozen:123', isOneSum: true }],
    providerStatus: 'address_risk_address',
  })
})

test('money in another coin or on another chain is reported once per exception, in its own coin', () => {
  for (const errorType of ['address_error_currency', 'address_error_chain']) {
    const news = readUnresolved({ errorType })
    assert.deepEqual([news.providerReference, news.report], ['355450733498011648', null])
    assert.deepEqual(news.unmatched, [
      { asset: 'USDT', units: 10n ** 18n, reference: 'gatepay:unresolved:123', isOneSum: true },
    ])
  }
  const long = readUnresolved({ errorType: 'address_error_currency', actualAmount: '1.0000000000000000019' })
  assert.equal(long.unmatched?.[0]?.units, 10n ** 18n + 1n)
  const usdc = readUnresolved({ errorType: 'address_error_chain', actualCurrency: 'USDC', exceptionId: '' })
  assert.deepEqual(usdc.unmatched, [
    { asset: 'USDC', units: 1_000_000n, reference: 'gatepay:unresolved:0xabc', isOneSum: true },
  ])
})

test('money that Gate gives no id is told apart by its order, amount and coin', () => {
  const unnamed = (change: object): string | undefined => {
    const data = {
      ...UNRESOLVED_NOTICE.data,
      errorType: 'address_error_currency',
      exceptionId: '',
      hash: '',
      ...change,
    }
    return read(callbackOf(JSON.stringify({ ...UNRESOLVED_NOTICE, bizId: '', data }))).unmatched?.[0]?.reference
  }
  assert.equal(unnamed({}), 'gatepay:unresolved:355450733498011648:1.0:USDT')
  assert.equal(unnamed({}), unnamed({ updateTime: 1740000000001 }))
  const others = [{ actualCurrency: 'BTC' }, { actualAmount: '2.0' }, { originalOrderId: '6' }].map(unnamed)
  assert.equal(new Set([unnamed({}), ...others]).size, 4)
})

test('a callback about a refund says nothing of the payment, one about transfers names nothing', () => {
  const refund = read(
    callbackOf('{"bizType":"PAY_REFUND","bizId":"7","bizStatus":"REFUND_SUCCESS","data":{"merchantTradeNo":"a1b2c3"}}'),
  )
  assert.deepEqual(refund, {
    merchantReference: 'a1b2c3',
    providerReference: null,
    report: null,
    providerStatus: 'PAY_REFUND REFUND_SUCCESS',
  })
  const other = read(callbackOf('{"bizType":"WITHDRAW","bizId":"7","bizStatus":"DONE","data":"{}"}'))
  assert.deepEqual([other.merchantReference, other.providerReference, other.report], [null, null, null])
  const bare = read(callbackOf('{"bizType":"PAY","bizId":"50559474385305600","bizStatus":"PAY_CLOSE","data":"{}"}'))
  assert.equal(bare.providerReference, '50559474385305600')
  assert.equal(bare.report?.outcome, 'expired')
})

const ORDER = { currency: 'USDC', orderAmount: '12.34' }
const report = (word: string, data: object = ORDER, closedStatuses: string[] = []) =>
  reportOf(word, data, { providerReference: '5', closedStatuses })

test('every documented word has its meaning', () => {
  const outcomes = Object.keys(MEANINGS).map((word) => [word, report(word).outcome])
  assert.deepEqual(Object.fromEntries(outcomes), {
    PENDING: 'waiting',
    PROCESS: 'seen',
    PAID: 'seen',
    EXPIRED: 'expired',
    TRANSFERRED_ADDRESS_IN_TERM: 'seen',
    PAY_EXPIRED_IN_PROCESS: 'seen',
    PAY_SUCCESS: 'seen',
    PAY_CLOSE: 'expired',
    PAY_ERROR: 'failed',
    PAY_BLOCK: 'blocked',
    TRANSFERRED_ADDRESS_BLOCK: 'blocked',
    TRANSFERRED_ADDRESS_DELAY: 'expired',
    CONVERT_ADDRESS_PAY_DELAY: 'expired',
  })
})

test('PAID is final, in the amount of the order itself', () => {
  const paid = report('PAID') as SeenReport
  assert.deepEqual([paid.final, paid.pending, paid.refunded], [12_340_000n, 0n, undefined])
})

test('PROCESS and its like tell what is at the address; without that, or with dust, the price stands in for it', () => {
  const told = (data: object) =>
    ['PROCESS', 'TRANSFERRED_ADDRESS_IN_TERM', 'PAY_EXPIRED_IN_PROCESS'].map((word) => {
      const { final, pending, isEstimate, alreadyRecorded } = report(word, data) as SeenReport
      assert.deepEqual(alreadyRecorded, ['gatepay:5:late', 'gatepay:5:over'])
      return [final, pending, isEstimate === true]
    })
  const all = (...one: unknown[]) => [one, one, one]
  const price = all(0n, 12_340_000n, true)
  for (const [done_amount, amounts] of [
    ['0', ['10', '2']],
    ['10', ['2']],
    ['12', []],
  ] as const) {
    const transaction_info = { done_amount, confirming_list: amounts.map((amount) => ({ amount })) }
    assert.deepEqual(told({ ...ORDER, transaction_info }), all(0n, 12_000_000n, false))
    const coin = { actualCurrency: 'BTC', pay_amount: '24.68' }
    assert.deepEqual(told({ ...ORDER, ...coin, transaction_info })[0]?.[1], 6_000_000n, 'a share of the price')
    assert.deepEqual(told({ ...ORDER, actualCurrency: 'BTC', transaction_info }), price, 'of an unknown share')
  }
  for (const transaction_info of [undefined, {}, { done_amount: '0.004', confirming_list: [{ amount: '0.005' }] }])
    assert.deepEqual(told({ ...ORDER, transaction_info }), price)
})

test('an undocumented status is unknown and keeps its word; so is one for a closed order until it is configured', () => {
  assert.deepEqual(report('CANCELLED'), { outcome: 'unknown', providerReference: '5', providerStatus: 'CANCELLED' })
  assert.equal(report('CANCELLED', ORDER, ['CLOSED', 'CANCELLED']).outcome, 'expired')
  assert.equal(report('').outcome, 'unknown')
})

test('PAID in another currency, or in an amount that cannot be read, is unknown', () => {
  assert.deepEqual(report('PAID', { currency: 'USDT', orderAmount: '12.34' }), {
    outcome: 'unknown',
    providerReference: '5',
    providerStatus: 'PAID: 12.34 USDT',
  })
  for (const orderAmount of ['12.3400001', '1e3', '-1', ''])
    assert.equal(report('PAID', { currency: 'USDC', orderAmount }).outcome, 'unknown', orderAmount)
})

test('what was not paid of a tolerated order is not counted', () => {
  assert.equal((report('PAID', { ...ORDER, underpaidAmount: '0.34' }) as SeenReport).final, 12_000_000n)
  assert.equal(report('PAID', { ...ORDER, underpaidAmount: '99' }).outcome, 'unknown')
})

test('more than was asked for is shown to a person and not counted', () => {
  const over = { ...ORDER, pay_amount: '12.34', transaction_info: { done_amount: '15', confirming_list: [] } }
  const seen = report('PAID', over) as SeenReport
  assert.deepEqual([seen.final, seen.total?.price, seen.total?.above], [15_000_000n, 12_340_000n, 'gatepay:5:over'])
  // the payer sent another coin: the share of the amount requested in that coin
  const coin = { ...ORDER, pay_amount: '0.5', transaction_info: { done_amount: '0.75', confirming_list: [] } }
  assert.equal((report('PAID', coin) as SeenReport).final, 18_510_000n)
  for (const done_amount of ['12.34', '12.349999']) {
    const exact = { ...ORDER, pay_amount: '12.34', transaction_info: { done_amount } }
    assert.equal((report('PAID', exact) as SeenReport).final, 12_340_000n)
  }
})

test('the words that Gate may use after a close end the attempt, and late money is still reported', () => {
  const values = readSettings(gatepay, { CLIENT_ID: 'a', SECRET: 'b' })
  assert.ok(values.outcome === 'set')
  const closedStatuses = (values.values.CLOSED_WORDS ?? '').split(',')
  const told = (word: string, data: unknown) => reportOf(word, data, { providerReference: '5', closedStatuses })
  for (const word of ['CANCELLED', 'CLOSED', 'EXPIRED']) {
    assert.equal(told(word, ORDER).outcome, 'expired', word)
    const late = { ...ORDER, transaction_info: { done_amount: '12.34', confirming_list: [] } }
    assert.equal(told(word, late).outcome, 'expired', word)
    assert.equal((told(word, late) as SeenReport).unmatched.length, 1, word)
  }
  assert.equal(told('CLOSING', ORDER).outcome, 'unknown')
})

test('money at the address before the order is paid is pending, as a share of the price in whatever coin', () => {
  const transaction_info = { done_amount: '0.001', confirming_list: [{ amount: '0.0005', confirm: 1 }] }
  const seen = report('PENDING', { ...ORDER, pay_currency: 'BTC', pay_amount: '0.003', transaction_info }) as SeenReport
  assert.deepEqual([seen.final, seen.pending], [0n, 6_170_000n])
})

const LATE = { reference: 'gatepay:5:late', isOneSum: true, isTotal: true }
test('money that came to an ended order is shown to a person and never counted', () => {
  const transaction_info = { done_amount: '12.34', confirming_list: [] }
  for (const word of ['EXPIRED', 'TRANSFERRED_ADDRESS_DELAY']) {
    assert.deepEqual(report(word, { ...ORDER, pay_amount: '12.34', transaction_info }), {
      outcome: 'expired',
      providerReference: '5',
      unmatched: [{ asset: 'USDC', units: 12_340_000n, ...LATE }],
      alreadyRecorded: ['gatepay:5:late', 'gatepay:5:over'],
      providerStatus: word,
    })
  }
})

test('while money is still confirming, an order that Gate calls ended stays open; then only credited money is late', () => {
  const told = (done_amount: string, ...amounts: string[]) => {
    const transaction_info = { done_amount, confirming_list: amounts.map((amount) => ({ amount, confirm: 1 })) }
    return report('EXPIRED', { ...ORDER, pay_amount: '12.34', transaction_info }) as SeenReport
  }
  const open = told('2', '10')
  assert.deepEqual([open.outcome, open.final, open.pending, open.unmatched], ['seen', 0n, 12_000_000n, []])
  assert.deepEqual(open.alreadyRecorded, ['gatepay:5:late', 'gatepay:5:over'])
  assert.deepEqual([told('2').outcome, told('2').unmatched[0]?.units], ['expired', 2_000_000n])
  assert.deepEqual([told('0').outcome, told('0').unmatched], ['expired', []])
  const { contains, isLeast } = (report('PAID') as SeenReport).total ?? {}
  assert.deepEqual([contains, isLeast], [['gatepay:5:late'], true])
})

test('dust that is still confirming does not keep an ended order open, unless it completes the price', () => {
  const told = (done_amount: string, amount: string) => {
    const transaction_info = { done_amount, confirming_list: [{ amount, confirm: 1 }] }
    return report('EXPIRED', { ...ORDER, pay_amount: '12.34', transaction_info }) as SeenReport
  }
  assert.deepEqual([told('0', '0.009999').outcome, told('0', '0.009999').unmatched], ['expired', []])
  assert.deepEqual([told('2', '0.001').outcome, told('2', '0.001').unmatched[0]?.units], ['expired', 2_000_000n])
  assert.deepEqual([told('0', '0.01').outcome, told('12.335', '0.005').outcome], ['seen', 'seen'])
  assert.deepEqual([told('12.34', '0.001').outcome, told('12.34', '0.01').outcome], ['expired', 'seen'])
})

test('digits after the eighteenth are cut, and an amount that cannot be read is unknown, never 0', () => {
  const told = (done_amount: string, ...amounts: string[]) => {
    const transaction_info = { done_amount, confirming_list: amounts.map((amount) => ({ amount })) }
    return report('EXPIRED', { ...ORDER, pay_amount: '12.34', transaction_info }) as SeenReport
  }
  assert.equal(told('12.3400000000000000001').unmatched[0]?.units, 12_340_000n)
  assert.equal(told('0', '12.3400000000000000001').pending, 12_340_000n)
  for (const odd of [told('1e1'), told('0', '1', '-1')]) assert.equal(odd.outcome, 'unknown')
})

// docs.gate.com, checkout/orderQuery: an expired order has "pay_currency": "", "pay_amount": "0"
test('an order without a chosen coin shows what arrived as a share of its own amount', () => {
  const unchosen = { ...ORDER, pay_currency: '', pay_amount: '0', transaction_info: { done_amount: '5' } }
  const late = [{ asset: 'USDC', units: 5_000_000n, ...LATE }]
  assert.deepEqual((report('EXPIRED', unchosen) as SeenReport).unmatched, late)
  assert.equal((report('PENDING', unchosen) as SeenReport).pending, 5_000_000n)
  const over = { ...unchosen, transaction_info: { done_amount: '13' } }
  assert.equal((report('PAID', over) as SeenReport).final, 13_000_000n)
})

test('another coin whose price Gate does not say is recorded in that coin, and is no share of the price', () => {
  const transaction_info = { done_amount: '2000000', confirming_list: [] }
  const coin = { ...ORDER, pay_currency: '', pay_amount: '0', actualCurrency: 'SHIB', transaction_info }
  const late = [{ asset: 'SHIB', units: 2_000_000n * 10n ** 18n, ...LATE }]
  assert.deepEqual((report('EXPIRED', coin) as SeenReport).unmatched, late)
  assert.equal(report('PENDING', coin).outcome, 'unknown')
  const paid = report('PAID', coin) as SeenReport
  assert.deepEqual([paid.final, paid.unmatched], [12_340_000n, []])
})

test('data is read as an object, as JSON text and under bizData, and large numbers keep their digits', () => {
  const inner = { prepayId: '50559474385305600' }
  for (const data of [inner, JSON.stringify(inner), { bizData: inner }, { bizData: JSON.stringify(inner) }])
    assert.deepEqual(unwrap(data), inner)
  assert.deepEqual(unwrap(tryParse('{"prepayId":505594743853056007}')), { prepayId: '505594743853056007' })
})

/** The API with canned answers. @param baseUrl where Gate answers; @param onBehalfOf a sub-merchant */
function openWire(answers: object[], account: { baseUrl?: string; onBehalfOf?: string } = {}) {
  const calls: ProviderCall[] = []
  const http = async (call: ProviderCall) => {
    calls.push(call)
    return { status: 200, headers: {}, text: JSON.stringify(answers.shift()) }
  }
  const named = { baseUrl: 'https://gate.test', clientId: 'c', secret: SECRET, onBehalfOf: '', clientType: '' }
  return { api: openGateApi({ ...named, ...account }, { http, clock: () => 0 }), calls }
}
const success = (data: unknown) => ({ status: 'SUCCESS', code: '000000', errorMessage: '', data })

// docs.gate.com, api-reference/version/100/en/endpoint/checkout/orderQuery: the query's answer
test('an outer SUCCESS may hold a no: bizCode counts as the code', async () => {
  const data = { bizCode: '000000', bizData: { prepayId: '65466648727916544', status: 'PAID' }, bizMessage: '' }
  const no = { bizCode: '400202', bizData: null, bizMessage: 'order not found' }
  const busy = { bizCode: '300000', bizData: null, bizMessage: 'system error' }
  const { api } = openWire([success(data), success(JSON.stringify(data)), success(no), success(busy)])
  const ask = () => api.get('/v2/pay/order/query', { prepayId: '65466648727916544' })
  assert.deepEqual(await ask(), data.bizData)
  assert.deepEqual(await ask(), data.bizData)
  await assert.rejects(ask(), { name: 'ProviderRefusal', reason: 'state' })
  await assert.rejects(ask(), { name: 'ProviderTrouble', answered: true })
})

test('an institution that acts for a sub-merchant uses the paths of institutions', async () => {
  const prefix = 'https://gate.test/payment/open/institution'
  for (const baseUrl of ['https://gate.test', prefix]) {
    const { api, calls } = openWire([success({})], { baseUrl, onBehalfOf: '77' })
    await api.post('/v1/pay/checkout/order', {})
    assert.equal(calls[0]?.url, `${prefix}/v1/pay/checkout/order`)
    assert.equal(calls[0]?.headers['X-GatePay-On-Behalf-Of'], '77')
  }
})

const REFUND: RefundRequest = {
  refundId: '65f0c0ffee65f0c0ffee65f0',
  companyId: 'c',
  merchantReference: 'm',
  providerReference: '5',
  units: 5_000_000n,
  fiat: { asset: 'EUR', units: 460n },
  paidUnits: 12_340_000n,
  paidFiat: { asset: 'EUR', units: 1140n },
  earlierUnits: 0n,
  earlierFiat: { asset: 'EUR', units: 0n },
  reference: null,
  attempted: true,
  network: null,
  address: null,
  reason: null,
}

test('both families of refund words are understood, others are unknown', () => {
  const ours = { refundRequestId: REFUND.refundId }
  const outcomes = Object.keys(REFUND_OUTCOMES).map((status) => readRefund(REFUND, { ...ours, status }).outcome)
  assert.deepEqual(outcomes, ['settled', 'settled', 'pending', 'refused', 'refused'])
  assert.equal(readRefund(REFUND, { ...ours, status: 'REFUND_LOST' }).outcome, 'unknown')
  const refused = readRefund(REFUND, { ...ours, status: 'FAIL', refund_fail_reason: 'no balance', gateRefundId: '8' })
  assert.deepEqual(refused, { outcome: 'refused', reference: '8', txHash: null, providerStatus: 'FAIL: no balance' })
})

test('a refund of another amount or currency under our id is not believed', () => {
  const right = {
    refundRequestId: REFUND.refundId,
    status: 'SUCCESS',
    requestAmount: '5',
    requestCurrency: 'USDC',
  }
  assert.equal(readRefund(REFUND, right).outcome, 'settled')
  assert.equal(readRefund(REFUND, { ...right, requestAmount: '5.01' }).outcome, 'unknown')
  assert.equal(readRefund(REFUND, { ...right, requestCurrency: 'USDT' }).outcome, 'unknown')
  assert.equal(readRefund(REFUND, { ...right, refundRequestId: 'f'.repeat(24) }).outcome, 'unknown')
})

test('a refund that may have been sent is sent again only where Gate says that it has none', async () => {
  const rules = { waitMs: 0, unknownCodes: ['400202'] }
  const outcomes: unknown[] = []
  const unreadable = [{ bizCode: '300000', bizData: null, bizMessage: 'system error' }, { status: 'SUCCESS' }]
  for (const data of unreadable) {
    const { api, calls } = openWire([success(data), success({}), success({})])
    const ask = openRefunds(api, () => 0, rules)
    outcomes.push(
      await ask(REFUND).then(
        ({ outcome }) => outcome,
        ({ name }) => name,
      ),
    )
    assert.deepEqual(
      calls.map(({ method }) => method),
      ['GET'],
      'nothing was sent',
    )
  }
  assert.deepEqual(outcomes, ['ProviderTrouble', 'unknown'])
  for (const data of [{}, null, { bizCode: '400202', bizData: null }]) {
    const { api, calls } = openWire([success(data), success({}), success({ refundGateId: '8' })])
    assert.equal((await openRefunds(api, () => 0, rules)(REFUND)).outcome, 'pending')
    assert.equal(calls.at(-1)?.method, 'POST')
  }
})

test('two settings are required, the others have the documented defaults, and a wrong one is named', () => {
  const reading = readSettings(gatepay, { CLIENT_ID: 'id', SECRET: 'secret-of-gate' })
  assert.equal(reading.outcome, 'set')
  assert.ok(reading.outcome === 'set')
  assert.equal(reading.values.BASE_URL, 'https://openplatform.gateapi.io')
  assert.equal(reading.values.REFUND_WAIT_SECONDS, '10')
  assert.deepEqual(reading.secrets, ['secret-of-gate'])
  assert.deepEqual(readSettings(gatepay, {}), { outcome: 'absent' })
  const faulty = readSettings(gatepay, { CLIENT_ID: 'id', SECRET: 's', REFUND_WAIT_SECONDS: 'soon' })
  assert.deepEqual(faulty.outcome === 'faulty' && faulty.faults.map(({ name }) => name), ['REFUND_WAIT_SECONDS'])
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CallbackRefused } from '../../kernel/callback.ts'
import type { PaymentKey, PaymentRequest } from '../channel.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderCall } from '../provider-http.ts'
import { openWhitepayApi, type WhitepayApi } from './api.ts'
import { readWhitepayCallback } from './callback.ts'
import { openHostedOrders } from './orders.ts'
import { assertWithin, choosePrice } from './prices.ts'
import type { WhitepayValues } from './settings.ts'
import { findSignedForm, sign } from './signature.ts'
import { readOrder, reportOf } from './status-map.ts'

// THROW-AWAY: tokens and bodies made for these tests only
const TOKEN = 'whitepay-webhook-token-test-0001'
const MERCHANT_TOKEN = 'whitepay-merchant-token-test-0001'
const BODY =
  '{"order":{"id":"0d7f9c8e-5d1b-4a27-9d0e-6c0c1f7a2b11","currency":"EUR","order_number":"123456789","value":"12.34","expected_amount":"12.34","received_total":"12.34","exchange_rate":"1","is_internal":true,"deposited_currency":"USDT","status":"COMPLETE","external_order_id":"ord20240610A1","created_at":"2024-06-10 06:13:20","completed_at":"2024-06-10 06:15:00","acquiring_url":"https://merchant.pay.whitepay.com/crypto-orders/0d7f9c8e-5d1b-4a27-9d0e-6c0c1f7a2b11"},"event_type":"order::completed"}'
const RAW_SIGNATURE = '9b7a222e794676f69585ac3b9a07b1ff03622c6ae7fbac87f5ba396567b31da8'
const ESCAPED_SIGNATURE = '8582cbed6ace6cbee4ded54a5741117b75def7fec2946142f56105b945c49e37'

const values: WhitepayValues = {
  BASE_URL: 'https://api.whitepay.com',
  TOKEN: 'api-token',
  SLUG: 'shop',
  WEBHOOK_TOKEN: TOKEN,
  MERCHANT_WEBHOOK_TOKEN: MERCHANT_TOKEN,
  NON_CUSTODY_SLUG: '',
  NON_CUSTODY_WEBHOOK_TOKEN: '',
}

const read = (body: string, signature: string | undefined, given = values) =>
  readWhitepayCallback(given, { headers: { signature }, rawBody: Buffer.from(body) })

const refused = (body: string, signature: string | undefined, given = values): void =>
  assert.throws(() => read(body, signature, given), CallbackRefused)

const NOW = Date.UTC(2026, 0, 1)
const payment: PaymentKey = {
  companyId: 'c',
  merchantReference: 'a'.repeat(26),
  providerReference: 'w1',
  network: null,
  due: { asset: 'USDC', units: 13_330_000n },
  fiat: { asset: 'EUR', units: 1234n },
  expiresAt: new Date(NOW + 1000),
}

/** An order as documented before a coin is chosen; tests add what arrived. */
const orderWith = (fields: Record<string, unknown>) => {
  const base = {
    id: 'w1',
    status: 'OPEN',
    currency: 'EUR',
    value: '12.34',
    expected_amount: null,
    deposited_currency: null,
    received_total: '0',
    received_currency: null,
    external_order_id: payment.merchantReference,
    transactions: [],
  }
  const order = readOrder({ order: { ...base, ...fields } })
  assert.ok(order)
  return order
}
const report = (fields: Record<string, unknown>, now = NOW) => reportOf(orderWith(fields), payment, now)
/** Deposits in one coin, with the expected amount. */
const deposits = (coin: string, expected: string, ...amounts: string[]) => ({
  deposited_currency: coin,
  expected_amount: expected,
  transactions: amounts.map((value) => ({ currency: coin, value, status: 'COMPLETE' })),
})
const seen = (fields: Record<string, unknown>) => {
  const told = report(fields)
  assert.ok(told.outcome === 'seen', told.providerStatus)
  return told
}

describe('whitepay: signature', () => {
  it('takes the raw bytes, as the vector has them', () => {
    assert.equal(sign(TOKEN, BODY), RAW_SIGNATURE)
    assert.equal(findSignedForm(TOKEN, Buffer.from(BODY), RAW_SIGNATURE), 'raw')
  })

  it('takes the vector that was signed with every slash escaped', () => {
    assert.equal(findSignedForm(TOKEN, Buffer.from(BODY), ESCAPED_SIGNATURE), 'escaped')
  })

  it('takes a re-encoding of a spaced body, and one with escapes beyond ASCII', () => {
    const spaced = '{ "a": "é/x", "b": [1, 2] }'
    const compact = '{"a":"é/x","b":[1,2]}'
    assert.equal(findSignedForm(TOKEN, Buffer.from(spaced), sign(TOKEN, compact)), 'stringified')
    const php = '{"a":"\\u00e9\\/x","b":[1,2]}'
    assert.equal(findSignedForm(TOKEN, Buffer.from(spaced), sign(TOKEN, php)), 'escaped')
  })

  it('takes nothing else: another token, one byte changed, no hexadecimal, an empty token', () => {
    assert.equal(findSignedForm('other', Buffer.from(BODY), RAW_SIGNATURE), null)
    assert.equal(findSignedForm(TOKEN, Buffer.from(BODY.replace('12.34', '12.35')), RAW_SIGNATURE), null)
    assert.equal(findSignedForm(TOKEN, Buffer.from(BODY), RAW_SIGNATURE.toUpperCase()), null)
    assert.equal(findSignedForm(TOKEN, Buffer.from(BODY), ''), null)
    assert.equal(findSignedForm('', Buffer.from(BODY), sign('', BODY)), null)
    assert.equal(findSignedForm(TOKEN, Buffer.from('no json'), RAW_SIGNATURE), null)
  })
})

describe('whitepay: callbacks', () => {
  it('reads an order event', () => {
    const news = read(BODY, RAW_SIGNATURE)
    assert.equal(news.merchantReference, 'ord20240610A1')
    assert.equal(news.providerReference, '0d7f9c8e-5d1b-4a27-9d0e-6c0c1f7a2b11')
    assert.equal(news.providerStatus, 'order::completed: COMPLETE, inside WhiteBIT')
    assert.match(read(BODY, ESCAPED_SIGNATURE).providerStatus, /signed escaped/)
  })

  it('reads the event that money arrived and is being converted', () => {
    const body = BODY.replace('order::completed', 'order::final_amount_was_received').replace('COMPLETE', 'OPEN')
    assert.equal(read(body, sign(TOKEN, body)).report?.outcome, 'unknown')
  })

  it('wants the merchant token for withdrawals and rollbacks, the page token for orders, either for transactions', () => {
    const transaction = { id: 't', order_id: 'w1', external_order_id: 'ref', status: 'COMPLETE' }
    const body = JSON.stringify({ transaction, event_type: 'transaction::complete' })
    const news = read(body, sign(MERCHANT_TOKEN, body))
    assert.deepEqual(
      { ...news, providerStatus: '' },
      { merchantReference: 'ref', providerReference: 'w1', report: null, providerStatus: '' },
    )
    assert.equal(read(body, sign(TOKEN, body)).merchantReference, 'ref')
    refused(BODY, sign(MERCHANT_TOKEN, BODY))
    for (const event of ['withdrawal::completed', 'rollback::to_client', 'rollback::to_merchant']) {
      const other = JSON.stringify({ event_type: event })
      assert.equal(read(other, sign(MERCHANT_TOKEN, other)).report, null)
      refused(other, sign(TOKEN, other))
    }
  })

  it('refuses events of the merchant token while that token is not set', () => {
    const body = JSON.stringify({ transaction: {}, event_type: 'transaction::complete' })
    refused(body, sign('', body), { ...values, MERCHANT_WEBHOOK_TOKEN: '' })
  })

  it('takes the token of the second page as well', () => {
    const second = { ...values, NON_CUSTODY_WEBHOOK_TOKEN: 'second-page-token' }
    assert.equal(read(BODY, sign('second-page-token', BODY), second).merchantReference, 'ord20240610A1')
  })

  it('refuses a missing signature, and the token itself in place of one', () => {
    refused(BODY, undefined)
    const headers = { 'x-secret-key': TOKEN }
    assert.throws(() => readWhitepayCallback(values, { headers, rawBody: Buffer.from(BODY) }), CallbackRefused)
  })

  it('takes an unknown event as no news', () => {
    const body = JSON.stringify({ event_type: 'payout::made' })
    const news = read(body, sign(TOKEN, body))
    assert.deepEqual([news.merchantReference, news.providerReference, news.report], [null, null, null])
  })
})

// docs.whitepay.com, docs/http-api/acquiring/crypto: what the amounts of an order mean
describe('whitepay: amounts', () => {
  const DUE = payment.due.units

  it('COMPLETE is the whole payment, whatever reached the balance after conversion and fees', () => {
    // their own example: value 100, expected 100, received 95.5
    const example = {
      ...payment,
      fiat: { asset: 'USD', units: 10_000n },
      due: { asset: 'USDC', units: 99_900_000n },
    } as const
    const order = orderWith({
      ...deposits('USDT', '100', '100'),
      ...{ status: 'COMPLETE', currency: 'USD', value: '100', received_total: '95.5', received_currency: 'USDT' },
    })
    const told = reportOf(order, example, NOW)
    assert.ok(told.outcome === 'seen')
    assert.deepEqual([told.final, told.pending, told.isPart], [99_900_000n, 0n, undefined])
  })

  it('an order paid in USDT, and one paid in BTC, are paid and nothing more', () => {
    for (const coin of [
      { ...deposits('USDT', '13.351880', '13.351880'), received_total: '12.75' },
      { ...deposits('BTC', '0.00020863', '0.00020863'), received_total: '12.75' },
    ]) {
      const told = seen({ ...coin, status: 'COMPLETE', received_currency: 'USDT' })
      assert.deepEqual([told.final, told.pending], [DUE, 0n])
    }
    const bitcoin = seen({
      ...deposits('BTC', '0.00020863', '0.00020863'),
      status: 'COMPLETE',
      received_total: '27000000',
    })
    assert.equal(bitcoin.final, DUE, 'what reaches the balance is never divided by what was asked for')
  })

  // docs.whitepay.com, webhooks/events: a rollback is a transaction of the order, of type ROLLBACK_TO_CLIENT
  it('money that Whitepay sent back is no deposit', () => {
    const back = (value: string, type = 'ROLLBACK_TO_CLIENT') => ({ currency: 'USDT', value, status: 'COMPLETE', type })
    const moved = (amount: string, ...more: object[]) => {
      const fields = deposits('USDT', '10', amount)
      return { ...fields, transactions: [...fields.transactions, ...more] }
    }
    assert.equal(seen({ ...moved('4', back('1')), status: 'DECLINED' }).final, (DUE * 3n) / 10n)
    assert.equal(seen({ ...moved('15', back('5')), status: 'COMPLETE' }).final, DUE)
    const kept = seen({ ...moved('15', back('5', 'ROLLBACK_TO_MERCHANT')), status: 'COMPLETE' })
    assert.deepEqual([kept.final, kept.total?.price], [(DUE * 3n) / 2n, DUE])
  })

  it('money that Whitepay sent back in full is known to be gone, in whatever status', () => {
    const came = deposits('USDT', '10', '4')
    const back = { currency: 'USDT', value: '4', status: 'COMPLETE', type: 'ROLLBACK_TO_CLIENT' }
    const told = (status: string, ...sums: object[]) => report({ ...came, transactions: sums, status })
    for (const status of ['OPEN', 'PARTIALLY_FULFILLED', 'COMPLETE', 'DECLINED']) {
      const { final, pending, isPart, ends } = seen({ ...came, transactions: [...came.transactions, back], status })
      const part = status === 'COMPLETE' ? undefined : true
      const expected = [0n, 0n, part, status === 'DECLINED' ? 'cancelled' : undefined]
      assert.deepEqual([final, pending, isPart, ends], expected, status)
    }
    // what went back is listed, and no deposit that it could be of
    assert.deepEqual([told('COMPLETE', back).outcome, told('DECLINED', back).outcome], ['unknown', 'cancelled'])
    const other = told('DECLINED', ...came.transactions, { ...back, currency: 'BTC' })
    assert.equal(other.outcome, 'unknown')
  })

  // docs.whitepay.com, webhooks/events, "Rollback to account"
  it('an overpayment that went to our account is reported beside the price, by its order and by its event', () => {
    const kept = { id: 't2', currency: 'USDT', value: '5', status: 'COMPLETE', type: 'ROLLBACK_TO_MERCHANT' }
    const told = (change: object) => {
      const fields = deposits('USDT', '10', '15')
      const order = { ...fields, transactions: [...fields.transactions, { ...kept, ...change }], status: 'COMPLETE' }
      return seen(order)
    }
    const unmatched = [{ asset: 'USDT', units: 5n * 10n ** 18n, reference: 'whitepay:t2', isOneSum: true }]
    assert.deepEqual([told({}).final, told({}).unmatched], [(DUE * 3n) / 2n, unmatched])
    assert.deepEqual(told({}).total?.rate, { asset: 'USDT', units: 10n ** 19n })
    assert.deepEqual(told({ status: 'OPEN' }).unmatched, [])
    assert.deepEqual(told({ type: 'ROLLBACK_TO_CLIENT' }).unmatched, [])
    const event = (change: object) => {
      const transaction = { ...kept, order_id: 'w1', external_order_id: null, stock_orders: [], ...change }
      const body = JSON.stringify({ transaction, event_type: 'rollback::to_merchant' })
      return read(body, sign(MERCHANT_TOKEN, body))
    }
    assert.deepEqual([event({}).providerReference, event({}).unmatched], ['w1', unmatched])
    assert.deepEqual(event({ currency: 'USDC' }).unmatched?.[0]?.units, 5_000_000n)
    assert.equal(event({ type: 'ROLLBACK_TO_CLIENT' }).unmatched, undefined)
  })

  it('a part is the deposits over what was to be deposited, and never completes the order', () => {
    const told = seen({
      ...deposits('BTC', '0.0004', '0.0001', '0.0002'),
      status: 'PARTIALLY_FULFILLED',
      received_total: '18',
    })
    assert.deepEqual([told.final, told.pending, told.isPart], [(DUE * 3n) / 4n, 0n, true])
    const nearly = seen({ ...deposits('USDT', '13.35', '13.349999'), status: 'PARTIALLY_FULFILLED' })
    assert.equal(nearly.isPart, true)
    // 0.01 EUR worth of BTC for 30 EUR
    const dust = seen({
      ...deposits('BTC', '0.00050000', '0.00000016'),
      status: 'PATIALLY_FULFILLED',
      received_total: '0.01',
    })
    assert.equal(dust.final, (DUE * 16n) / 50_000n)
  })

  it('a part that staff completed in the console counts as what was deposited', () => {
    const told = seen({ ...deposits('USDT', '13.35', '5.34'), status: 'COMPLETE', received_total: '5.1' })
    assert.equal(told.final, (DUE * 534n) / 1335n)
  })

  it('a part in another coin than the one that was chosen is not counted, and asked about again', () => {
    const fields = deposits('USDT', '13.35', '5')
    const other = { ...fields, transactions: [{ currency: 'BTC', value: '5', status: 'COMPLETE' }] }
    for (const odd of [other, { ...fields, expected_amount: null }, { ...fields, deposited_currency: null }])
      assert.equal(report({ ...odd, status: 'PARTIALLY_FULFILLED' }).outcome, 'unknown')
    assert.equal(report({ status: 'PARTIALLY_FULFILLED', received_total: '12.34' }).outcome, 'unknown')
  })

  it('money of an open order is pending; a deposit that was declined never came', () => {
    const told = seen(deposits('USDT', '13.35', '13.35'))
    assert.deepEqual([told.final, told.pending], [0n, DUE])
    const declined = { transactions: [{ currency: 'USDT', value: '13.35', status: 'DECLINED' }] }
    assert.equal(report({ ...deposits('USDT', '13.35'), ...declined }).outcome, 'waiting')
  })

  it('of an order that staff completed, only complete deposits are final, unless none is', () => {
    const fields = deposits('USDT', '10', '2', '3')
    const withLast = (status: string) => {
      const [first, last] = fields.transactions
      return { ...fields, transactions: [first, { ...last, status }], status: 'COMPLETE' }
    }
    const told = seen(withLast('OPEN'))
    assert.deepEqual([told.final, told.pending], [DUE / 5n, (DUE * 3n) / 10n])
    assert.equal(seen(withLast('COMPLETE')).final, DUE / 2n)
    const open = { ...fields, transactions: fields.transactions.map((one) => ({ ...one, status: 'OPEN' })) }
    assert.equal(seen({ ...open, status: 'COMPLETE' }).final, DUE / 2n)
  })

  it('what a declined order moved to the merchant account is reported too, with and without a deposit that counts', () => {
    const kept = { id: 't2', currency: 'USDT', value: '5', status: 'COMPLETE', type: 'ROLLBACK_TO_MERCHANT' }
    const unmatched = [{ asset: 'USDT', units: 5n * 10n ** 18n, reference: 'whitepay:t2', isOneSum: true }]
    const fields = deposits('USDT', '10', '15')
    const part = seen({ ...fields, transactions: [...fields.transactions, kept], status: 'DECLINED' })
    assert.deepEqual([part.final, part.unmatched], [(DUE * 3n) / 2n, unmatched])
    const same = deposits('USDT', '10', '5')
    const moved = seen({ ...same, transactions: [...same.transactions, kept], status: 'DECLINED' })
    assert.deepEqual([moved.final, moved.unmatched, moved.total?.contains], [DUE / 2n, unmatched, ['whitepay:']])
    // staff may complete it after that
    const done = seen({ ...same, transactions: [...same.transactions, kept], status: 'COMPLETE' })
    assert.deepEqual([done.final, done.unmatched, done.total?.contains], [DUE / 2n, unmatched, ['whitepay:']])
    const none = report({ ...fields, transactions: [kept], status: 'DECLINED' })
    assert.deepEqual([none.outcome, none.unmatched], ['cancelled', unmatched])
    const unnamed = [5, 6].map((value) => ({ ...kept, id: undefined, value: String(value) }))
    const two = report({ ...fields, transactions: unnamed, status: 'DECLINED' })
    assert.deepEqual(new Set(two.unmatched?.map(({ reference }) => reference)).size, 2)
  })

  // docs.whitepay.com, webhooks/events: only a COMPLETE transaction is final
  it('a deposit that is not complete is pending, whatever the status of its order', () => {
    const fields = deposits('USDT', '10', '2')
    const transactions = [...fields.transactions, { currency: 'USDT', value: '3', status: 'OPEN', type: 'DEPOSIT' }]
    for (const status of ['PARTIALLY_FULFILLED', 'DECLINED']) {
      const told = seen({ ...fields, transactions, status })
      assert.deepEqual([told.final, told.pending, told.isPart], [DUE / 5n, (DUE * 3n) / 10n, true], status)
    }
    const back = { currency: 'USDT', value: '1', status: 'OPEN', type: 'ROLLBACK_TO_CLIENT' }
    const less = seen({ ...fields, transactions: [...fields.transactions, back], status: 'DECLINED' })
    assert.deepEqual([less.final, less.pending], [DUE / 10n, 0n], 'what goes back is no money of ours')
  })

  it('money of a declined order is a part of it', () => {
    const told = seen({ ...deposits('USDT', '13.35', '13.35'), status: 'DECLINED' })
    assert.deepEqual([told.final, told.isPart], [DUE, true])
  })
})

describe('whitepay: status map', () => {
  it('waits while nothing came', () => {
    for (const status of ['INIT', 'OPEN', 'NEW']) assert.equal(report({ status }).outcome, 'waiting')
  })

  it('gives the own amount of an order in USDC', () => {
    const told = seen({ status: 'COMPLETE', currency: 'USDC', value: '13.33', received_total: '12.73' })
    assert.equal(told.final, 13_330_000n)
  })

  it('calls a declined order cancelled before our deadline and expired after it', () => {
    for (const status of ['DECLINED', 'CANCELED']) {
      assert.equal(report({ status }).outcome, 'cancelled')
      assert.equal(report({ status }, NOW + 999).outcome, 'cancelled')
      assert.equal(report({ status }, NOW + 1000).outcome, 'expired')
    }
  })

  it('never takes a word, a currency, a price or an order that it does not know', () => {
    const paid = { ...deposits('USDT', '13.35', '13.35'), status: 'COMPLETE', received_total: '12.34' }
    for (const status of ['COMPLETED', 'UNDER_REVIEW', 'toString', ''])
      assert.equal(report({ ...paid, status }).outcome, 'unknown')
    assert.equal(report({ ...paid, currency: 'USDT' }).outcome, 'unknown')
    assert.equal(report({ ...paid, value: '1.00' }).outcome, 'unknown')
    assert.equal(report({ ...paid, value: undefined, expected_amount: '12.34' }).outcome, 'unknown')
    assert.equal(report({ ...paid, external_order_id: 'other' }).outcome, 'unknown')
    assert.equal(report({ ...paid, external_order_id: undefined }).outcome, 'unknown')
  })

  it('says where the payer paid from', () => {
    assert.match(report({ status: 'COMPLETE', is_internal: false }).providerStatus, /outside wallet/)
  })
})

describe('whitepay: prices', () => {
  const rows = [
    { ticker: 'EUR', min_amount: '0.125', max_amount: '500.999' },
    { ticker: 'USDC', min_amount: '1', max_amount: '99999999' },
  ]
  const usdc = payment.due

  it('asks in fiat where it is listed, else in USDC, else refuses', () => {
    assert.equal(choosePrice(rows, payment).asked, payment.fiat)
    const chf = { asset: 'CHF', units: 100n } as const
    assert.equal(choosePrice(rows, { due: usdc, fiat: chf }).asked, usdc)
    assert.throws(() => choosePrice([], payment), ProviderRefusal)
  })

  it('rounds limits towards what is allowed, and knows the ceiling of all currencies', () => {
    const { min: least, max: most } = choosePrice(rows, payment)
    assert.deepEqual([least?.units, most?.units], [13n, 50_099n])
    const inUsdc = choosePrice(rows.slice(1), payment)
    assert.equal(inUsdc.max?.units, 10_000_000_000_000n)
    assert.throws(() => assertWithin({ ...inUsdc, asked: { asset: 'USDC', units: 999_999n } }), /at least 1.000000/)
    assert.throws(() => assertWithin({ ...inUsdc, asked: { asset: 'USDC', units: 10n ** 14n } }), /at most/)
  })
})

describe('whitepay: answers', () => {
  const answers = (answer: Partial<ProviderAnswer>) => {
    const calls: ProviderCall[] = []
    const http = async (call: ProviderCall): Promise<ProviderAnswer> => {
      calls.push(call)
      return { status: 200, headers: {}, text: '{}', ...answer }
    }
    return { api: openWhitepayApi(http, { base: 'https://api.whitepay.com', token: 'api-token' }), calls }
  }
  const ask = (answer: Partial<ProviderAnswer>) =>
    answers(answer).api({ method: 'POST', path: '/x', body: { amount: '1' }, missing: 'account' })
  const reason = (expected: string) => (error: unknown) => error instanceof ProviderRefusal && error.reason === expected

  it('sends the token and the documented headers', async () => {
    const { api, calls } = answers({})
    await api({ method: 'POST', path: '/private-api/crypto-orders/shop', body: { amount: '1' } })
    assert.deepEqual(calls, [
      {
        method: 'POST',
        url: 'https://api.whitepay.com/private-api/crypto-orders/shop',
        headers: {
          authorization: 'Bearer api-token',
          accept: 'application/json',
          'content-type': 'application/json',
        },
        body: '{"amount":"1"}',
      },
    ])
  })

  it('tells a definite refusal from trouble', async () => {
    await assert.rejects(ask({ status: 401, text: '{"message":"no"}' }), reason('credentials'))
    await assert.rejects(ask({ status: 404, text: '{"message":"no"}' }), reason('account'))
    await assert.rejects(ask({ status: 400, text: '{"message":"no"}' }), reason('request'))
    await assert.rejects(ask({ status: 422, text: '{"errors":{"amount":["too small"]}}' }), reason('amount'))
    await assert.rejects(ask({ status: 422, text: '{"errors":{"currency":["unknown"]}}' }), reason('request'))
    const taken = '{"errors":{"external_order_id":["has already been taken"]}}'
    await assert.rejects(ask({ status: 422, text: taken }), ProviderTrouble)
    for (const status of [302, 500, 503]) await assert.rejects(ask({ status, text: '<h1>no</h1>' }), ProviderTrouble)
    await assert.rejects(ask({ status: 200, text: '<h1>no</h1>' }), ProviderTrouble)
    const tooMany = { status: 429, headers: { 'retry-after': '7' } }
    await assert.rejects(ask(tooMany), (error) => error instanceof ProviderTrouble && error.retryAfterMs === 7000)
  })
})

describe('whitepay: recovery and lists', () => {
  const reference = payment.merchantReference
  const order = { id: 'w1', status: 'OPEN', external_order_id: reference, acquiring_url: 'https://page.example/w1' }
  const request = { ...payment, merchantReference: reference } as PaymentRequest

  /** Whitepay's answers by path; records the requests. */
  const openWith = (answers: Record<string, unknown>) => {
    const asked: string[] = []
    let nowMs = NOW
    const api: WhitepayApi = async ({ path }) => {
      asked.push(path)
      return answers[path.split('?')[0] ?? '']
    }
    const orders = openHostedOrders(api, () => nowMs, 'my shop')
    return { orders, asked, pass: (ms: number) => (nowMs += ms) }
  }
  const LIST = '/private-api/crypto-orders/my%20shop'

  it('asks by our reference alone, and takes an open order before a declined one', async () => {
    const declined = { ...order, id: 'w0', status: 'DECLINED' }
    const { orders, asked } = openWith({ [LIST]: { orders: [declined, order] } })
    const recovery = await orders.recover(request)
    assert.ok(recovery.outcome === 'found')
    assert.equal(recovery.instructions.providerReference, 'w1')
    assert.deepEqual(asked, [`${LIST}?external_order_id=${reference}&page=1&per_page=20`])
  })

  it('does not take a list that was not filtered, or no list, for an absence', async () => {
    const strangers = { orders: [{ ...order, external_order_id: 'somebody else' }] }
    await assert.rejects(openWith({ [LIST]: strangers }).orders.recover(request), ProviderTrouble)
    await assert.rejects(openWith({ [LIST]: {} }).orders.recover(request), ProviderTrouble)
    assert.deepEqual(await openWith({ [LIST]: { orders: [] } }).orders.recover(request), { outcome: 'absent' })
  })

  it('reads the order when the list leaves out its page, and calls it lost without one, or when it is over', async () => {
    const { acquiring_url: _, ...bare } = order
    const found = openWith({ [LIST]: { orders: [bare] }, [`${LIST}/w1`]: { order } })
    assert.equal((await found.orders.recover(request)).outcome, 'found')
    const lost = openWith({ [LIST]: { orders: [bare] }, [`${LIST}/w1`]: { order: bare } })
    assert.deepEqual(await lost.orders.recover(request), { outcome: 'lost', providerReference: 'w1' })
    const over = openWith({ [LIST]: { orders: [{ ...order, status: 'DECLINED' }] } })
    assert.deepEqual(await over.orders.recover(request), { outcome: 'lost', providerReference: 'w1' })
  })

  it('asks for the currencies once an hour', async () => {
    const path = '/currencies/crypto-order-target-currencies'
    const { orders, asked, pass } = openWith({ [path]: { currencies: [{ ticker: 'EUR' }] } })
    await orders.peekPrice(payment)
    pass(59 * 60_000)
    await orders.peekPrice(payment)
    assert.equal(asked.length, 1)
    pass(60_000)
    await orders.peekPrice(payment)
    assert.equal(asked.length, 2)
    await assert.rejects(openWith({ [path]: {} }).orders.peekPrice(payment), ProviderTrouble)
  })
})

import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, verify } from 'node:crypto'
import { describe, it } from 'node:test'
import { CallbackRefused } from '../../kernel/callback.ts'
import type { Fiat } from '../../kernel/money.ts'
import type { PaymentRequest } from '../channel.ts'
import { readSettings } from '../kind.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import { coinbase } from './adapter.ts'
import { type CoinbaseApi, openCoinbaseApi } from './api.ts'
import { readCoinbaseCallback } from './callback.ts'
import { verifyHook } from './hook-signature.ts'
import { jwtUri, makeJwt, readCdpKey } from './jwt.ts'
import { openOnramp } from './onramp.ts'
import { publicAddress } from './public-address.ts'
import type { CoinbaseValues } from './settings.ts'
import { hintOf, readPurchase } from './transactions.ts'

// THROW-AWAY: the seed bytes 00..1f, and secrets that were made up for vectors
const ED25519 = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8DoQe/884Qvh1w3RjnS8CZZ+TWMJulDV8d3IZkElUxuA=='
const KEY_ID = '11111111-2222-3333-4444-555555555555'
const SESSIONS = 'https://api.cdp.coinbase.com/platform/v2/onramp/sessions'
const JWT =
  'eyJhbGciOiJFZERTQSIsImtpZCI6IjExMTExMTExLTIyMjItMzMzMy00NDQ0LTU1NTU1NTU1NTU1NSIsInR5cCI6IkpXVCIsIm5vbmNlIjoiMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYifQ.eyJzdWIiOiIxMTExMTExMS0yMjIyLTMzMzMtNDQ0NC01NTU1NTU1NTU1NTUiLCJpc3MiOiJjZHAiLCJ1cmlzIjpbIlBPU1QgYXBpLmNkcC5jb2luYmFzZS5jb20vcGxhdGZvcm0vdjIvb25yYW1wL3Nlc3Npb25zIl0sImlhdCI6MTcxODAwMDAwMCwibmJmIjoxNzE4MDAwMDAwLCJleHAiOjE3MTgwMDAxMjB9.ZmEwqzgbFeMxQLgYHmifkSIjYSKbY0eSrXLP-Lo0HXnddA9U_NNTYQ0rflCIMdHuEtlAfKSsDZctk1E4rRKnCQ'
const HOOK_SECRET = '9f1c3f0e-6d59-4d1b-8d8a-3f6f2d9b0c11'
const HOOK_BODY =
  '{"eventType":"onramp.transaction.success","transactionId":"1ef6a1c2-0000-6000-8000-000000000001","status":"ONRAMP_TRANSACTION_STATUS_SUCCESS","partnerUserRef":"sandbox-ord20240610A1"}'
const HOOK_HEADERS = {
  'content-type': 'application/json',
  'x-event-id': 'evt-0001',
  'x-event-type': 'onramp.transaction.success',
  'x-hook0-signature':
    't=1718000101,h=content-type x-event-id x-event-type,v1=cf2463e8da7740b5e7c784ec70f4f7c6d299261ed4d0857cc2a6e196c6417a62',
}
const HOOK_MS = 1_718_000_101_000

describe('coinbase: JWT', () => {
  const call = { method: 'POST', url: SESSIONS, nowMs: 1_718_000_000_000 }

  it('is the vector, byte for byte', () => {
    const made = makeJwt(readCdpKey(KEY_ID, ED25519), { ...call, nonce: '0123456789abcdef0123456789abcdef' })
    assert.equal(made, JWT)
  })

  it('is signed with ES256 in the short form, also from PEM with written-out line feeds', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    for (const type of ['pkcs8', 'sec1'] as const) {
      const pem = privateKey.export({ format: 'pem', type }).toString()
      for (const secret of [pem, pem.replaceAll('\n', '\\n')]) {
        const [head = '', body = '', signature = ''] = makeJwt(readCdpKey('k', secret), call).split('.')
        const bytes = Buffer.from(signature, 'base64url')
        assert.equal(bytes.length, 64)
        const message = Buffer.from(`${head}.${body}`)
        assert.ok(verify('sha256', message, { key: publicKey, dsaEncoding: 'ieee-p1363' }, bytes))
        assert.equal(JSON.parse(Buffer.from(head, 'base64url').toString()).alg, 'ES256')
      }
    }
  })

  it('is good for one method, host and path, and has a nonce of its own', () => {
    assert.equal(jwtUri('GET', 'http://127.0.0.1:4001/coinbase/x?page_size=50'), 'GET 127.0.0.1:4001/coinbase/x')
    const key = readCdpKey(KEY_ID, ED25519)
    assert.notEqual(makeJwt(key, call), makeJwt(key, call))
  })

  it('refuses a malformed key, without repeating it', () => {
    const swapped = Buffer.concat([Buffer.from(ED25519, 'base64').subarray(0, 32), Buffer.alloc(32)])
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    const wrong = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    const given = { KEY_ID, WEBHOOK_SECRET: 's' }
    for (const secret of ['secret', swapped.toString('base64'), wrong, '-----BEGIN EC PRIVATE KEY-----']) {
      assert.throws(() => readCdpKey('k', secret))
      const reading = readSettings(coinbase, { ...given, KEY_SECRET: secret })
      assert.ok(reading.outcome === 'faulty')
      assert.deepEqual([reading.faults.length, reading.faults[0]?.message.includes(secret)], [1, false])
    }
    assert.equal(readSettings(coinbase, { ...given, KEY_SECRET: ED25519 }).outcome, 'set')
    assert.equal(readSettings(coinbase, { ...given, KEY_SECRET: ED25519, NETWORK: 'base' }).outcome, 'faulty')
  })
})

describe('coinbase: signature of callbacks', () => {
  const check = (secret: string, body: string, headers: Record<string, string>, seconds: number): void =>
    verifyHook(secret, { headers, rawBody: Buffer.from(body) }, seconds * 1000)
  const refuses = (...parameters: Parameters<typeof check>): void =>
    assert.throws(() => check(...parameters), CallbackRefused)

  // published by Hook0
  const first = 't=1800000000,h=x-event-id x-delivery-id,v1='
  const v1 = '19a6fb8f6581715b241a93af02a58611c3b0ac7b747a8d2a5b120ee418d0c347'
  const ids = { 'x-event-id': 'evt-1', 'x-delivery-id': 'dlv-1' }
  const event = '{"event":"user.created"}'
  const hook0 = 'a-subscription-secret'

  it('takes the vectors that Hook0 publishes', () => {
    check(hook0, event, { ...ids, 'x-hook0-signature': first + v1 }, 1_800_000_000)
    const second = 't=1636936200,h=x-test x-test2,v1=493c35f05443fdb74cb99fd4f00e0e7653c2ab6b24fbc97f4a7bd4d56b31758a'
    check('secret', 'hello !', { 'x-test': 'val1', 'x-test2': 'val2', 'x-hook0-signature': second }, 1_636_936_200)
  })

  it('refuses the vector whose order of names is swapped', () => {
    const swapped = `t=1800000000,h=x-delivery-id x-event-id,v1=${v1}`
    refuses(hook0, event, { ...ids, 'x-hook0-signature': swapped }, 1_800_000_000)
  })

  it('takes the body scheme only where there is no v1', () => {
    const v0 = 'v0=1b3d69df55f1e52f05224ba94a5162abeb17ef52cd7f4948c390f810d6a87e98'
    check('secret', 'hello !', { 'x-hook0-signature': `t=1636936200,${v0}` }, 1_636_936_200)
    const both = `t=1636936200,${v0},h=x-test,v1=${'0'.repeat(64)}`
    refuses('secret', 'hello !', { 'x-test': 'val1', 'x-hook0-signature': both }, 1_636_936_200)
  })

  it('takes the vector of an Onramp callback', () => {
    check(HOOK_SECRET, HOOK_BODY, HOOK_HEADERS, 1_718_000_101)
  })

  it('refuses one byte changed, a header missing or changed, another secret', () => {
    refuses(HOOK_SECRET, HOOK_BODY.replace('SUCCESS"', 'SUCCESS" '), HOOK_HEADERS, 1_718_000_101)
    const { 'x-event-id': _, ...without } = HOOK_HEADERS
    refuses(HOOK_SECRET, HOOK_BODY, without, 1_718_000_101)
    refuses(HOOK_SECRET, HOOK_BODY, { ...HOOK_HEADERS, 'x-event-id': 'evt-0002' }, 1_718_000_101)
    refuses('other', HOOK_BODY, HOOK_HEADERS, 1_718_000_101)
  })

  it('refuses what is older or newer than five minutes', () => {
    check(HOOK_SECRET, HOOK_BODY, HOOK_HEADERS, 1_718_000_401)
    refuses(HOOK_SECRET, HOOK_BODY, HOOK_HEADERS, 1_718_000_402)
    check(HOOK_SECRET, HOOK_BODY, HOOK_HEADERS, 1_717_999_801)
    refuses(HOOK_SECRET, HOOK_BODY, HOOK_HEADERS, 1_717_999_800)
  })

  it('refuses headers that cannot be read', () => {
    for (const header of [
      '',
      'x',
      't=1',
      `t=x,v0=${v1}`,
      `v1=${v1}`,
      `t=1,v1=${v1}`,
      `t=1,t=1,v0=${v1}`,
      't=1,h=a,v1=zz',
    ])
      refuses(hook0, event, { 'x-hook0-signature': header }, 1)
    refuses(hook0, event, {}, 1)
  })
})

describe('coinbase: callbacks', () => {
  const signed = (fields: Record<string, unknown>) => {
    const body = JSON.stringify(fields)
    const time = Math.floor(HOOK_MS / 1000)
    const v1 = createHmac('sha256', HOOK_SECRET).update(`${time}.x-event-id.e1.${body}`).digest('hex')
    const headers = { 'x-event-id': 'e1', 'x-hook0-signature': `t=${time},h=x-event-id,v1=${v1}` }
    return { headers, rawBody: Buffer.from(body) }
  }
  const read = (fields: Record<string, unknown>, live = false) =>
    readCoinbaseCallback(signed(fields), { secret: HOOK_SECRET, nowMs: HOOK_MS, live })
  const success = {
    eventType: 'onramp.transaction.success',
    transactionId: 't1',
    status: 'ONRAMP_TRANSACTION_STATUS_SUCCESS',
    purchaseAmount: { value: '54.21', currency: 'USDC' },
    walletAddress: '0xAb',
    partnerUserRef: 'ref',
  }

  it('reads the vector, without the mark of a simulation', () => {
    const callback = { headers: HOOK_HEADERS, rawBody: Buffer.from(HOOK_BODY) }
    const news = readCoinbaseCallback(callback, { secret: HOOK_SECRET, nowMs: HOOK_MS, live: false })
    assert.deepEqual([news.merchantReference, news.providerReference], ['ord20240610A1', null])
    assert.equal(news.providerStatus, 'onramp.transaction.success: SUCCESS')
  })

  it('never calls money final', () => {
    const { report } = read(success)
    assert.ok(report?.outcome === 'seen')
    assert.deepEqual([report.final, report.pending], [0n, 54_210_000n])
    assert.equal(read({ ...success, status: 'ONRAMP_TRANSACTION_STATUS_FAILED' }).report?.outcome, 'waiting')
    assert.equal(read({ ...success, status: 'ONRAMP_TRANSACTION_STATUS_NEW' }).report?.outcome, 'unknown')
  })

  it('names the address where there is no reference, and ignores the headless API', () => {
    const { partnerUserRef: _, ...nameless } = success
    assert.equal(read(nameless).providerReference, '0xAb')
    const headless = read({ eventType: 'onramp.transaction.updated', orderId: 'o1', status: 'x' })
    assert.deepEqual([headless.merchantReference, headless.providerReference, headless.report], [null, null, null])
  })

  it('refuses a simulated purchase in live, and a body without its three fields', () => {
    assert.throws(() => read({ ...success, partnerUserRef: 'sandbox-ref' }, true), CallbackRefused)
    for (const name of ['eventType', 'transactionId', 'status'])
      assert.throws(() => read({ ...success, [name]: undefined }), CallbackRefused)
  })
})

describe('coinbase: transactions', () => {
  const ADDRESS = `0x${'Ab'.repeat(20)}`
  const item = (word: string, fields: object = {}) => ({
    status: `ONRAMP_TRANSACTION_STATUS_${word}`,
    purchase_amount: { value: '54.21', currency: 'USDC' },
    wallet_address: ADDRESS.toLowerCase(),
    ...fields,
  })

  it('knows every documented word and no other', () => {
    const meaning = (word: string): string => readPurchase(item(word)).meaning
    for (const word of ['UNSPECIFIED', 'CREATED', 'AWAITING_AUTH', 'AWAITING_PAYMENT'])
      assert.equal(meaning(word), 'quiet')
    for (const word of ['IN_PROGRESS', 'SUCCESS']) assert.equal(meaning(word), 'moving')
    assert.equal(meaning('FAILED'), 'failed')
    for (const word of ['ON_HOLD', 'toString', '', 'success']) assert.equal(meaning(word), 'unknown')
    assert.equal(readPurchase({ status: 'SUCCESS' }).meaning, 'unknown')
    assert.equal(readPurchase(null).meaning, 'unknown')
  })

  it('reads both spellings of a purchase, and cuts what USDC does not have', () => {
    const snake = readPurchase(item('SUCCESS', { purchase_amount: { value: '1.0000019', currency: 'usdc' } }))
    assert.equal(snake.units, 1_000_001n)
    const camel = { status: 'ONRAMP_TRANSACTION_STATUS_FAILED', failureReason: 'X_BUY_FAILED' }
    assert.equal(readPurchase(camel).providerStatus, 'FAILED (X_BUY_FAILED)')
  })

  it('hints at what is on its way to this address, in USDC, and at nothing else', () => {
    const moving = [item('SUCCESS'), item('IN_PROGRESS', { purchase_amount: { value: '1', currency: 'USDC' } })]
    assert.equal(hintOf({ transactions: moving }, ADDRESS).pending, 55_210_000n)
    const other = [
      item('SUCCESS', { wallet_address: `0x${'1'.repeat(40)}` }),
      item('SUCCESS', { purchase_amount: { value: '54.21', currency: 'ETH' } }),
      item('CREATED'),
      item('ON_HOLD'),
    ]
    assert.deepEqual(hintOf({ transactions: other }, ADDRESS), {
      pending: 0n,
      providerStatus: 'Coinbase: SUCCESS, CREATED, ON_HOLD',
    })
    assert.equal(hintOf({ transactions: [] }, ADDRESS).providerStatus, 'Coinbase: no purchase yet')
    assert.throws(() => hintOf({}, ADDRESS), ProviderTrouble)
  })
})

describe('coinbase: the payer’s address', () => {
  it('is sent only when it is public', () => {
    for (const ip of ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111']) assert.equal(publicAddress(ip), ip)
    assert.equal(publicAddress('::ffff:8.8.8.8'), '8.8.8.8')
    const hidden = ['10.1.2.3', '127.0.0.1', '172.16.0.1', '192.168.1.1', '169.254.1.1', '100.64.0.1', '::1', 'fe80::1']
    for (const ip of [...hidden, 'fd00::1', '2001:db8::1', '::ffff:10.0.0.1', '224.0.0.1', 'localhost', '', null])
      assert.equal(publicAddress(ip), null)
  })
})

describe('coinbase: answers', () => {
  it('tells a definite refusal from trouble', async () => {
    const ask = (status: number, text: string, headers = {}) => {
      const api = openCoinbaseApi(
        async () => ({ status, headers, text }),
        () => HOOK_MS,
        readCdpKey(KEY_ID, ED25519),
      )
      return api({ method: 'POST', url: SESSIONS, body: {} })
    }
    const reason = (expected: string) => (error: unknown) =>
      error instanceof ProviderRefusal && error.reason === expected
    const invalid = '{"errorType":"invalid_request","errorMessage":"bad"}'
    await assert.rejects(ask(400, invalid), reason('request'))
    await assert.rejects(ask(400, invalid), /Coinbase: bad/)
    await assert.rejects(ask(401, '{}'), reason('credentials'))
    await assert.rejects(ask(403, ''), reason('account'))
    for (const status of [302, 500, 503]) await assert.rejects(ask(status, 'no'), ProviderTrouble)
    await assert.rejects(ask(201, 'no'), ProviderTrouble)
    const tooMany = ask(429, '', { 'retry-after': '3' })
    await assert.rejects(tooMany, (error) => error instanceof ProviderTrouble && error.retryAfterMs === 3000)
  })
})

// openapi.yaml of the CDP SDK, OnrampSessionRequest: paymentCurrency is required together with a preset amount
describe('coinbase: sessions', () => {
  const sent = async (asset: Fiat): Promise<Record<string, unknown>> => {
    const bodies: Record<string, unknown>[] = []
    const api: CoinbaseApi = async ({ body }) => {
      bodies.push({ ...body })
      return { session: { onrampUrl: 'https://pay.example/buy' } }
    }
    const values = { BASE_URL: 'https://api.example', STATUS_BASE_URL: '' } as CoinbaseValues
    const http = async () => ({ status: 200, headers: {}, text: '{}' })
    const onramp = openOnramp(api, values, { http, clock: () => 0, live: true })
    const request = { due: { asset: 'USDC', units: 54_000_000n }, fiat: { asset, units: 5000n }, returnUrl: null }
    await onramp.createSession({ ...request, payerIp: null, merchantReference: 'm' } as PaymentRequest, {
      address: '0x1',
      networkName: 'base',
    })
    return bodies[0] ?? {}
  }

  it('a preset amount names the currency that the payer pays in', async () => {
    for (const asset of ['EUR', 'USD', 'GBP'] as const) {
      const body = await sent(asset)
      assert.deepEqual([body.purchaseAmount, body.paymentCurrency], ['54.000000', asset])
    }
  })

  it('francs are no currency of a preset amount: the payer pays euros', async () => {
    for (const asset of ['CHF', 'XPF'] as const) {
      const body = await sent(asset)
      assert.deepEqual([body.purchaseAmount, body.paymentCurrency], ['54.000000', 'EUR'], asset)
    }
  })
})

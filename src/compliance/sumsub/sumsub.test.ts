import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { CallbackRefused } from '../../kernel/callback.ts'
import { IdentityProviderError } from '../identity-provider.ts'
import { openSumsubProvider } from './adapter.ts'
import { readSumsubCallback } from './callback.ts'
import { readReview } from './review.ts'
import { isDigest, signRequest } from './signature.ts'

const SECRET = 'sumsub-test-secret-key'
const WEBHOOK_SECRET = 'sumsub-webhook-secret'
const SECONDS = 1_607_551_635

test('requests are signed over seconds, method, path with query and body, with nothing between them', () => {
  const old = {
    method: 'POST',
    path: '/resources/accessTokens?userId=cfd20712-24a2-4c7d-9ab0-146f3c142335&levelName=basic-kyc-level&ttlInSecs=600',
    body: null,
  }
  assert.equal(signRequest(SECRET, SECONDS, old), '5f30072935ab7dc5707936da94be1de19462a01dc396e960cc322d2f47d811e0')
  const body = '{"userId":"cust-42","levelName":"basic-kyc-level","ttlInSecs":600}'
  const sdk = { method: 'POST', path: '/resources/accessTokens/sdk', body }
  const expected = '180e6145d2014ce76341c3ecbb90f3a5008cf574bf431f2ebd76c1817799613d'
  assert.equal(signRequest(SECRET, SECONDS, sdk), expected)
  assert.equal(signRequest(SECRET, SECONDS, { ...sdk, method: 'post', body: Buffer.from(body) }), expected)
  const status = { method: 'GET', path: '/resources/applicants/5b594ade0a975a36c9349e66/status', body: null }
  assert.equal(signRequest(SECRET, SECONDS, status), '5835b6c1ff517288d8c79ef78e9171af113e354227fa506c96dfdf232807e671')
})

const RAW =
  '{"applicantId":"5b594ade0a975a36c9349e66","inspectionId":"5b594ade0a975a36c9379e67","correlationId":"req-1f1b8b5e",' +
  '"externalUserId":"cust-42","levelName":"basic-kyc-level","type":"applicantReviewed",' +
  '"reviewResult":{"reviewAnswer":"GREEN"},"reviewStatus":"completed","createdAtMs":"2024-06-10 06:15:00.123",' +
  '"sandboxMode":true}'
const SHA256 = 'e9d907ad9a93a96140b570b5b99475fbf4b1faf0795b85229597233cf5656df9'

test('callbacks are digested over their raw bytes, as the vectors say', () => {
  const digest = (algorithm: string, secret: string, text: string) =>
    createHmac(algorithm, secret).update(text).digest('hex')
  assert.equal(digest('sha1', 'SoMe_SeCrEt_KeY', 'someText'), 'f6e92ffe371718694d46e28436f76589312df8db')
  assert.equal(digest('sha1', WEBHOOK_SECRET, RAW), '39795caadd536468da1f42cc305f9baa9e059afb')
  assert.equal(digest('sha256', WEBHOOK_SECRET, RAW), SHA256)
  assert.ok(isDigest(WEBHOOK_SECRET, Buffer.from(RAW), SHA256))
  const sha512 =
    'b2879b0788d4487de218247eec4456b2051447f4cd07cef255574a1f1c567b928e6656bdc1b58f711fa199e45fede4bf96d24eebee57924d2bed178e7e685314'
  assert.equal(digest('sha512', WEBHOOK_SECRET, RAW), sha512)
})

const callback = (headers: Record<string, string>, body = RAW) => {
  const named = { 'x-payload-digest-alg': 'HMAC_SHA256_HEX', 'x-payload-digest': SHA256, ...headers }
  return readSumsubCallback(WEBHOOK_SECRET, { headers: named, rawBody: Buffer.from(body) })
}

test('of a callback only its names are taken, and its time as UTC', () => {
  assert.deepEqual(callback({}), {
    applicantId: '5b594ade0a975a36c9349e66',
    type: 'applicantReviewed',
    createdAtText: '2024-06-10 06:15:00.123',
    createdAt: new Date('2024-06-10T06:15:00.123Z'),
    externalUserId: 'cust-42',
    sandbox: true,
  })
})

test('a changed byte, no digest, and every other algorithm are refused, also with a right digest of that algorithm', () => {
  const signed = (algorithm: string, name: string) => ({
    'x-payload-digest-alg': name,
    'x-payload-digest': createHmac(algorithm, WEBHOOK_SECRET).update(RAW).digest('hex'),
  })
  const refused: [Record<string, string>, string?][] = [
    [{}, RAW.replace('GREEN', 'GREEM')],
    [{}, `${RAW}\n`],
    [{ 'x-payload-digest': '' }],
    [{ 'x-payload-digest': SHA256.toUpperCase() }],
    [{ 'x-payload-digest-alg': '' }],
    [signed('sha1', 'HMAC_SHA1_HEX')],
    [signed('sha512', 'HMAC_SHA512_HEX')],
    [signed('sha1', 'HMAC_SHA256_HEX')],
  ]
  for (const [headers, body] of refused) assert.throws(() => callback(headers, body), CallbackRefused)
  for (const body of ['nonsense', '{}', 'null', RAW.replace('2024-06-10 06', 'yesterday')]) {
    const digest = createHmac('sha256', WEBHOOK_SECRET).update(body).digest('hex')
    assert.throws(() => callback({ 'x-payload-digest': digest }, body), CallbackRefused)
  }
})

test('every documented review word is mapped; every other one is unknown', () => {
  const levels = { level: 'basic', eddLevel: 'enhanced' }
  const outcome = (reviewStatus: unknown, reviewResult?: unknown) =>
    readReview({ reviewStatus, reviewResult, levelName: 'basic' }, levels).outcome
  assert.equal(outcome('init'), 'notStarted')
  for (const status of ['pending', 'queued', 'prechecked', 'onHold', 'awaitingUser', 'awaitingService'])
    assert.equal(outcome(status), 'pending')
  assert.equal(outcome('completed', { reviewAnswer: 'GREEN' }), 'approved')
  assert.equal(outcome('completed', { reviewAnswer: 'RED', reviewRejectType: 'FINAL' }), 'refused')
  assert.equal(outcome('completed', { reviewAnswer: 'RED', reviewRejectType: 'RETRY' }), 'retry')
  const unknown = [
    outcome('completed'),
    outcome('completed', { reviewAnswer: 'YELLOW' }),
    outcome('completed', { reviewAnswer: 'RED' }),
    outcome('completed', { reviewAnswer: 'green' }),
    outcome('toString'),
    outcome(undefined),
    outcome('pending2'),
    readReview(null, levels).outcome,
    readReview('text', levels).outcome,
  ]
  assert.deepEqual([...new Set(unknown)], ['unknown'])
  const levelOf = (levelName: unknown) => readReview({ reviewStatus: 'init', levelName }, levels).level
  assert.deepEqual(['basic', 'enhanced', 'other', undefined].map(levelOf), ['basic', 'enhanced', null, null])
  const comments = {
    reviewAnswer: 'RED',
    reviewRejectType: 'RETRY',
    moderationComment: ' Sharper. ',
    clientComment: 'PEP',
  }
  const review = readReview({ reviewStatus: 'completed', reviewResult: comments, levelName: 'basic' }, levels)
  assert.equal(review.payerMessage, 'Sharper.')
  assert.equal(JSON.stringify(review).includes('PEP'), false)
})

test('when a completed check was completed is read in UTC; any other text, or of an open check, is no date', () => {
  const dateOf = (reviewDate: unknown, reviewStatus = 'completed') =>
    readReview({ reviewStatus, reviewDate }, { level: 'basic', eddLevel: 'enhanced' }).reviewedAt?.toISOString() ?? null
  const at = '2024-06-10T06:15:00.000Z'
  const texts = ['2024-06-10 06:15:00', '2024-06-10 06:15:00+0000', '2024-06-10T06:15:00.123Z']
  assert.deepEqual(new Set(texts.map((text) => dateOf(text))), new Set([at]))
  const odd = ['2024-06-10 06:15:00+0200', '10.06.2024', '2024-13-40 06:15:00', 1_718_000_100_000, undefined, null]
  assert.deepEqual(new Set(odd.map((text) => dateOf(text))), new Set([null]))
  assert.equal(dateOf('2024-06-10 06:15:00', 'pending'), null)
})

type Handler = (request: IncomingMessage, response: ServerResponse) => void

async function withProvider(
  answer: Handler,
  work: (provider: ReturnType<typeof openSumsubProvider>) => Promise<void>,
): Promise<void> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const names = { level: 'basic level', eddLevel: 'enhanced', sdkUrl: 'https://sdk.example/x.js' }
  const secrets = { appToken: 'sbx:token', secretKey: SECRET, webhookSecret: WEBHOOK_SECRET }
  try {
    await work(openSumsubProvider({ baseUrl, ...names, ...secrets }, () => SECONDS * 1000 + 999, 300))
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const send = (response: ServerResponse, status: number, json: unknown): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))

test('a silent provider is unknown, a refusal is definite, and no message holds a secret', async () => {
  const silent: Handler = () => {}
  await withProvider(silent, async (provider) => {
    const fails = (error: unknown) =>
      error instanceof IdentityProviderError && error.kind === 'unknown' && error.cause !== undefined
    await assert.rejects(provider.createApplicant('abc'), fails)
  })
  const refusing: Handler = (_, response) =>
    send(response, 401, { description: `Bad token sbx:token ${SECRET}`, code: 401 })
  await withProvider(refusing, async (provider) => {
    const error: unknown = await provider.fetchReview('a').catch((thrown: unknown) => thrown)
    assert.ok(error instanceof IdentityProviderError)
    assert.deepEqual([error.kind, error.status], ['definite', 401])
    assert.equal(/sbx:token|sumsub-test-secret/.test(error.message), false)
  })
  await withProvider(
    (_, response) => void response.end('not json'),
    async (provider) => {
      await assert.rejects(provider.createApplicant('abc'), IdentityProviderError)
    },
  )
})

test('an applicant that exists already is read, not made again; the path is signed as it is sent', async () => {
  const seen: string[] = []
  const answer: Handler = (request, response) => {
    seen.push(`${request.method} ${request.url}`)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = chunks.length === 0 ? null : Buffer.concat(chunks)
      const signed = { method: request.method ?? '', path: request.url ?? '', body }
      assert.equal(request.headers['x-app-access-ts'], String(SECONDS))
      assert.equal(request.headers['x-app-access-sig'], signRequest(SECRET, SECONDS, signed))
      if (request.method === 'POST') send(response, 409, { description: 'exists', code: 409 })
      else send(response, 200, { id: 'applicant-1' })
    })
  }
  await withProvider(answer, async (provider) => {
    assert.deepEqual(await provider.createApplicant('abc'), { applicantId: 'applicant-1' })
  })
  assert.deepEqual(seen, [
    'POST /resources/applicants?levelName=basic%20level',
    'GET /resources/applicants/-;externalUserId=abc/one',
  ])
})

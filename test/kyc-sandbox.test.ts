import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { startProviders } from '../sandbox/providers/server.ts'

/* The imitation against the contract that it imitates: it refuses what the original refuses. */

const APP_TOKEN = 'sbx:test-token'
const SECRET = 'test-secret'

let providers: { url: string; stop(): Promise<void> }

before(async () => {
  const wallet = { chainId: 31337, usdcAddress: '', payerAddress: '', pay: async () => ({ txHash: '' }) }
  const callbackUrl = 'http://127.0.0.1:1/'
  const sumsub = { appToken: APP_TOKEN, secretKey: SECRET, webhookSecret: 'w', callbackUrl }
  providers = await startProviders({ port: 0, chain: wallet, sumsub })
})
after(() => providers.stop())

type Odd = { seconds?: number | string; token?: string; signed?: string; method?: string; secret?: string }

async function call(method: string, path: string, body: string | null, odd: Odd = {}) {
  const seconds = String(odd.seconds ?? Math.floor(Date.now() / 1000))
  const full = `/sumsub${path}`
  const text = `${seconds}${odd.method ?? method}${full}${odd.signed ?? body ?? ''}`
  const headers = {
    'x-app-token': odd.token ?? APP_TOKEN,
    'x-app-access-ts': seconds,
    'x-app-access-sig': createHmac('sha256', odd.secret ?? SECRET)
      .update(text)
      .digest('hex'),
    ...(body === null ? {} : { 'content-type': 'application/json' }),
  }
  const answer = await fetch(providers.url + full, { method, headers, ...(body === null ? {} : { body }) })
  return { status: answer.status, json: (await answer.json()) as Record<string, string> }
}

const CREATE = '/resources/applicants?levelName=basic-kyc-level'

test('the imitation refuses what the original refuses: time, token, signature', async () => {
  const body = '{"externalUserId":"u-0"}'
  const now = Math.floor(Date.now() / 1000)
  const odd: Odd[] = [
    { seconds: now - 62 },
    { seconds: now + 62 },
    { seconds: Date.now() },
    { seconds: '' },
    { token: 'sbx:other' },
    { token: 'prd:test-token' },
    { secret: 'other' },
    { method: 'post' },
    { signed: `${body}\n` },
    { signed: body.replace('u-0', 'u-1') },
  ]
  for (const one of odd) {
    const { status, json } = await call('POST', CREATE, body, one)
    assert.deepEqual([status, json.code], [401, 401], JSON.stringify(one))
  }
  const status = '/resources/applicants/x/status'
  assert.equal((await call('GET', status, null, { signed: '{}' })).status, 401, 'an empty body is not {}')
  assert.equal((await call('GET', status, null)).status, 404)
  assert.equal((await fetch(`${providers.url}/sumsub${status}`)).status, 401)
})

test('one applicant for one of our ids; both ways to a session; reviews of the sandbox', async () => {
  const made = await call('POST', CREATE, '{"externalUserId":"u-1"}')
  assert.equal(made.status, 201)
  assert.equal((await call('POST', CREATE, '{"externalUserId":"u-1"}')).status, 409)
  assert.equal((await call('POST', '/resources/applicants', '{"externalUserId":"u-2"}')).status, 400)
  const one = await call('GET', '/resources/applicants/-;externalUserId=u-1/one', null)
  assert.equal(one.json.id, made.json.id)
  const sdk = '{"userId":"u-1","levelName":"basic-kyc-level","ttlInSecs":600}'
  assert.match((await call('POST', '/resources/accessTokens/sdk', sdk)).json.token ?? '', /^_act-sbx-/)
  const old = '/resources/accessTokens?userId=u-1&levelName=basic-kyc-level&ttlInSecs=600'
  assert.match((await call('POST', old, null)).json.token ?? '', /^_act-sbx-/)
  const id = made.json.id ?? ''
  const review = '{"reviewAnswer":"RED","rejectLabels":["FORGERY"],"reviewRejectType":"FINAL"}'
  assert.equal((await call('POST', `/resources/applicants/${id}/status/testCompleted`, review)).status, 200)
  const { json } = await call('GET', `/resources/applicants/${id}/status`, null)
  assert.equal(json.reviewStatus, 'completed')
  assert.match(json.reviewDate ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
  assert.equal((await call('POST', `/resources/applicants/${id}/reset`, null)).status, 200)
  const again = (await call('GET', `/resources/applicants/${id}/status`, null)).json
  assert.deepEqual([again.reviewStatus, again.levelName], ['init', 'basic-kyc-level'])
  assert.notEqual(again.attemptId, json.attemptId)
  assert.equal((await call('POST', '/resources/applicants/nobody/reset', null)).status, 404)
  const page = await (await fetch(`${providers.url}/sumsub/applicants`)).text()
  assert.ok(page.includes(id) && page.includes('value="enhanced"'))
  assert.equal((await fetch(`${providers.url}/stories/nonsense`, { method: 'POST' })).status, 404)
})

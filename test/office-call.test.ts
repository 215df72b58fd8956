import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ApiError, call, setGuard } from '../web/office/src/api/call.ts'

/* How the back office calls the API: what becomes of a request whose answer does not come, or not whole. */

/** Answers every POST so, and tells under which keys they came. */
function answerWith(t: TestContext, answers: (() => Response)[]): (string | null)[] {
  const keys: (string | null)[] = []
  t.mock.method(globalThis, 'fetch', async (_: string, init: RequestInit) => {
    if (init.method !== 'POST') return new Response('{}')
    keys.push(new Headers(init.headers).get('idempotency-key'))
    return answers.shift()?.() ?? assert.fail('one request too many')
  })
  logIn('ada')
  return keys
}

const logIn = (owner: string): void =>
  setGuard({ token: () => `of ${owner}`, owner: () => owner, renew: async () => false, stepUp: async () => {} })

const headers = { 'content-type': 'application/json' }
const whole = () => new Response('{"data":{"_id":"1"}}', { headers })
const brokenOff = () =>
  new Response(new ReadableStream({ start: (body) => body.error(new TypeError('network error')) }), { headers })

test('a POST whose answer breaks off after its headers is repeated under the same key', async (t) => {
  const keys = answerWith(t, [brokenOff, brokenOff, whole, whole])
  const approve = () => call('POST /api/next/refunds/{id}/approve', { path: { id: '1' } })
  for (let attempt = 0; attempt < 2; attempt += 1)
    await assert.rejects(approve, (error) => error instanceof ApiError && error.code === 'OFFLINE')
  assert.equal((await approve())._id, '1')
  await approve()
  const [first, second, third, fourth] = keys
  assert.ok(first)
  assert.deepEqual([second, third], [first, first])
  assert.notEqual(fourth, first)
})

test('the next person in the tab does not repeat the request of the one before; who comes back does', async (t) => {
  const keys = answerWith(t, [brokenOff, whole, whole])
  const vouch = () => call('POST /api/next/refunds/{id}/approve', { path: { id: '1' } })
  await assert.rejects(vouch)
  logIn('grace')
  await vouch()
  logIn('ada')
  await vouch()
  const [first, second, third] = keys
  assert.notEqual(second, first)
  assert.equal(third, first)
})

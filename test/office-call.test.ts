import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ApiError, call, callPage, type Guard, setGuard, within } from '../web/office/src/api/call.ts'

/* How the back office calls the API: what becomes of a request whose answer does not come, or not whole. */

/** Another press in the same form. */
const press = <Result>(run: () => Result): Result => within('form', run)

/** Answers every POST so, and tells under which keys they came, with which bodies. */
function answerWith(t: TestContext, answers: (() => Response)[], bodies: unknown[] = []): (string | null)[] {
  const keys: (string | null)[] = []
  t.mock.method(globalThis, 'fetch', async (_: string, init: RequestInit) => {
    if (init.method !== 'POST') return new Response('{}')
    keys.push(new Headers(init.headers).get('idempotency-key'))
    bodies.push(JSON.parse(String(init.body ?? 'null')))
    return answers.shift()?.() ?? assert.fail('one request too many')
  })
  logIn('ada')
  return keys
}

const logIn = (person: string, guard: Partial<Guard> = {}): void =>
  setGuard({
    token: () => `of ${person}`,
    person: () => person,
    renew: async () => false,
    returning: () => null,
    stepUp: async () => {},
    ...guard,
  })

const headers = { 'content-type': 'application/json' }
const whole = () => new Response('{"data":{"_id":"1"}}', { headers })
const brokenOff = () =>
  new Response(new ReadableStream({ start: (body) => body.error(new TypeError('network error')) }), { headers })

test('a POST whose answer breaks off after its headers is repeated under the same key', async (t) => {
  const keys = answerWith(t, [brokenOff, brokenOff, whole, whole])
  const approve = () => press(() => call('POST /api/next/refunds/{id}/approve', { path: { id: '1' } }))
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
  const vouch = () => press(() => call('POST /api/next/refunds/{id}/approve', { path: { id: '1' } }))
  await assert.rejects(vouch)
  logIn('grace')
  await vouch()
  logIn('ada')
  await vouch()
  const [first, second, third] = keys
  assert.notEqual(second, first)
  assert.equal(third, first)
})

const refused = (status: number, code: string) => () =>
  new Response(JSON.stringify({ error: { code, message: 'no' } }), {
    status,
    headers: { ...headers, 'retry-after': '2' },
  })

for (const [status, code] of [
  [401, 'UNAUTHORIZED'],
  [403, 'STEP_UP_REQUIRED'],
  [409, 'OBJECT_CONFLICT'],
  [429, 'TOO_MANY_REQUESTS'],
] as const)
  test(`a POST of unknown outcome stays the same request after a refusal in between: ${code}`, async (t) => {
    const keys = answerWith(t, [brokenOff, refused(status, code), whole, whole])
    const approve = () => press(() => call('POST /api/next/refunds/{id}/approve', { path: { id: '2' } }))
    const stepUp = () => Promise.reject(new Error('given up'))
    logIn('ada', { stepUp })
    await assert.rejects(approve)
    await assert.rejects(approve)
    await approve()
    await approve()
    const [first, second, third, fourth] = keys
    assert.deepEqual([second, third], [first, first])
    assert.notEqual(fourth, first)
  })

test('a POST that begins while its person logs in again is theirs: without an answer it is repeated under its key', async (t) => {
  const keys = answerWith(t, [brokenOff, whole])
  const approve = () => press(() => call('POST /api/next/refunds/{id}/approve', { path: { id: '5' } }))
  const login = Promise.withResolvers<boolean>()
  let token: string | null = null
  logIn('ada', { token: () => token, returning: () => login.promise })
  const waiting = approve()
  token = 'of ada'
  login.resolve(true)
  await assert.rejects(waiting)
  await approve()
  const [first, second] = keys
  assert.ok(first)
  assert.equal(second, first)
})

const confirm = () => press(() => call('POST /api/next/refunds/{id}/approve', { path: { id: '6' } }))

test('a request that begins while a person is asked to log in again does not go out for the next one', async (t) => {
  const keys = answerWith(t, [])
  const login = Promise.withResolvers<boolean>()
  logIn('ada', { token: () => null, returning: () => login.promise })
  const waiting = confirm()
  logIn('grace')
  login.resolve(false)
  await assert.rejects(waiting, (error) => error instanceof ApiError && error.code === 'UNAUTHORIZED')
  assert.deepEqual(keys, [])
})

for (const [status, code] of [
  [401, 'UNAUTHORIZED'],
  [403, 'STEP_UP_REQUIRED'],
] as const)
  test(`a refusal that arrives once the next person is there asks nothing of them, and nothing is sent: ${code}`, async (t) => {
    const asked: string[] = []
    const keys = answerWith(t, [
      () => {
        logIn('grace', {
          renew: async () => asked.push('renew') > 0,
          stepUp: async () => void asked.push('code'),
        })
        return refused(status, code)()
      },
    ])
    await assert.rejects(confirm, (error) => error instanceof ApiError && error.code === code)
    assert.deepEqual([keys.length, asked], [1, []])
  })

for (const [status, code] of [
  [401, 'UNAUTHORIZED'],
  [403, 'STEP_UP_REQUIRED'],
] as const)
  test(`a request that waits is not sent again once the next person is there: ${code}`, async (t) => {
    const keys = answerWith(t, [refused(status, code)])
    const change = async () => {
      logIn('grace')
      return true
    }
    logIn('ada', { renew: change, stepUp: async () => void (await change()) })
    await assert.rejects(confirm, (error) => error instanceof ApiError && error.code === 'UNAUTHORIZED')
    assert.equal(keys.length, 1)
  })

test('a POST that was given up before its answer is repeated under the same key; one that was refused is not', async (t) => {
  const leaving = new AbortController()
  const giveUp = () => {
    leaving.abort()
    throw leaving.signal.reason
  }
  const keys = answerWith(t, [giveUp, whole, refused(409, 'OBJECT_CONFLICT'), whole])
  const approve = (signal?: AbortSignal) =>
    press(() => call('POST /api/next/refunds/{id}/approve', { path: { id: '3' } }, signal))
  await assert.rejects(approve(leaving.signal))
  await approve()
  await assert.rejects(approve())
  await approve()
  const [first, second, third, fourth] = keys
  assert.equal(second, first)
  assert.notEqual(fourth, third)
})

test('the same in another opening of the form, or in none, is another request, and what it asks later is in none', async (t) => {
  const keys = answerWith(t, [brokenOff, whole, brokenOff, whole, brokenOff, whole, whole])
  const approve = () => call('POST /api/next/refunds/{id}/approve', { path: { id: '7' } })
  await assert.rejects(within('before', approve))
  await within('after', approve)
  await assert.rejects(approve)
  await approve()
  const later = async (): Promise<void> => {
    await null
    await approve()
  }
  await assert.rejects(within('later', later))
  await within('later', later)
  await within('before', approve)
  assert.equal(new Set(keys.slice(0, 6)).size, 6)
  assert.equal(keys[6], keys[0])
})

const revert = (opening: string, amount: string, shown: { address?: string; mostOwed?: string }) =>
  call('POST /api/next/confirm_conversion/revert/{code}', {
    path: { code: 'lost' },
    body: { amount, ...shown },
    deed: { opening, typed: { amount } },
  })

test('a deed of unknown outcome is sent again as it was; another opening or amount is another', async (t) => {
  const bodies: unknown[] = []
  const keys = answerWith(t, [brokenOff, brokenOff, whole, whole, whole], bodies)
  await assert.rejects(revert('first', '5', { address: '0xa' }))
  await assert.rejects(revert('first', '5', {}))
  await revert('second', '5', { address: '0xb' })
  await revert('first', '3', { address: '0xb' })
  await revert('first', '5', { address: '0xb' })
  const [first, second, opened, other, last] = keys
  assert.deepEqual([second, last], [first, first])
  assert.equal(new Set([first, opened, other]).size, 3)
  assert.deepEqual(bodies, [
    { amount: '5', address: '0xa' },
    { amount: '5', address: '0xa' },
    { amount: '5', address: '0xb' },
    { amount: '3', address: '0xb' },
    { amount: '5', address: '0xa' },
  ])
})

test('once it is known what a deed lacks, it goes out under its key with what is confirmed then', async (t) => {
  const bodies: unknown[] = []
  const keys = answerWith(t, [brokenOff, refused(409, 'REFUND_NOT_COVERED'), whole], bodies)
  await assert.rejects(revert('third', '5', { mostOwed: '54' }))
  await assert.rejects(revert('third', '5', { mostOwed: '54' }))
  await revert('third', '5', { mostOwed: '60' })
  assert.deepEqual(new Set(keys).size, 1)
  assert.deepEqual(
    bodies.map((body) => (body as { mostOwed: string }).mostOwed),
    ['54', '54', '60'],
  )
})

test('a deed that arrived late, before what was confirmed since, is not done a second time in the same dialog', async (t) => {
  const reused = refused(422, 'IDEMPOTENCY_KEY_REUSED')
  const keys = answerWith(t, [brokenOff, refused(409, 'REFUND_NOT_COVERED'), reused, reused])
  for (const mostOwed of ['54', '54', '60', '60']) await assert.rejects(revert('fourth', '5', { mostOwed }))
  assert.deepEqual(new Set(keys).size, 1)
})

test('a list that answers only its rows is read on from where its header says', async (t) => {
  const urls: string[] = []
  t.mock.method(globalThis, 'fetch', async (url: string) => {
    urls.push(url)
    const next = urls.length === 1 ? { 'comptoir-next-cursor': 'a b' } : undefined
    return new Response('{"data":[]}', { headers: { ...headers, ...next } })
  })
  const ask = (cursor: Record<string, string>) =>
    callPage('GET /api/next/confirm_conversion/links', { query: { limit: 2, ...cursor } }, new AbortController().signal)
  assert.deepEqual(await ask({}), { rows: [], nextCursor: 'a b' })
  assert.deepEqual(await ask({ cursor: 'a b' }), { rows: [], nextCursor: null })
  assert.match(urls[1] ?? '', /\/links\?limit=2&cursor=a\+b$/)
})

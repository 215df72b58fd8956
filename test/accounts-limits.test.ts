import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, type TestContext, test } from 'node:test'
import { updateCounter } from '../src/http/limits/rate-limit-queries.ts'
import { HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import {
  Client,
  countStatuses,
  logIn,
  newEmail,
  OTHER_PASSWORD,
  PASSWORD,
  register,
  registerManager,
  waitForMail,
} from './harness/accounts.ts'
import { callService, startTestService, type TestService } from './harness/service.ts'

let offsetMs = 0
const clock = (): number => Date.now() + offsetMs
const LIMITS = {
  LIMIT_ACCOUNT_PER_MINUTE: '10',
  LIMIT_ADDRESS_PER_MINUTE: '30',
  LIMIT_PUBLIC_PER_MINUTE: '40',
  LIMIT_COMPANY_PER_MINUTE: '60',
}
let first: TestService
let second: TestService

before(async () => {
  first = await startTestService({ clock, env: { ...LIMITS, TRUST_PROXY: '127.0.0.1' }, workers: true })
  const { connectionString } = first.db.pool.options as { connectionString: string }
  second = await startTestService({
    clock,
    connectionString,
    env: { ...LIMITS, BASE_URL: first.baseUrl, TRUST_PROXY: '127.0.0.1' },
  })
})
after(async () => {
  await second.stop()
  await first.stop()
})

const nodes = (): string[] => [first.baseUrl, `http://127.0.0.1:${second.config.port}`]
const login = (baseUrl: string, email: string, address: string, password = 'Wrong-Password-1!') =>
  new Client(baseUrl).post(
    'auth/login/manager',
    { email, password, origin: 'dashboard' },
    { 'x-forwarded-for': address },
  )

test('wrong passwords at two nodes count together and lock at both', async () => {
  const email = newEmail()
  for (let count = 0; count < 10; count += 1)
    assert.equal((await login(nodes()[count % 2] ?? '', email, `192.0.2.${count}`)).error.code, 'INVALID_CREDENTIALS')
  for (const node of nodes()) assert.equal((await login(node, email, '192.0.2.99')).error.code, 'ACCOUNT_LOCKED')
})

test('thirty logins a minute from one address, over all nodes; a /64 is one address, a mapped IPv4 is its IPv4', async () => {
  for (const [one, same, other] of [
    ['198.51.100.7', '::ffff:198.51.100.7', '198.51.100.8'],
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:db8:1:3::1'],
  ] as const) {
    for (let count = 0; count < 30; count += 1) {
      const answer = await login(nodes()[count % 2] ?? '', newEmail(), count % 3 === 0 ? one : same)
      assert.equal(answer.status, 400, `${one} ${count}`)
      assert.equal(answer.headers.get('ratelimit-policy'), '"address";q=30;w=60, "account";q=10;w=60')
    }
    const refused = await login(nodes()[0] ?? '', newEmail(), one)
    assert.equal(refused.status, 429)
    assert.equal(refused.error.code, 'TOO_MANY_REQUESTS')
    const wait = Number(refused.headers.get('retry-after'))
    assert.ok(wait > 0 && wait <= 60)
    assert.equal(refused.headers.get('ratelimit-remaining'), '0')
    assert.equal((await login(nodes()[1] ?? '', newEmail(), same)).status, 429)
    assert.equal((await login(nodes()[0] ?? '', newEmail(), other)).status, 400)
    offsetMs += wait * SECOND
    assert.equal((await login(nodes()[0] ?? '', newEmail(), one)).status, 400, 'after Retry-After it goes on')
  }
})

test('who is no configured proxy cannot choose an address', async () => {
  const { connectionString } = first.db.pool.options as { connectionString: string }
  const bare = await startTestService({ clock, connectionString, env: { ...LIMITS, LIMIT_ADDRESS_PER_MINUTE: '3' } })
  try {
    const url = `http://127.0.0.1:${bare.config.port}`
    const answers = []
    for (let count = 0; count < 4; count += 1) answers.push((await login(url, newEmail(), `203.0.113.${count}`)).status)
    assert.deepEqual(answers, [400, 400, 400, 429])
  } finally {
    await bare.stop()
  }
})

test('an address is the same with every port that a proxy writes after it, also between two proxies', async () => {
  for (const [write, other] of [
    [(port: number) => `203.0.113.201:${port}`, '203.0.113.202:40000'],
    [(port: number) => `"[2001:db8:7:1::1]:${port}", 127.0.0.1:${port}`, '[2001:db8:7:2::1]:40000'],
  ] as const) {
    const seen = []
    for (let count = 0; count < 33; count += 1)
      seen.push(await login(nodes()[count % 2] ?? '', newEmail(), write(40_000 + count)))
    assert.deepEqual(countStatuses(seen), { 400: 30, 429: 3 })
    assert.equal((await login(first.baseUrl, newEmail(), other)).status, 400)
  }
})

test('whoever a proxy forwards without an address counts as one, under the proxy’s; the log says so once', async () => {
  offsetMs += 61 * SECOND
  const written = ['unknown', '_hidden:1', '203.0.113.300', '203.0.113.203, unknown', 'unknown, 127.0.0.1']
  const seen = []
  for (let count = 0; count < 33; count += 1)
    seen.push(await login(first.baseUrl, newEmail(), written[count % written.length] ?? ''))
  assert.deepEqual(countStatuses(seen), { 400: 30, 429: 3 })
  assert.equal((await login(first.baseUrl, newEmail(), 'unknown, 203.0.113.203')).status, 400, 'written by a visitor')
  const told = first.logLines.filter((line) => line.includes('into X-Forwarded-For'))
  assert.equal(told.length, 1)
  assert.match(told[0] ?? '', /"proxy":"127\.0\.0\.1".*writes \\"unknown\\"/)
})

test('ten logins a minute for one account, from wherever they come', async () => {
  const { email } = await registerManager(first.baseUrl)
  offsetMs += 61 * SECOND
  for (let count = 0; count < 10; count += 1) {
    const answer = await login(nodes()[count % 2] ?? '', email, `203.0.113.${count}`, PASSWORD)
    assert.equal(answer.status, 200)
  }
  const refused = await login(nodes()[0] ?? '', email, '203.0.113.200', PASSWORD)
  assert.equal(refused.status, 429)
  assert.match(refused.headers.get('ratelimit') ?? '', /"account";r=0;t=\d+/)
})

test('after a leap of the clock a limit refuses for one window at most, on the node that leapt and on the other', async () => {
  const { email } = await registerManager(first.baseUrl)
  const from = { 'x-forwarded-for': '203.0.113.77' }
  const sendAt = (node: string) =>
    new Client(node).post('auth/reset-password/send', { email, origin: 'dashboard' }, from)
  const statusAt = async (node: string): Promise<number> => (await sendAt(node)).status
  const before = offsetMs
  offsetMs += 2 * HOUR
  for (let count = 0; count < 10; count += 1) await statusAt(nodes()[0] ?? '')
  assert.equal(await statusAt(nodes()[0] ?? ''), 429)
  offsetMs = before
  const refused = await sendAt(nodes()[1] ?? '')
  assert.equal(refused.status, 429, 'the count goes on: a node that is behind lifts no limit')
  assert.ok(Number(refused.headers.get('retry-after')) <= 60)
  offsetMs += MINUTE + SECOND
  for (const node of nodes()) assert.equal(await statusAt(node), 200)
  offsetMs = before
})

test('a window that another node began, with a clock half a minute ahead, is left as it is', async () => {
  const nowMs = clock()
  const at = (ms: number) => ({ count: 1, now: new Date(nowMs + ms), endsAt: new Date(nowMs + ms + MINUTE) })
  await updateCounter(first.db, 'test:ahead', at(30 * SECOND))
  const { used, windowEndsAt } = await updateCounter(first.db, 'test:ahead', at(0))
  assert.deepEqual([used, windowEndsAt.getTime()], [2n, nowMs + 90 * SECOND])
})

test('links for a new password are asked for ten times a minute for one account and address: no stranger uses up the owner’s', async () => {
  const { email } = await registerManager(first.baseUrl)
  offsetMs += 61 * SECOND
  const send = async (address: string, origin: string) => {
    const headers = { 'x-forwarded-for': address }
    return (await new Client(first.baseUrl).post('auth/reset-password/send', { email, origin }, headers)).status
  }
  const statuses = []
  for (let count = 0; count < 12; count += 1) statuses.push(await send('203.0.113.91', 'dashboard'))
  for (let count = 0; count < 12; count += 1) statuses.push(await send(`203.0.113.${100 + count}`, 'application'))
  const counted = countStatuses(statuses.map((status) => ({ status })))
  assert.deepEqual(counted, { 200: 20, 429: 4 })
  assert.equal(await send('203.0.113.92', 'dashboard'), 200)
})

test('a status read with a company’s key counts for the company; with a wrong key it counts for its address', async () => {
  const merchant = await first.createMerchant()
  offsetMs += 61 * SECOND
  const address = { 'x-forwarded-for': '203.0.113.77' }
  const read = async (headers: Record<string, string>) => {
    const { status, headers: answered } = await callService(nodes()[0] ?? '', 'GET', 'status/none', {
      headers: { ...address, ...headers },
    })
    return { status, policies: answered.get('ratelimit-policy') ?? '' }
  }
  for (let count = 0; count < 45; count += 1) {
    const { status, policies } = await read(merchant.headers)
    assert.equal(status, 404)
    assert.match(policies, /^"company"/)
  }
  assert.match((await read({})).policies, /^"public"/)
  const guesses: number[] = []
  for (let count = 0; count < 45; count += 1)
    guesses.push((await read({ authorization: `Bearer sk_wrong${count}` })).status)
  assert.deepEqual([guesses.filter((status) => status === 404).length, guesses.at(-1)], [39, 429])
  const elsewhere = { ...merchant.headers, 'x-forwarded-for': '203.0.113.78' }
  assert.equal((await read(elsewhere)).status, 404)
})

/** Counts the look-ups of API keys and sessions that a node makes from now on. */
function countLookUps(t: TestContext, { db }: TestService): () => number {
  const spies = [t.mock.method(db, 'many'), t.mock.method(db, 'maybe')]
  const asked = (): string[] => spies.flatMap(({ mock }) => mock.calls.map((call) => JSON.stringify(call.arguments)))
  return () => asked().filter((query) => /from (api_keys|sessions) /.test(query)).length
}

/** Uses up an address's invalid credentials at a node, and shows that it did. */
async function guess(node: string, address: string): Promise<void> {
  const send = (authorization: string) =>
    callService(node, 'GET', '', { headers: { 'x-forwarded-for': address, authorization } })
  for (let count = 0; count < 40; count += 1) await send(`Bearer wrong${count}`)
  const refused = await send('Bearer wrong')
  assert.equal(refused.status, 429)
  assert.match(refused.headers.get('ratelimit-policy') ?? '', /"refused"/)
}

/** The same call by one credential from one address. */
const caller =
  (address: string, headers: Record<string, string>, path = '') =>
  async (node = first.baseUrl): Promise<number> =>
    (await callService(node, 'GET', path, { headers: { 'x-forwarded-for': address, ...headers } })).status

test('an address that used up its invalid credentials guesses at four look-ups a second, and shuts no key out', async (t) => {
  const lookUps = countLookUps(t, first)
  for (const [path, address] of [
    ['status/none', '203.0.113.81'],
    ['', '203.0.113.82'],
  ] as const) {
    offsetMs += 61 * SECOND
    const [known, unknown] = [await first.createMerchant(), await first.createMerchant()]
    const see = caller(address, known.headers, path)
    const right = await see()
    assert.notEqual(right, 429)
    await guess(first.baseUrl, address)
    const [before, since] = [lookUps(), performance.now()]
    const guesses = Array.from({ length: 40 }, (_, count) =>
      caller(address, { authorization: `Bearer sk_wrong${path}${count}` }, path)(),
    )
    // a public read goes on without the wrong key, and counts as one of its address
    assert.deepEqual(await Promise.all(guesses), Array(40).fill(path === '' ? 429 : 404))
    const made = lookUps() - before
    assert.ok(made >= 1 && made <= 1 + (performance.now() - since) / 250, `${made} look-ups`)
    assert.equal(await see(), right, 'a key in use')
    const others = Array.from({ length: 40 }, (_, count) =>
      caller(address, { authorization: `Bearer sk_other${path}${count}` }, path)(),
    )
    assert.equal(await caller(address, unknown.headers, path)(), right, 'a key that this node has not seen')
    assert.deepEqual(await Promise.all(others), Array(40).fill(429))
  }
})

test('a token that we did not sign costs no look-up', async (t) => {
  const { client } = await registerManager(first.baseUrl)
  offsetMs += 61 * SECOND
  const address = '203.0.113.84'
  const [header, claims] = (client.token ?? '').split('.')
  await guess(first.baseUrl, address)
  const lookUps = countLookUps(t, first)
  for (const token of ['x', 'a.b.c', `${header}.${claims}.${'A'.repeat(43)}`])
    assert.equal(await caller(address, { authorization: `Bearer ${token}` })(), 429)
  assert.equal(lookUps(), 0)
  assert.notEqual(await caller(address, { authorization: `Bearer ${client.token}` })(), 429)
  assert.equal(lookUps(), 1)
})

test('behind an address that guesses, a person logs in and works, and a token is renewed', async () => {
  const { email } = await registerManager(first.baseUrl)
  offsetMs += 61 * SECOND
  const address = '203.0.113.85'
  await guess(first.baseUrl, address)
  const client = await logIn(first.baseUrl, email)
  const see = () => caller(address, { authorization: `Bearer ${client.token}` }, '/api/next/users/me')()
  assert.equal(await see(), 200)
  offsetMs += 9 * MINUTE
  await guess(first.baseUrl, address)
  const { data } = await client.post<{ token: string }>('auth/refresh-token', undefined, { 'x-forwarded-for': address })
  assert.notEqual(data.token, client.token)
  client.token = data.token
  assert.equal(await see(), 200)
})

test('behind an address that guesses, a token that has ended gets 401, on which clients renew it; reads ignore it', async () => {
  const [{ email }, leaving] = [await registerManager(first.baseUrl), await registerManager(first.baseUrl)]
  offsetMs += 61 * SECOND
  const address = '203.0.113.87'
  const [client, left] = [await logIn(first.baseUrl, email), await logIn(first.baseUrl, leaving.email)]
  offsetMs += 11 * MINUTE
  assert.equal((await left.post('auth/refresh-token')).status, 200)
  const { data } = await left.post<{ token: string }>('auth/refresh-token')
  const [expired, ended] = [client.token, data.token]
  await left.post('auth/sign-out')
  for (const node of nodes()) {
    await guess(node, address)
    for (const [what, token] of Object.entries({ expired, ended })) {
      const bearer = { authorization: `Bearer ${token}` }
      assert.equal(await caller(address, bearer, '/api/next/users/me')(node), 401, what)
      assert.equal(await caller(address, bearer, 'status/none')(node), 404, `${what}: a public read goes on`)
    }
    const forged = { authorization: `Bearer ${expired?.slice(0, -43)}${'A'.repeat(43)}` }
    assert.equal(await caller(address, forged, '/api/next/users/me')(node), 429, 'not of ours')
    assert.equal(await caller(address, forged, 'status/none')(node), 404, 'and a public read goes on even so')
  }
})

test('behind an address that guesses, the key of a shop is served by a node that never saw it', async () => {
  const merchant = await first.createMerchant()
  offsetMs += 61 * SECOND
  const [address, node] = ['203.0.113.86', nodes()[1] ?? '']
  const see = caller(address, merchant.headers)
  assert.equal(await see(), 200)
  await guess(node, address)
  for (const at of nodes()) assert.equal(await see(at), 200)
  const wrong = { ...merchant.headers, 'x-api-key': 'pk_another' }
  assert.equal(await caller(address, wrong)(node), 429, 'the secret of a key with the name of another is wrong')
})

test('an account that anyone can open lifts no limit of its address', async () => {
  const { client } = await register(first.baseUrl, { role: 'SimpleUser' })
  offsetMs += 61 * SECOND
  const headers = { 'x-forwarded-for': '203.0.113.83', authorization: `Bearer ${client.token}` }
  const statuses: number[] = []
  for (let count = 0; count < 45; count += 1)
    statuses.push((await callService(nodes()[0] ?? '', 'GET', `status/order/INV-${count}`, { headers })).status)
  assert.deepEqual(countStatuses(statuses.map((status) => ({ status }))), { 404: 40, 429: 5 })
})

test('an applicant uses up nothing of the shop, and more accounts lift no limit of their address', async () => {
  const boss = await registerManager(first.baseUrl)
  const client = await logIn(first.baseUrl, boss.email)
  const apply = async () => {
    const { client } = await register(first.baseUrl, { role: 'Observer', companyName: boss.companyId })
    return `Bearer ${client.token}`
  }
  const [one, two] = [await apply(), await apply()]
  offsetMs += 61 * SECOND
  const ask = async (authorization: string, address: string, times: number) => {
    const statuses: number[] = []
    const see = caller(address, { authorization }, '/api/next/users/me')
    for (let count = 0; count < times; count += 1) statuses.push(await see(nodes()[count % 2] ?? ''))
    return countStatuses(statuses.map((status) => ({ status })))
  }
  assert.deepEqual(await ask(one, '203.0.113.88', 30), { 200: 30 })
  assert.deepEqual(await ask(two, '203.0.113.88', 20), { 200: 10, 429: 10 }, 'the address, whatever the account')
  assert.deepEqual(await ask(one, '203.0.113.89', 40), { 200: 30, 429: 10 }, 'the account, whatever the address')
  assert.deepEqual(
    await ask(`Bearer ${client.token}`, '203.0.113.88', 60),
    { 200: 60 },
    'the shop has all of its calls',
  )
})

test('calls of a company and public reads are limited over all nodes, and the headers count down to zero', async () => {
  offsetMs += 61 * SECOND
  const { email } = await registerManager(first.baseUrl)
  const client = await logIn(first.baseUrl, email)
  offsetMs += 61 * SECOND
  const remaining: number[] = []
  let passed = 0
  for (let count = 0; count < 80; count += 1) {
    const headers = { authorization: `Bearer ${client.token}` }
    const answer = await callService(nodes()[count % 2] ?? '', 'GET', '/api/next/users/me', { headers })
    if (answer.status === 200) passed += 1
    else assert.equal(answer.status, 429)
    remaining.push(Number(answer.headers.get('ratelimit-remaining')))
  }
  assert.equal(passed, 60)
  assert.equal(remaining.at(-1), 0)
  let reads = 0
  for (let count = 0; count < 50; count += 1) {
    const answer = await callService(nodes()[count % 2] ?? '', 'GET', 'status/none', {
      headers: { 'x-forwarded-for': '203.0.113.9' },
    })
    if (answer.status === 404) reads += 1
  }
  assert.equal(reads, 40)
})

test('what a company’s own account at a provider reports is limited as its calls are, over all nodes', async () => {
  const person = await registerManager(first.baseUrl)
  const client = await logIn(first.baseUrl, person.email)
  const settings = { CLIENT_ID: 'client', SECRET: 'known-to-the-company-0123456789' }
  assert.equal((await client.call('PUT', 'channel-accounts/gatepay', { settings })).status, 200)
  const say = (node: string, secret = settings.SECRET) => {
    const body = JSON.stringify({ bizType: 'PAY', bizId: '1', bizStatus: 'PAY_SUCCESS', data: { prepayId: '1' } })
    const timestamp = String(clock())
    const signature = createHmac('sha512', secret).update(`${timestamp}\nn\n${body}\n`).digest('hex')
    const named = { 'x-gatepay-timestamp': timestamp, 'x-gatepay-nonce': 'n', 'x-gatepay-signature': signature }
    const headers = { 'content-type': 'application/json', ...named }
    return fetch(`${node}/api/next/channels/gatepay/callback/${person.companyId}`, { method: 'POST', headers, body })
  }
  const statuses: number[] = []
  for (let count = 0; count < 62; count += 1) statuses.push((await say(nodes()[count % 2] ?? '')).status)
  assert.deepEqual(
    [200, 429].map((status) => statuses.filter((one) => one === status).length),
    [60, 2],
  )
  assert.equal((await say(nodes()[0] ?? '', 'another')).status, 401, 'what is not signed counts nowhere')
})

test('a shop’s page that asks too often can read that and for how long; no other refusal opens to other websites', async () => {
  const headers = { 'x-forwarded-for': '203.0.113.9', origin: 'https://never-registered.example' }
  const limited = await callService(first.baseUrl, 'GET', 'status/none', { headers })
  assert.equal(limited.status, 429)
  assert.equal(limited.headers.get('access-control-allow-origin'), '*')
  assert.equal(limited.headers.get('access-control-allow-credentials'), null)
  assert.match(limited.headers.get('access-control-expose-headers') ?? '', /retry-after.*x-final-until/)
  const elsewhere = await callService(first.baseUrl, 'GET', 'exchangeInfo?fromAsset=EUR&toAsset=USDC', { headers })
  assert.deepEqual([elsewhere.status, elsewhere.headers.get('access-control-allow-origin')], [429, null])
  const open = { ...headers, 'x-forwarded-for': '203.0.113.10' }
  const unknown = await callService(first.baseUrl, 'GET', 'status/none', { headers: open })
  assert.deepEqual([unknown.status, unknown.headers.get('access-control-allow-origin')], [404, null])
})

test('codes by mail: whoever has no login of the account uses up nothing of its owner’s, who is limited all the same', async () => {
  const { client, email } = await registerManager(first.baseUrl)
  const stranger = await register(first.baseUrl, { role: 'SimpleUser' })
  offsetMs += 61 * SECOND
  const ask = async (by: Client, address: string, path = 'auth/otp/email?stepUp=true') =>
    (await by.post(path, { email }, { 'x-forwarded-for': address })).status
  const tally = async (count: number, send: () => Promise<number>) => {
    const statuses = []
    for (let turn = 0; turn < count; turn += 1) statuses.push({ status: await send() })
    return countStatuses(statuses)
  }
  const nobody = new Client(first.baseUrl)
  assert.deepEqual(await tally(12, () => ask(nobody, '203.0.113.151')), { 200: 10, 429: 2 }, 'nobody')
  const liar = new Client(first.baseUrl)
  liar.token = 'ovt_made-up'
  assert.deepEqual(await tally(12, () => ask(liar, '203.0.113.152', 'auth/otp/email')), { 200: 10, 429: 2 }, 'made up')
  assert.deepEqual(await tally(12, () => ask(stranger.client, '203.0.113.153')), { 200: 10, 429: 2 }, 'another person')
  assert.deepEqual(await tally(12, () => ask(client, '203.0.113.154')), { 200: 10, 429: 2 }, 'the owner')
  assert.equal(await ask(client, '203.0.113.155'), 429, 'the owner counts as one, from everywhere')
  assert.ok(await waitForMail(first.baseUrl, email, /code/))
})

for (const path of ['auth/otp/email', 'auth/otp'])
  test(`a login that a new password or the time has ended uses up nothing of its owner’s at ${path}`, async () => {
    const { email } = await registerManager(first.baseUrl)
    const begin = async (): Promise<Client> => {
      const thief = new Client(first.baseUrl)
      const body = { email, password: PASSWORD, origin: 'dashboard' }
      assert.equal((await thief.post('auth/login/manager', body)).status, 200)
      thief.token = thief.cookies.get('otpValidationToken')?.value ?? ''
      thief.cookies.clear()
      return thief
    }
    const [late, ended] = [await begin(), new Client(first.baseUrl)]
    await waitForMail(first.baseUrl, email, /^\d{6} /)
    offsetMs += 16 * MINUTE
    ended.token = (await begin()).token
    await waitForMail(first.baseUrl, email, /^\d{6} /, 2)
    const change = { password: PASSWORD, newPassword: OTHER_PASSWORD }
    const owner = await logIn(first.baseUrl, email)
    assert.equal((await owner.post('auth/password', change)).status, 200)
    offsetMs += 61 * SECOND
    const body = { email, emailOtp: '000000' }
    const ask = async (by: Client, address: string) =>
      (await by.post(`${path}?stepUp=${by === owner}`, body, { 'x-forwarded-for': address })).status
    for (const [index, thief] of [late, ended].entries())
      for (let count = 0; count < 10; count += 1)
        assert.equal(await ask(thief, `203.0.113.${161 + index}`), path === 'auth/otp' ? 401 : 200)
    assert.equal(await ask(owner, '203.0.113.163'), path === 'auth/otp' ? 400 : 200)
  })

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { lockStanding } from '../src/companies/company-queries.ts'
import { type Sql, sql, type Tx } from '../src/db/db.ts'
import { HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import { updateRegistration } from '../src/sessions/factors/passkey-queries.ts'
import {
  beginLogin,
  Client,
  countStatuses,
  inParallel,
  insertSuperAdmin,
  logIn,
  logInFormerSuperAdmin,
  logInSuperAdmin,
  newEmail,
  PASSWORD,
  passwordHash,
  readCode,
  readMails,
  register,
  registerManager,
  waitForMail,
} from './harness/accounts.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'

let service: TestService
let offsetMs = 0
const clock = (): number => Date.now() + offsetMs

before(async () => {
  service = await startTestService({ workers: true, clock })
})
after(() => service.stop())

test('refresh: the same successor within ten seconds, reuse later ends the session', async () => {
  const { email } = await registerManager(service.baseUrl)
  const client = await logIn(service.baseUrl, email)
  const old = client.cookies.get('refreshToken')?.value ?? ''
  const refresh = (token: string) => {
    const copy = new Client(service.baseUrl)
    copy.cookies.set('refreshToken', { value: token, attributes: 'Path=/' })
    return copy
      .post('auth/refresh-token')
      .then((answer) => ({ ...answer, next: copy.cookies.get('refreshToken')?.value ?? '' }))
  }
  const answers = await inParallel(50, () => refresh(old))
  assert.deepEqual(countStatuses(answers), { 200: 50 })
  const successors = new Set(answers.map(({ next }) => next))
  assert.equal(successors.size, 1)
  const [successor = ''] = successors
  const second = await refresh(successor)
  assert.equal(second.status, 200)
  assert.equal((await refresh(old)).status, 401, 'the successor was used')
  assert.equal((await refresh(second.next)).status, 401, 'the whole family is dead')
  await waitForMail(service.baseUrl, email, /We ended a session of your account/)
  const again = await logIn(service.baseUrl, email)
  const token = again.cookies.get('refreshToken')?.value ?? ''
  const next = (await refresh(token)).next
  offsetMs += 11 * SECOND
  assert.equal((await refresh(token)).status, 401)
  assert.equal((await refresh(next)).status, 401)
})

test('a clock that was set back keeps no second factor fresh, no old refresh token good, no registration open', async () => {
  const { email, userId } = await registerManager(service.baseUrl)
  const [client, other] = [await logIn(service.baseUrl, email), await logIn(service.baseUrl, email)]
  const renew = (by: Client) => by.post<{ token: string }>('auth/refresh-token')
  const prove = (at: number) =>
    service.db.run(sql`update sessions set second_factor_at = ${new Date(at)} where user_id = ${userId}`)
  const prepare = () => client.post('/api/users/webhook-secret/next')
  // by a node whose clock is a little ahead
  await prove(clock() + 20 * SECOND)
  assert.equal((await prepare()).status, 200)
  const old = new Map(other.cookies)
  assert.equal((await renew(other)).status, 200)
  await service.db.tx((tx) => updateRegistration(tx, userId, 'asked before', new Date(clock())))
  offsetMs -= 10 * MINUTE
  try {
    client.token = (await renew(client)).data.token
    assert.equal((await prepare()).error?.code, 'STEP_UP_REQUIRED')
    for (const [name, cookie] of old) other.cookies.set(name, cookie)
    assert.equal((await renew(other)).status, 401)
    await prove(clock())
    client.token = (await renew(client)).data.token
    const made = { clientDataJSON: 'AQID', attestationObject: 'AQID' }
    const response = { id: 'AQID', rawId: 'AQID', type: 'public-key', response: made, clientExtensionResults: {} }
    assert.match((await client.post('auth/passkeys', { name: 'Key', response })).error?.message ?? '', /^Begin again/)
  } finally {
    offsetMs += 10 * MINUTE
  }
})

test('sessions end when idle and absolutely, by role and client', async () => {
  const { email } = await registerManager(service.baseUrl)
  const dashboard = await logIn(service.baseUrl, email)
  offsetMs += 11 * HOUR
  assert.equal((await dashboard.post('auth/refresh-token')).status, 200)
  offsetMs += 12.5 * HOUR
  assert.equal((await dashboard.post('auth/refresh-token')).status, 401, 'idle for 12 hours, or 24 over')
  const adminEmail = await insertSuperAdmin(service.db, await passwordHash())
  const admin = await logIn(service.baseUrl, adminEmail, 'auth/login')
  offsetMs += 61 * MINUTE
  assert.equal((await admin.post('auth/refresh-token')).status, 401)
  const { email: simple } = await register(service.baseUrl, { role: 'SimpleUser' })
  const user = await logIn(service.baseUrl, simple, 'auth/login')
  offsetMs += 11 * MINUTE
  assert.equal((await user.get('users/me')).status, 401, 'access tokens live ten minutes')
})

test('x-user-id selects among the caller’s own cookies only', async () => {
  const { email } = await register(service.baseUrl, { role: 'SimpleUser' })
  const client = await logIn(service.baseUrl, email, 'auth/login')
  const named = new Client(service.baseUrl)
  await named.post('auth/login', { email, password: PASSWORD }, { 'x-user-id': client.userId })
  assert.deepEqual(
    [...named.cookies.keys()].filter((name) => !name.startsWith('knownBrowser_')),
    [`refreshToken_${client.userId}`],
  )
  assert.equal((await named.post('auth/refresh-token')).status, 401)
  assert.equal((await named.post('auth/refresh-token', undefined, { 'x-user-id': client.userId })).status, 200)
  const other = await register(service.baseUrl, { role: 'SimpleUser' })
  const value = named.cookies.get(`refreshToken_${client.userId}`)?.value ?? ''
  named.cookies.set(`refreshToken_${other.userId}`, { value, attributes: 'Path=/' })
  assert.equal((await named.post('auth/refresh-token', undefined, { 'x-user-id': other.userId })).status, 401)
  for (const header of ['../../etc', 'x; Path=/', 'A'.repeat(24)])
    assert.equal((await named.post('auth/refresh-token', undefined, { 'x-user-id': header })).status, 422)
})

test('requests from other websites change nothing', async () => {
  const { email } = await register(service.baseUrl, { role: 'SimpleUser' })
  const client = await logIn(service.baseUrl, email, 'auth/login')
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }, { origin: 'null' }]) {
    for (const path of ['auth/refresh-token', 'auth/sign-out']) {
      const answer = await client.post(path, undefined, headers)
      assert.equal(answer.status, 403)
      assert.equal(answer.error.code, 'CROSS_SITE_REQUEST')
      assert.match(
        answer.error.message,
        /own site, or from a subdomain of it that CORS_ORIGINS names.* with an API key/,
      )
    }
  }
  assert.equal((await client.post('auth/refresh-token', undefined, { origin: service.baseUrl })).status, 200)
})

test('over https every cookie is Secure, the refresh cookie has the __Host- prefix', async () => {
  const https = await startTestService({ env: { BASE_URL: 'https://pay.example' }, workers: true })
  try {
    const http = `http://127.0.0.1:${https.config.port}`
    const { email } = await registerManager(http)
    const client = await logIn(http, email)
    assert.match(
      client.cookies.get('__Host-refreshToken')?.attributes ?? '',
      /^Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    )
    const pending = new Client(http)
    await beginLogin(pending, email)
    assert.match(
      pending.cookies.get('otpValidationToken')?.attributes ?? '',
      /^Max-Age=300; Path=\/api\/next\/auth; HttpOnly; Secure; SameSite=Strict$/,
    )
  } finally {
    await https.stop()
  }
})

test('what is revoked is refused at once here, and on another node within five seconds or when its clock is set back', async () => {
  const { connectionString } = service.db.pool.options as { connectionString: string }
  let aheadMs = 0
  const secondClock = (): number => clock() + aheadMs
  const env = { BASE_URL: service.baseUrl }
  const second = await startTestService({ connectionString, clock: secondClock, env })
  try {
    const { email } = await registerManager(service.baseUrl)
    const elsewhere = new Client(`http://127.0.0.1:${second.config.port}`)
    for (const stepMs of [5 * SECOND, -25 * SECOND]) {
      const client = await logIn(service.baseUrl, email)
      elsewhere.token = client.token
      assert.equal((await elsewhere.get('users/me')).status, 200)
      type Key = { _id: string; apiKey: string; apiSecret: string }
      const { data: key } = await client.post<Key>('api-keys', { name: 'server', scopes: ['orders:read'] })
      const pair = { 'x-api-key': key.apiKey, 'x-api-secret': key.apiSecret }
      const readByKey = () => new Client(elsewhere.baseUrl).call('GET', 'confirm_conversion', undefined, pair)
      assert.equal((await readByKey()).status, 200)
      assert.equal((await client.call('DELETE', `api-keys/${key._id}`)).status, 200)
      const sessions = await client.get<{ _id: string; current: boolean }[]>('auth/sessions')
      const current = sessions.data.find((session) => session.current)
      assert.equal((await client.call('DELETE', `auth/sessions/${current?._id}`)).status, 200)
      assert.equal((await client.get('users/me')).status, 401)
      aheadMs += stepMs
      assert.deepEqual(
        [(await elsewhere.get('users/me')).status, (await readByKey()).status],
        [401, 401],
        String(stepMs),
      )
    }
  } finally {
    await second.stop()
  }
})

test('who lost the rights a moment ago makes nothing that lasts, though a node still holds the session', async () => {
  const boss = await registerManager(service.baseUrl)
  const collectors = await boss.client.get<{ collectors: { _id: string }[] }>('collectors/list')
  const collector = collectors.data.collectors[0]?._id
  const applicant = await register(service.baseUrl, { role: 'Observer', companyName: boss.companyId })
  const person = (role: string) => ({ email: newEmail('accomplice'), firstName: 'Ac', lastName: 'Complice', role })
  const device = await new Client(service.baseUrl).post<{ userCode: string }>('auth/device', { clientName: 'mine' })
  const makeAll = async (client: Client) => ({
    key: await client.post('api-keys', { name: 'backdoor', scopes: ['orders:read'] }),
    invited: await client.post('users', person('Manager')),
    registered: await client.post('auth/register', { ...person('Cashier'), password: PASSWORD }),
    approved: await client.post(`users/${applicant.userId}/approve`),
    till: await client.post('till-devices', { name: 'Counter', collector }),
    login: await client.post(`auth/device/${device.data.userCode}/approve`, {}),
    pin: await client.call('PUT', 'users/me/till-pin', { pin: '739251' }),
    secret: await client.get('/api/users/webhook-secret'),
    activated: await client.post('/api/users/webhook-secret/next/activate', {}),
    prepared: await client.post('/api/users/webhook-secret/next'),
    regenerated: await client.post('/api/users/webhook-secret/regenerate'),
    authenticator: await client.post('auth/2fa/setup'),
    payout: await client.call('PUT', `companies/${boss.companyId}`, { settlementAddress: null }),
    account: await client.call('PUT', 'channel-accounts/binance', {
      settings: { API_KEY: 'a-key-of-mine', API_SECRET: 'a-secret-of-mine' },
    }),
  })
  const { userId } = boss
  const logInAfresh = async (): Promise<Client> => {
    const client = await logIn(service.baseUrl, boss.email)
    const at = new Date(clock())
    await service.db.run(sql`update sessions set second_factor_at = ${at} where user_id = ${userId}`)
    return client
  }
  assert.equal((await (await logInAfresh()).post('/api/users/webhook-secret/next')).status, 200)
  const former = await logInFormerSuperAdmin(service)
  assert.equal((await former.post(`companies/${boss.companyId}/approve`)).status, 401)
  const losses: Record<string, Sql> = {
    disabled: sql`update users set disabled_at = now() where id = ${userId}`,
    'another role': sql`update users set role = 'Observer' where id = ${userId}`,
    'logged out': sql`update sessions set revoked_at = now() where user_id = ${userId}`,
  }
  for (const [name, loss] of Object.entries(losses)) {
    await service.db.run(sql`update users set disabled_at = null, role = 'Manager' where id = ${userId}`)
    const client = await logInAfresh()
    // the session is read; the loss goes round this node, as one that another node commits
    assert.equal((await client.get('users/me')).status, 200)
    await service.db.run(loss)
    for (const [what, { status, text }] of Object.entries(await makeAll(client)))
      assert.equal(status, 401, `${name}: ${what} ${text}`)
  }
  await service.db.run(sql`update users set disabled_at = null, role = 'Manager' where id = ${userId}`)
  for (const [what, { status, text }] of Object.entries(await makeAll(await logInAfresh())))
    assert.equal(status, 200, `${what} ${text}`)
})

/** Sends a request that has to wait for what this transaction holds. */
async function sendHeld(
  tx: Tx,
  send: () => Promise<{ status: number }>,
): Promise<{ sent: Promise<{ status: number }> }> {
  const sent = send()
  await eventually(
    () => tx.maybe(sql`select 1 from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`),
    (waiting) => waiting !== undefined,
  )
  return { sent }
}

test('a code that comes while its person is being disabled opens no session', async () => {
  const { db, baseUrl } = service
  const email = await insertSuperAdmin(db, await passwordHash())
  const client = new Client(baseUrl)
  assert.equal((await client.post('auth/login', { email, password: PASSWORD })).status, 200)
  const emailOtp = await readCode(baseUrl, email)
  const { sent } = await db.tx(async (tx) => {
    await tx.run(sql`update users set disabled_at = now() where email = ${email}`)
    return sendHeld(tx, () => client.post('auth/otp', { emailOtp }))
  })
  assert.equal((await sent).status, 401)
})

test('a request that waits for its person holds neither the session nor the company', async () => {
  const { client, userId, companyId } = await registerManager(service.baseUrl)
  const session = sql`select 1 from sessions where user_id = ${userId} for share nowait`
  const company = sql`select 1 from companies where id = ${companyId} for update nowait`
  const requests: [() => Promise<{ status: number }>, Sql, number][] = [
    [() => client.post('auth/otp?stepUp=true', { emailOtp: '000000' }), session, 400],
    [() => client.call('PUT', `companies/${companyId}`, { displayName: 'Renamed' }), company, 200],
  ]
  for (const [send, isFree, status] of requests) {
    const { sent } = await service.db.tx(async (tx) => {
      await tx.run(sql`select 1 from users where id = ${userId} for update`)
      const held = await sendHeld(tx, send)
      await tx.run(isFree)
      return held
    })
    assert.equal((await sent).status, status)
  }
})

test('a person is disabled between two of their requests, however many are waiting', async () => {
  const { db, baseUrl } = service
  const admin = await logInSuperAdmin(service)
  const { client, userId, companyId } = await registerManager(baseUrl)
  const session = await db.one<{ id: string }>(sql`select id from sessions where user_id = ${userId}`)
  const { disabled, renamed } = await db.tx(async (tx) => {
    await lockStanding(tx, userId, session.id)
    const { sent } = await sendHeld(tx, () => admin.call('PUT', `users/${userId}`, { disabled: true }))
    let isAnswered = false
    const next = client.call('PUT', `companies/${companyId}`, { displayName: 'Renamed' }).finally(() => {
      isAnswered = true
    })
    await eventually(
      () =>
        tx.many(sql`
        select 1 from pg_locks l, unnest(pg_blocking_pids(l.pid)) as blocker
        where not l.granted and pg_backend_pid() = any(pg_blocking_pids(blocker))`),
      (waiting) => isAnswered || waiting.length > 0,
    )
    return { disabled: sent, renamed: next }
  })
  assert.deepEqual([(await disabled).status, (await renamed).status], [200, 401])
})

test('a token that is not exactly ours is refused', async () => {
  const { client } = await register(service.baseUrl, { role: 'SimpleUser' })
  const token = client.token ?? ''
  const [head = '', body = '', signature = ''] = token.split('.')
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const decode = (text: string): Record<string, unknown> => JSON.parse(Buffer.from(text, 'base64url').toString())
  const [header, payload] = [decode(head), decode(body)]
  assert.equal(header.typ, 'at+jwt')
  assert.deepEqual(Object.keys(payload).sort(), [
    'aud',
    'companyId',
    'exp',
    'iat',
    'iss',
    'role',
    'sid',
    'sub',
    'userId',
  ])
  const forged = [
    `${encode({ ...header, alg: 'none' })}.${body}.`,
    `${encode({ ...header, alg: 'HS512' })}.${body}.${signature}`,
    `${encode({ ...header, kid: '../../dev/null' })}.${body}.${signature}`,
    `${encode({ ...header, typ: 'JWT' })}.${body}.${signature}`,
    `${head}.${encode({ ...payload, role: 'SuperAdmin' })}.${signature}`,
    `${head}.${body}.${signature.slice(0, -2)}AA`,
    `${head}.${body}`,
    'x'.repeat(5000),
  ]
  for (const text of forged) {
    const answer = await new Client(service.baseUrl).call('GET', 'users/me', undefined, {
      authorization: `Bearer ${text}`,
    })
    assert.equal(answer.status, 401, text)
  }
  assert.equal((await client.get('users/me')).status, 200)
})

test('step-up: a session without a fresh factor is refused by name, and a code makes it fresh', async () => {
  const { email } = await registerManager(service.baseUrl)
  const client = await logIn(service.baseUrl, email)
  assert.match(
    (await client.get<{ webhookSigningSecret: string }>('/api/users/webhook-secret')).data.webhookSigningSecret,
    /^whsec_/,
  )
  offsetMs += 6 * MINUTE
  const refused = await client.get('/api/users/webhook-secret')
  assert.equal(refused.status, 403)
  assert.equal(refused.error.code, 'STEP_UP_REQUIRED')
  assert.equal((await client.post('auth/otp/email', { email })).status, 200)
  const emailOtp = await readCode(service.baseUrl, email, 2)
  const [mail] = await readMails(service.baseUrl, email)
  assert.equal(mail?.subject, `${emailOtp} is your confirmation code`)
  const stepUp = await client.post('auth/otp', { emailOtp })
  assert.equal(stepUp.status, 200, stepUp.text)
  assert.equal((await client.get('/api/users/webhook-secret')).status, 200)
})

test('a login that another tab has begun takes neither the mailed code of a step-up nor counts it as wrong', async () => {
  const [{ email }, other] = [await registerManager(service.baseUrl), await registerManager(service.baseUrl)]
  for (const [index, begun] of [email, other.email].entries()) {
    const client = await logIn(service.baseUrl, email)
    offsetMs += 6 * MINUTE
    await beginLogin(client, begun)
    const token = client.cookies.get('otpValidationToken')?.value
    assert.equal((await client.post('auth/otp/email?stepUp=true', { email })).status, 200)
    const mail = await waitForMail(service.baseUrl, email, /is your confirmation code/, index + 1)
    const emailOtp = mail.subject.slice(0, 6)
    const stepUp = await client.post('auth/otp?stepUp=true', { emailOtp })
    assert.equal(stepUp.status, 200, stepUp.text)
    assert.equal((await client.get('/api/users/webhook-secret')).status, 200, 'this session is confirmed')
    assert.equal(client.cookies.get('otpValidationToken')?.value, token, 'the login goes on')
  }
})

test('a login is still finished with its cookie, whatever bearer a client sends beside it', async () => {
  const { email, client: registered } = await registerManager(service.baseUrl)
  const { client: other } = await registerManager(service.baseUrl)
  for (const bearer of [registered.token, other.token, 'null', 'a.b.c']) {
    const client = new Client(service.baseUrl)
    const before = (await readMails(service.baseUrl, email)).filter(({ subject }) => /^\d{6} /.test(subject)).length
    await beginLogin(client, email)
    const emailOtp = await readCode(service.baseUrl, email, before + 1)
    const answer = await client.post<{ token: string }>('auth/otp', { emailOtp }, { authorization: `Bearer ${bearer}` })
    assert.equal(answer.status, 200, answer.text)
    assert.notEqual(answer.data.token, bearer)
  }
})

test('a step-up without the bearer of a running session is refused, and the login beside it stays as it was', async () => {
  const { email } = await registerManager(service.baseUrl)
  const client = new Client(service.baseUrl)
  await beginLogin(client, email)
  const emailOtp = await readCode(service.baseUrl, email)
  assert.equal((await client.post('auth/otp?stepUp=true', { emailOtp })).status, 401)
  const ended = { authorization: 'Bearer a.b.c' }
  assert.equal((await client.post('auth/otp?stepUp=true', { emailOtp }, ended)).status, 401)
  assert.equal((await client.post('auth/otp', { emailOtp })).status, 200)
})

test('a login asks for the second factor that is demanded while its password is being checked', async () => {
  const { db, baseUrl } = service
  const { email, userId } = await register(baseUrl, { role: 'SimpleUser' })
  let token: string | null | undefined
  const login = async () => {
    const answer = await new Client(baseUrl).post<{ token: string | null }>('auth/login', { email, password: PASSWORD })
    token = answer.data?.token
    return answer
  }
  const { sent } = await db.tx(async (tx) => {
    await tx.run(sql`update users set two_factor_enabled = true where id = ${userId}`)
    return sendHeld(tx, login)
  })
  assert.deepEqual([(await sent).status, token], [200, null])
})

test('a prepared webhook secret that a colleague replaces while it is being put into use stays unused', async () => {
  const { client, userId, companyId } = await registerManager(service.baseUrl)
  const path = '/api/users/webhook-secret/next'
  await service.db.run(sql`update sessions set second_factor_at = ${new Date(clock())} where user_id = ${userId}`)
  assert.equal((await client.post(path)).status, 200)
  const { sent } = await service.db.tx(async (tx) => {
    await tx.run(sql`select 1 from users where id = ${userId} for update`)
    const held = await sendHeld(tx, () => client.post(`${path}/activate`, {}))
    await tx.run(sql`update companies set next_webhook_secret_sealed = 'of a colleague' where id = ${companyId}`)
    return held
  })
  assert.equal((await sent).status, 409)
})

test('a till is given to cashiers of its company alone, also while the role is being taken away', async () => {
  const { db } = service
  const [boss, other] = [await registerManager(service.baseUrl), await registerManager(service.baseUrl)]
  const { data } = await boss.client.get<{ collectors: { _id: string }[] }>('collectors/list')
  const join = ({ companyId }: typeof boss) => register(service.baseUrl, { role: 'Cashier', companyName: companyId })
  const [cashier, stranger] = [await join(boss), await join(other)]
  const give = ({ userId }: typeof boss) =>
    boss.client.call('PUT', `collectors/${data.collectors[0]?._id}`, { cashiers: [userId] })
  for (const one of [stranger, boss]) assert.equal((await give(one)).status, 422)
  const { sent } = await db.tx(async (tx) => {
    await tx.run(sql`update users set role = 'Observer' where id = ${cashier.userId}`)
    return sendHeld(tx, () => give(cashier))
  })
  assert.equal((await sent).status, 422)
})

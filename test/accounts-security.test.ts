import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DAY, HOUR, MINUTE, SECOND } from '../src/clock.ts'
import { sql } from '../src/db/db.ts'
import { openPasswords } from '../src/users/password.ts'
import {
  Client,
  insertSuperAdmin,
  logIn,
  newEmail,
  PASSWORD,
  readCode,
  readMails,
  register,
  registerManager,
  totpOf,
  waitForMail,
} from './harness/accounts.ts'
import { startTestService, type TestService } from './harness/service.ts'

let service: TestService
let offsetMs = 0
const clock = (): number => Date.now() + offsetMs

before(async () => {
  service = await startTestService({ workers: true, clock })
})
after(() => service.stop())

const OTHER = 'Another-Fine-Secret-8'
const begin = (client: Client, email: string, password = PASSWORD) =>
  client.post('auth/login/manager', { email, password, origin: 'dashboard' })
const statuses = (answers: { status: number }[]): Record<number, number> => {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
const inParallel = <Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))

async function enrolled(): Promise<{ email: string; otp: (stepsAway?: number) => string }> {
  const { client, email } = await registerManager(service.baseUrl)
  const setup = await client.post<{ otpauthUri: string }>('auth/2fa/setup')
  const totp = totpOf(setup.data.otpauthUri)
  const otp = (stepsAway = 0): string => totp.generate({ timestamp: clock() + stepsAway * 30_000 })
  const enabled = await client.post('auth/2fa/enable', { otp: otp() })
  assert.equal(enabled.status, 200, enabled.text)
  offsetMs += 90_000
  return { email, otp }
}

test('A01: strangers register as SimpleUser, Manager and Association only', async () => {
  for (const role of ['SuperAdmin', 'SuperManager', 'Service']) {
    const body = { email: newEmail(), password: PASSWORD, firstName: 'A', lastName: 'B', role }
    const answer = await new Client(service.baseUrl).post('auth/register', body)
    assert.equal(answer.status, 403)
    assert.match(answer.error.message, /SuperAdmin’s bearer/)
  }
  const manager = await registerManager(service.baseUrl)
  const asManager = { email: newEmail(), password: PASSWORD, firstName: 'A', lastName: 'B', role: 'SuperAdmin' }
  assert.equal((await manager.client.post('auth/register', asManager)).status, 403)
  const twice = {
    email: manager.email.toUpperCase(),
    password: PASSWORD,
    firstName: 'A',
    lastName: 'B',
    role: 'SimpleUser',
  }
  assert.equal((await new Client(service.baseUrl).post('auth/register', twice)).error.code, 'EMAIL_ALREADY_REGISTERED')
  const association = await register(service.baseUrl, { role: 'Association', associationName: 'Les Amis' })
  const me = await association.client.get<{ company: { kind: string }; twoFactorAuthEnabled: boolean }>('users/me')
  assert.equal(me.data.company.kind, 'association')
  assert.equal(me.data.twoFactorAuthEnabled, false)
})

test('A02: the token of origin=application looks alike for everybody and changes nothing before the mail was read', async () => {
  const { email } = await registerManager(service.baseUrl)
  const ask = (to: string) =>
    new Client(service.baseUrl).post<string>('auth/reset-password/send', { email: to, origin: 'application' })
  const [known, unknown] = [await ask(email), await ask(newEmail())]
  assert.equal(known.status, 200)
  assert.equal(known.text.length, unknown.text.length)
  assert.match(String(known.data), /^[\w-]{43}$/)
  const change = (token: unknown, more = {}) =>
    new Client(service.baseUrl).post('auth/reset-password/change', { token, newPassword: OTHER, ...more })
  const refusals = [await change(known.data), await change(unknown.data)]
  assert.deepEqual(
    refusals.map(({ error }) => [error.code, error.message]),
    [
      ['INVALID_RESET_TOKEN', refusals[0]?.error.message],
      ['INVALID_RESET_TOKEN', refusals[0]?.error.message],
    ],
  )
  const wrong = [await change(known.data, { emailOtp: '000000' }), await change(unknown.data, { emailOtp: '000000' })]
  assert.deepEqual(
    wrong.map(({ error }) => error.code),
    ['INVALID_OTP', 'INVALID_OTP'],
  )
  const mail = await waitForMail(service.baseUrl, email, /code for a new password/)
  const emailOtp = /\b(\d{6})\b/.exec(mail.text)?.[1]
  assert.equal((await change(known.data, { emailOtp })).status, 200)
  assert.equal((await begin(new Client(service.baseUrl), email, OTHER)).status, 200)
})

test('A02: opening the mailed page is not enough, its button is; a key of another company proves nothing', async () => {
  const { email } = await registerManager(service.baseUrl)
  const stranger = await service.createMerchant()
  const sent = await new Client(service.baseUrl).post<string>('auth/reset-password/send', {
    email,
    origin: 'application',
  })
  const body = { token: sent.data, newPassword: OTHER }
  assert.equal(
    (await new Client(service.baseUrl).post('auth/reset-password/change', body, stranger.headers)).status,
    400,
  )
  const mail = await waitForMail(service.baseUrl, email, /code for a new password/)
  const link = /http:\/\/\S+confirm-reset\?token=(\S+)/.exec(mail.text)
  assert.equal((await fetch(link?.[0] ?? '')).status, 200)
  assert.equal((await new Client(service.baseUrl).post('auth/reset-password/change', body)).status, 400)
  const form = new URLSearchParams({ token: link?.[1] ?? '' })
  await fetch(`${service.baseUrl}/account/confirm-reset`, { method: 'POST', body: form })
  assert.equal((await new Client(service.baseUrl).post('auth/reset-password/change', body)).status, 200)
})

test('A03: unknown e-mail and wrong password give the same bytes; times are reported (400 samples: npm run bench)', async (t) => {
  const { email } = await registerManager(service.baseUrl)
  const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] }
  const texts = new Set<string>()
  const sample = async (kind: 'known' | 'unknown'): Promise<void> => {
    await service.db.run(sql`delete from login_failures`)
    const startedAt = performance.now()
    const answer = await begin(new Client(service.baseUrl), kind === 'known' ? email : newEmail(), `${PASSWORD}x`)
    times[kind].push(performance.now() - startedAt)
    assert.equal(answer.status, 400)
    texts.add(answer.text.replace(answer.error.requestId, ''))
  }
  for (let round = 0; round < 30; round += 1) {
    await sample(round % 2 === 0 ? 'known' : 'unknown')
    await sample(round % 2 === 0 ? 'unknown' : 'known')
  }
  assert.equal(texts.size, 1)
  const median = (list: number[]): string => (list.sort((left, right) => left - right)[list.length / 2] ?? 0).toFixed(2)
  t.diagnostic(`median ms: known ${median(times.known)}, unknown ${median(times.unknown)}`)
})

test('A04: hashes are argon2id with the policy’s parameters; older ones are renewed at the next login', async () => {
  const { email } = await register(service.baseUrl, { role: 'SimpleUser' })
  const hashOf = async (): Promise<string> =>
    (await service.db.one<{ passwordHash: string }>(sql`select password_hash from users where email = ${email}`))
      .passwordHash
  assert.match(await hashOf(), /^\$argon2id\$v=19\$m=47104,t=2,p=1\$/)
  const { hash } = await import('@node-rs/argon2')
  const old = await hash(PASSWORD, { memoryCost: 19_456, timeCost: 2, parallelism: 1 })
  await service.db.run(sql`update users set password_hash = ${old} where email = ${email}`)
  await logIn(service.baseUrl, email, 'auth/login')
  assert.match(await hashOf(), /m=47104,t=2,p=1/)
})

test('A05: at most as many hashes run at once as there are cores; beyond a short queue the answer is BUSY', async () => {
  const passwords = openPasswords({ atOnce: 2, queue: 3 })
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => passwords.hash(PASSWORD)))
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 5)
  assert.equal(passwords.load.most, 2)
  const refused = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult
  assert.equal(refused.reason.code, 'BUSY')
  assert.equal(refused.reason.retryAfter, 2)
  assert.equal(passwords.load.running, 0)
})

test('A07: long and Unicode passwords work whole; short, plain and common ones are refused by name', async () => {
  const attempt = (password: string) =>
    new Client(service.baseUrl).post('auth/register', {
      email: newEmail(),
      password,
      firstName: 'A',
      lastName: 'B',
      role: 'SimpleUser',
    })
  for (const password of [`Aé7-${'Wörter-传说🐎 '.repeat(9)}`, `Q7-${'xY'.repeat(62)}!`]) {
    assert.equal((await attempt(password)).status, 200, password)
  }
  for (const [password, reason] of [
    ['Sh0rt-Word!', /at least 12/],
    ['no-upper-case-77', /upper-case/],
    ['NO-LOWER-CASE-77', /lower-case/],
    ['No-Digits-In-Here', /a digit/],
    ['NoSpecials77InHere', /special/],
    [`Aa1-${'x'.repeat(126)}`, /at most 128/],
    ['Password1234!', /common/],
  ] as const) {
    const answer = await attempt(password)
    assert.equal(answer.status, 422)
    assert.equal(answer.error.code, 'WEAK_PASSWORD')
    assert.match(answer.error.details?.[0]?.message ?? '', reason)
  }
  const { email } = await register(service.baseUrl, { role: 'SimpleUser', password: `${'Ab7-'.repeat(18)}x` })
  const login = (password: string) => new Client(service.baseUrl).post('auth/login', { email, password })
  assert.equal((await login('Ab7-'.repeat(18))).status, 400)
  assert.equal((await login(`${'Ab7-'.repeat(18)}x`)).status, 200)
})

test('A08: ten wrong passwords lock for half an hour, known address or not; the reset path stays open', async () => {
  for (const email of [(await registerManager(service.baseUrl)).email, newEmail()]) {
    for (let count = 0; count < 10; count += 1)
      assert.equal(
        (await begin(new Client(service.baseUrl), email, 'Wrong-Password-1!')).error.code,
        'INVALID_CREDENTIALS',
      )
    const locked = await begin(new Client(service.baseUrl), email)
    assert.equal(locked.status, 429)
    assert.equal(locked.error.code, 'ACCOUNT_LOCKED')
    assert.ok(Number(locked.headers.get('retry-after')) > 1700)
  }
  const { email } = await registerManager(service.baseUrl)
  await inParallel(10, () => begin(new Client(service.baseUrl), email, 'Wrong-Password-1!'))
  assert.equal((await begin(new Client(service.baseUrl), email)).status, 429)
  await new Client(service.baseUrl).post('auth/reset-password/send', { email })
  const mail = await waitForMail(service.baseUrl, email, /Choose a new password/)
  const token = /reset-password\?token=(\S+)/.exec(mail.text)?.[1]
  assert.equal(
    (await new Client(service.baseUrl).post('auth/reset-password/change', { token, newPassword: OTHER })).status,
    200,
  )
  assert.equal((await begin(new Client(service.baseUrl), email, OTHER)).status, 200)
  offsetMs += 31 * MINUTE
})

test('A12: the second step needs the cookie of its own login, and within five minutes', async () => {
  const { email, otp } = await enrolled()
  assert.equal((await new Client(service.baseUrl).post('auth/otp', { otp: otp() })).status, 401)
  const client = new Client(service.baseUrl)
  await begin(client, email)
  const value = client.cookies.get('otpValidationToken')?.value ?? ''
  const asBearer = await new Client(service.baseUrl).post(
    'auth/otp',
    { otp: otp() },
    { authorization: `Bearer ${value}` },
  )
  assert.equal(asBearer.status, 200, asBearer.text)
  const late = new Client(service.baseUrl)
  await begin(late, email)
  offsetMs += 6 * MINUTE
  assert.equal((await late.post('auth/otp', { otp: otp() })).status, 401)
  const order = await new Client(service.baseUrl).call('GET', 'users/me', undefined, {
    authorization: `Bearer ${value}`,
  })
  assert.equal(order.status, 401)
  assert.equal((await client.post('auth/otp', {})).status, 422)
})

test('A13: of fifty submissions of one code at once, one wins', async () => {
  const { email, otp } = await enrolled()
  const clients = await inParallel(10, async () => {
    const client = new Client(service.baseUrl)
    await begin(client, email)
    return client
  })
  const code = otp()
  const answers = await inParallel(50, (index) => (clients[index % 10] as Client).post('auth/otp', { otp: code }))
  assert.equal(statuses(answers)[200], 1, JSON.stringify(statuses(answers)))
})

test('A14: one step of tolerance either way, never an older step after a newer one', async () => {
  for (const [steps, expected] of [
    [-2, 400],
    [2, 400],
    [-1, 200],
    [0, 200],
    [1, 200],
  ] as const) {
    const { email, otp } = await enrolled()
    const client = new Client(service.baseUrl)
    await begin(client, email)
    assert.equal((await client.post('auth/otp', { otp: otp(steps) })).status, expected, `step ${steps}`)
    if (expected !== 200) continue
    const next = new Client(service.baseUrl)
    await begin(next, email)
    assert.equal((await next.post('auth/otp', { otp: otp(steps - 1) })).status, 400, `older than ${steps}`)
  }
})

test('A15: five wrong codes end the login; thirty in a day lock the factor', async () => {
  const { email, otp } = await enrolled()
  for (let round = 0; round < 6; round += 1) {
    const client = new Client(service.baseUrl)
    await begin(client, email)
    for (let count = 0; count < 5; count += 1)
      assert.equal((await client.post('auth/otp', { otp: otp(20 + count) })).status, 400)
    assert.equal((await client.post('auth/otp', { otp: otp() })).status, 401)
  }
  const client = new Client(service.baseUrl)
  await begin(client, email)
  const locked = await client.post('auth/otp', { otp: otp() })
  assert.equal(locked.error.code, 'ACCOUNT_LOCKED')
  offsetMs += DAY
  const later = new Client(service.baseUrl)
  await begin(later, email)
  assert.equal((await later.post('auth/otp', { otp: otp() })).status, 200)
})

test('A16: mailed codes: five minutes, once, bound to their login, a new one voids the old, a minute between', async () => {
  const { email } = await registerManager(service.baseUrl)
  const client = new Client(service.baseUrl)
  await begin(client, email)
  const first = await readCode(service.baseUrl, email)
  const other = new Client(service.baseUrl)
  await begin(other, email)
  await readCode(service.baseUrl, email, 2)
  assert.equal((await other.post('auth/otp', { emailOtp: first })).status, 400)
  assert.equal((await client.post('auth/otp/email', { email })).status, 200)
  offsetMs += 61 * SECOND
  assert.equal((await client.post('auth/otp/email', { email })).status, 200)
  const second = await readCode(service.baseUrl, email, 3)
  const mails = (await readMails(service.baseUrl, email)).filter(({ subject }) => /login code/.test(subject))
  assert.equal(mails.length, 3, 'nothing was sent within the minute')
  if (first !== second) assert.equal((await client.post('auth/otp', { emailOtp: first })).status, 400)
  assert.equal((await client.post('auth/otp', { emailOtp: second })).status, 200)
  const late = new Client(service.baseUrl)
  await begin(late, email)
  const code = await readCode(service.baseUrl, email, 4)
  offsetMs += 5 * MINUTE
  assert.equal((await late.post('auth/otp', { emailOtp: code })).status, 401)
  assert.ok(!service.logLines.some((line) => line.includes(code) || line.includes(second)))
})

test('A16: ten mailed codes an hour, then a refusal that says when', async () => {
  const { email } = await registerManager(service.baseUrl)
  for (let count = 0; count < 10; count += 1) await begin(new Client(service.baseUrl), email)
  const client = new Client(service.baseUrl)
  await begin(client, email)
  const answer = await client.post('auth/otp/email', { email })
  assert.equal(answer.status, 429)
  assert.ok(Number(answer.headers.get('retry-after')) > 0)
  offsetMs += HOUR
})

test('A17: asking for a code without a login gives the same answer for everybody and sends nothing', async () => {
  const { email } = await registerManager(service.baseUrl)
  const answers = []
  for (const to of [email, newEmail()])
    answers.push(await new Client(service.baseUrl).post('auth/otp/email', { email: to }))
  assert.deepEqual(
    answers.map(({ text }) => text),
    [answers[0]?.text, answers[0]?.text],
  )
  assert.deepEqual(await readMails(service.baseUrl, email), [])
})

test('A18, A19: a reset link works once in twenty tries, ends every session, and the second factor is still asked', async () => {
  const { email } = await registerManager(service.baseUrl)
  const client = await logIn(service.baseUrl, email)
  await new Client(service.baseUrl).post('auth/reset-password/send?lang=fr', { email })
  const old = await waitForMail(service.baseUrl, email, /Choisissez un nouveau mot de passe/)
  await new Client(service.baseUrl).post('auth/reset-password/send', { email })
  const mail = await waitForMail(service.baseUrl, email, /Choose a new password/)
  const tokenOf = (text: string): string => /reset-password\?token=([\w-]{43})/.exec(text)?.[1] ?? ''
  const change = (token: string) =>
    new Client(service.baseUrl).post('auth/reset-password/change', { token, newPassword: OTHER })
  assert.equal((await change(tokenOf(old.text))).status, 400, 'the newer one voids it')
  const answers = await inParallel(20, () => change(tokenOf(mail.text)))
  assert.equal(statuses(answers)[200], 1, JSON.stringify(statuses(answers)))
  assert.equal((await client.get('users/me')).status, 401)
  assert.equal((await client.post('auth/refresh-token')).status, 401)
  await waitForMail(service.baseUrl, email, /password was changed/)
  const login = await begin(new Client(service.baseUrl), email, OTHER)
  assert.equal(login.data.token, null)
  const { count } = await service.db.one<{ count: number }>(
    sql`select count(*)::int as count from password_resets where token_hash = ${tokenOf(mail.text)}`,
  )
  assert.equal(count, 0, 'only its hash is stored')
})

test('A18: a SuperAdmin gets no reset mail, and the answer does not tell', async () => {
  const email = await insertSuperAdmin(service.db, await openPasswords().hash(PASSWORD))
  const answers = []
  for (const to of [email, newEmail()])
    answers.push(await new Client(service.baseUrl).post('auth/reset-password/send', { email: to }))
  assert.deepEqual(
    answers.map(({ text }) => text),
    [answers[0]?.text, answers[0]?.text],
  )
  const admin = await logIn(service.baseUrl, email, 'auth/login')
  assert.equal((await admin.get<{ role: string }>('users/me')).data.role, 'SuperAdmin')
  assert.equal((await readMails(service.baseUrl, email)).length, 1, 'the login code alone')
})

test('A20: links in mails come from the configuration, not from the request', async () => {
  const { email } = await registerManager(service.baseUrl)
  await new Client(service.baseUrl).post('auth/reset-password/send', { email }, { 'x-forwarded-host': 'evil.example' })
  const mail = await waitForMail(service.baseUrl, email, /Choose a new password/)
  assert.ok(mail.text.includes(`${service.baseUrl}/account/reset-password`))
  assert.doesNotMatch(mail.text + mail.html, /evil\.example/)
})

test('A21 to A23: refresh: the same successor within ten seconds, reuse later ends the session', async () => {
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
  assert.deepEqual(statuses(answers), { 200: 50 })
  const successors = new Set(answers.map(({ next }) => next))
  assert.equal(successors.size, 1)
  const [successor = ''] = successors
  const second = await refresh(successor)
  assert.equal(second.status, 200)
  assert.equal((await refresh(old)).status, 401, 'the successor was used')
  assert.equal((await refresh(second.next)).status, 401, 'the whole family is dead')
  await waitForMail(service.baseUrl, email, /session of your account was ended/)
  const again = await logIn(service.baseUrl, email)
  const token = again.cookies.get('refreshToken')?.value ?? ''
  const next = (await refresh(token)).next
  offsetMs += 11 * SECOND
  assert.equal((await refresh(token)).status, 401)
  assert.equal((await refresh(next)).status, 401)
})

test('A24: sessions end when idle and absolutely, by role and client', async () => {
  const { email } = await registerManager(service.baseUrl)
  const dashboard = await logIn(service.baseUrl, email)
  offsetMs += 11 * HOUR
  assert.equal((await dashboard.post('auth/refresh-token')).status, 200)
  offsetMs += 12.5 * HOUR
  assert.equal((await dashboard.post('auth/refresh-token')).status, 401, 'idle for 12 hours, or 24 over')
  const adminEmail = await insertSuperAdmin(service.db, await openPasswords().hash(PASSWORD))
  const admin = await logIn(service.baseUrl, adminEmail, 'auth/login')
  offsetMs += 61 * MINUTE
  assert.equal((await admin.post('auth/refresh-token')).status, 401)
  const { email: simple } = await register(service.baseUrl, { role: 'SimpleUser' })
  const user = await logIn(service.baseUrl, simple, 'auth/login')
  offsetMs += 11 * MINUTE
  assert.equal((await user.get('users/me')).status, 401, 'access tokens live ten minutes')
})

test('A25: x-user-id selects among the caller’s own cookies only', async () => {
  const { email } = await register(service.baseUrl, { role: 'SimpleUser' })
  const client = await logIn(service.baseUrl, email, 'auth/login')
  const named = new Client(service.baseUrl)
  await named.post('auth/login', { email, password: PASSWORD }, { 'x-user-id': client.userId })
  assert.deepEqual([...named.cookies.keys()], [`refreshToken_${client.userId}`])
  assert.equal((await named.post('auth/refresh-token')).status, 401)
  assert.equal((await named.post('auth/refresh-token', undefined, { 'x-user-id': client.userId })).status, 200)
  const other = await register(service.baseUrl, { role: 'SimpleUser' })
  const value = named.cookies.get(`refreshToken_${client.userId}`)?.value ?? ''
  named.cookies.set(`refreshToken_${other.userId}`, { value, attributes: 'Path=/' })
  assert.equal((await named.post('auth/refresh-token', undefined, { 'x-user-id': other.userId })).status, 401)
  for (const header of ['../../etc', 'x; Path=/', 'A'.repeat(24)])
    assert.equal((await named.post('auth/refresh-token', undefined, { 'x-user-id': header })).status, 422)
})

test('A26: requests from other websites change nothing', async () => {
  const { email } = await register(service.baseUrl, { role: 'SimpleUser' })
  const client = await logIn(service.baseUrl, email, 'auth/login')
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }, { origin: 'null' }]) {
    for (const path of ['auth/refresh-token', 'auth/sign-out']) {
      const answer = await client.post(path, undefined, headers)
      assert.equal(answer.status, 403)
      assert.equal(answer.error.code, 'CROSS_SITE_REQUEST')
    }
  }
  assert.equal((await client.post('auth/refresh-token', undefined, { origin: service.baseUrl })).status, 200)
})

test('A11, A27: over https every cookie is Secure, the refresh cookie has the __Host- prefix', async () => {
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
    await begin(pending, email)
    assert.match(
      pending.cookies.get('otpValidationToken')?.attributes ?? '',
      /^Max-Age=300; Path=\/api\/next\/auth; HttpOnly; Secure; SameSite=Strict$/,
    )
  } finally {
    await https.stop()
  }
})

test('A28: a revoked session is refused at once here, and on another node within five seconds', async () => {
  const { connectionString } = service.db.pool.options as { connectionString: string }
  const second = await startTestService({ connectionString, clock, env: { BASE_URL: service.baseUrl } })
  try {
    const { email } = await register(service.baseUrl, { role: 'SimpleUser' })
    const client = await logIn(service.baseUrl, email, 'auth/login')
    const elsewhere = new Client(`http://127.0.0.1:${second.config.port}`)
    elsewhere.token = client.token
    assert.equal((await elsewhere.get('users/me')).status, 200)
    const sessions = await client.get<{ _id: string; current: boolean }[]>('auth/sessions')
    const current = sessions.data.find((session) => session.current)
    assert.equal((await client.call('DELETE', `auth/sessions/${current?._id}`)).status, 200)
    assert.equal((await client.get('users/me')).status, 401)
    offsetMs += 5 * SECOND
    assert.equal((await elsewhere.get('users/me')).status, 401)
  } finally {
    await second.stop()
  }
})

test('A29: a token that is not exactly ours is refused', async () => {
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

test('A34: step-up: a session without a fresh factor is refused by name, and a code makes it fresh', async () => {
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
  const stepUp = await client.post('auth/otp', { emailOtp })
  assert.equal(stepUp.status, 200, stepUp.text)
  assert.equal((await client.get('/api/users/webhook-secret')).status, 200)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import {
  beginLogin,
  Client,
  countStatuses,
  inParallel,
  logInSuperAdmin,
  newEmail,
  OTHER_PASSWORD,
  PASSWORD,
  readCode,
  readMails,
  register,
  registerManager,
  totpOf,
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

async function enrolled(): Promise<{ email: string; userId: string; otp: (stepsAway?: number) => string }> {
  const { client, email, userId } = await registerManager(service.baseUrl)
  const setup = await client.post<{ otpauthUri: string }>('auth/2fa/setup')
  const totp = totpOf(setup.data.otpauthUri)
  const otp = (stepsAway = 0): string => totp.generate({ timestamp: clock() + stepsAway * 30_000 })
  const enabled = await client.post('auth/2fa/enable', { otp: otp() })
  assert.equal(enabled.status, 200, enabled.text)
  offsetMs += 90_000
  return { email, userId, otp }
}

test('the second step needs the cookie of its own login, and within five minutes', async () => {
  const { email, otp } = await enrolled()
  assert.equal((await new Client(service.baseUrl).post('auth/otp', { otp: otp() })).status, 401)
  const client = new Client(service.baseUrl)
  await beginLogin(client, email)
  const value = client.cookies.get('otpValidationToken')?.value ?? ''
  const asBearer = await new Client(service.baseUrl).post(
    'auth/otp',
    { otp: otp() },
    { authorization: `Bearer ${value}` },
  )
  assert.equal(asBearer.status, 200, asBearer.text)
  const late = new Client(service.baseUrl)
  await beginLogin(late, email)
  offsetMs += 6 * MINUTE
  assert.equal((await late.post('auth/otp', { otp: otp() })).status, 401)
  const order = await new Client(service.baseUrl).call('GET', 'users/me', undefined, {
    authorization: `Bearer ${value}`,
  })
  assert.equal(order.status, 401)
  assert.equal((await client.post('auth/otp', {})).status, 422)
})

test('of fifty submissions of one code at once, one wins', async () => {
  const { email, otp } = await enrolled()
  const clients = await inParallel(10, async () => {
    const client = new Client(service.baseUrl)
    await beginLogin(client, email)
    return client
  })
  const code = otp()
  const answers = await inParallel(50, (index) => (clients[index % 10] as Client).post('auth/otp', { otp: code }))
  assert.equal(countStatuses(answers)[200], 1, JSON.stringify(countStatuses(answers)))
})

test('of fifty submissions of one mailed code at once, one wins', async () => {
  const { email } = await registerManager(service.baseUrl)
  const client = new Client(service.baseUrl)
  await beginLogin(client, email)
  const emailOtp = await readCode(service.baseUrl, email)
  const value = client.cookies.get('otpValidationToken')?.value ?? ''
  const answers = await inParallel(50, () =>
    new Client(service.baseUrl).post('auth/otp', { emailOtp }, { authorization: `Bearer ${value}` }),
  )
  assert.deepEqual(countStatuses(answers), { 200: 1, 401: 49 })
})

test('one step of tolerance either way, never an older step after a newer one', async () => {
  for (const [steps, expected] of [
    [-2, 400],
    [2, 400],
    [-1, 200],
    [0, 200],
    [1, 200],
  ] as const) {
    const { email, otp } = await enrolled()
    const client = new Client(service.baseUrl)
    await beginLogin(client, email)
    assert.equal((await client.post('auth/otp', { otp: otp(steps) })).status, expected, `step ${steps}`)
    if (expected !== 200) continue
    const next = new Client(service.baseUrl)
    await beginLogin(next, email)
    assert.equal((await next.post('auth/otp', { otp: otp(steps - 1) })).status, 400, `older than ${steps}`)
  }
})

/** @returns a login that waits for a code, after thirty wrong ones */
async function guessThirty({ email, otp }: { email: string; otp(stepsAway?: number): string }): Promise<Client> {
  for (let round = 0; round < 6; round += 1) {
    const client = new Client(service.baseUrl)
    await beginLogin(client, email)
    for (let count = 0; count < 5; count += 1)
      assert.equal((await client.post('auth/otp', { otp: otp(20 + count) })).status, 400)
    assert.equal((await client.post('auth/otp', { otp: otp() })).status, 401)
    // past what one address may send in a minute
    offsetMs += MINUTE
  }
  const client = new Client(service.baseUrl)
  await beginLogin(client, email)
  assert.equal((await client.post('auth/otp', { otp: otp() })).error.code, 'ACCOUNT_LOCKED')
  return client
}

test('five wrong codes end the login; thirty in a day lock the factor', async () => {
  const { email, otp } = await enrolled()
  await guessThirty({ email, otp })
  offsetMs += DAY
  const later = new Client(service.baseUrl)
  await beginLogin(later, email)
  assert.equal((await later.post('auth/otp', { otp: otp() })).status, 200)
})

test('thirty wrong codes: after the reset by the operator, for which the refusal asks, a mailed code logs in', async () => {
  const { email, userId, otp } = await enrolled()
  await guessThirty({ email, otp })
  const operator = await logInSuperAdmin(service)
  const reset = await operator.post(`users/${userId}/reset-2fa`)
  assert.equal(reset.status, 200, reset.text)
  const again = new Client(service.baseUrl)
  await beginLogin(again, email)
  const emailOtp = await readCode(service.baseUrl, email)
  assert.equal((await again.post('auth/otp', { emailOtp })).status, 200)
})

test('a reset says what was removed: the passkeys by their names, and an app only to a person who had one', async () => {
  const operator = await logInSuperAdmin(service)
  for (const hasApp of [false, true]) {
    const { email, userId } = hasApp ? await enrolled() : await registerManager(service.baseUrl)
    const passkey = newId(0)
    await service.db.run(sql`
      insert into passkeys (id, user_id, credential_id, public_key, counter, transports, name, created_at)
      values (${passkey}, ${userId}, ${passkey}, '\\x00', 0, '{}', 'My phone', now())`)
    assert.equal((await operator.post(`users/${userId}/reset-2fa`)).status, 200)
    const mail = await waitForMail(service.baseUrl, email, /no longer confirm your login: My phone\./)
    assert.equal(mail.subject, 'Your second factor was reset')
    assert.equal(/authenticator app/.test(mail.text), hasApp)
    const { detail } = await service.db.one<{ detail: string }>(sql`
      select detail from audit_log where action = 'two-factor.remove' and object = ${`user:${userId}`}`)
    assert.deepEqual(JSON.parse(detail), { authenticator: hasApp, passkeys: [passkey] })
  }
})

test('thirty codes guessed by a thief: a new password lets the owner in, and gives the thief no further guess', async () => {
  const { email, otp } = await enrolled()
  const thief = await guessThirty({ email, otp })
  const owner = new Client(service.baseUrl)
  await owner.post('auth/reset-password/send', { email })
  assert.equal((await thief.post('auth/otp', { otp: otp(20) })).error.code, 'ACCOUNT_LOCKED', 'asking frees nothing')
  const mail = await waitForMail(service.baseUrl, email, /token=/)
  const token = /token=([\w-]+)/.exec(mail.text)?.[1]
  const changed = await owner.post('auth/reset-password/change', { token, newPassword: OTHER_PASSWORD })
  assert.equal(changed.status, 200, changed.text)
  assert.equal((await thief.post('auth/otp', { otp: otp(20) })).status, 401, 'the login of before is over')
  assert.equal((await beginLogin(thief, email)).error.code, 'INVALID_CREDENTIALS')
  await beginLogin(owner, email, OTHER_PASSWORD)
  const answer = await owner.post('auth/otp', { otp: otp() })
  assert.equal(answer.status, 200, answer.text)
})

test('mailed codes: five minutes, once, bound to their login, a new one voids the old, a minute between', async () => {
  const { email } = await registerManager(service.baseUrl)
  const client = new Client(service.baseUrl)
  await beginLogin(client, email)
  const first = await readCode(service.baseUrl, email)
  const other = new Client(service.baseUrl)
  await beginLogin(other, email)
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
  await beginLogin(late, email)
  const code = await readCode(service.baseUrl, email, 4)
  offsetMs += 5 * MINUTE
  assert.equal((await late.post('auth/otp', { emailOtp: code })).status, 401)
  assert.ok(!service.logLines.some((line) => line.includes(code) || line.includes(second)))
})

test('ten mailed codes an hour; then neither a login nor a new code says that one was sent, but when', async () => {
  const { email } = await registerManager(service.baseUrl)
  const last = new Client(service.baseUrl)
  for (let count = 0; count < 10; count += 1) {
    await beginLogin(count < 9 ? new Client(service.baseUrl) : last, email)
    if (count === 0) offsetMs += 20 * MINUTE
  }
  offsetMs += 2 * MINUTE
  const login = () => beginLogin(new Client(service.baseUrl), email)
  const refused = [await login(), await last.post('auth/otp/email', { email })]
  for (const { status, error, headers } of refused) {
    assert.deepEqual([status, error.code], [429, 'TOO_MANY_REQUESTS'])
    const minutes = Number(headers.get('retry-after')) / 60
    assert.ok(minutes > 37 && minutes <= 38, `${minutes} minutes, until the first code is an hour old`)
  }
  assert.deepEqual(refused[0]?.headers.getSetCookie(), [])
  offsetMs += 38 * MINUTE
  const { status, text } = await login()
  assert.equal(status, 200, text)
  offsetMs += HOUR
})

for (const [way, isForgotten] of [
  ['by a mailed link', true],
  ['in a running session', false],
] as const)
  test(`ten codes sent to whoever knew the old password: a new one ${way} ends those logins, and codes are sent again`, async () => {
    const { client: owner, email } = await registerManager(service.baseUrl)
    const thief = new Client(service.baseUrl)
    for (let count = 0; count < 10; count += 1) await beginLogin(thief, email)
    assert.equal((await beginLogin(new Client(service.baseUrl), email)).status, 429)
    const emailOtp = await readCode(service.baseUrl, email, 10)
    if (isForgotten) {
      await owner.post('auth/reset-password/send', { email })
      const token = /token=([\w-]+)/.exec(
        (await waitForMail(service.baseUrl, email, /reset-password\?token=/)).text,
      )?.[1]
      const { status } = await owner.post('auth/reset-password/change', { token, newPassword: OTHER_PASSWORD })
      assert.equal(status, 200)
    } else {
      const asked = await owner.post('auth/otp/email?stepUp=true', { email })
      assert.equal(asked.status, 429, 'before, the owner gets none')
      const change = { password: PASSWORD, newPassword: OTHER_PASSWORD }
      assert.equal((await owner.post('auth/password', change)).status, 200)
      assert.equal((await owner.post('auth/otp/email?stepUp=true', { email })).status, 200)
      assert.ok(await waitForMail(service.baseUrl, email, /^\d{6} /, 11))
    }
    assert.equal((await thief.post('auth/otp', { emailOtp })).status, 401, 'the login of before is over')
    const { status, text } = await beginLogin(new Client(service.baseUrl), email, OTHER_PASSWORD)
    assert.equal(status, 200, text)
  })

for (const [whose, isConfirmed, codes, words] of [
  ['an address that nobody confirmed', false, 10, 10],
  ['a confirmed address', true, 11, 12],
] as const)
  test(`mails to ${whose}: changing the password to and fro sends few more codes than ten an hour`, async () => {
    const { client, email, userId } = await register(service.baseUrl, { role: 'SimpleUser' })
    if (!isConfirmed) await service.db.run(sql`update users set verified_at = null where id = ${userId}`)
    let [password, newPassword] = [PASSWORD, OTHER_PASSWORD]
    const statuses = []
    for (let count = 0; count < 12; count += 1) {
      statuses.push((await client.post('auth/otp/email?stepUp=true', { email })).status)
      if (statuses.at(-1) === 200) await waitForMail(service.baseUrl, email, /^\d{6} /, statuses.length)
      const changed = await client.post('auth/password', { password, newPassword })
      assert.equal(changed.status, 200, changed.text)
      ;[password, newPassword] = [newPassword, password]
      offsetMs += 61 * SECOND
      client.token = (await client.post<{ token: string }>('auth/refresh-token')).data.token
    }
    const most = statuses.map((_, index) => (index < codes ? 200 : 429))
    assert.deepEqual(statuses, most)
    const { count } = await service.db.one<{ count: number }>(sql`
      select coalesce(sum(codes_sent), 0)::int as count from otp_challenges where user_id = ${userId}`)
    assert.equal(count, 10)
    await eventually(
      () => service.db.many(sql`select id from jobs where kind = 'mail' and run_at < 'infinity'`),
      (waiting) => waiting.length === 0,
    )
    const mails = await readMails(service.baseUrl, email)
    const told = mails.filter(({ subject }) => subject === 'Your password was changed')
    assert.deepEqual([mails.length - told.length, told.length], [codes, words])
  })

test('a new password in a running session leaves what its step-up has used up: the minute, and the wrong codes', async () => {
  const { client, email } = await registerManager(service.baseUrl)
  const [thief, ask] = [new Client(service.baseUrl), () => client.post('auth/otp/email?stepUp=true', { email })]
  await beginLogin(thief, email)
  await ask()
  const emailOtp = await readCode(service.baseUrl, email, 2)
  const wrong = emailOtp === '000000' ? '111111' : '000000'
  for (let count = 0; count < 4; count += 1)
    assert.equal((await client.post('auth/otp?stepUp=true', { emailOtp: wrong })).error.code, 'INVALID_OTP')
  const change = { password: PASSWORD, newPassword: OTHER_PASSWORD }
  assert.equal((await client.post('auth/password', change)).status, 200)
  assert.equal((await thief.post('auth/otp', { emailOtp })).status, 401, 'the login of before is over')
  assert.equal((await ask()).status, 200)
  await client.post('auth/otp?stepUp=true', { emailOtp: wrong })
  const { error } = await client.post('auth/otp?stepUp=true', { emailOtp })
  assert.match(error.message, /Too many wrong codes/)
  const sent = (await readMails(service.baseUrl, email)).filter(({ subject }) => /^\d{6} /.test(subject))
  assert.equal(sent.length, 2)
})

test('asking for a code without a login gives the same answer for everybody and sends nothing', async () => {
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

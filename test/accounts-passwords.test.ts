import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openAccounts } from '../src/assembly/accounts.ts'
import { loadConfig } from '../src/config/config.ts'
import { sql } from '../src/db/db.ts'
import { systemContext } from '../src/http/request-context.ts'
import { HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import { openVault } from '../src/kernel/vault.ts'
import { TEXTS } from '../src/texts/languages.ts'
import { openPasswords } from '../src/users/password.ts'
import {
  beginLogin,
  Client,
  countStatuses,
  inParallel,
  insertSuperAdmin,
  logIn,
  newEmail,
  OTHER_PASSWORD,
  PASSWORD,
  passwordHash,
  readMails,
  register,
  registerManager,
  waitForMail,
} from './harness/accounts.ts'
import { eventually, startTestService, TEST_MASTER_KEY, type TestService } from './harness/service.ts'

let service: TestService
let offsetMs = 0
const clock = (): number => Date.now() + offsetMs

before(async () => {
  service = await startTestService({ workers: true, clock })
})
after(() => service.stop())

test('strangers register as SimpleUser, Manager and Association only', async () => {
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

test('an address whose domain has umlauts is one account, also as browsers write it', async () => {
  const [name] = newEmail().split('@')
  const person = { password: PASSWORD, firstName: 'Ä', lastName: 'B', role: 'SimpleUser' }
  const enter = (email: string) => new Client(service.baseUrl).post('auth/register', { ...person, email })
  assert.equal((await enter(`${name}@müller.example`)).status, 200)
  assert.equal((await enter(`${name}@xn--mller-kva.example`)).error.code, 'EMAIL_ALREADY_REGISTERED')
})

test('the token of origin=application looks alike for everybody and changes nothing before the mail was read', async () => {
  const { email } = await registerManager(service.baseUrl)
  const ask = (to: string) =>
    new Client(service.baseUrl).post<string>('auth/reset-password/send', { email: to, origin: 'application' })
  const [known, unknown] = [await ask(email), await ask(newEmail())]
  assert.equal(known.status, 200)
  assert.equal(known.text.length, unknown.text.length)
  assert.match(String(known.data), /^[\w-]{43}$/)
  const change = (token: unknown, more = {}) =>
    new Client(service.baseUrl).post('auth/reset-password/change', { token, newPassword: OTHER_PASSWORD, ...more })
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
  assert.equal((await beginLogin(new Client(service.baseUrl), email, OTHER_PASSWORD)).status, 200)
})

test('opening the mailed page is not enough, its button is; a key of another company proves nothing', async () => {
  const { email } = await registerManager(service.baseUrl)
  const stranger = await service.createMerchant()
  const sent = await new Client(service.baseUrl).post<string>('auth/reset-password/send', {
    email,
    origin: 'application',
  })
  const body = { token: sent.data, newPassword: OTHER_PASSWORD }
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

test('unknown e-mail and wrong password give the same bytes; times are reported (400 samples: npm run bench)', async (t) => {
  const { email } = await registerManager(service.baseUrl)
  const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] }
  const texts = new Set<string>()
  const sample = async (kind: 'known' | 'unknown'): Promise<void> => {
    await service.db.run(sql`delete from login_failures`)
    const startedAt = performance.now()
    const answer = await beginLogin(new Client(service.baseUrl), kind === 'known' ? email : newEmail(), `${PASSWORD}x`)
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

test('hashes are argon2id with the policy’s parameters; older ones are renewed at the next login', async () => {
  const { email } = await register(service.baseUrl, { role: 'SimpleUser' })
  const hashOf = async (): Promise<string> =>
    (await service.db.one<{ passwordHash: string }>(sql`select password_hash from users where email = ${email}`))
      .passwordHash
  assert.match(await hashOf(), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  const { hash } = await import('@node-rs/argon2')
  const old = await hash(PASSWORD, { memoryCost: 12_288, timeCost: 3, parallelism: 1 })
  await service.db.run(sql`update users set password_hash = ${old} where email = ${email}`)
  await logIn(service.baseUrl, email, 'auth/login')
  assert.match(await hashOf(), /m=19456,t=2,p=1/)
  assert.match(await openPasswords().hash(PASSWORD), /^\$argon2id\$v=19\$m=47104,t=2,p=1\$/)
  assert.throws(() => loadConfig({ PASSWORD_MEMORY_KIB: '19455' }), /PASSWORD_MEMORY_KIB/)
})

test('a login with the old password while it is reset opens no session and does not bring the password back', async () => {
  const { email, userId } = await register(service.baseUrl, { role: 'SimpleUser' })
  const { hash } = await import('@node-rs/argon2')
  const [old, fresh] = await Promise.all(
    [PASSWORD, OTHER_PASSWORD].map((text, index) => hash(text, { memoryCost: 19_456, timeCost: 2 + index })),
  )
  await service.db.run(sql`update users set password_hash = ${old} where id = ${userId}`)
  const enter = (password: string) => new Client(service.baseUrl).post('auth/login', { email, password })
  const login = await service.db.tx(async (tx) => {
    await tx.run(sql`update users set password_hash = ${fresh} where id = ${userId}`)
    const started = enter(PASSWORD)
    await eventually(
      () => tx.many(sql`select 1 from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`),
      (waiting) => waiting.length > 0,
    )
    await tx.run(sql`update sessions set revoked_at = now() where user_id = ${userId}`)
    return { started }
  })
  const answer = await login.started
  assert.deepEqual([answer.status, answer.error?.code], [400, 'INVALID_CREDENTIALS'])
  const live = await service.db.many(sql`select 1 from sessions where user_id = ${userId} and revoked_at is null`)
  assert.equal(live.length, 0)
  assert.equal((await enter(PASSWORD)).status, 400)
  const both = await Promise.all([enter(OTHER_PASSWORD), enter(OTHER_PASSWORD)])
  assert.deepEqual(
    both.map(({ status }) => status),
    [200, 200],
    'two logins at once, of which one renews the hash',
  )
})

test('at most as many hashes run at once as there are cores; beyond a short queue the answer is BUSY', async () => {
  const passwords = openPasswords({ atOnce: 2, queue: 3 })
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => passwords.hash(PASSWORD)))
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 5)
  assert.equal(passwords.load.most, 2)
  const refused = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult
  assert.equal(refused.reason.code, 'BUSY')
  assert.equal(refused.reason.retryAfter, 2)
  assert.equal(passwords.load.running, 0)
})

test('long and Unicode passwords work whole; short, plain and common ones are refused by name', async () => {
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

test('ten wrong passwords lock for half an hour, known address or not; the reset path stays open', async () => {
  for (const email of [(await registerManager(service.baseUrl)).email, newEmail()]) {
    for (let count = 0; count < 10; count += 1)
      assert.equal(
        (await beginLogin(new Client(service.baseUrl), email, 'Wrong-Password-1!')).error.code,
        'INVALID_CREDENTIALS',
      )
    const locked = await beginLogin(new Client(service.baseUrl), email)
    assert.equal(locked.status, 429)
    assert.equal(locked.error.code, 'ACCOUNT_LOCKED')
    assert.ok(Number(locked.headers.get('retry-after')) > 1700)
  }
  const { email } = await registerManager(service.baseUrl)
  await inParallel(10, () => beginLogin(new Client(service.baseUrl), email, 'Wrong-Password-1!'))
  assert.equal((await beginLogin(new Client(service.baseUrl), email)).status, 429)
  await new Client(service.baseUrl).post('auth/reset-password/send', { email })
  const mail = await waitForMail(service.baseUrl, email, /Choose a new password/)
  const token = /reset-password\?token=(\S+)/.exec(mail.text)?.[1]
  assert.equal(
    (await new Client(service.baseUrl).post('auth/reset-password/change', { token, newPassword: OTHER_PASSWORD }))
      .status,
    200,
  )
  assert.equal((await beginLogin(new Client(service.baseUrl), email, OTHER_PASSWORD)).status, 200)
  offsetMs += 31 * MINUTE
})

test('a lock that began while the clock was two hours ahead lasts half an hour more, not two hours and a half', async () => {
  const { email } = await registerManager(service.baseUrl)
  const enter = (password?: string) => beginLogin(new Client(service.baseUrl), email, password)
  offsetMs += 2 * HOUR
  for (let count = 0; count < 10; count += 1) await enter('Wrong-Password-1!')
  assert.equal((await enter()).status, 429)
  offsetMs -= 2 * HOUR
  const locked = await enter()
  assert.equal(locked.error.code, 'ACCOUNT_LOCKED', 'a lock remains one')
  assert.ok(Number(locked.headers.get('retry-after')) <= 1800)
  offsetMs += 31 * MINUTE
  assert.equal((await enter()).status, 200)
})

test('codes that were mailed while the clock was two hours ahead are not counted for three hours', async () => {
  const { email } = await registerManager(service.baseUrl)
  const enter = () => beginLogin(new Client(service.baseUrl), email)
  offsetMs += 2 * HOUR
  for (let count = 0; count < 10; count += 1) {
    assert.equal((await enter()).status, 200)
    offsetMs += SECOND * 7
  }
  assert.equal((await enter()).status, 429)
  offsetMs -= 2 * HOUR
  assert.equal((await enter()).status, 200)
})

test('a browser in which the new password was chosen logs in, however many wrong ones a stranger sends meanwhile', async () => {
  const { email } = await registerManager(service.baseUrl)
  const [page, program] = [new Client(service.baseUrl), new Client(service.baseUrl)]
  const newToken = async (count: number) => {
    await new Client(service.baseUrl).post('auth/reset-password/send', { email })
    const { text } = await waitForMail(service.baseUrl, email, /Choose a new password/, count)
    return /reset-password\?token=(\S+)/.exec(text)?.[1] ?? ''
  }
  const guess = () => inParallel(10, () => beginLogin(new Client(service.baseUrl), email, 'Wrong-Password-1!'))
  const body = new URLSearchParams({ token: await newToken(1), newPassword: OTHER_PASSWORD })
  const chosen = await fetch(`${service.baseUrl}/account/reset-password`, { method: 'POST', body })
  const [cookie = ''] = chosen.headers.getSetCookie()
  const [name = '', value = ''] = cookie.split(/[=;]/)
  page.cookies.set(name, { value, attributes: /path=[^;]+/i.exec(cookie)?.[0] ?? '' })
  await guess()
  assert.equal((await beginLogin(new Client(service.baseUrl), email, OTHER_PASSWORD)).error.code, 'ACCOUNT_LOCKED')
  assert.equal((await beginLogin(page, email, OTHER_PASSWORD)).status, 200)
  const change = { token: await newToken(2), newPassword: PASSWORD }
  assert.equal((await program.post('auth/reset-password/change', change)).status, 200)
  await guess()
  assert.equal((await beginLogin(program, email)).status, 200)
  offsetMs += 31 * MINUTE
})

test('a link to reset the password is void once its owner changed the password', async () => {
  const { email } = await registerManager(service.baseUrl)
  const client = await logIn(service.baseUrl, email)
  await client.post('auth/reset-password/send', { email })
  const { text } = await waitForMail(service.baseUrl, email, /Choose a new password/)
  const token = /reset-password\?token=(\S+)/.exec(text)?.[1]
  const changed = await client.post('auth/password', { password: PASSWORD, newPassword: OTHER_PASSWORD })
  assert.equal(changed.status, 200, changed.text)
  const { error } = await client.post('auth/reset-password/change', { token, newPassword: `${PASSWORD}!` })
  assert.equal(error.code, 'INVALID_RESET_TOKEN')
})

test('a stranger’s wrong passwords lock no one out of a browser in which they logged in before; its own do', async () => {
  const email = await insertSuperAdmin(service.db, await passwordHash())
  const owner = await logIn(service.baseUrl, email, 'auth/login')
  const stranger = new Client(service.baseUrl)
  const enter = async (client: Client, password: string, address = email) => {
    const { status, error } = await client.post('auth/login', { email: address, password })
    return error?.code ?? status
  }
  for (let count = 0; count < 10; count += 1)
    assert.equal(await enter(stranger, 'Wrong-Password-1!'), 'INVALID_CREDENTIALS')
  assert.equal(await enter(stranger, PASSWORD), 'ACCOUNT_LOCKED')
  assert.equal(await enter(owner, PASSWORD), 200, 'the owner goes on')
  const other = await insertSuperAdmin(service.db, await passwordHash())
  const [[name, cookie] = ['', undefined]] = [...owner.cookies].filter(([one]) => one.startsWith('knownBrowser_'))
  const theirs = await logIn(service.baseUrl, other, 'auth/login')
  const [foreign = ''] = [...theirs.cookies.keys()].filter((one) => one.startsWith('knownBrowser_'))
  assert.notEqual(foreign, name)
  for (let count = 0; count < 10; count += 1) await enter(stranger, 'Wrong-Password-1!', other)
  if (cookie) stranger.cookies.set(foreign, cookie)
  assert.equal(await enter(stranger, PASSWORD, other), 'ACCOUNT_LOCKED', 'a proof is for one address')
  for (let count = 0; count < 10; count += 1)
    assert.equal(await enter(owner, 'Wrong-Password-1!'), 'INVALID_CREDENTIALS')
  assert.equal(await enter(owner, PASSWORD), 'ACCOUNT_LOCKED', 'and has ten tries like anyone')
})

test('the page of a reset link says all that a password lacks in its reader’s language, and leads to the login', async () => {
  const { email } = await registerManager(service.baseUrl)
  await new Client(service.baseUrl).post('auth/reset-password/send', { email })
  const mail = await waitForMail(service.baseUrl, email, /Choose a new password/)
  const token = /reset-password\?token=([\w-]{43})/.exec(mail.text)?.[1] ?? ''
  const choose = async (newPassword: string) => {
    const body = new URLSearchParams({ token, newPassword })
    const answer = await fetch(`${service.baseUrl}/account/reset-password?lang=fr`, { method: 'POST', body })
    return { status: answer.status, text: await answer.text() }
  }
  for (const [weak, words] of [
    ['no-upper-case', 'Ajoutez une majuscule. Ajoutez un chiffre.'],
    ['Password1234!', TEXTS.fr.account.passwordFaults.common],
  ] as const) {
    const { status, text } = await choose(weak)
    assert.equal(status, 422)
    assert.ok(text.includes(`role="alert">${words}</p>`), text)
  }
  const saved = await choose(OTHER_PASSWORD)
  assert.equal(saved.status, 200)
  assert.ok(saved.text.includes(`<a class="button main" href="${service.config.officeUrl}/login">Se connecter</a>`))
})

test('a reset link works once in twenty tries, ends every session, and the second factor is still asked', async () => {
  const { email } = await registerManager(service.baseUrl)
  const client = await logIn(service.baseUrl, email)
  await new Client(service.baseUrl).post('auth/reset-password/send?lang=fr', { email })
  const old = await waitForMail(service.baseUrl, email, /Choisissez un nouveau mot de passe/)
  await new Client(service.baseUrl).post('auth/reset-password/send', { email })
  const mail = await waitForMail(service.baseUrl, email, /Choose a new password/)
  const tokenOf = (text: string): string => /reset-password\?token=([\w-]{43})/.exec(text)?.[1] ?? ''
  const change = (token: string) =>
    new Client(service.baseUrl).post('auth/reset-password/change', { token, newPassword: OTHER_PASSWORD })
  const answers = await inParallel(20, () => change(tokenOf(mail.text)))
  assert.equal(countStatuses(answers)[200], 1, JSON.stringify(countStatuses(answers)))
  assert.equal((await change(tokenOf(old.text))).status, 400, 'its use voids the other')
  assert.equal((await client.get('users/me')).status, 401)
  assert.equal((await client.post('auth/refresh-token')).status, 401)
  await waitForMail(service.baseUrl, email, /password was changed/)
  const login = await beginLogin(new Client(service.baseUrl), email, OTHER_PASSWORD)
  assert.equal(login.data.token, null)
  const { count } = await service.db.one<{ count: number }>(
    sql`select count(*)::int as count from password_resets where token_hash = ${tokenOf(mail.text)}`,
  )
  assert.equal(count, 0, 'only its hash is stored')
})

test('a stranger who asks for a reset voids neither the owner’s link nor an invitation', async () => {
  const stranger = new Client(service.baseUrl)
  const change = (token: string | undefined) =>
    stranger.post('auth/reset-password/change', { token, newPassword: OTHER_PASSWORD })
  const { email: owner } = await registerManager(service.baseUrl)
  const boss = await logIn(service.baseUrl, owner)
  const email = newEmail('invited')
  const invited = await boss.post('users', { email, firstName: 'Ida', lastName: 'Neu', role: 'Observer' })
  assert.equal(invited.status, 200, invited.text)
  await stranger.post('auth/reset-password/send', { email: owner })
  for (const [to, link] of [
    [owner, /reset-password\?token=([\w-]{43})/],
    [email, /invitation\?token=([\w-]{43})/],
  ] as const) {
    const token = link.exec((await waitForMail(service.baseUrl, to, link)).text)?.[1]
    await stranger.post('auth/reset-password/send', { email: to, origin: 'application' })
    await stranger.post('auth/reset-password/send', { email: to })
    assert.equal((await change(token)).status, 200, to)
  }
})

test('no number of a stranger’s requests keeps the owner without a link that works, and few mails come of them', async () => {
  const { email } = await registerManager(service.baseUrl)
  const send = (origin?: string) => new Client(service.baseUrl).post('auth/reset-password/send', { email, origin })
  const linksOf = async (): Promise<string[]> =>
    (await readMails(service.baseUrl, email)).flatMap(({ text }) => /reset-password\?token=(\S+)/.exec(text)?.[1] ?? [])
  const waitForLinks = (count: number) =>
    eventually(linksOf, (links) => {
      assert.ok(links.length <= count, `${links.length} links`)
      return links.length === count
    })
  for (let count = 0; count < 10; count += 1) assert.equal((await send('application')).status, 200)
  assert.equal((await send()).status, 200, 'codes that a stranger asks for take no link away')
  await waitForLinks(1)
  offsetMs += MINUTE
  for (let count = 0; count < 10; count += 1) assert.equal((await send('dashboard')).status, 200)
  await waitForLinks(10)
  offsetMs += 14 * MINUTE
  await send()
  assert.equal((await waitForLinks(10)).length, 10, 'the newest still works for long enough')
  offsetMs += 2 * MINUTE
  for (let count = 0; count < 5; count += 1) await send()
  await waitForLinks(11)
  offsetMs += 14 * MINUTE
  const [token] = await linksOf()
  const change = { token, newPassword: OTHER_PASSWORD }
  assert.equal((await new Client(service.baseUrl).post('auth/reset-password/change', change)).status, 200)
  await waitForMail(service.baseUrl, email, /password was changed/i)
  assert.equal((await linksOf()).length, 11)
})

test('a made-up reset token costs no hash', async () => {
  const vault = openVault(TEST_MASTER_KEY)
  const { auth } = openAccounts({ config: service.config, db: service.db, vault, clock })
  const context = { ...systemContext('visitor'), actor: null }
  const change = { token: 'made-up', newPassword: OTHER_PASSWORD, emailOtp: null, context }
  await assert.rejects(auth.resets.change(change), { code: 'INVALID_RESET_TOKEN' })
  assert.equal(auth.passwords.load.most, 0)
})

test('a SuperAdmin gets no reset mail, and the answer does not tell', async () => {
  const email = await insertSuperAdmin(service.db, await passwordHash())
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

test('links in mails come from the configuration, not from the request', async () => {
  const { email } = await registerManager(service.baseUrl)
  await new Client(service.baseUrl).post('auth/reset-password/send', { email }, { 'x-forwarded-host': 'evil.example' })
  const mail = await waitForMail(service.baseUrl, email, /Choose a new password/)
  assert.ok(mail.text.includes(`${service.baseUrl}/account/reset-password`))
  assert.doesNotMatch(mail.text + mail.html, /evil\.example/)
})

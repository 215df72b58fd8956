import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { LANGS, type Lang } from '../src/kernel/lang.ts'
import { TEXTS } from '../src/texts/languages.ts'
import {
  Client,
  logIn,
  OTHER_PASSWORD,
  PASSWORD,
  type Person,
  readMails,
  register,
  registerManager,
  totpOf,
  waitForMail,
} from './harness/accounts.ts'
import { freePort } from './harness/free-port.ts'
import { startTestService, type TestService } from './harness/service.ts'

let service: TestService

before(async () => {
  const port = String(await freePort())
  // by a name, because passkeys are bound to one
  const env = { AUTO_APPROVE: 'false', PORT: port, BASE_URL: `http://localhost:${port}` }
  service = await startTestService({ env, workers: true })
})
after(() => service.stop())

const LINK = /http\S+\/account\/verify-email\?token=(\S+)/

const mailedToken = async (email: string): Promise<string> =>
  LINK.exec((await waitForMail(service.baseUrl, email, LINK)).text)?.[1] ?? ''

/** The button of the page, in the browser that has these cookies. */
async function press(token: string, client = new Client(service.baseUrl), lang = 'en'): Promise<[number, string]> {
  const path = '/account/verify-email'
  const answer = await fetch(`${service.baseUrl}${path}?lang=${lang}`, {
    ...{ method: 'POST', body: new URLSearchParams({ token }), headers: client.cookieHeader(path) },
  })
  return [answer.status, await answer.text()]
}

const isIn = async ({ client }: Person): Promise<boolean> => (await client.get('users/me')).status === 200

async function registerIn(lang: Lang, body: Record<string, string>): Promise<string> {
  const email = `${lang}-${newId()}@shop.example`
  const names = { firstName: 'Ada', lastName: 'Beispiel', password: 'Correct-Horse-7-Staple' }
  const path = `auth/register?lang=${lang}`
  const { status, text } = await new Client(service.baseUrl).post(path, { ...names, email, ...body })
  assert.equal(status, 200, text)
  return email
}

const unescaped = (html: string): string => html.replaceAll('&amp;', '&').replaceAll('&quot;', '"')

test('mail and page say in each language which role at which shop is confirmed, and what to do if it was someone else', async () => {
  for (const lang of LANGS) {
    const { account, mails } = TEXTS[lang]
    for (const [body, role, company] of [
      [{ role: 'Manager', companyName: 'Tea & Söhne' }, mails.roles.Manager, 'Tea & Söhne'],
      [{ role: 'SimpleUser' }, mails.roles.SimpleUser, null],
    ] as const) {
      const email = await registerIn(lang, body)
      const token = await mailedToken(email)
      const [mail] = await readMails(service.baseUrl, email)
      const page = unescaped(
        await (await fetch(`${service.baseUrl}/account/verify-email?token=${token}&lang=${lang}`)).text(),
      )
      for (const text of [mail?.text ?? '', page]) {
        assert.ok(text.includes(role), `${lang}: ${role}`)
        assert.ok(text.includes(company ?? role), `${lang}: ${company}`)
      }
      const note = mails.kinds.verifyEmail({ name: '', role: '', company: '', url: '' }).note ?? '-'
      assert.ok(mail?.text.includes(note), lang)
      for (const words of [email, account.verifyOnlyYou, account.verifyNotYou]) assert.ok(page.includes(words), words)
    }
  }
})

test('a name of the shop writes nothing into the page but text', async () => {
  const email = await registerIn('en', { role: 'Manager', companyName: '<b>Bank</b>' })
  const page = await (await fetch(`${service.baseUrl}/account/verify-email?token=${await mailedToken(email)}`)).text()
  assert.ok(page.includes('&lt;b&gt;Bank&lt;/b&gt;'))
})

test('no factor is enrolled before the address is confirmed', async () => {
  const { client, email } = await registerManager(service.baseUrl)
  const tries = () => ({
    app: client.post<{ otpauthUri: string }>('auth/2fa/setup'),
    enable: client.post('auth/2fa/enable', { otp: '123456' }),
    passkey: client.post('auth/passkeys/options'),
  })
  for (const [name, answer] of Object.entries(tries())) {
    const { status, error } = await answer
    assert.deepEqual([name, status, error?.code], [name, 403, 'FORBIDDEN'])
    assert.match(error.message, /Confirm your e-mail address first/)
  }
  await press(await mailedToken(email), client)
  const { app, passkey, enable } = tries()
  assert.equal((await enable).error?.code, 'INVALID_OTP')
  assert.deepEqual([(await app).status, (await passkey).status], [200, 200])
  const otp = totpOf((await app).data.otpauthUri).generate()
  assert.equal((await client.post('auth/2fa/enable', { otp })).status, 200)
})

test('who registered with another’s address is out once its owner confirms, with the factors from before', async () => {
  const stranger = await registerManager(service.baseUrl)
  // of before, when an address that nobody had confirmed could get one
  await service.db.run(sql`
    insert into passkeys (id, user_id, credential_id, public_key, counter, name, created_at)
    values (${newId()}, ${stranger.userId}, ${newId()}, '', 0, 'Phone', now())`)
  await service.db.run(sql`
    update users set totp_sealed = 'x', totp_enabled_at = now() where id = ${stranger.userId}`)
  const colleague = await registerManager(service.baseUrl)
  const token = await mailedToken(stranger.email)
  const [status, page] = await press(token, colleague.client)
  assert.equal(status, 200)
  assert.match(page, /Log in to go on/)
  assert.equal(await isIn(stranger), false)
  assert.equal(await isIn(colleague), true, 'another person’s session in that browser')
  const renewed = await stranger.client.post('auth/refresh-token')
  assert.equal(renewed.status, 401)
  const left = await service.db.one(sql`
    select totp_enabled_at is not null as app, (select count(*)::int from passkeys where user_id = u.id) as passkeys
    from users u where id = ${stranger.userId}`)
  assert.deepEqual(left, { app: false, passkeys: 0 })
  const [again, words] = await press(token)
  assert.deepEqual([again, /Your address is confirmed/.test(words)], [200, true])
  const client = await logIn(service.baseUrl, stranger.email)
  assert.equal((await client.get<{ valid: boolean }>('users/me')).data.valid, true, 'with a code of the mailbox')
  assert.equal((await press(token))[0], 200)
  assert.equal((await client.get('users/me')).status, 200, 'a second click ends nothing')
})

test('the browser that registered stays logged in when it confirms, and so does a program that sends its token', async () => {
  const [browser, program] = [
    await registerManager(service.baseUrl),
    await register(service.baseUrl, { role: 'SimpleUser' }),
  ]
  const [, page] = await press(await mailedToken(browser.email), browser.client)
  assert.match(page, /You are still logged in in this browser/)
  assert.equal((await browser.client.get<{ valid: boolean }>('users/me')).data.valid, true)
  assert.equal((await browser.client.post('auth/refresh-token')).status, 200)
  const token = await mailedToken(program.email)
  const basic = await new Client(service.baseUrl).post(
    'auth/verify-email',
    { token: 'x' },
    { authorization: 'Basic eDp5' },
  )
  assert.equal(basic.error?.code, 'INVALID_RESET_TOKEN', 'a header of another form is no credential')
  assert.equal((await program.client.post('auth/verify-email', { token })).status, 200)
  assert.equal((await program.client.get<{ valid: boolean }>('users/me')).data.valid, true)
})

const logInWith = (email: string, password: string, path = 'auth/login/manager') =>
  new Client(service.baseUrl).post<{ token: string | null; user: { valid: boolean; invited: boolean } }>(path, {
    ...{ email, password, ...(path.endsWith('manager') && { origin: 'dashboard' }) },
  })

/** The form for a new password, as the page shows it. */
async function choose(page: string): Promise<string> {
  const token = /action="\/account\/reset-password">\s*<input type="hidden" name="token" value="([\w-]+)"/.exec(
    page,
  )?.[1]
  const body = new URLSearchParams({ token: token ?? '', newPassword: OTHER_PASSWORD })
  return (await fetch(`${service.baseUrl}/account/reset-password`, { method: 'POST', body })).text()
}

for (const [role, path, body] of [
  ['Association', 'auth/login/manager', { associationName: 'Red Aid' }],
  ['SimpleUser', 'auth/login', {}],
] as const)
  test(`the password with which a stranger registered an address as ${role} ends once its owner confirms, who chooses another`, async () => {
    const { email, client } = await register(service.baseUrl, { role, ...body })
    const asked = await client.post<string>('auth/reset-password/send', { email, origin: 'application' })
    const token = await mailedToken(email)
    assert.match((await press(token, undefined, 'de'))[1], /Wählen Sie jetzt ein Passwort/)
    assert.equal((await client.get('users/me')).status, 401)
    assert.equal((await logInWith(email, PASSWORD, path)).error?.code, 'INVALID_CREDENTIALS')
    const { text } = await waitForMail(service.baseUrl, email, /code for a new password/)
    const change = { token: asked.data, newPassword: PASSWORD, emailOtp: /\b(\d{6})\b/.exec(text)?.[1] }
    const late = await new Client(service.baseUrl).post('auth/reset-password/change', change)
    assert.equal(late.error?.code, 'INVALID_RESET_TOKEN', 'what the stranger asked for before')
    const shown = await (await fetch(`${service.baseUrl}/account/verify-email?token=${token}`)).text()
    assert.match(shown, /<button class="main">Confirm/, 'also when the page was closed, or its language changed')
    const [status, page] = await press(token)
    assert.deepEqual([status, /Now choose a password/.test(page)], [200, true])
    assert.match(await choose(page), /You can log in now/)
    const { data } = await logInWith(email, OTHER_PASSWORD, path)
    assert.deepEqual([data.token !== null, data.user.valid, data.user.invited], [true, true, false])
    assert.match(await choose(page), /has expired/, 'the form works once')
    assert.match((await press(token))[1], /Your address is confirmed/)
    assert.equal((await logInWith(email, OTHER_PASSWORD, path)).status, 200, 'and the link ends no password again')
  })

test('the password stays where the browser keeps its session, and where a code from the mailbox is asked for anyway', async () => {
  const own = await register(service.baseUrl, { role: 'Association', associationName: 'Les Amis' })
  assert.match((await press(await mailedToken(own.email), own.client))[1], /You are still logged in in this browser/)
  assert.equal((await logInWith(own.email, PASSWORD)).data.user.valid, true)
  const phone = await registerManager(service.baseUrl)
  assert.match((await press(await mailedToken(phone.email)))[1], /Log in to go on/)
  assert.deepEqual((await logInWith(phone.email, PASSWORD)).data.token, null)
})

test('a program that confirms without a session gets the token that chooses the new password', async () => {
  const { email } = await register(service.baseUrl, { role: 'SimpleUser' })
  const program = new Client(service.baseUrl)
  const { data: token } = await program.post<string>('auth/verify-email', { token: await mailedToken(email) })
  const { status } = await program.post('auth/reset-password/change', { token, newPassword: OTHER_PASSWORD })
  assert.equal(status, 200)
  assert.equal((await logInWith(email, OTHER_PASSWORD, 'auth/login')).status, 200)
})

test('a session that has ended, or one of someone else, keeps nothing open', async () => {
  const person = await registerManager(service.baseUrl)
  const other = await registerManager(service.baseUrl)
  other.client.cookies.clear()
  for (const [name, cookie] of person.client.cookies) other.client.cookies.set(name, cookie)
  await service.db.run(sql`update sessions set revoked_at = now() where user_id = ${person.userId}`)
  const [, page] = await press(await mailedToken(person.email), other.client)
  assert.match(page, /Log in to go on/)
  const stranger = await registerManager(service.baseUrl)
  const token = await mailedToken(stranger.email)
  assert.equal((await other.client.post('auth/verify-email', { token })).status, 200)
  assert.equal(await isIn(stranger), false)
  assert.equal(await isIn(other), true)
})

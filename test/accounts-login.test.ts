import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  Client,
  logIn,
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

before(async () => {
  service = await startTestService({ workers: true })
})
after(() => service.stop())

const login = (client: Client, email: string, password = PASSWORD) =>
  client.post('auth/login/manager', { email, password, origin: 'dashboard' })

test('a manager registers, gets a company with a till, and can sell at once in the sandbox', async () => {
  const { client, email, companyId } = await registerManager(service.baseUrl)
  const me = await client.get('users/me')
  assert.equal(me.status, 200, me.text)
  assert.equal(me.data.email, email)
  assert.equal(me.data.valid, true)
  assert.equal(me.data.twoFactorAuthEnabled, true)
  assert.deepEqual(me.data.missing, [])
  assert.equal((me.data.company as { _id: string; approved: boolean })._id, companyId)
  const order = await client.post('confirm_conversion/request', {
    amount: 5,
    fromAsset: 'EUR',
    merchantIdentifier: 'TILL-1',
  })
  assert.equal(order.status, 200, order.text)
})

test('login with 2FA: token is null, the cookie and the mailed code give the token, over plain HTTP', async () => {
  const { email } = await registerManager(service.baseUrl)
  const client = new Client(service.baseUrl)
  const first = await login(client, email)
  assert.equal(first.status, 200)
  assert.equal(first.data.token, null)
  const cookie = client.cookies.get('otpValidationToken')
  assert.match(cookie?.attributes ?? '', /Max-Age=300; Path=\/api\/next\/auth; HttpOnly; SameSite=Strict/)
  const emailOtp = await readCode(service.baseUrl, email)
  const second = await client.post('auth/otp', { emailOtp })
  assert.equal(second.status, 200, second.text)
  assert.equal(typeof second.data.token, 'string')
  assert.equal(client.cookies.has('otpValidationToken'), false)
  assert.match(client.cookies.get('refreshToken')?.attributes ?? '', /Path=\/; HttpOnly; SameSite=Strict/)
  client.token = String(second.data.token)
  assert.equal((await client.get('users/me')).status, 200)
  assert.equal((await client.post('auth/otp', { emailOtp })).status, 400)
})

test('login with an authenticator app: enrolled by its link, each code once, recovery codes once', async () => {
  const { client, email } = await registerManager(service.baseUrl)
  const setup = await client.post<{ otpauthUri: string; qrSvg: string }>('auth/2fa/setup')
  assert.equal(setup.status, 200, setup.text)
  assert.match(setup.data.otpauthUri, /^otpauth:\/\/totp\/Comptoir:/)
  assert.match(setup.data.qrSvg, /^<svg/)
  const totp = totpOf(setup.data.otpauthUri)
  const now = Date.now()
  const enabled = await client.post<{ recoveryCodes: string[] }>('auth/2fa/enable', {
    otp: totp.generate({ timestamp: now - 30_000 }),
  })
  assert.equal(enabled.status, 200, enabled.text)
  assert.equal(enabled.data.recoveryCodes.length, 10)

  const browser = new Client(service.baseUrl)
  await login(browser, email)
  const otp = totp.generate({ timestamp: now })
  const answer = await browser.post('auth/otp', { otp })
  assert.equal(answer.status, 200, answer.text)
  const replayer = new Client(service.baseUrl)
  await login(replayer, email)
  assert.equal((await replayer.post('auth/otp', { otp })).error.code, 'INVALID_OTP')
  const [recoveryCode] = enabled.data.recoveryCodes
  assert.equal((await replayer.post('auth/otp', { recoveryCode })).status, 200)
  const again = new Client(service.baseUrl)
  await login(again, email)
  assert.equal((await again.post('auth/otp', { recoveryCode })).status, 400)
  const codes = (await readMails(service.baseUrl, email)).filter((mail) => /login code/.test(mail.subject))
  assert.equal(codes.length, 0, 'an enrolled user gets no codes by mail unasked')
  await waitForMail(service.baseUrl, email, /recovery code was used/)
})

test('refresh rotates the cookie; sign-out ends the session and its access token at once', async () => {
  const { email } = await registerManager(service.baseUrl)
  const client = await logIn(service.baseUrl, email)
  const old = client.cookies.get('refreshToken')?.value
  const refreshed = await client.post('auth/refresh-token')
  assert.equal(refreshed.status, 200, refreshed.text)
  assert.notEqual(client.cookies.get('refreshToken')?.value, old)
  client.token = String(refreshed.data.token)
  assert.equal((await client.get('users/me')).status, 200)
  const out = await client.post('auth/sign-out')
  assert.deepEqual(out.data, { disconnected: true })
  const kept = [...client.cookies.keys()].filter((name) => !name.startsWith('knownBrowser_'))
  assert.deepEqual(kept, [], 'of the session nothing')
  assert.equal((await client.get('users/me')).status, 401)
  assert.equal((await client.post('auth/refresh-token')).status, 401)
  assert.deepEqual((await client.post('auth/sign-out')).data, { disconnected: false })
})

test('SimpleUser logs in without a second factor at /auth/login, and nowhere else', async () => {
  const { email } = await register(service.baseUrl, { role: 'SimpleUser' })
  const client = await logIn(service.baseUrl, email, 'auth/login')
  assert.equal((await client.get('users/me')).data.role, 'SimpleUser')
  const wrongDoor = await login(new Client(service.baseUrl), email)
  assert.equal(wrongDoor.status, 403)
  assert.match(wrongDoor.error.message, /POST \/auth\/login\./)
})

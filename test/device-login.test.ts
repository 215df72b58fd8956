import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isComptoirError, loginByDevice } from '../sdk/index.ts'
import { sql } from '../src/db/db.ts'
import { MINUTE, SECOND } from '../src/kernel/clock.ts'
import {
  Client,
  logIn,
  logInSuperAdmin,
  OTHER_PASSWORD,
  PASSWORD,
  type Person,
  registerManager,
  totpOf,
  waitForMail,
} from './harness/accounts.ts'
import { startTestService, type TestService } from './harness/service.ts'

/* A program gets a key because a person confirmed it in the back office (RFC 8628), and in no other way. */

let offsetMs = 0
let host: TestService
let boss: Client
let person: Person

before(async () => {
  const env = { TRUST_PROXY: '127.0.0.1', LIMIT_PUBLIC_PER_MINUTE: '60', LIMIT_ADDRESS_PER_MINUTE: '30' }
  host = await startTestService({ clock: () => Date.now() + offsetMs, env, workers: true })
  person = await registerManager(host.baseUrl)
  boss = await logIn(host.baseUrl, person.email)
})
after(() => host?.stop())

type Started = { deviceCode: string; userCode: string; verificationUri: string; intervalSeconds: number }
type Key = { apiKey: string; apiSecret: string; scopes: string[]; name: string; expiresAt: string; _id: string }

const anyone = (): Client => new Client(host.baseUrl)
const from = (address: string) => ({ 'x-forwarded-for': address })

async function start(body: Record<string, unknown> = {}, address = '192.0.2.7'): Promise<Started> {
  const answer = await anyone().post<Started>('auth/device', { clientName: 'a laptop', ...body }, from(address))
  assert.equal(answer.status, 200, answer.text)
  return answer.data
}
const claim = (deviceCode: string) => anyone().post<Key>('auth/device/token', { deviceCode })
const decide = (client: Client, userCode: string, what: string, body: unknown = {}) =>
  client.post(`auth/device/${userCode}/${what}`, body)
const wait = (ms: number): void => {
  offsetMs += ms
}

test('the person sees what asks, from where and for what; confirmed, the program fetches its key once', async () => {
  const { deviceCode, userCode, verificationUri } = await start({ scopes: ['orders:read', 'refunds:write'] })
  assert.match(userCode, /^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/)
  assert.equal(verificationUri, `${host.config.officeUrl}/device`)
  assert.equal((await claim(deviceCode)).error.code, 'AUTHORIZATION_PENDING')
  const shown = await boss.get(`auth/device/${userCode.toLowerCase().replace('-', ' ')}`)
  const { clientName, ip, sameAddress, scopes, status } = shown.data
  assert.deepEqual(
    { clientName, ip, sameAddress, scopes, status },
    {
      ...{ clientName: 'a laptop', ip: '192.0.2.7', sameAddress: false },
      ...{ scopes: ['orders:read', 'refunds:write'], status: 'pending' },
    },
  )
  assert.equal(
    (await decide(boss, userCode, 'approve', { scopes: ['orders:read', 'orders:write'], days: 7 })).status,
    200,
  )
  wait(5 * SECOND)
  const made = await claim(deviceCode)
  assert.deepEqual(made.data.scopes, ['orders:read'], 'never more than was asked for')
  const days = (Date.parse(made.data.expiresAt) - Date.now()) / (24 * 60 * MINUTE)
  assert.ok(days > 6.9 && days < 7.1)
  const key = { 'x-api-key': made.data.apiKey, 'x-api-secret': made.data.apiSecret }
  assert.equal((await host.call('GET', '/api/next/confirm_conversion', { headers: key })).status, 200)
  const again = await claim(deviceCode)
  assert.deepEqual([again.data.apiSecret, again.data._id], [made.data.apiSecret, made.data._id], 'a lost answer')
  wait(61 * SECOND)
  assert.equal((await claim(deviceCode)).error.code, 'DEVICE_CODE_EXPIRED')
  await waitForMail(host.baseUrl, person.email, /192\.0\.2\.7/)
  const rows = await host.db.many<{ text: string }>(sql`select row_to_json(d)::text as text from device_logins d`)
  const bare = rows.map(({ text }) => text).join()
  assert.ok(!bare.includes(deviceCode) && !bare.includes(made.data.apiSecret) && !bare.includes(userCode.slice(0, 4)))
})

test('refused, too old, unknown, decided twice: each is told so, and no key exists', async () => {
  const count = async () => (await host.db.one<{ n: number }>(sql`select count(*)::int as n from api_keys`)).n
  const before = await count()
  const refused = await start()
  assert.equal((await decide(boss, refused.userCode, 'deny')).status, 200)
  assert.equal((await claim(refused.deviceCode)).error.code, 'AUTHORIZATION_DENIED')
  assert.equal((await decide(boss, refused.userCode, 'approve')).error.code, 'OBJECT_CONFLICT')
  const old = await start()
  wait(10 * MINUTE)
  boss = await logIn(host.baseUrl, person.email)
  assert.equal((await decide(boss, old.userCode, 'approve')).error.code, 'OBJECT_NOT_FOUND')
  assert.equal((await claim(old.deviceCode)).error.code, 'DEVICE_CODE_EXPIRED')
  assert.equal((await claim('dvc_nothing')).error.code, 'DEVICE_CODE_EXPIRED')
  assert.equal((await boss.get('auth/device/AAAA-AAAA')).error.code, 'OBJECT_NOT_FOUND')
  assert.equal((await anyone().post('auth/device', { clientName: 'x', scopes: ['passwords:write'] })).status, 422)
  assert.equal((await anyone().post('auth/device', { clientName: 'see http://evil.example' })).status, 422)
  assert.equal(await count(), before)
})

test('who asks too early has to wait longer from then on, and questions are limited by address', async () => {
  const { deviceCode } = await start()
  assert.equal((await claim(deviceCode)).error.code, 'AUTHORIZATION_PENDING')
  const early = await claim(deviceCode)
  assert.deepEqual([early.error.code, early.headers.get('retry-after')], ['SLOW_DOWN', '10'])
  wait(6 * SECOND)
  assert.equal((await claim(deviceCode)).error.code, 'SLOW_DOWN')
  wait(16 * SECOND)
  assert.equal((await claim(deviceCode)).error.code, 'AUTHORIZATION_PENDING')
  const hammer = async () => (await anyone().post('auth/device/token', { deviceCode }, from('198.51.100.9'))).error.code
  const codes: string[] = []
  for (let index = 0; index < 61; index += 1) codes.push(await hammer())
  assert.equal(codes.at(-1), 'TOO_MANY_REQUESTS')
  const starts: number[] = []
  for (let index = 0; index < 31; index += 1)
    starts.push((await anyone().post('auth/device', { clientName: 'x' }, from('198.51.100.10'))).status)
  assert.equal(starts.at(-1), 429)
})

test('fifty questions at once make one key, and a person who lost the right in between hands out none', async () => {
  const { deviceCode, userCode } = await start()
  await decide(boss, userCode, 'approve')
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      anyone().post<Key>('auth/device/token', { deviceCode }, from(`203.0.113.${index}`)),
    ),
  )
  assert.equal(new Set(answers.map(({ data }) => data?._id)).size, 1, 'one key')
  const second = await start()
  await decide(boss, second.userCode, 'approve')
  await host.db.run(sql`update users set disabled_at = now() where id = ${person.userId}`)
  assert.equal((await claim(second.deviceCode)).error.code, 'AUTHORIZATION_DENIED')
  await host.db.run(sql`update users set disabled_at = null where id = ${person.userId}`)
})

test('who is disabled, or has another role, is logged out of command lines too; keys of the shop’s servers stay', async () => {
  const colleague = await registerManager(host.baseUrl)
  await host.db.run(sql`update users set company_id = ${person.companyId} where id = ${colleague.userId}`)
  const open = async (): Promise<() => Promise<number>> => {
    const client = await logIn(host.baseUrl, colleague.email)
    const { deviceCode, userCode } = await start()
    assert.equal((await decide(client, userCode, 'approve')).status, 200)
    wait(5 * SECOND)
    const { data } = await claim(deviceCode)
    const headers = { 'x-api-key': data.apiKey, 'x-api-secret': data.apiSecret }
    return async () => (await host.call('GET', '/api/next/confirm_conversion', { headers })).status
  }
  const change = async (body: object): Promise<void> => {
    const answer = await boss.call('PUT', `users/${colleague.userId}`, body)
    assert.equal(answer.status, 200, answer.text)
  }
  const server = (await logIn(host.baseUrl, colleague.email)).post<Key>('api-keys', {
    ...{ name: 'the shop’s server', scopes: ['orders:read'] },
  })
  const { apiKey, apiSecret } = (await server).data
  const first = await open()
  assert.equal(await first(), 200)
  await change({ role: 'Observer' })
  assert.equal(await first(), 401)
  await change({ role: 'Manager' })
  assert.equal(await first(), 401, 'it does not come back with the role')
  const second = await open()
  await change({ disabled: true })
  assert.equal(await second(), 401)
  const headers = { 'x-api-key': apiKey, 'x-api-secret': apiSecret }
  assert.equal((await host.call('GET', '/api/next/confirm_conversion', { headers })).status, 200)
  const { detail } = await host.db.one<{ detail: string }>(sql`
    select detail from audit_log where action = 'user.change' and object = ${`user:${colleague.userId}`}
    order by seq desc limit 1`)
  assert.equal(JSON.parse(detail).endedKeys?.length, 1, detail)
})

test('a SuperManager who loses a company is logged out of its command lines, and of no other', async () => {
  const admin = await logInSuperAdmin(host)
  const mine = await registerManager(host.baseUrl)
  const { email, userId } = await registerManager(host.baseUrl)
  assert.equal((await admin.call('PUT', `users/${userId}`, { role: 'SuperManager' })).status, 200)
  const companies = [person.companyId ?? '', mine.companyId ?? '']
  assert.equal((await admin.call('PUT', `users/${userId}/companies`, { companies })).status, 200)
  const client = await logIn(host.baseUrl, email)
  const keys: Record<string, string>[] = []
  for (const companyId of companies) {
    const { deviceCode, userCode } = await start()
    const answer = await decide(client, userCode, `approve?companyId=${companyId}`)
    assert.equal(answer.status, 200, answer.text)
    wait(5 * SECOND)
    const { data } = await claim(deviceCode)
    keys.push({ 'x-api-key': data.apiKey, 'x-api-secret': data.apiSecret })
  }
  const read = () =>
    Promise.all(
      keys.map(async (headers) => (await host.call('GET', '/api/next/confirm_conversion', { headers })).status),
    )
  assert.deepEqual(await read(), [200, 200])
  const left = await admin.call('PUT', `users/${userId}/companies`, { companies: companies.slice(1) })
  assert.equal(left.status, 200, left.text)
  assert.deepEqual(await read(), [401, 200])
})

test('what was approved before the rights were taken away is handed out to no program afterwards', async () => {
  const admin = await logInSuperAdmin(host)
  const { email, userId, companyId } = await registerManager(host.baseUrl)
  const change = async (path: string, body: object): Promise<void> => {
    const { status, text } = await admin.call('PUT', `users/${userId}${path}`, body)
    assert.equal(status, 200, text)
  }
  const approve = async (query = ''): Promise<string> => {
    const { deviceCode, userCode } = await start()
    const { status, text } = await decide(await logIn(host.baseUrl, email), userCode, `approve${query}`)
    assert.equal(status, 200, text)
    return deviceCode
  }
  const fetchKey = async (deviceCode: string) => {
    const answer = await claim(deviceCode)
    return answer.error?.code ?? answer.status
  }
  const before = await approve()
  await change('', { disabled: true })
  await change('', { disabled: false })
  assert.equal(await fetchKey(before), 'AUTHORIZATION_DENIED', 'disabled and enabled again')
  await change('', { role: 'SuperManager' })
  const companies = [person.companyId ?? '', companyId ?? '']
  await change('/companies', { companies })
  const [taken, kept] = [await approve(`?companyId=${companies[0]}`), await approve(`?companyId=${companies[1]}`)]
  await change('/companies', { companies: companies.slice(1) })
  assert.equal(await fetchKey(taken), 'AUTHORIZATION_DENIED', 'the company was taken away')
  assert.equal(await fetchKey(kept), 200)
  const other = await approve(`?companyId=${companies[1]}`)
  await host.db.run(sql`delete from super_manager_companies where user_id = ${userId}`)
  assert.equal(await fetchKey(other), 'AUTHORIZATION_DENIED', 'whatever took it away')
})

test('a new password, a reset, a new second factor or “end the others” logs command lines out too', async () => {
  const admin = await logInSuperAdmin(host)
  const { email, userId } = await registerManager(host.baseUrl)
  let client = await logIn(host.baseUrl, email)
  const approve = async (): Promise<string> => {
    const { deviceCode, userCode } = await start()
    const { status, text } = await decide(client, userCode, 'approve')
    assert.equal(status, 200, text)
    return deviceCode
  }
  const server = (await client.post<Key>('api-keys', { name: 'server', scopes: ['orders:read'] })).data
  const use = async ({ apiKey, apiSecret }: Key): Promise<number> => {
    const headers = { 'x-api-key': apiKey, 'x-api-secret': apiSecret }
    return (await host.call('GET', '/api/next/confirm_conversion', { headers })).status
  }
  const checkEnds = async (what: string, change: () => Promise<{ status: number; text: string }>): Promise<void> => {
    const { data: key } = await claim(await approve())
    const waiting = await approve()
    assert.equal(await use(key), 200)
    const { status, text } = await change()
    assert.equal(status, 200, text)
    assert.deepEqual([await use(key), await use(server)], [401, 200], what)
    assert.equal((await claim(waiting)).error?.code, 'AUTHORIZATION_DENIED', `${what}: approved before`)
  }
  await checkEnds('end the others', () => client.post('auth/sessions/revoke-others'))
  await checkEnds('an authenticator', async () => {
    const { otpauthUri } = (await client.post<{ otpauthUri: string }>('auth/2fa/setup')).data
    const otp = totpOf(otpauthUri).generate({ timestamp: Date.now() + offsetMs })
    return client.post('auth/2fa/enable', { otp })
  })
  await checkEnds('a second factor reset by the operator', () => admin.post(`users/${userId}/reset-2fa`))
  client = await logIn(host.baseUrl, email)
  const body = { password: PASSWORD, newPassword: OTHER_PASSWORD }
  await checkEnds('a new password', () => client.post('auth/password', body))
  await checkEnds('a reset', async () => {
    await anyone().post('auth/reset-password/send', { email, origin: 'dashboard' })
    const mail = await waitForMail(host.baseUrl, email, /reset-password\?token=/)
    const token = /token=(\S+)/.exec(mail.text)?.[1]
    return anyone().post('auth/reset-password/change', { token, newPassword: PASSWORD })
  })
  const { detail } = await host.db.one<{ detail: string }>(sql`
    select detail from audit_log where action = 'user.reset-password' and object = ${`user:${userId}`}`)
  assert.equal(JSON.parse(detail).endedKeys?.length, 1, detail)
})

test('the code decided in one company is unknown to another, and a key can end itself', async () => {
  const other = await registerManager(host.baseUrl)
  const stranger = await logIn(host.baseUrl, other.email)
  const { deviceCode, userCode } = await start()
  await decide(boss, userCode, 'approve')
  assert.equal((await stranger.get(`auth/device/${userCode}`)).error.code, 'OBJECT_NOT_FOUND')
  assert.equal((await decide(stranger, userCode, 'deny')).error.code, 'OBJECT_NOT_FOUND')
  const { data: key } = await claim(deviceCode)
  const headers = { 'x-api-key': key.apiKey, 'x-api-secret': key.apiSecret }
  const works = async () => (await host.call('GET', '/api/next/confirm_conversion', { headers })).status
  const end = (body: Record<string, string>) => anyone().post('api-keys/revoke', body)
  assert.equal((await end({ apiKey: 'pk_other', apiSecret: key.apiSecret })).status, 200)
  assert.equal((await end({ apiKey: key.apiKey, apiSecret: 'sk_other' })).status, 200)
  assert.equal(await works(), 200)
  await end({ apiKey: key.apiKey, apiSecret: key.apiSecret })
  assert.equal(await works(), 401)
  assert.equal((await claim(deviceCode)).error.code, 'DEVICE_CODE_EXPIRED', 'a key that ended is not handed out again')
})

test('loginByDevice waits, slows down, survives a lost answer, and hands over the key', async () => {
  let questions = 0
  const answers = ['AUTHORIZATION_PENDING', 'lost', 'key']
  const scripted: typeof fetch = async (input, init) => {
    if (!String(input).endsWith('/token')) {
      const answer = await fetch(input, init)
      const json = (await answer.json()) as { data: Started }
      return Response.json({ ...json, data: { ...json.data, intervalSeconds: 0 } })
    }
    const wanted = answers[questions++]
    if (wanted === 'lost') throw new TypeError('reset')
    if (wanted === 'key') await decide(boss, shown, 'approve')
    return fetch(input, init)
  }
  let shown = ''
  const key = await loginByDevice({
    ...{ baseUrl: host.baseUrl, clientName: 'sdk', fetch: scripted },
    onCode: ({ userCode }) => {
      shown = userCode
    },
  })
  assert.ok(key.apiSecret.startsWith('sk_') && questions === 3)
  answers.push('refused')
  const refused = loginByDevice({
    ...{ baseUrl: host.baseUrl, clientName: 'sdk', fetch: scripted },
    onCode: ({ userCode }) => void decide(boss, userCode, 'deny'),
  })
  await assert.rejects(refused, (error) => isComptoirError(error, 'AUTHORIZATION_DENIED'))
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Db, type Sql, sql } from '../src/db/db.ts'
import { DAY, MINUTE, SECOND } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import { hashApiSecret, openApiKeys } from '../src/sessions/api-keys/api-key-service.ts'
import {
  Client,
  logIn,
  logInSuperAdmin,
  newEmail,
  OTHER_PASSWORD,
  PASSWORD,
  register,
  registerManager,
  totpOf,
  waitForMail,
} from './harness/accounts.ts'
import { callService, startTestService, type TestService } from './harness/service.ts'

let service: TestService
let shiftMs = 0
const clock = (): number => Date.now() + shiftMs

before(async () => {
  service = await startTestService({ workers: true, clock })
})
after(() => service.stop())

/** A key of the company with these scopes; the secret is what a server sends. */
async function insertKey(companyId: string | null, scopes: string[], expiresAt: Date | null = null): Promise<string> {
  const [id, secret] = [newId(), `sk_${crypto.randomUUID().replaceAll('-', '')}`]
  await service.db.run(sql`
    insert into api_keys (id, company_id, name, public_id, secret_hash, scopes, expires_at)
    values (${id}, ${companyId}, 'test', ${`pk_${id}`}, ${hashApiSecret(secret)}, ${scopes}, ${expiresAt})`)
  return secret
}

const askReset = async (email: string): Promise<string> =>
  (await new Client(service.baseUrl).post<string>('auth/reset-password/send', { email, origin: 'application' }))
    .data as unknown as string

const changePassword = (body: Record<string, string>, secret?: string) =>
  new Client(service.baseUrl).post(
    'auth/reset-password/change',
    { newPassword: OTHER_PASSWORD, ...body },
    secret === undefined ? {} : { authorization: `Bearer ${secret}` },
  )

const canLogIn = async (email: string, password: string): Promise<boolean> =>
  (await new Client(service.baseUrl).post('auth/login/manager', { email, password, origin: 'dashboard' })).status ===
  200

test('a key sets somebody’s password with the scope passwords:write, and with no other', async () => {
  const boss = await registerManager(service.baseUrl)
  const others = await insertKey(boss.companyId, [
    'orders:read',
    'orders:write',
    'refunds:write',
    'sessions:write',
    'webhooks:read',
    'webhooks:write',
  ])
  const refused = await changePassword({ token: await askReset(boss.email) }, others)
  assert.deepEqual([refused.status, refused.error.code], [400, 'INVALID_RESET_TOKEN'])
  assert.equal(await canLogIn(boss.email, PASSWORD), true, 'the password is still the old one')
  const right = await insertKey(boss.companyId, ['passwords:write'])
  assert.equal((await changePassword({ token: await askReset(boss.email) }, right)).status, 200)
  assert.equal(await canLogIn(boss.email, OTHER_PASSWORD), true)
  const stranger = await registerManager(service.baseUrl)
  const foreign = await changePassword({ token: await askReset(stranger.email) }, right)
  assert.equal(foreign.error.code, 'INVALID_RESET_TOKEN')
  assert.equal(await canLogIn(stranger.email, PASSWORD), true, 'another company’s people are out of reach')
})

test('wrong reset codes: thirty a day for an account, over all its resets; known and unknown addresses alike', async () => {
  const known = (await registerManager(service.baseUrl)).email
  const unknown = newEmail('nobody')
  const codes: Record<string, string[]> = {}
  for (const email of [known, unknown]) {
    codes[email] = []
    for (let round = 0; round < 6; round += 1) {
      shiftMs += 61 * MINUTE
      const token = await askReset(email)
      for (let attempt = 0; attempt < 5; attempt += 1) {
        const { error } = await changePassword({ token, emailOtp: '000000' })
        codes[email].push(error.code)
      }
    }
    shiftMs += 61 * MINUTE
    const spent = await changePassword({ token: await askReset(email), emailOtp: '000000' })
    codes[email].push(spent.error.code)
    assert.ok(Number(spent.headers.get('retry-after')) > 0)
  }
  assert.deepEqual(codes[known], codes[unknown])
  assert.deepEqual(codes[known], [...Array<string>(30).fill('INVALID_OTP'), 'TOO_MANY_REQUESTS'])
})

test('after thirty wrong codes the right one is refused too, the mailed link still works, and a day later codes work', async () => {
  const { email } = await registerManager(service.baseUrl)
  const { id } = await service.db.one<{ id: string }>(sql`select id from users where email = ${email}`)
  const first = await askReset(email)
  await changePassword({ token: first, emailOtp: '000000' })
  await service.db.run(sql`update password_resets set wrong_codes = 29 where user_id = ${id}`)
  const mailed = async (): Promise<{ emailOtp: string; link: string }> => {
    const { count } = await service.db.one<{ count: number }>(
      sql`select count(*)::int as count from password_resets where user_id = ${id}`,
    )
    const mail = await waitForMail(service.baseUrl, email, /confirm-reset/, count)
    return {
      emailOtp: /\b(\d{6})\b/.exec(mail.text)?.[1] ?? '',
      link: /https?:\S+confirm-reset\S+/.exec(mail.text)?.[0] ?? '',
    }
  }
  let token = await askReset(email)
  assert.equal((await changePassword({ token, emailOtp: '000000' })).error.code, 'INVALID_OTP', 'the thirtieth')
  const { emailOtp } = await mailed()
  assert.equal((await changePassword({ token, emailOtp })).error.code, 'TOO_MANY_REQUESTS')
  assert.equal(await canLogIn(email, PASSWORD), true, 'nothing changed')
  shiftMs += DAY - MINUTE
  token = await askReset(email)
  assert.equal((await changePassword({ token, emailOtp: (await mailed()).emailOtp })).error.code, 'TOO_MANY_REQUESTS')
  shiftMs += 32 * MINUTE
  token = await askReset(email)
  assert.equal((await changePassword({ token, emailOtp: (await mailed()).emailOtp })).status, 200)
  assert.equal(await canLogIn(email, OTHER_PASSWORD), true)
})

test('a factor enrolled before the address was verified does not survive the owner’s reset; a later one does', async () => {
  const strict = await startTestService({ env: { AUTO_APPROVE: 'false' }, workers: true })
  const enrol = async (client: Client): Promise<void> => {
    const setup = await client.post<{ otpauthUri: string }>('auth/2fa/setup')
    const otp = totpOf(setup.data.otpauthUri).generate()
    assert.equal((await client.post('auth/2fa/enable', { otp })).status, 200)
  }
  const enrolled = async (email: string): Promise<boolean> =>
    (
      await strict.db.one<{ on: boolean }>(
        sql`select totp_enabled_at is not null as on from users where email = ${email}`,
      )
    ).on
  const reset = async (email: string): Promise<void> => {
    await new Client(strict.baseUrl).post('auth/reset-password/send', { email })
    const mail = await waitForMail(strict.baseUrl, email, /reset-password\?token/)
    const token = /token=([\w-]+)/.exec(mail.text)?.[1] ?? ''
    const body = { token, newPassword: OTHER_PASSWORD }
    assert.equal((await new Client(strict.baseUrl).post('auth/reset-password/change', body)).status, 200)
  }
  try {
    const setVerified = (userId: string, isVerified: boolean) =>
      strict.db.run(sql`update users set verified_at = case when ${isVerified} then now() end where id = ${userId}`)
    // of before, when an address that nobody had confirmed could get one
    const squatted = await register(strict.baseUrl, { role: 'Manager', companyName: 'Squatted' })
    await setVerified(squatted.userId, true)
    await enrol(squatted.client)
    await setVerified(squatted.userId, false)
    await reset(squatted.email)
    assert.equal(await enrolled(squatted.email), false, 'never verified: the factor was anyone’s')
    const verifiedLater = await register(strict.baseUrl, { role: 'Manager', companyName: 'Later' })
    await setVerified(verifiedLater.userId, true)
    await enrol(verifiedLater.client)
    await setVerified(verifiedLater.userId, true)
    await reset(verifiedLater.email)
    assert.equal(await enrolled(verifiedLater.email), false, 'enrolled before the address was verified')
    const owner = await register(strict.baseUrl, { role: 'Manager', companyName: 'Owner' })
    await strict.db.run(sql`update users set verified_at = now() - interval '1 minute' where id = ${owner.userId}`)
    await enrol(owner.client)
    await reset(owner.email)
    assert.equal(await enrolled(owner.email), true, 'the owner’s own factor is still asked after a reset')
  } finally {
    await strict.stop()
  }
})

test('who waits for approval learns of the company its name and kind, and no more', async () => {
  const boss = await registerManager(service.baseUrl)
  const settlementAddress = '0x52908400098527886E0F7030069857D2E4169EE7'
  await service.db.run(sql`
    update companies set siret = '73282932000074', settlement_address = ${settlementAddress}, settlement_network = 31337
    where id = ${boss.companyId}`)
  const { name } = await service.db.one<{ name: string }>(sql`select name from companies where id = ${boss.companyId}`)
  const body = { firstName: 'A', lastName: 'B', password: PASSWORD, role: 'Observer', companyName: name }
  const registered = await new Client(service.baseUrl).post<{ token: string; user: { company: object } }>(
    'auth/register',
    { email: newEmail(), ...body },
  )
  assert.equal(registered.status, 200, registered.text)
  const waiting = new Client(service.baseUrl)
  waiting.token = registered.data.token
  const me = await waiting.get<{ _id: string; company: Record<string, unknown>; missing: string[] }>('users/me')
  const known = Object.fromEntries(Object.entries(me.data.company).filter(([, value]) => value !== null))
  assert.deepEqual(known, { _id: boss.companyId, name, kind: 'company' })
  for (const text of [registered.text, me.text])
    for (const secret of [settlementAddress, '73282932000074'])
      assert.equal(text.includes(secret), false, `${secret} is not told`)
  assert.equal((await boss.client.post(`users/${me.data._id}/approve`)).status, 200)
  const approved = await waiting.get<{ company: { _id: string; siret: string } }>('users/me')
  assert.deepEqual([approved.data.company._id, approved.data.company.siret], [boss.companyId, '73282932000074'])
})

test('an API key works until the millisecond at which it expires', async () => {
  const boss = await registerManager(service.baseUrl)
  const expiresAt = new Date(clock() + 60 * MINUTE)
  const secret = await insertKey(boss.companyId, ['orders:read'], expiresAt)
  const list = () =>
    callService(service.baseUrl, 'GET', '/api/next/confirm_conversion', { headers: { 'x-api-secret': secret } })
  assert.equal((await list()).status, 200)
  shiftMs += 60 * MINUTE - 10 * SECOND
  assert.equal((await list()).status, 200, 'ten seconds before')
  shiftMs += 11 * SECOND
  const late = await list()
  assert.deepEqual([late.status, late.error.code], [401, 'UNAUTHORIZED'])
})

test('a key that is revoked while a request reads it is refused from then on', async () => {
  const { companyId } = await registerManager(service.baseUrl)
  const secret = await insertKey(companyId, ['orders:read'])
  const [hasRead, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow: Db = {
    ...service.db,
    async many<Row>(query: Sql) {
      const rows = await service.db.many<Row>(query)
      hasRead.resolve()
      await mayAnswer.promise
      return rows
    },
  }
  const keys = openApiKeys({ db: slow, clock })
  const first = keys.actorOf(secret, null)
  await hasRead.promise
  await service.db.run(sql`update api_keys set revoked_at = now() where secret_hash = ${hashApiSecret(secret)}`)
  keys.forget()
  mayAnswer.resolve()
  await assert.rejects(first, { code: 'UNAUTHORIZED' })
  await assert.rejects(keys.actorOf(secret, null), { code: 'UNAUTHORIZED' })
})

test('names are no place for links: of people at most 60 characters, of companies at most 120', async () => {
  const boss = await registerManager(service.baseUrl)
  await service.db.run(sql`update sessions set second_factor_at = now() where user_id = ${boss.userId}`)
  const names = [
    'https://evil.example',
    'Ann www.evil.example',
    'Ann WWW.evil.example',
    'Ann\r\nBcc: x',
    'Ann\u200bBee',
    'Ann\u202eeeB',
    ' \u2800',
    'x'.repeat(61),
  ]
  const stranger = new Client(service.baseUrl)
  for (const name of names) {
    const person = { email: newEmail(), password: PASSWORD, lastName: 'B', role: 'SimpleUser' }
    const registered = await stranger.post('auth/register', { ...person, firstName: name })
    assert.deepEqual([registered.status, registered.error?.details?.[0]?.path], [422, 'firstName'], name)
    assert.match(registered.error.details?.[0]?.message ?? '', /link|60|line|see/, name)
    const invited = await boss.client.post('users', { ...person, role: 'Observer', firstName: 'A', lastName: name })
    assert.deepEqual([invited.status, invited.error?.details?.[0]?.path], [422, 'lastName'], name)
    const changed = await boss.client.call('PUT', 'users/me', { firstName: name })
    assert.equal(changed.status, 422, name)
  }
  const companyNames = [...names.slice(0, 7), 'x'.repeat(121)]
  for (const companyName of companyNames) {
    const person = { email: newEmail(), password: PASSWORD, firstName: 'A', lastName: 'B', role: 'Manager' }
    const registered = await stranger.post('auth/register', { ...person, companyName })
    assert.deepEqual([registered.status, registered.error?.details?.[0]?.path], [422, 'companyName'], companyName)
    const path = `companies/${boss.companyId}`
    assert.equal((await boss.client.call('PUT', path, { name: companyName })).status, 422, companyName)
  }
  const right = await boss.client.call<{ name: string }>('PUT', `companies/${boss.companyId}`, {
    name: 'y'.repeat(120),
  })
  assert.deepEqual([right.status, right.data.name.length], [200, 120])
  const me = await boss.client.call('PUT', 'users/me', { firstName: 'z'.repeat(60), lastName: 'O’Neil-Ångström d’Été' })
  assert.equal(me.status, 200)
})

test('who registers an operator’s account proves a fresh second factor: a stolen session makes no SuperAdmin', async () => {
  const thief = await logInSuperAdmin(service)
  const names = { firstName: 'Eve', lastName: 'Else', password: PASSWORD }
  const make = (role: string) => thief.post('auth/register', { ...names, email: newEmail('eve'), role })
  assert.equal((await make('Service')).status, 200, 'right after the login')
  shiftMs += 6 * MINUTE
  thief.token = (await thief.post<{ token: string }>('auth/refresh-token')).data.token
  for (const role of ['SuperAdmin', 'SuperManager', 'Service']) {
    const { status, error } = await make(role)
    assert.deepEqual([role, status, error?.code], [role, 403, 'STEP_UP_REQUIRED'])
  }
})

test('a body sets what its endpoint names and nothing else: no role, no other company’s payout address', async () => {
  const rival = await registerManager(service.baseUrl)
  const { client, companyId } = rival
  const victim = await registerManager(service.baseUrl)
  const mine = await client.call('PUT', 'users/me', { role: 'SuperAdmin', firstName: 'Eve', approvedAt: '2020' })
  assert.equal(mine.headers.get('comptoir-ignored'), 'role, approvedAt')
  const user = await service.db.one<{ role: string; firstName: string }>(
    sql`select role, first_name from users where id = ${rival.userId}`,
  )
  assert.deepEqual([user.role, user.firstName], ['Manager', 'Eve'])
  const change = { id: victim.companyId, approved: false, kind: 'association', displayName: 'Stolen' }
  assert.equal((await client.call('PUT', `companies/${companyId}`, change)).status, 200)
  const names = await service.db.many<{ id: string; displayName: string | null }>(
    sql`select id, display_name from companies where id in (${companyId}, ${victim.companyId})`,
  )
  const named = names.filter(({ displayName }) => displayName === 'Stolen').map(({ id }) => id)
  assert.deepEqual(named, [companyId], 'the own company alone')
})

test('the e-mail addresses of a till’s cashiers are for those who manage people; colleagues and servers read the names', async () => {
  const boss = await registerManager(service.baseUrl)
  const { data } = await boss.client.get<{ collectors: { _id: string }[] }>('collectors/list')
  const till = data.collectors[0]?._id ?? ''
  const people = []
  for (const role of ['Cashier', 'Cashier', 'Observer']) {
    const person = await register(service.baseUrl, { role, companyName: boss.companyId })
    await service.db.run(sql`
      update users set company_id = ${boss.companyId}, approved_at = now() where id = ${person.userId}`)
    people.push(person)
  }
  const [ada, bob, observer] = people
  assert.ok(ada && bob && observer)
  await boss.client.call('PUT', `collectors/${till}`, { cashiers: [ada.userId, bob.userId] })
  const key = new Client(service.baseUrl)
  const secret = await insertKey(boss.companyId ?? '', ['orders:read'])
  const reading: [Client, Record<string, string>, (string | null)[]][] = [
    [boss.client, {}, [ada.email, bob.email]],
    [await logIn(service.baseUrl, ada.email), {}, [null, null]],
    [await logIn(service.baseUrl, observer.email), {}, [null, null]],
    [key, { authorization: `Bearer ${secret}` }, [null, null]],
  ]
  for (const [client, headers, expected] of reading)
    for (const path of ['collectors/list', `collectors/${till}`]) {
      type Till = { cashiers: { email: string | null; firstName: string }[] }
      const answer = await client.call<Till & { collectors?: Till[] }>('GET', path, undefined, headers)
      assert.equal(answer.status, 200, answer.text)
      const { cashiers } = answer.data.collectors?.[0] ?? answer.data
      assert.deepEqual(cashiers.map(({ email }) => email).sort(), expected.toSorted())
      assert.ok(cashiers.every(({ firstName }) => firstName !== ''))
    }
})

test('a SuperManager who becomes a Manager again reaches the own company alone, and nothing comes back with the role', async () => {
  const admin = await logInSuperAdmin(service)
  const { email, userId, companyId } = await registerManager(service.baseUrl)
  const victim = await registerManager(service.baseUrl)
  const setRole = async (role: string) => {
    const { status, text } = await admin.call('PUT', `users/${userId}`, { role })
    assert.equal(status, 200, text)
  }
  const look = async () => {
    const client = await logIn(service.baseUrl, email)
    const [own, other] = [`companies/${companyId}`, `companies/${victim.companyId}`]
    const theft = await client.call('PUT', other, { settlementAddress: `0x${'ab'.repeat(20)}` })
    return [(await client.get(own)).status, (await client.get(other)).status, theft.status]
  }
  await setRole('SuperManager')
  await admin.call('PUT', `users/${userId}/companies`, { companies: [victim.companyId] })
  assert.equal((await look())[1], 200, 'attached')
  await setRole('Manager')
  assert.deepEqual(await look(), [200, 404, 404])
  await setRole('SuperManager')
  assert.equal((await look())[1], 404, 'its companies have to be attached again')
})

test('a SuperManager rules the former company only while it is attached, and again as its Manager', async () => {
  const admin = await logInSuperAdmin(service)
  const { email, userId, companyId } = await registerManager(service.baseUrl)
  const other = await registerManager(service.baseUrl)
  const setRole = (role: string) => admin.call('PUT', `users/${userId}`, { role })
  const attach = (companies: (string | null)[]) => admin.call('PUT', `users/${userId}/companies`, { companies })
  assert.equal((await setRole('SuperManager')).status, 200)
  assert.equal((await attach([companyId, other.companyId])).status, 200)
  const client = await logIn(service.baseUrl, email)
  const key = { name: 'x', scopes: ['refunds:write'] }
  const look = async (by: Client) => [
    (await by.get(`companies/${companyId}`)).status,
    (await by.call('PUT', `companies/${companyId}`, { settlementAddress: `0x${'ab'.repeat(20)}` })).status,
    (await by.post(`api-keys?companyId=${companyId}`, key)).status,
  ]
  assert.deepEqual(await look(client), [200, 200, 200])
  assert.equal((await attach([other.companyId])).status, 200)
  assert.deepEqual(await look(client), [404, 404, 404])
  type Points = { salesPoints: { company: string }[] }
  const { salesPoints } = (await client.get<Points>('sales-points')).data
  assert.deepEqual([...new Set(salesPoints.map(({ company }) => company))], [other.companyId])
  const colleague = await register(service.baseUrl, { role: 'Manager', companyName: 'Shop' })
  await service.db.run(sql`update users set company_id = ${companyId} where id = ${colleague.userId}`)
  const left = await logIn(service.baseUrl, colleague.email)
  assert.equal((await left.get<{ total: number }>('users')).data.total, 1, 'no longer one of the former company')
  const log = await left.get<{ entries: { action: string }[] }>(`audit-log?actor=${email}&action=session`)
  assert.deepEqual(log.data.entries, [], 'nor is its login there')
  assert.equal((await setRole('Manager')).status, 200)
  assert.deepEqual(await look(await logIn(service.baseUrl, email)), [200, 200, 200])
})

test('a Cashier who becomes an Observer loses the tills, and does not get them back with the role', async () => {
  const boss = await registerManager(service.baseUrl)
  const { userId, email } = await register(service.baseUrl, { role: 'Cashier', companyName: boss.companyId })
  await boss.client.post(`users/${userId}/approve`)
  type Tills = { collectors: { _id: string; cashiers: { _id: string }[] }[] }
  const readTills = async (client: Client) => (await client.get<Tills>('collectors/list')).data.collectors
  const [till] = await readTills(boss.client)
  const give = (cashiers: string[]) => boss.client.call('PUT', `collectors/${till?._id}`, { cashiers })
  const setRole = async (role: string) => {
    const { status, text } = await boss.client.call('PUT', `users/${userId}`, { role })
    assert.equal(status, 200, text)
  }
  assert.equal((await give([userId])).status, 200)
  assert.equal((await readTills(await logIn(service.baseUrl, email))).length, 1)
  await setRole('Observer')
  const [{ cashiers = [] } = {}] = await readTills(boss.client)
  assert.deepEqual(cashiers, [], 'an Observer is no cashier of a till')
  await setRole('Cashier')
  assert.deepEqual(await readTills(await logIn(service.baseUrl, email)), [])
  assert.equal((await give([userId])).status, 200, 'until the manager gives one again')
})

test('a company is attached to a SuperManager after a fresh second factor only, and taken away without one', async () => {
  const admin = await logInSuperAdmin(service)
  const { userId, companyId } = await registerManager(service.baseUrl)
  const attach = (companies: (string | null)[]) => admin.call('PUT', `users/${userId}/companies`, { companies })
  assert.equal((await admin.call('PUT', `users/${userId}`, { role: 'SuperManager' })).status, 200)
  assert.equal((await attach([companyId])).status, 200)
  shiftMs += 6 * MINUTE
  admin.token = (await admin.post<{ token: string }>('auth/refresh-token')).data.token
  const victim = await registerManager(service.baseUrl)
  assert.equal((await attach([companyId, victim.companyId])).error?.code, 'STEP_UP_REQUIRED')
  assert.deepEqual([(await attach([companyId])).status, (await attach([])).status], [200, 200])
})

test('who decides about money is let in, shut out, raised and lowered after a fresh second factor only', async () => {
  const { email, companyId } = await registerManager(service.baseUrl)
  const insert = async (role: string): Promise<string> => {
    const id = newId()
    await service.db.run(sql`
      insert into users (id, email, email_key, password_hash, first_name, last_name, role, company_id, disabled_at)
      values (${id}, ${`${id}@shop.example`}, ${`${id}@shop.example`}, '-', 'A', 'B', ${role}, ${companyId},
        case when ${role} = 'Manager' then now() end)`)
    return id
  }
  const [boss, cashier] = [await insert('Manager'), await insert('Cashier')]
  const stale = await logIn(service.baseUrl, email)
  shiftMs += 6 * MINUTE
  stale.token = (await stale.post<{ token: string }>('auth/refresh-token')).data.token
  const fresh = await logIn(service.baseUrl, email)
  for (const [id, change] of [
    [boss, { disabled: false }],
    [boss, { disabled: true }],
    [boss, { role: 'Observer', disabled: false }],
    [cashier, { role: 'Manager' }],
  ] as const) {
    const said = JSON.stringify(change)
    assert.equal((await stale.call('PUT', `users/${id}`, change)).error?.code, 'STEP_UP_REQUIRED', said)
    assert.equal((await fresh.call('PUT', `users/${id}`, change)).status, 200, said)
  }
  assert.equal((await stale.call('PUT', `users/${boss}`, { disabled: true })).status, 200, 'an Observer by now')
  assert.equal((await stale.call('PUT', `users/${cashier}`, { firstName: 'C' })).status, 200, 'a name gives no right')
})

test('a colleague who sends the same Idempotency-Key gets an own authenticator, not the secret of the first', async () => {
  const boss = await registerManager(service.baseUrl)
  const cashier = await register(service.baseUrl, { role: 'Cashier' }, boss.client)
  assert.equal(cashier.companyId, boss.companyId)
  const key = { 'idempotency-key': 'setup-1' }
  const begin = async ({ client }: { client: Client }) => {
    const { data, status, text, headers } = await client.post<{ otpauthUri: string }>('auth/2fa/setup', undefined, key)
    assert.equal(status, 200, text)
    return { uri: data.otpauthUri, replayed: headers.get('idempotency-replayed') }
  }
  const [first, other] = [await begin(boss), await begin(cashier)]
  assert.notEqual(other.uri, first.uri)
  assert.match(decodeURIComponent(other.uri), new RegExp(cashier.email))
  assert.equal(other.replayed, null)
  assert.deepEqual(await begin(boss), { uri: first.uri, replayed: 'true' }, 'the own answer is repeated')
})

test('what the API answers is kept by no browser and no proxy', async () => {
  const { client } = await registerManager(service.baseUrl)
  for (const path of ['users/me', 'companies', 'confirm_conversion', 'audit-log', 'refunds/000000000000000000000000'])
    assert.equal((await client.get(path)).headers.get('cache-control'), 'no-store', path)
})

test('what an operator sets for a company changes after a fresh second factor only, and the log says from what to what', async () => {
  const admin = await logInSuperAdmin(service)
  const { companyId } = await registerManager(service.baseUrl)
  const change = (body: Record<string, unknown>) => admin.call('PUT', `companies/${companyId}`, body)
  assert.equal((await change({ feeBps: 50, maxOrderAmount: '10', refundApproval: true })).status, 200)
  shiftMs += 6 * MINUTE
  admin.token = (await admin.post<{ token: string }>('auth/refresh-token')).data.token
  for (const body of [{ feeBps: 0 }, { refundApproval: false }, { refundStepUpLimit: '9999' }, { kycThreshold: '5' }])
    assert.equal((await change(body)).error?.code, 'STEP_UP_REQUIRED', JSON.stringify(body))
  const same = { feeBps: 50, refundApproval: true, maxOrderAmount: '10.0', displayName: 'Bakery' }
  assert.equal((await change(same)).status, 200, 'a form that sends them all back as they are')
  const { detail } = await service.db.one<{ detail: string }>(sql`
    select detail from audit_log where object = ${`company:${companyId}`} and action = 'company.change' order by seq limit 1`)
  assert.match(detail, /feeBps: 0 → 50/)
})

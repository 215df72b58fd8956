import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { Client, logIn, newEmail, OTHER_PASSWORD, PASSWORD, registerManager, totpOf } from './harness/accounts.ts'
import { type Operator, openOperator } from './harness/installation.ts'
import { startTestService, TEST_MASTER_KEY, type TestService } from './harness/service.ts'

let service: TestService
let dataDir: string
let operator: Operator

before(async () => {
  operator = openOperator()
  service = await startTestService({ workers: true })
  dataDir = mkdtempSync(join(tmpdir(), 'comptoir-admin-'))
})
after(async () => {
  await operator.close()
  await service.stop()
  rmSync(dataDir, { recursive: true })
})

/** Runs a command of the operator against the test's database. */
async function run(...args: string[]): Promise<{ code: number | null; text: string }> {
  const { connectionString } = service.db.pool.options as { connectionString: string }
  const env = {
    DATA_DIR: dataDir,
    DATABASE_URL: connectionString,
    MASTER_KEY: TEST_MASTER_KEY.toString('base64'),
  }
  const { code, out, err } = await operator.run(args, env, dataDir)
  return { code, text: out + err }
}

test('what people do is in the log: who, what, when, from where, on what, with which result', async () => {
  const { email, userId, companyId } = await registerManager(service.baseUrl)
  await new Client(service.baseUrl).post('auth/login/manager', {
    email,
    password: 'Wrong-Password-1!',
    origin: 'dashboard',
  })
  const boss = await logIn(service.baseUrl, email)
  const key = await boss.post<{ _id: string; apiSecret: string }>('api-keys', {
    name: 'server',
    scopes: ['orders:read'],
  })
  await boss.call('DELETE', `api-keys/${key.data._id}`)
  type Entry = { actor: string; action: string; result: string; object: string; ip: string; requestId: string }
  const log = await boss.get<{ entries: Entry[] }>('audit-log')
  assert.deepEqual(
    log.data.entries.map(({ action, result }) => `${action} ${result}`),
    ['api-key.revoke ok', 'api-key.create ok', 'session.login ok', 'session.login refused', 'user.register ok'],
  )
  const [revoked] = log.data.entries
  assert.equal(revoked?.actor, `user:${userId}`)
  assert.equal(revoked?.object, `apiKey:${key.data._id}`)
  assert.equal(revoked?.ip, '127.0.0.1')
  assert.ok(!log.text.includes(key.data.apiSecret))
  const stranger = await logIn(service.baseUrl, (await registerManager(service.baseUrl)).email)
  assert.ok(!(await stranger.get('audit-log')).text.includes(String(companyId)))
})

test('the log cannot be changed, and an action that cannot be logged does not happen', async () => {
  for (const statement of [
    sql`update audit_log set actor = 'nobody'`,
    sql`delete from audit_log`,
    sql`truncate audit_log`,
    sql`delete from audit_head`,
  ])
    await assert.rejects(service.db.run(statement), /append-only/)
  await service.db.run(sql`alter table audit_log add constraint broken check (action <> 'user.register') not valid`)
  const email = newEmail()
  const body = { email, password: PASSWORD, firstName: 'A', lastName: 'B', role: 'SimpleUser' }
  assert.equal((await new Client(service.baseUrl).post('auth/register', body)).status, 500)
  const { count } = await service.db.one<{ count: number }>(
    sql`select count(*)::int as count from users where email = ${email}`,
  )
  assert.equal(count, 0)
  await service.db.run(sql`alter table audit_log drop constraint broken`)
})

test('admin: makes a SuperAdmin who can log in, asks before it destroys, rotates keys with overlap', async () => {
  const email = newEmail('operator')
  const made = await run('admin', 'create', '--email', email, '--password', PASSWORD)
  assert.equal(made.code, 0, made.text)
  assert.equal((await run('admin', 'create', '--email', email)).code, 1)
  const admin = await logIn(service.baseUrl, email, 'auth/login')
  const rotated = await run('admin', 'rotate-keys', '--yes')
  assert.equal(rotated.code, 0, rotated.text)
  assert.equal((await admin.get('users/me')).status, 200, 'a token of the old key still works')
  const asked = await run('admin', 'revoke-sessions', '--email', email)
  assert.equal(asked.code, 1)
  assert.match(asked.text, /Nothing was done: add --yes/)
  assert.equal((await admin.post('auth/refresh-token')).status, 200)
  assert.equal((await run('admin', 'revoke-sessions', '--email', email, '--yes')).code, 0)
  assert.equal((await admin.post('auth/refresh-token')).status, 401)
  assert.match(
    (await run('admin', 'nonsense')).text,
    /no "admin nonsense"; choose from create, .*\nSee: comptoir admin --help\n$/,
  )
})

test('admin create: an address that a stranger has registered is taken from that account, and from no one who works here', async () => {
  const stranger = await registerManager(service.baseUrl)
  const { userId, companyId } = stranger
  await service.db.run(sql`update users set verified_at = null where id = ${userId}`)
  await service.db.run(sql`update companies set approved = false where id = ${companyId}`)
  const create = (email: string, ...more: string[]) =>
    run('admin', 'create', '--email', email, '--password', OTHER_PASSWORD, ...more)
  const asked = await create(stranger.email)
  assert.equal(asked.code, 1)
  assert.match(asked.text, /is registered as Manager of .* It will end for good\. Nothing was done: add --yes/)
  const made = await create(stranger.email, '--yes')
  assert.equal(made.code, 0, made.text)
  assert.equal((await stranger.client.get('users/me')).status, 401)
  const body = { email: stranger.email, password: PASSWORD }
  assert.equal((await new Client(service.baseUrl).post('auth/login', body)).status, 400)
  assert.equal(
    (await new Client(service.baseUrl).post('auth/login', { ...body, password: OTHER_PASSWORD })).status,
    200,
  )
  const { rows } = await service.db.one<{ rows: string[] }>(sql`
    select array_agg(actor || ' ' || action order by seq) as rows from audit_log
    where action in ('user.replace', 'user.create-super-admin') and seq >
      (select seq from audit_log where action = 'user.register' and object = ${`user:${userId}`})`)
  assert.deepEqual(rows, ['operator user.replace', 'operator user.create-super-admin'])

  const customer = await registerManager(service.baseUrl)
  await service.db.run(sql`update users set role = 'SimpleUser', company_id = null where id = ${customer.userId}`)
  const stays = await create(customer.email, '--yes')
  assert.equal(stays.code, 1, stays.text)
  assert.match(
    stays.text,
    /Nothing was changed\. Someone confirmed this address: .* Create the SuperAdmin with another/,
  )
  const [kept] = await service.db.many<{ email: string }>(sql`select email from users where id = ${customer.userId}
    and email_key not like 'replaced:%'`)
  assert.equal(kept?.email, customer.email)
  await service.db.run(sql`update users set verified_at = null where id = ${customer.userId}`)
  assert.equal((await create(customer.email, '--yes')).code, 0, 'nobody confirmed it')

  const manager = await registerManager(service.baseUrl)
  const refused = await create(manager.email, '--yes')
  assert.deepEqual([refused.code, /is registered already\. Nothing was changed/.test(refused.text)], [1, true])
  assert.equal((await manager.client.get('users/me')).status, 200)
})

test('admin --json: each command prints one object with ok, message and its facts, and nothing else', async () => {
  const email = newEmail('programs')
  const json = async (...args: string[]): Promise<Record<string, unknown>> => {
    const { code, text } = await run('admin', ...args, '--json')
    const answer = JSON.parse(text) as Record<string, unknown>
    assert.deepEqual([code, answer.ok, typeof answer.message], [0, true, 'string'], text)
    return answer
  }
  const made = await json('create', '--email', email)
  assert.equal(made.email, email)
  assert.ok(String(made.password).length > 12)
  assert.ok(!String(made.message).includes(String(made.password)), 'a sentence may be logged')
  assert.equal((await json('set-password', '--email', email, '--password', PASSWORD, '--yes')).email, email)
  assert.equal((await json('reset-2fa', '--email', email, '--yes')).email, email)
  assert.equal((await json('revoke-sessions', '--email', email, '--yes')).count, 0)
  assert.match(String((await json('rotate-keys', '--yes')).key), /./)
})

test('admin login-code: lets in a person whom no mail reaches, once, and says so in the audit log', async () => {
  const email = newEmail('no-mail')
  assert.equal((await run('admin', 'create', '--email', email, '--password', PASSWORD)).code, 0)
  const early = await run('admin', 'login-code', '--email', email)
  assert.equal(early.code, 1)
  assert.match(early.text, /No login of .* waits for a code\. Log in with the password first/)
  const client = new Client(service.baseUrl)
  const login = () => client.post('auth/login', { email, password: PASSWORD })
  assert.equal((await login()).status, 200)
  // ten codes were mailed within the hour and none arrived: a further login is refused until the operator helps
  await service.db.run(
    sql`update otp_challenges set codes_sent = 10 where user_id in (select id from users where email = ${email})`,
  )
  assert.equal((await login()).status, 429)
  assert.equal((await run('admin', 'login-code', '--email', email)).code, 0)
  assert.equal((await login()).status, 200)
  const made = await run('admin', 'login-code', '--email', email)
  const code = /^Code: (\d{6})$/m.exec(made.text)?.[1]
  assert.ok(code, made.text)
  const { data } = await client.post<{ token: string; user: { email: string } }>('auth/otp', { emailOtp: code })
  assert.ok(data.token)
  assert.equal((await run('admin', 'login-code', '--email', email, '--json')).code, 0, 'an older login waits, too')
  const { count } = await service.db.one<{ count: number }>(
    sql`select count(*)::int as count from audit_log where action = 'session.login-code'`,
  )
  assert.equal(count, 3)
  const kept = await service.db.many<{ text: string }>(sql`select detail::text as text from audit_log`)
  assert.ok(
    kept.every(({ text }) => !text?.includes(code)),
    'no log holds the code',
  )
})

test('admin login-code: the code opens a login that thirty wrong ones locked; asked too early it forgives nothing', async () => {
  const email = newEmail('locked')
  assert.equal((await run('admin', 'create', '--email', email, '--password', PASSWORD)).code, 0)
  await service.db.run(sql`update users set wrong_codes = 30, wrong_codes_since = now() where email = ${email}`)
  const client = new Client(service.baseUrl)
  const enter = async () => {
    const { text } = await run('admin', 'login-code', '--email', email)
    return client.post('auth/otp', { emailOtp: /^Code: (\d{6})$/m.exec(text)?.[1] ?? '000000' })
  }
  assert.equal((await run('admin', 'login-code', '--email', email)).code, 1)
  await client.post('auth/login', { email, password: PASSWORD })
  assert.equal((await client.post('auth/otp', { emailOtp: '000000' })).error.code, 'ACCOUNT_LOCKED')
  const { status, text } = await enter()
  assert.equal(status, 200, text)
})

test('admin revoke-sessions logs command lines out too, and those that have not fetched their key', async () => {
  const program = new Client(service.baseUrl)
  const { email } = await registerManager(service.baseUrl)
  const boss = await logIn(service.baseUrl, email)
  const approve = async (): Promise<string> => {
    const { data } = await program.post<{ deviceCode: string; userCode: string }>('auth/device', { clientName: 'mine' })
    assert.equal((await boss.post(`auth/device/${data.userCode}/approve`, {})).status, 200)
    return data.deviceCode
  }
  const fetchKey = (deviceCode: string) =>
    program.post<{ apiKey: string; apiSecret: string }>('auth/device/token', { deviceCode })
  const { apiKey, apiSecret } = (await fetchKey(await approve())).data
  const waiting = await approve()
  const ended = await run('admin', 'revoke-sessions', '--email', email, '--yes')
  assert.match(ended.text, /3 logins have ended/, 'the registration, the login and the command line')
  const headers = { 'x-api-key': apiKey, 'x-api-secret': apiSecret }
  assert.equal((await service.call('GET', '/api/next/confirm_conversion', { headers })).status, 401)
  assert.equal((await fetchKey(waiting)).error.code, 'AUTHORIZATION_DENIED')
})

test('admin reset-2fa: a lost phone opens nothing: authenticator and passkeys are forgotten, codes come by mail', async () => {
  const { client, email, userId } = await registerManager(service.baseUrl)
  const setup = await client.post<{ otpauthUri: string }>('auth/2fa/setup')
  const otp = totpOf(setup.data.otpauthUri).generate()
  assert.equal((await client.post('auth/2fa/enable', { otp })).status, 200)
  await service.db.run(sql`
    insert into passkeys (id, user_id, credential_id, public_key, counter, transports, name, created_at)
    values (${newId(0)}, ${userId}, 'stolen', '\\x00', 0, '{}', 'Stolen phone', now())`)
  await service.db.run(sql`update users set passkey_challenge = 'begun', passkey_challenge_at = now()`)
  const { code, text } = await run('admin', 'reset-2fa', '--email', email)
  assert.equal(code, 1)
  assert.match(text, /The authenticator, recovery codes and passkeys of .* will be forgotten/)
  assert.equal((await run('admin', 'reset-2fa', '--email', email, '--yes')).code, 0)
  const left = await service.db.one(sql`
    select (select count(*) from passkeys where user_id = ${userId})::int as passkeys, passkey_challenge as begun
    from users where id = ${userId}`)
  assert.deepEqual(left, { passkeys: 0, begun: null })
  const again = await logIn(service.baseUrl, email)
  const me = await again.get<{ authenticatorEnabled: boolean; twoFactorAuthEnabled: boolean }>('users/me')
  assert.deepEqual([me.data.authenticatorEnabled, me.data.twoFactorAuthEnabled], [false, true])
})

test('audit verify: whole, then naming the entry that somebody with the whole database changed', async () => {
  const whole = await run('audit', 'verify')
  assert.equal(whole.code, 0, whole.text)
  assert.match(whole.text, /is whole: \d+ entries/)
  await service.db.run(sql`alter table audit_log disable trigger all`)
  await service.db.run(sql`update audit_log set ip = '203.0.113.1' where seq = 3`)
  const changed = await run('audit', 'verify')
  assert.equal(changed.code, 1)
  assert.match(changed.text, /tampered with at entry 3/)
  await service.db.run(sql`update audit_log set ip = '127.0.0.1' where seq = 3`)
  assert.equal((await run('audit', 'verify')).code, 0)
  const { seq, detail } = await service.db.one<{ seq: bigint; detail: string }>(
    sql`select seq, detail from audit_log where detail like '%"role"%' order by seq limit 1`,
  )
  await service.db.run(sql`update audit_log set detail = '{"role":"SuperAdmin"}' where seq = ${seq}`)
  const retold = await run('audit', 'verify')
  assert.equal(retold.code, 1, 'what was done stands in the hash too')
  assert.match(retold.text, new RegExp(`tampered with at entry ${seq}`))
  await service.db.run(sql`update audit_log set detail = ${detail} where seq = ${seq}`)
  assert.equal((await run('audit', 'verify')).code, 0)
  await service.db.run(sql`delete from audit_log where seq = (select max(seq) from audit_log)`)
  assert.match((await run('audit', 'verify')).text, /cut off/)
})

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { emailKeyOf } from '../src/kernel/people/emails.ts'
import { listManagers } from '../src/mail/daily-mail-queries.ts'
import {
  Client,
  countStatuses,
  insertSuperAdmin,
  logIn,
  newEmail,
  OTHER_PASSWORD,
  PASSWORD,
  type Person,
  passwordHash,
  readMails,
  register,
  registerManager,
  totpOf,
  waitForMail,
} from './harness/accounts.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'

let service: TestService
let admin: Client
let boss: Client
let rival: Client

before(async () => {
  service = await startTestService({ env: { AUTO_APPROVE: 'false' }, workers: true })
  admin = await logIn(service.baseUrl, await insertSuperAdmin(service.db, await passwordHash()), 'auth/login')
  boss = await openShop()
  rival = await openShop()
})
after(() => service.stop())

const verify = (userId: string) => service.db.run(sql`update users set verified_at = now() where id = ${userId}`)

/** A manager of an approved company. */
async function openShop(): Promise<Client> {
  const { email, userId, companyId } = await registerManager(service.baseUrl)
  await verify(userId)
  await approve(companyId)
  return logIn(service.baseUrl, email)
}

const approve = (companyId: string | null) =>
  service.db.run(sql`update companies set approved = true where id = ${companyId}`)

const invite = (email: string, by = boss, role = 'Cashier') =>
  by.post<{ _id: string; invited: boolean }>('users', { email, firstName: 'Ida', lastName: 'Neu', role })

/** The token of the newest invitation to this address. */
const invitedToken = async (email: string, count = 1): Promise<string> =>
  /invitation\?token=(\S+)/.exec((await waitForMail(service.baseUrl, email, /invites you/, count)).text)?.[1] ?? ''

const accept = (token: string) =>
  new Client(service.baseUrl).post('auth/reset-password/change', { token, newPassword: OTHER_PASSWORD })

const passwordLogin = (email: string, password: string, path = 'auth/login/manager') =>
  new Client(service.baseUrl).post(path, { email, password, ...(path.endsWith('manager') && { origin: 'dashboard' }) })

const findUser = (id: string) =>
  service.db.one<{ emailKey: string; disabled: boolean; verified: boolean; passwordHash: string }>(sql`
    select email_key, disabled_at is not null as disabled, verified_at is not null as verified, password_hash
    from users where id = ${id}`)

const founder = () => registerManager(service.baseUrl)
const visitor = () => register(service.baseUrl, { role: 'SimpleUser' })
async function confirmedVisitor(): Promise<Person> {
  const person = await visitor()
  await verify(person.userId)
  return person
}

/** Everything that opens an account or acts for it. */
async function equip({ client, userId }: Person): Promise<string> {
  const setup = await client.post<{ otpauthUri: string }>('auth/2fa/setup')
  const otp = totpOf(setup.data.otpauthUri).generate()
  assert.equal((await client.post('auth/2fa/enable', { otp })).status, 200)
  const { data } = await boss.get<{ company: { _id: string } }>('users/me')
  const keyId = newId()
  await service.db.run(sql`
    insert into api_keys (id, company_id, created_by, name, public_id, secret_hash, scopes)
    values (${keyId}, ${data.company._id}, ${userId}, 'old', ${`pk_${keyId}`}, ${keyId}, '{orders:read}')`)
  await service.db.run(sql`insert into till_pins (user_id, pin_hash, changed_at) values (${userId}, 'x', now())`)
  await service.db.run(sql`
    insert into passkeys (id, user_id, credential_id, public_key, counter, name, created_at)
    values (${newId()}, ${userId}, ${newId()}, '', 0, 'Phone', now())`)
  return keyId
}

for (const [name, make] of [
  ['a visitor who never confirmed it', visitor],
  ['a visitor who confirmed it', confirmedVisitor],
  ['a founder whose company never worked', founder],
] as const)
  test(`the address of ${name} is free for an invitation: nothing changes before the mailed link, and with it the account ends`, async () => {
    const old = await make()
    const place = make === founder ? 'auth/login/manager' : 'auth/login'
    const before = await findUser(old.userId)
    const invited = await invite(old.email)
    assert.deepEqual([invited.status, invited.data?.invited], [200, true], invited.text)
    const token = await invitedToken(old.email)
    assert.deepEqual(await findUser(old.userId), before)
    assert.equal((await old.client.get('users/me')).status, 200, 'its session goes on')
    assert.equal((await passwordLogin(old.email, PASSWORD, place)).status, 200)
    const found = await boss.get<{ users: { _id: string }[] }>(`users?search=${encodeURIComponent(old.email)}`)
    assert.deepEqual(
      found.data.users.map(({ _id }) => _id),
      [invited.data._id],
      'the list of the inviting company',
    )
    assert.match((await waitForMail(service.baseUrl, old.email, /invites you/)).text, /that account ends/)

    assert.equal((await accept(token)).status, 200)
    assert.equal((await old.client.get('users/me')).status, 401)
    assert.equal((await passwordLogin(old.email, PASSWORD, place)).error?.code, 'INVALID_CREDENTIALS')
    assert.equal((await passwordLogin(old.email, OTHER_PASSWORD)).status, 200)
    const ended = await findUser(old.userId)
    assert.deepEqual([ended.disabled, ended.passwordHash], [true, '!'])
    assert.equal((await findUser(invited.data._id)).emailKey, emailKeyOf(old.email))
    const used = await boss.get<{ invited: boolean; valid: boolean; role: string }>(`users/${invited.data._id}`)
    assert.deepEqual([used.data.invited, used.data.valid, used.data.role], [false, true, 'Cashier'])
    assert.equal((await accept(token)).error?.code, 'INVALID_RESET_TOKEN', 'the link works once')
    type Log = { entries: { action: string; actor: string }[] }
    const path = `audit-log?object=user:${old.userId}&action=user.replace`
    const [entry] = (await admin.get<Log>(path)).data.entries
    assert.equal(entry?.actor, `user:${invited.data._id}`)
    assert.deepEqual((await boss.get<Log>(path)).data.entries, [], 'the inviting company learns nothing of it')
  })

test('of a replaced account no session, authenticator, recovery code, passkey, PIN, API key or mailed link is left', async () => {
  const old = await confirmedVisitor()
  const keyId = await equip(old)
  await new Client(service.baseUrl).post('auth/reset-password/send', { email: old.email })
  const reset = /reset-password\?token=(\S+)/.exec(
    (await waitForMail(service.baseUrl, old.email, /reset-password\?token/)).text,
  )?.[1]
  const { _id: id } = (await invite(old.email)).data
  assert.equal((await accept(await invitedToken(old.email))).status, 200)
  const left = await service.db.one(sql`
    select (select count(*)::int from sessions where user_id = ${old.userId} and revoked_at is null) as sessions,
      (select totp_sealed is not null or totp_enabled_at is not null from users where id = ${old.userId}) as app,
      (select count(*)::int from recovery_codes where user_id = ${old.userId}) as codes,
      (select count(*)::int from passkeys where user_id = ${old.userId}) as passkeys,
      (select count(*)::int from till_pins where user_id in (${old.userId}, ${id})) as pins,
      (select revoked_at is null from api_keys where id = ${keyId}) as works`)
  assert.deepEqual(left, { sessions: 0, app: false, codes: 0, passkeys: 0, pins: 0, works: false })
  const late = await new Client(service.baseUrl).post('auth/reset-password/change', {
    token: reset,
    newPassword: `${OTHER_PASSWORD}-2`,
  })
  assert.equal(late.error?.code, 'INVALID_RESET_TOKEN')
  const login = await new Client(service.baseUrl).post<{ user: { authenticatorEnabled: boolean } }>(
    'auth/login/manager',
    { email: old.email, password: OTHER_PASSWORD, origin: 'dashboard' },
  )
  assert.equal(login.data.user.authenticatorEnabled, false)
  assert.equal((await passwordLogin(old.email, PASSWORD, 'auth/login')).error?.code, 'INVALID_CREDENTIALS')
})

/** An order of the company, as an operator makes one there. */
const sell = async (companyId: string | null): Promise<void> => {
  await approve(companyId)
  const order = { amount: '5', fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }
  const { status, text } = await admin.post(`confirm_conversion/request?companyId=${companyId}`, order)
  assert.equal(status, 200, text)
}

test('an account that is someone’s stays, and an invitation to its address gets one answer, whatever it is', async () => {
  const cases: Record<string, () => Promise<string>> = {
    'a confirmed founder': async () => {
      const { userId, email } = await founder()
      await verify(userId)
      return email
    },
    'the founder of a company with an order': async () => {
      const { email, companyId } = await founder()
      await sell(companyId)
      return email
    },
    'the founder of a company where someone else could log in': async () => {
      const { email, companyId } = await founder()
      const other = await founder()
      await verify(other.userId)
      await service.db.run(sql`update users set company_id = ${companyId} where id = ${other.userId}`)
      await approve(companyId)
      return email
    },
    'a disabled visitor': async () => {
      const { userId, email } = await confirmedVisitor()
      await service.db.run(sql`update users set disabled_at = now() where id = ${userId}`)
      return email
    },
    'whom another company has invited': async () => {
      const email = newEmail('invited')
      assert.equal((await invite(email, rival)).status, 200)
      return email
    },
    'whom the operator has invited': async () => {
      const email = newEmail('invited')
      assert.equal((await invite(email, admin, 'SuperManager')).status, 200)
      return email
    },
    'a colleague': async () => (await boss.get<{ email: string }>('users/me')).data.email,
  }
  const answers = new Map<string, string>()
  for (const [name, make] of Object.entries(cases)) {
    const { status, error } = await invite(await make())
    assert.deepEqual([name, status, error?.code], [name, 400, 'EMAIL_ALREADY_REGISTERED'])
    answers.set(name, error.message)
  }
  assert.equal(new Set(answers.values()).size, 1)
})

test('a stranger makes no founder’s address unfree with an applicant or an invented colleague', async () => {
  const { email, companyId } = await founder()
  const applicant = await register(service.baseUrl, { role: 'Cashier', companyName: companyId })
  await verify(applicant.userId)
  assert.equal((await invite(email)).status, 200)
  assert.equal((await accept(await invitedToken(email))).status, 200)
})

/** Applies to the shop of this manager. */
async function applicant(by: Client, role = 'Cashier'): Promise<Person> {
  const { data } = await by.get<{ company: { _id: string } }>('users/me')
  return register(service.baseUrl, { role, companyName: data.company._id })
}

test('whoever applies to a working shop in another’s name keeps no one from being invited, confirmed or not, also by that shop', async () => {
  const [waiting, confirmed, own] = [await applicant(rival), await applicant(rival, 'Observer'), await applicant(boss)]
  await verify(confirmed.userId)
  for (const old of [waiting, confirmed, own]) {
    assert.equal((await invite(old.email)).status, 200)
    assert.equal((await old.client.get('users/me')).status, 200)
    assert.equal((await accept(await invitedToken(old.email))).status, 200)
    assert.equal((await old.client.get('users/me')).status, 401)
    assert.equal((await passwordLogin(old.email, PASSWORD)).error?.code, 'INVALID_CREDENTIALS')
    assert.equal((await passwordLogin(old.email, OTHER_PASSWORD)).status, 200)
  }
})

test('an applicant who is let in before the link of another shop’s invitation is used stays, and so does a disabled one', async () => {
  const [kept, disabled] = [await applicant(rival), await applicant(rival)]
  await verify(kept.userId)
  assert.equal((await invite(kept.email)).status, 200)
  assert.equal((await rival.post(`users/${kept.userId}/approve`)).status, 200)
  assert.equal((await accept(await invitedToken(kept.email))).error?.code, 'EMAIL_ALREADY_REGISTERED')
  assert.equal((await kept.client.get<{ valid: boolean }>('users/me')).data.valid, true)
  assert.equal((await rival.call('PUT', `users/${disabled.userId}`, { disabled: true })).status, 200)
  assert.equal((await invite(disabled.email)).error?.code, 'EMAIL_ALREADY_REGISTERED')
})

test('a replaced account stays as it is: nobody enables, approves or promotes it, and no list shows it', async () => {
  const old = await applicant(rival)
  assert.equal((await invite(old.email)).status, 200)
  assert.equal((await accept(await invitedToken(old.email))).status, 200)
  const before = await findUser(old.userId)
  for (const by of [rival, admin])
    for (const act of [
      () => by.call('PUT', `users/${old.userId}`, { disabled: false }),
      () => by.call('PUT', `users/${old.userId}`, { role: 'Manager' }),
      () => by.post(`users/${old.userId}/approve`),
      ...(by === admin ? [() => by.post(`users/${old.userId}/reset-2fa`)] : []),
    ]) {
      const { status, error } = await act()
      assert.deepEqual([status, error?.code], [409, 'OBJECT_CONFLICT'], `${act}`)
      assert.match(error?.message ?? '', /an invitation took its address/)
    }
  assert.deepEqual(await findUser(old.userId), before)
  const list = async (by: Client) =>
    (await by.get<{ users: { _id: string }[] }>(`users?search=Beispiel&limit=100`)).data.users.map(({ _id }) => _id)
  for (const by of [rival, admin]) assert.ok(!(await list(by)).includes(old.userId))
  assert.equal((await rival.get<{ disabled: boolean }>(`users/${old.userId}`)).data.disabled, true, 'for the log')
})

test('an account that an earlier version let its shop enable after it was replaced is disabled again, and no other', async () => {
  const [old, same] = [await applicant(rival), await applicant(rival)]
  assert.equal((await invite(old.email)).status, 200)
  assert.equal((await accept(await invitedToken(old.email))).status, 200)
  const ids = [old.userId, same.userId]
  await service.db.run(sql`update users set disabled_at = null, role = 'Manager' where id = any(${ids})`)
  const migration = new URL('../migrations/1980_replaced_accounts.sql', import.meta.url)
  await service.db.pool.query(await readFile(migration, 'utf8'))
  assert.deepEqual([(await findUser(old.userId)).disabled, (await findUser(same.userId)).disabled], [true, false])
})

test('what managers are mailed does not follow a replaced account that an earlier version enables beside this one', async () => {
  const { email, companyId, userId } = await founder()
  await verify(userId)
  const old = await register(service.baseUrl, { role: 'Cashier', companyName: companyId })
  await verify(old.userId)
  assert.equal((await invite(old.email)).status, 200)
  assert.equal((await accept(await invitedToken(old.email))).status, 200)
  await service.db.run(sql`update users set disabled_at = null, role = 'Manager' where id = ${old.userId}`)
  assert.equal((await admin.post(`companies/${companyId}/approve`)).status, 200)
  await register(service.baseUrl, { role: 'Cashier', companyName: companyId })
  await waitForMail(service.baseUrl, email, /was approved/)
  await waitForMail(service.baseUrl, email, /asks to join/, 2)
  const told = (await readMails(service.baseUrl, old.email)).map(({ subject }) => subject)
  assert.deepEqual(
    told.filter((subject) => /was approved|asks to join/.test(subject)),
    [],
  )
  const daily = await listManagers(service.db, [companyId ?? ''])
  assert.deepEqual(
    daily.map((manager) => manager.email),
    [email],
  )
})

test('who makes a company that the operator never approved keeps no address with colleagues there', async () => {
  const [own, { email, userId }] = [await founder(), await founder()]
  await verify(own.userId)
  await service.db.run(sql`update users set company_id = ${own.companyId} where id = ${userId}`)
  assert.equal((await invite(email)).status, 200)
  assert.equal((await accept(await invitedToken(email))).status, 200)
})

test('an account that became someone’s between the invitation and its link stays; a revoked invitation opens nothing', async () => {
  const [confirmed, sold, kept] = [await founder(), await founder(), await visitor()]
  const { _id: revoked } = (await invite(kept.email)).data
  for (const { email } of [confirmed, sold]) assert.equal((await invite(email)).status, 200)
  const mail = await waitForMail(service.baseUrl, confirmed.email, /Confirm your e-?mail/)
  const token = /verify-email\?token=(\S+)/.exec(mail.text)?.[1]
  assert.equal((await new Client(service.baseUrl).post('auth/verify-email', { token })).status, 200)
  await sell(sold.companyId)
  assert.equal((await boss.call('PUT', `users/${revoked}`, { disabled: true })).status, 200)
  for (const [{ email, userId }, code] of [
    [confirmed, 'EMAIL_ALREADY_REGISTERED'],
    [sold, 'EMAIL_ALREADY_REGISTERED'],
    [kept, 'INVALID_RESET_TOKEN'],
  ] as const) {
    const link = await invitedToken(email)
    assert.deepEqual([email, (await accept(link)).error?.code], [email, code])
    const { disabled, emailKey } = await findUser(userId)
    assert.deepEqual([disabled, emailKey], [false, emailKeyOf(email)])
    const form = new URLSearchParams({ token: link, newPassword: OTHER_PASSWORD })
    const page = await fetch(`${service.baseUrl}/account/reset-password`, { method: 'POST', body: form })
    const words = code === 'EMAIL_ALREADY_REGISTERED' ? /an account that the invitation cannot replace/ : /has expired/
    assert.match(await page.text(), words)
  }
  assert.equal((await passwordLogin(confirmed.email, PASSWORD)).status, 200)
  assert.equal((await invite(confirmed.email)).error?.code, 'EMAIL_ALREADY_REGISTERED', 'nor is it invited again')
})

test('one company invites over an account once: a second invitation sends another link, also two at the same moment', async () => {
  const [one, two] = [await visitor(), await visitor()]
  const first = await invite(one.email)
  const again = await invite(one.email)
  assert.equal(again.data._id, first.data._id)
  assert.equal((await accept(await invitedToken(one.email, 2))).status, 200)
  const answers = await Promise.all([invite(two.email), invite(two.email)])
  for (const { status, error } of answers)
    assert.ok(status === 200 || error.code === 'EMAIL_ALREADY_REGISTERED', JSON.stringify(error))
  const { count } = await service.db.one<{ count: number }>(
    sql`select count(*)::int as count from users where claimed_email_key = ${emailKeyOf(two.email)}`,
  )
  assert.equal(count, 1)
})

/** Does both while the row of this account is locked, so that they wait for each other. */
async function meet<Result>(userId: string, acts: readonly (() => Promise<Result>)[]): Promise<Result[]> {
  const started: Promise<Result>[] = []
  await service.db.tx(async (tx) => {
    await tx.run(sql`select 1 from users where id = ${userId} for update`)
    for (const act of acts) {
      started.push(act())
      await eventually(
        () =>
          tx.many(sql`
            with recursive waiting as (
              select pid from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))
              union select l.pid from pg_locks l join waiting w on w.pid = any(pg_blocking_pids(l.pid)) where not l.granted)
            select pid from waiting`),
        (waiting) => waiting.length === started.length,
      )
    }
  })
  return Promise.all(started)
}

test('of two companies that invite the same address the one whose link is used first gets it, also at the same moment', async () => {
  const [late, same] = [await confirmedVisitor(), await founder()]
  for (const { email } of [late, same])
    for (const by of [boss, rival]) {
      const { status, text } = await invite(email, by)
      assert.equal(status, 200, text)
      await invitedToken(email, by === boss ? 1 : 2)
    }
  const tokensOf = async (email: string): Promise<string[]> => {
    const mails = await waitForBoth(email)
    return mails.map((text) => /invitation\?token=(\S+)/.exec(text)?.[1] ?? '')
  }
  const [first = '', second = ''] = await tokensOf(late.email)
  assert.equal((await accept(first)).status, 200)
  assert.equal((await accept(second)).error?.code, 'EMAIL_ALREADY_REGISTERED')
  const tokens = await tokensOf(same.email)
  const answers = await meet(
    same.userId,
    tokens.map((token) => () => accept(token)),
  )
  assert.deepEqual(countStatuses(answers), { 200: 1, 400: 1 })
  assert.equal(answers.find(({ status }) => status === 400)?.error.code, 'EMAIL_ALREADY_REGISTERED')
  const holders = await service.db.many<{ verified: boolean }>(sql`
    select verified_at is not null as verified from users where email_key = ${emailKeyOf(same.email)}`)
  assert.deepEqual(holders, [{ verified: true }])
})

async function waitForBoth(email: string): Promise<string[]> {
  await invitedToken(email, 2)
  const answer = await fetch(`${service.baseUrl}/mailbox?to=${encodeURIComponent(email)}`, {
    headers: { accept: 'application/json' },
  })
  const mails = (await answer.json()) as { text: string }[]
  return mails.flatMap(({ text }) => (text.includes('/invitation?token=') ? [text] : []))
}

test('the link of an invitation used twice at the same moment works once', async () => {
  const { email, userId } = await visitor()
  assert.equal((await invite(email)).status, 200)
  const token = await invitedToken(email)
  const answers = await meet(userId, [() => accept(token), () => accept(token)])
  assert.deepEqual(countStatuses(answers), { 200: 1, 400: 1 })
  assert.equal(answers.find(({ status }) => status === 400)?.error.code, 'INVALID_RESET_TOKEN')
})

test('an account that is confirmed at the moment at which it is replaced is not confirmed any more', async () => {
  const { email, userId } = await visitor()
  const mail = await waitForMail(service.baseUrl, email, /Confirm your e-?mail/)
  const token = /verify-email\?token=(\S+)/.exec(mail.text)?.[1]
  assert.equal((await invite(email)).status, 200)
  const link = await invitedToken(email)
  const [accepted, confirmed] = await meet(userId, [
    () => accept(link),
    () => new Client(service.baseUrl).post('auth/verify-email', { token }),
  ])
  assert.deepEqual([accepted?.status, confirmed?.error?.code], [200, 'INVALID_RESET_TOKEN'])
  const { verified, disabled } = await findUser(userId)
  assert.deepEqual([verified, disabled], [false, true])
})

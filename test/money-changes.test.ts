import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import {
  Client,
  type KeptMail,
  logIn,
  logInSuperAdmin,
  newEmail,
  PASSWORD,
  type Person,
  readMails,
  registerManager,
  waitForMail,
} from './harness/accounts.ts'
import { createPaid, newAddress, payoutEnv } from './harness/refunds.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'
import { openShop } from './harness/shop.ts'

const OPERATOR = 'operator@comptoir.example'
const [FIRST, SECOND] = ['0x52908400098527886E0F7030069857D2E4169EE7', '0x8617E340B3D01FA5F11F306F4090FD50E238070D']

let service: TestService
let admin: Client

before(async () => {
  service = await startTestService({ workers: true, env: { OPERATOR_EMAIL: OPERATOR } })
  admin = await logInSuperAdmin(service)
})
after(() => service.stop())

type Company = { manager: Person; boss: Client; companyId: string }

async function openCompany(): Promise<Company> {
  const manager = await registerManager(service.baseUrl)
  await service.db.run(sql`update users set verified_at = now() where id = ${manager.userId}`)
  return { manager, boss: await logIn(service.baseUrl, manager.email), companyId: manager.companyId ?? '' }
}

/** Someone who used the invitation. */
async function addManager({ boss }: Company, lang = 'en'): Promise<{ email: string; id: string }> {
  const email = newEmail('second')
  const person = { email, firstName: 'Bea', lastName: 'Zweit', role: 'Manager', lang }
  const { data, text } = await boss.post<{ _id: string }>('users', person)
  assert.ok(data?._id, text)
  await service.db.run(sql`update users set verified_at = now() where id = ${data._id}`)
  return { email, id: data._id }
}

const waitFor = (to: string, words: RegExp, count = 1) => waitForMail(service.baseUrl, to, words, count)
const mailsTo = async (to: string, words: RegExp): Promise<KeptMail[]> =>
  (await readMails(service.baseUrl, to)).filter(({ subject }) => words.test(subject))
const isSent = async (): Promise<boolean> => {
  const { waiting } = await service.db.one<{ waiting: number }>(
    sql`select count(*)::int as waiting from jobs where kind = 'mail'`,
  )
  return waiting === 0
}
/** Every mail that was asked for has arrived. */
async function settle(): Promise<void> {
  while (!(await isSent())) await new Promise((done) => setTimeout(done, 50))
}

test('a changed payout address is mailed to every manager and to the operator: both addresses, who, from where', async () => {
  const shop = await openCompany()
  const { boss, manager, companyId } = shop
  const colleague = await addManager(shop, 'de')
  const path = `companies/${companyId}`
  await boss.call('PUT', path, { settlementAddress: FIRST, settlementNetwork: 8453 })
  await waitFor(colleague.email, /Auszahlungsadresse/)
  const change = await boss.call('PUT', path, { settlementAddress: SECOND })
  assert.equal(change.status, 200, change.text)
  const [own, german, operators] = [
    await waitFor(manager.email, /payout address of .* was changed/, 2),
    await waitFor(colleague.email, /Die Auszahlungsadresse von .* wurde geändert/, 2),
    await waitFor(OPERATOR, /payout address of .* was changed/, 2),
  ]
  for (const { text } of [own, german, operators]) {
    assert.match(text, new RegExp(`${FIRST} \\(Base\\).*${SECOND} \\(Base\\)`))
    assert.match(text, /Ada Beispiel \((Manager|Leitung)\).*\d{4}-\d\d-\d\d \d\d:\d\d UTC.*127\.0\.0\.1/)
  }
  assert.match(own.text, /If none of you meant this: undo it.*Open the audit log\nhttp\S+\/audit$/ms)
  assert.match(german.text, /Geändert von Ada Beispiel \(Leitung\)[\s\S]*Wollte das niemand von Ihnen/)
  assert.match(operators.text, /by a way that you know already/)
  assert.match(operators.text, new RegExp(`/audit\\?company=${companyId}`))
  const log = await boss.get<{ entries: { action: string; detail: Record<string, unknown> }[] }>('audit-log')
  const { detail } = log.data.entries.find(({ action }) => action === 'company.change') ?? {}
  assert.deepEqual([detail?.addressBefore, detail?.settlementAddress], [FIRST, SECOND])

  await boss.call('PUT', path, { settlementAddress: SECOND, settlementNetwork: 8453, displayName: 'Shop' })
  assert.equal((await boss.call('PUT', path, { settlementAddress: '0x12' })).status, 422)
  await boss.call('PUT', path, { settlementNetwork: 137 })
  const other = await waitFor(manager.email, /payout address of .* was changed/, 3)
  assert.match(other.text, new RegExp(`${SECOND} \\(Base\\).*${SECOND} \\(Polygon\\)`))
  await settle()
  assert.equal((await mailsTo(manager.email, /payout address/)).length, 3, 'none for what changed nothing')
})

test('payouts go to another network after a fresh second factor only', async () => {
  const { boss, manager, companyId } = await openCompany()
  const path = `companies/${companyId}`
  assert.equal((await boss.call('PUT', path, { settlementAddress: FIRST, settlementNetwork: 8453 })).status, 200)
  await service.db.run(sql`update sessions set second_factor_at = null where user_id = ${manager.userId}`)
  assert.equal((await boss.call('PUT', path, { settlementNetwork: 137 })).error.code, 'STEP_UP_REQUIRED')
  assert.equal((await boss.call('PUT', path, { settlementNetwork: 8453, displayName: 'Shop' })).status, 200)
})

test('ten such mails within an hour, and the last one says that the next changes are not mailed', async () => {
  const { boss, manager, companyId } = await openCompany()
  for (let time = 0; time < 13; time += 1) {
    const settlementAddress = time % 2 === 0 ? FIRST : SECOND
    assert.equal((await boss.call('PUT', `companies/${companyId}`, { settlementAddress })).status, 200)
  }
  await waitFor(manager.email, /payout address/, 10)
  await settle()
  const mails = await mailsTo(manager.email, /payout address/)
  assert.equal(mails.length, 10)
  assert.equal(mails.filter(({ text }) => /many times within an hour/.test(text)).length, 1)
  // changes of another kind have their own ten
  assert.equal((await boss.post('api-keys', { name: 'refunds', scopes: ['refunds:write'] })).status, 200)
  await waitFor(manager.email, /API key of .* can move money/)
})

test('who changes one account again and again mutes the mails about that one alone, up to fifty of a company', async () => {
  const shop = await openCompany()
  const { manager, companyId } = shop
  const sue = { email: newEmail('super'), firstName: 'Sue', lastName: 'Super', role: 'SuperManager' }
  const path = `users/${(await admin.post<{ _id: string }>('users', sue)).data._id}`
  assert.equal((await admin.call('PUT', `${path}/companies`, { companies: [companyId] })).status, 200)
  for (let time = 0; time < 12; time += 1)
    assert.equal((await admin.call('PUT', path, { disabled: time % 2 === 0 })).status, 200)
  await addManager(shop)
  await settle()
  const access = async () => {
    const mails = (await mailsTo(manager.email, /./)).map(({ text }) => text)
    return [/Sue Super/, /Bea Zweit/].map((name) => mails.filter((text) => name.test(text)).length)
  }
  // the first one is of the attachment, which is of another kind
  assert.deepEqual(await access(), [1 + 10, 1])
  const kind = `alarm:money-change:access:${companyId}`
  await service.db.run(sql`
    insert into notices_sent (key, sent_at)
    select ${kind} || to_char(now() at time zone 'utc', ':YYYY-MM-DD"T"HH24:MI:SS.MS"Z:"') || n, now()
    from generate_series(1, 39) as n`)
  await addManager(shop)
  await settle()
  assert.deepEqual(await access(), [1 + 10, 1], 'fifty in all')
})

test('so is every other change to where money goes, or to what protects it', async () => {
  const shop = await openCompany()
  const { boss, manager, companyId } = shop
  const { email } = manager
  const colleague = await addManager(shop)
  await waitFor(email, /Access to .* was changed/)

  await boss.post('api-keys', { name: 'reader', scopes: ['orders:read', 'orders:write'] })
  await boss.post('api-keys', { name: 'backend', scopes: ['orders:write', 'refunds:write'] })
  assert.match((await waitFor(email, /API key of .* can move money/)).text, /“backend”.*orders:write, refunds:write/)
  assert.equal((await boss.post('/api/users/webhook-secret/regenerate')).status, 200)
  await waitFor(email, /webhook secret of .* was replaced/)
  assert.equal((await admin.call('PUT', `companies/${companyId}`, { refundApproval: true })).status, 200)
  await waitFor(email, /rules for refunds of .* were changed/)
  await waitFor(OPERATOR, /rules for refunds of .* were changed/)
  assert.equal((await admin.call('PUT', `companies/${companyId}`, { refundStepUpLimit: '5000' })).status, 200)
  await waitFor(email, /rules for refunds of .* were changed/, 2)

  assert.equal((await admin.post(`users/${colleague.id}/reset-2fa`)).status, 200)
  await waitFor(email, /second factor of Bea Zweit/)
  const before = (await mailsTo(colleague.email, /Access to/)).length
  assert.equal((await boss.call('PUT', `users/${colleague.id}`, { disabled: true })).status, 200)
  await waitFor(colleague.email, /Access to .* was changed/, before + 1)
  assert.match((await waitFor(email, /can no longer log in/)).text, /Bea Zweit \(second-.*@shop\.example\)/)

  const { data } = await admin.post<{ _id: string }>('users', {
    ...{ email: newEmail('super'), firstName: 'Sue', lastName: 'Super', role: 'SuperManager' },
  })
  const attach = { companies: [companyId] }
  assert.equal((await admin.call('PUT', `users/${data._id}/companies`, attach)).status, 200)
  await waitFor(email, /Sue Super .* can now act for/)
  assert.equal((await admin.call('PUT', `users/${data._id}/companies`, attach)).status, 200)

  const cashier = { email: newEmail('till'), firstName: 'Till', lastName: 'Kasse', role: 'Cashier' }
  assert.equal((await boss.post('users', cashier)).status, 200)
  await settle()
  assert.equal((await mailsTo(email, /can now act for/)).length, 1, 'it had access already')
  assert.equal((await mailsTo(email, /API key/)).length, 1, 'a key that only reads and sells moves no money')
  assert.equal((await readMails(service.baseUrl, email)).filter(({ text }) => /Till Kasse/.test(text)).length, 0)
})

test('what happens to the account of a SuperManager is mailed to the managers of all its companies', async () => {
  const [one, two, other] = [await openCompany(), await openCompany(), await openCompany()]
  const sue = { email: newEmail('super'), firstName: 'Sue', lastName: 'Super', role: 'SuperManager' }
  const path = `users/${(await admin.post<{ _id: string }>('users', sue)).data._id}`
  const companies = [one.companyId, two.companyId]
  assert.equal((await admin.call('PUT', `${path}/companies`, { companies })).status, 200)
  const tell = async (words: RegExp, change: () => Promise<{ status: number; text: string }>): Promise<void> => {
    const answer = await change()
    assert.equal(answer.status, 200, answer.text)
    await settle()
    for (const { manager } of [one, two]) {
      const texts = (await readMails(service.baseUrl, manager.email)).map(({ text }) => text)
      assert.equal(texts.filter((text) => words.test(text)).length, 1, `${words}: ${texts.join('\n\n')}`)
    }
  }
  await tell(/Sue Super .* can no longer log in/, () => admin.call('PUT', path, { disabled: true }))
  await tell(/Sue Super .* has access with the role “Manager of several companies”/, () =>
    admin.call('PUT', path, { disabled: false }),
  )
  await tell(/Sue Super .* no longer needs an authenticator/, () => admin.post(`${path}/reset-2fa`))
  // the companies go with the role
  await tell(/Sue Super .* has access with the role “Operator”/, () => admin.call('PUT', path, { role: 'SuperAdmin' }))
  const { detail } = await service.db.one<{ detail: string }>(
    sql`select detail from audit_log where action = 'user.change' order by seq desc limit 1`,
  )
  assert.deepEqual(JSON.parse(detail).lostCompanies, companies.sort())
  assert.equal((await mailsTo(other.manager.email, /Sue|Access/)).length, 0)
})

test('a Service account that joins a company is mailed to its managers and to the operator, not to the machine', async () => {
  const { manager, companyId } = await openCompany()
  const email = newEmail('machine')
  const machine = { email, password: PASSWORD, firstName: 'Machine', lastName: 'Eins', role: 'Service' }
  const made = await admin.post('auth/register', { ...machine, companyName: companyId })
  assert.equal(made.status, 200, made.text)
  const [own, operators] = [await waitFor(manager.email, /Access to/), await waitFor(OPERATOR, /Access to/)]
  for (const { text } of [own, operators]) assert.match(text, /Machine Eins .* has access with the role “Machine”/)
  await settle()
  assert.equal((await readMails(service.baseUrl, email)).length, 0)
})

test('the person whose access changed does not learn from where, and one who was only invited gets the invitation alone', async () => {
  const shop = await openCompany()
  const email = newEmail('stranger')
  const invited = { email, firstName: 'Bea', lastName: 'Fremd', role: 'Manager' }
  assert.equal((await shop.boss.post('users', invited)).status, 200)
  assert.match((await waitFor(shop.manager.email, /Access to/)).text, /Bea Fremd.*from the address 127\.0\.0\.1/s)
  await settle()
  const mails = await readMails(service.baseUrl, email)
  assert.equal(mails.length, 1, 'the invitation')

  const colleague = await addManager(shop)
  assert.equal((await shop.boss.call('PUT', `users/${colleague.id}`, { disabled: true })).status, 200)
  assert.doesNotMatch((await waitFor(colleague.email, /Access to/)).text, /from the address/)
})

test('who invites a Manager again with another role needs a fresh second factor, and the managers get a mail about it', async () => {
  const shop = await openCompany()
  const email = newEmail('invited')
  const invite = (by: Client, role: string) =>
    by.post<{ _id: string; role: string }>('users', { email, firstName: 'Bea', lastName: 'Fremd', role })
  const { _id: id } = (await invite(shop.boss, 'Manager')).data
  await waitFor(shop.manager.email, /Access to/)
  const late = await logIn(service.baseUrl, shop.manager.email)
  await service.db.run(sql`
    update sessions set second_factor_at = null where id = (select max(id) from sessions where user_id = ${shop.manager.userId})`)
  assert.equal((await invite(late, 'Cashier')).error?.code, 'STEP_UP_REQUIRED')
  assert.equal((await shop.boss.get<{ role: string }>(`users/${id}`)).data.role, 'Manager')
  assert.equal((await invite(shop.boss, 'Cashier')).data.role, 'Cashier')
  const { text } = await waitFor(shop.manager.email, /Access to/, 2)
  assert.match(text, /Bea Fremd.*has access with the role “Cashier”/s)
  const { detail } = await service.db.one<{ detail: string }>(sql`
    select detail from audit_log where action = 'user.invite' and object = ${`user:${id}`} order by seq desc limit 1`)
  assert.deepEqual(JSON.parse(detail), { role: 'Cashier', roleBefore: 'Manager' })
  assert.equal((await invite(late, 'Observer')).status, 200, 'neither decides about money')
})

test('the mail about a key of a command line names who confirmed it, as the audit log does', async () => {
  const shop = await openCompany()
  const colleague = await addManager(shop)
  const scopes = ['refunds:write']
  const program = new Client(service.baseUrl)
  type Started = { deviceCode: string; userCode: string }
  const { deviceCode, userCode } = (await program.post<Started>('auth/device', { clientName: 'laptop', scopes })).data
  assert.equal((await shop.boss.post(`auth/device/${userCode}/approve`, { scopes, days: 7 })).status, 200)
  assert.equal((await program.post('auth/device/token', { deviceCode })).status, 200)
  assert.match((await waitFor(colleague.email, /API key/)).text, /“laptop”.*Done by Ada Beispiel \(Manager\)/s)
})

test('the name of an API key carries no link into a mail', async () => {
  const { boss, manager } = await openCompany()
  const scopes = ['refunds:write']
  const link = 'Your account is locked: https://evil.example/unlock'
  assert.equal((await boss.post('api-keys', { name: link, scopes })).status, 422)
  const name = 'Look at evil.example/unlock'
  assert.equal((await boss.post('api-keys', { name, scopes })).status, 200)
  assert.match((await waitFor(manager.email, /API key/)).text, /“Look at evil\. example\/unlock”/)
})

test('nor do the names of companies and people', async () => {
  const { boss, manager, companyId } = await openCompany()
  const names = { name: 'Comptoir, confirm at evil.example/ok' }
  assert.equal((await boss.call('PUT', `companies/${companyId}`, names)).status, 200)
  const self = { firstName: 'Open', lastName: 'evil.example/me' }
  assert.equal((await boss.call('PUT', 'users/me', self)).status, 200)
  const change = { settlementAddress: FIRST, settlementNetwork: 8453 }
  assert.equal((await boss.call('PUT', `companies/${companyId}`, change)).status, 200)
  for (const to of [manager.email, OPERATOR]) {
    const { subject, text } = await waitFor(to, /payout address of Comptoir, confirm/)
    assert.doesNotMatch(subject + text, /evil\.example/)
    assert.match(
      text,
      /Payouts to Comptoir, confirm at evil\. example\/ok go .*Done by Open evil\. example\/me \(Manager\)/s,
    )
  }
  const colleague = await addManager({ boss, manager, companyId })
  assert.equal((await boss.call('PUT', `users/${colleague.id}`, self)).status, 200)
  assert.equal((await boss.call('PUT', `users/${colleague.id}`, { disabled: true })).status, 200)
  assert.match(
    (await waitFor(manager.email, /Access to/, 2)).text,
    /Open evil\. example\/me \(second-\S+\) can no longer/,
  )
})

test('whoever gets many companies at once gets one mail, which names some of them', async () => {
  const { companyId } = await openCompany()
  const ids = Array.from({ length: 40 }, (_, index) => newId(Date.now() + index))
  await service.db.run(sql`
    insert into companies select (jsonb_populate_record(c, jsonb_build_object('id', n.id, 'name', 'Many ' || n.id))).*
    from companies c, unnest(${ids}::text[]) as n(id) where c.id = ${companyId}`)
  const email = newEmail('super')
  const sue = { email, firstName: 'Sue', lastName: 'Many', role: 'SuperManager' }
  const { data } = await admin.post<{ _id: string }>('users', sue)
  await service.db.run(sql`update users set verified_at = now() where id = ${data._id}`)
  const attached = await admin.call('PUT', `users/${data._id}/companies`, { companies: ids })
  assert.equal(attached.status, 200, attached.text)
  const words = /^Sue Many \(\S+\) can now act for Many \w+, Many \w+ and 38 more$/
  await waitFor(email, words)
  await waitFor(OPERATOR, words)
  await settle()
  assert.equal((await mailsTo(email, /can now act for/)).length, 1)
})

type Payout = {
  _id: string
  status: string
  address: string
  createdAt: string
  addressChange: { at: string | null; by: string | null; lastTo: string | null; lastNetwork: number | null } | null
}

test('before a payout to another address than the last, the approver sees who wrote it, when, and where the last went', async () => {
  const shop = await openShop({ env: payoutEnv })
  const { companyId } = shop.merchant
  const operator = await logInSuperAdmin(shop.host)
  const write = async (settlementAddress: string): Promise<void> => {
    const answer = await operator.call('PUT', `companies/${companyId}`, { settlementAddress, settlementNetwork: 31337 })
    assert.equal(answer.status, 200, answer.text)
  }
  const read = async ({ _id }: Pick<Payout, '_id'>) => (await operator.get<Payout>(`settlements/${_id}`)).data
  const prepare = async (): Promise<Payout> => {
    await createPaid(shop)
    const { data, text } = await operator.post<Payout>('settlements', { companyId })
    assert.ok(data, text)
    assert.deepEqual(data, await read(data))
    return data
  }
  const payOut = async (made: Payout): Promise<Payout> => {
    await operator.post(`settlements/${made._id}/approve`)
    const isPaid = async (): Promise<Payout> => {
      await shop.chain.mine()
      return read(made)
    }
    return eventually(isPaid, ({ status }) => status === 'paid')
  }
  const [home, other] = [newAddress(), newAddress()]
  await write(home)
  const first = await prepare()
  assert.deepEqual([first.addressChange?.by, first.addressChange?.lastTo], ['Otto Op', null], 'the first payout')
  assert.equal((await payOut(first)).addressChange, null, 'it is over')
  const second = await prepare()
  assert.equal(second.addressChange, null, 'it goes where the last one went')
  const startedMs = Date.now()
  await write(other)
  await payOut(second)
  const third = await prepare()
  await write(home)
  const { addressChange } = await read(third)
  assert.deepEqual([addressChange?.by, addressChange?.lastTo, addressChange?.lastNetwork], ['Otto Op', home, 31337])
  const atMs = Date.parse(addressChange?.at ?? '')
  assert.ok(atMs >= startedMs && atMs <= Date.parse(third.createdAt), 'as it was when the payout was made')
  await operator.post(`settlements/${third._id}/cancel`)
  assert.equal((await prepare()).addressChange, null, 'the address was put back')
  await shop.stop()
})

test('who changes the network, or the spelling, is not named as who wrote the address', async (t) => {
  const shop = await openShop({ env: payoutEnv })
  t.after(() => shop.stop())
  const { baseUrl, db } = shop.host
  const { companyId } = shop.merchant
  const operator = await logInSuperAdmin(shop.host)
  const eve = await registerManager(baseUrl)
  await db.run(sql`
    update users set verified_at = now(), company_id = ${companyId}, first_name = 'Eve', last_name = 'Thief'
    where id = ${eve.userId}`)
  const put = async (by: Client, body: object): Promise<void> => {
    const answer = await by.call('PUT', `companies/${companyId}`, body)
    assert.equal(answer.status, 200, answer.text)
  }
  const settlementAddress = newAddress()
  await put(await logIn(baseUrl, eve.email), { settlementAddress, settlementNetwork: 8453 })
  await put(operator, { settlementNetwork: 31337 })
  await put(operator, { settlementAddress: settlementAddress.toLowerCase() })
  await createPaid(shop)
  const { data, text } = await operator.post<Payout>('settlements', { companyId })
  assert.ok(data, text)
  assert.deepEqual([data.address.toLowerCase(), data.addressChange?.by], [settlementAddress.toLowerCase(), 'Eve Thief'])
  // the last payout went there, on another chain
  await db.run(sql`
    insert into settlements select (jsonb_populate_record(s, jsonb_build_object('id', ${newId(Date.now() - 60_000)}::text,
      'status', 'paid', 'network', 8453, 'created_at', s.created_at - interval '1 hour', 'paid_at', now()))).*
    from settlements s where s.id = ${data._id}`)
  const { addressChange } = (await operator.get<Payout>(`settlements/${data._id}`)).data
  assert.deepEqual([addressChange?.at, addressChange?.by, addressChange?.lastNetwork], [null, null, 8453])
  // a later one left nothing: its authorization was cancelled before a restore
  await db.run(sql`
    insert into settlements select (jsonb_populate_record(s, jsonb_build_object('id', ${newId(Date.now() - 30_000)}::text,
      'status', 'paid', 'left_units', 0, 'created_at', s.created_at - interval '30 minutes', 'paid_at', now()))).*
    from settlements s where s.id = ${data._id}`)
  const again = (await operator.get<Payout>(`settlements/${data._id}`)).data
  assert.equal(again.addressChange?.lastNetwork, 8453)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { countCompanies } from '../src/companies/company-queries.ts'
import { type Queryable, sql, unnamed } from '../src/db/db.ts'
import {
  type Client,
  insertSuperAdmin,
  logIn,
  PASSWORD,
  type Person,
  passwordHash,
  readMails,
  register,
  registerManager,
  waitForMail,
} from './harness/accounts.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'

/* Anyone may register a company. The operator is asked about it once its manager's address is confirmed. */

let live: TestService
let admin: Client
let adminEmail: string

before(async () => {
  live = await startTestService({ env: { AUTO_APPROVE: 'false' }, workers: true })
  adminEmail = await insertSuperAdmin(live.db, await passwordHash())
  admin = await logIn(live.baseUrl, adminEmail, 'auth/login')
})
after(() => live.stop())

const ASKED = /^A company waits for your approval$/
const asked = async () => (await readMails(live.baseUrl, adminEmail)).filter(({ subject }) => ASKED.test(subject))

async function confirm({ email }: Person): Promise<void> {
  const mail = await waitForMail(live.baseUrl, email, /Confirm your e-?mail/)
  const token = /verify-email\?token=(\S+)/.exec(mail.text)?.[1] ?? ''
  const body = new URLSearchParams({ token })
  assert.equal((await fetch(`${live.baseUrl}/account/verify-email`, { method: 'POST', body })).status, 200)
  // opened twice
  assert.equal((await fetch(`${live.baseUrl}/account/verify-email`, { method: 'POST', body })).status, 200)
}

async function resetPassword({ email }: Person): Promise<void> {
  assert.equal((await live.call('POST', '/api/next/auth/reset-password/send', { body: { email } })).status, 200)
  const mail = await waitForMail(live.baseUrl, email, /reset-password\?token=/)
  const token = /reset-password\?token=(\S+)/.exec(mail.text)?.[1] ?? ''
  const changed = await live.call('POST', '/api/next/auth/reset-password/change', {
    body: { token, newPassword: `${PASSWORD}-2` },
  })
  assert.equal(changed.status, 200, changed.text)
}

type Listed = { companies: { _id: string; managerVerified: boolean }[]; total: number }
const list = async (query: string, by = admin): Promise<Listed> => {
  const { data, status, text } = await by.get<Listed>(`companies?${query}`)
  assert.equal(status, 200, text)
  return data
}
const waiting = async (query = '', by = admin): Promise<number> => {
  const { data, text } = await by.get<{ needs: { companies: number } }>(`summary?${query}`)
  assert.equal(typeof data.needs?.companies, 'number', text)
  return data.needs.companies
}

test('the operator hears of a company once, when its founder has confirmed the address, and not before', async () => {
  const shop = await registerManager(live.baseUrl)
  const before = await asked()
  assert.equal(await waiting(), 0)
  assert.equal((await list('waiting=true')).total, 0)
  const [unconfirmed] = (await list('approved=false')).companies
  assert.deepEqual([unconfirmed?._id, unconfirmed?.managerVerified], [shop.companyId, false])
  await confirm(shop)
  const mail = await waitForMail(live.baseUrl, adminEmail, ASKED, before.length + 1)
  assert.ok(mail.text.includes(shop.email), mail.text)
  assert.match(mail.text, /\/operator\?status=waiting/)
  const { companies } = await list('waiting=true')
  assert.deepEqual(
    companies.map(({ _id, managerVerified }) => [_id, managerVerified]),
    [[shop.companyId, true]],
  )
  assert.equal(await waiting(), 1)
  assert.equal(await waiting(`companyId=${shop.companyId}`), 1)
  assert.equal((await admin.post(`companies/${shop.companyId}/approve`)).status, 200)
  await waitForMail(live.baseUrl, shop.email, /approved/)
  assert.deepEqual([await waiting(), (await list('waiting=true')).total], [0, 0])
  assert.equal((await list('waiting=false')).companies[0]?._id, shop.companyId)
  assert.equal((await asked()).length, before.length + 1, 'confirmed twice, told once')
})

test('a new password by mail confirms the address too, and only the founder of a company is announced', async () => {
  const shop = await registerManager(live.baseUrl)
  const before = (await asked()).length
  await resetPassword(shop)
  await waitForMail(live.baseUrl, adminEmail, ASKED, before + 1)
  assert.equal(await waiting(), 1)
  await confirm(await register(live.baseUrl, { role: 'SimpleUser' }))
  await confirm(await register(live.baseUrl, { role: 'Cashier', companyName: shop.companyId }))
  assert.equal((await asked()).length, before + 1)
  await live.db.run(sql`update users set disabled_at = now() where id = ${shop.userId}`)
  assert.equal(await waiting(), 0, 'nobody is left who would sell')
})

async function inviteManager({ companyId }: Person): Promise<Pick<Person, 'email'>> {
  const email = `invited-${Math.random().toString(36).slice(2)}@shop.example`
  const invited = await admin.post('users', { email, firstName: 'Sam', lastName: 'Ond', role: 'Manager', companyId })
  assert.equal(invited.status, 200, invited.text)
  return { email }
}

async function accept({ email }: Pick<Person, 'email'>): Promise<void> {
  const mail = await waitForMail(live.baseUrl, email, /invitation\?token=/)
  const token = /invitation\?token=(\S+)/.exec(mail.text)?.[1] ?? ''
  const body = { token, newPassword: `${PASSWORD}-2` }
  const changed = await live.call('POST', '/api/next/auth/reset-password/change', { body })
  assert.equal(changed.status, 200, changed.text)
}

test('a company is announced once, for the first manager to confirm; an invited one is not its founder', async () => {
  const before = (await asked()).length
  const founded = await registerManager(live.baseUrl)
  await confirm(founded)
  await accept(await inviteManager(founded))
  const other = await registerManager(live.baseUrl)
  const second = await inviteManager(other)
  await accept(second)
  const mail = await waitForMail(live.baseUrl, adminEmail, ASKED, before + 2)
  assert.match(mail.text, new RegExp(`Sam Ond \\(${second.email}\\) was invited to manage “[^”]+” and confirmed`))
  assert.doesNotMatch(mail.text, /registered/)
  await confirm(other)
  assert.equal((await asked()).length, before + 2, 'one mail for each company')
})

test('two managers who confirm at the same moment make one announcement', async () => {
  const before = (await asked()).length
  const founder = await registerManager(live.baseUrl)
  const people = [await inviteManager(founder), await inviteManager(founder), await inviteManager(founder)]
  await Promise.all(people.map(accept))
  await waitForMail(live.baseUrl, adminEmail, ASKED, before + 1)
  assert.equal((await asked()).length, before + 1)
})

test('whoever may not approve companies has none to approve, whatever else the role decides', async () => {
  const shop = await registerManager(live.baseUrl)
  await confirm(shop)
  const { userId, client } = await register(live.baseUrl, { role: 'SuperManager' }, admin)
  await live.db.run(sql`update users set verified_at = now() where id = ${userId}`)
  const attached = await admin.call('PUT', `users/${userId}/companies`, { companies: [shop.companyId] })
  assert.equal(attached.status, 200, attached.text)
  const theirs = await eventually(
    () => client.get<Listed>('companies?waiting=true'),
    ({ status }) => status === 200,
  )
  assert.equal(theirs.data.total, 1)
  assert.equal(await waiting('', client), 0)
  assert.ok((await waiting()) >= 1)
})

test('a flood of founders reaches the operator as ten mails an hour; the list has them all', async () => {
  const before = (await asked()).length
  const left = 10 - before
  const people = await Promise.all(Array.from({ length: left + 2 }, () => registerManager(live.baseUrl)))
  for (const person of people) await confirm(person)
  await waitForMail(live.baseUrl, adminEmail, ASKED, 10)
  const mails = await asked()
  assert.equal(mails.length, 10)
  const said = mails.map(({ text }) => text).join('\n')
  assert.match(said, /\d+ companies wait/)
  assert.equal(said.match(/No more of these mails follow within this hour/g)?.length, 1, 'the last one says so')
  const all = await list('waiting=true&limit=100')
  assert.ok(people.every(({ companyId }) => all.companies.some(({ _id }) => _id === companyId)))
  assert.equal(await waiting(), all.total)
})

test('the count stays cheap among 100 000 companies', async () => {
  await live.db.run(sql`
    insert into companies (id, name, approved, webhook_secret_sealed)
    select lpad(to_hex(n), 24, '0'), 'Shop ' || n, true, (select webhook_secret_sealed from companies limit 1)
    from generate_series(1, 100000) n`)
  await live.db.run(sql`analyze companies`)
  let plan = ''
  const explained: Queryable = {
    ...live.db,
    one: async (statement) => {
      plan = JSON.stringify(await live.db.many(unnamed(sql`explain ${statement}`)))
      return live.db.one(statement)
    },
  }
  const filter = { companyIds: null, search: null, approved: null, waiting: true }
  assert.equal(await countCompanies(explained, filter), await waiting())
  assert.match(plan, /companies__unapproved/)
  assert.doesNotMatch(plan, /Seq Scan on companies/)
})

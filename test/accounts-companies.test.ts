import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { HOUR, MINUTE } from '../src/kernel/clock.ts'
import {
  Client,
  insertSuperAdmin,
  logIn,
  newEmail,
  PASSWORD,
  type Person,
  passwordHash,
  readMails,
  register,
  registerManager,
  waitForMail,
} from './harness/accounts.ts'
import { callService, eventually, startTestService, type TestService } from './harness/service.ts'

let service: TestService
/** Accounts and companies wait for approval. */
let live: TestService
let admin: Client
let manager: Person
let boss: Client

before(async () => {
  service = await startTestService({ workers: true })
  live = await startTestService({ env: { AUTO_APPROVE: 'false' }, workers: true })
  const adminEmail = await insertSuperAdmin(service.db, await passwordHash())
  admin = await logIn(service.baseUrl, adminEmail, 'auth/login')
  manager = await registerManager(service.baseUrl)
  boss = await logIn(service.baseUrl, manager.email)
})
after(async () => {
  await live.stop()
  await service.stop()
})

type Object_ = { _id: string } & Record<string, unknown>
const order = (client: Client, body: Record<string, unknown>) =>
  client.post<{ code: string }>('confirm_conversion/request', { amount: 5, fromAsset: 'EUR', ...body })

test('a shop gets a till, the till sells under its identifier, and stops at once when it is closed', async () => {
  const point = await boss.post<Object_>('sales-points', { name: 'Harbour', city: 'Nice', country: 'FR', lat: 43.7 })
  assert.equal(point.status, 200, point.text)
  const till = await boss.post<Object_>('collectors/add', { identifier: 'HARBOUR-1', salePoint: point.data._id })
  assert.equal(till.status, 200, till.text)
  assert.equal((await order(boss, { merchantIdentifier: 'HARBOUR-1' })).status, 200)
  assert.equal((await order(boss, { merchantIdentifier: till.data._id })).status, 200)
  const twice = await boss.post('collectors/add', { identifier: 'HARBOUR-1', salePoint: point.data._id })
  assert.equal(twice.status, 409)
  const closed = await boss.call('PUT', `collectors/${till.data._id}`, { active: false })
  assert.equal(closed.data.active, false)
  assert.equal((await order(boss, { merchantIdentifier: 'HARBOUR-1' })).error.code, 'UNKNOWN_MERCHANT_IDENTIFIER')
  const renamed = await boss.call('PUT', `sales-points/${point.data._id}`, { name: 'Port', city: null })
  assert.equal(renamed.data.name, 'Port')
  assert.equal(renamed.data.city, null)
  assert.equal(renamed.data.country, 'FR')
  const list = await boss.get<{ collectors: Object_[]; total: number }>('collectors/list?active=true')
  assert.equal(list.data.total, 1)
})

test('a button is made and changed only at a price that an order can have; an earlier one stays', async () => {
  const site = { name: 'Tea', websiteUrl: 'https://tea.example', currency: 'EUR' }
  const faultOf = ({ status, error }: Awaited<ReturnType<typeof boss.post>>) => [status, error?.details?.[0]?.path]
  for (const price of ['0.09', '100000.01', 0.01])
    assert.deepEqual(faultOf(await boss.post('buy-buttons', { ...site, price })), [422, 'price'], String(price))
  const made = await boss.post<Object_>('buy-buttons', { ...site, price: '100000.00' })
  assert.equal(made.status, 200, made.text)
  const path = `buy-buttons/${made.data._id}`
  assert.deepEqual(faultOf(await boss.call('PUT', path, { price: '0.09' })), [422, 'price'])
  await service.db.run(sql`update buy_buttons set price = '0.05' where id = ${made.data._id ?? ''}`)
  assert.equal((await boss.call('PUT', path, { name: 'Coffee', price: '0.05' })).status, 200)
})

test('a website order needs a live session of a button of that website, and uses it once', async () => {
  const button = await boss.post<Object_>('buy-buttons', {
    name: 'Ticket',
    websiteUrl: 'https://shop.example/tickets',
    price: 12.5,
    currency: 'eur',
  })
  assert.equal(button.status, 200, button.text)
  assert.equal(button.data.price, '12.50')
  const fields = { button: button.data._id, orderRef: 'ref-000001' }
  const session = await boss.post<Object_>('buy-button/sessions', fields)
  assert.equal(session.status, 200, session.text)
  assert.equal((await boss.post('buy-button/sessions', fields)).status, 409)
  const sale = { amount: 12.5, websiteUrl: 'https://shop.example/cart', sessionId: session.data._id }
  assert.equal((await order(boss, { ...sale, websiteUrl: 'https://evil.example' })).error.code, 'WEBSITE_MISMATCH')
  const made = await order(boss, sale)
  assert.equal(made.status, 200, made.text)
  assert.equal((await order(boss, sale)).error.code, 'UNKNOWN_SESSION')
  const byCode = await boss.get<Object_>(`buy-button/sessions/code/${session.data.code}`)
  assert.equal(byCode.data._id, session.data._id)
  assert.equal((await boss.call('DELETE', `buy-buttons/${button.data._id}`)).status, 200)
  assert.equal((await boss.get(`buy-buttons/${button.data._id}`)).status, 404)
  assert.equal((await order(boss, sale)).error.code, 'UNKNOWN_SESSION')
})

test('a cashier registers, can do nothing until the manager approves, then sells at the tills given to it', async () => {
  const company = (await boss.get<{ company: { name: string } }>('users/me')).data.company.name
  const cashier = await register(service.baseUrl, { role: 'Cashier', companyName: company })
  assert.equal((await cashier.client.get<Object_>('users/me')).data.valid, false)
  const refused = await order(cashier.client, { merchantIdentifier: 'TILL-1' })
  assert.equal(refused.status, 403)
  assert.match(refused.error.message, /manager of the company has to approve/)
  await waitForMail(service.baseUrl, manager.email, /asks to join/)
  assert.equal((await cashier.client.post(`users/${cashier.userId}/approve`)).status, 403)
  assert.equal((await boss.post(`users/${cashier.userId}/approve`)).status, 200)
  assert.equal((await cashier.client.get<Object_>('users/me')).data.valid, true)
  await waitForMail(service.baseUrl, cashier.email, /approved/)
  assert.equal(
    (await order(cashier.client, { merchantIdentifier: 'TILL-1' })).error.code,
    'UNKNOWN_MERCHANT_IDENTIFIER',
  )
  const { collectors } = (await boss.get<{ collectors: Object_[] }>('collectors/list')).data
  const till = collectors.find(({ identifier }) => identifier === 'TILL-1')
  await boss.call('PUT', `collectors/${till?._id}`, { cashiers: [cashier.userId] })
  const sold = await order(cashier.client, { merchantIdentifier: 'TILL-1' })
  assert.equal(sold.status, 200, sold.text)
  const seen = await cashier.client.get<{ collectors: Object_[] }>('collectors/list')
  assert.deepEqual(
    seen.data.collectors.map(({ identifier }) => identifier),
    ['TILL-1'],
  )
})

test('a disabled applicant is not among those who wait, and is approved only after being enabled', async () => {
  const company = (await boss.get<{ company: { name: string } }>('users/me')).data.company.name
  const { userId, email } = await register(service.baseUrl, { role: 'Observer', companyName: company })
  const isPending = async (): Promise<boolean> =>
    (await boss.get<{ users: Object_[] }>('users?pending=true')).data.users.some(({ _id }) => _id === userId)
  assert.equal(await isPending(), true)
  assert.equal((await boss.call('PUT', `users/${userId}`, { disabled: true })).status, 200)
  assert.equal(await isPending(), false)
  assert.equal((await boss.post(`users/${userId}/approve`)).error?.code, 'OBJECT_CONFLICT')
  assert.equal((await boss.call('PUT', `users/${userId}`, { disabled: false })).status, 200)
  assert.equal((await boss.post(`users/${userId}/approve`)).status, 200)
  await waitForMail(service.baseUrl, email, /approved/, 1)
})

test('an invited person chooses a password with the mailed token, also on a page without JavaScript', async () => {
  const email = newEmail('invited')
  const invitation = await boss.post('users', {
    email,
    firstName: 'Ida',
    lastName: 'Neu',
    role: 'Observer',
    lang: 'de',
  })
  assert.equal(invitation.status, 200, invitation.text)
  const mail = await waitForMail(service.baseUrl, email, /lädt Sie ein/)
  const link = /http:\/\/\S+\/app\/invitation\?token=(\S+)/.exec(mail.text)
  assert.equal((await fetch(link?.[0] ?? '')).status, 200)
  const page = await fetch(`${service.baseUrl}/account/reset-password?token=${link?.[1]}`)
  assert.match(await page.text(), /<form method="post" action="\/account\/reset-password">/)
  const form = new URLSearchParams({ token: link?.[1] ?? '', newPassword: PASSWORD })
  const saved = await fetch(`${service.baseUrl}/account/reset-password`, { method: 'POST', body: form })
  assert.equal(saved.status, 200)
  const client = await logIn(service.baseUrl, email)
  assert.equal((await client.get<Object_>('users/me')).data.valid, true)
})

test('an invitation that was lost or is over is sent again, with a link of its own', async () => {
  const email = newEmail('again')
  const body = { email, firstName: 'Ida', lastName: 'Neu', role: 'Cashier' }
  const first = await boss.post<Object_>('users', body)
  assert.equal(first.data.invited, true)
  const tokenOf = async (count: number): Promise<string> =>
    /invitation\?token=(\S+)/.exec((await waitForMail(service.baseUrl, email, /invites you/, count)).text)?.[1] ?? ''
  const [lost, again] = [await tokenOf(1), await boss.post<Object_>('users', body)]
  assert.equal(again.status, 200, again.text)
  assert.equal(again.data._id, first.data._id)
  const choose = (token: string) => admin.post('auth/reset-password/change', { token, newPassword: PASSWORD })
  const fresh = await tokenOf(2)
  assert.equal((await choose(lost)).error.code, 'INVALID_RESET_TOKEN')
  const corrected = { ...body, firstName: 'Ada', lastName: 'Alt', role: 'Observer', lang: 'fr' }
  const other = await boss.post<Object_>('users', corrected)
  const { firstName, lastName, role, lang } = other.data
  assert.deepEqual({ email, firstName, lastName, role, lang }, corrected, 'a wrong invitation is corrected')
  assert.match((await waitForMail(service.baseUrl, email, /vous invite/)).text, /Ada/)
  for (const _ of [4, 5]) assert.equal((await boss.post('users', body)).status, 200)
  assert.equal((await boss.post('users', body)).error.code, 'TOO_MANY_REQUESTS')
  const last =
    /invitation\?token=(\S+)/.exec((await waitForMail(service.baseUrl, email, /vous invite/, 3)).text)?.[1] ?? ''
  assert.notEqual(last, fresh)
  assert.equal((await choose(last)).status, 200)
  assert.equal((await boss.get<Object_>(`users/${first.data._id}`)).data.invited, false)
  assert.equal((await boss.post('users', body)).error.code, 'EMAIL_ALREADY_REGISTERED')
})

test('a disabled or demoted person is out at once', async () => {
  const observer = await register(service.baseUrl, { role: 'Observer' }, boss)
  assert.equal((await observer.client.get('users/me')).status, 200)
  assert.equal((await boss.call('PUT', `users/${observer.userId}`, { disabled: true })).status, 200)
  assert.equal((await observer.client.get('users/me')).status, 401)
  const login = await observer.client.post('auth/login/manager', {
    email: observer.email,
    password: PASSWORD,
    origin: 'dashboard',
  })
  assert.equal(login.error.code, 'INVALID_CREDENTIALS')
  assert.equal((await boss.call('PUT', `users/${manager.userId}`, { role: 'Cashier' })).status, 409)
})

test('of two Managers who disable each other at the same moment one stays', async () => {
  const [{ email, userId, companyId }, other] = await Promise.all([
    registerManager(service.baseUrl),
    registerManager(service.baseUrl),
  ])
  await service.db.run(sql`update users set company_id = ${companyId} where id = ${other.userId}`)
  const [one, two] = [await logIn(service.baseUrl, email), await logIn(service.baseUrl, other.email)]
  const disable = (by: Client, id: string) => by.call('PUT', `users/${id}`, { disabled: true })
  const answers = await service.db.tx(async (tx) => {
    await tx.run(sql`select 1 from users where id = any(${[userId, other.userId]}::text[]) for update`)
    const both = [disable(one, other.userId), disable(two, userId)]
    await eventually(
      () =>
        tx.many(sql`
        with recursive waiting as (
          select pid from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))
          union select l.pid from pg_locks l join waiting w on w.pid = any(pg_blocking_pids(l.pid)) where not l.granted)
        select pid from waiting`),
      (waiting) => waiting.length === 2,
    )
    return { both }
  })
  const statuses = (await Promise.all(answers.both)).map(({ status }) => status)
  assert.deepEqual(statuses.toSorted(), [200, 401])
  const left = await service.db.many(sql`
    select 1 from users where company_id = ${companyId} and role = 'Manager' and disabled_at is null`)
  assert.equal(left.length, 1)
})

test('a SuperManager works for the companies attached to it, by companyId or childManager, and for no other', async () => {
  const superManager = await register(service.baseUrl, { role: 'SuperManager' }, admin)
  const client = superManager.client
  const points = (query: string) => client.get<{ total: number; salesPoints: Object_[] }>(`sales-points${query}`)
  assert.equal((await points('')).data.total, 0)
  assert.equal((await points(`?companyId=${manager.companyId}`)).status, 404)
  const attached = await admin.call('PUT', `users/${superManager.userId}/companies`, { companies: [manager.companyId] })
  assert.equal(attached.status, 200, attached.text)
  assert.ok((await points('')).data.total > 0)
  assert.ok((await points(`?childManager=${encodeURIComponent(manager.email)}`)).data.total > 0)
  assert.equal((await client.post('sales-points', { name: 'Second' })).status, 422)
  assert.equal((await client.post(`sales-points?childManager=${manager.userId}`, { name: 'Second' })).status, 200)
  const other = await registerManager(service.baseUrl)
  assert.equal((await points(`?childManager=${other.userId}`)).status, 404)
})

test('a SuperManager of three sellers names the one that it means: for a reference, the feed and the books', async () => {
  const sellers = await Promise.all([1, 2, 3].map(() => registerManager(service.baseUrl)))
  const { client, userId } = await register(service.baseUrl, { role: 'SuperManager' }, admin)
  await admin.call('PUT', `users/${userId}/companies`, { companies: sellers.map(({ companyId }) => companyId) })
  const order = { amount: '5', fromAsset: 'EUR', merchantIdentifier: 'TILL-1', alias: 'INV-1' }
  const orders = await Promise.all(
    sellers.map((seller) => seller.client.post<{ order: { code: string } }>('confirm_conversion/request', order)),
  )
  const find = (query: string) => client.get<{ code: string }>(`confirm_conversion/status/order/INV-1${query}`)
  const every = await find('')
  assert.deepEqual([every.status, /companyId/.test(every.error.message)], [409, true])
  for (const [index, { companyId }] of sellers.entries())
    assert.equal((await find(`?companyId=${companyId}`)).data?.code, orders[index]?.data.order.code)
  assert.equal((await find(`?companyId=${manager.companyId}`)).status, 404)
  for (const path of ['events', 'ledger/check', 'ledger/fees']) {
    const unnamed = await client.get(path)
    assert.deepEqual([unnamed.status, unnamed.error.details?.[0]?.path], [422, 'companyId'], path)
    const named = await client.get(`${path}?companyId=${sellers[0]?.companyId}`)
    assert.equal(named.status, 200, `${path}: ${named.text}`)
  }
})

test('a SuperManager’s till device belongs to the company that the request names, never to another with such a till', async () => {
  const [first, second] = [await registerManager(service.baseUrl), await registerManager(service.baseUrl)]
  const { client, userId } = await register(service.baseUrl, { role: 'SuperManager' }, admin)
  await service.db.run(sql`update sessions set second_factor_at = now() where user_id = ${userId}`)
  await admin.call('PUT', `users/${userId}/companies`, { companies: [first.companyId, second.companyId] })
  const make = (query: string, collector = 'TILL-1') =>
    client.post<{ collector: string }>(`till-devices${query}`, { name: 'Counter', collector })
  const countOf = async ({ companyId }: Person) =>
    (await client.get<{ total: number }>(`till-devices?companyId=${companyId}`)).data.total
  const unnamed = await make('')
  assert.equal(unnamed.error?.code, 'UNKNOWN_MERCHANT_IDENTIFIER', unnamed.text)
  const named = await make(`?companyId=${second.companyId}`)
  assert.equal(named.status, 200, named.text)
  assert.equal((await make(`?childManager=${second.userId}`)).status, 200)
  assert.equal((await make('', named.data.collector)).status, 200, 'a till’s id names its company')
  assert.deepEqual([await countOf(first), await countOf(second)], [0, 3])
  assert.equal((await make(`?companyId=${manager.companyId}`)).status, 404)
  const foreign = (await boss.get<{ collectors: Object_[] }>('collectors/list')).data.collectors[0]?._id
  assert.equal((await make('', foreign)).error?.code, 'UNKNOWN_MERCHANT_IDENTIFIER')
})

test('API keys: made after a fresh second factor, scoped, shown once, revoked at once', async () => {
  const fresh = await register(service.baseUrl, { role: 'Manager', companyName: 'No factor yet' })
  const refused = await fresh.client.post('api-keys', { name: 'k', scopes: ['orders:read'] })
  assert.equal(refused.error.code, 'STEP_UP_REQUIRED')
  const body = { name: 'Shop server', scopes: ['orders:read'] }
  const headers = { 'idempotency-key': 'key-1' }
  const made = await boss.post<{ _id: string; apiKey: string; apiSecret: string }>('api-keys', body, headers)
  assert.equal(made.status, 200, made.text)
  const again = await boss.post<{ apiSecret: string }>('api-keys', body, headers)
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  assert.equal(again.data.apiSecret, made.data.apiSecret)
  const key = { 'x-api-key': made.data.apiKey, 'x-api-secret': made.data.apiSecret }
  const call = (path: string, method = 'GET') => callService(service.baseUrl, method, path, { headers: key })
  assert.equal((await call('')).status, 200)
  assert.equal((await call('/api/next/collectors/list')).status, 200)
  assert.match((await call('/api/next/users')).error.message, /^API keys may not do this; log in instead\./)
  assert.match((await call('/api/next/buy-buttons')).error.message, /lacks the scope sessions:write/)
  assert.equal((await boss.get<Object_>('users/me')).data.apiKey, made.data.apiKey)
  const list = await boss.get('api-keys')
  assert.doesNotMatch(list.text, /sk_/)
  assert.equal((await boss.call('DELETE', `api-keys/${made.data._id}`)).status, 200)
  assert.equal((await call('')).status, 401)
})

test('a webhook secret asked for again with its Idempotency-Key is the same one, and is kept sealed', async () => {
  const headers = { 'idempotency-key': 'secret-1' }
  for (const path of ['regenerate', 'next']) {
    const ask = () => boss.post<{ webhookSigningSecret: string }>(`/api/users/webhook-secret/${path}`, {}, headers)
    const [first, again] = [await ask(), await ask()]
    assert.match(first.data.webhookSigningSecret, /^whsec_/)
    assert.deepEqual([again.headers.get('idempotency-replayed'), again.text], ['true', first.text])
    assert.equal(again.headers.get('cache-control'), 'no-store')
  }
  const rows = await service.db.many<{ response: string }>(sql`
    select response from idempotency_keys where company_id = ${manager.companyId} and key = 'secret-1'`)
  assert.deepEqual(
    rows.map(({ response }) => /whsec_/.test(response)),
    [false, false],
  )
})

test('expired keys and those of command lines hide no server’s key, in the list and in the profile', async () => {
  const { email, companyId, userId } = await registerManager(service.baseUrl)
  const owner = await logIn(service.baseUrl, email)
  const made = await owner.post<{ _id: string; apiKey: string }>('api-keys', {
    name: 'server',
    scopes: ['orders:read'],
  })
  const insert = (count: number, key: { expiresAt: Date; ofLogin: boolean }) =>
    service.db.run(sql`
      insert into api_keys (id, company_id, created_by, name, public_id, secret_hash, scopes, expires_at, created_at,
        of_login)
      select substr(md5(n::text || ${newEmail()}), 1, 24), ${companyId}, ${userId}, 'laptop', md5(n::text || ${newEmail()}),
        md5(n::text || ${newEmail()}), '{orders:read}', ${key.expiresAt}, now() + interval '1 second', ${key.ofLogin}
      from generate_series(1, ${count}::integer) n`)
  await insert(500, { expiresAt: new Date(Date.now() - MINUTE), ofLogin: false })
  await insert(1, { expiresAt: new Date(Date.now() + HOUR), ofLogin: true })
  const list = (await owner.get<{ _id: string; name: string }[]>('api-keys')).data
  assert.deepEqual(
    list.slice(0, 3).map(({ name }) => name),
    ['laptop', 'server', 'laptop'],
    'those that work first, the newest first',
  )
  assert.equal((await owner.get<{ apiKey: string }>('users/me')).data.apiKey, made.data.apiKey)
  await insert(500, { expiresAt: new Date(Date.now() + HOUR), ofLogin: false })
  await service.db.run(sql`
    update api_keys set last_used_at = now() + interval '1 minute' where public_id = ${made.data.apiKey}`)
  const [first] = (await owner.get<{ _id: string }[]>('api-keys')).data
  assert.equal(first?._id, made.data._id, 'nor do 500 newer ones hide the one in use')
  const whole: string[] = []
  for (let page = 1; page <= 3; page += 1) {
    whole.push(...(await owner.get<{ _id: string }[]>(`api-keys?page=${page}`)).data.map(({ _id }) => _id))
    // the next page's are used meanwhile
    await service.db.run(sql`
      update api_keys set last_used_at = now() + interval '2 minutes'
      where company_id = ${companyId} and id <> all(${whole})`)
  }
  assert.equal(new Set(whole).size, 1002, 'the pages show every key once, also those unused for longest')
  assert.equal(whole.length, 1002)
  const rest = (await owner.get<{ _id: string }[]>('api-keys?limit=400&page=3')).data
  assert.deepEqual(
    rest.map(({ _id }) => _id),
    whole.slice(800),
  )
})

test('people are found by their address as it is shown, also with an umlaut in the domain', async () => {
  const name = newEmail('anna').split('@')[0] ?? ''
  const names = { role: 'Cashier', firstName: 'Anna', lastName: 'M', password: PASSWORD }
  const made = await boss.post<{ token: string }>('auth/register', { ...names, email: `${name}@müller.example` })
  const person = new Client(service.baseUrl)
  person.token = made.data.token
  assert.equal((await person.post('auth/sessions/revoke-others')).status, 200)
  for (const domain of ['müller.example', 'MÜLLER.example', 'xn--mller-kva.example']) {
    const address = encodeURIComponent(`${name}@${domain}`)
    assert.equal((await boss.get<{ total: number }>(`users?search=${address}`)).data.total, 1, domain)
    const log = await boss.get<{ entries: unknown[] }>(`audit-log?actor=${address}`)
    assert.equal(log.data.entries.length, 1, domain)
  }
  assert.equal((await boss.get<{ total: number }>(`users?search=${name}`)).data.total, 1, 'a part of it')
})

test('where the money goes changes only after a fresh second factor; the operator’s settings only by the operator', async () => {
  const path = `companies/${manager.companyId}`
  const address = '0x52908400098527886E0F7030069857D2E4169EE7'
  const changed = await boss.call('PUT', path, { settlementAddress: address, settlementNetwork: 8453 })
  assert.equal(changed.data.settlementAddress, address)
  const capitals = `0X${address.slice(2, -1)}e`.toUpperCase()
  const other = await boss.call('PUT', path, { settlementAddress: capitals })
  assert.equal(other.data.settlementAddress, capitals.toLowerCase(), other.text)
  assert.equal((await boss.call('PUT', path, { settlementAddress: '0x123' })).status, 422)
  const lost = await boss.call('PUT', path, { settlementAddress: `0x${'0'.repeat(40)}` })
  assert.equal(lost.status, 422, lost.text)
  assert.match(lost.text, /belongs to nobody: money that is sent there is lost\. Give an address of a wallet/)
  assert.equal((await boss.call('PUT', path, { maxOrderAmount: '10' })).status, 403)
  assert.equal((await admin.call('PUT', path, { maxOrderAmount: '10' })).data.maxOrderAmount, '10.00')
  assert.equal((await order(boss, { merchantIdentifier: 'TILL-1', amount: 11 })).error.code, 'ILLEGAL_AMOUNT')
  assert.equal((await admin.call('PUT', path, { maxOrderAmount: '100000' })).status, 200)
  const stale = await registerManager(service.baseUrl)
  const refused = await stale.client.call('PUT', `companies/${stale.companyId}`, { settlementAddress: address })
  assert.equal(refused.error.code, 'STEP_UP_REQUIRED')
  await service.db.run(sql`update companies set settlement_address = ${address} where id = ${stale.companyId}`)
  const same = { settlementAddress: address.toLowerCase() }
  assert.equal((await stale.client.call('PUT', `companies/${stale.companyId}`, same)).status, 200, 'another spelling')
})

test('a company of any European country gives its VAT number; one that is written wrong says how it is written', async () => {
  const path = `companies/${manager.companyId}`
  const write = (vatNumber: string | null) => boss.call<{ vatNumber: string | null }>('PUT', path, { vatNumber })
  const kept = {
    'de 123 456 789': 'DE123456789',
    'CHE123456789 MWST': 'CHE-123.456.789 MWST',
    IE1234567FA: 'IE1234567FA',
  }
  for (const [typed, number] of Object.entries(kept)) assert.equal((await write(typed)).data.vatNumber, number)
  const wrong = await write('FR1234')
  assert.deepEqual(
    [wrong.status, wrong.error.details],
    [422, [{ path: 'vatNumber', message: 'must look like FR12345678901' }]],
  )
  const all = { settlementAddress: `0xAb${'0'.repeat(38)}`, vatNumber: 'FR1', termsUrl: 'ftp://terms' }
  const { error } = await boss.call('PUT', path, all)
  assert.deepEqual(error.details?.map((fault) => fault.path).toSorted(), Object.keys(all).toSorted(), 'all at once')
  assert.equal((await write(null)).data.vatNumber, null)
})

test('in live mode nobody sells before the address is verified and the company approved', async () => {
  const person = await registerManager(live.baseUrl)
  const me = await person.client.get<{ valid: boolean; missing: string[] }>('users/me')
  assert.equal(me.data.valid, false)
  assert.equal(me.data.missing.length, 2)
  assert.equal((await order(person.client, { merchantIdentifier: 'TILL-1' })).status, 403)
  const mail = await waitForMail(live.baseUrl, person.email, /Confirm your e-?mail/)
  const link = /http:\/\/\S+verify-email\?token=(\S+)/.exec(mail.text)
  assert.equal((await fetch(link?.[0] ?? '')).status, 200)
  assert.equal((await person.client.get<Object_>('users/me')).data.valid, false, 'opening the page alone does nothing')
  const form = new URLSearchParams({ token: link?.[1] ?? '' })
  const headers = person.client.cookieHeader('/account/verify-email')
  const confirmed = await fetch(`${live.baseUrl}/account/verify-email`, { method: 'POST', body: form, headers })
  assert.equal(confirmed.status, 200)
  assert.equal((await person.client.get<Object_>('users/me')).data.valid, true, 'the browser that registered')
  const waiting = await order(person.client, { merchantIdentifier: 'TILL-1' })
  assert.match(waiting.error.message, /operator has to approve the company/)
  const adminEmail = await insertSuperAdmin(live.db, await passwordHash())
  const operator = await logIn(live.baseUrl, adminEmail, 'auth/login')
  assert.equal((await operator.post(`companies/${person.companyId}/approve`)).status, 200)
  const sold = await order(person.client, { merchantIdentifier: 'TILL-1' })
  assert.equal(sold.status, 200, sold.text)
})

test('strangers cause ten mails an hour to the managers of a shop, and ten to one mailbox, from wherever they come', async () => {
  const names = { firstName: 'Eve', lastName: 'Else', password: PASSWORD }
  const { data } = await boss.get<{ name: string }>(`companies/${manager.companyId}`)
  const apply = (baseUrl: string, body: Record<string, string>) =>
    new Client(baseUrl).post('auth/register', { ...names, ...body })
  for (let count = 0; count < 12; count += 1) {
    const body = { role: 'Cashier', companyName: data.name, email: newEmail('cashier') }
    assert.equal((await apply(service.baseUrl, body)).status, 200)
  }
  await waitForMail(service.baseUrl, manager.email, /asks to join/, 10)
  const [name, domain] = newEmail('victim').split('@')
  const statuses = []
  for (let count = 0; count < 12; count += 1)
    statuses.push((await apply(live.baseUrl, { role: 'SimpleUser', email: `${name}+${count}@${domain}` })).status)
  assert.deepEqual(statuses, [...Array(10).fill(200), 429, 429])
  const mails = await readMails(service.baseUrl, manager.email)
  assert.equal(mails.filter(({ subject }) => /asks to join/.test(subject)).length, 10, 'the office lists all twelve')
})

test('an association has no Manager and a company no Association: the same rights, each with its word', async () => {
  const company = await registerManager(service.baseUrl)
  const club = await register(service.baseUrl, { role: 'Association', associationName: 'Chess Club' })
  for (const [{ companyId }, wrong, right] of [
    [company, 'Association', 'Manager'],
    [club, 'Manager', 'Association'],
  ] as const) {
    const person = { firstName: 'A', lastName: 'B', email: newEmail('new'), companyId }
    assert.equal((await admin.post('users', { ...person, role: wrong })).error?.details?.[0]?.path, 'role')
    const { data } = await admin.post<{ _id: string }>('users', { ...person, role: 'Cashier' })
    const path = `users/${data._id}`
    assert.equal((await admin.call('PUT', path, { role: wrong })).error?.details?.[0]?.path, 'role')
    assert.equal((await admin.call('PUT', path, { role: right })).status, 200)
  }
})

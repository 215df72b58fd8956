import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openAccounts } from '../src/assembly/accounts.ts'
import { sql } from '../src/db/db.ts'
import { systemContext } from '../src/http/request-context.ts'
import { type Clock, MINUTE } from '../src/kernel/clock.ts'
import { openVault } from '../src/kernel/vault.ts'
import { TEXTS } from '../src/texts/languages.ts'
import type { TillDevice } from '../src/tills/device-queries.ts'
import { MOST_WRONG, signIn as signInWithPin } from '../src/tills/pin-service.ts'
import { openPasswords } from '../src/users/password.ts'
import { Client, inParallel, type Person, register, registerManager } from './harness/accounts.ts'
import { eventually, startTestService, TEST_MASTER_KEY, type TestService } from './harness/service.ts'

/* Till devices: who may enrol one, who may sign in there, and what ends it. */

let host: TestService
let boss: Person
let cashier: Person
let collector: string
let aheadMs = 0
const clock: Clock = () => Date.now() + aheadMs
before(async () => {
  host = await startTestService({ clock })
  boss = await registerManager(host.baseUrl)
  await makeFresh(boss)
  cashier = await hire()
  const tills = await boss.client.get<{ collectors: { _id: string }[] }>('collectors/list')
  collector = tills.data.collectors[0]?._id ?? ''
  await give(cashier)
})
after(() => host?.stop())

const PIN = '402817'
type Device = { _id: string; enrolmentCode: string }
type Order = { code: string; order: { merchantIdentifier: string; status: string } }

const makeFresh = ({ userId }: Pick<Person, 'userId'>) =>
  host.db.run(sql`update sessions set second_factor_at = now() where user_id = ${userId}`)

async function hire(): Promise<Person> {
  const person = await register(host.baseUrl, { role: 'Cashier', companyName: boss.companyId })
  await boss.client.post(`users/${person.userId}/approve`)
  await makeFresh(person)
  const set = await person.client.call('PUT', 'users/me/till-pin', { pin: PIN })
  assert.equal(set.status, 200, set.text)
  return person
}

const give = (...people: Person[]) =>
  boss.client.call('PUT', `collectors/${collector}`, { cashiers: people.map(({ userId }) => userId) })

async function makeDevice(name = 'Counter'): Promise<Device> {
  const made = await boss.client.post<Device>('till-devices', { name, collector })
  assert.equal(made.status, 200, made.text)
  return made.data
}

async function enrol(): Promise<{ device: Client; id: string }> {
  const { enrolmentCode, _id } = await makeDevice()
  const device = new Client(host.baseUrl)
  const done = await device.post('till/enrol', { enrolmentCode })
  assert.equal(done.status, 200, done.text)
  return { device, id: _id }
}

async function signIn(device: Client, person: Person, pin = PIN) {
  const answer = await device.post<{ token: string }>('till/sign-in', { user: person.userId, pin })
  if (answer.status === 200) device.token = answer.data.token
  return answer
}

const sell = (device: Client, body: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  device.call<Order>(
    'POST',
    '/api/next/confirm_conversion/request',
    { amount: '4.20', fromAsset: 'EUR', merchantIdentifier: collector, ...body },
    headers,
  )

test('a code enrols one browser, once, within ten minutes; the database knows neither code nor cookie', async () => {
  const { enrolmentCode, _id } = await makeDevice('Bar')
  assert.match(enrolmentCode, /^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/)
  const typed = enrolmentCode.toLowerCase().replace('-', ' ')
  const outcomes = await inParallel(5, async () => {
    const device = new Client(host.baseUrl)
    const { status } = await device.post('till/enrol', { enrolmentCode: typed })
    return { device, status }
  })
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), [200, 400, 400, 400, 400])
  const winner = outcomes.find(({ status }) => status === 200)?.device
  const [[, cookie] = []] = [...(winner?.cookies ?? [])]
  assert.match(cookie?.attributes ?? '', /HttpOnly.*SameSite=Strict/)
  const row = await host.db.one<{ text: string }>(sql`select d::text as text from till_devices d where id = ${_id}`)
  assert.ok(!row.text.includes(cookie?.value ?? 'x') && !row.text.includes(enrolmentCode.replace('-', '')))
  const old = await makeDevice()
  aheadMs = 10 * MINUTE + 1000
  const late = await new Client(host.baseUrl).post('till/enrol', { enrolmentCode: old.enrolmentCode })
  aheadMs = 0
  assert.deepEqual([late.status, late.error.code], [400, 'INVALID_OTP'])
})

test('a cashier signs in with the PIN, sells at this till, and can do nothing else', async () => {
  const { device } = await enrol()
  const till = await device.get<{ people: { _id: string; name: string }[] }>('till/device')
  assert.deepEqual(
    till.data.people.map(({ _id, name }) => [_id, name]),
    [[cashier.userId, 'Ada B.']],
  )
  assert.equal((await signIn(device, cashier)).status, 200)
  const sold = await sell(device)
  assert.equal(sold.status, 200, sold.text)
  const { point } = await host.db.one<{ point: string }>(
    sql`select sales_point_id as point from collectors where id = ${collector}`,
  )
  const other = await boss.client.post<{ _id: string }>('collectors/add', { identifier: 'OTHER', salePoint: point })
  await boss.client.call('PUT', `collectors/${other.data._id}`, { cashiers: [cashier.userId] })
  const elsewhere = await sell(device, { merchantIdentifier: other.data._id })
  assert.equal(elsewhere.error.code, 'UNKNOWN_MERCHANT_IDENTIFIER', 'not even at the cashier’s other till')
  const forbidden: [string, string, unknown?][] = [
    ['PUT', 'users/me/till-pin', { pin: '918273' }],
    ['PUT', 'users/me', { firstName: 'Eve' }],
    ['GET', 'auth/sessions'],
    ['POST', 'auth/password', { password: 'x', newPassword: 'y' }],
    ['POST', 'auth/2fa/setup'],
    ['POST', `confirm_conversion/revert/${sold.data.code}`],
    ['GET', 'confirm_conversion/download'],
    ['GET', 'till-devices'],
  ]
  for (const [method, path, body] of forbidden) {
    const answer = await device.call(method, path, body)
    assert.deepEqual([answer.status, answer.error?.code], [403, 'FORBIDDEN'], `${method} ${path}: ${answer.text}`)
  }
  const cancelled = await device.post(`confirm_conversion/cancel/${sold.data.code}`)
  assert.equal(cancelled.status, 200, cancelled.text)
})

test('by reference a cashier reads the newest order of the own tills, whatever another till does with the words', async () => {
  const { point } = await host.db.one<{ point: string }>(
    sql`select sales_point_id as point from collectors where id = ${collector}`,
  )
  const bar = await boss.client.post<{ _id: string }>('collectors/add', { identifier: 'BAR', salePoint: point })
  const sellAt = async (merchantIdentifier: string | undefined): Promise<string> => {
    const body = { fromAsset: 'EUR', amount: 5, merchantIdentifier, alias: 'TABLE-12' }
    const { data, text } = await boss.client.post<Order | null>('confirm_conversion/request', body)
    assert.ok(data, text)
    return data.code
  }
  const own = await sellAt(collector)
  await boss.client.post(`confirm_conversion/cancel/${own}`)
  const newest = await sellAt(bar.data._id)
  const read = async ({ client }: Person) =>
    (await client.get<{ code: string } | null>('confirm_conversion/status/order/TABLE-12')).data?.code
  assert.deepEqual([await read(cashier), await read(boss)], [own, newest])
})

test('a manager signs in as a cashier of this till, not as a manager', async () => {
  await boss.client.call('PUT', 'users/me/till-pin', { pin: '735190' })
  const { device } = await enrol()
  assert.equal((await signIn(device, boss, '735190')).status, 200)
  const sold = await sell(device)
  assert.equal(sold.status, 200)
  const answer = await device.get('till-devices')
  assert.deepEqual([answer.status, answer.error.code], [403, 'FORBIDDEN'])
  const name = () =>
    device.post('/api/next/confirm_conversion/payer-information', {
      ...{ code: sold.data.code, payerInformation: { lastName: 'Lovelace' } },
    })
  assert.equal((await name()).status, 200)
  await host.db.run(sql`update users set role = 'Observer' where id = ${boss.userId}`)
  assert.equal((await name()).status, 401, 'who may sell at no till any more')
  await host.db.run(sql`update users set role = 'Manager' where id = ${boss.userId}`)
})

test('the fifth wrong PIN locks that person on that device, also when all come at once; a new PIN unlocks', async () => {
  const ben = await hire()
  await give(cashier, ben)
  const [one, two] = [await enrol(), await enrol()]
  const tries = await inParallel(12, (index) => signIn(new ClientOf(one.device), ben, `1357${10 + index}`))
  const codes = tries.map(({ error }) => error.code)
  assert.equal(codes.filter((code) => code === 'INVALID_CREDENTIALS').length, 4, codes.join())
  assert.equal(codes.filter((code) => code === 'PIN_LOCKED').length, 8, codes.join())
  assert.equal((await signIn(one.device, ben)).error.code, 'PIN_LOCKED', 'the right PIN does not help')
  const locked = await signIn(one.device, ben)
  assert.deepEqual([locked.status, locked.headers.get('retry-after')], [403, null], 'no wait helps')
  assert.equal((await signIn(two.device, ben)).status, 200, 'the other device is open')
  assert.equal((await signIn(one.device, cashier)).status, 200, 'and so is the other person')
  await ben.client.call('PUT', 'users/me/till-pin', { pin: '918273' })
  assert.equal((await signIn(one.device, ben, '918273')).status, 200)
  await give(cashier)
  assert.equal((await sell(one.device)).error.code, 'UNKNOWN_MERCHANT_IDENTIFIER', 'no longer a cashier of this till')
})

/** Another tab of the same device. */
class ClientOf extends Client {
  constructor(device: Client) {
    super(device.baseUrl)
    for (const [name, cookie] of device.cookies) this.cookies.set(name, cookie)
  }
}

test('a node that could not read its keys when it started signs in at the till', async () => {
  const { id } = await enrol()
  const { auth } = openAccounts({ config: host.config, db: host.db, vault: openVault(TEST_MASTER_KEY), clock })
  const device = { id, companyId: cashier.companyId, collectorId: collector } as TillDevice
  await signInWithPin(auth, systemContext('visitor'), { device, userId: cashier.userId, pin: PIN })
})

test('a try for which the node was too busy does not count as a wrong PIN', async () => {
  const { device, id } = await enrol()
  const accounts = openAccounts({ config: host.config, db: host.db, vault: openVault(TEST_MASTER_KEY), clock })
  const deps = { ...accounts.auth, passwords: openPasswords({ atOnce: 0, queue: 0 }) }
  const row = { id, companyId: cashier.companyId ?? '', collectorId: collector }
  const wanted = { device: row as TillDevice, userId: cashier.userId, pin: PIN }
  for (let tried = 0; tried < MOST_WRONG; tried += 1)
    await assert.rejects(signInWithPin(deps, systemContext('visitor'), wanted), { code: 'BUSY' })
  assert.equal((await signIn(device, cashier)).status, 200)
})

test('only cashiers of its own company are given a till', async () => {
  const shop = await registerManager(host.baseUrl)
  const theirs = await register(host.baseUrl, { role: 'Cashier', companyName: shop.companyId })
  for (const person of [boss, shop, theirs]) {
    const { status, error } = await give(cashier, person)
    assert.deepEqual([status, error?.details?.[0]?.path], [422, 'cashiers'])
  }
  assert.equal((await give(cashier)).status, 200)
})

test('who loses the till while the PIN is being checked does not sign in, and sells on no renewed token', async () => {
  const person = await hire()
  await give(cashier, person)
  const { device, id } = await enrol()
  await host.db.run(sql`insert into till_pin_failures (device_id, user_id, wrong) values (${id}, ${person.userId}, 0)`)
  const attempt = await host.db.tx(async (tx) => {
    await tx.run(sql`select 1 from till_pin_failures where user_id = ${person.userId} for update`)
    const running = signIn(device, person)
    const isWaiting = sql`select 1 from pg_locks where pg_backend_pid() = any(pg_blocking_pids(pid))`
    await eventually(
      () => tx.many(isWaiting),
      (waiting) => waiting.length > 0,
    )
    const demoted = await boss.client.call('PUT', `users/${person.userId}`, { role: 'Observer' })
    assert.equal(demoted.status, 200, demoted.text)
    return { running }
  })
  assert.equal((await attempt.running).error?.code, 'INVALID_CREDENTIALS')
  // whatever else takes the role away
  assert.equal((await signIn(device, cashier)).status, 200)
  await host.db.run(sql`update users set role = 'Observer' where id = ${cashier.userId}`)
  aheadMs += 10_000
  const renewed = await device.post<{ token: string }>('auth/refresh-token', {}, { 'x-user-id': cashier.userId })
  device.token = renewed.data.token
  assert.equal((await sell(device)).error?.code, 'UNKNOWN_MERCHANT_IDENTIFIER')
  await host.db.run(sql`update users set role = 'Cashier' where id = ${cashier.userId}`)
  aheadMs += 10_000
})

test('simple PINs are refused, and setting one needs a fresh second factor', async () => {
  for (const pin of ['000000', '123456', '654321', '12345', 'abcdef']) {
    const { status } = await cashier.client.call('PUT', 'users/me/till-pin', { pin })
    assert.equal(status, 422, pin)
  }
  const stale = await hire()
  await host.db.run(sql`update sessions set second_factor_at = null where user_id = ${stale.userId}`)
  // the service keeps what it knows of a session for some seconds
  aheadMs += 10_000
  const answer = await stale.client.call('PUT', 'users/me/till-pin', { pin: '918273' })
  assert.equal(answer.error.code, 'STEP_UP_REQUIRED')
  const rows = await host.db.many<{ text: string }>(sql`select p::text as text from till_pins p`)
  assert.ok(rows.length > 0 && rows.every(({ text }) => text.includes('$argon2id$') && !text.includes(PIN)))
})

test('revoking the device, disabling the cashier, or closing the door ends it at once', async () => {
  const ways: [string, (device: { id: string; device: Client }, person: Person) => Promise<unknown>][] = [
    ['revoke', ({ id }) => boss.client.call('DELETE', `till-devices/${id}`)],
    ['disable', (_, { userId }) => boss.client.call('PUT', `users/${userId}`, { disabled: true })],
  ]
  for (const [name, end] of ways) {
    const person = await hire()
    await give(person)
    const till = await enrol()
    assert.equal((await signIn(till.device, person)).status, 200, name)
    assert.equal((await sell(till.device)).status, 200, name)
    await end(till, person)
    const after = await sell(till.device)
    assert.deepEqual([after.status, after.error.code], [401, 'UNAUTHORIZED'], name)
    const renewed = await till.device.post('auth/refresh-token', undefined, { 'x-user-id': person.userId })
    assert.equal(renewed.status, 401, name)
    assert.notEqual((await signIn(till.device, person)).status, 200, name)
    if (name === 'revoke') assert.equal((await till.device.get('till/device')).status, 401)
  }
  await give(cashier)
  const list = await boss.client.get<{ tillDevices: { revokedAt: string | null }[] }>('till-devices?limit=100')
  assert.equal(list.data.tillDevices.filter(({ revokedAt }) => revokedAt !== null).length, 1)
  const actions = await host.db.many<{ action: string }>(sql`
    select distinct action from audit_log where action like '%till%' order by 1`)
  const expected = ['session.till-sign-in', 'till-device.create', 'till-device.enrol', 'till-device.revoke']
  assert.deepEqual(
    actions.map(({ action }) => action),
    [...expected, 'user.till-pin'],
  )
})

test('a shift counts what this person sold since the sign-in; the customer’s screen shows the newest order', async () => {
  const { device } = await enrol()
  await signIn(device, cashier)
  const first = await sell(device)
  await sell(device, { amount: '10.00', fromAsset: 'CHF' })
  await host.db.run(sql`
    update orders set status = 'PAID', paid_at = now(), paid_units = to_units where code = ${first.data.code}`)
  const shift = await device.get<Record<string, unknown>>('till/shift')
  const { startedAt, ...sums } = shift.data
  assert.ok(Date.parse(String(startedAt)) > 0)
  assert.deepEqual(sums, {
    ...{ created: 2, open: 1, ended: 0 },
    sums: [{ asset: 'EUR', paid: 1, amount: '4.20', received: '4.536000' }],
  })
  const display = await device.get<{ order: { amount: string; asset: string } }>('till/display')
  assert.deepEqual([display.data.order.amount, display.data.order.asset], ['10.00', 'CHF'])
  assert.equal((await new Client(host.baseUrl).get('till/display')).status, 401)
  const foreign = await device.post(
    'till/sign-in',
    { user: cashier.userId, pin: PIN },
    { origin: 'https://evil.example' },
  )
  assert.equal(foreign.error.code, 'CROSS_SITE_REQUEST')
})

test('a shift counts the sales of its own till, not what the same person sells at another', async () => {
  const { device } = await enrol()
  await signIn(device, cashier)
  const { salesPointId } = await host.db.one<{ salesPointId: string }>(
    sql`select sales_point_id from collectors where id = ${collector}`,
  )
  const bar = await boss.client.post<{ _id: string }>('collectors/add', { identifier: 'PUB', salePoint: salesPointId })
  await boss.client.call('PUT', `collectors/${bar.data._id}`, { cashiers: [cashier.userId] })
  const made = await boss.client.post<Device>('till-devices', { name: 'Pub', collector: bar.data._id })
  const elsewhere = new Client(host.baseUrl)
  await elsewhere.post('till/enrol', { enrolmentCode: made.data.enrolmentCode })
  assert.equal((await signIn(elsewhere, cashier)).status, 200)
  const sold = await sell(elsewhere, { merchantIdentifier: bar.data._id })
  await host.db.run(sql`
    update orders set status = 'PAID', paid_at = now(), paid_units = to_units where code = ${sold.data.code}`)
  const shiftAt = async (one: Client) => {
    const { data } = await one.get<{ created: number; sums: unknown[] }>('till/shift')
    return [data.created, data.sums.length]
  }
  assert.deepEqual(
    [await shiftAt(device), await shiftAt(elsewhere)],
    [
      [0, 0],
      [1, 1],
    ],
  )
})

test('whoever signs in again goes on with the shift; a session that ended, or that nobody used, begins none', async () => {
  const { device } = await enrol()
  const started = async () => (await device.get<{ startedAt: string; created: number }>('till/shift')).data
  await signIn(device, cashier)
  await sell(device)
  const first = await started()
  for (let count = 0; count < 2; count += 1) {
    await signIn(device, cashier)
    assert.deepEqual(await started(), first)
  }
  assert.equal(first.created, 1)
  await host.db.run(
    sql`update sessions set idle_expires_at = now() where user_id = ${cashier.userId} and kind = 'till'`,
  )
  await signIn(device, cashier)
  const second = await started()
  assert.deepEqual([second.created, second.startedAt > first.startedAt], [0, true])
  const out = await device.post('auth/sign-out', undefined, { 'x-user-id': cashier.userId })
  assert.equal(out.status, 200, out.text)
  await signIn(device, cashier)
  assert.ok((await started()).startedAt > second.startedAt)
  // another device is another shift
  const { device: other } = await enrol()
  await signIn(other, cashier)
  assert.equal((await other.get<{ created: number }>('till/shift')).data.created, 0)
})

test('a shift counts the paid part of a price that a manager accepted, and nothing above a price', async () => {
  const { device } = await enrol()
  await signIn(device, cashier)
  for (const [came, above] of [
    [0.5, 0],
    [1.5, 0.5],
  ]) {
    const { code } = (await sell(device, { amount: '50.00' })).data
    await host.db.run(sql`
      update orders set status = 'PAID', paid_at = now(), payment_id = id, paid_units = to_units * ${came}::numeric
      where code = ${code}`)
    await host.db.run(sql`
      insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, created_at,
        updated_at)
      select company_id, id, id, id, 'over', 'USDC', to_units * ${above}::numeric, id, now(), now()
      from orders where code = ${code} and ${above}::numeric > 0`)
  }
  const { data } = await device.get<{ sums: unknown[] }>('till/shift')
  assert.deepEqual(data.sums, [{ asset: 'EUR', paid: 2, amount: '75.00', received: '81.000000' }])
})

test('the customer’s screen shows what a cashier sells there, not what a stranger orders by the till’s printed code', async () => {
  const { device } = await enrol()
  await signIn(device, cashier)
  const sale = await sell(device)
  const body = { name: 'Tip jar', merchantIdentifier: collector, currency: 'EUR' }
  const { url } = (await boss.client.post<{ url: string }>('static-links', body)).data
  const nonce = /name="nonce" value="([^"]+)"/.exec(await (await fetch(url)).text())?.[1] ?? ''
  const form = new URLSearchParams({ nonce, amount: '1.00' })
  const made = await fetch(url, { method: 'POST', redirect: 'manual', body: form })
  assert.match(made.headers.get('location') ?? '', /code=/)
  const display = await device.get<{ order: { code: string } }>('till/display')
  assert.equal(display.data.order.code, sale.data.code)
})

test('what a manager who sells at the till orders in the back office is neither on its customer’s screen nor in the shift', async () => {
  await boss.client.call('PUT', 'users/me/till-pin', { pin: '735190' })
  const { device } = await enrol()
  await signIn(device, boss, '735190')
  const sale = await sell(device)
  const invoice = await sell(boss.client, { amount: '480.00' })
  assert.deepEqual([sale.status, invoice.status], [200, 200])
  const display = await device.get<{ order: { code: string } }>('till/display')
  assert.equal(display.data.order.code, sale.data.code)
  const { data } = await device.get<{ created: number }>('till/shift')
  assert.equal(data.created, 1)
  // an older node beside this one says nothing about it: its sales are shown
  await host.db.run(sql`update orders set at_till = null where code = ${invoice.data.code}`)
  assert.equal((await device.get<{ order: { code: string } }>('till/display')).data.order.code, invoice.data.code)
})

test('a sale that was refunded in part does not read as refunded', async () => {
  const { stateOf } = (await import(new URL('../web/till/states.js', import.meta.url).href)) as {
    stateOf(status: string): keyof (typeof TEXTS)['en']['till']['states']
  }
  for (const { till } of Object.values(TEXTS)) {
    const [part, whole] = ['REFUNDED', 'FULL_REFUNDED'].map((status) => till.states[stateOf(status)])
    assert.ok(part && whole && part !== whole)
  }
})

test('the same sale sent twice is one order, also when the first answer was lost or the token was renewed between', async () => {
  const { device } = await enrol()
  await signIn(device, cashier)
  const key = { 'idempotency-key': 'sale-1' }
  const sold = await inParallel(8, () => sell(device, { amount: '7.00' }, key))
  const renewed = await device.post<{ token: string }>('auth/refresh-token', undefined, { 'x-user-id': cashier.userId })
  device.token = renewed.data.token
  const three = await sell(device, { amount: '7.00' }, key)
  assert.equal(three.status, 200, three.text)
  const codes = [...sold, three].flatMap((answer) => (answer.status === 200 ? [answer.data.code] : []))
  assert.ok(codes.length >= 2 && new Set(codes).size === 1, codes.join())
  const { count } = await host.db.one<{ count: number }>(sql`
    select count(*)::int as count from orders where from_units = 700 and from_asset = 'EUR'`)
  assert.equal(count, 1)
})

test('a sale taken over is the order of whoever sends it, and its history names the colleague', async () => {
  const { device } = await enrol()
  const colleague = await hire()
  await give(cashier, colleague)
  await signIn(device, cashier)
  const sellFor = (client: Client, seller: string, key: string) =>
    client.call<Order>(
      'POST',
      `/api/next/confirm_conversion/request?soldBy=${seller}`,
      { amount: '7.10', fromAsset: 'EUR', merchantIdentifier: collector },
      { 'idempotency-key': key },
    )
  const sellerIn = async (code: string): Promise<string[]> => {
    const story = await boss.client.get<{ entries: { facts: { soldBy?: string | null } }[] }>(
      `confirm_conversion/story/${code}`,
    )
    return story.data.entries.flatMap(({ facts: { soldBy } }) => soldBy ?? [])
  }
  const made = await sellFor(device, colleague.userId, 'taken-1')
  const { createdBy } = await host.db.one<{ createdBy: string }>(sql`
    select created_by from orders where code = ${made.data.code}`)
  assert.equal(createdBy, cashier.userId)
  assert.equal((await sellerIn(made.data.code)).length, 1)
  // the colleague's own request had arrived: its order stays
  const own = await sell(device, { amount: '7.10' }, { 'idempotency-key': 'taken-2' })
  assert.equal((await sellFor(device, colleague.userId, 'taken-2')).data.code, own.data.code)
  assert.deepEqual(await sellerIn(own.data.code), [])
  // oneself is no colleague, a stranger is not named, and the back office takes nothing over
  const stranger = await registerManager(host.baseUrl)
  for (const [client, seller, key] of [
    [device, cashier.userId, 'taken-3'],
    [device, stranger.userId, 'taken-4'],
    [boss.client, colleague.userId, 'taken-5'],
  ] as const)
    assert.deepEqual(await sellerIn((await sellFor(client, seller, key)).data.code), [], key)
  assert.equal((await sellFor(device, 'me', 'taken-6')).status, 422)
})

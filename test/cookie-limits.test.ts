import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { sql } from '../src/db/db.ts'
import { openRateLimits } from '../src/http/limits/rate-limits.ts'
import { buildServer } from '../src/http/server.ts'
import { MINUTE, SECOND } from '../src/kernel/clock.ts'
import { Client, countStatuses, logIn, type Person, register, registerManager } from './harness/accounts.ts'
import { startTestService, type TestService } from './harness/service.ts'

/* Calls whose cookie says who calls: what others at the same address, such as guests of a café, take from them. */

const PIN = '402817'
let offsetMs = 0
const clock = (): number => Date.now() + offsetMs
let host: TestService
before(async () => {
  const env = { LIMIT_ACCOUNT_PER_MINUTE: '10', LIMIT_ADDRESS_PER_MINUTE: '30', TRUST_PROXY: '127.0.0.1' }
  host = await startTestService({ clock, env, workers: true })
})
after(() => host?.stop())

const from = (address: string) => ({ 'x-forwarded-for': address })
const nextMinute = (): void => {
  offsetMs += 61 * SECOND
}

type Shop = { boss: Person; cashier: Person; collector: string }

async function openShop(): Promise<Shop> {
  nextMinute()
  const { baseUrl, db } = host
  const boss = await registerManager(baseUrl)
  const cashier = await register(baseUrl, { role: 'Cashier', companyName: boss.companyId })
  await boss.client.post(`users/${cashier.userId}/approve`)
  await db.run(sql`update sessions set second_factor_at = ${new Date(clock())}`)
  const set = await cashier.client.call('PUT', 'users/me/till-pin', { pin: PIN })
  assert.equal(set.status, 200, set.text)
  const tills = await boss.client.get<{ collectors: { _id: string }[] }>('collectors/list')
  const collector = tills.data.collectors[0]?._id ?? ''
  await boss.client.call('PUT', `collectors/${collector}`, { cashiers: [cashier.userId] })
  return { boss, cashier, collector }
}

async function enrol({ boss, collector }: Shop, address: string): Promise<Client> {
  const made = await boss.client.post<{ enrolmentCode: string }>('till-devices', { name: 'Counter', collector })
  const device = new Client(host.baseUrl)
  const done = await device.post('till/enrol', { enrolmentCode: made.data.enrolmentCode }, from(address))
  assert.equal(done.status, 200, done.text)
  return device
}

const signIn = (device: Client, { cashier }: Shop, address: string) =>
  device.post<{ token: string }>('till/sign-in', { user: cashier.userId, pin: PIN }, from(address))

const look = (device: Client, address: string) => device.call('GET', 'till/display', undefined, from(address))

/** Somebody at that address who has no cookie, or a guessed one. */
function guestAt(address: string, cookies: Record<string, string> = {}): Client {
  const guest = new Client(host.baseUrl)
  for (const [name, value] of Object.entries(cookies)) guest.cookies.set(name, { value, attributes: '' })
  const { call } = guest
  guest.call = (method, path, body, headers) =>
    call.call(guest, method, path, body, { ...headers, ...from(address) }) as never
  return guest
}

test('four tills and their customers’ screens behind one address work on, and a cashier’s token is renewed', async () => {
  const address = '203.0.113.8'
  const shop = await openShop()
  const devices: Client[] = []
  for (let count = 0; count < 4; count += 1) devices.push(await enrol(shop, address))
  const [till] = devices as [Client]
  assert.equal((await signIn(till, shop, address)).status, 200)
  nextMinute()
  // a minute of web/till/display.js
  const seen: { status: number }[] = []
  for (let count = 0; count < 40; count += 1) for (const screen of devices) seen.push(await look(screen, address))
  assert.deepEqual(countStatuses(seen), { 200: 160 })
  const renewed = await till.post('auth/refresh-token', undefined, {
    ...from(address),
    'x-user-id': shop.cashier.userId,
  })
  assert.equal(renewed.status, 200, renewed.text)
})

test('a device makes 120 calls a minute from however many addresses; the next ones say how long to wait', async () => {
  const shop = await openShop()
  const device = await enrol(shop, '203.0.113.20')
  nextMinute()
  const seen: { status: number }[] = []
  for (let count = 0; count < 121; count += 1) seen.push(await look(device, `198.51.100.${count}`))
  assert.deepEqual(countStatuses(seen), { 200: 120, 429: 1 })
  const refused = await look(device, '203.0.113.20')
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  nextMinute()
  assert.equal((await look(device, '203.0.113.20')).status, 200)
})

test('a guest without a cookie, or with guessed ones, keeps no one at the address from renewing a session', async () => {
  const address = '203.0.113.9'
  const { email } = await registerManager(host.baseUrl)
  nextMinute()
  const [client, leaving] = [await logIn(host.baseUrl, email), await logIn(host.baseUrl, email)]
  const seen: { status: number }[] = []
  for (let count = 0; count < 124; count += 1) {
    const cookies: Record<string, string> =
      count % 2 ? { refreshToken: `guess${count}`, tillDevice: `guess${count}` } : {}
    const guest = guestAt(address, cookies)
    const asked = ['auth/refresh-token', 'auth/sign-out', 'till/device', 'till/display'][(count >> 1) % 4] ?? ''
    seen.push(await (asked.startsWith('till') ? guest.get(asked) : guest.post(asked)))
  }
  // whoever signs out without a session is told that none ended
  const { 429: refused } = countStatuses(seen)
  assert.deepEqual([refused, seen.findIndex(({ status }) => status === 429)], [4, 120])
  const renewed = await client.post('auth/refresh-token', undefined, from(address))
  assert.equal(renewed.status, 200, renewed.text)
  const left = await leaving.post('auth/sign-out', undefined, from(address))
  assert.deepEqual([left.status, left.data], [200, { disconnected: true }])
})

test('behind an address that guesses, a session that has ended is told so, and is forgotten', async () => {
  const address = '203.0.113.12'
  const { email } = await registerManager(host.baseUrl)
  nextMinute()
  const client = await logIn(host.baseUrl, email)
  await host.db.run(sql`update sessions set revoked_at = now() where user_id = ${client.userId}`)
  for (let count = 0; count < 121; count += 1) await guestAt(address).post('auth/refresh-token')
  const ended = await client.post('auth/refresh-token', undefined, from(address))
  assert.deepEqual([ended.status, client.cookies.has('refreshToken')], [401, false])
})

test('behind an address that guesses, a till that was revoked is told so, and is forgotten', async () => {
  const address = '203.0.113.18'
  const shop = await openShop()
  const [device, other] = [await enrol(shop, address), await enrol(shop, address)]
  const { data } = await device.call<{ device: { _id: string } }>('GET', 'till/device', undefined, from(address))
  const revoked = await shop.boss.client.call('DELETE', `till-devices/${data.device._id}`)
  assert.equal(revoked.status, 200, revoked.text)
  for (let count = 0; count < 121; count += 1) await guestAt(address).get('till/display')
  assert.deepEqual([(await look(device, address)).status, (await look(other, address)).status], [401, 200])
  assert.equal((await signIn(device, shop, address)).status, 401)
  const asked = await device.call('GET', 'till/device', undefined, from(address))
  assert.deepEqual([asked.status, device.cookies.has('tillDevice')], [401, false])
})

test('a guest who has no enrolled device does not keep the cashiers from signing in', async () => {
  const address = '203.0.113.10'
  const shop = await openShop()
  const device = await enrol(shop, address)
  const seen: { status: number }[] = []
  for (let count = 0; count < 32; count += 1)
    seen.push(await signIn(guestAt(address, count % 2 ? { tillDevice: `tld_${count}` } : {}), shop, address))
  assert.deepEqual(countStatuses(seen), { 401: 30, 429: 2 })
  for (let count = 0; count < 30; count += 1) assert.equal((await signIn(device, shop, address)).status, 200)
  assert.equal((await signIn(device, shop, address)).status, 429, 'the thirty-first of one device')
})

test('cookies guessed at an address that used up its calls cost four look-ups a second', async (t) => {
  const address = '203.0.113.11'
  const shop = await openShop()
  const device = await enrol(shop, address)
  offsetMs += MINUTE
  for (let count = 0; count < 121; count += 1) await guestAt(address).get('till/display')
  const spy = t.mock.method(host.db, 'many')
  const startedMs = performance.now()
  const guesses = Array.from({ length: 40 }, (_, count) =>
    guestAt(address, { tillDevice: `tld_guess${count}` }).get('till/display'),
  )
  const [own, seen] = await Promise.all([look(device, address), Promise.all(guesses)])
  const lookUps = spy.mock.calls.filter((one) => JSON.stringify(one.arguments).includes('token_hash = any')).length
  assert.deepEqual([own.status, countStatuses(seen)], [200, { 429: 40 }])
  assert.ok(lookUps >= 1 && lookUps <= 1 + (performance.now() - startedMs) / 250, `${lookUps} look-ups`)
})

test('a guest who sends many guessed cookies at once holds up neither the tills nor the payers at the address', async () => {
  const address = '203.0.113.13'
  const shop = await openShop()
  const device = await enrol(shop, address)
  const merchant = await host.createMerchant()
  const body = { amount: '5.00', fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
  const { data } = await host.call<{ code: string }>('POST', 'request', { as: merchant, body })
  nextMinute()
  for (let count = 0; count < 121; count += 1) await guestAt(address).get('till/display')
  // next to another caller, an address has two turns
  let isOver = false
  const other = async (): Promise<void> => {
    while (!isOver) {
      await host.call('GET', `status/${data.code}`, { as: merchant })
      await sleep(200)
    }
  }
  const others = other()
  const guesses = Array.from({ length: 150 }, (_, count) =>
    guestAt(address, { tillDevice: `tld_guess${count}` }).get('till/display'),
  )
  await sleep(50)
  const own = await Promise.all([
    look(device, address),
    host.call('GET', `status/${data.code}`, { headers: from(address) }),
  ])
  isOver = true
  await others
  assert.deepEqual(countStatuses(own), { 200: 2 })
  assert.deepEqual(countStatuses(await Promise.all(guesses)), { 429: 150 })
})

test('a call that is refused for where it comes from, or for how it is written, counts as well', async () => {
  const address = '203.0.113.14'
  nextMinute()
  const seen: { status: number }[] = []
  for (let count = 0; count < 121; count += 1) {
    const headers = count % 2 ? { 'sec-fetch-site': 'cross-site' } : { 'x-user-id': 'wrong' }
    seen.push(await new Client(host.baseUrl).post('auth/refresh-token', undefined, { ...headers, ...from(address) }))
  }
  assert.deepEqual(countStatuses(seen), { 403: 60, 422: 60, 429: 1 })
})

test('the server refuses a route that counts by a cookie while nothing finds the owners of cookies', async () => {
  const app = await buildServer({
    config: { baseUrl: 'http://localhost', corsOrigins: [], trustProxy: [], logLevel: 'silent' },
    ...{ db: host.db, vault: host.vault, clock, metrics: new Registry() },
    limits: openRateLimits({ db: host.db, clock, limits: host.config.limits }),
    authenticate: async () => null,
  })
  const route = { config: { permission: 'till.device' } }
  assert.throws(() => app.get('/till', route, async () => null), /GET \/till counts by a cookie/)
  await app.close()
})

for (const what of ['a device', 'a session that has ended'])
  test(`calls refused for want of calls are looked up no more: the cookie of ${what}`, async (t) => {
    const address = '203.0.113.15'
    const shop = await openShop()
    const device = await enrol(shop, address)
    nextMinute()
    const cookies = new Map([...device.cookies, ...shop.boss.client.cookies].map(([name, { value }]) => [name, value]))
    await host.db.run(sql`update sessions set revoked_at = now() where user_id = ${shop.boss.userId}`)
    // each a new client: the answer takes the cookie away
    const ask = () => {
      const guest = guestAt(address, Object.fromEntries(cookies))
      return what === 'a device' ? guest.get('till/display') : guest.post('auth/sign-out')
    }
    const seen: { status: number }[] = []
    for (let count = 0; count < 120; count += 1) seen.push(await ask())
    const spy = t.mock.method(host.db, 'many')
    const refused = await Promise.all(Array.from({ length: 60 }, ask))
    const lookUps = spy.mock.calls.filter((one) =>
      / from (refresh_tokens|till_devices)/.test(JSON.stringify(one.arguments)),
    ).length
    assert.deepEqual([countStatuses(seen), countStatuses(refused), lookUps], [{ 200: 120 }, { 429: 60 }, 0])
  })

test('cookies of sessions that have ended use up the calls of their address, and are then looked up together', async (t) => {
  const address = '203.0.113.16'
  const { email } = await registerManager(host.baseUrl)
  nextMinute()
  const clients: Client[] = []
  for (let count = 0; count < 4; count += 1) clients.push(await logIn(host.baseUrl, email))
  await host.db.run(sql`update sessions set revoked_at = now() where user_id = ${clients[0]?.userId ?? ''}`)
  const values = clients.map((client) => client.cookies.get('refreshToken')?.value ?? '')
  const ask = (at: number) => guestAt(address, { refreshToken: values[at % 4] ?? '' }).post('auth/refresh-token')
  for (let count = 0; count < 120; count += 1) assert.equal((await ask(count)).status, 401)
  assert.equal((await guestAt(address).post('auth/refresh-token')).status, 429)
  const spy = t.mock.method(host.db, 'many')
  const startedMs = performance.now()
  const seen = await Promise.all(Array.from({ length: 40 }, (_, count) => ask(count)))
  const lookUps = spy.mock.calls.filter((one) => JSON.stringify(one.arguments).includes('refresh_tokens')).length
  assert.deepEqual(countStatuses(seen), { 401: 40 })
  assert.ok(lookUps <= 1 + (performance.now() - startedMs) / 250, `${lookUps} look-ups`)
})

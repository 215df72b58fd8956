import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { openAccounts } from '../src/assembly/accounts.ts'
import { sql } from '../src/db/db.ts'
import { systemContext } from '../src/http/request-context.ts'
import { openVault } from '../src/kernel/vault.ts'
import type { TillDevice } from '../src/tills/device-queries.ts'
import { signIn } from '../src/tills/pin-service.ts'
import { Client, logIn, PASSWORD, type Person, registerManager, totpOf } from './harness/accounts.ts'
import { createPaid, refundReaches, revert } from './harness/refunds.ts'
import { startTestService, TEST_MASTER_KEY, type TestService } from './harness/service.ts'
import { chainEnv, openShop, type Shop } from './harness/shop.ts'

/* The operator changes the master key: what the old one made and gave out is still good under MASTER_KEY_PREVIOUS. */

const NEXT = randomBytes(32)
let shop: Shop
let boss: Person
/** The node with the new key, which knows the old one. */
let next: TestService
/** The node after the old key was given up. */
let later: TestService

before(async () => {
  shop = await openShop()
  const { connectionString } = shop.host
  const env = chainEnv(shop.chain)
  boss = await registerManager(shop.host.baseUrl)
  await makeFresh()
  next = await startTestService({ env, connectionString, vault: openVault(NEXT, [TEST_MASTER_KEY]) })
})
after(async () => {
  await later?.stop()
  await next?.stop()
  await shop?.stop()
})

const makeFresh = () =>
  shop.host.db.run(sql`
    update sessions set second_factor_at = now() where user_id = ${boss.userId}`)

const at = (service: TestService, url: string | null): string => {
  const { pathname, search } = new URL(url ?? '')
  return `${service.baseUrl}${pathname}${search}`
}

const clientAt = (service: TestService, from?: Client): Client => {
  const client = new Client(service.baseUrl)
  for (const [name, cookie] of from?.cookies ?? []) client.cookies.set(name, cookie)
  return client
}

test('a payer’s link to a refund still opens', async () => {
  const order = await createPaid(shop)
  assert.equal((await revert(shop, order.code)).status, 200)
  const { addressUrl } = await refundReaches(shop, order.orderId, 'needs_address', false)
  assert.equal((await fetch(at(next, addressUrl))).status, 200)
  const wrong = at(next, addressUrl).replace(/token=./, (first) => (first === 'token=A' ? 'token=B' : 'token=A'))
  assert.equal((await fetch(wrong)).status, 404)
})

test('a form of a pay page that was open meanwhile is still accepted', async () => {
  const { code } = await shop.create()
  const page = await (await fetch(`${shop.host.baseUrl}/pay?code=${code}`)).text()
  const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const statusAfter = async (given: string): Promise<string> => {
    const body = new URLSearchParams({ code, token: given })
    await fetch(`${next.baseUrl}/pay/cancel`, { method: 'POST', redirect: 'manual', body })
    return (await next.call<{ status: string }>('GET', `status/${code}`)).data.status
  }
  assert.equal(await statusAfter('x'), 'INITIAL')
  assert.equal(await statusAfter(token), 'CANCELLED')
})

test('a request that is repeated after the change gets its first answer', async () => {
  const { merchantIdentifier } = shop.merchant
  const request = (amount: number) => ({
    as: shop.merchant,
    headers: { 'idempotency-key': 'before-the-change' },
    body: { amount, fromAsset: 'EUR', merchantIdentifier },
  })
  const first = await shop.host.call('POST', 'request', request(7))
  const again = await next.call('POST', 'request', request(7))
  assert.deepEqual([again.status, again.text], [200, first.text])
  assert.equal((await next.call('POST', 'request', request(8))).error.code, 'IDEMPOTENCY_KEY_REUSED')
})

test('a refresh whose answer was lost on the way to the change does not end the session', async () => {
  const client = await logIn(shop.host.baseUrl, boss.email)
  const repeated = clientAt(next, client)
  assert.equal((await client.post('auth/refresh-token')).status, 200)
  const answer = await repeated.post('auth/refresh-token')
  assert.equal(answer.status, 200, answer.text)
  assert.equal(repeated.cookies.get('refreshToken')?.value, client.cookies.get('refreshToken')?.value)
})

test('a cashier’s PIN still opens the till, and outlives the old key once it was used', async () => {
  const pin = '402817'
  const tills = await boss.client.get<{ collectors: { _id: string }[] }>('collectors/list')
  const collector = tills.data.collectors[0]?._id
  assert.equal((await boss.client.call('PUT', 'users/me/till-pin', { pin })).status, 200)
  const made = await boss.client.post<{ enrolmentCode: string }>('till-devices', { name: 'Bar', collector })
  const device = clientAt(next)
  assert.equal((await device.post('till/enrol', { enrolmentCode: made.data.enrolmentCode })).status, 200)
  const signIn = (client: Client, given = pin) => client.post('till/sign-in', { user: boss.userId, pin: given })
  const changedAt = async () => (await boss.client.get<{ changedAt: string }>('users/me/till-pin')).data.changedAt
  const before = await changedAt()
  assert.equal((await signIn(device, '918273')).error.code, 'INVALID_CREDENTIALS')
  later = await startTestService({ connectionString: shop.host.connectionString, vault: openLater() })
  assert.equal((await signIn(clientAt(later, device))).error.code, 'INVALID_CREDENTIALS', 'not yet used')
  assert.equal((await signIn(device)).status, 200)
  const opened = await signIn(clientAt(later, device))
  assert.equal(opened.status, 200, opened.text)
  assert.equal(await changedAt(), before, 'the PIN is the same')
})

test('a PIN that is changed while the old one is hashed by the new key stays changed', async () => {
  const { db } = next
  await makeFresh()
  assert.equal((await boss.client.call('PUT', 'users/me/till-pin', { pin: '735190' })).status, 200)
  const { auth } = openAccounts({ config: next.config, db, vault: openVault(NEXT, [TEST_MASTER_KEY]), clock: Date.now })
  const passwords: typeof auth.passwords = {
    ...auth.passwords,
    async hash(text) {
      await db.run(sql`update till_pins set pin_hash = 'changed' where user_id = ${boss.userId}`)
      return auth.passwords.hash(text)
    },
  }
  const device = await db.one<TillDevice>(sql`
    select id, company_id, collector_id from till_devices where company_id = ${boss.companyId}`)
  await signIn({ ...auth, passwords }, systemContext('visitor'), { device, userId: boss.userId, pin: '735190' })
  const { hash } = await db.one<{ hash: string }>(
    sql`select pin_hash as hash from till_pins where user_id = ${boss.userId}`,
  )
  assert.equal(hash, 'changed')
})

/** Seals with the new key; opens what the old one sealed, as if it were sealed again, and derives nothing from it. */
const openLater = () => ({ ...openVault(NEXT, [TEST_MASTER_KEY]), deriveAll: openVault(NEXT).deriveAll })

test('recovery codes still log in, each once', async () => {
  await makeFresh()
  const setup = await boss.client.post<{ otpauthUri: string }>('auth/2fa/setup')
  const otp = totpOf(setup.data.otpauthUri).generate({ timestamp: Date.now() - 30_000 })
  const enabled = await boss.client.post<{ recoveryCodes: string[] }>('auth/2fa/enable', { otp })
  const [recoveryCode] = enabled.data.recoveryCodes
  const answers: number[] = []
  for (let turn = 0; turn < 2; turn++) {
    const client = clientAt(next)
    await client.post('auth/login/manager', { email: boss.email, password: PASSWORD, origin: 'dashboard' })
    answers.push((await client.post('auth/otp', { recoveryCode })).status)
  }
  assert.deepEqual(answers, [200, 400])
})

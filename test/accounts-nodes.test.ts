import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { Client, logInSuperAdmin, newEmail, PASSWORD, readCode, register, registerManager } from './harness/accounts.ts'
import { startTestService, type TestService } from './harness/service.ts'

/*
 * Two nodes, each of which keeps what it read of a session for some seconds. Their clock stands still, so that nothing
 * grows too old while a test runs.
 */
let first: TestService
let second: TestService
const now = Date.now()
const clock = (): number => now

before(async () => {
  first = await startTestService({ clock, workers: true })
  const { connectionString } = first.db.pool.options as { connectionString: string }
  second = await startTestService({ clock, connectionString, env: { BASE_URL: first.baseUrl } })
})
after(async () => {
  await second.stop()
  await first.stop()
})

/** The same session at the other node. */
function elsewhere({ token }: Client): Client {
  const client = new Client(`http://127.0.0.1:${second.config.port}`)
  client.token = token
  return client
}

const KEY = { name: 'Server', scopes: ['refunds:write'] }
const stateOf = ({ status, error }: { status: number; error: { code: string } | null }) =>
  status === 200 ? 'done' : error?.code

test('a code that one node took counts at once at the other, which refused for the lack of it a moment before', async () => {
  const { client, email, userId, companyId } = await registerManager(first.baseUrl)
  await first.db.run(sql`update users set last_connection_at = now() where id = ${userId}`)
  const other = elsewhere(client)
  const person = { firstName: 'Ida', lastName: 'Neu', role: 'Manager' }
  const acts = [
    () => other.call('PUT', `companies/${companyId}`, { settlementAddress: `0x${'ab'.repeat(20)}` }),
    () => other.post('users', { ...person, email: newEmail() }),
    () => other.post('auth/2fa/setup'),
    // last: after this one the node has read the session again
    () => other.post('api-keys', KEY),
  ]
  for (const act of acts) assert.equal(stateOf(await act()), 'STEP_UP_REQUIRED', `${act}`)
  assert.equal((await client.post('auth/otp/email?stepUp=true', { email })).status, 200)
  const emailOtp = await readCode(first.baseUrl, email)
  assert.equal((await client.post('auth/otp?stepUp=true', { emailOtp })).status, 200)
  for (const act of acts) assert.equal(stateOf(await act()), 'done', `${act}`)
})

test('so does an operator’s, who makes another account of the operator', async () => {
  const admin = await logInSuperAdmin(first)
  const setFactor = (at: Date | null) =>
    first.db.run(sql`update sessions set second_factor_at = ${at} where user_id = ${admin.userId}`)
  await setFactor(null)
  const other = elsewhere(admin)
  const account = { firstName: 'Sue', lastName: 'Super', email: newEmail(), password: PASSWORD, role: 'SuperManager' }
  assert.equal(stateOf(await other.post('auth/register', account)), 'STEP_UP_REQUIRED')
  await setFactor(new Date(now))
  assert.equal(stateOf(await other.post('auth/register', account)), 'done')
})

test('so does the confirmed address, and the end of a session', async () => {
  const { client, userId } = await registerManager(first.baseUrl)
  const other = elsewhere(client)
  const confirm = (at: Date | null) => first.db.run(sql`update users set verified_at = ${at} where id = ${userId}`)
  await confirm(null)
  assert.equal(stateOf(await other.get('users')), 'FORBIDDEN')
  await confirm(new Date(now))
  assert.equal(stateOf(await other.get('users')), 'done')
  assert.equal(stateOf(await other.post('api-keys', KEY)), 'STEP_UP_REQUIRED')
  await first.db.run(sql`update sessions set revoked_at = now() where user_id = ${userId}`)
  assert.equal(stateOf(await other.post('api-keys', KEY)), 'UNAUTHORIZED', 'no code would help')
})

test('a SuperManager who lost a company at one node does nothing more for it at the other', async () => {
  const admin = await logInSuperAdmin(first)
  const { client: manager, companyId } = await registerManager(first.baseUrl)
  const { client, userId } = await register(first.baseUrl, { role: 'SuperManager' }, admin)
  const attach = (companies: (string | null)[]) => admin.call('PUT', `users/${userId}/companies`, { companies })
  assert.equal(stateOf(await attach([companyId])), 'done')
  const sale = { amount: '5', fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }
  const { code } = (await manager.post<{ code: string }>('confirm_conversion/request', sale)).data
  const path = `/api/next/confirm_conversion/payer-information/${code}`
  const other = elsewhere(client)
  assert.equal(stateOf(await other.get(path)), 'done')
  assert.equal(stateOf(await attach([])), 'done')
  for (const method of ['GET', 'DELETE']) assert.equal(stateOf(await other.call(method, path)), 'UNAUTHORIZED', method)
})

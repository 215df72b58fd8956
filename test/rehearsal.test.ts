import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '../src/db/db.ts'
import { beginLogin, Client, registerManager } from './harness/accounts.ts'
import { putCluster } from './harness/cluster.ts'
import { freePort } from './harness/free-port.ts'
import { newFolder, openOperator } from './harness/installation.ts'
import { startServed } from './harness/served.ts'
import { eventually, type Merchant, startTestService, type TestService } from './harness/service.ts'

/* A copy that is restored to try it out, with the settings of the service that goes on elsewhere. */

const places = newFolder()
const masterKey = randomBytes(32)
const LIVE = {
  ...{ MODE: 'live', BASE_URL: 'https://pay.example', LOG_LEVEL: 'warn', METRICS_TOKEN: 'scrape-me-please' },
  ...{ ACCEPT_RISK: 'no-mail,no-channel,embedded-database', MASTER_KEY: masterKey.toString('base64') },
}
const operator = openOperator(LIVE)
let host: TestService
let merchant: Merchant
before(async () => {
  host = await startTestService()
  merchant = await host.createMerchant()
})
after(async () => {
  await Promise.all([operator.close(), host.stop()])
  places.remove()
})

const body = () => ({ amount: 50, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier })

test('nothing that is due leaves a copy for a rehearsal, and what would reach anyone is refused', async () => {
  const { data } = await host.call<{ code: string; order: { _id: string } }>('POST', 'request', {
    as: merchant,
    body: body(),
  })
  const { _id: id } = data.order
  const pageOf = async (copied: TestService, path: string): Promise<[number, boolean]> => {
    const answer = await fetch(`${copied.baseUrl}${path}`, { redirect: 'manual' })
    return [answer.status, /rehearsal/.test(await answer.text())]
  }
  await host.db.run(sql`update orders set expires_at = now() - interval '1 minute' where id = ${id}`)
  const listStatus = () => host.db.many<{ status: string }>(sql`select status from orders where id = ${id}`)
  const { connectionString } = host
  const copy = await startTestService({ connectionString, vault: host.vault, workers: true, isRehearsal: true })
  try {
    const refused = await copy.call('POST', 'request', { as: merchant, body: body() })
    assert.deepEqual([refused.status, /rehearsal/.test(refused.error.message)], [503, true])
    // a GET that accepts the order and sends what the payer signed
    assert.deepEqual(await pageOf(copy, `/pay/x402/${data.code}`), [503, true])
    assert.deepEqual(await pageOf(copy, `/pay?code=${data.code}`), [200, false])
    const login = await copy.call('POST', '/api/next/auth/login', {
      body: { email: 'nobody@shop.example', password: 'wrong' },
    })
    assert.equal(/rehearsal/.test(JSON.stringify(login)), false)
    const ready = await fetch(`${copy.baseUrl}/readyz`)
    assert.deepEqual([ready.status, /rehearsal/.test(await ready.text())], [503, true])
    await sleep(3000)
    assert.deepEqual(await listStatus(), [{ status: 'INITIAL' }])
  } finally {
    await copy.stop()
  }
  // the same order, once the same database is no rehearsal
  const real = await startTestService({ connectionString, vault: host.vault, workers: true })
  try {
    await eventually(listStatus, ([order]) => order?.status === 'EXPIRED')
  } finally {
    await real.stop()
  }
})

/** Near a login, and no login: each would make or change an account, or mail its owner. */
const [OLD, NEW] = ['Market-Stall-7-Oranges', 'Market-Stall-8-Oranges']
const ADA = { firstName: 'Ada', lastName: 'Copy', email: 'copy@shop.example', password: OLD }
const STRANGER = [
  ['auth/register', { ...ADA, role: 'Manager', companyName: 'Copy' }],
  ['auth/reset-password/send', { email: ADA.email }],
  ['auth/reset-password/change', { token: 'a'.repeat(32), newPassword: NEW }],
  ['auth/verify-email', { token: 'a'.repeat(32) }],
] as const
const OWNER = [
  ['auth/verify-email/send', undefined],
  ['auth/password', { password: OLD, newPassword: NEW }],
  ['auth/2fa/setup', undefined],
  ['auth/passkeys/options', undefined],
  ['auth/sessions/revoke-others', undefined],
] as const

test('a copy for a rehearsal lets people in, and neither makes nor changes an account', async () => {
  const person = await registerManager(host.baseUrl)
  const port = String(await freePort())
  // the token is good where the service has the same address
  const env = { PORT: port, BASE_URL: host.baseUrl }
  const copy = await startTestService({
    env,
    connectionString: host.connectionString,
    vault: host.vault,
    isRehearsal: true,
  })
  const clientOf = (token: string | null): Client => {
    const client = new Client(`http://127.0.0.1:${port}`)
    client.token = token
    return client
  }
  try {
    for (const [path, sent] of STRANGER) assert.equal((await clientOf(null).post(path, sent)).status, 503, path)
    const owner = clientOf(person.client.token)
    for (const [path, sent] of OWNER) assert.equal((await owner.post(path, sent)).status, 503, path)
    assert.equal((await owner.get('users/me')).status, 200)
    const { userId, email } = person
    const login = await beginLogin(clientOf(null), email)
    assert.deepEqual([login.status, (login.data.user as { _id: string })._id], [200, userId])
    assert.deepEqual((await owner.post('auth/otp?stepUp=true', { otp: '000000' })).error.code, 'INVALID_OTP')
  } finally {
    await copy.stop()
  }
})

test('what restore --rehearsal puts there stays a rehearsal: start, doctor and reconcile know it', async () => {
  const [dataDir, to, backups] = ['source', 'copy', 'backups'].map((name) => join(places.path, name))
  assert.ok(dataDir && to && backups)
  putCluster(dataDir)
  const env = { ...LIVE, DATA_DIR: dataDir, PORT: String(await freePort()) }
  const source = startServed(env)
  await source.ready()
  const taken = await operator.run(['backup', '--to', backups], env, places.path).finally(() => source.end('SIGTERM'))
  assert.equal(taken.code, 0, taken.err)
  const args = ['restore', '--from', backups, '--data-dir', to, '--rehearsal']
  const done = await operator.run(args, {}, places.path)
  assert.equal(done.code, 0, done.err)
  assert.match(done.out, /It is a rehearsal: a service on it sends nothing/)
  const copy = { ...LIVE, DATA_DIR: to, PORT: String(await freePort()) }
  for (let start = 1; start <= 2; start += 1) {
    const served = startServed(copy)
    try {
      await eventually(
        async () => served.words(),
        (words) => words.includes('This database was restored for a rehearsal: no job runs'),
        60_000,
      )
      await served.ready()
      if (start === 1) continue
      const reconciled = await operator.run(['reconcile'], copy, places.path)
      assert.match(reconciled.err, /This is a rehearsal: no chain is read/)
      const kept: string[] = readdirSync(backups)
      // with the settings of the live service, and also to a place of its own: a backup of it would pass for a real one
      for (const to of [[], ['--to', join(places.path, 'elsewhere')]]) {
        const again = await operator.run(['backup', ...to, '--keep', '1'], { ...copy, BACKUP_TO: backups }, places.path)
        assert.equal(again.code, 1, again.out)
        assert.match(again.err, /This is a rehearsal: .*backup/)
      }
      assert.deepEqual(readdirSync(backups), kept)
      const doctor = await operator.run(['doctor'], copy, places.path)
      assert.match(doctor.out, /FAIL {2}rehearsal .*\n? *.*rehearsal/)
    } finally {
      await served.end('SIGTERM')
    }
  }
})

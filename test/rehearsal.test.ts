import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '../src/db/db.ts'
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
      const doctor = await operator.run(['doctor'], copy, places.path)
      assert.match(doctor.out, /FAIL {2}rehearsal .*\n? *.*rehearsal/)
    } finally {
      await served.end('SIGTERM')
    }
  }
})

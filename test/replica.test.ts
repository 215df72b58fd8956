import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { type Client, logInSuperAdmin } from './harness/accounts.ts'
import { putCluster } from './harness/cluster.ts'
import { newFolder } from './harness/installation.ts'
import { eventually, type Merchant, startTestService, type TestService } from './harness/service.ts'
import { copyAsStandby } from './harness/standby.ts'

/* A real streaming replica: a copy of the running server that follows its log. */
const places = newFolder()
const [first, second] = ['one', 'two'].map((name) => join(places.path, name)) as [string, string]
let primary: EmbeddedPostgres
let standby: EmbeddedPostgres
let admin: pg.Client
let service: TestService
let merchant: Merchant
let person: Client

before(async () => {
  const log = (): void => {}
  // run by root, both servers belong to another account, which must reach the first one's socket
  chmodSync(places.path, 0o711)
  putCluster(first)
  primary = await startEmbeddedPostgres({ dataDir: first, log })
  await copyAsStandby(primary, first, second)
  standby = await startEmbeddedPostgres({ dataDir: second, log })
  admin = new pg.Client({ connectionString: standby.connectionString })
  admin.on('error', () => {})
  await admin.connect()
  service = await startTestService({
    connectionString: primary.connectionString,
    workers: true,
    env: { DATABASE_REPLICA_URL: standby.connectionString, DATABASE_REPLICA_MAX_LAG_SECONDS: '3' },
  })
  merchant = await service.createMerchant()
  person = await logInSuperAdmin(service)
})
after(async () => {
  await service?.stop()
  await admin?.end()
  await standby?.stop()
  await primary?.stop()
  places.remove()
})

const create = async (): Promise<string> => {
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
  const { data, text } = await service.call<{ code: string }>('POST', 'request', { as: merchant, body })
  assert.ok(data, text)
  return data.code
}

const LIST = '/api/next/confirm_conversion'
const listed = async (): Promise<string[]> => {
  const { data, text } = await service.call<{ orders: { code: string }[] }>('GET', LIST, { as: merchant })
  assert.ok(data, text)
  return data.orders.map(({ code }) => code)
}
const downloaded = async (): Promise<string> => (await service.call('GET', 'download', { as: merchant })).text
const soldToday = async (): Promise<number> => {
  const path = `summary?days=1&companyId=${merchant.companyId}`
  const { data } = await person.get<{ days: { created: number }[] }>(path)
  return data.days.reduce((sum, { created }) => sum + created, 0)
}
const lag = async (): Promise<number> =>
  (await service.service.metrics.getSingleMetric('comptoir_replica_lag_seconds')?.get())?.values[0]?.value ?? Number.NaN

test('lists, downloads and statistics are read from the replica, and what decides about money is not', async () => {
  const early = await create()
  await eventually(lag, (seconds) => seconds < 3)
  await eventually(listed, (codes) => codes.includes(early))
  await admin.query('select pg_wal_replay_pause()')
  const late = await create()
  const [codes, file, count] = [await listed(), await downloaded(), await soldToday()]
  assert.deepEqual([codes.includes(late), file.includes(late), count], [false, false, 1])
  assert.ok(file.includes(early))
  const status = await service.call<{ status: string }>('GET', `status/${late}`, { as: merchant })
  assert.equal(status.data.status, 'INITIAL')
  assert.equal((await service.call('POST', `cancel/${late}`, { as: merchant })).status, 200)
})

test('a replica that is further behind than allowed is not read, and is again once it has caught up', async () => {
  const late = await create()
  await eventually(listed, (codes) => codes.includes(late), 10_000)
  assert.ok((await lag()) > 3)
  assert.ok((await downloaded()).includes(late))
  await admin.query('select pg_wal_replay_resume()')
  await eventually(lag, (seconds) => seconds < 3)
  assert.ok((await listed()).includes(late))
})

test('a replica that ends costs nobody an answer', async () => {
  const code = await create()
  await admin.end()
  await standby.stop()
  assert.ok((await listed()).includes(code))
  assert.ok((await downloaded()).includes(code))
  assert.equal(await soldToday(), 4)
})

test('a server that is no replica is not read', async () => {
  const wrong = await startTestService({
    connectionString: primary.connectionString,
    env: { DATABASE_REPLICA_URL: primary.connectionString },
  })
  try {
    const metric = wrong.service.metrics.getSingleMetric('comptoir_replica_lag_seconds')
    await eventually(
      async () => wrong.logLines.some((line) => line.includes('the replica is not read')),
      (seen) => seen,
    )
    assert.equal((await metric?.get())?.values[0]?.value, Number.POSITIVE_INFINITY)
  } finally {
    await wrong.stop()
  }
})

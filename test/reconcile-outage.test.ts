import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Providers, startProviders } from '../sandbox/providers/server.ts'
import { sql } from '../src/db/db.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { runOperator } from './harness/installation.ts'
import { payoutEnv } from './harness/refunds.ts'
import { eventually, type Merchant, startTestService, TEST_MASTER_KEY, type TestService } from './harness/service.ts'
import { chainEnv, type OrderData } from './harness/shop.ts'

/** A service that starts on a restored database, beside a provider that is away. */
let database: TestDatabase
let chain: TestChain
let providers: Providers
let host: TestService
let merchant: Merchant
let env: Record<string, string>

before(async () => {
  ;[database, chain] = await Promise.all([createTestDatabase(), startTestChain()])
  const port = await freePort()
  const wallet = {
    chainId: chain.chainId,
    usdcAddress: chain.usdcAddress,
    payerAddress: chain.payer,
    pay: async () => ({ txHash: '' }),
  }
  providers = await startProviders({ port: 0, chain: wallet, callbackBase: `http://127.0.0.1:${port}` })
  env = { ...chainEnv(chain), ...(await payoutEnv(chain)), ...providers.credentials, PORT: String(port) }
  host = await startTestService({ env, workers: true, connectionString: database.connectionString })
  merchant = await host.createMerchant()
})
after(async () => {
  await host?.stop()
  await Promise.all([providers?.stop(), chain?.stop()])
  await database?.drop()
})

async function tell(path: string, body: object): Promise<void> {
  const answer = await fetch(`${providers.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.ok(answer.ok, await answer.text())
}
const statusOf = async (code: string) => (await host.call<OrderData>('GET', `status/${code}`)).data.status
const refundOne = (code: string) => host.call('POST', `revert/${code}`, { as: merchant, body: { amount: '1' } })

async function createPaid(): Promise<string> {
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
  const { code } = (await host.call<{ order: OrderData }>('POST', 'request', { as: merchant, body })).data.order
  const accept = { as: merchant, body: { paymentChannel: 'binance' } }
  const { data } = await host.call<{ providerReference: string }>('POST', `accept/${code}`, accept)
  await tell(`/payments/${encodeURIComponent(data.providerReference)}/pay`, {})
  await eventually(
    () => statusOf(code),
    (status) => status === 'PAID',
  )
  return code
}

const operator = () => ({
  ...env,
  DATABASE_URL: database.connectionString,
  MASTER_KEY: TEST_MASTER_KEY.toString('base64'),
  BASE_URL: host.baseUrl,
})

/** The service stops, the database is marked as restored, and the service starts again. */
async function restore(): Promise<void> {
  // what the first start of a service writes
  await host.db.run(sql`insert into installation (mode, key_mark) values ('sandbox', 'test') on conflict do nothing`)
  await host.stop()
  const at = new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, '')
  const marked = await runOperator(['restore', '--already-done', at], operator())
  assert.equal(marked.code, 0, marked.err)
  host = await startTestService({ env, workers: true, connectionString: database.connectionString })
}

async function reconcile() {
  const mining = setInterval(() => void chain.mine().catch(() => {}), 300)
  const { code, out, err } = await runOperator(['reconcile', '--json'], operator())
  clearInterval(mining)
  assert.notEqual(out, '', err)
  const { faults, released } = JSON.parse(out) as { faults: string[]; released: boolean }
  return { code, faults, released }
}

test('after a restore nothing leaves before each provider was asked: one that is away keeps it held', async () => {
  const code = await createPaid()
  await restore()
  assert.equal((await refundOne(code)).error.code, 'BOOKS_DIFFER')
  await tell('/stories/outage', { provider: 'binance', seconds: 3600 })
  assert.deepEqual(await reconcile(), {
    code: 1,
    faults: ['binance: asked in vain about 1 paid payments'],
    released: false,
  })
  assert.equal((await refundOne(code)).error.code, 'BOOKS_DIFFER')
  await tell('/stories/outage', { provider: 'binance', seconds: 0.001 })
  assert.deepEqual(await reconcile(), { code: 0, faults: [], released: true })
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type Providers, startProviders } from '../sandbox/providers/server.ts'
import { claimOf } from '../src/checks/installation-checks.ts'
import { openDb, sql } from '../src/db/db.ts'
import { writeInstallation } from '../src/db/installation.ts'
import { findRestored, findUnreconciled, markRestored, updateReconciledRestore } from '../src/db/restored-queries.ts'
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
  const { connectionString } = database
  await writeInstallation(
    connectionString,
    claimOf({ mode: 'sandbox', previousMasterKeys: [], dataDir: '', databaseUrl: null }, TEST_MASTER_KEY),
  )
  await host.stop()
  const at = new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, '')
  const wrongKey = { ...operator(), MASTER_KEY: randomBytes(32).toString('base64') }
  const refuseWrongKey = async (...args: string[]): Promise<void> => {
    const { code, err } = await runOperator(args, wrongKey)
    assert.deepEqual([code, /MASTER_KEY is not the key of this database/.test(err)], [1, true], err)
  }
  await refuseWrongKey('restore', '--already-done', at)
  const marked = await runOperator(['restore', '--already-done', at], operator())
  assert.equal(marked.code, 0, marked.err)
  await refuseWrongKey('reconcile')
  host = await startTestService({ env, workers: true, connectionString })
}

async function reconcile(settings = operator()) {
  const mining = setInterval(() => void chain.mine().catch(() => {}), 300)
  const { code, out, err } = await runOperator(['reconcile', '--json'], settings)
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
  const withoutBinance = Object.fromEntries(Object.entries(operator()).filter(([name]) => !name.includes('BINANCE')))
  assert.deepEqual(await reconcile(withoutBinance as ReturnType<typeof operator>), {
    code: 1,
    faults: ['binance: asked in vain about 1 paid payments; the operator has no account there: set CHANNEL_BINANCE_…'],
    released: false,
  })
  await tell('/stories/outage', { provider: 'binance', seconds: 0.001 })
  assert.deepEqual(await reconcile(), { code: 0, faults: [], released: true })
})

test('a restore that is marked again before it is reconciled forgets nothing of the first mark', async () => {
  const own = await createTestDatabase()
  const db = openDb({ connectionString: own.connectionString, max: 1 })
  const readUpTo = (number: number) =>
    db.run(sql`
      insert into chain_heads (chain_id, number) values (31337, ${number})
      on conflict (chain_id) do update set number = excluded.number`)
  const mark = (day: string) =>
    db.tx((tx) =>
      markRestored(tx, { backupMadeAt: new Date(`2030-01-${day}`), restoredAt: new Date(`2030-02-${day}`) }),
    )
  const known = async () => {
    const { heads, skipped } = (await findRestored(db))?.facts ?? { heads: [], skipped: [] }
    const { backupMadeAt } = (await findUnreconciled(db)) ?? {}
    return [backupMadeAt?.getUTCDate(), heads.map(({ number }) => number), skipped.map(({ from, to }) => [from, to])]
  }
  try {
    await writeInstallation(
      own.connectionString,
      claimOf({ mode: 'sandbox', previousMasterKeys: [], dataDir: '', databaseUrl: null }, TEST_MASTER_KEY),
    )
    await db.run(sql`insert into deposit_keys (id, xpub, next_index) values ('key', 'xpub', 5)`)
    await readUpTo(100)
    await mark('10')
    await readUpTo(200)
    await mark('11')
    const both = [
      ['5', '1000005'],
      ['1000005', '2000005'],
    ]
    assert.deepEqual(await known(), [10, ['100'], both])
    await updateReconciledRestore(db, new Date())
    await mark('12')
    assert.deepEqual(await known(), [12, ['200'], [['2000005', '3000005']]])
  } finally {
    await db.close()
    await own.drop()
  }
})

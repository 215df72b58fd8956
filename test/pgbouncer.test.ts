import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { startTestChain } from './harness/chain.ts'
import { createTestDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { insertMerchantIn, newFolder, runOperator } from './harness/installation.ts'
import { findPgBouncer, startPgBouncer } from './harness/pgbouncer.ts'
import { startReceiver } from './harness/receiver.ts'
import { startServed } from './harness/served.ts'
import { callService, eventually, type Merchant, startTestService, TEST_MASTER_KEY } from './harness/service.ts'
import { chainEnv, FINAL_AFTER, type Instructions, type OrderData } from './harness/shop.ts'

const program = findPgBouncer()
if (!program) console.log('left out, not installed: PgBouncer (apt-get install pgbouncer)')

test('without prepared statements no setting outlives its transaction, and each transaction has its limits', async () => {
  const host = await startTestService({ env: { DATABASE_PREPARED: 'false' } })
  after(() => host.stop())
  const read = sql`select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement`
  const inside = await host.db.tx((tx) => tx.one(read))
  assert.deepEqual(inside, { lock: '5s', statement: '30s' })
  assert.deepEqual(await host.db.one(read), { lock: '0', statement: '0' })
  const { count } = await host.db.one<{ count: bigint }>(sql`select count(*) as count from pg_prepared_statements`)
  assert.equal(count, 0n)
})

const sellBehind = async (pgBouncer: string, t: TestContext): Promise<void> => {
  const [database, chain, receiver, port] = await Promise.all([
    createTestDatabase(),
    startTestChain(),
    startReceiver(),
    freePort(),
  ])
  const bouncer = await startPgBouncer(pgBouncer, database.connectionString)
  t.diagnostic(bouncer.version)
  const place = newFolder()
  const baseUrl = `http://127.0.0.1:${port}`
  const env = {
    ...{ ...chainEnv(chain), DATA_DIR: place.path, PORT: String(port), BASE_URL: baseUrl },
    ...{ DATABASE_URL: bouncer.connectionString, DATABASE_DIRECT_URL: database.connectionString },
    ...{ DATABASE_PREPARED: 'false', MASTER_KEY: TEST_MASTER_KEY.toString('base64') },
  }
  const served = startServed(env)
  t.after(async () => {
    await served.end()
    await Promise.all([bouncer.stop(), chain.stop(), receiver.close()])
    await database.drop()
    place.remove()
  })
  await served.ready()
  const merchant = await insertMerchantIn(database.connectionString)
  const call = <Data>(path: string, body?: object) =>
    callService<Data>(baseUrl, body ? 'POST' : 'GET', path, { as: merchant, ...(body && { body }) })
  const sale = orderOf(merchant, `${receiver.url}/hook`)
  // many more callers than the four connections that the bouncer has
  const made = await Promise.all(Array.from({ length: 60 }, () => call<{ order: OrderData }>('request', sale)))
  assert.deepEqual([...new Set(made.map(({ status }) => status))], [200])
  const code = made[0]?.data.order.code ?? ''
  const { data } = await call<Instructions>(`accept/${code}`, { paymentChannel: 'crypto' })
  await chain.pay({ to: data.toAddress, units: BigInt(data.tokenAmount.replace('.', '')) })
  await chain.mine(FINAL_AFTER)
  await eventually(
    async () => receiver.received.filter(({ body }) => body.includes(code)).length,
    (count) => count > 0,
  )
  const csv = await callService(baseUrl, 'GET', '/api/next/confirm_conversion/download', { as: merchant })
  assert.deepEqual([csv.status, csv.text.trim().split('\n').length], [200, 61])
  const books = await runOperator(['ledger', 'verify'], env)
  assert.deepEqual([books.code, /The books are right/.test(books.out)], [0, true], books.err)
}

if (program)
  test('behind PgBouncer in transaction mode the service starts, sells, is paid, sends webhooks and exports', (t) =>
    sellBehind(program, t))

const orderOf = ({ merchantIdentifier }: Merchant, webhookUrl: string) => ({
  ...{ amount: 50, fromAsset: 'EUR', merchantIdentifier, webhookUrl },
})

if (program)
  test('behind PgBouncer without DATABASE_PREPARED=false, doctor and the start name it', async (t) => {
    const database = await createTestDatabase()
    const place = newFolder()
    const bouncer = await startPgBouncer(program, database.connectionString)
    const served = startServed({
      ...{ DATABASE_URL: bouncer.connectionString, DATA_DIR: place.path, PORT: String(await freePort()) },
      ...{ MASTER_KEY: TEST_MASTER_KEY.toString('base64') },
      ...{ CHAIN_31337_RPC_URL: 'http://127.0.0.1:9', CHAIN_31337_USDC: `0x${'a'.repeat(40)}` },
    })
    t.after(async () => {
      await served.end()
      await bouncer.stop()
      await database.drop()
      place.remove()
    })
    const env = { DATABASE_URL: bouncer.connectionString, MASTER_KEY: TEST_MASTER_KEY.toString('base64') }
    const words =
      /The database refuses us: unsupported startup parameter: options\.\s+(→ )?Behind PgBouncer .+ set DATABASE_PREPARED=false/
    const doctor = await runOperator(['doctor'], env, place.path)
    assert.match(doctor.out, words)
    await assert.rejects(served.ready(), words)
  })

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { type Providers, startProviders } from '../sandbox/providers/server.ts'
import { withSandbox } from '../src/assembly/sandbox-settings.ts'
import { findUnknownPayouts } from '../src/chain/after-backup.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { claimOf } from '../src/checks/installation-checks.ts'
import { awaitComparable } from '../src/commands/backup/await-chain.ts'
import { loadConfig } from '../src/config/config.ts'
import { openDb, sql } from '../src/db/db.ts'
import { writeInstallation } from '../src/db/installation.ts'
import { findRestored, findUnreconciled, markRestored, updateReconciledRestore } from '../src/db/restored-queries.ts'
import { MINUTE } from '../src/kernel/clock.ts'
import { openVault } from '../src/kernel/vault.ts'
import { deriveAddress } from '../src/kernel/xpub.ts'
import { NO_DATA_DIR } from './harness/bare-env.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { type Operator, openOperator, runOperator } from './harness/installation.ts'
import { payoutEnv } from './harness/refunds.ts'
import { noteReconciled } from './harness/restored.ts'
import { startRpcProxy } from './harness/rpc-proxy.ts'
import { eventually, type Merchant, startTestService, TEST_MASTER_KEY, type TestService } from './harness/service.ts'
import { chainEnv, type OrderData } from './harness/shop.ts'

/** A service that starts on a restored database, beside a provider that is away. */
let commands: Operator
let database: TestDatabase
let chain: TestChain
let providers: Providers
let host: TestService
let merchant: Merchant
let env: Record<string, string>

before(async () => {
  commands = openOperator()
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
  await Promise.all([commands?.close(), providers?.stop(), chain?.stop()])
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
  DATA_DIR: NO_DATA_DIR,
  MASTER_KEY: TEST_MASTER_KEY.toString('base64'),
  BASE_URL: host.baseUrl,
})

/** One process runs them; one command below is typed, a process of its own. */
const run = (args: string[], settings: Record<string, string>) => commands.run(args, settings, process.cwd())

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
    const { code, err } = await run(args, wrongKey)
    assert.deepEqual([code, /MASTER_KEY is not the key of this database/.test(err)], [1, true], err)
  }
  const mark = ['restore', '--already-done', at]
  await refuseWrongKey(...mark, '--yes')
  const unasked = await run(mark, operator())
  assert.deepEqual([unasked.code, /everybody is logged out.*Nothing was done: add --yes/.test(unasked.err)], [1, true])
  const marked = await run([...mark, '--yes'], operator())
  assert.equal(marked.code, 0, marked.err)
  await refuseWrongKey('reconcile')
  host = await startTestService({ env, workers: true, connectionString })
}

type Outcome = { faults: string[]; released: boolean }

async function reconcile(settings: Record<string, string> = operator(), ...args: string[]) {
  const mining = setInterval(() => void chain.mine().catch(() => {}), 300)
  const { code, out, err } = await run(['reconcile', '--json', ...args], settings)
  clearInterval(mining)
  assert.notEqual(out, '', err)
  const { faults, released } = JSON.parse(out) as Outcome
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
  assert.deepEqual(await reconcile(withoutBinance), {
    code: 1,
    faults: [
      'binance: asked in vain about 1 paid payments; this command has no account of the operator there: give it the service’s CHANNEL_BINANCE_…',
    ],
    released: false,
  })
  await tell('/stories/outage', { provider: 'binance', seconds: 0.001 })
  assert.deepEqual(await reconcile(), { code: 0, faults: [], released: true })
  // once released, nothing is held again
  const { code: exitCode, out } = await run(['reconcile'], withoutBinance)
  assert.equal(exitCode, 1)
  assert.match(out, /\nRefunds and settlements go again\. Put right what is named above, and run this again\.\n/)
  assert.equal((await refundOne(code)).status, 200)
})

test('what was compared for one restore releases no later one, whose backup is another', async () => {
  const code = await createPaid()
  await restore()
  const first = run(['reconcile', '--json'], operator())
  // it waits for a block of after the restore
  await eventually(
    () =>
      host.db.many(sql`select 1 from pg_stat_activity
        where datname = current_database() and application_name = 'comptoir-reconcile' and query like '%chain_heads%'`),
    ({ length }) => length > 0,
  )
  const backupMadeAt = new Date(Date.now() - 2 * MINUTE)
  await host.db.tx((tx) => markRestored(tx, { backupMadeAt, restoredAt: new Date() }))
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const mining = setInterval(() => void chain.mine().catch(() => {}), 300)
  const { code: exitCode, out, err } = await first
  clearInterval(mining)
  assert.notEqual(out, '', err)
  const { faults, released } = JSON.parse(out) as Outcome
  const fault = 'the database was restored again meanwhile; run this again'
  assert.deepEqual({ exitCode, faults, released }, { exitCode: 1, faults: [fault], released: false })
  assert.deepEqual(await findUnreconciled(host.db), { backupMadeAt, isTakeover: false })
  assert.equal((await refundOne(code)).error.code, 'BOOKS_DIFFER')
  assert.deepEqual(await reconcile(), { code: 0, faults: [], released: true })
})

test('a node that lags behind the backup is not compared with: nothing goes, and it is named', async () => {
  const code = await createPaid()
  await chain.mine(5)
  await restore()
  const proxy = await startRpcProxy(chain.rpcUrl)
  proxy.faults.knowsUpTo = 1n
  try {
    for (const urls of [proxy.url, `${chain.rpcUrl},${proxy.url}`]) {
      const { faults, ...done } = await reconcile({ ...operator(), CHAIN_31337_RPC_URL: urls })
      assert.deepEqual(done, { code: 1, released: false })
      assert.match(
        faults.join(),
        /^chain 31337: Endpoint \d .* is at block 1, and the backup knows block \d+ already: .*/,
      )
    }
    assert.equal((await refundOne(code)).error.code, 'BOOKS_DIFFER')
  } finally {
    await proxy.stop()
  }
  assert.deepEqual(await reconcile(), { code: 0, faults: [], released: true })
  assert.equal((await refundOne(code)).status, 200)
})

test('a chain of the backup whose settings are missing holds all, until the operator says that it is gone', async () => {
  await host.db.run(sql`insert into chain_heads (chain_id, number) values (8453, 1000)`)
  await restore()
  const { faults, ...held } = await reconcile()
  assert.deepEqual(held, { code: 1, released: false })
  assert.match(faults.join(), /^chain 8453: .* block 1000, .* CHAIN_8453_RPC_URL, .* --without-chain 8453$/)
  for (const chainId of ['31337', '10', 'base']) {
    const { code, err } = await run(['reconcile', '--without-chain', chainId], operator())
    assert.deepEqual([code, new RegExp(`--without-chain ${chainId}: this is for`).test(err)], [2, true], err)
  }
  // as a worker of a service that has this chain does
  const read = (readAgo: string, leaseFor: string) =>
    host.db.run(sql`
      update chain_heads set advanced_at = now() - ${readAgo}::interval, scanned_at = now() - ${readAgo}::interval,
        lease_owner = 'worker', lease_until = now() + ${leaseFor}::interval
      where chain_id = 8453`)
  const tried = (ago: string) =>
    host.db.run(sql`update chain_heads set tried_at = now() - ${ago}::interval where chain_id = 8453`)
  for (const [readAgo, leaseFor, words] of [
    ['0 s', '-1 s', /^chain 8453: the service has read this chain since the restore.*\(CHAIN_8453_RPC_URL\)/],
    ['2 days', '1 minute', /^chain 8453: the service reads this chain: give this command its settings/],
  ] as const) {
    await read(readAgo, leaseFor)
    const refused = await reconcile(operator(), '--without-chain', '8453')
    assert.deepEqual([refused.code, refused.released, refused.faults.length], [1, false, 1])
    assert.match(refused.faults.join(), words)
  }
  // as a worker does whose nodes are down: it tries, and has no lease
  await read('2 days', '-1 s')
  await tried('1 minute')
  const tries = await reconcile(operator(), '--without-chain', '8453')
  assert.deepEqual([tries.code, tries.released], [1, false])
  assert.match(tries.faults.join(), /^chain 8453: the service reads this chain: .* three minutes after its start$/)
  await tried('4 minutes')
  assert.notEqual(await findUnreconciled(host.db), undefined)
  // by now it is silent for more than a day, though it was read after the restore
  await host.db.run(sql`update installation set restored_at = now() - interval '3 days'`)
  await read('2 days', '-1 s')
  const mining = setInterval(() => void chain.mine().catch(() => {}), 300)
  const { code, out } = await runOperator(['reconcile', '--without-chain', '8453'], operator())
  clearInterval(mining)
  assert.equal(code, 0, out)
  assert.match(out, /Chain 31337: blocks .* were compared.*Chain 8453: not compared, as you asked/s)
  assert.equal(await findUnreconciled(host.db), undefined)
  const entry = sql`select detail::jsonb->>'withoutChains' as without from audit_log where action = 'audit.reconciled'
    order by seq desc limit 1`
  assert.deepEqual(await host.db.one(entry), { without: '["8453"]' })
  await host.db.run(sql`delete from chain_heads where chain_id = 8453`)
})

test('a chain is compared once the service and each node have a block of after the restore', async () => {
  const { db } = host
  const { chainId, rpcUrl } = chain
  const proxy = await startRpcProxy(rpcUrl)
  await chain.mine()
  const known = await chain.blockNumber()
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const restoredAt = new Date()
  const awaitOn = (urls: readonly string[], silentMs = 1000) => {
    const rpcs = urls.map((url) => createRpc({ url }))
    const asked = { network: { chainId }, endpoints: openEndpoints({ chainId }, rpcs) }
    return awaitComparable({ db }, asked, { known, restoredAt, say: () => {}, silentMs })
  }
  try {
    await assert.rejects(awaitOn([rpcUrl]), /read up to block \d+ of 2.* what happened in between is not known/)
    await new Promise((resolve) => setTimeout(resolve, 1000))
    await chain.mine()
    assert.equal(await awaitOn([rpcUrl], 10_000), known + 1n)
    proxy.faults.knowsUpTo = known
    await assert.rejects(awaitOn([rpcUrl, proxy.url]), /Endpoint 2 .* at block \d+, and the service has read up to/)
    // what one shows that does not answer is not known
    proxy.faults.status = 503
    await assert.rejects(
      awaitOn([rpcUrl, proxy.url]),
      /Endpoint 2 of chain 31337 does not answer \(.*503.*\): .* not compared\. .*leave it out of CHAIN_31337_RPC_URL/,
    )
    setTimeout(() => proxy.heal(), 1500)
    assert.equal(await awaitOn([rpcUrl, proxy.url], 10_000), known + 1n)
    proxy.faults.status = 503
    await assert.rejects(awaitOn([proxy.url]), RpcError)
  } finally {
    await proxy.stop()
  }
})

test('what left after the backup is found where any endpoint shows it, and a transfer of nothing is not', async () => {
  const { chainId, usdcAddress, payer: wallet, rpcUrl } = chain
  const proxy = await startRpcProxy(rpcUrl)
  proxy.faults.hidesLogs = true
  const from = await chain.blockNumber()
  const txHash = await chain.pay({ to: `0x${'7'.repeat(40)}`, units: 5n })
  await chain.forge({ from: wallet, to: `0x${'cd'.repeat(20)}` })
  const range = { from, to: await chain.blockNumber() }
  const listOn = async (...urls: string[]) => {
    const rpcs = urls.map((url) => createRpc({ url }))
    const network = networkFor({ chainId, usdcAddress })
    const reader = { db: host.db, log: host.service.app.log, network, endpoints: openEndpoints({ chainId }, rpcs) }
    return (await findUnknownPayouts(reader, range, wallet)).map((one) => [one.txHash, one.units])
  }
  try {
    for (const urls of [[rpcUrl], [proxy.url, rpcUrl], [rpcUrl, proxy.url]])
      assert.deepEqual(await listOn(...urls), [[txHash, 5n]])
    // one that keeps no such old blocks says nothing, unless it is alone
    proxy.faults.refuses = ({ method }) => method === 'eth_getLogs'
    assert.deepEqual(await listOn(proxy.url, rpcUrl), [[txHash, 5n]])
    await assert.rejects(listOn(proxy.url), RpcError)
  } finally {
    await proxy.stop()
  }
})

test('providers that answer with a fault, or not at all, bring no settings', async () => {
  const server = createServer((_, response) => response.writeHead(503).end('{"error":"starting"}')).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sandbox = { ...loadConfig(operator()).sandbox, providersUrl: `http://127.0.0.1:${port}` }
  const vault = openVault(TEST_MASTER_KEY)
  const sandboxVault = { ...vault, deriveSandbox: vault.derive }
  const ask = () => withSandbox({ ...loadConfig(operator()), sandbox }, null, sandboxVault)
  try {
    await assert.rejects(ask(), /The sandbox does not answer at .* Start it first/)
    server.removeAllListeners('request').on('request', () => {})
    await assert.rejects(ask(), /The sandbox does not answer at .* Start it first/)
  } finally {
    server.closeAllConnections()
    server.close()
  }
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
    const first = await findRestored(db)
    await mark('11')
    assert.ok(first)
    assert.equal(await updateReconciledRestore(db, first, new Date()), 0, 'the first one counts for the second')
    const indexOn = (day: number) => `${((Date.UTC(2030, 1, day) - Date.UTC(2026, 0, 1)) / MINUTE) * 200}`
    const both = [
      ['5', indexOn(10)],
      [indexOn(10), indexOn(11)],
    ]
    assert.deepEqual(await known(), [10, ['100'], both])
    await noteReconciled(db)
    await mark('12')
    assert.deepEqual(await known(), [12, ['200'], [[indexOn(11), indexOn(12)]]])
  } finally {
    await db.close()
    await own.drop()
  }
})

test('money of orders after the backup is no sign of another installation, and each difference has its next step', async () => {
  // as before the first restore
  await host.db.run(sql`update installation set first_index = 0`)
  await restore()
  const xpub = env.CHAIN_31337_XPUB ?? ''
  await chain.pay({ to: deriveAddress(xpub, 1), units: 54_000_000n })
  const { code, err } = await run(['admin', 'confirm-addresses', '--chain', '31337'], operator())
  assert.equal(code, 1)
  assert.match(
    err,
    /0\/1 holds 54(\.0+)? USDC, and no order here had it: it came, most likely, to orders .* after the backup of/,
  )
  assert.doesNotMatch(err, /another installation or program/)
  const mining = setInterval(() => void chain.mine().catch(() => {}), 300)
  const reconciled = await run(['reconcile'], operator())
  clearInterval(mining)
  assert.equal(reconciled.code, 1)
  assert.match(
    reconciled.out,
    /Paid for an order that the backup does not know: 54\.0+ USDC.*\n {4}→ Ask the shops whose order/,
  )
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openAnchor, readAnchors } from '../src/audit/anchor.ts'
import { oneOfEach, runChecks } from '../src/checks/check.ts'
import { claimOf, outsideChecks, runDatabaseChecks, schemaCheck } from '../src/checks/installation-checks.ts'
import { loadConfig } from '../src/config/config.ts'
import { openDb, sql } from '../src/db/db.ts'
import { lockDataDir } from '../src/db/embedded/data-dir-lock.ts'
import { readInstallation, writeInstallation } from '../src/db/installation.ts'
import { logInSuperAdmin, registerManager } from './harness/accounts.ts'
import { makeCertificate } from './harness/certificates.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { type Operator, openOperator, runOperator } from './harness/installation.ts'
import { startTestService, TEST_MASTER_KEY, type TestService } from './harness/service.ts'
import { TEST_XPUB } from './harness/shop.ts'
import { startTlsDatabase } from './harness/tls-database.ts'

let host: TestService
let folder: string
let operator: Operator

before(async () => {
  operator = openOperator()
  host = await startTestService({ workers: true, env: { METRICS_TOKEN: 'scrape-me-please' } })
  folder = mkdtempSync(join(tmpdir(), 'comptoir-start-'))
})
after(async () => {
  await operator.close()
  await host?.stop()
  rmSync(folder, { recursive: true, force: true })
})

type Ran = { code: number | null; text: string; stdout: string }

async function run(args: string[], env: Record<string, string>): Promise<Ran> {
  const whole = { DATA_DIR: folder, PORT: '0', ...env }
  const { code, out, err } = await (args[0] === 'serve'
    ? runOperator(args, whole, folder)
    : operator.run(args, whole, folder))
  return { code, text: out + err, stdout: out }
}

const KEY = randomBytes(32).toString('base64')
const LIVE = {
  MODE: 'live',
  MASTER_KEY: KEY,
  BASE_URL: 'https://pay.example',
  OFFICE_URL: 'https://pay.example/app',
  SMTP_URL: 'smtp://127.0.0.1:1',
  METRICS_TOKEN: 'scrape-me-please',
  CHANNEL_GATEPAY_CLIENT_ID: 'client',
  CHANNEL_GATEPAY_SECRET: 'secret-of-gatepay',
}

/** Names of the risks that a start refused. */
const refusedRisks = ({ text }: Ran): string[] =>
  text
    .split('\n')
    .flatMap((line) => /ACCEPT_RISK=([a-z-]+)$/.exec(line)?.[1] ?? [])
    .sort()

const UNSAFE = {
  ...LIVE,
  MASTER_KEY: Buffer.alloc(32).toString('base64'),
  SMTP_URL: '',
  METRICS_TOKEN: '',
  CHANNEL_GATEPAY_CLIENT_ID: '',
  CHANNEL_GATEPAY_SECRET: '',
  CHANNEL_BINANCE_BASE_URL: 'http://binance.example',
  RATE_ECB_BASE_URL: 'http://rates.example',
  WEBHOOK_ALLOWED_RANGES: '0.0.0.0/0',
  LIMIT_ACCOUNT_PER_MINUTE: '0',
  AUTO_APPROVE: 'true',
  CHAIN_8453_RPC_URL: 'https://node.example',
  CHAIN_8453_REFUND_KEY: '11'.repeat(32),
  CHAIN_8453_RELAYER_KEY: '22'.repeat(32),
}
const ALL = [
  ...['auto-approve', 'embedded-database', 'http-provider', 'key-in-memory', 'limits-off', 'no-channel', 'no-mail'],
  ...['public-metrics', 'weak-master-key', 'webhook-any-address'],
]

test('a live start prints every risk at once, one line each that ends in its name, and writes nothing', async () => {
  const database = await createTestDatabase()
  try {
    const refused = await run(['serve'], UNSAFE)
    assert.equal(refused.code, 1)
    assert.deepEqual(refusedRisks(refused), ALL)
    for (const secret of ['11'.repeat(32), UNSAFE.MASTER_KEY]) assert.ok(!refused.text.includes(secret))
    const some = await run(['serve'], { ...UNSAFE, ACCEPT_RISK: 'no-mail,weak-master-key,limits-off' })
    assert.deepEqual(
      refusedRisks(some),
      ALL.filter((name) => !['no-mail', 'weak-master-key', 'limits-off'].includes(name)),
    )
    const embedded = await run(['serve'], { ...UNSAFE, BACKUP_TO: folder })
    assert.ok(!refusedRisks(embedded).includes('embedded-database'), 'a backup is as good as another database')
  } finally {
    await database.drop()
  }
})

test('no risk is taken for fixed rates, a private key as xpub, a misspelt variable, or a risk or channel that does not exist', async () => {
  const refused = await run(['serve'], {
    ...LIVE,
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    RATE_SOURCES: 'fixed',
    CHAIN_8453_RPC_URL: 'https://node.example',
    CHAIN_8453_XPUB: '33'.repeat(32),
    CHANNEL_GATEPAY_SECRT: 'x',
    ACCEPT_RISK: 'everything,no-mail',
    ORDER_CHANNEL_MINUTES: 'coinbase=40,crypto=20',
  })
  assert.equal(refused.code, 1)
  for (const line of [
    /RATE_SOURCES: "fixed" is for the sandbox/,
    /CHAIN_8453_XPUB: This is a PRIVATE key/,
    /CHANNEL_GATEPAY_SECRT: no such variable; did you mean CHANNEL_GATEPAY_SECRET\?/,
    /ACCEPT_RISK: there is no risk "everything"/,
    /ORDER_CHANNEL_MINUTES: there is no channel "crypto"; choose from binance, .*kucoinpay$/m,
  ])
    assert.match(refused.text, line)
  assert.ok(!refused.text.includes('33'.repeat(32)))
})

/** Tables and rows: whether anything was written. */
async function fingerprint(database: TestDatabase): Promise<unknown> {
  const service = await import('../src/db/db.ts')
  const db = service.openDb({ connectionString: database.connectionString, max: 1 })
  try {
    return await db.many(sql`
      select (select count(*) from migrations) as migrations, (select count(*) from server_keys) as keys,
        (select count(*) from companies) as companies, (select count(*) from users) as users,
        (select max(key_mark || mode) from installation) as mark`)
  } finally {
    await db.close()
  }
}

test('the other mode, and another key, are refused before anything is written; a key with its old one fits', async () => {
  const database = await createTestDatabase()
  try {
    const key = Buffer.from(KEY, 'base64')
    const claimed = claimOf({ mode: 'sandbox', previousMasterKeys: [], dataDir: '', databaseUrl: null }, key)
    await writeInstallation(database.connectionString, claimed)
    const before = await fingerprint(database)
    const live = await run(['serve'], { ...LIVE, DATABASE_URL: database.connectionString, ACCEPT_RISK: ALL.join(',') })
    assert.equal(live.code, 1)
    assert.match(live.text, /mode: The database belongs to a sandbox installation, and this start is live/)
    const other = randomBytes(32).toString('base64')
    const wrong = await run(['serve'], { DATABASE_URL: database.connectionString, MASTER_KEY: other })
    assert.equal(wrong.code, 1)
    assert.match(wrong.text, /master-key: MASTER_KEY is not the key of this database/)
    assert.ok(!wrong.text.includes(other))
    const admin = await run(['admin', 'rotate-keys', '--yes'], {
      DATABASE_URL: database.connectionString,
      MASTER_KEY: other,
    })
    assert.deepEqual([admin.code, /master-key:/.test(admin.text)], [1, true])
    const bare = join(folder, 'no-key')
    for (const args of [['serve'], ['admin', 'rotate-keys', '--yes']]) {
      const keyless = await run(args, { DATABASE_URL: database.connectionString, DATA_DIR: bare })
      assert.deepEqual([keyless.code, /master-key:/.test(keyless.text)], [1, true], keyless.text)
    }
    assert.equal(
      existsSync(join(bare, 'master.key')),
      false,
      'a key that fits nothing would be taken for the right one',
    )
    assert.deepEqual(await fingerprint(database), before)
    const next = randomBytes(32)
    const rotated = claimOf({ mode: 'sandbox', previousMasterKeys: [key], dataDir: '', databaseUrl: null }, next)
    const keyWords = async (): Promise<string | undefined> =>
      (await runDatabaseChecks({ connectionString: database.connectionString, prepared: true }, rotated)).find(
        ({ name }) => name === 'master-key',
      )?.message
    assert.match((await keyWords()) ?? '', /MASTER_KEY_PREVIOUS is still needed: the service has not started with the/)
    await writeInstallation(database.connectionString, rotated)
    assert.match((await keyWords()) ?? '', /No stored secret or text needs MASTER_KEY_PREVIOUS any more/)
    assert.equal((await readInstallation(database.connectionString))?.keyMark, rotated.keyMark)
  } finally {
    await database.drop()
  }
})

test('a database from before the mark was written down is known by what its key sealed', async () => {
  const env = { DATABASE_URL: host.db.connectionString, MASTER_KEY: KEY }
  const wrong = await run(['serve'], env)
  assert.deepEqual([wrong.code, /master-key: MASTER_KEY is not the key/.test(wrong.text)], [1, true], wrong.text)
  assert.equal((await readInstallation(host.db.connectionString))?.mode, null)
})

test('doctor says what to do for each fault, for programs too, and ends with 1; well is 0', async () => {
  const database = await createTestDatabase()
  try {
    const env = { DATABASE_URL: database.connectionString, MASTER_KEY: KEY }
    const well = await run(['doctor', '--json'], env)
    type Listed = { ready: boolean; checks: { name: string; ok: boolean; message: string; fix: string | null }[] }
    const list = JSON.parse(well.stdout) as Listed
    assert.deepEqual([well.code, list.ready], [0, true], well.text)
    for (const name of ['settings', 'database', 'mode', 'master-key', 'schema', 'clock', 'mail'])
      assert.ok(
        list.checks.some((check) => check.name === name && check.ok),
        name,
      )
    const secret = 'p4ssw0rd-in-url'
    const ill = await run(['doctor', '--json'], {
      ...{ ...LIVE, DATABASE_URL: database.connectionString, SMTP_URL: `smtp://user:${secret}@127.0.0.1:1` },
      ...{ CHANNEL_GATEPAY_BASE_URL: 'http://127.0.0.1:1', LIMIT_ACCOUNT_PER_MINUTE: '0' },
    })
    const ills = (JSON.parse(ill.stdout) as Listed).checks.filter(({ ok }) => !ok)
    assert.equal(ill.code, 1)
    const names = ills.map(({ name }) => name)
    for (const name of ['limits-off', 'http-provider', 'mail', 'provider channel_gatepay'])
      assert.ok(names.includes(name), names.join())
    for (const { fix, name } of ills) assert.ok(fix, `${name} says what to do`)
    assert.ok(!ill.text.includes(secret))
  } finally {
    await database.drop()
  }
})

test('a database of someone else’s is reached by TLS with its provider’s authority; what is wrong is said with what to do', async () => {
  const authority = makeCertificate({ name: 'Provider' })
  const certificate = makeCertificate({ name: 'db', hosts: ['localhost'], issuer: authority })
  const [managed, plain] = await Promise.all([
    startTlsDatabase(host.connectionString, certificate),
    startTlsDatabase(host.connectionString),
  ])
  const ca = join(folder, 'ca.pem')
  writeFileSync(ca, authority.cert)
  const migrate = (url: string) => run(['migrate'], { DATABASE_URL: url })
  try {
    const [whole, unknown, named, none, lost] = await Promise.all([
      migrate(managed.url(`sslmode=require&sslrootcert=${ca}`)),
      migrate(managed.url('sslmode=require')),
      migrate(managed.url(`sslmode=verify-full&sslrootcert=${ca}`, '127.0.0.1')),
      migrate(plain.url('sslmode=verify-full')),
      migrate(managed.url(`sslmode=verify-full&sslrootcert=${ca}.old`)),
    ])
    assert.deepEqual([whole.code, whole.text.trim()], [0, 'The schema is the newest already.'])
    assert.match(
      unknown.text,
      /^The certificate of the database does not hold: unable to .+\. Save the certificate authority .+sslrootcert=/,
    )
    assert.match(
      named.text,
      /^The certificate of the database does not hold: .+127\.0\.0\.1.+ Use the host name that stands in the cert/,
    )
    assert.match(none.text, /^The database refuses us: .+SSL.+\?sslmode=disable/)
    assert.match(lost.text, /DATABASE_URL: has sslrootcert=.+ca\.pem\.old, which cannot be read \(ENOENT\)/)
    assert.ok([unknown, named, none, lost].every(({ code }) => code === 1))
    const doctor = await run(['doctor'], { DATABASE_URL: managed.url('sslmode=require'), MASTER_KEY: KEY })
    assert.match(doctor.text, /FAIL {2}database +The certificate of the database does not hold/)
    assert.doesNotMatch(doctor.text, /schema/, 'what was not reached is not judged')
  } finally {
    await Promise.all([managed.stop(), plain.stop()])
  }
})

test('a role that may not make tables, as any but the owner since PostgreSQL 15, is told how it may', async () => {
  const database = await createEmptyDatabase()
  const role = `guest_${randomBytes(4).toString('hex')}`
  const owner = openDb({ connectionString: database.connectionString, max: 1 })
  try {
    await owner.run({ text: `create role ${role} login`, values: [], name: '' })
    const url = new URL(database.connectionString)
    url.username = role
    const { code, text } = await run(['migrate'], { DATABASE_URL: url.href })
    assert.equal(code, 1)
    assert.match(text, /^The database refuses us: permission denied for schema public\. Make the role .+ owner to/)
  } finally {
    await owner.run({ text: `drop role ${role}`, values: [], name: '' })
    await owner.close()
    await database.drop()
  }
})

test('every command explains itself with 0; wrong use is 2', async () => {
  for (const args of [
    ['--help'],
    ...['serve', 'migrate', 'doctor', 'admin', 'audit', 'ledger'].map((name) => [name, '--help']),
  ]) {
    const { code, stdout } = await run(args, {})
    assert.equal(code, 0, args.join(' '))
    assert.match(stdout, /comptoir/)
  }
  for (const args of [
    ['nonsense'],
    ['admin'],
    ['admin', 'nonsense'],
    ['audit', 'delete'],
    ['doctor', '--jsn'],
    ['serve', 'now'],
  ])
    assert.equal((await run(args, {})).code, 2, args.join(' '))
})

test('/readyz names its checks to anyone, and what to do to the operator; /metrics needs its token', async () => {
  const ready = await host.call<{ ready: boolean; checks: Record<string, unknown>[] }>('GET', '/readyz')
  assert.deepEqual(ready.data, {
    ready: true,
    checks: [
      { name: 'database', ok: true },
      { name: 'schema', ok: true },
    ],
  })
  const bearer = { headers: { authorization: 'Bearer scrape-me-please' } }
  const told = await host.call<typeof ready.data>('GET', '/readyz', bearer)
  assert.ok(told.data.checks.every((check) => 'message' in check && 'fix' in check))
  const admin = await logInSuperAdmin(host)
  assert.ok('message' in ((await admin.get<typeof ready.data>('/readyz')).data.checks[0] ?? {}))
  const { client } = await registerManager(host.baseUrl)
  assert.ok(!('message' in ((await client.get<typeof ready.data>('/readyz')).data.checks[0] ?? {})))
  for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
    const refused = await host.call('GET', '/metrics', { headers })
    assert.deepEqual([refused.status, refused.error.code], [401, 'UNAUTHORIZED'])
  }
  const { text } = await host.call('GET', '/metrics', bearer)
  for (const name of ['http_request_seconds', 'db_pool_waiting 0', 'jobs_parked 0', 'audit_entries'])
    assert.match(text, new RegExp(`comptoir_${name}`))
  await host.db.run(
    sql`update migrations set id = id || '_of_a_later_version' where id = (select max(id) from migrations)`,
  )
  const behind = await host.call<typeof ready.data>('GET', '/readyz')
  await host.db.run(sql`update migrations set id = replace(id, '_of_a_later_version', '')`)
  assert.deepEqual([behind.status, behind.data.checks.find(({ name }) => name === 'schema')?.ok], [503, false])
})

test('with METRICS_PORT the metrics are there, and not where everyone reaches the API', async () => {
  const { startMetricsServer } = await import('../src/http/health/metrics-server.ts')
  const apart = await startTestService({ env: { METRICS_PORT: String(await freePort()) } })
  const server = await startMetricsServer(apart.service.metrics, { host: '127.0.0.1', port: 0, token: () => null })
  try {
    assert.equal((await apart.call('GET', '/metrics')).status, 404)
    const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`)
    const text = await answer.text()
    // the second service of this process shows the process too
    for (const name of ['comptoir_http_bugs_total', 'nodejs_eventloop_lag_seconds', 'process_cpu_seconds_total'])
      assert.match(text, new RegExp(`^${name} [0-9.]+`, 'm'))
    assert.equal((await fetch(`http://127.0.0.1:${server.port}/readyz`)).status, 404)
  } finally {
    await server.close()
    await apart.stop()
  }
})

test('a tail of the audit log that was cut or rewritten by the database’s owner is found by the anchor', async () => {
  const file = join(folder, 'anchor.log')
  const { db } = host
  const log = { info: () => {} }
  const { Registry } = await import('prom-client')
  const metrics = new Registry()
  const anchor = openAnchor({ db, clock: Date.now, log, metrics, file })
  await registerManager(host.baseUrl)
  await anchor.note()
  await anchor.note()
  assert.equal(readAnchors(file).count, 1, 'only what changed is noted')
  await registerManager(host.baseUrl)
  await anchor.note()
  assert.equal(readAnchors(file).count, 2)
  // the disk is full in the middle of a line
  const [first = '', second = ''] = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, `${first}\n${second.slice(0, -20)}`)
  assert.equal(readAnchors(file).count, 1, 'the last line is truncated')
  await registerManager(host.baseUrl)
  await anchor.note()
  assert.equal(readAnchors(file).count, 2, 'the next one starts on a line of its own')
  const restart = async (): Promise<void> => {
    const again = openAnchor({ db, clock: Date.now, log, metrics: new Registry(), file })
    await again.note()
  }
  const truncate = (): void => truncateSync(file, statSync(file).size - 20)
  await restart()
  assert.equal(readAnchors(file).count, 2, 'a restart, or another worker, does not note the same head again')
  truncate()
  assert.equal(readAnchors(file).count, 1)
  await restart()
  assert.equal(readAnchors(file).count, 2, 'a restart with nothing new in the log after a truncated one')
  truncate()
  await restart()
  truncate()
  assert.equal(readAnchors(file).count, 1, 'two in a row')
  await restart()
  assert.equal(readAnchors(file).count, 2)
  writeFileSync(join(folder, 'other.log'), `${first}\ncut\n${second}\n`)
  assert.throws(() => readAnchors(join(folder, 'other.log')), /line 2: expected "time seq hash"/)
  const { count } = await db.one<{ count: number }>(sql`select count(*)::int as count from audit_log`)
  assert.match(await metrics.metrics(), new RegExp(`comptoir_audit_entries ${count}\\n`))
  const env = { DATABASE_URL: db.connectionString, MASTER_KEY: TEST_MASTER_KEY.toString('base64') }
  const genuine = await run(['audit', 'verify', '--anchor', file], env)
  assert.equal(genuine.code, 0, JSON.stringify(genuine))
  // with the whole database in hand: the last entry goes, and the head says that it never was
  await db.run(sql`alter table audit_log disable trigger all`)
  await db.run(sql`alter table audit_head disable trigger all`)
  await db.run(sql`delete from audit_log where seq = (select max(seq) from audit_log)`)
  await db.run(sql`update audit_head set (seq, hash) = (select seq, hash from audit_log order by seq desc limit 1)`)
  assert.equal((await run(['audit', 'verify'], env)).code, 0, 'the chain alone does not see it')
  const cut = await run(['audit', 'verify', '--anchor', file, '--json'], env)
  assert.equal(cut.code, 1)
  assert.match(cut.stdout, /cut off/)
  const anchors = readFileSync(file, 'utf8')
  writeFileSync(file, anchors.replace(/[0-9a-f]{64}/, 'a'.repeat(64)))
  const changed = await run(['audit', 'verify', '--anchor', file], env)
  assert.deepEqual([changed.code, /differs from its anchor/.test(changed.text)], [1, true])
  writeFileSync(file, '')
  assert.equal((await run(['audit', 'verify', '--anchor', file], env)).code, 1, 'an emptied anchor proves nothing')
})

/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:9'

test('every check that fails says what to do, and names it once', async () => {
  const file = join(folder, 'a-file')
  writeFileSync(file, '')
  const config = loadConfig({
    ...{ DATA_DIR: folder, BACKUP_TO: join(file, 'backups'), SMTP_URL: 'smtp://127.0.0.1:9' },
    ...{
      CHAIN_8453_RPC_URL: NOWHERE,
      CHAIN_8453_XPUB: TEST_XPUB,
      CHAIN_8453_RELAYER_KEY: '22'.repeat(32),
      RATE_ECB_BASE_URL: NOWHERE,
    },
    ...{ CHANNEL_GATEPAY_BASE_URL: NOWHERE, CHANNEL_GATEPAY_CLIENT_ID: 'client', CHANNEL_GATEPAY_SECRET: 'secret' },
    ...{ KYT_CHAINALYSIS_BASE_URL: NOWHERE, KYT_CHAINALYSIS_API_KEY: 'key', KYT_ORACLE_8453: `0x${'1'.repeat(40)}` },
  })
  const connectionString = 'postgres://nobody@127.0.0.1:9/none'
  const place = { connectionString, prepared: true }
  const outside = await runChecks(outsideChecks(config))
  const database = await runDatabaseChecks(place, claimOf(config, Buffer.alloc(32, 1)))
  const schema = await runChecks([schemaCheck(connectionString, config)])
  const failed = [...outside, ...database, ...schema].filter(({ ok }) => !ok)
  const names = failed.map(({ name }) => name)
  for (const name of ['backups', 'chain 8453', 'credentials gatepay', 'database', 'gas 8453', 'mail', 'schema'])
    assert.ok(names.includes(name), `${name}: ${names.join(', ')}`)
  assert.equal(new Set(names).size, names.length, names.join(', '))
  for (const { name, fix } of failed) {
    assert.match(fix ?? '', /[A-Z_]{4}|address|comptoir/, name)
    assert.doesNotMatch(fix ?? '', /See the message/, name)
  }
})

test('doctor names each currency that too few of the chosen sources price: its orders would be refused for ever', async () => {
  const look = async (sources: string, more: Record<string, string> = {}) => {
    const config = loadConfig({ DATA_DIR: folder, RATE_SOURCES: sources, RATE_MIN_SOURCES: '2', ...more })
    return outsideChecks(config)
      .find(({ name }) => name === 'rates')
      ?.run()
  }
  const few = await look('binance,bitstamp')
  assert.equal(few?.ok, false)
  assert.match(few.message, /: CHF \(no source\), USD \(bitstamp\), GBP \(no source\)\.$/)
  assert.match(few.fix ?? '', /RATE_SOURCES.* FIAT_ASSETS\..*: kraken, coinbase, coingecko, ecb\.$/)
  assert.equal((await look('binance,bitstamp', { FIAT_ASSETS: 'EUR,XPF' }))?.ok, true, 'XPF goes by EUR')
  assert.equal((await look('kraken,coinbase,ecb'))?.ok, true)
})

test('a check that throws or hangs ends with its own cure, and of two looks at one thing the failed one counts', async () => {
  const broken = { name: 'one', cure: 'Mend it.', run: () => Promise.reject(new Error('It broke.')) }
  const hanging = { name: 'two', cure: 'Wake it.', run: () => new Promise<never>(() => {}) }
  assert.deepEqual(await runChecks([broken, hanging], 20), [
    { name: 'one', ok: false, message: 'It broke.', fix: 'Mend it.' },
    { name: 'two', ok: false, message: 'No answer within 0.02 s.', fix: 'Wake it.' },
  ])
  const look = (ok: boolean, message: string) => ({ name: 'chain 1', ok, message, fix: null })
  assert.deepEqual(oneOfEach([look(true, 'a'), look(false, 'b'), look(false, 'c')]), [look(false, 'b')])
})

test('a taken port and a folder in use are found before anything is made', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const fresh = join(folder, 'fresh')
  const start = () => run(['serve'], { DATA_DIR: fresh, PORT: String(port) })
  const refused = await start()
  assert.equal(refused.code, 1)
  assert.match(refused.text, new RegExp(`Another program listens on 127.0.0.1:${port} already.*set PORT`))
  const lock = await lockDataDir(fresh)
  const locked = await start()
  lock.release()
  other.close()
  assert.match(locked.text, new RegExp(`Comptoir already runs on .*fresh as process ${process.pid}`))
  assert.deepEqual(readdirSync(fresh), [], 'no database, no key')
})

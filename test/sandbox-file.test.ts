import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { openVault } from '../src/kernel/vault.ts'
import { secretContext } from '../src/webhooks/outbox/webhook-secret.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { newFolder } from './harness/installation.ts'
import { type Served, startServed } from './harness/served.ts'
import { eventually } from './harness/service.ts'

/* What the sandbox hands out in sandbox.json, after a person changed something. */

const place = newFolder()
const [OLD, NEXT] = [randomBytes(32), randomBytes(32)]
let database: TestDatabase
let db: Db
let port: number

before(async () => {
  ;[database, port] = await Promise.all([createTestDatabase(), freePort()])
  db = openDb({ connectionString: database.connectionString, max: 1 })
})
after(async () => {
  await served?.end('SIGTERM')
  await db?.close()
  await database?.drop()
  place.remove()
})

type Facts = Record<string, unknown> & {
  baseUrl: string
  apiKey: string | null
  apiSecret: string | null
  usdcAddress: string
  buyButtonId: string
  manager: { email: string; password: string }
  webhookSigningSecret: string
}
/** Without the ports, which each start chooses. */
const listLasting = ({ providersUrl: _, rpcUrl: __, ...lasting }: Facts) => lasting
const readFacts = (): Facts => JSON.parse(readFileSync(join(place.path, 'sandbox.json'), 'utf8')) as Facts

let served: Served | undefined

/** The service with these keys, from now on. */
async function serve(keys: Record<string, string>, args: string[] = []): Promise<void> {
  await served?.end('SIGTERM')
  const env = { DATABASE_URL: database.connectionString, DATA_DIR: place.path, PORT: String(port), LOG_LEVEL: 'warn' }
  served = startServed({ ...env, ...keys }, { args })
  await served.ready()
}

const ask = (path: string, body?: object): Promise<Response> => {
  const { baseUrl, apiKey, apiSecret } = readFacts()
  return fetch(`${baseUrl}/api/next/${path}`, {
    method: body ? 'POST' : 'GET',
    headers: {
      ...{ 'x-api-key': apiKey ?? '', 'x-api-secret': apiSecret ?? '' },
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
}

const text = (key: Buffer): string => key.toString('base64')

test('after a change of the master key the demo is the same: its shop, its orders, its logins and its wallets', async () => {
  const order = { amount: '5', fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }
  await serve({ MASTER_KEY: text(OLD) })
  assert.equal((await ask('confirm_conversion/request', order)).status, 200)
  const first = readFacts()
  const look = async (): Promise<unknown> => {
    const { data } = (await (await ask('confirm_conversion')).json()) as { data: { total: number } }
    const login = await ask('auth/login/manager', { ...readFacts().manager, origin: 'dashboard' })
    const { companies } = await db.one<{ companies: bigint }>(sql`select count(*) as companies from companies`)
    return { total: data.total, login: login.status, companies, facts: listLasting(readFacts()) }
  }
  const same = { total: 1, login: 200, companies: 1n, facts: listLasting(first) }
  await serve({ MASTER_KEY: text(NEXT), MASTER_KEY_PREVIOUS: text(OLD) })
  assert.deepEqual(await look(), same)
  const { sealPrefix } = openVault(OLD)
  await eventually(
    () =>
      db.one<{ left: bigint }>(sql`select
        (select count(*) from server_keys where starts_with(sealed, ${sealPrefix}))
        + (select count(*) from companies where starts_with(webhook_secret_sealed, ${sealPrefix})) as left`),
    ({ left }) => left === 0n,
  )
  await serve({ MASTER_KEY: text(NEXT) })
  assert.deepEqual(await look(), same, 'the old key was given up')
})

test('sandbox.json follows a changed webhook secret and a revoked key, at once and after a restart', async () => {
  const { id } = await db.one<{ id: string }>(sql`select id from companies`)
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const sealed = openVault(NEXT).seal(secret, secretContext(id))
  const expected = { secret, apiKey: null, apiSecret: null }
  const found = () => {
    const { webhookSigningSecret, apiKey, apiSecret } = readFacts()
    return { secret: webhookSigningSecret, apiKey, apiSecret }
  }
  // the service of the test above
  await db.run(sql`update companies set webhook_secret_sealed = ${sealed}`)
  await eventually(
    async () => found().secret,
    (read) => read === secret,
  )
  await db.run(sql`update api_keys set revoked_at = now()`)
  await eventually(
    async () => found().apiKey,
    (read) => read === null,
  )
  assert.deepEqual(found(), expected)
  await serve({ MASTER_KEY: text(NEXT) }, ['--json'])
  assert.deepEqual(found(), expected)
})

test('serve --json prints what sandbox.json holds as one line, instead of the table', () => {
  // the service of the test above
  const words = served?.words() ?? ''
  const line = words.split('\n').find((one) => one.startsWith('{"ready":true,')) ?? ''
  const { mode, file, roles, ...facts } = JSON.parse(line) as Facts
  assert.deepEqual([mode, file, roles], ['sandbox', join(place.path, 'sandbox.json'), ['api', 'worker']])
  const known = readFacts()
  assert.deepEqual({ ...facts, ...known }, facts)
  assert.doesNotMatch(words, /Comptoir is ready|Ctrl-C/)
})

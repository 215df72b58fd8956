import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { claimOf, runDatabaseChecks } from '../src/checks/installation-checks.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { openVault } from '../src/kernel/vault.ts'
import { totpContext } from '../src/sessions/factors/totp.ts'
import { secretContext } from '../src/webhooks/outbox/webhook-secret.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { insertMerchantIn, newFolder, runOperator } from './harness/installation.ts'
import { startServed } from './harness/served.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'

/* The operator changes the master key, and gives up the old one. */

const place = newFolder()
const NEXT = randomBytes(32)
let database: TestDatabase
let db: Db

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 1 })
})
after(async () => {
  await db?.close()
  await database?.drop()
  place.remove()
})

const envWith = (key: Buffer, previous?: Buffer): Record<string, string> => ({
  ...{ MODE: 'live', BASE_URL: 'https://pay.example', METRICS_TOKEN: 'scrape-me-please', LOG_LEVEL: 'warn', PORT: '0' },
  ...{
    ACCEPT_RISK: 'no-mail,no-channel,weak-master-key',
    DATABASE_URL: database.connectionString,
    DATA_DIR: place.path,
  },
  MASTER_KEY: key.toString('base64'),
  ...(previous && { MASTER_KEY_PREVIOUS: previous.toString('base64') }),
})

/** Starts with these keys, works, and ends. */
async function whileServed(env: Record<string, string>, work: () => Promise<void>): Promise<string> {
  const served = startServed(env)
  try {
    await served.ready()
    await work()
  } finally {
    await served.end('SIGTERM')
  }
  return served.words()
}

async function doctorSays(env: Record<string, string>): Promise<{ ok: boolean; message: string } | undefined> {
  const { out } = await runOperator(['doctor', '--json'], env, place.path)
  const { checks } = JSON.parse(out) as { checks: { name: string; ok: boolean; message: string }[] }
  return checks.find(({ name }) => name === 'master-key')
}

test('after a change of the master key the old one can be given up: what it sealed was sealed again', async () => {
  const old = openVault(TEST_MASTER_KEY)
  const { companyId } = await insertMerchantIn(database.connectionString)
  const person = { SUPER_ADMIN_EMAIL: 'operator@pay.example', SUPER_ADMIN_PASSWORD: 'Correct-Horse-7-Battery' }
  await whileServed({ ...envWith(TEST_MASTER_KEY), ...person }, async () => {})
  const { userId } = await db.one<{ userId: string }>(sql`select id as user_id from users`)
  const totp = old.seal('JBSWY3DPEHPK3PXP', totpContext(userId))
  const waiting = old.seal('whsec_next', secretContext(companyId))
  await db.run(sql`update users set totp_sealed = ${totp}, totp_pending_sealed = ${totp} where id = ${userId}`)
  await db.run(sql`update companies set next_webhook_secret_sealed = ${waiting} where id = ${companyId}`)

  const both = envWith(NEXT, TEST_MASTER_KEY)
  const sealedByOld = async (): Promise<string[]> =>
    (
      await db.many<{ place: string }>(sql`
        select place from (
          select 'server_keys ' || purpose as place, sealed from server_keys
          union all select 'secret', webhook_secret_sealed from companies
          union all select 'next secret', next_webhook_secret_sealed from companies
          union all select 'totp', totp_sealed from users
          union all select 'pending totp', totp_pending_sealed from users
        ) as places where left(sealed, 12) = ${old.sealPrefix} order by 1`)
    ).map(({ place: found }) => found)
  const everywhere = ['access-token', 'audit', 'receipt', 'webhook-id'].map((purpose) => `server_keys ${purpose}`)
  assert.deepEqual(await sealedByOld(), ['next secret', 'pending totp', 'secret', ...everywhere, 'totp'])
  await whileServed(both, async () => void (await eventually(sealedByOld, (places) => places.length === 0)))
  assert.match(
    (await doctorSays(both))?.message ?? '',
    /No stored secret or text needs MASTER_KEY_PREVIOUS any more\. Without it, links .*, recovery codes .* and PINs/,
  )

  const words = await whileServed(envWith(NEXT), async () => {})
  assert.doesNotMatch(words, /unknown master key/)
  const { opened } = await db.one<{ opened: string }>(sql`select totp_sealed as opened from users where id = ${userId}`)
  assert.equal(openVault(NEXT).open(opened, totpContext(userId)), 'JBSWY3DPEHPK3PXP')
})

test('the old key is needed while it seals data about one payer, also before a migration made all tables', async () => {
  const previous = openVault(TEST_MASTER_KEY)
  const sealed = previous.seal('Ada', 'anything')
  const connecting = { connectionString: database.connectionString, prepared: true }
  const claimed = claimOf(
    {
      mode: 'live',
      previousMasterKeys: [TEST_MASTER_KEY],
      dataDir: place.path,
      databaseUrl: connecting.connectionString,
    },
    NEXT,
  )
  const says = async (): Promise<string> =>
    (await runDatabaseChecks(connecting, claimed)).find(({ name }) => name === 'master-key')?.message ?? ''
  const NOT = /No stored secret or text needs MASTER_KEY_PREVIOUS/
  const rows = [
    [sql`payer_information`, sql`insert into payer_information values ('c', 'o', ${sealed}, now())`],
    [
      sql`order_notes`,
      sql`insert into order_notes (company_id, order_id, id, sealed, author, created_at)
        values ('c', 'o', 'n', ${sealed}, 'user:x', now())`,
    ],
    [
      sql`kyc_records`,
      sql`with payer as (insert into kyc_payers values ('c', ${'0'.repeat(64)}))
        insert into kyc_records (company_id, id, payer_key, email_sealed, provider, status, created_at, updated_at)
        values ('c', ${'0'.repeat(24)}, ${'0'.repeat(64)}, ${sealed}, 'manual', 'pending', now(), now())`,
    ],
  ] as const
  assert.match(await says(), NOT)
  for (const [table, insert] of rows) {
    await db.run(insert)
    assert.match(await says(), /MASTER_KEY_PREVIOUS is still needed: the service seals its values again/)
    await db.run(sql`delete from ${table}`)
  }
  assert.match(await says(), NOT)
  await db.run(sql`alter table order_notes rename to not_yet`)
  assert.match(await says(), NOT)
  await db.run(sql`alter table not_yet rename to order_notes`)
})

test('migrate refuses another master key, as every other command does, and migrates nothing', async () => {
  const refused = await runOperator(['migrate'], envWith(randomBytes(32)), place.path)
  assert.equal(refused.code, 1)
  assert.match(refused.err, /master-key: MASTER_KEY is not the key of this database.*Set the MASTER_KEY/)
  const right = await runOperator(['migrate'], envWith(NEXT), place.path)
  assert.deepEqual([right.code, right.out], [0, 'The schema is the newest already.\n'], right.err)
})

test('without the old key nothing starts while it still seals something, and doctor says so', async () => {
  const sealed = openVault(TEST_MASTER_KEY).seal('JBSWY3DPEHPK3PXP', 'user:x:totp')
  await db.run(sql`update users set totp_sealed = ${sealed}`)
  await assert.rejects(
    whileServed(envWith(NEXT), async () => {}),
    /master-key: An earlier master key still seals values .* MASTER_KEY_PREVIOUS, until doctor/,
  )
  assert.equal((await doctorSays(envWith(NEXT)))?.ok, false)
  assert.match((await doctorSays(envWith(NEXT, TEST_MASTER_KEY)))?.message ?? '', /MASTER_KEY_PREVIOUS is still needed/)
})

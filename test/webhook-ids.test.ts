import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { deliveryId } from '../src/kernel/ids.ts'
import { openVault, type Vault } from '../src/kernel/vault.ts'
import { resealPlaces } from '../src/keys/reseal.ts'
import { openServerKeys, type ServerKeys } from '../src/keys/server-key-service.ts'
import { openWebhookIdKey } from '../src/webhooks/outbox/webhook-id-key.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { eventually } from './harness/service.ts'

/* A shop that remembers ids sends goods once for each: an event has its id for ever, whatever the master key is. */

const [OLD, NEXT] = [randomBytes(32), randomBytes(32)]
const PAID = { companyId: 'c', orderId: 'o', event: 'order.paid', refundId: null }
/** As a version derives it that has no row for it yet. */
const idOfBefore = (key: Buffer): string => deliveryId(openVault(key).derive('webhook-id'), PAID)

let database: TestDatabase
let db: Db

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 4 })
})
after(async () => {
  await db?.close()
  await database?.drop()
})

const openKeys = (vault: Vault): ServerKeys => openServerKeys({ db, vault, clock: systemClock })

async function idBy(vault: Vault, keys = openKeys(vault)): Promise<string> {
  await keys.prepare()
  return db.tx(async (tx) => deliveryId(await openWebhookIdKey(keys)(tx), PAID))
}

const forgetRow = () => db.run(sql`delete from server_keys where purpose = 'webhook-id'`)

test('an event keeps its id over a change of the master key, also once the old key is given up', async () => {
  const first = await idBy(openVault(OLD))
  const both = openVault(NEXT, [OLD])
  assert.equal(await idBy(both), first)
  assert.ok((await resealPlaces({ db, vault: both })) > 0)
  assert.equal(await idBy(openVault(NEXT)), first)
})

test('without a row, as before an update or in an older backup, ids are those of the key that sealed the others', async () => {
  await forgetRow()
  assert.equal(
    await idBy(openVault(NEXT, [OLD])),
    idOfBefore(NEXT),
    'changed before the update: as older nodes beside it',
  )
  await db.run(sql`delete from server_keys`)
  await openKeys(openVault(OLD)).prepare()
  await forgetRow()
  assert.equal(await idBy(openVault(NEXT, [OLD])), idOfBefore(OLD), 'a backup of before the change')
})

test('nodes that start at the same moment make one key', async () => {
  await db.run(sql`delete from server_keys`)
  const ids = await Promise.all([1, 2, 3, 4].map(() => idBy(openVault(OLD))))
  assert.deepEqual(new Set(ids), new Set([idOfBefore(OLD)]))
  const { rows } = await db.one<{ rows: bigint }>(
    sql`select count(*) as rows from server_keys where purpose = 'webhook-id'`,
  )
  assert.equal(rows, 1n)
})

test('a key that is missing in a transaction, because the start did not reach the database, is made for the next', async () => {
  await forgetRow()
  const keys = openKeys(openVault(OLD))
  const idOf = openWebhookIdKey(keys)
  await assert.rejects(db.tx(idOf), { code: 'DATABASE_UNAVAILABLE' })
  const key = await eventually(
    () => db.tx(idOf).catch(() => undefined),
    (found) => found !== undefined,
  )
  assert.equal(key && deliveryId(key, PAID), idOfBefore(OLD))
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { makeDemo } from '../src/companies/demo.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { openVaultOf } from '../src/keys/sandbox-vault.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { TEST_MASTER_KEY } from './harness/service.ts'

let database: TestDatabase
let db: Db

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 2 })
})
after(async () => {
  await db?.close()
  await database?.drop()
})

const hashed: string[] = []

/** As each start of a sandbox does it. */
const start = async (baseUrl: string) =>
  makeDemo({
    vault: await openVaultOf(db, { mode: 'sandbox', previousMasterKeys: [] }, TEST_MASTER_KEY),
    ...{ db, scopes: ['orders:read'], baseUrl },
    hashPassword: async (password) => `hash ${hashed.push(password)}`,
    hashApiSecret: (secret) => secret,
  })

const listUsers = () =>
  db.many<{ email: string }>(sql`select email, role, company_id, password_hash from users order by email`)

test('the demo is made once: a later start hashes no password, replaces none, and moves only the button', async () => {
  const { manager, superAdmin } = await start('http://one.invalid')
  assert.deepEqual(hashed.sort(), [manager.password, superAdmin.password].sort())
  const users = await listUsers()
  const { id } = await db.one<{ id: string }>(sql`select id from companies`)
  assert.deepEqual(users, [
    { email: manager.email, role: 'Manager', companyId: id, passwordHash: 'hash 1' },
    { email: superAdmin.email, role: 'SuperAdmin', companyId: null, passwordHash: 'hash 2' },
  ])
  await start('http://two.invalid')
  assert.equal(hashed.length, 2)
  assert.deepEqual(await listUsers(), users)
  const buttons = await db.many(sql`select website_origin from buy_buttons`)
  assert.deepEqual(buttons, [{ websiteOrigin: 'http://two.invalid' }])
})

test('a start that ended before its users were made leaves them to the next', async () => {
  const users = await listUsers()
  await db.run(sql`delete from users where role = 'SuperAdmin'`)
  await start('http://two.invalid')
  assert.deepEqual(
    (await listUsers()).map(({ email }) => email),
    users.map(({ email }) => email),
  )
})

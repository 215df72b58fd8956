import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { tellRestored } from '../src/commands/backup/tell-restore.ts'
import { sql } from '../src/db/db.ts'
import { markRestored } from '../src/db/restored-queries.ts'
import { openVault } from '../src/kernel/vault.ts'
import { type Client, logIn, logInSuperAdmin, type Person, registerManager, waitForMail } from './harness/accounts.ts'
import { createPaid, newAddress, payoutEnv } from './harness/refunds.ts'
import { noteReconciled } from './harness/restored.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* What was taken away after the backup is there again: sessions, keys, people, and the payout address of then. */

type Settlement = { _id: string; status: string; address: string; message: string | null }

const BACKUP_MADE_AT = new Date('2026-01-02T03:04:05Z')
let shop: Shop
let boss: Person
let dismissed: Client
let companyId: string
/** Of the backup; the company has another one since. */
const old = newAddress()

before(async () => {
  shop = await openShop({ env: payoutEnv })
  ;({ companyId } = shop.merchant)
  const { db, baseUrl } = shop.host
  boss = await registerManager(baseUrl)
  await db.run(sql`
    update users set company_id = ${companyId}, verified_at = now(), approved_at = now() where id = ${boss.userId}`)
  await db.run(sql`
    update companies set settlement_address = ${old}, settlement_network = 31337, settlement_set_by = 'the manager'
    where id = ${companyId}`)
  dismissed = await logInSuperAdmin(shop.host)
  await db.run(sql`insert into installation (mode, key_mark) values ('sandbox', 'x')`)
  for (let turn = 0; turn < 2; turn += 1) await createPaid(shop)
  const { data: open } = await dismissed.post<Settlement>('settlements', { companyId })
  assert.equal(open.status, 'open')
  const at = { backupMadeAt: BACKUP_MADE_AT, restoredAt: new Date(Date.now() - 95 * 60_000) }
  // the settlement is one of the backup
  await db.run(sql`update settlements set created_at = ${BACKUP_MADE_AT}`)
  const told = { vault: openVault(TEST_MASTER_KEY), clock: Date.now }
  for (let turn = 0; turn < 2; turn += 1)
    await db.tx(async (tx) => {
      if (await markRestored(tx, at)) await tellRestored(told, tx, at)
    })
  await noteReconciled(db)
})
after(() => shop?.stop())

test('a restore ends every session', async () => {
  await eventually(
    async () => (await dismissed.get('users/me')).status,
    (status) => status === 401,
    20_000,
  )
  assert.equal((await boss.client.get('users/me')).status, 401)
})

test('each company is told once to which time its keys, secrets, people and payout address went back', async () => {
  const mail = await waitForMail(shop.host.baseUrl, boss.email, /they are those of a backup/)
  assert.match(mail.text, /as it was on 2026-01-02 03:04 UTC/)
  assert.match(mail.text, /If you replaced the webhook secret since, the old one is in use again/)
  await assert.rejects(waitForMail(shop.host.baseUrl, boss.email, /they are those of a backup/, 2))
})

test('nothing is paid out to the address of a backup before the company has confirmed it, or named another', async () => {
  const { db, baseUrl } = shop.host
  const admin = await logInSuperAdmin(shop.host)
  const [made] = (await admin.get<Settlement[]>('settlements')).data
  assert.ok(made)
  const approve = (id: string) => admin.post<Settlement>(`settlements/${id}/approve`)
  const unconfirmed = await approve(made._id)
  assert.equal(unconfirmed.status, 409)
  assert.match(unconfirmed.error.message, /has not confirmed its settlement address since the database was restored/)
  // what was approved before waits, too
  await db.run(sql`update settlements set status = 'approved', next_check_at = now() where id = ${made._id}`)
  const waiting = await eventually(
    async () => (await admin.get<Settlement>(`settlements/${made._id}`)).data,
    ({ message }) => /has not confirmed/.test(message ?? ''),
  )
  assert.equal(waiting.status, 'approved')
  await db.run(sql`update settlements set status = 'open', next_check_at = null where id = ${made._id}`)

  const manager = await logIn(baseUrl, boss.email)
  const write = (settlementAddress: string) => manager.call('PUT', `companies/${companyId}`, { settlementAddress })
  const isRestored = async () =>
    (await manager.get<{ settlementRestored: boolean }>(`companies/${companyId}`)).data.settlementRestored
  const factor = (at: Date | null) =>
    db.run(sql`update sessions set second_factor_at = ${at} where user_id = ${boss.userId} and revoked_at is null`)
  await factor(null)
  const refused = await eventually(
    () => write(old),
    ({ status }) => status !== 200,
  )
  assert.equal(refused.error.code, 'STEP_UP_REQUIRED')
  assert.equal(await isRestored(), true)
  // the operator, whose form repeats the address, is nobody of the company; needs no code for that either
  await db.run(sql`update sessions set second_factor_at = null where user_id <> ${boss.userId} and revoked_at is null`)
  const byOperator = await admin.call('PUT', `companies/${companyId}`, {
    vatNumber: 'DE136695976',
    settlementAddress: old.toLowerCase(),
  })
  assert.deepEqual([byOperator.status, await isRestored()], [200, true])
  await db.run(sql`update sessions set second_factor_at = now() where user_id <> ${boss.userId} and revoked_at is null`)
  await factor(new Date())
  await eventually(
    () => write(old),
    ({ status }) => status === 200,
    20_000,
  )
  assert.equal(await isRestored(), false)
  const told = await waitForMail(baseUrl, boss.email, /The payout address .* was confirmed/)
  assert.ok(told.text.includes(`${old} (`))
  // and a person who changes his mind
  const next = newAddress()
  assert.equal((await write(next)).status, 200)
  const other = await approve(made._id)
  assert.match(
    other.error.message,
    /since the database was restored the company has another settlement address\. .* otherwise cancel it/,
  )
  assert.equal((await admin.post(`settlements/${made._id}/cancel`)).status, 200)
  const { data: again } = await admin.post<Settlement>('settlements', { companyId })
  assert.equal(again.address, next)
  assert.equal((await approve(again._id)).data.status, 'approved')
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Registry } from 'prom-client'
import { openWalletMetrics } from '../src/chain/payout/wallet-watch.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { DAY } from '../src/kernel/clock.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'

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

test('a wallet of a chain that was taken out of the settings has no runway, and raises no alert', async () => {
  await db.run(sql`
    insert into wallet_levels (chain_id, wallet, address, units, daily_units, low, checked_at)
    values (42161, 'payout', '0x0000000000000000000000000000000000000001', 0, 1000000, true, now())`)
  const metrics = new Registry()
  let aheadMs = 0
  openWalletMetrics({ metrics, db, clock: () => Date.now() + aheadMs })
  const low = /^comptoir_wallet_runway_days\{.*\} 0$/m
  assert.match(await metrics.metrics(), low)
  aheadMs = DAY
  assert.doesNotMatch(await metrics.metrics(), low)
})

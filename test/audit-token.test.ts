import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listRecorded } from '../src/chain/deposits/balance-audit-queries.ts'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { readRecordedDeposits, upsertDepositFinding } from '../src/chain/deposits/deposit-audit-queries.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { newTestXpub } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'

/* CHAIN_<id>_USDC names another contract: what left in the first one is no money of the second. */

const [FIRST, SECOND] = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`] as const
const chainId = 8453

let database: TestDatabase
let db: Db
let address: string
before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 2 })
  const key = { companyId: 'c'.repeat(24), reference: 'r', xpub: newTestXpub() }
  const assigned = await db.tx((tx) => assignDepositAddress(tx, { ...key, watchedUntil: new Date('2100-01-01') }))
  address = assigned.address.toLowerCase()
  await db.run(sql`insert into chain_heads (chain_id, number, hash, block_at) values (${chainId}, 100, '0xa', now())`)
})
after(async () => {
  await db?.close()
  await database?.drop()
})

async function outflowsIn(token: string) {
  const scope = { chainId, token, block: 100n, after: '', open: [], only: null, limit: 10 }
  const [recorded] = await listRecorded(db, scope)
  const { deposits } = (await readRecordedDeposits(db, { chainId, token, addresses: [address] }, null)) ?? assert.fail()
  const [deposit] = deposits
  return [recorded, deposit].map((one) => [one?.outflowUnits, one?.outflowTo])
}
const find = (token: string, outflowUnits: bigint, explained = true) =>
  upsertDepositFinding(db, {
    ...{ chainId, token, address, balanceUnits: 0n, recordedUnits: 0n, outflowUnits, blockNumber: 90n, explained },
  })

test('what left in an earlier contract explains nothing in the present one, and holds up no payout', async () => {
  await find(FIRST, 5_000_000n)
  assert.deepEqual(await outflowsIn(FIRST), [
    [5_000_000n, 90n],
    [5_000_000n, 90n],
  ])
  assert.deepEqual(await outflowsIn(SECOND), [
    [0n, 0n],
    [0n, 0n],
  ])
  await find(SECOND, 7n, false)
  assert.deepEqual(await outflowsIn(SECOND), [
    [0n, 0n],
    [0n, 0n],
  ])
})

test('what an earlier version counted is of the contract of its settings', async () => {
  await find(SECOND, 7n)
  await db.run(sql`update deposit_differences set token = null`)
  assert.deepEqual(await outflowsIn(SECOND), [
    [7n, 90n],
    [7n, 90n],
  ])
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  answersOf,
  PAYOUT_STATUSES,
  type Question,
  rowsWhere,
  type StateColumns,
  stateOf,
  UNSIGNED,
} from '../src/chain/payout/state/states.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'

let database: TestDatabase
let db: Db
before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString })
})
after(async () => {
  await db?.close()
  await database?.drop()
})

const AT = new Date('2030-01-01T00:00:00Z')

/** Every combination of what the columns can say. */
const listRows = (): StateColumns[] =>
  PAYOUT_STATUSES.flatMap((status) =>
    [null, UNSIGNED, '0xab'].flatMap((signature) =>
      [null, 5n].flatMap((validBefore) =>
        [null, '0x1'].flatMap((txHash) =>
          [null, AT].flatMap((usedAt) =>
            [null, 0n, 7n].map((spentUnits) => ({ status, signature, validBefore, txHash, usedAt, spentUnits })),
          ),
        ),
      ),
    ),
  )

test('every combination of columns is one state, and SQL answers each question as TypeScript does', async () => {
  const rows = listRows()
  for (const row of rows) assert.ok(stateOf(row))
  const questions = Object.entries(answersOf({ ...rows[0], status: 'final' } as StateColumns))
    .filter(([, answer]) => typeof answer === 'boolean')
    .map(([question]) => question as Question)
  assert.ok(questions.length > 8)
  for (const row of rows) {
    const known = sql`select ${row.status}::text as status, ${row.signature}::text as signature,
      ${row.validBefore}::bigint as valid_before, ${row.txHash}::text as tx_hash, ${row.usedAt}::timestamptz as used_at,
      ${row.spentUnits}::numeric as spent_units`
    for (const question of questions) {
      const found = await db.maybe(sql`select 1 from (${known}) as one where ${rowsWhere(question)}`)
      assert.equal(found !== undefined, answersOf(row)[question], `${question} of ${stateOf(row)}`)
    }
  }
})

test('what is open is asked with the statuses that the partial indices name', () => {
  assert.equal(rowsWhere('isOpen').text, "(status not in ('final', 'failed'))")
})

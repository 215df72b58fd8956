import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { startTestService, type TestService } from './harness/service.ts'

/* When a sender that an order only names ceases to count: nodes of both versions judge the same until then. */

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service?.stop())

const MIGRATION = readFileSync(join(import.meta.dirname, '../migrations/1790_claimed_senders.sql'), 'utf8')

test('after an upgrade a named sender counts for one more day, in rows of before and since; a new installation has no such day', async () => {
  const { companyId } = await service.createMerchant()
  const client = new pg.Client({ connectionString: service.db.connectionString })
  await client.connect()
  const upgrade = () => client.query(`alter table deposit_reservations drop column sender_until; ${MIGRATION}`)
  const reserve = (reference: string) =>
    client.query(
      `insert into deposit_reservations (company_id, reference, address, units, asked_units, sender, networks, from_at,
        until_at) values ($1, $2, $3, 1, 1, $3, '{}', now(), now() + interval '1 hour')`,
      [companyId, reference, `0x${'a'.repeat(40)}`],
    )
  const read = async () =>
    (
      await client.query(`
        select reference, sender_until = (now() + interval '1 day')::timestamptz(3) as "forADay" from deposit_reservations order by 1`)
    ).rows
  try {
    await client.query('begin')
    await upgrade()
    await reserve('new')
    assert.deepEqual(await read(), [{ reference: 'new', forADay: null }])
    await upgrade()
    await reserve('since')
    assert.deepEqual(await read(), [
      { reference: 'new', forADay: true },
      { reference: 'since', forADay: true },
    ])
  } finally {
    await client.query('rollback')
    await client.end()
  }
})

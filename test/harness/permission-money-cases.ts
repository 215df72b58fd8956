import { sql } from '../../src/db/db.ts'
import { type Cases, choice, order, type Place } from './permission-objects.ts'
import { newId } from './permission-world.ts'

/** Money of the company that left its chain. */
async function loss({ home, world }: Place): Promise<string> {
  const { db } = world.shop.host
  const id = newId()
  await db.run(sql`
    insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, created_at, updated_at)
    select company_id, ${id}, order_id, id, 'orphaned', 'USDC', 5, ${id}, now(), now()
    from payments where company_id = ${home.companyId} limit 1`)
  return id
}

async function difference({ home, world }: Place): Promise<string> {
  const { db } = world.shop.host
  const id = newId()
  await db.run(sql`
    insert into ledger_differences (company_id, id, source, subject, what, booked, expected, found_at, updated_at)
    values (${home.companyId}, ${id}, 'providers', ${id}, 'word of a provider', 'paid', 'failed', now(), now())`)
  return id
}

/** A part of a paid order was refunded in its provider's console. */
async function partRefunded(place: Place): Promise<string> {
  const { db } = place.world.shop.host
  const id = await difference(place)
  await db.run(sql`
    update ledger_differences d set what = d.id, subject = 'order ' || o.code || ', part of payment ' || o.payment_id
    from (select code, payment_id from orders where company_id = ${place.home.companyId}
      and status in ('PAID', 'REFUNDED') and paid_units > refunded_units order by id limit 1) o
    where d.company_id = ${place.home.companyId} and d.id = ${id}`)
  return id
}

/** The sender of an unpaid order whose source does not answer. */
async function heldScreening({ home, world }: Place): Promise<string> {
  const { db } = world.shop.host
  const id = newId()
  await db.run(sql`
    insert into screenings (company_id, id, purpose, subject_id, network, address, status, opened_at, updated_at)
    values (${home.companyId}, ${id}, 'refund', ${id}, 31337, ${`0x${'5'.repeat(40)}`}, 'held', now(), now())`)
  return id
}

async function heldPayment(place: Place): Promise<string> {
  const id = await heldScreening(place)
  await place.world.shop.host.db.run(sql`update screenings set purpose = 'payment' where id = ${id}`)
  return id
}

/** A transfer to the company's own address that no order asked for. */
async function unmatched({ home, world }: Place): Promise<string> {
  const { db } = world.shop.host
  const id = newId()
  const address = `0x${id.padStart(40, '0')}`
  await db.run(sql`insert into deposit_addresses (address, company_id, reference, watched_until)
    values (${address}, ${home.companyId}, ${`own:${address}`}, '9999-01-01')`)
  await db.run(sql`
    insert into chain_transfers (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token, symbol,
      from_address, to_address, units, status, final_at, change)
    values (${id}, 31337, ${`0x${id.padStart(64, '0')}`}, 0, 0, 1, '0x', now(), '0x', 'USDC', '0x', ${address}, 5000000, 'seen',
      now(), 0)`)
  await db.run(sql`
    insert into unmatched_transfers (company_id, transfer_id, is_dust) values (${home.companyId}, ${id}, false)`)
  return id
}

export const UNMATCHED: Cases = {
  listUnmatchedTransfers: {
    row: 'mispayments.read',
    make: async (place) => ({ query: { limit: '100', ...choice(place) }, shows: await unmatched(place) }),
  },
  matchTransfer: {
    row: 'mispayments.decide',
    async make(place) {
      const id = await unmatched(place)
      const { db } = place.world.shop.host
      const { code } = await order(place)
      const address = `0x${id.padStart(40, '0')}`
      await db.run(sql`
        insert into payments (company_id, id, order_id, number, channel, own_account, status, merchant_reference,
          due_asset, due_units, deposit_address, opened_at, updated_at, closed_at)
        select company_id, ${newId()}, id, 9, 'crypto', true, 'closed', id || '09', 'USDC', 5000000, ${address}, now(), now(),
          now()
        from orders where code = ${code}`)
      await db.run(sql`
        insert into deposit_reservations (company_id, reference, address, units, until_at)
        select company_id, id || '09', ${address}, 5000001, now() from orders where code = ${code}`)
      return { params: { id }, body: { code } }
    },
  },
  ignoreTransfer: {
    row: 'mispayments.decide',
    make: async (place) => ({ params: { id: await unmatched(place) }, body: { reason: 'our own money' } }),
  },
}

export const SCREENINGS: Cases = {
  listScreenings: {
    row: 'screenings.read',
    ownOnly: true,
    make: async (place) => {
      const shows = await heldScreening(place)
      return { query: { limit: '100', ...choice(place) }, shows }
    },
  },
  getScreening: {
    row: 'screenings.read',
    make: async (place) => {
      const id = await heldScreening(place)
      return { params: { id }, shows: id }
    },
  },
  releaseScreening: {
    row: 'screenings.decide',
    make: async (place) => ({ params: { id: await heldScreening(place) }, body: { reason: 'known customer' } }),
  },
  returnScreening: {
    row: 'screenings.decide',
    make: async (place) => ({ params: { id: await heldPayment(place) }, body: { reason: 'not known' } }),
  },
}

/** They leave the books of their company wrong, so nothing is paid out after them. */
export const WRONG_BOOKS: Cases = {
  listDifferences: {
    row: 'ledger.read',
    make: async (place) => ({ query: { limit: '100', ...choice(place) }, shows: await difference(place) }),
  },
  explainDifference: {
    row: 'ledger.explain',
    make: async (place) => ({ params: { id: await difference(place) }, body: { reason: 'the provider was asked' } }),
  },
  recordRefund: {
    row: 'refunds.record',
    make: async (place) => ({
      params: { id: await partRefunded(place) },
      body: { amount: '0.000001', reason: 'the statement of the console' },
    }),
  },
  bearLoss: {
    row: 'mispayments.bear',
    make: async (place) => ({ params: { id: await loss(place) }, body: { by: 'company' } }),
  },
}

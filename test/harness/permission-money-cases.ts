import { sql } from '../../src/db/db.ts'
import { type Cases, choice, type Place } from './permission-objects.ts'
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
  bearLoss: {
    row: 'mispayments.bear',
    make: async (place) => ({ params: { id: await loss(place) }, body: { by: 'company' } }),
  },
}

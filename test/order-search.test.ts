import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Db, openDb, sql, type Tx } from '../src/db/db.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { type Found, find } from './harness/order-lists.ts'

/* Any part of a reference finds its order, and does so by the index of parts where the references are many. */

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

/** One order for each reference, half of them paid. */
const insert = (companyId: string, aliases: readonly string[]): Promise<number> =>
  db.run(sql`
    insert into orders (company_id, id, code, short_code, status, alias, from_asset, from_units, to_asset, to_units, rate,
      quote_id, created_at, updated_at, expires_at)
    select ${companyId}, key, key, '~' || key, case when n % 2 = 0 then 'PAID' else 'EXPIRED' end, alias, 'EUR', 77, 'USDC', 1, 1,
      'q', now(), now(), now()
    from unnest(${aliases}::text[]) with ordinality as given (alias, n),
      lateral (select left(md5(${companyId} || n), 24) as key) as keys`)

/** Parts of several lengths, at every third place. */
const partsOf = (text: string): string[] => {
  const letters = [...text]
  const places = letters.flatMap((_, n) => (n % 3 === 0 ? [n] : []))
  return places.flatMap((from) => [2, 5, 6, 7, 13, 30].map((length) => letters.slice(from, from + length).join('')))
}

test('any part of a reference finds its orders and no others, in either case, and other filters hold beside it', async () => {
  const aliases = [
    'INV-2024-001/a_b',
    'inv-2024-0011',
    '100% \\ off',
    'Café-Straße 12',
    'ΟΔΟΣ-ΣΟΦΊΑΣ',
    'RE',
    'x\u{1F600}y-2024-00',
  ]
  aliases.push('order 4711 of customer-2024-eu', 'ORDER 4712 OF CUSTOMER-2024-EU', 'İstanbul-2024-001')
  await insert('mine', aliases)
  await insert('other', aliases)
  const parts = aliases.flatMap(partsOf).map((part) => part.trim())
  const texts = [
    ...new Set([...parts, ...parts.map((part) => part.toUpperCase()), '2024-0_1', '2024-%', 'absent-2024']),
  ]
  for (const text of texts.filter((one) => one !== '')) {
    const real = await db.many<{ alias: string; status: string }>(sql`
      select alias, status from orders where company_id = 'mine' and strpos(lower(alias), lower(${text})) > 0`)
    const of = (rows: { alias: string }[]): Found => ({
      aliases: rows.map((row) => row.alias).sort(),
      total: rows.length,
    })
    assert.deepEqual(await find(db, 'mine', text), of(real), text)
    const paid = real.filter(({ status }) => status === 'PAID')
    assert.deepEqual(await find(db, 'mine', text, { statuses: ['PAID'] }), of(paid), `${text}, paid`)
  }
})

test('a text that very many references contain finds them all', async () => {
  const aliases = Array.from({ length: 450 }, (_, n) => `SERIES-${n}`)
  await insert('many', aliases)
  assert.deepEqual(await find(db, 'many', 'series-'), { aliases: aliases.sort(), total: 450 })
  assert.equal((await find(db, 'many', 'series-4')).total, 61)
})

type Reads = { parts: number; trigrams: number; orders: number }

/** Of this connection, since some time. */
const countReads = (tx: Tx): Promise<Reads> =>
  tx.one(sql`
    select pg_stat_get_xact_numscans('orders__reference_parts'::regclass)::integer as parts,
      pg_stat_get_xact_numscans('orders__reference'::regclass)::integer as trigrams,
      (pg_stat_get_xact_tuples_fetched(oid) + pg_stat_get_xact_tuples_returned(oid))::integer as orders
    from pg_class where oid = 'orders'::regclass`)

/** How often two searches read the indices of references, and how many orders. */
async function readsOfTwo(tx: Tx): Promise<Reads> {
  const before = await countReads(tx)
  assert.deepEqual(await find(tx, 'large', 'inv-000054320'), { aliases: ['INV-000054320'], total: 1 })
  assert.deepEqual(await find(tx, 'large', 'INV-000099999'), { aliases: [], total: 0 })
  const { parts, trigrams, orders } = await countReads(tx)
  return { parts: parts - before.parts, trigrams: trigrams - before.trigrams, orders: orders - before.orders }
}

test('among many references one is found by its parts, without the lists of its trigrams', async () => {
  const aliases = Array.from({ length: 20_000 }, (_, n) => `INV-${String(n * 10).padStart(9, '0')}`)
  await insert('large', aliases)
  await db.run(sql`analyze orders`)
  // looked up, listed and counted
  assert.deepEqual(await db.tx(readsOfTwo), { parts: 2, trigrams: 0, orders: 3 })
})

test('it is found by them where the database sorts by a language, too', async () => {
  const reads = await db.tx(async (tx) => {
    await tx.run(sql`alter table orders alter column short_code type text collate "en-x-icu"`)
    await tx.run(sql`analyze orders`)
    return readsOfTwo(tx)
  })
  await db.run(sql`alter table orders alter column short_code type text collate "default"`)
  assert.deepEqual(reads, { parts: 2, trigrams: 0, orders: 3 })
})

test('a short code is found by its beginning, and not by more than itself', async () => {
  await insert('coded', ['A', 'B'])
  await db.run(sql`update orders set short_code = 'Q7ABCDEF' where company_id = 'coded' and alias = 'B'`)
  for (const text of ['Q', 'q7ab', 'Q7ABCDE', 'q7abcdef', 'Q7AB-CDEF'])
    assert.deepEqual(await find(db, 'coded', text), { aliases: ['B'], total: 1 }, text)
  for (const text of ['Q7ABCDEFG', '7ABCDEF', 'Q%', 'Q_A'])
    assert.deepEqual(await find(db, 'coded', text), { aliases: [], total: 0 }, text)
})

/** Every letter that a collation writes in two cases, between letters that another one may change. */
const missedIn = (collation: string) => `
  with letters as (
    select chr(n) as c from generate_series(1, 131071) n where n not between 55296 and 57343
      and (lower(chr(n) collate ${collation}) <> chr(n) or upper(chr(n) collate ${collation}) <> chr(n))
  ), stored as (
    select word collate ${collation} as alias from letters, lateral (values ('INV' || c || '001Σ'),
      ('iΣ' || c || U&'\\0307' || '-00')) as words (word)
  ), typed as (
    select alias, text from stored, lateral (values (lower(alias)), (upper(alias)), (initcap(alias)),
      (substr(upper(alias), 2)), (left(lower(alias), -1))) as texts (text)
  )
  select count(*)::integer as found,
    count(*) filter (where not reference_parts(alias, 1) @> reference_parts(text, 1))::integer as missed
  from typed where alias ilike '%' || text || '%'`

/** Those of ASCII only, of Unicode with its special cases, and of languages with their own. */
const COLLATIONS = ['C', 'pg_c_utf8', 'pg_unicode_fast', 'tr-x-icu', 'lt-x-icu', 'el-x-icu']

test('parts miss nothing that ILIKE finds, in any letters and with each way of PostgreSQL to lower them', async () => {
  const there = await db.many<{ name: string }>(sql`
    select quote_ident(collname) as name from pg_collation where collname = any(${COLLATIONS})`)
  for (const { name } of [{ name: '"default"' }, ...there]) {
    const { rows } = await db.pool.query<{ found: number; missed: number }>(missedIn(name))
    assert.equal(rows[0]?.missed, 0, name)
    assert.ok((rows[0]?.found ?? 0) > 300, `${name}: ${rows[0]?.found}`)
  }
})

test('references are cut into parts where a dump is restored: with no schema to look in', async () => {
  const parts = await db.tx(async (tx) => {
    await tx.run(sql`set local search_path = ''`)
    return tx.one(sql`select public.reference_parts('Inv-0001', 1) as every, public.reference_parts('Inv-0001', 2) as second,
      public.reference_parts('Inv-0', 1) as none`)
  })
  assert.deepEqual(parts, { every: ['v-0001', 'nv-000', 'inv-00'], second: ['v-0001', 'inv-00'], none: [] })
})

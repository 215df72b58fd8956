import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'

const guide = readFileSync(join(import.meta.dirname, '../docs/scaling.md'), 'utf8')

/** The tables that a section of docs/scaling.md lists. */
function tablesUnder(heading: string): string[] {
  const section = guide.split(/^### /m).find((part) => part.startsWith(heading)) ?? ''
  const lines = section.split('\n').filter((line) => line.startsWith('`'))
  return lines.flatMap((line) => [...line.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
}

const distributed = tablesUnder('Distributed by company')
const reference = tablesUnder('Reference')
const everywhere = tablesUnder('Global')

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

test('every table is distributed by company, a reference, or global with a reason, and stands in one list', async () => {
  const rows = await db.many<{ name: string }>(sql`
    select c.relname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition`)
  const tables = rows.map(({ name }) => name).sort()
  const listed = [...distributed, ...reference, ...everywhere].sort()
  assert.deepEqual(listed, tables, 'docs/scaling.md lists each table once')
})

test('a distributed table has company_id in every row and in each of its unique keys', async () => {
  const rows = await db.many<{ relation: string; index: string; keys: string[] }>(sql`
    select c.relname::text as relation, i.relname::text as index,
      array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum = any(x.indkey)) as keys
    from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
    where x.indisunique and c.relname = any(${distributed}::text[])`)
  assert.ok(rows.length >= distributed.length, 'each has a key')
  assert.deepEqual(
    rows.filter(({ keys }) => !keys.includes('company_id')),
    [],
  )
  const nullable = await db.many<{ name: string }>(sql`
    select table_name::text as name from information_schema.columns
    where column_name = 'company_id' and is_nullable = 'YES' and table_name = any(${distributed}::text[])`)
  assert.deepEqual(nullable, [])
})

test('a distributed row refers to rows of its own company, or to a reference', async () => {
  const rows = await db.many<{ child: string; parent: string; keys: string[] }>(sql`
    select c.relname::text as child, p.relname::text as parent,
      array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum = any(k.conkey)) as keys
    from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class p on p.oid = k.confrelid
    where k.contype = 'f' and c.relname = any(${distributed}::text[])`)
  const wrong = rows.filter(
    ({ parent, keys }) => !(distributed.includes(parent) && keys.includes('company_id')) && !reference.includes(parent),
  )
  assert.deepEqual(wrong, [])
})

/** Tables in an order in which those that a table refers to come before it, else by name. */
async function inOrder(tables: readonly string[]): Promise<string[]> {
  const rows = await db.many<{ child: string; parent: string }>(sql`
    select conrelid::regclass::text as child, confrelid::regclass::text as parent from pg_constraint
    where contype = 'f' and conrelid <> confrelid`)
  const left = [...tables].sort()
  const ordered: string[] = []
  while (left.length > 0) {
    const index = left.findIndex((table) =>
      rows.every(({ child, parent }) => child !== table || !left.includes(parent) || parent === table),
    )
    assert.notEqual(index, -1, `a circle of references: ${left}`)
    ordered.push(...left.splice(index, 1))
  }
  return ordered
}

test('the guide holds the Citus statement of each table, in an order that its references allow', async () => {
  const others = await inOrder(distributed.filter((table) => table !== 'orders'))
  const expected = [
    ...(await inOrder(reference)).map((table) => `select create_reference_table('${table}');`),
    `select create_distributed_table('orders', 'company_id');`,
    ...others.map((table) => `select create_distributed_table('${table}', 'company_id', colocate_with => 'orders');`),
  ]
  const written = [...guide.matchAll(/^ {4}(select create_\w+_table\(.*\);)$/gm)].map(([, statement]) => statement)
  assert.deepEqual(written, expected)
})

test('the guide names every trigger that Citus must be told to accept', async () => {
  const rows = await db.many<{ name: string }>(sql`
    select t.tgname::text as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where not t.tgisinternal and not c.relispartition and c.relname = any(${distributed}::text[]) order by 1`)
  const [, line = ''] = /Triggers on distributed tables: (.*)$/m.exec(guide) ?? []
  assert.deepEqual(
    [...line.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    rows.map(({ name }) => name),
  )
})

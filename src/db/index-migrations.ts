import type pg from 'pg'

/*
 * Building an index in a transaction blocks every write to its table: for minutes on a large one. A migration that
 * contains only indices is built `concurrently` instead, which needs no transaction and can be repeated.
 */

export type IndexStatement = { text: string; name: string } & (
  | { kind: 'create'; table: string }
  | { kind: 'drop' }
  | { kind: 'extension' }
)

const EXTENSION = /^create extension if not exists (\w+)$/i
const CREATE = /^create (?:unique )?index (\w+) on (\w+)\b/i
const DROP = /^drop index (\w+)$/i

/**
 * A block that continues without an index if its extension is not available, with PostgreSQL's names for the errors.
 */
const OPTIONAL = /^do \$\$ begin (.*?) exception when ([\w ]+) then raise notice .*?; end \$\$;?$/i
const SKIPPED: Readonly<Record<string, string>> = {
  ...{ insufficient_privilege: '42501', undefined_file: '58P01', feature_not_supported: '0A000' },
  undefined_object: '42704',
}

export type IndexMigration = {
  statements: IndexStatement[]
  /** Error codes that mean the database works without the index. */
  forgiven: readonly string[]
}

/** The statements of a migration that only creates and drops indices; undefined for any other. */
export function readIndexMigration(text: string): IndexMigration | undefined {
  const whole = text.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim()
  const [, body = whole, errors = ''] = OPTIONAL.exec(whole) ?? []
  const forgiven = errors === '' ? [] : errors.split(' or ').map((name) => SKIPPED[name.trim()] ?? '')
  const parts = body
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  const statements = parts.flatMap(readStatement)
  if (statements.length !== parts.length || parts.length === 0 || forgiven.includes('')) return undefined
  return { statements, forgiven }
}

function readStatement(text: string): IndexStatement[] {
  const [, name, table] = CREATE.exec(text) ?? []
  if (name !== undefined && table !== undefined) return [{ kind: 'create', text, name, table }]
  const extension = EXTENSION.exec(text)?.[1]
  if (extension !== undefined) return [{ kind: 'extension', text, name: extension }]
  const dropped = DROP.exec(text)?.[1]
  return dropped === undefined ? [] : [{ kind: 'drop', text, name: dropped }]
}

/** Whether a table has rows and can be indexed concurrently: a partitioned one cannot. */
async function isFilled(client: pg.Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ filled: boolean }>(
    "select relkind = 'r' and pg_relation_size(oid) > 0 as filled from pg_class where oid = to_regclass($1)",
    [table],
  )
  return rows[0]?.filled === true
}

/** Null: no such index. False: an interrupted try left it behind, invalid. */
async function readValidity(client: pg.Client, name: string): Promise<boolean | null> {
  const { rows } = await client.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  )
  return rows[0]?.valid ?? null
}

/**
 * Creates and drops indices while others write. What an earlier try completed is kept.
 * @returns false, with nothing done, if a transaction is as good: on empty tables, or partitioned ones
 */
export async function buildIndices(client: pg.Client, { statements, forgiven }: IndexMigration): Promise<boolean> {
  const filled = new Set<string>()
  for (const one of statements) if (one.kind === 'create' && (await isFilled(client, one.table))) filled.add(one.table)
  if (filled.size === 0) return false
  try {
    for (const statement of statements) await buildOne(client, statement, filled)
  } catch (error) {
    if (!forgiven.includes((error as { code?: string }).code ?? '')) throw error
  }
  return true
}

async function buildOne(client: pg.Client, statement: IndexStatement, filled: ReadonlySet<string>): Promise<void> {
  const { name, text } = statement
  if (statement.kind === 'extension') return void (await client.query(text))
  if (statement.kind === 'drop') return void (await client.query(`drop index concurrently if exists ${name}`))
  const validity = await readValidity(client, name)
  if (validity === true) return
  if (validity === false) await client.query(`drop index concurrently ${name}`)
  await client.query(filled.has(statement.table) ? text.replace(/ index /i, ' index concurrently ') : text)
}

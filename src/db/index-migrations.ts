import type pg from 'pg'

/*
 * An index that is built in a transaction stops every write to its table until it is done: minutes on a large one. A
 * migration of nothing but indices is built `concurrently` instead, which needs no transaction and can be repeated.
 */

export type IndexStatement = { text: string; name: string } & ({ kind: 'create'; table: string } | { kind: 'drop' })

const CREATE = /^create (?:unique )?index (\w+) on (\w+)\b/i
const DROP = /^drop index (\w+)$/i

/** The statements of a migration that only makes and removes indices; undefined for any other. */
export function readIndexStatements(text: string): IndexStatement[] | undefined {
  const parts = text
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map((part) => part.replaceAll(/\s+/g, ' ').trim())
    .filter((part) => part !== '')
  const statements = parts.flatMap((part): IndexStatement[] => {
    const [, name, table] = CREATE.exec(part) ?? []
    if (name !== undefined && table !== undefined) return [{ kind: 'create', text: part, name, table }]
    const dropped = DROP.exec(part)?.[1]
    return dropped === undefined ? [] : [{ kind: 'drop', text: part, name: dropped }]
  })
  return statements.length === parts.length && parts.length > 0 ? statements : undefined
}

/** Whether a table holds anything, and can be indexed concurrently: a partitioned one cannot. */
async function isFilled(client: pg.Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ filled: boolean }>(
    "select relkind = 'r' and pg_relation_size(oid) > 0 as filled from pg_class where oid = to_regclass($1)",
    [table],
  )
  return rows[0]?.filled === true
}

/** Null: there is no such index. False: a try that broke off left it behind. */
async function readValidity(client: pg.Client, name: string): Promise<boolean | null> {
  const { rows } = await client.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  )
  return rows[0]?.valid ?? null
}

/**
 * Makes and removes indices while others write. What an earlier try has done is kept.
 * @returns false, with nothing done, where a transaction is as good: on empty tables, or partitioned ones
 */
export async function buildIndices(client: pg.Client, statements: readonly IndexStatement[]): Promise<boolean> {
  const created = statements.flatMap((one) => (one.kind === 'create' ? [one] : []))
  const filled = await Promise.all(created.map(({ table }) => isFilled(client, table)))
  if (!filled.some(Boolean)) return false
  for (const statement of statements) {
    if (statement.kind === 'drop') {
      await client.query(`drop index concurrently if exists ${statement.name}`)
      continue
    }
    const { name, table, text } = statement
    const validity = await readValidity(client, name)
    if (validity === true) continue
    if (validity === false) await client.query(`drop index concurrently ${name}`)
    const online = filled[created.indexOf(statement)] === true || (await isFilled(client, table))
    await client.query(online ? text.replace(/ index /i, ' index concurrently ') : text)
  }
  return true
}

import { createHash } from 'node:crypto'

/** One SQL statement: text with $1 …, its values, and a name so that the server prepares it once per connection. */
export type Sql = { readonly text: string; readonly values: readonly unknown[]; readonly name: string }

const isSql = (value: unknown): value is Sql =>
  typeof value === 'object' && value !== null && 'text' in value && 'values' in value && 'name' in value

/** A value that is sent as JSON text; arrays would otherwise be sent as PostgreSQL arrays. */
class Json {
  readonly text: string
  constructor(value: unknown) {
    this.text = JSON.stringify(value)
  }
}

export const json = (value: unknown): Json => new Json(value)

const toParameter = (value: unknown): unknown => {
  if (value === undefined) throw new TypeError('undefined cannot be a query parameter; use null')
  if (value instanceof Json) return value.text
  if (typeof value === 'bigint') return value.toString()
  return value
}

const names = new Map<string, string>()

function nameOf(text: string): string {
  const known = names.get(text)
  if (known) return known
  const name = `q${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
  names.set(text, name)
  return name
}

/**
 * A tagged template for SQL. Values become parameters, nested `sql` becomes text. The number of distinct texts must
 * stay small: each is prepared on every connection.
 */
export function sql(strings: TemplateStringsArray, ...parts: unknown[]): Sql {
  const values: unknown[] = []
  let text = strings[0] ?? ''
  for (const [index, part] of parts.entries()) {
    if (isSql(part)) {
      const offset = values.length
      text += part.text.replace(/\$(\d+)/g, (_, digits: string) => `$${Number(digits) + offset}`)
      values.push(...part.values)
    } else {
      values.push(toParameter(part))
      text += `$${values.length}`
    }
    text += strings[index + 1] ?? ''
  }
  return { text, values, name: nameOf(text) }
}

/**
 * Text that our code makes, for example a list of columns, or a statement about a partition; never anything from
 * outside. On its own it has no name and is planned once.
 */
export const raw = (text: string): Sql => ({ text, values: [], name: '' })

/** A statement whose text varies too much to be worth a prepared one: filters of lists. */
export const unnamed = (statement: Sql): Sql => ({ ...statement, name: '' })

/** Statements joined by `separator`, for lists of conditions. */
export function joinSql(parts: readonly Sql[], separator: ' and ' | ' or ' | ', '): Sql {
  const [first, ...rest] = parts
  if (!first) return sql`true`
  const joiner = { ' and ': sql` and `, ' or ': sql` or `, ', ': sql`, ` }[separator]
  return rest.reduce((left, right) => sql`${left}${joiner}${right}`, first)
}

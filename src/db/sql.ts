import { createHash, randomBytes } from 'node:crypto'

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

/**
 * How long the clock that says `now` is behind the database's; nothing if it is not. Added to the times of what all
 * nodes obey, it keeps a node that is behind from ending what others began, and from beginning what is over for them.
 */
export const lagOf = (now: Date): Sql => sql`greatest(now() - ${now}::timestamptz, interval '0')`

/** Statements joined by `separator`, for lists of conditions. */
export function joinSql(parts: readonly Sql[], separator: ' and ' | ' or ' | ', '): Sql {
  const [first, ...rest] = parts
  if (!first) return sql`true`
  const joiner = { ' and ': sql` and `, ' or ': sql` or `, ', ': sql`, ` }[separator]
  return rest.reduce((left, right) => sql`${left}${joiner}${right}`, first)
}

/** A column of rows that travel to the database: its name, its type there, and its value as text; none: null. */
export type RowColumn<Item> = readonly [
  name: string,
  type: 'text' | 'integer' | 'bigint' | 'numeric' | 'boolean' | 'json' | 'jsonb' | 'timestamptz',
  read: (item: Item) => string | null | undefined,
]

/** No text from outside contains a separator: 48 random bits, drawn at each start, that no one outside ever sees. */
const newSeparator = (): string => `\x1f${randomBytes(6).toString('base64url')}`
const BETWEEN_FIELDS = newSeparator()
const BETWEEN_ROWS = newSeparator()

/**
 * Many items as rows of a query, for statements that run often. They travel as one text that PostgreSQL splits, which
 * costs it a quarter less than reading the same rows from JSON does, and the service a third less
 * (docs/benchmarks.md).
 * An empty text becomes null.
 * @returns the query whose rows these items are: `with input as (${rowsOf(items)}) …`
 */
export function openRows<Item>(columns: readonly RowColumn<Item>[]): (items: readonly Item[]) => Sql {
  const list = raw(columns.map(([name, type], index) => `f[${index + 1}]::${type} as ${name}`).join(', '))
  const lineOf = (item: Item): string => columns.map(([, , read]) => read(item)).join(BETWEEN_FIELDS)
  // without the offset each column would split its line once more
  return (items) => sql`
    select ${list} from (
      select string_to_array(line, ${BETWEEN_FIELDS}, '') as f
      from string_to_table(${items.map(lineOf).join(BETWEEN_ROWS)}, ${BETWEEN_ROWS}) as line offset 0
    ) as lines`
}

import pg from 'pg'
import { AppError } from '../kernel/errors.ts'
import { assertHoldsNone, whileHolding } from './held.ts'
import { openShares } from './shares.ts'
import { type Sql, sql } from './sql.ts'
import { parseTimestamp } from './timestamps.ts'

export { joinSql, json, openRows, raw, type Sql, sql, unnamed } from './sql.ts'

/** What can run a statement: the pool, which repeats what a deadlock undid, or one open transaction. */
export interface Queryable {
  /** All rows; columns in camelCase, numeric as text, int8 as bigint, timestamptz as Date. */
  many<Row>(statement: Sql): Promise<Row[]>
  /** The first row, or undefined. */
  maybe<Row>(statement: Sql): Promise<Row | undefined>
  /** The first row; its absence is a bug. */
  one<Row>(statement: Sql): Promise<Row>
  /** Number of rows changed. */
  run(statement: Sql): Promise<number>
}

declare const inTransaction: unique symbol

/** An open transaction. A function that asks for a `Tx` cannot be given the pool. */
export interface Tx extends Queryable {
  readonly [inTransaction]: true
  /** Runs when the commit is certain, never when it rolled back: wake-ups, in-memory signals. */
  afterCommit(action: () => void): void
  /** Hands over each row as it arrives, for answers that are too large to keep. */
  each(statement: Sql, onRow: (row: RawRow) => void): Promise<void>
}

/** Columns in the order of the statement, as PostgreSQL writes them. */
export type RawRow = (string | null)[]

export interface Db extends Queryable {
  /**
   * Runs `work` in one transaction. Serialization failures and deadlocks (40001, 40P01) run it again, up to three
   * times, so `work` must have no effect outside the transaction; such effects belong into `afterCommit`.
   */
  tx<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  /**
   * The rows of one large statement that runs often: planned once per connection, not for its values. The plan may have
   * been made while its tables were empty, so it never reads a whole one; the statement must leave no other choice of
   * index. Not prepared, it is planned each time.
   */
  planned<Row>(statement: Sql): Promise<Row[]>
  readonly pool: pg.Pool
  /** Requests waiting for a connection. */
  countWaiting(): number
  /** For a thread that opens a pool of its own. */
  readonly connectionString: string
  readonly prepared: boolean
  close(): Promise<void>
}

const INT8 = 20
const TIMESTAMPTZ = 1184
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === INT8) return (text: string) => BigInt(text)
    if (oid === TIMESTAMPTZ && format === 'text') return parseTimestamp
    return pg.types.getTypeParser(oid, format)
  },
}

const camel = new Map<string, string>()

function camelCase(column: string): string {
  let name = camel.get(column)
  if (name === undefined) {
    name = column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    camel.set(column, name)
  }
  return name
}

type ToRow = (values: readonly unknown[]) => unknown

/** By the names of the columns: as many entries as the source has lists of columns. */
const rowMakers = new Map<string, ToRow>()

/**
 * Makes a row of the values of such columns. Compiled, because V8 turns a wide object that is filled name by name into
 * a hash table, which takes forty times as long for a row of `orders` and is slower to read.
 */
function rowMaker(fields: readonly { name: string }[]): ToRow {
  const key = fields.map(({ name }) => name).join()
  let make = rowMakers.get(key)
  if (make === undefined) {
    const members = fields.map(({ name }, index) => `${JSON.stringify(camelCase(name))}:values[${index}]`)
    make = new Function('values', `return {${members.join()}}`) as ToRow
    rowMakers.set(key, make)
  }
  return make
}

const UNREACHABLE = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  // of a socket's path, and of a host's name
  ...['ENOENT', 'ENOTFOUND', 'EAI_AGAIN'],
])

/**
 * Of a server that cannot answer now, whatever is asked: connections, resources such as a full disk, its start or end,
 * its files, and a transaction that it ended with its connection (PostgreSQL Appendix A, by class).
 */
const UNABLE = /^(08...|53...|57P0.|58...|25P0[34])$/

/**
 * A server that is not the primary any more: after a failover a name may lead to the old one for a while, and who stays
 * connected to it writes nothing until the process is restarted (PostgreSQL Appendix A: read_only_sql_transaction).
 */
const READ_ONLY = '25006'

/** A wait for a lock, or a statement, that took too long (PostgreSQL Appendix A: 55P03, 57014). */
const TOO_LONG = new Set(['55P03', '57014'])

/** A server that cannot answer, and a wait that ended, become 503; a broken rule of the schema stays what it is. */
function translate(error: unknown): unknown {
  const { code, message } = error as { code?: string; message?: string }
  const lost =
    code === undefined &&
    /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/.test(
      message ?? '',
    )
  if (lost || (code !== undefined && (UNREACHABLE.has(code) || UNABLE.test(code) || code === READ_ONLY))) {
    return new AppError('DATABASE_UNAVAILABLE', { cause: error, retryAfter: 2 })
  }
  if (code !== undefined && TOO_LONG.has(code)) return busy(error)
  return error
}

const busy = (cause: unknown): AppError =>
  new AppError('BUSY', {
    message: 'Another request changes the same object. Nothing was changed; try again as Retry-After says.',
    ...{ cause, retryAfter: 2 },
  })

const isRetryable = (error: unknown): boolean => ['40001', '40P01'].includes((error as { code?: string }).code ?? '')

/** The name of the unique or check constraint that an error broke, if it is one. */
export function brokenConstraint(error: unknown): string | undefined {
  const { code, constraint } = error as { code?: string; constraint?: string }
  return code === '23505' || code === '23514' || code === '23503' ? constraint : undefined
}

/** What a deadlock or another's commit undid, once more: nothing of it is there. */
async function again<Result>(work: () => Promise<Result>): Promise<Result> {
  assertHoldsNone()
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isRetryable(error)) throw error
      if (attempt >= 3) throw busy(error)
    }
  }
}

type Runner = Pick<pg.ClientBase, 'query'>

async function execute(runner: Runner, statement: Sql, named: boolean): Promise<pg.QueryArrayResult> {
  try {
    const query = { text: statement.text, values: statement.values as unknown[], rowMode: 'array' as const, types }
    return await (runner as pg.Client).query(
      named && statement.name !== '' ? { ...query, name: statement.name } : query,
    )
  } catch (error) {
    throw translate(error)
  }
}

function queryable(runner: Runner, named: boolean): Queryable {
  const many = async <Row>(statement: Sql): Promise<Row[]> => {
    const result = await execute(runner, statement, named)
    const toRow = rowMaker(result.fields)
    return result.rows.map((values) => toRow(values) as Row)
  }
  const maybe = async <Row>(statement: Sql): Promise<Row | undefined> => (await many<Row>(statement))[0]
  return {
    many,
    maybe,
    one: async <Row>(statement: Sql): Promise<Row> => {
      const row = await maybe<Row>(statement)
      if (row === undefined) throw new Error(`expected a row from: ${statement.text.slice(0, 120)}`)
      return row
    },
    run: async (statement) => (await execute(runner, statement, named)).rowCount ?? 0,
  }
}

const asWritten = { getTypeParser: () => (text: string) => text }

/** The statement has no name: its text is a filter's. */
const readEach = (client: pg.PoolClient, { text, values }: Sql, onRow: (row: RawRow) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const config: pg.QueryArrayConfig = { text, values: values as unknown[], rowMode: 'array', types: asWritten }
    const query = new pg.Query<RawRow>(config)
    let failed: { error: unknown } | undefined
    query.on('row', (row) => {
      if (failed) return
      try {
        onRow(row)
      } catch (error) {
        failed = { error }
      }
    })
    query.on('error', (error) => reject(translate(error)))
    query.on('end', () => (failed ? reject(failed.error) : resolve()))
    client.query(query)
  })

export type DbOptions = {
  connectionString: string
  /** Connections at most; about twice the cores up to 16 is best (more backends lose throughput). */
  max?: number
  /** Off behind PgBouncer in transaction mode: no statement and no setting may outlive its transaction. */
  prepared?: boolean
  applicationName?: string
}

const LIMITS = ['statement_timeout=30s', 'idle_in_transaction_session_timeout=10s', 'lock_timeout=5s', 'timezone=UTC']

/** One round trip; behind PgBouncer the limits go with the transaction, because the connection is not ours. */
const beginText = (named: boolean): string => {
  const limits = LIMITS.map((limit) => `set local ${limit.replace('=', " = '")}'`)
  return ['begin', ...(named ? [] : limits)].join('; ')
}

/** For plans that are kept, in the round trip of `begin`. */
const KEPT = ['plan_cache_mode = force_generic_plan', 'enable_seqscan = off', 'enable_bitmapscan = off']
const BEGIN_KEPT = ['begin', ...KEPT.map((setting) => `set local ${setting}`)].join('; ')

/** Of the connections, what one company may hold at once: the rest is there for the others. */
const SHARE = 1 / 3

/** A backend takes 5 MB and comes back in 5 ms; of those that a rush opened, the idle ones end. */
const IDLE_CONNECTION_MS = 10_000

/** Opens the pool. Statements are cut off after 30 s, idle transactions after 10 s, lock waits after 5 s. */
export function openDb(options: DbOptions): Db {
  const named = options.prepared ?? true
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.max ?? 12,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    application_name: options.applicationName ?? 'comptoir',
    ...(named && { options: LIMITS.map((limit) => `-c ${limit}`).join(' ') }),
  })
  const begin = beginText(named)
  const shares = openShares(Math.max(1, Math.ceil(pool.options.max * SHARE)))
  pool.on('error', () => {}) // an idle connection was lost; the next query opens another or answers 503
  /** One statement outside a transaction. */
  const statements: Runner = {
    query: ((query: pg.QueryConfig) => again(() => shares.run(() => pool.query(query)))) as Runner['query'],
  }
  const runOnce = async <Result>(work: (tx: Tx) => Promise<Result>, first: string): Promise<Result> => {
    const client = await pool.connect().catch((error: unknown) => {
      throw translate(error)
    })
    const actions: (() => void)[] = []
    let broken: Error | undefined
    // a connection that is lost between two statements says so to the client, and would end the process unheard
    const noteLost = (error: Error): void => {
      broken = error
    }
    client.on('error', noteLost)
    try {
      await client.query(first).catch((error: unknown) => {
        throw translate(error)
      })
      const tx = {
        ...queryable(client, named),
        afterCommit: (action: () => void) => void actions.push(action),
        each: (statement: Sql, onRow: (row: RawRow) => void) => readEach(client, statement, onRow),
      } as Tx
      const result = await whileHolding(() => work(tx))
      const commit = await execute(client, sql`commit`, false)
      if (commit.command !== 'COMMIT') throw new Error('the transaction was rolled back by the server')
      for (const action of actions) action()
      return result
    } catch (error) {
      await client.query('rollback').catch(noteLost)
      if (((error as Error).cause as { code?: string } | undefined)?.code === READ_ONLY) noteLost(error as Error)
      throw error
    } finally {
      client.off('error', noteLost)
      client.release(broken)
    }
  }
  const run = <Result>(work: (tx: Tx) => Promise<Result>, first: string): Promise<Result> =>
    again(() => shares.run(() => runOnce(work, first)))
  const { connectionString } = options
  const direct = queryable(statements, named)
  return {
    ...direct,
    tx: (work) => run(work, begin),
    planned: <Row>(statement: Sql) =>
      named ? run((tx) => tx.many<Row>(statement), BEGIN_KEPT) : direct.many<Row>(statement),
    ...{ pool, connectionString, prepared: named, close: () => pool.end() },
    countWaiting: () => pool.waitingCount + shares.countWaiting(),
  }
}

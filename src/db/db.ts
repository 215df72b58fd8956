import pg from 'pg'
import { AppError } from '../kernel/errors.ts'
import { POOL_SIZE } from './connection-need.ts'
import { assertHoldsNone, whileHolding } from './held.ts'
import { isDiskFull, openRoom, type Room, WRITE_MEGABYTE } from './room.ts'
import { openShares } from './shares.ts'
import { type Sql, sql } from './sql.ts'
import {
  BEGIN,
  connectionConfig,
  endWhenSilent,
  LIMITS,
  openIsBusy,
  SILENCE_MS,
  setSilence,
} from './wire/connection.ts'
import { parseTimestamp } from './wire/timestamps.ts'

export { joinSql, json, lagOf, openRows, raw, type Sql, sql, unnamed } from './sql.ts'

/** What can run a statement: the pool, which retries what a deadlock undid, or an open transaction. */
export interface Queryable {
  /** All rows; columns in camelCase, numeric as text, int8 as bigint, timestamptz as Date. */
  many<Row>(statement: Sql): Promise<Row[]>
  /** The first row, or undefined. */
  maybe<Row>(statement: Sql): Promise<Row | undefined>
  /** The first row; a missing row is a bug. */
  one<Row>(statement: Sql): Promise<Row>
  /** Number of rows changed. */
  run(statement: Sql): Promise<number>
}

declare const inTransaction: unique symbol

/** An open transaction. A function that asks for a `Tx` cannot be given the pool. */
export interface Tx extends Queryable {
  readonly [inTransaction]: true
  /** Runs once the commit is certain, never after a rollback: wake-ups, in-memory signals. */
  afterCommit(action: () => void): void
  /** Passes on each row as it arrives, for results that are too large for memory. */
  each(statement: Sql, onRow: (row: RawRow) => void): Promise<void>
  /** Until the end of the transaction its statements may take as long as they need: for those that read everything. */
  liftTimeLimit(): Promise<void>
}

/** Columns in the order of the statement, as PostgreSQL writes them. */
export type RawRow = (string | null)[]

export interface Db extends Queryable {
  /**
   * Runs `work` in one transaction. Serialization failures and deadlocks (40001, 40P01) rerun it up to three times, so
   * `work` must have no effect outside the transaction; such effects belong in `afterCommit`.
   */
  tx<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  /**
   * The rows of one large statement that runs often: planned once per connection with a generic plan. Because that plan
   * may have been made while the tables were empty, it never uses a sequential scan; the statement must leave no other
   * choice of index. When not prepared, it is planned each time.
   */
  planned<Row>(statement: Sql): Promise<Row[]>
  readonly pool: pg.Pool
  /** Requests waiting for a connection. */
  countWaiting(): number
  /** Of the server's disk. */
  readonly room: Room
  /** For a thread that opens its own pool. */
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

/** Cached by column names: one entry per distinct column list in the source. */
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
  // for a socket's path, and for a host name
  ...['ENOENT', 'ENOTFOUND', 'EAI_AGAIN'],
])

/**
 * The server cannot answer now, whatever the statement: connections, resources such as a full disk, its start or
 * shutdown, its files, and a transaction that it ended with its connection (PostgreSQL Appendix A, by class).
 */
const UNABLE = /^(08...|53...|57P0.|58...|25P0[34])$/

/**
 * The server is no longer the primary: after a failover a name may point to the old one for a while, and a client that
 * stays connected to it could write nothing until restarted (PostgreSQL Appendix A: read_only_sql_transaction).
 */
const READ_ONLY = '25006'

/** A wait for a lock, and a statement, that took too long (PostgreSQL Appendix A: 55P03, 57014). */
const LOCKED = '55P03'
const TOO_LONG = '57014'

const FULL = 'The disk of the service’s database is full: nothing can be recorded now. Try again later.'

/** A server that cannot answer, and a wait that timed out, become 503; a constraint violation stays what it is. */
function translate(error: unknown): unknown {
  const { code, message } = error as { code?: string; message?: string }
  const lost =
    code === undefined &&
    /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/.test(
      message ?? '',
    )
  if (isDiskFull(error)) return new AppError('DATABASE_UNAVAILABLE', { message: FULL, cause: error, retryAfter: 10 })
  if (lost || (code !== undefined && (UNREACHABLE.has(code) || UNABLE.test(code) || code === READ_ONLY))) {
    return new AppError('DATABASE_UNAVAILABLE', { cause: error, retryAfter: 2 })
  }
  if (code === LOCKED) return busy(error)
  if (code === TOO_LONG) return slow(error)
  return error
}

const busy = (cause: unknown): AppError =>
  new AppError('BUSY', {
    message: 'Another request changes the same object. Nothing was changed; try again as Retry-After says.',
    ...{ cause, retryAfter: 2 },
  })

/** It may have read much, or waited for others that did: nothing says that another request changes something. */
const slow = (cause: unknown): AppError =>
  new AppError('BUSY', {
    message: 'The database took too long to answer. Nothing was changed; try again as Retry-After says.',
    ...{ cause, retryAfter: 2 },
  })

const isRetryable = (error: unknown): boolean => ['40001', '40P01'].includes((error as { code?: string }).code ?? '')

/** The name of the unique or check constraint that an error violates, if any. */
export function brokenConstraint(error: unknown): string | undefined {
  const { code, constraint } = error as { code?: string; constraint?: string }
  return code === '23505' || code === '23514' || code === '23503' ? constraint : undefined
}

/** Retries what a deadlock or a concurrent commit rolled back; nothing of it remains. */
async function again<Result>(work: () => Promise<Result>, room: Room): Promise<Result> {
  assertHoldsNone()
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      room.note(error)
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

/** Unnamed, because its text contains a filter. */
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
  /** Maximum connections; default: `POOL_SIZE`. */
  max?: number
  /** Off behind PgBouncer in transaction mode: no statement and no setting may outlive its transaction. */
  prepared?: boolean
  applicationName?: string
  /** Ends a connection whose statement got no answer for so long, unless the server still works on it. */
  silenceMs?: number
}

/** One round trip. Behind PgBouncer the limits are set per transaction, because the connection is not ours. */
const beginText = (named: boolean): string => {
  const limits = LIMITS.map((limit) => `set local ${limit.replace('=', " = '")}'`)
  return [BEGIN, ...(named ? [] : limits)].join('; ')
}

/** For cached generic plans, in the same round trip as `begin`. */
const KEPT = ['plan_cache_mode = force_generic_plan', 'enable_seqscan = off', 'enable_bitmapscan = off']
const BEGIN_KEPT = [BEGIN, ...KEPT.map((setting) => `set local ${setting}`)].join('; ')

/** Share of the connections that one company may hold at once; the rest is for the others. */
const SHARE = 1 / 3

/** A backend takes 5 MB and is reopened in 5 ms, so idle ones opened in a rush are closed. */
const IDLE_CONNECTION_MS = 10_000

/**
 * Opens the pool. The server cuts statements off after 30 s, idle transactions after 10 s, lock waits after 5 s. A
 * server that no longer answers is given up after 35 s; whether its last commit was made is not known then. One that
 * still works on a statement, or whose commit waits for a replica, is waited for.
 */
export function openDb(options: DbOptions): Db {
  const { connectionString, prepared: named = true, silenceMs = SILENCE_MS } = options
  const applicationName = options.applicationName ?? 'comptoir'
  const config = connectionConfig({ connectionString, prepared: named, applicationName })
  const pool = new pg.Pool({
    ...config,
    max: options.max ?? POOL_SIZE,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
  })
  const begin = beginText(named)
  const shares = openShares(Math.max(1, Math.ceil(pool.options.max * SHARE)))
  pool.on('error', () => {}) // an idle connection was lost; the next query opens another or answers 503
  const isBusy = openIsBusy(config)
  // a pool that is being closed waits for nothing
  pool.on('connect', (client) => endWhenSilent(client, silenceMs, async (one) => !pool.ending && isBusy(one)))
  const room = openRoom(() =>
    run(async (tx) => {
      for (const statement of WRITE_MEGABYTE) await tx.run(statement)
    }, begin),
  )
  /** Statements outside a transaction. */
  const statements: Runner = {
    query: ((query: pg.QueryConfig) => again(() => shares.run(() => pool.query(query)), room)) as Runner['query'],
  }
  const runOnce = async <Result>(work: (tx: Tx) => Promise<Result>, first: string): Promise<Result> => {
    const client = await pool.connect().catch((error: unknown) => {
      throw translate(error)
    })
    const actions: (() => void)[] = []
    let broken: Error | undefined
    // a connection lost between two statements emits an error on the client; without a listener it would end the
    // process
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
        async liftTimeLimit() {
          await execute(client, sql`set local statement_timeout = 0`, named)
          setSilence(client, 0)
        },
      } as Tx
      const result = await whileHolding(() => work(tx)).finally(() => setSilence(client, silenceMs))
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
    again(() => shares.run(() => runOnce(work, first)), room)
  const direct = queryable(statements, named)
  return {
    ...direct,
    tx: (work) => run(work, begin),
    planned: <Row>(statement: Sql) =>
      named ? run((tx) => tx.many<Row>(statement), BEGIN_KEPT) : direct.many<Row>(statement),
    ...{ pool, connectionString, room, prepared: named, close: () => pool.end() },
    countWaiting: () => pool.waitingCount + shares.countWaiting(),
  }
}

import type pg from 'pg'
import { type Clock, HOUR, SECOND, systemClock } from '../kernel/clock.ts'
import { type AppliedMigration, listMigrations, migrate, readApplied } from './migrate.ts'
import { connectionConfig, withClient } from './wire/connection.ts'

export type Mode = 'sandbox' | 'live'

/** What a database records about its installation; an older one shows only which key encrypted it. */
export type Installation = {
  mode: Mode | null
  keyMark: string | null
  /** When it first started; a copy of the database keeps it. Null in an older one. */
  installedAt: Date | null
  sealed: string | null
  /** The prefixes of sealed values, one for each key that sealed something. */
  sealPrefixes: readonly string[]
}

/** How an installation is started: its mode, its key's fingerprint, those of earlier keys, and what it would leave. */
export type Claimed = {
  mode: Mode
  keyMark: string
  previousMarks: readonly string[]
  sealPrefixes: readonly string[]
  /** An embedded database that this start would leave for another one. */
  leftDatabase: string | null
  /** A note in our folder about the installation whose database this must be. */
  elsewhere: { file: string; notedAt: Date | null; installedAt: Date | null } | null
}

export type InstallationFault = { check: 'mode' | 'master-key'; message: string; fix: string }

const checking = (connectionString: string): pg.ClientConfig =>
  connectionConfig({ connectionString, prepared: false, applicationName: 'comptoir-check' })

/**
 * Reads the seal prefixes of data that the service cannot work without. All of these tables are older than
 * `installation`, and small.
 */
async function readSealPrefixes(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ prefix: string }>(`
    select left(sealed, 12) as prefix from server_keys
    union select left(webhook_secret_sealed, 12) from companies
    union select left(next_webhook_secret_sealed, 12) from companies where next_webhook_secret_sealed is not null
    union select left(totp_sealed, 12) from users where totp_sealed is not null
    union select left(sealed, 12) from channel_accounts`)
  return rows.map(({ prefix }) => prefix)
}

/** Sealed values about payers, one or many for each order. Only `readIsStillSealed` looks through them. */
const LARGE_PLACES = [
  { table: 'payer_information', column: 'sealed' },
  { table: 'kyc_records', column: 'email_sealed' },
  { table: 'order_notes', column: 'sealed' },
] as const

/** Whether one of these keys still seals data about a payer. @throws Error without an answer for each table in 5 s */
export const readIsStillSealed = (connectionString: string, prefixes: readonly string[]): Promise<boolean> =>
  withClient(
    checking(connectionString),
    async (client) => {
      for (const { table, column } of LARGE_PLACES) {
        // the migration that makes it may be still to come
        const { rows: there } = await client.query<{ found: boolean }>('select to_regclass($1) is not null as found', [
          table,
        ])
        if (there[0]?.found !== true) continue
        const { rows } = await client.query<{ sealed: boolean }>(
          `select exists (select 1 from ${table} where left(${column}, 12) = any($1::text[])) as sealed`,
          [prefixes],
        )
        if (rows[0]?.sealed === true) return true
      }
      return false
    },
    5 * SECOND,
  )

/** Undefined: a new database. Writes nothing. */
export const readInstallation = (connectionString: string): Promise<Installation | undefined> =>
  withClient(checking(connectionString), async (client) => {
    const hasTable = async (name: string): Promise<boolean> => {
      const { rows } = await client.query<{ found: boolean }>('select to_regclass($1) is not null as found', [name])
      return rows[0]?.found === true
    }
    const written = (await hasTable('installation'))
      ? await client.query<{ mode: Mode; key_mark: string; created_at: Date }>(
          'select mode, key_mark, created_at from installation',
        )
      : { rows: [] }
    const [row] = written.rows
    if (row) {
      const { mode, key_mark: keyMark, created_at: installedAt } = row
      return { mode, keyMark, installedAt, sealed: null, sealPrefixes: await readSealPrefixes(client) }
    }
    if (!(await hasTable('server_keys'))) return undefined
    const { rows } = await client.query<{ sealed: string }>('select sealed from server_keys order by id desc limit 1')
    return rows[0] && { mode: null, keyMark: null, installedAt: null, sealed: rows[0].sealed, sealPrefixes: [] }
  })

/** One row, from the table `installation`; undefined before the first start. */
const readOf = <Row extends pg.QueryResultRow>(connectionString: string, query: string): Promise<Row | undefined> =>
  withClient(checking(connectionString), async (client) => {
    const found = await client.query<{ found: boolean }>("select to_regclass('installation') is not null as found")
    if (found.rows[0]?.found !== true) return undefined
    const { rows } = await client.query<Row>(query)
    return rows[0]
  })

/** When this installation's database was created; undefined before its first start. */
export const readInstalledAt = async (connectionString: string): Promise<Date | undefined> =>
  (await readOf<{ at: Date }>(connectionString, 'select created_at as at from installation'))?.at

/** The restore that the database records; undefined: none. */
export const readRestoredAt = async (connectionString: string): Promise<Date | undefined> =>
  (
    await readOf<{ at: Date | null }>(
      connectionString,
      "select (to_jsonb(installation)->>'restored_at')::timestamptz as at from installation",
    )
  )?.at ?? undefined

export const REHEARSAL =
  'This database was restored for a rehearsal: no job runs, nothing is sent or paid, and only reads are answered.'

/** Whether it was restored for a rehearsal; an older schema knows none. */
export const readIsRehearsal = async (connectionString: string): Promise<boolean> =>
  (
    await readOf<{ yes: boolean | null }>(
      connectionString,
      "select (to_jsonb(installation)->>'rehearsal')::boolean as yes from installation",
    )
  )?.yes === true

/** One life of a database: a restored copy goes on with another one. */
export type Life = { id: string; since: Date }

/** Undefined before the first start, and before the migration that began to tell lives apart. */
export const readLife = (connectionString: string): Promise<Life | undefined> =>
  readOf<Life>(
    connectionString,
    `select row->>'life' as id, (row->>'life_since')::timestamptz as since
     from (select to_jsonb(installation) as row from installation) rows where row ? 'life'`,
  )

/** An empty database would give the deposit addresses of those orders to new ones. */
const leavesOrders = (folder: string): InstallationFault => ({
  check: 'mode',
  message: `The database of DATABASE_URL is empty, and ${folder} holds one with your orders. Nothing was written.`,
  fix: `Load it into the database of DATABASE_URL first (docs/guides/own-postgresql.md), or move ${folder} away.`,
})

/** A start with the right database wrote the note: a mistyped name, or a server that lost its data, is not it. */
const notNoted = (file: string, what: string, says = 'are in another one'): InstallationFault => ({
  check: 'mode',
  message: `The database of DATABASE_URL ${what}, and ${file} says that the orders ${says}. Nothing was written.`,
  fix: `Correct DATABASE_URL. If this database is to be used from now on, and has all orders, remove ${file}.`,
})

/** The database's clock says when it was installed, and ours wrote the note, at the first start perhaps. */
const CLOCKS_MS = HOUR

/** Why the database may not take the place of the one that this folder belongs to. */
function findLeavingFaults(known: Installation | undefined, claimed: Claimed): InstallationFault[] {
  const { leftDatabase, elsewhere } = claimed
  if (!known && leftDatabase !== null) return [leavesOrders(leftDatabase)]
  if (elsewhere === null) return []
  const { file, notedAt, installedAt } = elsewhere
  if (!known) return [notNoted(file, 'is empty')]
  if (installedAt !== null) {
    const isAnother = known.installedAt?.getTime() !== installedAt.getTime()
    return isAnother ? [notNoted(file, 'belongs to another installation')] : []
  }
  // of an earlier version, which noted only since when: the database was there already
  const began = known.installedAt
  const isLater = began !== null && notedAt !== null && began.getTime() - notedAt.getTime() > CLOCKS_MS
  if (!isLater) return []
  const says = `have been in another one since ${notedAt.toISOString()}`
  return [notNoted(file, `was installed on ${began.toISOString()}`, says)]
}

/** Mismatches between the database and this start; no accepted risk covers them. */
export function findInstallationFaults(known: Installation | undefined, claimed: Claimed): InstallationFault[] {
  const faults = findLeavingFaults(known, claimed)
  if (!known) return faults
  if (known.mode !== null && known.mode !== claimed.mode) {
    faults.push({
      check: 'mode',
      message: `The database belongs to a ${known.mode} installation, and this start is ${claimed.mode}. Nothing was written.`,
      fix: `Set MODE=${known.mode}, or give the ${claimed.mode} installation a database of its own (DATABASE_URL, DATA_DIR).`,
    })
  }
  const { keyMark, sealed } = known
  const markFits = keyMark === null || keyMark === claimed.keyMark || claimed.previousMarks.includes(keyMark)
  const sealFits = sealed === null || claimed.sealPrefixes.some((prefix) => sealed.startsWith(prefix))
  if (!markFits || !sealFits) {
    faults.push({
      check: 'master-key',
      message: 'MASTER_KEY is not the key of this database; what it sealed could not be read. Nothing was written.',
      fix: 'Set the MASTER_KEY that this database was started with. To change the key, give the old one as MASTER_KEY_PREVIOUS.',
    })
  } else if (known.sealPrefixes.some((prefix) => !claimed.sealPrefixes.includes(prefix))) {
    faults.push({
      check: 'master-key',
      message:
        'An earlier master key still seals values of this database, which could not be read. Nothing was written.',
      fix: 'Give that key as MASTER_KEY_PREVIOUS, until doctor says that it is no longer needed.',
    })
  }
  return faults
}

/** Records the installation once the schema exists; a new key replaces the previous one. @returns when it began */
export const writeInstallation = (connectionString: string, { mode, keyMark }: Claimed): Promise<Date> =>
  withClient(checking(connectionString), async (client) => {
    await client.query(
      `insert into installation (mode, key_mark) values ($1, $2)
       on conflict (only_row) do update set key_mark = excluded.key_mark, updated_at = now()
       where installation.key_mark <> excluded.key_mark`,
      [mode, keyMark],
    )
    const { rows } = await client.query<{ at: Date }>('select created_at as at from installation')
    if (!rows[0]) throw new Error('the installation cannot be read back')
    return rows[0].at
  })

/** How far the database's clock is ahead of ours, and by how much that may be wrong: half the round trip. */
export type ClockSkew = { seconds: number; doubtSeconds: number }

/** @throws Error without an answer within 5 s */
export const readClockSkew = (connectionString: string, clock: Clock = systemClock): Promise<ClockSkew> =>
  withClient(
    checking(connectionString),
    async (client) => {
      const before = clock()
      const { rows } = await client.query<{ at: number }>(
        'select extract(epoch from clock_timestamp())::float8 * 1000 as at',
      )
      const after = clock()
      return {
        seconds: ((rows[0]?.at ?? 0) - (before + after) / 2) / SECOND,
        doubtSeconds: Math.abs(after - before) / 2 / SECOND,
      }
    },
    5 * SECOND,
  )

/** What was applied, in order; none on a database without our schema. */
export const readMigrations = (connectionString: string): Promise<AppliedMigration[]> =>
  withClient(checking(connectionString), async (client) => {
    const { rows: tables } = await client.query<{ found: boolean }>(
      "select to_regclass('migrations') is not null as found",
    )
    return tables[0]?.found ? readApplied(client) : []
  })

/** What it means that a database has no schema, and what to do. */
export const EMPTY = {
  message: 'The database of DATABASE_URL is empty. Nothing was written.',
  fix: 'If it should have your orders, correct DATABASE_URL. For a new installation: comptoir migrate.',
}

/**
 * Whether a start, or a command, has to leave this database as it is: in live mode only `init` and `migrate` fill one
 * of DATABASE_URL. An empty one may be a mistyped name, or a server that lost its data.
 */
export const isLeftEmpty = async (
  connectionString: string,
  { mode, databaseUrl }: { mode: Mode; databaseUrl: string | null },
): Promise<boolean> => mode === 'live' && databaseUrl !== null && (await readMigrations(connectionString)).length === 0

export type ServiceUrls = {
  /** What the service works with. */
  connectionString: string
  /** Past a pooler, for migrations; null: the same. */
  directUrl: string | null
}

type Watching = Parameters<typeof migrate>[1]

/**
 * Migrates the service's database, and makes sure that both addresses name it: after a failover or a restore one of
 * them may have been changed alone. @returns the ids of the applied migrations @throws Error with a sentence
 */
export async function migrateService({ connectionString, directUrl }: ServiceUrls, how?: Watching): Promise<string[]> {
  const done = await migrate(directUrl ?? connectionString, how)
  if (directUrl === null) return done
  const applied = new Set((await readMigrations(connectionString)).map(({ id }) => id))
  const lacking = listMigrations().find(({ id }) => !applied.has(id))
  if (lacking === undefined) return done
  throw new Error(
    `DATABASE_DIRECT_URL and DATABASE_URL name two databases: the migrations were applied to the first, and the second ` +
      `lacks ${lacking.id}. Let both name the database of the orders, then start again.`,
  )
}

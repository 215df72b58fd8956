import type pg from 'pg'
import { InstallationFault } from '../kernel/errors.ts'
import { connectionConfig, withClient } from './wire/connection.ts'

const OLDEST = 140_000

/** With any of these settings off, PostgreSQL may lose acknowledged commits. */
const SETTINGS = ['fsync', 'full_page_writes', 'synchronous_commit']

export const READ_ONLY = 'The database takes no changes: it is a replica, or was made read-only.'
export const READ_ONLY_FIX = 'Let DATABASE_URL name the primary.'

/** Checks nothing and keeps the bytes, so that an installation that began in it works; it sorts and counts by bytes. */
const UNCHECKED = 'SQL_ASCII'

const UNCHECKED_ADVICE =
  `The database is encoded in ${UNCHECKED}, which checks no text and counts bytes for characters. It works; move it ` +
  'to UTF8 when you can: stop Comptoir, pg_dump --format=custom --encoding=UTF8, create a database with ' +
  "template template0 encoding 'UTF8' locale 'C.UTF-8', pg_restore."

/**
 * @returns advice for an installation that works all the same; null without
 * @throws Error if payers' names and merchants' texts cannot be stored: some migrations cannot either
 */
export async function refuseOtherEncoding(client: pg.Client): Promise<string | null> {
  const encoding = await readSetting(client, 'server_encoding')
  if (encoding === 'UTF8') return null
  if (encoding === UNCHECKED && (await hasSchema(client))) return UNCHECKED_ADVICE
  throw new InstallationFault(
    `The database is encoded in ${encoding}, and Comptoir needs UTF8. Nothing was written.`,
    'Make one that is: ' +
      `create database comptoir owner comptoir template template0 encoding 'UTF8' locale 'C.UTF-8'`,
  )
}

/**
 * Ensures that an acknowledged commit survives a crash of the database's machine, complete. It connects as the service
 * does, so that what refuses the service is found here.
 * @throws Error if a setting prevents that, if the server is older than PostgreSQL 14, read-only or not in UTF-8, or if
 * Citus distributed our tables
 * @returns advice about its encoding; null without
 */
export const assertDurable = (connectionString: string, { prepared } = { prepared: true }): Promise<string | null> =>
  withClient(connectionConfig({ connectionString, prepared, applicationName: 'comptoir-check' }), refuseUnsafe)

async function refuseUnsafe(client: pg.Client): Promise<string | null> {
  const version = await readSetting(client, 'server_version_num')
  if (Number(version) < OLDEST) {
    throw new InstallationFault(
      `The database is PostgreSQL ${await readSetting(client, 'server_version')}; Comptoir needs 14 or newer.`,
      'Upgrade the server, or let DATABASE_URL name a newer one.',
    )
  }
  if ((await readSetting(client, 'transaction_read_only')) === 'on')
    throw new InstallationFault(READ_ONLY, READ_ONLY_FIX)
  const advice = await refuseOtherEncoding(client)
  const off: string[] = []
  for (const name of SETTINGS) if ((await readSetting(client, name)) === 'off') off.push(name)
  if (off.length > 0) {
    throw new InstallationFault(
      `The database may lose paid orders in a crash: ${off.join(', ')} is off.`,
      `Turn it on (also for this role and database) and start again.`,
    )
  }
  await refuseDivided(client)
  return advice
}

/**
 * On tables distributed by Citus, a transaction that also writes to the coordinator's own tables is not one commit, and
 * the feed's positions come from several counters (docs/scaling.md). The extension alone changes nothing.
 */
async function refuseDivided(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string }>(
    `select extversion as version from pg_extension where extname = 'citus'`,
  )
  if (!rows[0]) return
  const divided = await client.query<{ name: string }>(
    `select c.relname as name from pg_dist_partition d join pg_class c on c.oid = d.logicalrelid
     where c.relnamespace = current_schema()::regnamespace and not c.relispartition order by 1`,
  )
  const [first, ...others] = divided.rows.map(({ name }) => name)
  if (first === undefined) return
  const which = others.length === 0 ? first : `${first} and ${others.length} others`
  throw new InstallationFault(
    `Citus ${rows[0].version} spreads tables of this database over machines (${which}). Comptoir does not work there: statements fail, the event feed could leave out events, and a crash could keep half of a payment.`,
    `Set DATABASE_URL to a database whose tables Citus does not spread (docs/scaling.md).`,
  )
}

async function hasSchema(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>("select to_regclass('migrations') is not null as found")
  return rows[0]?.found === true
}

async function readSetting(client: pg.Client, name: string): Promise<string> {
  const { rows } = await client.query<{ value: string }>('select current_setting($1) as value', [name])
  return rows[0]?.value ?? ''
}

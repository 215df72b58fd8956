import pg from 'pg'

const OLDEST = 140_000

/** With any of these settings off, PostgreSQL may lose acknowledged commits. */
const SETTINGS = ['fsync', 'full_page_writes', 'synchronous_commit']

/**
 * Ensures that an acknowledged commit survives a crash of the database's machine, complete.
 * @throws Error if a setting prevents that, if the server is older than PostgreSQL 14, or if Citus distributed our
 * tables
 */
export async function assertDurable(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString, application_name: 'comptoir-check', connectionTimeoutMillis: 5000 })
  await client.connect()
  try {
    const version = await readSetting(client, 'server_version_num')
    if (Number(version) < OLDEST) {
      throw new Error(
        `The database is PostgreSQL ${await readSetting(client, 'server_version')}; Comptoir needs 14 or newer.`,
      )
    }
    const off: string[] = []
    for (const name of SETTINGS) if ((await readSetting(client, name)) === 'off') off.push(name)
    if (off.length > 0) {
      throw new Error(
        `The database may lose paid orders in a crash: ${off.join(', ')} is off. Turn it on (also for this role and database) and start again.`,
      )
    }
    await refuseDivided(client)
  } finally {
    await client.end()
  }
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
  throw new Error(
    `Citus ${rows[0].version} spreads tables of this database over machines (${which}). Comptoir does not work there: statements fail, the event feed could leave out events, and a crash could keep half of a payment. Set DATABASE_URL to a database whose tables Citus does not spread (docs/scaling.md).`,
  )
}

async function readSetting(client: pg.Client, name: string): Promise<string> {
  const { rows } = await client.query<{ value: string }>('select current_setting($1) as value', [name])
  return rows[0]?.value ?? ''
}

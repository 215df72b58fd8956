import pg from 'pg'

const OLDEST = 140_000

/** With any of these settings off, PostgreSQL may lose acknowledged commits. */
const SETTINGS = ['fsync', 'full_page_writes', 'synchronous_commit']

/**
 * Ensures that an acknowledged commit survives a crash of the database's machine.
 * @throws Error if a setting prevents that, or if the server is older than PostgreSQL 14
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
  } finally {
    await client.end()
  }
}

async function readSetting(client: pg.Client, name: string): Promise<string> {
  const { rows } = await client.query<{ value: string }>('select current_setting($1) as value', [name])
  return rows[0]?.value ?? ''
}

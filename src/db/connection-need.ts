import { countProcesses } from '../config/process-count.ts'
import { connectionConfig, withClient } from './wire/connection.ts'

/** Of one process. About twice the cores, up to 16, is best (more backends lose throughput). */
export const POOL_SIZE = 12
/** Beside it: exports, checks, the backup, and the question whether a silent server still works. */
const BESIDE_POOL = 4
/** For commands next to the service, and what PostgreSQL keeps for superusers. */
const COMMANDS = 20

/** Enough for six processes, so that a reload may bring some more. */
const LEAST = 200

type Processes = { processes: number | 'auto' }

/** What the processes of this node may open at once. */
export const countConnections = ({ processes }: Processes): number =>
  countProcesses(processes) * (POOL_SIZE + BESIDE_POOL)

/** What the embedded server must take: a reload runs a second set of processes for a while. */
export const embeddedConnections = (config: Processes): number =>
  Math.max(LEAST, 2 * countConnections(config) + COMMANDS)

/** Whether a reload to these processes would open more than the embedded server was started for. */
export const outgrowsEmbedded = (next: Processes, first: Processes): boolean =>
  embeddedConnections(next) > embeddedConnections(first)

/** How many connections the server takes from this role to this database, of all nodes together. */
export const readConnectionLimit = (connectionString: string): Promise<number> =>
  withClient(
    connectionConfig({ connectionString, prepared: true, applicationName: 'comptoir-check' }),
    async (client) => {
      const { rows } = await client.query<{ limit: number }>(`
      select least(
        current_setting('max_connections')::int - case when rolsuper then 0 else
          current_setting('superuser_reserved_connections')::int
          + coalesce(current_setting('reserved_connections', true), '0')::int end,
        nullif(rolconnlimit, -1), nullif(datconnlimit, -1)) as limit
      from pg_roles, pg_database where rolname = current_user and datname = current_database()`)
      return rows[0]?.limit ?? 0
    },
  )

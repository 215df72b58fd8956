import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'

/** PostgreSQL's throughput of one statement without a service in front. */
export type Limit = { name: string; perSecond(work: LimitWork): Promise<number> }

/**
 * One statement. In its text `{growing}` and `{random}` become twelve hex digits, like ids and codes; `{known}` those
 * of one of the known orders; `{template}` a separately passed text.
 */
export type LimitWork = { database?: string; text: string; template?: string; callers: number; seconds: number }

/** Orders that both sides can read: their codes end in their number in hex. */
export const KNOWN_ORDERS = 10_000

/** On few cores more connections than these only slow the server down. */
const MOST_CONNECTIONS = 32

const PGBENCH = ['/usr/bin/pgbench', '/usr/local/bin/pgbench']

const GROWING = `lpad(to_hex(:run::bigint * 4294967296 + :client_id::bigint * 16777216 + :n::bigint), 12, '0')`

const inDatabase = (connectionString: string, database: string | undefined): string => {
  if (database === undefined) return connectionString
  const url = new URL(connectionString)
  url.pathname = `/${database}`
  return url.href
}

/** pgbench, prepared statements, over the same socket. */
function pgbench(program: string, folder: string, connectionString: string): Limit {
  let runs = 0
  return {
    name: 'pgbench',
    async perSecond({ database, text, template = '', callers, seconds }) {
      runs += 1
      const script = join(folder, 'limit.sql')
      const filled = text
        .replaceAll('{template}', ':template::text')
        .replaceAll('{growing}', GROWING)
        .replaceAll('{random}', `lpad(to_hex(:r::bigint), 12, '0')`)
        .replaceAll('{known}', `lpad(to_hex(:k::bigint), 12, '0')`)
        .replaceAll(/--.*$/gm, '')
        .replaceAll(/\s+/g, ' ')
      const variables = `\\set n :n + 1\n\\set r random(0, 281474976710655)\n\\set k random(0, ${KNOWN_ORDERS - 1})\n`
      writeFileSync(script, `${variables}${filled};\n`)
      const clients = Math.min(MOST_CONNECTIONS, callers)
      const threads = Math.min(2, clients)
      const args = ['-n', '-M', 'prepared', '-f', script, '-c', `${clients}`, '-j', `${threads}`, '-T', `${seconds}`]
      const given = ['-D', 'n=0', '-D', `run=${runs}`, ...(template === '' ? [] : ['-D', `template=${template}`])]
      const target = inDatabase(connectionString, database)
      const { stdout, stderr } = spawnSync(program, [...args, ...given, target], { encoding: 'utf8' })
      const [, rate] = /tps = ([\d.]+)/.exec(stdout) ?? []
      if (rate === undefined || !/number of failed transactions: 0 /.test(stdout))
        throw new Error(`pgbench: ${stdout}${stderr}`)
      return Number(rate)
    },
  }
}

const hex = (value: number): string => Math.floor(value).toString(16).padStart(12, '0')

/** Fallback without pgbench: our own loop in this process, which costs more than pgbench. */
function ownLoop(connectionString: string): Limit {
  let count = Date.now() * 100
  return {
    name: 'own loop (no pgbench here)',
    async perSecond({ database, text, template = '', callers, seconds }) {
      const target = inDatabase(connectionString, database)
      const clients = Array.from(
        { length: Math.min(MOST_CONNECTIONS, callers) },
        () => new pg.Client({ connectionString: target }),
      )
      await Promise.all(clients.map((client) => client.connect()))
      const endMs = performance.now() + seconds * 1000
      let done = 0
      const used = ['{growing}', '{random}', '{known}', '{template}'].filter((name) => text.includes(name))
      const prepared = used.reduce((sql, name, index) => sql.replaceAll(name, `$${index + 1}::text`), text)
      const loop = async (client: pg.Client): Promise<void> => {
        for (; performance.now() < endMs; done += 1) {
          count += 1
          const values: Record<string, string> = {
            '{growing}': hex(count),
            '{random}': hex(Math.random() * 2 ** 48),
            '{known}': hex(Math.random() * KNOWN_ORDERS),
            '{template}': template,
          }
          await client.query({ text: prepared, name: 'limit', values: used.map((name) => values[name]) })
        }
      }
      await Promise.all(clients.map(loop))
      await Promise.all(clients.map((client) => client.end()))
      return done / seconds
    },
  }
}

/** @param folder for pgbench's script */
export function openLimit(folder: string, connectionString: string): Limit {
  const program = PGBENCH.find((path) => existsSync(path))
  return program === undefined ? ownLoop(connectionString) : pgbench(program, folder, connectionString)
}

import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Sql } from '../src/db/db.ts'

/** What PostgreSQL does of one statement when nothing stands before it. */
export type Limit = { name: string; perSecond(work: LimitWork): Promise<number> }

/** One statement and its only parameter: a text in which `@`, `#` and `%` become numbers in hex. */
export type LimitWork = { statement: Sql; template: string; callers: number; seconds: number }

/** Orders that both sides can read: codes end in their number in hex. */
export const KNOWN_ORDERS = 10_000

/** The server takes 50 connections; on few cores more than these only make it slower. */
const MOST_CONNECTIONS = 32

const PGBENCH = ['/usr/bin/pgbench', '/usr/local/bin/pgbench']

/**
 * Twelve hex digits each: `@` grows with every statement, as ids do; `#` is random, as codes are; `%` is of the
 * known.
 */
const FILLED = `replace(replace(replace(:template::text,
  '@', lpad(to_hex(:run::bigint * 4294967296 + :client_id::bigint * 16777216 + :n::bigint), 12, '0')),
  '#', lpad(to_hex(:r::bigint), 12, '0')), '%', lpad(to_hex(:k::bigint), 12, '0'))`

/** pgbench, prepared statements, over the same socket. */
function pgbench(program: string, folder: string, connectionString: string): Limit {
  let runs = 0
  return {
    name: 'pgbench',
    async perSecond({ statement, template, callers, seconds }) {
      runs += 1
      const script = join(folder, 'limit.sql')
      const text = statement.text.replace('$1', FILLED).replaceAll(/\s+/g, ' ')
      writeFileSync(
        script,
        `\\set n :n + 1\n\\set r random(0, 281474976710655)\n\\set k random(0, ${KNOWN_ORDERS - 1})\n${text};\n`,
      )
      const clients = Math.min(MOST_CONNECTIONS, callers)
      const threads = Math.min(2, clients)
      const args = ['-n', '-M', 'prepared', '-f', script, '-c', `${clients}`, '-j', `${threads}`, '-T', `${seconds}`]
      const variables = ['-D', 'n=0', '-D', `run=${runs}`, '-D', `template=${template}`]
      const { stdout, stderr } = spawnSync(program, [...args, ...variables, connectionString], { encoding: 'utf8' })
      const [, rate] = /tps = ([\d.]+)/.exec(stdout) ?? []
      if (rate === undefined || !/number of failed transactions: 0 /.test(stdout))
        throw new Error(`pgbench: ${stdout}${stderr}`)
      return Number(rate)
    },
  }
}

const hex = (value: number): string => Math.floor(value).toString(16).padStart(12, '0')

/** Where pgbench is missing: a loop of our own in this process, which costs more than pgbench does. */
function ownLoop(connectionString: string): Limit {
  let count = Date.now() * 100
  return {
    name: 'own loop (no pgbench here)',
    async perSecond({ statement, template, callers, seconds }) {
      const clients = Array.from(
        { length: Math.min(MOST_CONNECTIONS, callers) },
        () => new pg.Client({ connectionString }),
      )
      await Promise.all(clients.map((client) => client.connect()))
      const endMs = performance.now() + seconds * 1000
      let done = 0
      const { text, name } = statement
      const loop = async (client: pg.Client): Promise<void> => {
        for (; performance.now() < endMs; done += 1) {
          count += 1
          const filled = template
            .replaceAll('@', hex(count))
            .replaceAll('#', hex(Math.random() * 2 ** 48))
            .replaceAll('%', hex(Math.random() * KNOWN_ORDERS))
          await client.query({ text, name, values: [filled] })
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

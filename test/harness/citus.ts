import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { chooseAccount, giveTo } from '../../src/db/embedded/system-user.ts'
import { freePort } from './free-port.ts'

/** Where packages put the extension, and its PostgreSQL's programs beside it. */
const PLACES: [extension: string, programs: (extension: string) => string][] = [
  ['/usr/share/postgresql/*/extension/citus.control', (path) => `/usr/lib/postgresql/${path.split('/')[4]}/bin`],
  ['/usr/pgsql-*/share/extension/citus.control', (path) => join(path, '../../../bin')],
  [
    '/usr/local/{pgsql,pgsql-*}/share/{extension,postgresql/extension}/citus.control',
    (path) => `${path.split('/share/')[0]}/bin`,
  ],
]

/** The programs of a PostgreSQL that has Citus; of several the newest. */
export const findCitus = (): string | undefined =>
  PLACES.flatMap(([extension, programs]) => globSync(extension).map(programs))
    .sort()
    .at(-1)

export type Citus = {
  /** Of PostgreSQL and Citus. */
  version: string
  /** An empty database on every node, with the extension; those on the workers belong to it. */
  createDatabase(name: string): Promise<string>
  stop(): Promise<void>
}

type Node = { port: number; child: ChildProcess }

const OWNER = 'comptoir'
const WORKERS = 2

/** What the manual asks for; the shards are few, so that a table is spread in a moment. */
const SETTINGS = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_preload_libraries = 'citus'
wal_level = logical
max_prepared_transactions = 100
citus.shard_count = 4
citus.node_conninfo = 'sslmode=disable'
`

const urlOf = (port: number, database: string): string =>
  `postgresql://${OWNER}@127.0.0.1:${port}/${database}?sslmode=disable`

async function run<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

async function startNode(programs: string, folder: string): Promise<Node> {
  const account = chooseAccount(folder, folder)
  const [port, data] = [await freePort(), join(folder, 'data')]
  mkdirSync(folder)
  giveTo(account, folder)
  // libpq looks for certificates in the home
  const how = { ...account, cwd: folder, env: { ...process.env, HOME: folder } }
  const made = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', OWNER, '-A', 'trust', '-E', 'UTF8', '--locale=C'],
    how,
  )
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
  appendFileSync(join(data, 'postgresql.conf'), `${SETTINGS}port = ${port}\nlogging_collector = off\n`)
  const child = spawn(join(programs, 'postgres'), ['-D', data], { ...how, stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    log = (log + chunk).slice(-4000)
  })
  while (
    !(await run(urlOf(port, 'postgres'), 'select 1').then(
      () => true,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`PostgreSQL with Citus does not start:\n${log}`)
    await sleep(50)
  }
  return { port, child }
}

async function stopNode({ child }: Node): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGQUIT')
  await ended
}

/** A coordinator and two workers on loopback ports of their own. */
export async function startCitus(programs: string): Promise<Citus> {
  const place = mkdtempSync(join(tmpdir(), 'cb-citus-'))
  giveTo(chooseAccount(place, join(place, 'none')), place)
  const nodes: Node[] = []
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map(stopNode))
    rmSync(place, { recursive: true, force: true })
  }
  try {
    for (let number = 0; number <= WORKERS; number += 1) nodes.push(await startNode(programs, join(place, `${number}`)))
  } catch (error) {
    await stop()
    throw error
  }
  const [coordinator, ...workers] = nodes as [Node, ...Node[]]
  const createDatabase: Citus['createDatabase'] = async (name) => {
    for (const { port } of nodes) {
      await run(urlOf(port, 'postgres'), `create database ${name}`)
      await run(urlOf(port, name), 'create extension citus')
    }
    const url = urlOf(coordinator.port, name)
    await run(url, `select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`)
    for (const { port } of workers) await run(url, `select citus_add_node('127.0.0.1', ${port})`)
    return url
  }
  const control = readFileSync(globSync(PLACES.map(([extension]) => extension))[0] ?? '', 'utf8')
  const [, citus = ''] = /default_version = '([^']+)'/.exec(control) ?? []
  const [server] = await run<{ server_version: string }>(urlOf(coordinator.port, 'postgres'), 'show server_version')
  return { version: `Citus ${citus} on PostgreSQL ${server?.server_version}`, createDatabase, stop }
}

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './free-port.ts'

const PLACES = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer']

/** Debian's, where it is installed. */
export const findPgBouncer = (): string | undefined => PLACES.find((path) => existsSync(path))

export type PgBouncer = { version: string; connectionString: string; stop(): Promise<void> }

/** In transaction mode, with fewer connections to the server than it has clients. */
export async function startPgBouncer(program: string, target: string): Promise<PgBouncer> {
  const url = new URL(target)
  const socketDir = url.searchParams.get('host') ?? ''
  const database = url.pathname.slice(1)
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'cpgb-'))
  // only the owner of the server's socket may connect
  const { uid, gid } = statSync(socketDir)
  chownSync(folder, uid, gid)
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
${database} = host=${socketDir} port=5432 user=${url.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
logfile = ${join(folder, 'log')}
`,
  )
  const account = process.getuid?.() === 0 ? { uid, gid } : {}
  const child: ChildProcess = spawn(program, [file], { ...account, cwd: folder, stdio: 'ignore' })
  const connectionString = `postgresql://${url.username}@127.0.0.1:${port}/${database}?sslmode=disable`
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    rmSync(folder, { recursive: true, force: true })
  }
  for (let tries = 0; ; tries += 1) {
    const client = new pg.Client({ connectionString })
    const answered = await client.connect().then(
      () => true,
      () => false,
    )
    await client.end().catch(() => {})
    if (answered) break
    if (tries > 100) throw new Error(`PgBouncer does not answer:\n${readFileSync(join(folder, 'log'), 'utf8')}`)
    await sleep(50)
  }
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  return { version: stdout.split('\n')[0] ?? '', connectionString, stop }
}

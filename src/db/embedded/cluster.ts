import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Account, canReach, giveTo } from './system-user.ts'

/** PostgreSQL's role and database; only the owner of the socket's folder can connect. */
export const NAME = 'comptoir'
export const PORT = 5432
const MAJOR = '18'

/** Longest path that fits into sockaddr_un. Source: unix(7); macOS has four bytes less. */
const SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103

/** Paths of one server: its programs, data, socket and log, and the account that runs it. */
export type ClusterPaths = {
  native: string
  clusterDir: string
  socketDir: string
  logFile: string
  account: Account | undefined
}

export function connectionStringFor(place: ClusterPaths, database: string): string {
  return `postgresql://${NAME}@localhost:${PORT}/${database}?host=${encodeURIComponent(place.socketDir)}&sslmode=disable`
}

/**
 * The path by which the server can name a folder. If its account has no access to a parent folder (root's home, say),
 * it can still work in its current directory, which Linux offers under this name.
 */
export function nameFor(account: Account | undefined, folder: string): string {
  if (canReach(account, folder)) return folder
  if (process.platform === 'linux') return '/proc/self/cwd'
  throw new Error(
    `${folder} is closed to user number ${account?.uid}, who runs PostgreSQL. Open the folders above it, or choose another DATA_DIR.`,
  )
}

/** Where a restore unpacks; it is renamed once it is whole. */
export const restoringOf = (clusterDir: string): string => `${clusterDir}.restoring`

/** In a restored cluster until PostgreSQL has replayed its log: until then nothing has been written there. */
export const RECOVERY_SIGNAL = 'recovery.signal'

export function serverEnv(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }
}

/**
 * Creates the database cluster if there is none. It appears under its name completely or not at all.
 * @throws Error with initdb's last words
 */
export function makeCluster(place: ClusterPaths): void {
  const { clusterDir, account, native } = place
  if (existsSync(clusterDir)) {
    checkCluster(place)
    return
  }
  const draft = `${clusterDir}.new`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { mode: 0o700 })
  giveTo(account, draft)
  const locale = process.platform === 'linux' ? 'C.UTF-8' : 'C'
  const args = [
    '-D',
    nameFor(account, draft),
    `--username=${NAME}`,
    '--encoding=UTF8',
    `--locale=${locale}`,
    '--locale-provider=builtin',
  ]
  args.push(
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--auth-local=trust',
    '--auth-host=reject',
    '--no-instructions',
  )
  const made = spawnSync(join(native, 'bin', 'initdb'), args, {
    ...account,
    cwd: draft,
    env: serverEnv(),
    encoding: 'utf8',
  })
  if (made.status !== 0) {
    rmSync(draft, { recursive: true, force: true })
    const words = made.error?.message ?? lastLines(`${made.stdout}${made.stderr}`)
    throw new Error(`PostgreSQL could not make its database in ${clusterDir}:\n${words}`)
  }
  renameSync(draft, clusterDir)
  syncFolder(join(clusterDir, '..'))
}

/** Without this, a power cut could undo the renaming after the first orders were acknowledged. */
function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  fsyncSync(handle)
  closeSync(handle)
}

function checkCluster({ clusterDir, account }: ClusterPaths): void {
  const version = readFileSync(join(clusterDir, 'PG_VERSION'), 'utf8').trim()
  if (version !== MAJOR) {
    throw new Error(
      `The database in ${clusterDir} was made by PostgreSQL ${version}; this program brings ${MAJOR}. Move it with pg_dump, or start the program that made it.`,
    )
  }
  const { uid } = lstatSync(clusterDir)
  if (account !== undefined && uid !== account.uid) giveTo(account, clusterDir)
  chmodSync(clusterDir, 0o700)
}

/** The socket's folder: the cluster itself, or a short private one if the path would be too long for a socket. */
export function chooseSocketDir(dataDir: string, clusterDir: string, account: Account | undefined): string {
  if (socketFits(clusterDir)) return clusterDir
  const name = `comptoir-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`
  const folder = [tmpdir(), '/tmp'].map((base) => join(base, name)).find(socketFits)
  if (folder === undefined)
    throw new Error(`The path ${clusterDir} is too long for a socket. Choose a shorter DATA_DIR.`)
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) {
    mkdirSync(folder, { mode: 0o700 })
    giveTo(account, folder)
  }
  const { uid, mode } = lstatSync(folder)
  const owner = account?.uid ?? process.getuid?.()
  if (uid !== owner || (mode & 0o077) !== 0) throw new Error(`${folder} belongs to another user; remove it.`)
  return folder
}

const socketFits = (folder: string): boolean => Buffer.byteLength(join(folder, `.s.PGSQL.${PORT}`)) <= SOCKET_PATH_BYTES

/** What a starting server answers to each question whether it is there, with its detail. */
const REFUSALS =
  /^.*FATAL: {2}the database system is (?:starting up|not (?:yet )?accepting connections)\n(?:.*DETAIL: .*\n)?/gm

/** Of a server's log, without the lines that our own questions left there. */
export const lastLines = (text: string): string =>
  text.replaceAll(REFUSALS, '').trim().split('\n').slice(-12).join('\n')

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClusterPaths, lastLines, nameFor, PORT, RECOVERY_SIGNAL, serverEnv } from './cluster.ts'
import { becomesReady, type Patience } from './readiness.ts'
import { moveLog, openLog, sizeOf, watchLog } from './server-log.ts'

const LOCKED_MS = 10_000
const RETRY_MS = 200
/** A server that fails to restart is retried at growing intervals. */
const LONGEST_RESTART_MS = 30_000
const RESTART_MS = 1000

/** Tuned by measurement; settings that make a commit durable stay at PostgreSQL's defaults. */
const SETTINGS = {
  listen_addresses: '',
  port: PORT,
  unix_socket_permissions: '0700',
  shared_buffers: '256MB',
  // memory that an idle server would touch but never use: no serializable transactions, no logical replication
  max_pred_locks_per_transaction: 10,
  max_logical_replication_workers: 0,
  // 8 MB by default; a commit flushes its own within milliseconds
  wal_buffers: '4MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  // a backup that stands still must not fill the disk with the log that it keeps
  max_slot_wal_keep_size: '8GB',
  jit: 'off',
  autovacuum_naptime: '5s',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // a repeated alias is an error here, too: with its statement each would be 3 kB; for its values see `hideValues`
  log_min_error_statement: 'panic',
}

/**
 * A restored cluster answers once it has replayed its whole log. To answer queries during the replay, as PostgreSQL
 * does by default, it would need at least as many connections as the server that was backed up.
 */
const REPLAYS_FIRST = { hot_standby: 'off' }

const isRestored = (clusterDir: string): boolean => existsSync(join(clusterDir, RECOVERY_SIGNAL))

/** PostgreSQL's messages while another server, about to end, still holds the cluster. */
const STILL_HELD = /lock file "[^"]+" already exists|pre-existing shared memory block/

/** Fast shutdown, then immediate shutdown (recovery at the next start), then a kill: 4 s in all. */
const STOP_STEPS = [
  ['SIGINT', 3000],
  ['SIGQUIT', 700],
  ['SIGKILL', 300],
] as const

export type Log = (line: string) => void

/** `connections`: how many it must take. */
type ServerPlace = ClusterPaths & { connections: number }

/**
 * With util-linux's setpriv the kernel sends the server a stop signal (SIGINT) when this process dies, however it dies.
 */
function withDeathSignal(program: string): string[] {
  const wrapper = ['setpriv', '--pdeathsig', 'INT']
  const probe = process.platform === 'linux' ? spawnSync('setpriv', ['--pdeathsig', 'INT', 'true']) : undefined
  return probe?.status === 0 ? [...wrapper, program] : [program]
}

/** In a session of its own, so that Ctrl-C in a terminal reaches only Comptoir, which stops the server last. */
function launch(place: ServerPlace): ChildProcess {
  const { native, clusterDir, socketDir, account, connections } = place
  const [program = '', ...before] = withDeathSignal(join(native, 'bin', 'postgres'))
  const sockets = socketDir === clusterDir ? '.' : socketDir
  const sized = { max_connections: connections, unix_socket_directories: sockets }
  const settings = { ...SETTINGS, ...sized, ...(isRestored(clusterDir) ? REPLAYS_FIRST : {}) }
  const args = [...before, '-D', nameFor(account, clusterDir)]
  for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`)
  const output = openLog(place)
  try {
    const stdio = ['ignore', output, output] as const
    return spawn(program, args, { ...account, cwd: clusterDir, env: serverEnv(), stdio: [...stdio], detached: true })
  } finally {
    closeSync(output)
  }
}

type Running = { child: ChildProcess; ended: Promise<string> }

function begin(place: ServerPlace): Running {
  const child = launch(place)
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal === null ? `code ${code}` : `signal ${signal}`))
  })
  return { child, ended }
}

const isOver = ({ child }: Running): boolean =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null

/** `signal`: of a stop, which waits for no replay. */
type Starting = { log: Log; patience: Patience; signal: AbortSignal }

/** @throws Error with the server's last words, or because of a stop */
async function startUntilReady(place: ServerPlace, { log, patience, signal }: Starting): Promise<Running> {
  const { logFile } = place
  const deadline = Date.now() + LOCKED_MS
  for (;;) {
    moveLog(logFile)
    const from = sizeOf(logFile)
    const running = begin(place)
    const giveUp = (): boolean => isOver(running) || signal.aborted
    if (await becomesReady(place, { log, patience, giveUp })) return running
    const ended = isOver(running) ? await running.ended : undefined
    if (ended === undefined) await halt(running)
    signal.throwIfAborted()
    const words = readFileSync(logFile).subarray(from).toString('utf8')
    if (!STILL_HELD.test(words) || Date.now() > deadline) {
      const reason = ended ?? 'it did not answer'
      throw new Error(`PostgreSQL did not start (${reason}). Its last words, more in ${logFile}:\n${lastLines(words)}`)
    }
    await sleep(RETRY_MS)
  }
}

/**
 * Starts the server and keeps it running: if it ends unexpectedly, it is restarted.
 * @returns when it answers a query, however long it replays its log; `stop` is a fast shutdown, forced after 4 s
 * @throws Error with the server's last words
 */
export async function runServer(
  place: ServerPlace,
  { log, patience }: { log: Log; patience: Patience },
): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController()
  const { signal } = stopping
  const starting = { log, patience, signal }
  let running = await startUntilReady(place, starting)
  const keepAlive = async (): Promise<void> => {
    for (let failures = 0; ; ) {
      const reason = await running.ended
      if (signal.aborted) return
      if (!existsSync(join(place.clusterDir, 'PG_VERSION'))) {
        log(`The database in ${place.clusterDir} is gone. Stop Comptoir, restore the directory and start again.`)
        return
      }
      log(`PostgreSQL ended unexpectedly (${reason}) and is started again; see ${place.logFile}.`)
      await sleep(Math.min(LONGEST_RESTART_MS, RESTART_MS * 2 ** failures), undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      const next = await startUntilReady(place, starting).catch((error: Error) => error)
      failures = next instanceof Error ? failures + 1 : 0
      if (!(next instanceof Error)) running = next
      else if (!signal.aborted) log(next.message)
      if (signal.aborted) await halt(running)
    }
  }
  const kept = keepAlive()
  const watch = watchLog(place, log)
  const stop = async (): Promise<void> => {
    stopping.abort()
    watch.stop()
    await halt(running)
    await kept
  }
  return { stop }
}

async function halt({ child, ended }: Running): Promise<void> {
  for (const [signal, waitMs] of STOP_STEPS) {
    child.kill(signal)
    const over = await Promise.race([ended, sleep(waitMs, undefined, { ref: false })])
    if (over !== undefined) return
  }
}

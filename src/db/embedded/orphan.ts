import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClusterPaths } from './cluster.ts'
import { processMark } from './process.ts'
import { answers } from './readiness.ts'
import type { Log } from './server.ts'

const POLL_MS = 50
const SHUTDOWN_MS = 60_000
const isLinux = process.platform === 'linux'

/**
 * Ends the server that a killed Comptoir left, before a new server starts. Only the owner of the data directory's lock
 * may call this. A working server gets a fast shutdown, which loses nothing. The leftover `postmaster.pid` is removed
 * once no server process remains. PostgreSQL itself would take a zombie, or a foreign process with the same id in a
 * restarted container, for its predecessor, and refuse to start.
 * @throws Error when a server does not end within a minute
 */
export async function endOrphan(place: ClusterPaths, log: Log): Promise<void> {
  const file = join(place.clusterDir, 'postmaster.pid')
  const pid = readPid(file)
  if (pid === undefined) return
  if ((await findServers(place, pid)).includes(pid)) {
    log(`PostgreSQL of an earlier start still runs (process ${pid}); it is shut down first.`)
    askToStop(pid)
  }
  const deadline = Date.now() + SHUTDOWN_MS
  for (;;) {
    const servers = await findServers(place, pid)
    if (servers.length === 0) break
    if (Date.now() > deadline) {
      throw new Error(
        `PostgreSQL of an earlier start does not end (processes ${servers.join(', ')}). End them and start again.`,
      )
    }
    await sleep(POLL_MS)
  }
  if (isLinux) rmSync(file, { force: true })
}

function readPid(file: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Every server process has its cluster's folder as working directory; without /proc, a server is detected by its
 * answer.
 */
async function findServers(place: ClusterPaths, pid: number): Promise<number[]> {
  if (!isLinux) return processMark(pid) !== undefined && (await answers(place)) ? [pid] : []
  const isServer = (candidate: number): boolean => {
    try {
      const command = readFileSync(`/proc/${candidate}/comm`, 'utf8').trim()
      return command === 'postgres' && readlinkSync(`/proc/${candidate}/cwd`) === place.clusterDir
    } catch {
      return false // ended meanwhile, a zombie, or another user's
    }
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(isServer)
}

function askToStop(pid: number): void {
  try {
    process.kill(pid, 'SIGINT')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** proc_pid_stat(5) counts in hundredths of a second. */
const TICK_US = 10_000

const statOf = (pid: number | string | undefined): string[] => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** CPU time that a process has used, in µs: utime and stime; NaN where /proc is missing. */
export function cpuUs(pid: number | string | undefined): number {
  try {
    const fields = statOf(pid)
    return (Number(fields[11]) + Number(fields[12])) * TICK_US
  } catch {
    return Number.NaN
  }
}

/** CPU time of all child processes that this one has waited for, in µs: cutime and cstime. */
export function childrenCpuUs(): number {
  try {
    const fields = statOf('self')
    return (Number(fields[13]) + Number(fields[14])) * TICK_US
  } catch {
    return Number.NaN
  }
}

/** CPU time of a PostgreSQL server, in µs: the postmaster, the children it waited for, and the living processes. */
export function databaseCpuUs(dataDir: string): number {
  try {
    const postmaster = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]
    const own = statOf(postmaster)
    const waitedForUs = (Number(own[13]) + Number(own[14])) * TICK_US
    return waitedForUs + withChildrenCpuUs(postmaster)
  } catch {
    return Number.NaN
  }
}

/**
 * CPU time of a process and of its living children, in µs: a service with `PROCESSES` consists of both. NaN where /proc
 * is missing.
 */
export function withChildrenCpuUs(pid: number | string | undefined): number {
  const own = cpuUs(pid)
  if (Number.isNaN(own)) return own
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const children = pids.filter((one) => readParent(one)[1] === String(pid))
  // a child that ended since then counts among those that were waited for
  return children.reduce((sum, child) => sum + (cpuUs(child) || 0), own)
}

/** A process may end during the read. */
function readParent(pid: string): string[] {
  try {
    return statOf(pid)
  } catch {
    return []
  }
}

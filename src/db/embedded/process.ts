import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * What tells one process from a later one with the same number: its start time. Undefined when no such process lives;
 * a zombie counts as dead. Source: proc_pid_stat(5), fields 3 and 22; elsewhere `ps`.
 */
export function processMark(pid: number): string | undefined {
  if (process.platform !== 'linux') return markFromPs(pid)
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

function markFromPs(pid: number): string | undefined {
  try {
    const [state, ...started] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .split(/\s+/)
    return state === undefined || state.startsWith('Z') ? undefined : started.join(' ')
  } catch {
    return undefined
  }
}

/** The scope in which process numbers mean the same: this boot and this container. */
export function processScope(): string {
  if (process.platform !== 'linux') return hostname()
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`
}

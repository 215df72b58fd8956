import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type ProcessScope, readProcessScope } from '../../kernel/process/process-scope.ts'

/**
 * Distinguishes a process from a later one with the same id: its start time. Undefined when no such process lives; a
 * zombie counts as dead. Source: proc_pid_stat(5), fields 3 and 22; elsewhere `ps`.
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

/**
 * The scope in which process ids are comparable, as text.
 * @throws Error on Linux without /proc: every owner of a directory would look dead there
 */
export function processScope({ host, boot, pidNamespace }: ProcessScope = readProcessScope()): string {
  if (process.platform !== 'linux') return host
  if (boot === '' || pidNamespace === '')
    throw new Error('Comptoir needs /proc to see who uses its data directory. Mount it and start again.')
  return `${boot} ${pidNamespace}`
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { printGoals } from './goals.ts'

const LAUNCHER = join(import.meta.dirname, '../bin/comptoir.cjs')
/** Longer than the delay after which the service compiles the rest and frees memory. */
const IDLE_MS = 70_000

const parentOf = (pid: string): string => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? ''
  } catch {
    return ''
  }
}

/** A process and its descendants. */
function familyOf(pid: number): string[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const family = [String(pid)]
  for (const member of family) family.push(...all.filter((other) => parentOf(other) === member))
  return family
}

/** Memory in MB that the kernel attributes to a process, shared pages proportionally (proc_pid_smaps: Pss). */
function pssMb(pid: string): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

type Started = { seconds: number; serviceMb: number; allMb: number }

async function start(dataDir: string, idleMs: number): Promise<Started> {
  const startedAt = performance.now()
  const env = { PATH: process.env.PATH ?? '', DATA_DIR: dataDir, PORT: '0' }
  const child = spawn(process.execPath, [LAUNCHER, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const chunk of child.stdout) if (String(chunk).includes('Comptoir is ready')) break
  child.stdout.resume()
  const seconds = (performance.now() - startedAt) / 1000
  await sleep(idleMs)
  const allMb = familyOf(child.pid ?? 0).reduce((sum, pid) => sum + pssMb(pid), 0)
  const serviceMb = pssMb(String(child.pid))
  child.kill('SIGTERM')
  await once(child, 'exit')
  return { seconds, serviceMb, allMb }
}

/** From the command to "ready", for a new folder and for an existing one, and idle resource usage. */
export async function run(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'comptoir-bench-'))
  try {
    const first = await start(dataDir, 0)
    const again = await start(dataDir, IDLE_MS)
    printGoals([
      { what: 'first start to ready, s', figure: first.seconds, goal: 5, most: true },
      { what: 'next start to ready, s', figure: again.seconds, goal: 5, most: true },
      { what: 'idle: the service, MB', figure: again.serviceMb, goal: 250, most: true },
      { what: 'idle: with PostgreSQL, sandbox and chain, MB', figure: again.allMb, goal: 250, most: true },
    ])
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

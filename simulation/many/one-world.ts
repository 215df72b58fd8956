import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { WorldResult } from './journal.ts'
import type { WorldPlan } from './plan.ts'

const MAIN = join(import.meta.dirname, '../main.ts')

/** A larger young generation than Node's default: a tenth less CPU time. */
const NODE_FLAGS = ['--max-semi-space-size=64']

const works = (...[program = '', ...args]: string[]): boolean => spawnSync(program, args).status === 0

/** The cores that this process may use (proc_pid_status(5): 0-3,8); empty if unknown. */
function coresAllowed(): number[] {
  try {
    const [, list = ''] = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    return list.split(',').flatMap((range) => {
      const [from = Number.NaN, to = from] = range.split('-').map(Number)
      return Array.from({ length: to - from + 1 }, (_, index) => from + index)
    })
  } catch {
    return []
  }
}

/**
 * Wrapper commands of a world's process, by lane: they pin it to a core, because it and its PostgreSQL take turns, and
 * end it together with this process (util-linux's taskset and setpriv, if installed).
 */
export function wrappersFor(processes: number): (lane: number) => string[] {
  const cores = coresAllowed()
  const isPinned = processes <= cores.length && works('taskset', '-c', String(cores[0]), 'true')
  const isTied = process.platform === 'linux' && works('setpriv', '--pdeathsig', 'KILL', 'true')
  return (lane) => [
    ...(isPinned ? ['taskset', '-c', String(cores[cores.length - 1 - lane])] : []),
    ...(isTied ? ['setpriv', '--pdeathsig', 'KILL'] : []),
  ]
}

/** One world per core that this process may use. */
export const processesAtMost = (): number => Math.max(1, coresAllowed().length || availableParallelism())

export type WorldEnd = { result: WorldResult | null; words: string }

type WorldOptions = {
  settings: readonly string[]
  folder: string
  prepared: string
  wrapper: string[]
  progress(orders: number): void
}

const tenths = (seconds = 0): number => Math.round(seconds * 10) / 10

const readNumber = (words: string, pattern: RegExp): number => Number(pattern.exec(words)?.[1] ?? 0)

/** The result that a successful world prints; null: no fingerprint was printed. */
export function readResult({ number, seed, orders }: WorldPlan, words: string, seconds: number): WorldResult | null {
  const fingerprint = /^fingerprint (\w+)$/m.exec(words)?.[1]
  if (fingerprint === undefined) return null
  const counts = [...words.matchAll(/^ {2}(\S.*): (\d+)$/gm)].map(
    ([, name = '', times]) => [name, Number(times)] as const,
  )
  const [own, server] = [/per order: ([\d.]+) ms here/, /, ([\d.]+) ms in PostgreSQL/].map(
    (pattern) => (readNumber(words, pattern) * orders) / 1000,
  )
  return {
    ...{ world: number, seed, orders, fingerprint, seconds: tenths(seconds) },
    ...{ ownSeconds: tenths(own), serverSeconds: tenths(server) },
    figures: Object.fromEntries(counts.filter(([name]) => !name.startsWith('log '))),
  }
}

/** One world in a separate process. Its folder is removed with it, however it ends. */
export class WorldProcess {
  readonly plan: WorldPlan
  readonly #options: WorldOptions
  #child: ChildProcess | null = null

  constructor(plan: WorldPlan, options: WorldOptions) {
    this.plan = plan
    this.#options = options
  }

  async run(): Promise<WorldEnd> {
    const { settings, wrapper, prepared, progress } = this.#options
    const { seed, orders, number } = this.plan
    const folder = mkdtempSync(join(this.#options.folder, `world-${number}-`))
    // PostgreSQL may run under another account
    chmodSync(folder, 0o711)
    const startedAt = performance.now()
    const own = ['--orders', String(orders), '--seed', String(seed), '--folder', folder, '--prepared', prepared]
    const [program = '', ...args] = [
      ...wrapper,
      process.execPath,
      ...NODE_FLAGS,
      ...process.execArgv,
      MAIN,
      ...own,
      ...settings,
    ]
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    let words = ''
    const hear = (chunk: Buffer): void => {
      words += String(chunk)
      const told = [...String(chunk).matchAll(/^(\d+) orders at /gm)].at(-1)?.[1]
      if (told !== undefined) progress(Number(told))
    }
    for (const stream of [child.stdout, child.stderr]) stream.on('data', hear)
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    rmSync(folder, { recursive: true, force: true })
    const seconds = (performance.now() - startedAt) / 1000
    const result = code === 0 ? readResult(this.plan, words, seconds) : null
    if (result) return { result, words }
    return { result, words: `${words}ended ${signal === null ? `with exit code ${code}` : `by ${signal}`}\n` }
  }

  stop(): void {
    this.#child?.kill('SIGTERM')
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT } from '../steps.ts'
import { FILE_MARK, type ReportLine, type WantedFile } from './report.ts'

export type Failure = { name: string; place: string; error: string }

/** How processes are started. `options`: of `node --test`. */
export type Runner = { env: NodeJS.ProcessEnv; options: readonly string[] }

export type Limits = {
  /** Of one test. */
  timeoutMs: number
  /** Of a file, after which its process is killed. */
  deadlineMs: number
}

/** What a process said while it ran a file. */
export type FileRun = {
  lines: ReportLine[]
  output: string
  seconds: number
  /** Processor time in seconds, of the process and of those it waited for; the database's is its own. */
  cpu: number
  /** Files that ran before in the same process. */
  before: string[]
  /** The process ended before the file did. */
  end?: Failure
}

/** Room for young objects (MB): a process that lives for minutes need not collect them early, a tenth of its time. */
const ROOMY = ['--min-semi-space-size=16', '--max-semi-space-size=32']
const MAX_OUTPUT = 2_000_000
/** It writes what it compiled before it ends. */
const END_MS = 120_000
/** How long a process that shall end at once may take. */
const PATIENCE_MS = 3000
const children = new Set<ChildProcess>()

/** A process and what it started, which would run on without it: services, chains, browsers. */
function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch (error) {
    // all of it has ended
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Ends what still runs, also what does not hear: a process in the middle of a test may not, nor what it started. */
export async function killRunners(): Promise<void> {
  const running = [...children]
  for (const child of running) endGroup(child, 'SIGTERM')
  const patientUntil = Date.now() + PATIENCE_MS
  while (children.size > 0 && Date.now() < patientUntil) await sleep(50)
  for (const child of running) endGroup(child, 'SIGKILL')
}

const last = (text: string, lines: number): string => text.trimEnd().split('\n').slice(-lines).join('\n')
const cpuOf = (line: ReportLine | undefined): number => (line?.kind === 'file' || line?.kind === 'end' ? line.cpu : 0)

/** One process of tests. It runs a file at a time, as many as it gets. */
export class TestRunner {
  readonly #child: ChildProcess
  readonly #before: string[] = []
  #lines: ReportLine[] = []
  #output = ''
  #cpu = 0
  #hasFailed = false
  #ending: { code: number | null; signal: string | null } | null = null
  #changed: () => void = () => {}

  constructor({ env, options }: Runner, files: readonly string[] = [], timeoutMs?: number) {
    const args = [...ROOMY, '--test-force-exit', '--test-reporter=./scripts/test/report.ts']
    if (timeoutMs !== undefined) args.push(`--test-timeout=${timeoutMs}`)
    this.#child = spawn(process.execPath, [...args, ...options, 'scripts/test/process.ts'], {
      ...{ cwd: ROOT, env: { ...env, TEST_FILES: files.join(',') }, detached: true },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    children.add(this.#child)
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-MAX_OUTPUT)
        this.#changed()
      })
    this.#child.on('message', (line: ReportLine) => {
      this.#lines.push(line)
      this.#hasFailed ||= line.kind === 'fail'
      this.#changed()
    })
    const ended = (code: number | null, signal: string | null): void => {
      children.delete(this.#child)
      this.#ending = { code, signal }
      this.#changed()
    }
    this.#child.once('close', ended)
    this.#child.once('error', () => ended(null, 'no start'))
  }

  get isAlive(): boolean {
    return this.#ending === null
  }

  #until(isDone: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = () => {
        if (isDone()) resolve()
      }
      this.#changed()
    })
  }

  /** What is awaited did not happen when this is not called off in time: the process is killed. */
  #killAfter(ms: number): NodeJS.Timeout {
    return setTimeout(() => endGroup(this.#child, 'SIGKILL'), ms)
  }

  #describeEnding(): Failure {
    const { code = null, signal = null } = this.#ending ?? {}
    const started = this.#lines.findLast((line) => line.kind === 'start')
    const how = signal === null ? `exit code ${code}` : `signal ${signal}`
    const where = started ? `; the last test that started is "${started.name}"` : ''
    const error = `The process ended with ${how}${where}.\n${last(this.#output, 40)}`
    return { name: 'the process of this file', place: '', error }
  }

  #take(startedAt: number): FileRun {
    const closing = this.#lines.findLast((line) => line.kind === 'file' || line.kind === 'end')
    const cpu = Math.max(0, cpuOf(closing) - this.#cpu)
    this.#cpu += cpu
    const seconds = (Date.now() - startedAt) / 1000
    return { lines: this.#lines, output: this.#output, seconds, cpu, before: [...this.#before] }
  }

  async run(file: string, { timeoutMs, deadlineMs }: Limits): Promise<FileRun> {
    const startedAt = Date.now()
    this.#lines = []
    this.#output = ''
    const killing = this.#killAfter(deadlineMs)
    // a process that ends meanwhile is noticed by its end
    this.#child.send({ file, timeoutMs } satisfies WantedFile, () => {})
    const isThrough = (): boolean =>
      this.#lines.some((line) => line.kind === 'file' && line.name === file) &&
      this.#output.includes(`${FILE_MARK}${file}\n`)
    await this.#until(() => isThrough() || !this.isAlive)
    clearTimeout(killing)
    const run = this.#take(startedAt)
    if (!isThrough()) return { ...run, end: this.#describeEnding() }
    this.#before.push(file)
    return run
  }

  /** Asks for nothing more. @returns why it did not end well, though its files had passed */
  async end(): Promise<Failure | undefined> {
    if (!this.isAlive) return undefined
    const killing = this.#killAfter(END_MS)
    this.#output = ''
    this.#child.send('end', () => {})
    await this.#until(() => !this.isAlive)
    clearTimeout(killing)
    if (this.#hasFailed || this.#ending?.code === 0) return undefined
    return { ...this.#describeEnding(), name: `the process that ran ${this.#before.join(', ')}` }
  }

  /** Until the process ends by itself. */
  async whole(deadlineMs: number): Promise<FileRun> {
    const startedAt = Date.now()
    const killing = this.#killAfter(deadlineMs)
    await this.#until(() => !this.isAlive)
    clearTimeout(killing)
    const run = this.#take(startedAt)
    const isWell = this.#ending?.code === 0 && run.lines.some(({ kind }) => kind === 'end')
    return isWell ? run : { ...run, end: this.#describeEnding() }
  }
}

/** Runs the tests with certain titles, of these files, in a process of its own. */
export const runNamed = (how: Runner, { files, ...limits }: Limits & { files: readonly string[] }): Promise<FileRun> =>
  new TestRunner(how, files, limits.timeoutMs).whole(limits.deadlineMs)

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './steps.ts'
import { FILE_MARK, type ReportLine } from './test-report.ts'

/** One process: a test file by itself, or several that share one, one after another. */
export type Job = {
  section: string
  title: string
  files: string[]
  /** What it took last, all files together. */
  seconds: number
  cpu: number
  testTimeoutMs: number
}

export type Failure = { name: string; place: string; error: string }

/** What one file did, or all that a section reports together. */
export type TestResult = {
  section: string
  title: string
  passed: number
  failures: Failure[]
  /** What the tests say they left out, and why: lines that begin with "left out:". */
  leftOut: string[]
  /** Lines with a seed: a random test says how to repeat it. */
  seeds: string[]
  seconds: number
  /** Processor time, of the process and of those it waited for; the database's is its own. */
  cpu: number
}

/** `unrun`: the files that had no turn, because the process that they shared ended early. */
export type JobResult = { results: TestResult[]; unrun: string[] }

/** The section whose files are reported in one line. */
export const TOGETHER = 'unit'
const MARGIN = 3
/** Room for young objects (MB): a process that lives half a minute need not collect them early, a tenth of its time. */
const ROOMY = ['--min-semi-space-size=16', '--max-semi-space-size=32']
const MIN_DEADLINE_MS = 300_000
const children = new Set<ReturnType<typeof spawn>>()

export function endJobs(): void {
  for (const child of children) child.kill('SIGTERM')
}

function readReport(file: string): ReportLine[] {
  const text = readFileSync(file, { encoding: 'utf8', flag: 'a+' })
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ReportLine)
}

const last = (text: string, lines: number): string => text.trimEnd().split('\n').slice(-lines).join('\n')

/** What a process said and how it ended. */
type Ending = { code: number | null; signal: string | null; output: string; lines: ReportLine[]; seconds: number }

const endedWell = ({ code, lines }: Ending): boolean => code === 0 && lines.some((line) => line.kind === 'end')

/** The end of a process as a failure of what ran then. */
function describeEnding(lines: ReportLine[], { code, signal, output }: Ending): Failure {
  const started = lines.findLast((line): line is Extract<ReportLine, { kind: 'start' }> => line.kind === 'start')
  const how = signal === null ? `exit code ${code}` : `signal ${signal}`
  const where = started ? `; the last test that started is "${started.name}"` : ''
  const error = `The process ended with ${how}${where}.\n${last(output, 40)}`
  return { name: 'the process of this file', place: '', error }
}

/** `end` is undefined when it came to its end by itself. */
type Part = Pick<Ending, 'lines' | 'output' | 'seconds'> & {
  job: Job
  title: string
  cpu: number
  end?: Failure | undefined
}

function readPart({ job, title, lines, output, seconds, cpu, end }: Part, named: boolean): TestResult {
  const count = (kind: ReportLine['kind']): number => lines.filter((line) => line.kind === kind).length
  const passed = count('pass')
  const failures: Failure[] = lines.flatMap((line) => (line.kind === 'fail' ? [line] : []))
  // the end of the process is news only where no test failed: a failed test makes it end with 1
  if (failures.length === 0 && end) failures.push(end)
  // with a pattern, a file without a match has no business here; without one it is a file that proves nothing
  if (!named && passed + failures.length + count('skip') === 0)
    failures.push({ name: 'no test', place: title, error: 'This file holds no test. Write one or remove it.' })
  if (count('skip') > 0)
    failures.push({ name: 'a skipped test', place: title, error: 'A test either runs or is removed.' })
  const said = output.split('\n')
  return {
    section: job.section,
    title,
    passed,
    failures,
    leftOut: said.filter((line) => line.startsWith('left out:')),
    seeds: said.filter((line) => /seed\b/i.test(line)).slice(0, 5),
    seconds,
    cpu,
  }
}

const cpuOf = (line: ReportLine | undefined): number => (line?.kind === 'file' || line?.kind === 'end' ? line.cpu : 0)

/** The part of the output and of the report that belongs to one file of a shared process. */
function cutPart(job: Job, file: string, ending: Ending): Part | undefined {
  const { output, lines } = ending
  const begin = lines.findIndex((line) => line.kind === 'start' && line.name === file)
  if (begin < 0) return undefined
  const close = lines.findIndex((line) => line.kind === 'file' && line.name === file)
  const own = lines.slice(begin, close < 0 ? undefined : close + 1)
  const [, said = ''] = `\n${output}`.split(`\n${FILE_MARK}${file}\n`)
  const closing = own.at(-1)
  const before = cpuOf(lines.slice(0, begin).findLast((line) => line.kind === 'file'))
  const cpu = Math.max(0, cpuOf(closing) - before)
  const [seconds, end] = closing?.kind === 'file' ? [closing.seconds, undefined] : [0, describeEnding(own, ending)]
  return { job, title: file, lines: own, output: said.split(`\n${FILE_MARK}`)[0] ?? '', seconds, cpu, end }
}

function readShared(job: Job, ending: Ending): JobResult {
  const parts = job.files.map((file) => ({ file, part: cutPart(job, file, ending) }))
  const results = parts.flatMap(({ part }) => (part ? [readPart(part, false)] : []))
  const unrun = parts.flatMap(({ file, part }) => (part ? [] : [file]))
  const failed = unrun.length > 0 || results.some(({ failures }) => failures.length > 0)
  // each file is through and passed, and then the process failed all the same
  if (!failed && !endedWell(ending)) results.at(-1)?.failures.push(describeEnding(ending.lines, ending))
  return { results, unrun }
}

type RunOptions = { env: NodeJS.ProcessEnv; reportFile: string; options: readonly string[]; named: boolean }

/** Runs one job in a process of its own; a process that hangs is ended after three times what it usually takes. */
export async function runJob(job: Job, { env, reportFile, options, named }: RunOptions): Promise<JobResult> {
  const shared = job.files.length > 1 && !named
  const args = [...ROOMY, '--test-force-exit', `--test-timeout=${job.testTimeoutMs}`]
  args.push('--test-reporter=./scripts/test-report.ts', `--test-reporter-destination=${reportFile}`)
  // whoever asks for a longer test gets it
  const asked = Number(options.find((option) => option.startsWith('--test-timeout='))?.split('=')[1] ?? 0)
  const deadlineMs = Math.max(MIN_DEADLINE_MS, job.seconds * MARGIN * 1000, asked)
  const filesEnv = { ...env, TEST_FILES: job.files.join(',') }
  const ended = await runNode([...args, ...options, 'scripts/test-process.ts'], filesEnv, deadlineMs)
  const ending = { ...ended, lines: readReport(reportFile) }
  if (shared && job.section !== TOGETHER) return readShared(job, ending)
  const end = endedWell(ending) ? undefined : describeEnding(ending.lines, ending)
  const cpu = cpuOf(ending.lines.at(-1))
  return { results: [readPart({ ...ending, job, title: job.title, cpu, end }, named)], unrun: [] }
}

function runNode(args: string[], env: NodeJS.ProcessEnv, deadlineMs: number): Promise<Omit<Ending, 'lines'>> {
  const startedAt = Date.now()
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  let output = ''
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-2_000_000)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const deadline = setTimeout(() => child.kill('SIGKILL'), deadlineMs)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(deadline)
      children.delete(child)
      resolve({ code, signal, output, seconds: (Date.now() - startedAt) / 1000 })
    })
  })
}

/** Seconds by the clock and of processor time. */
export type Duration = { seconds: number; cpu: number }

/** What each file took when it was last recorded (`npm test -- --record`), for planning the next run. */
export function readDurations(): Record<string, Duration> {
  try {
    return JSON.parse(readFileSync(join(ROOT, 'scripts/test-durations.json'), 'utf8')) as Record<string, Duration>
  } catch {
    return {}
  }
}

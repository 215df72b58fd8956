import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './steps.ts'
import type { ReportLine } from './test-report.ts'

/** One process: a test file by itself, or files that share one because they hold nothing open. */
export type Job = {
  section: string
  title: string
  files: string[]
  seconds: number
  testTimeoutMs: number
}

export type Failure = { name: string; place: string; error: string }

export type JobResult = {
  job: Job
  passed: number
  failures: Failure[]
  /** What the tests say they left out, and why: lines that begin with "left out:". */
  leftOut: string[]
  /** Lines with a seed: a random test says how to repeat it. */
  seeds: string[]
  seconds: number
}

const MARGIN = 3
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

/** Failures of a process: those of its tests, and its own end when that explains more than they do. */
function findFailures(lines: ReportLine[], ending: { code: number | null; signal: string | null; output: string }) {
  const failures: Failure[] = lines.flatMap((line) => (line.kind === 'fail' ? [line] : []))
  const totals = lines.find((line) => line.kind === 'totals')
  if (failures.length > 0 || (totals && ending.code === 0)) return failures
  const started = lines.findLast((line) => line.kind === 'start')
  const how = ending.signal === null ? `exit code ${ending.code}` : `signal ${ending.signal}`
  const where = started ? `; the last test that started is "${started.name}"` : ''
  const error = `The process ended with ${how}${where}.\n${last(ending.output, 40)}`
  return [{ name: 'the process of this file', place: '', error }]
}

type RunOptions = { env: NodeJS.ProcessEnv; reportFile: string; options: readonly string[]; named: boolean }

/** Runs one job in a process of its own; a process that hangs is ended after three times what it usually takes. */
export function runJob(job: Job, { env, reportFile, options, named }: RunOptions): Promise<JobResult> {
  const args = ['--test', '--test-isolation=none', '--test-force-exit', `--test-timeout=${job.testTimeoutMs}`]
  args.push('--test-reporter=./scripts/test-report.ts', `--test-reporter-destination=${reportFile}`)
  const startedAt = Date.now()
  const child = spawn(process.execPath, [...args, ...options, ...job.files], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  let output = ''
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-2_000_000)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  // whoever asks for a longer test gets it
  const asked = Number(options.find((option) => option.startsWith('--test-timeout='))?.split('=')[1] ?? 0)
  const deadlineMs = Math.max(MIN_DEADLINE_MS, job.seconds * MARGIN * 1000, asked)
  const deadline = setTimeout(() => child.kill('SIGKILL'), deadlineMs)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(deadline)
      children.delete(child)
      const lines = readReport(reportFile)
      const totals = lines.find((line) => line.kind === 'totals')
      const passed = totals?.passed ?? 0
      const ranNone = totals !== undefined && passed + totals.failed + totals.cancelled === 0
      const failures = named && ranNone ? [] : findFailures(lines, { code, signal, output })
      // with a pattern, a file without a match has no business here; without one it is a file that proves nothing
      if (!named && ranNone && failures.length === 0)
        failures.push({
          name: 'no test',
          place: job.files.join(', '),
          error: 'This file holds no test. Write one or remove it.',
        })
      if ((totals?.skipped ?? 0) > 0)
        failures.push({
          name: 'a skipped test',
          place: job.files.join(', '),
          error: 'A test either runs or is removed.',
        })
      const said = output.split('\n')
      resolve({
        job,
        passed,
        failures,
        leftOut: said.filter((line) => line.startsWith('left out:')),
        seeds: said.filter((line) => /seed\b/i.test(line)).slice(0, 5),
        seconds: (Date.now() - startedAt) / 1000,
      })
    })
  })
}

/** How long each file took when it was last recorded (`npm test -- --record`), for starting the longest first. */
export function readDurations(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(join(ROOT, 'scripts/test-durations.json'), 'utf8')) as Record<string, number>
  } catch {
    return {}
  }
}

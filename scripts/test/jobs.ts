import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CheckResult, ROOT } from '../steps.ts'
import type { ReportLine } from './report.ts'
import { type Failure, type FileRun, type Runner, runNamed, TestRunner } from './runner.ts'

/** Files that one process runs without a break: mostly one. */
export type Job = {
  section: string
  title: string
  files: string[]
  /** What it took last, all files together. */
  seconds: number
  cpu: number
  testTimeoutMs: number
}

/** What one file did, or all that a section reports together. */
export type TestResult = CheckResult & {
  section: string
  title: string
  /** What ran before in the same process. */
  before: string[]
  /** Processor time, of the process and of those it waited for; the database's is its own. */
  cpu: number
}

/** The section whose files are reported in one line. */
export const TOGETHER = 'unit'
const MARGIN = 3
const MIN_DEADLINE_MS = 300_000

/** Processes that wait for the next file; the last one is the warmest. */
const idle: TestRunner[] = []
const count = (lines: readonly ReportLine[], kind: ReportLine['kind']): number =>
  lines.filter((line) => line.kind === kind).length

function readRun(job: Job, title: string, { lines, output, seconds, cpu, before, end }: FileRun): TestResult {
  const passed = count(lines, 'pass')
  const failures: Failure[] = lines.flatMap((line) => (line.kind === 'fail' ? [line] : []))
  // the end of the process is news only where no test failed: a failed test makes it end with 1
  if (failures.length === 0 && end) failures.push(end)
  if (count(lines, 'skip') > 0)
    failures.push({ name: 'a skipped test', place: title, error: 'A test either runs or is removed.' })
  const said = output.split('\n')
  return {
    section: job.section,
    title,
    passed,
    failures,
    leftOut: said.filter((line) => /^left out[:,] /.test(line)),
    seeds: said.filter((line) => /seed\b/i.test(line)).slice(0, 5),
    before,
    seconds,
    cpu,
  }
}

/** A file without a test proves nothing. */
function refuseEmpty(result: TestResult, { lines }: FileRun): TestResult {
  const isEmpty = result.passed + result.failures.length + count(lines, 'skip') === 0
  const failure = { name: 'no test', place: result.title, error: 'This file holds no test. Write one or remove it.' }
  return isEmpty ? { ...result, failures: [failure] } : result
}

function merge(job: Job, results: readonly TestResult[]): TestResult {
  const sum = (pick: (result: TestResult) => number): number =>
    results.reduce((total, result) => total + pick(result), 0)
  return {
    ...{ section: job.section, title: job.title, before: [] },
    passed: sum(({ passed }) => passed),
    failures: results.flatMap(({ failures }) => failures),
    leftOut: results.flatMap(({ leftOut }) => leftOut),
    seeds: results.flatMap(({ seeds }) => seeds),
    seconds: sum(({ seconds }) => seconds),
    cpu: sum(({ cpu }) => cpu),
  }
}

export type RunOptions = Runner & {
  /** With a pattern, a file without a match has no business here. */
  named: boolean
  /** Not in a process that ran other files. */
  alone: boolean
}

/** Runs a job's files. A file that hangs is ended, with its process, after three times what it usually takes. */
export async function runJob(job: Job, { named, alone, ...how }: RunOptions): Promise<TestResult[]> {
  const timeoutMs = how.options.reduce(
    (limit, option) => Number(/^--test-timeout=(\d+)$/.exec(option)?.[1] ?? limit),
    job.testTimeoutMs,
  )
  const deadlineMs = Math.max(MIN_DEADLINE_MS, job.seconds * MARGIN * 1000, timeoutMs)
  if (named) return [readRun(job, job.title, await runNamed(how, { files: job.files, timeoutMs, deadlineMs }))]
  const runner = (alone ? undefined : idle.pop()) ?? new TestRunner(how)
  const results: TestResult[] = []
  for (const file of job.files) {
    const run = await runner.run(file, { timeoutMs, deadlineMs })
    results.push(refuseEmpty(readRun(job, file, run), run))
    if (run.end) break
  }
  if (alone) await runner.end()
  else if (runner.isAlive) idle.push(runner)
  return job.section === TOGETHER ? [merge(job, results)] : results
}

/** Ends the processes that wait for files. @returns what went wrong after their last test */
export async function endRunners(): Promise<Failure[]> {
  const ends = await Promise.all(idle.splice(0).map((runner) => runner.end()))
  return ends.filter((end) => end !== undefined)
}

/** Seconds by the clock and of processor time. */
export type Duration = { seconds: number; cpu: number }

/** What each file took when it was last recorded (`npm test -- --record`), for planning the next run. */
export function readDurations(): Record<string, Duration> {
  try {
    return JSON.parse(readFileSync(join(ROOT, 'scripts/test/durations.json'), 'utf8')) as Record<string, Duration>
  } catch {
    return {}
  }
}

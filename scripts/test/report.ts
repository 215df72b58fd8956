import { readFileSync } from 'node:fs'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

/** What one process of tests says about itself, a message for each event. `scripts/test/runner.ts` reads it. */
export type ReportLine =
  | { kind: 'start'; name: string }
  | { kind: 'pass' | 'skip'; name: string }
  | { kind: 'fail'; name: string; place: string; error: string }
  /** A file is through; `cpu`: seconds of this process and the children it waited for, so far. */
  | { kind: 'file'; name: string; seconds: number; cpu: number }
  | { kind: 'end'; cpu: number }

/** What a process is asked to run next. */
export type WantedFile = { file: string; timeoutMs: number }

/** A line of the output that begins with it ends that of a file. */
export const FILE_MARK = '== '
/** Only tests with certain titles run. Else there is a test around all files, and one around those of each file. */
export const NAMED = process.execArgv.some((option) => option.startsWith('--test-name-pattern'))
const FILE_NESTING = 1
const MAX_ERROR = 2500

const TICKS_A_SECOND = 100

/** Seconds of processor time, on Linux also of children that ended. Source: proc_pid_stat(5), fields 14 to 17. */
function readCpu(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_A_SECOND
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
}

/** The error that the test threw, without the runner's own wrapping. */
function describeError(error: Error): string {
  const text = inspect(error.cause ?? error, { depth: 6, breakLength: 120, colors: false })
  return text.length > MAX_ERROR ? `${text.slice(0, MAX_ERROR)} …` : text
}

type TestPass = Extract<TestEvent, { type: 'test:pass' }>['data']
type TestFail = Extract<TestEvent, { type: 'test:fail' }>['data']

/** It stands for a file, or for all of them, and is no test of theirs. */
const isFrame = ({ nesting }: TestPass | TestFail): boolean => !NAMED && nesting <= FILE_NESTING

function describeFailure(data: TestFail): ReportLine[] {
  const { name, file, line, column, details } = data
  // a suite fails because a test in it failed, which is reported by itself
  const type: string | undefined = 'failureType' in details.error ? String(details.error.failureType) : undefined
  if (type === 'subtestsFailed' && (details.type === 'suite' || isFrame(data))) return []
  return [{ kind: 'fail', name, place: `${file}:${line}:${column}`, error: describeError(details.error) }]
}

function describeEnd(data: TestPass | TestFail, lines: ReportLine[]): ReportLine[] {
  if (!isFrame(data) || data.nesting !== FILE_NESTING) return lines
  return [...lines, { kind: 'file', name: data.name, seconds: data.details.duration_ms / 1000, cpu: readCpu() }]
}

function describePass(data: TestPass): ReportLine[] {
  if (data.skip !== undefined || data.todo !== undefined) return [{ kind: 'skip', name: data.name }]
  return data.details.type === 'suite' || isFrame(data) ? [] : [{ kind: 'pass', name: data.name }]
}

function describe(event: TestEvent): ReportLine[] {
  if (event.type === 'test:start') return [{ kind: 'start', name: event.data.name }]
  if (event.type === 'test:fail') return describeEnd(event.data, describeFailure(event.data))
  if (event.type === 'test:pass') return describeEnd(event.data, describePass(event.data))
  return event.type === 'test:summary' ? [{ kind: 'end', cpu: readCpu() }] : []
}

/** A reporter for `node --test`: tells the process that started this one what passed and failed. */
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    for (const line of describe(event)) process.send?.(line)
    yield ''
  }
}

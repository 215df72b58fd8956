import { readFileSync } from 'node:fs'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

/** What one process of tests says about itself, a line of JSON for each event. `scripts/test-jobs.ts` reads it. */
export type ReportLine =
  | { kind: 'start'; name: string }
  | { kind: 'pass' | 'skip'; name: string }
  | { kind: 'fail'; name: string; place: string; error: string }
  /** A file of a shared process is through; `cpu`: seconds of this process and the children it waited for, so far. */
  | { kind: 'file'; name: string; seconds: number; cpu: number }
  | { kind: 'end'; cpu: number }

/** What stands in a shared process's output before that of a file. */
export const FILE_MARK = '== '
const MAX_ERROR = 2500
const FILES = process.env.TEST_FILES?.split(',') ?? []
/** The files of a shared process (`scripts/test-process.ts`), each a test at the top. */
const SHARED = new Set(FILES.length > 1 ? FILES : [])

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

function describeFailure({ name, file, line, column, details }: TestFail): ReportLine[] {
  // a suite fails because a test in it failed, which is reported by itself
  const type: string | undefined = 'failureType' in details.error ? String(details.error.failureType) : undefined
  if (type === 'subtestsFailed' && (details.type === 'suite' || SHARED.has(name))) return []
  return [{ kind: 'fail', name, place: `${file}:${line}:${column}`, error: describeError(details.error) }]
}

function describeEnd(data: TestPass | TestFail, lines: ReportLine[]): ReportLine[] {
  const isFile = data.nesting === 0 && SHARED.has(data.name)
  return isFile
    ? [...lines, { kind: 'file', name: data.name, seconds: data.details.duration_ms / 1000, cpu: readCpu() }]
    : lines
}

function describePass(data: TestPass): ReportLine[] {
  if (data.skip !== undefined || data.todo !== undefined) return [{ kind: 'skip', name: data.name }]
  const counts = data.details.type !== 'suite' && !(data.nesting === 0 && SHARED.has(data.name))
  return counts ? [{ kind: 'pass', name: data.name }] : []
}

function describe(event: TestEvent): ReportLine[] {
  if (event.type === 'test:start') return [{ kind: 'start', name: event.data.name }]
  if (event.type === 'test:fail') return describeEnd(event.data, describeFailure(event.data))
  if (event.type === 'test:pass') return describeEnd(event.data, describePass(event.data))
  return event.type === 'test:summary' ? [{ kind: 'end', cpu: readCpu() }] : []
}

/** A reporter for `node --test`: what passed and failed as JSON lines. */
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source)
    yield describe(event)
      .map((line) => `${JSON.stringify(line)}\n`)
      .join('')
}

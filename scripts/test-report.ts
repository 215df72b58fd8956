import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

/** What one process of tests says about itself, a line of JSON for each event. `scripts/test-jobs.ts` reads it. */
export type ReportLine =
  | { kind: 'start'; name: string }
  | { kind: 'fail'; name: string; place: string; error: string }
  | { kind: 'totals'; passed: number; failed: number; cancelled: number; skipped: number }

const MAX_ERROR = 2500

/** The error that the test threw, without the runner's own wrapping. */
function describeError(error: Error): string {
  const text = inspect(error.cause ?? error, { depth: 6, breakLength: 120, colors: false })
  return text.length > MAX_ERROR ? `${text.slice(0, MAX_ERROR)} …` : text
}

function describe(event: TestEvent): ReportLine | undefined {
  if (event.type === 'test:start') return { kind: 'start', name: event.data.name }
  if (event.type === 'test:fail') {
    const { name, file, line, column, details } = event.data
    // a suite fails because a test in it failed, which is reported by itself
    if (details.type === 'suite' && 'failureType' in details.error && details.error.failureType === 'subtestsFailed')
      return undefined
    return { kind: 'fail', name, place: `${file}:${line}:${column}`, error: describeError(details.error) }
  }
  if (event.type === 'test:summary' && event.data.file === undefined) {
    const { tests, passed, cancelled, skipped, todo } = event.data.counts
    return { kind: 'totals', passed, failed: tests - passed - cancelled - skipped - todo, cancelled, skipped }
  }
  return undefined
}

/** A reporter for `node --test`: failures and totals as JSON lines. */
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    const line = describe(event)
    if (line) yield `${JSON.stringify(line)}\n`
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..')

const children = new Set<ChildProcess>()

/** Ends the checks that still run. */
export function endChildren(): void {
  for (const child of children) child.kill('SIGTERM')
}

export function printTitle(title: string): void {
  console.log(`\n== ${title} ==`)
}

type Ended = { code: number; output: string }

function runNode(args: readonly string[], env = process.env): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
    children.add(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.once('error', reject)
    child.once('close', (code) => {
      children.delete(child)
      resolve({ code: code ?? 1, output })
    })
  })
}

/** The result of a check; a test's result has more. */
export type CheckResult = {
  passed: number
  failures: { name: string; place: string; error: string }[]
  /** What the tests say they left out, and why: lines that begin with "left out". */
  leftOut: string[]
  /** Lines with a seed: a random test says how to repeat it. */
  seeds: string[]
  seconds: number
}

async function runTool(name: string, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<CheckResult> {
  const startedAt = Date.now()
  const { code, output } = await runNode(args, env)
  const failures = code === 0 ? [] : [{ name, place: '', error: output.trim() }]
  return { passed: code === 0 ? 1 : 0, failures, leftOut: [], seeds: [], seconds: (Date.now() - startedAt) / 1000 }
}

/** On one core, and collecting its garbage late: half the processor time, where other work waits for it. */
export const FRUGAL_TSC = {
  args: ['node_modules/typescript-compiler/bin/tsc', '--singleThreaded'],
  env: { GOGC: '400' },
}

/** Type check of everything: what Node runs, the back office against the API of this checkout, the pages' scripts. */
export async function checkTypes(): Promise<CheckResult> {
  const tsc = (name: string, ...args: string[]) =>
    runTool(name, [...FRUGAL_TSC.args, ...args], { ...process.env, ...FRUGAL_TSC.env })
  // before all others: a test calls the API as the back office does
  const printed = await runTool('types of the API', ['scripts/office-api.ts'])
  const node = await tsc('types', '--noEmit')
  const office = await tsc('types of the back office', '--noEmit', '-p', 'web/office')
  const pages = await tsc('types of the pages’ scripts', '-p', 'web')
  const failures = [printed, node, office, pages].flatMap((part) => part.failures)
  return {
    ...node,
    passed: failures.length === 0 ? 1 : 0,
    failures,
    seconds: node.seconds + printed.seconds + office.seconds + pages.seconds,
  }
}

/** Format and lint of everything; warnings and hints do not count. */
export const checkLint = () => runTool('lint', ['node_modules/.bin/biome', 'check', '--diagnostic-level=error', '.'])

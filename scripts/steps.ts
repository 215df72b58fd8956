import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..')

/** One line of the summary. */
export type Totals = { name: string; passed: number; failed: number; skipped: number }

const children = new Set<ChildProcess>()

/** Runs this Node on a script with its output shown as it comes; resolves to the exit code. */
export function runNode(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' })
    children.add(child)
    child.once('error', reject)
    child.once('exit', (code) => {
      children.delete(child)
      resolve(code ?? 1)
    })
  })
}

/** Ends what `runNode` started and what still runs. */
export function endChildren(): void {
  for (const child of children) child.kill('SIGTERM')
}

export function printTitle(title: string): void {
  console.log(`\n== ${title} ==`)
}

async function runTool(name: string, title: string, args: string[]): Promise<Totals> {
  printTitle(title)
  const code = await runNode(args)
  console.log(code === 0 ? 'clean' : `failed (exit code ${code})`)
  return { name, passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 }
}

const TSC = 'node_modules/typescript/bin/tsc'

/** Strict type check of everything: what Node runs, and the back office against the API of this checkout. */
export async function runTypes(): Promise<Totals> {
  const node = await runTool('types', 'types (tsc)', [TSC, '--noEmit'])
  await runNode(['scripts/office-api.ts'])
  const office = await runTool('types', 'types of the back office', [TSC, '--noEmit', '-p', 'web/office'])
  return { ...node, passed: node.passed + office.passed, failed: node.failed + office.failed }
}

/** Format and lint of everything; warnings and hints do not count. */
export function runLint(): Promise<Totals> {
  return runTool('lint', 'lint and format (biome)', [
    'node_modules/.bin/biome',
    'check',
    '--diagnostic-level=error',
    '.',
  ])
}

import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { endChildren, printTitle, ROOT, runLint, runNode, runTypes, type Totals } from './steps.ts'
import { startTestServer, type TestServer } from './test-server.ts'

/*
 * npm test                              everything
 * npm test -- unit                      only this section: types, lint, unit, integration, browser
 * npm test -- test/orders.test.ts       only this file (or folder), with the database
 * npm test -- --test-name-pattern=expire integration     options of `node --test` are passed on
 */
type Section = {
  name: string
  title: string
  patterns: string[]
  except?: string
  options: string[]
  database: boolean
}

const NO_ISOLATION = ['--test-isolation=none', '--test-timeout=60000', '--test-force-exit']
const SECTIONS: Section[] = [
  {
    name: 'unit',
    title: 'unit tests',
    patterns: ['{src,sandbox,sdk}/**/*.test.ts', 'test/tidy.test.ts'],
    options: NO_ISOLATION,
    database: false,
  },
  {
    name: 'integration',
    title: 'integration tests (PostgreSQL)',
    patterns: ['test/*.test.ts'],
    except: 'test/tidy.test.ts',
    options: ['--test-concurrency=2', '--test-timeout=300000', '--test-force-exit'],
    database: true,
  },
  {
    name: 'browser',
    title: 'browser tests',
    patterns: ['test/browser/*.test.ts'],
    options: ['--test-concurrency=1', '--test-timeout=300000', '--test-force-exit'],
    database: true,
  },
]
const CHECKS = { types: runTypes, lint: runLint }

let server: Promise<TestServer> | undefined
let interrupted = false
const scratch = mkdtempSync(join(tmpdir(), 'comptoir-totals-'))

async function cleanUp(): Promise<void> {
  endChildren()
  rmSync(scratch, { recursive: true, force: true })
  await (await server?.catch(() => undefined))?.stop()
}

function findFiles(section: Section): string[] {
  const files = globSync(section.patterns, { cwd: ROOT, exclude: (path) => path.includes('node_modules') })
  return files.filter((file) => file !== section.except).sort()
}

/** Runs `node --test` on the files; a run that breaks off without totals counts as one failure. */
async function runTests(section: Section, files: string[], extra: string[]): Promise<Totals> {
  printTitle(`${section.title}: ${files.length} files`)
  const totalsFile = join(scratch, section.name)
  const reporters = ['--test-reporter=spec', '--test-reporter-destination=stdout']
  reporters.push('--test-reporter=./scripts/test-totals.ts', `--test-reporter-destination=${totalsFile}`)
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  if (section.database) server ??= startTestServer()
  const env = { ...inherited, ...(await server)?.env }
  const code = await runNode(['--test', ...section.options, ...reporters, ...extra, ...files], env)
  const counts = readTotals(totalsFile)
  const failed = counts.failed + counts.cancelled
  return {
    name: section.name,
    passed: counts.passed,
    failed: code !== 0 && failed === 0 ? 1 : failed,
    skipped: counts.skipped,
  }
}

function readTotals(file: string): { passed: number; failed: number; cancelled: number; skipped: number } {
  const text = readFileSync(file, { encoding: 'utf8', flag: 'a+' })
  return text === '' ? { passed: 0, failed: 0, cancelled: 0, skipped: 0 } : JSON.parse(text)
}

/** The files that a path names, each in the section it belongs to, where it always gets the database. */
function narrow(paths: string[]): { section: Section; files: string[] }[] {
  const wanted = paths.flatMap((path) => {
    const full = resolve(ROOT, path)
    if (!existsSync(full)) {
      console.log(`There is no section and no file named ${path}.`)
      return []
    }
    if (!statSync(full).isDirectory()) return [relative(ROOT, full)]
    return globSync('**/*.test.ts', { cwd: full }).map((file) => relative(ROOT, join(full, file)))
  })
  return SECTIONS.map((section) => {
    const own = findFiles(section)
    return { section: { ...section, database: true }, files: own.filter((file) => wanted.includes(file)) }
  })
}

function printSummary(totals: Totals[]): boolean {
  const sum = (key: 'passed' | 'failed' | 'skipped') => totals.reduce((left, step) => left + step[key], 0)
  printTitle('summary')
  for (const { name, passed, failed, skipped } of totals) {
    console.log(`${name.padEnd(12)} ${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  }
  const ran = sum('passed') + sum('failed') > 0
  if (!ran)
    console.log('No test ran. Name a section (types, lint, unit, integration, browser) or the path of a test file.')
  console.log(`${sum('passed')} passed, ${sum('failed')} failed`)
  return ran && sum('failed') === 0
}

async function main(args: string[]): Promise<boolean> {
  const extra = args.filter((arg) => arg.startsWith('-'))
  const words = args.filter((arg) => !arg.startsWith('-'))
  const names = [...Object.keys(CHECKS), ...SECTIONS.map((section) => section.name)]
  const paths = words.filter((word) => !names.includes(word))
  const chosen = words.length === 0 ? names : words
  const totals: Totals[] = []
  for (const [name, check] of Object.entries(CHECKS)) if (chosen.includes(name)) totals.push(await check())
  const plans = SECTIONS.filter((section) => chosen.includes(section.name)).map((section) => ({
    section,
    files: findFiles(section),
  }))
  for (const { section, files } of [...plans, ...narrow(paths)]) {
    if (files.length > 0 && !interrupted) totals.push(await runTests(section, files, extra))
  }
  await cleanUp()
  return printSummary(totals)
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (interrupted) return
    interrupted = true
    void cleanUp().finally(() => process.exit(130))
  })
}

try {
  const good = await main(process.argv.slice(2))
  if (!interrupted) process.exitCode = good ? 0 : 1
} catch (error) {
  await cleanUp()
  throw error
}

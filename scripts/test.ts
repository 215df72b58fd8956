import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { checkLint, checkTypes, endChildren, printTitle, ROOT } from './steps.ts'
import { watchCores } from './test/cores.ts'
import { findFiles, listFiles, planJobs, SECTIONS } from './test/files.ts'
import { endRunners, type Job, readDurations, runJob, type TestResult } from './test/jobs.ts'
import { type Failure, killRunners } from './test/runner.ts'
import { type Planned, runPlanned } from './test/schedule.ts'
import { makeScratch, makeTemporary, startTestServer, type TestServer } from './test/server.ts'

/*
 * npm test                              everything
 * npm test -- unit browser              only these: types, lint, unit, integration, browser
 * npm test -- test/orders.test.ts       only this file (or folder), with the database
 * npm test -- --test-name-pattern=expire        only tests with such a title; options of `node --test` are passed on
 * npm test -- --record                  everything, and writes down how long each file takes
 */
type Step = Planned<TestResult[]>

/** The database and the browsers take half as much again as is counted for the files, over a whole run. */
const UNCOUNTED = 1.5
/** Lint uses several threads. */
const CHECK_SHARE = 1.5

const CHECKS = { types: checkTypes, lint: checkLint }
const SECTION_NAMES = ['types', 'lint', ...SECTIONS.map(({ name }) => name)]
let server: Promise<TestServer> | undefined
let interrupted = false
const scratch = makeScratch()
const temporary = makeTemporary(scratch)
/** Compiled code: two thousand files that each process reads at its start and adds to at its end. */
const COMPILED = join(scratch, 'compiled')
/** With fewer files than this, loading everything first costs more than it saves. */
const WORTH_WARMING = 12
let warm: Promise<void> = Promise.resolve()
/** Below `node_modules`, where the packages are that stay apart; empty with few files. */
let programs = ''

async function cleanUp(): Promise<void> {
  endChildren()
  await killRunners()
  await (await server?.catch(() => undefined))?.stop()
  for (const folder of [scratch, programs].filter(Boolean)) rmSync(folder, { recursive: true, force: true })
}

type Request = { names: string[]; files: string[]; options: string[]; record: boolean; named: boolean }

/** @throws Error with a sentence when an argument names nothing */
function readRequest(args: readonly string[]): Request {
  const options = args.filter((arg) => arg.startsWith('-') && arg !== '--record')
  const words = args.filter((arg) => !arg.startsWith('-'))
  const named = options.some((option) => option.startsWith('--test-name-pattern'))
  const names = words.length > 0 ? SECTION_NAMES.filter((name) => words.includes(name)) : SECTION_NAMES
  const paths = words.filter((word) => !SECTION_NAMES.includes(word))
  const ofSections = SECTIONS.filter(({ name }) => names.includes(name)).flatMap(listFiles)
  const files = [...new Set([...ofSections, ...paths.flatMap(findFiles)])]
  return {
    names: named ? names.filter((name) => !(name in CHECKS)) : names,
    files,
    options,
    named,
    record: args.includes('--record'),
  }
}

function jobStep(job: Job, { options, named }: Request, alone: boolean): Step {
  return {
    share: (job.cpu * UNCOUNTED) / job.seconds,
    run: async () => {
      const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
      await warm
      const own = { NODE_COMPILE_CACHE: COMPILED, TEST_PROGRAMS: programs, TMPDIR: temporary }
      const env = { ...inherited, ...own, ...(await server)?.env }
      return runJob(job, { env, options, named, alone })
    },
  }
}

const planFiles = (files: readonly string[], request: Request, { alone }: { alone: boolean }): Step[] =>
  planJobs(files).map((job) => jobStep(job, request, alone))

function planSteps(request: Request): Step[] {
  const checks = Object.entries(CHECKS)
    .filter(([name]) => request.names.includes(name))
    .map(([name, check]): Step => {
      const run = async () => [{ section: name, title: name, cpu: 0, before: [], ...(await check()) }]
      return { share: CHECK_SHARE, run }
    })
  return [...checks, ...planFiles(request.files, request, { alone: false })]
}

function printResult({ title, passed, failures, leftOut, seeds, before, seconds, cpu }: TestResult): void {
  const mark = failures.length === 0 ? '✔' : '✖'
  const counts = failures.length === 0 ? `${passed} passed` : `${passed} passed, ${failures.length} failed`
  const spent = cpu > 0 ? ` ${cpu.toFixed(1).padStart(6)} s CPU` : ''
  console.log(`${mark} ${title.padEnd(44)} ${counts.padStart(22)}  ${seconds.toFixed(1).padStart(6)} s${spent}`)
  for (const line of [...leftOut, ...seeds]) console.log(`    ${line}`)
  for (const failure of failures) printFailure(failure)
  if (failures.length > 0 && before.length > 0) console.log(`  In this process ran before: ${before.join(', ')}`)
}

function printFailure({ name, place, error }: Failure): void {
  console.log(`\n  ✖ ${name}${place === '' ? '' : `\n    ${place.replace(`${ROOT}/`, '')}`}`)
  console.log(`${error.replaceAll(/^/gm, '      ').replaceAll(`${ROOT}/`, '')}\n`)
}

type Finished = { result: TestResult; again?: true }

const MAX_SECOND_TRIES = 6

/**
 * Promises about time hold on a machine that is not overloaded, and here several files share its cores. A file that
 * failed runs once more by itself, and the summary says so; more than a few failures are no accident and stand.
 */
async function tryAgain(finished: Finished[], request: Request): Promise<void> {
  const failed = finished.filter(({ result }) => result.failures.length > 0 && result.title.startsWith('test/'))
  if (interrupted || failed.length === 0 || failed.length > MAX_SECOND_TRIES) return
  printTitle('once more, alone')
  for (const one of failed) {
    for (const step of planFiles([one.result.title], request, { alone: true })) {
      const [result] = await step.run()
      if (!result) continue
      printResult(result)
      if (result.failures.length === 0) Object.assign(one, { result, again: true })
    }
  }
}

function printSummary(finished: Finished[], seconds: number): boolean {
  printTitle(`summary (${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s)`)
  for (const name of SECTION_NAMES) {
    const own = finished.filter(({ result }) => result.section === name)
    if (own.length === 0) continue
    const passed = own.reduce((sum, { result }) => sum + result.passed, 0)
    const failed = own.reduce((sum, { result }) => sum + result.failures.length, 0)
    const work = own.reduce((sum, { result }) => sum + result.seconds, 0)
    console.log(`${name.padEnd(12)} ${passed} passed, ${failed} failed  (${work.toFixed(0)} s of work)`)
  }
  const left = finished.flatMap(({ result }) => result.leftOut)
  if (left.length > 0)
    console.log(`\nLeft out:\n${left.map((line) => `  ${line.replace(/^left out[:,] /, '')}`).join('\n')}`)
  const again = finished.filter((one) => one.again)
  if (again.length > 0)
    console.log(`\nPassed only alone:\n${again.map(({ result }) => `  ${result.title}`).join('\n')}`)
  const failures = finished.flatMap(({ result }) => result.failures)
  if (failures.length > 0) {
    console.log('\nFailed:')
    for (const { name, place } of failures)
      console.log(`  ${name}${place === '' ? '' : `  ${place.replace(`${ROOT}/`, '')}`}`)
  }
  const passed = finished.reduce((sum, { result }) => sum + result.passed, 0)
  if (passed + failures.length === 0) console.log('No test ran: nothing here has such a title.')
  console.log(`${passed} passed, ${failures.length} failed`)
  return passed > 0 && failures.length === 0
}

const atLeast = (value: number, least: number): number => Math.max(least, Math.round(value * 10) / 10)

function record(finished: Finished[]): void {
  const measured = Object.fromEntries(
    finished
      .filter(({ result }) => result.title.endsWith('.test.ts'))
      .map(({ result: { title, seconds, cpu } }) => [title, { seconds: atLeast(seconds, 1), cpu: atLeast(cpu, 0.1) }]),
  )
  const all = Object.entries({ ...readDurations(), ...measured }).sort(([left], [right]) => (left < right ? -1 : 1))
  writeFileSync(join(ROOT, 'scripts/test/durations.json'), `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`)
}

async function runScript(...args: string[]): Promise<number | null> {
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED }
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = (await once(child, 'close')) as [number | null]
  return code
}

/** @throws Error when the programs cannot be built */
async function warmUp(): Promise<void> {
  programs = makeScratch(join(ROOT, 'node_modules', '.cache'))
  // what it could not load, a test will say better
  const loaded = runScript('scripts/test/warm.ts')
  const built = await runScript('scripts/test/bundle.ts', programs)
  if (built !== 0) throw new Error('The programs that tests start could not be built; the lines above say why.')
  for (const command of ['serve', 'sweep']) await runScript(join(programs, 'main.mjs'), command, '--help')
  await loaded
}

async function main(args: string[]): Promise<boolean> {
  const request = readRequest(args)
  const steps = planSteps(request)
  if (request.files.length > 0) {
    server = startTestServer()
    server.catch(() => {})
  }
  if (request.files.length >= WORTH_WARMING) warm = warmUp()
  warm.catch(() => {})
  const finished: Finished[] = []
  const startedAt = Date.now()
  const done = (results: readonly TestResult[]): void => {
    finished.push(...results.map((result) => ({ result })))
    if (!interrupted) results.forEach(printResult)
  }
  const cores = watchCores()
  await runPlanned(steps, { cores: availableParallelism(), busy: cores.busy, done, stopped: () => interrupted })
  cores.stop()
  const ends = await endRunners()
  if (ends.length > 0) {
    const nothing = { passed: 0, leftOut: [], seeds: [], before: [], seconds: 0, cpu: 0 }
    done([{ section: 'integration', title: 'the end of a process', failures: ends, ...nothing }])
  }
  await tryAgain(finished, request)
  await cleanUp()
  if (request.record) record(finished)
  return printSummary(finished, (Date.now() - startedAt) / 1000)
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
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

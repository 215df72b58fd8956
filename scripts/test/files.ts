import { existsSync, globSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { ROOT } from '../steps.ts'
import { type Duration, type Job, readDurations, TOGETHER } from './jobs.ts'

export type Section = {
  name: 'unit' | 'integration' | 'browser'
  patterns: string[]
  except?: readonly string[]
  testTimeoutMs: number
}

export const SECTIONS: Section[] = [
  {
    name: 'unit',
    patterns: ['{src,sandbox,sdk,cli,simulation}/**/*.test.ts', 'test/{tidy,house}.test.ts'],
    testTimeoutMs: 180_000,
  },
  {
    name: 'integration',
    patterns: ['test/*.test.ts'],
    except: ['test/tidy.test.ts', 'test/house.test.ts'],
    testTimeoutMs: 300_000,
  },
  { name: 'browser', patterns: ['test/browser/*.test.ts'], testTimeoutMs: 300_000 },
]

const UNKNOWN: Duration = { seconds: 10, cpu: 5 }
const UNITS: Duration = { seconds: 16, cpu: 6.5 }

export function listFiles(section: Section): string[] {
  const files = globSync(section.patterns, { cwd: ROOT, exclude: (path) => path.includes('node_modules') })
  return files.filter((file) => !section.except?.includes(file)).sort()
}

/** The test files that a path names. @throws Error with a sentence when it names none */
export function findFiles(path: string): string[] {
  const full = resolve(ROOT, path)
  if (!existsSync(full)) throw new Error(`There is no section and no file named ${path}.`)
  const known = SECTIONS.flatMap(listFiles)
  const wanted = statSync(full).isDirectory()
    ? globSync('**/*.test.ts', { cwd: full }).map((file) => relative(ROOT, join(full, file)))
    : [relative(ROOT, full)]
  const found = wanted.filter((file) => known.includes(file))
  if (found.length === 0) throw new Error(`${path} holds no test that this command knows.`)
  return found
}

/** Each file, and all units together; the longest first, so that the last ones to end are short. */
export function planJobs(files: readonly string[]): Job[] {
  const durations = readDurations()
  const durationOf = (file: string): Duration => durations[file] ?? UNKNOWN
  const jobs = SECTIONS.flatMap((section): Job[] => {
    const { name, testTimeoutMs } = section
    const own = listFiles(section).filter((file) => files.includes(file))
    if (own.length === 0) return []
    if (name === TOGETHER)
      return [{ section: name, title: `${own.length} unit test files`, files: own, ...UNITS, testTimeoutMs }]
    return own.map((file) => ({ section: name, title: file, files: [file], ...durationOf(file), testTimeoutMs }))
  })
  return jobs.sort((left, right) => right.seconds - left.seconds)
}

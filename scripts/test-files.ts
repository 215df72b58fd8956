import { existsSync, globSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { ROOT } from './steps.ts'
import { type Job, readDurations } from './test-jobs.ts'

export type Section = {
  name: 'unit' | 'integration' | 'browser'
  patterns: string[]
  except?: readonly string[]
  testTimeoutMs: number
  /** All files in one process: they open nothing that another could trip over. */
  together: boolean
}

export const SECTIONS: Section[] = [
  {
    name: 'unit',
    patterns: ['{src,sandbox,sdk,cli}/**/*.test.ts', 'test/{tidy,house}.test.ts'],
    testTimeoutMs: 60_000,
    together: true,
  },
  {
    name: 'integration',
    patterns: ['test/*.test.ts'],
    except: ['test/tidy.test.ts', 'test/house.test.ts'],
    testTimeoutMs: 300_000,
    together: false,
  },
  { name: 'browser', patterns: ['test/browser/*.test.ts'], testTimeoutMs: 300_000, together: false },
]

const UNKNOWN_SECONDS = 10

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

/** The processes of a run, the longest first, so that the last ones to end are short. */
export function planJobs(files: readonly string[]): Job[] {
  const durations = readDurations()
  const secondsOf = (file: string): number => durations[file] ?? UNKNOWN_SECONDS
  const jobs = SECTIONS.flatMap((section): Job[] => {
    const own = listFiles(section).filter((file) => files.includes(file))
    if (own.length === 0) return []
    const { name, testTimeoutMs } = section
    const common = { section: name, testTimeoutMs }
    if (section.together)
      return [{ ...common, title: `${own.length} unit test files`, files: own, seconds: UNKNOWN_SECONDS }]
    return own.map((file) => ({
      ...common,
      title: file,
      files: [file],
      seconds: secondsOf(file),
    }))
  })
  return jobs.sort((left, right) => right.seconds - left.seconds)
}

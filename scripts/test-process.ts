import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { FILE_MARK } from './test-report.ts'
import { loadTracked } from './test-tracking.ts'

/*
 * Runs test files in one process. Several run one after another: what they share is loaded once, and the code is warm;
 * each is a test then, so that its own `before` and `after` begin and end with it.
 */
const files = (process.env.TEST_FILES ?? '').split(',')
const load = (file: string): Promise<void> => loadTracked(() => import(pathToFileURL(file).href))

// an error that nothing caught ends the process, as it would end the service
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error: unknown) => {
    console.error(error)
    process.exit(1)
  })

// a pattern would leave out the test that stands for the file
const isNamed = process.execArgv.some((option) => option.startsWith('--test-name-pattern'))

if (files.length === 1 || isNamed) for (const file of files) await load(file)
else
  for (const file of files) {
    test(file, async () => {
      console.log(`${FILE_MARK}${file}`)
      await load(file)
    })
  }

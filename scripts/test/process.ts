import { on } from 'node:events'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { FILE_MARK, NAMED, type WantedFile } from './report.ts'
import { loadTracked, trackTests } from './tracking.ts'

/*
 * Runs test files, one after another, as `scripts/test/runner.ts` asks for them: what they share is loaded once, and
 * the code is warm. Each is a test, so that its own `before` and `after` begin and end with it.
 */
const load = (file: string): Promise<void> => loadTracked(() => import(pathToFileURL(file).href))

// an error that nothing caught ends the process, as it would end the service
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error: unknown) => {
    console.error(error)
    process.exit(1)
  })

// the run that started this process was killed: without this, its chains and browsers would go on running
process.once('disconnect', () => process.kill(-process.pid, 'SIGKILL'))

/** Longer than any run: what has no limit of its own takes that of the test around it. */
const NO_LIMIT_MS = 2 ** 31 - 1

// a pattern would leave out the tests that stand for the files
if (NAMED) for (const file of process.env.TEST_FILES?.split(',') ?? []) await load(file)
else
  test('all files', { timeout: NO_LIMIT_MS }, async (all) => {
    for await (const [wanted] of on(process, 'message') as AsyncIterable<[WantedFile | 'end']>) {
      if (wanted === 'end') break
      const { file, timeoutMs } = wanted
      trackTests()
      await all.test(file, { timeout: timeoutMs }, () => load(file))
      console.log(`${FILE_MARK}${file}`)
    }
  })

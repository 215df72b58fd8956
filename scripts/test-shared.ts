import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { FILE_MARK } from './test-report.ts'

/*
 * Runs several test files in one process, one after another: what they share is loaded once, and the code is warm. Each
 * file is a test, so that its own `before` and `after` begin and end with it.
 */
for (const file of (process.env.TEST_FILES ?? '').split(',')) {
  test(file, async () => {
    console.log(`${FILE_MARK}${file}`)
    await import(pathToFileURL(file).href)
  })
}

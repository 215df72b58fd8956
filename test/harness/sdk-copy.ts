import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/**
 * The SDK's source as a checkout has it, in a folder of the test's own: the package is built beside its source, and
 * other tests read and build there at the same time.
 *
 * @returns the copy's folder
 */
export function copySdk(folder: string): string {
  const copy = join(folder, 'sdk')
  const built = join(ROOT, 'sdk/dist')
  cpSync(join(ROOT, 'sdk'), copy, { recursive: true, filter: (path) => path !== built })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return copy
}

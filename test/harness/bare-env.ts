import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A data directory that holds nothing: the checkout's own may be a developer's sandbox, with a database in it. */
export const NO_DATA_DIR = join(tmpdir(), 'comptoir-no-data')

/** All that a process of the service inherits in a test: where programs are, and code that is compiled already. */
export const bareEnv = (): Record<string, string> => {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  return { PATH, NODE_COMPILE_CACHE }
}

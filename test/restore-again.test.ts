import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { putCluster } from './harness/cluster.ts'
import { newFolder, openOperator } from './harness/installation.ts'
import { TEST_MASTER_KEY } from './harness/service.ts'

/* What a restore needs, and how it goes on after it failed. */

const places = newFolder()
const operator = openOperator({ MASTER_KEY: TEST_MASTER_KEY.toString('base64') })
after(async () => {
  await operator.close()
  places.remove()
})
const placeOf = (name: string): string => join(places.path, name)

const backUp = async (dataDir: string, to: string): Promise<string> => {
  const done = await operator.run(['backup', '--to', to, '--json'], { DATA_DIR: dataDir }, places.path)
  assert.equal(done.code, 0, done.err)
  return (JSON.parse(done.out) as { file: string }).file
}

const restore = (from: string, to: string) =>
  operator.run(['restore', '--from', from, '--data-dir', to], {}, places.path)

test('a backup of a service with many processes is restored by a command, which is one', async () => {
  const dataDir = placeOf('many')
  putCluster(dataDir)
  const server = await startEmbeddedPostgres({ dataDir, log: assert.fail, processes: 6 })
  const backup = await backUp(dataDir, placeOf('of many')).finally(() => server.stop())
  const done = await restore(backup, placeOf('of one'))
  assert.equal(done.code, 0, done.err)
  assert.match(done.out, /^Restored into /)
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { writeRestoreMark } from '../src/db/backup/restore-mark.ts'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { openVault } from '../src/kernel/vault.ts'
import { putCluster } from './harness/cluster.ts'
import { newFolder, openOperator } from './harness/installation.ts'

/* What a restore needs, and how it goes on after it failed. */

const places = newFolder()
const masterKey = randomBytes(32)
const operator = openOperator({ MASTER_KEY: masterKey.toString('base64') })
after(async () => {
  await operator.close()
  places.remove()
})
const RISKS = ['--accept-risk', 'no-mail,no-channel,embedded-database']
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

test('a restore whose replay failed is run again in the same place, and nothing is begun there in between', async () => {
  const [dataDir, to] = [placeOf('source'), placeOf('failed')]
  putCluster(dataDir)
  const settings = join(dataDir, 'postgres/postgresql.auto.conf')
  const asBefore = readFileSync(settings)
  const server = await startEmbeddedPostgres({ dataDir, log: assert.fail })
  try {
    // the server that was backed up does not read it before its next start; the replay of the restore does, and fails
    appendFileSync(settings, "recovery_target_name = 'never reached'\n")
    const bad = await backUp(dataDir, placeOf('bad'))
    writeFileSync(settings, asBefore)
    const good = await backUp(dataDir, placeOf('good'))
    for (let turn = 0; turn < 2; turn += 1) {
      const failed = await restore(bad, to)
      assert.equal(failed.code, 1)
      assert.match(failed.err, /recovery ended before configured recovery target was reached/)
      assert.match(failed.err, /Remove the cause, then run comptoir restore again\./)
    }
    const asked = ['--domain', 'pay.example', '--admin-email', 'ada@pay.example', '--data-dir', to, ...RISKS]
    const begun = await operator.run(['init', ...asked], {}, places.path)
    assert.match(begun.err, /PostgreSQL did not start/)
    const done = await restore(good, to)
    assert.equal(done.code, 0, done.err)
  } finally {
    await server.stop()
  }
  const taken = await restore(placeOf('good'), to)
  assert.match(taken.err, /There is a database in .* already\. Nothing was changed/)
})

test('a restored database that replayed its log is kept: the next start finishes the restore, and the message says so', async () => {
  const to = placeOf('replayed')
  const done = await restore(placeOf('good'), to)
  assert.equal(done.code, 0, done.err)
  const vault = openVault(masterKey)
  // as after a kill between the replay and the record of the restore
  const times = { backupMadeAt: new Date('2026-01-01'), restoredAt: new Date('2026-01-02') }
  await writeRestoreMark(join(to, 'postgres'), times, vault)
  const again = await restore(placeOf('good'), to)
  assert.equal(again.code, 1)
  assert.match(
    again.err,
    /which a restore put there\. If that was cut off, the next start of the service finishes it\. Nothing was/,
  )
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { appendFileSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { restoreMarkOf } from '../src/db/backup/restore-mark.ts'
import { backupLifeOf, isBackupName } from '../src/db/backup/store.ts'
import { putCluster } from './harness/cluster.ts'
import { freePort } from './harness/free-port.ts'
import { newFolder, runOperator } from './harness/installation.ts'
import { startServed } from './harness/served.ts'
import { eventually } from './harness/service.ts'

/* Backups of several databases in one place: of a rehearsal with the service's own settings, and of a stranger. */

const place = newFolder()
after(() => place.remove())
const [stranger, real, rehearsal, backups] = ['stranger', 'real', 'rehearsal', 'backups'].map((name) =>
  join(place.path, name),
) as [string, string, string, string]
const newKey = (): string => randomBytes(32).toString('base64')
const MASTER_KEY = newKey()
const list = (): string[] => readdirSync(backups).filter(isBackupName)
const env = { BACKUP_TO: backups, MASTER_KEY }
const restore = (from: string, to: string) => runOperator(['restore', '--from', from, '--data-dir', to], env)
/** A name tells seconds. */
const nextSecond = (): Promise<unknown> =>
  eventually(
    async () => Date.now() % 1000,
    (ms) => ms < 300,
  )

test('a service makes its first backup at once, also where a stranger has just put one', async () => {
  putCluster(stranger)
  const foreign = await runOperator(['backup'], { ...env, DATA_DIR: stranger, MASTER_KEY: newKey() })
  assert.equal(foreign.code, 0, foreign.err)
  assert.equal(list().length, 1)
  putCluster(real)
  const port = String(await freePort())
  const served = startServed({
    ...{ ...env, DATA_DIR: real, ROLES: 'worker', PORT: port, BASE_URL: `http://127.0.0.1:${port}` },
  })
  try {
    await served.ready()
    const own = await eventually(
      async () => list().find((name) => backupLifeOf(name) !== null),
      (name) => name !== undefined,
      60_000,
    )
    const doctor = await runOperator(['doctor', '--json'], { ...env, DATA_DIR: real })
    const { checks } = JSON.parse(doctor.out) as { checks: { name: string; ok: boolean; message: string }[] }
    const check = checks.find(({ name }) => name === 'backups')
    assert.equal(check?.ok, true)
    assert.match(check?.message ?? '', / 1 there is not of this database since its last restore/, own)
  } finally {
    await served.end('SIGTERM')
  }
})

test('a rehearsal of a restore takes nothing of the real backups, and no restore takes its backups for theirs', async () => {
  const good = list()
  const folder = await restore(backups, rehearsal)
  assert.deepEqual([folder.code, folder.out], [1, ''])
  assert.match(folder.err, /holds backups of 2 databases/)
  const own = good.find((name) => backupLifeOf(name) !== null) ?? ''
  assert.ok(folder.err.includes(join(backups, own)), folder.err)
  const tried = await restore(join(backups, own), rehearsal)
  assert.equal(tried.code, 0, tried.err)
  for (let turn = 0; turn < 3; turn += 1) {
    await nextSecond()
    const made = await runOperator(['backup', '--keep', '2'], { ...env, DATA_DIR: rehearsal })
    assert.equal(made.code, 0, made.err)
  }
  const ofRehearsal = list().filter((name) => !good.includes(name))
  assert.equal(ofRehearsal.length, 2)
  assert.deepEqual(
    list().filter((name) => good.includes(name)),
    good,
  )
  assert.equal(new Set(list().map(backupLifeOf)).size, 3)
  const saved = await restore(backups, join(place.path, 'saved'))
  assert.match(saved.err, /holds backups of 3 databases/)
})

/** A machine whose clock is an hour behind: a new one, without a time service. */
const behind = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`
    const D = Date, now = () => D.now() - 3_600_000
    globalThis.Date = class extends D {
      constructor(...given) { given.length === 0 ? super(now()) : super(...given) }
      static now() { return now() }
    }`)}`,
}

test('by a clock that is behind neither a folder nor a named backup is restored, and no restore is noted', async () => {
  const to = join(place.path, 'behind')
  const outside = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', MASTER_KEY, ...behind }
  const tries = await Promise.all([
    ...[backups, join(backups, list().at(-1) ?? '')].map((from) =>
      runOperator(['restore', '--from', from, '--data-dir', to], { ...env, ...behind }),
    ),
    runOperator(['restore', '--already-done', new Date().toISOString()], outside),
  ])
  for (const { code, err } of tries) {
    assert.equal(code, 1)
    assert.match(err, /your clock says .*Nothing was restored\. Correct the clock/)
  }
  assert.equal(existsSync(to), false)
})

test('a backup is refused while the database does not know yet that it was restored', async () => {
  const mark = restoreMarkOf(join(rehearsal, 'postgres'))
  appendFileSync(mark, JSON.stringify({ backupMadeAt: '2030-01-01T00:00:00Z', restoredAt: '2030-01-01T01:00:00Z' }))
  const refused = await runOperator(['backup'], { ...env, DATA_DIR: rehearsal })
  assert.equal(refused.code, 1)
  assert.match(refused.err, /The restore into .* is not finished.*Start the service there once/)
})

import assert from 'node:assert/strict'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { outsideChecks } from '../src/checks/installation-checks.ts'
import { loadConfig } from '../src/config/config.ts'
import { backupNameAt } from '../src/db/backup/store.ts'
import { DAY, MINUTE } from '../src/kernel/clock.ts'
import { newFolder } from './harness/installation.ts'

/* What doctor says of the newest backup; the database is the embedded one. */

const place = newFolder()
const kept = join(place.path, 'kept')
after(() => place.remove())

const examine = async () => {
  const config = loadConfig({ DATA_DIR: place.path, BACKUP_TO: kept, BACKUP_EVERY_MINUTES: '360' })
  const check = outsideChecks(config).find(({ name }) => name === 'backups')
  return check?.run()
}

async function withNewest(ageMs: number) {
  rmSync(kept, { recursive: true, force: true })
  mkdirSync(kept)
  writeFileSync(join(kept, backupNameAt(new Date(Date.now() - ageMs).toISOString())), 'sealed')
  return examine()
}

test('doctor fails when the newest backup is overdue, and says what to do', async () => {
  assert.equal((await withNewest(385 * MINUTE))?.ok, true)
  const old = await withNewest(395 * MINUTE)
  assert.equal(old?.ok, false, old?.message)
  assert.match(old?.message ?? '', /newest backup: 20.*One is due every 360 minutes\./)
  assert.match(old?.fix ?? '', /Start the service if it is stopped.*comptoir backup/)
})

test('no backup is fine before the first start, and not when the database is older than one should be', async () => {
  rmSync(kept, { recursive: true, force: true })
  mkdirSync(kept)
  assert.equal((await examine())?.ok, true)
  const version = join(place.path, 'postgres', 'PG_VERSION')
  mkdirSync(join(place.path, 'postgres'))
  writeFileSync(version, '18\n')
  assert.equal((await examine())?.ok, true, 'the first one is on its way')
  const made = new Date(Date.now() - DAY)
  utimesSync(version, made, made)
  const none = await examine()
  assert.equal(none?.ok, false)
  assert.match(none?.message ?? '', /newest backup: none yet\./)
})

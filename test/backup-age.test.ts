import assert from 'node:assert/strict'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDailyAlarm } from '../src/assembly/upkeep/daily-alarm.ts'
import { diskCheck, outsideChecks } from '../src/checks/installation-checks.ts'
import { loadConfig } from '../src/config/config.ts'
import { backupNameAt } from '../src/db/backup/store.ts'
import { sql } from '../src/db/db.ts'
import { DAY, MINUTE } from '../src/kernel/clock.ts'
import { logInSuperAdmin, waitForMail } from './harness/accounts.ts'
import { createTestDatabase } from './harness/database.ts'
import { newFolder } from './harness/installation.ts'
import { startTestService } from './harness/service.ts'
import { silence } from './harness/silent-mount.ts'

/* What doctor, the metric and the operator's mail say of the newest backup. */

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

test('a backup of the future is not the newest one: doctor names it', async () => {
  await withNewest(10 * MINUTE)
  const name = backupNameAt('2940-01-01T00:00:00.000Z')
  writeFileSync(join(kept, name), '')
  const future = await examine()
  assert.deepEqual([future?.ok, future?.message], [false, `${name} in ${kept} has a time that has not come.`])
  assert.match(future?.fix ?? '', /Correct the clock/)
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

const dumps = join(place.path, 'dumps')

function putDump(name: string, { ageMinutes, text = 'dump' }: { ageMinutes: number; text?: string }): void {
  writeFileSync(join(dumps, name), text)
  const at = new Date(Date.now() - ageMinutes * MINUTE)
  utimesSync(join(dumps, name), at, at)
}

test('dumps that another program makes are watched: doctor, the metric, the log and a mail say when one is overdue', async (t) => {
  mkdirSync(dumps)
  putDump('comptoir-1.dump', { ageMinutes: 200 })
  // neither is a backup
  putDump('comptoir-2.dump.part', { ageMinutes: 0 })
  putDump('comptoir-3.dump', { ageMinutes: 0, text: '' })
  const database = await createTestDatabase()
  const env = {
    ...{ OPERATOR_EMAIL: 'operator@shop.example', METRICS_TOKEN: 'scrape-me-please' },
    ...{ DATABASE_URL: database.connectionString, BACKUP_WATCH: dumps, BACKUP_EVERY_MINUTES: '60' },
  }
  const service = await startTestService({ env, workers: true, connectionString: database.connectionString })
  t.after(async () => {
    await service.stop()
    await database.drop()
  })
  const doctor = () =>
    outsideChecks(loadConfig(env))
      .find(({ name }) => name === 'backups')
      ?.run()
  const old = await doctor()
  assert.equal(old?.ok, false)
  assert.match(old?.message ?? '', /dumps answers; newest backup: 20.*One is due every 60 minutes\./)
  assert.match(old?.fix ?? '', /docker compose logs backup/)
  const mail = await waitForMail(service.config.baseUrl, 'operator@shop.example', /The backup failed/)
  assert.match(mail.text, /One is due every 60 minutes, and the newest, comptoir-1\.dump, is of 20/)
  assert.ok(service.logLines.some((line) => /ALARM: the backup failed/.test(line)))
  const headers = { authorization: 'Bearer scrape-me-please' }
  const metrics = async () => (await service.call('GET', '/metrics', { headers })).text
  const text = await metrics()
  const seconds = Number(/^comptoir_backup_age_seconds (\S+)$/m.exec(text)?.[1])
  assert.ok(seconds >= 12_000 && seconds < 12_600, String(seconds))
  assert.match(text, /^comptoir_backup_interval_seconds 3600$/m)
  putDump('comptoir-4.dump', { ageMinutes: 10 })
  assert.equal((await doctor())?.ok, true)
  await metrics()
  const admin = await logInSuperAdmin(service)
  const seen = async () => {
    const { data } = await admin.get<{ checks: { name: string; ok: boolean; message: string }[] }>('operator/status')
    return data.checks.find(({ name }) => name === 'backups')
  }
  assert.equal((await seen())?.ok, true)
  const comeBack = await silence(dumps)
  await sleep(50)
  const quiet = await Promise.all(Array.from({ length: 20 }, metrics))
  for (const one of quiet) {
    const age = Number(/^comptoir_backup_age_seconds (\S+)$/m.exec(one)?.[1])
    assert.ok(age >= 600 && age < 1200, 'what it answered last')
    assert.match(one, /^comptoir_backup_silent_seconds 0\.\d+$/m)
  }
  const silent = await seen()
  assert.equal(silent?.ok, false)
  assert.match(silent?.message ?? '', /dumps has not answered since 20.*; newest backup until then: 20/)
  await assert.rejects(async () => doctor(), /dumps has not answered since/)
  await comeBack()
  assert.match(await metrics(), /^comptoir_backup_silent_seconds 0$/m)
  assert.equal((await seen())?.ok, true)
  rmSync(dumps, { recursive: true })
  await assert.rejects(async () => doctor(), /dumps cannot be used: it does not exist/)
  assert.match(await metrics(), /^comptoir_backup_age_seconds \+?Inf$/m)
  mkdirSync(dumps)
  await service.db.run(
    sql`insert into installation (mode, key_mark, created_at) values ('live', 'x', now() - interval '2 hours')`,
  )
  assert.match((await doctor())?.message ?? '', /newest backup: none yet\. One is due/)
  let now = Date.now() + 2 * DAY
  let mails = 0
  const alarm = async (): Promise<void> => {
    mails += 1
  }
  // each process of the service has one of its own
  const open = () => openDailyAlarm({ db: service.db, clock: () => now, alarm }, 'The backup failed')
  const mailDaily = open()
  for (const mail of [mailDaily, mailDaily, open()]) await mail([])
  assert.equal(mails, 1)
  now -= 2 * DAY
  await mailDaily([])
  assert.equal(mails, 2, 'a clock that was ahead silences no later alarm')
})

test('doctor says when the disk of the embedded database is almost full, by a tenth of a small one', async () => {
  const examineDisk = (freeBytes: number, totalBytes: number) =>
    diskCheck('/data', async () => ({ freeBytes, totalBytes })).run()
  assert.equal((await examineDisk(2 ** 30, 1e12)).ok, true)
  const full = await examineDisk(2 ** 30 - 1, 1e12)
  assert.deepEqual([full.ok, full.message], [false, '1074 of 1000000 MB are free on the disk of the database.'])
  assert.match(full.fix ?? '', /holds \/data: when it is full, no order can be recorded/)
  assert.equal((await examineDisk(1.1e8, 1e9)).ok, true)
  assert.equal((await examineDisk(0.9e8, 1e9)).ok, false)
  const disk = () =>
    outsideChecks(loadConfig({ DATA_DIR: join(place.path, 'not yet') })).find((one) => one.name === 'disk')
  assert.match((await disk()?.run())?.message ?? '', /\d MB are free/)
})

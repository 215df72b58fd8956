import { join } from 'node:path'
import { Gauge } from 'prom-client'
import { OFFICE_PATHS } from '../config/office-paths.ts'
import { openStore } from '../db/backup/places.ts'
import { findNewestBackup, pruneBackups, takeBackup } from '../db/backup/take-backup.ts'
import { listMigrations } from '../db/migrate.ts'
import { DAY, MINUTE } from '../kernel/clock.ts'
import { startTicker } from '../kernel/ticker.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import type { ServiceBase } from './service-base.ts'

type BackupDeps = ServiceBase & { alarm: RaiseAlarm }

/** After a failure: soon enough to matter, seldom enough for a log to be read. */
const AGAIN_MS = 10 * MINUTE

/** Mailed once a day while backups fail: the log says it each time. */
function openComplaint({ db, clock, log, alarm }: BackupDeps, to: string) {
  let mailedAtMs = 0
  return async (error: unknown): Promise<void> => {
    log.error({ err: error, to }, 'ALARM: the backup failed')
    if (clock() - mailedAtMs < DAY) return
    const paragraphs = [
      `No backup could be written to ${to}: ${error instanceof Error ? error.message : String(error)}`,
      'The service runs on. Should its disk fail now, everything since the last backup would have to be put together again.',
    ]
    await db.tx((tx) => alarm(tx, { subject: 'The backup failed', paragraphs, path: OFFICE_PATHS.system }))
    mailedAtMs = clock()
  }
}

/** Backups of the embedded database to BACKUP_TO; nothing to do where the database is someone else's. */
export function startBackups(deps: BackupDeps): { stop(): Promise<void> } {
  const { config, vault, clock, log, metrics, db } = deps
  const { backupTo, dataDir, databaseUrl, mode } = config
  if (backupTo === null || databaseUrl !== null) return { stop: async () => {} }
  const to = openStore(backupTo, config)
  new Gauge({
    name: 'comptoir_backup_age_seconds',
    help: 'Age of the newest backup; NaN without any.',
    registers: [metrics],
    async collect() {
      const newest = await findNewestBackup(to).catch(() => undefined)
      this.set(newest ? (clock() - newest.madeAtMs) / 1000 : Number.NaN)
    },
  })
  const complain = openComplaint(deps, backupTo)
  let failedAtMs = 0
  const ticker = startTicker('backup', MINUTE, log, async () => {
    if (clock() - failedAtMs < AGAIN_MS) return
    try {
      const newest = await findNewestBackup(to)
      if (newest && clock() - newest.madeAtMs < config.backupEveryMinutes * MINUTE) return
      const facts = { madeAt: new Date(clock()).toISOString(), mode, schema: listMigrations().at(-1)?.id ?? '' }
      const place = { connectionString: db.connectionString, cluster: join(dataDir, 'postgres'), to }
      const made = await takeBackup({ ...place, vault, facts, onProgress: () => {} })
      await pruneBackups(to, config.backupKeep)
      log.info({ file: made.file, bytes: made.bytes }, 'backed up and read back')
    } catch (error) {
      failedAtMs = clock()
      await complain(error)
    }
  })
  return ticker
}

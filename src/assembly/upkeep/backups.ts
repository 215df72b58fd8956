import { join } from 'node:path'
import type pg from 'pg'
import { Gauge } from 'prom-client'
import { findSilence } from '../../db/backup/folder-store.ts'
import { isBackupOverdue, type KnownBackups, readBackupAge } from '../../db/backup/newest-backup.ts'
import { openStore } from '../../db/backup/places.ts'
import { BackupFault } from '../../db/backup/sealed.ts'
import {
  listBackups,
  lockBackups,
  ownOf,
  pruneBackups,
  takeBackup,
  withBackupConnection,
} from '../../db/backup/take-backup.ts'
import { readLife } from '../../db/installation.ts'
import { listMigrations } from '../../db/migrate.ts'
import { isYounger, MINUTE, SECOND } from '../../kernel/clock.ts'
import { startTicker } from '../../kernel/ticker.ts'
import type { RaiseAlarm } from '../../mail/operator-alarm.ts'
import type { ServiceBase } from '../service-base.ts'
import { openDailyAlarm } from './daily-alarm.ts'

type BackupDeps = ServiceBase & { alarm: RaiseAlarm }

/** Delay after a failure: short enough to matter, long enough to keep the log readable. */
const AGAIN_MS = 10 * MINUTE

/** Disks that sleep, and servers that restart, are silent for a while. */
const SILENCE_MS = 5 * MINUTE

function openComplaint(deps: BackupDeps, to: string) {
  const mail = openDailyAlarm(deps, 'The backup failed')
  return (error: unknown): Promise<void> => {
    deps.log.error({ err: error, to }, 'ALARM: the backup failed')
    return mail([
      `No backup could be written to ${to}: ${error instanceof Error ? error.message : String(error)}`,
      'The service runs on. Should its disk fail now, everything since the last backup would have to be put together again.',
    ])
  }
}

function openMetrics({ config, clock, metrics }: BackupDeps, backups: KnownBackups): void {
  /** Both gauges ask; the look is one. */
  const read = async (): Promise<{ ageMs?: number | undefined; unknownSinceMs?: number | undefined }> => {
    try {
      return await readBackupAge(backups, clock())
    } catch (error) {
      return { ageMs: Number.POSITIVE_INFINITY, unknownSinceMs: findSilence(error)?.sinceMs }
    }
  }
  new Gauge({
    name: 'comptoir_backup_age_seconds',
    help: 'Age of the newest backup; without any, of the database. Infinite while the backups cannot be listed.',
    registers: [metrics],
    async collect() {
      const { ageMs = 0 } = await read()
      this.set(ageMs / SECOND)
    },
  })
  new Gauge({
    name: 'comptoir_backup_silent_seconds',
    help: 'For how long the place of the backups has not answered, and their age goes by its last answer; 0: it answers.',
    registers: [metrics],
    async collect() {
      const { unknownSinceMs = clock() } = await read()
      this.set(Math.max(0, clock() - unknownSinceMs) / SECOND)
    },
  })
  new Gauge({
    name: 'comptoir_backup_interval_seconds',
    help: 'How often a backup is due.',
    registers: [metrics],
  }).set((config.backupEveryMinutes * MINUTE) / SECOND)
}

/** Takes a backup when it is due, and no other process is about to: every worker comes here. */
function backUpWhenDue({ config, vault, clock, log, db }: BackupDeps, backupTo: string): () => Promise<void> {
  const to = openStore(backupTo, config)
  const isDue = async (life: string): Promise<boolean> => {
    const newest = ownOf((await listBackups(to, clock())).found, life).at(-1)
    return !newest || clock() - newest.madeAtMs >= config.backupEveryMinutes * MINUTE
  }
  const backUp = async (client: pg.Client, life: string): Promise<void> => {
    // another process may have made it since
    if (!(await lockBackups(client)) || !(await isDue(life))) return
    const { mode, dataDir } = config
    const facts = { madeAt: new Date(clock()).toISOString(), mode, schema: listMigrations().at(-1)?.id ?? '', life }
    const made = await takeBackup({
      ...{ client, cluster: join(dataDir, 'postgres'), to, vault, facts, onProgress: () => {} },
    })
    await pruneBackups(to, { life, keep: config.backupKeep, nowMs: clock() })
    log.info({ file: made.file, bytes: made.bytes }, 'backed up and read back')
  }
  return async () => {
    const life = (await readLife(db.connectionString))?.id
    if (life === undefined) throw new Error('the database does not say which life of it this is')
    if (await isDue(life)) await withBackupConnection(db.connectionString, (client) => backUp(client, life))
  }
}

/** @throws BackupFault while the newest backup made by another program is overdue */
const refuseOverdue =
  ({ config, clock }: BackupDeps, backups: KnownBackups) =>
  async (): Promise<void> => {
    const { newest, ageMs, unknownSinceMs = Number.POSITIVE_INFINITY } = await readBackupAge(backups, clock())
    if (clock() - unknownSinceMs > SILENCE_MS)
      throw new BackupFault(`${backups.place} has not answered since ${new Date(unknownSinceMs).toISOString()}.`)
    if (!isBackupOverdue(ageMs, config.backupEveryMinutes)) return
    const words = newest
      ? `the newest, ${newest.name}, is of ${new Date(newest.madeAtMs).toISOString()}`
      : 'there is none'
    throw new BackupFault(`One is due every ${config.backupEveryMinutes} minutes, and ${words}.`)
  }

/** Backs up the embedded database to BACKUP_TO; watches the age of another program's backups in BACKUP_WATCH. */
export function startBackups(deps: BackupDeps): { stop(): Promise<void> } {
  const { config, clock, log, backups } = deps
  if (!backups) return { stop: async () => {} }
  openMetrics(deps, backups)
  const complain = openComplaint(deps, backups.place)
  const isOurs = config.databaseUrl === null && config.backupTo !== null
  const work = isOurs ? backUpWhenDue(deps, backups.place) : refuseOverdue(deps, backups)
  let failedAtMs = 0
  return startTicker('backup', MINUTE, log, async () => {
    if (isYounger(failedAtMs, AGAIN_MS, clock())) return
    try {
      await work()
    } catch (error) {
      failedAtMs = clock()
      await complain(error)
    }
  })
}

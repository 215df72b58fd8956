import { Gauge } from 'prom-client'
import { isYounger, MINUTE } from '../../kernel/clock.ts'
import { startTicker } from '../../kernel/ticker.ts'
import type { RaiseAlarm } from '../../mail/operator-alarm.ts'
import type { ServiceBase } from '../service-base.ts'
import { openDailyAlarm } from './daily-alarm.ts'

const ALARM = 'ALARM: the disk of the database is full: no order, payment or refund can be recorded'
/** Long enough to keep the log readable. */
const AGAIN_MS = 10 * MINUTE

type Noting = Pick<ServiceBase, 'db' | 'clock' | 'log' | 'metrics'>

/** Says at once, in every process, that a write was refused because the database’s disk is full. */
export function noteFullDisk({ db, clock, log, metrics }: Noting): void {
  new Gauge({
    name: 'comptoir_database_full',
    help: '1 while the database refuses writes, because its disk is full.',
    registers: [metrics],
    collect() {
      this.set(db.room.isFull() ? 1 : 0)
      // in a process that asks for nothing else, the next scrape says that there is room again
      if (db.room.isFull()) void db.room.probe()
    },
  })
  let saidAtMs = 0
  db.room.onFull(() => {
    if (isYounger(saidAtMs, MINUTE, clock())) return
    saidAtMs = clock()
    log.error(ALARM)
  })
}

/**
 * Writes a little every minute, so that a full disk is known before the next order needs room. The mail about it waits
 * for the room to store it.
 */
export function startRoomWatch(
  deps: Pick<ServiceBase, 'db' | 'clock' | 'log'> & { alarm: RaiseAlarm },
  everyMs = MINUTE,
): { stop(): Promise<void> } {
  const { db, clock, log } = deps
  const mail = openDailyAlarm(deps, 'The disk of the database was full')
  let fullSinceMs: number | null = null
  let saidAtMs = 0
  return startTicker('database.room', everyMs, log, async () => {
    await db.room.probe()
    if (db.room.isFull()) {
      fullSinceMs ??= clock()
      if (isYounger(saidAtMs, AGAIN_MS, clock())) return
      saidAtMs = clock()
      log.error({ since: new Date(fullSinceMs) }, ALARM)
      return
    }
    if (fullSinceMs === null) return
    const since = new Date(fullSinceMs)
    log.info({ since }, 'the database has room again')
    await mail([
      `From ${since.toISOString()} on, PostgreSQL could write nothing, because its disk was full. It has room again.`,
      'Orders and refunds were refused meanwhile, and nothing that was confirmed is lost. Give it more room before it is full again.',
    ])
    fullSinceMs = null
  })
}

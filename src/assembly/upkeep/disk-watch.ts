import { Gauge } from 'prom-client'
import { describeRoom, isShortOfRoom, readDiskRoom } from '../../db/embedded/disk-room.ts'
import { isYounger, MINUTE } from '../../kernel/clock.ts'
import { startTicker } from '../../kernel/ticker.ts'
import type { RaiseAlarm } from '../../mail/operator-alarm.ts'
import type { ServiceBase } from '../service-base.ts'
import { openDailyAlarm } from './daily-alarm.ts'

/** Long enough to keep the log readable. */
const AGAIN_MS = 10 * MINUTE

/** Warns that the disk of the embedded database is filling up, while a mail can still be stored there. */
export function startDiskWatch(deps: ServiceBase & { alarm: RaiseAlarm }): { stop(): Promise<void> } {
  const { config, clock, log, metrics } = deps
  if (config.databaseUrl !== null) return { stop: async () => {} }
  const { dataDir } = config
  new Gauge({
    name: 'comptoir_data_free_bytes',
    help: 'Room left on the disk of the embedded database.',
    registers: [metrics],
    async collect() {
      this.set((await readDiskRoom(dataDir)).freeBytes)
    },
  })
  const mail = openDailyAlarm(deps, 'The disk of the database is almost full')
  let saidAtMs = 0
  return startTicker('disk', MINUTE, log, async () => {
    const room = await readDiskRoom(dataDir)
    if (!isShortOfRoom(room) || isYounger(saidAtMs, AGAIN_MS, clock())) return
    saidAtMs = clock()
    log.error({ dataDir, ...room }, 'ALARM: the disk of the database is almost full')
    await mail([
      `${describeRoom(room)} on the disk that holds ${dataDir}.`,
      'When it is full, no order, payment or refund can be recorded. Make room; the service goes on by itself then.',
    ])
  })
}

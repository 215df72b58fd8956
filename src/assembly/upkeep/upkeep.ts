import type { RaiseAlarm } from '../../mail/operator-alarm.ts'
import type { ServiceBase } from '../service-base.ts'
import { startBackups } from './backups.ts'
import { startDiskWatch } from './disk-watch.ts'
import { startPromotionWatch } from './promotion-watch.ts'
import { startRoomWatch } from './room-watch.ts'

/** Chores that an operator would otherwise do by hand: backups, and watching the database. */
export function startUpkeep(deps: ServiceBase & { alarm: RaiseAlarm }): { stop(): Promise<void> } {
  const tasks = [startBackups(deps), startDiskWatch(deps), startPromotionWatch(deps), startRoomWatch(deps)]
  return { stop: async () => void (await Promise.all(tasks.map((task) => task.stop()))) }
}

import type { RaiseAlarm } from '../../mail/operator-alarm.ts'
import type { ServiceBase } from '../service-base.ts'
import { startBackups } from './backups.ts'
import { startDiskWatch } from './disk-watch.ts'

/** What an operator would do by hand: backups, and a look at the room on the disk. */
export function startUpkeep(deps: ServiceBase & { alarm: RaiseAlarm }): { stop(): Promise<void> } {
  const tasks = [startBackups(deps), startDiskWatch(deps)]
  return { stop: async () => void (await Promise.all(tasks.map((task) => task.stop()))) }
}

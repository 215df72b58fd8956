import { OFFICE_PATHS } from '../../config/office-paths.ts'
import { DAY, isYounger } from '../../kernel/clock.ts'
import type { RaiseAlarm } from '../../mail/operator-alarm.ts'
import type { ServiceBase } from '../service-base.ts'

type AlarmDeps = Pick<ServiceBase, 'db' | 'clock'> & { alarm: RaiseAlarm }

/** Mails a lasting fault once a day; the log shows it each time. */
export function openDailyAlarm({ db, clock, alarm }: AlarmDeps, subject: string) {
  let mailedAtMs = 0
  return async (paragraphs: string[]): Promise<void> => {
    if (isYounger(mailedAtMs, DAY, clock())) return
    await db.tx((tx) => alarm(tx, { subject, paragraphs, path: OFFICE_PATHS.system }))
    mailedAtMs = clock()
  }
}

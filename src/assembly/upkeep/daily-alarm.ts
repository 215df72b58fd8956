import { OFFICE_PATHS } from '../../config/office-paths.ts'
import { claimDailyNotice } from '../../mail/daily-mail-queries.ts'
import type { RaiseAlarm } from '../../mail/operator-alarm.ts'
import type { ServiceBase } from '../service-base.ts'

type AlarmDeps = Pick<ServiceBase, 'db' | 'clock'> & { alarm: RaiseAlarm }

/**
 * Mails a lasting fault once a day, however many processes see it; the log shows it each time.
 * @param machine its name, where each machine has the fault for itself
 */
export function openDailyAlarm({ db, clock, alarm }: AlarmDeps, subject: string, machine = '') {
  const key = [subject, machine].filter(Boolean).join(':')
  return (paragraphs: string[]): Promise<void> =>
    db.tx(async (tx) => {
      if (await claimDailyNotice(tx, key, clock())) await alarm(tx, { subject, paragraphs, path: OFFICE_PATHS.system })
    })
}

import { type DailyMail, type DailyMailDeps, mailDaily } from '../../mail/daily-mails.ts'
import { type Failures, listFailures } from './upkeep-queries.ts'

/** The daily mail to a manager about permanent failures. */
export type FailureMail = DailyMail<Failures>
export type FailureDeps = DailyMailDeps<Failures>

/** Mails managers about webhooks that failed permanently the day before. @returns number of mails queued now */
export const mailFailures = (deps: FailureDeps, nowMs: number): Promise<number> =>
  mailDaily(deps, { name: 'webhook-failures', list: listFailures }, nowMs)

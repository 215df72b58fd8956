import { type DailyMail, type DailyMailDeps, mailDaily } from '../../mail/daily-mails.ts'
import { listWaiting, type Waiting } from './summary-queries.ts'

export type WaitingMail = DailyMail<Waiting>
export type WaitingDeps = DailyMailDeps<Waiting>

/**
 * Mails managers about items that arrived the day before and wait for a decision. @returns number of mails queued now
 */
export const mailWaiting = (deps: WaitingDeps, nowMs: number): Promise<number> =>
  mailDaily(deps, { name: 'waiting', list: listWaiting }, nowMs)

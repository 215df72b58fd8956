import { type DailyMail, type DailyMailDeps, mailDaily } from '../../mail/daily-mails.ts'
import { listWaiting, type Waiting } from './summary-queries.ts'

export type WaitingMail = DailyMail<Waiting>
export type WaitingDeps = DailyMailDeps<Waiting>

/** Tells of what came on the day before and waits for a decision. @returns how many mails were asked for now */
export const mailWaiting = (deps: WaitingDeps, nowMs: number): Promise<number> =>
  mailDaily(deps, { name: 'waiting', list: listWaiting }, nowMs)

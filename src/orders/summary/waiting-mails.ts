import type { Tx } from '../../db/db.ts'
import { type DailyMail, type DailyMailDeps, mailDaily } from '../../mail/daily-mails.ts'
import { listWaiting, noteByHand, type Waiting } from './summary-queries.ts'

export type WaitingMail = DailyMail<Waiting>
export type WaitingDeps = DailyMailDeps<Waiting> & {
  /** Asks the operator to send refunds by hand, once the transaction has committed. */
  askOperator(tx: Tx, asked: { refunds: number; companies: number }): Promise<void>
}

/** Notes the refunds that a person has to send, and asks the operator at once for those whose money he holds. */
const askForByHand = ({ db, askOperator }: WaitingDeps, now: Date): Promise<void> =>
  db.tx(async (tx) => {
    const noted = (await noteByHand(tx, now)).filter(({ heldBy }) => heldBy === 'operator')
    const companies = new Set(noted.map(({ companyId }) => companyId)).size
    if (noted.length > 0) await askOperator(tx, { refunds: noted.length, companies })
  })

/**
 * Mails managers about items that arrived the day before and wait for a decision. @returns number of mails queued now
 */
export async function mailWaiting(deps: WaitingDeps, nowMs: number): Promise<number> {
  await askForByHand(deps, new Date(nowMs))
  return mailDaily(deps, { name: 'waiting', list: listWaiting }, nowMs)
}

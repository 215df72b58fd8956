import type { Tx } from '../../db/db.ts'
import { type DailyMail, type DailyMailDeps, mailDaily } from '../../mail/daily-mails.ts'
import { listWaiting, noteAsked, type Waiting } from './summary-queries.ts'

export type WaitingMail = DailyMail<Waiting>
export type WaitingDeps = DailyMailDeps<Waiting> & {
  /** Asks the operator to approve or to send refunds, once the transaction has committed. */
  askOperator(tx: Tx, asked: { asks: 'approve' | 'send'; refunds: number; companies: number }): Promise<void>
}

/** Notes the refunds that wait for a person, and asks the operator at once for those on which he acts. */
const askAboutRefunds = ({ db, askOperator }: WaitingDeps, now: Date): Promise<void> =>
  db.tx(async (tx) => {
    const noted = (await noteAsked(tx, now)).filter(({ acts }) => acts === 'operator')
    for (const asks of ['approve', 'send'] as const) {
      const found = noted.filter((one) => one.asks === asks)
      const companies = new Set(found.map(({ companyId }) => companyId)).size
      if (found.length > 0) await askOperator(tx, { asks, refunds: found.length, companies })
    }
  })

/**
 * Mails managers about items that arrived the day before and wait for a decision. @returns number of mails queued now
 */
export async function mailWaiting(deps: WaitingDeps, nowMs: number): Promise<number> {
  await askAboutRefunds(deps, new Date(nowMs))
  return mailDaily(deps, { name: 'waiting', list: listWaiting }, nowMs)
}

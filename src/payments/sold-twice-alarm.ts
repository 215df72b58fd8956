import type { FastifyBaseLogger } from 'fastify'
import { officePathsOf } from '../config/office-paths.ts'
import type { Clock } from '../kernel/clock.ts'
import { nameCompany } from '../mail/alarm-words.ts'
import { insertNotice } from '../mail/daily-mail-queries.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import type { NoticeSoldTwice } from './report-case.ts'

/** Logs and mails the operator, once for the two orders, that a purchase was paid twice in time. */
export const openSoldTwiceAlarm =
  ({ alarm, log, clock }: { alarm: RaiseAlarm; log: FastifyBaseLogger; clock: Clock }): NoticeSoldTwice =>
  async (tx, { order: { companyId, code, shortCode }, other }) => {
    const pair = [code, other].toSorted().join(':')
    if (!(await insertNotice(tx, `payments.sold-twice:${companyId}:${pair}`, new Date(clock())))) return
    tx.afterCommit(() => log.warn({ companyId, code, other }, 'two orders of one purchase were paid'))
    const company = await nameCompany(tx, companyId)
    await alarm(tx, {
      subject: `Two orders of one purchase were paid: ${shortCode}`,
      paragraphs: [
        `Order ${shortCode} (${code}) of company ${company} is paid. Order ${other}, with the same alias or the same reference of a buy button, is paid too, being confirmed or under review.`,
        'Both were paid in time. Ask the shop whether its customer bought twice. If not, refund one of the two.',
      ],
      path: officePathsOf(companyId).money,
    })
  }

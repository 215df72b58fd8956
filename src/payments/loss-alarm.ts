import type { FastifyBaseLogger } from 'fastify'
import { officePathsOf } from '../config/office-paths.ts'
import { formatDecimal } from '../kernel/money.ts'
import { nameCompany } from '../mail/alarm-words.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import type { NoticeLoss } from './report-case.ts'

/** Money that counted left its chain: writes a log line and mails the operator. The metric reads the records. */
export const openLossAlarm =
  ({ alarm, log }: { alarm: RaiseAlarm; log: FastifyBaseLogger }): NoticeLoss =>
  async (tx, { order, payment, units }) => {
    const amount = `${formatDecimal(units, 6)} USDC`
    const { companyId, code } = order
    tx.afterCommit(() =>
      log.error({ companyId, code, channel: payment.channel, units: units.toString() }, 'final money left its chain'),
    )
    const company = await nameCompany(tx, companyId)
    await alarm(tx, {
      subject: `${amount} left the chain after they counted`,
      paragraphs: [
        `${amount} that were final for order ${order.shortCode} (${code}) of company ${company} are gone from ${payment.channel}.`,
        'They are booked as a loss in suspense. The order cannot be refunded, and the amount is kept back from settlements.',
        'Check the chain. If the money comes back, nothing needs doing. Otherwise decide who bears the loss: under Mispayments, or by POST /api/next/mispayments/{id}/bear.',
      ],
      path: officePathsOf(companyId).mispayments,
    })
  }

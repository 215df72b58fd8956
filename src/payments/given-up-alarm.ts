import type { FastifyBaseLogger } from 'fastify'
import { officePathsOf } from '../config/office-paths.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import type { NoticeGivenUp } from './report-case.ts'

/** Logs and mails the operator that a provider never reported what became of money an order was waiting for. */
export const openGivenUpAlarm =
  ({ alarm, log }: { alarm: RaiseAlarm; log: FastifyBaseLogger }): NoticeGivenUp =>
  async (tx, { order: { companyId, code, shortCode }, payment: { channel, providerReference } }) => {
    tx.afterCommit(() =>
      log.error(
        { companyId, code, channel, providerReference },
        'no answer about money on its way; its order waits no more',
      ),
    )
    await alarm(tx, {
      subject: `Order ${shortCode} no longer waits for its payment`,
      paragraphs: [
        `Order ${shortCode} (${code}) of company ${companyId} waited for money on its way through ${channel}. In 30 days the provider has not said whether it arrived, so it is not asked any more, and the order expires.`,
        `Look up the payment ${providerReference} at the provider. If its money arrived there and the order does not show it, return it from the provider’s console.`,
      ],
      path: officePathsOf(companyId).money,
    })
  }

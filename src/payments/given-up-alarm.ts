import type { FastifyBaseLogger } from 'fastify'
import { officePathsOf } from '../config/office-paths.ts'
import type { Clock } from '../kernel/clock.ts'
import { formatMoney } from '../kernel/money.ts'
import { nameCompany } from '../mail/alarm-words.ts'
import { claimNotice, insertNotice } from '../mail/daily-mail-queries.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import type { Order } from '../orders/order.ts'
import { countClosing } from './abandoned-queries.ts'
import { isAwaitedBy, OTHERS_MS } from './ended-payments.ts'
import type { Payment } from './payment-queries.ts'
import type { NoticeGivenUp } from './report-case.ts'

type Words = { subject: string; tell(company: string): string }

function describe({ code, shortCode }: Order, payment: Payment, isClosing: boolean): Words {
  const nameOf = (company: string): string => `Order ${shortCode} (${code}) of company ${company}`
  return isClosing
    ? {
        subject: `A payment of order ${shortCode} could not be closed`,
        tell: (company) =>
          `${nameOf(company)} ended, or its payer chose another way to pay, and its payment through ${payment.channel} was to be closed. In 30 days the provider has refused to, or has not answered, so it is not asked any more.`,
      }
    : {
        subject: `Order ${shortCode} no longer waits for its payment`,
        tell: (company) =>
          `${nameOf(company)} waited for money on its way through ${payment.channel}. In 30 days the provider has not said whether it arrived, so the order waits no longer and expires.`,
      }
}

function describeOther({ code, shortCode }: Order, { channel }: Payment, units: bigint): Words {
  const amount = `${formatMoney({ asset: 'USDC', units })} USDC`
  return {
    subject: `${amount} of order ${shortCode} came beside what was returned`,
    tell: (company) =>
      `${channel} said that ${amount} were on their way for order ${shortCode} (${code}) of company ${company}. A person has returned what it blocked of that payment, but not these: it has neither credited nor blocked them since, and is not asked any more.`,
  }
}

const moreOf = (others: number, channel: string): string =>
  `Payments of this company through ${channel} that are still to be closed: ${others}. Of those that are given up today too, no further mail tells; each is in the log as “could not be closed”.`

/**
 * Logs and mails the operator that a provider never reported what became of a payment. Payments that could not be
 * closed bring one mail a day for each company and channel.
 */
export const openGivenUpAlarm =
  ({ alarm, log, clock }: { alarm: RaiseAlarm; log: FastifyBaseLogger; clock: Clock }): NoticeGivenUp =>
  async (tx, { order, payment, otherUnits }) => {
    const { companyId, code } = order
    const { channel, providerReference, merchantReference } = payment
    const now = new Date(clock())
    const isClosing = otherUnits === undefined && !isAwaitedBy(order, payment)
    const { subject, tell } =
      otherUnits === undefined ? describe(order, payment, isClosing) : describeOther(order, payment, otherUnits)
    tx.afterCommit(() => log.error({ companyId, code, channel, providerReference, merchantReference }, subject))
    // the mail that is left out comes with a later answer
    if (otherUnits !== undefined && !(await claimNotice(tx, `payments.other:${payment.id}`, now.getTime(), OTHERS_MS)))
      return false
    const notice = `payments.unclosed:${companyId}:${channel}:${now.toISOString().slice(0, 10)}`
    if (isClosing && !(await insertNotice(tx, notice, now))) return false
    const others = isClosing ? await countClosing(tx, payment) : 0
    await alarm(tx, {
      subject,
      paragraphs: [
        tell(await nameCompany(tx, companyId)),
        `Look up the payment ${providerReference ?? merchantReference} at the provider. If its money arrived there and the order does not show it, return it from the provider’s console.`,
        ...(others > 0 ? [moreOf(others, channel)] : []),
      ],
      path: officePathsOf(companyId).money,
    })
    return true
  }

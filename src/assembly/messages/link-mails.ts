import { plainName } from '../../mail/alarm-words.ts'
import { payLinkNotice } from '../../mail/notices.ts'
import { findPayerLanguage } from '../../mail/payer-language-queries.ts'
import type { Order } from '../../orders/order.ts'
import { showFiat, showTime } from '../../pages/shared/format.ts'
import type { LinkMailDeps } from '../../payers/link-mails.ts'
import type { PayerDeps } from '../../payers/payer-service.ts'
import { existsMoney } from '../../payments/accept/requote-queries.ts'
import { findMerchant } from '../../refunds/refund-queries.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { Accounts } from '../accounts.ts'
import type { ServiceBase } from '../service-base.ts'
import { factsOf, langOf } from './payer-mail.ts'

/** What is paid for, in the shop's words, each too short for a letter to a stranger; null: it has said nothing. */
const subjectOf = ({ alias, goods }: Order): string | null =>
  [goods?.goodsName, alias]
    .filter(Boolean)
    .map((text) => plainName(`${text}`))
    .join(' · ') || null

/** Mails that ask a payer to pay an order, with nothing in them but what the order says. */
export function openLinkMails(
  { config, log }: Pick<ServiceBase, 'config' | 'log'>,
  { mailer }: Pick<Accounts, 'mailer'>,
  payers: PayerDeps,
): LinkMailDeps {
  const dustUnits = BigInt(config.orders.chainDustUnits)
  return {
    ...{ payers, log },
    async findLanguage(tx, order) {
      return (await findPayerLanguage(tx, order)) ?? langOf(await findMerchant(tx, order.companyId))
    },
    hasMoney: (tx, order) => existsMoney(tx, order, dustUnits, 'link'),
    async mailLink(tx, order, { to, lang, isReminder }) {
      const company = await findMerchant(tx, order.companyId)
      const { locale } = TEXTS[lang]
      const data = payLinkNotice(lang, {
        ...{ ...factsOf(company, order), isReminder },
        amount: showFiat(order.from, locale),
        purpose: subjectOf(order),
        until: showTime(order.expiresAt, locale),
        url: `${config.payUrl}/pay?code=${order.code}&lang=${lang}`,
      })
      const about = { payerOf: order.id, expiresAt: order.expiresAt }
      await mailer.send(tx, { to, lang, kind: 'notice', data, ...about })
    },
  }
}

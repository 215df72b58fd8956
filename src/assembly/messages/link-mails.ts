import { unlinkedName } from '../../mail/alarm-words.ts'
import { payLinkNotice } from '../../mail/notices.ts'
import { findPayerLanguage, upsertPayerLanguage } from '../../mail/payer-language-queries.ts'
import type { Order } from '../../orders/order.ts'
import { showFiat, showTime } from '../../pages/shared/format.ts'
import type { LinkMailDeps } from '../../payers/link-mails.ts'
import type { PayerDeps } from '../../payers/payer-service.ts'
import { findMerchant } from '../../refunds/refund-queries.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { Accounts } from '../accounts.ts'
import type { ServiceBase } from '../service-base.ts'
import { factsOf, langOf } from './payer-mail.ts'

/** What is paid for, in the shop's words; null: it has said nothing. */
const subjectOf = ({ alias, goods }: Order): string | null =>
  [goods?.goodsName, alias]
    .filter(Boolean)
    .map((text) => unlinkedName(`${text}`))
    .join(' · ') || null

/** Mails that ask a payer to pay an order, with nothing in them but what the order says. */
export function openLinkMails(
  { config }: Pick<ServiceBase, 'config'>,
  { mailer }: Pick<Accounts, 'mailer'>,
  payers: PayerDeps,
): LinkMailDeps {
  return {
    payers,
    async findLanguage(tx, order) {
      return (await findPayerLanguage(tx, order)) ?? langOf(await findMerchant(tx, order.companyId))
    },
    async noteLanguage(tx, order, lang) {
      // what the payer chose on the pages counts for more
      if ((await findPayerLanguage(tx, order)) === null) await upsertPayerLanguage(tx, order, lang)
    },
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

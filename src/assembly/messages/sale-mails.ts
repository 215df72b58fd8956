import { isChannelId } from '../../channels/channel.ts'
import { CHANNEL_NAMES } from '../../channels/channel-names.ts'
import { officePathOfOrder } from '../../config/office-paths.ts'
import { isLang, type Lang } from '../../kernel/lang.ts'
import { plainName, unlinkedName } from '../../mail/alarm-words.ts'
import { saleNotice, salesNotice } from '../../mail/notices.ts'
import { SALES_AN_HOUR, type SaleMailDeps, type SaleReader } from '../../orders/sale-mails/sale-mails.ts'
import { showFiat, showToken } from '../../pages/shared/format.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { Accounts } from '../accounts.ts'
import type { ServiceBase } from '../service-base.ts'

const langOf = ({ lang }: SaleReader): Lang => (isLang(lang) ? lang : 'en')

const namesOf = ({ companyName, firstName }: SaleReader) => ({
  companyName: plainName(companyName),
  firstName: plainName(firstName),
})

function channelOf(lang: Lang, channel: string | null): string | null {
  if (channel === null || !isChannelId(channel)) return channel
  return TEXTS[lang].mails.saleMails.channels[channel] ?? CHANNEL_NAMES[channel]
}

/** The mails about sales to people of a shop. They name nothing of the payer. */
export function openSaleMails(
  { db, clock, log, config }: ServiceBase,
  { mailer }: Pick<Accounts, 'mailer'>,
): SaleMailDeps {
  return {
    ...{ db, clock, log },
    async tellSale(tx, reader, order) {
      const lang = langOf(reader)
      const { locale } = TEXTS[lang]
      const { shortCode, alias, from, to, paidUnits, paymentChannel } = order
      const data = saleNotice(lang, {
        ...{ ...namesOf(reader), shortCode },
        alias: alias === null ? null : unlinkedName(alias),
        amount: showFiat(from, locale),
        received: showToken({ asset: to.asset, units: paidUnits }, locale),
        channel: channelOf(lang, paymentChannel),
        url: `${config.officeUrl}${officePathOfOrder(order.code)}`,
      })
      await mailer.send(tx, { to: reader.email, lang, kind: 'notice', data })
    },
    async tellRest(tx, reader, sums) {
      const lang = langOf(reader)
      const amounts = sums.map((sum) => showFiat(sum, TEXTS[lang].locale)).join(', ')
      const sales = sums.reduce((total, sum) => total + sum.sales, 0)
      const facts = { ...namesOf(reader), sales, amounts, most: SALES_AN_HOUR, officeUrl: config.officeUrl }
      await mailer.send(tx, { to: reader.email, lang, kind: 'notice', data: salesNotice(lang, facts) })
    },
  }
}

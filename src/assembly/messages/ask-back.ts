import { amountText } from '../../channels/usdc-text.ts'
import { officePathsOf } from '../../config/office-paths.ts'
import { isLang } from '../../kernel/lang.ts'
import { plainName, unlinkedName } from '../../mail/alarm-words.ts'
import { claimDailyNotice, listManagers } from '../../mail/daily-mail-queries.ts'
import { askedBackNotice } from '../../mail/notices.ts'
import { showToken } from '../../pages/shared/format.ts'
import type { Mispayment } from '../../payments/mispayments/mispayment-queries.ts'
import type { AskBackDeps } from '../../refunds/asked-back/asked-back.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { Accounts } from '../accounts.ts'
import type { Commerce } from '../commerce.ts'
import type { ServiceBase } from '../service-base.ts'

/** "25.00 USDC, 3 DAI": what people can read of the money. */
const amountsOf = (records: readonly Mispayment[], locale: string): string =>
  records
    .map(({ asset, units, sourceReference: reference }) => {
      if (asset === 'USDC') return `${showToken({ asset, units }, locale)} USDC`
      return [amountText({ asset, units, reference }), unlinkedName(asset)].filter(Boolean).join(' ')
    })
    .join(', ')

/** A payer asks for money back: the managers get a mail, and the order's page changes. */
export function openAskBack(
  { db, clock, config }: ServiceBase,
  { audit, mailer }: Accounts,
  { feed }: Pick<Commerce, 'feed'>,
): AskBackDeps {
  return {
    ...{ db, clock, audit },
    onAsked: ({ code }) => feed.changed(code),
    async tellShop(tx, { id, companyId, shortCode }, records) {
      // anyone with the link may ask whenever a cent arrives
      if (!(await claimDailyNotice(tx, `asked-back:${id}`, clock()))) return
      const url = `${config.officeUrl}${officePathsOf(companyId).mispayments}`
      for (const { email, lang: known, ...names } of await listManagers(tx, [companyId])) {
        const lang = isLang(known) ? known : 'en'
        const [companyName, firstName] = [plainName(names.companyName), plainName(names.firstName)]
        const amounts = amountsOf(records, TEXTS[lang].locale)
        const data = askedBackNotice(lang, { companyName, firstName, shortCode, amounts, url })
        await mailer.send(tx, { to: email, lang, kind: 'notice', data })
      }
    },
  }
}

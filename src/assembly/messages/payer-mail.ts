import type { Lang } from '../../kernel/lang.ts'
import { langOfCountry } from '../../mail/notices.ts'
import type { Order } from '../../orders/order.ts'
import type { Merchant } from '../../refunds/refund-queries.ts'

/** The shop's details for a mail to a payer. */
export const factsOf = ({ name, supportEmail, supportPhone }: Merchant, { shortCode }: Pick<Order, 'shortCode'>) => ({
  ...{ merchant: name, shortCode },
  contact: [supportEmail, supportPhone].filter(Boolean).join(', ') || null,
})

/** For a payer who has chosen no language. */
export const langOf = ({ customerLanguage, country }: Merchant): Lang => customerLanguage ?? langOfCountry(country)

import { baseUrl, plain, type Setting, secret } from '../kind.ts'

export const flag = (description: string): Setting => ({
  ...plain(description, 'false'),
  fault: (text) => (text === 'true' || text === 'false' ? null : 'must be true or false'),
})

/** Both channels use one account at Whitepay. */
export const settings = {
  BASE_URL: baseUrl('https://api.whitepay.com'),
  TOKEN: secret('API token: CRM, Settings, Tokens'),
  SLUG: plain('name of the payment page in the CRM'),
  WEBHOOK_TOKEN: secret('webhook token of the payment page, signs its order events'),
  MERCHANT_WEBHOOK_TOKEN: {
    ...secret('general webhook token, signs transactions, withdrawals and rollbacks; empty: such events are refused'),
    fallback: '',
  },
  NON_CUSTODY_SLUG: plain('a payment page of its own for whitepay-non-custody; empty: the same page', ''),
  NON_CUSTODY_WEBHOOK_TOKEN: { ...secret('webhook token of that page; empty: the same token'), fallback: '' },
}

export type WhitepayValues = Readonly<Record<keyof typeof settings, string>>

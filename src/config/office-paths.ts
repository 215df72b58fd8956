/**
 * Screens of the back office that mails link to, below its URL. A browser test opens each of them, through the login.
 */
export const OFFICE_PATHS = {
  home: '/',
  account: '/account',
  orders: '/orders',
  keys: '/keys',
  people: '/people',
  refunds: '/refunds?status=waiting',
  waitingCompanies: '/operator?status=waiting',
  audit: '/audit',
  failedWebhooks: '/webhooks?status=failed,parked',
  system: '/operator?tab=system',
  wallets: '/operator?tab=wallets',
} as const

/** The same for an operator, who sees one company at a time. */
export const officePathsOf = (companyId: string) => ({
  money: `/money?company=${companyId}`,
  audit: `/audit?company=${companyId}`,
  mispayments: `/mispayments?company=${companyId}&status=open`,
  screening: `/identity?company=${companyId}&tab=screening&status=open`,
})

/** The page of one order. */
export const officePathOfOrder = (code: string): string => `/orders/${code}`

import type { Data, Permission } from '../../api/call.ts'

type Need = keyof Data<'getSummary'>['needs']

/** Where what waits for a person is decided, and who may see it. */
export const TARGETS = [
  ['mispayments', '/mispayments', 'mispayments.read'],
  ['unmatched', '/mispayments', 'mispayments.read'],
  ['refunds', '/refunds', 'refunds.read'],
  ['deliveries', '/webhooks', 'webhooks.deliveries'],
  ['identity', '/identity', 'kyc.read'],
  ['screenings', '/identity', 'screenings.read'],
  ['settlements', '/money', 'settlements.read'],
  ['companies', '/operator', 'companies.approve'],
] as const satisfies readonly (readonly [Need, string, Permission])[]

/** Filters for the linked list: what is counted. */
export const SEARCHES: Record<Need, { tab?: string; status?: string }> = {
  mispayments: { status: 'open' },
  unmatched: { tab: 'unmatched', status: 'open' },
  refunds: { status: 'waiting' },
  deliveries: { status: 'failed,parked' },
  identity: { status: 'waiting' },
  screenings: { tab: 'screening', status: 'open' },
  // without a company chosen, the screen begins with those that wait
  settlements: {},
  companies: { status: 'waiting' },
}

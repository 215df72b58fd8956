import type { Queryable } from '../../src/db/db.ts'
import {
  countOrders,
  listOrders,
  type OrderFilter,
  type OrderScope,
  withLookUp,
} from '../../src/orders/order-list-queries.ts'
import { openSearch } from '../../src/orders/order-search-queries.ts'

export const NO_FILTER: OrderFilter = {
  ...{ statuses: [], search: null, managerEmail: null, companyId: null, from: null, to: null },
  ...{ paymentChannel: null, till: null, payer: null, linksOnly: false },
}
export const PAGE = { sort: '-createdAt', limit: 500, offset: 0, after: null } as const

export const scopeOf = (companyId: string): OrderScope => ({
  companyIds: [companyId],
  collectorIds: null,
  createdBy: null,
})

export type Found = { aliases: string[]; total: number }

/** What a list shows of a search, and its total. */
export async function find(
  q: Queryable,
  companyId: string,
  text: string,
  more: Partial<OrderFilter> = {},
): Promise<Found> {
  const scope = scopeOf(companyId)
  const filter = await withLookUp(q, scope, { ...NO_FILTER, ...more, search: openSearch(text) })
  const orders = await listOrders(q, scope, filter, PAGE)
  return { aliases: orders.map(({ alias }) => alias ?? '').sort(), total: await countOrders(q, scope, filter) }
}

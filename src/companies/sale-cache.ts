import type { Db, Queryable } from '../db/db.ts'
import { type Clock, isYounger } from '../kernel/clock.ts'
import { findSaleCollector, findSaleCompany, type SaleCollector, type SaleCompany } from './sale-queries.ts'

const MAX_AGE_MS = 30_000
const MAX_ENTRIES = 20_000

type Entry<Value> = { value: Value | undefined; at: number }

/**
 * Caches the companies and tills that creating an order reads. A copy never decides alone: the insert checks the
 * company's version and the till's state again, and a failed order is retried with fresh copies.
 */
export type SaleCache = {
  company(id: string, q?: Queryable): Promise<SaleCompany | undefined>
  collector(companyId: string | null, identifier: string, q?: Queryable): Promise<SaleCollector | undefined>
  forget(companyId: string): void
}

export function openSaleCache(db: Db, clock: Clock): SaleCache {
  const companies = new Map<string, Entry<SaleCompany>>()
  const collectors = new Map<string, Entry<SaleCollector>>()
  const cached = async <Value>(
    map: Map<string, Entry<Value>>,
    key: string,
    load: () => Promise<Value | undefined>,
  ): Promise<Value | undefined> => {
    const known = map.get(key)
    if (known?.value !== undefined && isYounger(known.at, MAX_AGE_MS, clock())) return known.value
    const value = await load()
    if (map.size > MAX_ENTRIES) map.clear()
    map.set(key, { value, at: clock() })
    return value
  }
  return {
    company: (id, q = db) => cached(companies, id, () => findSaleCompany(q, id)),
    collector: (companyId, identifier, q = db) =>
      cached(collectors, `${companyId ?? ''}|${identifier}`, () => findSaleCollector(q, companyId, identifier)),
    forget(companyId) {
      companies.delete(companyId)
      for (const key of collectors.keys())
        if (key.startsWith(`${companyId}|`) || key.startsWith('|')) collectors.delete(key)
    },
  }
}

import type { Actor } from '../../http/actor.ts'
import type { Static } from '../../kernel/schema.ts'
import * as queries from './address-queries.ts'
import type { AddressQuery, AddressSchema } from './delivery-schemas.ts'
import type { WebhookDeps } from './delivery-service.ts'
import { accountOf, findAccount } from './subscription-service.ts'

const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
/** Lists the addresses with the newest deliveries; `total` counts all. */
const MOST_ADDRESSES = 100

type AddressPage = { addresses: Static<typeof AddressSchema>[]; total: number; days: number }

/** The addresses of a company's recent webhooks, with the state of each. */
export async function listAddresses(deps: WebhookDeps, actor: Actor, query: AddressQuery): Promise<AddressPage> {
  const { days = DEFAULT_DAYS } = query
  const { id } = await findAccount(deps, accountOf(actor, query.companyId))
  const since = new Date(deps.clock() - days * DAY_MS)
  const rows = await queries.listAddresses(deps.db, id, since, MOST_ADDRESSES)
  const urls = rows.map(({ url }) => url)
  const failures = new Map(
    (await queries.listLastFailures(deps.db, id, since, urls)).map(({ url, startedAt, ...failure }) => [
      url,
      { at: startedAt.toISOString(), ...failure },
    ]),
  )
  const addresses = rows.map(({ total: _, ...row }) => ({
    ...row,
    lastDeliveryAt: row.lastDeliveryAt.toISOString(),
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    lastFailure: failures.get(row.url) ?? null,
  }))
  return { addresses, total: rows[0]?.total ?? 0, days }
}

import { type Queryable, sql } from '../db/db.ts'
import { newId } from '../kernel/ids.ts'
import type { Exchange, ExchangePlace } from './provider-calls.ts'

export async function insertExchange(q: Queryable, place: ExchangePlace, exchange: Exchange): Promise<void> {
  const { companyId, channel, merchantReference, step } = place
  const { method, url, body, status, answer, durationMs, startedAt } = exchange
  await q.run(sql`
    insert into channel_exchanges (company_id, id, channel, merchant_reference, step, method, url, request, status, answer,
      duration_ms, at)
    values (${companyId}, ${newId(startedAt)}, ${channel}, ${merchantReference}, ${step}, ${method}, ${url}, ${body}, ${status},
      ${answer}, ${durationMs}, ${new Date(startedAt)})`)
}

export type StoredExchange = {
  id: string
  channel: string
  merchantReference: string
  step: string
  method: string
  url: string
  request: string
  status: number | null
  answer: string
  durationMs: number
  at: Date
}

/** Of these payments, oldest first. */
export function listExchanges(
  q: Queryable,
  companyId: string,
  merchantReferences: readonly string[],
  limit: number,
): Promise<StoredExchange[]> {
  return q.many<StoredExchange>(sql`
    select id, channel, merchant_reference, step, method, url, request, status, answer, duration_ms, at
    from channel_exchanges where company_id = ${companyId} and merchant_reference = any(${merchantReferences})
    order by at, id limit ${limit}`)
}

/** @returns how many are gone */
export const deleteOldExchanges = (q: Queryable, before: Date): Promise<number> =>
  q.run(sql`
    delete from channel_exchanges where (company_id, id) in (
      select company_id, id from channel_exchanges where at < ${before} order by at limit 1000)`)

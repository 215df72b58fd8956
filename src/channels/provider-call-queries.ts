import { type Queryable, sql } from '../db/db.ts'
import { newId } from '../kernel/ids.ts'
import type { ProviderCallRecord, ProviderCallScope } from './provider-calls.ts'

export async function insertProviderCall(
  q: Queryable,
  place: ProviderCallScope,
  exchange: ProviderCallRecord,
): Promise<void> {
  const { companyId, channel, merchantReference, step } = place
  const { method, url, body, status, answer, durationMs, startedAt } = exchange
  await q.run(sql`
    insert into channel_exchanges (company_id, id, channel, merchant_reference, step, method, url, request, status, answer,
      duration_ms, at)
    values (${companyId}, ${newId(startedAt)}, ${channel}, ${merchantReference}, ${step}, ${method}, ${url}, ${body}, ${status},
      ${answer}, ${durationMs}, ${new Date(startedAt)})`)
}

export type StoredProviderCall = {
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

/** The newest calls of these payments, oldest first: a payment that waits for days is asked about hundreds of times. */
export function listProviderCalls(
  q: Queryable,
  companyId: string,
  merchantReferences: readonly string[],
  limit: number,
): Promise<StoredProviderCall[]> {
  return q.many<StoredProviderCall>(sql`
    select * from (
      select id, channel, merchant_reference, step, method, url, request, status, answer, duration_ms, at
      from channel_exchanges where company_id = ${companyId} and merchant_reference = any(${merchantReferences})
      order by at desc, id desc limit ${limit}) as newest
    order by at, id`)
}

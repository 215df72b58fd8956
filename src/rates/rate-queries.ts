import { json, type Queryable, sql } from '../db/db.ts'
import { type Fiat, formatDecimal, RATE_EXPONENT } from '../kernel/money.ts'
import type { Evidence } from './rate-median.ts'

export type NewQuote = { id: string; from: string; to: string; rate: bigint; evidence: Evidence[]; at: Date }

export async function insertQuote(q: Queryable, quote: NewQuote): Promise<void> {
  const evidence = quote.evidence.map((answer) => ({
    ...answer,
    rate: answer.rate === null ? null : formatDecimal(answer.rate, RATE_EXPONENT),
  }))
  await q.run(sql`
    insert into rate_quotes (id, from_asset, to_asset, rate, evidence, created_at)
    values (${quote.id}, ${quote.from}, ${quote.to}, ${formatDecimal(quote.rate, RATE_EXPONENT)}, ${json(evidence)}, ${quote.at})
    on conflict (id) do nothing`)
}

/** The currencies of `among` that an order was priced in since then. */
export async function findPricedCurrencies(q: Queryable, among: readonly Fiat[], since: Date): Promise<Fiat[]> {
  const rows = await q.many<{ fiat: Fiat }>(sql`
    select fiat from unnest(${[...among]}::text[]) fiat
    where exists (select from rate_quotes where from_asset = fiat and created_at >= ${since})`)
  return rows.map(({ fiat }) => fiat)
}

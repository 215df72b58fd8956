import { json, type Queryable, sql } from '../db/db.ts'
import { formatDecimal, RATE_EXPONENT } from '../kernel/money.ts'
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

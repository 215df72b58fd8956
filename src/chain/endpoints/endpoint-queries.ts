import { type Queryable, sql } from '../../db/db.ts'
import type { EndpointLimits } from './endpoint.ts'

/** The learned limits of nodes, by the hash of their URL. */
export const listEndpointLimits = (q: Queryable, chainId: number): Promise<(EndpointLimits & { urlHash: string })[]> =>
  q.many(sql`
    select url_hash, batch_size, block_span, topic_count, calls_per_second from chain_endpoints
    where chain_id = ${chainId} and learned_at > now() - interval '7 days'`)

export const upsertEndpointLimits = (
  q: Queryable,
  key: { chainId: number; urlHash: string },
  limits: EndpointLimits,
): Promise<number> =>
  q.run(sql`
    insert into chain_endpoints (chain_id, url_hash, batch_size, block_span, topic_count, calls_per_second)
    values (${key.chainId}, ${key.urlHash}, ${limits.batchSize}, ${limits.blockSpan}, ${limits.topicCount},
      ${limits.callsPerSecond})
    on conflict (chain_id, url_hash) do update set batch_size = excluded.batch_size, block_span = excluded.block_span,
      topic_count = excluded.topic_count, calls_per_second = excluded.calls_per_second, learned_at = now()`)

import { json, type Queryable, sql, type Tx } from '../db/db.ts'
import type { ChannelId } from './channel.ts'
import type { ChannelRule } from './channel-rules.ts'

export type StoredRule = ChannelRule & { updatedAt: Date }

const COLUMNS = sql`channel, position, offered, min_amount::text, max_amount::text, texts, updated_at`

export const listChannelRules = (q: Queryable, companyId: string): Promise<StoredRule[]> =>
  q.many<StoredRule>(sql`select ${COLUMNS} from channel_rules where company_id = ${companyId} order by channel`)

/** Everything except the position. */
export async function upsertChannelRule(tx: Tx, companyId: string, rule: ChannelRule, at: Date): Promise<void> {
  await tx.run(sql`
    insert into channel_rules (company_id, channel, offered, min_amount, max_amount, texts, updated_at)
    values (${companyId}, ${rule.channel}, ${rule.offered}, ${rule.minAmount}, ${rule.maxAmount}, ${json(rule.texts)}, ${at})
    on conflict (company_id, channel) do update
    set offered = excluded.offered, min_amount = excluded.min_amount, max_amount = excluded.max_amount,
      texts = excluded.texts, updated_at = excluded.updated_at`)
}

/** Sets the position of each listed channel; channels that are not listed lose theirs. */
export async function updateChannelOrder(
  tx: Tx,
  companyId: string,
  order: readonly ChannelId[],
  at: Date,
): Promise<void> {
  await tx.run(sql`
    update channel_rules set position = null, updated_at = ${at}
    where company_id = ${companyId} and not channel = any(${order}::text[])`)
  await tx.run(sql`
    insert into channel_rules (company_id, channel, position, updated_at)
    select ${companyId}, channel, place - 1, ${at} from unnest(${order}::text[]) with ordinality as o (channel, place)
    on conflict (company_id, channel) do update set position = excluded.position, updated_at = excluded.updated_at`)
}

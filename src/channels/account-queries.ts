import { json, type Queryable, sql, type Tx } from '../db/db.ts'
import type { ChannelId } from './channel.ts'

export type ChannelAccount = {
  channel: ChannelId
  sealed: string
  /** Setting name to the part of its value that may be shown. */
  hints: Record<string, string>
  /** Tell it from the company's other accounts; new payments get the first. None: of an earlier version. */
  accountMarks: readonly string[]
  updatedAt: Date
}

export const listChannelAccounts = (q: Queryable, companyId: string): Promise<ChannelAccount[]> =>
  q.many<ChannelAccount>(sql`
    select channel, sealed, hints, updated_at,
      case when account_marks[1] = account_mark then account_marks
        else array_remove(array[account_mark], null) end as account_marks
    from channel_accounts where company_id = ${companyId} order by channel`)

export async function upsertChannelAccount(
  tx: Tx,
  account: {
    companyId: string
    channel: ChannelId
    sealed: string
    hints: Record<string, string>
    accountMarks: readonly string[]
    by: string
    at: Date
  },
): Promise<void> {
  const { companyId, channel, sealed, hints, accountMarks, by, at } = account
  await tx.run(sql`
    insert into channel_accounts (company_id, channel, sealed, hints, account_mark, account_marks, created_by, updated_at)
    values (${companyId}, ${channel}, ${sealed}, ${json(hints)}, ${accountMarks[0] ?? null}, ${[...accountMarks]}::text[],
      ${by}, ${at})
    on conflict (company_id, channel) do update set sealed = excluded.sealed, hints = excluded.hints,
      account_mark = excluded.account_mark, account_marks = excluded.account_marks,
      created_by = excluded.created_by, updated_at = excluded.updated_at`)
}

export const deleteChannelAccount = async (tx: Tx, companyId: string, channel: ChannelId): Promise<boolean> =>
  (await tx.run(sql`delete from channel_accounts where company_id = ${companyId} and channel = ${channel}`)) > 0

/** Rows sealed with another master key. */
export const listAccountsSealedOtherwise = (
  q: Queryable,
  sealPrefix: string,
  limit: number,
): Promise<{ companyId: string; channel: ChannelId; sealed: string }[]> =>
  q.many(sql`
    select company_id, channel, sealed from channel_accounts
    where left(sealed, ${sealPrefix.length}) <> ${sealPrefix} limit ${limit}`)

/** Only if it has not changed meanwhile. */
export const updateSealedAccount = (
  q: Queryable,
  row: { companyId: string; channel: ChannelId; sealed: string },
  sealed: string,
): Promise<number> =>
  q.run(sql`
    update channel_accounts set sealed = ${sealed}
    where company_id = ${row.companyId} and channel = ${row.channel} and sealed = ${row.sealed}`)

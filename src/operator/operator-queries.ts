import { type Queryable, sql, type Tx } from '../db/db.ts'

export type Announcement = {
  id: string
  text: string
  tone: 'info' | 'warn'
  createdBy: string
  createdAt: Date
  endsAt: Date | null
}

export const listAnnouncements = (q: Queryable, now: Date): Promise<Announcement[]> =>
  q.many<Announcement>(sql`
    select id, text, tone, created_by, created_at, ends_at from announcements
    where ends_at is null or ends_at > ${now} order by created_at desc limit 10`)

export async function insertAnnouncement(tx: Tx, announcement: Announcement): Promise<void> {
  const { id, text, tone, createdBy, createdAt, endsAt } = announcement
  await tx.run(sql`
    insert into announcements (id, text, tone, created_by, created_at, ends_at)
    values (${id}, ${text}, ${tone}, ${createdBy}, ${createdAt}, ${endsAt})`)
}

/** @returns how many are gone: one, or none */
export const deleteAnnouncement = (tx: Tx, id: string): Promise<number> =>
  tx.run(sql`delete from announcements where id = ${id}`)

export type QueueRow = { name: string; waiting: number; oldestAt: Date | null }

/** What waits for a worker or for a person, with the age of the oldest. */
export const listQueues = (q: Queryable): Promise<QueueRow[]> =>
  q.many<QueueRow>(sql`
    select 'webhooks' as name, count(*)::int as waiting, min(next_at) as oldest_at
      from delivery_due where next_at <= now()
    union all select 'webhooksParked', count(*)::int, min(created_at) from deliveries where status = 'parked'
    union all select 'mails', count(*)::int, min(created_at) from jobs where kind like 'mail%'
    union all select 'jobs', count(*)::int, min(run_at) from jobs where kind not like 'mail%' and run_at <= now()
    union all select 'payments', count(*)::int, min(next_check_at) from payments where next_check_at <= now()
    union all select 'refunds', count(*)::int, min(created_at) from refunds
      where status in ('needs_approval', 'needs_address', 'ready', 'submitted')
    union all select 'mispayments', count(*)::int, min(created_at) from mispayments where status = 'open'
    union all select 'settlements', count(*)::int, min(created_at) from settlements where status in ('open', 'approved')
    union all select 'differences', count(*)::int, min(found_at) from ledger_differences where status = 'open'`)

export type NodeRow = { name: string; address: string; connections: number; since: Date | null }

/** Processes that hold connections to the database, by name and address. */
export const listNodes = (q: Queryable): Promise<NodeRow[]> =>
  q.many<NodeRow>(sql`
    select application_name as name, coalesce(host(client_addr), 'local') as address, count(*)::int as connections,
      min(backend_start) as since
    from pg_stat_activity where datname = current_database() and application_name like 'comptoir%'
    group by 1, 2 order by 1, 2`)

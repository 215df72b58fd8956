import { type Queryable, type Sql, sql, type Tx } from '../../db/db.ts'
import type { Money } from '../../kernel/money.ts'
import { paidOfPrice } from '../../ledger/payable-queries.ts'
import type { FeedPosition } from '../feed/event-feed-queries.ts'
import type { Order } from '../order.ts'
import { COLUMNS, type Row, toOrder } from '../order-queries.ts'

/** A person who asked for these mails, with what the person may see now. */
export type Reader = {
  userId: string
  companyId: string
  companyName: string
  email: string
  firstName: string
  lang: string
  /** Disabled, not verified or approved, or in a role outside the company. */
  isAway: boolean
  /** A cashier's tills; null: all orders of the company. */
  collectorIds: string[] | null
  /** Up to where sales were told. */
  after: FeedPosition
  /** The first mail of the hour that counts; null: none. */
  since: Date | null
  /** Sales that were told one by one since then. */
  told: number
}

type ReaderRow = Omit<Reader, 'after'> & FeedPosition

/** Lists who has events to look at, and may get a mail now. */
export async function listDueReaders(
  q: Queryable,
  { most, before, limit }: { most: number; before: Date; limit: number },
): Promise<string[]> {
  const rows = await q.many<{ userId: string }>(sql`
    -- the horizon once, not for each row
    with h as materialized (select event_horizon() as horizon)
    select s.user_id from sale_mails s join users u on u.id = s.user_id
    where (s.told < ${most} or s.since <= ${before})
      and exists (select from event_feed f where f.company_id = u.company_id and f.position >= s.position
        and f.position < (select horizon from h)
        and (f.position, f.order_id, f.seq) > (s.position, s.order_id, s.seq))
    order by s.position, s.user_id limit ${limit}`)
  return rows.map(({ userId }) => userId)
}

/** Undefined: the person wants no mails any more, or another node is writing them. */
export async function lockReader(tx: Tx, userId: string): Promise<Reader | undefined> {
  const row = await tx.maybe<ReaderRow>(sql`
    select s.user_id, s.position, s.order_id, s.seq, s.since, s.told, u.company_id, c.name as company_name, u.email,
      u.first_name, u.lang,
      u.disabled_at is not null or u.verified_at is null
        or not (u.role in ('Manager', 'Association')
          or (u.role in ('Cashier', 'Observer') and u.approved_at is not null)) as is_away,
      case when u.role = 'Cashier'
        then array(select k.collector_id from collector_cashiers k where k.user_id = u.id) end as collector_ids
    from sale_mails s join users u on u.id = s.user_id join companies c on c.id = u.company_id
    where s.user_id = ${userId} for update of s skip locked`)
  if (!row) return undefined
  const { position, orderId, seq, ...reader } = row
  return { ...reader, after: { position, orderId, seq } }
}

/**
 * Events after the first place, up to the second. The feed's index holds what has a position, which a comparison of
 * rows does not imply.
 */
const between = ({ companyId, after }: Reader, end: FeedPosition): Sql => sql`
  f.company_id = ${companyId} and f.position >= ${after.position}::bigint and f.position <= ${end.position}::bigint
  and (f.position, f.order_id, f.seq) > (${after.position}::bigint, ${after.orderId}, ${after.seq}::integer)
  and (f.position, f.order_id, f.seq) <= (${end.position}::bigint, ${end.orderId}, ${end.seq}::integer)`

const seenBy = ({ collectorIds }: Reader): Sql =>
  collectorIds === null ? sql`true` : sql`o.collector_id = any(${collectorIds})`

/** The company's newest event before which nothing appears any more, if the person was not told up to it. */
export const findEnd = (tx: Tx, { companyId, after }: Reader): Promise<FeedPosition | undefined> =>
  tx.maybe<FeedPosition>(sql`
    select f.position, f.order_id, f.seq from (select event_horizon() as horizon) h cross join lateral (
      select * from event_feed e where e.company_id = ${companyId} and e.position < h.horizon
        and (e.position, e.order_id, e.seq) > (${after.position}::bigint, ${after.orderId}, ${after.seq}::integer)
      order by e.position desc, e.order_id desc, e.seq desc limit 1) f`)

export type Sale = { place: FeedPosition; order: Order }

/** What the person may see of the orders that were paid up to there, oldest first. */
export async function listSales(tx: Tx, reader: Reader, end: FeedPosition, limit: number): Promise<Sale[]> {
  const rows = await tx.many<Row & { position: bigint; seq: number }>(sql`
    select ${COLUMNS}, f.position, f.seq from (
      select f.position, f.order_id, f.seq from event_feed f where f.event = 'order.paid' and ${between(reader, end)}
    ) f join orders o on o.company_id = ${reader.companyId} and o.id = f.order_id
    where ${seenBy(reader)} order by f.position, f.order_id, f.seq limit ${limit}`)
  return rows.map(({ position, seq, ...row }) => ({
    place: { position, orderId: row.id, seq },
    order: toOrder(row as Row),
  }))
}

/** Without money above the price. */
const PAID = sql`(o.paid_units - coalesce((select sum(m.units) from mispayments m where m.company_id = o.company_id
  and m.payment_id = o.payment_id and m.kind = 'over' and m.status <> 'resolved'), 0))`

const SOLD = paidOfPrice({ fromUnits: sql`o.from_units`, toUnits: sql`o.to_units`, paid: PAID })

export type SaleSum = Money & { sales: number }

/** The same as sums of what was paid of each price, one for each currency, the one with the most sales first. */
export async function sumSales(tx: Tx, reader: Reader, end: FeedPosition): Promise<SaleSum[]> {
  const rows = await tx.many<Omit<SaleSum, 'units'> & { units: string }>(sql`
    select o.from_asset as asset, sum(${SOLD})::text as units, count(*)::int as sales from (
      select f.order_id from event_feed f where f.event = 'order.paid' and ${between(reader, end)}
    ) f join orders o on o.company_id = ${reader.companyId} and o.id = f.order_id
    where ${seenBy(reader)} group by o.from_asset order by count(*) desc, o.from_asset`)
  return rows.map(({ units, ...sum }) => ({ ...sum, units: BigInt(units) }))
}

export const updateReader = (
  tx: Tx,
  userId: string,
  { after, since, told }: Pick<Reader, 'after' | 'since' | 'told'>,
): Promise<number> =>
  tx.run(sql`
    update sale_mails set position = ${after.position}, order_id = ${after.orderId}, seq = ${after.seq},
      since = ${since}, told = ${told} where user_id = ${userId}`)

import { type Queryable, type Sql, sql, type Tx, unnamed } from '../db/db.ts'

export type SalesPoint = {
  id: string
  companyId: string
  name: string
  city: string | null
  country: string | null
  street: string | null
  zipCode: string | null
  logoUrl: string | null
  lat: number | null
  lng: number | null
  createdAt: Date
  updatedAt: Date
}

const POINT = sql`id, company_id, name, city, country, street, zip_code, logo_url, lat, lng, created_at, updated_at`

export async function insertSalesPoint(tx: Tx, point: SalesPoint): Promise<void> {
  await tx.run(sql`
    insert into sales_points (id, company_id, name, city, country, street, zip_code, logo_url, lat, lng, created_at,
      updated_at)
    values (${point.id}, ${point.companyId}, ${point.name}, ${point.city}, ${point.country}, ${point.street},
      ${point.zipCode}, ${point.logoUrl}, ${point.lat}, ${point.lng}, ${point.createdAt}, ${point.updatedAt})`)
}

export async function updateSalesPoint(tx: Tx, point: SalesPoint): Promise<void> {
  await tx.run(sql`
    update sales_points set name = ${point.name}, city = ${point.city}, country = ${point.country},
      street = ${point.street}, zip_code = ${point.zipCode}, logo_url = ${point.logoUrl}, lat = ${point.lat},
      lng = ${point.lng}, updated_at = ${point.updatedAt} where id = ${point.id}`)
}

export async function findSalesPoint(q: Queryable, id: string): Promise<SalesPoint | undefined> {
  return q.maybe<SalesPoint>(sql`select ${POINT} from sales_points where id = ${id}`)
}

export async function lockSalesPoint(tx: Tx, id: string): Promise<SalesPoint | undefined> {
  return tx.maybe<SalesPoint>(sql`select ${POINT} from sales_points where id = ${id} for update`)
}

export async function listSalesPoints(
  q: Queryable,
  companyIds: readonly string[] | null,
  page: { limit: number; offset: number },
): Promise<SalesPoint[]> {
  return q.many<SalesPoint>(sql`
    select ${POINT} from sales_points where ${companyIds}::text[] is null or company_id = any(${companyIds})
    order by id desc limit ${page.limit} offset ${page.offset}`)
}

export async function countSalesPoints(q: Queryable, companyIds: readonly string[] | null): Promise<number> {
  const { count } = await q.one<{ count: number }>(sql`
    select count(*)::int as count from sales_points
    where ${companyIds}::text[] is null or company_id = any(${companyIds})`)
  return count
}

export type Cashier = { _id: string; email: string; firstName: string; lastName: string }
export type Collector = {
  id: string
  companyId: string
  salesPointId: string
  salesPointName: string
  identifier: string
  uuid: string | null
  webhookUrl: string | null
  active: boolean
  cashiers: Cashier[]
  createdAt: Date
  updatedAt: Date
}

const COLLECTOR = sql`
  select k.id, k.company_id, k.sales_point_id, p.name as sales_point_name, k.identifier, k.uuid, k.webhook_url,
    k.active,
    coalesce((select json_agg(json_build_object('_id', u.id, 'email', u.email, 'firstName', u.first_name,
        'lastName', u.last_name) order by u.id)
      from collector_cashiers c join users u on u.id = c.user_id where c.collector_id = k.id), '[]'::json) as cashiers,
    k.created_at, k.updated_at
  from collectors k join sales_points p on p.id = k.sales_point_id`

export type CollectorFilter = {
  companyIds: readonly string[] | null
  /** A Cashier sees only the assigned tills. */
  collectorIds: readonly string[] | null
  salesPointId: string | null
  active: boolean | null
}

const collectorsWhere = ({ companyIds, collectorIds, salesPointId, active }: CollectorFilter): Sql => sql`
  (${companyIds}::text[] is null or k.company_id = any(${companyIds}))
  and (${collectorIds}::text[] is null or k.id = any(${collectorIds}))
  and (${salesPointId}::text is null or k.sales_point_id = ${salesPointId})
  and (${active}::boolean is null or k.active = ${active})`

export async function listCollectors(
  q: Queryable,
  filter: CollectorFilter,
  page: { limit: number; offset: number },
): Promise<Collector[]> {
  return q.many<Collector>(
    unnamed(
      sql`${COLLECTOR} where ${collectorsWhere(filter)} order by k.id desc limit ${page.limit} offset ${page.offset}`,
    ),
  )
}

export async function countCollectors(q: Queryable, filter: CollectorFilter): Promise<number> {
  const { count } = await q.one<{ count: number }>(
    unnamed(sql`select count(*)::int as count from collectors k where ${collectorsWhere(filter)}`),
  )
  return count
}

export async function findCollector(q: Queryable, id: string): Promise<Collector | undefined> {
  return q.maybe<Collector>(sql`${COLLECTOR} where k.id = ${id}`)
}

export async function lockCollector(tx: Tx, id: string): Promise<Collector | undefined> {
  await tx.run(sql`select 1 from collectors where id = ${id} for update`)
  return findCollector(tx, id)
}

export async function insertCollector(
  tx: Tx,
  collector: Pick<Collector, 'id' | 'companyId' | 'salesPointId' | 'identifier' | 'uuid' | 'webhookUrl' | 'createdAt'>,
): Promise<void> {
  await tx.run(sql`
    insert into collectors (id, company_id, sales_point_id, identifier, uuid, webhook_url, created_at, updated_at)
    values (${collector.id}, ${collector.companyId}, ${collector.salesPointId}, ${collector.identifier},
      ${collector.uuid}, ${collector.webhookUrl}, ${collector.createdAt}, ${collector.createdAt})`)
}

export async function updateCollector(
  tx: Tx,
  id: string,
  changed: Pick<Collector, 'identifier' | 'active' | 'webhookUrl'> & { at: Date },
): Promise<void> {
  await tx.run(sql`
    update collectors set identifier = ${changed.identifier}, active = ${changed.active},
      webhook_url = ${changed.webhookUrl}, updated_at = ${changed.at}
    where id = ${id}`)
}

export async function deleteCollectorCashiers(tx: Tx, collectorId: string): Promise<void> {
  await tx.run(sql`delete from collector_cashiers where collector_id = ${collectorId}`)
}

/** @returns how many of the users are cashiers of this company */
export async function insertCollectorCashiers(
  tx: Tx,
  collector: { id: string; companyId: string },
  userIds: readonly string[],
): Promise<number> {
  return tx.run(sql`
    insert into collector_cashiers (collector_id, user_id)
    select ${collector.id}, id from users
    where id = any(${userIds}) and company_id = ${collector.companyId} and role = 'Cashier'
    for share`)
}

import { type Queryable, sql, type Tx } from '../db/db.ts'

export type TillDevice = {
  id: string
  companyId: string
  collectorId: string
  /** The till's `merchantIdentifier`. */
  collectorIdentifier: string
  name: string
  userAgent: string | null
  createdAt: Date
  enrolmentExpiresAt: Date | null
  enrolledAt: Date | null
  lastSeenAt: Date | null
  revokedAt: Date | null
}

const COLUMNS = sql`d.id, d.company_id, d.collector_id, k.identifier as collector_identifier, d.name, d.user_agent,
  d.created_at, d.enrolment_expires_at, d.enrolled_at, d.last_seen_at, d.revoked_at`
const FROM = sql`from till_devices d join collectors k on k.id = d.collector_id`
const DEVICE = sql`select ${COLUMNS} ${FROM}`

export async function insertDevice(
  tx: Tx,
  device: Pick<TillDevice, 'id' | 'companyId' | 'collectorId' | 'name' | 'createdAt'> & {
    enrolmentHash: string
    enrolmentExpiresAt: Date
  },
): Promise<void> {
  await tx.run(sql`
    insert into till_devices (id, company_id, collector_id, name, enrolment_hash, enrolment_expires_at, created_at)
    values (${device.id}, ${device.companyId}, ${device.collectorId}, ${device.name}, ${device.enrolmentHash},
      ${device.enrolmentExpiresAt}, ${device.createdAt})`)
}

export async function listDevices(
  q: Queryable,
  companyIds: readonly string[] | null,
  page: { limit: number; offset: number },
): Promise<TillDevice[]> {
  return q.many<TillDevice>(sql`
    ${DEVICE} where (${companyIds}::text[] is null or d.company_id = any(${companyIds}))
    order by d.id desc limit ${page.limit} offset ${page.offset}`)
}

export async function countDevices(q: Queryable, companyIds: readonly string[] | null): Promise<number> {
  const { count } = await q.one<{ count: number }>(sql`
    select count(*)::int as count from till_devices
    where ${companyIds}::text[] is null or company_id = any(${companyIds})`)
  return count
}

export async function lockDevice(tx: Tx, id: string): Promise<TillDevice | undefined> {
  return tx.maybe<TillDevice>(sql`${DEVICE} where d.id = ${id} for update of d`)
}

/** Revoked ones too, by the token that they had. */
export async function listDevicesByToken(
  q: Queryable,
  tokenHashes: readonly string[],
): Promise<(TillDevice & { tokenHash: string })[]> {
  return q.many<TillDevice & { tokenHash: string }>(sql`
    select d.token_hash, ${COLUMNS} ${FROM}
    where d.token_hash = any(${tokenHashes}::text[])`)
}

/** Consumes a code: of several concurrent uses only one finds it. */
export async function updateDeviceEnrolled(
  tx: Tx,
  enrolmentHash: string,
  enrolled: { tokenHash: string; userAgent: string | null; at: Date },
): Promise<string | undefined> {
  const row = await tx.maybe<{ id: string }>(sql`
    update till_devices set enrolment_hash = null, token_hash = ${enrolled.tokenHash}, enrolled_at = ${enrolled.at},
      last_seen_at = ${enrolled.at}, user_agent = ${enrolled.userAgent}
    where enrolment_hash = ${enrolmentHash} and enrolment_expires_at > ${enrolled.at} and revoked_at is null
    returning id`)
  return row?.id
}

/** Its token stays, so that the device is told that it was revoked. */
export async function updateDeviceRevoked(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`
    update till_devices set revoked_at = coalesce(revoked_at, ${at}), enrolment_hash = null
    where id = ${id}`)
}

/** At most once a minute. */
export async function updateDeviceSeen(q: Queryable, id: string, at: Date): Promise<void> {
  await q.run(sql`
    update till_devices set last_seen_at = ${at}
    where id = ${id} and (last_seen_at is null or last_seen_at < ${at}::timestamptz - interval '1 minute')`)
}

/** Who may sign in at a till: its cashiers, and the managers of its company; sorted by name. */
export type TillPerson = { id: string; firstName: string; lastName: string; hasPin: boolean; locked: boolean }

export async function listTillPeople(
  q: Queryable,
  device: Pick<TillDevice, 'id' | 'companyId' | 'collectorId'>,
  mostWrong: number,
): Promise<TillPerson[]> {
  return q.many<TillPerson>(sql`
    select u.id, u.first_name, u.last_name, p.user_id is not null as has_pin,
      coalesce(f.wrong >= ${mostWrong}::integer, false) as locked
    from users u left join till_pins p on p.user_id = u.id
      left join till_pin_failures f on f.user_id = u.id and f.device_id = ${device.id}
    where u.company_id = ${device.companyId} and u.disabled_at is null and u.verified_at is not null
      and ((u.role = 'Cashier' and u.approved_at is not null and exists (
          select 1 from collector_cashiers k where k.user_id = u.id and k.collector_id = ${device.collectorId}))
        or (u.role in ('Manager', 'Association') and p.user_id is not null))
    order by u.first_name, u.last_name, u.id limit 200`)
}

export async function findPlaceName(
  q: Queryable,
  device: Pick<TillDevice, 'companyId' | 'collectorId'>,
): Promise<{ company: string; place: string; country: string | null }> {
  return q.one(sql`
    select c.name as company, p.name as place, c.country
    from collectors k join sales_points p on p.id = k.sales_point_id join companies c on c.id = k.company_id
    where k.id = ${device.collectorId} and c.id = ${device.companyId}`)
}

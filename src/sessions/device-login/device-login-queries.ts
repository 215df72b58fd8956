import { type Queryable, sql, type Tx } from '../../db/db.ts'
import type { ApiScope } from '../../http/actor.ts'

export type DeviceLogin = {
  id: string
  clientName: string
  ip: string
  scopes: ApiScope[]
  status: 'pending' | 'approved' | 'denied' | 'used'
  companyId: string | null
  decidedBy: string | null
  keyExpiresAt: Date | null
  apiKeyId: string | null
  intervalSeconds: number
  lastPolledAt: Date | null
  createdAt: Date
  expiresAt: Date
}

type NewLogin = Pick<
  DeviceLogin,
  'id' | 'clientName' | 'ip' | 'scopes' | 'intervalSeconds' | 'createdAt' | 'expiresAt'
> & { deviceHash: string; userHash: string }

const COLUMNS = sql`id, client_name, ip, scopes, status, company_id, decided_by, key_expires_at, api_key_id,
  interval_seconds, last_polled_at, created_at, expires_at`

export async function insertDeviceLogin(q: Queryable, login: NewLogin): Promise<void> {
  await q.run(sql`
    insert into device_logins (id, device_hash, user_hash, client_name, ip, scopes, interval_seconds, created_at,
      expires_at)
    values (${login.id}, ${login.deviceHash}, ${login.userHash}, ${login.clientName}, ${login.ip}, ${login.scopes},
      ${login.intervalSeconds}, ${login.createdAt}, ${login.expiresAt})`)
}

export const findDeviceLogin = (q: Queryable, userHash: string): Promise<DeviceLogin | undefined> =>
  q.maybe<DeviceLogin>(sql`select ${COLUMNS} from device_logins where user_hash = ${userHash}`)

export const lockDeviceLogin = (tx: Tx, userHash: string): Promise<DeviceLogin | undefined> =>
  tx.maybe<DeviceLogin>(sql`select ${COLUMNS} from device_logins where user_hash = ${userHash} for update`)

export const lockDeviceLoginOfDevice = (tx: Tx, deviceHash: string): Promise<DeviceLogin | undefined> =>
  tx.maybe<DeviceLogin>(sql`select ${COLUMNS} from device_logins where device_hash = ${deviceHash} for update`)

export async function updateDeviceLoginPolled(
  tx: Tx,
  id: string,
  poll: { at: Date; intervalSeconds: number },
): Promise<void> {
  await tx.run(sql`
    update device_logins set last_polled_at = ${poll.at}, interval_seconds = ${poll.intervalSeconds} where id = ${id}`)
}

type Decision = { status: 'approved' | 'denied'; companyId: string | null; decidedBy: string; scopes: ApiScope[] } & {
  keyExpiresAt: Date | null
}

export async function updateDeviceLoginDecided(tx: Tx, id: string, decision: Decision): Promise<void> {
  await tx.run(sql`
    update device_logins set status = ${decision.status}, company_id = ${decision.companyId},
      decided_by = ${decision.decidedBy}, scopes = ${decision.scopes}, key_expires_at = ${decision.keyExpiresAt}
    where id = ${id}`)
}

export async function updateDeviceLoginUsed(tx: Tx, id: string, apiKeyId: string): Promise<void> {
  await tx.run(sql`update device_logins set status = 'used', api_key_id = ${apiKeyId} where id = ${id}`)
}

/** Refuses what a person (null: anyone) approved and no program fetched yet, except for these companies. */
export async function updateDeviceLoginsDenied(tx: Tx, userId: string | null, but: readonly string[]): Promise<void> {
  await tx.run(sql`
    update device_logins set status = 'denied'
    where (${userId}::text is null or decided_by = ${userId}) and status = 'approved' and company_id <> all(${[...but]}::text[])`)
}

export const deleteOldDeviceLogins = (q: Queryable, before: Date): Promise<number> =>
  q.run(sql`delete from device_logins where expires_at < ${before}`)

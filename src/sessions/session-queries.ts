import { type Queryable, sql, type Tx } from '../db/db.ts'
import type { UserRole } from '../http/actor.ts'

export type SessionKind = 'dashboard' | 'application' | 'till'

export type Session = {
  id: string
  userId: string
  kind: SessionKind
  /** The till that a PIN opened it at; null for every other session. */
  tillDeviceId: string | null
  /** Of a session that replaced an open one at the till: when the shift began. Null: with this session. */
  shiftStartedAt: Date | null
  namedCookie: boolean
  idleMs: bigint
  secondFactorAt: Date | null
  ip: string | null
  userAgent: string | null
  createdAt: Date
  lastUsedAt: Date
  idleExpiresAt: Date
  expiresAt: Date
  revokedAt: Date | null
}

const COLUMNS = sql`s.id, s.user_id, s.kind, s.till_device_id, s.shift_started_at, s.named_cookie, s.idle_ms,
  s.second_factor_at, s.ip, s.user_agent, s.created_at, s.last_used_at, s.idle_expires_at, s.expires_at, s.revoked_at`

const SHIFT_START = sql`coalesce(shift_started_at, created_at)`

export async function insertSession(tx: Tx, session: Session): Promise<void> {
  await tx.run(sql`
    insert into sessions (id, user_id, kind, till_device_id, shift_started_at, named_cookie, idle_ms, second_factor_at,
      ip, user_agent, created_at, last_used_at, idle_expires_at, expires_at)
    values (${session.id}, ${session.userId}, ${session.kind}, ${session.tillDeviceId}, ${session.shiftStartedAt},
      ${session.namedCookie}, ${session.idleMs}, ${session.secondFactorAt}, ${session.ip}, ${session.userAgent},
      ${session.createdAt}, ${session.lastUsedAt}, ${session.idleExpiresAt}, ${session.expiresAt})`)
}

/** Everything that decides what a session's access tokens may do. */
export type SessionState = {
  id: string
  userId: string
  secondFactorAt: Date | null
  revokedAt: Date | null
  expiresAt: Date
  role: UserRole
  companyId: string | null
  verifiedAt: Date | null
  approvedAt: Date | null
  disabledAt: Date | null
  companyApproved: boolean | null
  companyIds: string[]
  collectorIds: string[]
  tillDeviceId: string | null
  /** The collector of that device; null when the device is revoked. */
  tillCollectorId: string | null
}

/** A SuperManager has the attached companies alone, not the one it was a Manager of. */
export async function findSessionState(q: Queryable, id: string): Promise<SessionState | undefined> {
  return q.maybe<SessionState>(sql`
    select s.id, s.user_id, s.second_factor_at, s.revoked_at, s.expires_at, u.role, c.id as company_id, u.verified_at,
      u.approved_at, u.disabled_at, c.approved as company_approved,
      array(select m.company_id from super_manager_companies m
        where m.user_id = u.id and u.role = 'SuperManager') as company_ids,
      array(select k.collector_id from collector_cashiers k where k.user_id = u.id) as collector_ids,
      s.till_device_id, d.collector_id as till_collector_id
    from sessions s join users u on u.id = s.user_id
      left join companies c on c.id = u.company_id and u.role <> 'SuperManager'
      left join till_devices d on d.id = s.till_device_id and d.revoked_at is null and d.company_id = u.company_id
    where s.id = ${id}`)
}

export async function insertRefreshToken(
  tx: Tx,
  token: { hash: string; sessionId: string; createdAt: Date },
): Promise<void> {
  await tx.run(sql`
    insert into refresh_tokens (hash, session_id, created_at)
    values (${token.hash}, ${token.sessionId}, ${token.createdAt}) on conflict (hash) do nothing`)
}

/** The sessions of refresh tokens, also ended ones, by the tokens' hashes. */
export async function listSessionsByToken(q: Queryable, hashes: readonly string[], now: Date) {
  return q.many<{ hash: string; id: string; isEnded: boolean }>(sql`
    select t.hash, s.id, s.revoked_at is not null or s.expires_at <= ${now} or s.idle_expires_at <= ${now} as is_ended
    from refresh_tokens t join sessions s on s.id = t.session_id where t.hash = any(${hashes}::text[])`)
}

/** The session of a refresh token, locked until the transaction ends. */
export async function lockSessionByToken(tx: Tx, hash: string): Promise<Session | undefined> {
  return tx.maybe<Session>(sql`
    select ${COLUMNS} from sessions s join refresh_tokens t on t.session_id = s.id where t.hash = ${hash} for update of s`)
}

export type RefreshToken = { hash: string; createdAt: Date; replacedAt: Date | null }

export async function findRefreshToken(tx: Tx, hash: string): Promise<RefreshToken | undefined> {
  return tx.maybe<RefreshToken>(sql`select hash, created_at, replaced_at from refresh_tokens where hash = ${hash}`)
}

export async function updateRefreshTokenReplaced(tx: Tx, hash: string, at: Date): Promise<void> {
  await tx.run(sql`update refresh_tokens set replaced_at = ${at} where hash = ${hash}`)
}

export async function updateSessionUsed(
  tx: Tx,
  id: string,
  used: { at: Date; idleExpiresAt: Date; ip: string | null; userAgent: string | null },
): Promise<void> {
  await tx.run(sql`
    update sessions set last_used_at = ${used.at}, idle_expires_at = ${used.idleExpiresAt}, ip = ${used.ip},
      user_agent = ${used.userAgent} where id = ${id}`)
}

export async function updateSessionSecondFactor(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`update sessions set second_factor_at = ${at} where id = ${id}`)
}

/** @returns false when it was revoked before */
export async function updateSessionRevoked(tx: Tx, id: string, at: Date, reason: string): Promise<boolean> {
  const changed = await tx.run(sql`
    update sessions set revoked_at = ${at}, revoked_reason = ${reason} where id = ${id} and revoked_at is null`)
  return changed === 1
}

/**
 * Ends the sessions that PINs opened at a device: one person's, or all of them.
 * @returns when the shifts began whose sessions were still in use
 */
export async function updateTillSessionsRevoked(
  tx: Tx,
  { deviceId, userId }: { deviceId: string; userId: string | null },
  at: Date,
  reason: string,
): Promise<Date[]> {
  const ended = await tx.many<{ isLive: boolean; startedAt: Date }>(sql`
    update sessions set revoked_at = ${at}, revoked_reason = ${reason}
    where till_device_id = ${deviceId} and (${userId}::text is null or user_id = ${userId}) and revoked_at is null
    returning expires_at > ${at} and idle_expires_at > ${at} as is_live, ${SHIFT_START} as started_at`)
  return ended.flatMap(({ isLive, startedAt }) => (isLive ? [startedAt] : []))
}

/** When the shift of a session at a till began. */
export async function findShiftStart(q: Queryable, sessionId: string): Promise<Date | undefined> {
  const row = await q.maybe<{ at: Date }>(sql`select ${SHIFT_START} as at from sessions where id = ${sessionId}`)
  return row?.at
}

/** Ends all sessions of a user, or of all users, except `exceptId`. */
export async function updateSessionsRevoked(
  tx: Tx,
  filter: { userId: string | null; exceptId: string | null },
  at: Date,
  reason: string,
): Promise<number> {
  return tx.run(sql`
    update sessions set revoked_at = ${at}, revoked_reason = ${reason}
    where (${filter.userId}::text is null or user_id = ${filter.userId})
      and (${filter.exceptId}::text is null or id <> ${filter.exceptId}) and revoked_at is null`)
}

export async function listLiveSessions(q: Queryable, userId: string, now: Date): Promise<Session[]> {
  return q.many<Session>(sql`
    select ${COLUMNS} from sessions s
    where s.user_id = ${userId} and s.revoked_at is null and s.expires_at > ${now} and s.idle_expires_at > ${now}
    order by s.last_used_at desc limit 100`)
}

/** Old sessions with their tokens, challenges, resets and verifications. */
export async function deleteEndedSessions(q: Queryable, before: Date): Promise<number> {
  const deleted = await q.run(sql`
    delete from sessions where id in (select id from sessions where expires_at < ${before} limit 1000)`)
  await q.run(sql`delete from otp_challenges where expires_at < ${before}`)
  await q.run(sql`delete from password_resets where expires_at < ${before}`)
  await q.run(sql`delete from email_verifications where expires_at < ${before}`)
  await q.run(sql`delete from login_failures where last_at < ${before}`)
  return deleted
}

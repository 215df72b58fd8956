import { lagOf, type Queryable, sql, type Tx } from '../../db/db.ts'
import type { SessionKind } from '../session-queries.ts'

/** One pending second factor: of a login (by its token), or of a session that needs a fresh one. */
export type Challenge = {
  id: string
  tokenHash: string | null
  userId: string
  sessionId: string | null
  kind: SessionKind
  namedCookie: boolean
  /** What a passkey has to sign; null until it is asked for. */
  passkeyChallenge: string | null
  codeHash: string | null
  codeSentAt: Date | null
  codeExpiresAt: Date | null
  wrongCodes: number
  createdAt: Date
  expiresAt: Date
  endedAt: Date | null
}

const COLUMNS = sql`id, token_hash, user_id, session_id, kind, named_cookie, passkey_challenge, code_hash, code_sent_at, code_expires_at,
  wrong_codes, created_at, expires_at, ended_at`

export async function insertChallenge(tx: Tx, challenge: Challenge): Promise<void> {
  await tx.run(sql`
    insert into otp_challenges (id, token_hash, user_id, session_id, kind, named_cookie, created_at, expires_at)
    values (${challenge.id}, ${challenge.tokenHash}, ${challenge.userId}, ${challenge.sessionId}, ${challenge.kind},
      ${challenge.namedCookie}, ${challenge.createdAt}, ${challenge.expiresAt})`)
}

/** Locked until the transaction ends, so that concurrent submissions run one after the other. */
export async function lockChallengeByToken(tx: Tx, tokenHash: string): Promise<Challenge | undefined> {
  return tx.maybe<Challenge>(sql`select ${COLUMNS} from otp_challenges where token_hash = ${tokenHash} for update`)
}

export async function findChallengeByToken(q: Queryable, tokenHash: string): Promise<Challenge | undefined> {
  return q.maybe<Challenge>(sql`select ${COLUMNS} from otp_challenges where token_hash = ${tokenHash}`)
}

/** A session's newest step-up challenge. */
export const lockChallengeBySession = (tx: Tx, sessionId: string): Promise<Challenge | undefined> =>
  tx.maybe<Challenge>(sql`
    select ${COLUMNS} from otp_challenges where session_id = ${sessionId} order by id desc limit 1 for update`)

/** The newest login or confirmation of this person that still waits for a code. */
export const lockWaitingChallenge = (tx: Tx, userId: string, now: Date): Promise<Challenge | undefined> =>
  tx.maybe<Challenge>(sql`
    select ${COLUMNS} from otp_challenges where user_id = ${userId} and ended_at is null and expires_at > ${now}
    order by id desc limit 1 for update`)

/** A new code replaces the last one; the challenge lives as long as the code, at most 15 minutes. */
export async function updateChallengeCode(
  tx: Tx,
  id: string,
  code: { hash: string; sentAt: Date; expiresAt: Date },
): Promise<void> {
  await tx.run(sql`
    update otp_challenges set code_hash = ${code.hash}, code_sent_at = ${code.sentAt}, code_expires_at = ${code.expiresAt},
      codes_sent = codes_sent + 1,
      expires_at = least(created_at + interval '15 minutes', greatest(expires_at, ${code.expiresAt}::timestamptz))
    where id = ${id}`)
}

export async function updateChallengePasskey(tx: Tx, id: string, challenge: string): Promise<void> {
  await tx.run(sql`update otp_challenges set passkey_challenge = ${challenge} where id = ${id}`)
}

/**
 * Codes of challenges that sent one since, and when the first of these challenges did so last. Without those sent after
 * `until`, by a clock that was ahead: they would count for as much longer. To a node that is behind, those of the
 * others are none of these.
 */
export const countRecentCodes = (
  q: Queryable,
  userId: string,
  { now, since, until }: { now: Date; since: Date; until: Date },
) =>
  q.one<{ count: number; first: Date | null }>(sql`
    select coalesce(sum(codes_sent), 0)::int as count, min(code_sent_at) as first
    from otp_challenges where user_id = ${userId} and code_sent_at > ${since}
      and code_sent_at <= ${until}::timestamptz + ${lagOf(now)}`)

/** Codes sent so far no longer count. */
export async function updateCodesForgotten(tx: Tx, userId: string): Promise<void> {
  await tx.run(sql`update otp_challenges set codes_sent = 0 where user_id = ${userId} and codes_sent > 0`)
}

/**
 * The same where the person chooses a new password in a running session, which needs no mail: only of a confirmed
 * address, as anyone can register another's, and of a password that stood for an hour, so that changing it to and fro
 * sends no more. Before the password is changed.
 */
export async function updateCodesOfPasswordForgotten(tx: Tx, userId: string, at: Date): Promise<void> {
  await tx.run(sql`
    update otp_challenges c set codes_sent = 0 from users u
    where c.user_id = ${userId} and c.codes_sent > 0 and u.id = c.user_id and u.verified_at is not null
      and (u.password_changed_at is null or u.password_changed_at <= ${at}::timestamptz - interval '1 hour')`)
}

export async function updateChallengeWrong(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`update otp_challenges set wrong_codes = wrong_codes + 1 where id = ${id}`)
}

export async function updateChallengeEnded(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`update otp_challenges set ended_at = ${at} where id = ${id}`)
}

/** @param keptSessionId the session whose step-up stays, with the codes and tries that it has used up; null: none */
export async function updateChallengesEnded(
  tx: Tx,
  userId: string,
  at: Date,
  keptSessionId: string | null = null,
): Promise<void> {
  await tx.run(sql`
    update otp_challenges set ended_at = ${at} where user_id = ${userId} and ended_at is null
      and (session_id is null or ${keptSessionId}::text is null or session_id <> ${keptSessionId})`)
}

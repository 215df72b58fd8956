import { type Queryable, sql, type Tx } from '../../db/db.ts'

export type Factors = {
  totpSealed: string | null
  totpPendingSealed: string | null
  totpLastStep: bigint | null
  wrongCodes: number
  wrongCodesSince: Date | null
}

/** Locked until the transaction ends. */
export async function lockFactors(tx: Tx, userId: string): Promise<Factors> {
  return tx.one<Factors>(sql`
    select totp_sealed, totp_pending_sealed, totp_last_step, wrong_codes, wrong_codes_since
    from users where id = ${userId} for update`)
}

/** Was the authenticator app enrolled before the address was verified, possibly by a stranger? */
export async function hasUnprovenFactor(q: Queryable, userId: string): Promise<boolean> {
  const { unproven } = await q.one<{ unproven: boolean }>(sql`
    select (totp_enabled_at is not null and (verified_at is null or totp_enabled_at < verified_at))
      or (totp_pending_sealed is not null and verified_at is null)
      or exists (select from passkeys p where p.user_id = users.id
        and (users.verified_at is null or p.created_at < users.verified_at)) as unproven
    from users where id = ${userId}`)
  return unproven
}

export async function updateTotpPending(tx: Tx, userId: string, sealed: string): Promise<void> {
  await tx.run(sql`update users set totp_pending_sealed = ${sealed} where id = ${userId}`)
}

/** Accepts a time step only if it is newer than all earlier ones. */
export async function updateTotpStep(tx: Tx, userId: string, step: bigint): Promise<boolean> {
  const changed = await tx.run(sql`
    update users set totp_last_step = ${step}
    where id = ${userId} and (totp_last_step is null or totp_last_step < ${step})`)
  return changed === 1
}

export async function updateTotpEnabled(tx: Tx, userId: string, enabled: { step: bigint; at: Date }): Promise<void> {
  await tx.run(sql`
    update users set totp_sealed = totp_pending_sealed, totp_pending_sealed = null, totp_enabled_at = ${enabled.at},
      totp_last_step = ${enabled.step}, two_factor_enabled = true, updated_at = ${enabled.at} where id = ${userId}`)
}

/** @param keepTwoFactor roles that must have a second factor fall back to codes by e-mail */
export async function updateTotpDisabled(tx: Tx, userId: string, keepTwoFactor: boolean): Promise<void> {
  await tx.run(sql`
    update users set totp_sealed = null, totp_pending_sealed = null, totp_enabled_at = null, totp_last_step = null,
      two_factor_enabled = ${keepTwoFactor} where id = ${userId}`)
}

export async function updateWrongCodes(tx: Tx, userId: string, counted: { wrong: number; since: Date }): Promise<void> {
  await tx.run(sql`
    update users set wrong_codes = ${counted.wrong}, wrong_codes_since = ${counted.since} where id = ${userId}`)
}

/** Only where someone else than who guesses had a say: the operator, or the owner with a new password. */
export async function updateWrongCodesForgotten(tx: Tx, userId: string): Promise<void> {
  await tx.run(sql`update users set wrong_codes = 0, wrong_codes_since = null where id = ${userId}`)
}

export async function deleteRecoveryCodes(tx: Tx, userId: string): Promise<void> {
  await tx.run(sql`delete from recovery_codes where user_id = ${userId}`)
}

export async function insertRecoveryCodes(tx: Tx, userId: string, hashes: readonly string[]): Promise<void> {
  await tx.run(sql`
    insert into recovery_codes (user_id, code_hash) select ${userId}, hash from unnest(${hashes}::text[]) as hash`)
}

/** @param hashes of one code, by each master key */
export async function updateRecoveryCodeUsed(tx: Tx, userId: string, hashes: string[], at: Date): Promise<boolean> {
  const changed = await tx.run(sql`
    update recovery_codes set used_at = ${at}
    where user_id = ${userId} and code_hash = any(${hashes}::text[]) and used_at is null`)
  return changed === 1
}

export async function countRecoveryCodes(q: Queryable, userId: string): Promise<number> {
  const { count } = await q.one<{ count: number }>(
    sql`select count(*)::int as count from recovery_codes where user_id = ${userId} and used_at is null`,
  )
  return count
}

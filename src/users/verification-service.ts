import type { Audit } from '../audit/audit.ts'
import type { Db } from '../db/db.ts'
import type { AnyContext } from '../http/request-context.ts'
import type { Clock } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { hashLinkToken } from './registration.ts'
import { updateVerificationUsed } from './registration-queries.ts'
import { findUserById, updateUserVerified } from './user-queries.ts'

export type VerificationDeps = { db: Db; clock: Clock; audit: Audit; sessions: { forget(): void } }

/**
 * The mailed link proves that the address is the user's. Opening it twice does no harm.
 * @throws INVALID_RESET_TOKEN when the link is unknown or older than 48 hours
 */
export async function verifyEmail(deps: VerificationDeps, token: string, context: AnyContext): Promise<void> {
  const { db, clock, audit, sessions } = deps
  const at = new Date(clock())
  const verified = await db.tx(async (tx) => {
    const found = await updateVerificationUsed(tx, hashLinkToken(token), at)
    const user = found && (await findUserById(tx, found.userId))
    if (!user) return false
    if (user.verifiedAt !== null) return true
    await updateUserVerified(tx, user.id, at)
    tx.afterCommit(() => sessions.forget())
    const facts = { companyId: user.company?.id ?? null, object: `user:${user.id}` }
    await audit.write(tx, context, { actor: `user:${user.id}`, action: 'user.verify-email', ...facts })
    return true
  })
  if (verified) return
  throw new AppError('INVALID_RESET_TOKEN', {
    message: 'This link is no longer valid. Log in and request a new verification mail.',
  })
}

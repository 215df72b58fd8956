import type { Audit } from '../audit/audit.ts'
import type { Tx } from '../db/db.ts'
import type { AnyContext } from '../http/request-context.ts'
import type { Clock } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { isNoOnes, isReplaceable } from '../users/replaceable.ts'
import { companyIdOf, type User } from '../users/user.ts'
import {
  deleteTills,
  findUserByEmailKey,
  findUserById,
  lockUsersById,
  updateClaimTaken,
  updateUserReplaced,
} from '../users/user-queries.ts'
import { updateKeysOfPersonRevoked } from './api-keys/api-key-queries.ts'
import { updateChallengesEnded } from './factors/challenge-queries.ts'
import { deleteRecoveryCodes, updateTotpDisabled } from './factors/factor-queries.ts'
import { deletePasskeys, updateRegistration } from './factors/passkey-queries.ts'
import { updateResetsVoid } from './reset-queries.ts'
import type { Sessions } from './session-service.ts'

/** An account, and the one that holds the address that it claims; both locked. */
export type Claiming = { user: User; holder: User | null }

/**
 * Locks an account whose mailed link is used, with the one that it may replace, in the order of their ids. If another
 * invitation replaced that one in the meantime, it is disabled, and so not replaceable.
 */
export async function lockClaiming(tx: Tx, userId: string): Promise<Claiming | undefined> {
  const seen = await findUserById(tx, userId)
  const key = seen?.claimedEmailKey ?? null
  const held = key === null ? undefined : await findUserByEmailKey(tx, key)
  const locked = await lockUsersById(tx, held ? [userId, held.id] : [userId])
  const user = locked.find(({ id }) => id === userId)
  return user && { user, holder: locked.find(({ id }) => id === held?.id) ?? null }
}

export type ReplacementDeps = { clock: Clock; sessions: Pick<Sessions, 'endAll'>; audit: Audit }

/**
 * Gives an invited account the address that it claims. The account that held it ends: nothing that anyone knew, set up
 * or was given for it works again, and it leaves no way back in.
 * @returns the account with its address, and what writes the log entry: after everything else, as the log asks
 * @throws EMAIL_ALREADY_REGISTERED if the other account may not be replaced, or no longer
 */
export async function replaceHolder(
  { clock, sessions, audit }: ReplacementDeps,
  tx: Tx,
  { user, holder }: Claiming,
): Promise<{ user: User; log(context: AnyContext): Promise<void> }> {
  const { claimedEmailKey } = user
  if (claimedEmailKey === null) return { user, log: async () => {} }
  if (holder && !(await isReplaceable(tx, holder))) throw new AppError('EMAIL_ALREADY_REGISTERED')
  const endedKeys = holder ? await endAccount(tx, holder, sessions, new Date(clock())) : []
  await updateClaimTaken(tx, user.id)
  return {
    user: { ...user, emailKey: claimedEmailKey, claimedEmailKey: null },
    async log(context) {
      if (holder) await audit.write(tx, context, { actor: `user:${user.id}`, ...entryOf(holder, endedKeys) })
    },
  }
}

/** For the operator and the company that lost the account: whoever invites learns nothing of it. */
const entryOf = (holder: User, endedKeys: readonly string[]) => ({
  action: 'user.replace',
  companyId: companyIdOf(holder),
  object: `user:${holder.id}`,
  detail: { role: holder.role, ...(endedKeys.length > 0 && { endedKeys }) },
})

/**
 * Ends an account for whoever has access to the machine and its key, so that its address is free.
 * @returns what writes the log entry; null: it may not be replaced, or no longer
 */
export async function endHolder(
  { clock, sessions, audit }: ReplacementDeps,
  tx: Tx,
  holderId: string,
): Promise<((context: AnyContext) => Promise<void>) | null> {
  const [holder] = await lockUsersById(tx, [holderId])
  if (!holder || !(await isNoOnes(tx, holder))) return null
  const endedKeys = await endAccount(tx, holder, sessions, new Date(clock()))
  return (context) => audit.write(tx, context, entryOf(holder, endedKeys))
}

/** @returns the ids of its API keys */
async function endAccount(tx: Tx, { id }: User, sessions: Pick<Sessions, 'endAll'>, at: Date): Promise<string[]> {
  const { keys } = await sessions.endAll(tx, id, 'account replaced')
  const serverKeys = await updateKeysOfPersonRevoked(tx, id, at)
  await updateChallengesEnded(tx, id, at)
  await updateResetsVoid(tx, id, at)
  await deletePasskeys(tx, id)
  await updateRegistration(tx, id, null, at)
  await updateTotpDisabled(tx, id, true)
  await deleteRecoveryCodes(tx, id)
  await deleteTills(tx, id)
  await updateUserReplaced(tx, id, at)
  return [...keys, ...serverKeys]
}

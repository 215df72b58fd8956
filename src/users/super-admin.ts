import { openAudit } from '../audit/audit.ts'
import { brokenConstraint, type Db, type Tx } from '../db/db.ts'
import { type AnyContext, systemContext } from '../http/request-context.ts'
import type { Clock } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { emailKeyOf } from '../kernel/people/emails.ts'
import type { Vault } from '../kernel/vault.ts'
import { auditKeysOf, openServerKeys } from '../keys/server-key-service.ts'
import type { Passwords } from './password.ts'
import { checkPassword } from './password-rules.ts'
import { findUserByEmailKey, insertUser } from './user-queries.ts'

export type SuperAdminDeps = {
  db: Db
  vault: Vault
  clock: Clock
  passwords: Passwords
  /** Ends the account that holds the address. @returns what writes the log entry; null: it stays */
  endHolder?: (tx: Tx) => Promise<((context: AnyContext) => Promise<void>) | null>
}

/**
 * Creates a SuperAdmin from the environment or the admin command. Leaves an existing account unchanged, unless
 * `endHolder` ends it.
 * @returns false when it existed
 * @throws Error when the password is too weak
 */
export async function makeSuperAdmin(
  { email, password }: { email: string; password: string },
  { db, vault, clock, passwords, endHolder }: SuperAdminDeps,
): Promise<boolean> {
  const emailKey = emailKeyOf(email)
  if (!endHolder && (await findUserByEmailKey(db, emailKey))) return false
  try {
    checkPassword(password, { path: 'password', own: [email], extra: new Set() })
  } catch (error) {
    const faults = error instanceof AppError ? error.details?.map(({ message }) => message).join('; ') : ''
    throw new Error(`The SuperAdmin's password ${faults}.`, { cause: error })
  }
  const passwordHash = await passwords.hash(password)
  const at = new Date(clock())
  const id = newId(at.getTime())
  const keys = openServerKeys({ db, vault, clock })
  await keys.prepare()
  const audit = openAudit({ db, clock, keys: auditKeysOf(keys) })
  const context = systemContext('operator')
  const make = async (tx: Tx): Promise<boolean> => {
    const logEnd = await endHolder?.(tx)
    if (logEnd === null) return false
    await insertUser(tx, {
      id,
      email: email.trim(),
      emailKey,
      passwordHash,
      firstName: 'Super',
      lastName: 'Admin',
      role: 'SuperAdmin',
      phoneNumber: null,
      phoneNumberCountry: null,
      companyId: null,
      lang: 'en',
      verifiedAt: at,
      approvedAt: at,
      twoFactorEnabled: true,
      createdAt: at,
    })
    await logEnd?.(context)
    await audit.write(tx, context, { action: 'user.create-super-admin', object: `user:${id}` })
    return true
  }
  // another node may be creating the same one
  return db.tx(make).catch((error: unknown) => {
    if (brokenConstraint(error) === 'users_email_key_key') return false
    throw error
  })
}

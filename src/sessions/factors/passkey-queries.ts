import { type Queryable, sql, type Tx } from '../../db/db.ts'

export type Passkey = {
  id: string
  userId: string
  credentialId: string
  publicKey: Buffer
  counter: bigint
  transports: string[]
  name: string
  createdAt: Date
  lastUsedAt: Date | null
}

const COLUMNS = sql`id, user_id, credential_id, public_key, counter, transports, name, created_at, last_used_at`

export const listPasskeys = (q: Queryable, userId: string): Promise<Passkey[]> =>
  q.many<Passkey>(sql`select ${COLUMNS} from passkeys where user_id = ${userId} order by created_at, id`)

/** Locked until the transaction ends, so that its counter cannot be used twice. */
export const lockPasskey = (tx: Tx, userId: string, credentialId: string): Promise<Passkey | undefined> =>
  tx.maybe<Passkey>(sql`
    select ${COLUMNS} from passkeys where user_id = ${userId} and credential_id = ${credentialId} for update`)

export async function insertPasskey(tx: Tx, passkey: Omit<Passkey, 'lastUsedAt'>): Promise<void> {
  const { id, userId, credentialId, publicKey, counter, transports, name, createdAt } = passkey
  await tx.run(sql`
    insert into passkeys (id, user_id, credential_id, public_key, counter, transports, name, created_at)
    values (${id}, ${userId}, ${credentialId}, ${publicKey}, ${counter}, ${transports}, ${name}, ${createdAt})`)
}

export async function updatePasskeyUsed(tx: Tx, id: string, used: { counter: bigint; at: Date }): Promise<void> {
  await tx.run(sql`update passkeys set counter = ${used.counter}, last_used_at = ${used.at} where id = ${id}`)
}

export const deletePasskey = (tx: Tx, userId: string, id: string): Promise<{ name: string } | undefined> =>
  tx.maybe(sql`delete from passkeys where user_id = ${userId} and id = ${id} returning name`)

export const deletePasskeys = (tx: Tx, userId: string): Promise<{ id: string; name: string }[]> =>
  tx.many(sql`delete from passkeys where user_id = ${userId} returning id, name`)

/** What the next registration of this user has to sign. */
export async function updateRegistration(tx: Tx, userId: string, challenge: string | null, at: Date): Promise<void> {
  await tx.run(sql`
    update users set passkey_challenge = ${challenge}, passkey_challenge_at = ${at} where id = ${userId}`)
}

export const findRegistration = (tx: Tx, userId: string): Promise<{ challenge: string | null; at: Date | null }> =>
  tx.one(sql`select passkey_challenge as challenge, passkey_challenge_at as at from users where id = ${userId}`)

export async function updateTwoFactorEnabled(tx: Tx, userId: string, isEnabled: boolean): Promise<void> {
  await tx.run(sql`update users set two_factor_enabled = ${isEnabled} where id = ${userId}`)
}

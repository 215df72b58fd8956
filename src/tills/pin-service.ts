import { lockActor } from '../companies/company-scope.ts'
import type { Queryable } from '../db/db.ts'
import type { RequestContext } from '../http/request-context.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { openHmac, type Vault } from '../kernel/vault.ts'
import type { Started } from '../sessions/session-service.ts'
import type { Passwords } from '../users/password.ts'
import type { User } from '../users/user.ts'
import { lockUserById } from '../users/user-queries.ts'
import { listTillPeople, type TillDevice, type TillPerson } from './device-queries.ts'
import type { DeviceDeps } from './device-service.ts'
import * as queries from './pin-queries.ts'

export type PinDeps = DeviceDeps & { vault: Vault; passwords: Passwords }
type PinContext = Parameters<DeviceDeps['audit']['write']>[1]

/** The fifth wrong PIN in a row locks the person on that device. */
export const MOST_WRONG = 5

/** The hash is keyed: with only the table, six digits could be guessed in a second. */
const hmacOf = (vault: Vault) => openHmac(vault, 'till-pin', 'base64url')
const textOf = (userId: string, pin: string): string => `${userId}:${pin}`

const STEPS = ['01234567890', '09876543210']

/** Six equal digits, or six in sequence. */
const isSimple = (pin: string): boolean => /^(\d)\1{5}$/.test(pin) || STEPS.some((row) => row.includes(pin))

/**
 * Changes the caller's own PIN. Ends no session; unlocks the caller on every device.
 * @throws VALIDATION_FAILED, UNAUTHORIZED if the caller's session has ended
 */
export async function changePin(deps: PinDeps, context: RequestContext, pin: string): Promise<void> {
  const { db, clock, audit, vault, passwords } = deps
  const { actor } = context
  if (isSimple(pin)) throw invalid('pin', 'must not be six equal digits or six in a row')
  const pinHash = await passwords.hash(hmacOf(vault).of(textOf(actor.id, pin)))
  await db.tx(async (tx) => {
    await lockActor(tx, actor, null)
    await queries.updatePin(tx, actor.id, { pinHash, at: new Date(clock()) })
    const facts = { companyId: actor.companyId, object: `user:${actor.id}` }
    await audit.write(tx, context, { action: 'user.till-pin', ...facts })
  })
}

export async function readPin({ db }: Pick<PinDeps, 'db'>, userId: string) {
  const pin = await queries.findPin(db, userId)
  return { set: pin !== undefined, changedAt: pin?.changedAt.toISOString() ?? null }
}

/**
 * Null: the PIN is wrong. `rehashed`: its hash by the current master key, if an earlier one made the stored hash, so
 * that the PIN outlives that key. A try for which the node was too busy does not count.
 */
async function matchPin(
  { db, vault, passwords }: Pick<PinDeps, 'db' | 'vault' | 'passwords'>,
  { deviceId, userId, pin, pinHash }: { deviceId: string; userId: string; pin: string; pinHash: string | null },
): Promise<{ rehashed: string | null } | null> {
  const [present = '', ...earlier] = hmacOf(vault).all(textOf(userId, pin))
  // only here: after a first comparison the try has been used
  const isPresent = await passwords.verify(present, pinHash).catch(async (error: unknown) => {
    await queries.updatePinTryTakenBack(db, { deviceId, userId })
    throw error
  })
  if (isPresent) return { rehashed: null }
  for (const keyed of earlier)
    if (await passwords.verify(keyed, pinHash)) return { rehashed: await passwords.hash(present) }
  return null
}

async function refuse(
  deps: PinDeps,
  context: PinContext,
  tried: { device: TillDevice; userId: string; left: number },
): Promise<never> {
  const { device, userId, left } = tried
  const { companyId } = device
  await deps.db.tx((tx) =>
    deps.audit.write(tx, context, {
      ...{ actor: `till-device:${device.id}`, action: 'session.till-sign-in', result: 'refused', companyId },
      ...{ object: `user:${userId}`, detail: { locked: left === 0 } },
    }),
  )
  if (left === 0) throw new AppError('PIN_LOCKED')
  throw new AppError('INVALID_CREDENTIALS', { message: `The PIN is wrong. Tries left: ${left}.` })
}

/** @throws INVALID_CREDENTIALS for a person who may not sign in at this till */
async function findTillPerson(q: Queryable, device: TillDevice, userId: string): Promise<TillPerson> {
  const person = (await listTillPeople(q, device, MOST_WRONG)).find(({ id }) => id === userId)
  if (!person) throw new AppError('INVALID_CREDENTIALS', { message: 'This person does not work at this till.' })
  return person
}

/**
 * Signs a person in at an enrolled device.
 * @throws PIN_LOCKED after five wrong PINs, INVALID_CREDENTIALS
 */
export async function signIn(
  deps: PinDeps,
  context: PinContext,
  wanted: { device: TillDevice; userId: string; pin: string },
): Promise<{ user: User; started: Started; accessToken: string }> {
  const { db, sessions, audit } = deps
  const { device, userId, pin } = wanted
  const person = await findTillPerson(db, device, userId)
  if (!person.hasPin) {
    throw new AppError('INVALID_CREDENTIALS', {
      message: 'You have no PIN yet. Set one in the back office, under your account.',
    })
  }
  const tries = await queries.insertPinTry(db, { deviceId: device.id, userId }, MOST_WRONG)
  if (tries === undefined) throw new AppError('PIN_LOCKED')
  const stored = await queries.findPin(db, userId)
  const match = await matchPin(deps, { deviceId: device.id, userId, pin, pinHash: stored?.pinHash ?? null })
  if (match === null) return refuse(deps, context, { device, userId, left: MOST_WRONG - tries })
  const signedIn = await db.tx(async (tx) => {
    // checking the PIN takes a while: a change of the person's rights meanwhile finds the session, or is noticed here
    const user = await lockUserById(tx, userId)
    if (!user) throw new AppError('INVALID_CREDENTIALS')
    await findTillPerson(tx, device, userId)
    await queries.deletePinTries(tx, { deviceId: device.id, userId })
    if (match.rehashed !== null && stored) await queries.updatePinHash(tx, userId, stored.pinHash, match.rehashed)
    // its cookie makes room for the new one, so that nothing else could end it any more; its shift goes on
    const [shiftStartedAt] = await sessions.endAtTill(
      tx,
      { deviceId: device.id, userId },
      'signed in again at the till',
    )
    const session = { user, kind: 'till', tillDeviceId: device.id, shiftStartedAt, namedCookie: true } as const
    const started = await sessions.start(tx, { ...session, secondFactorAt: null, context })
    const facts = { actor: `user:${userId}`, companyId: device.companyId, object: `till-device:${device.id}` }
    await audit.write(tx, context, { action: 'session.till-sign-in', ...facts })
    return { user, started }
  })
  return { ...signedIn, accessToken: await sessions.issue(signedIn.started.session, signedIn.user) }
}

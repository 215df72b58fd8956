import { createHash, randomBytes } from 'node:crypto'
import type { Audit } from '../../audit/audit.ts'
import { lockActor } from '../../companies/company-scope.ts'
import type { Db, Tx } from '../../db/db.ts'
import { API_SCOPES, type ApiScope, sees } from '../../http/actor.ts'
import { ruleOf } from '../../http/permissions.ts'
import type { AnyContext, RequestContext } from '../../http/request-context.ts'
import { type Clock, DAY, MINUTE, SECOND } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { newId, newSecret, newShortCode } from '../../kernel/ids.ts'
import { openHmac, type Vault } from '../../kernel/vault.ts'
import type { Mailer } from '../../mail/mail.ts'
import { isValidUser } from '../../users/user.ts'
import { findUserById, listSuperManagerCompanies } from '../../users/user-queries.ts'
import { findApiKeyBySecretHash, insertApiKey, lockApiKey } from '../api-keys/api-key-queries.ts'
import { API_SECRET_PREFIX, hashApiSecret } from '../api-keys/api-key-service.ts'
import * as queries from './device-login-queries.ts'

export type DeviceLoginDeps = {
  db: Db
  clock: Clock
  vault: Vault
  audit: Audit
  mailer: Mailer
  config: { officeUrl: string }
}

/** A key that is made this way may never change passwords. */
export const DEVICE_SCOPES = API_SCOPES.filter((scope) => scope !== 'passwords:write')
export const DEFAULT_DAYS = 90
const LIFETIME_MS = 10 * MINUTE
/** RFC 8628, 3.5: the polling interval, and by how much `slow_down` extends it. */
const INTERVAL_SECONDS = 5
const SLOWER_SECONDS = 5
/** How long the answer with the key can be fetched again after a lost connection. */
const AGAIN_MS = MINUTE

const hashCode = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Codes are read aloud and typed: case, dashes and look-alikes do not matter (Crockford's base32). */
const readUserCode = (text: string): string =>
  text
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1')

const withDash = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`

export type StartedLogin = {
  deviceCode: string
  userCode: string
  verificationUri: string
  verificationUriComplete: string
  expiresInSeconds: number
  intervalSeconds: number
}

/** A program asks for a key; a person decides in the back office (RFC 8628, 3.1 and 3.2). */
export async function startDeviceLogin(
  { db, clock, config }: DeviceLoginDeps,
  { ip }: AnyContext,
  wanted: { clientName: string; scopes: ApiScope[] },
): Promise<StartedLogin> {
  const at = clock()
  const deviceCode = newSecret('dvc_')
  const userCode = newShortCode()
  await queries.deleteOldDeviceLogins(db, new Date(at - DAY))
  await queries.insertDeviceLogin(db, {
    ...{ id: newId(at), ...wanted, ip: ip ?? '', intervalSeconds: INTERVAL_SECONDS },
    ...{ deviceHash: hashCode(deviceCode), userHash: hashCode(userCode) },
    ...{ createdAt: new Date(at), expiresAt: new Date(at + LIFETIME_MS) },
  })
  const verificationUri = `${config.officeUrl}/device`
  return {
    deviceCode,
    userCode: withDash(userCode),
    verificationUri,
    verificationUriComplete: `${verificationUri}?code=${withDash(userCode)}`,
    expiresInSeconds: LIFETIME_MS / SECOND,
    intervalSeconds: INTERVAL_SECONDS,
  }
}

const unknownCode = (): AppError =>
  new AppError('OBJECT_NOT_FOUND', {
    message: 'No login waits under this code. Codes live for ten minutes: run the login again and use the new one.',
  })

/** A code that is expired, or decided for another company, looks like an unknown one. */
function checkFound(
  login: queries.DeviceLogin | undefined,
  actor: RequestContext['actor'],
  nowMs: number,
): queries.DeviceLogin {
  if (!login || login.expiresAt.getTime() <= nowMs) throw unknownCode()
  if (login.companyId !== null && !sees(actor, login.companyId)) throw unknownCode()
  return login
}

/** What the person is asked to confirm. @throws OBJECT_NOT_FOUND */
export async function readDeviceLogin(
  { db, clock }: DeviceLoginDeps,
  { actor, ip }: RequestContext,
  userCode: string,
): Promise<queries.DeviceLogin & { sameAddress: boolean }> {
  const found = await queries.findDeviceLogin(db, hashCode(readUserCode(userCode)))
  const login = checkFound(found, actor, clock())
  return { ...login, sameAddress: login.ip === ip }
}

export type DeviceDecision =
  | { approved: true; companyId: string; scopes: ApiScope[] | undefined; days: number }
  | { approved: false }

/** @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT when it is already decided, UNAUTHORIZED */
export async function decideDeviceLogin(
  { db, clock, audit, mailer }: DeviceLoginDeps,
  context: RequestContext,
  { userCode, decision }: { userCode: string; decision: DeviceDecision },
): Promise<void> {
  const { actor } = context
  const at = clock()
  await db.tx(async (tx) => {
    await lockActor(tx, actor, decision.approved ? decision.companyId : null)
    const login = checkFound(await queries.lockDeviceLogin(tx, hashCode(readUserCode(userCode))), actor, at)
    if (login.status !== 'pending') {
      throw new AppError('OBJECT_CONFLICT', { message: 'This login is decided already. Run the login again.' })
    }
    const companyId = decision.approved ? decision.companyId : actor.companyId
    // a person may grant less than was asked for, never more
    const scopes = decision.approved ? login.scopes.filter((one) => decision.scopes?.includes(one) ?? true) : []
    if (decision.approved && scopes.length === 0) {
      throw new AppError('VALIDATION_FAILED', {
        details: [{ path: 'scopes', message: 'must name at least one of the scopes that were asked for' }],
      })
    }
    await queries.updateDeviceLoginDecided(tx, login.id, {
      ...{ status: decision.approved ? 'approved' : 'denied', companyId, decidedBy: actor.id, scopes },
      keyExpiresAt: decision.approved ? new Date(at + decision.days * DAY) : null,
    })
    if (decision.approved) await mailApproval(tx, { mailer }, { userId: actor.id, login })
    await context.remember(tx, null)
    const action = decision.approved ? 'device-login.approve' : 'device-login.deny'
    const detail = { client: login.clientName, from: login.ip, scopes }
    await audit.write(tx, context, { action, companyId, object: `device-login:${login.id}`, detail })
  })
}

async function mailApproval(
  tx: Tx,
  { mailer }: Pick<DeviceLoginDeps, 'mailer'>,
  { userId, login }: { userId: string; login: queries.DeviceLogin },
): Promise<void> {
  const user = await findUserById(tx, userId)
  if (!user) return
  const data = { name: user.firstName, computer: login.clientName, address: login.ip }
  await mailer.send(tx, { to: user.email, lang: user.lang, kind: 'deviceLogin', data })
}

export type DeviceKey = {
  _id: string
  name: string
  company: string
  apiKey: string
  apiSecret: string
  scopes: ApiScope[]
  expiresAt: string
}

/**
 * The same code gives the same secret, so that an answer lost on its way can be fetched again. One by each master key,
 * the present one's first.
 */
const secretsOf = (vault: Vault, deviceCode: string): string[] =>
  openHmac(vault, 'device-login', 'base64url')
    .all(deviceCode)
    .map((text) => API_SECRET_PREFIX + text)

const expired = (): AppError => new AppError('DEVICE_CODE_EXPIRED')

/** RFC 8628, 3.5: a poll that comes too early gets slow_down and must wait longer from then on. */
async function pollPending(tx: Tx, login: queries.DeviceLogin, at: number): Promise<AppError> {
  const { intervalSeconds, lastPolledAt } = login
  // a clock and a network are never exact: half a second early is in time
  const isEarly = lastPolledAt !== null && at - lastPolledAt.getTime() < intervalSeconds * SECOND - SECOND / 2
  const next = isEarly ? intervalSeconds + SLOWER_SECONDS : intervalSeconds
  await queries.updateDeviceLoginPolled(tx, login.id, { at: new Date(at), intervalSeconds: next })
  return new AppError(isEarly ? 'SLOW_DOWN' : 'AUTHORIZATION_PENDING', { retryAfter: next })
}

/** May the person who confirmed still hand out keys of this company? */
async function isStillAllowed(tx: Tx, { decidedBy, companyId }: queries.DeviceLogin): Promise<boolean> {
  const user = decidedBy === null ? undefined : await findUserById(tx, decidedBy)
  if (!user || user.disabledAt !== null || !isValidUser(user)) return false
  const own = user.role === 'SuperManager' ? await listSuperManagerCompanies(tx, user.id) : [user.company?.id]
  if (user.role !== 'SuperAdmin' && !own.includes(companyId ?? '')) return false
  const { roles } = ruleOf('apiKeys.create')
  return roles === 'anyone' || roles.includes(user.role)
}

async function makeKey(
  tx: Tx,
  { audit }: DeviceLoginDeps,
  { login, apiSecret, context, at }: { login: queries.DeviceLogin; apiSecret: string; context: AnyContext; at: number },
): Promise<DeviceKey> {
  const { companyId, decidedBy, scopes, keyExpiresAt, clientName: name } = login
  if (companyId === null || decidedBy === null || keyExpiresAt === null) throw expired()
  const key = { id: newId(at), companyId, name, scopes, expiresAt: keyExpiresAt, createdAt: new Date(at) }
  const publicId = `pk_${randomBytes(12).toString('base64url')}`
  await insertApiKey(tx, {
    ...key,
    publicId,
    createdBy: decidedBy,
    secretHash: hashApiSecret(apiSecret),
    ofLogin: true,
  })
  await queries.updateDeviceLoginUsed(tx, login.id, key.id)
  const facts = { actor: `user:${decidedBy}`, companyId, object: `apiKey:${key.id}` }
  await audit.write(tx, context, { action: 'api-key.create', ...facts, detail: { name, scopes, device: true } })
  return viewMade({ ...key, publicId }, apiSecret)
}

const viewMade = (
  key: { id: string; companyId: string; name: string; publicId: string; scopes: ApiScope[]; expiresAt: Date | null },
  apiSecret: string,
): DeviceKey => ({
  ...{ _id: key.id, name: key.name, company: key.companyId, apiKey: key.publicId, apiSecret, scopes: key.scopes },
  expiresAt: key.expiresAt?.toISOString() ?? '',
})

/**
 * Exchanges the program's code for its key (RFC 8628, 3.4).
 * @throws AUTHORIZATION_PENDING, SLOW_DOWN, AUTHORIZATION_DENIED, DEVICE_CODE_EXPIRED
 */
export async function claimDeviceLogin(
  deps: DeviceLoginDeps,
  context: AnyContext,
  deviceCode: string,
): Promise<DeviceKey> {
  const { db, clock, vault } = deps
  const at = clock()
  const answer = await db.tx(async (tx): Promise<DeviceKey | AppError> => {
    const login = await queries.lockDeviceLoginOfDevice(tx, hashCode(deviceCode))
    if (!login || login.expiresAt.getTime() <= at) return expired()
    if (login.status === 'denied') return new AppError('AUTHORIZATION_DENIED')
    if (login.status === 'pending') return pollPending(tx, login, at)
    const secrets = secretsOf(vault, deviceCode)
    const [apiSecret = ''] = secrets
    if (login.status === 'approved') {
      if (!(await isStillAllowed(tx, login))) return new AppError('AUTHORIZATION_DENIED')
      return makeKey(tx, deps, { login, apiSecret, context, at })
    }
    const key = login.apiKeyId === null ? undefined : await lockApiKey(tx, login.apiKeyId)
    if (!key || key.revokedAt !== null || at - key.createdAt.getTime() > AGAIN_MS) return expired()
    for (const secret of secrets)
      if ((await findApiKeyBySecretHash(tx, hashApiSecret(secret)))?.id === key.id) return viewMade(key, secret)
    return expired()
  })
  // a refusal commits too: it counts the question
  if (answer instanceof AppError) throw answer
  return answer
}

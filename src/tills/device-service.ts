import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Audit } from '../audit/audit.ts'
import { type CompanyChoice, companiesFor, companyNamedBy, lockActor } from '../companies/company-scope.ts'
import { findSaleCollector } from '../companies/sale-queries.ts'
import type { Db } from '../db/db.ts'
import { type Actor, sees } from '../http/actor.ts'
import { type CookieOwners, openCookieOwners } from '../http/limits/cookie-limits.ts'
import type { RateLimits } from '../http/limits/rate-limits.ts'
import type { AnyContext, RequestContext } from '../http/request-context.ts'
import { type Clock, MINUTE } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { newId, newSecret, newShortCode } from '../kernel/ids.ts'
import type { Static } from '../kernel/schema.ts'
import type { Sessions } from '../sessions/session-service.ts'
import type { TillDevice } from './device-queries.ts'
import * as queries from './device-queries.ts'
import type { TillCookies } from './till-cookies.ts'
import type { DeviceSchema } from './till-schemas.ts'

export type DeviceDeps = { db: Db; clock: Clock; audit: Audit; sessions: Sessions }

const ENROLMENT_MS = 10 * MINUTE

const hashSecret = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Codes are read aloud and typed: case, spaces and look-alikes do not matter (Crockford's base32). */
const readCode = (text: string): string =>
  text
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1')

export const viewDevice = (device: TillDevice): Static<typeof DeviceSchema> => ({
  _id: device.id,
  company: device.companyId,
  name: device.name,
  collector: { _id: device.collectorId, identifier: device.collectorIdentifier },
  userAgent: device.userAgent,
  createdAt: device.createdAt.toISOString(),
  enrolledAt: device.enrolledAt?.toISOString() ?? null,
  lastSeenAt: device.lastSeenAt?.toISOString() ?? null,
  revokedAt: device.revokedAt?.toISOString() ?? null,
})

export type NewDevice = {
  _id: string
  name: string
  collector: string
  enrolmentCode: string
  enrolmentExpiresAt: string
}

/**
 * @param choice the company whose till is meant; operators who name none use the till's id
 * @throws UNKNOWN_MERCHANT_IDENTIFIER for a till that is closed or outside the actor's scope
 */
export async function createDevice(
  { db, clock, audit }: DeviceDeps,
  context: RequestContext,
  choice: CompanyChoice,
  fields: { name: string; collector: string },
): Promise<NewDevice> {
  const { actor } = context
  const collector = await findSaleCollector(db, await companyNamedBy(db, actor, choice), fields.collector)
  if (!collector || !sees(actor, collector.companyId)) throw new AppError('UNKNOWN_MERCHANT_IDENTIFIER')
  const at = new Date(clock())
  const code = newShortCode()
  const enrolmentExpiresAt = new Date(at.getTime() + ENROLMENT_MS)
  const id = newId(at.getTime())
  const made: NewDevice = {
    ...{ _id: id, name: fields.name, collector: collector.id },
    enrolmentCode: `${code.slice(0, 4)}-${code.slice(4)}`,
    enrolmentExpiresAt: enrolmentExpiresAt.toISOString(),
  }
  const { companyId } = collector
  await db.tx(async (tx) => {
    await lockActor(tx, actor, companyId)
    const device = { id, companyId, collectorId: collector.id, name: fields.name, createdAt: at }
    await queries.insertDevice(tx, { ...device, enrolmentHash: hashSecret(code), enrolmentExpiresAt })
    await context.remember(tx, made)
    const detail = { name: fields.name, till: collector.identifier }
    await audit.write(tx, context, { action: 'till-device.create', companyId, object: `till-device:${id}`, detail })
  })
  return made
}

export async function readDevices(
  { db }: Pick<DeviceDeps, 'db'>,
  actor: Actor,
  query: CompanyChoice & { page: number; limit: number },
): Promise<{ tillDevices: TillDevice[]; total: number; page: number; limit: number }> {
  const { page, limit } = query
  const companyIds = await companiesFor(db, actor, query)
  const [tillDevices, total] = await Promise.all([
    queries.listDevices(db, companyIds, { limit, offset: (page - 1) * limit }),
    queries.countDevices(db, companyIds),
  ])
  return { tillDevices, total, page, limit }
}

/** Ends every session on the device at once. Idempotent. @throws OBJECT_NOT_FOUND */
export async function revokeDevice(
  { db, clock, audit, sessions }: DeviceDeps,
  context: RequestContext,
  id: string,
): Promise<void> {
  await db.tx(async (tx) => {
    const device = await queries.lockDevice(tx, id)
    if (!device || !sees(context.actor, device.companyId)) throw new AppError('OBJECT_NOT_FOUND')
    if (device.revokedAt !== null) return
    await queries.updateDeviceRevoked(tx, id, new Date(clock()))
    await sessions.endAtTill(tx, { deviceId: id, userId: null }, 'till device revoked')
    const { companyId, name } = device
    const object = `till-device:${id}`
    await audit.write(tx, context, { action: 'till-device.revoke', companyId, object, detail: { name } })
  })
}

/** Exchanges the code for the device's token, once. @throws INVALID_OTP for a wrong, used or old code */
export async function enrolDevice(
  { db, clock, audit }: DeviceDeps,
  context: AnyContext,
  enrolmentCode: string,
): Promise<{ device: TillDevice; token: string }> {
  const token = newSecret('tld_')
  return db.tx(async (tx) => {
    const at = new Date(clock())
    const enrolled = { tokenHash: hashSecret(token), userAgent: context.userAgent, at }
    const id = await queries.updateDeviceEnrolled(tx, hashSecret(readCode(enrolmentCode)), enrolled)
    const device = id === undefined ? undefined : await queries.lockDevice(tx, id)
    if (!device) {
      throw new AppError('INVALID_OTP', {
        message: 'This code is wrong, used, or older than ten minutes. Ask a manager for a new one.',
      })
    }
    const { companyId, name } = device
    const facts = { actor: `till-device:${device.id}`, companyId, object: `till-device:${device.id}` }
    await audit.write(tx, context, { action: 'till-device.enrol', ...facts, detail: { name } })
    return { device, token }
  })
}

/** Whose device a till's cookie is, also a revoked one. */
export function openDeviceOwners(
  { db, limits }: Pick<DeviceDeps, 'db'> & { limits: RateLimits },
  cookies: TillCookies,
): CookieOwners<TillDevice> {
  return openCookieOwners(limits, {
    hashOf(request) {
      const token = cookies.tokenOf(request)
      return token === null ? null : hashSecret(token)
    },
    async find(hashes) {
      const devices = await queries.listDevicesByToken(db, hashes)
      return new Map(
        devices.map(({ tokenHash, ...device }) => [tokenHash, { ...device, isEnded: device.revokedAt !== null }]),
      )
    },
  })
}

/** The device of a request. @throws UNAUTHORIZED for a device that is unknown or revoked */
export async function readDevice(
  { db, clock, devices }: Pick<DeviceDeps, 'db' | 'clock'> & { devices: CookieOwners<TillDevice> },
  request: FastifyRequest,
): Promise<TillDevice> {
  const device = devices.ownerOf(request)
  if (!device || device.revokedAt !== null) {
    throw new AppError('UNAUTHORIZED', { message: 'This device is not enrolled. Enter the code of a manager.' })
  }
  await queries.updateDeviceSeen(db, device.id, new Date(clock()))
  return device
}

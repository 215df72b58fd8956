import { brokenConstraint, type Tx } from '../db/db.ts'
import { type Actor, sees } from '../http/actor.ts'
import { ruleOf } from '../http/permissions.ts'
import type { RequestContext } from '../http/request-context.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { webLink } from '../kernel/html.ts'
import { newId } from '../kernel/ids.ts'
import type { Static } from '../kernel/schema.ts'
import type { CollectorSchema, SalesPointSchema } from './company-schemas.ts'
import { type CompanyChoice, companiesFor, companyFor } from './company-scope.ts'
import { type CompanyDeps, noteChange } from './company-service.ts'
import type { Collector, SalesPoint } from './till-queries.ts'
import * as queries from './till-queries.ts'

export type SalesPointFields = Partial<Omit<SalesPoint, 'id' | 'companyId' | 'createdAt' | 'updatedAt'>>
export type Remember = (tx: Tx, data: unknown) => Promise<void>

export const viewSalesPoint = ({
  id,
  companyId,
  createdAt,
  updatedAt,
  ...rest
}: SalesPoint): Static<typeof SalesPointSchema> => ({
  _id: id,
  company: companyId,
  ...rest,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
})

/** Addresses of people are for those who manage them; colleagues and servers need the names. */
const showsEmails = ({ kind, role }: Actor): boolean => {
  const { roles } = ruleOf('users.list')
  return kind === 'user' && roles !== 'anyone' && roles.includes(role)
}

export const viewCollector = (actor: Actor, collector: Collector): Static<typeof CollectorSchema> => ({
  _id: collector.id,
  identifier: collector.identifier,
  uuid: collector.uuid,
  webhookUrl: collector.webhookUrl,
  active: collector.active,
  company: collector.companyId,
  salePoint: { _id: collector.salesPointId, name: collector.salesPointName },
  cashiers: collector.cashiers.map((one) => ({ ...one, email: showsEmails(actor) ? one.email : null })),
  createdAt: collector.createdAt.toISOString(),
  updatedAt: collector.updatedAt.toISOString(),
})

const given = <Fields extends object>(fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields

/** @throws VALIDATION_FAILED. @returns the fields with the logo's address as it is kept */
function readLogo<Fields extends SalesPointFields>(fields: Fields): Fields {
  const { logoUrl } = fields
  if (!logoUrl) return fields
  const link = webLink(logoUrl)
  if (link === null) throw invalid('logoUrl', 'must be a URL that starts with https:// or http://')
  return { ...fields, logoUrl: link }
}

export async function createSalesPoint(
  deps: CompanyDeps,
  context: RequestContext,
  choice: CompanyChoice,
  fields: SalesPointFields & { name: string },
): Promise<SalesPoint> {
  const { actor } = context
  const companyId = await companyFor(deps.db, actor, choice)
  const at = new Date(deps.clock())
  const none = { city: null, country: null, street: null, zipCode: null, logoUrl: null, lat: null, lng: null }
  const point: SalesPoint = {
    id: newId(at.getTime()),
    companyId,
    ...none,
    ...given(readLogo(fields)),
    createdAt: at,
    updatedAt: at,
  }
  await deps.db.tx(async (tx) => {
    await queries.insertSalesPoint(tx, point)
    await context.remember(tx, viewSalesPoint(point))
    const object = `sales-point:${point.id}`
    await noteChange(deps, tx, context, { companyId, action: 'sales-point.create', object })
  })
  return point
}

export async function listSalesPoints(
  { db }: CompanyDeps,
  actor: Actor,
  query: CompanyChoice & { page: number; limit: number },
): Promise<{ salesPoints: SalesPoint[]; total: number; page: number; limit: number }> {
  const { page, limit } = query
  const companyIds = await companiesFor(db, actor, query)
  const [salesPoints, total] = await Promise.all([
    queries.listSalesPoints(db, companyIds, { limit, offset: (page - 1) * limit }),
    queries.countSalesPoints(db, companyIds),
  ])
  return { salesPoints, total, page, limit }
}

/** @throws OBJECT_NOT_FOUND */
export async function readSalesPoint({ db }: CompanyDeps, actor: Actor, id: string): Promise<SalesPoint> {
  const point = await queries.findSalesPoint(db, id)
  if (!point || !sees(actor, point.companyId)) throw new AppError('OBJECT_NOT_FOUND')
  return point
}

/** Changes the given fields; null clears. @throws OBJECT_NOT_FOUND */
export async function changeSalesPoint(
  deps: CompanyDeps,
  context: RequestContext,
  id: string,
  fields: SalesPointFields,
): Promise<SalesPoint> {
  const { actor } = context
  const read = given(readLogo(fields))
  return deps.db.tx(async (tx) => {
    const point = await queries.lockSalesPoint(tx, id)
    if (!point || !sees(actor, point.companyId)) throw new AppError('OBJECT_NOT_FOUND')
    const changed = { ...point, ...read, updatedAt: new Date(deps.clock()) }
    await queries.updateSalesPoint(tx, changed)
    const { companyId } = point
    await noteChange(deps, tx, context, { companyId, action: 'sales-point.change', object: `sales-point:${id}` })
    return changed
  })
}

/** A Cashier reaches only the tills assigned to them. */
const reachesTill = (actor: Actor, { id, companyId }: Collector): boolean =>
  sees(actor, companyId) && (actor.role !== 'Cashier' || actor.collectorIds.includes(id))

export type CollectorQuery = CompanyChoice & { salePoint?: string; active?: boolean; page: number; limit: number }

export async function listCollectors(
  { db }: CompanyDeps,
  actor: Actor,
  query: CollectorQuery,
): Promise<{ collectors: Collector[]; total: number; page: number; limit: number }> {
  const { page, limit } = query
  const filter: queries.CollectorFilter = {
    companyIds: await companiesFor(db, actor, query),
    collectorIds: actor.role === 'Cashier' ? actor.collectorIds : null,
    salesPointId: query.salePoint ?? null,
    active: query.active ?? null,
  }
  const [collectors, total] = await Promise.all([
    queries.listCollectors(db, filter, { limit, offset: (page - 1) * limit }),
    queries.countCollectors(db, filter),
  ])
  return { collectors, total, page, limit }
}

/** @throws OBJECT_NOT_FOUND */
export async function readCollector({ db }: CompanyDeps, actor: Actor, id: string): Promise<Collector> {
  const collector = await queries.findCollector(db, id)
  if (!collector || !reachesTill(actor, collector)) throw new AppError('OBJECT_NOT_FOUND')
  return collector
}

function explainIdentifier(error: unknown): unknown {
  if (brokenConstraint(error) !== 'collectors_company_id_identifier_key') return error
  return new AppError('OBJECT_CONFLICT', {
    message: 'Another till of this company has this identifier. Choose a different one.',
  })
}

/** A till's address keeps to the rules for an order's. @throws VALIDATION_FAILED */
function readWebhookUrl({ callbackFault }: CompanyDeps, url: string | null): string | null {
  const fault = url === null ? null : callbackFault(url)
  if (fault !== null) throw invalid('webhookUrl', fault)
  return url
}

/**
 * @throws OBJECT_NOT_FOUND for an unknown sales point or another company's, OBJECT_CONFLICT for a taken identifier,
 *   VALIDATION_FAILED for a webhook address that is not allowed
 */
export async function createCollector(
  deps: CompanyDeps,
  context: RequestContext,
  body: { identifier: string; salePoint: string; uuid?: string; webhookUrl?: string },
): Promise<Collector> {
  const { actor } = context
  const at = new Date(deps.clock())
  const webhookUrl = readWebhookUrl(deps, body.webhookUrl ?? null)
  const make = async (tx: Tx): Promise<Collector> => {
    const point = await queries.findSalesPoint(tx, body.salePoint)
    if (!point || !sees(actor, point.companyId))
      throw new AppError('OBJECT_NOT_FOUND', {
        message: 'No sales point in your account has this id. See GET /sales-points.',
      })
    const { companyId } = point
    const id = newId(at.getTime())
    const { identifier, uuid = null } = body
    const place = { companyId, salesPointId: point.id }
    await queries.insertCollector(tx, { id, ...place, identifier, uuid, webhookUrl, createdAt: at })
    const collector = await queries.findCollector(tx, id)
    if (!collector) throw new Error('the new till cannot be read back')
    await context.remember(tx, viewCollector(context.actor, collector))
    await noteChange(deps, tx, context, { companyId, action: 'collector.create', object: `collector:${id}` })
    return collector
  }
  return deps.db.tx(make).catch((error: unknown) => {
    throw explainIdentifier(error)
  })
}

export type CollectorChange = {
  identifier?: string
  active?: boolean
  cashiers?: string[]
  webhookUrl?: string | null
}

/**
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT, VALIDATION_FAILED for a user who is not a cashier of the company, or a
 *   webhook address that is not allowed
 */
export async function changeCollector(
  deps: CompanyDeps,
  context: RequestContext,
  id: string,
  change: CollectorChange,
): Promise<Collector> {
  const { actor } = context
  const at = new Date(deps.clock())
  const apply = async (tx: Tx): Promise<Collector> => {
    const collector = await queries.lockCollector(tx, id)
    if (!collector || !reachesTill(actor, collector)) throw new AppError('OBJECT_NOT_FOUND')
    const { companyId } = collector
    const { identifier = collector.identifier, active = collector.active } = change
    // one that stays was allowed when it was set, and every delivery checks the address that it connects to
    const webhookUrl = change.webhookUrl === undefined ? collector.webhookUrl : readWebhookUrl(deps, change.webhookUrl)
    await queries.updateCollector(tx, id, { identifier, active, webhookUrl, at })
    if (change.cashiers) {
      const wanted = [...new Set(change.cashiers)]
      await queries.deleteCollectorCashiers(tx, id)
      const count = await queries.insertCollectorCashiers(tx, { id, companyId }, wanted)
      if (count !== wanted.length) throw invalid('cashiers', 'contains a user who is not a cashier of this company')
      tx.afterCommit(() => deps.forgetActors())
    }
    const changed = (await queries.findCollector(tx, id)) ?? collector
    const detail =
      webhookUrl === collector.webhookUrl ? {} : { webhookOrigin: webhookUrl && new URL(webhookUrl).origin }
    await noteChange(deps, tx, context, { companyId, action: 'collector.change', object: `collector:${id}`, detail })
    return changed
  }
  return deps.db.tx(apply).catch((error: unknown) => {
    throw explainIdentifier(error)
  })
}

import type { Audit } from '../../audit/audit.ts'
import { lockActor } from '../../companies/company-scope.ts'
import type { Db } from '../../db/db.ts'
import { type Actor, companyOf, sees } from '../../http/actor.ts'
import type { RequestContext } from '../../http/request-context.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import type { Vault } from '../../kernel/vault.ts'
import { bucketOf } from '../outbox/buckets.ts'
import { webhookHeaders } from '../outbox/signature.ts'
import { findWebhookAccount } from '../outbox/subscription-queries.ts'
import { secretContext } from '../outbox/webhook-secret.ts'
import { laneOf } from '../outbox/webhook-url.ts'
import { curlText } from './curl-text.ts'
import * as queries from './delivery-log-queries.ts'
import {
  type DeliveryDetailView,
  type DeliveryFilterInput,
  type DeliveryQuery,
  type DeliveryView,
  REDELIVER_LIMIT,
  type RedeliverBody,
  type RedeliverQuery,
} from './delivery-schemas.ts'

export type WebhookDeps = {
  db: Db
  vault: Vault
  clock: Clock
  /** The sender's `wake`. */
  wake: (companyId?: string) => void
  audit: Audit
}

/** The companies whose deliveries this actor may see; null for all. @throws OBJECT_NOT_FOUND for a foreign company */
function companiesOf(actor: Actor, companyId: string | undefined): string[] | null {
  if (companyId !== undefined) {
    if (!sees(actor, companyId)) throw new AppError('OBJECT_NOT_FOUND')
    return [companyId]
  }
  if (actor.role === 'SuperAdmin') return null
  if (actor.role === 'SuperManager') return [...actor.companyIds]
  return [companyOf(actor)]
}

const isStatus = (word: string): word is queries.DeliveryStatus =>
  (queries.DELIVERY_STATUSES as readonly string[]).includes(word)

function statusesOf(input: readonly string[] | undefined): queries.DeliveryStatus[] {
  const words = (input ?? []).flatMap((text) => text.split(',')).filter(Boolean)
  const wrong = words.find((word) => !isStatus(word))
  if (wrong !== undefined)
    throw invalid('status', `"${wrong}" is not a status. Choose from: ${queries.DELIVERY_STATUSES.join(', ')}`)
  return words.filter(isStatus).toSorted()
}

const toFilter = (actor: Actor, input: DeliveryFilterInput): queries.DeliveryFilter => ({
  companyIds: companiesOf(actor, input.companyId),
  statuses: statusesOf(input.status),
  event: input.event ?? null,
  code: input.code ?? null,
  url: input.url ?? null,
  from: input.from === undefined ? null : new Date(input.from),
  to: input.to === undefined ? null : new Date(input.to),
})

async function viewDeliveries(db: Db, rows: readonly queries.DeliveryRow[]): Promise<DeliveryView[]> {
  if (rows.length === 0) return []
  const since = new Date(Math.min(...rows.map((row) => row.createdAt.getTime())))
  const attempts = Map.groupBy(await queries.listAttempts(db, rows, since), (attempt) => attempt.deliveryId)
  return rows.map((row) => ({
    id: row.id,
    orderId: row.orderId,
    code: row.code,
    event: row.event,
    url: row.url,
    status: row.status,
    nextAttemptAt: row.nextAt?.toISOString() ?? null,
    attempts: (attempts.get(row.id) ?? []).map(({ deliveryId: _, startedAt, ...attempt }) => ({
      ...attempt,
      startedAt: startedAt.toISOString(),
    })),
    createdAt: row.createdAt.toISOString(),
  }))
}

export type DeliveryPage = { deliveries: DeliveryView[]; total: number; page: number; limit: number }

export async function listDeliveries({ db }: WebhookDeps, actor: Actor, query: DeliveryQuery): Promise<DeliveryPage> {
  const { page = 1, limit = 20 } = query
  const filter = toFilter(actor, query)
  const [rows, total] = await Promise.all([
    queries.listDeliveries(db, filter, { offset: (page - 1) * limit, limit }),
    queries.countDeliveries(db, filter),
  ])
  return { deliveries: await viewDeliveries(db, rows), total, page, limit }
}

async function findReachable({ db }: WebhookDeps, actor: Actor, id: string) {
  const row = await queries.findDelivery(db, companiesOf(actor, undefined), id)
  if (!row)
    throw new AppError('OBJECT_NOT_FOUND', {
      message: 'No delivery in your account has this id. See GET /webhook-deliveries.',
    })
  return row
}

const SIGNATURE_HEADERS = ['service-signature', 'webhook-timestamp', 'webhook-signature']

/** One delivery with the request as it is sent, except for the signatures. */
export async function readDelivery(deps: WebhookDeps, actor: Actor, id: string): Promise<DeliveryDetailView> {
  const row = await findReachable(deps, actor, id)
  const [view] = await viewDeliveries(deps.db, [row])
  if (!view) throw new AppError('OBJECT_NOT_FOUND')
  const all = webhookHeaders({ id, event: row.event, body: row.body, secret: 'whsec_', atSeconds: 0 })
  const headers: Record<string, string> = {}
  for (let index = 0; index < all.length; index += 2) {
    const name = all[index] ?? ''
    if (!SIGNATURE_HEADERS.includes(name)) headers[name] = all[index + 1] ?? ''
  }
  return { ...view, request: { method: 'POST', url: row.url, headers, body: row.body } }
}

/**
 * The delivery as a shell command, signed now: good for five minutes at a receiver that checks the time.
 * @throws OBJECT_NOT_FOUND, UNAUTHORIZED
 */
export async function curlOfDelivery(deps: WebhookDeps, actor: Actor, id: string): Promise<string> {
  const { companyId, event, body, url } = await findReachable(deps, actor, id)
  await deps.db.tx((tx) => lockActor(tx, actor, companyId))
  const account = await findWebhookAccount(deps.db, companyId)
  if (!account) throw new AppError('OBJECT_NOT_FOUND')
  const secret = deps.vault.open(account.webhookSecretSealed, secretContext(companyId))
  const atSeconds = Math.floor(deps.clock() / 1000)
  return curlText(url, webhookHeaders({ id, event, body, secret, atSeconds }), body)
}

/** @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT while the delivery is in progress */
export async function redeliver(deps: WebhookDeps, context: RequestContext, id: string): Promise<{ id: string }> {
  const { actor } = context
  const { companyId, status } = await findReachable(deps, actor, id)
  const filter = { ...toFilter(actor, {}), companyIds: [companyId], id }
  await deps.db.tx(async (tx) => {
    const [restarted] = await queries.restartDeliveries(tx, filter, { limit: 1, bucketOf, laneOf })
    if (!restarted) {
      const state = status === 'pending' ? 'still under way' : 'being changed'
      const message = `This delivery is ${state}. Look again in a moment.`
      throw new AppError('OBJECT_CONFLICT', { message })
    }
    await deps.audit.write(tx, context, { companyId, action: 'webhook.redeliver', object: `delivery:${id}` })
    await context.remember(tx, { id })
    tx.afterCommit(() => deps.wake(companyId))
  })
  return { id }
}

/** The filters of the address and of the body. @throws VALIDATION_FAILED when both name one, and not the same */
function mergeFilters(actor: Actor, query: RedeliverQuery, body: RedeliverBody): RedeliverQuery {
  const { status, ...others } = body
  const given: RedeliverQuery = { ...others, ...(status !== undefined && { status: [status].flat() }) }
  const meaningOf = (filter: RedeliverQuery, name: keyof RedeliverQuery): string =>
    JSON.stringify([name === 'limit' ? filter.limit : toFilter(actor, { [name]: filter[name] })])
  for (const name of Object.keys(query) as (keyof RedeliverQuery)[]) {
    if (given[name] === undefined || meaningOf(given, name) === meaningOf(query, name)) continue
    throw invalid(name, 'is one thing in the address and another in the body: name it once')
  }
  return { ...query, ...given }
}

/**
 * Redelivers everything that matches the filter, oldest first, at most 10 000 per call; without a status, only failed
 * and parked deliveries.
 */
export async function redeliverMany(
  deps: WebhookDeps,
  context: RequestContext,
  { query, body }: { query: RedeliverQuery; body: RedeliverBody },
): Promise<{ redelivered: number; limit: number }> {
  const { actor } = context
  const input = mergeFilters(actor, query, body)
  const asked = toFilter(actor, input)
  const { limit = REDELIVER_LIMIT } = input
  const statuses: readonly queries.DeliveryStatus[] = input.status === undefined ? ['failed', 'parked'] : asked.statuses
  return deps.db.tx(async (tx) => {
    const place = { limit, bucketOf, laneOf }
    // a status that is there without a word was lost: it matches nothing
    const filter = { ...asked, statuses, id: null }
    const restarted = statuses.length === 0 ? [] : await queries.restartDeliveries(tx, filter, place)
    for (const [companyId, rows] of Map.groupBy(restarted, (row) => row.companyId)) {
      const detail = { filter: JSON.stringify(input), count: rows.length }
      await deps.audit.write(tx, context, { companyId, action: 'webhook.redeliver-many', detail })
      tx.afterCommit(() => deps.wake(companyId))
    }
    const result = { redelivered: restarted.length, limit }
    await context.remember(tx, result)
    return result
  })
}

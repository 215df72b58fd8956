import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { lockActor } from '../../companies/company-scope.ts'
import { type Actor, companyOf, sees } from '../../http/actor.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { AppError } from '../../kernel/errors.ts'
import { newWebhookSecret } from '../../kernel/ids.ts'
import { EVENTS, isSubscribed, OPTIONAL_EVENTS, type WebhookEvent } from '../outbox/events.ts'
import { webhookHeaders } from '../outbox/signature.ts'
import * as queries from '../outbox/subscription-queries.ts'
import { SECRET_AGE_MS, secretContext } from '../outbox/webhook-secret.ts'
import { checkWebhookUrl, type WebhookUrlRules } from '../outbox/webhook-url.ts'
import type { AttemptSender } from '../sender/attempt.ts'
import type { WebhookDeps } from './delivery-service.ts'

/** The company of the request: operators name it, all others belong to one. */
export function accountOf(actor: Actor, companyId: string | undefined): string {
  if (companyId === undefined) return companyOf(actor)
  if (!sees(actor, companyId)) throw new AppError('OBJECT_NOT_FOUND')
  return companyId
}

export async function findAccount({ db }: WebhookDeps, companyId: string): Promise<queries.WebhookAccount> {
  const account = await queries.findWebhookAccount(db, companyId)
  if (!account) throw new AppError('OBJECT_NOT_FOUND')
  return account
}

export type SecretView = { webhookSigningSecret: string }

export async function readSecret(
  deps: WebhookDeps,
  context: RequestContext,
  companyId: string | undefined,
): Promise<SecretView> {
  const { actor } = context
  const account = await findAccount(deps, accountOf(actor, companyId))
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, account.id)
    await deps.audit.write(tx, context, { companyId: account.id, action: 'webhook.read-secret' })
  })
  return { webhookSigningSecret: deps.vault.open(account.webhookSecretSealed, secretContext(account.id)) }
}

/**
 * Replaces the secret. When this returns, the old one is no longer used, on any node, not even for retries of old
 * events: senders read the secret for each attempt and never use a copy older than SECRET_AGE_MS.
 */
export async function regenerateSecret(
  deps: WebhookDeps,
  context: RequestContext,
  companyId: string | undefined,
): Promise<SecretView> {
  const { actor } = context
  const account = await findAccount(deps, accountOf(actor, companyId))
  const secret = { webhookSigningSecret: newWebhookSecret() }
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, account.id)
    await queries.updateWebhookSecret(
      tx,
      account.id,
      deps.vault.seal(secret.webhookSigningSecret, secretContext(account.id)),
    )
    await deps.audit.write(tx, context, { companyId: account.id, action: 'webhook.regenerate-secret' })
    await context.remember(tx, secret)
  })
  await delay(SECRET_AGE_MS)
  return secret
}

/**
 * Prepares the next secret without using it: the merchant adds it to the receiver, sends a test (`testNextSecret`) and
 * only then activates it (`activateNextSecret`). Preparing again replaces it.
 */
export async function prepareNextSecret(
  deps: WebhookDeps,
  context: RequestContext,
  companyId: string | undefined,
): Promise<SecretView> {
  const { actor } = context
  const account = await findAccount(deps, accountOf(actor, companyId))
  const secret = { webhookSigningSecret: newWebhookSecret() }
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, account.id)
    const sealed = deps.vault.seal(secret.webhookSigningSecret, secretContext(account.id))
    await queries.updateNextWebhookSecret(tx, account.id, sealed)
    await deps.audit.write(tx, context, { companyId: account.id, action: 'webhook.prepare-secret' })
    await context.remember(tx, secret)
  })
  return secret
}

/** Test webhooks are sent at once, outside the sender's queue. */
export type RotationDeps = WebhookDeps & { attempts: AttemptSender; rules: WebhookUrlRules }

const nothingPrepared = () =>
  new AppError('OBJECT_CONFLICT', {
    message: 'No next secret is prepared. Prepare one first: POST …/webhook-secret/next.',
  })

const otherPrepared = () =>
  new AppError('OBJECT_CONFLICT', {
    message:
      'Someone prepared another secret after yours. Agree on one, then prepare it again: POST …/webhook-secret/next.',
  })

export type TestResult = { delivered: boolean; statusCode: number | null; errorCode: string | null; durationMs: number }

/** Sends one webhook of the event `webhook.test`, signed with the prepared secret, and returns the outcome. */
export async function testNextSecret(
  deps: RotationDeps,
  actor: Actor,
  input: { url: string; companyId?: string },
): Promise<TestResult> {
  checkWebhookUrl(input.url, deps.rules)
  const account = await findAccount(deps, accountOf(actor, input.companyId))
  if (account.nextWebhookSecretSealed === null) throw nothingPrepared()
  const secret = deps.vault.open(account.nextWebhookSecretSealed, secretContext(account.id))
  const now = deps.clock()
  const [id, event] = [randomBytes(16).toString('hex'), 'webhook.test']
  const body = JSON.stringify({ event, createdAt: new Date(now).toISOString() })
  const headers = webhookHeaders({ id, event, body, secret, atSeconds: Math.floor(now / 1000) })
  const { failure, statusCode, durationMs } = await deps.attempts.send({ url: input.url, headers, body })
  return { delivered: failure === null, statusCode, errorCode: failure, durationMs }
}

/**
 * Activates the prepared secret. When this returns, the old one is no longer used, as with `regenerateSecret`.
 * @throws OBJECT_CONFLICT if none is prepared, or one with another end
 */
export async function activateNextSecret(
  deps: WebhookDeps,
  context: RequestContext,
  { companyId, endsWith = '' }: { companyId: string | undefined; endsWith: string | undefined },
): Promise<null> {
  const { actor } = context
  const account = await findAccount(deps, accountOf(actor, companyId))
  const { nextWebhookSecretSealed: sealed } = account
  if (sealed === null) throw nothingPrepared()
  if (!deps.vault.open(sealed, secretContext(account.id)).endsWith(endsWith)) throw otherPrepared()
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, account.id)
    if ((await queries.activateNextWebhookSecret(tx, account.id, sealed)) === 0) throw otherPrepared()
    await deps.audit.write(tx, context, { companyId: account.id, action: 'webhook.activate-secret' })
    await context.remember(tx, null)
  })
  await delay(SECRET_AGE_MS)
  return null
}

export type SubscriptionsView = { events: WebhookEvent[]; available: WebhookEvent[] }

const view = (optionalEvents: readonly string[]): SubscriptionsView => ({
  events: EVENTS.filter((event) => isSubscribed(optionalEvents, event)),
  available: [...OPTIONAL_EVENTS],
})

export async function readSubscriptions(
  deps: WebhookDeps,
  actor: Actor,
  companyId: string | undefined,
): Promise<SubscriptionsView> {
  return view((await findAccount(deps, accountOf(actor, companyId))).optionalEvents)
}

/**
 * Sets the optional events; the four default ones stay whatever `events` contains. Takes effect with the next event.
 */
export async function changeSubscriptions(
  deps: WebhookDeps,
  context: RequestContext,
  input: { events: readonly string[]; companyId?: string | undefined },
): Promise<SubscriptionsView> {
  const { actor } = context
  const account = await findAccount(deps, accountOf(actor, input.companyId))
  const events = OPTIONAL_EVENTS.filter((event) => input.events.includes(event))
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, account.id)
    await queries.updateOptionalEvents(tx, account.id, events)
    const detail = { before: account.optionalEvents, after: events }
    await deps.audit.write(tx, context, { companyId: account.id, action: 'webhook.change-subscriptions', detail })
  })
  return view(events)
}

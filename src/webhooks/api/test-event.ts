import { randomBytes } from 'node:crypto'
import type { RequestContext } from '../../http/request-context.ts'
import { DAY, MINUTE, SECOND } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { WebhookEvent } from '../outbox/events.ts'
import { webhookHeaders } from '../outbox/signature.ts'
import { secretContext } from '../outbox/webhook-secret.ts'
import { checkWebhookUrl } from '../outbox/webhook-url.ts'
import { accountOf, findAccount, type RotationDeps } from './subscription-service.ts'

/** No real order has this code: its characters never occur in codes. */
const CODE = 'TEST-ORDER'
const PAID: readonly string[] = ['order.paid', 'order.refunding', 'order.refunded', 'order.full_refunded']

/** An order as webhooks show it, marked as a test. */
function sampleOrder(event: WebhookEvent, nowMs: number): Record<string, unknown> {
  const iso = (at: number): string => new Date(at).toISOString()
  const refunded = { 'order.refunded': '10.000000', 'order.full_refunded': '54.000000' }[event as string] ?? '0.000000'
  return {
    ...{ _id: newId(nowMs), code: CODE, shortCode: 'TEST0RDR' },
    ...{ fromAmount: '50.00', toAmount: '54.000000', fromAsset: 'EUR', toAsset: 'USDC' },
    status: event.slice('order.'.length).toUpperCase(),
    paymentChannel: event === 'order.initial' ? null : 'crypto',
    ...{ webhookUrl: null, alias: 'TEST-1001', goods: null, metadata: null },
    ...{ createdAt: iso(nowMs - MINUTE), updatedAt: iso(nowMs), expiresAt: iso(nowMs + DAY) },
    paidAt: PAID.includes(event) ? iso(nowMs - SECOND) : null,
    ...{ refundedAmount: refunded, rate: '1.08', paymentUrl: '', anonymous: false },
    ...{ merchantIdentifier: 'TILL-1', websiteUrl: null, returnUrl: null, cancelUrl: null },
  }
}

function sampleCheck(event: WebhookEvent, nowMs: number): Record<string, unknown> {
  const edd = { eddStatus: 'completed', eddOutcome: 'approved', spendingLimit: '10000.00' }
  return {
    ...{ kycId: newId(nowMs), orderId: newId(nowMs), code: CODE, alias: 'TEST-1001' },
    status: event === 'kyc.pending' ? 'pending' : event === 'kyc.refused' ? 'refused' : 'approved',
    updatedAt: new Date(nowMs).toISOString(),
    ...(event === 'kyc.edd_completed' ? edd : {}),
  }
}

export type TestEvent = { url: string; event?: WebhookEvent; companyId?: string }

/**
 * Sends one signed webhook with a made-up order to an address, immediately and without retries, and returns the
 * outcome. Its body holds `"test": true`, so that a receiver can tell it from real money.
 */
export async function sendTestEvent(deps: RotationDeps, context: RequestContext, input: TestEvent) {
  const { url, event = 'order.paid' } = input
  checkWebhookUrl(url, deps.rules)
  const account = await findAccount(deps, accountOf(context.actor, input.companyId))
  const secret = deps.vault.open(account.webhookSecretSealed, secretContext(account.id))
  const now = deps.clock()
  const facts = event.startsWith('kyc.') ? sampleCheck(event, now) : sampleOrder(event, now)
  const body = JSON.stringify({ ...facts, event, test: true })
  const id = randomBytes(16).toString('hex')
  const headers = webhookHeaders({ id, event, body, secret, atSeconds: Math.floor(now / SECOND) })
  const detail = { url, event }
  await deps.db.tx((tx) => deps.audit.write(tx, context, { companyId: account.id, action: 'webhook.test', detail }))
  const { failure, statusCode, durationMs, responseBody } = await deps.attempts.send({ url, headers, body })
  return { id, delivered: failure === null, statusCode, errorCode: failure, durationMs, responseBody, body }
}

import type { Audit } from '../audit/audit.ts'
import type { Db, Tx } from '../db/db.ts'
import { type Actor, sees } from '../http/actor.ts'
import { countMail } from '../http/limits/mail-limits.ts'
import { type AnyContext, nameOf, type RequestContext } from '../http/request-context.ts'
import { type Clock, DAY } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { Vault } from '../kernel/vault.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import type { Order } from '../orders/order.ts'
import { lockReachableOrder } from '../orders/order-service.ts'
import { findPayerContact, type PayerDeps } from '../payers/payer-service.ts'
import { announceKyc, type KycEvent } from '../webhooks/outbox/kyc-events.ts'
import type { WebhookIdKey } from '../webhooks/outbox/webhook-id-key.ts'
import type { IdentityProvider } from './identity-provider.ts'
import { isOpenCheck, type Kyc, type KycState, type KycTrigger } from './kyc.ts'
import { type KycLinks, linkKindFor } from './kyc-links.ts'
import * as queries from './kyc-queries.ts'
import { type PayerKeysOf, sealContext } from './payer-key.ts'

export type KycDeps = {
  db: Db
  vault: Vault
  webhookIdKey: WebhookIdKey
  clock: Clock
  payers: PayerDeps
  provider: IdentityProvider
  links: KycLinks
  audit: Audit
  alarm: RaiseAlarm
  payerKeysOf: PayerKeysOf
  /** Wakes the workers, which set it. */
  signals: { look(): void }
  /** A webhook was written for this company. */
  onDelivery(companyId: string): void
  /** Asks the payer to go through the check; called in a transaction, so it only writes a job. */
  askPayer(
    tx: Tx,
    order: Pick<Order, 'companyId' | 'id' | 'code' | 'shortCode'>,
    kyc: Kyc,
    email: string,
  ): Promise<void>
}

/** Who caused a change, for history and audit. */
export type Cause = { by: AnyContext; reason?: string | null }

const BATCH = 100

const auditEntry = (kyc: Kyc, action: string, { reason }: Cause) => ({
  action,
  companyId: kyc.companyId,
  object: `kyc:${kyc.id}`,
  detail: { status: kyc.status, eddStatus: kyc.eddStatus, spendingLimit: kyc.spendingLimit, reason: reason ?? null },
})

type Announcement = {
  event: KycEvent
  orders: readonly Omit<queries.WaitingOrder, 'shortCode'>[]
  requestId: string | null
}

async function announce(deps: KycDeps, tx: Tx, kyc: Kyc, { event, orders, requestId }: Announcement): Promise<void> {
  const { eddStatus, eddOutcome, spendingLimit, status, updatedAt } = kyc
  const edd =
    event === 'kyc.edd_completed' && eddOutcome !== null && spendingLimit !== null
      ? { edd: { eddStatus, eddOutcome, spendingLimit } }
      : {}
  const key = await deps.webhookIdKey(tx)
  let added = false
  for (const order of orders)
    added = (await announceKyc(tx, key, { event, kycId: kyc.id, order, status, updatedAt, ...edd }, requestId)) || added
  if (added) tx.afterCommit(() => deps.onDelivery(kyc.companyId))
}

/** Informs every order that waits for the check, a batch at a time. */
async function announceToAll(
  deps: KycDeps,
  tx: Tx,
  kyc: Kyc,
  { event, requestId }: Omit<Announcement, 'orders'>,
): Promise<void> {
  let before: string | null = null
  do {
    const orders: queries.WaitingOrder[] = await queries.listWaitingOrders(tx, kyc, BATCH, before)
    await announce(deps, tx, kyc, { event, orders, requestId })
    before = orders.length < BATCH ? null : (orders.at(-1)?.id ?? null)
  } while (before !== null)
}

/** The webhook event of a change; starting or withdrawing EDD sends none. */
function eventOf(before: KycState, after: KycState): KycEvent | null {
  if (before.status !== after.status) return `kyc.${after.status}`
  if (after.eddStatus !== 'completed') return null
  const wasCompleted = before.eddStatus === 'completed'
  const isSame = before.eddOutcome === after.eddOutcome && before.spendingLimit === after.spendingLimit
  return wasCompleted && isSame ? null : 'kyc.edd_completed'
}

export type Change = { state: KycState; trigger: KycTrigger; eddLimit?: string | null; nextCheckAt: Date | null }
type CausedChange = Change & { cause: Cause }

/** Writes a new state with history, webhooks and audit entry. Must be the last write of the transaction. */
export async function changeKyc(deps: KycDeps, tx: Tx, kyc: Kyc, change: CausedChange): Promise<Kyc> {
  const { state, trigger, nextCheckAt, cause } = change
  const eddLimit = change.eddLimit === undefined ? kyc.eddLimit : change.eddLimit
  const changed = await queries.updateKycState(tx, kyc, { ...state, eddLimit, nextCheckAt }, new Date(deps.clock()))
  const { by, reason = null } = cause
  const { requestId } = by
  await queries.insertKycHistory(tx, changed, { trigger, actor: nameOf(by), reason, requestId })
  const event = eventOf(kyc, changed)
  if (event !== null) await announceToAll(deps, tx, changed, { event, requestId })
  await deps.audit.write(tx, by, auditEntry(changed, `kyc.${trigger}`, cause))
  return changed
}

/** A decision that has not been read for more than a day is read now; this order does not wait for it. */
export async function readSooner(tx: Tx, kyc: Kyc, now: Date): Promise<void> {
  const isFar = kyc.nextCheckAt === null || kyc.nextCheckAt.getTime() - now.getTime() > DAY
  if (kyc.status !== 'pending' && kyc.provider !== 'manual' && isFar) await queries.updateKycDue(tx, kyc, now)
}

/** Updates a known payer: restores an erased e-mail, and moves an unstarted check to the current provider. */
export async function refresh(deps: KycDeps, tx: Tx, kyc: Kyc, email: string): Promise<Kyc> {
  const { provider } = deps
  const now = new Date(deps.clock())
  const moves = kyc.status === 'pending' && kyc.applicantId === null && kyc.provider !== provider.id
  const asleep = provider.id !== 'manual' && isOpenCheck(kyc) && kyc.nextCheckAt === null
  if (kyc.emailSealed !== null && !moves && !asleep) return kyc
  return queries.updateKycPayer(tx, kyc, {
    emailSealed: deps.vault.seal(email, sealContext(kyc.id)),
    savedAt: now,
    provider: moves ? provider.id : kyc.provider,
    nextCheckAt: (moves || asleep) && provider.id !== 'manual' ? now : kyc.nextCheckAt,
  })
}

/**
 * Finds or starts the check of an order's payer. Informs the merchant by webhook and the payer by mail, once per order.
 * The order must be locked. Must be the last write of the transaction.
 */
export async function askCheck(
  deps: KycDeps,
  tx: Tx,
  order: Order,
  { email, ...cause }: Cause & { email: string },
): Promise<Kyc> {
  const payer = await queries.lockPayer(tx, order.companyId, deps.payerKeysOf(email))
  const now = new Date(deps.clock())
  const known = await queries.lockKycOfPayer(tx, payer)
  const id = newId(now.getTime())
  const emailSealed = deps.vault.seal(email, sealContext(id))
  const kyc = known
    ? await refresh(deps, tx, known, email)
    : await queries.insertKyc(tx, {
        ...payer,
        id,
        emailSealed,
        provider: deps.provider.id,
        firstOrderId: order.id,
        createdAt: now,
      })
  if (!known)
    await queries.insertKycHistory(tx, kyc, {
      ...{ trigger: 'ask', reason: null, actor: nameOf(cause.by), requestId: cause.by.requestId },
    })
  if (known) await readSooner(tx, kyc, now)
  tx.afterCommit(() => deps.signals.look())
  const isNew = await queries.upsertKycOrder(tx, kyc, order.id, now)
  if (isNew && kyc.status === 'pending') {
    const { requestId } = cause.by
    await announce(deps, tx, kyc, { event: 'kyc.pending', orders: [order], requestId })
  }
  // from a pay page that does not lead into the check, its payer comes by mail only, whatever the check says
  const isOnlyMailed =
    linkKindFor(cause.by.actor, order.companyId) === 'page' && !(await queries.isOpenToPage(tx, kyc, order.id))
  // anyone may type this e-mail on a pay page
  const isAsked =
    ((isNew && isOpenCheck(kyc)) || isOnlyMailed) && (await countMail(tx, 'kyc', { email }, now.getTime())) !== null
  if (isAsked) await deps.askPayer(tx, order, kyc, email)
  if (!known) await deps.audit.write(tx, cause.by, auditEntry(kyc, 'kyc.ask', cause))
  return kyc
}

export type Asked = { kycId: string; url: string; status: string }

/** Starts a check for an order's payer. @throws PAYER_IDENTITY_REQUIRED when the payer is unknown */
export async function startCheck(deps: KycDeps, context: RequestContext, code: string): Promise<Asked> {
  const { actor } = context
  return deps.db.tx(async (tx) => {
    const order = await lockReachableOrder(tx, actor, code)
    const { email } = await findPayerContact(deps.payers, tx, order)
    if (email === null) throw new AppError('PAYER_IDENTITY_REQUIRED', { message: EMAIL_NEEDED })
    const kyc = await askCheck(deps, tx, order, { email, by: context })
    const asked = { kycId: kyc.id, url: deps.links.urlOf(order.code, kyc.id, 'handed'), status: kyc.status }
    await context.remember(tx, asked)
    return asked
  })
}

export const EMAIL_NEEDED =
  'The payer must pass an identity check, but their e-mail is unknown. Save it first ' +
  '(POST …/email/{code}, payerEmail, or on the pay page).'

/** @throws OBJECT_NOT_FOUND */
export async function lockSeenKyc(tx: Tx, actor: Actor, id: string): Promise<Kyc> {
  const kyc = await queries.lockKyc(tx, id)
  if (!kyc || !sees(actor, kyc.companyId)) throw new AppError('OBJECT_NOT_FOUND')
  return kyc
}

/** @throws OBJECT_NOT_FOUND */
export async function findSeenKyc({ db }: KycDeps, actor: Actor, id: string): Promise<Kyc> {
  const kyc = await queries.findKyc(db, id)
  if (!kyc || !sees(actor, kyc.companyId)) throw new AppError('OBJECT_NOT_FOUND')
  return kyc
}

/** The payer's e-mail; null after an erasure. */
export const openEmail = ({ vault }: Pick<KycDeps, 'vault'>, kyc: Kyc): string | null =>
  kyc.emailSealed === null ? null : vault.open(kyc.emailSealed, sealContext(kyc.id))

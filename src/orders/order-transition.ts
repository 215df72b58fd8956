import { findSaleCompany } from '../companies/sale-queries.ts'
import type { Tx } from '../db/db.ts'
import { deliveryId } from '../kernel/ids.ts'
import { insertDeliveries } from '../webhooks/outbox/delivery-queries.ts'
import { isSubscribed, type WebhookEvent } from '../webhooks/outbox/events.ts'
import type { WebhookIdKey } from '../webhooks/outbox/webhook-id-key.ts'
import { type Order, viewOrder } from './order.ts'
import { insertOrderEvent, type OrderChange, updateOrderStatus } from './order-queries.ts'
import { nextStatus, TRANSITIONS, type Trigger } from './order-states.ts'

export type EventContext = { requestId: string | null; refundId: string | null }

/** Writes the webhook of an order's event, if the order has a webhook URL and its company is subscribed. */
export type Announce = (tx: Tx, order: Order, event: WebhookEvent, context: EventContext) => Promise<void>

export type Move = {
  trigger: Trigger
  /** Who did it: `user:<id>`, `apiKey:<id>`, `payer`, `channel:<name>`, `time`, `operator`. */
  actor: string
  requestId: string | null
  /** Fields that change with the status. */
  change?: Omit<OrderChange, 'status'>
  /** Refund events: each refund is announced once. */
  refundId?: string
}

/** The only way an order changes state; the order must have been locked in this transaction. */
export type TransitionOrder = (tx: Tx, order: Order, move: Move) => Promise<Order>

export type OrderSignals = {
  /** A delivery is due. */
  onDelivery(companyId: string): void
  /** An order changed: its viewers should reload it. */
  onChange(code: string): void
  /** An order was cancelled or expired: its payment is closed at the provider. */
  onEnd?(order: Order): void
}

export type TransitionDeps = {
  clock: () => number
  webhookIdKey: WebhookIdKey
  payUrl: string
  signals: OrderSignals
  /**
   * Runs in the transaction by which an order that waited for its money ends unpaid, or waits for it at another place.
   * May refuse, by throwing.
   */
  onTurn?(tx: Tx, order: Order, by: { trigger: Trigger; actor: string }): Promise<void>
  /** Runs in the transaction that makes the order paid. */
  onPaid?(tx: Tx, order: Order): Promise<void>
}

export function openAnnounce({ webhookIdKey, payUrl, signals }: TransitionDeps): Announce {
  return async (tx, order, event, { requestId, refundId }) => {
    if (order.webhookUrl === null) return
    const company = await findSaleCompany(tx, order.companyId)
    if (!company || !isSubscribed(company.optionalEvents, event)) return
    const { companyId, id: orderId } = order
    const added = await insertDeliveries(tx, [
      {
        companyId,
        id: deliveryId(await webhookIdKey(tx), { companyId, orderId, event, refundId }),
        orderId,
        event,
        refundId,
        url: order.webhookUrl,
        body: JSON.stringify({ ...viewOrder(order, payUrl), event }),
        requestId,
        at: order.updatedAt,
      },
    ])
    if (added > 0) tx.afterCommit(() => signals.onDelivery(companyId))
  }
}

const TURNS: readonly Trigger[] = ['accept', 'requote', 'cancel', 'expire']

/**
 * Checks the table, then writes status, history and webhook, all in the caller's transaction.
 * @throws ORDER_STATE_CONFLICT when the table does not allow the move
 */
export function openTransition(deps: TransitionDeps, announce: Announce): TransitionOrder {
  return async (tx, order, { trigger, actor, requestId, change = {}, refundId }) => {
    const status = nextStatus(order.status, trigger)
    if (order.paymentId !== null && TURNS.includes(trigger)) await deps.onTurn?.(tx, order, { trigger, actor })
    const moved = await updateOrderStatus(tx, order, { ...change, status }, new Date(deps.clock()))
    const event = TRANSITIONS[trigger].event as WebhookEvent | null
    await insertOrderEvent(tx, moved, { trigger, fromStatus: order.status, event, actor, requestId })
    if (event !== null) await announce(tx, moved, event, { requestId, refundId: refundId ?? null })
    if (order.paidAt === null && moved.paidAt !== null) await deps.onPaid?.(tx, moved)
    tx.afterCommit(() => deps.signals.onChange(moved.code))
    if (trigger === 'cancel' || trigger === 'expire') tx.afterCommit(() => deps.signals.onEnd?.(moved))
    return moved
  }
}

import type { Api } from './api.ts'
import type { Order } from './generated/schemas.ts'
import { sleep } from './transport.ts'

export type OrderStatus = Order['status']
export type WaitOptions = {
  timeoutMs?: number
  signal?: AbortSignal
  pollMs?: number
  /** The order's company, for credentials that see more than one. */
  companyId?: string
}

/** States that an order never leaves on its own: waiting longer would be pointless. */
const ENDED: readonly OrderStatus[] = ['CANCELLED', 'EXPIRED', 'ERROR', 'KYT_FAILED', 'FULL_REFUNDED']

/** A refunded order can only be refunded further: it does not become PAID again. */
const hasRefund = (status: OrderStatus, statuses: readonly OrderStatus[]): boolean =>
  status === 'REFUNDED' && !statuses.some((one) => one === 'REFUNDING' || one === 'FULL_REFUNDED')

/** The order did not reach the state: it ended in another one, or the time ran out. */
export class WaitError extends Error {
  override readonly name = 'WaitError'
  readonly order: Order
  constructor(message: string, order: Order) {
    super(message)
    this.order = order
  }
}

/**
 * Waits on the event feed, which contains every state even when the next one follows at once.
 * @throws WaitError when the order ends otherwise, or on timeout
 */
export async function waitUntil(
  api: Api,
  code: string,
  statuses: readonly OrderStatus[],
  { timeoutMs = 15 * 60_000, pollMs = 1000, signal, companyId }: WaitOptions,
): Promise<Order> {
  const until = Date.now() + timeoutMs
  const options = signal ? { signal } : {}
  const company = companyId === undefined ? {} : { companyId }
  let { nextCursor: after } = await api.listEvents({ after: 'latest', ...company }, options)
  // read after the cursor was taken: anything in between is in the feed
  let order: Order = await api.getOrderByCode({ code }, options)
  for (;;) {
    if (statuses.includes(order.status)) return order
    if (ENDED.includes(order.status) || hasRefund(order.status, statuses)) {
      throw new WaitError(`Order ${code} is ${order.status} and will not become ${statuses.join(' or ')}.`, order)
    }
    if (Date.now() >= until) break
    await sleep(Math.min(pollMs, Math.max(0, until - Date.now())), signal)
    const page = await api.listEvents({ after, limit: 1000, ...company }, options)
    after = page.nextCursor
    for (const event of page.events.filter((one) => one.order.code === code)) {
      order = event.order
      if (statuses.includes(order.status)) return order
    }
  }
  // the feed of another company never says anything of this order
  order = await api.getOrderByCode({ code }, options)
  if (statuses.includes(order.status)) return order
  throw new WaitError(`Order ${code} is still ${order.status} after ${timeoutMs} ms.`, order)
}

import type { Api } from './api.ts'
import { ComptoirError, isTemporary } from './errors.ts'
import { ORDER_STATUSES, type Order } from './generated/schemas.ts'
import { type CallOptions, LONGEST_TIMER_MS, sleep } from './transport.ts'

export type OrderStatus = Order['status']
export type WaitOptions = {
  /** Default 15 minutes. While the service is away, the wait goes on until then, and ends at most 5 s later. */
  timeoutMs?: number
  signal?: AbortSignal
  pollMs?: number
  /** The order's company, for credentials that see more than one. */
  companyId?: string
}

/** States that an order does not leave on its own: waiting longer would be pointless. */
const ENDED: readonly OrderStatus[] = ['CANCELLED', 'EXPIRED', 'ERROR', 'KYT_FAILED', 'FULL_REFUNDED']
/** What may happen to some of them all the same, hours or days later. */
const REVIVED_BY: Partial<Record<OrderStatus, string>> = {
  CANCELLED: 'money that comes late',
  EXPIRED: 'money that comes late or a new quote',
  ERROR: 'money that comes late or a new quote',
}

/** The last read comes when the time is over. */
const LAST_READ_MS = 5000
/** While the service is away, each pause is twice as long as the one before, up to this. */
const LONGEST_PAUSE_MS = 8000

/** A refunded order can only be refunded further: it does not become PAID again. */
const hasRefund = (status: OrderStatus, statuses: readonly OrderStatus[]): boolean =>
  status === 'REFUNDED' && !statuses.some((one) => one === 'REFUNDING' || one === 'FULL_REFUNDED')

function endOf({ code, status }: Order, statuses: readonly OrderStatus[]): string {
  const cause = REVIVED_BY[status]
  const rest = cause ? `; ${cause} can still make it PAID` : ` and will not become ${statuses.join(' or ')}`
  return `Order ${code} is ${status}${rest}.`
}

/** The order did not reach the state: it ended in another one, which may not be for ever, or the time ran out. */
export class WaitError extends Error {
  override readonly name = 'WaitError'
  readonly order: Order
  constructor(message: string, order: Order, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.order = order
  }
}

/** Sends calls that end in time. No answer, and a service that is busy or away, are undefined. */
function openAsking(signal: AbortSignal | undefined) {
  let failure: unknown
  return {
    /** Why the newest call had no answer. */
    failure: () => failure,
    async ask<Answer>(ms: number, send: (options: CallOptions) => Promise<Answer>): Promise<Answer | undefined> {
      const limit = AbortSignal.timeout(Math.min(Math.max(0, ms), LONGEST_TIMER_MS))
      failure = undefined
      try {
        return await send({ signal: signal ? AbortSignal.any([signal, limit]) : limit })
      } catch (error) {
        if (signal?.aborted) throw signal.reason
        if (error !== limit.reason && !isTemporary(error)) throw error
        failure = error
        return undefined
      }
    },
  }
}

/** A state that no order ever has would be waited for until the time is over. */
function refuseWrongStates(statuses: readonly string[]): void {
  const known: readonly string[] = ORDER_STATUSES
  const unknown = statuses.find((status) => !known.includes(status))
  if (statuses.length > 0 && unknown === undefined) return
  const problem = unknown === undefined ? 'needs a state' : `knows no state “${unknown}”`
  throw new TypeError(`waitUntil ${problem}. Choose from: ${known.join(', ')}.`)
}

/**
 * Waits on the event feed, which contains every state even when the next one follows at once.
 * @throws TypeError for a state that does not exist
 * @throws WaitError when the order ends otherwise, or on timeout
 * @throws ComptoirError when a call is refused, or the order could not be read at all
 */
export async function waitUntil(
  api: Api,
  code: string,
  statuses: readonly OrderStatus[],
  { timeoutMs = 15 * 60_000, pollMs = 1000, signal, companyId }: WaitOptions,
): Promise<Order> {
  refuseWrongStates(statuses)
  const until = Date.now() + timeoutMs
  const company = companyId === undefined ? {} : { companyId }
  const asking = openAsking(signal)
  const read = (ms: number) => asking.ask(ms, (options) => api.getOrderByCode({ code }, options))
  let after: string | undefined
  let order: Order | undefined
  /** The states since the last look, as far as they are known. */
  const look = async (): Promise<Order[] | undefined> => {
    const leftMs = until - Date.now()
    const query = after === undefined || order === undefined ? { after: 'latest' } : { after, limit: 1000 }
    const page = await asking.ask(leftMs, (options) => api.listEvents({ ...query, ...company }, options))
    if (!page) return undefined
    after = page.nextCursor
    if (order) return page.events.map((event) => event.order).filter((one) => one.code === code)
    // read after the cursor was taken: anything in between is in the feed
    const first = await read(until - Date.now())
    return first && [first]
  }
  for (let pauseMs = pollMs, last = false; ; ) {
    // the feed of another company never says anything of this order
    const states = last ? [(await read(LAST_READ_MS)) ?? []].flat() : await look()
    for (const state of states ?? []) {
      order = state
      if (statuses.includes(order.status)) return order
    }
    if (order && (ENDED.includes(order.status) || hasRefund(order.status, statuses)))
      throw new WaitError(endOf(order, statuses), order)
    if (last) break
    last = Date.now() >= until
    if (last) continue
    pauseMs = states ? pollMs : Math.max(pollMs, Math.min(2 * pauseMs, LONGEST_PAUSE_MS))
    await sleep(Math.min(pauseMs, Math.max(0, until - Date.now())), signal)
  }
  const failure = asking.failure()
  if (order) throw new WaitError(`Order ${code} is still ${order.status} after ${timeoutMs} ms.`, order, failure)
  if (failure instanceof ComptoirError) throw failure
  const message = `Order ${code} could not be read within ${timeoutMs} ms.`
  throw new ComptoirError({ status: 0, code: 'TIMED_OUT', message, cause: failure })
}

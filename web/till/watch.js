/* Follows one order: the live stream says when to look, and every few seconds without it. */
import { ask } from './api.js'

const POLL_MS = 3000
const FINAL = ['PAID', 'CANCELLED', 'EXPIRED', 'ERROR', 'REFUNDED', 'FULL_REFUNDED', 'KYT_FAILED']

/** The order's status in the till's words. */
export const stateOf = (status) =>
  ({
    INITIAL: 'waiting',
    PENDING: 'chosen',
    AWAITING: 'chosen',
    WAITING_CHAIN_CONFIRMATION: 'seen',
    PAID: 'paid',
    EXPIRED: 'expired',
    CANCELLED: 'cancelled',
    ERROR: 'error',
    KYT_FAILED: 'review',
    REFUNDING: 'refunding',
    REFUNDED: 'refunded',
    FULL_REFUNDED: 'refunded',
  })[status] ?? 'waiting'

/** @returns ends it */
export function watch(code, onChange) {
  let last
  let ended = false
  let timer
  let source
  const end = () => {
    ended = true
    clearTimeout(timer)
    source?.close()
  }
  const look = async () => {
    clearTimeout(timer)
    const order = await ask('GET', `confirm_conversion/status/${code}`).catch(() => null)
    if (ended) return
    if (order && order.status !== last) {
      last = order.status
      onChange(order)
      if (FINAL.includes(order.status)) return end()
    }
    timer = setTimeout(look, source?.readyState === EventSource.OPEN ? 10 * POLL_MS : POLL_MS)
  }
  const connect = () => {
    source = new EventSource(`/pay/events?code=${code}`)
    source.addEventListener('state', look)
    // the stream is closed when the order has ended, and while the service is away
    source.onerror = () => {
      source.close()
      if (ended) return
      void look()
      setTimeout(() => ended || connect(), POLL_MS)
    }
  }
  connect()
  void look()
  return end
}

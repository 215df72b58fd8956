/* Follows one order: the live stream says when to look, and every few seconds without it. */
import { ask } from './api.js'

const POLL_MS = 3000
const FINAL = ['PAID', 'REFUNDED', 'FULL_REFUNDED', 'KYT_FAILED']
/** Ended, but the customer may have paid in the last second: money that is accepted late makes it PAID. */
const ENDED = ['CANCELLED', 'EXPIRED', 'ERROR']

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

/** What is still missing where a part was paid, as the pay page's stream says it in the till's language; else null. */
export function missingOf(fragment) {
  if (!/^<div data-state="partly"/.test(fragment)) return null
  return /<dl class="facts">.*?<dd>.*?<dd>([^<]*)<\/dd>/s.exec(fragment)?.[1] ?? null
}

/**
 * @param onChange the order, and how much is missing where a part was paid
 * @returns ends it
 */
export function watch(code, onChange) {
  let last
  let missing = null
  let isOver = false
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
    if (order && `${order.status} ${missing}` !== last) {
      last = `${order.status} ${missing}`
      onChange(order, missing)
      if (FINAL.includes(order.status)) return end()
    }
    isOver = ENDED.includes(order?.status)
    if (isOver) source?.close()
    timer = setTimeout(look, source?.readyState === EventSource.OPEN ? 10 * POLL_MS : isOver ? 2 * POLL_MS : POLL_MS)
  }
  const connect = () => {
    source = new EventSource(`/pay/events?code=${code}&lang=${document.documentElement.lang}`)
    source.addEventListener('state', ({ data }) => {
      missing = missingOf(data)
      void look()
    })
    // the stream is closed when the order has ended, and while the service is away
    source.onerror = () => {
      source.close()
      if (ended || isOver) return
      void look()
      setTimeout(() => ended || connect(), POLL_MS)
    }
  }
  connect()
  void look()
  return end
}

/* Follows one order: the live stream says when to look, and every few seconds without it. */
import { ask } from './api.js'

const POLL_MS = 3000
const FINAL = ['PAID', 'REFUNDED', 'FULL_REFUNDED', 'KYT_FAILED']
/**
 * Ended, but the customer may have paid in the last second: money that is accepted late makes it PAID. A fresh price
 * opens it again.
 */
const ENDED = ['CANCELLED', 'EXPIRED', 'ERROR']

/**
 * What the pay page's stream says of an order's money: whether there is any, also on its way, and what is missing where
 * a part was paid, in the till's language. A service of before says neither.
 */
export function moneyOf(fragment) {
  const page = new DOMParser().parseFromString(fragment, 'text/html')
  const { state, money, missing } = /** @type {any} */ (page.body.firstElementChild).dataset
  return { isThere: money === '1' || state === 'partly', missing: missing ?? null }
}

const NONE = { isThere: false, missing: null }

/**
 * @param onChange the order, and its money: see `moneyOf`
 * @returns ends it
 */
export function watch(code, onChange) {
  let last
  let money = NONE
  let isOver = false
  let ended = false
  let timer
  let retry
  let source
  const disconnect = () => {
    clearTimeout(retry)
    source?.close()
  }
  const end = () => {
    ended = true
    clearTimeout(timer)
    disconnect()
  }
  const look = async () => {
    clearTimeout(timer)
    const order = await ask('GET', `confirm_conversion/status/${code}`).catch(() => null)
    if (ended) return
    const now = order && JSON.stringify([order.status, money])
    if (order && now !== last) {
      last = now
      onChange(order, money)
      if (FINAL.includes(order.status)) return end()
    }
    if (order) {
      const wasOver = isOver
      isOver = ENDED.includes(order.status)
      if (isOver) disconnect()
      else if (wasOver) connect()
    }
    timer = setTimeout(look, source?.readyState === EventSource.OPEN ? 10 * POLL_MS : isOver ? 2 * POLL_MS : POLL_MS)
  }
  const connect = () => {
    disconnect()
    const stream = new EventSource(`/pay/events?code=${code}&lang=${document.documentElement.lang}`)
    source = stream
    stream.addEventListener('state', ({ data }) => {
      money = moneyOf(data)
      void look()
    })
    // the stream is closed when the order has ended, and while the service is away
    stream.onerror = () => {
      stream.close()
      if (ended || isOver || stream !== source) return
      void look()
      retry = setTimeout(connect, POLL_MS)
    }
  }
  connect()
  void look()
  return end
}

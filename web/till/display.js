/* The customer's screen: shows the till's newest order. It needs no PIN, only the device. */
import { ask, on, Refused } from './api.js'
import { money } from './format.js'
import { stateOf } from './states.js'

const words = JSON.parse(document.getElementById('words').textContent)
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id)
const LOOK_MS = 1500
/** How long thanks and refusals stay. */
const LINGER_MS = 15_000

let timer
let code = null
let status = null
/** Since when it has had a status that is not open. */
let endedAt = 0
/** Before, the service refuses this device. */
let waitUntil = 0

function draw(order) {
  const state = order ? stateOf(order.status) : 'idle'
  const isOpen = ['waiting', 'chosen'].includes(state)
  // late money, a fresh price: an order that ended may have news
  if (order && (order.code !== code || order.status !== status)) endedAt = 0
  code = order?.code ?? null
  status = order?.status ?? null
  if (order && !isOpen && state !== 'seen') endedAt ||= Date.now()
  const isOver = state === 'idle' || (endedAt !== 0 && Date.now() - endedAt > LINGER_MS)
  document.body.dataset.state = isOver ? '' : state
  byId('welcome').hidden = !isOver
  byId('order').hidden = isOver
  if (isOver) return
  byId('pay-amount').textContent = money(order.amount, order.asset)
  byId('state').textContent =
    state === 'paid' ? `${words.states.paid}. ${words.thanks}` : isOpen ? '' : words.states[state]
  byId('scan').hidden = !isOpen
  const qr = byId('qr')
  qr.hidden = !isOpen
  const address = `/till/qr?code=${order.code}`
  if (isOpen && !qr.src.endsWith(address)) qr.src = address
}

async function look() {
  clearTimeout(timer)
  let pauseMs = LOOK_MS
  try {
    draw((await ask('GET', 'till/display')).order)
  } catch (error) {
    if (error instanceof Refused && error.status === 401) location.assign('/till')
    if (error instanceof Refused && error.waitMs > 0) {
      pauseMs = Math.max(LOOK_MS, error.waitMs)
      waitUntil = Date.now() + pauseMs
    }
  }
  timer = setTimeout(look, pauseMs)
}

if ('BroadcastChannel' in window)
  new BroadcastChannel('till').addEventListener('message', () => {
    if (Date.now() >= waitUntil) void look()
  })
on('online', (isOnline) => {
  byId('lost').hidden = isOnline
})
void look()
void navigator.wakeLock?.request('screen').catch(() => {})

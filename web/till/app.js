import {
  ask,
  call,
  endLeft,
  hasConnection,
  keepIfRoom,
  Offline,
  on,
  Refused,
  StorageFull,
  session,
  signIn,
  signOut,
} from './api.js'
import { exponentOf, locale, money, timeOf } from './format.js'
import { watchKept } from './kept.js'
import {
  Doubtful,
  discard,
  flush,
  follow,
  GivenUp,
  listOfOthers,
  listRefused,
  listWaiting,
  sell,
  setRead,
  takeOver,
} from './sales.js'
import { celebrate, wakeSound, warn } from './sound.js'
import { stateOf } from './states.js'
import { watch } from './watch.js'

const words = JSON.parse(document.getElementById('words').textContent)
/** @type {(id: string) => any} what the page holds, as the element that it is */
const byId = (id) => document.getElementById(id)
const INFO = 'till.info'
const CURRENCY = 'till.currency'
const MAX_DIGITS = 9
const customer = 'BroadcastChannel' in window ? new BroadcastChannel('till') : null

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...children)
  return element
}

/* ---- screens ---- */

const SCREENS = ['enrol', 'people', 'pin', 'sale', 'pay', 'orders', 'shift']
let screen = ''
/** Counts what was on the screen, one sale after the other too. */
let turn = 0
function show(name) {
  screen = name
  turn += 1
  for (const one of SCREENS) byId(one).hidden = one !== name
  byId('bar').hidden = ['enrol', 'people', 'pin'].includes(name)
  document.body.dataset.screen = name
  if (name !== 'pay') leavePay()
  hush()
  byId(name).querySelector('[data-first]')?.focus()
}

/** What was said belongs to the screen that it was said on. */
function hush() {
  byId('say').hidden = true
}

let sayTimer
/** A line for eyes and screen readers that goes by itself. */
function say(text, isBad = false) {
  const line = byId('say')
  line.textContent = text
  line.dataset.bad = isBad ? 'yes' : ''
  line.hidden = false
  clearTimeout(sayTimer)
  sayTimer = setTimeout(hush, 6000)
}

const complain = (error) => say(wordsOf(error), true)

/** @returns whether the screen is still the one of now */
function staying() {
  const mine = turn
  return () => mine === turn
}

/**
 * What an answer does, it does to the screen that asked. Whoever went on in the meantime is not brought back, and reads
 * no more of it than `elsewhere` says.
 */
async function whileHere(asked, done, { failed = complain, elsewhere = (_error) => {} } = {}) {
  const isHere = staying()
  let answer
  try {
    answer = await asked
  } catch (error) {
    return isHere() ? failed(error) : elsewhere(error)
  }
  if (isHere()) done(answer)
}

/** Facts that the service gives in its sentence alone. */
const FACTS = {
  wrongPin: /^The PIN is wrong\. Tries left: (\d)\.$/,
  least: /^The smallest amount is ([\d.]+) ([A-Z]{3})\.$/,
  most: /^The largest amount of this account is ([\d.]+) ([A-Z]{3})\./,
}

/** A refusal in the words of this page; the code of one that it has no words for is what a cashier can report. */
function wordsOf(error) {
  if (error instanceof Offline) return words.offline
  if (error instanceof StorageFull) return words.storageFull
  if (!(error instanceof Refused)) return words.failed
  for (const [name, pattern] of Object.entries(FACTS)) {
    const [, fact, asset] = pattern.exec(error.message) ?? []
    if (fact !== undefined) return words[name].replace('%', asset ? money(fact, asset) : fact)
  }
  return words.errors[codeOf(error)] ?? `${words.failed} (${error.code})`
}

/** An older node calls a locked PIN a locked account. */
function codeOf({ code }) {
  return code === 'ACCOUNT_LOCKED' ? 'PIN_LOCKED' : code
}

/* ---- device and people ---- */

let till = JSON.parse(localStorage.getItem(INFO) ?? 'null')
function keepTill(info) {
  till = info
  keepIfRoom(INFO, JSON.stringify(info))
  byId('place').textContent = `${info.collector.identifier} · ${info.place}`
  const chosen = localStorage.getItem(CURRENCY)
  const select = byId('currency')
  select.replaceChildren(...info.currencies.map((one) => make('option', { value: one, textContent: one })))
  if (info.currencies.includes(chosen)) select.value = chosen
  drawAmount()
}

function forgetTill() {
  till = null
  session.end()
  localStorage.removeItem(INFO)
  show('enrol')
  say(words.revoked, true)
}

async function readTill() {
  try {
    keepTill(await ask('GET', 'till/device'))
    return true
  } catch (error) {
    if (error instanceof Refused && error.status === 401) {
      if (till) forgetTill()
      else show('enrol')
      return false
    }
    if (till) keepTill(till)
    return till !== null
  }
}

function drawPeople() {
  const people = till?.people ?? []
  byId('no-people').hidden = people.length > 0
  const sellers = listOfOthers().map(({ user }) => user?._id)
  byId('names').replaceChildren(
    ...people.map((person) => {
      const hindrance = person.locked ? words.locked : person.hasPin ? '' : words.noPin
      const note = hindrance || (sellers.includes(person._id) ? words.saleWaits : '')
      const button = make('button', { type: 'button', className: 'name', disabled: hindrance !== '' })
      button.append(make('strong', { textContent: person.name }), make('span', { textContent: note }))
      button.addEventListener('click', () => askPin(person))
      return button
    }),
  )
}

function showPeople() {
  drawPeople()
  show('people')
}

/** At once with the names that are known, then with those of now. */
function leaveToPeople() {
  showPeople()
  void whileHere(readTill(), drawPeople)
}

let person = null
let pin = ''
function askPin(one) {
  person = one
  pin = ''
  byId('pin-title').textContent = words.pinOf.replace('%', one.name)
  drawPin()
  show('pin')
}

function drawPin() {
  byId('dots').textContent = '●'.repeat(pin.length) + '○'.repeat(6 - pin.length)
  byId('dots').setAttribute('aria-label', `${pin.length} / 6`)
}

function typePin(key) {
  if (key === 'back') pin = pin.slice(0, -1)
  else if (pin.length < 6) pin += key
  drawPin()
  if (pin.length < 6) return
  const tried = pin
  pin = ''
  void whileHere(signIn(person._id, tried, staying()), enter, { failed: refusePin })
}

function refusePin(error) {
  drawPin()
  byId('dots').classList.add('wrong')
  setTimeout(() => byId('dots').classList.remove('wrong'), 500)
  if (error instanceof Refused && codeOf(error) === 'PIN_LOCKED') leaveToPeople()
  say(wordsOf(error), true)
}

function enter() {
  byId('who').textContent = session.user?.name ?? ''
  show('sale')
  drawNotes()
  showWaiting()
  void flush()
}

/** Sales that were under way before a reload or a sign-in go on; the oldest is shown. */
function showWaiting() {
  const [first, ...others] = listWaiting()
  if (first) showSending(first.key, follow(first.key), first.body)
  for (const { key, body } of others) follow(key).catch((error) => sayRefused(body, error))
}

const sumOf = ({ amount, fromAsset }) => money(amount, fromAsset)

/** Of a sale that is not on the screen. It stands above the keys until it is closed there. */
function sayRefused(body, error) {
  if (error instanceof Refused) say(`${sumOf(body)}: ${wordsOf(error)}`, true)
}

function takeOverSale({ key, body }) {
  try {
    if (takeOver(key)) showSending(key, follow(key), body)
  } catch (error) {
    say(wordsOf(error), true)
  }
}

function noteOf({ body, at }, text, buttonText, onClicked) {
  const button = make('button', { type: 'button', textContent: buttonText })
  button.addEventListener('click', onClicked)
  const sum = make('strong', { textContent: `${sumOf(body)} · ${timeOf(new Date(at))}` })
  return make('li', {}, make('p', {}, sum, ` ${text}`), button)
}

/** Above the keys: which sales were refused, and what waits of colleagues. */
function drawNotes() {
  const refused = listRefused().map((sale) => {
    const { refusal } = sale.outcome
    return noteOf(sale, wordsOf(new Refused(refusal.status, refusal)), words.close, () => setRead(sale.key))
  })
  const waiting = listOfOthers().map((sale) => {
    const text = words.waitsOf.replaceAll('%', () => sale.user?.name ?? '?')
    return noteOf(sale, text, words.takeOver, () => takeOverSale(sale))
  })
  byId('notes').replaceChildren(...refused, ...waiting)
}

/* ---- the sale ---- */

let digits = ''
const currency = () => byId('currency').value || 'EUR'

/** "1250" is 12.50; a string, because no float touches money. */
function amountText() {
  const decimals = exponentOf(currency())
  const padded = digits.padStart(decimals + 1, '0')
  return decimals === 0 ? padded : `${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`
}

function drawAmount() {
  byId('amount').textContent = money(amountText(), currency())
  byId('charge').disabled = digits === ''
}

function typeDigit(key) {
  if (key === 'back') digits = digits.slice(0, -1)
  else if ((digits + key).length <= MAX_DIGITS) digits = (digits + key).replace(/^0+/, '')
  drawAmount()
}

function charge() {
  if (digits === '') return
  hush()
  wakeSound()
  const reference = byId('reference').value.trim()
  const body = {
    amount: amountText(),
    fromAsset: currency(),
    merchantIdentifier: till.collector._id,
    // a reference makes a payment link; at a till it lives as long as a customer stands there
    ...(reference === '' ? {} : { alias: reference, expiryMinutes: 10 }),
  }
  try {
    const { key, order } = sell(body)
    setEntry('', '')
    showSending(key, order, body)
  } catch (error) {
    // nothing was kept, so nothing is sent: for example the device's storage is full
    say(wordsOf(error), true)
  }
}

function setEntry(amount, reference) {
  digits = amount
  byId('reference').value = reference
  drawAmount()
}

/** A sale that was not made stands there again to be corrected, unless the next one is being typed. */
function putBack({ amount, fromAsset, alias = '' }) {
  if (digits !== '' || byId('reference').value !== '' || !till.currencies.includes(fromAsset)) return
  byId('currency').value = fromAsset
  setEntry(amount.replace(/\D/g, '').replace(/^0+/, ''), alias)
}

/** What is on the pay screen: a sale under way, or an order. */
let shown = { key: null, code: null, end: null }

function showSending(key, order, body) {
  show('pay')
  shown = { key, code: null, end: null, body }
  byId('pay-amount').textContent = sumOf(body)
  byId('qr').hidden = true
  drawSending()
  byId('stop').textContent = words.discard
  byId('stop').hidden = false
  void whileHere(order, showOrder, {
    failed(error) {
      if (error instanceof Doubtful) return showDoubtful(error)
      show('sale')
      // another window of this till has it
      if (error instanceof GivenUp) return
      putBack(body)
      say(wordsOf(error), true)
      setRead(key)
    },
    elsewhere: (error) => sayRefused(body, error),
  })
}

const drawSending = () => setState('sending', hasConnection() ? words.sending : words.waitingSale)

/** Says of the sale on the screen what the cashier has to look up. */
function showDoubtful({ at }) {
  shown.doubtful = true
  // tills of earlier versions kept no time
  setState('doubtful', words.doubtful.replace('%', at === undefined ? '?' : timeOf(new Date(at))))
}

function showOrder(order) {
  if (screen !== 'pay') show('pay')
  shown.end?.()
  turn += 1
  const sum = money(order.fromAmount, order.fromAsset)
  shown = { key: null, code: order.code, end: null, sum }
  byId('pay-amount').textContent = sum
  byId('short').textContent = order.shortCode
  byId('named').hidden = false
  byId('receipt').href = `/till/receipt?code=${order.code}`
  const qr = byId('qr')
  qr.src = `/till/qr?code=${order.code}`
  byId('stop').textContent = words.cancelSale
  drawState(order)
  customer?.postMessage('look')
  void keepAwake()
  let { status } = order
  shown.end = watch(order.code, (now, paid) => {
    if (shown.code !== order.code) return
    drawState(now, paid)
    customer?.postMessage('look')
    // an old order that is only looked at makes no sound
    if (now.status === status) return
    status = now.status
    if (now.status === 'PAID') celebrate()
    else if (['ERROR', 'EXPIRED', 'KYT_FAILED'].includes(now.status)) warn()
  })
}

function setState(state, text) {
  document.body.dataset.state = state
  byId('state').textContent = text
}

/** @param paid whether money is there, and how much is missing where a part was paid */
function drawState({ status }, { isThere, missing } = { isThere: false, missing: null }) {
  const state = stateOf(status)
  shown.hasMoney = state === 'chosen' && isThere
  const part = missing === null ? words.states.coming : words.partly.replace('%', missing)
  setState(state, shown.hasMoney ? part : words.states[state])
  const isOpen = ['waiting', 'chosen'].includes(state)
  byId('qr').hidden = !isOpen
  byId('scan').hidden = !isOpen
  byId('stop').hidden = !isOpen
  byId('receipt').hidden = !['paid', 'refunding', 'refundedPart', 'refunded'].includes(state)
}

function leavePay() {
  shown.end?.()
  shown = { key: null, code: null, end: null }
  document.body.dataset.state = ''
  // the next sale shows nothing of this one while its own order is on its way
  for (const id of ['qr', 'scan', 'named', 'receipt']) byId(id).hidden = true
  byId('qr').removeAttribute('src')
  void lock?.release().catch(() => {})
  lock = null
}

function stopSale() {
  const { key, code, body, sum, hasMoney, doubtful } = shown
  if (key) {
    discard(key)
    show('sale')
    // one of hours ago is no longer the customer's
    if (doubtful) showWaiting()
    else putBack(body)
    return
  }
  // what was paid is a mispayment afterwards, and a manager has to send it back
  if (hasMoney && !confirm(words.stopPartly)) return
  const isCancelled = () => {
    show('sale')
    say(words.states.cancelled)
  }
  void whileHere(call('POST', `confirm_conversion/cancel/${code}`), isCancelled, {
    elsewhere: (error) => say(`${sum}: ${wordsOf(error)}`, true),
  })
}

/* ---- a screen that stays on ---- */

let lock = null
async function keepAwake() {
  if (lock && !lock.released) return
  const isHere = staying()
  const got = await navigator.wakeLock?.request('screen').catch(() => null)
  if (isHere()) lock = got
  else void got?.release().catch(() => {})
}

/* ---- recent sales, shift ---- */

function rowOf(order) {
  const state = stateOf(order.status)
  const time = timeOf(new Date(order.createdAt))
  const button = make('button', { type: 'button', className: 'row' })
  button.append(
    make('strong', { textContent: money(order.fromAmount, order.fromAsset) }),
    make('span', { textContent: [time, order.alias, order.shortCode].filter(Boolean).join(' · ') }),
    make('em', { textContent: words.states[state], className: `is-${state}` }),
  )
  button.addEventListener('click', () => showOrder(order))
  return make('li', {}, button)
}

function showOrders() {
  show('orders')
  byId('order-list').replaceChildren()
  void whileHere(call('GET', 'confirm_conversion?limit=30'), ({ orders }) => {
    byId('no-orders').hidden = orders.length > 0
    byId('order-list').replaceChildren(...orders.map(rowOf))
  })
}

function drawShift({ startedAt, sums, open, ended }) {
  const since = new Date(startedAt).toLocaleString(locale, { dateStyle: 'short', timeStyle: 'short' })
  const rows = [
    [words.shiftSince, since],
    ...sums.map(({ asset, amount, paid }) => [`${words.shiftPaid} (${paid})`, money(amount, asset)]),
    ...(sums.length === 0 ? [[words.shiftPaid, '0']] : []),
    [words.shiftOpen, String(open)],
    [words.shiftEnded, String(ended)],
  ]
  for (const [name, value] of rows)
    byId('facts').append(make('div', {}, make('dt', { textContent: name }), make('dd', { textContent: value })))
}

function showShift() {
  show('shift')
  byId('facts').replaceChildren()
  void whileHere(call('GET', 'till/shift'), drawShift)
}

function leave() {
  signOut()
  leaveToPeople()
}

/* ---- wiring ---- */

function openKeypad(id, type) {
  byId(id).addEventListener('click', (event) => {
    const key = event.target.closest('[data-key]')?.dataset.key
    if (key !== undefined) type(key)
  })
}
openKeypad('keys', typeDigit)
openKeypad('pin-keys', typePin)

document.addEventListener('keydown', ({ key, target, ctrlKey, metaKey, altKey }) => {
  if (!(target instanceof Element)) return
  if (ctrlKey || metaKey || altKey || /^(INPUT|SELECT)$/.test(target.tagName)) return
  const typed = /^\d$/.test(key) ? key : key === 'Backspace' ? 'back' : undefined
  if (screen === 'pin' && typed !== undefined) typePin(typed)
  if (screen === 'sale' && typed !== undefined) typeDigit(typed)
  if (screen === 'sale' && key === 'Enter' && target.tagName !== 'BUTTON') charge()
})

const onClick = (id, work) => byId(id).addEventListener('click', () => work())
onClick('charge', charge)
onClick('stop', stopSale)
onClick('again', () => show('sale'))
onClick('to-sale', () => show('sale'))
onClick('to-orders', showOrders)
onClick('to-shift', showShift)
onClick('sign-out', leave)
onClick('pin-back', showPeople)
byId('currency').addEventListener('change', () => {
  keepIfRoom(CURRENCY, currency())
  drawAmount()
})
byId('enrol-form').addEventListener('submit', (event) => {
  event.preventDefault()
  void whileHere(ask('POST', 'till/enrol', { enrolmentCode: byId('code').value }), (info) => {
    keepTill(info)
    byId('code').value = ''
    showPeople()
  })
})

on('online', (isOnline) => {
  byId('lost').hidden = isOnline
  document.body.dataset.online = isOnline ? 'yes' : 'no'
  if (shown.key && !shown.doubtful) drawSending()
  if (!isOnline) return
  say(words.online)
  void endLeft()
})
on('signedOut', () => {
  leaveToPeople()
  say(words.sessionOver, true)
})
watchKept(() => {
  drawNotes()
  if (screen === 'people') drawPeople()
})
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && shown.code) void keepAwake()
})

function start() {
  const asked = new URLSearchParams(location.hash.slice(1)).get('code')
  if (asked) {
    byId('code').value = asked
    history.replaceState(null, '', location.pathname + location.search)
  }
  void endLeft()
  void whileHere(readTill(), (isTill) => {
    if (isTill && session.user) enter()
    else if (isTill) showPeople()
  })
}
drawPin()
start()
void navigator.serviceWorker?.register('/till/sw.js', { scope: '/till' }).catch(() => {})

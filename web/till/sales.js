/*
 * Sales on their way to the service. Each has a key that is made and kept here before anything is sent, so that
 * sending it again after a lost answer, a reload or a dead battery can never make a second order.
 */
import { call, hasConnection, Offline, on, Refused, session } from './api.js'
import { change, find, forget, list, onChange, unpack, write } from './kept.js'

/**
 * Within the time for which the service keeps a key. An older sale is not sent: it would be a second order, or one for
 * a customer who has left.
 */
const SENT_WITHIN_MS = 4 * 3_600_000
/** One that was given up is looked up and cancelled almost as long as the service keeps its key: 48 hours. */
const CANCELLED_WITHIN_MS = 47 * 3_600_000
/**
 * How a sale ended stays for a moment: every window of this till sends what waits here, and one may wait for a sale
 * that another has sent.
 */
const ENDED_FOR_MS = 10 * 60_000
function end(sale, outcome) {
  const { key } = sale
  later.delete(key)
  const kept = find(key)
  // another window has the order, whatever came of it here
  if (kept?.outcome?.order) return answer(kept)
  const ended = { ...sale, ...kept, outcome, discarded: false, endedAt: Date.now() }
  answer(ended)
  try {
    write(ended)
  } catch {
    // the device's storage is full
    forget(key)
  }
}

/** The answer never came, and now it is too late to ask for it: whether there is an order is for the cashier to see. */
export class Doubtful extends Error {
  constructor({ at }) {
    super('no answer for hours')
    this.at = at
  }
}
/** Another window of this till has discarded it. */
export class GivenUp extends Error {}
const isOld = ({ at, discarded }) => Date.now() - at >= (discarded ? CANCELLED_WITHIN_MS : SENT_WITHIN_MS)

const waiting = new Map()
/** Sales whose request this window has sent, and that have no answer yet. */
const underWay = new Map()
/** Discarded in this window. Another one that changed the sale in the same moment may have overwritten it. */
const givenUp = new Set()
const FIRST_WAIT_MS = 150
const LONGEST_WAIT_MS = 5000
/** Before the next round, where none can be sent. */
let waitMs = FIRST_WAIT_MS
/** How long the service asks to wait. */
const askedMsOf = (error) => (error instanceof Refused ? error.waitMs : 0)
/**
 * Sales that the service could not take, or gave no answer to: each has a next try of its own, so that the others need
 * not wait for it. Its time is that of the page, which nobody sets back.
 */
const later = new Map()
const LONGEST_GAP_MS = 15_000
function putOff(key, error) {
  const gapMs = Math.min(2 * (later.get(key)?.gapMs ?? FIRST_WAIT_MS), LONGEST_GAP_MS)
  later.set(key, { gapMs, at: performance.now() + Math.max(gapMs, askedMsOf(error)) })
}

/**
 * Whoever charged a sale sends it, because it is booked to the person who sends. An earlier version kept sales without
 * a person: what was discarded there is cancelled by anyone.
 */
const isMine = ({ user, discarded }) => session.user !== null && (user ? user._id === session.user._id : discarded)
const listUnsent = () => list().filter(({ discarded, outcome }) => !discarded && !outcome)
/** The person's sales that were not handed over yet, oldest first. */
export const listWaiting = () => listUnsent().filter(isMine)
/** Those of colleagues: each waits until they sign in, or until somebody takes it over. */
export const listOfOthers = () => listUnsent().filter((sale) => !isMine(sale))

/** 128 random bits. `crypto.randomUUID` exists over https only, and a till may be tried over plain http. */
const newKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** @returns the order, as soon as there is a connection. @throws Refused when the service does not want the sale */
export function sell(body) {
  const key = newKey()
  write({ key, body, user: session.user, at: Date.now(), tries: 0, discarded: false })
  return { key, order: follow(key) }
}

/** The order of a sale that is on its way, for example after a reload. */
export function follow(key) {
  const order = new Promise((resolve, reject) => waiting.set(key, { resolve, reject }))
  void flush()
  return order
}

/** The person's sales that the service refused, and of which nobody has read that yet. */
export const listRefused = () => list().filter((sale) => sale.outcome?.refusal && !sale.isRead && isMine(sale))
export function setRead(key) {
  try {
    change(key, { isRead: true })
  } catch {
    // the device's storage is full
    forget(key)
  }
}

/**
 * From now on it is the sale of the person who is in. Where the colleague's request had arrived, its order stays the
 * colleague's.
 * @returns false where it does not wait any more
 */
export function takeOver(key) {
  const sale = listOfOthers().find((one) => one.key === key)
  if (!session.user || !sale) return false
  write({ ...sale, user: session.user, soldBy: sale.soldBy ?? sale.user })
  return true
}

/**
 * The cashier gave up. A sale that may have arrived is looked up and cancelled; one that never left, or is so old that
 * its order has ended, is forgotten.
 */
export function discard(key) {
  const sale = find(key) ?? underWay.get(key)
  waiting.delete(key)
  if (!sale || (sale.outcome && !sale.outcome.order)) return
  givenUp.add(key)
  if (sale.tries === 0 || isOld({ ...sale, discarded: true })) end(sale, {})
  // also one whose order another window has by now
  else write({ ...sale, discarded: true, outcome: undefined })
  void flush()
}

const isGivenUp = ({ discarded, outcome }) => discarded || (outcome && !outcome.order && !outcome.refusal)
/** Also while it was under way, here or in another window. */
const isGone = (sale) => givenUp.has(sale.key) || isGivenUp(sale) || isGivenUp(find(sale.key) ?? {})

async function handOver(sale) {
  const { key, body, user, soldBy } = sale
  if (sale.tries === 0) change(key, { tries: 1 })
  // in the address: with another body the key would be another sale's
  const whose = soldBy && soldBy._id !== user._id ? `?soldBy=${soldBy._id}` : ''
  const { order } = await call('POST', `confirm_conversion/request${whose}`, body, { 'idempotency-key': key })
  const gone = isGone(sale)
  if (gone) await call('POST', `confirm_conversion/cancel/${order.code}`, undefined).catch(ignoreFinal)
  const { code, shortCode, fromAmount, fromAsset, status } = order
  end(sale, gone ? {} : { order: { code, shortCode, fromAmount, fromAsset, status } })
}

/** A cancellation that the order's state forbids is no failure of ours. */
function ignoreFinal(error) {
  if (!(error instanceof Refused) || error.isPassing || error.status === 401) throw error
}

/** Answers those who wait here, whichever window ended their sale. */
function answer(ended) {
  for (const [key, { resolve, reject }] of waiting) {
    const sale = ended?.key === key ? ended : find(key)
    const { outcome, discarded } = sale ?? {}
    // its answer decides, also where the device keeps the sale no more
    const isComing = underWay.has(key) || (sale && !isOld(sale))
    if (isComing && !outcome && !discarded) continue
    waiting.delete(key)
    if (outcome?.order) resolve(outcome.order)
    else if (outcome?.refusal) reject(new Refused(outcome.refusal.status, outcome.refusal))
    else reject(outcome || discarded ? new GivenUp() : new Doubtful(sale ?? {}))
  }
}
onChange((key) => {
  const sale = givenUp.has(key) && find(key)
  if (sale && !isGivenUp(sale) && !sale.outcome?.refusal) discard(key)
  answer()
})

/** What was refused stays until it is read, or for two days. */
const keptForMs = ({ outcome, isRead }) => (outcome.refusal && !isRead ? CANCELLED_WITHIN_MS : ENDED_FOR_MS)
const isOver = (sale) => (sale.outcome ? Date.now() - sale.endedAt >= keptForMs(sale) : sale.discarded && isOld(sale))

const listOpen = () => list().filter((sale) => isMine(sale) && !sale.outcome && !isOld(sale))

/** Two lines: a sale that was put off may be without an answer again, and new ones go past it. */
const [fresh, tried] = [false, true].map((isTried) => ({ isTried, isRunning: false, again: undefined }))

/** A customer waits for each sale that was not given up, so these go first. */
function findNext({ isTried }) {
  const due = listOpen().filter(({ key }) => {
    const next = later.get(key)
    return !underWay.has(key) && (next !== undefined) === isTried && (next?.at ?? 0) <= performance.now()
  })
  return due.find(({ discarded }) => !discarded) ?? due[0]
}

/** These say nothing about the one sale; without a session all wait for the next sign-in. */
function stopsAll(error) {
  if (error instanceof Offline) return !hasConnection()
  return error instanceof Refused && [401, 429].includes(error.status)
}

async function send(sale) {
  underWay.set(sale.key, { ...sale, tries: 1 })
  try {
    await handOver(sale)
    waitMs = FIRST_WAIT_MS
  } catch (error) {
    if (stopsAll(error)) throw error
    if (!(error instanceof Refused) || error.isPassing) return putOff(sale.key, error)
    const kept = find(sale.key)
    // the colleague was refused; whoever took the sale over in the meantime was not
    if (kept && kept.user?._id !== sale.user?._id) return
    const { status, code, message } = error
    end(sale, isGone(sale) ? {} : { refusal: { status, code, message } })
  } finally {
    underWay.delete(sale.key)
  }
}

function runIn(line, delayMs) {
  line.again = setTimeout(() => void run(line), delayMs)
}

/** One after the other; what has no answer is sent again with the same key. */
async function run(line) {
  if (line.isRunning) return
  line.isRunning = true
  clearTimeout(line.again)
  try {
    unpack()
    for (const sale of list()) if (isOver(sale)) forget(sale.key)
    answer()
    for (let sale = findNext(line); sale; sale = findNext(line)) await send(sale)
    const tries = listOpen().flatMap(({ key }) => later.get(key)?.at ?? [])
    if (line === fresh) void run(tried)
    else if (tries.length > 0) runIn(line, Math.max(Math.min(...tries) - performance.now(), 0))
  } catch (error) {
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
    runIn(line, Math.max(waitMs, askedMsOf(error)))
  }
  line.isRunning = false
}

/** Sends what waits. */
export const flush = () => run(fresh)

on('online', (isOnline) => {
  waitMs = FIRST_WAIT_MS
  later.clear()
  if (isOnline && hasConnection()) void flush()
})

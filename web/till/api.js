/* Requests of the till, its session, and whether there is a connection. */

const TIMEOUT_MS = 10_000
const LOOK_MS = 2000
const HEALTH_MS = 4000

/** The service said no. */
export class Refused extends Error {
  constructor(status, { code = 'INTERNAL_ERROR', message = '', details = [] } = {}, retryAfter = null) {
    super(details.map(({ path, message: text }) => `${path} ${text}`).join('; ') || message)
    this.status = status
    this.code = code
    /** How long the service asks to wait before the next request. */
    this.waitMs = (Number(retryAfter) || 0) * 1000
  }
  /** Nothing is decided: the same request may be sent again. */
  get isPassing() {
    return this.status >= 500 || this.status === 429 || this.status === 408 || this.code === 'IDEMPOTENCY_IN_PROGRESS'
  }
}

/**
 * No answer of the service came, or not all of it: whether the request arrived is unknown. With `hasConnection()` it is
 * this one request that has none.
 */
export class Offline extends Error {}

/** `online`, and `signedOut`: a name and what comes with it. */
const listeners = new Map()
export const on = (name, listener) => listeners.set(name, [...(listeners.get(name) ?? []), listener])
const tell = (name, value) => {
  for (const listener of listeners.get(name) ?? []) listener(value)
}

let isOnline = true
let looking = false
export const hasConnection = () => isOnline

function setOnline(value) {
  if (value === isOnline) return
  isOnline = value
  tell('online', value)
  if (!value) void look()
}

/** Whether the service answers, and no sign-in page of a public network in its place. */
async function isThere() {
  try {
    const answer = await fetch('/healthz', { cache: 'no-store', signal: AbortSignal.timeout(HEALTH_MS) })
    return answer.ok && readJson(await answer.text()) !== null
  } catch {
    return false
  }
}

/** Asks until the service answers again. */
async function look() {
  if (looking) return
  looking = true
  while (!isOnline) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    if (await isThere()) setOnline(true)
  }
  looking = false
}
window.addEventListener('offline', () => setOnline(false))

function readJson(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

async function request(method, path, body, headers) {
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  const answer = await fetch(path, {
    method,
    headers: { accept: 'application/json', ...json, ...headers },
    credentials: 'same-origin',
    cache: 'no-store',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // a connection may die after the headers: an order that was made is no refusal
  const text = await answer.text()
  const parsed = readJson(text)
  // the sign-in page of a public network, the refusal of a gateway: the service has decided nothing
  const isOurs = answer.ok ? parsed?.data !== undefined : answer.status >= 500 || parsed?.error
  if (!isOurs) throw new Error('an answer of another service')
  return { answer, parsed }
}

async function send(method, path, body, headers) {
  const { answer, parsed } = await request(method, path, body, headers).catch(async (cause) => {
    // one request without an answer is no lost connection
    if (isOnline && !(await isThere())) setOnline(false)
    throw new Offline('no answer', { cause })
  })
  setOnline(true)
  if (answer.ok) return parsed.data
  throw new Refused(answer.status, parsed?.error, answer.headers.get('retry-after'))
}

/** The device has no room for another byte. */
export class StorageFull extends Error {}

/** @throws StorageFull */
export function keep(key, text) {
  try {
    localStorage.setItem(key, text)
  } catch (cause) {
    throw new StorageFull('the storage is full', { cause })
  }
}

/** What the till can do without until the next start. */
export function keepIfRoom(key, text) {
  try {
    keep(key, text)
  } catch {}
}

const readKept = (key, none) => JSON.parse(localStorage.getItem(key) ?? none)

const USER = 'till.user'
/** Whom the till has: the person of every window. */
const kept = () => readKept(USER, 'null')
/** Whom this window opened, and sells as until it has heard of another. */
let own = kept()
let token = null
export const session = {
  get user() {
    return own
  },
  end() {
    if (own && kept()?._id === own._id) localStorage.removeItem(USER)
    own = null
    token = null
  },
}

/** A person who signed out in another window, or made room for a colleague there, is out here too. */
function compare() {
  if (!own || kept()?._id === own._id) return
  session.end()
  tell('signedOut')
}
window.addEventListener('storage', ({ key }) => {
  if (key === USER || key === null) compare()
})
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) compare()
})

/** Each name's last work in this window, for browsers without locks: they have them over https only. */
const lasts = new Map()
/** One after the other under this name, in all windows of the till; one that holds on for too long is passed by. */
function inTurn(name, work) {
  if (!navigator.locks) {
    const mine = (lasts.get(name) ?? Promise.resolve()).then(work)
    lasts.set(
      name,
      mine.catch(() => {}),
    )
    return mine
  }
  let isMine = false
  const start = () => {
    isMine = true
    return work()
  }
  return navigator.locks.request(name, { signal: AbortSignal.timeout(2 * TIMEOUT_MS) }, start).catch((error) => {
    if (isMine) throw error
    return work()
  })
}
/** What sets or clears a person's cookie: two answers in the wrong order would leave the wrong one. */
const withCookieOf = (id, work) => inTurn(`till.cookie.${id}`, work)

/** Who left and is not yet out at the service: its answer ends their sessions, and their cookies here. */
const LEFT = 'till.left'
/** The same, where the storage is full. */
const leftHere = new Set()
const keptLeft = () => readKept(LEFT, '[]')
const keepLeft = (ids) => keep(LEFT, JSON.stringify([...new Set(ids)]))
const listLeft = () => [...new Set([...keptLeft(), ...leftHere])]
function forgetLeft(id) {
  leftHere.delete(id)
  if (keptLeft().includes(id)) keepLeft(keptLeft().filter((one) => one !== id))
}

const LEFT_WAIT_MS = 1000
const LEFT_MOST_MS = 60_000
let leftAgain
let leftWaitMs = LEFT_WAIT_MS

/** @returns whether there is nothing left to send */
async function sendLeft(id) {
  // in again by now, or sent by another window
  if (!listLeft().includes(id)) return true
  try {
    if (kept()?._id !== id) await ask('POST', 'auth/sign-out', undefined, { 'x-user-id': id })
  } catch (error) {
    if (!(error instanceof Refused) || error.isPassing) return false
  }
  forgetLeft(id)
  return true
}

/** What fails is tried again, less and less often; nobody waits for it. */
export async function endLeft() {
  clearTimeout(leftAgain)
  const sent = await Promise.all(listLeft().map((id) => withCookieOf(id, () => sendLeft(id))))
  clearTimeout(leftAgain)
  if (sent.every(Boolean)) {
    leftWaitMs = LEFT_WAIT_MS
    return
  }
  leftAgain = setTimeout(() => void endLeft(), leftWaitMs)
  leftWaitMs = Math.min(2 * leftWaitMs, LEFT_MOST_MS)
}

function leave(id) {
  try {
    keepLeft([...keptLeft(), id])
  } catch {
    leftHere.add(id)
  }
  void endLeft()
}

/** Here at once, at the service as soon as it answers. */
export function signOut() {
  const { user } = session
  session.end()
  if (user) leave(user._id)
}

/** @throws StorageFull: a person who is not kept would be out with the next reload, and unknown to the other windows */
function begin(user, accessToken) {
  const earlier = kept()
  try {
    keep(USER, JSON.stringify(user))
  } catch (error) {
    leave(user._id)
    throw error
  }
  own = user
  token = accessToken
  if (earlier && earlier._id !== user._id) leave(earlier._id)
}

/**
 * Opens a session. Where nobody waits for it any more, it is ended again.
 * @throws Refused, Offline, StorageFull
 */
export const signIn = (userId, pin, isWanted) =>
  withCookieOf(userId, async () => {
    if (!isWanted()) return
    // a sign-out that the service missed: else the shift of before would go on
    if (!(await sendLeft(userId)) && !isOnline) throw new Offline('no answer')
    const { token: accessToken, user } = await ask('POST', 'till/sign-in', { user: userId, pin })
    // the service ended the person's earlier session here; a sign-out that comes now would end this one
    forgetLeft(user._id)
    if (isWanted()) begin(user, accessToken)
    // another window has the same person, and the same cookie
    else if (kept()?._id !== user._id) leave(user._id)
  })

const unauthorized = () => new Refused(401, { code: 'UNAUTHORIZED' })

let renewing
/** A new access token by the cookie of this person; two of the person's requests at once share one. */
async function renew() {
  const { user } = session
  // without a name the browser would offer the back office's cookie
  if (!user) throw unauthorized()
  if (renewing?.user === user) return renewing.done
  const mine = { user, done: null }
  mine.done = withCookieOf(user._id, () => ask('POST', 'auth/refresh-token', undefined, { 'x-user-id': user._id }))
    .then((data) => {
      // who has left since is not let in again
      if (session.user === user) token = data.token
    })
    .finally(() => {
      if (renewing === mine) renewing = undefined
    })
  renewing = mine
  return mine.done
}

/**
 * With the token of the person who is in now, renewed when it ran out; never with that of whoever comes later.
 * @throws Refused, Offline
 */
export async function call(method, path, body, headers = {}) {
  const { user } = session
  const attempt = () => {
    if (session.user !== user) throw unauthorized()
    const authorization = token ? { authorization: `Bearer ${token}` } : {}
    return send(method, `/api/next/${path}`, body, { ...headers, ...authorization })
  }
  try {
    if (!token) await renew()
    return await attempt()
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 401 || session.user !== user) throw error
    try {
      await renew()
      return await attempt()
    } catch (again) {
      // another who is in by now stays in
      if (again instanceof Refused && again.status === 401 && user && session.user === user) {
        session.end()
        tell('signedOut')
      }
      throw again
    }
  }
}

/** With the device's cookie alone. */
export const ask = (method, path, body, headers) => send(method, `/api/next/${path}`, body, headers)

/* Requests of the till, its session, and whether there is a connection. */

const TIMEOUT_MS = 10_000
const LOOK_MS = 2000

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

/** No answer came: whether the request arrived is unknown. */
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

/** Asks until the service answers again. */
async function look() {
  if (looking) return
  looking = true
  while (!isOnline) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    const answer = await fetch('/healthz', { cache: 'no-store', signal: AbortSignal.timeout(4000) }).catch(() => null)
    if (answer?.ok) setOnline(true)
  }
  looking = false
}
window.addEventListener('offline', () => setOnline(false))

async function send(method, path, body, headers) {
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  let answer
  try {
    answer = await fetch(path, {
      method,
      headers: { accept: 'application/json', ...json, ...headers },
      credentials: 'same-origin',
      cache: 'no-store',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  } catch (cause) {
    setOnline(false)
    throw new Offline('no answer', { cause })
  }
  setOnline(true)
  const parsed = await answer.json().catch(() => null)
  if (answer.ok && parsed) return parsed.data
  throw new Refused(answer.status, parsed?.error, answer.headers.get('retry-after'))
}

const USER = 'till.user'
let token = null
export const session = {
  get user() {
    return JSON.parse(localStorage.getItem(USER) ?? 'null')
  },
  begin(user, accessToken) {
    token = accessToken
    localStorage.setItem(USER, JSON.stringify(user))
  },
  end() {
    token = null
    localStorage.removeItem(USER)
  },
}

/** Who left while the service did not answer: their sessions, and the cookies of them, end with the next answer. */
const LEFT = 'till.left'
const listLeft = () => JSON.parse(localStorage.getItem(LEFT) ?? '[]')
const writeLeft = (ids) => localStorage.setItem(LEFT, JSON.stringify(ids))

async function sendLeft() {
  for (const id of listLeft()) {
    try {
      await ask('POST', 'auth/sign-out', undefined, { 'x-user-id': id })
    } catch (error) {
      if (!(error instanceof Refused) || error.isPassing) throw error
    }
    writeLeft(listLeft().filter((one) => one !== id))
  }
}

/** Signing in and signing out set the same cookie, so they go one after the other. */
let before = Promise.resolve()
function afterOthers(work) {
  const mine = before.then(work)
  before = mine.catch(() => {})
  return mine
}

/** Where nothing answers they stay, until this is called again. */
export const endLeft = () => afterOthers(sendLeft).catch(() => {})

function leave(id) {
  writeLeft([...new Set([...listLeft(), id])])
  void endLeft()
}

/** Here at once, at the service as soon as it answers. */
export function signOut() {
  const { user } = session
  session.end()
  if (user) leave(user._id)
}

/**
 * Opens a session, once everyone who left is out. Where nobody waits for it any more, it is ended again.
 * @throws Refused, Offline
 */
export const signIn = (userId, pin, isWanted) =>
  afterOthers(async () => {
    await sendLeft()
    if (!isWanted()) return
    const { token: accessToken, user } = await ask('POST', 'till/sign-in', { user: userId, pin })
    if (isWanted()) session.begin(user, accessToken)
    else leave(user._id)
  })

let renewing
/** A new access token by the cookie of this person; two requests at once share one. */
export async function renew() {
  const { user } = session
  // without a name the browser would offer the back office's cookie
  if (!user) throw new Refused(401, { code: 'UNAUTHORIZED' })
  renewing ??= send('POST', '/api/next/auth/refresh-token', undefined, { 'x-user-id': user._id })
    .then((data) => {
      // who has left since is not let in again
      if (session.user?._id === user._id) token = data.token
    })
    .finally(() => {
      renewing = undefined
    })
  return renewing
}

/** With the person's token, renewed when it ran out. @throws Refused, Offline */
export async function call(method, path, body, headers = {}) {
  const attempt = () =>
    send(method, `/api/next/${path}`, body, { ...headers, ...(token ? { authorization: `Bearer ${token}` } : {}) })
  try {
    if (!token) await renew()
    return await attempt()
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 401) throw error
    try {
      await renew()
      return await attempt()
    } catch (again) {
      if (again instanceof Refused && again.status === 401 && session.user) {
        session.end()
        tell('signedOut')
      }
      throw again
    }
  }
}

/** With the device's cookie alone. */
export const ask = (method, path, body, headers) => send(method, `/api/next/${path}`, body, headers)

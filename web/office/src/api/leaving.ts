/**
 * Signing out until the service has answered. Only its answer ends the session and removes the cookie, which no script
 * can: until then a mark stays, with which no tab of this browser renews the session.
 */
export const LEFT = 'office.left'
const TIMEOUT_MS = 5000
const FIRST_WAIT_MS = 1000
const MOST_WAIT_MS = 60_000

/** The same as the mark, where the browser keeps nothing. */
let isLeftHere = false
let bearer: string | null = null
let waitMs = FIRST_WAIT_MS
let timer: ReturnType<typeof setTimeout> | undefined
let attempt: Promise<boolean> | null = null
let isUnconfirmed = false
const listeners = new Set<() => void>()

function publish(next: boolean): void {
  isUnconfirmed = next
  for (const listener of listeners) listener()
}

/** Whether the service was asked to end a session and has not answered. */
export const readUnconfirmed = (): boolean => isUnconfirmed

export function watchUnconfirmed(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function isLeft(): boolean {
  try {
    return isLeftHere || localStorage.getItem(LEFT) !== null
  } catch {
    return isLeftHere
  }
}

function mark(): void {
  isLeftHere = true
  try {
    localStorage.setItem(LEFT, 'unconfirmed')
    isLeftHere = false
  } catch {
    // the storage is full or forbidden: this tab knows it
  }
}

function forget(): void {
  isLeftHere = false
  bearer = null
  try {
    localStorage.removeItem(LEFT)
  } catch {
    // then there is none
  }
}

let last: Promise<unknown> = Promise.resolve()

/**
 * What sets or removes the cookie, one after the other in all tabs: answers in the wrong order would leave the wrong
 * one. Over plain http there are no locks, and a tab that hangs must not stop the others.
 */
async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  if (!('locks' in navigator)) {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }
  let isMine = false
  const start = (): Promise<Result> => {
    isMine = true
    return work()
  }
  const signal = AbortSignal.timeout(2 * TIMEOUT_MS)
  return navigator.locks.request('office.cookie', { signal }, start).catch((error: unknown) => {
    if (isMine) throw error
    return work()
  }) as Promise<Result>
}

/** @returns the answer of the service itself; null: none, or a page of something between */
async function readSuccess(response: Response): Promise<{ data: { token?: unknown } } | null> {
  const body = (await response.json().catch(() => null)) as { success?: boolean; data: { token?: unknown } } | null
  return response.ok && body?.success === true ? body : null
}

async function send(): Promise<boolean> {
  if (!isLeft()) return true
  const response = await fetch('/api/next/auth/sign-out', {
    method: 'POST',
    credentials: 'same-origin',
    headers: bearer === null ? {} : { authorization: `Bearer ${bearer}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => null)
  const isOut = response !== null && (await readSuccess(response)) !== null
  if (isOut) forget()
  return isOut
}

async function tryToEnd(): Promise<boolean> {
  clearTimeout(timer)
  const isOut = !isLeft() || (await inTurn(send))
  if (!isOut) timer = setTimeout(() => void endLeft(), waitMs)
  waitMs = isOut ? FIRST_WAIT_MS : Math.min(2 * waitMs, MOST_WAIT_MS)
  publish(!isOut)
  return isOut
}

/** Sends what is unanswered, and again later if it stays so. @returns whether nothing is */
export function endLeft(): Promise<boolean> {
  attempt ??= tryToEnd().finally(() => {
    attempt = null
  })
  return attempt
}

/** @param token of the session that ends, if it is still known */
export function signOut(token: string | null): Promise<boolean> {
  bearer = token
  mark()
  return endLeft()
}

/**
 * A request of a login. An earlier sign-out is sent before it, or given up once there is a new session: it would end
 * that one, and the cookie of the earlier is replaced.
 */
export async function sendLogin(request: () => Promise<Response>): Promise<Response> {
  await endLeft()
  return inTurn(async () => {
    const response = await request()
    if (typeof (await readSuccess(response.clone()))?.data?.token === 'string') forget()
    return response
  })
}

import { useSyncExternalStore } from 'react'
import { ApiError, call, type Permission, setGuard, type User } from './call.ts'
import { queryClient } from './hooks.ts'
import { endLeft, LEFT, signOut } from './leaving.ts'

/**
 * The signed-in person. The access token lives only in this module; across reloads only the HttpOnly cookie remains.
 */
export type Session = { user: User; permissions: ReadonlySet<string> }

type State = {
  session: Session | null
  isReady: boolean
  /**
   * It ended while the person was working, not by signing out. What they work on stays where it is until they have
   * logged in again, or say that they will not.
   */
  isOver: boolean
  asks: (() => void) | null
}

let token: string | null = null
let state: State = { session: null, isReady: false, isOver: false, asks: null }
const listeners = new Set<() => void>()
let waiting: { resolve(): void; reject(error: unknown): void }[] = []
let renewing: Promise<boolean> | null = null
let returning: PromiseWithResolvers<boolean> | null = null

function set(change: Partial<State>): void {
  state = { ...state, ...change }
  for (const listener of listeners) listener()
}
const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
export const useSessionState = (): State => useSyncExternalStore(subscribe, () => state)
export const readSession = (): Session | null => state.session

/** The session of a screen behind the login. */
export function useSession(): Session {
  const { session } = useSessionState()
  if (!session) throw new Error('this screen needs a session')
  return session
}
/** Whether this person may do that at all. The service checks again at each call. */
export const useCan = (): ((permission: Permission) => boolean) => {
  const { session } = useSessionState()
  return (permission) => session?.permissions.has(permission) ?? false
}

/** Whose access token it is (RFC 7519: base64url). */
const ownerOf = (jwt: string): string =>
  (JSON.parse(atob((jwt.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'))) as { userId: string }).userId

/** @returns whether there is a new access token; null: no answer says so, and the session may still be valid */
async function refresh(): Promise<boolean | null> {
  // who signed out is not let in again because the service has not heard it
  if (!(await endLeft())) return null
  try {
    const answer = await fetch('/api/next/auth/refresh-token', { method: 'POST', credentials: 'same-origin' })
    if (!answer.ok) return answer.status === 401 ? false : null
    const { token: renewed } = ((await answer.json()) as { data: { token: string } }).data
    // another person logged in beside this tab: what it shows is not theirs
    if (state.session && ownerOf(renewed) !== state.session.user._id) {
      location.reload()
      return null
    }
    token = renewed
    return true
  } catch {
    return null
  }
}

async function renewOnce(): Promise<boolean> {
  const isRenewed = await refresh()
  if (isRenewed === false) {
    token = null
    if (state.session) return askAgain()
  }
  return isRenewed === true
}

function askAgain(): Promise<boolean> {
  returning ??= Promise.withResolvers()
  set({ isOver: true })
  return returning.promise
}

function endAsking(isBack: boolean): void {
  returning?.resolve(isBack)
  returning = null
}

/** The person does not log in again: nothing of what they worked on stays. */
export function giveUp(): void {
  endAsking(false)
  endStepUp(false)
  set({ session: null })
}

/** The person may have logged in again in another tab, whose cookie this one shares. */
export async function lookForLogin(): Promise<void> {
  if (returning === null || (await refresh()) !== true) return
  endAsking(true)
  set({ isOver: false })
  await queryClient.invalidateQueries()
}

function renew(): Promise<boolean> {
  renewing ??= renewOnce().finally(() => {
    renewing = null
  })
  return renewing
}

function stepUp(): Promise<void> {
  return new Promise((resolve, reject) => {
    waiting.push({ resolve, reject })
    set({ asks: () => {} })
  })
}

/** The dialog's result: every waiting call continues or is cancelled. */
export function endStepUp(isProven: boolean): void {
  const all = waiting
  waiting = []
  set({ asks: null })
  for (const { resolve, reject } of all) {
    if (isProven) resolve()
    else reject(new ApiError(403, { code: 'STEP_UP_REQUIRED', message: '' }))
  }
}

setGuard({
  token: () => token,
  person: () => state.session?.user._id ?? null,
  renew,
  returning: () => returning?.promise ?? null,
  stepUp,
})

export async function readProfile(): Promise<Session> {
  const [user, { permissions }] = await Promise.all([
    call('GET /api/next/users/me'),
    call('GET /api/next/users/me/permissions'),
  ])
  const session = { user, permissions: new Set(permissions) }
  // the next person in this tab sees nothing of the one before
  if (state.session?.user._id !== user._id) queryClient.clear()
  set({ session, isOver: false })
  return session
}

/** After a login, a registration or a code. What waits for a person goes on for the same one only. */
export async function enter(accessToken: string): Promise<Session> {
  token = accessToken
  const isSame = state.session?.user._id === ownerOf(accessToken)
  if (!isSame) {
    endStepUp(false)
    set({ session: null })
  }
  endAsking(isSame)
  return readProfile()
}

/** At the start: the cookie may hold a session. */
export async function resume(): Promise<void> {
  addEventListener('storage', ({ key }) => key === LEFT && void endLeft())
  addEventListener('online', () => void endLeft())
  if (await renew()) await readProfile().catch(() => null)
  set({ isReady: true })
}

/** Out of this tab in any case; the login page says so while the service has not confirmed it. */
export async function leave(): Promise<void> {
  await signOut(token)
  token = null
  endStepUp(false)
  set({ session: null })
}

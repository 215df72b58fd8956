import { sendLogin } from './leaving.ts'
import type { Operations, Schemas } from './operations.d.ts'
import { noteAnswer, noteFault } from './silence.ts'

type ByRoute = { [Name in keyof Operations as Operations[Name]['route']]: Operations[Name] }
export type Route = keyof ByRoute
export type Permission = Operations[keyof Operations]['permission']
export type Data<Name extends keyof Operations> = Operations[Name]['data']
export type Query<Name extends keyof Operations> = Operations[Name]['query']
export type Body<Name extends keyof Operations> = Operations[Name]['body']
export type { Schemas }
export type Order = Schemas['Order']
export type User = Schemas['User']
export type Role = User['role']
export type ErrorCode = Schemas['Failure']['error']['code']

type Part<Name extends string, Value> = [Value] extends [Record<never, never>]
  ? Record<never, never> extends Value
    ? { [Key in Name]?: Value }
    : { [Key in Name]: Value }
  : [Value] extends [undefined]
    ? { [Key in Name]?: never }
    : { [Key in Name]: Value }
export type Args<R extends Route> = Part<'path', ByRoute[R]['path']> &
  Part<'query', ByRoute[R]['query']> &
  Part<'body', ByRoute[R]['body']> & { deed?: Deed }

/**
 * What a person does with a POST whose body also holds what was shown beside it, which may change before the next
 * click: the same deed while the same dialog is open and the same is typed. Without one the whole body says what is
 * typed, and `within` in which opening.
 */
export type Deed = { opening: string; typed: unknown }

let present: string | null = null

/**
 * Whatever `run` asks before it first waits is done in this opening of a form or button. What is asked in none is a
 * deed of its own each time, and so is what is asked after a wait, unless it names its `deed`.
 */
export function within<Result>(opening: string | null, run: () => Result): Result {
  const before = present
  present = opening
  try {
    return run()
  } finally {
    present = before
  }
}

/** A refusal by the service, or no answer at all: `OFFLINE`. */
export class ApiError extends Error {
  readonly code: ErrorCode | 'OFFLINE'
  readonly status: number
  readonly details: { path: string; message: string }[]
  readonly requestId: string | null
  /** Seconds after which the request may be repeated. */
  readonly retryAfter: number | null
  constructor(status: number, error: { code: ErrorCode | 'OFFLINE'; message: string } & Partial<ApiError>) {
    super(error.message)
    this.status = status
    this.code = error.code
    this.details = error.details ?? []
    this.requestId = error.requestId ?? null
    this.retryAfter = error.retryAfter ?? null
  }
}

/** What the client needs from the session; set once at the start. */
export type Guard = {
  token(): string | null
  /** Whose session it is, also while they are asked to log in again. */
  person(): string | null
  /** Gets a new access token through the cookie, or from a new login. Resolves to false when the session is over. */
  renew(): Promise<boolean>
  /** While the person is asked to log in again: settles when they have, or gave up. */
  returning(): Promise<unknown> | null
  /** Asks the person for a code. Rejects when the person gives up. */
  stepUp(): Promise<void>
}

let guard: Guard = {
  token: () => null,
  person: () => null,
  renew: async () => false,
  returning: () => null,
  stepUp: async () => {},
}
export const setGuard = (next: Guard): void => {
  guard = next
}

function addressOf(template: string, path: Record<string, unknown>, query: Record<string, unknown>): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name] ?? '')))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '') search.append(name, String(one))
    }
  }
  const text = search.toString()
  return text === '' ? filled : `${filled}?${text}`
}

type Sent = {
  method: string
  url: string
  body: unknown
  key: string | null
  signal?: AbortSignal | undefined
  /** How long an answer may take. Without it a file is read as long as it comes. */
  waitMs?: number | undefined
}

const WAIT_MS = 15_000

/** Whether the service answers the least that a person may ask. */
async function isThere(): Promise<boolean> {
  const token = guard.token()
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` }
  const signal = AbortSignal.timeout(5000)
  return fetch('/api/next/users/me', { headers, signal }).then(
    ({ status }) => status < 500,
    () => false,
  )
}

/** What stands for the failure of a request that was not given up by us. */
function silenceOf(cause: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return cause
  void noteFault(isThere)
  return new ApiError(0, { code: 'OFFLINE', message: 'The service does not answer.' })
}

async function send({ method, url, body, key, signal, waitMs }: Sent): Promise<Response> {
  const token = guard.token()
  const headers: Record<string, string> = { accept: 'application/json' }
  if (token !== null) headers.authorization = `Bearer ${token}`
  if (body !== undefined) headers['content-type'] = 'application/json'
  if (key !== null && token !== null) headers['idempotency-key'] = key
  const ends = [...(signal ? [signal] : []), ...(waitMs === undefined ? [] : [AbortSignal.timeout(waitMs)])]
  try {
    const response = await fetch(url, {
      method,
      headers,
      credentials: 'same-origin',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any(ends),
    })
    if (response.status < 500) noteAnswer()
    else void noteFault(isThere)
    return response
  } catch (cause) {
    throw silenceOf(cause, signal)
  }
}

async function refusalOf(response: Response): Promise<ApiError> {
  const json = (await response.json().catch(() => null)) as { error?: Schemas['Failure']['error'] } | null
  const error = json?.error ?? { code: 'INTERNAL_ERROR' as const, message: response.statusText }
  const seconds = Number(response.headers.get('retry-after'))
  return new ApiError(response.status, { ...error, retryAfter: seconds > 0 ? seconds : null })
}

/** What a login consists of, which the person does while everything else waits for it. */
const isOfLogin = (url: string): boolean => url.startsWith('/api/next/auth/')

/**
 * Sends a request; renews an expired access token, and asks for a code if the service requires one, then continues.
 * Only for the person who began it: the next one in the tab neither sends it nor is asked for anything because of it.
 */
export async function request(sent: Sent, renews = true, person = guard.person()): Promise<Response> {
  const isTheirs = (): boolean => person === null || person === guard.person()
  if (!isOfLogin(sent.url)) await guard.returning()
  if (!isTheirs()) throw new ApiError(401, { code: 'UNAUTHORIZED', message: 'The session has ended.' })
  const response = await (isOfLogin(sent.url) ? sendLogin(() => send(sent)) : send(sent))
  if (response.ok) return response
  const refusal = await refusalOf(response)
  if (!isTheirs()) throw refusal
  if (refusal.status === 401 && renews && guard.token() !== null && (await guard.renew()))
    return request(sent, false, person)
  if (refusal.code === 'STEP_UP_REQUIRED') {
    await guard.stepUp()
    // a refusal is not stored under the key, so the same key may be used again
    return request(sent, renews, person)
  }
  throw refusal
}

/**
 * Requests whose outcome is unknown, by what was done: who does it again sends the same body under the same key, and
 * must not refund twice. In another opening it is something else, because the service would answer what is long over:
 * the order of the customer before. So is the same by another person in this tab, such as confirming a second time.
 * Nothing is kept of a request without a login, because it holds a password.
 */
const unsure = new Map<string, { key: string; body: unknown }>()

/** Whether a request may have taken effect: it got no answer, or we gave it up. */
const isUnsure = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.status === 0 || error.status >= 500 || error.code === 'IDEMPOTENCY_IN_PROGRESS'

/** The service holds another request under this key, so it would refuse every repetition. */
const isForeign = (error: unknown): boolean => error instanceof ApiError && error.code === 'IDEMPOTENCY_KEY_REUSED'

/** The service looked at the key and made nothing: what is sent under it next may hold the new figures. */
const isUncovered = (error: unknown): boolean => error instanceof ApiError && error.code === 'REFUND_NOT_COVERED'

/** 128 random bits. `crypto.randomUUID` exists over https only, and an office may be tried over plain http. */
export const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Reads an answer to its end: text, or the data of the JSON. */
async function readAnswer(sent: Sent): Promise<{ data: unknown; headers: Headers }> {
  const response = await request(sent)
  const { headers } = response
  try {
    if (!headers.get('content-type')?.includes('json')) return { data: await response.text(), headers }
    return { data: ((await response.json()) as { data: unknown }).data, headers }
  } catch (cause) {
    throw silenceOf(cause, sent.signal)
  }
}

const read = async (sent: Sent): Promise<unknown> => (await readAnswer(sent)).data

/**
 * A POST; if the same was done before and got no answer, or one that broke off, exactly that request under its key. A
 * refusal afterwards says nothing about that one: most come before the service looks at the key. One that comes later
 * leaves the key unused.
 */
async function post({ deed, ...sent }: Omit<Sent, 'key'> & { deed: Deed | undefined }): Promise<unknown> {
  const owner = guard.token() === null && isOfLogin(sent.url) ? null : guard.person()
  const opening = deed ? deed.opening : present
  const what = JSON.stringify([owner, sent.url, opening, deed ? deed.typed : sent.body])
  const before = unsure.get(what)
  const key = before?.key ?? newKey()
  const body = before?.body ?? sent.body
  try {
    const data = await read({ ...sent, body, key })
    unsure.delete(what)
    return data
  } catch (error) {
    // the first of a deed has arrived late, with the figures before: only a new dialog shows what it did
    if (!deed && isForeign(error)) unsure.delete(what)
    else if (before && isUncovered(error)) unsure.set(what, { key, body: undefined })
    else if (owner !== null && opening !== null && isUnsure(error)) unsure.set(what, { key, body })
    throw error
  }
}

/** Calls an operation of the API by its route; path, query, body and answer have the types of the OpenAPI document. */
export async function call<R extends Route>(
  route: R,
  ...[args, signal]: Record<never, never> extends Args<R> ? [Args<R>?, AbortSignal?] : [Args<R>, AbortSignal?]
): Promise<ByRoute[R]['data']> {
  const [method = 'GET', template = ''] = route.split(' ')
  const {
    path = {},
    query = {},
    body,
    deed,
  } = (args ?? {}) as Partial<Record<'path' | 'query' | 'body', object>> & {
    deed?: Deed
  }
  const url = addressOf(template, path as Record<string, unknown>, query as Record<string, unknown>)
  const sent = { method, url, body, signal, waitMs: method === 'GET' ? WAIT_MS : undefined }
  return (await (method === 'POST' ? post({ ...sent, deed }) : read({ ...sent, key: null }))) as ByRoute[R]['data']
}

/** A page of a list that answers only its rows: a header says where the next one begins. */
export async function callPage<R extends Route & `GET ${string}`>(
  route: R,
  { query }: { query: Record<string, unknown> & ByRoute[R]['query'] },
  signal: AbortSignal,
): Promise<{ rows: ByRoute[R]['data']; nextCursor: string | null }> {
  const url = addressOf(route.slice('GET '.length), {}, query)
  const { data, headers } = await readAnswer({
    method: 'GET',
    url,
    body: undefined,
    key: null,
    signal,
    waitMs: WAIT_MS,
  })
  return { rows: data as ByRoute[R]['data'], nextCursor: headers.get('comptoir-next-cursor') }
}

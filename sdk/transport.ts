import { ComptoirError, type ErrorDetail } from './errors.ts'
import type { ErrorCode } from './generated/schemas.ts'

export type ComptoirOptions = {
  /** URL of the service, for example `https://pay.example`. */
  baseUrl: string
  apiKey?: string
  apiSecret?: string
  /** A user's access token instead of a key. */
  accessToken?: string
  /** Tries after the first one; default 3. */
  maxRetries?: number
  /** Per try, more than 0; default 30 000. A download may take longer: for as long, it may wait for its next part. */
  timeoutMs?: number
  /** Default: the global one. */
  fetch?: typeof fetch
  /**
   * Called with names that the service ignored because it does not know them: a typo such as `returnURL`. The call
   * itself succeeded. Default: one `console.warn` per operation and name. Throw in it to make your tests fail.
   */
  onIgnored?: (ignored: Ignored) => void
}

/** Names in a call that had no effect; `goods.colour` is a name inside `goods`. */
export type Ignored = { operation: string; names: string[] }

export type CallOptions = {
  /** Your own key instead of one generated for the call and its retries: 1 to 255 printable characters of ASCII. */
  idempotencyKey?: string
  requestId?: string
  timeoutMs?: number
  maxRetries?: number
  signal?: AbortSignal
}

export type Call = {
  /** Its name in the reference. */
  operation: string
  method: string
  path: string
  query?: Record<string, unknown>
  body?: unknown
  /** The operation takes an Idempotency-Key, so repeating it is safe; some only from callers with a credential. */
  keyed: boolean | 'withCredential'
  /** It answers JSON with `data`; otherwise the body is left to the caller. */
  json: boolean
  options?: CallOptions | undefined
}

const FIRST_DELAY_MS = 400
const LONGEST_DELAY_MS = 8000
/** If a server asks for a longer wait, the caller gets the error instead. */
const LONGEST_WAIT_MS = 60_000
/** A timer of more runs out at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1
/** As the service takes it. */
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/

const isRetryable = ({ status, code }: ComptoirError): boolean =>
  status === 429 || status === 502 || status === 503 || code === 'IDEMPOTENCY_IN_PROGRESS'

const isLost = ({ code }: ComptoirError): boolean => code === 'CONNECTION_FAILED' || code === 'TIMED_OUT'

/** The service says itself that it did nothing. A gateway’s 502 or 503 may come after it has done what was asked. */
const isUndone = ({ status, code }: ComptoirError): boolean => status === 429 || (status === 503 && code === 'BUSY')

/** Whether the call may have been done, for all that this answer says. */
const isOpen = (error: ComptoirError): boolean =>
  !isUndone(error) && (error.status < 400 || error.status >= 500 || error.code === 'IDEMPOTENCY_IN_PROGRESS')

/** Answers of after the key was looked up have one of these; others may come before that, as from an older version. */
const AFTER_KEY: readonly number[] = [404, 409, 422]
const BEFORE_KEY: readonly string[] = ['NOT_FOUND', 'VALIDATION_FAILED', 'UNEXPECTED_ANSWER', 'IDEMPOTENCY_IN_PROGRESS']

/** Comptoir’s own word under this key: no earlier try has done it. A proxy’s page is none. */
const isSettled = ({ status, code }: ComptoirError): boolean => AFTER_KEY.includes(status) && !BEFORE_KEY.includes(code)

/** The error of a call that may change something, with what its caller needs to repeat it safely. */
function forRepetition(error: ComptoirError, idempotencyKey: string | undefined, mayBeDone: boolean): ComptoirError {
  const { status, code, requestId, details, docs, cause } = error
  const how = idempotencyKey ? ` To do it once, repeat it with the idempotencyKey ${idempotencyKey}.` : ''
  const message = mayBeDone ? `${error.message} It may have been done.${how}` : error.message
  return new ComptoirError({ status, code, message, requestId, details, docs, cause, idempotencyKey, mayBeDone })
}

function urlOf(baseUrl: string, path: string, query: Record<string, unknown> = {}): string {
  const url = new URL(path, `${baseUrl.replace(/\/+$/, '')}/`)
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue
    const text = value instanceof Date ? value.toISOString() : Array.isArray(value) ? value.join(',') : String(value)
    url.searchParams.set(name, text)
  }
  return url.toString()
}

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const end = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', end)
        resolve()
      },
      Math.min(ms, LONGEST_TIMER_MS),
    )
    signal?.addEventListener('abort', end, { once: true })
  })

/** Half of the delay is random (jitter), so that clients that failed together do not retry together. */
function delayMs(attempt: number, retryAfter: string | null): number {
  if (retryAfter !== null && /^\d+$/.test(retryAfter)) return Number(retryAfter) * 1000
  const longest = Math.min(FIRST_DELAY_MS * 2 ** attempt, LONGEST_DELAY_MS)
  return longest / 2 + (Math.random() * longest) / 2
}

type FailureBody = {
  error?: { code?: string; message?: string; requestId?: string; details?: ErrorDetail[]; docs?: string }
}

function failureOf(answer: Response, text: string): ComptoirError {
  const requestId = answer.headers.get('x-request-id') ?? undefined
  try {
    const { error } = JSON.parse(text) as FailureBody
    if (!answer.ok && error?.code) {
      const { code, message = '', details, docs } = error
      return new ComptoirError({ status: answer.status, code: code as ErrorCode, message, details, docs, requestId })
    }
  } catch {
    // a proxy's page, for example
  }
  const message = `The answer ${answer.status} is not one of Comptoir’s. Is the baseUrl right?`
  return new ComptoirError({ status: answer.status, code: 'UNEXPECTED_ANSWER', message, requestId })
}

/** @throws ComptoirError UNEXPECTED_ANSWER */
function dataOf(answer: Response, text: string): unknown {
  try {
    const body = JSON.parse(text) as { data?: unknown }
    if (body.data !== undefined) return body.data
  } catch {
    // a proxy's page, for example
  }
  throw failureOf(answer, text)
}

type Limit = { signal: AbortSignal; start(): void; stop(): void }

/** Aborts once it has run for so long without a new start. */
function openLimit(ms: number): Limit {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const stop = (): void => clearTimeout(timer)
  const start = (): void => {
    stop()
    timer = setTimeout(() => controller.abort(), Math.min(ms, LONGEST_TIMER_MS))
  }
  return { signal: controller.signal, start, stop }
}

/**
 * A body that its caller reads: only waiting for the service counts, part by part, so that it may be as long as it is.
 * @param reasonOf the error that its reader gets in the place of another one
 */
function limitBody(answer: Response, limit: Limit, reasonOf: (cause: unknown) => unknown): Response {
  if (answer.body === null) return answer
  const reader = answer.body.getReader()
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(parts) {
        limit.start()
        try {
          const { done, value } = await reader.read()
          if (done) parts.close()
          else parts.enqueue(value)
        } catch (cause) {
          parts.error(reasonOf(cause))
        } finally {
          limit.stop()
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  const { status, statusText, headers } = answer
  return new Response(body, { status, statusText, headers })
}

function openWarnings(): (ignored: Ignored) => void {
  const warned = new Set<string>()
  return ({ operation, names }) => {
    const news = names.filter((name) => !warned.has(`${operation} ${name}`))
    for (const name of news) warned.add(`${operation} ${name}`)
    if (news.length > 0) console.warn(`Comptoir ignored ${news.join(', ')}: ${operation} knows no such name.`)
  }
}

function refuseWrongTime(timeoutMs: number | undefined): void {
  if (timeoutMs !== undefined && !(timeoutMs > 0)) throw new TypeError('timeoutMs must be more than 0')
}

/** What is sent, the same for each try. */
type Sent = { url: string; init: RequestInit; key: string | undefined }

/** Sends calls: credentials, timeout, retries, uniform errors. */
export class Transport {
  readonly #options: ComptoirOptions
  readonly #fetch: typeof fetch
  readonly #onIgnored: (ignored: Ignored) => void

  /** @throws TypeError for options with which no call could ever succeed */
  constructor(options: ComptoirOptions) {
    refuseWrongTime(options.timeoutMs)
    if (!/^https?:\/\//.test(options.baseUrl)) throw new TypeError('baseUrl must begin with http:// or https://')
    const { username, password } = new URL(options.baseUrl)
    if (options.fetch === undefined && username + password !== '')
      throw new TypeError('baseUrl must hold no user and no password: fetch refuses them')
    this.#options = options
    this.#onIgnored = options.onIgnored ?? openWarnings()
    // workers reject a fetch that is called as a method of another object
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init))
  }

  get baseUrl(): string {
    return this.#options.baseUrl.replace(/\/+$/, '')
  }

  #headers(call: Call, key: string | undefined): Record<string, string> {
    const { apiKey, apiSecret, accessToken } = this.#options
    if (key !== undefined && !IDEMPOTENCY_KEY.test(key))
      throw new TypeError('idempotencyKey must be 1 to 255 printable characters of ASCII; encode or hash any other')
    return {
      accept: 'application/json',
      ...(accessToken ? { authorization: `Bearer ${accessToken}` } : {}),
      ...(!accessToken && apiKey && apiSecret ? { 'x-api-key': apiKey, 'x-api-secret': apiSecret } : {}),
      ...(!accessToken && !apiKey && apiSecret ? { authorization: `Bearer ${apiSecret}` } : {}),
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(call.options?.requestId ? { 'x-request-id': call.options.requestId } : {}),
    }
  }

  /** Inside a try, the caller's mistakes would look like a lost connection. @throws TypeError */
  #prepare(call: Call): Sent {
    refuseWrongTime(call.options?.timeoutMs)
    const key = call.keyed ? (call.options?.idempotencyKey ?? newKey()) : undefined
    const headers = this.#headers(call, key)
    // refuses what no header can carry
    new Headers(headers)
    const body = call.body === undefined ? {} : { body: JSON.stringify(call.body) }
    return {
      key,
      url: urlOf(this.baseUrl, call.path, call.query),
      init: { method: call.method, headers, redirect: 'manual', ...body },
    }
  }

  async #once(call: Call, { url, init }: Sent): Promise<{ answer: Response; text: string }> {
    const timeoutMs = call.options?.timeoutMs ?? this.#options.timeoutMs ?? 30_000
    const limit = openLimit(timeoutMs)
    const given = call.options?.signal
    const reasonOf = (cause: unknown, late = 'got no whole answer within'): unknown => {
      if (given?.aborted) return given.reason
      const code = limit.signal.aborted ? 'TIMED_OUT' : 'CONNECTION_FAILED'
      const message = limit.signal.aborted
        ? `${call.method} ${call.path} ${late} ${timeoutMs} ms.`
        : `${call.method} ${call.path} got no whole answer from ${this.baseUrl}.`
      return new ComptoirError({ status: 0, code, message, cause })
    }
    limit.start()
    try {
      const signal = given ? AbortSignal.any([limit.signal, given]) : limit.signal
      const answer = await this.#fetch(url, { ...init, signal })
      if (answer.ok && !call.json) {
        return { answer: limitBody(answer, limit, (cause) => reasonOf(cause, 'sent nothing more for')), text: '' }
      }
      // a body may stall or be cut off, too
      return { answer, text: await answer.text() }
    } catch (cause) {
      throw reasonOf(cause)
    } finally {
      limit.stop()
    }
  }

  #tellIgnored({ operation }: Call, field: string | null): void {
    if (field) this.#onIgnored({ operation, names: field.split(', ').map(decodeURIComponent) })
  }

  /**
   * The successful answer, and its data where it is JSON.
   * @throws TypeError for what cannot be sent
   * @throws ComptoirError; the reason of `signal` where nothing was sent, and from what only reads
   */
  async send(call: Call): Promise<{ answer: Response; data: unknown }> {
    const { options, keyed, method } = call
    const sent = this.#prepare(call)
    const isKnown = Boolean(this.#options.accessToken || this.#options.apiSecret)
    const repeats = keyed === true || (keyed === 'withCredential' && isKnown) || method !== 'POST'
    const maxRetries = options?.maxRetries ?? this.#options.maxRetries ?? 3
    const keptKey = repeats ? sent.key : undefined
    const forAbort = (reason: unknown, mayBeDone: boolean): unknown => {
      if (method === 'GET') return reason
      const message = `${method} ${call.path} was aborted.`
      const error = new ComptoirError({ status: 0, code: 'ABORTED', message, cause: reason })
      return forRepetition(error, keptKey, mayBeDone)
    }
    options?.signal?.throwIfAborted()
    let wasOpen = false
    for (let attempt = 0; ; attempt += 1) {
      let error: ComptoirError
      let retryAfter: string | null = null
      try {
        const { answer, text } = await this.#once(call, sent)
        if (answer.ok) {
          const data = call.json ? dataOf(answer, text) : undefined
          this.#tellIgnored(call, answer.headers.get('comptoir-ignored'))
          return { answer, data }
        }
        retryAfter = answer.headers.get('retry-after')
        error = failureOf(answer, text)
      } catch (thrown) {
        if (!(thrown instanceof ComptoirError)) throw options?.signal?.aborted ? forAbort(thrown, true) : thrown
        error = thrown
      }
      const again = repeats ? isRetryable(error) || isLost(error) : isUndone(error)
      const waitMs = delayMs(attempt, retryAfter)
      wasOpen = isOpen(error) || (wasOpen && !isSettled(error))
      if (!again || attempt >= maxRetries || waitMs > LONGEST_WAIT_MS)
        throw method === 'GET' ? error : forRepetition(error, keptKey, wasOpen)
      await sleep(waitMs, options?.signal).catch((reason: unknown) => {
        throw forAbort(reason, wasOpen)
      })
    }
  }
}

import { parseJsonExact, textAt } from '../../kernel/json.ts'
import { isForOperator, ProviderRefusal, ProviderTrouble, type RefusalReason } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderHttp } from '../provider-http.ts'

/** Answers are parsed JSON whose numbers are still text. */
export type PayApi = {
  get(path: string): Promise<unknown>
  /** Form-encoded; a field without a value is not sent. */
  post(path: string, fields: Record<string, string | null>): Promise<unknown>
}

export function tryParse(text: string): unknown {
  try {
    return parseJsonExact(text)
  } catch {
    return undefined
  }
}

export const fieldAt = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

export const flagAt = (value: unknown, name: string): boolean | undefined => {
  const flag = fieldAt(value, name)
  return typeof flag === 'boolean' ? flag : undefined
}

const reasonOf = (status: number, param: string): RefusalReason => {
  if (status === 401 || status === 403) return 'credentials'
  if (status === 404 || status === 409) return 'state'
  return param === 'amount' ? 'amount' : 'request'
}

/** An `error` in the answer counts, whatever the HTTP status; without one, only 2xx is a success. */
function readAnswer({ status, headers, text }: ProviderAnswer): unknown {
  const answer = tryParse(text)
  const error = fieldAt(answer, 'error')
  const failed = error !== undefined && error !== null
  if (!failed && status >= 200 && status < 300 && typeof answer === 'object' && answer !== null) return answer
  const told = ['param', 'code', 'error_message'].flatMap((name) => textAt(error, name) ?? [])
  const providerStatus = `Crypto.com Pay answered ${status} ${told.join(' ')}`.trim()
  if (failed && status < 500 && status !== 429)
    throw new ProviderRefusal(reasonOf(status, textAt(error, 'param') ?? ''), providerStatus, { status, error })
  const seconds = Number(headers['retry-after'])
  throw new ProviderTrouble(providerStatus, {
    cause: { status, text: text.slice(0, 500) },
    notSent: status === 429,
    ...(seconds > 0 ? { retryAfterMs: seconds * 1000 } : {}),
  })
}

export function openPayApi({ baseUrl, secretKey }: { baseUrl: string; secretKey: string }, http: ProviderHttp): PayApi {
  const authorization = `Bearer ${secretKey}`
  return {
    async get(path) {
      return readAnswer(await http({ method: 'GET', url: `${baseUrl}${path}`, headers: { authorization } }))
    },
    async post(path, fields) {
      const given = new URLSearchParams()
      for (const [name, value] of Object.entries(fields)) if (value !== null) given.set(name, value)
      const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' }
      const body = given.toString()
      return readAnswer(await http({ method: 'POST', url: `${baseUrl}${path}`, headers, body }))
    },
  }
}

/** The provider definitely did not do the request, and the operator cannot fix it. */
export const isDefiniteNo = (error: unknown): error is ProviderRefusal =>
  error instanceof ProviderRefusal && !isForOperator(error.reason)

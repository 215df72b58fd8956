import type { Clock } from '../../kernel/clock.ts'
import { parseJsonExact, textAt } from '../../kernel/json.ts'
import { ProviderRefusal, ProviderTrouble, type RefusalReason } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderHttp } from '../provider-http.ts'
import { signatureOf } from './signature.ts'

export type __PASCAL__Account = { baseUrl: string; apiKey: string; apiSecret: string }

/** @returns the answer's JSON. @throws ProviderRefusal, ProviderTrouble */
export type __PASCAL__Api = {
  get(path: string): Promise<unknown>
  post(path: string, body: object): Promise<unknown>
}

export const PAYMENT_UNKNOWN = 'payment_not_found'
export const PAYMENT_NOT_OPEN = 'payment_not_open'
export const REFUND_UNKNOWN = 'refund_not_found'

/**
 * Codes that mean: definitely not done. Any other leaves it open, also `reference_exists` and `refund_exists`: what we
 * ask for was made before, by a request whose answer was lost, and is asked about with our reference.
 */
const REFUSALS: Readonly<Record<string, readonly [RefusalReason, string]>> = {
  key_unknown: ['credentials', 'the API key is not known there'],
  signature_wrong: ['credentials', 'the signature was not accepted: check the API secret'],
  timestamp_stale: ['credentials', 'the time of this server is wrong'],
  account_blocked: ['account', 'the account is blocked'],
  request_invalid: ['request', 'a field is wrong'],
  amount_not_allowed: ['amount', 'the amount was not accepted'],
  refund_too_large: ['amount', 'more than what is left of the payment'],
  [PAYMENT_UNKNOWN]: ['state', 'the payment is not known there'],
  [PAYMENT_NOT_OPEN]: ['state', 'the payment is not open any more'],
  payment_not_paid: ['state', 'the payment is not paid'],
  [REFUND_UNKNOWN]: ['state', 'the refund is not known there'],
}

/** Undefined: no JSON. */
export function tryParse(text: string): unknown {
  try {
    return parseJsonExact(text)
  } catch {
    return undefined
  }
}

function readAnswer({ status, headers, text }: ProviderAnswer): unknown {
  const answer = tryParse(text)
  if (status >= 200 && status < 300 && typeof answer === 'object' && answer !== null) return answer
  const code = textAt(answer, 'error', 'code') ?? ''
  const said = `${code} ${textAt(answer, 'error', 'message') ?? ''}`.trim()
  const isDefinite = status >= 400 && status < 500 && status !== 429 && Object.hasOwn(REFUSALS, code)
  const refusal = isDefinite ? REFUSALS[code] : undefined
  if (refusal) throw new ProviderRefusal(refusal[0], `__NAME__ refused: ${refusal[1]} (${said})`, { code, said })
  const seconds = Number(headers['retry-after'])
  throw new ProviderTrouble(`__NAME__ answered ${status} ${said}`.trim(), {
    cause: { status, text: text.slice(0, 500) },
    ...(seconds > 0 ? { retryAfterMs: seconds * 1000 } : {}),
  })
}

/** Whether the provider refused with this code. */
export const isRefusedWith = (error: unknown, code: string): boolean =>
  error instanceof ProviderRefusal && textAt(error.cause, 'code') === code

export function open__PASCAL__Api(
  { baseUrl, apiKey, apiSecret }: __PASCAL__Account,
  { http, clock }: { http: ProviderHttp; clock: Clock },
): __PASCAL__Api {
  const exchange = async (method: 'GET' | 'POST', path: string, body: string): Promise<unknown> => {
    const timestamp = String(clock())
    const headers = {
      'x-api-key': apiKey,
      'x-timestamp': timestamp,
      'x-signature': signatureOf(apiSecret, { timestamp, method, path, body }),
      ...(body === '' ? {} : { 'content-type': 'application/json' }),
    }
    return readAnswer(await http({ method, url: `${baseUrl}${path}`, headers, ...(body === '' ? {} : { body }) }))
  }
  return {
    get: (path) => exchange('GET', path, ''),
    post: (path, body) => exchange('POST', path, JSON.stringify(body)),
  }
}

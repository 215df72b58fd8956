import { randomBytes } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'
import { ownAt, parseJsonExact, textAt } from '../../kernel/json.ts'
import { ProviderRefusal, ProviderTrouble, type RefusalReason } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderHttp } from '../provider-http.ts'
import { signatureOf } from './signature.ts'

export type GateAccount = {
  baseUrl: string
  clientId: string
  secret: string
  /** Headers that only some accounts need; empty text: not sent. */
  onBehalfOf: string
  clientType: string
}

/** @returns `data` of the answer, unwrapped */
export type GateApi = {
  get(path: string, query: Record<string, string>): Promise<unknown>
  post(path: string, body: unknown): Promise<unknown>
}

const SUCCESS = '000000'
export const ORDER_UNKNOWN = '400202'
export const WRONG_STATUS = '400204'
export const TIMED_OUT = '400603'

/**
 * Codes that mean: definitely not done. Any other code leaves it open, including 400201 (reference already used: it was
 * created before) and 400020 (a repeated nonce: the same request may be sent again).
 */
const REFUSALS: Readonly<Record<string, readonly [RefusalReason, string]>> = {
  '400001': ['request', 'a parameter is wrong'],
  '400002': ['credentials', 'the signature was not accepted: check the client id and the payment secret'],
  '400003': ['clock', 'the time of this server differs by more than 10 seconds'],
  '400007': ['request', 'the media type was not accepted'],
  [ORDER_UNKNOWN]: ['state', 'the order is not known there'],
  [WRONG_STATUS]: ['state', 'the status of the order does not allow it'],
  [TIMED_OUT]: ['state', 'the time of the order is over'],
  '400621': ['amount', 'the amount was not accepted'],
  '400622': ['amount', 'the price of the conversion moved'],
  '400624': ['account', 'it does not accept this callback address: save it in the merchant console first'],
}

export function tryParse(text: string): unknown {
  try {
    return parseJsonExact(text)
  } catch {
    return undefined
  }
}

/** An object may arrive as JSON text, and may be nested one level deeper under `bizData`. */
export function unwrap(value: unknown): unknown {
  const opened = typeof value === 'string' ? tryParse(value) : value
  if (typeof opened !== 'object' || opened === null || !('bizData' in opened)) return opened
  return unwrap(opened.bizData)
}

/** Non-empty text; Gate leaves many fields empty. */
export const filledAt = (value: unknown, ...path: (string | number)[]): string | null => textAt(value, ...path) || null

type Told = { code: string; message: string; data: unknown }

/**
 * Unwraps an answer. The query wraps its object once more, with its own code: `data: {bizCode, bizData, bizMessage}`
 * (docs.gate.com, checkout/orderQuery), so an outer SUCCESS can contain a refusal.
 */
function told(envelope: unknown): Told {
  const { status, data = null } = (envelope ?? {}) as { status?: unknown; data?: unknown }
  const code = textAt(envelope, 'code')?.padStart(6, '0') ?? ''
  const message = textAt(envelope, 'errorMessage') ?? ''
  if (status !== 'SUCCESS' || code !== SUCCESS) return { code: code === SUCCESS ? '' : code, message, data: null }
  const inner = typeof data === 'string' ? tryParse(data) : data
  const bizCode = textAt(inner, 'bizCode')?.padStart(6, '0') || SUCCESS
  return bizCode === SUCCESS
    ? { code, message, data: unwrap(inner) }
    : { code: bizCode, message: textAt(inner, 'bizMessage') ?? '', data: null }
}

function readAnswer({ status, headers, text }: ProviderAnswer): unknown {
  const { code, message, data } = told(tryParse(text))
  const answered = status < 500 && status !== 429
  if (answered && code === SUCCESS) return data
  const said = `${code} ${message}`.trim()
  const refusal = answered ? ownAt(REFUSALS, code) : undefined
  if (refusal) throw new ProviderRefusal(refusal[0], `Gate Pay refused: ${refusal[1]} (${said})`, { code, said })
  const seconds = Number(headers['retry-after'])
  throw new ProviderTrouble(`Gate Pay answered ${status} ${said}`.trim(), {
    cause: { status, text: text.slice(0, 500) },
    answered: answered && code !== '',
    ...(seconds > 0 ? { retryAfterMs: seconds * 1000 } : {}),
  })
}

/** Whether the provider refused with one of these codes. */
export const isRefusedWith = (error: unknown, codes: readonly string[]): boolean =>
  error instanceof ProviderRefusal && codes.includes(textAt(error.cause, 'code') ?? '')

/** For an institution that acts for a sub-merchant (docs.gate.com, common/institutionalCommonHeaders). */
const INSTITUTION = '/payment/open/institution'

export function openGateApi(account: GateAccount, { http, clock }: { http: ProviderHttp; clock: Clock }): GateApi {
  const { baseUrl, clientId, secret, onBehalfOf, clientType } = account
  const root = onBehalfOf === '' || baseUrl.endsWith(INSTITUTION) ? baseUrl : baseUrl + INSTITUTION
  const exchange = async (method: 'GET' | 'POST', path: string, body: string): Promise<unknown> => {
    const timestamp = String(clock())
    const nonce = randomBytes(16).toString('hex')
    const headers = {
      'X-GatePay-Certificate-ClientId': clientId,
      'X-GatePay-Timestamp': timestamp,
      'X-GatePay-Nonce': nonce,
      'X-GatePay-Signature': signatureOf(secret, { timestamp, nonce, body }),
      ...(onBehalfOf === '' ? {} : { 'X-GatePay-On-Behalf-Of': onBehalfOf }),
      ...(clientType === '' ? {} : { 'GatePay-client-Type': clientType }),
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
    }
    const url = `${root}${path}`
    return readAnswer(await http({ method, url, headers, ...(method === 'POST' ? { body } : {}) }))
  }
  return {
    get: (path, query) => exchange('GET', `${path}?${new URLSearchParams(query)}`, ''),
    post: (path, body) => exchange('POST', path, JSON.stringify(body)),
  }
}
